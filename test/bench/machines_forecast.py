#!/usr/bin/env python3
"""machines_forecast.py [MACHINES...]: simulates an hour of machines that share, and prints what they cost the remote.

Each machine has one agent that sends a message a minute, at random times. The intervals are those of
src/sync/share_serve.c and the sizes those of src/machines/log.h; the texts are compressed as Git does it. It is the
check of the table in doc/machines.md; test/bench/machines.py measures the real thing, for as many machines as one
computer can be."""
import json
import random
import secrets
import sys
import zlib

HOUR, MINUTE = 3600, 60
QUIET, PUSH, WAITED, ACTIVE, STAY = 0.15, 2, 2, 15, 60  # seconds
SEGMENT = 64 << 10  # bytes
WORDS = "the parser is done and tests pass please look at edge cases in dates before you merge it".split()
REF = len("0" * 40 + " refs/abacus/machines/" + "0" * 16 + "\n") + 4


def fact(seq, at):
    return json.dumps({"at": [at, 0], "by": "amber-otter", "data": {
        "bead_id": "bd-" + secrets.token_hex(2), "body": " ".join(random.choices(WORDS, k=12)), "category": "INFO",
        "created": at, "from": "amber-otter", "id": "msg_20261117_220000_" + secrets.token_hex(8), "requires_ack": False,
        "subject": " ".join(random.choices(WORDS, k=3)), "thread_id": "bead:bd-1", "to": "bold-fox",
        "to_registered": at}, "kind": "message.sent", "seq": seq}, separators=(",", ":")) + "\n"


def machine(waits):
    """The times of an hour's pushes with their bytes, and how often the machine looks at the remote."""
    pushes, looks, text, seq, last, sealed = [], 0, "", 0, -PUSH, 0
    acts, now = [], 0.0
    while (now := now + random.expovariate(1 / MINUTE)) < HOUR:
        acts.append(now)
    pending = list(acts)
    while pending:
        at = max(pending[0] + QUIET, last + PUSH)
        while pending and pending[0] <= at:
            seq += 1
            line = fact(seq, 1_780_000_000_000 + int(pending.pop(0) * 1000))
            if len(text) + len(line) > SEGMENT:
                text, sealed = "", sealed + 1
            text += line
        meta = 330 + 130 * (sealed + 1)  # hashes and a signature: they do not compress
        pushes.append((at, len(zlib.compress(text.encode())) + meta + 120 + 130))  # and two trees, a commit
        last = at
    if waits:
        looks = HOUR // WAITED
    else:
        looks = sum(int(min(STAY, b - a) / ACTIVE) + 1 for a, b in zip(acts, acts[1:] + [HOUR]))
    return pushes, looks


def hour(count, waits):
    sample = [machine(waits) for _ in range(min(count, 40))]
    pushes = sum(len(p) for p, _ in sample) / len(sample)
    size = sum(b for p, _ in sample for _, b in p) / max(1, sum(len(p) for p, _ in sample))
    looks = sum(n for _, n in sample) / len(sample)
    return pushes, size, looks


def main():
    random.seed(1)
    for count in [int(arg) for arg in sys.argv[1:]] or [10, 100, 1000]:
        for waits in (True, False):
            pushes, size, looks = hour(count, waits)
            print(f"{count:5} machines, {'all wait' if waits else 'none waits'}: {count * pushes:9,.0f} pushes, "
                  f"{count * looks:11,.0f} looks, {REF * count / 1000:6.1f} KB a list, {size / 1000:.1f} KB a push; "
                  f"served {count * looks * REF * count / 1e6:12,.1f} MB of lists, "
                  f"{count * (count - 1) * pushes * size / 1e6:12,.1f} MB of logs")


if __name__ == "__main__":
    main()
