"""bd close, reopen, delete, undelete, deleted"""
import json

import pytest

from beads import clock, content_hash, is_error, stamp, wipe_cache
from board import on_terminal
from conftest import git


def test_close_records_time_actor_reason_and_branch(repo):
    clock(repo)
    bead = repo.create("x")
    clock(repo, m=1)
    got, = repo.json("close", bead, "--reason", "done ✓", "--actor", "bob")
    expect = {"status": "closed", "closed_at": stamp(m=1), "closed_by": "bob", "closed_reason": "done ✓",
              "close_reason": "done ✓", "closed_on_branch": "main", "updated_at": stamp(m=1), "updated_by": "bob",
              "created_at": stamp(), "created_by": "alice"}
    assert {k: got[k] for k in expect} == expect
    assert got["content_hash"] == content_hash(got)
    shown = repo.show(bead)
    assert {k: shown[k] for k in got} == got


def test_close_prints_a_confirmation(repo):
    bead = repo.create("x")
    assert repo.bd("close", bead, "-r", "why").ok().out.startswith(f"Closed {bead}: x\n")


def test_reopen_and_undelete_print_a_confirmation(repo):
    bead = repo.create("x")
    repo.bd("close", bead).ok()
    assert repo.bd("reopen", bead).ok().out.startswith(f"Reopened {bead}: x\n")
    repo.bd("delete", bead, "--yes").ok()
    assert repo.bd("undelete", bead).ok().out.startswith(f"Restored {bead}: x\n")


def test_done_is_close_and_the_reason_is_optional(repo):
    bead = repo.create("x")
    got, = repo.json("done", bead)
    assert (got["status"], got["closed_reason"]) == ("closed", None)


def test_closing_with_a_note_is_one_record(repo):
    bead = repo.create("x")
    before = repo.journal.read_bytes().count(b"\n")
    got, = repo.json("close", bead, "--note", "a word")
    assert repo.journal.read_bytes().count(b"\n") == before + 1
    assert [n["content"] for n in got["notes"]] == ["a word"]


def test_closing_again_keeps_the_first_closing(repo):
    clock(repo)
    bead = repo.create("x")
    first, = repo.json("close", bead, "-r", "one")
    journal = repo.journal.read_bytes()
    clock(repo, m=1)
    again, = repo.json("close", bead, "--actor", "bob")
    assert (again["closed_at"], again["closed_by"], again["closed_reason"]) == (stamp(), "alice", "one")
    assert repo.journal.read_bytes() == journal


def test_a_bead_with_open_blockers_closes_only_by_force(repo):
    a, b = repo.create("a"), repo.create("b")
    bead = repo.create("x", "--deps", f"{a},{b}")
    error = is_error(repo.bd("--json", "close", bead), "blocked", 1)
    assert sorted(error["details"]["blockers"]) == sorted([a, b])
    assert a in error["message"] and b in error["message"]
    assert repo.show(bead)["status"] == "open"
    repo.bd("close", bead, "--force").ok()
    assert repo.show(bead)["status"] == "closed"


def test_a_blocker_and_the_bead_it_blocks_close_together(repo):
    a = repo.create("a")
    b = repo.create("b", "--deps", a)
    repo.bd("close", a, b).ok()
    assert repo.ids("list", "-s", "closed") == [a, b]


def test_one_blocked_bead_of_several_closes_none(repo):
    a, b = repo.create("a"), repo.create("b")
    c = repo.create("c", "--deps", b)
    is_error(repo.bd("--json", "close", a, c), "blocked", 1)
    assert repo.show(a)["status"] == "open"


def test_a_bead_with_open_children_closes_only_by_force(repo):
    parent = repo.create("parent")
    children = sorted(repo.create(f"c{i}", "--parent", parent) for i in range(2))
    for words in (["close", parent], ["update", parent, "-s", "closed"]):
        error = is_error(repo.bd("--json", *words), "blocked", 1)
        assert sorted(error["details"]["children"]) == children and error["details"]["id"] == parent
        assert "--force" in error["hint"]
    repo.bd("close", children[0]).ok()
    error = is_error(repo.bd("--json", "close", parent), "blocked", 1)
    assert error["details"]["children"] == [children[1]]
    done = repo.run("task", "complete", "--id", parent, "--outcome", "done", "--summary", "s", "--agent", "w", "--request-id", "r",
                    program="vybe")
    assert json.loads(done.out)["error_code"] == "BLOCKED"
    repo.bd("close", parent, "--force").ok()
    assert repo.show(children[1])["status"] == "open"


def test_a_parent_and_its_last_open_child_close_together(repo):
    parent = repo.create("parent")
    child = repo.create("child", "--parent", parent)
    repo.bd("close", parent, child).ok()
    assert repo.show(parent)["status"] == repo.show(child)["status"] == "closed"


def test_suggest_next_lists_beads_that_became_ready(repo):
    a = repo.create("a")
    b, c = repo.create("b", "--deps", a), repo.create("c")
    d = repo.create("d", "--deps", f"{a},{c}")
    got = repo.json("close", a, "--suggest-next")
    assert [x["id"] for x in got] == [a, b]
    assert got[1]["unblocked"] is True
    assert d not in repo.ids("ready")
    repo.bd("reopen", a).ok()
    out = repo.bd("close", a, "--suggest-next").ok().out
    assert b in out and d not in out


def test_reopen_clears_the_closing(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("close", bead, "-r", "done").ok()
    got, = repo.json("reopen", bead, "--reason", "not yet", "--actor", "bob")
    assert [got[k] for k in ("status", "closed_at", "closed_by", "closed_reason", "closed_on_branch", "close_reason")
            ] == ["open", None, None, None, None, None]
    assert [(n["content"], n["author"]) for n in got["notes"]] == [("not yet", "bob")]
    assert got["content_hash"] == content_hash(got)
    assert bead in repo.bd("reopen", bead).ok().out


def test_reopen_to_in_progress(repo):
    bead = repo.create("x")
    repo.bd("close", bead).ok()
    assert repo.json("reopen", bead, "--status", "in_progress")[0]["status"] == "in_progress"
    is_error(repo.bd("--json", "reopen", bead, "--status", "closed"), "invalid_argument", 1)


# delete

def test_delete_leaves_a_tombstone(repo):
    clock(repo)
    bead = repo.create("x")
    clock(repo, m=1)
    stone, = repo.json("delete", bead, "--reason", "twice", "--actor", "bob", "--yes")
    expect = {"id": bead, "deleted_at": stamp(m=1), "deleted_by": "bob", "reason": "twice"}
    assert {k: stone[k] for k in expect} == expect
    listed, = repo.json("deleted")
    assert {k: listed[k] for k in expect} == expect
    error = is_error(repo.bd("--json", "show", bead), "deleted", 1)
    assert error["details"] == expect
    assert "bob" in error["message"]


def test_the_reason_is_optional(repo):
    bead = repo.create("x")
    assert repo.json("delete", bead, "--yes")[0]["reason"] is None
    assert repo.json("deleted")[0]["reason"] is None


def test_a_deleted_bead_is_in_no_list(repo):
    bead, other = repo.create("findme", "-l", "l"), repo.create("other")
    repo.bd("dep", "add", bead, other, "-t", "related").ok()
    repo.bd("delete", bead, "--yes").ok()
    assert repo.ids("list", "--all") == repo.ids("ready") == [other]
    assert repo.json("search", "findme") == []
    assert repo.json("count")["count"] == 1
    assert repo.json("label", "list-all") == []
    assert bead not in [n["id"] for n in repo.json("graph", "--all")["nodes"]]
    assert repo.json("graph", "--all")["edges"] == []
    status = repo.json("status")
    assert (status["total_issues"], status["deleted_issues"]) == (1, 1)


@pytest.mark.parametrize("words", [["update", "-p", "0"], ["close"], ["reopen"], ["claim"], ["unclaim"], ["renew"],
                                   ["delete"], ["comment", "hi"], ["show"], ["comments"], ["why"], ["children"],
                                   ["dep", "list"], ["dep", "tree"], ["label", "list"]])
def test_every_other_command_reports_that_the_bead_is_deleted(repo, words):
    bead = repo.create("x")
    repo.bd("delete", bead, "--yes").ok()
    journal = repo.journal.read_bytes()
    n = 2 if words[0] in ("dep", "label") else 1
    error = is_error(repo.bd("--json", *words[:n], bead, *words[n:]), "deleted", 1)
    assert bead in error["message"]
    assert repo.journal.read_bytes() == journal


def test_undelete_restores_everything(repo):
    a, epic = repo.create("a"), repo.create("e", "-t", "epic")
    bead = repo.create("x", "-l", "l", "-d", "d", "--deps", a, "--parent", epic)
    repo.bd("comment", bead, "note").ok()
    before = repo.show(bead)
    repo.bd("delete", bead, "--yes").ok()
    wipe_cache(repo)
    repo.bd("undelete", bead).ok()
    after = repo.show(bead)
    changing = ("updated_at", "updated_by")
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing}
    assert repo.json("deleted") == []
    assert repo.json("search", "note")[0]["id"] == bead


def test_undelete_of_a_live_or_unknown_bead_is_an_error(repo):
    bead = repo.create("x")
    is_error(repo.bd("--json", "undelete", bead), "invalid_argument", 1)
    is_error(repo.bd("--json", "undelete", "bd-none"), "not_found", 1)


def test_deleted_is_newest_first(repo):
    ids = []
    for i in range(3):
        clock(repo, m=i)
        ids.append(repo.create(f"t{i}"))
    for i, bead in enumerate(ids):
        clock(repo, h=1, m=i)
        repo.bd("delete", bead, "--yes").ok()
    assert repo.ids("deleted") == ids[::-1]
    assert repo.ids("deleted", "-n", "1") == [ids[2]]
    out = repo.bd("deleted").ok().out
    assert out.index(ids[2]) < out.index(ids[1]) < out.index(ids[0])


def test_a_dry_run_deletes_nothing(repo):
    bead = repo.create("x")
    journal = repo.journal.read_bytes()
    assert [x["id"] for x in repo.json("delete", bead, "--dry-run")] == [bead]
    assert bead in repo.bd("delete", bead, "--dry-run").ok().out
    assert repo.journal.read_bytes() == journal


def test_on_a_terminal_delete_asks_first(repo):
    bead = repo.create("x")
    journal = repo.journal.read_bytes()
    shown, _ = on_terminal(repo, "delete", bead, answer=b"n\n", program="bd")
    assert bead in shown and "x" in shown
    assert repo.journal.read_bytes() == journal
    shown, code = on_terminal(repo, "delete", bead, "--force", program="bd")
    assert code == 0
    assert [d["id"] for d in repo.json("deleted")] == [bead]


def test_closing_on_a_branch(repo):
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "x")
    bead = repo.create("x")
    git(repo.path, "checkout", "-q", "-b", "topic/one")
    got, = repo.json("close", bead)
    assert (got["created_on_branch"], got["closed_on_branch"]) == ("main", "topic/one")


def test_a_deleted_bead_is_found_by_the_start_of_its_id(repo):
    bead = repo.create("x", "--id", "bd-zzz9")
    repo.bd("delete", bead, "--yes").ok()
    is_error(repo.bd("--json", "show", "bd-zzz"), "deleted", 1)
    assert repo.json("undelete", "bd-zz")[0]["id"] == bead


def test_without_a_terminal_delete_shows_what_it_would_delete_and_fails(repo):
    bead = repo.create("x")
    journal = repo.journal.read_bytes()
    done = repo.bd("delete", bead)
    assert done.code == 1 and bead in done.out and "nothing was deleted" in done.err
    preview = repo.bd("delete", bead, "--json")
    is_error(preview, "invalid_argument", 1)
    assert [(b["id"], b["deleted"]) for b in preview.error["details"]["preview"]] == [(bead, False)]
    assert repo.journal.read_bytes() == journal
    assert repo.json("delete", bead, "--force")[0]["deleted"] is True


def test_yes_confirms_a_deletion_but_does_not_override_a_claim(repo):
    bead = repo.create("x")
    repo.bd("claim", bead, "--actor", "bob").ok()
    is_error(repo.bd("delete", bead, "--yes", "--json"), "already_claimed", 1)
    repo.bd("delete", bead, "--force").ok()


def test_an_unknown_id_is_the_error_of_a_deletion_without_confirmation(repo):
    is_error(repo.bd("delete", "bd-none", "--json"), "not_found", 1)
