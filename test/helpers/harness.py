"""Stress tests of a board: concurrent commands, killed processes, mounts, and the state afterwards."""
import fcntl
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import time

import pytest

from conftest import BIN, Project, Result, environment

BB = str(BIN / "bb")
STRACE = shutil.which("strace")


def crash_steps(steps):
    """The steps at which a command is killed: every fifth, the first and the last; all with ABACUS_THOROUGH=1."""
    return range(1, steps + 1) if os.environ.get("ABACUS_THOROUGH") else sorted({1, *range(2, steps, 5), steps})


def strace_works():
    """Whether strace is installed and allowed to trace."""
    if not STRACE:
        return False
    done = subprocess.run([STRACE, "-qq", "-o", os.devnull, "-e", "inject=fsync:error=EIO",
                           "true"], capture_output=True)
    return done.returncode == 0


needs_strace = pytest.mark.skipif(not strace_works(), reason="strace is not at hand, or may not trace")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting and changing the user need root")


def notes(err):
    """The lines on stderr that are not a count of unread messages."""
    return [line for line in err.splitlines() if not line.startswith('{"unread":')]


def rows(project, sql, *args):
    """The rows of a query. It runs on a copy, because reading the board itself could checkpoint it."""
    scratch = pathlib.Path(tempfile.mkdtemp(dir=project.path.parent))
    try:
        for part in ("", "-wal"):
            source = pathlib.Path(f"{project.database}{part}")
            if source.exists():
                shutil.copy(source, scratch / f"copy.db{part}")
        db = sqlite3.connect(scratch / "copy.db")
        found = db.execute(sql, args).fetchall()
        db.close()
        return found
    finally:
        shutil.rmtree(scratch)


def messages(project):
    return rows(project, "SELECT id, from_agent, content FROM messages ORDER BY id")


def assert_sound(project):
    assert rows(project, "PRAGMA integrity_check") == [("ok",)]
    assert rows(project, "PRAGMA foreign_key_check") == []


def copy_of(project, path):
    """A copy of the board in another folder."""
    shutil.copytree(project.path, path, symlinks=True)
    return Project(path)


def held(project):
    """The bytes of every file below the board's folder, by name."""
    folder = project.path / ".bb"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def parts(project):
    """The bytes of the database and its WAL; the shared-memory file is only a cache."""
    found = {}
    for part in ("", "-wal"):
        path = pathlib.Path(f"{project.database}{part}")
        if path.exists():
            found[part] = path.read_bytes()
    return found


def start_together(project, commands, env=None, program=BB):
    """Runs all commands of one program at the same moment, and returns their results."""
    gate, opener = os.pipe()
    waiting = [subprocess.Popen(["sh", "-c", 'read _; exec "$@" </dev/null', "sh", program, *command], stdin=gate,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.path,
                                env=environment(**(env or {}))) for command in commands]
    os.close(gate)
    os.close(opener)
    return [finish(p) for p in waiting]


def finish(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return Result(subprocess.CompletedProcess(process.args, process.returncode, out, err))


def traced(project, inject, *args, env=None):
    """Runs `bb` with a fault injected into a system call."""
    done = subprocess.run(
        [STRACE, "-f", "-qq", "-o", os.devnull, "-e", f"inject={inject}", BB, *args],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, cwd=project.path,
        env=environment(**(env or {})))
    return Result(done)


def killed(result):
    return result.code in (-9, 137)


def patience(seconds):
    """A timeout scaled by the load of the machine: longer if more processes are runnable than there are cores.
    A timeout only detects hangs; the benchmark measures speed."""
    return seconds * max(1, 4 * os.getloadavg()[0] / os.cpu_count())


def wait_until(true, what, seconds=10):
    end = time.monotonic() + patience(seconds)
    while not true():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.002)


def processes_of(repo):
    """The processes that work on a clone, with their arguments; none where there is no /proc."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if os.fsencode(repo.path / ".git") in words:
            found.append((int(entry.parent.name), words))
    return found


def open_up(path):
    """Lets every user write to this folder, as if it had been shared carelessly, and enter those above it, up to one
    like /tmp."""
    path.chmod(0o777)
    for above in path.parents:
        if above.stat().st_mode & stat.S_ISVTX or above == above.parent:
            break
        above.chmod(above.stat().st_mode | 0o055)


def lock_is_free(path):
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


def reply_is_whole(out):
    """Whether the whole reply was printed; only then does it acknowledge the write."""
    return out.endswith("\n") and json.loads(out)


DESTRUCTIVE = ("destroy", "clear", "rm ", "--force", "delete", "remove", "unlink")


def assert_error(result, code):
    """The specified error code, a message, a next step that destroys nothing, and exit status 1."""
    assert result.code == 1, f"exit {result.code}\n{result.out}{result.err}"
    error = result.error
    assert error["code"] == code, error
    assert error["message"], error
    step = error["details"]["next_step"]
    assert step, error
    assert not [word for word in DESTRUCTIVE if word in f"{error['message']} {step}".lower()], error
    return error
