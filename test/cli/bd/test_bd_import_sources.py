"""bd import --from: other trackers than upstream's bd, and its other files"""
import json
import sqlite3

import pytest

from beads import is_error
from test_bd_import import imported, issue, write

ROW = {"acceptance_criteria": "", "assignee": None, "closed_at": None, "content_hash": "00", "crystallizes": 0,
       "defer_until": None, "design": "", "ephemeral": 1, "external_ref": None, "metadata": '{"k":1}', "notes": "",
       "pinned": 0, "spec_id": "", "timeout_ns": 0}


def test_rows_of_a_backup_are_joined_by_issue(repo):
    backup = ".beads/backup/"
    (repo.path / ".beads").mkdir()
    write(repo, {**issue("b-1"), **ROW}, {**issue("b-2"), **ROW, "pinned": 1, "metadata": "{}"},
          name=backup + "issues.jsonl")
    write(repo, {"issue_id": "b-2", "depends_on_id": "b-1", "type": "blocks", "created_at": "2025-12-01T10:00:00Z",
                 "created_by": "bob", "metadata": "{}"}, name=backup + "dependencies.jsonl")
    write(repo, {"issue_id": "b-1", "label": "x"}, {"issue_id": "b-1", "label": "a"}, name=backup + "labels.jsonl")
    write(repo, {"id": 1, "issue_id": "b-1", "author": "x", "text": "said", "created_at": "2025-12-01T10:00:00Z"},
          name=backup + "comments.jsonl")
    assert imported(repo) == ({"created": 2}, [])
    first, second = repo.show("b-1"), repo.show("b-2")
    assert (first["labels"], first["metadata"], first["ephemeral"]) == (["a", "x"], {"k": 1}, True)
    assert [c["text"] for c in first["comments"]] == ["said"]
    assert "pinned" not in first and second["pinned"] is True and "metadata" not in second
    assert repo.ids("blocked") == ["b-2"]
    assert imported(repo, backup)[0] == {"unchanged": 2}


def database(repo, *extra, columns="id TEXT PRIMARY KEY, title TEXT CHECK(length(title) <= 500), description TEXT,"
             " status TEXT DEFAULT 'open', priority INTEGER DEFAULT 2, issue_type TEXT, assignee TEXT,"
             " created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME, metadata TEXT, picture BLOB,"
             " pinned INTEGER DEFAULT 0"):
    path = repo.path / ".beads" / "beads.db"
    path.parent.mkdir(exist_ok=True)
    db = sqlite3.connect(path)
    db.executescript(f"CREATE TABLE issues ({columns});"
                     "CREATE TABLE dependencies (issue_id TEXT, depends_on_id TEXT, type TEXT, created_at TEXT, created_by TEXT);"
                     "CREATE TABLE labels (issue_id TEXT, label TEXT);"
                     "CREATE TABLE comments (id INTEGER PRIMARY KEY, issue_id TEXT, author TEXT, text TEXT, created_at TEXT);"
                     "CREATE VIEW ready_issues AS SELECT * FROM issues;")
    db.execute("INSERT INTO issues (id, title, status, issue_type, updated_at, created_at, metadata, picture, pinned)"
               " VALUES ('d-1', 'it''s \"so\"', 'open', 'bug', '2025-12-01 10:00:00', '2025-12-01 10:00:00-08:00', '{}', x'00ff', 1)")
    db.execute("INSERT INTO issues (id, title, created_at) VALUES ('d-2', 'two', '2025-12-01 10:00:00')")
    db.execute("INSERT INTO dependencies VALUES ('d-2', 'd-1', 'blocks', '2025-12-01 10:00:00', 'bob')")
    db.execute("INSERT INTO labels VALUES ('d-1', 'l')")
    db.execute("INSERT INTO comments VALUES (1, 'd-1', 'x', 'said', '2025-12-01 10:00:00')")
    for sql in extra:
        db.execute(sql)
    db.commit()
    db.close()
    return path


def test_a_database_of_upstream_is_read_and_not_changed(repo):
    path = database(repo)
    before = path.read_bytes()
    assert imported(repo)[0] == {"created": 2}
    bead = repo.show("d-1")
    assert (bead["title"], bead["type"], bead["labels"], bead["pinned"]) == ("it's \"so\"", "bug", ["l"], True)
    assert [c["text"] for c in bead["comments"]] == ["said"]
    assert repo.ids("blocked") == ["d-2"]
    assert path.read_bytes() == before
    assert imported(repo, "--from", "sqlite", str(path))[0] == {"unchanged": 2}
    assert imported(repo, str(path))[0] == {"unchanged": 2}


def test_a_table_without_rowids_is_read(repo):
    database(repo, "DROP TABLE labels", "CREATE TABLE labels (issue_id TEXT, label TEXT, PRIMARY KEY (issue_id, label))"
             " WITHOUT ROWID", "INSERT INTO labels VALUES ('d-2', 'z'), ('d-1', 'a')")
    assert imported(repo)[0] == {"created": 2}
    assert (repo.show("d-1")["labels"], repo.show("d-2")["labels"]) == (["a"], ["z"])


def damaged(repo, damage):
    path = database(repo)
    content = bytearray(path.read_bytes())
    content[damage] = b"\xff" * len(content[damage])
    path.write_bytes(content)
    return path


damages = pytest.mark.parametrize("damage", [slice(0, 16), slice(4096, 12288)], ids=["header", "pages"])


@damages
def test_the_hint_for_a_damaged_database_of_another_program_asks_for_its_export(repo, damage):
    """'abacus doctor' repairs only files of Abacus."""
    damaged(repo, damage)
    hint = is_error(repo.bd("--json", "import"), "corrupt", 3)["hint"]
    assert hint == ("Nothing was changed. Let the program that wrote the database export its issues, "
                    "and import that file.")


@damages
def test_the_hint_for_a_damaged_database_names_the_export_beside_it(repo, damage):
    path = damaged(repo, damage)
    lines = path.with_name("issues.jsonl")
    lines.write_text('{"id": "d-7", "title": "kept"}\n')
    hint = is_error(repo.bd("--json", "import", "--from", "sqlite", str(path)), "corrupt", 3)["hint"]
    assert hint == f"Nothing was changed. Import the issues in the file beside it: bd import {lines}"
    repo.bd(*hint.rpartition(": bd ")[2].split()).ok()
    assert repo.show("d-7")["title"] == "kept"


@pytest.mark.parametrize("sql", [
    ["DROP TABLE issues", "CREATE VIEW issues AS SELECT 'v-1' AS id, 'x' AS title"],
    ["DROP TABLE issues"],
    ["DROP TABLE issues", "CREATE TABLE issues (id TEXT, title TEXT AS (printf('%1000000d', 1)))"],
    ["DROP TABLE issues", "CREATE VIRTUAL TABLE issues USING fts5(id, title)"],
])
def test_a_database_whose_tables_run_sql_is_refused(repo, sql):
    database(repo, *sql)
    is_error(repo.bd("--json", "import"), "corrupt", 3)


def test_a_file_that_is_not_a_database_is_refused(repo):
    (repo.path / "x.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    assert repo.bd("--json", "import", "x.db").code != 0


def test_many_columns_are_read(repo):
    columns = ", ".join(["id TEXT", "title TEXT", "status TEXT", "issue_type TEXT", "updated_at TEXT", "created_at TEXT",
                         "metadata TEXT", "picture BLOB", "pinned INTEGER"] + [f'"c""{i}\'" INTEGER DEFAULT {i}' for i in range(50)])
    database(repo, columns=columns)
    assert imported(repo)[0] == {"created": 2}
    assert repo.show("d-1")["c\"49'"] == 49


TASK = """---
id: task-{n}
title: 'It''s: {n}'
status: {status}
assignee:
  - '@claude'
created_date: '2025-06-07 10:00'
updated_date: '2025-06-08'
labels: [cli, "two words"]
dependencies:
  - task-1
parent_task_id: task-1
priority: high
ordinal: 1000
milestone: >-
  long
  text
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
What to do
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 first
- [x] #2 second
<!-- AC:END -->

## Implementation Plan

<!-- SECTION:PLAN:BEGIN -->
The plan
<!-- SECTION:PLAN:END -->

## Implementation Notes

Noted

## Other

More
"""


def test_tasks_of_backlog_md_are_read(repo):
    tasks = repo.path / "backlog" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "task-1 - One.md").write_text("---\nid: task-1\ntitle: One\nstatus: To Do\n---\n")
    (tasks / "task-2 - Two.md").write_text(TASK.format(n=2, status="In Progress"))
    (tasks / "task-4 - Odd.md").write_text("no front matter")
    (repo.path / "backlog" / "completed").mkdir()
    (repo.path / "backlog" / "completed" / "task-3 - Three.md").write_text(TASK.format(n=3, status="Done"))
    counts, findings = imported(repo, code=1)
    assert counts == {"created": 3, "refused": 1}
    assert [(f["file"], f["code"]) for f in findings] == [("task-4 - Odd.md", "not_json")]
    assert (findings[0]["line"], findings[0]["message"]) == (1, "the line was refused: the file has no front matter")
    bead = repo.show("task-2")
    expect = {"title": "It's: 2", "status": "in_progress", "assignee": "claude", "priority": 1,
              "created_at": "2025-06-07T10:00:00.000Z", "updated_at": "2025-06-08T00:00:00.000Z",
              "labels": ["cli", "two words"], "parent": "task-1", "ordinal": "1000", "milestone": "long text",
              "acceptance_criteria": "- [ ] #1 first\n- [x] #2 second", "design": "The plan",
              "notes_text": "Noted"}
    assert {key: bead[key] for key in expect} == expect
    assert bead["description"] == "What to do\n\n## Other\n\nMore"
    assert sorted(d["dependency_type"] for d in bead["dependencies"]) == ["blocks", "parent"]
    assert repo.show("task-3")["status"] == "closed"
    assert imported(repo, "--from", "backlog", "backlog", code=1)[0] == {"unchanged": 3, "refused": 1}


def test_tasks_of_task_master_are_read(repo):
    path = repo.path / ".taskmaster" / "tasks" / "tasks.json"
    path.parent.mkdir(parents=True)
    tasks = [{"id": 1, "title": "One", "description": "d", "details": "how", "testStrategy": "so", "status": "done",
              "priority": "high", "dependencies": [],
              "subtasks": [{"id": 1, "title": "Sub one", "status": "pending", "dependencies": []},
                           {"id": 2, "title": "Sub two", "status": "in-progress", "dependencies": [1]}]},
             {"id": 2, "title": "Two", "status": "review", "dependencies": [1, "1.2"], "extra": 7},
             {"id": "3", "title": "Three", "status": "cancelled"}]
    about = {"created": "2025-07-01T10:00:00.000Z", "updated": "2025-07-02T10:00:00.000Z"}
    path.write_text(json.dumps({"master": {"tasks": tasks, "metadata": about},
                                "feat/x": {"tasks": [{"id": 1, "title": "Tagged", "status": "pending"}], "metadata": about}}))
    assert imported(repo) == ({"created": 6}, [])
    one = repo.show("tm-1")
    assert (one["status"], one["priority"], one["type"], one["design"], one["acceptance_criteria"]) == (
        "closed", 1, "epic", "how", "so")
    assert {(d["id"], d["dependency_type"]) for d in repo.show("tm-1.2")["dependencies"]} == {
        ("tm-1", "parent"), ("tm-1.1", "blocks")}
    two = repo.show("tm-2")
    assert (two["original_status"], two["extra"]) == ("review", 7)
    assert {d["id"] for d in two["dependencies"]} == {"tm-1", "tm-1.2"}
    assert (repo.show("tm-3")["status"], repo.show("tm-3")["closed_reason"]) == ("closed", "cancelled")
    assert repo.show("tm-feat_x-1")["title"] == "Tagged"
    assert imported(repo)[0] == {"unchanged": 6}


def test_issues_of_github_are_read(repo):
    text = json.dumps([{
        "number": 42, "title": "Crash", "body": "b", "state": "CLOSED", "labels": [{"name": "bug"}, {"name": "p1"}],
        "assignees": [{"login": "al"}], "author": {"login": "bo"}, "createdAt": "2025-01-01T00:00:00Z",
        "updatedAt": "2025-01-03T00:00:00Z", "closedAt": "2025-01-02T00:00:00Z", "url": "https://github.com/o/r/issues/42",
        "comments": [{"id": "IC_1", "author": {"login": "cy"}, "body": "me too", "createdAt": "2025-01-01T01:00:00Z"}],
        "milestone": {"title": "v1"}}, {"title": "no number"}])
    done = repo.bd("--json", "import", "--from", "github", "-", stdin=text.encode())
    assert done.code == 1 and done.json["created"] == 1 and done.json["refused"] == 1
    bead = repo.show("gh-42")
    expect = {"title": "Crash", "description": "b", "status": "closed", "type": "bug", "labels": ["bug", "p1"],
              "assignee": "al", "created_by": "bo", "closed_at": "2025-01-02T00:00:00.000Z",
              "external_ref": "https://github.com/o/r/issues/42", "milestone": {"title": "v1"}}
    assert {key: bead[key] for key in expect} == expect
    assert [(c["author"], c["text"]) for c in bead["comments"]] == [("cy", "me too")]


@pytest.mark.parametrize("kind, text", [("github", "{}"), ("github", "x"), ("taskmaster", "[]"), ("taskmaster", "{")])
def test_a_file_of_another_kind_is_refused(repo, kind, text):
    (repo.path / "f").write_text(text)
    error = is_error(repo.bd("--json", "import", "--from", kind, "f"), "invalid_argument", 1)
    assert "--from" in error["hint"]
