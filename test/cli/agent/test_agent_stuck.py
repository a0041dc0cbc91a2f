"""Agents that are alive but make no progress: the rule, where it is shown, the message, and taking over a claim."""
import json

import pytest

from remotes import bare, point

AMBER, BIRCH = "amber-otter", "birch-finch"
START = "2026-11-17T10:%02d:%02d.000Z"


def at(minute, second=0, **more):
    return {"ABACUS_NOW": START % (minute, second), **more}


@pytest.fixture
def repo(repo):
    repo.env = {}
    for name in (AMBER, BIRCH):
        bb(repo, 0, "register", "--name", name, "--role", "dev")
    return repo


def bb(repo, minute, *args):
    return repo.run("--json", "agent", *args, program="bb", env=at(minute)).ok().json["data"]


def report(repo, minute, event="PostToolUse", agent=AMBER, second=0, **said):
    said = {"hook_event_name": event, "session_id": agent, "cwd": str(repo.path), "tool_name": "Bash",
            "tool_input": {"command": "make test"}, **said}
    repo.run("hook", "handle", "--host", "claude", program="vybe", stdin=json.dumps(said).encode(),
             env=at(minute, second, BB_AGENT_ID=agent)).ok()


def claimed(repo, minute=0, agent=AMBER, title="Parser"):
    bead = repo.create(title, env=at(minute))
    repo.bd("claim", bead, "--as", agent, env=at(minute)).ok()
    return bead


def stuck(repo, minute):
    return [(one["agent_id"], one["stuck"]["bead_id"], one["stuck"]["reason"], one["stuck"]["since"])
            for one in bb(repo, minute, "list", "--stuck")]


def mail(repo, minute=59, agent=AMBER):
    return [one["subject"] for one in bb(repo, minute, "inbox", "--agent", agent)]


def test_a_holder_that_reports_nothing_for_ten_minutes_is_stuck(repo):
    bead = claimed(repo)
    report(repo, 1)
    assert stuck(repo, 10) == [] and stuck(repo, 11) == [(AMBER, bead, "silent", START % (1, 0))]
    report(repo, 12)
    assert stuck(repo, 13) == []


def test_the_time_is_a_setting(repo):
    bead = claimed(repo)
    report(repo, 1)
    repo.bd("config", "set", "stuck.after", "2m", env=at(1)).ok()
    assert stuck(repo, 2) == [] and stuck(repo, 3) == [(AMBER, bead, "silent", START % (1, 0))]


def test_an_agent_without_hooks_or_without_a_claim_is_never_stuck(repo):
    bead = claimed(repo)
    report(repo, 1, agent=BIRCH)
    assert stuck(repo, 50) == []
    report(repo, 51)
    repo.bd("unclaim", bead, "--as", AMBER, env=at(51)).ok()
    assert stuck(repo, 59) == []


def test_a_claim_is_a_sign_of_life_and_an_expired_one_counts_no_longer(repo):
    report(repo, 0)
    claimed(repo, 5)
    assert stuck(repo, 14) == [] and len(stuck(repo, 15)) == 1
    assert bb(repo, 59, "list", "--stuck") != []
    late = repo.run("--json", "agent", "list", "--stuck", program="bb", env={"ABACUS_NOW": "2026-11-17T11:06:00Z"})
    assert late.ok().json["data"] == []


@pytest.mark.parametrize("times,is_stuck", [(4, False), (5, True), (7, True)])
def test_a_failing_call_that_is_repeated_makes_an_agent_stuck(repo, times, is_stuck):
    bead = claimed(repo)
    report(repo, 1)
    for i in range(times):
        report(repo, 2, "PostToolUseFailure", second=i)
    assert stuck(repo, 3) == ([(AMBER, bead, "repeats", START % (2, 0))] if is_stuck else [])
    assert mail(repo) == ([f"You seem to be stuck on {bead}"] if is_stuck else [])


@pytest.mark.parametrize("event,said", [
    ("PostToolUse", {}), ("UserPromptSubmit", {"prompt": "try pytest"}),
    ("PostToolUseFailure", {"tool_input": {"command": "make other"}})])
def test_another_call_or_a_prompt_ends_the_repetition(repo, event, said):
    claimed(repo)
    for i in range(5):
        report(repo, 2, "PostToolUseFailure", second=i)
    report(repo, 2, event, second=10, **said)
    assert stuck(repo, 3) == []


@pytest.mark.parametrize("result", [{"exit_code": 2}, {"error": "denied"}, {"is_error": True}])
def test_a_result_that_reports_an_error_is_a_failure_too(repo, result):
    claimed(repo)
    for i in range(5):
        report(repo, 2, tool_response=result, second=i)
    assert [one[2] for one in stuck(repo, 3)] == ["repeats"]


def test_a_stuck_agent_is_notified_once_by_the_next_report(repo):
    bead = claimed(repo)
    report(repo, 1)
    for minute in (12, 13, 14):
        report(repo, minute, agent=BIRCH)
    assert mail(repo) == [f"You seem to be stuck on {bead}"] and mail(repo, agent=BIRCH) == []


def test_every_list_of_agents_shows_that_one_is_stuck(repo):
    bead = claimed(repo)
    report(repo, 1)
    want = {"agent_id": AMBER, "bead_id": bead, "reason": "silent", "since": START % (1, 0), "text": "has reported nothing for 19m"}
    assert bb(repo, 20, "status")["stuck"] == bb(repo, 20, "status", "--agent", AMBER)["stuck"] == [want]
    assert bb(repo, 20, "status", "--agent", BIRCH)["stuck"] == []
    assert {one["agent_id"]: one.get("stuck") for one in bb(repo, 20, "list")} == {AMBER: want, BIRCH: None}
    assert bb(repo, 20, "show", "--agent", AMBER)["stuck"] == want
    status = repo.run("--json", "status", program="abacus", env=at(20)).ok().json
    assert {one["agent_id"]: one["stuck"] for one in status["agents"]} == {AMBER: want, BIRCH: None}
    assert [(one["kind"], one["command"]) for one in status["attention"]] == [("stuck", f"bd claim {bead} --takeover-stuck")]
    assert "stuck: has reported nothing for 19m" in repo.run("status", program="abacus", env=at(20)).ok().out


def test_a_session_that_is_not_registered_is_listed(repo):
    bead = claimed(repo, agent="claude-x")
    report(repo, 1, agent="claude-x")
    assert stuck(repo, 12) == [("claude-x", bead, "silent", START % (1, 0))]
    assert bb(repo, 12, "list", "--stuck", "--role", "dev") == []


def test_taking_over_gets_a_new_epoch_and_the_reservations_and_is_recorded(repo):
    bead, other = claimed(repo), claimed(repo, agent=AMBER, title="Lexer")
    old = repo.show(bead, env=at(0))["epoch"]
    for scope, of in (("src/*", bead), ("doc/*", other)):
        bb(repo, 0, "reserve", "--agent", AMBER, "--scope", scope, "--bead", of)
    report(repo, 1)
    repo.bd("claim", bead, "--takeover-stuck", "--as", BIRCH, env=at(12)).ok()
    shown = repo.show(bead, env=at(12))
    assert shown["assignee"] == BIRCH and shown["epoch"] > old
    assert [note["content"] for note in shown["notes"]] == [f"Took over the claim of {AMBER}, which has reported nothing for 11m"]
    assert {(one["scope"], one["agent_id"]) for one in bb(repo, 12, "status")["reservations"]} == {("src/*", BIRCH), ("doc/*", AMBER)}
    event = bb(repo, 12, "events")[0]
    assert (event["event_type"], event["from_agent"], event["to_agent"], event["bead_id"]) == ("RESUME", BIRCH, AMBER, bead)
    assert mail(repo, 13) == [f"Your claim on {bead} was taken over"]
    late = repo.bd("--json", "comment", bead, "done", "--epoch", json.dumps(old), "--as", AMBER, env=at(13))
    assert late.error["code"] == "stale_claim"


def test_the_remote_can_decide_who_takes_over_and_the_former_holder_is_notified(repo, tmp_path):
    """--exclusive runs the claim in another process, which has to do everything that follows a takeover."""
    point(repo, bare(tmp_path / "remote.git"))
    bead = claimed(repo)
    bb(repo, 0, "reserve", "--agent", AMBER, "--scope", "src/*", "--bead", bead)
    report(repo, 1)
    repo.bd("claim", bead, "--exclusive", "--takeover-stuck", "--as", BIRCH, env=at(12)).ok()
    assert repo.show(bead, env=at(12))["assignee"] == BIRCH
    assert [(one["scope"], one["agent_id"]) for one in bb(repo, 12, "status")["reservations"]] == [("src/*", BIRCH)]
    assert bb(repo, 12, "events")[0]["event_type"] == "RESUME"
    assert mail(repo, 13) == [f"Your claim on {bead} was taken over"]


@pytest.mark.parametrize("reported,why", [
    (True, f"{AMBER} is not stuck: its last report came at {START % (9, 0)}"),
    (False, f"{AMBER} is not known to be stuck: no hook of its host has reported anything here")])
def test_the_claim_of_a_holder_that_is_not_stuck_is_refused(repo, reported, why):
    bead = claimed(repo)
    if reported:
        report(repo, 9)
    refused = repo.bd("--json", "claim", bead, "--takeover-stuck", "--as", BIRCH, env=at(12)).error
    assert refused["code"] == "already_claimed" and refused["message"].endswith("; " + why)
    assert refused["details"]["holder"] == AMBER and repo.show(bead, env=at(12))["assignee"] == AMBER


def test_a_free_bead_and_an_own_one_are_claimed_as_usual(repo):
    bead = repo.create("Free", env=at(0))
    repo.bd("claim", bead, "--takeover-stuck", "--as", BIRCH, env=at(1)).ok()
    first = repo.show(bead, env=at(1))["epoch"]
    repo.bd("claim", bead, "--takeover-stuck", "--as", BIRCH, env=at(40)).ok()
    assert repo.show(bead, env=at(40))["epoch"] == first and repo.show(bead, env=at(40))["notes"] == []


def test_the_second_of_two_takeovers_is_refused(repo):
    bead = claimed(repo)
    report(repo, 1)
    repo.bd("claim", bead, "--takeover-stuck", "--as", BIRCH, env=at(12)).ok()
    assert repo.bd("--json", "claim", bead, "--takeover-stuck", "--as", "cedar-lynx", env=at(12)).error["details"]["holder"] == BIRCH
