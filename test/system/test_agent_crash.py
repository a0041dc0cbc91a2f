"""`bb agent` killed at any moment, and failing disks: acknowledged writes are kept, and no file is torn."""
import json
import pathlib
import random
import shutil
import subprocess
import time

import pytest

from bead_harness import faulty  # noqa: F401 (a fixture)
from conftest import BIN, Project, Result, environment
from harness import STRACE, crash_steps, killed, needs_strace

NOW = "2026-01-01T01:00:00Z"  # an hour after everybody was seen
AGENTS = ("amber-otter", "blue-fox", "cobalt-harbor")
LETTER = ["--bead", "bd-1", "--subject", "s", "--body", "b" * 300, "--request-id", "once"]
COMMANDS = {
    "register": ["register", "--name", "new-one", "--role", "ui"],
    "update": ["register", "--name", "amber-otter", "--role", "graph", "--force-update"],
    "heartbeat": ["heartbeat", "--agent", "amber-otter"],
    "send": ["send", "--from", "blue-fox", "--to", "cobalt-harbor", "--category", "INFO", *LETTER],
    "handoff": ["send", "--from", "blue-fox", "--to", "cobalt-harbor", "--category", "HANDOFF", *LETTER],
    "broadcast": ["send", "--from", "blue-fox", "--to", "broadcast", "--category", "BLOCKED", *LETTER],
    "read": ["read", "--agent", "cobalt-harbor", "--message", "MESSAGE"],
    "ack": ["ack", "--agent", "cobalt-harbor", "--message", "MESSAGE"],
    "read the newest once": ["read", "--agent", "cobalt-harbor", "--request-id", "once"],
    "ack the newest once": ["ack", "--agent", "cobalt-harbor", "--request-id", "once"],
    "reserve": ["reserve", "--agent", "blue-fox", "--scope", "doc", "--bead", "bd-1"],
    "renew": ["reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-2"],
    "takeover": ["reserve", "--agent", "blue-fox", "--scope", "src", "--bead", "bd-1", "--takeover-stale"],
    "release": ["release", "--agent", "amber-otter", "--scope", "src"],
    "register once": ["register", "--name", "new-one", "--role", "ui", "--request-id", "once"],
    "init once": ["init", "--non-interactive", "--request-id", "once"],
    "init named once": ["init", "--register", "new-one", "--request-id", "once"],
    "reserve once": ["reserve", "--agent", "blue-fox", "--scope", "doc", "--bead", "bd-1", "--request-id", "once"],
    "renew once": ["reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-2", "--request-id", "once"],
    "release once": ["release", "--agent", "amber-otter", "--scope", "src", "--request-id", "once"],
}


class Agents(Project):
    """A project with three agents, mail and two reservations, one of them expired; its state can be restored."""

    def __init__(self, path):
        super().__init__(path)
        self.env["ABACUS_NOW"] = "2026-01-01T00:00:00Z"
        for name in AGENTS:
            self.agent("register", "--name", name, "--role", "ui")
        self.agent("reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-1")
        self.agent("reserve", "--agent", "cobalt-harbor", "--scope", "old", "--bead", "bd-1", "--ttl", "5")
        self.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--category", "HANDOFF", *LETTER[:-2])
        sent = self.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--category", "HANDOFF", *LETTER[:-2])
        self.message = sent["messages"][0]["message_id"]
        self.env["ABACUS_NOW"] = NOW

    def agent(self, *args):
        return self.bb("agent", *args, "--json").ok().json["data"]

    def command(self, name):
        return ["agent", *(self.message if word == "MESSAGE" else word for word in COMMANDS[name]), "--json"]

    @property
    def home(self):
        return self.path / ".beadboard"

    def keep(self, place):
        shutil.copytree(self.home, place)

    def put_back(self, place):
        shutil.rmtree(self.home)
        shutil.copytree(place, self.home)


@pytest.fixture
def agents(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    return Agents(path)


def look(project):
    """The replies of all reads, without the parts that differ from run to run; every read succeeds."""
    def plain(m):
        return {k: v for k, v in m.items() if k not in ("message_id", "reservation_id", "id")}

    names = [a["agent_id"] for a in project.agent("list")]
    return {"agents": [plain(a) for a in project.agent("list")],
            "mail": {n: [plain(m) for m in project.agent("inbox", "--agent", n)] for n in names},
            "status": {k: [plain(x) for x in v] if isinstance(v, list) else v for k, v in project.agent("status").items()},
            "events": [plain(e) for e in project.agent("events")]}


def assert_whole(project):
    for file in project.home.rglob("*.json"):
        json.loads(file.read_text())
    assert {f.name for f in (project.home / "agent").iterdir() if f.is_file()} - unfinished(project) <= {
        "lock", "events.jsonl", "pending.jsonl", "receipts.db", "receipts.db-wal", "receipts.db-shm", "tmp"}
    assert archived(project) in ([], ["old"], ["src"], ["old", "src"])  # each once


def unfinished(project):
    """Databases that a killed command was about to rename into place; the next command that creates one removes them.
    """
    return {f.name for f in (project.home / "agent").glob("receipts.db.*.tmp")}


def archived(project):
    """The scopes of the reservations that were recorded as expired."""
    record = (project.home / "agent/reservations/history.jsonl").read_text().splitlines(keepends=True)
    return sorted(r["scope"] for r in (json.loads(line) for line in record if line.endswith("\n")) if r["state"] == "expired")


def run(project, program, *args, **env):
    return Result(subprocess.run([program, *args], cwd=project.path, stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=60, env=environment(**project.env, **env)))


def fits(found, before, after):
    """Each part is in its old or its new state; only files that one command writes together may differ."""
    for part in found:
        if part == "status":
            for key in found[part]:
                states = (before[part][key], after[part][key])
                assert found[part][key] in states or key in ("counts", "unacked"), (key, found[part][key])
        elif part == "agents":
            for one in found[part]:
                assert one in before[part] + after[part] or one["agent_id"] == "new-one", one
        else:
            assert found[part] in (before[part], after[part]), found[part]


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_every_step(agents, faulty, tmp_path, name):  # noqa: F811
    """Then the next command finds no damage, and the repeated command completes the change."""
    bb = str(pathlib.Path(faulty).parent / "bb")
    command, kept, counted = agents.command(name), tmp_path / "kept", tmp_path / "counted"
    before = look(agents)
    agents.keep(kept)
    run(agents, bb, *command, ABACUS_FAULT_COUNT=counted).ok()
    after, steps = look(agents), int(counted.read_text())
    assert after != before and steps >= 2
    for n in crash_steps(steps):
        agents.put_back(kept)
        done = run(agents, bb, *command, ABACUS_FAULT_AT=n)
        assert killed(done) and done.out == "", f"step {n} of {steps}: {done.out}{done.err}"
        assert_whole(agents)
        fits(look(agents), before, after)
        again = run(agents, bb, *command)
        if name == "register":
            assert again.code == 0 or again.error["code"] == "DUPLICATE_AGENT_ID"
        elif name == "release":
            assert again.code == 0 or again.error["code"] == "RESERVATION_NOT_FOUND"
        else:
            again.ok()
        found = look(agents)
        if again.code:
            found["agents"] = after["agents"]  # a repeat that is refused is no act
        assert found == after, f"step {n} of {steps}"
        assert_whole(agents)
        assert not unfinished(agents)
        assert ("old" in archived(agents)) == (name.split()[0] in ("reserve", "renew", "takeover", "release"))


def test_a_repeated_release_does_not_release_a_newer_reservation(agents):
    """Its receipt was lost in a crash; the agent has reserved the scope again since."""
    first = agents.bb(*agents.command("release once")).ok().json["data"]
    for file in (agents.home / "agent").glob("receipts.db*"):
        file.unlink()
    agents.agent("reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-2")
    assert agents.bb(*agents.command("release once")).ok().json["data"] == first
    assert [r["bead_id"] for r in agents.agent("status")["reservations"]] == ["bd-2"]


@pytest.mark.parametrize("name, scope", [("reserve once", "doc"), ("renew once", "src")])
def test_a_repeated_reservation_does_not_reserve_again(agents, name, scope):
    """Its receipt was lost in a crash; the agent has released the scope since."""
    first = agents.bb(*agents.command(name)).ok().json["data"]
    for file in (agents.home / "agent").glob("receipts.db*"):
        file.unlink()
    agents.agent("release", "--agent", first["agent_id"], "--scope", scope)
    again = agents.bb(*agents.command(name)).ok().json["data"]
    assert (again["reservation_id"], again["epoch"], again["expires_at"]) == (first["reservation_id"], first["epoch"], first["expires_at"])
    assert scope not in [r["scope"] for r in agents.agent("status")["reservations"]]


def test_a_repeated_registration_does_not_undo_a_later_one(agents):
    """Its receipt was lost in a crash; the agent was changed again since."""
    once = ["agent", "register", "--name", "amber-otter", "--role", "graph", "--force-update", "--request-id", "once", "--json"]
    agents.bb(*once).ok()
    for file in (agents.home / "agent").glob("receipts.db*"):
        file.unlink()
    agents.agent("register", "--name", "amber-otter", "--role", "later", "--force-update")
    assert agents.bb(*once).ok().json["data"]["role"] == "later"


def test_a_first_register_killed_at_every_step(tmp_path, faulty):  # noqa: F811
    bb, counted = str(pathlib.Path(faulty).parent / "bb"), tmp_path / "counted"
    command = ["agent", "register", "--name", "amber-otter", "--role", "ui", "--json"]
    (tmp_path / "counting").mkdir()
    run(Project(tmp_path / "counting"), bb, *command, ABACUS_FAULT_COUNT=counted).ok()
    for n in range(1, int(counted.read_text()) + 1):
        (tmp_path / str(n)).mkdir()
        project = Project(tmp_path / str(n))
        assert killed(run(project, bb, *command, ABACUS_FAULT_AT=n))
        assert len(json.loads(project.bb("agent", "list", "--json").ok().out)["data"]) <= 1
        again = run(project, bb, *command)
        assert again.code == 0 or again.error["code"] == "DUPLICATE_AGENT_ID"
        assert len(json.loads(project.bb("agent", "list", "--json").ok().out)["data"]) == 1


@needs_strace
@pytest.mark.parametrize("fault", ["write:error=ENOSPC", "fdatasync:error=EIO", "rename:error=EIO",
                                   "openat:error=EACCES"])
@pytest.mark.parametrize("name", ["register", "handoff", "ack", "takeover", "release", "heartbeat"])
def test_disks_that_fail(agents, tmp_path, name, fault):
    """At every such call, there is a clear error and no change, or a real success, perhaps with a warning."""
    command, kept = agents.command(name), tmp_path / "kept"
    before = look(agents)
    agents.keep(kept)
    run(agents, str(BIN / "bb"), *command).ok()
    after = look(agents)
    for n in range(1, 40):
        agents.put_back(kept)
        call, error = fault.split(":")
        log = tmp_path / "log"
        done = Result(subprocess.run(
            [STRACE, "-qq", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:{error}:when={n}",
             str(BIN / "bb"), *command], cwd=agents.path, capture_output=True, timeout=60,
            env=environment(**agents.env)))
        hit = "INJECTED" in log.read_text()
        assert_whole(agents)
        found = look(agents)
        if done.code == 0:
            if "warning" not in done.err:
                assert found == after or not hit, f"{n}: {done.err}"
            fits(found, before, after)
        elif done.out:  # not if standard output was what failed
            error = done.error
            assert error["code"] in ("IO_WRITE_FAILED", "IO_READ_FAILED", "AGENT_NOT_FOUND", "INVALID_ARGS"), error
            assert error["message"] and error["hint"]
            fits(found, before, after)
        if not hit:
            break
        run(agents, str(BIN / "bb"), *command)
        if name != "takeover":
            assert look(agents)["mail"] == after["mail"]
    else:
        pytest.fail("it never came to an end")


def test_the_lock_of_a_dead_process_blocks_no_command(agents):
    lock = agents.home / "agent/lock"
    assert lock.exists()
    lock.write_text("12345\n")
    agents.agent("heartbeat", "--agent", "amber-otter")
    lock.unlink()
    agents.agent("heartbeat", "--agent", "amber-otter")


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_random_times_in_a_crowd(agents, seed):
    """Senders are killed from outside; every message whose sending was acknowledged is stored once."""
    rng = random.Random(seed)
    acknowledged, running = [], []
    for i in range(60):
        running.append((i, agents.spawn("agent", "send", "--from", "blue-fox", "--to", "cobalt-harbor", "--bead", "b",
                                        "--category", "HANDOFF", "--subject", str(i), "--body", "b", "--json",
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)))
        if len(running) == 4:
            time.sleep(rng.random() * 0.004)
            i, victim = running.pop(rng.randrange(4))
            victim.kill()
            if victim.communicate()[0].strip():
                acknowledged.append(str(i))
    for i, process in running:
        assert json.loads(process.communicate()[0])["ok"]
        acknowledged.append(str(i))
    assert_whole(agents)
    there = [m["subject"] for m in agents.agent("inbox", "--agent", "cobalt-harbor", "--limit", "500") if m["bead_id"] == "b"]
    assert set(acknowledged) <= set(there) and len(there) == len(set(there))
    assert agents.agent("status")["counts"]["unread"] == len(there) + 2  # those of the project
