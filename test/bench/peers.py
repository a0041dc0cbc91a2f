"""make bench-peers: the same work by other trackers, of those that are installed, and by ours.

Each gets a project of its own with the same items, and a bare repository in a folder as its remote, where it can use one. A
command is measured in turns with /bin/true, by the fastest twentieth of its rounds, and given as a ratio to that: its time,
which counts only on a quiet machine, and the processor time of the command without that of a service which it asks.
Commands that write run for another item in each round. Nothing is installed, and nothing is found in the user's home.

usage: peers.py BUILD [--path FOLDER:...] [--items N,...] [--rounds N] [--patience SECONDS]"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import bench

ROWS = ["create", "show", "list", "ready", "search", "update", "close", "update, sync"]
WHEN = "2026-01-01T00:00:00Z"
SYNCS = 20  # rounds of a row that syncs


class Slow(Exception):
    """A tracker takes too long to get its items."""


class Peer:
    """A tracker. In its commands, ONE is an item, and EACH is another one in each round."""
    name = program = ""
    says = ""  # how its --version begins, where another program has the same name
    commands = {}
    sync = None  # the words that exchange changes with the remote

    def begin(self, program, folder):
        """Makes the project."""

    def add(self, program, folder, title):
        """Makes an item, and returns its id."""

    def fill(self, program, folder, titles, end):
        """Makes the items, and returns their ids."""
        ids = []
        for title in titles:
            ids.append(self.add(program, folder, title))
            if time.monotonic() > end:
                raise Slow(f"{len(ids):,} of {len(titles):,} items")
        return ids

    def end(self):
        """Stops what the tracker has started."""


class Ours(Peer):
    name = "abacus bd"
    commands = {"create": ["create", "a bead"], "show": ["show", "ONE"], "list": ["list", "-n", "50"], "ready": ["ready"],
                "search": ["search", "part77"], "update": ["update", "EACH", "-p", "1"], "close": ["close", "EACH"]}
    sync = ["sync"]

    def begin(self, program, folder):
        git_init(folder)
        run([program, "init", "--prefix", "bd"], folder)

    def fill(self, program, folder, titles, end):
        return create_all(program, folder, titles, end)


class Beads(Peer):
    """bd of beads."""
    name = program = "bd"
    says = "bd version"
    commands = {"create": ["create", "a bead"], "show": ["show", "ONE"], "list": ["list", "--limit", "50"], "ready": ["ready"],
                "search": ["search", "part77"], "update": ["update", "EACH", "-p", "1"], "close": ["close", "EACH"]}

    def begin(self, program, folder):
        git_init(folder)
        run([program, "init"], folder)

    def add(self, program, folder, title):
        return json.loads(run([program, "create", title, "--json"], folder))["id"]


class BeadsRust(Beads):
    """br has the commands of bd."""
    name = program = "br"
    says = "br"

    def fill(self, program, folder, titles, end):
        return create_all(program, folder, titles, end)


class BeadsRs(Beads):
    """A command talks to a service, which publishes changes after a while. `sync` waits for that."""
    name, program, says = "beads-rs", "bd", "bd 0."
    commands = {**Beads.commands, "list": ["list", "-n", "50"]}
    sync = ["sync"]
    service = None

    def begin(self, program, folder):
        git_init(folder)
        self.service = subprocess.Popen([program, "daemon", "run"], cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fill(self, program, folder, titles, end):
        """As the import of what bd has exported."""
        rows = [{"id": f"bd-{i:06}", "title": title, "description": "", "status": "open", "priority": 2, "issue_type": "task",
                 "created_at": WHEN, "updated_at": WHEN, "created_by": "bench"} for i, title in enumerate(titles)]
        (folder / "issues.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        run([program, "migrate", "from-go", "--input", "issues.jsonl"], folder)
        return [row["id"] for row in rows]

    def end(self):
        if self.service:
            self.service.terminate()
            self.service.wait(30)


class Grite(Peer):
    """Without its service, which is another package. It has no limit for a list."""
    name = program = "grite"
    commands = {"create": ["issue", "create", "--title", "an issue", "--body", "why"], "show": ["issue", "show", "ONE"],
                "list": ["issue", "list"], "update": ["issue", "update", "EACH", "--title", "another title"],
                "close": ["issue", "close", "EACH"]}
    sync = ["sync"]

    def begin(self, program, folder):
        git_init(folder)
        run([program, "init"], folder)

    def add(self, program, folder, title):
        return json.loads(run([program, "issue", "create", "--title", title, "--body", "", "--json"], folder))["data"]["issue_id"]


class GitBug(Peer):
    name = program = "git-bug"
    commands = {"create": ["bug", "new", "-t", "a bug", "-m", "why"], "show": ["bug", "show", "ONE"], "list": ["bug"]}

    def begin(self, program, folder):
        git_init(folder)
        run([program, "user", "new", "--name", "x", "--email", "x@localhost", "--non-interactive"], folder)

    def fill(self, program, folder, titles, end):
        super().fill(program, folder, titles, end)
        return run([program, "bug", "-f", "id"], folder).split()

    def add(self, program, folder, title):
        run([program, "bug", "new", "-t", title, "-m", "why"], folder)


class Taskwarrior(Peer):
    name, program = "taskwarrior", "task"
    commands = {"create": ["add", "a task"], "show": ["ONE", "info"], "list": ["limit:50", "list"],
                "ready": ["limit:50", "ready"], "search": ["description.contains:part77", "list"],
                "update": ["EACH", "modify", "priority:H"], "close": ["EACH", "done"]}

    def begin(self, program, folder):
        (folder / "taskrc").write_text(f"data.location={folder}\nconfirmation=no\nverbose=nothing\n")
        os.environ["TASKRC"] = str(folder / "taskrc")

    def fill(self, program, folder, titles, end):
        (folder / "tasks.json").write_text(json.dumps([{"description": title, "status": "pending"} for title in titles]))
        run([program, "import", "tasks.json"], folder)
        return run([program, "_uuids"], folder).split()


PEERS = [Ours, Beads, BeadsRs, BeadsRust, Grite, GitBug, Taskwarrior]


def run(argv, folder, timeout=None):
    done = subprocess.run([str(a) for a in argv], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=timeout)
    if done.returncode:
        sys.exit(f"peers: {shlex.join(map(str, argv))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def create_all(program, folder, titles, end):
    """Items from the headings of a file."""
    (folder / "plan.md").write_text("".join(f"## {title}\n\n" for title in titles))
    try:
        made = run([program, "create", "-f", "plan.md", "--json"], folder, timeout=end - time.monotonic())
    except subprocess.TimeoutExpired:
        raise Slow(f"fewer than {len(titles):,} items") from None
    return [one["id"] for one in json.loads(made)]


def git_init(folder):
    """A repository with a commit, and a remote in a folder beside it."""
    run(["git", "init", "-q", "--bare", f"{folder}.git"], folder)
    for words in ("init -q -b main .", "config user.email x@localhost", "config user.name x",
                  "commit -q --allow-empty -m one", f"remote add origin {folder}.git", "push -q origin main"):
        run(["git", *words.split()], folder)


def version(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0][:40] if done.stdout or done.stderr else "unknown"


def find(peer, build):
    """The program of a peer; None: it is not installed, or the name is that of another program."""
    if not peer.program:
        return str(build / "bin" / "bd")
    for folder in os.environ["PATH"].split(os.pathsep):
        found = shutil.which(peer.program, path=folder)
        ours = found and os.path.basename(os.path.realpath(found)) == "abacus"
        if found and not ours and version(found).startswith(peer.says):
            return found
    return None


def environment(top):
    """Nothing of the user gets in, nothing is looked for in the network, and nothing is left behind."""
    for name in ("config", "run"):
        (top / name).mkdir(mode=0o700)
    os.environ.update(HOME=str(top), XDG_CONFIG_HOME=str(top / "config"), XDG_RUNTIME_DIR=str(top / "run"), NO_COLOR="1",
                      ABACUS_AUTOSYNC="0", BD_ACTOR="bench", BD_NO_AUTO_UPGRADE="1")


def words_of(peer, program, row):
    if row in peer.commands:
        return [program, *peer.commands[row]]
    if row != "update, sync" or not peer.sync:
        return None
    update = shlex.join([program, *peer.commands["update"]]).replace("EACH", '"$0"')
    return ["/bin/sh", "-c", f"{update} && {shlex.join([program, *peer.sync])}", "EACH"]


def ratios(build, rounds, peer, program, folder, ids):
    """The ratios to /bin/true for each row, of time and of processor time; None: the tracker has no such command."""
    out, unused, file = {}, iter(ids[1:]), folder.parent / f"{folder.name}.ids"
    for row in ROWS:
        words, times = words_of(peer, program, row), SYNCS if "sync" in row else rounds
        if not words:
            out[row] = None
            continue
        if "EACH" in words:
            file.write_text("".join(f"{next(unused)}\n" for _ in range(times)))
        words = [{"ONE": ids[0], "EACH": f"@line:{file}"}.get(word, word) for word in words]
        true, found = bench.measure(build, times, folder, [[bench.TRUE], words])
        out[row] = {what: found[what] / true[what] for what in ("fast_us", "cpu_us")}
    return out


def measure(build, args, peer, program, folder, items):
    """The ratios, and the ids of the project."""
    titles = [f"fix part{i} of the parser" for i in range(items)]
    folder.mkdir()
    try:
        peer.begin(program, folder)
        ids = peer.fill(program, folder, titles, time.monotonic() + args.patience)
        if peer.sync:
            run([program, *peer.sync], folder)
        return ratios(build, args.rounds, peer, program, folder, ids)
    finally:
        peer.end()


def table(build, args, top, items):
    found = {}
    for peer in (kind() for kind in PEERS):
        program = find(peer, build)
        if not program:
            print(f"{peer.name} is not installed")
            continue
        try:
            found[peer.name] = measure(build, args, peer, program, top / f"{peer.name.split()[0]}-{items}", items)
            print(f"{peer.name}: {version(program)}", flush=True)
        except Slow as why:
            print(f"{peer.name}: {version(program)}, left out: {why} after {args.patience} s", flush=True)
    for what, name in (("fast_us", "time"), ("cpu_us", "processor time")):
        print(f"\n{items:,} items each, {name}; ratios to /bin/true\n\n{'':14}" + "".join(f"{name:>13}" for name in found))
        for row in ROWS:
            print(f"{row:14}" + "".join(f"{one[row][what]:>12.1f}×" if one[row] else f"{'–':>13}" for one in found.values()))
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--path", default="", help="folders to look for trackers in, before those of PATH")
    parser.add_argument("--items", default="1000", help="sizes of the projects")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--patience", type=int, default=600, help="for how long a tracker may make its items")
    args = parser.parse_args()
    sizes = [int(size) for size in args.items.split(",")]
    if min(sizes) < max(2 * args.rounds + SYNCS + 1, 100):
        parser.error("--items has to be at least 100, and enough for the rounds that update and close")
    build = args.build.resolve()
    os.environ["PATH"] = os.pathsep.join(filter(None, [args.path, os.environ["PATH"]]))
    with tempfile.TemporaryDirectory(dir=build) as top:
        environment(pathlib.Path(top))
        for items in sizes:
            table(build, args, pathlib.Path(top), items)


if __name__ == "__main__":
    sys.exit(main())
