"""make soak HOURS=n: 50 writes a second for so long, by the service, by MCP and by commands, while a page watches.

Autosync publishes to a remote that is a folder, as in a real project. Printed at the start and at the end, each
over a tenth of the time: latencies, and the service's memory and descriptors; then the sizes of the files.

usage: soak.py BUILD HOURS [--dir D]"""
import argparse
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

import service

BEADS = 1000
# Writers of each kind, and how many writes each makes in a second: 50 in all.
WRITERS = {"service": (4, 8), "mcp": (2, 4), "command": (2, 5)}


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def by_service(run):
    connection = Unix(run.service.socket)

    def write(bead, text):
        connection.request("POST", "/api/bead/update", json.dumps({"ids": [bead], "description": text}),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200
    return write


def by_mcp(run):
    server = subprocess.Popen([run.build / "bin" / "abacus", "mcp"], cwd=run.folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run.children.append(server)
    number = 0

    def ask(method, params):
        nonlocal number
        number += 1
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())

    def write(bead, text):
        answer = ask("tools/call", {"name": "bd_comment", "arguments": {"id": bead, "text": text}})
        return not answer.get("result", {"isError": True}).get("isError")

    ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "soak", "version": "1"}})
    return write


def by_command(run):
    def write(bead, text):
        return not subprocess.run([run.build / "bin" / "bd", "update", bead, "--title", text[:60]], cwd=run.folder,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return write


KINDS = {"service": by_service, "mcp": by_mcp, "command": by_command}


class Soak:
    def __init__(self, build, folder, seconds):
        self.build, self.folder = build, folder
        self.seconds, self.start = seconds, None
        self.done, self.failed, self.events, self.children = [], [], 0, []
        bd = build / "bin" / "bd"
        subprocess.run(["git", "init", "-q", "--bare", str(folder.parent / "remote.git")], check=True)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", str(folder.parent / "remote.git")],
                       check=True)
        subprocess.run([bd, "init", "--prefix", "bd"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        self.beads = [bead["id"] for bead in service.pipe(build / "bin" / "abacus", folder, [
            {"op": "bead create", "params": {"title": f"bead {i}"}} for i in range(BEADS)])]
        self.service = service.Service(build, folder)

    def left(self):
        return self.start + self.seconds - time.monotonic()

    def write(self, kind, number, per_second):
        """That many writes a second, each at its planned time; a late one is not skipped."""
        write, count = KINDS[kind](self), 0
        while self.left() > 0:
            time.sleep(max(0, self.start + count / per_second - time.monotonic()))
            begin = time.monotonic()
            count += 1
            fine = write(self.beads[(count * 7 + number) % BEADS], f"write {count} of {kind} {number}, " + "x" * 100)
            self.done.append((begin - self.start, kind, time.monotonic() - begin))
            if not fine:
                self.failed.append(kind)

    def watch(self):
        """Acts as the page: follows a stream of events, and repeats the first load once a second."""
        stream = service.get(self.service.socket, "/api/events")
        threading.Thread(target=self.follow, args=(stream,), daemon=True).start()
        connection = Unix(self.service.socket)
        while self.left() > 0:
            begin = time.monotonic()
            connection.request("GET", "/api/bead/ready?limit=50&brief=true")
            connection.getresponse().read()
            self.done.append((begin - self.start, "page", time.monotonic() - begin))
            time.sleep(1)

    def follow(self, stream):
        for line in stream:
            self.events += line.startswith(b"event: bead")

    def used(self):
        found = {"memory, MB": self.service.memory(),
                 "descriptors": len(os.listdir(f"/proc/{self.service.process.pid}/fd"))}
        home = self.folder / ".git" / "abacus"
        for name in ("journal.*", "cache.db*", "receipts.db*", "serve/*"):
            found[f"{name}, MB"] = sum(f.stat().st_size for f in home.glob(name) if f.is_file()) / 1e6
        git = subprocess.run(["du", "-sk", str(self.folder / ".git" / "objects")], capture_output=True, text=True)
        return {**found, "Git objects, MB": int(git.stdout.split()[0]) / 1e3}

    def run(self):
        kinds = [(kind, i, rate) for kind, (count, rate) in WRITERS.items() for i in range(count)]
        self.start = time.monotonic()
        threads = [threading.Thread(target=self.write, args=one) for one in kinds]
        threads.append(threading.Thread(target=self.watch))
        for thread in threads:
            thread.start()
        time.sleep(self.seconds / 10)
        before = self.used()
        for thread in threads:
            thread.join()
        after = self.used()
        for child in self.children:
            child.stdin.close()
            child.wait()
        self.service.__exit__()
        return before, after

    def latency(self, kind, first, last):
        """The median and the 99th percentile of a part of the time, in ms."""
        took = sorted(1000 * s for at, k, s in self.done if k == kind and first <= at / self.seconds <= last)
        return (took[len(took) // 2], took[len(took) * 99 // 100]) if took else (0, 0)

    def report(self, before, after):
        writes = sum(kind != "page" for _, kind, _ in self.done)
        print(f"{self.seconds / 60:.0f} minutes, {writes:,} writes ({writes / self.seconds:.0f} a second),"
              f" {len(self.failed)} failed, {self.events:,} events followed\n")
        print(f"{'latency, ms':24}{'start: median':>16}{'99 %':>10}{'end: median':>16}{'99 %':>10}")
        for kind in (*WRITERS, "page"):
            row = *self.latency(kind, 0, 0.1), *self.latency(kind, 0.9, 1)
            print(f"{kind:24}{row[0]:>16.1f}{row[1]:>10.1f}{row[2]:>16.1f}{row[3]:>10.1f}")
        print(f"\n{'':24}{'after a tenth':>16}{'at the end':>26}")
        for name, value in before.items():
            print(f"{name:24}{value:>16.1f}{after[name]:>26.1f}")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("build", type=pathlib.Path)
    args.add_argument("hours", type=float)
    args.add_argument("--dir", help="where to put the project (default: the build folder)")
    args = args.parse_args()
    os.environ["ABACUS_AGENT"] = "soak"
    with tempfile.TemporaryDirectory(dir=args.dir or args.build, ignore_cleanup_errors=True) as top:
        soak = Soak(args.build.resolve(), pathlib.Path(top).resolve() / "project", args.hours * 3600)
        soak.report(*soak.run())
        return bool(soak.failed)


if __name__ == "__main__":
    sys.exit(main())
