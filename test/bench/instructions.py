"""make bench-instructions: what each command costs in instructions, in a small and in a large project.

Valgrind's callgrind counts instructions exactly, so two versions can be compared on a busy machine.
A command whose cost grows with the project, and not with its answer, stands out by its last column.

`make bench-baseline` writes baseline.json: the counts of FIXED in a small project, which
test/system/test_instructions.py compares with those of the present build.

usage: instructions.py BUILD [--sizes 1000,10000,100000] [--dir D] [--only WORD] [--from COMMAND] [--baseline FILE]"""
import argparse
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

import agents
import beads
import bench

AGENT = agents.AGENTS[1]
GOAL = 1.5
# Some commands read up to a limit: 999 unread posts, 2,000 events, 100 entries of memory. Every project has as many.
POSTS_LEAST, EVENTS_LEAST, MEMORY_LEAST = 1000, 2500, 110
RARE = "zeppelin"  # a word that one bead of each project has


def fill(build, folder, size):
    """Beads and edges, as many continuity events, a tenth of it as posts and as mail; returns two ids."""
    folder.mkdir()
    bead = beads.fill(build / "bin" / "bd", folder, size)
    posts, events = max(size // 10, POSTS_LEAST), max(size, EVENTS_LEAST)
    run(build, folder, f"bd create 'moor the {RARE}'")
    agents.fill(build / "bin" / "bb", folder, size // 10, 100)
    run(build, folder, "bb init")
    run(build, folder, f"vybe memory set --key k --value v --agent {AGENT} --request-id first")
    now = int(time.time() * 1000)
    stamp = lambda ms: time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(ms / 1000))
    db = sqlite3.connect(folder / ".git/abacus/vybe.db")
    db.executemany("INSERT INTO events (kind, agent, message, created) VALUES ('progress', ?, ?, ?)",
                   ((f"w-{i % 9}", f"what was done in step {i}", now - events + i) for i in range(events)))
    db.executemany("INSERT INTO memory (scope, scope_id, key, value, type, created, updated) VALUES"
                   " ('global', '', ?, ?, 'string', ?, ?)",
                   ((f"key-{i}", "what is to be remembered", now, now) for i in range(max(size // 100, MEMORY_LEAST))))
    db.commit()
    db.close()
    db = sqlite3.connect(folder / ".bb" / "blackboard.db")
    db.executemany("INSERT INTO agents (id, last_seen, updated_at) VALUES (?, ?, ?)",
                   ((f"agent-{i}", stamp(now), stamp(now)) for i in range(20)))
    db.executemany("INSERT INTO messages (from_agent, content, tags, priority, refs, created_at)"
                   " VALUES (?, ?, '[\"info\"]', 'normal', '[]', ?)",
                   ((f"agent-{i % 20}", f"message {i}: what was said", stamp(now - (posts - i) * 1000))
                    for i in range(posts)))
    db.commit()
    db.close()
    run(build, folder, "bb post 'a post with a reference' --ref tt:issue:13")  # brings the index of references up to date
    (folder / "file.txt").write_text("x")
    run(build, folder, "bd sync")  # as autosync would have; without it the journal grows with the beads
    run(build, folder, f"abacus search {RARE}")  # builds the indexes of texts
    run(build, folder, f"vybe resume --agent {AGENT} --request-id second")  # the first one compares all beads
    return {"bead": bead, "other": run(build, folder, "bd list -n 1 --format ids").split()[0]}


def environment():
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BB_", "BEADS_", "BD_", "VYBE_"))}
    return {**env, "ABACUS_AUTOSYNC": "0", "ABACUS_AGENT": AGENT, "NO_COLOR": "1"}


def argv(build, command):
    program, *args = re.findall(r"'[^']*'|\S+", command)
    return [str(build / "bin" / program), *(arg.strip("'") for arg in args)]


def run(build, folder, command):
    done = subprocess.run(argv(build, command), cwd=folder, env=environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"instructions: '{command}' failed: {done.stderr}")
    return done.stdout


def count(build, folder, command):
    """The instructions of one run, and the bytes of its answer."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(valgrind + argv(build, command), cwd=folder, env=environment(), capture_output=True)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if not found or done.returncode:
        said = [line for line in done.stderr.decode(errors="replace").splitlines() if not line.startswith("==")]
        print(f"'{command}' failed: {' '.join(said)[:200]}")
        return 0, 0
    return int(found[1]), len(done.stdout)


READS = """
bd show BEAD
bd show BEAD --json
bd list
bd list -n 50 --json
bd list --all
bd list --sort created
bd list --sort updated
bd list --sort closed
bd list --sort status
bd list --sort id
bd list --sort title
bd list --sort type
bd list --sort assignee
bd list --label backend
bd list --label-any backend,other
bd list -s closed
bd list --assignee nobody
bd list --tree
bd ready
bd ready --json
bd ready --label backend
bd search zeppelin
bd search word77
bd why BEAD
bd touches BEAD
bd conflicts BEAD
bd deleted
bd comments BEAD
bd label list BEAD
bd label list-all
bd count
bd count --by-status
bd stale
bd dep list BEAD
bd dep tree BEAD
bd dep cycles
bd blocked
bd children BEAD
bd epic status
bd graph BEAD
bd status
bd history BEAD
bd blame BEAD
bd config list
bd config get claim.lease
bd where
bd info
bd prime
bd duplicates
bd version
bd export -o out.jsonl
bd validate
abacus status
abacus log
abacus search zeppelin
abacus search word77
abacus files
abacus whoami
abacus sessions
abacus conversation BEAD
abacus where
abacus slots
abacus machines
abacus share status
abacus schema
bb log
bb log --unread
bb message 42
bb refs tt:issue:13
bb status
bb status get cobalt-harbor
bb artifacts
bb summary
bb export
bb agent list
bb agent show --agent AGENT
bb agent inbox
bb agent status
bb agent guard doc/x.md
bb agent events
vybe resume --peek
vybe memory get --key key-7
vybe memory list
vybe events list
vybe events list --all
vybe artifacts list --task-id BEAD
vybe task get --id BEAD
vybe task list
vybe status
vybe loop stats
vybe schema commands
vybe help
"""
WRITES = """
bd create 'a bead of the usual length' -d 'why and how'
bd update BEAD --append-notes seen
bd claim BEAD
bd renew BEAD
bd comment BEAD 'a comment'
bd unclaim BEAD
bd label add BEAD new
bd label remove BEAD new
bd dep add BEAD OTHER
bd dep remove BEAD OTHER
bd close BEAD --force
bd reopen BEAD
bd defer BEAD --until 2099-01-01
bd undefer BEAD
bd undo
bd delete BEAD --force
bd undelete BEAD
bd reclaim
bd epic close-eligible
bd config set claim.lease 30m
bd config unset claim.lease
bd ready --claim
bb post 'a message'
bb status set 'at work'
bb status clear
bb artifact add file.txt 'a file'
bb artifact show file.txt
bb agent register --name topaz-heron --role bench
bb agent heartbeat
bb agent init
bb agent send amber-otter s -m b --category INFO --bead BEAD
bb agent read
bb agent reserve --scope src/a.c --bead BEAD
bb agent release --scope src/a.c
vybe push --json '{"event":{"kind":"progress","message":"m"}}' --request-id REQUEST
vybe memory set --key k --value v --request-id REQUEST
vybe memory pin --key k --request-id REQUEST
vybe memory delete --key k --request-id REQUEST
vybe memory gc --request-id REQUEST
vybe task create --title 'a task' --request-id REQUEST
vybe task begin --id BEAD --request-id REQUEST
vybe task set-priority --id BEAD --priority 1 --request-id REQUEST
vybe task add-dep --id BEAD --depends-on OTHER --request-id REQUEST
vybe task remove-dep --id BEAD --depends-on OTHER --request-id REQUEST
vybe task set-status --id BEAD --status pending --request-id REQUEST
vybe task complete --id BEAD --outcome done --summary done --request-id REQUEST
vybe task delete --id BEAD --request-id REQUEST
vybe resume --request-id REQUEST
vybe resume --request-id REQUEST
"""

# Commands that read more in a larger project, and why they may.
GROWS = {
    "bd dep cycles": "searches all dependencies",
    "bd duplicates": "compares all open titles",
    "bd export": "prints all beads",
    "bd validate": "reads all that is published",
    "bd search word77": "finds more: all matches of a word's beginning are merged before the newest are shown",
    "abacus search word77": "the same",
    "bb export": "prints the whole board",
    "vybe memory list": "prints the memory",
    "vybe task list": "prints all tasks",
}

# Of these, the ones that read everything take minutes when they are counted: they are not, in the largest project.
WHOLE = ("bd dep cycles", "bd export", "bd validate", "bb export", "vybe task list")

# Commands that are not counted, and why.
UNCOUNTED = {
    "they start and wait for other programs": """
        abacus on; abacus work; abacus work done; abacus work stop; abacus run; abacus install; abacus open; bb install;
        bd edit; vybe loop; bb agent guard install; bb agent guard uninstall; vybe hook install; vybe hook uninstall""",
    "they run until they are stopped, or wait": """
        abacus top; abacus mcp; abacus serve; abacus pipe; bb mcp; bb agent wait""",
    "they need the git process, which other tables measure": """
        bd sync; bd commits; bd diff; bd trend; bd import; abacus share on; abacus share off; abacus machines rename;
        abacus machines forget; abacus machines trust""",
    "they run once per project": """
        abacus init; bb init; bd init; abacus move-store; bd repair; bd doctor; abacus doctor; bb clear; bb destroy;
        vybe upgrade; abacus slots set""",
    "they print what the program contains": "abacus completion; abacus man; abacus docs",
    "it is the same as 'bb agent read'": "bb agent ack",
}


# Of these, a cost that rises by more than 5 % fails ./check.
FIXED = """
bd show BEAD
bd show BEAD --json
bd list
bd list --json
bd list --sort updated
bd list --label backend
bd list -s closed
bd ready
bd ready --json
bd search word77
bd why BEAD
bd count
bd status
bd stale
bd dep list BEAD
bd blocked
bd history BEAD
bd prime
bd create 'a bead of the usual length' -d 'why and how'
bd update BEAD --append-notes seen
bd claim BEAD
abacus status
abacus log
bb log
bb post 'a message'
bb agent inbox
bb agent guard doc/x.md
bb agent reserve --scope src/a.c --bead BEAD
vybe memory get --key key-2
vybe resume --peek
"""
FIXED_SIZE = 300


def toolchain(build):
    """What the counts depend on besides this code: the compiler, the libraries and the machine."""
    text = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[:1]
    libraries = [subprocess.run(["pkg-config", "--modversion", name], capture_output=True, text=True).stdout.strip()
                 for name in ("sqlite3", "libsodium")]
    return " ".join([os.uname().machine, *text, *libraries])


def fixed(build, top):
    """The counts of FIXED in a project of FIXED_SIZE beads, made in the folder `top`."""
    project = fill(build, top / "project", FIXED_SIZE)
    run(build, top / "project", "bd sync")  # so that no command finds a first time for anything
    run(build, top / "project", "bd where")
    counted = {}
    for line in FIXED.strip().splitlines():
        # once a minute, a command writes down that its agent is there: on a slow machine, any of these could
        run(build, top / "project", f"bb agent heartbeat --agent {AGENT}")
        counted[line] = count(build, top / "project", expand(line, project, "fixed"))[0]
    return counted


def expand(line, project, request):
    return (line.replace("BEAD", project["bead"]).replace("OTHER", project["other"]).replace("AGENT", AGENT)
            .replace("REQUEST", request))


def lines():
    return [line for line in (READS + WRITES).splitlines() if line]


def grows(line):
    return next((why for command, why in GROWS.items() if f"{line} ".startswith(f"{command} ")), "")


def timed(build, folder, command):
    """The fastest twentieth of 40 runs as a ratio to /bin/true, interleaved with it, and the memory in MB."""
    true, row = bench.measure(build, 40, folder, [[bench.TRUE], argv(build, command)])
    return row["fast_us"] / true["fast_us"], row["rss_kb"] / 1024


def table(build, projects, only, first):
    """One line per command: instructions at each size, growth, and for reads time and memory in the largest."""
    failed = []
    print(f"{'command':56}" + "".join(f"{p['size']:>11,}" for p in projects) + "  growth   time  memory\n")
    for number, line in enumerate(lines()):
        first = "" if line == first else first
        if first or only not in line:
            continue
        chosen = projects[:2] if line.startswith(WHOLE) else projects
        costs = [count(build, p["folder"], expand(line, p, f"r{number}-{p['size']}-{time.time_ns()}"))[0]
                 for p in chosen]
        if not all(costs):
            continue
        growth = costs[-1] / costs[0]
        more = ""
        if line in READS.splitlines():
            ratio, memory = timed(build, chosen[-1]["folder"], expand(line, chosen[-1], ""))
            more = f"{ratio:>6.1f}×{memory:>5.1f} MB"
        if growth > GOAL and not grows(line):
            failed.append(line)
        print(f"{line[:56]:56}" + "".join(f"{cost / 1e6:>9.2f} M" for cost in costs)
              + " " * 11 * (len(projects) - len(chosen)) + f"{growth:>7.2f}×{more:15}"
              + (f"  {grows(line)}" if growth > GOAL else ""), flush=True)
    print(f"\nmore than {GOAL}× without a reason: {', '.join(failed) or 'none'}")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("build", type=pathlib.Path)
    args.add_argument("--sizes", default="1000,10000,100000")
    args.add_argument("--dir", type=pathlib.Path, help="where the projects are made, and kept")
    args.add_argument("--only", default="", help="only commands with this word")
    args.add_argument("--from", dest="first", default="", help="this command and those after it")
    args.add_argument("--baseline", type=pathlib.Path, help="only count FIXED, and write the counts here")
    args = args.parse_args()
    build = args.build.resolve()
    os.environ.update(environment())
    with tempfile.TemporaryDirectory(dir="/tmp") as top:  # each folder of the path costs instructions
        top = args.dir or pathlib.Path(top)
        top.mkdir(exist_ok=True)
        if args.baseline:
            made = {"toolchain": toolchain(build), "instructions": fixed(build, top)}
            return args.baseline.write_text(json.dumps(made, indent=1) + "\n") and None
        projects = []
        for size in map(int, args.sizes.split(",")):
            folder, note = top / f"project-{size}", top / f"project-{size}.json"
            if not note.exists():
                note.write_text(json.dumps(fill(build, folder, size)))
            projects.append({"size": size, "folder": folder, **json.loads(note.read_text())})
        table(build, projects, args.only, args.first)


if __name__ == "__main__":
    sys.exit(main())
