"""Stress tests of a bead store: saved states, injected faults, concurrent commands."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from conftest import BIN, BUILD, ROOT, Result, environment
from harness import STRACE, start_together

BD = str(BIN / "bd")
NOW = "2024-02-29T12:00:00.000Z"


def counts_faults(bd, scratch):
    """Whether this `bd` was built with FAULTS=1, which lets tests make it die at a chosen step."""
    counted = pathlib.Path(scratch) / "counted"
    counted.unlink(missing_ok=True)
    done = subprocess.run([bd, "init", "--prefix", "bd", "--json"], cwd=scratch, capture_output=True,
                          env=environment(BD_ACTOR="alice", ABACUS_FAULT_COUNT=counted))
    return done.returncode == 0 and counted.exists()


@pytest.fixture(scope="session")
def faulty(tmp_path_factory):
    """A `bd` built with FAULTS=1: the one that ./check has made, or a new build."""
    scratch = tmp_path_factory.mktemp("faulty")
    subprocess.run(["git", "init", "-q"], cwd=scratch, check=True, env=environment())
    for folder in (BUILD / "faulty", BUILD.parent / "faulty"):
        bd = folder / "bin" / "bd"
        if bd.exists() and counts_faults(str(bd), scratch):
            return str(bd)
    if not shutil.which("make") or not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("no build with FAULTS=1, and no compiler to make one")
    out = scratch / "build"
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "FAULTS=1", f"OUT={out}", "all"], cwd=ROOT, check=True,
                   capture_output=True, timeout=600)
    assert counts_faults(str(out / "bin" / "bd"), scratch)
    return str(out / "bin" / "bd")


class Store:
    """The store of a repository, with copies that can be restored."""

    def __init__(self, repo):
        self.repo = repo
        self.kept = pathlib.Path(tempfile.mkdtemp(dir=repo.path.parent))
        self.n = 0

    def keep(self):
        self.n += 1
        copy = self.kept / str(self.n)
        if self.repo.home.exists():
            shutil.copytree(self.repo.home, copy)
        return copy

    def put_back(self, copy):
        shutil.rmtree(self.repo.home, ignore_errors=True)
        if copy.exists():
            shutil.copytree(copy, self.repo.home)


def files(repo):
    """The names of the files in the store's folder."""
    return {f.name for f in repo.home.iterdir()} if repo.home.exists() else set()


BELONGS = {"lock", "config", "claims.jsonl", "cache.db", "cache.db-wal", "cache.db-shm", "journal.1", "journal.2", "journal.3",
           "sync.json", "sync.lock", "courier.lock", "pack.lock", "receipts.db", "receipts.db-wal", "receipts.db-shm",
           "history.db", "history.db-wal", "history.db-shm", "work"}


def drop_cache(repo):
    for part in ("", "-wal", "-shm"):
        pathlib.Path(f"{repo.cache}{part}").unlink(missing_ok=True)


def state(repo):
    """Everything that commands report about a store."""
    return {
        "beads": repo.json("list", "--all", "-n", "0"),
        "deleted": repo.json("deleted", "-n", "0"),
        "edges": repo.json("graph", "--all"),
        "ready": repo.ids("ready", "-n", "0"),
        "settings": repo.json("config", "list"),
    }


def assert_sound(repo):
    """The store has no findings, and the cache agrees with the journal."""
    found = repo.json("validate")
    assert (found["ok"], found["findings"]) == (True, []), found
    told = repo.json("doctor")
    assert told["ok"] and {c["status"] for c in told["checks"]} == {"ok"}, told
    assert {c["code"] for c in told["checks"]} >= {"journal", "contents", "cache"}, told


def traced(repo, inject, *args, calls=None, env=None, log=None, more=()):
    """Runs `bd` with a fault injected into a system call."""
    trace = ["-e", f"trace={calls}"] if calls else []
    return Result(subprocess.run(
        [STRACE, "-f", "-qq", "-o", str(log or os.devnull), *more, *trace, *(["-e", f"inject={inject}"] if inject else []),
         BD, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, cwd=repo.path,
        env=environment(**repo.env, **(env or {}))))


def storage_error(result):
    """The error of a command that failed with one JSON object on stdout and exit status 3."""
    assert result.code == 3, f"exit {result.code}\n{result.out}{result.err}"
    error = result.error
    assert error["code"] in ("storage", "corrupt", "busy"), error
    assert error["message"] and error["hint"], error
    return error


def together(repo, commands, env=None):
    return start_together(repo, commands, env={**repo.env, **(env or {})}, program=BD)
