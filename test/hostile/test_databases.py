"""A database made by another user runs none of its SQL, and cannot keep a command busy."""
import contextlib
import os
import re
import resource
import sqlite3
import struct
import subprocess

import pytest

from board import ORIGINAL_SQL
from conftest import BIN, Project, Result, environment
from vybe import Vybe

ENDLESS = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)"
COLUMNS = {
    "schema_version": "version",
    "agents": "id, current_task, progress, status, blockers, last_seen, updated_at",
    "messages": "id, from_agent, content, tags, priority, in_reply_to, refs, created_at",
    "artifacts": "id, path, produced_by, description, version, refs, created_at",
    "reads": "agent, first, last",
    "receipts": "agent, request_id, op, args, reply, created_ms",
    "receipt_keys": "n, key, op, args, at, about",
    "receipt_replies": "n, reply",
    "receipt_bytes": "bytes",
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
    return [f"DROP TABLE IF EXISTS {table}",
            f"CREATE VIEW {table} AS {ENDLESS} SELECT {', '.join(f'n AS {c}' for c in columns)} FROM x"]


def virtual(table):
    columns = ", ".join(f'"{c}"' for c in COLUMNS[table].split(", "))
    return [f"DROP TABLE IF EXISTS {table}", f"CREATE VIRTUAL TABLE {table} USING fts5({columns})"]


def disguised(table):
    """A view that claims to be a table."""
    return [*view(table), "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_schema SET type = 'table', rootpage = 2 WHERE name = '{table}'"]


@pytest.fixture
def board(project):
    project.bb("--as", "a", "post", "mine", "--request-id", "r").ok()
    return project


COMMANDS = (["log"], ["status"], ["summary"], ["--as", "b", "post", "x", "--request-id", "s"], ["artifacts"])


@pytest.mark.parametrize("make", [view, virtual, disguised])
@pytest.mark.parametrize("table", ["schema_version", "agents", "messages", "artifacts", "reads", "receipts", "refs",
                                   "receipt_keys", "receipt_replies", "receipt_bytes"])
def test_a_board_whose_table_is_something_else_is_refused(board, make, table):
    change(board.database, *make(table))
    for command in COMMANDS:
        error = board.fails(*command, timeout=20)
        assert error["code"] == "INTERNAL_ERROR", error
        assert "blackboard.db" in error["message"]


def test_such_a_board_is_set_aside_and_a_new_one_created(board):
    change(board.database, *view("messages"))
    board.bb("init").ok()
    assert board.json("log") == []
    kept = [f for f in os.listdir(board.path / ".bb") if re.fullmatch(r"blackboard\.db\.damaged_\d{8}_\d{6}_[0-9a-f]{16}", f)]
    assert len(kept) == 1, "the name cannot be guessed"


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


def test_other_tables_beside_ours_are_allowed(board):
    change(board.database,
           "CREATE TABLE theirs (id INTEGER PRIMARY KEY, note TEXT)",
           "CREATE INDEX theirs_too ON messages (content COLLATE NOCASE DESC, priority)",
           "CREATE INDEX their_own ON theirs (json_extract(note, '$[0]')) WHERE id > 7",
           "CREATE TABLE likes (message INTEGER REFERENCES messages(id), who TEXT)",
           "ALTER TABLE messages ADD COLUMN colour TEXT DEFAULT 'red'",
           f"CREATE VIEW their_view AS {ENDLESS} SELECT * FROM x",
           "CREATE VIRTUAL TABLE their_search USING fts5(note)",
           "CREATE TRIGGER their_trigger AFTER INSERT ON theirs BEGIN DELETE FROM messages; END")
    for command in COMMANDS:
        board.bb(*command).ok()
    assert len(board.json("log")) == 2


def test_a_value_that_is_too_long_is_an_error_and_not_read(board):
    change(board.database, "UPDATE messages SET content = hex(zeroblob(40 << 20))")
    assert "larger than 64 MiB" in limited(board, "log").error["message"]


SLOW = "instr(hex(zeroblob(4000000)),hex(zeroblob(2000000))||'1')"  # one step of SQLite, for minutes

# A table's definition, by what is put where.
DEFINITIONS = {
    "computed column": ("content TEXT NOT NULL", f"content TEXT GENERATED ALWAYS AS ('x'||{SLOW}) VIRTUAL"),
    "short computed column": ("content TEXT NOT NULL", "content TEXT AS ('x'||upper(from_agent))"),
    "another computed column": ("content TEXT NOT NULL", f"content TEXT NOT NULL, more AS ({SLOW}) STORED"),
    "check": ("content TEXT NOT NULL", f"content TEXT NOT NULL CHECK ({SLOW} > 7)"),
    "default": ("content TEXT NOT NULL", f"content TEXT NOT NULL, more DEFAULT ({SLOW})"),
    "conflict": ("from_agent TEXT NOT NULL", "from_agent TEXT NOT NULL UNIQUE ON CONFLICT REPLACE"),
    "null": ("from_agent TEXT NOT NULL", "from_agent TEXT NOT NULL ON CONFLICT IGNORE"),
    "unique": ("from_agent TEXT NOT NULL", "from_agent TEXT NOT NULL UNIQUE"),
    "cascade": ("REFERENCES messages(id)", "REFERENCES messages(id) ON DELETE CASCADE"),
}


def redefine(path, table, old, new):
    """Changes a definition without SQLite, so that nothing is computed yet."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sql = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
        assert old in sql
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql.replace(old, new, 1), table))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize("what", DEFINITIONS)
def test_a_board_whose_table_is_defined_with_other_sql_is_refused_at_once(board, what):
    redefine(board.database, "messages", *DEFINITIONS[what])
    for command in COMMANDS:
        error = board.fails(*command, timeout=20)
        assert error["code"] == "INTERNAL_ERROR" and "'messages' has a" in error["message"], error


def test_a_new_board_is_created_beside_one_that_would_run_sql(board):
    redefine(board.database, "messages", *DEFINITIONS["check"])
    board.bb("init", timeout=20).ok()
    assert board.json("log") == []


@pytest.mark.parametrize("statement", [
    "CREATE INDEX evil ON messages (upper(content))",
    "CREATE INDEX evil ON messages (content || 'x')",
    "CREATE INDEX evil ON messages (content) WHERE priority = 'low'",
    "CREATE INDEX evil ON receipt_replies (reply) WHERE upper(reply) > 'A'",
    "CREATE UNIQUE INDEX evil ON messages (from_agent)",
    "CREATE TABLE evil (m INTEGER REFERENCES messages(id) ON DELETE CASCADE)",
    f"CREATE TABLE evil (x, m AS ({SLOW}) REFERENCES messages(id))",
    f"CREATE TABLE evil (x CHECK ({SLOW}), m INTEGER REFERENCES 'MESSAGES'(id))",
])
def test_an_index_or_a_reference_that_makes_sqlite_run_an_expression_is_refused(board, statement):
    change(board.database, statement)
    for command in COMMANDS:
        assert "of its own" in board.fails(*command)["message"] or "computed" in board.fails(*command)["message"]


def test_the_board_of_the_original_program_is_opened(tmp_path):
    """It has the tables of the specification; the first write adds ours."""
    path = tmp_path / "theirs"
    (path / ".bb").mkdir(parents=True, mode=0o700)
    with contextlib.closing(sqlite3.connect(path / ".bb" / "blackboard.db", isolation_level=None)) as db:
        db.executescript(ORIGINAL_SQL)
        db.execute("INSERT INTO messages (from_agent, content) VALUES ('kim', 'hello')")
    project = Project(path)
    assert [m["content"] for m in project.json("log")] == ["hello"]
    project.bb("--as", "a", "post", "mine").ok()
    project.bb("init").ok()
    assert len(project.json("log")) == 2


def limited(project, *args):
    """Runs a command that may use 512 MiB of memory; a sanitized one reserves more than any limit."""
    most = resource.RLIM_INFINITY if "asan" in BIN.parts else 512 << 20
    return Result(subprocess.run([str(BIN / "bb"), "--json", *args], cwd=project.path, capture_output=True, timeout=60,
                                 env=environment(),
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))))


def test_a_planted_write_ahead_log_does_not_bypass_the_check(board, tmp_path):
    """The write-ahead log beside the database contains the view."""
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


@pytest.mark.parametrize("table, old, new", [
    ("memory", "value TEXT NOT NULL", f"value TEXT NOT NULL CHECK ({SLOW})"),
    ("memory", "value TEXT NOT NULL", f"value TEXT AS ({SLOW})"),
    ("tasks", "assignee TEXT", "assignee TEXT UNIQUE ON CONFLICT REPLACE"),
    ("events_task", "WHERE task IS NOT NULL", f"WHERE {SLOW}"),
])
def test_continuity_that_is_defined_with_other_sql_is_refused_at_once(continuity, table, old, new):
    redefine(continuity.home / "vybe.db", table, old, new)
    for command in (["memory", "get", "--key", "k", "--scope", "global"],
                    ["memory", "set", "--key", "k", "--value", "x", "--scope", "global"], ["resume"]):
        reply = continuity.vybe(*command, timeout=20)
        assert not reply["success"] and "vybe.db" in reply["error"], reply


# --- receipts ---


@pytest.mark.parametrize("old, new", [("op TEXT NOT NULL", f"op TEXT NOT NULL CHECK ({SLOW})"),
                                      ("about TEXT", f"about TEXT AS ({SLOW})"),
                                      ("NOT NULL UNIQUE", "NOT NULL UNIQUE ON CONFLICT REPLACE")])
def test_receipts_that_are_defined_with_other_sql_are_refused_at_once(project, old, new):
    register = ["agent", "register", "--name", "amber-otter", "--role", "x", "--request-id", "r1"]
    project.bb(*register).ok()
    redefine(project.path / ".beadboard" / "agent" / "receipts.db", "receipts", old, new)
    for request in ("r1", "r2"):
        done = project.bb(*register[:-1], request, timeout=20)
        assert done.code != 0 and "receipts.db" in done.out + done.err, done.out + done.err


# --- the cache of the beads ---


@pytest.mark.parametrize("table, old, new", [
    ("beads", "title, tags", f"title CHECK ({SLOW}), tags"),
    ("beads", "title, tags", f"title AS ({SLOW}), tags"),
    ("todo", "WHERE status < 2", f"WHERE {SLOW}"),
    ("edges", "active, line", f"active, line DEFAULT ({SLOW})"),
    ("search", "content = ''", "content = 'beads'"),
])
def test_a_cache_that_is_defined_with_other_sql_is_rebuilt(repo, table, old, new):
    one = repo.create("one")
    redefine(repo.cache, table, old, new)
    assert repo.ids("list", timeout=20) == [one]
    two = repo.create("two", timeout=20)
    redefine(repo.cache, table, old, new)
    three = repo.create("three", timeout=20)
    assert set(repo.ids("list")) == {one, two, three} and repo.ids("search", "two") == [two]



@pytest.mark.parametrize("statements", [
    ["CREATE TRIGGER t AFTER INSERT ON beads BEGIN DELETE FROM beads; END"],
    ["CREATE TRIGGER t AFTER UPDATE ON about BEGIN DELETE FROM beads; END"],
    ["DROP TABLE about", f"CREATE VIEW about AS {ENDLESS} SELECT n AS version FROM x"],
    ["DROP TABLE labels", f"CREATE VIEW labels AS {ENDLESS} SELECT n AS label, n FROM x"],
])
def test_the_sql_of_a_planted_cache_is_not_run(repo, statements):
    one = repo.create("one", "-l", "x")
    change(repo.cache, *statements)
    two = repo.create("two", "-l", "x")
    assert set(repo.ids("list", "-l", "x", timeout=20)) == {one, two}


# --- rollback journals ---


MAGIC = bytes.fromhex("d9d505f920a163d7")


def rollback_journal(path, names):
    """The journal of an interrupted transaction; `names` is the file that SQLite deletes after the rollback."""
    data = path.read_bytes()
    page = int.from_bytes(data[16:18], "big")
    sector, nonce = 512, 12345
    head = MAGIC + struct.pack(">IIIII", 1, nonce, len(data) // page, sector, page)
    check = (nonce + sum(data[i] for i in range(page - 200, 0, -200))) & 0xffffffff
    text = head.ljust(sector, b"\0") + struct.pack(">I", 1) + data[:page] + struct.pack(">I", check)
    name = str(names).encode()
    text += bytes(-len(text) % sector) + struct.pack(">I", 0x40000000 // page + 1) + name
    text += struct.pack(">II", len(name), sum(name)) + MAGIC
    path.with_name(f"{path.name}-journal").write_bytes(text)


STORES = {
    ".bb/blackboard.db": (["bb", "log"], ["bb", "--as", "a", "post", "x"], ["bb", "init"], ["abacus", "doctor"]),
    ".git/abacus/vybe.db": (["vybe", "status"], ["vybe", "-a", "a", "--request-id", "9", "memory", "set", "-k", "k",
                                                 "-v", "v"], ["abacus", "doctor"], ["abacus", "doctor", "--fix"]),
    ".git/abacus/receipts.db": (["bd", "create", "x", "--request-id", "new"], ["abacus", "doctor"]),
    ".git/abacus/cache.db": (["bd", "list"], ["bd", "create", "x"]),
    "named.db": (["vybe", "--db-path", "named.db", "status"], ["vybe", "--db-path", "named.db", "-a", "a",
                                                               "--request-id", "9", "task", "create", "--title", "t"]),
}


@pytest.mark.parametrize("store", STORES)
def test_a_journal_beside_a_database_deletes_no_file(repo, tmp_path, store):
    project, precious = Project(repo.path), tmp_path / "precious"
    project.env = repo.env
    project.run("init", program="abacus").ok()
    for named in ([], ["--db-path", "named.db"]):
        project.run(*named, "-a", "a", "--request-id", "1", "memory", "set", "-k", "k", "-v", "v", program="vybe").ok()
    path = repo.path / store
    if not path.exists():
        project.run("create", "x", "--request-id", "r", program="bd").ok()
        sqlite3.connect(path).execute("CREATE TABLE IF NOT EXISTS other (x)").connection.close()
    change(path, "CREATE TABLE IF NOT EXISTS other (x)")
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    precious.write_text("precious")
    rollback_journal(path, precious)
    kept = path.with_name(f"{path.name}-journal").read_bytes()
    for program, *words in STORES[store]:
        project.run(*words, program=program)
        assert precious.read_text() == "precious", words
        copies = [f.read_bytes() for f in path.parent.iterdir() if "-journal" in f.name]
        assert kept in copies or store.endswith("cache.db"), f"{words}: nothing else is removed either"


def test_the_error_about_such_a_journal_names_the_command_that_helps(board):
    change(board.database)
    rollback_journal(board.database, "/tmp/none")
    error = board.fails("log")
    assert error["code"] == "UNSAFE_PATH" and f"'{board.database}-journal' names another file" in error["message"]
    command = error["details"]["next_step"].split(": ", 1)[1]
    subprocess.run(["sh", "-c", command], check=True, cwd="/")
    assert len(board.json("log")) == 1


def test_a_transaction_that_another_program_left_is_rolled_back(board):
    """Another program may use the board without a write-ahead log; SQLite handles its journals."""
    change(board.database, "PRAGMA journal_mode = DELETE")
    with contextlib.closing(sqlite3.connect(board.database, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE messages SET content = zeroblob(100000)")
        journal = board.database.with_name("blackboard.db-journal").read_bytes()
        content = board.database.read_bytes()
    board.database.write_bytes(content)
    board.database.with_name("blackboard.db-journal").write_bytes(journal)
    assert [m["content"] for m in board.json("log")] == ["mine"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal"])
def test_a_file_of_another_user_beside_a_database_is_refused(board, side):
    change(board.database)
    file = board.database.with_name(board.database.name + side)
    file.touch(mode=0o666)
    os.chown(file, 65534, 65534)
    for command in COMMANDS:
        assert f"'{file}' belongs to another user" in board.fails(*command)["message"]
