"""What a store costs after many requests with ids: `make bench-requests N=1000000`, and test/hostile/test_growth.py.

One `abacus pipe` updates 100 beads. After 1,000 and after N requests: sizes, and the CPU time of commands.
"""
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

BEADS = 100
TICK = os.sysconf("SC_CLK_TCK")


class Store:
    """A repository with BEADS published beads and a remote that is a folder, and one `abacus pipe` that stays."""

    def __init__(self, programs, folder):
        self.programs, self.folder, self.sent = pathlib.Path(programs), pathlib.Path(folder) / "store", 0
        self.env = {**os.environ, "ABACUS_AUTOSYNC": "0", "BD_ACTOR": "anna"}
        remote = self.folder.parent / "remote.git"
        for command in (["init", "-q", "--bare", str(remote)], ["init", "-q", str(self.folder)],
                        ["-C", str(self.folder), "remote", "add", "origin", str(remote)]):
            subprocess.run(["git", *command], check=True)
        self.bd("init", "--prefix", "bd")
        self.home = self.folder / ".git/abacus"
        self.pipe = subprocess.Popen([self.programs / "abacus", "pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     cwd=self.folder, env=self.env)
        self.ids = [self.call("bead create", title=f"bead {i}")["id"] for i in range(BEADS)]
        self.bd("sync")

    def bd(self, *args):
        """Its CPU time in ms, with that of all processes it has started."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([self.programs / "bd", *args], cwd=self.folder, env=self.env, check=True,
                       stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def call(self, op, **params):
        self.pipe.stdin.write(json.dumps({"op": op, "params": params}).encode() + b"\n")
        self.pipe.stdin.flush()
        return json.loads(self.pipe.stdout.readline())["data"]

    def cpu(self):
        """The CPU time of the pipe in ms. Some systems count it only in ticks, of 10 ms usually."""
        exact = pathlib.Path(f"/proc/{self.pipe.pid}/schedstat")
        if exact.exists():
            return int(exact.read_text().split()[0]) / 1e6
        used = pathlib.Path(f"/proc/{self.pipe.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(used[11]) + int(used[12])) * 1000 / TICK

    def update(self, count, name="r"):
        """Sends that many requests. Returns the CPU time of all of them and of the slowest, in ms; `cuts` gets the
        times of those that cut the journal."""
        first = last = self.cpu()
        slowest, files, self.cuts = 0, self.segments(), []
        for i in range(self.sent, self.sent + count):
            self.call("bead update", ids=[self.ids[i % BEADS]], description=f"{i} " + "x" * 100, request_id=f"{name}{i}")
            now = self.cpu()
            if (there := self.segments()) != files:
                files = there
                self.cuts.append(now - last)
            slowest, last = max(slowest, now - last), now
        self.sent += count
        return last - first, slowest

    def segments(self):
        return [name for name in os.listdir(self.home) if name.startswith("journal.")]

    def size(self, pattern):
        return sum(file.stat().st_size for file in self.home.glob(pattern))

    def rebuild(self):
        for file in self.home.glob("cache.db*"):
            file.unlink()
        return self.bd("list")

    def measure(self, rounds=9):
        """The sizes in bytes; then the median CPU time of each command in ms."""
        commands = {"list": lambda: self.bd("list"), "update": lambda: self.bd("update", self.ids[0], "--priority", "1"),
                    "rebuild": self.rebuild}
        found = {"journal": self.size("journal.*"), "receipts.db": self.size("receipts.db*"), "sync": self.bd("sync")}
        for name, run in commands.items():
            found[name] = statistics.median(run() for _ in range(rounds))
        return found

    def close(self):
        self.pipe.stdin.close()
        self.pipe.wait()


def main(build, count):
    folder = tempfile.mkdtemp(prefix="abacus-growth-")
    store, columns = Store(pathlib.Path(build) / "bin", folder), []
    try:
        for upto in (1000, count):
            asked = upto - store.sent
            used, slowest = store.update(asked)
            found = {"request, mean": used / asked, "request that cuts, median": statistics.median(store.cuts),
                     "request, slowest": slowest, **store.measure()}
            columns.append((upto, found))
        print("".join(["CPU time in ms; sizes in bytes".ljust(32), *(f"{n:>14,}" for n, _ in columns)]))
        for name in columns[0][1]:
            print(name.ljust(32) + "".join(f"{found[name]:>14,.1f}" for _, found in columns))
        store.close()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
