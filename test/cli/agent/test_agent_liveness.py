"""An agent that works counts as active: any command with the agent as actor updates its last_seen_at, in every
program."""
import fcntl
import json
import time

import pytest

from board import at, stamp
from conftest import Project
from test_abacus_mcp import call
from test_agent_identity import agent, data, register, stored
from test_agent_reservations import history, reserve

ME, OTHER = "amber-otter", "cobalt-harbor"
AS_ME = {"BB_AGENT_ID": ME}


@pytest.fixture
def crew(repo):
    """Two agents that were registered at the beginning, and a board; the environment names no actor."""
    crew = Project(repo.path)
    crew.bb("init", env=at()).ok()
    for name in (ME, OTHER):
        register(crew, name, env=at())
    return crew


def seen(project, who=ME):
    return stored(project, who)["last_seen_at"]


def moved(project, who=ME):
    """To ten minutes after the beginning. The clock of a command that waits continues."""
    return seen(project, who)[:19] == stamp(m=10)[:19]


def file_of(project, who=ME):
    return project.path / ".beadboard/agent/agents" / f"{who}.json"


def run(project, program, *words, env=None, **kw):
    return project.run(*words, program=program, env={**AS_ME, **at(m=10), **(env or {})}, **kw)


COMMANDS = [
    ("bd", "create", "x"), ("bd", "list"), ("bd", "ready"), ("bd", "where"), ("bd", "status"),
    ("bb", "post", "hello"), ("bb", "status", "set", "at work"), ("bb", "log"), ("bb", "status"), ("bb", "summary"),
    ("bb", "agent", "inbox"), ("bb", "agent", "inbox", "--agent", ME), ("bb", "agent", "wait", "--timeout", "0s"),
    ("bb", "agent", "list"), ("bb", "agent", "show", "--agent", OTHER), ("bb", "agent", "status"),
    ("bb", "agent", "guard", "src/x.c"), ("bb", "agent", "heartbeat"), ("bb", "agent", "events"),
    ("bb", "agent", "reserve", "--scope", "src", "--bead", "bd-1"),
    ("bb", "agent", "send", "--to", OTHER, "--bead", "b", "--category", "INFO", "--subject", "s", "--body", "b"),
    ("vybe", "task", "create", "--title", "x", "--request-id", "r1"), ("vybe", "task", "list"), ("vybe", "status"),
    ("vybe", "push", "--json", '{"event":{"kind":"progress","message":"m"}}', "--request-id", "r1"),
    ("vybe", "resume", "--request-id", "r1"), ("vybe", "memory", "list"),
    ("abacus", "bd", "list"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_moves_the_time_of_its_actor(crew, words):
    done = run(crew, *words)
    assert done.code in (0, 1), done.err  # 1: there was nothing to wait for
    assert moved(crew) and not moved(crew, OTHER)


@pytest.mark.parametrize("words", [("bd", "create", "x", "--actor", ME), ("bb", "post", "x", "--as", ME),
                                   ("vybe", "task", "list", "--agent", ME)], ids=" ".join)
def test_an_option_names_the_actor_too(crew, words):
    crew.run(*words[1:], program=words[0], env=at(m=10)).ok()
    assert moved(crew)


@pytest.mark.parametrize("line", [
    {"op": "bead create", "params": {"title": "x", "agent": ME}}, {"op": "bead ready", "params": {"agent": ME}},
    {"op": "board post", "params": {"content": "x", "agent": ME}}, {"op": "agent inbox", "params": {"agent": ME}},
    {"op": "vybe resume", "params": {"agent": ME}}], ids=lambda line: line["op"])
def test_a_line_of_the_pipe_moves_the_time_of_its_agent(crew, line):
    done = crew.run("pipe", program="abacus", stdin=json.dumps(line).encode() + b"\n", env=at(m=10)).ok()
    assert "error" not in done.json, done.out
    assert moved(crew) and not moved(crew, OTHER)


@pytest.mark.parametrize("tool, arguments", [
    ("bd_create", {"title": "x"}), ("bd_list", {}), ("bb_post_message", {"content": "x"}), ("agent_inbox", {}),
    ("agent_wait", {"timeout": "0s"}), ("vybe_task_list", {})])
def test_a_tool_call_moves_the_time_of_its_agent(crew, tool, arguments):
    call(crew, tool, arguments, args=["--agent", ME], env=at(m=10))
    assert moved(crew) and not moved(crew, OTHER)


LOOKS = [("list",), ("show", "--agent", ME), ("status", "--agent", ME), ("status",), ("events",),
         ("inbox", "--agent", ME), ("inbox", "--agent", ME, "--wait", "0s")]


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_reads_about_an_agent_are_not_its_acts(crew, words):
    before = file_of(crew).stat()
    crew.run("agent", *words, program="bb", env=at(m=10)).ok()
    crew.run("agent", *words, program="bb", env={"BB_AGENT_ID": "somebody-new", **at(m=10)}).ok()
    assert file_of(crew).stat().st_ino == before.st_ino and seen(crew) == stamp()
    crew.run("agent", *words, program="bb", env={"BB_AGENT_ID": OTHER, **at(m=10)}).ok()
    assert seen(crew) == stamp() and moved(crew, OTHER)


def test_an_agent_that_works_keeps_its_reservation(crew):
    """An hour without a heartbeat, and without a command of `bb agent` that writes."""
    reserve(crew, ME, "src", env=at())
    for minute, words in enumerate([("bd", "create", "x"), ("bb", "post", "x"), ("bb", "agent", "inbox"),
                                    ("bb", "agent", "wait", "--timeout", "0s"), ("vybe", "task", "list")], 1):
        assert run(crew, *words, env=at(m=12 * minute)).code in (0, 1)
        reply = agent(crew, "reserve", "--agent", OTHER, "--scope", "src", "--bead", "b", "--takeover-stale",
                      env=at(m=12 * minute + 11))
        assert reply["error"]["code"] == "RESERVATION_CONFLICT", words
        assert data(crew, "show", "--agent", ME, env=at(m=12 * minute + 11))["liveness"] == "active"
    reply = agent(crew, "reserve", "--agent", OTHER, "--scope", "src", "--bead", "b", "--takeover-stale", env=at(m=90))
    assert reply["ok"], reply


def test_a_refused_command_counts_as_a_sign_of_life(crew):
    reserve(crew, OTHER, "src", env=at(m=10))
    record = history(crew)
    reply = agent(crew, "reserve", "--agent", ME, "--scope", "src", "--bead", "b", env=at(m=11))
    assert reply["error"]["code"] == "RESERVATION_CONFLICT" and history(crew) == record
    assert seen(crew) == stamp(m=11)


def test_a_read_writes_at_most_once_a_second_and_a_write_always(crew):
    run(crew, "bd", "list", env=at(ms=999)).ok()
    assert seen(crew) == stamp()
    run(crew, "bd", "list", env=at(s=1)).ok()
    assert seen(crew) == stamp(s=1)
    run(crew, "bd", "create", "x", env=at(s=1, ms=1)).ok()
    assert seen(crew) == stamp(s=1, ms=1)


def test_time_never_goes_back(crew):
    run(crew, "bd", "create", "x").ok()
    run(crew, "bd", "create", "y", env=at(m=5)).ok()
    assert seen(crew) == stamp(m=10)


def test_the_rest_of_the_record_stays(crew):
    before = stored(crew, ME)
    run(crew, "bd", "list").ok()
    assert stored(crew, ME) == {**before, "last_seen_at": stamp(m=10)}


def test_an_unregistered_actor_leaves_no_record(crew):
    names = sorted(p.name for p in file_of(crew).parent.iterdir())
    run(crew, "bd", "create", "x", env={"BB_AGENT_ID": "blue-heron"}).ok()
    run(crew, "bd", "create", "x", env={"BB_AGENT_ID": "../agents/Blue Heron"}).ok()
    assert sorted(p.name for p in file_of(crew).parent.iterdir()) == names


def test_a_lock_that_others_hold_does_not_stop_the_command(crew):
    with open(crew.path / ".beadboard/agent/lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.monotonic()
        done = run(crew, "bd", "create", "x").ok()
        assert time.monotonic() - began < 8 and done.err == ""  # a writer waits for 10 s
    assert seen(crew) == stamp()
    run(crew, "bd", "list").ok()
    assert seen(crew) == stamp(m=10)


def break_lock(home):
    (home / "lock").unlink()
    (home / "lock").mkdir()


def break_temporary(home):
    (home / "tmp").unlink(missing_ok=True)
    (home / "tmp").mkdir()


def break_record(home):
    (home / f"agents/{ME}.json").write_text("{")
    (home / "agents/history.jsonl").unlink()


def break_pending(home):
    (home / "pending.jsonl").mkdir()


@pytest.mark.parametrize("harm", [break_lock, break_temporary, break_record, break_pending])
def test_a_failure_to_store_last_seen_does_not_fail_the_command(crew, harm):
    harm(crew.path / ".beadboard/agent")
    for words in ("create", "x"), ("list",):
        done = run(crew, "bd", *words).ok()
        assert "error" not in done.err
    assert run(crew, "bb", "post", "x").code == 0


def test_a_torn_record_is_mended_by_the_next_command(crew):
    file_of(crew).write_text(file_of(crew).read_text()[:20])
    run(crew, "bd", "create", "x").ok()
    assert (stored(crew, ME)["role"], seen(crew)) == ("ui", stamp(m=10))
