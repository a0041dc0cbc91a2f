"""The number of messages that an agent has not read yet, and which they are."""
import json

import pytest

from board import agent, at, ids


def unread(project, name, **kw):
    return project.json("--as", name, "summary", **kw)["unread"]


def told(done):
    """The count that comes beside a JSON reply without a member for it."""
    lines = [json.loads(line) for line in done.err.splitlines()]
    return lines[0]["unread"] if lines else None


@pytest.fixture
def posts(project):
    for word in ("normal", "critical", "low"):
        project.bb("--as", "other", "post", word, "--priority", word).ok()
    return project


def test_for_a_new_agent_everything_is_unread(posts):
    assert unread(posts, "k") == {"count": 3, "highest_priority": "critical"}


def test_own_messages_are_not_unread(posts):
    assert unread(posts, "other") == {"count": 0, "highest_priority": None}


def test_an_anonymous_reader_gets_no_count(posts):
    assert "unread" not in posts.json("summary")
    assert all("unread" not in m for m in posts.json("log"))
    assert all("unread" not in a for a in posts.json("status"))
    assert told(posts.run("--json", "log")) is None


@pytest.mark.parametrize("args", [["status"], ["log"], ["summary"], ["status", "set", "T"], ["post", "x"],
                                  ["artifacts"], ["refs", "a:b:1"]])
def test_every_reply_to_a_named_agent_carries_the_count(posts, args):
    done = posts.run("--json", "--as", "k", *args).ok()
    found = told(done)
    reply = done.json
    if found is None and isinstance(reply, dict):
        found = reply.get("unread")
    if found is None and args == ["log"]:
        found = {"count": sum(m["unread"] for m in reply), "highest_priority": "critical"}
    assert found == {"count": 3, "highest_priority": "critical"}


def test_the_environment_names_an_agent_too(posts):
    got = posts.json("summary", env={"BB_AGENT_ID": "k"})
    assert got["unread"]["count"] == 3


def test_the_log_marks_new_messages_and_then_they_are_read(posts):
    assert [m["unread"] for m in posts.json("--as", "k", "log")] == [True, True, True]
    assert [m["unread"] for m in posts.json("--as", "k", "log")] == [False, False, False]
    assert unread(posts, "k") == {"count": 0, "highest_priority": None}


def test_one_reader_does_not_mark_messages_as_read_for_others(posts):
    posts.bb("--as", "k", "log").ok()
    assert unread(posts, "j")["count"] == 3


def test_only_shown_messages_are_marked_as_read(posts):
    assert ids(posts.json("--as", "k", "log", "--limit", "1")) == [3]
    assert unread(posts, "k") == {"count": 2, "highest_priority": "critical"}
    assert ids(posts.json("--as", "k", "log", "--priority", "critical")) == [2]
    assert unread(posts, "k") == {"count": 1, "highest_priority": "normal"}


def test_unread_gives_the_oldest_first_and_then_the_rest(posts):
    assert ids(posts.json("--as", "k", "log", "--unread", "--limit", "2")) in ([1, 2], [2, 1])
    assert ids(posts.json("--as", "k", "log", "--unread")) == [3]
    assert posts.json("--as", "k", "log", "--unread") == []


def test_unread_can_be_narrowed(posts):
    assert ids(posts.json("--as", "k", "log", "--unread", "--priority", "high")) == [2]
    assert unread(posts, "k")["count"] == 2


def test_unread_never_shows_own_messages(posts):
    posts.bb("--as", "k", "post", "mine").ok()
    assert 4 not in ids(posts.json("--as", "k", "log", "--unread"))


def test_catching_up_leaves_nothing_unread(posts):
    posts.bb("--as", "k", "log", "--limit", "1", "--catch-up").ok()
    assert unread(posts, "k")["count"] == 0


def test_messages_after_catching_up_are_unread(posts):
    posts.bb("--as", "k", "log", "--catch-up").ok()
    posts.bb("--as", "other", "post", "later").ok()
    assert ids(posts.json("--as", "k", "log", "--unread")) == [4]


def test_unread_without_a_name_suggests_the_option_that_names_the_agent(posts):
    error = posts.fails("log", "--unread")
    assert error["code"] == "IDENTITY_REQUIRED"
    assert "--as" in error["details"]["next_step"]
    assert "bb_identify" not in error["details"]["next_step"]


def test_a_message_that_was_shown_is_read(posts):
    posts.bb("--as", "k", "message", "2").ok()
    assert unread(posts, "k") == {"count": 2, "highest_priority": "normal"}


def test_reading_an_empty_board_hides_no_later_message(project):
    project.bb("--as", "k", "log").ok()
    project.bb("--as", "other", "post", "x").ok()
    assert unread(project, "k")["count"] == 1


def test_a_deleted_message_is_not_unread(project):
    project.bb("--as", "other", "post", "old", "--priority", "critical", env=at()).ok()
    project.bb("--as", "other", "post", "new", env=at(h=2)).ok()
    project.bb("clear", "--messages-before", "1h", "--confirm", env=at(h=2)).ok()
    assert unread(project, "k", env=at(h=2)) == {"count": 1, "highest_priority": "normal"}


def test_the_count_of_unread_messages_is_printed_on_standard_error(posts):
    done = posts.bb("--as", "k", "status").ok()
    assert done.err == "3 unread posts, highest priority critical: bb --as k log --unread\n"
    posts.bb("--as", "k", "log").ok()
    assert posts.bb("--as", "k", "status").ok().err == ""


def test_one_unread_message_is_counted_in_the_singular(project):
    project.bb("--as", "other", "post", "x").ok()
    assert project.bb("--as", "k", "status").ok().err.startswith("1 unread post,")


def test_quiet_prints_no_count(posts):
    assert posts.bb("--as", "k", "-q", "status").ok().err == ""


def test_ones_own_status_shows_the_count_and_others_do_not(posts):
    posts.bb("--as", "k", "status", "set", "T").ok()
    got = {a["id"]: a.get("unread") for a in posts.json("--as", "k", "status")}
    assert got == {"k": {"count": 3, "highest_priority": "critical"}, "other": None}


def test_counting_registers_no_agent(posts):
    posts.bb("--as", "k", "log").ok()
    assert [a["id"] for a in posts.json("status")] == ["other"]


def test_a_write_marks_nothing_as_read(posts):
    posts.bb("--as", "k", "post", "x").ok()
    assert unread(posts, "k")["count"] == 3
    assert agent(posts, "k")["status"] == "idle"
