"""The part of `make bench` about agents: mail and reservations, of which any number can be written as their record."""
import json
import subprocess
import time

AGENTS = ("amber-otter", "cobalt-harbor")
READS = {
    "bb agent inbox": ["agent", "inbox", "--agent", "cobalt-harbor"],
    "bb agent inbox --json": ["agent", "inbox", "--agent", "cobalt-harbor", "--json"],
    "bb agent inbox --state unread": ["agent", "inbox", "--agent", "cobalt-harbor", "--state", "unread"],
    "bb agent guard": ["agent", "guard", "--agent", "cobalt-harbor", "doc/part/file", "test/file"],
    "bb agent status": ["agent", "status"],
    "bb agent status --json": ["agent", "status", "--json"],
}
WRITES = {
    "bb agent reserve": ["agent", "reserve", "--agent", "cobalt-harbor", "--scope", "doc/part", "--bead", "bd-1"],
    "bb agent send": ["agent", "send", "--from", "cobalt-harbor", "--to", "amber-otter", "--bead", "bd-1",
                      "--category", "INFO", "--subject", "a subject", "--body", "a body"],
}


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


def lines(rows):
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def fill(bb, folder, messages, reservations):
    """Messages to one agent, all but twenty of them read; live reservations of the other."""
    bb = [str(bb), "--dir", str(folder), "agent"]
    for name in AGENTS:
        subprocess.run([*bb, "register", "--name", name, "--role", "bench"], check=True, stdout=subprocess.DEVNULL)
    home, now = folder / ".beadboard" / "agent", time.time()
    sent = [{"message_id": f"msg_20260101_000000_{i:016x}", "thread_id": "bead:bd-1", "bead_id": "bd-1",
             "from_agent": AGENTS[0], "to_agent": AGENTS[1], "category": "INFO", "subject": f"what {i} is about",
             "body": "what is said about it " * 10, "state": "unread", "requires_ack": False,
             "created_at": stamp(now - messages + i), "read_at": None, "acked_at": None} for i in range(messages)]
    stream = [line for m in sent[:-20] for line in (m, {**m, "state": "read", "read_at": stamp(now)})] + sent[-20:]
    (home / "messages" / f"{AGENTS[1]}.jsonl").write_text(lines(stream))
    (home / "reservations" / "history.jsonl").write_text(lines(
        {"reservation_id": f"res_20260101_000000_{i:016x}", "scope": f"src/part{i}/*", "agent_id": AGENTS[0],
         "bead_id": f"bd-{i}", "state": "active", "created_at": stamp(now), "expires_at": stamp(now + 86400),
         "released_at": None, "epoch": i + 1} for i in range(reservations)))
    message = ["--agent", AGENTS[1], "--message", sent[-21]["message_id"]]
    subprocess.run([*bb, "ack", *message], check=True, stdout=subprocess.DEVNULL)  # makes the snapshots
    subprocess.run([*bb, "reserve", "--agent", AGENTS[1], "--scope", "doc/part", "--bead", "bd-1"], check=True,
                   stdout=subprocess.DEVNULL)


def tables(build, rounds, folder, costs):
    fill(build / "bin" / "bb", folder, 10_000, 1_000)
    print("\n10,000 messages to an agent, 1,000 live reservations; whole process, medians\n")
    true, _, rows = costs(build, rounds, folder, READS)
    for name, row in rows.items():
        print(f"{name:32} {row['median_us']:>6} µs {row['median_us'] / true['median_us']:>6.2f}×"
              f"  {'≤ 3× true':28} {row['rss_kb'] / 1024:>5.1f} MB")
    true, sync, rows = costs(build, rounds, folder, WRITES)
    for name, row in rows.items():
        goal = 3 * true["median_us"] + sync["median_us"]
        print(f"{name:32} {row['median_us']:>6} µs {row['median_us'] / goal:>6.2f}×"
              f"  {'≤ 1× (3 true + fsync)':28} {row['rss_kb'] / 1024:>5.1f} MB")
    print(f"{'/bin/true':32} {true['median_us']:>6} µs")
    print(f"{'append a page + fsync':32} {sync['median_us']:>6} µs")
