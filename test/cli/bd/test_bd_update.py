"""bd update, bd comment, bd label; rules of all mutations"""
import json

import pytest

from beads import append, clock, content_hash, is_error, ms, prepared, stamp


def test_every_field_can_be_changed_in_one_step(repo):
    clock(repo)
    epic, bead = repo.create("epic", "-t", "epic"), repo.create("old", "-l", "x,y")
    before = repo.journal.read_bytes().count(b"\n")
    clock(repo, m=1)
    got, = repo.json("update", bead, "--title", "new", "-d", "why", "--design", "so", "--acceptance", "then", "-p",
                     "P0", "-t", "chore", "--external-ref", "gh-1", "--add-label", "a", "--add-label", "b",
                     "--remove-label", "x", "--append-notes", "note", "-a", "bob", "--parent", epic, "-s",
                     "in_progress", "--actor", "carol")
    expect = {"id": bead, "title": "new", "description": "why", "design": "so", "acceptance_criteria": "then",
              "priority": 0, "type": "chore", "issue_type": "chore", "external_ref": "gh-1", "labels": ["a", "b", "y"],
              "assignee": "bob", "parent": epic, "status": "in_progress", "created_at": stamp(), "created_by": "alice",
              "updated_at": stamp(m=1), "updated_by": "carol", "comment_count": 1, "dependency_count": 1}
    assert {key: got[key] for key in expect} == expect
    assert [(n["content"], n["author"]) for n in got["notes"]] == [("note", "carol")]
    assert repo.journal.read_bytes().count(b"\n") == before + 1
    assert got["content_hash"] == content_hash(got)


def test_update_prints_the_new_state(repo):
    bead = repo.create("old")
    out = repo.bd("update", bead, "--title", "new", "-p", "1").ok().out
    assert out.startswith(f"Updated {bead}: new\n")
    assert "open, priority 1" in out


@pytest.mark.parametrize("last", [["-p", "9"], ["-t", "story"], ["-s", "wip"], ["--parent", "bd-none"],
                                  ["--title", ""], ["--if-hash", "0" * 64], ["--epoch", "[1,1]"],
                                  ["--add-label", ""], ["--bogus"], ["--append-notes", ""]])
def test_five_changes_of_which_the_last_is_wrong_change_nothing(repo, last):
    bead = repo.create("old", "-l", "x")
    shown, journal = repo.show(bead), repo.journal.read_bytes()
    done = repo.bd("--json", "update", bead, "--title", "new", "-d", "d", "--add-label", "y", "--append-notes", "n",
                   *last)
    assert done.code in (1, 2)
    assert done.error["code"] in ("invalid_argument", "not_found", "cas_mismatch", "stale_claim")
    assert repo.journal.read_bytes() == journal
    assert repo.show(bead) == shown


def test_several_beads_are_changed_together(repo):
    a, b = repo.create("a"), repo.create("b")
    assert [x["id"] for x in repo.json("update", b, a, "-p", "0")] == [b, a]
    assert [repo.show(x)["priority"] for x in (a, b)] == [0, 0]


@pytest.mark.parametrize("words", [["update", "-p", "0"], ["close"], ["reopen"], ["delete"], ["claim"], ["unclaim"],
                                   ["renew"], ["undelete"], ["show"]])
def test_one_unknown_id_of_several_changes_nothing(repo, words):
    a = repo.create("a")
    journal = repo.journal.read_bytes()
    done = repo.bd("--json", words[0], a, "bd-none", *words[1:])
    assert done.code == 1
    assert list(done.json) == ["error"]
    assert repo.journal.read_bytes() == journal
    assert repo.show(a)["priority"] == 2


def test_labels_all_or_none(repo):
    a, b = repo.create("a"), repo.create("b")
    is_error(repo.bd("--json", "label", "add", a, "bd-none", "l"), "not_found", 1)
    assert repo.show(a)["labels"] == []
    assert [x["labels"] for x in repo.json("label", "add", a, b, "l")] == [["l"], ["l"]]
    is_error(repo.bd("--json", "label", "remove", a, "bd-none", "l"), "not_found", 1)
    assert repo.show(a)["labels"] == ["l"]
    assert [x["labels"] for x in repo.json("label", "remove", a, b, "l")] == [[], []]


def test_an_empty_text_removes_a_field(repo):
    bead = repo.create("x", "--design", "d", "--acceptance", "a", "--external-ref", "r", "-d", "t", "-a", "bob")
    got, = repo.json("update", bead, "--design", "", "--acceptance", "", "--external-ref", "", "-d", "", "-a", "")
    assert (got["description"], got["assignee"], got["assignee_at"]) == ("", None, None)
    assert [got[k] or None for k in ("design", "acceptance_criteria", "external_ref")] == [None] * 3
    assert got["content_hash"] == content_hash(got)


def test_set_labels_replaces_them(repo):
    bead = repo.create("x", "-l", "a,b")
    assert repo.json("update", bead, "--set-labels", "c,b,c")[0]["labels"] == ["b", "c"]
    assert repo.json("update", bead, "--set-labels", "")[0]["labels"] == []


def test_a_new_parent_replaces_the_old_one(repo):
    one, two = repo.create("one"), repo.create("two")
    bead = repo.create("x", "--parent", one)
    assert repo.json("update", bead, "--parent", two)[0]["parent"] == two
    assert repo.ids("children", one) == []
    assert repo.ids("children", two) == [bead]
    assert repo.json("update", bead, "--parent", "")[0]["parent"] is None
    assert repo.ids("children", two) == []


def test_a_descendant_as_parent_is_a_cycle(repo):
    one = repo.create("one")
    two = repo.create("two", "--parent", one)
    journal = repo.journal.read_bytes()
    is_error(repo.bd("--json", "update", one, "--parent", two), "cycle", 1)
    is_error(repo.bd("--json", "update", one, "--parent", one), "self_dependency", 1)
    assert repo.journal.read_bytes() == journal


def test_an_update_that_changes_nothing_writes_nothing(repo):
    bead = repo.create("x", "-l", "a")
    journal, shown = repo.journal.read_bytes(), repo.show(bead)
    repo.json("update", bead, "--title", "x", "-p", "2", "--add-label", "a", "--remove-label", "zz")
    repo.json("label", "add", bead, "a")
    repo.json("label", "remove", bead, "zz")
    repo.json("reopen", bead)
    assert repo.journal.read_bytes() == journal
    assert repo.show(bead) == shown


def test_body_file_is_the_description(repo):
    bead = repo.create("x")
    assert repo.json("update", bead, "--body-file", "-", stdin=b"from a pipe")[0]["description"] == "from a pipe"


def test_the_status_can_be_set_and_closing_that_way_is_closing(repo):
    clock(repo)
    bead = repo.create("x")
    got, = repo.json("update", bead, "-s", "closed")
    assert (got["status"], got["closed_at"], got["closed_by"], got["closed_on_branch"]) == (
        "closed", stamp(), "alice", "main")
    got, = repo.json("update", bead, "-s", "open")
    assert (got["status"], got["closed_at"], got["closed_by"], got["closed_reason"], got["closed_on_branch"]) == (
        "open", None, None, None, None)


def test_closing_by_update_obeys_blockers(repo):
    blocker = repo.create("blocker")
    bead = repo.create("x", "--deps", blocker)
    is_error(repo.bd("--json", "update", bead, "-s", "closed"), "blocked", 1)
    assert repo.show(bead)["status"] == "open"


def test_closing_by_update_clears_the_claim(repo):
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    got, = repo.json("update", bead, "-s", "closed")
    assert (got["assignee"], got["assignee_at"], got["assignee_expires"]) == (None, None, None)


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb"])
def test_an_assignee_is_a_name(repo, name):
    bead = repo.create("x")
    is_error(repo.bd("--json", "update", bead, "-a", name), "invalid_argument", 1)
    assert repo.show(bead)["assignee"] is None


# notes

def test_notes_are_added_and_kept_in_order(repo):
    clock(repo)
    bead = repo.create("x")
    for i, text in enumerate(["one", "two\nlines", "three 🎉"]):
        made = repo.json("comment", bead, text, "--actor", f"a{i}")
        assert (made["issue_id"], made["author"], made["text"], made["created_at"]) == (bead, f"a{i}", text, stamp())
    got = repo.show(bead)
    assert [(n["content"], n["author"]) for n in got["notes"]] == [
        ("one", "a0"), ("two\nlines", "a1"), ("three 🎉", "a2")]
    assert all(sorted(n) == ["at", "author", "content", "id"] for n in got["notes"])
    stamps = [n["at"] for n in got["notes"]]
    assert stamps == sorted(stamps) and len({tuple(s) for s in stamps}) == 3
    assert all(s[0] == ms() for s in stamps)
    assert len({n["id"] for n in got["notes"]}) == 3
    assert got["comments"] == [{"id": n["id"], "issue_id": bead, "author": n["author"], "text": n["content"],
                                "created_at": stamp()} for n in got["notes"]]
    assert got["comment_count"] == 3
    assert repo.json("comments", bead) == got["comments"]
    assert got["content_hash"] == content_hash(got)


def test_the_same_text_twice_is_two_notes(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("comment", bead, "same").ok()
    repo.bd("comment", bead, "same").ok()
    assert [n["text"] for n in repo.json("comments", bead)] == ["same", "same"]


def test_comments_for_people(repo):
    bead = repo.create("x")
    assert repo.bd("comment", bead, "first\nsecond").ok().out == f"Added a comment to {bead}\n"
    out = repo.bd("comments", bead).ok().out
    assert "alice" in out and "first" in out and "second" in out


def test_a_comment_from_a_file_or_standard_input(repo):
    bead = repo.create("x")
    (repo.path / "n.txt").write_text("filed")
    assert repo.json("comment", bead, "-f", "n.txt")["text"] == "filed"
    assert repo.json("comment", bead, "-", stdin=b"piped\n")["text"].rstrip("\n") == "piped"


def test_text_from_two_places_is_refused_and_not_dropped(repo):
    bead = repo.create("x")
    (repo.path / "n.txt").write_text("## filed\n")
    journal = repo.journal.read_bytes()
    for words in (["comment", bead, "said", "-f", "n.txt"], ["update", bead, "-d", "said", "--body-file", "n.txt"],
                  ["create", "y", "-d", "said", "--body-file", "n.txt"], ["create", "said", "-f", "n.txt"]):
        done = repo.bd("--json", *words)
        assert (done.code in (1, 2), repo.journal.read_bytes() == journal) == (True, True), words
        assert done.error["code"] == "invalid_argument"


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_comment_is_refused(repo, text):
    bead = repo.create("x")
    is_error(repo.bd("--json", "comment", bead, text), "invalid_argument", 1)
    assert repo.json("comments", bead) == []


# labels

def test_labels_for_people_and_programs(repo):
    a = repo.create("a", "-l", "y,x")
    repo.create("b", "-l", "x")
    assert repo.json("label", "list", a) == ["x", "y"]
    assert repo.bd("label", "list", a).ok().out == "  x\n  y\n"
    assert repo.json("label", "list-all") == [{"label": "x", "count": 2}, {"label": "y", "count": 1}]
    assert [line.split() for line in repo.bd("label", "list-all").ok().out.splitlines()] == [["2", "x"], ["1", "y"]]
    assert repo.json("label", "add", a, "z")[0]["labels"] == ["x", "y", "z"]
    assert repo.json("label", "remove", a, "x")[0]["labels"] == ["y", "z"]


@pytest.mark.parametrize("label", ["", " ", "a\nb", "a\x1bb"])
def test_a_label_is_text(repo, label):
    bead = repo.create("x")
    is_error(repo.bd("--json", "label", "add", bead, label), "invalid_argument", 1)
    is_error(repo.bd("--json", "update", bead, "--add-label", label), "invalid_argument", 1)
    assert repo.show(bead)["labels"] == []


def test_commas_separate_labels_in_every_option(repo):
    a, b = repo.create("a", "-l", "p,q"), repo.create("b")
    repo.bd("update", b, "--add-label", "p,q").ok()
    c = repo.create("c")
    done = repo.bd("--json", "label", "add", c, "p,q")
    assert (done.code, repo.show(c)["labels"]) in [(0, ["p", "q"]), (1, [])]
    assert repo.ids("list", "-l", "p,q")[:2] == [a, b]


def test_a_label_needs_a_bead_and_a_word(repo):
    bead = repo.create("x")
    is_error(repo.bd("--json", "label", "add"), "invalid_argument", 2)
    is_error(repo.bd("--json", "label", "add", bead), "invalid_argument", 2)


# compare and set, on every mutation

def claimed(repo):
    clock(repo)
    other = repo.create("other")
    bead = repo.create("x", "-l", "have", "--deps", f"related:{other}")
    repo.bd("claim", bead).ok()
    return other, bead


def mutations(bead, other):
    return [["update", bead, "-p", "0"], ["update", bead, "--claim"], ["close", bead], ["delete", bead, "--yes"],
            ["claim", bead], ["renew", bead], ["unclaim", bead], ["comment", bead, "hi"], ["label", "add", bead, "l"],
            ["label", "remove", bead, "have"], ["dep", "add", bead, other], ["dep", "remove", bead, other, "-t", "related"]]


@pytest.mark.parametrize("which", range(12))
def test_another_hash_refuses_every_mutation_and_the_right_one_does_not(repo, which):
    other, bead = prepared(repo, claimed)
    words = mutations(bead, other)[which]
    journal, hash = repo.journal.read_bytes(), repo.show(bead)["content_hash"]
    error = is_error(repo.bd("--json", *words, "--if-hash", "0" * 64), "cas_mismatch", 1)
    assert hash in str(error)
    assert repo.journal.read_bytes() == journal
    repo.bd("--json", *words, "--if-hash", hash).ok()


def test_hash_of_reopen_and_undelete(repo):
    bead = repo.create("x")
    repo.bd("close", bead).ok()
    hash = repo.show(bead)["content_hash"]
    is_error(repo.bd("--json", "reopen", bead, "--if-hash", "f" * 64), "cas_mismatch", 1)
    assert repo.show(bead)["status"] == "closed"
    repo.bd("reopen", bead, "--if-hash", hash).ok()
    hash = repo.show(bead)["content_hash"]
    repo.bd("delete", bead, "--yes").ok()
    is_error(repo.bd("--json", "undelete", bead, "--if-hash", "f" * 64), "cas_mismatch", 1)
    is_error(repo.bd("--json", "show", bead), "deleted", 1)
    repo.bd("undelete", bead, "--if-hash", hash).ok()
    assert repo.show(bead)["content_hash"] == hash


def test_a_write_in_between_fails_the_compare_and_set(repo):
    bead = repo.create("x")
    hash = repo.show(bead)["content_hash"]
    repo.bd("update", bead, "--title", "other", "--actor", "bob").ok()
    is_error(repo.bd("--json", "update", bead, "--title", "mine", "--if-hash", hash), "cas_mismatch", 1)
    assert repo.show(bead)["title"] == "other"


# request ids, on every mutation

def requests(bead, other):
    return mutations(bead, other) + [["create", "again"], ["ready", "--claim"], ["reclaim"]]


@pytest.mark.parametrize("which", range(15))
def test_a_repeated_request_has_one_effect_and_the_first_reply(repo, which):
    other, bead = prepared(repo, claimed)
    words = [*requests(bead, other)[which], "--request-id", "r-1", "--json"]
    first = repo.bd(*words).ok().bytes
    journal = repo.journal.read_bytes()
    if words[0] != "delete":
        repo.bd("comment", bead, "in between", "--actor", "bob").ok()
        journal = repo.journal.read_bytes()
    clock(repo, h=3)
    assert repo.bd(*words).ok().bytes == first
    assert repo.journal.read_bytes() == journal


@pytest.mark.parametrize("which", range(15))
def test_a_request_id_with_other_arguments_is_refused(repo, which):
    other, bead = prepared(repo, claimed)
    repo.bd("create", "first", "--request-id", "r-1").ok()
    journal = repo.journal.read_bytes()
    is_error(repo.bd(*requests(bead, other)[which], "--request-id", "r-1", "--json"), "request_mismatch", 1)
    assert repo.journal.read_bytes() == journal


def test_a_failed_request_leaves_its_id_free(repo):
    is_error(repo.bd("--json", "update", "bd-later", "-p", "0", "--request-id", "r"), "not_found", 1)
    repo.create("x", "--id", "bd-later")
    assert repo.json("update", "bd-later", "-p", "0", "--request-id", "r")[0]["priority"] == 0


def test_the_order_and_place_of_options_do_not_make_another_request(repo):
    first = repo.bd("--json", "create", "x", "-p", "1", "-t", "bug", "--request-id", "r").ok().bytes
    assert repo.bd("--request-id=r", "create", "--type=bug", "--priority=1", "x", "--json").ok().bytes == first
    assert repo.json("count")["count"] == 1


def test_a_request_is_its_actors_own(repo):
    one = repo.create("x", "--request-id", "r")
    assert repo.create("x", "--request-id", "r", "--actor", "bob") != one


@pytest.mark.parametrize("word", ["", "a\nb"])
def test_a_request_id_is_text(repo, word):
    is_error(repo.bd("--json", "create", "x", "--request-id", word), "invalid_argument", 1)
    assert repo.json("list") == []


def test_the_reply_survives_the_loss_of_the_cache(repo):
    first = repo.bd("create", "x", "--json", "--request-id", "r").ok().bytes
    for file in repo.home.glob("cache.db*"):
        file.unlink()
    assert repo.bd("create", "x", "--json", "--request-id", "r").ok().bytes == first
    assert repo.json("count")["count"] == 1


# time

def test_with_a_frozen_clock_the_later_command_wins(repo):
    clock(repo)
    bead = repo.create("x")
    for i, actor in enumerate(["zoe", "adam", "zoe", "bob", "adam"]):
        got, = repo.json("update", bead, "--title", f"t{i}", "-p", str(i % 5), "--actor", actor)
        assert (got["title"], got["updated_by"], got["updated_at"]) == (f"t{i}", actor, stamp())
        assert repo.show(bead)["title"] == f"t{i}"


def test_a_clock_that_goes_back_a_day_loses_nothing(repo):
    clock(repo, d=1)
    bead = repo.create("x")
    repo.bd("update", bead, "--title", "first", "--actor", "zoe").ok()
    clock(repo)
    assert repo.json("update", bead, "--title", "later", "--actor", "adam")[0]["title"] == "later"
    assert repo.show(bead)["title"] == "later"
    repo.bd("close", bead).ok()
    assert repo.show(bead)["status"] == "closed"
    repo.bd("delete", bead, "--yes").ok()
    is_error(repo.bd("--json", "show", bead), "deleted", 1)
    repo.bd("undelete", bead).ok()
    assert repo.show(bead)["title"] == "later"
    repo.bd("reopen", bead).ok()
    assert repo.show(bead)["status"] == "open"


def test_a_bead_with_a_stamp_an_hour_ahead_can_be_changed(repo):
    clock(repo)
    repo.create("here")
    ahead = [ms(h=1), 7]
    append(repo, {"beads": [{"_at": ahead, "_by": "zoe", "created_at": ahead, "created_by": "zoe", "id": "bd-far",
                             "priority": 2, "status": "open", "title": "ahead", "type": "task"}]})
    got, = repo.json("update", "bd-far", "--title", "now", "--actor", "adam")
    assert (got["title"], got["updated_by"]) == ("now", "adam")
    assert repo.show("bd-far")["title"] == "now"
    got, = repo.json("claim", "bd-far")
    assert got["assignee_expires"] == stamp(h=1)
    assert got["assignee_at"] > ahead
    repo.bd("close", "bd-far").ok()
    assert repo.show("bd-far")["status"] == "closed"
    assert repo.json("create", "after")["created_at"] == stamp(h=1)


def test_stamps_of_successive_writes_rise(repo):
    clock(repo)
    bead = repo.create("x")
    for t in (5, 5, 3, 9, 1, 9):
        clock(repo, s=t)
        repo.bd("comment", bead, f"at {t}").ok()
    stamps = [n["at"] for n in repo.show(bead)["notes"]]
    assert stamps == sorted(stamps) and len({tuple(s) for s in stamps}) == 6


def test_unknown_members_survive_every_change(repo):
    clock(repo)
    bead = repo.create("x")
    other = repo.create("other")
    line = {"_v": {"estimate": [[ms(), 50], "zoe"], "x_deep": [[ms(), 50], "zoe"]}, "created_at": [ms(), 1],
            "created_by": "alice", "estimate": 90, "id": bead, "x_deep": {"b": [1, None, "ä"], "a": 1e3}}
    first = repo.journal.read_bytes().splitlines()[1]
    assert b'"created_at":[%d,' % ms() in first
    line["created_at"] = json.loads(first[9:])["beads"][0]["created_at"]
    append(repo, {"beads": [line]})
    assert repo.show(bead)["estimate"] == 90
    for words in (["update", bead, "-p", "0"], ["claim", bead], ["comment", bead, "hi"], ["dep", "add", bead, other],
                  ["close", bead, "--force"], ["reopen", bead], ["delete", bead, "--yes"], ["undelete", bead]):
        repo.bd(*words).ok()
    for file in repo.home.glob("cache.db*"):
        file.unlink()
    got = repo.show(bead)
    assert (got["estimate"], got["x_deep"]) == (90, {"b": [1, None, "ä"], "a": 1000})
    assert got["content_hash"] == content_hash(got)


def test_an_update_without_a_change_says_so(repo):
    one, other = repo.create("first"), repo.create("second")
    for words in ([], ["--title", "first"], ["-p", "2"], ["--remove-label", "none"]):
        before = repo.show(one)
        reply, = repo.json("update", one, *words)
        assert reply["unchanged"] and reply["content_hash"] == before["content_hash"]
        assert repo.bd("update", one, *words).ok().out.startswith(f"Nothing to change in {one}: first")
        assert repo.show(one) == before
    assert "unchanged" not in repo.json("update", one, "--parent", other)[0]
    assert [bead.get("unchanged") for bead in repo.json("update", one, other, "--title", "first")] == [None, None]
