"""A command that writes to several records of the agents stores all of its lines or none, whenever it is killed."""
import json
import pathlib
import shutil
import sqlite3

import pytest

from bead_harness import faulty  # noqa: F401 (a fixture)
from conftest import Project
from harness import BB, killed, needs_strace, traced
from test_agent_crash import COMMANDS, LETTER, agents, look, run  # noqa: F401 (a fixture)

LETTER = LETTER[:-2]  # without a request id
CASES = {
    "broadcast": ["send", "--from", "blue-fox", "--to", "broadcast", "--category", "BLOCKED", *LETTER],
    "information": ["send", "--from", "blue-fox", "--to", "broadcast", "--category", "INFO", *LETTER],
    "handoff": ["send", "--from", "blue-fox", "--to", "cobalt-harbor", "--category", "HANDOFF", *LETTER],
    "takeover": COMMANDS["takeover"],
    "incursion": ["reserve", "--agent", "blue-fox", "--scope", "src/lib", "--bead", "bd-1"],
}


def seen(project):
    """The state as a reader sees it: the mail of each agent, the events, the reservations."""
    found = look(project)
    return {"mail": found["mail"], "events": found["events"], "reserved": found["status"]["reservations"],
            "unread": found["status"]["counts"]["unread"]}


def records(project):
    """The same, read from the files alone, as other programs do."""
    home = project.home / "agent"
    return {str(f.relative_to(home)): len(f.read_text().splitlines()) for f in home.rglob("*.jsonl")
            if f.name != "pending.jsonl" and f.read_text()}


@pytest.mark.parametrize("name", CASES)
def test_killed_at_every_step(agents, faulty, tmp_path, name):  # noqa: F811
    """A reader sees all lines or none at once, and the next writer leaves all or none in the files."""
    bb = str(pathlib.Path(faulty).parent / "bb")
    command, kept, counted = ["agent", *CASES[name], "--json"], tmp_path / "kept", tmp_path / "counted"
    before, before_files = seen(agents), records(agents)
    agents.keep(kept)
    run(agents, bb, *command, ABACUS_FAULT_COUNT=counted).ok()
    after, after_files = seen(agents), records(agents)
    outcomes = []
    for n in range(1, int(counted.read_text()) + 1):
        agents.put_back(kept)
        assert killed(run(agents, bb, *command, ABACUS_FAULT_AT=n))
        found = seen(agents)
        assert found in (before, after), f"step {n}: {found}"
        agents.agent("heartbeat", "--agent", "amber-otter")
        assert seen(agents) == found, f"step {n}"
        assert records(agents) == (after_files if found == after else before_files), f"step {n}"
        assert not (agents.home / "agent/pending.jsonl").exists() or \
            (agents.home / "agent/pending.jsonl").stat().st_size == 0
        outcomes.append(found == after)
    assert outcomes == sorted(outcomes) and len(set(outcomes)) == 2


def test_the_next_writer_may_be_killed_as_well(agents, faulty, tmp_path):  # noqa: F811
    bb = str(pathlib.Path(faulty).parent / "bb")
    command, heartbeat = ["agent", *CASES["broadcast"], "--json"], ["agent", "heartbeat", "--agent", "amber-otter", "--json"]
    kept, torn, counted = tmp_path / "kept", tmp_path / "torn", tmp_path / "counted"
    agents.keep(kept)
    run(agents, bb, *command).ok()
    after, after_files = seen(agents), records(agents)
    for n in range(1, 100):  # the first step after which it counts
        agents.put_back(kept)
        assert killed(run(agents, bb, *command, ABACUS_FAULT_AT=n))
        if seen(agents) == after:
            break
    agents.keep(torn)
    run(agents, bb, *heartbeat, ABACUS_FAULT_COUNT=counted).ok()
    for n in range(1, int(counted.read_text()) + 1):
        agents.put_back(torn)
        assert killed(run(agents, bb, *heartbeat, ABACUS_FAULT_AT=n))
        assert seen(agents) == after, f"step {n}"
        agents.agent("heartbeat", "--agent", "amber-otter")
        assert records(agents) == after_files and seen(agents) == after


@needs_strace
@pytest.mark.parametrize("fault", ["write:error=ENOSPC", "fdatasync:error=EIO", "fsync:error=EIO", "ftruncate:error=EIO",
                                   "truncate:error=EIO"])
@pytest.mark.parametrize("name", ["broadcast", "takeover"])
def test_disks_that_fail(agents, tmp_path, name, fault):  # noqa: F811
    """After an error no recipient has the message; after a success, perhaps with a warning, every recipient has it."""
    command, kept = ["agent", *CASES[name], "--json"], tmp_path / "kept"
    before = seen(agents)
    agents.keep(kept)
    run(agents, BB, *command).ok()
    after = seen(agents)
    for n in range(1, 30):
        agents.put_back(kept)
        done = traced(agents, f"{fault}:when={n}", *command, env=agents.env)
        found = seen(agents)
        if not done.out:  # standard output was what failed
            break
        assert found == (before if done.code else after), f"{n}: {done.out}{done.err}"
        agents.agent("heartbeat", "--agent", "amber-otter")
        assert seen(agents) == found, f"{n}"
        if done.code == 0 and "warning" not in done.err and "warning" not in done.out:
            break


def test_a_repeat_with_the_same_id_reaches_every_recipient_once(agents, faulty, tmp_path):  # noqa: F811
    bb = str(pathlib.Path(faulty).parent / "bb")
    command = ["agent", *CASES["broadcast"], "--request-id", "once", "--json"]
    kept, counted = tmp_path / "kept", tmp_path / "counted"
    agents.keep(kept)
    run(agents, bb, *command, ABACUS_FAULT_COUNT=counted).ok()
    after = seen(agents)
    for n in range(1, int(counted.read_text()) + 1):
        agents.put_back(kept)
        assert killed(run(agents, bb, *command, ABACUS_FAULT_AT=n))
        run(agents, bb, *command).ok()
        assert seen(agents) == after


def test_a_repeat_after_another_sender_wrote_to_the_same_inboxes_sends_nothing_twice(agents, faulty, tmp_path):  # noqa: F811
    """The first process died before its receipt; the second one wrote the snapshots that the first had left out."""
    bb = str(pathlib.Path(faulty).parent / "bb")
    command = ["agent", *CASES["broadcast"], "--request-id", "once", "--json"]
    kept, counted = tmp_path / "kept", tmp_path / "counted"
    agents.keep(kept)
    run(agents, bb, *command, ABACUS_FAULT_COUNT=counted).ok()
    run(agents, bb, "agent", *CASES["information"]).ok()
    sent = {name: len(mail) for name, mail in seen(agents)["mail"].items()}
    events = len(seen(agents)["events"])
    for n in range(1, int(counted.read_text()) + 1):
        agents.put_back(kept)
        assert killed(run(agents, bb, *command, ABACUS_FAULT_AT=n))
        run(agents, bb, "agent", *CASES["information"]).ok()
        run(agents, bb, *command).ok()
        assert {name: len(mail) for name, mail in seen(agents)["mail"].items()} == sent, f"step {n}"
        assert len(seen(agents)["events"]) == events, f"step {n}"


@pytest.mark.parametrize("name", ["../../../evil.jsonl", "/tmp/evil.jsonl", "messages/../../../evil.jsonl", "evil",
                                  "pending.jsonl", "messages//evil.jsonl", ".evil.jsonl", "", "a/../evil.jsonl"])
def test_pending_lines_can_only_name_records(agents, name):  # noqa: F811
    """The folder may come from another user: completing a pending line writes nowhere else."""
    pending = agents.home / "agent/pending.jsonl"
    pending.write_text("")
    before = {str(p): p.read_bytes() for p in agents.path.parent.rglob("*") if p.is_file()}
    pending.write_text(json.dumps({"appends": [{"file": name, "at": 0, "lines": "evil\n"}]}) + "\n")
    done = agents.bb("agent", "list", "--json").ok()
    assert "pending.jsonl" in done.err + done.out
    done = agents.bb("agent", "heartbeat", "--agent", "amber-otter", "--json")
    assert done.code == 3 and "pending.jsonl" in done.error["message"]
    pending.write_text("")
    assert {str(p): p.read_bytes() for p in agents.path.parent.rglob("*") if p.is_file()} == before
    assert not pathlib.Path("/tmp/evil.jsonl").exists()


@pytest.mark.parametrize("text", ["{}\n", "nonsense\n", "[]\n", "\n", '{"appends":[1]}\n', '{"appends":[{}]}\n',
                                  '{"appends":[{"file":"events.jsonl","at":-1,"lines":"x\\n"}]}\n',
                                  '{"appends":[{"file":"events.jsonl","at":0,"lines":"x"}]}\n'])
def test_a_damaged_file_is_reported(agents, text):  # noqa: F811
    (agents.home / "agent/pending.jsonl").write_text(text)
    before = records(agents)
    agents.bb("agent", "list", "--json").ok()
    done = agents.bb("agent", "heartbeat", "--agent", "amber-otter", "--json")
    assert done.code == 3 and "pending.jsonl" in done.error["message"]
    assert records(agents) == before


def test_an_unfinished_line_does_not_count(agents):  # noqa: F811
    before = seen(agents)
    (agents.home / "agent/pending.jsonl").write_text('{"appends":[{"file":"events.jsonl","at":0,"li')
    assert seen(agents) == before
    agents.agent(*CASES["broadcast"])
    assert len(seen(agents)["mail"]["amber-otter"]) == len(before["mail"]["amber-otter"]) + 1
    assert (agents.home / "agent/pending.jsonl").stat().st_size == 0


def test_a_pending_line_with_a_hole_between_earlier_lines_is_dropped(agents):  # noqa: F811
    """A power failure can leave it so: its line was never durable, so no writer waits for a repair."""
    (agents.home / "agent/pending.jsonl").write_bytes(b"x" * 511 + b"\n" + bytes(512) + b"}\n")
    agents.agent("send", "--from", "blue-fox", "--to", "amber-otter", "--category", "INFO", *LETTER)
    assert (agents.home / "agent/pending.jsonl").stat().st_size == 0


def test_an_old_pending_line_that_reappears_changes_nothing(agents, faulty, tmp_path):  # noqa: F811
    """A power failure can undo that the file was emptied."""
    bb = str(pathlib.Path(faulty).parent / "bb")
    pending = agents.home / "agent/pending.jsonl"
    command, kept = ["agent", *CASES["broadcast"], "--json"], tmp_path / "kept"
    agents.keep(kept)
    for n in range(1, 100):
        agents.put_back(kept)
        if not killed(run(agents, bb, *command, ABACUS_FAULT_AT=n)):
            break
        if pending.exists() and pending.read_text().endswith("\n"):
            line = pending.read_text()
            agents.agent("heartbeat", "--agent", "amber-otter")
            agents.agent(*CASES["information"])
            found, files = seen(agents), records(agents)
            pending.write_text(line)
            assert seen(agents) == found
            agents.agent("heartbeat", "--agent", "amber-otter")
            assert seen(agents) == found and records(agents) == files
            return
    pytest.fail("nothing was ever pending")


def test_a_pending_line_with_sectors_of_an_earlier_one_is_dropped(agents, faulty, tmp_path):  # noqa: F811
    """The earlier line was cut off without a sync, so a power failure can leave a mixture that is valid JSON."""
    bb = str(pathlib.Path(faulty).parent / "bb")
    pending, kept = agents.home / "agent/pending.jsonl", tmp_path / "kept"
    agents.keep(kept)
    lines = []
    for body in ("a" * 600, "b" * 600):
        command = ["agent", *CASES["broadcast"], "--json"]
        command[command.index("--body") + 1] = body
        for n in range(1, 100):
            agents.put_back(kept)
            assert killed(run(agents, bb, *command, ABACUS_FAULT_AT=n))
            if pending.exists() and pending.read_bytes().endswith(b"\n"):
                lines.append(pending.read_bytes())
                break
    first, second = lines
    assert len(first) == len(second) > 1024
    agents.put_back(kept)
    before = seen(agents), records(agents)
    for mixed in (first[:512] + second[512:], second[:512] + first[512:], first[:1024] + second[1024:]):
        assert isinstance(json.loads(mixed), dict)
        pending.write_bytes(mixed)
        assert seen(agents) == before[0]
        agents.agent("heartbeat", "--agent", "amber-otter")
        assert pending.read_bytes() == b"" and (seen(agents), records(agents)) == before


def crowd(tmp_path, count):
    """A project with the agents agent-0, agent-1, …"""
    project = Project(tmp_path / "project")
    project.path.mkdir()
    for i in range(count):
        project.bb("agent", "register", "--name", f"agent-{i}", "--role", "ui").ok()
    return project


def send_to_all(project, body, *more):
    return project.bb("agent", "send", "--from", "agent-0", "--to", "broadcast", "--category", "INFO", "--bead", "b",
                      "--subject", "s", "--body", "-", *more, "--json", stdin=body.encode())


def test_a_broadcast_that_is_too_large_is_refused_before_anything_is_written(tmp_path):
    """The body counts once for each recipient, as it is stored: a control character takes seven bytes."""
    project = crowd(tmp_path, 9)
    home = project.path / ".beadboard/agent"
    files = lambda: {str(file): file.read_bytes() for file in home.rglob("*")  # noqa: E731
                     if file.is_file() and file.name != "agent-0.json"}  # has when its agent was last seen
    before = files()
    for more in ([], ["--request-id", "r1"]):
        done = send_to_all(project, "\x1b" * 1_000_000, *more)
        assert done.code == 1 and "at most 50331648" in done.error["message"], done
        assert done.error["hint"].startswith("Send a shorter body"), done.error
        assert files() == before
    assert len(send_to_all(project, "short", "--request-id", "r1").ok().json["data"]["recipients"]) == 8


def test_a_repeated_large_broadcast_gets_its_first_reply(tmp_path):
    """Its receipt is larger than all other stored replies together."""
    project = crowd(tmp_path, 22)
    first = send_to_all(project, "y" * 1_000_000, "--request-id", "r1").ok().json["data"]
    assert send_to_all(project, "y" * 1_000_000, "--request-id", "r1").ok().json["data"] == first
    project.bb("agent", "heartbeat", "--agent", "agent-0", "--request-id", "r2").ok()
    with sqlite3.connect(project.path / ".beadboard/agent/receipts.db") as db:
        assert db.execute("SELECT count(*) FROM replies").fetchone() == (1,), "the large one makes room"
    done = send_to_all(project, "y" * 1_000_000, "--request-id", "r1")
    assert done.code == 1 and "was carried out at" in done.error["message"], done
    [message] = project.bb("agent", "inbox", "--agent", "agent-21", "--json").ok().json["data"]
    assert len(message["body"]) == 1_000_000


def test_doctor_completes_a_pending_line_that_writers_do_not_read(agents, faulty, tmp_path):  # noqa: F811
    """Earlier versions wrote pending lines of any size. Dropping one would leave a broadcast in only some inboxes."""
    bb = str(pathlib.Path(faulty).parent / "bb")
    pending, kept = agents.home / "agent/pending.jsonl", tmp_path / "kept"
    command = ["agent", *CASES["broadcast"], "--json"]
    agents.keep(kept)
    run(agents, bb, *command).ok()
    after = records(agents)
    for n in range(1, 100):
        agents.put_back(kept)
        assert killed(run(agents, bb, *command, ABACUS_FAULT_AT=n))
        if pending.exists() and pending.read_text().endswith("\n"):
            break
    appends = json.dumps(json.loads(pending.read_text())["appends"])
    pending.write_text('{"pad":"' + "x" * (129 << 20) + f'","appends":{appends}}}\n')
    assert agents.bb("agent", "heartbeat", "--agent", "amber-otter", "--json").code == 3
    assert "stops all writes" in agents.run("doctor", "--json", program="abacus").out
    assert pending.stat().st_size
    done = agents.run("doctor", "--fix", "--json", program="abacus")
    assert "were added to their files" in done.out, done
    assert pending.stat().st_size == 0 and records(agents) == after
    agents.agent("heartbeat", "--agent", "amber-otter")
    assert not list(pending.parent.glob("pending.jsonl.damaged_*"))


def test_many_agents(tmp_path):
    project = crowd(tmp_path, 40)
    sent = project.bb("agent", "send", "--from", "agent-0", "--to", "broadcast", "--category", "HANDOFF", "--bead", "b",
                      "--subject", "s", "--body", "x" * 100000, "--json").ok().json["data"]
    assert len(sent["recipients"]) == 39
    shutil.rmtree(project.path / ".beadboard/agent/messages/boxes")
    for i in (1, 20, 39):
        [m] = project.bb("agent", "inbox", "--agent", f"agent-{i}", "--json").ok().json["data"]
        assert len(m["body"]) == 100000
