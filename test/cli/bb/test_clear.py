"""bb clear"""
import os
import pty
import select
import sqlite3
import subprocess

import pytest

from board import at, counts, ids, on_terminal, rows, stamp
from conftest import BIN, environment


@pytest.fixture
def old(project):
    """Three old messages and a new one, an offline agent and an active one, two artifacts."""
    for name in "ab":
        (project.path / name).write_text("x")
        project.bb("--as", "gone", "artifact", "add", name, "d", env=at()).ok()
    for i in range(3):
        project.bb("--as", "gone", "post", f"old {i}", env=at()).ok()
    project.bb("--as", "here", "post", "new", env=at(h=2)).ok()
    project.env = at(h=2)
    return project


def sound(project):
    assert rows(project, "PRAGMA integrity_check") == [("ok",)]
    assert rows(project, "PRAGMA foreign_key_check") == []


def test_messages_before_deletes_exactly_the_older_ones(old):
    assert old.json("clear", "--messages-before", "1h", "--confirm") == {
        "confirmed": True, "messages": 3, "agents": 0, "artifacts": 0}
    assert [m["content"] for m in old.json("log")] == ["new"]
    assert counts(old) == (2, 1, 2)
    sound(old)


def test_a_message_of_exactly_that_age_stays_and_one_ms_older_is_deleted(project):
    project.bb("post", "x", env=at()).ok()
    assert project.json("clear", "--messages-before", "1h", "--confirm", env=at(h=1))["messages"] == 0
    assert project.json("clear", "--messages-before", "1h", "--confirm", env=at(h=1, ms=1))["messages"] == 1


def test_reset_offline_deletes_exactly_the_offline_agents(old):
    assert old.json("clear", "--reset-offline", "--confirm") == {
        "confirmed": True, "messages": 0, "agents": 1, "artifacts": 0}
    assert [a["id"] for a in old.json("status")] == ["here"]
    assert counts(old) == (1, 4, 2)


@pytest.mark.parametrize("later, gone", [(dict(m=30), 0), (dict(m=30, ms=1), 1)])
def test_an_agent_is_offline_after_30_minutes_without_a_read(project, later, gone):
    project.bb("--as", "k", "post", "x", env=at()).ok()
    assert project.json("clear", "--reset-offline", "--confirm", env=at(**later))["agents"] == gone


def test_artifacts_deletes_all_entries_and_no_file(old):
    assert old.json("clear", "--artifacts", "--confirm") == {
        "confirmed": True, "messages": 0, "agents": 0, "artifacts": 2}
    assert old.json("artifacts") == []
    assert (old.path / "a").read_text() == "x"


def test_all_three_at_once(old):
    assert old.json("clear", "--messages-before", "1h", "--reset-offline", "--artifacts", "--confirm") == {
        "confirmed": True, "messages": 3, "agents": 1, "artifacts": 2}
    assert counts(old) == (1, 1, 0)
    sound(old)


def test_clear_prints_what_it_deleted(old):
    out = old.bb("clear", "--messages-before", "1h", "--reset-offline", "--artifacts", "--confirm").ok().out
    numbers = [line.split() for line in out.splitlines() if line.startswith("  ")]
    assert ["messages:", "3"] in numbers and ["agents:", "1"] in numbers and ["artifacts:", "2"] in numbers


def test_clear_says_if_there_is_nothing_to_delete(project):
    for args in (["--artifacts"], ["--messages-before", "1h"], ["--reset-offline"]):
        assert project.bb("clear", *args, "--confirm").ok().out == "Nothing to clear.\n"
        assert project.bb("clear", *args).ok().out == "Nothing to clear.\n"


def test_the_next_step_after_a_preview_mentions_no_stored_changes(old):
    assert old.fails("clear", "--artifacts")["details"]["next_step"] == (
        "Run the command again with --confirm to delete. 'bb export' prints a copy of everything first.")
    assert counts(old) == (2, 4, 2)


def test_clear_without_a_choice_deletes_nothing(old):
    for args in ([], ["--confirm"]):
        assert old.fails("clear", *args)["code"] == "INVALID_INPUT"
    assert counts(old) == (2, 4, 2)


@pytest.mark.parametrize("text", ["", "1", "1x", "-1h", "1h30m", "now"])
def test_a_wrong_duration_deletes_nothing(old, text):
    assert old.fails("clear", f"--messages-before={text}", "--confirm")["code"] == "INVALID_INPUT"
    assert counts(old) == (2, 4, 2)


# threads

def thread(project, rows_of):
    db = sqlite3.connect(project.database)
    with db:
        db.executemany("INSERT INTO messages (id, from_agent, content, in_reply_to, created_at) VALUES (?, 'k', 'x', ?, ?)",
                       [(i, p, stamp(h=h)) for i, p, h in rows_of])
    db.close()


def test_an_old_thread_is_deleted_completely(project):
    thread(project, [(1, None, 0), (2, 1, 0), (3, 2, 0), (4, 1, 0)])
    assert project.json("clear", "--messages-before", "1h", "--confirm", env=at(h=5))["messages"] == 4
    assert counts(project)[1] == 0
    sound(project)


def test_an_old_message_that_a_newer_one_answers_stays(project):
    #  1 (old) ── 2 (old) ── 3 (new);  4 (old) ── 5 (old)
    thread(project, [(1, None, 0), (2, 1, 0), (3, 2, 4), (4, None, 0), (5, 4, 0)])
    assert project.json("clear", "--messages-before", "2h", "--confirm", env=at(h=5))["messages"] == 2
    assert ids(project.json("message", "1")) == [1, 2, 3]
    assert counts(project)[1] == 3
    sound(project)


def test_an_old_branch_of_a_live_thread_is_deleted(project):
    thread(project, [(1, None, 0), (2, 1, 0), (3, 2, 0), (4, 1, 4)])
    assert project.json("clear", "--messages-before", "2h", "--confirm", env=at(h=5))["messages"] == 2
    assert ids(project.json("message", "1")) == [1, 4]
    sound(project)


def test_a_new_message_is_never_deleted(project):
    thread(project, [(1, None, 0), (2, 1, 4), (3, 2, 0)])
    project.bb("clear", "--messages-before", "2h", "--confirm", env=at(h=5)).ok()
    assert 2 in ids(project.json("log"))
    sound(project)


def test_a_thread_1000_deep_is_deleted(project):
    thread(project, [(i, i - 1 or None, 0) for i in range(1, 1001)])
    assert project.json("clear", "--messages-before", "1h", "--confirm", env=at(h=5))["messages"] == 1000
    sound(project)


def test_the_preview_counts_exactly_the_deleted_entries(project):
    thread(project, [(1, None, 0), (2, 1, 0), (3, 2, 4), (4, None, 0), (5, 4, 0), (6, 1, 0)])
    preview = project.fails("clear", "--messages-before", "2h", env=at(h=5))["details"]["preview"]
    done = project.json("clear", "--messages-before", "2h", "--confirm", env=at(h=5))
    assert preview["messages"] == done["messages"] == 3


# asking

def test_without_a_terminal_it_needs_confirm_and_deletes_nothing(old):
    done = old.bb("clear", "--messages-before", "1h", stdin=b"y\n")
    assert done.code == 1
    assert "--confirm" in done.err
    assert "3" in done.out
    assert counts(old) == (2, 4, 2)


def test_json_needs_confirm_and_says_so_in_json(old):
    error = old.fails("clear", "--artifacts")
    assert error["code"] == "INVALID_INPUT"
    assert "--confirm" in error["message"]
    assert error["details"]["preview"] == {"confirmed": False, "messages": 0, "agents": 0, "artifacts": 2}
    assert counts(old) == (2, 4, 2)


@pytest.mark.parametrize("answer", [b"y\n", b"yes\n", b"Y\n"])
def test_yes_on_a_terminal_deletes(old, answer):
    shown, code = on_terminal(old, "clear", "--messages-before", "1h", answer=answer)
    assert code == 0
    assert shown.index("This would delete") < shown.index("Deleted")
    assert counts(old) == (2, 1, 2)


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"no\n", b"x\n", b"yikes\n", b"\x04"])
def test_anything_else_on_a_terminal_deletes_nothing(old, answer):
    shown, _ = on_terminal(old, "clear", "--messages-before", "1h", answer=answer)
    assert "Deleted" not in shown
    assert "error: nothing was deleted\r\n" in shown  # who has answered no did not forget an option
    assert counts(old) == (2, 4, 2)


def test_confirm_on_a_terminal_does_not_ask(old):
    shown, code = on_terminal(old, "clear", "--artifacts", "--confirm")
    assert code == 0
    assert "[y/N]" not in shown
    assert counts(old) == (2, 4, 0)


def test_nothing_to_clear_does_not_ask(project):
    shown, code = on_terminal(project, "clear", "--artifacts")
    assert (shown, code) == ("Nothing to clear.\r\n", 0)


def test_no_lock_is_held_while_it_asks(old):
    master, slave = pty.openpty()
    child = subprocess.Popen([str(BIN / "bb"), "clear", "--artifacts"], cwd=old.path, stdin=slave, stdout=slave,
                             stderr=slave, start_new_session=True, env=environment(**old.env))
    os.close(slave)
    shown = b""
    try:
        while b"?" not in shown:
            assert select.select([master], [], [], 10)[0]
            shown += os.read(master, 4096)
        old.bb("--as", "here", "post", "meanwhile", timeout=3).ok()
        os.write(master, b"n\n")
        child.wait(10)
    finally:
        child.kill()
        child.wait()
        os.close(master)
    assert counts(old) == (2, 5, 2)
