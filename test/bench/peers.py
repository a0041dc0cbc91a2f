"""make bench-peers: the same work by other trackers, of those that are installed, and by ours, in one run.

Each gets a project of 1,000 items of its own. Times are of the fastest twentieth of the rounds, as ratios to
/bin/true, with the commands of all trackers interleaved. Nothing is installed.

usage: peers.py BUILD [--rounds N]"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import bench

ITEMS = 1000
TITLES = [f"fix part {i} of the parser" for i in range(ITEMS)]


class Ours:
    name, program = "abacus bd", None
    commands = {"create": ["create", "a bead"], "show": ["show", "ID"], "list": ["list", "-n", "50"], "ready": ["ready"]}

    def fill(self, program, folder):
        git_init(folder)
        run([program, "init", "--prefix", "bd"], folder)
        (folder / "plan.md").write_text("".join(f"## {title}\n\n" for title in TITLES))
        return json.loads(run([program, "create", "-f", "plan.md", "--json"], folder))[0]["id"]


class Upstream:
    """bd of beads, and br, which has the same commands."""
    commands = {"create": ["create", "a bead"], "show": ["show", "ID"], "list": ["list", "--limit", "50"],
                "ready": ["ready"]}

    def __init__(self, name):
        self.name = self.program = name

    def fill(self, program, folder):
        git_init(folder)
        run([program, "init"], folder)
        made = [run([program, "create", title, "--json"], folder) for title in TITLES]
        return json.loads(made[0])["id"]


class GitBug:
    name = program = "git-bug"
    commands = {"create": ["bug", "new", "-t", "a bug", "-m", "why"], "show": ["bug", "show", "ID"], "list": ["bug"]}

    def fill(self, program, folder):
        git_init(folder)
        run([program, "user", "new", "--name", "x", "--email", "x@localhost", "--non-interactive"], folder)
        for title in TITLES:
            run([program, "bug", "new", "-t", title, "-m", "why"], folder)
        return run([program, "bug", "-f", "id"], folder).split()[0]


class Taskwarrior:
    name = program = "task"
    commands = {"create": ["add", "a task"], "show": ["1", "info"], "list": ["limit:50", "list"],
                "ready": ["limit:50", "ready"]}

    def fill(self, program, folder):
        (folder / "taskrc").write_text(f"data.location={folder}\nconfirmation=no\nverbose=nothing\n")
        os.environ["TASKRC"] = str(folder / "taskrc")
        (folder / "tasks.json").write_text(json.dumps([{"description": title, "status": "pending"} for title in TITLES]))
        run([program, "import", "tasks.json"], folder)
        return "1"


PEERS = [Ours(), Upstream("bd"), Upstream("br"), GitBug(), Taskwarrior()]


def run(argv, folder):
    return subprocess.run([str(a) for a in argv], cwd=folder, check=True, capture_output=True, text=True).stdout


def git_init(folder):
    run(["git", "init", "-q", "."], folder)
    run(["git", "config", "user.email", "x@localhost"], folder)
    run(["git", "config", "user.name", "x"], folder)


def find(peer, build):
    """The program of a peer; None: it is not installed, or the name is a link to ours."""
    if not peer.program:
        return str(build / "bin" / "bd")
    found = shutil.which(peer.program)
    ours = found and os.path.basename(os.path.realpath(found)) == "abacus"
    return None if ours else found


def version(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0][:40] if done.stdout or done.stderr else "unknown"


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("build", type=pathlib.Path)
    args.add_argument("--rounds", type=int, default=100)
    args = args.parse_args()
    build = args.build.resolve()
    os.environ["ABACUS_AUTOSYNC"], os.environ["BD_ACTOR"] = "0", "bench"
    with tempfile.TemporaryDirectory(dir=build) as top:
        ready = []
        for number, peer in enumerate(PEERS):
            program, folder = find(peer, build), pathlib.Path(top) / str(number)
            if not program:
                print(f"{peer.name} is not installed")
                continue
            folder.mkdir()
            ready.append((peer, program, folder, peer.fill(program, folder)))
            print(f"{peer.name}: {version(program)}")
        print(f"\n{ITEMS:,} items each; ratios to /bin/true\n\n{'':12}" + "".join(f"{p.name:>14}" for p, *_ in ready))
        for what in Ours.commands:
            line = f"{what:12}"
            for peer, program, folder, item in ready:
                if what not in peer.commands:
                    line += f"{'–':>14}"
                    continue
                words = [item if word == "ID" else word for word in peer.commands[what]]
                true, row = bench.measure(build, args.rounds, folder, [[bench.TRUE], [program, *words]])
                line += f"{row['fast_us'] / true['fast_us']:>13.1f}×"
            print(line)


if __name__ == "__main__":
    sys.exit(main())
