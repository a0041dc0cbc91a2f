"""make bench-instructions: what each command costs in instructions, in a small and in a large project.

Valgrind's callgrind counts instructions exactly, so two versions can be compared on a busy machine.
A command whose cost grows with the project, and not with its answer, stands out by its last column.

`make bench-baseline` writes baseline.json: the counts of FIXED in a small project, which
test/system/test_instructions.py compares with those of the present build.

usage: instructions.py BUILD [--sizes 1000,100000] [--dir D] [--only WORD] [--baseline FILE]"""
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

AGENT = agents.AGENTS[1]
GOAL = 1.5


def fill(build, folder, size):
    """Beads and edges, as many continuity events, a tenth of it as posts and as mail; returns an id."""
    folder.mkdir()
    bead = beads.fill(build / "bin" / "bd", folder, size)
    agents.fill(build / "bin" / "bb", folder, size // 10, 100)
    run(build, folder, "bb init")
    run(build, folder, f"vybe memory set --key k --value v --agent {AGENT} --request-id first")
    now = int(time.time() * 1000)
    stamp = lambda ms: time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(ms / 1000))
    db = sqlite3.connect(folder / ".git/abacus/vybe.db")
    db.executemany("INSERT INTO events (kind, agent, message, created) VALUES ('progress', ?, ?, ?)",
                   ((f"w-{i % 9}", f"what was done in step {i}", now - size + i) for i in range(size)))
    db.executemany("INSERT INTO memory (scope, scope_id, key, value, type, created, updated) VALUES"
                   " ('global', '', ?, ?, 'string', ?, ?)",
                   ((f"key-{i}", "what is to be remembered", now, now) for i in range(size // 100)))
    db.commit()
    db.close()
    db = sqlite3.connect(folder / ".bb" / "blackboard.db")
    db.executemany("INSERT INTO agents (id, last_seen, updated_at) VALUES (?, ?, ?)",
                   ((f"agent-{i}", stamp(now), stamp(now)) for i in range(20)))
    db.executemany("INSERT INTO messages (from_agent, content, tags, priority, refs, created_at)"
                   " VALUES (?, ?, '[\"info\"]', 'normal', '[]', ?)",
                   ((f"agent-{i % 20}", f"message {i}: what was said", stamp(now - (size - i) * 1000))
                    for i in range(size // 10)))
    db.commit()
    db.close()
    return bead


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
        print(f"'{command}' failed: {done.stderr.decode(errors='replace')[-500:]}")
        return 1, 1
    return int(found[1]), len(done.stdout)


READS = """
bd show BEAD
bd show BEAD --json
bd list
bd list -n 50 --json
bd list --sort updated
bd list --sort title
bd list --label backend
bd list -s closed
bd list --assignee nobody
bd list --tree
bd ready
bd ready --json
bd search word77
bd why BEAD
bd deleted
bd comments BEAD
bd label list BEAD
bd label list-all
bd count
bd count --by-status
bd stale
bd dep list BEAD
bd dep tree BEAD
bd blocked
bd children BEAD
bd epic status
bd graph BEAD
bd status
bd history BEAD
bd config list
bd where
bd info
bd prime
bd duplicates
abacus status
abacus log
abacus whoami
abacus sessions
abacus conversation BEAD
abacus where
bb log
bb log --unread
bb message 42
bb status
bb artifacts
bb summary
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
vybe artifacts list --task-id BEAD
vybe task get --id BEAD
vybe task list
vybe status
vybe loop stats
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
bd close BEAD --force
bd reopen BEAD
bd defer BEAD --until 2099-01-01
bd undefer BEAD
bd undo
bd ready --claim
bb post 'a message'
bb status set 'at work'
bb agent heartbeat
bb agent init
bb agent send amber-otter s -m b --category INFO --bead BEAD
bb agent reserve --scope src/a.c --bead BEAD
bb agent release --scope src/a.c
vybe push --json '{"event":{"kind":"progress","message":"m"}}' --request-id REQUEST
vybe memory set --key k --value v --request-id REQUEST
vybe task create --title 'a task' --request-id REQUEST
vybe resume --request-id REQUEST
vybe resume --request-id REQUEST
"""


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
    """What the counts depend on, besides our code: the compiler, the libraries and the machine."""
    text = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[:1]
    libraries = [subprocess.run(["pkg-config", "--modversion", name], capture_output=True, text=True).stdout.strip()
                 for name in ("sqlite3", "libsodium")]
    return " ".join([os.uname().machine, *text, *libraries])


def fixed(build, top):
    """The counts of FIXED in a project of FIXED_SIZE beads, made in the folder `top`."""
    bead = fill(build, top / "project", FIXED_SIZE)
    run(build, top / "project", "bd sync")  # so that no command finds a first time for anything
    run(build, top / "project", "bd where")
    return {line: count(build, top / "project", expand(line, bead, "fixed"))[0]
            for line in FIXED.strip().splitlines()}


def expand(line, bead, request):
    return line.replace("BEAD", bead).replace("AGENT", AGENT).replace("REQUEST", request)


def table(build, projects, only, rows):
    for line in (READS + WRITES).strip().splitlines():
        if not line or only not in line:
            continue
        costs = []
        for number, (folder, bead) in enumerate(projects):
            costs.append(count(build, folder, expand(line, bead, f"r{len(rows)}-{number}")))
        growth = costs[-1][0] / costs[0][0]
        answer = costs[-1][1] / max(costs[0][1], 1)
        mark = " *" if growth > GOAL * max(1, answer) else ""
        print(f"{line[:56]:56}" + "".join(f"{cost / 1e6:>9.2f} M" for cost, _ in costs) + f"{growth:>8.2f}×{mark}",
              flush=True)
        rows[line] = [cost for cost, _ in costs]


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("build", type=pathlib.Path)
    args.add_argument("--sizes", default="1000,100000")
    args.add_argument("--dir", type=pathlib.Path, help="where the projects are made, and kept")
    args.add_argument("--only", default="", help="only commands with this word")
    args.add_argument("--baseline", type=pathlib.Path, help="only count FIXED, and write the counts here")
    args = args.parse_args()
    build, rows = args.build.resolve(), {}
    with tempfile.TemporaryDirectory(dir=build) as top:
        top = args.dir or pathlib.Path(top)
        top.mkdir(exist_ok=True)
        if args.baseline:
            made = {"toolchain": toolchain(build), "instructions": fixed(build, top)}
            return args.baseline.write_text(json.dumps(made, indent=1) + "\n") and None
        projects = []
        for size in map(int, args.sizes.split(",")):
            folder, note = top / f"project-{size}", top / f"bead-{size}"
            if not note.exists():
                note.write_text(fill(build, folder, size))
            projects.append((folder, note.read_text()))
        table(build, projects, args.only, rows)


if __name__ == "__main__":
    sys.exit(main())
