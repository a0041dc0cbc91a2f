"""Disks that are full, read-only, locked or damaged, and boards of other programs."""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from datetime import datetime, timedelta, timezone

import pytest

from beads import is_error
from board import ORIGINAL_SQL
from conftest import Project, Result, environment
from harness import (BB, assert_error, assert_sound, finish, held, lock_is_free, patience,
                     needs_root, needs_strace, notes, parts, rows, traced, wait_until)
from remotes import bare, clone, sync

SEED = int(os.environ.get("ABACUS_SEED", "20240229"))
READS = [["log"], ["status"], ["summary"], ["artifacts"], ["export"], ["message", "1"], ["refs", "tt:issue:1"]]


@contextlib.contextmanager
def mounted(path, *options):
    path.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(path)], capture_output=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.decode().strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@contextlib.contextmanager
def read_only(project):
    """The project on a read-only mount."""
    with mounted(project.path, "--bind", str(project.path)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(project.path)], check=True)
        yield


def checkpoint(project, leave_wal=False):
    """Moves the log into the database, and removes it unless it is to be kept."""
    db = sqlite3.connect(project.database)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    assert leave_wal or not pathlib.Path(f"{project.database}-wal").exists()


def fill(path):
    """Leaves no free byte."""
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass


# --- a full disk


@pytest.fixture
def small(tmp_path):
    """A project on a disk of 1 MiB."""
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as path:
        yield Project(path)


@needs_root
def test_posts_until_the_disk_is_full(small):
    small.bb("init").ok()
    acknowledged = []
    for n in range(100):
        done = small.bb("--as", "a", "--json", "post", f"{n} " + "x" * 30000)
        if done.code:
            break
        acknowledged.append(done.json["content"])
    error = assert_error(done, "INTERNAL_ERROR")
    assert "space" in f"{error['message']} {error['details']['next_step']}".lower(), error
    assert len(acknowledged) > 3
    for _ in range(3):
        assert_error(small.bb("--as", "a", "--json", "post", "y" * 60000), "INTERNAL_ERROR")
    assert [m["content"] for m in small.json("log", "-n", "100")][::-1] == acknowledged


@needs_root
def test_a_disk_filled_by_others(small):
    small.bb("init").ok()
    small.json("--as", "a", "post", "before")
    fill(small.path / "filler")
    error = assert_error(small.bb("--as", "a", "--json", "post", "x" * 60000), "INTERNAL_ERROR")
    assert "space" in f"{error['message']} {error['details']['next_step']}".lower(), error
    for command in READS:
        small.json(*command)
        small.json("--as", "b", *command)
    there = small.bb("--json", "init")
    assert not [name for name in held(small) if "damaged" in name], "init took a sound board away"
    (small.path / "filler").unlink()
    assert small.json("--as", "a", "post", "after")["id"] == 2
    assert [m["content"] for m in small.json("log")] == ["after", "before"]
    assert there.code == 1 or there.json["result"] == "exists"


@needs_root
@pytest.mark.parametrize("log", [True, False], ids=["log", "no-log"])
def test_a_board_without_shared_memory_on_a_full_disk(small, log):
    """The files beside the database are missing, as after a copy, and cannot be created."""
    small.bb("init").ok()
    small.json("--as", "a", "post", "before")
    if not log:
        checkpoint(small)
    pathlib.Path(f"{small.database}-shm").unlink(missing_ok=True)
    fill(small.path / "filler")
    before = parts(small)
    there = small.bb("--json", "init")
    assert not [name for name in held(small) if "damaged" in name], "init took a sound board away"
    assert parts(small).get("") == before[""]
    assert there.code == 1 or there.json["result"] == "exists"
    assert_error(small.bb("--as", "a", "--json", "post", "x" * 60000), "INTERNAL_ERROR")
    (small.path / "filler").unlink()
    assert [m["content"] for m in small.json("log")] == ["before"]
    assert small.json("post", "after")["id"] == 2


@needs_root
def test_init_on_a_full_disk(small):
    fill(small.path / "filler")
    error = assert_error(small.bb("--json", "init"), "INTERNAL_ERROR")
    assert "space" in f"{error['message']} {error['details']['next_step']}".lower(), error
    assert small.bb("--json", "log").error["code"] in ("NOT_INITIALIZED", "INTERNAL_ERROR")
    (small.path / "filler").unlink()
    small.bb("init").ok()
    assert small.json("post", "first")["id"] == 1


@needs_root
def test_install_on_a_full_disk(small):
    mine = '{"mcpServers": {"other": {"command": "x"}}, "pad": "' + "p" * 9000 + '"}'
    (small.path / ".mcp.json").write_text(mine)
    fill(small.path / "filler")
    assert_error(small.bb("--json", "install", "claude", "--write"), "INTERNAL_ERROR")
    assert (small.path / ".mcp.json").read_text() == mine
    assert sorted(p.name for p in small.path.iterdir()) == [".mcp.json", "filler"]


@needs_strace
@pytest.mark.parametrize("fault", ["pwrite64:error=ENOSPC:when=1+", "/^ftruncate:error=ENOSPC:when=1+",
                                   "pwrite64:error=EIO:when=1+", "pread64:error=EIO:when=1+"])
def test_init_on_a_sound_board_and_a_failing_disk(project, fault):
    """A failing disk does not mean that the database is damaged."""
    project.json("post", "kept")
    traced(project, fault, "--json", "init")
    assert not [name for name in held(project) if "damaged" in name], "init took a sound board away"
    assert [m["content"] for m in project.json("log")] == ["kept"]


# --- a read-only disk


LEFT = ["closed", "log", "log-only"]


def leave(project, state):
    """A board in different states: closed properly, with its log, with the log alone."""
    (project.path / "f").write_text("x")
    project.json("--as", "w", "post", "hello", "--ref", "tt:issue:1", "--priority", "high")
    project.json("--as", "w", "artifact", "add", "f", "a file")
    if state == "closed":
        checkpoint(project)
        project_files = held(project)
        assert "blackboard.db-wal" not in project_files
    if state == "log-only":
        pathlib.Path(f"{project.database}-shm").unlink()


def assert_reads_work(run):
    for command in READS:
        for name in ([], ["--as", "r"]):
            done = run("--json", *name, *command)
            assert done.code == 0, f"{command}: {done.out}{done.err}"
            assert notes(done.err) == []
    assert [m["content"] for m in run("--json", "log").json] == ["hello"]
    assert [a["id"] for a in run("--json", "status").json] == ["w"]


@needs_root
@pytest.mark.parametrize("state", LEFT)
def test_reads_on_a_read_only_mount(project, state):
    leave(project, state)
    with read_only(project):
        assert_reads_work(project.bb)
        # and also for an agent that has gone offline, which a read would write down
        late = {"ABACUS_NOW": (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat()}
        assert project.json("status", env=late)[0]["status"] == "offline"


@needs_root
def test_writes_on_a_read_only_mount(project):
    leave(project, "log")
    (project.path / ".mcp.json").write_text("{}")
    with read_only(project):
        before = held(project)
        for command in (["post", "x"], ["status", "set", "x"], ["artifact", "add", "f", "d"],
                        ["clear", "--artifacts", "--confirm"], ["install", "claude", "--write"],
                        ["destroy", "--confirm"]):
            done = project.bb("--json", *command)
            assert done.code == 1 and done.error["code"] == "INTERNAL_ERROR", (command, done.out)
            text = f"{done.error['message']} {done.error['details']['next_step']}"
            assert "ead-only" in text, (command, text)
        there = project.bb("--json", "init")
        assert there.code == 1 or there.json["result"] == "exists"
        assert held(project) == before
    assert project.json("post", "again")["id"] == 2


@needs_root
def test_init_on_a_read_only_mount(empty):
    with read_only(empty):
        error = assert_error(empty.bb("--json", "init"), "INTERNAL_ERROR")
        assert "ead-only" in error["message"]
    assert list(empty.path.iterdir()) == []


@pytest.fixture
def shared():
    """A board of root in a folder that all users may enter, and `bb` as a user without permissions there."""
    base = pathlib.Path(tempfile.mkdtemp(prefix="bb-shared-"))
    try:
        base.chmod(0o755)
        shutil.copy(BB, base / "bb")
        project = Project(base / "project")
        project.path.mkdir()
        project.bb("init").ok()

        trust = {"GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": project.path}

        def run(*args, env=None):
            return Result(subprocess.run([str(base / "bb"), *args], stdin=subprocess.DEVNULL,
                                         capture_output=True, timeout=60, cwd=project.path,
                                         env=environment(**{**trust, **(env or {})}), user=65534, group=65534,
                                         extra_groups=[]))

        project.as_other_user = run
        yield project
    finally:
        shutil.rmtree(base)


@needs_root
@pytest.mark.parametrize("state", LEFT)
def test_a_board_that_may_only_be_read(shared, state):
    leave(shared, state)
    folder = shared.path / ".bb"
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)
    before = held(shared)
    assert_reads_work(shared.as_other_user)
    done = shared.as_other_user("--json", "post", "x")
    error = assert_error(done, "INTERNAL_ERROR")
    assert "ermission denied" in error["message"], error
    there = shared.as_other_user("--json", "init")
    assert there.code == 1 or there.json["result"] == "exists"
    assert held(shared) == before
    assert shared.json("post", "again")["id"] == 2


@needs_root
def test_a_board_that_may_not_be_read(shared):
    """The error has to say that it exists: 'none found' would lead people to init."""
    for command in (["log"], ["post", "x"], ["init"]):
        error = assert_error(shared.as_other_user("--json", *command), "INTERNAL_ERROR")
        assert "ermission denied" in error["message"], (command, error)


@needs_root
def test_a_database_that_may_not_be_read_in_a_folder_that_may(shared):
    """It is not damaged, only not readable: init does not change it although it could rename it."""
    shared.json("post", "kept")
    folder = shared.path / ".bb"
    os.chown(folder, 65534, 65534)
    os.chown(folder / "lock", 65534, 65534)
    before = held(shared)
    done = shared.as_other_user("--json", "init")
    assert not [name for name in held(shared) if "damaged" in name], "init took a sound board away"
    assert done.code == 1 and held(shared) == before, done.out


# --- a locked database


def timed(project, *args):
    start = time.monotonic()
    done = project.bb(*args)
    return done, time.monotonic() - start


def assert_reads_go_on(project):
    for command in READS[:4]:
        done, seconds = timed(project, "--json", "--as", "r", *command)
        assert done.code == 0 and seconds < patience(2), (command, seconds, done.out)


def test_a_database_locked_by_another_program(project):
    project.json("post", "before")
    other = sqlite3.connect(project.database, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    start = time.monotonic()
    waiting = [project.spawn("--json", *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) for command in (["post", "x"], ["status", "set", "y"],
                                                                     ["post", "z"])]
    assert_reads_go_on(project)
    for process in waiting:
        done = finish(process)
        seconds = time.monotonic() - start
        error = assert_error(done, "DATABASE_BUSY")
        assert 4.5 < seconds < 5 + patience(2), (seconds, error)
    other.execute("ROLLBACK")
    other.close()
    done, seconds = timed(project, "--json", "post", "after")
    assert done.json["id"] == 2 and seconds < patience(2)
    assert [m["content"] for m in project.json("log")] == ["after", "before"]


def test_a_writer_that_queues_behind_another_waits_no_longer(project):
    """Five seconds is the limit of a command, not of each lock."""
    other = sqlite3.connect(project.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    first = project.spawn("--json", "post", "x", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    wait_until(lambda: not lock_is_free(project.path / ".bb" / "lock"), "the first one has the board's lock")
    time.sleep(1)  # so that the second one gets that lock when little of its time is left
    done, seconds = timed(project, "--json", "post", "y")
    finish(first)
    other.close()
    assert_error(done, "DATABASE_BUSY")
    assert 4.5 < seconds < 5 + patience(2), seconds


def test_a_stopped_process_that_holds_the_lock(project):
    project.json("post", "before")
    other = sqlite3.connect(project.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    holder = project.spawn("--json", "post", "never", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        wait_until(lambda: not lock_is_free(project.path / ".bb" / "lock"), "it has the board's lock")
        holder.send_signal(signal.SIGSTOP)
        os.waitpid(holder.pid, os.WUNTRACED)
        other.execute("ROLLBACK")
        other.close()
        start = time.monotonic()
        waiting = [project.spawn("--json", *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for command in (["post", "x"], ["init"])]
        assert_reads_go_on(project)
        post, init = [finish(p) for p in waiting]
        seconds = time.monotonic() - start
        assert_error(post, "DATABASE_BUSY")
        assert 4.5 < seconds < 5 + patience(2), seconds
        assert init.code == 0 or init.error["code"] == "DATABASE_BUSY", init.out
    finally:
        holder.kill()
        holder.communicate()
    done, seconds = timed(project, "--json", "post", "after")
    assert done.code == 0 and seconds < patience(1)
    assert [m["content"] for m in project.json("log")] == ["after", "before"]
    assert_sound(project)


# --- a damaged database


def noise(n):
    return random.Random(SEED).randbytes(n)


def half_made(path):
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as db:  # closing it moves the log into the file
        db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE x (y); DROP TABLE x;")


DAMAGE = {
    "noise": lambda p: p.write_bytes(noise(p.stat().st_size)),
    "header": lambda p: p.write_bytes(noise(100) + p.read_bytes()[100:]),
    "truncated": lambda p: p.write_bytes(p.read_bytes()[:p.stat().st_size // 2]),
    "cut-in-page-one": lambda p: p.write_bytes(p.read_bytes()[:1000]),
    "zero-length": lambda p: p.write_bytes(b""),
    "text": lambda p: p.write_text("Dear database,\nI am a letter.\n" * 100),
    "pages-of-noise": lambda p: p.write_bytes(p.read_bytes()[:4096] + noise(p.stat().st_size - 4096)),
    "no-tables": half_made,
}


def damage(project, kind):
    for n in range(20):
        project.bb("--quiet", "post", f"message {n} " + "x" * 3000).ok()
    checkpoint(project)
    pathlib.Path(f"{project.database}-shm").unlink(missing_ok=True)
    DAMAGE[kind](project.database)
    return project.database.read_bytes()


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_database(project, kind):
    bytes_ = damage(project, kind)
    for command in [*READS, ["post", "x"], ["status", "set", "x"], ["clear", "--artifacts", "--confirm"]]:
        done = project.bb("--json", *command)
        # where only some pages are damaged, what can be read without them is right
        if done.code == 0 and kind in ("pages-of-noise", "truncated"):
            continue
        assert done.code == 1, f"{command}: exit {done.code} {done.out}{done.err}"
        assert_error(done, "INTERNAL_ERROR")
        assert "abacus doctor --fix" in done.error["details"]["next_step"], (command, done.error)
        assert project.database.read_bytes() == bytes_, f"{command} changed the damaged file"
    human = project.bb("log")
    if human.code:
        assert human.code == 1 and human.out == "" and human.err.startswith("error: "), human.err


@pytest.mark.parametrize("kind", DAMAGE)
def test_init_on_a_damaged_database(project, kind):
    bytes_ = damage(project, kind)
    done = project.bb("--json", "init")
    assert done.code == 0, f"exit {done.code} {done.out}{done.err}"
    if kind == "zero-length":  # nothing in it that could be kept
        assert done.json["kept_aside"] is None and done.err.startswith("warning: ")
        return
    aside = pathlib.Path(done.json["kept_aside"])
    assert aside.read_bytes() == bytes_
    assert done.err.startswith("warning: ") and str(aside) in done.err
    assert project.json("post", "first")["id"] == 1
    assert [m["content"] for m in project.json("log")] == ["first"]
    assert project.bb("--json", "init").json["result"] == "exists"
    assert aside.read_bytes() == bytes_
    assert_sound(project)


@pytest.mark.parametrize("kind", ["noise", "text", "empty"])
def test_a_damaged_log_of_a_board_that_is_in_the_log(project, kind):
    """All but the first page is in the log, as if another program had made the board. Nothing wrong is shown, and
    nothing is overwritten."""
    db = sqlite3.connect(project.database)
    script = "\n".join(db.iterdump())
    db.close()
    for part in parts(project):
        pathlib.Path(f"{project.database}{part}").unlink()
    other = sqlite3.connect(project.database, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("PRAGMA wal_autocheckpoint = 0")
    other.executescript(script)
    project.json("post", "only in the log")
    held = parts(project)
    other.close()  # which writes the log back
    for part, content in held.items():
        pathlib.Path(f"{project.database}{part}").write_bytes(content)
    wal = pathlib.Path(f"{project.database}-wal")
    wal.write_bytes({"noise": noise(wal.stat().st_size), "text": b"a letter\n" * 999, "empty": b""}[kind])
    pathlib.Path(f"{project.database}-shm").unlink(missing_ok=True)
    damaged = parts(project)
    for command in [*READS, ["post", "x"]]:
        done = project.bb("--json", *command)
        assert done.code == 1, f"{command}: exit {done.code} {done.out}{done.err}"
        assert_error(done, "INTERNAL_ERROR")
        assert parts(project).get("-wal") == damaged["-wal"], f"{command} changed the damaged log"
    done = project.bb("--json", "init").ok()
    aside = done.json["kept_aside"]
    assert pathlib.Path(aside).read_bytes() == damaged[""]
    if kind != "empty":
        assert pathlib.Path(f"{aside}-wal").read_bytes() == damaged["-wal"]
    assert project.json("post", "first")["id"] == 1


@pytest.mark.parametrize("where", [0, 8, 40, 5000, -100])
def test_noise_in_the_log_of_a_written_back_board(project, where):
    """Checkpointed data is kept; of the log, the part before the damage counts."""
    for n in range(5):
        project.json("post", f"written back {n}")
    checkpoint(project)
    for n in range(3):
        project.json("post", f"in the log {n}")
    wal = pathlib.Path(f"{project.database}-wal")
    data = bytearray(wal.read_bytes())
    at = where if where >= 0 else len(data) + where
    data[at:at + 32] = noise(32)
    wal.write_bytes(data)
    all_of_it = [f"written back {n}" for n in range(5)] + [f"in the log {n}" for n in range(3)]
    seen = [m["content"] for m in project.json("log")][::-1]
    assert seen == all_of_it[:len(seen)] and len(seen) >= 5
    assert project.json("post", "next")["id"] == len(seen) + 1
    assert_sound(project)


def test_a_missing_database(project):
    for name in list(held(project)):
        if name.startswith("blackboard.db"):
            (project.path / ".bb" / name).unlink()
    for command in [*READS, ["post", "x"]]:
        error = assert_error(project.bb("--json", *command), "NOT_INITIALIZED")
        assert "bb init" in error["details"]["next_step"]
    assert not project.database.exists()
    done = project.bb("init").ok()
    assert done.err.startswith("warning: ")
    assert project.json("post", "first")["id"] == 1


def test_a_missing_database_whose_log_is_left(project):
    """The log may be all that is left of the messages, so it is kept, and not applied to the new database."""
    project.json("post", "only in the log")
    project.database.unlink()
    log = pathlib.Path(f"{project.database}-wal").read_bytes()
    done = project.bb("--json", "init").ok()
    assert done.err.startswith("warning: ")
    assert log in held(project).values(), "the old log is lost"
    assert project.json("post", "first")["id"] == 1
    assert [m["content"] for m in project.json("log")] == ["first"]


def test_a_folder_where_the_database_should_be(project):
    for name in list(held(project)):
        if name.startswith("blackboard.db"):
            (project.path / ".bb" / name).unlink()
    project.database.mkdir()
    for command in (["log"], ["post", "x"]):
        assert_error(project.bb("--json", *command), "INTERNAL_ERROR")


# --- a board of another make


NOW = datetime(2024, 5, 17, 0, 10, 0, tzinfo=timezone.utc)  # ten minutes past midnight: days differ

STAMPS = {
    "seconds": lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
    "nanoseconds": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.%f") + "789+00:00",
    "milliseconds": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{t.microsecond // 1000:03}Z",
    "mixed": lambda t: STAMPS[["nanoseconds", "seconds"][t.minute in (9, 45, 10)]](t),
}

AGES = {"now": timedelta(seconds=20), "recent": timedelta(minutes=7), "late": timedelta(minutes=25),
        "hour": timedelta(minutes=59), "day": timedelta(hours=23), "old": timedelta(days=8)}


@pytest.fixture(params=[(s, j) for s in STAMPS for j in ("WAL", "DELETE")], ids=lambda p: "-".join(p))
def foreign(empty, request):
    """A board made by another program that knows only the seed's schema."""
    stamp, journal = STAMPS[request.param[0]], request.param[1]
    (empty.path / ".bb").mkdir()
    db = sqlite3.connect(empty.database)
    db.executescript(f"PRAGMA journal_mode = {journal};\nPRAGMA busy_timeout = 5000;\n"
                     "PRAGMA foreign_keys = ON;\n" + ORIGINAL_SQL)
    for name, age in sorted(AGES.items(), key=lambda item: -item[1]):
        t = stamp(NOW - age)
        db.execute("INSERT INTO agents (id, status, last_seen, updated_at) VALUES (?, 'coding', ?, ?)",
                   (name, t, t))
        db.execute("INSERT INTO messages (from_agent, content, tags, priority, created_at)"
                   " VALUES (?, ?, '[\"info\"]', 'high', ?)", (name, f"from {name}", t))
        db.execute("INSERT INTO artifacts (path, produced_by, created_at) VALUES (?, ?, ?)",
                   (f"{name}.txt", name, t))
        (empty.path / f"{name}.txt").write_text("")
    db.commit()
    db.close()
    empty.env["ABACUS_NOW"] = NOW.isoformat()
    return empty


BY_AGE = ["now", "recent", "late", "hour", "day", "old"]


def test_a_board_of_another_program_is_read(foreign):
    log = foreign.json("log")
    assert [m["content"] for m in log] == [f"from {n}" for n in BY_AGE]
    for m in log:
        at = datetime.fromisoformat(m["created_at"].replace("Z", "+00:00"))
        assert m["created_at"].endswith("Z") and at == NOW - AGES[m["from_agent"]]
    status = foreign.json("status")
    assert [a["id"] for a in status] == BY_AGE
    assert [a["liveness"] for a in status] == ["active", "stale", "stale"] + ["offline"] * 3
    assert [a["status"] for a in status] == ["coding"] * 3 + ["offline"] * 3
    assert [a["minutes_since_last_seen"] for a in status] == [0, 7, 25, 59, 23 * 60, 8 * 24 * 60]
    assert [a["path"] for a in foreign.json("artifacts")] == [f"{n}.txt" for n in BY_AGE]
    summary = foreign.json("summary")
    assert [m["from_agent"] for m in summary["recent_messages"]] == BY_AGE[:3]
    assert [a["produced_by"] for a in summary["recent_artifacts"]] == BY_AGE[:4]
    export = foreign.json("export")
    assert [len(export[k]) for k in ("agents", "messages", "artifacts")] == [6, 6, 6]


@pytest.mark.parametrize("since, count", [("19s", 0), ("20s", 1), ("10m", 2), ("15m", 2), ("1h", 4), ("23h", 5), ("1d", 5),
                                          ("1w", 5), ("2w", 6)])
def test_since_on_a_board_of_another_program(foreign, since, count):
    assert [m["from_agent"] for m in foreign.json("log", "--since", since)] == BY_AGE[:count]


def test_a_board_of_another_program_can_be_used_completely(foreign):
    assert [m["unread"] for m in foreign.json("--as", "r", "log", "--unread", "-n", "2")] == [True] * 2
    done = foreign.bb("--as", "r", "--json", "post", "mine", "--reply-to", "1")
    assert done.json["id"] == 7
    assert foreign.json("--as", "r", "summary")["unread"]["highest_priority"] == "high"
    foreign.json("--as", "r", "log")
    assert foreign.json("--as", "r", "summary")["unread"] == {"count": 0, "highest_priority": None}
    assert foreign.json("--as", "old", "status", "set", "back", "--progress", "5")["status"] != "offline"
    assert foreign.json("--as", "r", "artifact", "add", "now.txt", "again")["id"] == 6
    assert [m["id"] for m in foreign.json("message", "1")] == [1, 7]
    cleared = foreign.json("clear", "--messages-before", "1h", "--confirm")
    assert cleared["messages"] == 1  # 23 hours old; the 8 days old one has a reply
    assert [m["from_agent"] for m in foreign.json("log")] == ["r", "now", "recent", "late", "hour", "old"]
    twice = [foreign.bb("--as", "r", "--json", "--request-id", "q", "post", "once").ok().out for _ in range(2)]
    assert twice[0] == twice[1]
    assert foreign.bb("--json", "init").json["result"] == "exists"
    tables = [t for t, in rows(foreign, "SELECT sql FROM sqlite_schema WHERE name IN"
                                        " ('agents', 'messages', 'artifacts', 'schema_version')")]
    assert len(tables) == 4 and all(t in ORIGINAL_SQL for t in tables), "the seed's tables were changed"
    assert_sound(foreign)


def test_the_other_program_still_reads_what_we_write(foreign):
    foreign.json("--as", "us", "post", "hello")
    foreign.json("--as", "us", "status", "set", "work")
    since = (NOW - timedelta(minutes=1)).strftime("%Y-%m-%d %H:%M:%S")
    assert rows(foreign, "SELECT content FROM messages WHERE datetime(created_at) >= datetime(?)"
                         " AND from_agent = 'us'", since) == [("hello",)]
    assert rows(foreign, "SELECT id FROM agents WHERE datetime(last_seen) > datetime(?) AND id = 'us'",
                since) == [("us",)]


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("foreign", [("mixed", "WAL")], indirect=True)
def test_the_newest_messages_of_a_board_of_two_programs(foreign, limit):
    """By time, whatever the format of the time."""
    assert [m["from_agent"] for m in foreign.json("log", "--since", "1w", "-n", str(limit))] == BY_AGE[:limit]


@pytest.mark.parametrize("foreign", [("seconds", "DELETE")], indirect=True)
def test_a_board_in_another_journal_mode(foreign):
    """Our first write sets WAL mode, as the seed says, so that reads are not blocked."""
    foreign.json("post", "x")
    assert rows(foreign, "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_schema_is_refused_without_change(project, version):
    project.json("post", "theirs")
    db = sqlite3.connect(project.database)
    db.execute("UPDATE schema_version SET version = ?", (version,))
    db.commit()
    db.close()

    def content():
        return {name: data for name, data in held(project).items() if data and not name.endswith("-shm")}

    before = content()
    for command in [*READS, ["post", "x"], ["status", "set", "x"], ["clear", "--artifacts", "--confirm"],
                    ["init"]]:
        done = project.bb("--json", *command)
        assert done.code == 1, (command, done.out, sorted(held(project)))
        error = assert_error(done, "INTERNAL_ERROR")
        assert str(version) in error["message"]
        assert content() == before, command


def test_a_schema_version_without_a_row(project):
    db = sqlite3.connect(project.database)
    db.execute("DELETE FROM schema_version")
    db.commit()
    db.close()
    for command in (["log"], ["post", "x"]):
        assert_error(project.bb("--json", *command), "INTERNAL_ERROR")


def test_an_sqlite_file_of_another_program(empty):
    """It is valid, but not a board: nothing may write to it, and init keeps it."""
    (empty.path / ".bb").mkdir()
    db = sqlite3.connect(empty.database)
    db.execute("CREATE TABLE diary (day TEXT)")
    db.commit()
    db.close()
    before = empty.database.read_bytes()
    for command in (["log"], ["post", "x"]):
        done = empty.bb("--json", *command)
        assert done.code == 1, f"{command}: exit {done.code} {done.err}"
        assert_error(done, "INTERNAL_ERROR")
        assert empty.database.read_bytes() == before
    empty.bb("--json", "init").ok()
    assert before in held(empty).values()


@needs_root
def test_a_service_reports_that_it_cannot_write(repo):
    """It does not report that another service runs."""
    (repo.home / "serve").mkdir(mode=0o700)
    with read_only(repo):
        done = repo.run("serve", program="abacus")
        assert done.code == 1 and "Read-only file system" in done.err and "runs for this project" not in done.err
        assert "'abacus serve'" in repo.run("open", "--print", program="abacus").err


@needs_root
def test_a_sync_on_a_full_disk_names_the_disk(tmp_path):
    """libgit2 sets no error where the write of an object fails; the error named an earlier one, of a missing object."""
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=6m", "tmpfs"):
        remote = bare(tmp_path / "small" / "hub.git")
        repo = clone(tmp_path / "small" / "here", remote)
        rng = random.Random(SEED)
        for _ in range(60):
            repo.create(f"bead {rng.random()} {rng.random()} {rng.random()}")
        sync(repo)
        repo.create("one more")
        fill(tmp_path / "small" / "fill")
        error = is_error(repo.bd("sync", "--json"), "storage", 3)
        assert "No space left on device" in error["message"], error
        assert error["hint"].startswith("Nothing was lost. Free some space"), error
        (tmp_path / "small" / "fill").unlink()
        assert sync(repo)["pushed"] == 1


@needs_root
def test_a_sync_to_a_folder_on_a_full_disk_asks_for_space_there(tmp_path):
    small = tmp_path / "small"
    with mounted(small, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        repo = clone(tmp_path / "here", bare(small / "hub.git"))
        repo.create("one")
        sync(repo)
        fill(small / "fill")
        repo.create("two", "-d", "x" * 50_000)
        error = is_error(repo.bd("sync", "--json"), "remote_rejected", 4)
        assert "No space left on device" in error["message"], error
        assert f"Free some space on the disk of '{small / 'hub.git'}'" in error["hint"], error
        (small / "fill").unlink()
        assert sync(repo)["pushed"] == 1
