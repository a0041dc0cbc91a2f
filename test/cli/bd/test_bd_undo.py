"""bd undo"""
import json
import os
import signal
import subprocess

import pytest

from beads import clock, is_error, stamp, wipe_cache
from board import on_terminal
from conftest import BIN, environment, git

SAME = ("updated_at", "updated_by", "content_hash", "assignee_expires")


def content(repo, bead):
    """A bead without the members that every write changes."""
    return {k: v for k, v in repo.show(bead).items() if k not in SAME}


def everything(repo):
    return [{k: v for k, v in bead.items() if k not in SAME} for bead in repo.json("list", "--all", "-n", "0")]


def test_undo_restores_every_field_of_an_update_and_undo_again_restores_the_update(repo):
    bead = repo.create("old", "-d", "old text", "-l", "a,b", "-p", "1")
    before = content(repo, bead)
    repo.json("update", bead, "--title", "new", "-d", "", "--set-labels", "c", "-p", "4", "-t", "bug")
    after = content(repo, bead)
    reply = repo.json("undo")
    assert reply["undone"] is True
    assert [(b["id"], b["change"]) for b in reply["beads"]] == [(bead, "updated")]
    assert {f["field"]: (f["old"], f["new"]) for f in reply["beads"][0]["fields"]} == {
        "title": ("new", "old"), "description": (None, "old text"), "labels": (["c"], ["a", "b"]),
        "priority": (4, 1), "type": ("bug", "task")}
    assert content(repo, bead) == before
    repo.json("undo")
    assert content(repo, bead) == after
    repo.json("undo")
    assert content(repo, bead) == before
    assert repo.json("validate")["ok"]


def test_undo_is_a_new_write_of_the_actor(repo):
    clock(repo)
    bead = repo.create("x")
    repo.json("update", bead, "-p", "0")
    clock(repo, m=5)
    records = repo.journal.read_bytes().count(b"\n")
    repo.json("undo")
    assert repo.show(bead)["updated_at"] == stamp(m=5)
    assert repo.journal.read_bytes().count(b"\n") == records + 1


def test_undo_of_a_creation_deletes_the_bead_and_undo_again_restores_it_with_its_dependencies(repo):
    a = repo.create("a")
    b = repo.create("b", "--deps", a)
    before = content(repo, b)
    reply = repo.json("undo")
    assert [(x["id"], x["change"]) for x in reply["beads"]] == [(b, "deleted")]
    assert is_error(repo.bd("--json", "show", b), "deleted", 1)
    assert [(t["id"], t["reason"]) for t in repo.json("deleted")] == [(b, "creation undone")]
    repo.json("undo")
    assert content(repo, b) == before
    assert repo.json("deleted") == []


@pytest.mark.parametrize("act", [
    ("close", "-r", "done"), ("delete", "--yes", "-r", "why"), ("claim",), ("label", "add"), ("update", "--claim"),
    ("update", "-a", "carol"), ("update", "-s", "in_progress"), ("update", "--external-ref", "gh-1")])
def test_undo_restores_the_state_before_the_change(repo, act):
    bead = repo.create("x", "-l", "one")
    before = content(repo, bead)
    words = ["label", "add", bead, "two"] if act[0] == "label" else [act[0], bead, *act[1:]]
    repo.bd(*words).ok()
    repo.json("undo")
    assert content(repo, bead) == before
    repo.json("undo")
    repo.json("undo")
    assert content(repo, bead) == before


def test_undo_of_reopen_restores_the_closing(repo):
    clock(repo)
    bead = repo.create("x")
    repo.json("close", bead, "-r", "done")
    before = content(repo, bead)
    clock(repo, m=1)
    repo.json("reopen", bead)
    repo.json("undo")
    assert content(repo, bead) == before
    assert repo.show(bead)["closed_at"] == stamp()


def test_undo_of_undelete_deletes_it_again_for_the_same_reason(repo):
    bead = repo.create("x")
    repo.json("delete", bead, "--yes", "-r", "why")
    repo.json("undelete", bead)
    repo.json("undo")
    assert [(t["id"], t["reason"]) for t in repo.json("deleted")] == [(bead, "why")]


def test_undo_of_unclaim_restores_the_claim_with_its_epoch_and_a_new_lease(repo):
    clock(repo)
    bead = repo.create("x")
    claimed, = repo.json("claim", bead, "--lease", "30m")
    clock(repo, m=10)
    repo.json("unclaim", bead)
    repo.json("undo")
    now = repo.show(bead)
    assert (now["status"], now["assignee"], now["epoch"]) == ("in_progress", "alice", claimed["epoch"])
    assert now["assignee_expires"] == stamp(h=1, m=10)


def test_undo_of_a_dependency_both_ways(repo):
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c")
    repo.json("dep", "add", a, b)
    reply = repo.json("undo")
    assert reply["dependencies"] == [{"change": "removed", "from": a, "to": b, "kind": "blocks"}]
    assert repo.show(a)["dependencies"] == []
    repo.json("undo")
    assert [d["id"] for d in repo.show(a)["dependencies"]] == [b]
    repo.json("dep", "remove", a, b)
    repo.json("undo")
    assert [d["id"] for d in repo.show(a)["dependencies"]] == [b]
    repo.json("update", c, "--parent", a)
    repo.json("update", c, "--parent", b, "-p", "0")
    repo.json("undo")
    assert (repo.show(c)["parent"], repo.show(c)["priority"]) == (a, 2)


def test_undo_of_a_dependency_that_would_now_be_a_cycle_is_refused(repo):
    a, b = repo.create("a"), repo.create("b")
    repo.json("dep", "add", a, b)
    repo.json("dep", "remove", a, b)
    repo.json("dep", "add", b, a, env={"BD_ACTOR": "bob"})
    journal = repo.journal.read_bytes()
    is_error(repo.bd("--json", "undo"), "cycle", 1)
    assert repo.journal.read_bytes() == journal


def test_a_batch_is_undone_as_a_whole(repo):
    beads = [repo.create(str(i)) for i in range(3)]
    before = everything(repo)
    repo.json("close", *beads)
    repo.json("undo")
    assert everything(repo) == before


def test_a_comment_cannot_be_undone_and_nothing_is_written(repo):
    bead = repo.create("x")
    repo.json("comment", bead, "a word")
    journal = repo.journal.read_bytes()
    error = is_error(repo.bd("--json", "undo"), "invalid_argument", 1)
    assert bead in error["message"] and "append-only" in error["message"]
    assert repo.journal.read_bytes() == journal


def test_a_comment_beside_other_changes_stays_with_a_warning(repo):
    bead = repo.create("x")
    repo.json("update", bead, "-p", "0", "--append-notes", "a word")
    done = repo.bd("undo").ok()
    assert f"the comment on '{bead}' stays" in done.err
    shown = repo.show(bead)
    assert (shown["priority"], [n["content"] for n in shown["notes"]]) == (2, ["a word"])


def test_a_renewed_lease_cannot_be_undone(repo):
    bead = repo.create("x")
    repo.json("claim", bead)
    repo.json("renew", bead, "--lease", "5h")
    error = is_error(repo.bd("--json", "undo"), "invalid_argument", 1)
    assert "renewed the lease" in error["message"] and bead in error["hint"]


def test_only_the_actors_own_last_change_is_undone(repo):
    a, b = repo.create("a"), repo.create("b")
    repo.json("update", a, "-p", "0")
    repo.json("update", b, "-p", "0", env={"BD_ACTOR": "bob"})
    assert [x["id"] for x in repo.json("undo")["beads"]] == [a]
    assert repo.show(b)["priority"] == 0


def test_without_a_change_there_is_nothing_to_undo(repo):
    repo.create("x")
    error = is_error(repo.bd("--json", "undo", "--as", "carol"), "not_found", 1)
    assert "carol" in error["message"]


def test_a_field_that_another_actor_changed_since_is_refused_with_actor_and_time(repo):
    clock(repo)
    bead = repo.create("x")
    repo.json("update", bead, "-p", "0", "--title", "y")
    clock(repo, m=3)
    repo.json("update", bead, "-p", "4", env={"BD_ACTOR": "bob", "ABACUS_NOW": repo.env["ABACUS_NOW"]})
    journal = repo.journal.read_bytes()
    error = is_error(repo.bd("--json", "undo"), "cas_mismatch", 1)
    assert "bob" in error["message"] and "priority" in error["message"] and stamp(m=3) in error["message"]
    assert error["details"]["by"] == "bob"
    assert repo.journal.read_bytes() == journal
    repo.json("undo", "--force")
    assert (repo.show(bead)["priority"], repo.show(bead)["title"]) == (2, "x")


def test_another_field_that_was_changed_since_is_kept(repo):
    bead = repo.create("x")
    repo.json("update", bead, "-p", "0")
    repo.json("update", bead, "--title", "bobs", env={"BD_ACTOR": "bob"})
    repo.json("undo")
    assert (repo.show(bead)["priority"], repo.show(bead)["title"]) == (2, "bobs")


@pytest.mark.parametrize("meanwhile", [("update", "{}", "-p", "0"), ("comment", "{}", "mine"), ("claim", "{}"),
                                       ("create", "child", "--parent", "{}"), ("delete", "{}", "--yes")])
def test_a_created_bead_that_another_actor_uses_is_not_deleted(repo, meanwhile):
    bead = repo.create("x")
    repo.bd(*(word.format(bead) for word in meanwhile), env={"BD_ACTOR": "bob"}).ok()
    journal = repo.journal.read_bytes()
    assert "bob" in is_error(repo.bd("--json", "undo"), "cas_mismatch", 1)["message"]
    assert repo.journal.read_bytes() == journal


def test_a_claim_of_another_agent_is_not_overruled(repo):
    bead = repo.create("x")
    repo.json("update", bead, "-s", "in_progress")
    repo.json("claim", bead, env={"BD_ACTOR": "bob"})
    is_error(repo.bd("--json", "undo"), "already_claimed", 1)


def test_dry_run_shows_and_writes_nothing(repo):
    bead = repo.create("x")
    repo.json("update", bead, "--title", "y")
    journal = repo.journal.read_bytes()
    reply = repo.json("undo", "--dry-run")
    assert reply["undone"] is False and reply["beads"][0]["id"] == bead
    shown = repo.bd("undo", "--dry-run").ok().out
    assert shown.startswith("Would undo your last change (") and f"updated {bead}: y\n    title: y → x\n" in shown
    assert repo.journal.read_bytes() == journal


def test_a_terminal_shows_what_will_be_undone_and_asks(repo):
    bead = repo.create("x")
    repo.json("update", bead, "--title", "y")
    shown, code = on_terminal(repo, "undo", program="bd", answer=b"n\n")
    assert "Would undo" in shown and "title: y → x" in shown and code == 1
    assert repo.show(bead)["title"] == "y"
    shown, code = on_terminal(repo, "undo", program="bd", answer=b"y\n")
    assert "Undid" in shown and code == 0
    assert repo.show(bead)["title"] == "x"


def test_a_change_that_the_preview_did_not_show_is_not_undone(repo):
    bead = repo.create("x")
    repo.json("update", bead, "--title", "y")
    write = json.dumps(repo.json("undo", "--dry-run")["write"])
    repo.json("update", bead, "-p", "0")
    is_error(repo.bd("--json", "undo", "--write", write), "cas_mismatch", 1)
    assert repo.show(bead)["priority"] == 0


def test_undo_needs_no_cache(repo):
    bead = repo.create("x")
    repo.json("update", bead, "--title", "y")
    wipe_cache(repo)
    repo.json("undo")
    assert repo.show(bead)["title"] == "x"


def test_undo_survives_a_sync_that_shortens_the_journal(repo):
    """Each actor's last change is kept, however often the journal is shortened."""
    bead, other = repo.create("x"), repo.create("other")
    repo.json("update", bead, "--title", "y")
    repo.json("update", other, "-p", "0", env={"BD_ACTOR": "bob"})
    for i in range(2):
        for k in range(8):
            repo.json("update", other, "-d", f"{i}{k}" * 50000, env={"BD_ACTOR": "carol"})
        repo.bd("sync").ok()
    assert not (repo.home / "journal.1").exists()
    assert sum(f.stat().st_size for f in repo.home.glob("journal.*")) < 600_000
    assert repo.json("undo", env={"BD_ACTOR": "bob"})["beads"][0]["fields"] == [{"field": "priority", "old": 0, "new": 2}]
    wipe_cache(repo)
    repo.json("undo")
    assert repo.show(bead)["title"] == "x"
    repo.json("undo", env={"BD_ACTOR": "carol"})
    assert repo.show(other)["description"].startswith("16")


def test_a_sync_is_not_undone(repo):
    bead = repo.create("x")
    repo.bd("sync").ok()
    assert [b["id"] for b in repo.json("undo")["beads"]] == [bead]
    repo.bd("sync").ok()
    is_error(repo.bd("--json", "show", bead), "deleted", 1)


ISSUE = '{"id":"x-1","title":"t","status":"open","created_by":"%s","created_at":"%s","updated_at":"%s"}\n'


@pytest.mark.parametrize("author", ["alice", "somebody"])
def test_an_import_is_the_last_change_and_cannot_be_undone(repo, author):
    """The change before it stays, whoever the file says has written the issues."""
    bead = repo.create("x")
    repo.json("update", bead, "-p", "0", env={"BD_ACTOR": "alice"})
    line = ISSUE % (author, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
    repo.bd("import", "--from", "bd", "-", stdin=line.encode(), env={"BD_ACTOR": "alice"}).ok()
    error = is_error(repo.bd("--json", "undo", "--force", env={"BD_ACTOR": "alice"}), "invalid_argument", 1)
    assert "an import" in error["message"]
    assert repo.show(bead)["priority"] == 0
    repo.bd("import", "--from", "bd", "-", stdin=line.encode(), env={"BD_ACTOR": "bob"}).ok()  # it changes nothing
    is_error(repo.bd("--json", "undo", env={"BD_ACTOR": "bob"}), "not_found", 1)


def test_a_killed_change_is_undone_completely_or_not_at_all(repo):
    """The values before a change are in the record of the change, so one is never there without the other."""
    bead = repo.create("x")
    for i in range(12):
        child = subprocess.Popen([str(BIN / "bd"), "update", bead, "--title", f"y{i}"], cwd=repo.path,
                                 env=environment(**repo.env), stdout=subprocess.DEVNULL)
        if i % 3:
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
        if repo.show(bead)["title"] == f"y{i}":
            repo.json("undo")
        assert repo.show(bead)["title"] == "x"


def test_the_undo_of_a_write_from_vybe_restores_the_bead(repo):
    reply = repo.run("task", "create", "--agent", "alice", "--request-id", "r1", "--title", "x", program="vybe").ok()
    task = json.loads(reply.out)["data"]["task"]["id"]
    assert [(b["id"], b["change"]) for b in repo.json("undo")["beads"]] == [(task, "deleted")]


def test_undo_restores_extensions(repo):
    bead = repo.create("x")
    before = content(repo, bead)
    repo.json("update", bead, "--due", "2099-12-01", "--estimate", "5", "--metadata", '{"a":1}')
    after = content(repo, bead)
    repo.json("undo")
    assert content(repo, bead) == before
    repo.json("undo")
    assert content(repo, bead) == after


def test_after_a_plan_is_undone_no_dependency_is_orphaned(repo):
    """Neither between two beads of the plan, nor on a bead that was there before."""
    before = repo.create("before")
    (repo.path / "plan.md").write_text(f"## One\n\n## Two\n\n### Dependencies\nOne, {before}\n")
    made = [bead["id"] for bead in repo.json("create", "--file", "plan.md")]
    assert repo.json("validate")["findings"] == []
    repo.json("undo")
    assert repo.json("validate")["findings"] == [] and repo.ids("list") == [before]
    repo.json("undo")
    assert sorted(dep["id"] for dep in repo.show(made[1])["dependencies"]) == sorted([made[0], before])
