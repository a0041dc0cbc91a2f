"""A project with data in every store, and functions that plant text in each of them."""
import contextlib
import json
import pathlib
import shutil
import sqlite3

import pytest

from beads import canonical
from conftest import Repo, git
from remotes import FILES, REF, bare, published
from test_sync_damage import commit, summed

NOW = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}

# Escapes, CSI and OSC as one character, bell, carriage return, backspace, delete, bidirectional overrides, isolates and
# marks, line separators, zero width space, byte order mark, tag characters.
EVIL = ("\x1b[31mA\x9b2J\x9d0;t\x07B\rC\bD\x7f\u202eE\u202c\u2066F\u2069\u200e\u200f\u061c\u2028G\u2029\u0085\u200b\ufeff"
        "\U000e0041\x00")
NAME = EVIL.replace("\x00", "")  # for places that cannot contain NUL


class World(Repo):
    """A repository with a remote, beads, agents, a board and continuity."""

    def __init__(self, path, remote):
        super().__init__(path)
        self.remote = remote
        self.env = {"BD_ACTOR": "anna", "VYBE_AGENT": "amber-otter", "HOME": str(path.parent), **NOW}

    @property
    def agents(self):
        return self.path / ".beadboard" / "agent"

    @property
    def continuity(self):
        return self.home / "vybe.db"

    def bb(self, *args, **kw):
        return self.run(*args, program="bb", **kw)

    def vybe(self, *args, **kw):
        return self.run(*args, program="vybe", **kw)


def fill(path):
    """Makes the project with our own commands."""
    bare(path / "beads.git")
    home = path / "proj"
    home.mkdir()
    git(home, "init", "-q", "-b", "main")
    git(home, "remote", "add", "origin", "../beads.git")
    world = World(home, path / "beads.git")
    run = lambda program, *args: world.run(*args, program=program).ok()  # noqa: E731
    run("bd", "init", "--prefix", "bd")
    for id, title in (("bd-a", "first"), ("bd-b", "second"), ("bd-c", "third"), ("bd-epic", "epic"), ("bd-gone", "gone")):
        run("bd", "create", title, "--id", id, "-d", "text", "--design", "text", "--acceptance", "text", "-l", "label",
            *(["--type", "epic"] if id == "bd-epic" else []))
    run("bd", "comment", "bd-a", "note")
    run("bd", "dep", "add", "bd-b", "bd-a")
    run("bd", "dep", "add", "bd-a", "bd-epic", "--type", "parent")
    run("bd", "claim", "bd-a")
    run("bd", "close", "bd-c", "--reason", "done")
    run("bd", "delete", "bd-gone", "--reason", "why", "--force")
    run("bd", "sync")
    run("bd", "update", "bd-a", "--title", "first of all")
    run("bd", "sync")
    run("bb", "init")
    run("bb", "--as", "kim", "status", "set", "task", "--status", "blocked", "--blockers", "blocker")
    run("bb", "--as", "kim", "post", "hello", "--tag", "tag", "--ref", "tt:issue:42", "--priority", "high")
    run("bb", "--as", "lee", "post", "reply to amber-otter", "--reply-to", "1", "--ref", "bd:bead:bd-a")
    (home / "file.txt").write_text("x")
    run("bb", "--as", "kim", "artifact", "add", "file.txt", "text", "--version", "v1", "--ref", "tt:issue:42")
    for name in ("amber-otter", "blue-heron"):
        run("bb", "agent", "register", "--name", name, "--role", "ui")
    run("bb", "agent", "send", "--from", "blue-heron", "--to", "amber-otter", "--bead", "bd-a", "--category", "HANDOFF",
        "--subject", "subject", "--body", "body")
    run("bb", "agent", "reserve", "--agent", "blue-heron", "--scope", "src/*", "--bead", "bd-a")
    run("bb", "agent", "reserve", "--agent", "amber-otter", "--scope", "src/x.c", "--bead", "bd-b")
    run("vybe", "task", "create", "--title", "task", "--desc", "text", "--request-id", "r1")
    run("vybe", "push", "--request-id", "r2", "--json", json.dumps(
        {"task_id": "bd-b", "event": {"kind": "progress", "message": "text", "metadata": {"key": "value"}},
         "artifacts": [{"file_path": "file.txt", "content_type": "text"}],
         "memories": [{"key": "key", "value": "value", "scope": "task", "scope_id": "bd-b"}]}))
    run("vybe", "memory", "set", "--request-id", "r3", "--key", "key", "--value", "value", "--scope", "global")
    run("vybe", "resume", "--request-id", "r4")
    return world


# --- beads, in a pushed commit ---

def at(path):
    """The world that fill() has made in this folder."""
    world = World(path / "proj", path / "beads.git")
    world.message = next((world.agents / "messages" / "index").iterdir()).stem
    return world


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A world that is made once per module; tests get copies."""
    path = tmp_path_factory.mktemp("world") / "w"
    path.mkdir()
    fill(path)
    return path


@pytest.fixture
def world(tmp_path, made):
    shutil.copytree(made, tmp_path / "w")
    return at(tmp_path / "w")


def push(world, change):
    """Publishes a commit with `change` applied to every line, and syncs."""
    files = published(world.remote)
    for name in FILES[:3]:
        lines = [json.loads(line) for line in files[name].splitlines()]
        files[name] = b"".join(canonical(change(line)).encode() + b"\n" for line in lines)
    made = commit(world.remote, summed(files), git(world.remote, "rev-parse", REF).strip())
    git(world.remote, "update-ref", REF, made)
    return world.run("sync")


# --- files of agents ---

def each_string(value, change, key=None):
    """A copy of a value with `change` applied to every string."""
    if isinstance(value, dict):
        return {k: each_string(v, change, k) for k, v in value.items()}
    if isinstance(value, list):
        return [each_string(v, change, key) for v in value]
    return change(key, value) if isinstance(value, str) else value


def rewrite(folder, change):
    """Applies `change` to every string in every JSON file below a folder."""
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if not file.is_file() or file.suffix not in (".json", ".jsonl"):
            continue
        with contextlib.suppress(ValueError):
            text = file.read_text()
            parts = text.splitlines() if file.suffix == ".jsonl" else [text]
            parts = [json.dumps(each_string(json.loads(part), change), separators=(",", ":")) for part in parts]
            file.write_text("".join(part + "\n" for part in parts))


# --- databases ---

def texts(database, types=("TEXT", "TIMESTAMP")):
    """Every table and column whose type is one of these."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        for table, in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'").fetchall():
            for column in db.execute(f"PRAGMA table_info({table})").fetchall():
                if column[2].upper() in types:
                    yield table, column[1]


def update(database, table, column, value, *args):
    """Sets a column of all rows, ignoring the table's CHECK constraints."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA ignore_check_constraints=ON")
        with contextlib.suppress(sqlite3.IntegrityError):
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = {value}", args)
            db.commit()
