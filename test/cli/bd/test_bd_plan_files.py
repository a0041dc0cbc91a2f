"""bd create -f: plans and task lists"""
import pytest

from beads import is_error

PLAN = """\
# New parser
labels: parser

Replace the old one.

## Write the grammar
priority: 1
labels: docs, parser
assignee: bob

All of section 3.

- [ ] every rule has an example
- [x] reviewed

It is long.

## Write the parser
needs: Write the grammar
type: feature

## Release, at last
needs:
- write the parser
* Write the grammar

```
needs: nothing
- [ ] not a criterion
```
"""


def create(repo, text, *args, name="plan.md"):
    (repo.path / name).write_text(text)
    return repo.json("create", "-f", name, *args)


def refused(repo, text, code, *words, name="plan.md", args=()):
    (repo.path / name).write_text(text)
    journal = repo.journal.read_bytes()
    error = is_error(repo.bd("--json", "create", "-f", name, *args), code, 1)
    for word in words:
        assert word in error["message"], error
    assert repo.journal.read_bytes() == journal


def blockers(repo, bead):
    return sorted(d["title"] for d in repo.show(bead)["dependencies"] if d["dependency_type"] == "blocks")


def test_a_plan_is_an_epic_with_tasks_their_fields_and_criteria(repo):
    epic, grammar, parser, release = create(repo, PLAN)
    assert {k: epic[k] for k in ("title", "type", "labels", "description", "parent")} == {
        "title": "New parser", "type": "epic", "labels": ["parser"], "description": "Replace the old one.",
        "parent": None}
    assert {k: grammar[k] for k in ("title", "type", "priority", "labels", "assignee", "parent")} == {
        "title": "Write the grammar", "type": "task", "priority": 1, "labels": ["docs", "parser"], "assignee": "bob",
        "parent": epic["id"]}
    assert grammar["description"].split() == "All of section 3. It is long.".split()
    assert grammar["acceptance_criteria"] == "- [ ] every rule has an example\n- [x] reviewed"
    assert (parser["type"], parser["blocked_by"]) == ("feature", [grammar["id"]])
    assert blockers(repo, release["id"]) == ["Write the grammar", "Write the parser"]
    assert release["description"] == "```\nneeds: nothing\n- [ ] not a criterion\n```"


def test_a_plan_is_one_record_and_one_undo(repo):
    records = repo.journal.read_bytes().count(b"\n")
    create(repo, PLAN)
    assert repo.journal.read_bytes().count(b"\n") == records + 1
    assert [b["change"] for b in repo.json("undo")["beads"]] == ["deleted"] * 4
    assert repo.json("list", "--all") == []


def test_parent_puts_the_plan_below_a_bead(repo):
    top = repo.create("top", "-t", "epic")
    epic, task = create(repo, "# E\n\n## T\n", "--parent", top)
    assert (epic["parent"], task["parent"]) == (top, epic["id"])
    one, two = create(repo, "## A\n\n## B\n", "--parent", top)
    assert (one["parent"], two["parent"]) == (top, top)
    refused(repo, "## A\n", "not_found", "bd-nope", args=("--parent", "bd-nope"))


def test_a_name_is_a_title_of_the_file_or_an_id(repo):
    other = repo.create("other")
    first, second, third = create(repo, f"## a, b\n\n## c\nneeds: a, b\n\n## d\nneeds: c, {other}\n")
    assert second["blocked_by"] == [first["id"]]
    assert sorted(third["blocked_by"]) == sorted([second["id"], other])


def test_a_later_title_may_be_named(repo):
    first, second = create(repo, "## a\nneeds: b\n\n## b\n")
    assert first["blocked_by"] == [second["id"]]


def test_dependencies_of_a_section_may_be_titles_too(repo):
    first, second = create(repo, "## a\n\n## b\n### Dependencies\nrelated:a\n")
    assert [(d["id"], d["dependency_type"]) for d in repo.show(second["id"])["dependencies"]] == [(first["id"], "related")]


@pytest.mark.parametrize("text,code,words", [
    ("# E\n\n## a\nneeds: nix\n", "not_found", ["plan.md:4", "nix"]),
    ("## a\nneeds:\n- some title\n", "not_found", ["plan.md:3", "some title"]),
    ("## a\n\n## A\n\n## b\nneeds: a\n", "ambiguous_id", ["plan.md:6", "line 1", "line 3"]),
    ("## a\nneeds: a\n", "self_dependency", ["plan.md:2"]),
    ("## a\nneeds: b\n\n## b\nneeds: c\n\n## c\nneeds: a\n", "cycle", ["plan.md:8"]),
    ("# E\n\n## a\nneeds: E\n", "cycle", ["plan.md:4", "above"]),
    ("## a\npriority: high\n", "invalid_argument", ["plan.md:2", "high"]),
    ("## a\n\ntype: story\n", "invalid_argument", ["plan.md:3", "story"]),
    ("## a\n### Colour\nred\n", "invalid_argument", ["plan.md:2", "Colour"]),
    ("## a\n\n## \n", "invalid_argument", ["plan.md:3"]),
    ("# E\n\n## " + "t" * 1001 + "\n", "invalid_argument", ["plan.md:3"]),
    ("# only an epic\n", "invalid_argument", []),
])
def test_a_wrong_plan_is_refused_with_file_and_line_and_nothing_is_written(repo, text, code, words):
    refused(repo, text, code, *words)


def test_an_ambiguous_id_is_refused_with_file_and_line(repo):
    for name in ("bd-xy1", "bd-xy2"):
        repo.create("x", "--id", name)
    refused(repo, "## a\nneeds: xy\n", "ambiguous_id", "plan.md:2")


def test_a_field_in_the_middle_of_a_paragraph_is_text(repo):
    bead, = create(repo, "## a\nThe build\nneeds: luck\n")
    assert bead["description"] == "The build\nneeds: luck"


def test_a_task_of_type_epic_is_a_bead_of_its_own(repo):
    bead, = create(repo, "## a\ntype: epic\n")
    assert bead["type"] == "epic"


def test_dry_run_shows_the_tree_and_writes_nothing(repo):
    (repo.path / "plan.md").write_text(PLAN)
    journal = repo.journal.read_bytes()
    lines = repo.bd("create", "-f", "plan.md", "--dry-run", env={"COLUMNS": "120"}).ok().out.splitlines()
    assert lines[0] == "Would create 4 beads:"
    assert [line[lines[1].index("TITLE"):] for line in lines[2:] if not line.startswith(" ")] == [
        "New parser  [parser]", "├─ Write the grammar  [docs, parser]", "├─ Write the parser", "└─ Release, at last"]
    assert lines[5].startswith("  is blocked by ")
    assert repo.journal.read_bytes() == journal
    assert repo.bd("create", "-f", "plan.md").ok().out.startswith("Created 4 beads:\n")


TASKS = """\
---
description: "Task list"
---

# Tasks: Accounts

**Input**: Design documents

## Format: `[ID] [P?] [Story] Description`

- **[P]**: Can run in parallel

## Phase 1: Setup

**Purpose**: Initialization

- [x] T001 Structure
- [ ] T002 Table in db/schema.sql
- [ ] T003 [P] Lint
- [ ] T004 [P] Format
- [ ] T005 Build

**Checkpoint**: it builds

---

## Phase 2: User Story 1

<!--
- [ ] T900 a sample
-->

### Tests

- [ ] T010 [P] [US1] Test in tests/a.py
- [ ] T011 [US1] Model
  - uses the schema
  - [ ] has a test

## Phase 3: User Story 2

- [ ] T020 [US2] Service

## Phase 4: Polish

- [ ] T030 [P] Docs
"""


def test_the_task_list_of_spec_kit(repo):
    made = {b["title"]: b for b in create(repo, TASKS, name="tasks.md")}
    assert list(made) == ["Accounts", "Phase 1: Setup", "Table in db/schema.sql", "Lint", "Format", "Build",
                          "Phase 2: User Story 1", "Test in tests/a.py", "Model", "Phase 3: User Story 2", "Service",
                          "Phase 4: Polish", "Docs"]
    needs = {title: blockers(repo, b["id"]) for title, b in made.items()}
    assert needs == {
        "Accounts": [], "Phase 1: Setup": [], "Table in db/schema.sql": [], "Lint": ["Table in db/schema.sql"],
        "Format": ["Table in db/schema.sql"], "Build": ["Format", "Lint"], "Phase 2: User Story 1": [],
        "Test in tests/a.py": ["Phase 1: Setup"], "Model": ["Test in tests/a.py"], "Phase 3: User Story 2": [],
        "Service": ["Phase 1: Setup"], "Phase 4: Polish": [],
        "Docs": ["Phase 2: User Story 1", "Phase 3: User Story 2"]}
    assert made["Accounts"]["type"] == made["Phase 1: Setup"]["type"] == "epic"
    assert made["Model"]["parent"] == made["Phase 2: User Story 1"]["id"]
    assert made["Phase 2: User Story 1"]["parent"] == made["Accounts"]["id"]
    assert (made["Model"]["labels"], made["Model"]["external_ref"]) == (["us1"], "T011")
    assert (made["Model"]["description"], made["Model"]["acceptance_criteria"]) == (
        "- uses the schema", "- [ ] has a test")
    assert "Initialization" in made["Phase 1: Setup"]["description"]
    assert "it builds" in made["Phase 1: Setup"]["description"]


def test_checked_tasks_are_left_out_and_a_warning_counts_them(repo):
    (repo.path / "tasks.md").write_text(TASKS)
    assert "1 task of the file is checked, and left out" in repo.bd("create", "-f", "tasks.md").ok().err
    refused(repo, "# Tasks: x\n\n## Phase 1\n\n- [x] T001 done\n", "invalid_argument", "done")


def test_the_task_list_of_openspec(repo):
    made = create(repo, "## 1. Database\n- [ ] 1.1 Table\n- [ ] 1.2 Index\n\n## 2. Docs\n- [ ] 2.1 Page\n", name="tasks.md")
    assert [b["title"] for b in made] == ["1. Database", "Table", "Index", "2. Docs", "Page"]
    section, table, index, docs, page = made
    assert [b["parent"] for b in made] == [None, section["id"], section["id"], None, docs["id"]]
    assert [b["blocked_by"] for b in made] == [[], [], [table["id"]], [], [section["id"]]]
    assert index["external_ref"] == "1.2"


def test_a_task_without_text_is_refused(repo):
    refused(repo, "## 1. A\n- [ ] 1.1 Table\n- [ ] 1.2\n", "invalid_argument", "plan.md:3")


def test_a_long_plan_is_read_in_linear_time(repo):
    text = "".join(f"## t{i}\nneeds: t{i + 1}\n\n" for i in range(3000)) + "## t3000\n"
    assert len(create(repo, text)) == 3001
