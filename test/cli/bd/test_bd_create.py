"""bd create, bd q"""
import json
import re

import pytest

from beads import ECOSYSTEM, PUBLIC, at, clock, content_hash, is_error, ms, stamp
from conftest import git


def test_a_bead_has_every_public_member_with_its_default(repo):
    bead = repo.json("create", "hello", env=at())
    fixed = {key: bead[key] for key in bead if key not in ("id", "content_hash")}
    assert fixed == {
        "title": "hello", "description": "", "status": "open", "priority": 2, "type": "task", "labels": [],
        "assignee": None, "assignee_at": None, "assignee_expires": None, "created_at": stamp(),
        "created_by": "alice", "created_on_branch": "main", "updated_at": stamp(), "updated_by": "alice",
        "closed_at": None, "closed_by": None, "closed_reason": None, "closed_on_branch": None, "design": None,
        "acceptance_criteria": None, "external_ref": None, "source_repo": None, "notes": [], "issue_type": "task",
        "close_reason": None, "comments": [], "dependency_count": 0, "dependent_count": 0, "comment_count": 0,
        "parent": None}
    assert sorted(bead) == sorted(PUBLIC + ECOSYSTEM)
    assert bead["content_hash"] == content_hash(bead)


def test_everything_can_be_given_at_once(repo):
    clock(repo)
    epic, other, third = repo.create("epic", "-t", "epic"), repo.create("other"), repo.create("third")
    bead = repo.json("create", "hello", "-d", "why\nand how", "-t", "bug", "-p", "0", "-l", "b,a", "-l", "c,a",
                     "-a", "bob", "--deps", f"blocks:{other},discovered-from:{third}", "--parent", epic, "--design",
                     "so", "--acceptance", "then", "--external-ref", "gh-9", "--id", "bd-mine")
    expect = {"id": "bd-mine", "title": "hello", "description": "why\nand how", "type": "bug", "issue_type": "bug",
              "priority": 0, "labels": ["a", "b", "c"], "assignee": "bob", "assignee_expires": None, "design": "so",
              "acceptance_criteria": "then", "external_ref": "gh-9", "status": "open", "parent": epic,
              "dependency_count": 3, "created_at": stamp(), "created_by": "alice"}
    assert {key: bead[key] for key in expect} == expect
    assert bead["content_hash"] == content_hash(bead)
    shown = repo.show("bd-mine")
    assert sorted((d["id"], d["dependency_type"]) for d in shown["dependencies"]) == sorted(
        [(other, "blocks"), (third, "discovered_from"), (epic, "parent")])


def test_create_prints_id_and_title(repo):
    assert repo.bd("create", "hello", "--id", "bd-x1").ok().out == "Created bd-x1: hello\n"


def test_silent_and_q_print_the_id_alone(repo):
    assert repo.bd("create", "hello", "--id", "bd-x1", "--silent").ok().out == "bd-x1\n"
    out = repo.bd("q", "hello").ok().out
    assert re.fullmatch(r"bd-[0-9a-z]{4}\n", out)
    assert repo.show(out.strip())["title"] == "hello"


def test_new_is_create(repo):
    assert repo.json("new", "hello")["title"] == "hello"


def test_an_id_is_the_prefix_and_four_characters_of_base36(repo):
    ids = {repo.create(f"t{i}") for i in range(8)}
    assert len(ids) == 8
    assert all(re.fullmatch(r"bd-[0-9a-z]{4}", bead) for bead in ids)


def test_beyond_500_beads_ids_have_one_character_more(repo):
    plan = repo.path / "plan.md"
    plan.write_text("".join(f"## t{i}\n\n" for i in range(500)))
    repo.json("create", "-f", str(plan))
    assert repo.json("count")["count"] == 500
    assert {len(bead) for bead in repo.ids("list", "-n", "0")} == {len("bd-1234")}
    assert re.fullmatch(r"bd-[0-9a-z]{5}", repo.create("the 501st"))


def test_the_prefix_is_the_one_given_to_init(plain_repo):
    plain_repo.bd("init", "--prefix", "work").ok()
    assert re.fullmatch(r"work-[0-9a-z]{4}", plain_repo.create("x"))


@pytest.mark.parametrize("word", ["bug", "feature", "task", "epic", "chore"])
def test_the_five_types_are_taken(repo, word):
    bead = repo.json("create", "x", "-t", word)
    assert (bead["type"], bead["issue_type"]) == (word, word)


@pytest.mark.parametrize("word", ["feat", "enhancement"])
def test_other_words_for_a_feature(repo, word):
    assert repo.json("create", "x", "--type", word)["type"] == "feature"


@pytest.mark.parametrize("word", ["story", "", "Bug", "task "])
def test_another_type_is_refused(repo, word):
    is_error(repo.bd("--json", "create", "x", f"--type={word}"), "invalid_argument", 1)
    assert repo.json("list") == []


@pytest.mark.parametrize("word, number", [("0", 0), ("4", 4), ("P0", 0), ("P4", 4)])
def test_priorities_are_numbers_with_or_without_p(repo, word, number):
    assert repo.json("create", "x", "-p", word)["priority"] == number


@pytest.mark.parametrize("word", ["5", "-1", "P5", "high", "", "1.0", "01", " 1", "P", "9999999999999999999999"])
def test_another_priority_is_refused(repo, word):
    is_error(repo.bd("--json", "create", "x", f"--priority={word}"), "invalid_argument", 1)
    assert repo.json("list") == []


@pytest.mark.parametrize("title", ["", " ", "\t ", "a\nb", "a\x1bb", "a\x7fb"])
def test_a_title_is_one_line_of_text(repo, title):
    is_error(repo.bd("--json", "create", title), "invalid_argument", 1)
    assert repo.json("list") == []


@pytest.mark.parametrize("title", ["'; DROP TABLE beads; --", '{"a":1}', "%s%n", "$(id) `id`", "日本語 ｗｉｄｅ",
                                   "👩‍👩‍👧‍👦 family", "e\u0301", "\u202eabc", "-5", "--"])
def test_a_title_is_stored_unchanged(repo, title):
    bead = repo.json("create", "--", title)
    assert bead["title"] == title
    assert repo.show(bead["id"])["title"] == title
    assert title.replace("\u202e", "\ufffd") in repo.bd("show", bead["id"]).ok().out  # where people see it, it turns nothing around


@pytest.mark.parametrize("bad", [b"a\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"])
def test_arguments_and_input_have_to_be_utf8(repo, bad):
    is_error(repo.bd("--json", "create", bad), "invalid_argument", 1)
    is_error(repo.bd("--json", "create", "x", "--body-file", "-", stdin=bad), "invalid_argument", 1)
    assert repo.json("list") == []


def test_no_title_is_a_usage_error(repo):
    is_error(repo.bd("--json", "create"), "invalid_argument", 2)


def test_two_titles_are_a_usage_error(repo):
    is_error(repo.bd("--json", "create", "two", "words"), "invalid_argument", 2)
    assert repo.json("list") == []


def test_a_description_from_a_file_or_standard_input(repo):
    body = repo.path / "body.txt"
    body.write_text("from a file: ä\n")
    assert repo.json("create", "x", "--body-file", str(body))["description"].rstrip("\n") == "from a file: ä"
    assert repo.json("create", "x", "--body-file", "-", stdin="pipe 🎉\n".encode())["description"].rstrip(
        "\n") == "pipe 🎉"


def test_a_missing_body_file_is_an_error(repo):
    error = is_error(repo.bd("--json", "create", "x", "--body-file", "nowhere.txt"), "invalid_argument", 1)
    assert "nowhere.txt" in error["message"]
    assert repo.json("list") == []


def test_labels_are_a_set(repo):
    assert repo.json("create", "x", "-l", "b,a", "-l", "a", "-l", "ä")["labels"] == ["a", "b", "ä"]


def test_create_refuses_dependencies_on_unknown_beads(repo):
    for args in (["--deps", "blocks:bd-none"], ["--parent", "bd-none"]):
        is_error(repo.bd("--json", "create", "x", *args), "not_found", 1)
    assert repo.json("list") == []


def test_create_refuses_dependencies_on_deleted_beads(repo):
    gone = repo.create("gone")
    repo.bd("delete", gone, "--yes").ok()
    for args in (["--deps", gone], ["--parent", gone]):
        is_error(repo.bd("--json", "create", "x", *args), "deleted", 1)
    assert repo.json("list") == []


def test_one_bad_dependency_of_two_creates_nothing(repo):
    other = repo.create("other")
    is_error(repo.bd("--json", "create", "x", "--deps", f"blocks:{other},blocks:bd-none"), "not_found", 1)
    is_error(repo.bd("--json", "create", "x", "--deps", f"blocks:{other},eats:{other}"), "invalid_argument", 1)
    assert repo.ids("list") == [other]
    assert repo.show(other)["dependent_count"] == 0


@pytest.mark.parametrize("word, kind", [("blocks", "blocks"), ("parent", "parent"), ("parent-child", "parent"),
                                        ("related", "related"), ("relates-to", "related"),
                                        ("discovered_from", "discovered_from"),
                                        ("discovered-from", "discovered_from")])
def test_kinds_of_dependencies_and_their_other_names(repo, word, kind):
    other = repo.create("other")
    bead = repo.create("x", "--deps", f"{word}:{other}")
    assert [(d["id"], d["dependency_type"]) for d in repo.show(bead)["dependencies"]] == [(other, kind)]


def test_a_dependency_without_a_kind_blocks(repo):
    other = repo.create("other")
    bead = repo.create("x", "--deps", other)
    assert [d["dependency_type"] for d in repo.show(bead)["dependencies"]] == ["blocks"]


# ids that are given

def test_an_id_that_exists_is_refused(repo):
    repo.create("x", "--id", "bd-same")
    error = is_error(repo.bd("--json", "create", "y", "--id", "bd-same"), "already_exists", 1)
    assert "bd-same" in error["message"]
    assert [b["title"] for b in repo.json("list")] == ["x"]


def test_the_id_of_a_deleted_bead_is_not_used_again(repo):
    repo.create("x", "--id", "bd-same")
    repo.bd("delete", "bd-same", "--yes").ok()
    is_error(repo.bd("--json", "create", "y", "--id", "bd-same"), "already_exists", 1)
    assert repo.json("list") == []


@pytest.mark.parametrize("bead", ["", " ", "a b", "bd-\n", "bd-ä", "../x", "bd-", "-x", "bd/x", "BD-\x01"])
def test_an_invalid_id_is_refused(repo, bead):
    is_error(repo.bd("--json", "create", "x", f"--id={bead}"), "invalid_argument", 1)
    assert repo.json("list") == []


# dry run

def test_a_dry_run_creates_nothing(repo):
    before = repo.journal.read_bytes()
    bead = repo.json("create", "x", "--dry-run", "-p", "1")
    assert (bead["title"], bead["priority"], bead["status"]) == ("x", 1, "open")
    assert repo.journal.read_bytes() == before
    assert repo.json("list") == []
    is_error(repo.bd("--json", "create", "x", "--dry-run", "--parent", "bd-none"), "not_found", 1)


# branches

def test_the_branch_is_remembered(repo):
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo.path, "checkout", "-q", "-b", "feature/ä-1")
    assert repo.json("create", "x")["created_on_branch"] == "feature/ä-1"


def test_a_detached_head_is_no_branch(repo):
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo.path, "checkout", "-q", "--detach")
    bead = repo.create("x")
    assert repo.show(bead)["created_on_branch"] is None
    repo.bd("close", bead).ok()
    assert repo.show(bead)["closed_on_branch"] is None


# many at once

PLAN = """# The plan

What it is about.

## First thing

### Priority
1

### Type
bug

### Description
Two
lines, with ## inside.

### Design
so

### Acceptance
then

### Assignee
bob

### Labels
a, b

## Second thing

### Dependencies
blocks:%s
"""


def test_a_file_makes_a_bead_for_each_heading(repo):
    other = repo.create("other")
    plan = repo.path / "plan.md"
    plan.write_text(PLAN % other)
    repo.bd("create", "-f", str(plan)).ok()
    first, second = [repo.show(b) for b in repo.ids("list", "--title-contains", "thing", "--sort", "title")]
    expect = {"title": "First thing", "priority": 1, "type": "bug", "description": "Two\nlines, with ## inside.",
              "design": "so", "acceptance_criteria": "then", "assignee": "bob", "labels": ["a", "b"]}
    assert {key: first[key] for key in expect} == expect
    assert (second["title"], second["priority"], second["type"]) == ("Second thing", 2, "task")
    epic, = repo.json("list", "-t", "epic")
    assert (epic["title"], epic["description"]) == ("The plan", "What it is about.")
    assert sorted((d["id"], d["dependency_type"]) for d in second["dependencies"]) == sorted(
        [(other, "blocks"), (epic["id"], "parent")])


def test_a_file_is_read_completely_or_not_at_all(repo):
    plan = repo.path / "plan.md"
    plan.write_text(PLAN % "bd-none")
    before = repo.journal.read_bytes()
    is_error(repo.bd("--json", "create", "-f", str(plan)), "not_found", 1)
    plan.write_text("## fine\n\n## wrong\n\n### Priority\n7\n")
    is_error(repo.bd("--json", "create", "-f", str(plan)), "invalid_argument", 1)
    assert repo.journal.read_bytes() == before


def test_a_heading_in_a_code_block_is_no_bead(repo):
    plan = repo.path / "plan.md"
    plan.write_text("## one\n\n### Description\nSee:\n\n```\n## not a title\n### Priority\n```\n\n## two\n")
    one, two = repo.json("create", "-f", str(plan))
    assert (one["title"], two["title"]) == ("one", "two")
    assert one["description"] == "See:\n\n```\n## not a title\n### Priority\n```"


def test_a_file_with_crlf_line_ends(repo):
    plan = repo.path / "plan.md"
    plan.write_bytes(b"## one\r\n\r\n### Priority\r\nP1\r\n\r\n### Labels\r\na, b\r\n## two\r\n")
    one, two = repo.json("create", "-f", str(plan))
    assert (one["title"], one["priority"], one["labels"], two["title"]) == ("one", 1, ["a", "b"], "two")


@pytest.mark.parametrize("text", ["", "no headings\n", "# only one\n"])
def test_a_file_without_beads_is_refused(repo, text):
    plan = repo.path / "plan.md"
    plan.write_text(text)
    is_error(repo.bd("--json", "create", "-f", str(plan)), "invalid_argument", 1)


def test_a_file_is_one_record(repo):
    plan = repo.path / "plan.md"
    plan.write_text("## a\n\n## b\n\n## c\n")
    before = repo.journal.read_bytes().count(b"\n")
    made = repo.json("create", "-f", str(plan))
    assert [b["title"] for b in made] == ["a", "b", "c"]
    assert repo.journal.read_bytes().count(b"\n") == before + 1


# who

def test_the_actor_and_where_the_name_comes_from(repo):
    env = {"BD_ACTOR": "one", "BEADS_ACTOR": "two", "BB_AGENT_ID": "three"}
    repo.env = {}
    assert repo.json("create", "x", "--actor", "zero", env=env)["created_by"] == "zero"
    assert repo.json("create", "x", env=env)["created_by"] == "one"
    del env["BD_ACTOR"]
    assert repo.json("create", "x", env=env)["created_by"] == "two"
    del env["BEADS_ACTOR"]
    assert repo.json("create", "x", env=env)["created_by"] == "three"
    git(repo.path, "config", "user.name", "Git Name")
    assert repo.json("create", "x")["created_by"] == "Git Name"


def test_without_any_name_it_is_user_at_host(repo):
    repo.env = {}
    who = repo.json("create", "x")["created_by"]
    assert re.fullmatch(r"[^@\s]+@[^@\s]+", who)
    assert repo.json("create", "y")["created_by"] == who


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1bb"])
def test_a_name_is_text(repo, name):
    is_error(repo.bd("--json", "create", "x", "--actor", name), "invalid_argument", 1)
    assert repo.json("list") == []


def test_a_name_that_is_too_long_is_refused_with_the_right_length(repo):
    assert repo.json("create", "x", "--actor", "a" * 256)["created_by"] == "a" * 256
    error = is_error(repo.bd("--json", "create", "x", "--actor", "a" * 257), "invalid_argument", 1)
    assert error["message"] == "the agent's name has 257 bytes; at most 256 are allowed"
    assert error["hint"] == "Use 1 to 256 bytes of text without control characters."


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb"])
def test_an_assignee_is_a_name_too(repo, name):
    is_error(repo.bd("--json", "create", "x", "--assignee", name), "invalid_argument", 1)
    assert repo.json("list") == []


def test_the_reply_equals_that_of_show(repo):
    made = repo.json("create", "x", env=at())
    shown = repo.show(made["id"])
    assert {k: shown[k] for k in made} == made
    assert sorted(set(shown) - set(made)) == ["dependencies", "dependents"]


def test_json_is_one_line_and_nothing_else(repo):
    done = repo.bd("create", "x", "--json").ok()
    assert done.err == ""
    assert done.out.count("\n") == 1
    assert json.loads(done.out)["title"] == "x"


def test_times_are_those_of_the_command(repo):
    assert repo.json("create", "x", env={"ABACUS_NOW": "2026-01-01T01:00:00.123+01:00"})["created_at"] == stamp(ms=123)
    assert repo.json("create", "x", env={"ABACUS_NOW": str(ms(ms=124))})["created_at"] == stamp(ms=124)


@pytest.mark.parametrize("now", ["soon", "2026-02-30T00:00:00Z", "2026-01-01", "253402300800000",
                                 "9223372036854775807", "99999999999999999999"])
def test_a_time_that_is_invalid_or_has_no_rfc3339_form_is_refused(repo, now):
    is_error(repo.bd("--json", "create", "x", env={"ABACUS_NOW": now}), "invalid_argument", 1)
    assert repo.json("list") == []


@pytest.mark.parametrize("body", ["one line\n", "two\nlines\n", "ends with a blank line\n\n", "no end", "\n", "a\r\n"])
def test_a_body_from_standard_input_equals_that_of_a_file(repo, body):
    """Every byte, including the last line end; the same for every option that names a file."""
    (repo.path / "body.md").write_bytes(body.encode())
    bead = repo.create("x")
    for words in (["create", "x", "--body-file"], ["update", bead, "--body-file"]):
        got = [repo.json(*words, name, **kw) for name, kw in (("body.md", {}), ("-", {"stdin": body.encode()}))]
        assert [(b[0] if isinstance(b, list) else b)["description"] for b in got] == [body, body]
    notes = [repo.json("comment", bead, "-f", name, **kw)["text"] for name, kw in (("body.md", {}), ("-", {"stdin": body.encode()}))
             if body.strip()]
    assert notes == [body] * len(notes)


def test_a_value_from_standard_input_has_no_end_of_line(repo):
    assert repo.json("create", "x", "-d", "-", stdin=b"echoed\n")["description"] == "echoed"


@pytest.mark.parametrize("words", [["--title=x", "--type=bug", "--priority=1"], ["--title", "x", "--type", "bug", "-p", "P1"],
                                   ["--priority=1", "x", "-t", "bug"]])
def test_the_title_may_be_an_option_as_upstream_teaches_it(repo, words):
    got = repo.json("create", *words)
    assert (got["title"], got["type"], got["priority"]) == ("x", "bug", 1)


def test_a_title_in_two_places_is_refused(repo):
    done = repo.bd("create", "--title=x", "y")
    assert done.code == 2 and "TITLE was given twice" in done.err
    assert repo.json("list") == []
