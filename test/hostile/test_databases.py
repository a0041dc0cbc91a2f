"""A database that somebody else made runs none of their SQL, and cannot keep a command busy."""
import contextlib
import resource
import sqlite3
import subprocess
import sys

import pytest

from conftest import BIN, ROOT, Result, environment

sys.path[:0] = [str(ROOT / "test" / "cli")]
from vybe import Vybe  # noqa: E402

ENDLESS = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)"
COLUMNS = {
    "schema_version": "version",
    "agents": "id, current_task, progress, status, blockers, last_seen, updated_at",
    "messages": "id, from_agent, content, tags, priority, in_reply_to, refs, created_at",
    "artifacts": "id, path, produced_by, description, version, refs, created_at",
    "reads": "agent, first, last",
    "receipts": "agent, request_id, op, args, reply, created_ms",
    "refs": "ref, message",
    "memory": "id, scope, scope_id, key, value, type, kind, pinned, expires, created, updated",
    "events": "id, kind, agent, project, task, message, metadata, created, archived",
}


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def view(table):
    """The table as a view that never ends."""
    columns = COLUMNS[table].split(", ")
    return [f"DROP TABLE {table}",
            f"CREATE VIEW {table} AS {ENDLESS} SELECT {', '.join(f'n AS {c}' for c in columns)} FROM x"]


def virtual(table):
    columns = ", ".join(f'"{c}"' for c in COLUMNS[table].split(", "))
    return [f"DROP TABLE {table}", f"CREATE VIRTUAL TABLE {table} USING fts5({columns})"]


def disguised(table):
    """A view that says of itself that it is a table."""
    return [*view(table), "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_schema SET type = 'table', rootpage = 2 WHERE name = '{table}'"]


@pytest.fixture
def board(project):
    project.bb("--as", "a", "post", "mine", "--request-id", "r").ok()
    return project


COMMANDS = (["log"], ["status"], ["summary"], ["--as", "b", "post", "x", "--request-id", "s"], ["artifacts"])


@pytest.mark.parametrize("make", [view, virtual, disguised])
@pytest.mark.parametrize("table", ["schema_version", "agents", "messages", "artifacts", "reads", "receipts", "refs"])
def test_a_board_whose_table_is_something_else_is_refused(board, make, table):
    change(board.database, *make(table))
    for command in COMMANDS:
        error = board.fails(*command, timeout=20)
        assert error["code"] == "INTERNAL_ERROR", error
        assert "blackboard.db" in error["message"]


def test_such_a_board_is_kept_aside_and_a_new_one_begun(board):
    change(board.database, *view("messages"))
    board.bb("init").ok()
    assert board.json("log") == []
    assert list((board.path / ".bb").glob("*damaged*"))


@pytest.mark.parametrize("when", ["BEFORE INSERT", "AFTER INSERT", "AFTER UPDATE", "AFTER DELETE"])
@pytest.mark.parametrize("table", ["messages", "AGENTS"])
def test_a_trigger_on_the_board_is_refused_and_not_run(board, table, when):
    change(board.database, f"CREATE TRIGGER t {when} ON {table} BEGIN DELETE FROM messages; END")
    for command in COMMANDS:
        assert "has a trigger" in board.fails(*command)["message"]
    with contextlib.closing(sqlite3.connect(board.database)) as db:
        assert db.execute("SELECT content FROM messages").fetchall() == [("mine",)]


@pytest.mark.parametrize("table, column", [("messages", "content"), ("agents", "blockers"), ("artifacts", "version")])
def test_a_board_that_lacks_a_column_is_refused(board, table, column):
    change(board.database, f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    for command in COMMANDS:
        assert f"'{column}'" in board.fails(*command)["message"]


def test_what_other_programs_have_beside_our_tables_is_fine(board):
    change(board.database,
           "CREATE TABLE theirs (id INTEGER PRIMARY KEY, note TEXT)",
           "CREATE INDEX theirs_too ON messages (json_extract(refs, '$[0]'))",
           "CREATE INDEX theirs_part ON messages (content) WHERE priority = 'low'",
           "ALTER TABLE messages ADD COLUMN colour TEXT",
           f"CREATE VIEW their_view AS {ENDLESS} SELECT * FROM x",
           "CREATE VIRTUAL TABLE their_search USING fts5(note)",
           "CREATE TRIGGER their_trigger AFTER INSERT ON theirs BEGIN DELETE FROM messages; END")
    for command in COMMANDS:
        board.bb(*command).ok()
    assert len(board.json("log")) == 2


def test_a_value_that_is_too_long_is_an_error_and_not_read(board):
    change(board.database, "UPDATE messages SET content = hex(zeroblob(40 << 20))")
    assert "larger than 64 MiB" in limited(board, "log").error["message"]


def test_a_computed_column_cannot_make_a_value_that_is_too_long(board):
    change(board.database, "ALTER TABLE messages RENAME COLUMN content TO was",
           "ALTER TABLE messages ADD COLUMN content TEXT AS (hex(zeroblob(500000000)))")
    assert "larger than 64 MiB" in limited(board, "log").error["message"]


def limited(project, *args):
    """Runs a command that may use 512 MiB of memory; a sanitized one reserves more than any limit."""
    most = resource.RLIM_INFINITY if "asan" in BIN.parts else 512 << 20
    return Result(subprocess.run([str(BIN / "bb"), "--json", *args], cwd=project.path, capture_output=True, timeout=60,
                                 env=environment(),
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))))


def test_a_log_of_changes_from_elsewhere_is_no_way_around_it(board, tmp_path):
    """The write-ahead log beside the database brings the view."""
    log = f"{board.database}-wal"
    with contextlib.closing(sqlite3.connect(board.database, isolation_level=None)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        for statement in view("messages"):
            db.execute(statement)
        kept = open(log, "rb").read(), board.database.read_bytes()
    board.database.write_bytes(kept[1])
    with open(log, "wb") as file:
        file.write(kept[0])
    for command in COMMANDS:
        assert board.fails(*command, timeout=20)["code"] == "INTERNAL_ERROR"


# --- continuity ---


@pytest.fixture
def continuity(repo):
    vybe = Vybe(repo.path)
    vybe.ok("memory", "set", "--key", "k", "--value", "mine", "--scope", "global")
    return vybe


@pytest.mark.parametrize("make", [view, virtual, disguised])
@pytest.mark.parametrize("table", ["memory", "events"])
def test_continuity_whose_table_is_something_else_is_refused(continuity, make, table):
    change(continuity.home / "vybe.db", *make(table))
    for command in (["memory", "get", "--key", "k", "--scope", "global"], ["memory", "set", "--key", "k", "--value", "x",
                                                                           "--scope", "global"], ["resume"]):
        reply = continuity.vybe(*command, timeout=20)
        assert not reply["success"] and "vybe.db" in reply["error"], reply


def test_a_trigger_in_continuity_is_refused_and_not_run(continuity):
    change(continuity.home / "vybe.db", "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM memory; END")
    reply = continuity.vybe("memory", "set", "--key", "k", "--value", "x", "--scope", "global")
    assert "has a trigger" in reply["error"]
    with contextlib.closing(sqlite3.connect(continuity.home / "vybe.db")) as db:
        assert db.execute("SELECT value FROM memory").fetchall() == [("mine",)]


# --- the cache of the beads ---


@pytest.mark.parametrize("statements", [
    ["CREATE TRIGGER t AFTER INSERT ON beads BEGIN DELETE FROM beads; END"],
    ["CREATE TRIGGER t AFTER UPDATE ON about BEGIN DELETE FROM beads; END"],
    ["DROP TABLE about", f"CREATE VIEW about AS {ENDLESS} SELECT n AS version FROM x"],
    ["DROP TABLE labels", f"CREATE VIEW labels AS {ENDLESS} SELECT n AS label, n FROM x"],
])
def test_a_cache_with_somebody_elses_sql_does_no_harm(repo, statements):
    one = repo.create("one", "-l", "x")
    change(repo.cache, *statements)
    two = repo.create("two", "-l", "x")
    assert set(repo.ids("list", "-l", "x", timeout=20)) == {one, two}
