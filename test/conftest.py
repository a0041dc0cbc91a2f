"""Shared by all tests: a project for each test, and the programs to run in it."""
import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ABACUS_BUILD", ROOT / "build")).resolve()
BIN = BUILD / "bin"
sys.path += [str(ROOT / "test" / "helpers")] + sorted({str(file.parent) for file in (ROOT / "test").rglob("test_*.py")})


class Result:
    """The result of a program: exit status and output."""

    def __init__(self, done):
        self.code = done.returncode
        self.bytes = done.stdout
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        return self.json["error"]

    def ok(self):
        assert self.code == 0, f"exit {self.code}\n{self.out}{self.err}"
        return self


def environment(**more):
    """Contains nothing of the person who runs the tests."""
    keep = {k: os.environ[k] for k in ("PATH", "TMPDIR", "LANG", "ASAN_OPTIONS", "LSAN_OPTIONS") if k in os.environ}
    return {**keep, "HOME": "/nonexistent", "ABACUS_AUTOSYNC": "0", **{k: str(v) for k, v in more.items()}}


class Project:
    """A folder with a board, and `bb` to use it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.env = {}

    def run(self, *args, program="bb", stdin=b"", cwd=None, env=None, timeout=60):
        return Result(subprocess.run(
            [str(BIN / program), *args], input=stdin, capture_output=True, timeout=timeout,
            cwd=cwd or self.path, env=environment(**{**self.env, **(env or {})})))

    def bb(self, *args, **kw):
        return self.run(*args, **kw)

    def json(self, *args, **kw):
        """The reply of a command that has to succeed."""
        return self.run("--json", *args, **kw).ok().json

    def fails(self, *args, **kw):
        """The error object of a command that has to fail."""
        done = self.run("--json", *args, **kw)
        assert done.code != 0, done.out
        return done.error

    def spawn(self, *args, program="bb", cwd=None, env=None, **kw):
        return subprocess.Popen([str(BIN / program), *args], cwd=cwd or self.path,
                                env=environment(**{**self.env, **(env or {})}), **kw)

    @property
    def database(self):
        return self.path / ".bb" / "blackboard.db"


class Repo(Project):
    """A Git repository with beads, and `bd` to use them."""

    def __init__(self, path):
        super().__init__(path)
        self.env = {"BD_ACTOR": "alice"}

    def run(self, *args, program="bd", **kw):
        return super().run(*args, program=program, **kw)

    def spawn(self, *args, program="bd", **kw):
        return super().spawn(*args, program=program, **kw)

    bd = run

    def create(self, title, *args, **kw):
        """A new bead's id."""
        return self.json("create", title, *args, **kw)["id"]

    def show(self, bead, **kw):
        return self.json("show", bead, **kw)[0]

    def ids(self, *args, **kw):
        """The ids in the list that a command returns."""
        return [bead["id"] for bead in self.json(*args, **kw)]

    @property
    def home(self):
        return self.path / ".git" / "abacus"

    @property
    def journal(self):
        return self.home / "journal.1"

    @property
    def cache(self):
        return self.home / "cache.db"


@functools.cache
def template():
    """The template of `git init`, without the sample hooks, which would be most of a repository."""
    path = tempfile.mkdtemp(prefix="abacus-template-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    for name in ("hooks", "info"):
        (pathlib.Path(path) / name).mkdir()
    return path


def git(path, *args):
    """Runs Git with nothing of the settings of the person who runs the tests."""
    return subprocess.run(
        ["git", "-c", "user.name=tester", "-c", "user.email=t@example.com", *args], cwd=path,
        check=True, capture_output=True, env=environment(GIT_CONFIG_NOSYSTEM=1, GIT_TEMPLATE_DIR=template())).stdout.decode()


def git_tree(path, *entries):
    """A tree of any entries (mode, name, object), also those that Git would not write."""
    text = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return subprocess.run(["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], cwd=path, input=text,
                          capture_output=True, check=True, env=environment()).stdout.decode().strip()


@pytest.fixture
def plain_repo(tmp_path):
    """A Git repository without beads."""
    path = tmp_path / "proj"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    return Repo(path)


@pytest.fixture(scope="session")
def repo_with_beads(tmp_path_factory):
    """Made once, because starting programs takes most of the time."""
    path = tmp_path_factory.mktemp("beads") / "proj"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    Repo(path).bd("init", "--prefix", "bd", env={"ABACUS_NOW": "0"}).ok()  # before any time a test chooses
    return path


@pytest.fixture
def repo(tmp_path, repo_with_beads):
    shutil.copytree(repo_with_beads, tmp_path / "proj")
    return Repo(tmp_path / "proj")


@pytest.fixture
def empty(tmp_path):
    """A folder without a board."""
    path = tmp_path / "project"
    path.mkdir()
    return Project(path)


@pytest.fixture
def project(empty):
    empty.bb("init").ok()
    return empty
