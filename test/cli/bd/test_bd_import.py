"""bd import: the issues of upstream's bd"""
import json

import pytest

from beads import at, clock, is_error, ms, wipe_cache

COUNTS = ("created", "updated", "unchanged", "older", "tombstones", "memories", "refused")


def issue(name, **more):
    return {"id": name, "title": f"title of {name}", "status": "open", "priority": 2, "issue_type": "task",
            "created_at": "2025-12-01T10:00:00Z", "created_by": "bob", "updated_at": "2025-12-02T10:00:00Z", **more}


def write(repo, *records, name="issues.jsonl"):
    path = repo.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join((r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in records))
    return str(path)


def imported(repo, *args, code=0):
    done = repo.bd("--json", "import", *args)
    assert done.code == code, done.out + done.err
    report = done.json
    assert report["read"] == sum(report[key] for key in COUNTS)
    return {key: report[key] for key in COUNTS if report[key]}, report["findings"]


def codes(findings):
    return [(f["line"], f["id"], f["code"]) for f in findings]


def test_an_issue_becomes_a_bead(repo):
    path = write(repo, issue("up-1", description="d\n", design="g", acceptance_criteria="a", notes="n",
                             status="closed", priority=0, issue_type="bug", assignee="carol",
                             closed_at="2025-12-02T09:59:59.123456789-08:00", close_reason="fixed",
                             labels=["z", "a"], external_ref="gh-1", source_repo=".", owner="o@x",
                             estimated_minutes=5, due_at="2026-02-01T00:00:00Z", metadata={"k": 1}, spec_id="s",
                             pinned=True, started_at="2025-12-01T11:00:00Z"))
    assert imported(repo, path) == ({"created": 1}, [])
    bead = repo.show("up-1")
    expect = {"title": "title of up-1", "description": "d\n", "design": "g", "acceptance_criteria": "a",
              "notes_text": "n", "status": "closed", "priority": 0, "type": "bug", "assignee": "carol",
              "closed_at": "2025-12-02T17:59:59.123Z", "closed_reason": "fixed", "labels": ["a", "z"],
              "external_ref": "gh-1", "source_repo": ".", "owner": "o@x", "estimated_minutes": 5,
              "due_at": "2026-02-01T00:00:00Z", "metadata": {"k": 1}, "spec_id": "s", "pinned": True,
              "started_at": "2025-12-01T11:00:00Z", "created_at": "2025-12-01T10:00:00.000Z", "created_by": "bob",
              "updated_at": "2025-12-02T10:00:00.000Z", "updated_by": "bob"}
    assert {key: bead[key] for key in expect} == expect
    assert repo.json("validate")["ok"]


def test_the_same_file_twice_changes_nothing(repo):
    path = write(repo, issue("up-1", comments=[{"id": 1, "issue_id": "up-1", "author": "x", "text": "t",
                                                "created_at": "2025-12-05T10:00:00.5Z"}]),
                 issue("up-2", dependencies=[{"issue_id": "up-2", "depends_on_id": "up-1", "type": "blocks",
                                              "created_at": "2025-12-01T10:00:00-08:00", "created_by": "bob"}],
                       custom={"b": 1, "a": [1.0]}),
                 issue("up-3", status="tombstone", deleted_at="2025-12-03T10:00:00Z", deleted_by="bob",
                       delete_reason="no", original_type="task"))
    assert imported(repo, path)[0] == {"created": 2, "tombstones": 1}
    before = repo.journal.read_bytes()
    assert imported(repo, path) == ({"unchanged": 3}, [])
    assert repo.journal.read_bytes() == before
    wipe_cache(repo)
    assert imported(repo, path)[0] == {"unchanged": 3}
    assert [c["text"] for c in repo.show("up-1")["comments"]] == ["t"]
    assert repo.ids("ready") == ["up-1"]
    assert [(t["id"], t["reason"], t["deleted_by"]) for t in repo.json("deleted")] == [("up-3", "no", "bob")]


def test_a_line_older_than_the_bead_is_skipped(repo):
    write(repo, issue("up-1", title="one"))
    imported(repo, str(repo.path / "issues.jsonl"))
    newer = write(repo, issue("up-1", title="two", updated_at="2025-12-03T10:00:00Z"))
    assert imported(repo, newer)[0] == {"updated": 1}
    older = write(repo, issue("up-1", title="three", description="x", updated_at="2025-12-02T20:00:00Z"))
    assert imported(repo, older)[0] == {"older": 1}
    assert repo.show("up-1")["title"] == "two"
    repo.json("update", "up-1", "--title", "mine")
    assert imported(repo, newer)[0] == {"older": 1}
    assert repo.show("up-1")["title"] == "mine"


def test_edits_on_both_sides_are_kept(repo):
    imported(repo, write(repo, issue("up-1")))
    repo.json("update", "up-1", "-p", "0", env=at(d=2))
    there = write(repo, issue("up-1", description="new", updated_at="2026-01-02T00:00:00Z"))
    assert repo.json("import", there, env=at(d=3))["updated"] == 1
    bead = repo.show("up-1")
    assert (bead["priority"], bead["description"]) == (0, "new")


def test_a_claim_survives_a_newer_line(repo):
    clock(repo)
    imported(repo, write(repo, issue("up-1", assignee="alice", status="in_progress")))
    epoch = repo.json("claim", "up-1")[0]["epoch"]
    newer = write(repo, issue("up-1", assignee="alice", status="in_progress", title="new",
                              updated_at="2026-01-01T01:00:00Z"))
    assert repo.json("import", newer, env=at(h=2))["updated"] == 1
    bead = repo.show("up-1")
    assert (bead["title"], bead["epoch"]) == ("new", epoch)


@pytest.mark.parametrize("word, status", [("blocked", "open"), ("deferred", "open"), ("hooked", "open"),
                                          ("pinned", "open"), ("done", "closed"), ("odd", "open"),
                                          ("in-progress", "in_progress")])
def test_other_statuses_become_the_nearest_and_are_kept(repo, word, status):
    imported(repo, write(repo, issue("up-1", status=word, closed_at="2025-12-02T10:00:00Z")))
    bead = repo.show("up-1")
    assert (bead["status"], bead["original_status"]) == (status, word)
    assert repo.ids("ready") == (["up-1"] if status == "open" and word != "deferred" else [])


def test_a_newer_line_ends_the_original_status(repo):
    imported(repo, write(repo, issue("up-1", status="deferred", defer_until="2099-01-01T00:00:00Z")))
    assert repo.ids("ready") == []
    imported(repo, write(repo, issue("up-1", updated_at="2025-12-04T00:00:00Z")))
    assert repo.ids("ready") == ["up-1"]
    assert "original_status" not in repo.show("up-1")


def test_other_types_and_kinds_are_kept(repo):
    imported(repo, write(repo, issue("up-1", issue_type="molecule"), issue("up-2", dependencies=[
        {"issue_id": "up-2", "depends_on_id": "up-1", "type": kind, "created_at": "2025-12-01T10:00:00Z",
         "created_by": "bob"} for kind in ("supersedes", "parent-child", "discovered-from")])))
    bead = repo.show("up-1")
    assert (bead["type"], bead["original_type"]) == ("task", "molecule")
    assert sorted(d["dependency_type"] for d in repo.show("up-2")["dependencies"]) == [
        "discovered_from", "parent", "related"]


def test_odd_records_are_imported_and_reported(repo):
    path = write(repo, issue("a-1", status="closed"), issue("a-2", closed_at="2025-12-02T10:00:00Z"),
                 issue("a-3", dependencies=[
                     {"depends_on_id": "a-3", "type": "blocks"}, {"depends_on_id": "nowhere", "type": "blocks"},
                     {"depends_on_id": "a-1", "type": "parent-child"}, {"depends_on_id": "a-2", "type": "parent-child"},
                     {"type": "blocks"}, 7]),
                 issue("a-4", dependencies=[{"depends_on_id": "a-5", "type": "blocks"}]),
                 issue("a-5", dependencies=[{"depends_on_id": "a-4", "type": "blocks"}]),
                 {"id": "a-6"}, issue("a-7", priority=9, title=7, labels=["x", 3], updated_at="soon", comments="c",
                                      created_at="2999-01-01T00:00:00Z"),
                 b"not json", b'{"title":"no id"}', b'{"id":"a b"}', b'{"_schema":"1"}', b'{"id":"a-8","id":"a-8"}',
                 b"\xff", b"", b"[]", issue("a-1", title="again"))
    counts, findings = imported(repo, path, code=1)
    assert counts == {"created": 7, "older": 1, "refused": 6}
    assert codes(findings) == [
        (8, None, "not_json"), (9, None, "no_id"), (10, None, "bad_id"), (11, None, "header"),
        (12, None, "not_json"), (13, None, "not_json"), (15, None, "not_json"),
        (1, "a-1", "duplicate_id"), (2, "a-2", "closed_at_on_open"),
        (3, "a-3", "bad_dependency"), (3, "a-3", "bad_dependency"), (3, "a-3", "self_dependency"),
        (3, "a-3", "dangling_dependency"), (3, "a-3", "two_parents"), (6, "a-6", "no_created_at"),
        (6, "a-6", "no_title"), (7, "a-7", "bad_time"), (7, "a-7", "future_time"), (7, "a-7", "bad_value"),
        (7, "a-7", "no_title"), (7, "a-7", "bad_priority"), (7, "a-7", "bad_labels"), (7, "a-7", "bad_comments"),
        (5, "a-5", "cycle")]
    assert repo.show("a-1")["title"] == "again"
    assert (repo.show("a-7")["priority"], repo.show("a-7")["labels"]) == (4, ["x"])
    assert imported(repo, path, code=1)[0] == {"unchanged": 7, "older": 1, "refused": 6}
    repo.bd("update", "a-7", "--title", "still writable").ok()


def test_strict_imports_nothing_if_a_line_would_be_refused(repo):
    path = write(repo, issue("a-1"), b"x")
    is_error(repo.bd("--json", "import", "--strict", path), "invalid_argument", 1)
    assert repo.ids("list") == []


@pytest.mark.parametrize("refused, code", [
    ({"_type": "memory", "key": "k" * 5000, "value": "v"}, "bad_memory"),
    (issue("a-2", dependencies=[{"depends_on_id": "a-1", "note": "n" * 17000}]), "too_large"),
    (issue("a-1", updated_at="2026-01-03T10:00:00Z", **{f"k{n}": 1 for n in range(4900)}), "too_large"),
], ids=["a memory", "a dependency", "a bead"])
def test_strict_and_a_dry_run_find_every_line_that_would_be_refused(repo, refused, code):
    """The last line would fit alone, but not together with the members of the bead in the store."""
    for key in ("i", "j"):
        imported(repo, write(repo, issue("a-1", **{f"{key}{n}": 1 for n in range(4900)}), name="first.jsonl"))
    before = repo.journal.read_bytes()
    path = write(repo, issue("b-1"), refused)
    _, findings = imported(repo, "--dry-run", path, code=1)
    assert [(f["line"], f["code"]) for f in findings] == [(2, code)]
    error = is_error(repo.bd("--json", "import", "--strict", path), "invalid_argument", 1)
    assert error["hint"].endswith(f"bd import --dry-run {path}"), error
    assert repo.journal.read_bytes() == before


def test_large_dependencies_are_written_in_small_records(repo):
    """400 dependencies of 15 KB: a record has at most a megabyte of them."""
    path = write(repo, issue("a-0"), *[issue(f"a-{n}", dependencies=[{"depends_on_id": "a-0", "note": "n" * 15000}])
                                       for n in range(1, 200)])
    assert imported(repo, path) == ({"created": 200}, [])
    assert max(map(len, repo.journal.read_bytes().splitlines())) < 3 << 20


def test_a_dry_run_reports_the_same_and_writes_nothing(repo):
    path = write(repo, issue("a-1"), issue("a-2", dependencies=[{"depends_on_id": "a-1"}]), b"x")
    before = repo.journal.read_bytes()
    dry = imported(repo, "--dry-run", path, code=1)
    assert repo.journal.read_bytes() == before
    assert imported(repo, path, code=1) == dry


def test_a_prefix_is_given_to_all_ids_and_edges(repo):
    path = write(repo, issue("my-app-a1"), issue("my-app-b2.1", dependencies=[{"depends_on_id": "my-app-a1"}]),
                 issue("x-1"))
    imported(repo, "--prefix", "web", path)
    assert repo.ids("list", "--sort", "id") == ["web-a1", "web-b2.1", "web-x-1"]
    assert repo.ids("blocked") == ["web-b2.1"]
    assert imported(repo, "--prefix", "web", path)[0] == {"unchanged": 3}


def test_deletions_jsonl_becomes_tombstones(repo):
    path = write(repo, issue("a-1"), issue("a-2"), name=".beads/issues.jsonl")
    write(repo, {"id": "a-1", "ts": "2025-12-03T00:00:00Z", "by": "bob", "reason": "batch"},
          {"id": "a-2", "ts": "2025-12-01T00:00:00Z", "by": "bob"}, {"id": "a-9", "ts": "2025-12-01T00:00:00Z", "by": "b"},
          name=".beads/deletions.jsonl")
    assert imported(repo)[0] == {"created": 2, "tombstones": 2, "older": 1}
    assert repo.ids("list") == ["a-2"]
    assert sorted(t["id"] for t in repo.json("deleted")) == ["a-1", "a-9"]
    assert imported(repo)[0] == {"unchanged": 4, "older": 1}


def test_memory_lines_become_memories_of_vybe(repo):
    path = write(repo, {"_type": "memory", "key": "k", "value": "v"}, {"_type": "issue", **issue("a-1")})
    assert imported(repo, path)[0] == {"created": 1, "memories": 1}
    assert imported(repo, path)[0] == {"unchanged": 2}
    reply = repo.run("memory", "get", "--scope", "global", "--key", "k", program="vybe").ok().json
    assert reply["data"]["value"] == "v"


def test_standard_input_is_read(repo):
    done = repo.bd("--json", "import", "-", stdin=json.dumps(issue("a-1")).encode() + b"\r\n")
    assert done.ok().json["created"] == 1


def test_import_sets_up_the_store(plain_repo):
    path = write(plain_repo, issue("my-app-a1"), issue("my-app-b1"), issue("other-1"))
    assert imported(plain_repo, "--dry-run", path)[0] == {"created": 3}
    assert not (plain_repo.path / ".git" / "abacus").exists()
    assert imported(plain_repo, path)[0] == {"created": 3}
    assert plain_repo.create("new").startswith("my-app-")


def test_a_link_in_the_repository_is_not_followed(repo):
    secret = repo.path.parent / "secret.jsonl"
    secret.write_text(json.dumps(issue("a-1")) + "\n")
    (repo.path / ".beads").mkdir()
    (repo.path / ".beads" / "issues.jsonl").symlink_to(secret)
    is_error(repo.bd("--json", "import"), "unsafe_path", 3)
    assert imported(repo, ".beads/issues.jsonl")[0] == {"created": 1}


def test_a_dolt_database_is_reported(repo):
    (repo.path / ".beads" / "dolt").mkdir(parents=True)
    error = is_error(repo.bd("--json", "import"), "not_found", 1)
    assert "bd export -o .beads/issues.jsonl" in error["hint"]


def test_the_text_has_the_counts_and_the_findings(repo):
    path = write(repo, issue("a-1"), b"x")
    done = repo.bd("import", path)
    assert done.code == 1
    assert done.out.splitlines()[1:] == ["  1 created", "  1 refused", "1 finding:",
                                         "  issues.jsonl:2: the line was refused: not a JSON value"]


def test_a_command_before_init_names_the_issues_of_another_tracker(plain_repo):
    write(plain_repo, issue("up-1"), name=".beads/issues.jsonl")
    error = is_error(plain_repo.bd("--json", "ready"), "not_initialized", 1)
    assert error["hint"].endswith("then 'bd import', which imports the issues of '.beads/issues.jsonl'.")


def test_abacus_init_names_the_issues_of_another_tracker(plain_repo):
    (plain_repo.path / "backlog" / "tasks").mkdir(parents=True)
    assert "backlog/tasks; 'bd import' imports them" in plain_repo.run("init", program="abacus").ok().err


def test_a_record_with_thousands_of_unknown_keys_takes_little_memory(repo):
    import resource
    import subprocess
    from conftest import BIN, environment
    path = write(repo, issue("a-1", **{f"k{i}": i for i in range(9000)}))
    most = 128 << 20
    if "asan" in str(BIN):
        pytest.skip("the sanitizer reserves more")
    subprocess.run([str(BIN / "bd"), "import", path], cwd=repo.path, env=environment(**repo.env), check=True,
                   capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)))
    assert repo.show("a-1")["k4000"] == 4000


def test_new_ids_follow_the_imported_ones_if_nobody_chose_a_prefix(plain_repo):
    plain_repo.bd("init").ok()
    imported(plain_repo, write(plain_repo, issue("nora-6v2"), issue("nora-7"), issue("other-1")))
    assert plain_repo.create("new").startswith("nora-")


def test_a_chosen_prefix_stays_and_so_does_that_of_a_store_in_use(plain_repo, tmp_path):
    plain_repo.bd("init").ok()
    first = plain_repo.create("first")
    imported(plain_repo, write(plain_repo, issue("nora-6v2")))
    assert plain_repo.create("new").split("-")[0] == first.split("-")[0]


def test_a_prefix_that_was_chosen_is_kept_by_an_import(repo):
    imported(repo, write(repo, issue("nora-6v2")))
    assert repo.create("new").startswith("bd-")


def test_a_folder_may_be_named_if_it_is_a_project_with_issues(repo, tmp_path):
    (tmp_path / "other" / ".beads").mkdir(parents=True)
    (tmp_path / "other" / ".beads" / "issues.jsonl").write_text(json.dumps(issue("up-1")) + "\n")
    assert imported(repo, str(tmp_path / "other"))[0] == {"created": 1}


def test_a_folder_without_issues_is_an_error(repo, tmp_path):
    (tmp_path / "none").mkdir()
    error = repo.bd("--json", "import", str(tmp_path / "none")).error
    assert error["message"] == f"there are no issues of another tracker in '{tmp_path / 'none'}'"


def test_a_link_in_a_folder_that_was_named_is_not_followed(repo, tmp_path):
    (tmp_path / "other" / ".beads").mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text(json.dumps(issue("up-1")) + "\n")
    (tmp_path / "other" / ".beads" / "issues.jsonl").symlink_to(tmp_path / "secret.jsonl")
    assert repo.bd("--json", "import", str(tmp_path / "other")).error["code"] == "unsafe_path"
