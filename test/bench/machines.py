#!/usr/bin/env python3
"""machines.py [MACHINES [SECONDS]]: clones that share through one bare remote, each sending a message a second to the
next one. Prints the rate of pushes, the bytes per message and the delay, and fails if a message is lost or doubled, or
a command refused. A refused command is repeated with its request id.

Default: 10 machines, 20 seconds. With more machines than the computer has room for, commands and share processes queue,
and the delay says more about the computer than about the protocol."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ.get("ABACUS_BUILD", pathlib.Path(__file__).parents[2] / "build")).resolve() / "bin"
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
PATIENCE = 600  # seconds, for the last message


def run(path, program, *args, live=False):
    env = {**os.environ, "ABACUS_AUTOSYNC": "1" if live else "0", "BD_ACTOR": "bench"}
    done = subprocess.run([str(BIN / program), *args], cwd=path, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program} {' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout) if "--json" in args else done.stdout


def exchange(path):
    subprocess.run([str(BIN.parent / "libexec" / "abacus-sync"), "share", f"{path}/.git", "--once"], check=True,
                   capture_output=True, env={**os.environ, "ABACUS_AUTOSYNC": "0"})


class Mailbox:
    """The messages that have arrived in an agent's mailbox, and when they were seen there."""

    def __init__(self, path, agent):
        self.file, self.at, self.seen, self.sent = path / ".beadboard/agent/messages" / f"{agent}.jsonl", 0, {}, 0

    def look(self):
        if not self.file.exists():
            return
        with open(self.file, "rb") as f:
            f.seek(self.at)
            text = f.read()
        text = text[:text.rfind(b"\n") + 1]
        self.at += len(text)
        for m in map(json.loads, text.splitlines()):
            self.sent += m["state"] == "unread"
            self.seen.setdefault(m["message_id"], time.time())


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
    before, pushed, sent, refused, stop, began = size(hub), {}, [], [], threading.Event(), time.time_ns()
    boxes = [Mailbox(path, f"agent-{i}") for i, path in enumerate(clones)]

    def watch():
        """A push replaces the file of a ref."""
        while not stop.is_set():
            for ref in (hub / "refs" / "abacus" / "machines").glob("*"):
                with contextlib.suppress(OSError):
                    pushed.setdefault(ref.name, set()).add(ref.stat().st_mtime_ns)
            for box in boxes:
                box.look()
            time.sleep(0.25)

    def talk(i):
        for n in range(SECONDS):
            start = time.monotonic()
            reply = None
            while not reply:
                try:
                    reply = run(clones[i], "bb", "--json", "--request-id", f"r{n}", "agent", "send", "--from",
                                f"agent-{i}", "--to", f"agent-{(i + 1) % COUNT}", "--bead", "bd-1", "--category", "INFO",
                                "--subject", "s", "--body", f"message {n} of {i}", live=True)
                except RuntimeError as why:
                    refused.append(str(why))
            sent.append((reply["data"]["message_id"], (i + 1) % COUNT, time.time()))
            time.sleep(max(0, 1 - (time.monotonic() - start)))

    watcher = threading.Thread(target=watch)
    talkers = [threading.Thread(target=talk, args=(i,)) for i in range(COUNT)]
    watcher.start()
    for t in talkers:
        t.start()
    for t in talkers:
        t.join()
    talked = time.monotonic()
    while time.monotonic() < talked + PATIENCE and any(id not in boxes[to].seen for id, to, _ in sent):
        time.sleep(0.25)
    settled = time.monotonic() - talked
    stop.set()
    watcher.join()
    for path, wait in zip(clones, waits):
        wait.close()
        run(path, "abacus", "share", "off")
    delays = sorted(boxes[to].seen[id] - at for id, to, at in sent if id in boxes[to].seen)
    lost, double = len(sent) - len(delays), sum(box.sent - len(box.seen) for box in boxes)
    gaps = [(b - a) / 1e9 for times in map(sorted, pushed.values()) for a, b in zip(times, times[1:]) if a > began]
    print(f"{COUNT} machines, {SECONDS} s, load {os.getloadavg()[0]:.0f}: {len(sent)} messages, {lost} lost, {double} doubled, "
          f"{len(refused)} refused")
    for why in refused[:3]:
        print(why)
    print(f"pushes per machine and second: {len(gaps) / COUNT / (SECONDS + settled):.2f}; "
          f"least time between two of one machine: {min(gaps, default=0):.2f} s")
    print(f"bytes at the remote per message: {(size(hub) - before) / max(1, len(sent)):.0f}")
    if delays:
        print(f"delay: median {delays[len(delays) // 2]:.1f} s, 99 % {delays[len(delays) * 99 // 100]:.1f} s, "
              f"longest {delays[-1]:.1f} s")
    shutil.rmtree(root, ignore_errors=True)
    return bool(double or lost or refused)


if __name__ == "__main__":
    sys.exit(main())
