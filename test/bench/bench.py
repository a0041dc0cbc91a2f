"""make bench: what each command costs, beside /bin/true and a sync of the same disk.

Ratios are of medians taken in one run, with the commands interleaved, so they hold on a
noisy machine where absolute times do not. Nothing here fails a test.

usage: bench.py BUILD [--rounds N] [--dir D]"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import agents
import beads
import continuity
import service
import sharing

TRUE = shutil.which("true")
READS = {
    "bb log": ["log"],
    "bb log --json": ["log", "--json"],
    "bb --as agent-7 log --unread": ["--as", "agent-7", "log", "--unread"],
    "bb status": ["status"],
    "bb message": ["message", "42"],
    "bb artifacts": ["artifacts"],
    "bb refs": ["refs", "tt:issue:13"],
    "bb summary": ["summary"],
}
WRITES = {
    "bb post": ["--as", "agent-7", "post", "a message of the usual length, more or less", "--tag", "info"],
    "bb status set": ["--as", "agent-7", "status", "set", "measuring", "--progress", "50"],
    "bb artifact add": ["--as", "agent-7", "artifact", "add", "file.txt", "a file"],
}


def fill(bb, folder, messages):
    """The board of a busy project, written with SQL because that is faster."""
    subprocess.run([bb, "--dir", folder, "init"], check=True, stdout=subprocess.DEVNULL)
    (folder / "file.txt").write_text("x")
    db = sqlite3.connect(folder / ".bb" / "blackboard.db")
    now = time.time()
    step = 7 * 86400 / messages  # a week's worth
    stamp = lambda i: time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - (messages - i) * step))
    db.executemany("INSERT INTO agents (id, last_seen, updated_at) VALUES (?, ?, ?)",
                   ((f"agent-{i}", stamp(messages - i), stamp(0)) for i in range(20)))
    db.executemany(
        "INSERT INTO messages (from_agent, content, tags, priority, in_reply_to, refs, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((f"agent-{i % 20}", f"message {i}: " + "what was said about it " * 6,
          '["info"]' if i % 3 else '["plan","question"]',
          ("normal", "high", "low", "normal", "critical")[i % 5] if i % 7 == 0 else "normal",
          i - 3 if i % 4 == 0 and i > 40 else None,
          '[{"where":"tt","what":"issue","ref":%d}]' % (i % (messages // 5)), stamp(i))
         for i in range(1, messages + 1)))
    db.executemany("INSERT INTO artifacts (path, produced_by, description, created_at) VALUES (?, ?, ?, ?)",
                   ((f"src/file{i}.c", f"agent-{i % 20}", "a file", stamp(messages * i // 100))
                    for i in range(100)))
    db.execute("INSERT INTO reads VALUES ('agent-7', 1, ?)", (messages - 10,))
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    subprocess.run([bb, "--dir", folder, "post", "the index follows", "--ref", "tt:issue:1"],
                   check=True, stdout=subprocess.DEVNULL)


def measure(build, rounds, folder, commands):
    argv = [str(build / "bench" / "measure"), str(rounds), str(folder)]
    for command in commands:
        argv += ["--", *map(str, command)]
    return json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)


def costs(build, rounds, folder, table):
    """Medians of true, of a sync, and of each command, all of one run."""
    bb = build / "bin" / "bb"
    rows = measure(build, rounds, folder,
                   [[TRUE], ["@fsync"], *([bb, *args] for args in table.values())])
    return rows[0], rows[1], dict(zip(table, rows[2:]))


def commands_table(build, rounds, folder):
    print("\n10,000 messages on the board; whole process, fork to exit, medians\n")
    print(f"{'command':32} {'time':>9} {'ratio':>7}  {'goal':28} {'memory':>8}")
    true, sync, rows = costs(build, rounds, folder, READS)
    for name, row in rows.items():
        print(f"{name:32} {row['median_us']:>6} µs {row['median_us'] / true['median_us']:>6.2f}×"
              f"  {'≤ 2× true':28} {row['rss_kb'] / 1024:>5.1f} MB")
    print(f"{'/bin/true':32} {true['median_us']:>6} µs")
    true, sync, rows = costs(build, rounds, folder, WRITES)
    for name, row in rows.items():
        goal = 2 * true["median_us"] + 1.5 * sync["median_us"]
        print(f"{name:32} {row['median_us']:>6} µs {row['median_us'] / goal:>6.2f}×"
              f"  {'≤ 1× (2 true + 1.5 fsync)':28} {row['rss_kb'] / 1024:>5.1f} MB")
    print(f"{'/bin/true':32} {true['median_us']:>6} µs")
    print(f"{'append a page + fsync':32} {sync['median_us']:>6} µs")


def growth_table(build, rounds, folders):
    names = ["bb log", "bb status", "bb post"]
    table = {**READS, **WRITES}
    print("\nHow the cost grows with the number of messages (medians; goal: ≤ 1.5×)\n")
    print(f"{'command':12}" + "".join(f"{size:>12,}" for size in folders) + f"{'growth':>10}")
    bb = build / "bin" / "bb"
    for name in names:
        rows = measure(build, rounds, "/",
                       [[bb, "--dir", folder, *table[name]] for folder in folders.values()])
        times = [row["median_us"] for row in rows]
        print(f"{name:12}" + "".join(f"{t:>9} µs" for t in times)
              + f"{times[-1] / times[0]:>9.2f}×")


def json_table(build, folder):
    path = folder / "speed.json"
    ours = json.loads(subprocess.run([build / "bench" / "json_speed", path], check=True,
                                     stdout=subprocess.PIPE).stdout)
    lines = path.read_bytes().splitlines()
    best = min(timed(lambda: [json.loads(line) for line in lines]) for _ in range(3))
    theirs = sum(map(len, lines)) / best / 1e6
    parse = ours["parse_mb_s"]
    print("\nJSON, line by line\n")
    print(f"{'parser':24} {'MB/s':>8}")
    print(f"{'base/value':24} {parse:>8.0f}   {parse / theirs:.1f}× Python's (goal: ≥ 10×)")
    print(f"{'base/json (writer)':24} {ours['write_mb_s']:>8.0f}")
    print(f"{'Python json':24} {theirs:>8.0f}")


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("build", type=pathlib.Path)
    args.add_argument("--rounds", type=int, default=200)
    args.add_argument("--dir", help="where to put the boards (default: the build folder)")
    args = args.parse_args()
    build = args.build.resolve()
    for name in ("BB_DIR", "BB_AGENT_ID", "BEADS_DIR", "BEADS_ACTOR"):
        os.environ.pop(name, None)
    os.environ["ABACUS_AUTOSYNC"] = "0"
    with tempfile.TemporaryDirectory(dir=args.dir or build) as top:
        folders = {}
        for size in (100, 10_000, 100_000):
            folders[size] = pathlib.Path(top) / str(size)
            folders[size].mkdir()
            fill(build / "bin" / "bb", folders[size], size)
        commands_table(build, args.rounds, folders[10_000])
        growth_table(build, args.rounds, folders)
        folders["agents"] = pathlib.Path(top) / "agents"
        folders["agents"].mkdir()
        agents.tables(build, args.rounds, folders["agents"], costs)
        folders["continuity"] = pathlib.Path(top) / "continuity"
        folders["continuity"].mkdir()
        continuity.tables(measure, build, args.rounds, folders["continuity"], TRUE)
        beads.tables(measure, build, args.rounds, pathlib.Path(top), TRUE)
        folders["sharing"] = pathlib.Path(top) / "sharing"
        folders["sharing"].mkdir()
        sharing.tables(measure, build, args.rounds, folders["sharing"])
        folders["service"] = pathlib.Path(top) / "service"
        folders["service"].mkdir()
        service.tables(measure, build, folders["service"])
        json_table(build, pathlib.Path(top))


if __name__ == "__main__":
    sys.exit(main())
