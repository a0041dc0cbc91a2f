"""The part of `make bench` about continuity: a store with a long history."""
import sqlite3
import subprocess
import time

READS = {
    "vybe task list": ["task", "list"],
    "vybe events list": ["events", "list"],
    "vybe memory get": ["memory", "get", "--key", "key-7"],
    "vybe resume --peek": ["resume", "--peek", "--agent", "w-1"],
}
WRITES = {
    "vybe push": ["push", "--agent", "w-1", "--json", '{"event":{"kind":"progress","message":"m"}}'],
    "vybe memory set": ["memory", "set", "--agent", "w-1", "--key", "k", "--value", "v"],
    "vybe task create": ["task", "create", "--agent", "w-1", "--title", "a task"],
    "vybe resume": ["resume", "--agent", "w-1"],
}


def fill(vybe, folder, events, memories):
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run([vybe, *WRITES["vybe task create"], "--request-id", "first"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    db = sqlite3.connect(folder / ".git/abacus/vybe.db")
    now = int(time.time() * 1000)
    db.executemany("INSERT INTO events (kind, agent, message, created) VALUES ('progress', ?, ?, ?)",
                   ((f"w-{i % 9}", f"what was done in step {i}", now - events + i) for i in range(events)))
    db.executemany("INSERT INTO memory (scope, scope_id, key, value, type, created, updated) VALUES"
                   " ('global', '', ?, ?, 'string', ?, ?)",
                   ((f"key-{i}", "what is to be remembered " * 3, now, now) for i in range(memories)))
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    subprocess.run([vybe, "resume", "--agent", "w-1", "--limit", "100000", "--request-id", "r0"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)


def tables(measure, build, rounds, folder, true):
    vybe = build / "bin" / "vybe"
    fill(vybe, folder, 10_000, 1_000)
    print("\n10,000 events, 1,000 memories; whole process, medians\n")
    rows = measure(build, rounds, folder, [[true], *([vybe, *args] for args in READS.values())])
    for name, row in zip(READS, rows[1:]):
        goal = "≤ 4× true" if "resume" in name else "≤ 2× true"
        print(f"{name:32} {row['median_us']:>6} µs {row['median_us'] / rows[0]['median_us']:>6.2f}×  {goal:28}"
              f" {row['rss_kb'] / 1024:>5.1f} MB")
    shell = ["/bin/sh", "-c", 'exec "$@" --request-id "$$-$(date +%s%N)"', "sh"]
    rows = measure(build, rounds, folder, [[true], ["@fsync"], [*shell, true],
                                           *([*shell, vybe, *args] for args in WRITES.values())])
    base, sync, wrapped = (r["median_us"] for r in rows[:3])
    for name, row in zip(WRITES, rows[3:]):
        cost = row["median_us"] - (wrapped - base)  # the shell is not ours
        goal, word = (4 * base, "≤ 1× (4 true)") if "resume" in name else (2 * base + 2 * sync, "≤ 1× (2 true + 2 fsync)")
        print(f"{name:32} {cost:>6} µs {cost / goal:>6.2f}×  {word:28} {row['rss_kb'] / 1024:>5.1f} MB")
    print(f"{'/bin/true':32} {base:>6} µs")
    print(f"{'append a page + fsync':32} {sync:>6} µs")
