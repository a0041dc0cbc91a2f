"""bb agent register, list, show and heartbeat: the registry (seed 000 section 5, seed 001 section 4)."""
import json

import pytest

from board import at

FIELDS = ["agent_id", "display_name", "role", "status", "created_at", "last_seen_at", "version"]


def agent(project, *args, warned="", **kw):
    """The envelope of a command, successful or not; and the file that it is about."""
    done = project.bb("agent", *args, "--json", **kw)
    reply = done.json
    assert list(reply) == ["ok", "command", "data", "error"]
    assert reply["ok"] == (done.code == 0) == (reply["error"] is None) and (reply["data"] is None) != reply["ok"]
    assert done.out.count("\n") == 1
    beside = [line for line in done.err.splitlines() if not line.startswith('{"mail":')]
    assert len(beside) == bool(warned) and all(b.startswith("warning: ") and warned in b for b in beside), done.err
    return reply


def data(project, *args, **kw):
    reply = agent(project, *args, **kw)
    assert reply["ok"], reply
    return reply["data"]


def refused(project, *args, **kw):
    reply = agent(project, *args, **kw)
    assert not reply["ok"] and reply["error"]["message"] and reply["error"]["hint"], reply
    return reply["error"]["code"]


def register(project, name, role="ui", *more, **kw):
    return data(project, "register", "--name", name, "--role", role, *more, **kw)


def stored(project, name):
    return json.loads((project.path / ".beadboard/agent/agents" / f"{name}.json").read_text())


def test_register(empty):
    made = register(empty, "agent-ui-1", "ui", "--display", "UI Agent 1", env=at())
    assert made == {**stored(empty, "agent-ui-1"), "liveness": "active"}
    assert list(stored(empty, "agent-ui-1")) == FIELDS
    assert (made["display_name"], made["status"], made["version"]) == ("UI Agent 1", "idle", 1)
    assert made["created_at"] == made["last_seen_at"] == "2026-01-01T00:00:00.000Z"
    assert (empty.path / ".beadboard/.gitignore").read_text() == "*\n"


def test_a_second_register_is_refused_and_changes_nothing(empty):
    register(empty, "amber-otter", env=at())
    before = stored(empty, "amber-otter")
    error = agent(empty, "register", "--name", "amber-otter", "--role", "other", env=at(m=5))["error"]
    assert error["code"] == "DUPLICATE_AGENT_ID" and stored(empty, "amber-otter") == before
    assert "--adopt amber-otter" in error["hint"]  # nobody goes on as another without evidence


def test_force_update_changes_role_and_display_only(empty):
    first = register(empty, "amber-otter", env=at())
    again = register(empty, "amber-otter", "graph", "--force-update", "--display", "Otter", env=at(m=1))
    assert (again["role"], again["display_name"], again["created_at"]) == ("graph", "Otter", first["created_at"])
    assert again["last_seen_at"] > first["last_seen_at"]


@pytest.mark.parametrize("name", ["ab", "a" * 49, "Amber", "amber_otter", "-amber", "amber-", "amber--otter", "ämber",
                                  "a b", "../x", "a\nb", " amber", "", "broadcast"])
def test_an_id_that_does_not_match(empty, name):
    assert refused(empty, "register", "--name", name, "--role", "ui") == "INVALID_ARGS"
    assert not (empty.path / ".beadboard").exists()


@pytest.mark.parametrize("name", ["abc", "a" * 48, "a-1-b", "007"])
def test_an_id_that_matches(empty, name):
    assert register(empty, name)["agent_id"] == name


@pytest.mark.parametrize("role", ["", " ", "a\nb"])
def test_a_role_is_a_line_of_text(empty, role):
    assert refused(empty, "register", "--name", "amber-otter", "--role", role) == "INVALID_ARGS"
    assert not (empty.path / ".beadboard").exists()


def test_blanks_around_a_role_and_a_display_name_are_not_kept(empty):
    assert register(empty, "amber-otter", " ui ", "--display", " Otter ")["display_name"] == "Otter"
    assert [a["role"] for a in data(empty, "list", "--role", "ui")] == ["ui"]
    register(empty, "blue-fox")
    assert data(empty, "send", "--from", "blue-fox", "--to", "role:ui", "--bead", "bb-1", "--category", "INFO", "--subject", "s",
                "--body", "b")["recipients"] == ["amber-otter"]


def test_list_is_sorted_and_filtered(empty):
    for name, role in (("cobalt-harbor", "graph"), ("amber-otter", "ui"), ("blue-fox", "ui")):
        register(empty, name, role)
    assert [a["agent_id"] for a in data(empty, "list")] == ["amber-otter", "blue-fox", "cobalt-harbor"]
    assert [a["agent_id"] for a in data(empty, "list", "--role", "ui")] == ["amber-otter", "blue-fox"]
    assert data(empty, "list", "--status", "busy") == []
    assert len(data(empty, "list", "--status", "idle")) == 3


def test_an_empty_registry_is_an_empty_list(empty):
    assert data(empty, "list") == []
    assert refused(empty, "show", "--agent", "amber-otter") == "AGENT_NOT_FOUND"
    assert refused(empty, "heartbeat", "--agent", "amber-otter") == "AGENT_NOT_FOUND"
    assert not (empty.path / ".beadboard").exists()


def test_a_heartbeat_never_sets_the_time_back(empty):
    register(empty, "amber-otter", env=at())
    assert data(empty, "heartbeat", "--agent", "amber-otter", env=at(m=3))["last_seen_at"] == "2026-01-01T00:03:00.000Z"
    again = data(empty, "activity-lease", "--agent", "amber-otter", env=at(m=2))
    assert again["last_seen_at"] == "2026-01-01T00:03:00.000Z"


def test_reads_do_not_keep_an_agent_alive(empty):
    register(empty, "amber-otter", env=at())
    before = stored(empty, "amber-otter")
    for look in (["list"], ["show", "--agent", "amber-otter"]):
        data(empty, *look, env=at(m=20))
    assert stored(empty, "amber-otter") == before


@pytest.mark.parametrize("minutes, liveness", [(0, "active"), (14, "active"), (15, "stale"), (29, "stale"),
                                               (30, "evicted")])
def test_liveness(empty, minutes, liveness):
    register(empty, "amber-otter", env=at())
    assert data(empty, "show", "--agent", "amber-otter", env=at(m=minutes))["liveness"] == liveness


def test_liveness_with_other_minutes(empty):
    register(empty, "amber-otter", env=at())
    env = {**at(m=2), "BB_AGENT_STALE_MINUTES": "1"}
    assert data(empty, "show", "--agent", "amber-otter", env=env)["liveness"] == "evicted"
    for wrong in ("0", "-1", "x", "1.5"):
        assert refused(empty, "list", env={"BB_AGENT_STALE_MINUTES": wrong}) == "INVALID_ARGS"


@pytest.mark.parametrize("wrong", ["abc", "0", "1e3", " ", "99999999999999999999"])
def test_invalid_stale_minutes_stop_only_commands_that_show_liveness(repo, wrong):
    env = {"BB_AGENT_STALE_MINUTES": wrong}
    repo.bd("create", "x", env=env).ok()
    for command in (("bd", "list"), ("bd", "ready"), ("bb", "init"), ("bb", "status"), ("bb", "post", "x"),
                    ("abacus", "where"), ("vybe", "task", "list", "--agent", "me"), ("bd", "sync", "--status")):
        repo.run(*command[1:], program=command[0], env=env).ok()
    for command in (("bb", "agent", "list"), ("abacus", "sessions")):
        done = repo.run(*command[1:], program=command[0], env=env)
        assert done.code and "BB_AGENT_STALE_MINUTES" in done.out + done.err, command


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"agent_id":"other"}', "\0\0"])
def test_a_lost_file_is_restored_from_the_record(empty, text):
    register(empty, "amber-otter", "ui", env=at())
    before = register(empty, "amber-otter", "graph", "--force-update", env=at(m=1))
    file = empty.path / ".beadboard/agent/agents/amber-otter.json"
    file.unlink() if text is None else file.write_text(text)
    kw = {"env": at(m=1)} if text is None else {"warned": "amber-otter.json", "env": at(m=1)}  # a missing one is no damage
    assert data(empty, "show", "--agent", "amber-otter", **kw) == before
    assert data(empty, "list", **kw) == [before]
    assert refused(empty, "register", "--name", "amber-otter", "--role", "x", env=at(m=1)) == "DUPLICATE_AGENT_ID"
    # the agent's own command writes the file again
    assert data(empty, "heartbeat", "--agent", "amber-otter", env=at(m=1)) == {**stored(empty, "amber-otter"),
                                                                        "liveness": "active"} == before
    assert data(empty, "list", env=at(m=1)) == [before]


def test_a_damaged_file_without_a_record_is_reported(empty):
    register(empty, "amber-otter")
    home = empty.path / ".beadboard/agent/agents"
    (home / "history.jsonl").unlink()
    (home / "amber-otter.json").write_text("{")
    for command in (["show", "--agent", "amber-otter"], ["heartbeat", "--agent", "amber-otter"]):
        assert refused(empty, *command) == "IO_READ_FAILED"
    register(empty, "blue-fox")
    assert [a["agent_id"] for a in data(empty, "list", warned="'agents/amber-otter.json' is damaged")] == ["blue-fox"]
    assert (home / "amber-otter.json").read_text() == "{"


def test_a_damaged_record_is_reported(empty):
    register(empty, "amber-otter")
    record = empty.path / ".beadboard/agent/agents/history.jsonl"
    record.write_text(record.read_text() + "{}\n")
    assert len(data(empty, "list", warned="line 2 of 'agents/history.jsonl'")) == 1
    data(empty, "register", "--name", "blue-fox", "--role", "ui", warned="line 2 of 'agents/history.jsonl'")
    assert len(data(empty, "list", warned="line 2 of 'agents/history.jsonl'")) == 2


@pytest.mark.parametrize("name", ["x", "Nobody", "no_body", "-no-body", "no--body", "x" * 49, "no body", "../amber-otter", "niemand-ö"])
def test_an_agent_whose_id_could_not_be_registered_is_not_found_either(empty, name):
    register(empty, "amber-otter")
    for command in (["show"], ["inbox"], ["read", "--message", "msg_1"], ["ack", "--message", "msg_1"], ["heartbeat"], ["status"],
                    ["reserve", "--scope", "src", "--bead", "bb-1"], ["release", "--scope", "src"]):
        error = agent(empty, *command, "--agent", name)["error"]
        assert (error["code"], error["message"]) == ("AGENT_NOT_FOUND", f"there is no agent '{name}'"), command
        assert "register --name" not in error["hint"]


@pytest.mark.parametrize("args", [["frobnicate"], [], ["show"], ["register", "--name", "amber-otter"],
                                  ["list", "--nonsense"]])
def test_usage_errors_are_in_the_envelope(empty, args):
    assert refused(empty, *args) == "INVALID_ARGS"


@pytest.mark.parametrize("args", [["register", "--name", "amber-otter", "--role", b"\xff"], ["show", "--agent", b"a\xff"],
                                  [b"\xff"], ["list", b"--\xff"]])
def test_errors_about_invalid_utf_8_are_in_the_envelope(empty, args):
    assert refused(empty, *args) == "INVALID_ARGS"
    assert not (empty.path / ".beadboard").exists()


def test_for_people(empty):
    assert "bb agent register" in empty.bb("agent", "list").ok().out
    assert "amber-otter" in empty.bb("agent", "register", "--name", "amber-otter", "--role", "ui").ok().out
    assert "active" in empty.bb("agent", "list").ok().out
    done = empty.bb("agent", "register", "--name", "amber-otter", "--role", "ui")
    assert done.code == 1 and done.err.startswith("error: ") and "amber-otter" in done.err
