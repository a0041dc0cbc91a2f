"""Every error code: its shape, its exit code, and its effect on the store."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import threading

import pytest

from board import counts, on_terminal
from conftest import BIN, Project, environment


def check(done, code, exit_code=1):
    assert done.code == exit_code
    assert done.err == ""
    assert list(done.json) == ["error"]
    error = done.error
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == code
    assert error["message"] and "\n" not in error["message"]
    assert error["details"]["next_step"]
    for word in ("destroy", "--force", "rm "):
        assert word not in error["details"]["next_step"]
    return error


CODES = [
    ("INVALID_INPUT", ["post", ""]), ("INVALID_INPUT", ["status", "set", "--progress", "101"]),
    ("INVALID_INPUT", ["log", "--since", "x"]), ("INVALID_INPUT", ["artifact", "add", "none", "d"]),
    ("INVALID_REF_FORMAT", ["refs", "a:b"]), ("INVALID_REF_FORMAT", ["post", "x", "--ref", "a"]),
    ("INVALID_REF_FORMAT", ["log", "--ref", "a"]), ("INVALID_REF_FORMAT", ["artifacts", "--ref", "a"]),
    ("PATH_TRAVERSAL", ["artifact", "add", "../x", "d"]), ("PATH_TRAVERSAL", ["artifact", "add", "/etc/passwd", "d"]),
    ("NOT_FOUND", ["message", "9"]), ("NOT_FOUND", ["status", "get", "x"]), ("NOT_FOUND", ["artifact", "show", "x"]),
    ("NOT_FOUND", ["post", "x", "--reply-to", "9"]), ("INVALID_IDENTITY", ["--as", " ", "post", "x"]),
    ("INVALID_IDENTITY", ["--as", "x" * 65, "post", "x"]), ("IDENTITY_REQUIRED", ["log", "--unread"]),
]


@pytest.mark.parametrize("code, args", CODES)
def test_an_error_in_json_has_code_message_and_details_and_exits_1(project, code, args):
    check(project.run("--json", *args), code)
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("code, args", CODES)
def test_errors_for_people_go_to_standard_error(project, code, args):
    done = project.bb(*args)
    assert done.code == 1
    assert done.out == ""
    error = project.fails(*args)
    assert error["message"] in done.err
    assert error["details"]["next_step"] in done.err


def test_no_board(empty):
    error = check(empty.run("--json", "log"), "NOT_INITIALIZED")
    assert "bb init" in error["details"]["next_step"]


@pytest.mark.parametrize("args", [["nope"], ["log", "--nope"], ["post"], ["log", "x"], ["status", "nope"],
                                  ["artifact"], ["message"], ["--nope"]])
def test_wrong_use_exits_2(project, args):
    check(project.run("--json", *args), "INVALID_INPUT", 2)
    assert project.bb(*args).code == 2


def test_the_error_names_the_invalid_value(project):
    for args, value in ((["log", "--since", "5x"], "5x"), (["log", "--priority", "urgent"], "urgent"),
                        (["status", "set", "--progress", "101"], "101"), (["refs", "a:b"], "a:b"),
                        (["message", "99"], "99"), (["artifact", "add", "../q", "d"], "../q")):
        assert value in project.fails(*args)["message"]


def test_the_error_lists_the_allowed_words(project):
    error = project.fails("post", "x", "--priority", "urgent")
    for word in ("low", "normal", "high", "critical"):
        assert word in error["message"] + error["details"]["next_step"]


def test_a_long_wrong_value_does_not_flood_the_screen(project):
    for args in (["refs", "x" * 100000], ["log", "--since", "x" * 100000], ["x" * 100000],
                 ["artifact", "show", "x" * 4000]):
        done = project.bb(*args)
        assert done.code != 0
        assert len(done.err) < 5000, args[0][:20]


# the world does not help

def test_a_database_locked_for_more_than_5_seconds_is_busy(project):
    db = sqlite3.connect(project.database, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        error = check(project.run("--json", "post", "x"), "DATABASE_BUSY")
        assert project.json("log") == []
    finally:
        db.execute("ROLLBACK")
        db.close()
    assert error["details"]["next_step"]
    assert project.json("post", "x")["id"] == 1


def test_a_lock_that_ends_in_time_is_waited_for(project):
    db = sqlite3.connect(project.database, isolation_level=None, check_same_thread=False)
    db.execute("BEGIN IMMEDIATE")
    child = project.spawn("post", "x", stdout=-1, stderr=-1)
    timer = threading.Timer(0.3, lambda: db.execute("ROLLBACK"))
    timer.start()
    out, err = child.communicate(timeout=10)
    timer.join()
    db.close()
    assert (child.returncode, out, err) == (0, b"Posted message #1 from human\n", b"")


def test_a_folder_where_the_database_goes(project):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    project.database.mkdir()
    assert project.fails("log")["code"] in ("INTERNAL_ERROR", "NOT_INITIALIZED")
    assert project.database.is_dir()


def test_a_database_of_someone_else_is_left_alone(project):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    db = sqlite3.connect(project.database)
    db.execute("CREATE TABLE recipes (name)")
    db.execute("INSERT INTO recipes VALUES ('soup')")
    db.commit()
    db.close()
    for args in (["log"], ["post", "x"], ["status"]):
        assert project.fails(*args)["code"] in ("INTERNAL_ERROR", "NOT_INITIALIZED")
    db = sqlite3.connect(project.database)
    assert db.execute("SELECT * FROM recipes").fetchall() == [("soup",)]
    assert [r[0] for r in db.execute("SELECT name FROM sqlite_master")] == ["recipes"]
    db.close()


def test_a_board_of_a_newer_version_is_refused_and_left_alone(project):
    project.bb("post", "x").ok()
    db = sqlite3.connect(project.database)
    db.execute("UPDATE schema_version SET version = 99")
    db.commit()
    db.close()
    error = project.fails("post", "y")
    assert error["code"] == "INTERNAL_ERROR"
    assert "99" in error["message"]
    assert counts(project) == (1, 1, 0)


def test_init_does_not_throw_a_newer_board_away(project):
    db = sqlite3.connect(project.database)
    db.execute("INSERT INTO agents (id) VALUES ('k')")
    db.execute("UPDATE schema_version SET version = 99")
    db.commit()
    db.close()
    project.bb("init")
    assert counts(project) == (1, 0, 0)
    assert list((project.path / ".bb").glob("*damaged*")) == []


def test_a_reply_that_cannot_be_written_is_a_failure(project):
    with open("/dev/full", "wb") as full:
        child = project.spawn("log", stdout=full, stderr=-1)
        _, err = child.communicate(timeout=10)
    assert child.returncode == 1
    assert b"No space left" in err


def test_a_reader_that_goes_away_is_not_a_crash(project):
    project.bb("post", "-", stdin=b"x" * 60000).ok()
    read, write = os.pipe()
    os.close(read)
    child = project.spawn("log", stdout=write, stderr=-1)
    os.close(write)
    child.communicate(timeout=10)
    assert child.returncode != -11


@pytest.fixture
def open_place():
    """A folder that every user can enter."""
    place = pathlib.Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def test_a_read_only_board_can_be_read_and_not_written(open_place):
    project = Project(open_place / "project")
    project.path.mkdir()
    project.bb("init").ok()
    project.bb("post", "x").ok()
    program = shutil.copy((BIN / "bb").resolve(), open_place / "bb")
    folder = project.path / ".bb"
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)

    def run(*args):
        root = os.getuid() == 0  # who may write everywhere; so somebody else does it, who trusts this folder
        trust = environment(GIT_CONFIG_COUNT=1, GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0=project.path)
        return subprocess.run([program, "--json", *args], cwd=project.path, capture_output=True, env=trust,
                              **({"user": 65534, "group": 65534, "extra_groups": []} if root else {}))

    write, read = run("post", "y"), run("log")
    folder.chmod(0o700)
    assert write.returncode == 1
    assert json.loads(write.stdout)["error"]["code"] == "INTERNAL_ERROR"
    assert (read.returncode, [m["content"] for m in json.loads(read.stdout)]) == (0, ["x"])
    assert counts(project)[1] == 1


def test_errors_on_a_terminal_are_the_same_words(project):
    shown, code = on_terminal(project, "message", "9", env={"NO_COLOR": "1"})
    assert code == 1
    assert shown.replace("\r\n", "\n") == project.bb("message", "9").err
