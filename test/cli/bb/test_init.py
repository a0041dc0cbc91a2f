"""bb init"""
import os
import stat
import subprocess

import pytest

from board import at, counts, rows

COLUMNS = {
    "schema_version": ["version"],
    "agents": ["id", "current_task", "progress", "status", "blockers", "last_seen", "updated_at"],
    "messages": ["id", "from_agent", "content", "tags", "priority", "in_reply_to", "refs", "created_at"],
    "artifacts": ["id", "path", "produced_by", "description", "version", "refs", "created_at"],
}
INDEXES = {
    "idx_agents_status", "idx_agents_last_seen", "idx_messages_created_at", "idx_messages_from_agent",
    "idx_messages_priority", "idx_messages_in_reply_to", "idx_artifacts_path", "idx_artifacts_produced_by",
}


def test_a_new_board_is_announced_with_its_folder(empty):
    done = empty.bb("init").ok()
    assert done.out == f"Initialized blackboard at {empty.path}/.bb/\n"
    assert done.err == ""


def test_the_folder_ignores_itself_in_git(project):
    assert (project.path / ".bb/.gitignore").read_text() == "*\n"


def test_folder_and_files_belong_to_the_owner_alone(project):
    folder = project.path / ".bb"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    project.bb("post", "x").ok()
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_a_loose_umask_opens_nothing(empty):
    before = os.umask(0)
    try:
        empty.bb("init").ok()
        empty.bb("post", "x").ok()
    finally:
        os.umask(before)
    for file in [empty.path / ".bb", *(empty.path / ".bb").iterdir()]:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name


@pytest.mark.parametrize("table", COLUMNS)
def test_the_seeds_tables_have_the_seeds_columns_and_no_more(project, table):
    assert [r[1] for r in rows(project, f"PRAGMA table_info({table})")] == COLUMNS[table]


def test_the_seeds_indexes_are_there(project):
    assert INDEXES <= {r[0] for r in rows(project, "SELECT name FROM sqlite_master WHERE type = 'index'")}


def test_the_schema_has_version_1_once(project):
    assert rows(project, "SELECT version FROM schema_version") == [(1,)]


def test_the_journal_is_a_wal(project):
    assert rows(project, "PRAGMA journal_mode") == [("wal",)]


def test_init_registers_no_agent(empty):
    empty.bb("--as", "k", "init").ok()
    assert counts(empty) == (0, 0, 0)


def test_an_existing_board_is_kept_and_confirmed(project):
    project.bb("post", "kept").ok()
    done = project.bb("init").ok()
    assert done.out == f"Blackboard already initialized at {project.path}\n"
    assert counts(project) == (1, 1, 0)


def test_an_existing_board_is_found_from_below(project):
    below = project.path / "a/b"
    below.mkdir(parents=True)
    assert project.bb("init", cwd=below).ok().out == f"Blackboard already initialized at {project.path}\n"
    assert not (below / ".bb").exists()


def test_json_has_the_result(empty):
    first = empty.json("init")
    second = empty.json("init")
    assert first["project_dir"] == second["project_dir"] == str(empty.path)
    assert first["result"] != second["result"] == "exists"


def test_a_missing_database_is_recreated_with_a_warning(project):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    done = project.bb("init").ok()
    assert "warning:" in done.err
    assert "warning" not in done.out
    assert project.json("log") == []


@pytest.mark.parametrize("damage", [b"garbage" * 100, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 500],
                         ids=["text", "zeros", "broken page"])
def test_a_corrupt_database_is_kept_aside_whole_with_a_warning(project, damage):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    project.database.write_bytes(damage)
    assert project.fails("log")["code"] == "INTERNAL_ERROR"
    done = project.run("--json", "init").ok()
    assert "warning:" in done.err
    kept = [f for f in (project.path / ".bb").glob("blackboard.db?*") if f.read_bytes() == damage]
    assert [str(f) for f in kept] == [done.json["kept_aside"]]
    assert project.json("log") == []


def test_reading_a_corrupt_database_does_not_change_it(project):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    project.database.write_bytes(b"garbage" * 100)
    for args in (["log"], ["status"], ["post", "x"], ["summary"], ["export"]):
        error = project.fails(*args)
        assert error["code"] == "INTERNAL_ERROR"
        assert "damaged" in error["message"]
    assert project.database.read_bytes() == b"garbage" * 100


def test_a_truncated_database_fails_and_init_keeps_it_aside(project):
    project.bb("post", "x").ok()
    rows(project, "PRAGMA wal_checkpoint(TRUNCATE)")
    whole = project.database.read_bytes()
    for file in (project.path / ".bb").glob("blackboard.db-*"):
        file.unlink()
    project.database.write_bytes(whole[:5000])
    assert project.fails("log")["code"] == "INTERNAL_ERROR"
    kept = project.json("init")["kept_aside"]
    assert kept is not None
    assert project.json("log") == []


def test_an_empty_database_file_is_not_a_board_and_init_makes_one(project):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    project.database.write_bytes(b"")
    assert project.fails("log")["code"] in ("NOT_INITIALIZED", "INTERNAL_ERROR")
    done = project.bb("init").ok()
    assert "warning:" in done.err
    assert project.json("log") == []


def test_a_file_where_the_folder_goes_is_an_error_and_stays(empty):
    (empty.path / ".bb").write_text("mine")
    error = empty.fails("init")
    assert error["code"] == "UNSAFE_PATH"
    assert (empty.path / ".bb").read_text() == "mine"


def test_concurrent_inits_create_one_board(empty):
    running = [empty.spawn("init", stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
    said = [(p.communicate(), p.returncode) for p in running]
    assert [code for _, code in said] == [0] * 8
    assert [err for (_, err), _ in said] == [b""] * 8
    assert sum(out.startswith(b"Initialized") for (out, _), _ in said) == 1
    assert rows(empty, "SELECT version FROM schema_version") == [(1,)]


def test_quiet_prints_nothing(empty):
    done = empty.bb("-q", "init").ok()
    assert (done.out, done.err) == ("", "")
    assert empty.database.exists()


def test_git_sees_no_change(empty):
    subprocess.run(["git", "init", "-q", str(empty.path)], check=True)
    empty.bb("init").ok()
    empty.bb("post", "x", env=at()).ok()
    seen = subprocess.run(["git", "status", "--porcelain", "--ignored=no"], cwd=empty.path, check=True,
                          capture_output=True, text=True).stdout
    assert seen == ""
    assert not (empty.path / ".gitignore").exists()
