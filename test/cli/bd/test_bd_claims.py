"""bd claim, renew, unclaim, reclaim, ready --claim: leases and epochs"""
import itertools
import json

import pytest

from beads import append, clock, content_hash, is_error, ms, prepared, stamp


def epoch(bead):
    return json.dumps(bead["epoch"], separators=(",", ":"))


def test_a_claim_sets_holder_stamp_end_and_status(repo):
    clock(repo)
    bead = repo.create("x")
    clock(repo, m=1)
    got, = repo.json("claim", bead, "--actor", "bob")
    assert (got["assignee"], got["assignee_expires"], got["status"]) == ("bob", stamp(m=1, h=1), "in_progress")
    assert got["assignee_at"][0] == ms(m=1)
    assert got["epoch"] == got["assignee_at"]
    assert (got["updated_at"], got["updated_by"]) == (stamp(m=1), "bob")
    assert got["content_hash"] == content_hash(got)
    shown = repo.show(bead)
    assert {k: shown[k] for k in got} == got


def test_claim_prints_the_end_of_the_lease_and_the_epoch(repo):
    clock(repo)
    bead = repo.create("x")
    got = repo.bd("claim", bead).ok().out
    assert bead in got and "alice" in got and "lease ends in 1h" in got and epoch(repo.show(bead)) in got


def test_update_claim_is_the_same(repo):
    clock(repo)
    bead = repo.create("x")
    got, = repo.json("update", bead, "--claim", "-p", "0")
    assert (got["assignee"], got["assignee_expires"], got["status"], got["priority"]) == (
        "alice", stamp(h=1), "in_progress", 0)
    assert got["epoch"] == got["assignee_at"]


@pytest.mark.parametrize("lease, end", [("30s", dict(s=30)), ("10m", dict(m=10)), ("2h", dict(h=2)), ("3d", dict(d=3)),
                                        ("1w", dict(d=7))])
def test_the_lease_can_be_chosen(repo, lease, end):
    clock(repo)
    bead = repo.create("x")
    assert repo.json("claim", bead, "--lease", lease)[0]["assignee_expires"] == stamp(**end)


@pytest.mark.parametrize("lease", ["0", "0s", "-1h", "x", "", "5", "1y", "99999999999999999999h"])
def test_a_lease_is_a_positive_duration(repo, lease):
    bead = repo.create("x")
    is_error(repo.bd("--json", "claim", bead, f"--lease={lease}"), "invalid_argument", 1)
    assert repo.show(bead)["assignee"] is None


def test_the_default_lease_is_a_setting_of_the_clone(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("config", "set", "claim.lease", "2h").ok()
    assert repo.json("claim", bead)[0]["assignee_expires"] == stamp(h=2)


def test_a_live_claim_of_another_is_refused_with_holder_and_end(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("claim", bead, "--actor", "bob").ok()
    journal = repo.journal.read_bytes()
    for words in (["claim", bead], ["update", bead, "--claim", "-p", "0"]):
        error = is_error(repo.bd("--json", *words), "already_claimed", 1)
        assert error["message"] == f"'{bead}' is claimed by bob for another 1h"
        assert error["details"] == {"id": bead, "holder": "bob", "expires": stamp(h=1)}
    assert repo.journal.read_bytes() == journal


def test_a_claim_of_several_beads_takes_all_or_none(repo):
    clock(repo)
    a, b = repo.create("a"), repo.create("b")
    repo.bd("claim", b, "--actor", "bob").ok()
    is_error(repo.bd("--json", "claim", a, b), "already_claimed", 1)
    assert repo.show(a)["assignee"] is None


def test_the_own_claim_renews_and_keeps_its_epoch(repo):
    clock(repo)
    bead = repo.create("x")
    first, = repo.json("claim", bead)
    clock(repo, m=30)
    for words in (["claim", bead], ["renew", bead]):
        again, = repo.json(*words)
        assert (again["epoch"], again["assignee_at"]) == (first["epoch"], first["epoch"])
        assert again["assignee_expires"] == stamp(m=90)
    assert repo.json("renew", bead, "--lease", "5h")[0]["assignee_expires"] == stamp(m=30, h=5)


def test_the_end_of_a_lease_is_exact(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("claim", bead, "--actor", "bob").ok()
    clock(repo, h=1, ms=-1)
    is_error(repo.bd("--json", "claim", bead), "already_claimed", 1)
    assert repo.ids("ready") == []
    clock(repo, h=1, ms=1)
    assert repo.ids("ready") == [bead]
    assert repo.json("claim", bead)[0]["assignee"] == "alice"


def test_an_expired_claim_is_ready_and_can_be_taken_at_once(repo):
    clock(repo)
    bead = repo.create("x")
    lost, = repo.json("claim", bead, "--actor", "bob")
    clock(repo, h=1, s=1)
    assert repo.ids("ready") == [bead]
    got, = repo.json("claim", bead)
    assert (got["assignee"], got["assignee_expires"], got["status"]) == ("alice", stamp(h=2, s=1), "in_progress")
    assert got["epoch"] > lost["epoch"]


def test_a_closed_bead_cannot_be_claimed(repo):
    bead = repo.create("x")
    repo.bd("close", bead).ok()
    is_error(repo.bd("--json", "claim", bead), "closed", 1)
    is_error(repo.bd("--json", "update", bead, "--claim"), "closed", 1)
    assert repo.show(bead)["status"] == "closed"


@pytest.mark.parametrize("word", ["unclaim", "renew"])
def test_only_an_own_claim_can_be_released_or_renewed(repo, word):
    clock(repo)
    bead = repo.create("x")
    is_error(repo.bd("--json", word, bead), "not_claimed", 1)
    repo.bd("claim", bead, "--actor", "bob").ok()
    error = is_error(repo.bd("--json", word, bead), "not_claimed", 1)
    assert error["details"]["holder"] == "bob"
    assert repo.show(bead)["assignee"] == "bob"
    repo.bd("close", bead, "--force").ok()
    assert repo.bd("--json", word, bead).error["code"] in ("not_claimed", "closed")


def test_unclaim_reopens_and_clears_assignee_epoch_and_lease(repo):
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    got, = repo.json("unclaim", bead)
    assert (got["status"], got["assignee"], got["assignee_at"], got["assignee_expires"]) == ("open", None, None, None)
    assert "epoch" not in got and "epoch" not in repo.show(bead)
    assert repo.ids("ready") == [bead]


def test_closing_clears_the_claim(repo):
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    got, = repo.json("close", bead)
    assert (got["status"], got["assignee"], got["assignee_at"], got["assignee_expires"]) == ("closed", None, None, None)


# the epoch

def related(repo):
    clock(repo)
    other = repo.create("other")
    return other, repo.create("x", "-l", "have", "--deps", f"related:{other}")


def acts(bead, other):
    return [["update", bead, "-p", "0"], ["update", bead, "--claim"], ["close", bead], ["delete", bead, "--yes"],
            ["claim", bead], ["renew", bead], ["unclaim", bead], ["comment", bead, "hi"], ["label", "add", bead, "l"],
            ["label", "remove", bead, "have"], ["dep", "add", bead, other], ["dep", "remove", bead, other, "-t", "related"]]


@pytest.mark.parametrize("which", range(12))
def test_the_epoch_of_a_lost_claim_refuses_every_act(repo, which):
    other, bead = prepared(repo, related)
    words = acts(bead, other)[which]
    lost, = repo.json("claim", bead)
    clock(repo, h=2)
    repo.bd("claim", bead, "--actor", "bob").ok()
    journal = repo.journal.read_bytes()
    error = is_error(repo.bd("--json", *words, "--epoch", epoch(lost)), "stale_claim", 1)
    assert "bob" in error["message"]
    assert repo.journal.read_bytes() == journal


@pytest.mark.parametrize("which", range(12))
def test_the_epoch_of_a_live_claim_lets_every_act_pass(repo, which):
    other, bead = prepared(repo, related)
    held, = repo.json("claim", bead)
    repo.bd("--json", *acts(bead, other)[which], "--epoch", epoch(held)).ok()


@pytest.mark.parametrize("words", [["unclaim"], ["close"], ["update", "-s", "open"], ["update", "-a", ""],
                                   ["update", "-a", "bob"]])
def test_a_claim_that_was_ended_is_stale(repo, words):
    clock(repo)
    bead = repo.create("x")
    held, = repo.json("claim", bead)
    repo.bd(words[0], bead, *words[1:]).ok()
    is_error(repo.bd("--json", "comment", bead, "hi", "--epoch", epoch(held)), "stale_claim", 1)


def test_a_second_claim_of_the_same_agent_has_another_epoch(repo):
    clock(repo)
    bead = repo.create("x")
    first, = repo.json("claim", bead)
    repo.bd("unclaim", bead).ok()
    second, = repo.json("claim", bead)
    assert second["epoch"] > first["epoch"]
    is_error(repo.bd("--json", "comment", bead, "hi", "--epoch", epoch(first)), "stale_claim", 1)
    repo.bd("comment", bead, "hi", "--epoch", epoch(second)).ok()


def test_reopen_and_undelete_take_the_epoch_too(repo):
    clock(repo)
    bead = repo.create("x")
    held, = repo.json("claim", bead)
    repo.bd("close", bead).ok()
    is_error(repo.bd("--json", "reopen", bead, "--epoch", epoch(held)), "stale_claim", 1)
    repo.bd("delete", bead, "--yes").ok()
    is_error(repo.bd("--json", "undelete", bead, "--epoch", epoch(held)), "stale_claim", 1)


@pytest.mark.parametrize("word", ["x", "", "[]", "[1]", "[1,2,3]", '["1",2]', "1", "[-1,0]", "[1.5,0]"])
def test_an_epoch_is_two_numbers(repo, word):
    bead = repo.create("x")
    is_error(repo.bd("--json", "comment", bead, "hi", f"--epoch={word}"), "invalid_argument", 1)
    assert repo.json("comments", bead) == []


# any act of the holder

@pytest.mark.parametrize("which", [0, 1, 4, 5, 7, 8, 9, 10, 11])
def test_any_act_of_the_holder_moves_the_end_and_keeps_the_epoch(repo, which):
    other, bead = prepared(repo, related)
    held, = repo.json("claim", bead)
    clock(repo, m=50)
    repo.bd(*acts(bead, other)[which]).ok()
    got = repo.show(bead)
    assert got["assignee_expires"] == stamp(m=110)
    assert (got["epoch"], got["assignee_at"]) == (held["epoch"], held["epoch"])
    clock(repo, m=100)
    is_error(repo.bd("--json", "claim", bead, "--actor", "bob"), "already_claimed", 1)


def test_an_act_of_another_does_not_move_the_end(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    clock(repo, m=50)
    repo.bd("comment", bead, "hi", "--actor", "bob").ok()
    repo.bd("update", bead, "-p", "0", "--actor", "bob").ok()
    assert repo.show(bead)["assignee_expires"] == stamp(h=1)


def test_an_act_never_shortens_a_lease(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("claim", bead, "--lease", "1d").ok()
    clock(repo, m=5)
    repo.bd("comment", bead, "hi").ok()
    assert repo.show(bead)["assignee_expires"] >= stamp(d=1)


def test_reading_does_not_move_the_end(repo):
    clock(repo)
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    clock(repo, m=50)
    journal = repo.journal.read_bytes()
    for words in (["show", bead], ["list"], ["ready"], ["comments", bead], ["why", bead], ["status"]):
        repo.bd(*words).ok()
    assert repo.journal.read_bytes() == journal
    assert repo.show(bead)["assignee_expires"] == stamp(h=1)


def test_leases_use_wall_time_when_the_clock_went_back(repo):
    clock(repo, d=1)
    bead = repo.create("x")
    clock(repo)
    assert repo.json("claim", bead)[0]["assignee_expires"] == stamp(h=1)
    clock(repo, h=1, s=1)
    assert repo.ids("ready") == [bead]


# ready --claim

def test_ready_claim_takes_the_most_urgent_then_the_oldest(repo):
    clock(repo)
    a, b, c = repo.create("a", "-p", "2"), repo.create("b", "-p", "1"), repo.create("c", "-p", "1")
    got, = repo.json("ready", "--claim")
    assert (got["id"], got["assignee"], got["assignee_expires"]) == (b, "alice", stamp(h=1))
    assert got["epoch"] == got["assignee_at"]
    assert [x["id"] for x in repo.json("ready", "--claim", "--actor", "bob", "--lease", "5m")] == [c]
    assert repo.show(c)["assignee_expires"] == stamp(m=5)
    assert [x["id"] for x in repo.json("ready", "--claim", "--actor", "carol")] == [a]
    done = repo.bd("ready", "--claim", "--json", "--actor", "dora")
    assert (done.code, done.json) == (0, [])


def test_ready_claim_obeys_the_filters(repo):
    repo.create("a", "-p", "0")
    b = repo.create("b", "-t", "bug", "-l", "x")
    assert [x["id"] for x in repo.json("ready", "--claim", "-t", "bug", "-l", "x")] == [b]


def test_close_claim_next_is_one_step(repo):
    clock(repo)
    a, b = repo.create("a"), repo.create("b")
    repo.bd("claim", a).ok()
    before = repo.journal.read_bytes().count(b"\n")
    got = repo.json("close", a, "--claim-next")
    assert repo.journal.read_bytes().count(b"\n") == before + 1
    assert [(x["id"], x["status"]) for x in got] == [(a, "closed"), (b, "in_progress")]
    assert repo.show(b)["assignee"] == "alice"


def test_close_claim_next_takes_what_it_has_just_unblocked(repo):
    a = repo.create("a")
    b = repo.create("b", "--deps", a)
    repo.json("close", a, "--claim-next")
    assert repo.show(b)["assignee"] == "alice"


# reclaim

def test_reclaim_reopens_beads_with_expired_leases(repo):
    clock(repo)
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c")
    repo.bd("claim", a, "--actor", "bob").ok()
    repo.bd("claim", b, "--actor", "bob", "--lease", "5h").ok()
    clock(repo, h=2)
    assert [x["id"] for x in repo.json("reclaim", "--dry-run")] == [a]
    assert repo.show(a)["assignee"] == "bob"
    assert repo.json("reclaim", "--older-than", "2h") == []
    assert [x["id"] for x in repo.json("reclaim", "--older-than", "30m")] == [a]
    got = repo.show(a)
    assert (got["status"], got["assignee"], got["assignee_expires"]) == ("open", None, None)
    assert repo.show(b)["assignee"] == "bob"
    assert repo.json("reclaim") == []
    assert repo.show(c)["status"] == "open"


def test_reclaim_for_people(repo):
    clock(repo)
    bead = repo.create("a")
    repo.bd("claim", bead).ok()
    assert repo.bd("reclaim").ok().out == "No lease has expired.\n"
    clock(repo, h=2)
    assert bead in repo.bd("reclaim").ok().out


# whose bead it is to close, reopen, delete or move

STATUS_ACTS = [["close", "{}"], ["done", "{}"], ["delete", "{}", "--yes"], ["update", "{}", "-s", "open"], ["update", "{}", "-s", "closed"],
               ["update", "{}", "-s", "closed", "--title", "t"]]
VYBE_ACTS = [["task", "complete", "--id", "{}", "--outcome", "done", "--summary", "s"],
             ["task", "complete", "--id", "{}", "--outcome", "blocked", "--summary", "s"],
             ["task", "set-status", "--id", "{}", "--status", "completed"], ["task", "set-status", "--id", "{}", "--status", "pending"],
             ["task", "set-status", "--id", "{}", "--status", "blocked"], ["task", "delete", "--id", "{}"]]


serial = itertools.count()


def held(repo, holder="bob"):
    clock(repo)
    bead = repo.create("x")
    repo.bd("claim", bead, "--actor", holder).ok()
    clock(repo, m=30)
    return bead


def act(words, bead):
    return [word.format(bead) for word in words]


def vybe(repo, words, bead, *more, agent="alice"):
    """The error code of a command of vybe; None if it succeeds."""
    done = repo.run(*act(words, bead), *more, "--agent", agent, "--request-id", f"r{next(serial)}", program="vybe")
    return json.loads(done.out).get("error_code")


@pytest.mark.parametrize("words", STATUS_ACTS, ids=" ".join)
def test_under_a_live_lease_only_the_holder_changes_the_status_without_force(repo, words):
    bead = held(repo)
    before = repo.show(bead)
    error = is_error(repo.bd("--json", *act(words, bead)), "already_claimed", 1)
    assert (error["details"]["holder"], error["details"]["expires"]) == ("bob", stamp(h=1))
    assert "--force" in error["hint"] and "bob" in error["message"]
    assert repo.show(bead) == before
    repo.bd(*act(words, bead), "--force").ok()
    assert not [b for b in repo.json("list", "--all") if b["id"] == bead and b["status"] == "in_progress"]


@pytest.mark.parametrize("words", STATUS_ACTS, ids=" ".join)
def test_the_holder_needs_no_force_and_after_the_lease_no_actor_does(repo, words):
    mine, left = held(repo, "alice"), held(repo)
    repo.bd(*act(words, mine)).ok()
    clock(repo, h=1)  # the lease ends at this moment
    repo.bd(*act(words, left)).ok()


@pytest.mark.parametrize("words", VYBE_ACTS, ids=" ".join)
def test_vybe_needs_force_for_what_another_agent_has_begun(repo, words):
    bead = held(repo)
    before = repo.show(bead)
    assert vybe(repo, words, bead) == "ALREADY_CLAIMED"
    assert repo.show(bead) == before
    assert vybe(repo, words, bead, "--force") is None
    mine, left = held(repo, "alice"), held(repo)
    assert vybe(repo, words, mine) is None
    clock(repo, h=1)
    assert vybe(repo, words, left) is None


def test_vybe_takes_over_by_force(repo):
    bead = held(repo)
    begin = ["task", "set-status", "--id", "{}", "--status", "in_progress"]
    assert vybe(repo, begin, bead) == "ALREADY_CLAIMED"
    assert vybe(repo, begin, bead, "--force") is None
    got = repo.show(bead)
    assert (got["assignee"], got["status"], got["assignee_expires"]) == ("alice", "in_progress", stamp(m=30, h=1))


def test_a_pushed_status_needs_force_too(repo):
    bead = held(repo)
    push = lambda id, **status: json.loads(repo.run(
        "push", "--agent", "alice", "--request-id", id, "--json",
        json.dumps({"task_id": bead, "event": {"kind": "k", "message": "m"}, "task_status": status}), program="vybe").out)
    assert push("r1", status="completed", summary="s")["error_code"] == "ALREADY_CLAIMED"
    assert push("r2", status="completed", summary="s", force="yes")["error_code"] == "INVALID_INPUT"
    assert repo.show(bead)["status"] == "in_progress"
    assert push("r3", status="completed", summary="s", force=True)["success"]
    assert repo.show(bead)["status"] == "closed"


def test_a_closed_bead_under_a_live_lease_is_not_reopened(repo):
    """If one clone closes a bead and another claims it, the merged bead may be closed and claimed."""
    clock(repo)
    bead = "bd-merged"
    append(repo, {"beads": [{"_at": [ms(), 90], "_by": "bob", "id": bead, "created_at": [ms(), 1], "created_by": "zoe", "title": "x",
                             "status": "closed", "closed_at": [ms(), 90], "closed_by": "bob", "priority": 2, "type": "task",
                             "assignee": "bob", "assignee_at": [ms(), 90], "assignee_expires": ms(h=1)}]})
    got = repo.show(bead)
    assert (got["status"], got["assignee"]) == ("closed", "bob")
    is_error(repo.bd("--json", "reopen", bead), "already_claimed", 1)
    is_error(repo.bd("--json", "update", bead, "-s", "open"), "already_claimed", 1)
    assert vybe(repo, ["task", "set-status", "--id", "{}", "--status", "in_progress"], bead) == "ALREADY_CLAIMED"
    repo.bd("close", bead).ok()  # it is closed: nothing to do
    repo.bd("reopen", bead, "--force").ok()
    assert repo.show(bead)["status"] == "open"


def test_one_bead_claimed_by_another_agent_stops_the_whole_command(repo):
    bead = held(repo)
    mine = repo.create("mine")
    for words in (["close", mine, bead], ["delete", mine, bead, "--yes"], ["update", mine, bead, "-s", "closed"]):
        is_error(repo.bd("--json", *words), "already_claimed", 1)
    assert repo.show(mine)["status"] == "open"
    is_error(repo.bd("--json", "delete", bead, "--dry-run"), "already_claimed", 1)


def test_under_a_live_lease_others_can_change_everything_but_the_status(repo):
    bead = held(repo)
    for words in (["update", bead, "--title", "t", "-p", "0"], ["comment", bead, "hi"], ["label", "add", bead, "l"],
                  ["update", bead, "-s", "in_progress"], ["close", bead, "--force"], ["close", bead]):
        repo.bd(*words).ok()


def test_the_error_names_the_claim_before_the_blockers(repo):
    """So that forcing a blocked bead closed never overrides a claim that was not mentioned."""
    clock(repo)
    blocker = repo.create("blocker")
    bead = repo.create("x", "--deps", blocker)
    repo.bd("claim", bead, "--actor", "bob").ok()
    is_error(repo.bd("--json", "close", bead), "already_claimed", 1)


def test_close_eligible_skips_epics_that_others_have_claimed(repo):
    clock(repo)
    epic = repo.create("epic", "-t", "epic")
    repo.bd("close", repo.create("child", "--parent", epic)).ok()
    repo.bd("claim", epic, "--actor", "bob").ok()
    assert repo.json("epic", "close-eligible", "--dry-run") == [] and repo.json("epic", "close-eligible") == []
    assert [e["id"] for e in repo.json("epic", "close-eligible", "--actor", "bob")] == [epic]
