"""The part of `make bench` about the local service: its replies over the socket, and their cost."""
import json
import pathlib
import socket
import subprocess
import threading
import time

import beads
from agents import lines, stamp

BEADS, AGENTS, MAILS = 10_000, 200, 10_000
SECONDS = 3
CREATE = json.dumps({"title": "a bead of the usual length, more or less", "description": "why and how"})


def pipe(abacus, folder, requests):
    """Runs all requests in one process; returns the replies."""
    text = "".join(json.dumps(r) + "\n" for r in requests)
    out = subprocess.run([abacus, "--dir", folder, "pipe"], input=text.encode(), check=True, stdout=subprocess.PIPE)
    return [json.loads(line)["data"] for line in out.stdout.splitlines()]


def fill_agents(abacus, folder, ids, mails, events=0):
    """Writes mail and events as records. One message to each agent is sent normally, which creates the snapshots."""
    names = [f"agent-{i:03}" for i in range(AGENTS)]
    home, now, each = folder / ".beadboard" / "agent", time.time(), mails // AGENTS
    pipe(abacus, folder, [{"op": "agent register", "params": {"name": name, "role": "bench"}} for name in names])
    for k, name in enumerate(names):
        sent = [{"message_id": f"msg_20260101_000000_{k * each + i:016x}", "thread_id": f"bead:{bead}", "bead_id": bead,
                 "from_agent": names[(k + i + 1) % AGENTS], "to_agent": name, "category": "INFO",
                 "subject": f"what {i} is about", "body": "what is said about it " * 10, "state": "unread",
                 "requires_ack": False, "created_at": stamp(now - each + i), "read_at": None, "acked_at": None}
                for i in range(each) for bead in [ids[(k * each + i) * 7 % len(ids)]]]
        (home / "messages").mkdir(exist_ok=True)
        (home / "messages" / f"{name}.jsonl").write_text(lines(sent))
    (home / "events.jsonl").write_text(lines(
        {"id": f"proto_20260101_000000_{i:016x}", "version": "v1", "event_type": "HANDOFF", "project_root": str(folder),
         "bead_id": ids[i * 7 % len(ids)], "from_agent": names[i % AGENTS], "to_agent": names[(i + 1) % AGENTS],
         "scope": None, "created_at": stamp(now - events + i),
         "payload": {"subject": f"part {i}", "summary": "what was done so far " * 5, "next_action": "go on",
                     "requires_ack": True}} for i in range(events)))
    pipe(abacus, folder, [{"op": "agent send", "params": {"from": names[0], "to": name, "bead": ids[0],
                           "category": "INFO", "subject": "s", "body": "b"}} for name in names])


def fill(build, folder, mails=MAILS, events=0):
    bead = beads.fill(build / "bin" / "bd", folder, BEADS)
    found, = pipe(build / "bin" / "abacus", folder, [{"op": "bead list", "params": {"limit": 0}}])
    fill_agents(build / "bin" / "abacus", folder, [b["id"] for b in found], mails, events)
    return bead


def get(sock, path):
    """One request on a connection of its own, which stays open; the file that the answer is read from."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(sock)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return s.makefile("rb")


class Service:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.process = subprocess.Popen([build / "bin" / "abacus", "--dir", folder, "serve"],
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()  # it listens now
        self.socket = json.loads((folder / ".git/abacus/serve/address.json").read_text())["socket"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def load(self, connections, seconds, *request):
        argv = [self.build / "bench" / "http_load", self.socket, str(connections), str(seconds), *request]
        return json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)

    def memory(self):
        """The memory of the service and its processes in MB, with shared pages counted once; None if the system does
        not report it."""
        def parent(stat):
            return int(stat.read_text().rpartition(")")[2].split()[1])

        def pss(process):
            rollup = (process / "smaps_rollup").read_text()
            return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))

        if not pathlib.Path("/proc/self/smaps_rollup").exists():
            return None
        total = 0
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if int(process.name) == self.process.pid or parent(process / "stat") == self.process.pid:
                    total += pss(process)
            except (OSError, StopIteration):  # it has ended
                pass
        return total / 1024


def syncs(build, folder, appenders):
    file = folder / "syncs.tmp"
    out = subprocess.run([build / "bench" / "sync_load", file, str(appenders), "1"], check=True, stdout=subprocess.PIPE)
    file.unlink()
    return int(out.stdout)


def row(name, found, goal):
    wrong = f"  {found['refused']} REFUSED" if found["refused"] else ""
    print(f"{name:32} {found['per_second']:>6}/s {found['per_second'] / goal:>6.2f}×  {f'≥ {goal:,}/s':28}"
          f" {found['median_us'] / 1000:>6.1f} ms {found['p99_us'] / 1000:>6.1f} ms{wrong}")


def rates_table(service, bead):
    print(f"\n{BEADS:,} beads, {AGENTS} agents, {MAILS:,} messages; requests over the service's socket\n")
    print(f"{'request':32} {'rate':>8} {'ratio':>7}  {'goal':28} {'median':>9} {'99 %':>9}")
    for path in (f"bead/show?ids={bead}", "bead/ready?limit=10&brief=true"):
        row("8 × " + path.partition("?")[0], service.load(8, SECONDS, "GET", "/api/" + path), 5000)
    one, many = (syncs(service.build, service.folder, n) for n in (1, 50))
    writes = service.load(50, SECONDS, "POST", "/api/bead/create", CREATE)
    row("50 × bead/create", writes, 1000)
    print(f"{'syncs of one appender':32} {one:>6}/s {writes['per_second'] / one:>6.2f}×")
    print(f"{'syncs of 50 appenders':32} {many:>6}/s {writes['per_second'] / many:>6.2f}×  (goal: ≥ 0.5×)")


def answers_table(service, measure, bead):
    """Whole replies. The memory is the peak of a process that sent only that reply."""
    print(f"\n{'large answers, medians of 5':32} {'time':>9} {'size':>9} {'memory of one process':>24}  (goal: ≤ 30 MB)")
    for path, command in (("sessions", ["sessions"]), ("sessions?all=true", ["sessions", "--all"]),
                          (f"sessions/{bead}/conversation", ["conversation", bead])):
        found = [service.load(1, 0, "GET", "/api/" + path) for _ in range(5)]
        times = sorted(f["median_us"] for f in found)
        process, = measure(service.build, 3, service.folder, [[service.build / "bin" / "abacus", "--json", *command]])
        print(f"{path.replace(bead, '<bead>'):32} {times[2] / 1000:>6.1f} ms {found[0]['bytes'] / 1000:>6.0f} kB"
              f" {process['rss_kb'] / 1024:>21.1f} MB")


def event_delay(service, rounds=20):
    """Seconds from the end of the command that changed something until a stream has the event, sorted. Below 0: the
    event came first."""
    seen = []

    def follow(stream, ready):
        for line in stream:
            if line.startswith(b"event: hello"):
                ready.set()
            elif line.startswith(b"event: bead"):
                seen.append(time.perf_counter())

    ready = threading.Event()
    threading.Thread(target=follow, args=(get(service.socket, "/api/events"), ready), daemon=True).start()
    ready.wait(10)
    delays = []
    for count in range(1, rounds + 1):
        subprocess.run([service.build / "bin" / "bd", "-C", service.folder, "create", "news"], check=True,
                       stdout=subprocess.DEVNULL)
        end = time.perf_counter()
        while len(seen) < count and time.perf_counter() < end + 5:
            time.sleep(0.0005)
        delays += [t - end for t in seen[count - 1:count]]
        time.sleep(0.02)
    return sorted(delays)


def tables(measure, build, folder):
    bead = fill(build, folder)
    with Service(build, folder) as service:
        before = service.memory()
        rates_table(service, bead)
        answers_table(service, measure, bead)
        delays = event_delay(service)
        print(f"\na stream has its event {delays[len(delays) // 2] * 1000:.1f} ms after the end of 'bd create'"
              f" (median of {len(delays)})")
        if before is not None:
            print(f"memory of the service and its processes: {before:.1f} MB at the start,"
                  f" {service.memory():.1f} MB after all this (goal: ≤ 64 MB)")
