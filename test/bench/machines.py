#!/usr/bin/env python3
"""machines.py [MACHINES [SECONDS]]: clones that share through one bare remote, each sending a message a second to the
next one. Prints the rate of pushes, the bytes per message and the delay, and fails if a message is lost or doubled.

Default: 10 machines, 20 seconds. With more machines than the computer has room for, commands and share processes queue,
and the delay says more about the computer than about the protocol."""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ.get("ABACUS_BUILD", pathlib.Path(__file__).parents[2] / "build")).resolve() / "bin"
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20


def run(path, program, *args, live=False):
    env = {**os.environ, "ABACUS_AUTOSYNC": "1" if live else "0", "BD_ACTOR": "bench"}
    done = subprocess.run([str(BIN / program), *args], cwd=path, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if "--json" in args else done.stdout


def exchange(path):
    subprocess.run([str(BIN.parent / "libexec" / "abacus-sync"), "share", f"{path}/.git", "--once"], check=True,
                   capture_output=True, env={**os.environ, "ABACUS_AUTOSYNC": "0"})


def lines(path, agent):
    file = path / ".beadboard" / "agent" / "messages" / f"{agent}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def size(path):
    return sum(f.stat().st_size for f in (path / "objects").rglob("*") if f.is_file())


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="abacus-machines-"))
    hub = root / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", str(hub)], check=True)
    clones = [root / f"m{i}" for i in range(COUNT)]
    for i, path in enumerate(clones):
        subprocess.run(["git", "init", "-q", str(path)], check=True)
        subprocess.run(["git", "-C", str(path), "remote", "add", "origin", str(hub)], check=True)
        run(path, "abacus", "share", "on")
        run(path, "bb", "agent", "register", "--name", f"agent-{i}", "--role", "bench")
        exchange(path)
    for path in clones:
        exchange(path)
    waits = []
    for path in clones:  # as a command that waits does
        waits.append(open(path / ".git" / "abacus" / "machines" / "waiting.lock", "a"))
        fcntl.flock(waits[-1], fcntl.LOCK_SH)
    before, pushes, sent, stop = size(hub), [0], [], threading.Event()

    def count():
        """A push moves a ref."""
        known = {}
        while not stop.is_set():
            for ref in (hub / "refs" / "abacus" / "machines").glob("*"):
                try:
                    value = ref.read_text()
                except OSError:
                    continue
                pushes[0] += ref in known and known[ref] != value
                known[ref] = value
            time.sleep(0.02)

    def talk(i):
        for n in range(SECONDS):
            began = time.monotonic()
            reply = run(clones[i], "bb", "--json", "agent", "send", "--from", f"agent-{i}", "--to",
                        f"agent-{(i + 1) % COUNT}", "--bead", "bd-1", "--category", "INFO", "--subject", "s", "--body",
                        f"message {n} of {i}", live=True)
            sent.append((reply["data"]["message_id"], (i + 1) % COUNT, time.time()))
            time.sleep(max(0, 1 - (time.monotonic() - began)))

    counter = threading.Thread(target=count)
    talkers = [threading.Thread(target=talk, args=(i,)) for i in range(COUNT)]
    counter.start()
    for t in talkers:
        t.start()
    for t in talkers:
        t.join()
    talked = time.monotonic()
    arrived = {}
    while time.monotonic() < talked + 120 and len(arrived) < len(sent):
        for id, to, at in sent:
            if id not in arrived and any(m["message_id"] == id for m in lines(clones[to], f"agent-{to}")):
                arrived[id] = time.time() - at
        time.sleep(0.2)
    settled = time.monotonic() - talked
    stop.set()
    counter.join()
    for path, wait in zip(clones, waits):
        wait.close()
        run(path, "abacus", "share", "off")
    double = sum(len([m for m in lines(path, f"agent-{i}") if m["state"] == "unread"]) -
                 len({m["message_id"] for m in lines(path, f"agent-{i}")}) for i, path in enumerate(clones))
    print(f"{COUNT} machines, {SECONDS} s: {len(sent)} messages, {len(sent) - len(arrived)} lost, {double} doubled")
    print(f"pushes per machine and second: {pushes[0] / COUNT / (SECONDS + settled):.2f}")
    print(f"bytes at the remote per message: {(size(hub) - before) / max(1, len(sent)):.0f}")
    print(f"all arrived {settled:.1f} s after the last was sent")
    return bool(double or len(arrived) < len(sent))


if __name__ == "__main__":
    sys.exit(main())
