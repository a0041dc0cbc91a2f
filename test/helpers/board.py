"""Time, rows and terminals, for the tests of the commands."""
import contextlib
import datetime
import os
import pty
import select
import sqlite3
import subprocess
import unicodedata

from conftest import BIN, environment

T0 = 1767225600000  # 2026-01-01T00:00:00Z


def ms(ms=0, s=0, m=0, h=0, d=0):
    return T0 + ms + 1000 * (s + 60 * (m + 60 * (h + 24 * d)))


def at(**ago):
    """The environment of a command that runs at this offset from T0."""
    return {"ABACUS_NOW": str(ms(**ago))}


def stamp(**ago):
    """The same moment as JSON shows it."""
    t = ms(**ago)
    day = datetime.datetime.fromtimestamp(t // 1000, datetime.timezone.utc)
    return day.strftime("%Y-%m-%dT%H:%M:%S") + f".{t % 1000:03d}Z"


def rows(project, sql, *args):
    with contextlib.closing(sqlite3.connect(project.database)) as db:
        return db.execute(sql, args).fetchall()


def counts(project):
    """How many agents, messages and artifacts are stored."""
    return tuple(rows(project, f"SELECT count(*) FROM {t}")[0][0]
                 for t in ("agents", "messages", "artifacts"))


def agent(project, name, **kw):
    found = [a for a in project.json("status", **kw) if a["id"] == name]
    assert len(found) == 1, f"no agent {name!r}"
    return found[0]


def ids(messages):
    return [m["id"] for m in messages]


def width(text):
    """The columns a text takes on a terminal."""
    return sum(0 if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
               else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def column_of(line, word):
    """The display column at which a word starts."""
    assert word in line, f"{word!r} is not in {line!r}"
    return width(line[:line.index(word)])


def on_terminal(project, *args, answer=b"", program="bb", env=None, timeout=20):
    """Runs a command on a terminal and types the answer. Returns the output and the exit status."""
    master, slave = pty.openpty()
    child = subprocess.Popen([str(BIN / program), *args], cwd=project.path, stdin=slave, stdout=slave,
                             stderr=slave, close_fds=True, start_new_session=True,
                             env=environment(TERM="xterm", **project.env, **(env or {})))
    os.close(slave)
    shown = b""
    if answer:
        os.write(master, answer)
    try:
        while select.select([master], [], [], timeout)[0]:
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            shown += got
        code = child.wait(timeout)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(master)
    return shown.decode(), code


# The schema of a board made by the original program.
ORIGINAL_SQL = """
CREATE TABLE schema_version (
    version INTEGER NOT NULL
);
INSERT INTO schema_version (version) VALUES (1);

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    current_task TEXT NOT NULL DEFAULT '',
    progress INTEGER NOT NULL DEFAULT 0
        CHECK (progress >= 0 AND progress <= 100),
    status TEXT NOT NULL DEFAULT 'idle'
        CHECK (status IN (
            'idle', 'planning', 'coding', 'testing',
            'reviewing', 'blocked', 'offline'
        )),
    blockers TEXT,
    last_seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    from_agent TEXT NOT NULL,
    content TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]'
        CHECK (json_valid(tags)),
    priority TEXT NOT NULL DEFAULT 'normal'
        CHECK (priority IN ('low', 'normal', 'high', 'critical')),
    in_reply_to INTEGER REFERENCES messages(id),
    refs TEXT NOT NULL DEFAULT '[]'
        CHECK (json_valid(refs)),
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    produced_by TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    version TEXT,
    refs TEXT NOT NULL DEFAULT '[]'
        CHECK (json_valid(refs)),
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE INDEX idx_agents_status ON agents(status);
CREATE INDEX idx_agents_last_seen ON agents(last_seen);
CREATE INDEX idx_messages_created_at ON messages(created_at DESC);
CREATE INDEX idx_messages_from_agent ON messages(from_agent);
CREATE INDEX idx_messages_priority ON messages(priority) WHERE priority IN ('high', 'critical');
CREATE INDEX idx_messages_in_reply_to ON messages(in_reply_to)
    WHERE in_reply_to IS NOT NULL;
CREATE INDEX idx_artifacts_path ON artifacts(path);
CREATE INDEX idx_artifacts_produced_by ON artifacts(produced_by);
"""
