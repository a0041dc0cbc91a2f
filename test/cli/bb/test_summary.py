"""bb summary"""
import pytest

from board import at, ids

KEYS = ["agents", "active_agents", "blocked_agents", "recent_messages", "high_priority_messages", "recent_artifacts"]


def test_an_empty_board_is_six_empty_lists(project):
    assert project.json("summary") == {k: [] for k in KEYS}


def test_agents_active_and_blocked(project):
    project.bb("--as", "off", "status", "set", "T", env=at()).ok()
    project.bb("--as", "stale", "status", "set", "T", "--blockers", "b", env=at(m=50)).ok()
    project.bb("--as", "on", "status", "set", "T", env=at(m=60)).ok()
    got = project.json("summary", env=at(m=60))
    assert [a["id"] for a in got["agents"]] == ["on", "stale", "off"]
    assert [a["id"] for a in got["active_agents"]] == ["on"]
    assert [a["id"] for a in got["blocked_agents"]] == ["stale"]
    assert [a["liveness"] for a in got["agents"]] == ["active", "stale", "offline"]


def test_an_agent_that_went_offline_while_blocked_does_not_count_as_blocked(project):
    project.bb("--as", "k", "status", "set", "T", "--blockers", "b", env=at()).ok()
    got = project.json("summary", env=at(h=1))
    assert got["blocked_agents"] == []
    assert got["agents"][0]["status"] == "offline"


@pytest.mark.parametrize("later, shown", [(dict(m=30), [1]), (dict(m=30, ms=1), [])])
def test_messages_are_recent_for_30_minutes(project, later, shown):
    project.bb("post", "x", env=at()).ok()
    assert ids(project.json("summary", env=at(**later))["recent_messages"]) == shown


@pytest.mark.parametrize("later, shown", [(dict(h=1), [1]), (dict(h=1, ms=1), [])])
def test_artifacts_are_recent_for_an_hour(project, later, shown):
    (project.path / "f").write_text("x")
    project.bb("artifact", "add", "f", "d", env=at()).ok()
    assert ids(project.json("summary", env=at(**later))["recent_artifacts"]) == shown


def test_high_and_critical_messages_are_listed_apart(project):
    for word in ("low", "normal", "high", "critical"):
        project.bb("post", word, "--priority", word, env=at()).ok()
    got = project.json("summary", env=at())["high_priority_messages"]
    assert sorted(m["priority"] for m in got) == ["critical", "high"]


def test_high_messages_stay_after_their_half_hour(project):
    project.bb("post", "x", "--priority", "critical", env=at()).ok()
    got = project.json("summary", env=at(d=2))
    assert got["recent_messages"] == []
    assert ids(got["high_priority_messages"]) == [1]


def test_windows_are_set_in_the_boards_config(project):
    (project.path / "f").write_text("x")
    project.bb("artifact", "add", "f", "d", env=at()).ok()
    project.bb("post", "x", env=at()).ok()
    (project.path / ".bb/config.toml").write_text('# ours\n[summary]\nmessages = "2h"\nartifacts = "10m"\n')
    got = project.json("summary", env=at(h=2))
    assert (ids(got["recent_messages"]), got["recent_artifacts"]) == ([1], [])
    assert project.json("summary", env=at(h=2, ms=1))["recent_messages"] == []
    assert ids(project.json("summary", env=at(m=10))["recent_artifacts"]) == [1]


@pytest.mark.parametrize("text", ['[summary]\nmessages = "bad"\n', "[summary]\nmessages = 30\n",
                                  '[summary]\nmesages = "1h"\n', "[summ", "[summary]\nmessages = \n",
                                  '[summary]\nmessages = "1h"\nmessages = "2h"\n', "this is no TOML\n", "{}", "= 3\n",
                                  '[summary]\nmessages = "1h"\n[other]\nkey = "not closed\n', "[[[", "\0", "key = [1,\n",
                                  "[other]\nwords without a value\n"])
def test_a_wrong_config_is_an_error_that_names_the_file(project, text):
    (project.path / ".bb/config.toml").write_text(text)
    error = project.fails("summary")
    assert error["code"] == "INVALID_INPUT"
    assert "config.toml" in error["message"]


def test_a_config_that_is_not_text_is_an_error_that_names_the_file(project):
    (project.path / ".bb/config.toml").write_bytes(b"\xff\xfe[\0s\0")
    error = project.fails("summary")
    assert error["code"] == "INVALID_INPUT" and "config.toml" in error["message"], error


def test_tables_of_others_in_the_config_are_left_alone(project):
    (project.path / ".bb/config.toml").write_text(
        'title = "x"\n[summary]\nmessages = "2h" # two\n[summary.more]\nkey = 1\n[other]\nlist = [\n  1,\n]\n')
    project.bb("post", "x", env=at()).ok()
    assert ids(project.json("summary", env=at(h=2))["recent_messages"]) == [1]


def test_a_wrong_config_does_not_stop_the_other_commands(project):
    (project.path / ".bb/config.toml").write_text("[summ")
    project.bb("post", "x").ok()
    project.bb("log").ok()
    project.bb("status").ok()


def test_the_text_has_every_part(project):
    (project.path / "f.md").write_text("x")
    project.bb("--as", "k", "status", "set", "the task", "--blockers", "the key").ok()
    project.bb("--as", "k", "post", "the body", "--priority", "high").ok()
    project.bb("--as", "k", "artifact", "add", "f.md", "the file").ok()
    out = project.bb("summary").ok().out
    for part in ("k", "the task", "the key", "the body", "f.md", "the file"):
        assert part in out


def test_the_summary_marks_no_message_as_read(project):
    project.bb("post", "x").ok()
    for _ in range(2):
        assert project.json("--as", "k", "summary")["unread"] == {"count": 1, "highest_priority": "normal"}


def test_registered_agents_are_in_the_summary_too(project):
    project.run("agent", "register", "--name", "amber-otter", "--role", "ui", env=at()).ok()
    project.run("--as", "amber-otter", "status", "set", "OAuth", env=at()).ok()
    project.run("agent", "register", "--name", "cobalt-harbor", "--role", "docs", env=at(m=9)).ok()
    project.run("agent", "heartbeat", "--agent", "amber-otter", env=at(m=10)).ok()
    got = project.json("summary", env=at(m=11))
    assert [(one["id"], one["current_task"], one["role"]) for one in got["agents"]] == [
        ("amber-otter", "OAuth", "ui"), ("cobalt-harbor", "", "docs")]
    assert got["active_agents"] == got["agents"] == project.json("status", env=at(m=11))
