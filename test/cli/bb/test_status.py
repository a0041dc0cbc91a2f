"""bb status, status set, status get, status clear"""
import sqlite3

import pytest

from board import agent, at, column_of, counts, ms, rows, stamp

ACTIVE = ["idle", "planning", "coding", "testing", "reviewing", "blocked"]


def test_an_empty_board_has_no_agents(project):
    assert project.bb("status").ok().out == "No agents found.\n"
    assert project.json("status") == []


def test_set_prints_the_new_agent(project):
    got = project.json("--as", "k", "status", "set", "OAuth", "--status", "coding", "--progress", "40", env=at())
    assert got == {
        "id": "k", "current_task": "OAuth", "progress": 40, "status": "coding", "blockers": None,
        "last_seen": stamp(), "updated_at": stamp(), "liveness": "active", "minutes_since_last_seen": 0}
    assert project.json("status", env=at()) == [got]


def test_set_prints_the_new_values(project):
    out = project.bb("--as", "k", "status", "set", "T", "--status", "blocked", "--blockers", "key",
                     "--progress", "7").ok().out
    assert out == "Updated status for k: blocked\n  Task: T\n  Progress: 7%\n  Blockers: key\n"


def test_what_is_not_given_stays(project):
    project.bb("--as", "k", "status", "set", "T", "--status", "testing", "--progress", "7").ok()
    project.bb("--as", "k", "status", "set", "--progress", "8").ok()
    got = agent(project, "k")
    assert (got["current_task"], got["status"], got["progress"]) == ("T", "testing", 8)


def test_set_touches_the_one_agent_only(project):
    project.bb("--as", "a", "status", "set", "A", "--status", "coding", env=at()).ok()
    project.bb("--as", "b", "status", "set", "B", env=at(s=1)).ok()
    got = agent(project, "a", env=at(s=1))
    assert (got["current_task"], got["status"], got["last_seen"]) == ("A", "coding", stamp())


@pytest.mark.parametrize("word", ACTIVE)
def test_the_six_active_statuses_are_taken(project, word):
    assert project.json("status", "set", "--status", word)["status"] == word


@pytest.mark.parametrize("word", ["offline", "", "Coding", "cod", "busy", "coding "])
def test_any_other_status_is_refused_and_nothing_written(project, word):
    assert project.fails("status", "set", "--status", word)["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("word", [w for w in ACTIVE if w != "blocked"])
def test_any_status_but_blocked_clears_blockers(project, word):
    project.bb("status", "set", "--status", "blocked", "--blockers", "key").ok()
    assert project.json("status", "set", "--status", word)["blockers"] is None
    assert rows(project, "SELECT blockers FROM agents") == [(None,)]


def test_blocked_again_keeps_blockers(project):
    project.bb("status", "set", "--status", "blocked", "--blockers", "key").ok()
    assert project.json("status", "set", "--status", "blocked", "--progress", "3")["blockers"] == "key"


def test_progress_alone_keeps_blockers(project):
    project.bb("status", "set", "--status", "blocked", "--blockers", "key").ok()
    got = project.json("status", "set", "--progress", "3")
    assert (got["status"], got["blockers"]) == ("blocked", "key")


def test_blockers_alone_block(project):
    got = project.json("status", "set", "--blockers", "key")
    assert (got["status"], got["blockers"]) == ("blocked", "key")


def test_an_agent_that_comes_back_from_offline_is_not_idle_with_blockers(project):
    project.bb("--as", "k", "status", "set", "--blockers", "key", env=at()).ok()
    project.bb("status", env=at(h=1)).ok()
    project.bb("--as", "k", "post", "back", env=at(h=1)).ok()
    got = agent(project, "k", env=at(h=1))
    assert (got["status"] == "blocked") == (got["blockers"] is not None)


@pytest.mark.parametrize("value", ["0", "1", "99", "100"])
def test_progress_from_0_to_100_is_taken(project, value):
    assert project.json("status", "set", "--progress", value)["progress"] == int(value)


@pytest.mark.parametrize("value", ["-1", "101", "50.5", "5e1", "x", "", " 5", "5%", "0x10", "256",
                                   "18446744073709551617", "-99999999999999999999"])
def test_progress_outside_0_to_100_is_an_error_and_nothing_written(project, value):
    assert project.fails("status", "set", f"--progress={value}")["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


def test_set_of_nothing_is_refused(project):
    assert project.fails("status", "set")["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


def test_an_empty_task_removes_the_task(project):
    project.bb("status", "set", "T").ok()
    assert project.json("status", "set", "")["current_task"] == ""


# last_seen and updated_at

def test_last_seen_moves_with_every_write_and_updated_at_stays(project):
    (project.path / "f").write_text("x")
    project.bb("--as", "k", "status", "set", "T", env=at()).ok()
    for second, args in enumerate((["post", "x"], ["artifact", "add", "f", "d"], ["status", "set", "T"]), 1):
        project.bb("--as", "k", *args, env=at(s=second)).ok()
        got = agent(project, "k", env=at(s=second))
        assert (got["last_seen"], got["updated_at"]) == (stamp(s=second), stamp())


@pytest.mark.parametrize("args", [["U"], ["--progress", "6"], ["--status", "coding"], ["--blockers", "b"]])
def test_updated_at_moves_when_a_field_changed(project, args):
    project.bb("status", "set", "T", "--progress", "5", env=at()).ok()
    assert project.json("status", "set", *args, env=at(s=1))["updated_at"] == stamp(s=1)


def test_clear_of_a_cleared_agent_changes_nothing_but_last_seen(project):
    project.bb("status", "clear", env=at()).ok()
    got = project.json("status", "clear", env=at(s=5))
    assert (got["last_seen"], got["updated_at"]) == (stamp(s=5), stamp())


@pytest.mark.parametrize("args", [["status"], ["log"], ["artifacts"], ["summary"], ["export"], ["refs", "a:b:1"],
                                  ["log", "--unread"]])
def test_reading_neither_registers_nor_moves_an_agent(project, args):
    project.bb("--as", "k", "status", "set", "T", env=at()).ok()
    project.bb("--as", "k", *args, env=at(m=1)).ok()
    project.bb("--as", "reader", *args, env=at(m=1)).ok()
    assert rows(project, "SELECT id FROM agents") == [("k",)]
    assert agent(project, "k", env=at(m=1))["last_seen"] == stamp()


@pytest.mark.parametrize("args", [["post", "x", "--reply-to", "99"], ["post", ""], ["post", "x", "--ref", "a"],
                                  ["artifact", "add", "none", "d"], ["status", "set", "--progress", "101"]])
def test_a_failed_write_registers_no_agent(project, args):
    project.fails("--as", "k", *args)
    assert counts(project) == (0, 0, 0)


def test_the_newest_comes_first(project):
    for second, name in enumerate("abc"):
        project.bb("--as", name, "status", "set", "T", env=at(s=second)).ok()
    project.bb("--as", "a", "post", "x", env=at(s=9)).ok()
    assert [a["id"] for a in project.json("status", env=at(s=9))] == ["a", "c", "b"]


def test_status_has_no_limit(project):
    db = sqlite3.connect(project.database)
    with db:
        db.executemany("INSERT INTO agents (id, last_seen, updated_at) VALUES (?, ?, ?)",
                       [(f"a{i}", stamp(), stamp()) for i in range(150)])
    db.close()
    assert len(project.json("status", env=at())) == 150


# liveness

@pytest.mark.parametrize("later, liveness, minutes", [
    (dict(), "active", 0), (dict(s=59), "active", 0), (dict(m=1), "active", 1),
    (dict(m=5), "active", 5), (dict(m=5, ms=1), "active", 5), (dict(m=5, s=59, ms=999), "active", 5),
    (dict(m=6), "stale", 6), (dict(m=30), "stale", 30), (dict(m=30, s=59, ms=999), "stale", 30),
    (dict(m=31), "offline", 31), (dict(d=400), "offline", 576000)])
def test_liveness_counts_whole_minutes_active_to_5_and_stale_to_30(project, later, liveness, minutes):
    project.bb("--as", "k", "status", "set", "T", "--status", "coding", env=at()).ok()
    got = agent(project, "k", env=at(**later))
    assert (got["liveness"], got["minutes_since_last_seen"]) == (liveness, minutes)
    assert got["status"] == ("offline" if ms(**later) > ms(m=30) else "coding")  # to the millisecond, as it is stored


@pytest.mark.parametrize("args", [["status"], ["status", "get", "k"], ["summary"]])
def test_a_read_that_returns_agents_stores_offline_past_30_minutes(project, args):
    project.bb("--as", "k", "status", "set", "T", "--status", "coding", env=at()).ok()
    project.bb(*args, env=at(m=30)).ok()
    assert rows(project, "SELECT status FROM agents") == [("coding",)]
    project.bb(*args, env=at(m=30, ms=1)).ok()
    assert rows(project, "SELECT status FROM agents") == [("offline",)]


def test_offline_keeps_what_the_agent_was_doing(project):
    project.bb("--as", "k", "status", "set", "T", "--progress", "40", env=at()).ok()
    got = agent(project, "k", env=at(h=1))
    assert (got["current_task"], got["progress"], got["last_seen"]) == ("T", 40, stamp())


@pytest.mark.parametrize("args", [["post", "x"], ["status", "set", "--progress", "1"], ["status", "clear"],
                                  ["status", "set", "U", "--status", "testing"]])
def test_a_write_makes_an_offline_agent_active_again(project, args):
    project.bb("--as", "k", "status", "set", "T", "--status", "coding", env=at()).ok()
    assert agent(project, "k", env=at(h=1))["status"] == "offline"
    project.bb("--as", "k", *args, env=at(h=1)).ok()
    got = agent(project, "k", env=at(h=1))
    assert got["liveness"] == "active"
    assert got["status"] == ("testing" if "testing" in args else "idle")


def test_another_agent_stays_offline_when_one_writes(project):
    project.bb("--as", "k", "status", "set", "T", env=at()).ok()
    project.bb("status", env=at(h=1)).ok()
    project.bb("--as", "j", "post", "x", env=at(h=1)).ok()
    assert agent(project, "k", env=at(h=1))["status"] == "offline"


def test_a_clock_that_went_back_shows_an_active_agent(project):
    project.bb("--as", "k", "status", "set", "T", env=at(h=1)).ok()
    got = agent(project, "k", env=at())
    assert (got["liveness"], got["minutes_since_last_seen"]) == ("active", 0)


# get and clear

def test_get_is_an_array_of_one(project):
    project.bb("--as", "k", "status", "set", "T", env=at()).ok()
    project.bb("--as", "j", "status", "set", "U", env=at()).ok()
    assert project.json("status", "get", "k", env=at()) == [agent(project, "k", env=at())]


def test_get_of_an_unknown_agent_is_not_found(project):
    error = project.fails("status", "get", "nobody")
    assert error["code"] == "NOT_FOUND"
    assert "nobody" in error["message"]


def test_get_does_not_match_a_part_or_a_pattern(project):
    project.bb("--as", "kimi", "status", "set", "T").ok()
    for name in ("kim", "KIMI", "%", "k_mi", "*"):
        assert project.fails("status", "get", name)["code"] == "NOT_FOUND"


def test_get_needs_a_name(project):
    done = project.run("--json", "status", "get")
    assert (done.code, done.error["code"]) == (2, "INVALID_INPUT")


def test_get_shows_every_field_to_people(project):
    project.bb("--as", "k", "status", "set", "T", "--progress", "3", "--blockers", "key", env=at()).ok()
    out = project.bb("status", "get", "k", env=at(m=7)).ok().out
    for part in ("k", "blocked", "Task: T", "Progress: 3%", "Blockers: key", "7m ago", stamp(), "stale"):
        assert part in out


def test_clear_resets_to_idle(project):
    project.bb("--as", "k", "status", "set", "T", "--progress", "3", "--blockers", "key", env=at()).ok()
    assert project.json("--as", "k", "status", "clear", env=at(s=1)) == {
        "id": "k", "current_task": "", "progress": 0, "status": "idle", "blockers": None,
        "last_seen": stamp(s=1), "updated_at": stamp(s=1), "liveness": "active", "minutes_since_last_seen": 0}


def test_clear_prints_the_agents_name(project):
    assert project.bb("--as", "k", "status", "clear").ok().out == "Cleared status for k\n"


def test_clear_leaves_others_alone(project):
    project.bb("--as", "j", "status", "set", "U").ok()
    project.bb("--as", "k", "status", "clear").ok()
    assert agent(project, "j")["current_task"] == "U"


# the table

def test_the_table_shows_agent_status_progress_task_and_last_seen_aligned(project):
    project.bb("--as", "kimi-01", "status", "set", "Task A", "--status", "coding", "--progress", "40", env=at()).ok()
    project.bb("--as", "c", "status", "set", "Task B", "--progress", "100", env=at(m=10)).ok()
    head, first, second = project.bb("status", env=at(m=10)).ok().out.splitlines()
    for title, one, two in (("AGENT", "c", "kimi-01"), ("STATUS", "idle", "coding [STALE]"),
                            ("PROGRESS", "100%", "40%"), ("TASK", "Task B", "Task A"),
                            ("LAST SEEN", "just now", "10m ago")):
        assert column_of(head, title) == column_of(first, one) == column_of(second, two)


def test_only_a_stale_agent_is_marked_stale(project):
    project.bb("--as", "k", "status", "set", "T", "--status", "coding", env=at()).ok()
    shown = {m: project.bb("status", env=at(m=m)).ok().out for m in (5, 6, 31)}
    assert ["[STALE]" in shown[m] for m in (5, 6, 31)] == [False, True, False]
    assert "coding [STALE]" in shown[6]
    assert "offline" in shown[31]


def test_blockers_are_on_a_line_below_their_agent(project):
    project.bb("--as", "j", "status", "set", "U", env=at()).ok()
    project.bb("--as", "k", "status", "set", "T", "--blockers", "the key", env=at(s=1)).ok()
    lines = project.bb("status", env=at(s=1)).ok().out.splitlines()
    assert lines[1].startswith("k ")
    assert lines[2].strip() == "Blockers: the key"
    assert lines[3].startswith("j ")


@pytest.mark.parametrize("later, age", [
    (dict(s=0), "just now"), (dict(s=59), "just now"), (dict(m=1), "1m ago"), (dict(m=5), "5m ago"),
    (dict(m=59, s=59), "59m ago"), (dict(h=1), "1h ago"), (dict(h=2), "2h ago"), (dict(h=23, m=59), "23h ago"),
    (dict(d=1), "1d ago"), (dict(d=3), "3d ago")])
def test_ages_are_in_the_largest_unit(project, later, age):
    project.bb("--as", "k", "status", "set", "T", env=at()).ok()
    assert project.bb("status", env=at(**later)).ok().out.splitlines()[1].endswith(age)


# --- registered agents ---

def register(project, name, when=0, role="ui"):
    project.run("agent", "register", "--name", name, "--role", role, env=at(m=when)).ok()


def test_registered_agents_are_in_the_same_list(project):
    register(project, "amber-otter")
    project.run("--as", "kimi", "status", "set", "OAuth", env=at(m=1)).ok()
    [kimi, otter] = project.json("status", env=at(m=2))
    assert kimi["id"] == "kimi" and "registered" not in kimi
    assert otter == {
        "id": "amber-otter", "current_task": "", "progress": 0, "status": "idle", "blockers": None, "last_seen": stamp(),
        "updated_at": stamp(), "liveness": "active", "minutes_since_last_seen": 2, "registered": True, "role": "ui"}


def test_an_agent_on_the_board_and_in_the_registry_is_one_entry_last_seen_by_either(project):
    register(project, "amber-otter")
    project.run("--as", "amber-otter", "status", "set", "OAuth", "--status", "coding", env=at(m=1)).ok()
    project.run("agent", "heartbeat", "--agent", "amber-otter", env=at(m=60)).ok()
    [otter] = project.json("status", env=at(m=61))
    assert (otter["current_task"], otter["role"], otter["minutes_since_last_seen"]) == ("OAuth", "ui", 1)
    assert (otter["liveness"], otter["status"]) == ("active", "coding")


def test_a_registered_agent_goes_stale_and_offline_by_the_clock_of_the_board(project):
    register(project, "amber-otter")
    found = {minutes: project.json("status", env=at(m=minutes))[0] for minutes in (5, 6, 31)}
    assert [one["liveness"] for one in found.values()] == ["active", "stale", "offline"]
    assert [one["status"] for one in found.values()] == ["idle", "idle", "offline"]


def test_get_finds_a_registered_agent(project):
    register(project, "amber-otter", role="docs")
    [otter] = project.json("status", "get", "amber-otter", env=at())
    assert otter["role"] == "docs"
    assert "Registered as docs" in project.run("status", "get", "amber-otter", env=at()).ok().out
    assert project.fails("status", "get", "cobalt-harbor")["code"] == "NOT_FOUND"


def test_the_board_is_shown_if_the_registry_cannot_be_read(project):
    project.run("--as", "kimi", "status", "set", "OAuth", env=at()).ok()
    (project.path / ".beadboard").symlink_to("/tmp")
    done = project.run("status", env=at()).ok()
    assert "kimi" in done.out and "registered agents are not shown" in done.err
