"""bb agent init and bb-init: the identity of a session (seed 001 sections 3 and 7)."""
import json
import os
import re
import subprocess

import pytest

from board import at, on_terminal
from conftest import BIN
from test_agent_guard import Repo
from test_agent_identity import agent, data, register
from test_agent_mail import events
from test_agent_reservations import reserve

GONE = at(m=40)  # everybody who was seen at the beginning is evicted


@pytest.fixture
def repo(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    repo.run("init", program="bd").ok()
    return repo


def begin(project, *args, env=None, **kw):
    """The reply of `bb-init`: always JSON, and never a question."""
    done = project.run(*args, program="bb-init", env=env, **kw)
    reply = done.json
    assert list(reply) == ["ok", "command", "data", "error"] and reply["command"] == "agent init"
    assert reply["ok"] == (done.code == 0)
    return reply


def left_files(repo):
    """An agent that has reserved src and changed a file in it."""
    register(repo, "amber-otter", env=at())
    reserve(repo, "amber-otter", "src/*", env=at(), bead="bd-7")
    repo.write("src/a.c")


def left_bead(repo, who="cobalt-harbor", env=None):
    """An agent with a bead in progress."""
    env = env or at()
    register(repo, who, env=env)
    bead = repo.run("create", "a thing to do", "--json", program="bd", env=env).ok().json["id"]
    repo.run("--actor", who, "claim", bead, program="bd", env=env).ok()
    return bead


def test_a_new_session_gets_a_free_name(repo):
    first = begin(repo, "--non-interactive", "--json", env=at())["data"]
    assert first["decision"] == "registered" and first["resumed"] is None and first["candidates"] == []
    name = first["agent"]["agent_id"]
    assert re.fullmatch("[a-z]+-[a-z]+", name) and first["agent"]["status"] == "idle"
    assert first["recommendation"] == {"action": "register", "agent_id": name, "reason": "no unfinished work here"}
    second = begin(repo, "--non-interactive", env=at())["data"]
    assert second["agent"]["agent_id"] != name
    assert [a["agent_id"] for a in data(repo, "list")] == sorted([name, second["agent"]["agent_id"]])


def test_the_offered_name_stays_the_same_until_it_is_taken(repo):
    register(repo, "amber-otter", env=at())
    offers = [begin(repo, "--adopt", "amber-otter")["error"]["details"]["recommendation"]["agent_id"] for _ in "123"]
    assert len(set(offers)) == 1
    assert begin(repo)["data"]["agent"]["agent_id"] == offers[0]


def test_register(repo):
    made = begin(repo, "--register", "blue-fox", "--role", "ui", "--display", "Fox", "--json")["data"]
    assert (made["decision"], made["agent"]["role"], made["agent"]["display_name"]) == ("registered", "ui", "Fox")
    again = begin(repo, "--register", "blue-fox")
    assert again["error"]["code"] == "DUPLICATE_AGENT_ID" and events(repo) == []
    assert begin(repo, "--register", "no good")["error"]["code"] == "INVALID_ARGS"


def test_adoption_because_of_changed_files(repo):
    left_files(repo)
    reply = begin(repo, "--adopt", "amber-otter", "--json", env=GONE)["data"]
    assert (reply["decision"], reply["agent"]["agent_id"]) == ("adopted", "amber-otter")
    assert reply["agent"]["last_seen_at"] == "2026-01-01T00:40:00.000Z"
    assert (reply["resumed"]["reason"], reply["resumed"]["bead_id"], reply["resumed"]["scope"]) == (
        "uncommitted_scope", "bd-7", "src/*")
    assert [r["scope"] for r in reply["reservations"]] == ["src/*"]
    [event] = events(repo)
    assert (event["event_type"], event["bead_id"], event["from_agent"], event["to_agent"]) == (
        "RESUME", "bd-7", "amber-otter", "amber-otter")
    assert event["payload"] == {"resume_reason": "uncommitted_scope", "prior_session_agent": "amber-otter",
                                "adopted_agent": "amber-otter", "evidence": reply["resumed"]["evidence"]}
    assert "src" in event["payload"]["evidence"] and data(repo, "events")[0] == event


def test_work_stays_an_agents_when_its_reservation_was_archived(repo):
    """Its reservation has expired and another agent has written since. It no longer counts once the scope was
    reserved again or released."""
    left_files(repo)
    register(repo, "cobalt-harbor", env=at(h=3))
    reserve(repo, "cobalt-harbor", "doc", env=at(h=3))
    candidates = begin(repo, "--adopt", "blue-fox", env=at(h=3))["error"]["details"]["candidates"]
    assert [(c["agent_id"], c["scope"], c["bead_id"]) for c in candidates] == [("amber-otter", "src/*", "bd-7")]
    reserve(repo, "cobalt-harbor", "src", env=at(h=3))
    data(repo, "release", "--agent", "cobalt-harbor", "--scope", "src", env=at(h=3))
    assert begin(repo, "--adopt", "blue-fox", env=at(h=3))["error"]["details"]["candidates"] == []


def test_adoption_because_of_a_bead_in_progress(repo):
    bead = left_bead(repo)
    reply = begin(repo, "--adopt", "cobalt-harbor", env=GONE)["data"]
    assert (reply["resumed"]["reason"], reply["resumed"]["bead_id"]) == ("in_progress_ownership", bead)
    [event] = events(repo)
    assert event["payload"]["resume_reason"] == "in_progress_ownership" and event["bead_id"] == bead
    assert "bb agent events" and "a thing to do" in repo.bb("agent", "events").ok().out


def refusal(repo, *args, env=GONE):
    before = {f: f.read_bytes() for f in (repo.path / ".beadboard").rglob("*.json*")}
    reply = begin(repo, *args, env=env)
    assert before == {f: f.read_bytes() for f in (repo.path / ".beadboard").rglob("*.json*")}
    return reply["error"]


def test_without_evidence_no_agent_is_adopted(repo):
    register(repo, "amber-otter", env=at())
    reserve(repo, "amber-otter", "src", env=at())
    repo.write("doc/a")  # changed, but not its own
    error = refusal(repo, "--adopt", "amber-otter", "--non-interactive")
    assert error["code"] == "ADOPTION_REJECTED" and error["details"]["recommendation"]["action"] == "register"
    assert refusal(repo, "--adopt", "nobody-here")["code"] == "AGENT_NOT_FOUND"
    assert refusal(repo, "--adopt", "amber-otter", "--scope", "doc")["code"] == "ADOPTION_REJECTED"


@pytest.mark.parametrize("args", [["--register", "amber-otter"], ["--adopt", "nobody-here"], ["--adopt", "amber-otter"]])
def test_every_refusal_recommends_something(repo, args):
    register(repo, "amber-otter", env=at())
    advice = refusal(repo, *args)["details"]["recommendation"]
    assert advice["action"] == "register" and advice["reason"] == "no unfinished work here"


def damage_reservations(repo):
    (repo.path / ".beadboard/agent/reservations/history.jsonl").write_text("{}\n")
    (repo.path / ".beadboard/agent/reservations/active.json").unlink()


def damage_beads(repo):
    home = repo.path / ".git/abacus"
    for file in home.glob("cache.db*"):
        file.unlink()
    for file in home.glob("journal*"):
        file.write_bytes(file.read_bytes().replace(b"{", b"x") + b"\n" + file.read_bytes())


@pytest.mark.parametrize("damage", [damage_reservations, damage_beads])
@pytest.mark.parametrize("args", [[], ["--adopt", "amber-otter"], ["--register", "blue-fox"]])
def test_unreadable_evidence_does_not_count_as_none(repo, damage, args):
    left_files(repo)
    left_bead(repo)
    damage(repo)
    assert refusal(repo, *args, env=GONE)["code"] == "IO_READ_FAILED"


def test_work_that_is_committed_or_done_is_no_evidence(repo):
    left_files(repo)
    repo.git("add", "-A")
    assert begin(repo, "--adopt", "amber-otter", env=GONE)["ok"]  # staged is not committed
    repo.git("commit", "-qm", "x")
    assert refusal(repo, "--adopt", "amber-otter")["code"] == "ADOPTION_REJECTED"
    bead = left_bead(repo)
    repo.run("close", bead, "--force", program="bd").ok()
    assert refusal(repo, "--adopt", "cobalt-harbor")["code"] == "ADOPTION_REJECTED"


def test_scope_and_bead_limit_the_evidence(repo):
    left_files(repo)
    for args, ok in ((["--scope", "src"], True), (["--scope", "src/b.c"], False), (["--bead", "bd-7"], True),
                     (["--bead", "7"], True), (["--bead", "bd-8"], False), (["--scope", "doc"], False)):
        assert begin(repo, "--adopt", "amber-otter", *args, env=GONE)["ok"] is ok, args
    assert begin(repo, "--adopt", "amber-otter", "--scope", "../x")["error"]["code"] == "INVALID_ARGS"


def test_a_bead_in_progress_counts_in_the_scopes_that_were_reserved_for_it(repo):
    bead = left_bead(repo)
    adopt = ["--adopt", "cobalt-harbor", "--scope"]
    assert refusal(repo, *adopt, "src", env=GONE)["code"] == "ADOPTION_REJECTED"
    reserve(repo, "cobalt-harbor", "src/lib", env=at(), bead=bead)
    reserve(repo, "cobalt-harbor", "doc", env=at(), bead="bd-7")
    assert refusal(repo, *adopt, "doc", env=GONE)["code"] == "ADOPTION_REJECTED"
    for scope in ("src", "src/lib/a.c", "/"):
        assert begin(repo, *adopt, scope, env=GONE)["data"]["resumed"]["reason"] == "in_progress_ownership"


def test_an_agent_that_released_its_scope_left_no_evidence_there(repo):
    left_files(repo)
    data(repo, "release", "--agent", "amber-otter", "--scope", "src", env=at(m=1))
    assert refusal(repo, "--adopt", "amber-otter")["code"] == "ADOPTION_REJECTED"


def test_an_ambiguous_case_is_an_error_with_a_recommendation(repo):
    left_files(repo)
    bead = left_bead(repo)
    data(repo, "heartbeat", "--agent", "cobalt-harbor", env=at(m=2))
    error = refusal(repo, "--non-interactive")
    assert error["code"] == "AMBIGUOUS_SESSION" and "--adopt cobalt-harbor" in error["hint"]
    assert [c["agent_id"] for c in error["details"]["candidates"]] == ["cobalt-harbor", "amber-otter"]
    assert error["details"]["recommendation"] == {
        "action": "adopt", "agent_id": "cobalt-harbor",
        "reason": f"'cobalt-harbor' is evicted and has left work: it has '{bead}' in progress: a thing to do"}
    assert refusal(repo, "--non-interactive") == error  # the same, as long as nothing changes
    assert begin(repo, "--register", "blue-fox", env=GONE)["data"]["decision"] == "registered"


def test_active_agents_do_not_stop_a_new_session(repo):
    left_files(repo)
    reply = begin(repo, "--non-interactive", env=at(m=1))["data"]
    assert reply["decision"] == "registered" and len(reply["candidates"]) == 1
    assert reply["recommendation"]["reason"] == "every agent with work here is active"


def test_register_and_adopt_exclude_each_other(repo):
    assert begin(repo, "--register", "blue-fox", "--adopt", "blue-fox")["error"]["code"] == "INVALID_ARGS"
    assert not (repo.path / ".beadboard").exists()


def test_without_git_and_beads(empty):
    """There is no evidence then, which is not an error."""
    env = {"GIT_CEILING_DIRECTORIES": str(empty.path.parent)}
    assert begin(empty, env=env)["data"]["decision"] == "registered"
    register(empty, "amber-otter", env=at())
    assert begin(empty, "--adopt", "amber-otter", env=env)["error"]["code"] == "ADOPTION_REJECTED"


def test_from_a_linked_worktree(repo, tmp_path):
    repo.write("README")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "x")
    register(repo, "amber-otter", env=at())
    reserve(repo, "amber-otter", "src/*", env=at())
    tree = tmp_path / "tree"
    repo.git("worktree", "add", "-q", str(tree))
    repo.write("src/a.c", cwd=tree)
    assert begin(repo, "--adopt", "amber-otter", env=GONE)["error"]["code"] == "ADOPTION_REJECTED"
    assert begin(repo, "--adopt", "amber-otter", env=GONE, cwd=tree)["ok"]


def ask(repo, *args, answer=b"", program="bb-init"):
    """On a terminal: the output, the exit status, the reply, and whether there was a question."""
    shown, code = on_terminal(repo, *args, answer=answer, program=program, env=GONE)
    replies = [json.loads(line[line.index('{"ok"'):]) for line in shown.splitlines() if '{"ok"' in line]
    return shown, code, replies[-1], "[y/N]" in shown


def left_nothing(repo):
    register(repo, "amber-otter", env=at())
    reserve(repo, "amber-otter", "src", env=at())


def test_a_person_may_confirm_an_adoption_without_evidence(repo):
    """Seed 001, section 3.2: it is refused without a terminal, and has to be confirmed on one."""
    left_nothing(repo)
    shown, code, reply, asked = ask(repo, "--adopt", "amber-otter", answer=b"y\n")
    assert asked and code == 0 and "left no unfinished work" in shown
    assert reply["data"]["decision"] == "adopted" and reply["data"]["agent"]["agent_id"] == "amber-otter"
    assert "confirmed" in reply["data"]["resumed"]["evidence"]
    [event] = [e for e in events(repo) if e["event_type"] == "RESUME"]
    assert event["payload"]["adopted_agent"] == "amber-otter" and "confirmed" in event["payload"]["evidence"]
    assert event["payload"]["resume_reason"] in ("uncommitted_scope", "in_progress_ownership")


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"what?\n", b"\x04"])
def test_without_a_yes_no_agent_is_adopted(repo, answer):
    left_nothing(repo)
    _, code, reply, asked = ask(repo, "--adopt", "amber-otter", answer=answer)
    assert asked and code == 1 and reply["error"]["code"] == "ADOPTION_REJECTED"
    assert not [e for e in events(repo) if e["event_type"] == "RESUME"]


@pytest.mark.parametrize("args, code", [
    (["--adopt", "amber-otter", "--non-interactive"], "ADOPTION_REJECTED"), (["--adopt", "nobody-here"], "AGENT_NOT_FOUND"),
    (["--adopt", "cobalt-harbor"], None), (["--register", "new-name"], None), ([], "AMBIGUOUS_SESSION")])
def test_nothing_else_is_asked_on_a_terminal(repo, args, code):
    left_nothing(repo)
    left_bead(repo)
    _, status, reply, asked = ask(repo, *args)
    assert not asked and status == (1 if code else 0)
    assert (reply["error"]["code"] if code else reply["error"]) == code


def test_nothing_is_asked_unless_standard_input_and_output_are_terminals(repo):
    """A script that was started from a terminal must not hang."""
    left_nothing(repo)
    init = f"{BIN}/bb-init --adopt amber-otter"
    shown, _ = on_terminal(repo, "-c", f"{init} | cat; {init} </dev/null; {init} 2>/dev/null", program="/bin/sh", env=GONE)
    assert "[y/N]" not in shown and shown.count('"code":"ADOPTION_REJECTED"') == 3


def test_twenty_sessions_at_once(repo):
    started = [repo.spawn(program="bb-init", stdout=subprocess.PIPE) for _ in range(20)]
    replies = [json.loads(p.communicate(timeout=30)[0]) for p in started]
    names = {r["data"]["agent"]["agent_id"] for r in replies}
    assert len(names) == 20 == len(data(repo, "list"))


def test_the_git_index_is_not_changed(repo):
    repo.write("a")
    repo.git("add", "a")
    index = (repo.path / ".git/index").read_bytes()
    os.utime(repo.path / "a", (0, 0))  # so that 'git status' would like to write it anew
    assert begin(repo)["ok"]
    assert (repo.path / ".git/index").read_bytes() == index


def test_for_people(repo):
    assert repo.bb("agent", "init", "--register", "blue-fox").ok().out == (
        "You are now blue-fox: no unfinished work here.\nTo use this name in all commands: export ABACUS_AGENT=blue-fox\n")
    assert repo.bb("agent", "register", "--name", "red-fox", "--role", "ui").ok().out == (
        "Registered red-fox (ui).\nTo use this name in all commands: export ABACUS_AGENT=red-fox\n")
    left_files(repo)
    assert "You are again amber-otter" in repo.bb("agent", "init", "--adopt", "amber-otter").ok().out
    assert agent(repo, "init", "--adopt", "amber-otter", warned="make sure that no other session uses its name")["ok"]


def test_no_command_waits_for_a_slow_git(repo, tmp_path):
    """A slow `git` does not keep other commands from writing."""
    left_files(repo)
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\ntouch {slow}/asked\nwhile [ ! -e {slow}/go ]; do sleep 0.01; done\nexit 1\n")
    (slow / "git").chmod(0o755)
    waiting = repo.spawn("--register", "blue-fox", program="bb-init", stdout=subprocess.PIPE,
                         env={"PATH": f"{slow}:/usr/bin:/bin"})
    while not (slow / "asked").exists():
        assert waiting.poll() is None
    data(repo, "heartbeat", "--agent", "amber-otter")
    assert waiting.poll() is None
    (slow / "go").touch()
    assert json.loads(waiting.communicate(timeout=20)[0])["ok"]
