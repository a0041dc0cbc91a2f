"""Files of other trackers are untrusted: the cost of reading and merging them is proportional to their size."""
import json

import pytest
from stores import made, world  # noqa: F401  (fixtures)
from test_generated_stores import SANITIZED, run

MB = 1 << 20


def record(id, **more):
    return {"id": id, "title": id, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", **more}


def merged(world, base, ours, theirs):
    for name, side in (("base", base), ("ours", ours), ("theirs", theirs)):
        (world.path / name).write_text(json.dumps(side) + "\n")
    done = run(world, world, "bd merge out base ours theirs")
    assert done.code == 0, done.err
    assert SANITIZED or done.memory < 128 * MB, done.memory // MB
    return json.loads((world.path / "out").read_text())


@pytest.mark.parametrize("key", ["labels", "comments", "dependencies", "unknown"])
def test_the_merge_of_two_long_lists_takes_memory_in_proportion_to_them(world, key):
    """Git starts the merge driver during a pull."""
    many = range(4000)
    lists = {side: [{"text": f"{side}{i}"} for i in many] for side in "abc"}
    out = merged(world, record("x-1", **{key: lists["a"] + lists["b"]}), record("x-1", **{key: lists["b"] + lists["c"]}),
                 record("x-1", **{key: lists["a"] + lists["b"] + [None]}))
    assert out[key] in (lists["b"] + lists["c"] + [None], lists["b"] + [None] + lists["c"])


def test_the_merge_of_two_issues_with_many_members_takes_time_in_proportion_to_them(world):
    many = range(60_000)
    out = merged(world, record("x-1"), record("x-1", **{f"a{i}": i for i in many}), record("x-1", **{f"b{i}": i for i in many}))
    assert len(out) == len(record("x-1")) + 2 * len(many)


@pytest.mark.parametrize("head, line", [("body: |", "  text of a line"), ("body:", "  - item")], ids=["text", "list"])
def test_a_long_field_of_a_backlog_task_costs_in_proportion_to_its_size(world, head, line):
    tasks = world.path / "backlog" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "a.md").write_text("---\nid: x-1\ntitle: t\n" + head + "\n" + f"{line}\n" * 150_000 + "---\n")
    done = run(world, world, "bd import --dry-run --from backlog backlog")
    assert done.code == 0, done.err
    assert SANITIZED or done.memory < 128 * MB, done.memory // MB


def test_the_lines_of_a_block_of_a_backlog_task_are_one_text(world):
    tasks = world.path / "backlog" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "a.md").write_text("---\nid: x-1\ntitle: >-\n  one\n  two\nlines: |\n  three\n  four\nlist:\n  - five\n  - six\n---\n")
    world.run("import", "--from", "backlog", "backlog").ok()
    out = [json.loads(line) for line in world.run("export").ok().out.splitlines()]
    task = next(bead for bead in out if bead["id"] == "x-1")
    assert (task["title"], task["lines"], task["list"]) == ("one two", "three\nfour", ["five", "six"])


def test_a_line_that_makes_a_bead_too_large_does_not_stop_the_other_lines(world):
    """Each line is small enough, but the comments of both are too many for one bead."""
    def put(author):
        lines = [record("x-1", comments=[{"author": author, "text": f"c{i}", "created_at": "2026-01-01T00:00:00Z"} for i in range(12_000)]),
                 record(f"x-{author}")]
        (world.path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return world.run("import", "in.jsonl", "--json")
    put("ann").ok()
    done = put("bob")
    assert done.code == 1 and (done.json["refused"], done.json["created"]) == (1, 1), done.out
    assert [(f["id"], f["code"]) for f in done.json["findings"]] == [("x-1", "too_large")]
    assert world.run("show", "x-bob").ok()
    assert world.run("doctor").ok()


BACKLOG = "---\nid: task-{0}\ntitle: Task {0}\nstatus: To Do\n---\n"
LINKED = [  # what the user imports ("": what is found), a file beside the link, the link, the content behind it
    ("", "backlog/tasks/task-1 - x.md", "backlog/completed", "task-7 - x.md", BACKLOG.format(7)),
    ("backlog", None, "backlog/tasks", "task-7 - x.md", BACKLOG.format(7)),
    ("backup", "backup/comments.jsonl", "backup/issues.jsonl", None, json.dumps(record("x-7")) + "\n"),
    ("tm", "tm/notes.md", "tm/tasks.json", None, json.dumps({"master": {"tasks": [{"id": 7, "title": "Task 7", "status": "pending"}]}})),
]


@pytest.mark.parametrize("named, beside, link, name, content", LINKED, ids=[row[2] for row in LINKED])
def test_an_import_follows_no_link_below_what_was_named(repo, tmp_path, named, beside, link, name, content):
    """Otherwise the user's private files would become beads, which the next sync publishes."""
    private = tmp_path / "private"
    if name:
        private.mkdir()
        (private / name).write_text(content)
    else:
        private.write_text(content)
    for path in filter(None, (beside, link)):
        (repo.path / path).parent.mkdir(parents=True, exist_ok=True)
    if beside:
        (repo.path / beside).write_text(BACKLOG.format(1) if name else "")
    (repo.path / link).symlink_to(private)
    error = repo.fails("import", *filter(None, [named]))
    assert error["code"] == "unsafe_path" and str(repo.path / link) in error["message"], error
    assert repo.json("list", "--all") == []
