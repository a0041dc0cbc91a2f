"""Files of other trackers are untrusted: the cost of reading and merging them is proportional to their size."""
import json
import resource
import sqlite3
import struct

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


def merged_text(world, base, ours, theirs):
    """The lines of a merge, and its memory for each byte of the larger side."""
    for name, side in (("base", base), ("ours", ours), ("theirs", theirs)):
        (world.path / name).write_text(side)
    done = run(world, world, "bd merge out base ours theirs")
    assert done.code == 0, done.err
    assert SANITIZED or done.memory < 16 * max(len(ours), len(theirs)) + 32 * MB, done.memory // MB
    return (world.path / "out").read_text()


def test_the_merge_of_many_small_lines_takes_a_small_multiple_of_them(world):
    ours, theirs = ("".join(f'{{"id":"{i}","a":{side}}}\n' for i in range(200_000)) for side in (0, 1))
    assert merged_text(world, "", ours, theirs).count("\n") == 200_000


def test_the_merge_keeps_lines_with_too_many_values_as_they_are(world):
    base, ours, theirs = (f'{{"id":"x-1","labels":[{side}{",0" * 1_000_000}]}}\n' for side in (1, 2, 3))
    assert merged_text(world, base, ours, theirs) == ours + theirs
    assert merged_text(world, base, base, theirs) == theirs


@pytest.mark.parametrize("head, line", [("body: |", "  text of a line"), ("body:", "  - item")], ids=["text", "list"])
def test_a_long_field_of_a_backlog_task_costs_in_proportion_to_its_size(world, head, line):
    tasks = world.path / "backlog" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "a.md").write_text("---\nid: x-1\ntitle: t\n" + head + "\n" + f"{line}\n" * 150_000 + "---\n")
    done = run(world, world, "bd import --dry-run --from backlog backlog")
    assert done.code == 0, done.err
    assert SANITIZED or done.memory < 128 * MB, done.memory // MB


def test_an_import_of_a_chain_of_parents_costs_in_proportion_to_its_length(repo):
    """Each new edge used to read all ancestors: a chain cost 40 times as much as a flat list of 4,000."""
    def cost(name, parent):
        edge = lambda i: {"issue_id": f"{name}-{i}", "depends_on_id": f"{name}-{parent(i)}", "type": "parent-child"}
        (repo.path / "file.jsonl").write_text("".join(
            json.dumps(record(f"{name}-{i}", dependencies=[edge(i)] if i else [])) + "\n" for i in range(4000)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        assert repo.bd("import", "file.jsonl", "--json").ok().json["created"] == 4000
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    assert cost("chain", lambda i: i - 1) < 5 * cost("flat", lambda i: 0) + 0.2


def imported(world, *args, most=128):
    """A dry run that ends, whatever the file has in it, with memory in proportion to the file."""
    done = run(world, world, " ".join(["bd import --dry-run", *args]), json_too=True)
    assert done.code in (0, 1), done.err
    assert SANITIZED or done.memory < most * MB, done.memory // MB
    return done


def put_backup(world, issues, comments):
    folder = world.path / ".beads" / "backup"
    folder.mkdir(parents=True)
    for name, rows in (("issues", issues), ("comments", comments)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def comment(text):
    return {"issue_id": "x-1", "author": "ann", "text": text, "created_at": "2026-01-01T00:00:00Z"}


def test_the_rows_of_an_issue_are_joined_to_one_row_however_often_its_id_is_repeated(world):
    put_backup(world, [record("x-1")] * 3000, [comment(f"{i} " + "y" * 500) for i in range(400)])
    out = imported(world).json
    assert (out["created"], out["older"]) == (1, 2999)


def test_the_comments_of_a_repeated_row_belong_to_the_one_that_was_changed_last(world):
    put_backup(world, [record("x-1"), record("x-1", updated_at="2026-01-03T00:00:00Z", title="new"), record("x-1")], [comment("hi")])
    world.run("import").ok()
    bead, = (json.loads(line) for line in world.run("export").ok().out.splitlines() if '"x-1"' in line)
    assert (bead["title"], [c["text"] for c in bead["comments"]]) == ("new", ["hi"])


LONG = "x" * 100_000
EDGES = [{"id": i, "title": "t", "dependencies": [1]} for i in range(400)]


@pytest.mark.parametrize("tasks", [
    {"tasks": [{"id": LONG, "title": "t", "subtasks": EDGES}]},
    {LONG: {"tasks": EDGES}},
    {"m": {"metadata": {"created": LONG}, "tasks": EDGES}},
    {"m": {"metadata": {"updated": LONG}, "tasks": EDGES}},
], ids=["id", "tag", "created", "updated"])
def test_a_long_text_that_belongs_to_many_tasks_is_not_repeated_in_each(world, tasks):
    (world.path / "tasks.json").write_text(json.dumps(tasks))
    out = imported(world, "tasks.json").json
    assert out["read"] == 400 + (tasks.get("tasks") is not None)
    assert {f["code"] for f in out["findings"] if f["code"].startswith("bad")} <= {"bad_id", "bad_time"}


@pytest.mark.parametrize("key", ["id", "created_date"])
def test_a_long_text_of_a_backlog_task_is_not_repeated_in_each_dependency(world, key):
    tasks = world.path / "backlog" / "tasks"
    tasks.mkdir(parents=True)
    head = {"id": "x-1", "title": "t", key: LONG, "dependencies": "[" + ",".join(f"x-{i}" for i in range(2, 2000)) + "]"}
    (tasks / "a.md").write_text("---\n" + "".join(f"{k}: {v}\n" for k, v in head.items()) + "---\n")
    out = imported(world, "backlog").json
    assert (out["refused"], out["created"]) == ((1, 0) if key == "id" else (0, 1))


TAG = "t" * 180  # an id with it is valid


def test_the_lines_that_a_reader_makes_are_in_proportion_to_the_file(world):
    """The net below the limits of each reader: 170 KB here are 50 MB of valid ids."""
    tasks = [{"id": i, "title": "t", "dependencies": [1] * 1000} for i in range(80)]
    (world.path / "tasks.json").write_text(json.dumps({TAG: {"tasks": tasks}}, separators=(",", ":")))
    done = imported(world, "tasks.json")
    assert done.code == 1 and done.json["error"]["code"] == "invalid_argument", done.out
    assert "'tasks.json'" in done.json["error"]["message"]


def put_taskmaster(path):
    (path / "tasks.json").write_text(json.dumps({TAG: {"tasks": [{"id": 7, "title": "t", "dependencies": [1] * 300_000}]}}))


def put_backlog(path):
    (path / "backlog" / "tasks").mkdir(parents=True)
    (path / "backlog" / "tasks" / "a.md").write_text(f"---\nid: {TAG}\ntitle: t\ndependencies: [" + "a," * 600_000 + "]\n---\n")


@pytest.mark.parametrize("put, name", [(put_taskmaster, "tasks.json"), (put_backlog, "backlog")])
def test_a_line_that_is_too_long_is_not_made_to_its_end(world, put, name):
    put(world.path)
    out = imported(world, name).json
    assert [(f["code"], f["message"]) for f in out["findings"]] == [("not_json", "the line was refused: it is longer than 8 MiB")]


def test_a_long_name_of_an_author_is_not_repeated_in_each_dependency(world):
    many = range(5000)
    records = [record(f"x-{i}") for i in many] + [
        record(f"y-{k}", created_by="y" * 4000, dependencies=[{"depends_on_id": f"x-{i}"} for i in many]) for k in range(3)]
    (world.path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in records))
    assert imported(world, "in.jsonl").json["created"] == 5003


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


def test_a_database_whose_pages_are_used_many_times_is_refused(repo):
    """All children of the table's root are one page, whose rows SQLite lists again and again."""
    page_size, children = 65536, 400
    path = repo.path / "beads.db"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA page_size = {page_size}")
    db.execute("CREATE TABLE issues (id TEXT)")
    db.executemany("INSERT INTO issues VALUES (?)", ((f"a{n % 10}",) for n in range(8500)))
    db.commit()
    (root,) = db.execute("SELECT rootpage FROM sqlite_schema").fetchone()
    db.close()
    content = bytearray(path.read_bytes())
    at = (root - 1) * page_size
    (cell,) = struct.unpack(">H", content[at + 12:at + 14])
    (leaf,) = struct.unpack(">I", content[at + cell:at + cell + 4])
    page, end, places = bytearray(page_size), page_size, b""
    for n in range(children):
        key = (n + 1) * 10000
        cell = struct.pack(">I", leaf) + bytes([key >> 14 | 0x80, key >> 7 & 0x7f | 0x80, key & 0x7f])
        end -= len(cell)
        page[end:end + len(cell)] = cell
        places += struct.pack(">H", end)
    page[0:12] = struct.pack(">BHHHBI", 5, 0, children, end, 0, leaf)
    page[12:12 + len(places)] = places
    content[at:at + page_size] = page
    path.write_bytes(content)
    error = repo.fails("import", "beads.db", "--dry-run")
    assert error["code"] == "corrupt" and "more rows than fit" in error["message"], error
