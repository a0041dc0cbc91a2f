"""bd export: imported records are exported unchanged"""
import csv
import io
import json
import os
import random
import stat

import pytest

from beads import at, clock
from test_bd_import import COUNTS, imported, issue, write


def exported(repo, *args):
    return repo.bd("export", *args).ok().bytes


def lines(text):
    return {record.get("id"): record for record in map(json.loads, text.decode().splitlines())}


def assert_fixed(repo, other):
    """Importing an export changes nothing here, and gives the same export elsewhere."""
    text = exported(repo)
    path = repo.path / "again" / "issues.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text)
    before = repo.journal.read_bytes()
    report = repo.bd("--json", "import", str(path)).ok().json
    assert {key: report[key] for key in COUNTS if report[key]} == ({"unchanged": report["read"]} if text else {})
    assert repo.journal.read_bytes() == before
    assert exported(repo) == text
    other.bd("import", str(path)).ok()
    assert exported(other) == text
    return lines(text)


@pytest.fixture
def other(repo, tmp_path):
    import subprocess
    folder = tmp_path / "other"
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    made = type(repo)(folder)
    made.env = dict(repo.env)
    return made


def test_imported_records_are_exported_unchanged(repo, other):
    record = issue("up-1", description="d", design="g", acceptance_criteria="a", notes="n", status="hooked", priority=0,
                   issue_type="molecule", assignee="carol", labels=["z", "a", "m"], owner="o",
                   created_at="2025-12-01T10:00:00.123456789-08:00", updated_at="2025-12-01T19:00:00.5+00:00",
                   content_hash="00ff", compaction_level=0, dependency_count=7, ephemeral=False, wisp=None, empty="",
                   due_at="2026-02-01T00:00:00.1234567+05:30", type="mine", project={"x": 1}, _at=3, request="r")
    gone = issue("up-2", status="tombstone", deleted_at="2025-12-03T00:00:00.000001Z", deleted_by="d",
                 delete_reason="r", original_type="bug")
    imported(repo, write(repo, record, gone))
    out = assert_fixed(repo, other)
    assert out["up-1"] == record
    assert out["up-2"] == gone


def test_unknown_keys_are_exported_byte_for_byte(repo, other):
    text = (b'{"id":"a-1","title":"t","status":"open","priority":2,"issue_type":"task",'
            b'"created_at":"2025-12-01T10:00:00Z","updated_at":"2025-12-01T10:00:00Z",'
            b'"odd":{ "b":1.50, "a":[ 1e3,\t-0.0 ],"u":"\\u003cx\\u003e\\/" },"n":12345678901234567890.1}')
    imported(repo, write(repo, text))
    line = exported(repo)
    assert b'"odd":{ "b":1.50, "a":[ 1e3,\t-0.0 ],"u":"\\u003cx\\u003e\\/" }' in line
    assert b'"n":12345678901234567890.1' in line
    assert_fixed(repo, other)


def test_dependencies_and_comments_are_exported_unchanged(repo, other):
    deps = [{"issue_id": "a-2", "depends_on_id": "a-1", "type": kind, "created_at": "2025-12-01T10:00:00-08:00",
             "created_by": "bob", "metadata": "{}", "thread_id": ""}
            for kind in ("blocks", "supersedes", "relates-to", "parent-child", "waits-for")]
    deps += [{"issue_id": "a-2", "depends_on_id": "a-2", "type": "blocks"},
             {"issue_id": "a-2", "depends_on_id": "nowhere", "type": "blocks"}, {"depends_on_id": 7}]
    comments = [{"id": i, "issue_id": "a-2", "author": "x", "text": f"t{i}",
                 "created_at": f"2025-12-0{i}T10:00:00.{i}23456-08:00"} for i in (3, 1, 2)]
    imported(repo, write(repo, issue("a-1"), issue("a-2", dependencies=deps, comments=comments)))
    out = assert_fixed(repo, other)["a-2"]

    def sort(items):
        return sorted(map(json.dumps, items))
    assert sort(out["dependencies"]) == sort(deps)
    assert sort(out["comments"]) == sort(comments)


def test_beads_made_here_are_a_fixed_point(repo, other):
    clock(repo)
    first, second, third = (repo.create(f"t{i}") for i in range(3))
    repo.json("dep", "add", second, first)
    repo.json("update", second, "--due", "2099-01-01", "--notes", "n", "--metadata", '{"b":1,"a":2}', "--append-notes", "one")
    repo.json("comment", second, "two")
    repo.json("claim", first)
    repo.json("close", third, "--reason", "done", env=at(h=1))
    repo.json("delete", repo.create("gone"), "--force")
    repo.json("defer", second, "--until", "2d")
    out = assert_fixed(repo, other)
    assert out[second]["status"] == "deferred" and out[second]["notes"] == "n"
    assert sorted(c["text"] for c in out[second]["comments"]) == ["one", "two"]
    assert out[third]["close_reason"] == "done"
    assert [(d["depends_on_id"], d["type"]) for d in out[second]["dependencies"]] == [(first, "blocks")]


def odd(rng, depth=0):
    choice = rng.randrange(8 if depth < 3 else 6)
    if choice == 6:
        return [odd(rng, depth + 1) for _ in range(rng.randrange(3))]
    if choice == 7:
        return {rng.choice("abcé\n"): odd(rng, depth + 1) for _ in range(rng.randrange(3))}
    return [None, True, rng.randrange(-5, 10), rng.random() * 1e9, "", rng.choice(["x", "é\n\t\"", "2025-12-01T10:00:00Z"])][choice]


KEYS = ["title", "description", "design", "acceptance_criteria", "notes", "status", "priority", "issue_type", "assignee",
        "owner", "estimated_minutes", "created_at", "created_by", "updated_at", "updated_by", "closed_at", "close_reason",
        "closed_by", "external_ref", "source_repo", "labels", "dependencies", "comments", "deleted_at", "deleted_by",
        "delete_reason", "original_type", "original_status", "due_at", "defer_until", "metadata", "pinned", "spec_id",
        "started_at", "type", "_type", "_at", "_v", "imported", "request", "rank", "content_hash", "created_on_branch",
        "notes_text", "dependency_count", "é", "a\nb", "blocked_by", "parent"]


def record(rng, name):
    made = issue(name, status=rng.choice(["open", "closed", "in_progress", "blocked", "deferred", "tombstone", "x"]),
                 updated_at=f"2025-12-0{rng.randrange(1, 9)}T10:00:0{rng.randrange(9)}.{rng.randrange(10 ** 9)}Z")
    for _ in range(rng.randrange(6)):
        made[rng.choice(KEYS)] = odd(rng)
    for _ in range(rng.randrange(3)):
        made.setdefault("dependencies", [])
        if isinstance(made["dependencies"], list):
            made["dependencies"].append({"issue_id": name, "depends_on_id": f"g-{rng.randrange(12)}",
                                         "type": rng.choice(["blocks", "parent-child", "relates-to", "related", "tracks"]),
                                         "created_at": "2025-12-01T10:00:00.25-08:00", "created_by": "bob"})
    if rng.randrange(3) == 0:
        made["comments"] = [{"id": i, "author": rng.choice(["x", ""]), "text": rng.choice(["t", "u"]),
                             "created_at": rng.choice(["2025-12-01T10:00:00Z", "x", 7])} for i in range(rng.randrange(4))]
    return made


@pytest.mark.parametrize("seed", range(40))
def test_any_records_are_a_fixed_point(repo, other, seed):
    rng = random.Random(seed)
    path = write(repo, *(record(rng, f"g-{i}") for i in range(10)))
    report = repo.bd("--json", "import", path).json
    assert report["read"] == sum(report[key] for key in COUNTS) == 10
    again = repo.bd("--json", "import", path).json
    assert {key for key in COUNTS if again[key]} <= {"unchanged", "refused"}, again
    assert_fixed(repo, other)
    assert repo.json("validate")["ok"]


def test_an_export_can_be_written_to_a_file(repo):
    repo.create("x")
    assert repo.bd("export", "-o", "out.jsonl").ok().out == "Exported 1 bead to out.jsonl.\n"
    assert (repo.path / "out.jsonl").read_bytes() == exported(repo)
    assert repo.json("export", "-o", "out.jsonl") == {"issues": 1, "tombstones": 0, "memories": 0, "file": "out.jsonl",
                                                       "text": None}


def test_an_export_to_a_pipe_or_device_leaves_it_one(repo):
    repo.create("x")
    pipe = repo.path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    repo.bd("export", "-o", pipe).ok()
    assert os.read(end, 65536) == exported(repo)
    os.close(end)
    assert pipe.is_fifo()
    if os.geteuid() == 0:  # others could not replace a device anyway
        device = repo.path / "null"
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        repo.bd("export", "-o", device).ok()
        assert device.is_char_device()


def test_memories_are_exported_sorted(repo):
    imported(repo, write(repo, *({"_type": "memory", "key": key, "value": f"v{key}"} for key in "cab")))
    assert [json.loads(line)["key"] for line in exported(repo).splitlines()] == ["a", "b", "c"]


def test_a_table_has_a_row_for_each_bead_and_no_formulas(repo):
    repo.json("create", "=1+1", "--id", "bd-1", "-d", 'say "hi",\nall')
    head, row = csv.reader(io.StringIO(exported(repo, "--format", "csv").decode()))
    bead = dict(zip(head, row))
    assert (bead["id"], bead["title"], bead["description"]) == ("bd-1", "'=1+1", 'say "hi",\nall')


def test_markdown_has_a_section_for_each_bead(repo):
    repo.json("create", "hello", "--id", "bd-1", "-d", "why")
    text = exported(repo, "--format", "md").decode()
    assert text.startswith("## bd-1: hello\n\n- Status: open\n- Priority: 2\n- Type: task\n")
    assert "\n### Description\n\nwhy\n" in text


def test_a_new_export_has_the_permissions_that_the_umask_allows(repo):
    repo.create("One")
    old = os.umask(0o077)
    try:
        repo.bd("export", "-o", "private.jsonl").ok()
        os.umask(0o022)
        repo.bd("export", "-o", "public.jsonl").ok()
        (repo.path / "public.jsonl").chmod(0o640)
        repo.bd("export", "-o", "public.jsonl").ok()
    finally:
        os.umask(old)
    assert [oct(os.stat(repo.path / name).st_mode & 0o777) for name in ("private.jsonl", "public.jsonl")] == ["0o600", "0o640"]
