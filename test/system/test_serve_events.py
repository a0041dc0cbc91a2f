"""The stream of events: every client gets each event once, in one order, whatever is disconnected or killed."""
import contextlib
import json
import os
import shutil
import subprocess
import threading
import time

import pytest

from conftest import BIN, environment, git
from harness import needs_strace, patience, STRACE, wait_until
from remotes import bare, clone, hook, http_remote, sync
from service import AGENTS, Stream, read_all, served, services, set_up


def count(n):
    return lambda stream: len(stream.beads()) >= n


def ids_of(stream):
    return [event[0] for event in stream.events]


def assert_once(stream, beads):
    """Each of them has one event, and all event ids differ."""
    assert sorted(stream.beads()) == sorted(beads)
    assert len(set(ids_of(stream))) == len(stream.events)


# --- many ---

def test_two_hundred_follow_fifty_who_write(served):
    streams = [Stream(served, loopback=i % 4 == 0) for i in range(200)]
    read_all(streams, lambda s: s.events, what="a hello")
    script = 'for i in 1 2 3 4; do "$0" create "$1-$i" --json; done'
    writers = [subprocess.Popen(["sh", "-c", script, str(BIN / "bd"), str(n)], cwd=served.repo.path, stdout=subprocess.PIPE,
                                env=environment(BD_ACTOR=f"writer-{n}")) for n in range(50)]
    beads = []
    for writer in writers:
        out, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0
        beads += [json.loads(line)["id"] for line in out.splitlines()]
    begun = time.monotonic()
    read_all(streams, count(200), what="every bead")
    assert time.monotonic() - begun < patience(5)
    first = streams[0].events
    assert_once(streams[0], beads)
    for stream in streams:
        assert stream.events == first
        stream.close()
    assert {data["by"] for data in streams[0].of("bead")} == {f"writer-{n}" for n in range(50)}
    served.answers_soon()


def test_operations_over_http_are_events_too(served):
    stream = Stream(served).begun()
    beads = [served.post("/api/bead/create", {"title": f"t{n}", "agent": "kimi"}).data["id"] for n in range(5)]
    served.post("/api/bead/close", {"ids": [beads[0]], "reason": "done", "agent": "kimi"}).data
    stream.until(count(6), 1)
    assert stream.beads() == [*beads, beads[0]]
    assert {data["by"] for data in stream.of("bead")} == {"kimi"}


@needs_strace
def test_a_change_is_visible_when_its_event_arrives(served):
    """The writer has its record in the journal, and is slow to write it to the cache, from which all reads are
    answered."""
    stream = Stream(served).begun()
    bead = served.repo.create("x")
    stream.until(count(1), 30)
    writer = subprocess.Popen([STRACE, "-f", "-qq", "-o", os.devnull, "-P", f"{served.repo.cache}-wal", "-e", "trace=pwrite64",
                               "-e", "inject=pwrite64:delay_enter=500000:when=1", str(BIN / "bd"), "close", bead],
                              cwd=served.repo.path, env=environment(BD_ACTOR="amber-otter"), stdout=subprocess.DEVNULL)
    stream.until(count(2), 30)
    [shown] = served.get(f"/api/bead/show?ids={bead}").data
    assert shown["status"] == "closed" and writer.wait(30) == 0


# --- coming back ---

@pytest.mark.parametrize("after", [lambda s, i: Stream(s, after=i), lambda s, i: Asked(s, i)], ids=["header", "address"])
def test_a_reconnecting_client_gets_the_remaining_events(served, after):
    stream = Stream(served).begun()
    seen = list(stream.events)
    beads = []
    for n in range(12):
        beads.append(served.repo.create(f"while it is away {n}"))
        stream.close()
        stream = after(served, seen[-1][0])
        if n % 3 == 2:  # three at once
            stream.until(count(3), 5)
            seen += stream.events
    told = [bead for _, name, data in seen if name == "bead" for bead in data["ids"]]
    assert told == beads and len({event[0] for event in seen}) == len(seen)
    assert [name for _, name, _ in seen if name != "bead"] == ["hello"]


class Asked(Stream):
    """With the id in the URL, as a reloaded page sends it."""

    def __init__(self, service, after):
        self.service = service
        super().__init__(_Address(service, after))


class _Address:
    def __init__(self, service, after):
        self.service, self.after = service, after

    def connect(self, *args, **kw):
        return _Rewriting(self.service.connect(*args, **kw), self.after)


class _Rewriting:
    def __init__(self, sock, after):
        self.sock, self.after = sock, after

    def sendall(self, data):
        self.sock.sendall(data.replace(b"/api/events", f"/api/events?after={self.after}".encode()))

    def __getattr__(self, name):
        return getattr(self.sock, name)


def test_a_client_can_continue_from_every_id(served):
    stream = Stream(served).begun()
    beads = [served.repo.create(f"{n}") for n in range(15)]
    stream.until(count(15))
    for i, (place, _, _) in enumerate(stream.events):
        again = Stream(served, after=place).until(count(15 - i))
        assert again.events == stream.events[i + 1:]
        again.close()
    assert_once(stream, beads)


@pytest.mark.parametrize("store", [".beadboard", ".bb", ".git/abacus/journal.1"])
def test_a_removed_store_is_a_reset(served, store):
    stream = Stream(served).begun()
    set_up(served.repo)
    served.repo.create("There from the start")
    served.repo.run("--as", "kimi", "post", "hello", program="bb").ok()
    stream.until(lambda s: s.of("agent") and s.of("bead") and s.of("post"), 2)
    path = served.repo.path / store
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    stream.until(lambda s: s.of("reset"), 2)
    assert len(stream.read_for(1.2).of("reset")) == 1
    stream.close()


def test_an_unknown_id_is_answered_with_a_reset(served):
    stream = Stream(served).begun()
    served.repo.create("x")
    stream.until(count(1))
    name, segment, offset = stream.last.split("-")
    for wrong in ("nonsense", "0" * 16 + f"-{segment}-{offset}", f"{name}-{segment}-{int(offset) - 1}", f"{name}-99-{offset}",
                  f"{name}-0-0", f"{name}-{segment}-0", f"{name}-{segment}-{int(offset) + 100}", f"{name}-{segment}--5",
                  f"{name}-{segment}-{offset}-1", f"{name}-{segment}-99999999999999999999", "x" * 5000, "%00", f"{name}-{segment}-{offset} "[:-1] + "x"):
        stray = Stream(served, after=wrong).begun()
        assert stray.events[0][1] == "reset" and stray.events[0][2]["reason"], wrong
        bead = served.repo.create(f"after {wrong[:20]}")  # and from there it goes on
        stray.until(count(1))
        assert stray.beads() == [bead]
        stray.close()


# --- killed ---

def test_nothing_is_lost_or_twice_across_a_kill(served):
    """Changes before the kill, while no service ran, and afterwards."""
    repo, stream = served.repo, Stream(served).begun()
    seen, beads = list(stream.events), []
    for round in range(4):
        beads += [repo.create(f"{round} before {n}") for n in range(3)]
        if round % 2:
            stream.until(lambda s: s.beads()[-1:] == beads[-1:])
        stream.sock.settimeout(10)
        (served.kill if round < 3 else served.terminate)()
        while stream.open:
            stream.take()
        seen += stream.events[len(seen):] if not round else stream.events
        beads += [repo.create(f"{round} while none ran {n}") for n in range(3)]
        served.again()
        stream = Stream(served, after=seen[-1][0])
    beads.append(repo.create("the last"))
    stream.until(lambda s: beads[-1] in s.beads())
    seen += stream.events
    told = [bead for _, name, data in seen if name == "bead" for bead in data["ids"]]
    assert told == beads
    assert len({event[0] for event in seen}) == len(seen)


def test_killed_again_and_again_while_many_write(served):
    """At random moments: every bead has one event, in the order of the journal."""
    repo, stop, made = served.repo, threading.Event(), []

    def write(name):
        while not stop.is_set():
            made.append(repo.create(name))
    crowd = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(3)]
    seen = [*Stream(served).begun().events]
    for one in crowd:
        one.start()
    try:
        for round in range(8):
            stream = Stream(served, after=seen[-1][0])
            stream.until(count(1 + round))
            served.kill()
            with contextlib.suppress(OSError):
                while stream.open:
                    stream.take()
            seen += stream.events
            served.again()
    finally:
        stop.set()
        for one in crowd:
            one.join()
    made.append(repo.create("the last"))
    stream = Stream(served, after=seen[-1][0]).until(lambda s: made[-1] in s.beads())
    seen += stream.events
    told = [bead for _, name, data in seen if name == "bead" for bead in data["ids"]]
    assert sorted(told) == sorted(made) and {name for _, name, _ in seen} == {"hello", "bead"}
    assert len({event[0] for event in seen}) == len(seen)


def feed_file(service):
    return max(service.folder.glob("feed.*"), key=lambda f: int(f.suffix[1:]))


def test_an_event_that_was_written_in_part_is_written_again(served):
    """The service was killed while writing it; events after it are complete."""
    stream = Stream(served).begun()
    first = served.repo.create("first")
    stream.until(count(1))
    served.kill()
    with open(feed_file(served), "ab") as file:
        file.write(b"id: 0-1-2\nevent: bead\ndata: {" + b'"torn":' * 500)
    second = served.repo.create("second")
    served.again()
    rest = Stream(served, after=stream.last).until(count(1))
    assert rest.beads() == [second]
    served.kill()
    third = served.repo.create("third")
    served.again()
    rest = Stream(served, after=stream.events[0][0]).until(count(3))
    assert rest.beads() == [first, second, third]
    assert b"torn" not in feed_file(served).read_bytes()


def fill(service, most):
    """Events of no source, as many as fill the file to that size."""
    path = feed_file(service)
    name, number = json.loads(path.read_bytes().split(b"\n")[0][2:])["feed"], path.suffix[1:]
    with open(path, "r+b") as file:
        at = file.seek(0, os.SEEK_END)
        while at < most:
            data = b'data: {"ids":[],"all":false}\n\n'
            head = f"id: {name}-{number}-%d\nevent: bead\n"
            end = at
            while end != at + len(head % end) + len(data):
                end = at + len(head % end) + len(data)
            file.write((head % end).encode() + data)
            at = end
    return f"{name}-{number}-{at}"


def test_a_feed_continues_in_the_next_file(served):
    """Even if the last event of the previous file was written in part."""
    stream = Stream(served).begun()
    first = served.repo.create("first")
    stream.until(count(1))
    for _ in range(6):
        served.terminate()
        filled = fill(served, (4 << 20) + 1)
        with open(feed_file(served), "ab") as file:
            file.write(b"id: 0-1-2\nevent: bea")
        bead = served.repo.create("while none ran")
        served.again()
        rest = Stream(served, after=filled).until(count(1))
        assert rest.beads() == [bead] and rest.of("reset") == []
    assert len(list(served.folder.glob("feed.*"))) <= 4
    old = Stream(served, after=stream.last).begun()
    assert old.events[0][1] == "reset"
    assert first in served.repo.ids("list")


@pytest.mark.parametrize("begun", [b"", b': {"feed":"0123'], ids=["empty", "in part"])
def test_an_unfinished_file_is_started_again(served, begun):
    """The service was killed when it had just started that file."""
    stream = Stream(served).begun()
    served.kill()
    fill(served, (4 << 20) + 1)
    (served.folder / "feed.2").write_bytes(begun)
    bead = served.repo.create("while none ran")
    served.again()
    rest = Stream(served, after=stream.last).until(lambda s: bead in s.beads())
    assert rest.of("reset") == [] and rest.beads() == [bead]


def test_a_feed_works_with_very_many_mailboxes(repo, services):
    """The header of each file names every source, and is longer than one write."""
    set_up(repo)
    boxes = repo.path / ".beadboard" / "agent" / "messages"
    boxes.mkdir(exist_ok=True)
    for n in range(900):
        (boxes / f"an-agent-with-quite-a-long-name-{n}.jsonl").write_text("{}\n")
    service = services(repo).start()
    stream = Stream(service).begun()
    service.terminate()
    filled = fill(service, (4 << 20) + 1)
    service.again()
    bead = repo.create("in the next file")
    rest = Stream(service, after=filled).until(count(1))
    assert rest.beads() == [bead]
    stream.close()


def test_an_event_may_be_larger_than_one_write(repo, services):
    set_up(repo)
    service = services(repo).start()
    stream = Stream(service, headers={"Cookie": "c=" + "c" * 8000}).begun()  # which leaves less room
    box = repo.path / ".beadboard" / "agent" / "messages" / f"{AGENTS[1]}.jsonl"
    long = {name: "\u0001" * 350 for name in ("message_id", "bead_id", "from_agent", "to_agent", "category", "state", "created_at")}
    box.parent.mkdir(exist_ok=True)
    with open(box, "a") as file:
        file.write(json.dumps(long) + "\n")
    stream.until(lambda s: s.of("mail"))
    assert [data["message_id"] for data in stream.of("mail")] == [long["message_id"]]


# --- slow ---

def make_noise(service, bytes_of_events):
    """Many events: mail from one agent to another, written as its record."""
    line = json.dumps({"message_id": "m" * 400, "from_agent": AGENTS[0], "to_agent": AGENTS[1], "bead_id": "b" * 400,
                       "category": "INFO", "state": "unread", "subject": "s", "body": "b"}) + "\n"
    path = service.repo.path / ".beadboard" / "agent" / "messages" / f"{AGENTS[1]}.jsonl"
    with open(path, "a") as file:
        file.write(line * (bytes_of_events // 1100))


def test_a_client_that_does_not_read_delays_no_other(repo, services):
    """It is disconnected, with a reason, and continues later from the same place."""
    service = services(set_up(repo)).start("--port", "0")
    bead = repo.create("the bead of the message")
    service.post("/api/agent/send", {"from": AGENTS[0], "to": AGENTS[1], "bead": bead, "category": "INFO", "subject": "s",
                                     "body": "b"}).data
    slow = [Stream(service, loopback=loopback, small=4096).begun() for loopback in (False, True)]
    fast = Stream(service).begun()
    begun = time.monotonic()
    make_noise(service, 12 << 20)
    noise = lambda *streams: [event for s in streams for event in s.events if event[2].get("message_id", "").startswith("mmm")]
    fast.until(lambda s: len(noise(s)) == (12 << 20) // 1100, 20)
    beads = []
    while not beads or time.monotonic() - begun < 12:
        beads.append(repo.create("meanwhile"))
        fast.until(lambda s: beads[-1] in s.beads(), 1)
        service.answers_soon()
    for stream in slow:
        while stream.open:
            stream.take()
        assert stream.events[-1][1] == "dropped" and stream.events[-1][2]["reason"], stream.events[-1]
        back = Stream(service, after=stream.last).until(lambda s: s.beads() == beads, 20)
        assert noise(stream, back) == noise(fast)


# --- whatever happens ---

def within_a_second(stream, true, what):
    stream.until(true, 1.5, what)


def test_every_change_arrives_within_a_second(repo, services, tmp_path):
    remote = bare(tmp_path / "remote.git")
    git(repo.path, "remote", "add", "origin", str(remote))
    set_up(repo)
    service = services(repo).start()
    stream = Stream(service).begun()
    bead = repo.create("the one")
    within_a_second(stream, count(1), "a bead")

    repo.run("agent", "send", "--from", AGENTS[0], "--to", AGENTS[1], "--bead", bead, "--category", "INFO", "--subject", "s",
             "--body", "b", program="bb").ok()
    within_a_second(stream, lambda s: s.of("mail"), "mail")
    mail = stream.of("mail")[0]
    assert (mail["from_agent"], mail["to_agent"], mail["bead_id"]) == (*AGENTS, bead) and "body" not in mail
    assert mail["what"] == "wrote"

    repo.run("agent", "reserve", "--agent", AGENTS[0], "--scope", "src/*", "--bead", bead, program="bb").ok()
    within_a_second(stream, lambda s: s.of("reservation"), "a reservation")
    assert stream.of("reservation")[0]["scope"] == "src/*"
    repo.run("agent", "release", "--agent", AGENTS[0], "--scope", "src/*", program="bb").ok()
    within_a_second(stream, lambda s: len(s.of("reservation")) == 2, "a release")

    repo.run("agent", "register", "--name", "late-comer", "--role", "ui", program="bb").ok()
    within_a_second(stream, lambda s: any(a["agent_id"] == "late-comer" for a in s.of("agent")), "an agent")

    repo.run("--as", "kimi", "post", "hello", "--priority", "high", program="bb").ok()
    within_a_second(stream, lambda s: s.of("post"), "a post")
    assert (stream.of("post")[0]["by"], stream.of("post")[0]["priority"]) == ("kimi", "high")
    (repo.path / "made.txt").write_text("x")
    repo.run("--as", "kimi", "artifact", "add", "made.txt", "what was made", program="bb").ok()
    within_a_second(stream, lambda s: s.of("artifact"), "an artifact")
    repo.run("--as", "kimi", "status", "set", "busy with it", program="bb").ok()
    stream.until(lambda s: any(a["agent_id"] == "kimi" for a in s.of("status")), 3, "a status")

    repo.run("push", "--agent", "w-1", "--request-id", "r1", "--json",
             json.dumps({"event": {"kind": "progress", "message": "half of it"}}), program="vybe").ok()
    within_a_second(stream, lambda s: any(n["by"] == "w-1" for n in s.of("note")), "a note")

    git(repo.path, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo.path, "worktree", "add", "-q", str(tmp_path / "linked"))
    told = repo.json("create", "from a worktree", cwd=tmp_path / "linked")["id"]
    within_a_second(stream, lambda s: told in s.beads(), "a bead of a linked worktree")
    repo.run("--as", "kimi", "post", "from there", program="bb", cwd=tmp_path / "linked").ok()
    within_a_second(stream, lambda s: len(s.of("post")) == 2, "a post of a linked worktree")

    sync(repo)
    other = clone(tmp_path / "other", remote)
    sync(other)
    far = other.create("from another clone")
    sync(other)
    assert far not in stream.beads()
    sync(repo)
    within_a_second(stream, lambda s: far in s.beads(), "what a sync has brought")
    assert [data["sync"] for data in stream.of("bead") if far in data["ids"]] == [True]
    assert stream.of("reset") == [] and len(set(ids_of(stream))) == len(stream.events)


def test_an_artifact_is_an_event_although_the_clock_was_set_back(repo, services):
    service = services(set_up(repo)).start()
    stream = Stream(service).begun()
    for name, now in (("one", 1_800_000_000_000), ("two", 1_700_000_000_000), ("three", 1_800_000_000_000)):
        (repo.path / name).write_text("x")
        repo.run("--as", "kimi", "artifact", "add", name, "made", program="bb", env={"ABACUS_NOW": now}).ok()
        stream.until(lambda s: any(a["path"] == name for a in s.of("artifact")), 3, name)
    service.terminate()
    (repo.path / "four").write_text("x")
    repo.run("--as", "kimi", "artifact", "add", "four", "made", program="bb", env={"ABACUS_NOW": 1_700_000_000_001}).ok()
    service.again()
    rest = Stream(service, after=stream.last).until(lambda s: s.of("artifact"))
    told = [a["path"] for s in (stream, rest) for a in s.of("artifact")]
    assert told == ["one", "two", "three", "four"]


def test_the_service_starts_without_any_store(plain_repo, services):
    """No beads, no board, no agents: they are created while it runs."""
    service = services(plain_repo).start()
    stream = Stream(service).begun()
    plain_repo.bd("init", "--prefix", "bd").ok()
    bead = plain_repo.create("the first")
    stream.until(lambda s: bead in s.beads(), 3)
    set_up(plain_repo)
    stream.until(lambda s: len(s.of("agent")) >= 2, 3)
    plain_repo.run("--as", "kimi", "post", "hello", program="bb").ok()
    stream.until(lambda s: s.of("post"), 3)
    plain_repo.run("agent", "send", "--from", AGENTS[0], "--to", AGENTS[1], "--bead", bead, "--category", "INFO", "--subject",
                   "s", "--body", "b", program="bb").ok()
    stream.until(lambda s: s.of("mail"), 3)
    assert stream.beads() == [bead] and stream.of("reset") == []


def test_a_recreated_board_is_followed(repo, services):
    service = services(set_up(repo)).start()
    stream = Stream(service).begun()
    for n in range(3):
        repo.run("--as", "kimi", "post", f"hello {n}", program="bb").ok()
    stream.until(lambda s: len(s.of("post")) == 3, 2)
    repo.run("destroy", "--confirm", program="bb").ok()
    repo.run("init", program="bb").ok()
    repo.run("--as", "codex", "post", "a new one", program="bb").ok()
    stream.until(lambda s: s.of("reset") or any(p["by"] == "codex" for p in s.of("post")), 3)
    repo.run("--as", "codex", "post", "another", program="bb").ok()
    stream.until(lambda s: s.of("post")[-1]["by"] == "codex", 2)


def test_recreated_notes_are_followed(repo, services):
    def note(n):
        text = json.dumps({"event": {"kind": "progress", "message": "half of it"}})
        repo.run("push", "--agent", "w-1", "--request-id", f"r{n}", "--json", text, program="vybe").ok()

    service = services(repo).start()
    stream = Stream(service).begun()
    for n in range(5):
        note(n)
    stream.until(lambda s: len(s.of("note")) == 5)
    [database] = repo.path.rglob("vybe.db")
    for file in database.parent.glob("vybe.db*"):
        file.unlink()
    stream.until(lambda s: s.of("reset"))
    note(9)
    stream.until(lambda s: len(s.of("note")) == 6)
    assert len(stream.of("reset")) == 1


def test_a_sync_that_shortens_the_journal_repeats_nothing(repo, services, tmp_path):
    """The journal continues in a new file with the records it still needs, whose events were already sent."""
    git(repo.path, "remote", "add", "origin", str(bare(tmp_path / "remote.git")))
    sync(repo)
    service = services(repo).start()
    stream = Stream(service).begun()
    beads, text = [], "d" * 60000
    for n in range(12):
        beads.append(repo.create(f"long {n}", "-d", text, "--request-id", f"r{n}"))
    seen = lambda: stream.until(lambda s: beads[-1] in s.beads(), 5)  # what is cut off unread is a reset
    seen()
    sync(repo)
    beads.append(repo.create("after it"))
    seen()
    sync(repo)
    beads.append(repo.create("and again"))
    seen()
    own = [bead for data in stream.of("bead") if not data["sync"] for bead in data["ids"]]
    assert own == beads and stream.of("reset") == []


def test_a_damaged_journal_is_reported_once(repo, services):
    """Not again and again while the damage exists."""
    service = services(repo).start()
    stream = Stream(service).begun()
    repo.create("one")
    stream.until(count(1))
    whole = repo.journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    repo.journal.write_bytes(b"".join(lines[:-1]) + lines[-1].replace(b"one", b"two") + lines[-1])
    assert len(stream.read_for(3).events) <= 6
    repo.journal.write_bytes(whole)
    bead = repo.create("after it was mended")
    stream.until(lambda s: bead in s.beads() or s.of("reset"), 3)
    service.answers_soon()


def test_records_copied_into_a_new_journal_are_not_repeated(repo, services, tmp_path):
    """Beads that are created during a sync are written to the new file again."""
    remote = bare(tmp_path / "remote.git")
    begun, go = tmp_path / "begun", tmp_path / "go"
    with http_remote(tmp_path) as server:
        git(repo.path, "remote", "add", "origin", f"{server.url}/remote.git")
        sync(repo)
        service = services(repo).start()
        stream = Stream(service).begun()
        beads = [repo.create(f"long {n}", "-d", "d" * 60000) for n in range(8)]
        hook(remote, "pre-receive", f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done\n")
        syncing = repo.spawn("sync", stdout=subprocess.DEVNULL)
        try:
            wait_until(begun.exists, "it pushes")
            beads += [repo.create(f"meanwhile {n}") for n in range(5)]
        finally:
            go.touch()
        assert syncing.wait(timeout=20) == 0
    assert not repo.journal.exists()  # it was cut
    beads.append(repo.create("afterwards"))
    stream.until(lambda s: beads[-1] in s.beads(), 5)
    own = [bead for data in stream.of("bead") if not data["sync"] for bead in data["ids"]]
    assert own == beads and stream.of("reset") == []
