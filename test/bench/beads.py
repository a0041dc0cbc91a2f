"""The part of `make bench` about beads: stores of any size, written as a journal."""
import json
import os
import random
import subprocess
import time


def _table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = _table()


def crc32c(seed, data):
    crc = seed ^ 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def fill(bd, folder, beads, more=lambda number: {}):
    """As many beads as edges, one in ten closed, with `more` members; returns an id. The journal is the store."""
    rng = random.Random(beads)
    words = [f"word{i}" for i in range(3000)]
    home = folder / ".git" / "abacus"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    home.mkdir(mode=0o700)
    crc, first, out, number, known = 0, 0, [], 1, []

    def line(content):
        nonlocal crc, first
        text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
        crc = crc32c(crc, text)
        first = first or crc
        out.append(b"%08x %s\n" % (crc, text))

    def record(content):
        nonlocal out, number
        line(content)
        if len(out) >= 10_000:
            (home / f"journal.{number}").write_bytes(b"".join(out))
            out, number = [], number + 1
            line({"after": crc, "first": first})

    record({"prefix": {"mark": [[1, 0], "agent"], "value": "bd"}})
    for i in range(beads):
        at = [1_700_000_000_000 + i * 1000, 0]
        mark = {"_at": at, "_by": "agent", "created_at": at, "created_by": "agent"}
        bead = {**mark, "id": "bd-" + "".join(rng.choices("0123456789abcdefghijklmnopqrstuvwxyz", k=7)),
                "title": f"fix {rng.choice(words)} in {rng.choice(words)}, part {i}", "type": "task",
                "description": " ".join(rng.choices(words, k=20)), "priority": rng.randrange(5),
                "status": "open", **more(i)}
        if i % 10 == 0:
            bead |= {"status": "closed", "closed_at": at, "closed_by": "agent"}
        if i % 4 == 0:
            bead["labels"] = ["backend"]
        content = {"beads": [bead]}
        if known:
            to = rng.choice(known)
            content["beads"].append(to)
            content["deps"] = [{**mark, "from": bead["id"], "kind": "blocks" if i % 2 else "related",
                                "to": to["id"]}]
        known.append({"created_at": at, "created_by": "agent", "id": bead["id"]})
        record(content)
    if out:
        (home / f"journal.{number}").write_bytes(b"".join(out))
    subprocess.run([bd, "-C", folder, "list"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([bd, "-C", folder, "create", "warm"], check=True, stdout=subprocess.DEVNULL)
    return known[beads // 2 + 1]["id"]


def reads(bead):
    return {"bd show": ["show", bead], "bd ready": ["ready"], "bd list -n 50": ["list", "-n", "50"],
            "bd list -n 50 --json": ["list", "-n", "50", "--json"], "bd search": ["search", "word77"],
            "bd blocked": ["blocked"]}


def writes(bead):
    return {"bd create": ["create", "a bead of the usual length, more or less", "-d", "why and how"],
            "bd update": ["update", bead, "--append-notes", "seen"], "bd claim": ["claim", bead]}


def commands_table(measure, build, rounds, folder, bead, true):
    bd = build / "bin" / "bd"
    print("\n10,000 beads and 10,000 edges; whole process, fork to exit, medians\n")
    print(f"{'command':32} {'time':>9} {'ratio':>7}  {'goal':28} {'memory':>8}")
    for table, bound, goal in ((reads(bead), lambda t, s: t, "≤ 2× true"),
                               (writes(bead), lambda t, s: 2 * t + 1.5 * s, "≤ 1× (2 true + 1.5 fsync)")):
        rows = measure(build, rounds, folder, [[true], ["@fsync"], *([bd, *a] for a in table.values())])
        unit = bound(rows[0]["median_us"], rows[1]["median_us"])
        for name, row in zip(table, rows[2:]):
            print(f"{name:32} {row['median_us']:>6} µs {row['median_us'] / unit:>6.2f}×  {goal:28}"
                  f" {row['rss_kb'] / 1024:>5.1f} MB")
        print(f"{'/bin/true':32} {rows[0]['median_us']:>6} µs")
    print(f"{'append a page + fsync':32} {rows[1]['median_us']:>6} µs")


def growth_table(measure, build, rounds, stores):
    print("\nHow the cost grows with the number of beads (medians; goal: ≤ 1.5× from 1,000 to 100,000)\n")
    print(f"{'command':22}" + "".join(f"{size:>12,}" for size in stores) + f"{'growth':>10}")
    tables = {size: reads(bead) for size, (_, bead) in stores.items()}
    for name in tables[next(iter(tables))]:
        rows = measure(build, rounds, "/", [[build / "bin" / "bd", "-C", folder, *tables[size][name]]
                                            for size, (folder, _) in stores.items()])
        times = [row["median_us"] for row in rows]
        print(f"{name:22}" + "".join(f"{t:>9} µs" for t in times) + f"{times[-1] / times[0]:>9.2f}×")


def rebuild_table(measure, build, stores, source):
    print(f"\nThe cache made anew from {source} (medians of 5; goal: ≤ 300 ms at 10,000, linear)\n")
    for size, (folder, _) in stores.items():
        again = f'rm -f .git/abacus/cache.db*; exec "{build}/bin/bd" list -n 1'
        row, = measure(build, 5, folder, [["/bin/sh", "-c", again]])
        print(f"{size:>9,} beads {row['median_us'] / 1000:>8.0f} ms {row['rss_kb'] / 1024:>8.1f} MB")


def by_git(folder, remote, text, change):
    """The work of Git itself to publish a file: hash, commit, push."""
    def git(*args, **kw):
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@localhost", *args], cwd=folder,
                              check=True, capture_output=True, **kw).stdout.decode().strip()

    (folder / "file").write_bytes(text + b"%d\n" % change)
    start = time.perf_counter()
    tree = git("mktree", input=f"100644 blob {git('hash-object', '-w', 'file')}\tfile\n".encode())
    parent = ["-p", "refs/beads/store"] if change else []
    git("update-ref", "refs/beads/store", git("commit-tree", *parent, "-m", "change", tree))
    git("push", "-q", str(remote), "refs/beads/store")
    return time.perf_counter() - start


def by_bd(bd, folder, bead, change):
    subprocess.run([bd, "update", bead, "--title", f"title {change}", "-q"], cwd=folder, check=True)
    start = time.perf_counter()
    subprocess.run([bd, "sync", "-q"], cwd=folder, check=True)
    return time.perf_counter() - start


def sync_table(build, folder, bead, top):
    """Syncs one changed bead to a remote that is a folder; for comparison, Git publishes a file of that size."""
    bd, remotes = build / "bin" / "bd", [top / "ours.git", top / "theirs.git"]
    for remote in remotes:
        subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    subprocess.run(["git", "remote", "add", "origin", str(remotes[0])], cwd=folder, check=True)
    subprocess.run([bd, "sync", "-q", "--timeout", "10m"], cwd=folder, check=True)
    text = subprocess.run(["git", "cat-file", "blob", "refs/beads/store:state.jsonl"], cwd=folder, check=True,
                          capture_output=True).stdout
    plain = top / "plain"
    subprocess.run(["git", "init", "-q", str(plain)], check=True)
    ours, theirs = [], []
    for change in range(11):
        ours.append(by_bd(bd, folder, bead, change))
        theirs.append(by_git(plain, remotes[1], text, change))
    ours, theirs = sorted(ours)[5], sorted(theirs)[5]
    print(f"\none changed bead of a file of {len(text) / 1e6:.1f} MB, to a folder: bd sync {ours * 1000:.0f} ms,"
          f" git {theirs * 1000:.0f} ms, {ours / theirs:.2f} times (goal: 4)")


def crowd_table(build, folder, processes=50, each=20):
    """The same creates by many processes at once and by one after the other; both as commands."""
    loop = f'for i in $(seq $0); do "{build}/bin/bd" create "a bead $i" -q || exit 1; done'

    def took(count, creates):
        start = time.perf_counter()
        shells = [subprocess.Popen(["/bin/sh", "-c", loop, str(creates)], cwd=folder, stdout=subprocess.DEVNULL)
                  for _ in range(count)]
        if any(shell.wait() for shell in shells):
            raise SystemExit("bench: a create failed")
        return time.perf_counter() - start

    one, many = took(1, processes * each), took(processes, each)
    print(f"\n{processes * each:,} creates: one process {one:.1f} s, {processes} processes {many:.1f} s,"
          f" {many / one:.2f} times (goal: ≤ 2)")


def tables(measure, build, rounds, top, true):
    os.environ["BD_ACTOR"] = "agent"
    stores = {}
    for size in (1_000, 10_000, 100_000):
        folder = top / f"beads-{size}"
        folder.mkdir()
        stores[size] = (folder, fill(build / "bin" / "bd", folder, size))
    commands_table(measure, build, rounds, *stores[10_000], true)
    growth_table(measure, build, rounds, stores)
    rebuild_table(measure, build, stores, "the journal")
    crowd_table(build, stores[10_000][0])
    sync_table(build, *stores[10_000], top)
    rebuild_table(measure, build, {10_000: stores[10_000]}, "the ref")
