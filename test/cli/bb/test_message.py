"""bb message"""
import re
import sqlite3

import pytest

from board import at, ids, stamp


def thread(project, parents):
    """Messages 1, 2, … that reply to the given ones (0: to none)."""
    db = sqlite3.connect(project.database)
    with db:
        db.executemany("INSERT INTO messages (id, from_agent, content, in_reply_to, created_at) VALUES (?, 'k', ?, ?, ?)",
                       [(i, f"m{i}", p or None, stamp(s=i)) for i, p in enumerate(parents, 1)])
    db.close()


def test_a_message_without_replies_is_an_array_of_one(project):
    made = project.json("post", "x", "--tag", "a", "--ref", "a:b:1")
    assert project.json("message", "1") == [made]


def test_replies_come_depth_first(project):
    #  1 ── 2 ── 5 ── 8
    #  │    └─── 6
    #  ├─── 3
    #  └─── 4 ── 7
    thread(project, [0, 1, 1, 1, 2, 2, 4, 5])
    assert ids(project.json("message", "1")) == [1, 2, 5, 8, 6, 3, 4, 7]


def test_only_the_replies_below_the_message_are_shown(project):
    thread(project, [0, 1, 1, 2, 0, 5])
    assert ids(project.json("message", "2")) == [2, 4]
    assert ids(project.json("message", "5")) == [5, 6]
    assert ids(project.json("message", "3")) == [3]


def test_people_see_the_depth(project):
    thread(project, [0, 1, 2, 1])
    heads = [line for line in project.bb("message", "1", env=at(m=1)).ok().out.splitlines() if "#" in line and "k" in line]
    indents = [len(h) - len(h.lstrip()) for h in heads]
    assert [re.search(r"#(\d+)", h)[1] for h in heads] == ["1", "2", "3", "4"]
    assert indents[0] < indents[1] == indents[3] < indents[2]


def test_a_thread_of_50_is_whole_and_without_a_note(project):
    thread(project, [0] + [1] * 49)
    done = project.run("--json", "message", "1").ok()
    assert ids(done.json) == list(range(1, 51))
    assert done.err == ""


@pytest.mark.parametrize("parents", [[0] + [1] * 50, list(range(51))], ids=["wide", "deep"])
def test_a_thread_of_51_is_capped_at_50_with_a_note(project, parents):
    thread(project, parents)
    done = project.run("--json", "message", "1").ok()
    assert ids(done.json) == list(range(1, 51))
    assert " 1 more" in done.err
    people = project.bb("message", "1").ok()
    assert " 1 more" in people.out + people.err
    assert "m50" in people.out
    assert "m51" not in people.out


def test_a_deep_thread_counts_the_omitted_messages(project):
    thread(project, list(range(1000)))
    done = project.run("--json", "message", "1").ok()
    assert ids(done.json) == list(range(1, 51))
    assert " 950 more" in done.err


def test_the_end_of_a_deep_thread_can_be_read(project):
    thread(project, list(range(60)))
    assert ids(project.json("message", "50")) == list(range(50, 61))


def test_a_deep_thread_stays_readable(project):
    thread(project, list(range(50)))
    lines = project.bb("message", "1").ok().out.splitlines()
    assert max(len(line) for line in lines) <= 160


def test_an_unknown_message_is_not_found(project):
    error = project.fails("message", "7")
    assert error["code"] == "NOT_FOUND"
    assert "7" in error["message"]


@pytest.mark.parametrize("value", ["x", "", "1.0", "1x", "0x1", "99999999999999999999"])
def test_an_id_is_a_number(project, value):
    project.bb("post", "x").ok()
    assert project.fails("message", value)["code"] == "INVALID_INPUT"


def test_an_id_may_be_written_with_its_number_sign(project):
    project.bb("post", "x").ok()
    assert ids(project.json("message", "#1")) == [1]


@pytest.mark.parametrize("value", ["0", "-1"])
def test_an_id_below_1_is_refused(project, value):
    assert project.fails("message", value)["code"] in ("NOT_FOUND", "INVALID_INPUT")


def test_an_id_is_needed(project):
    assert project.bb("message").code == 2
