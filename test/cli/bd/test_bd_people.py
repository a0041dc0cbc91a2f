"""bd stale, count, epic, status: overviews for people"""
import pytest

from beads import clock, is_error, stamp


def test_stale_is_sorted_by_age(repo):
    ids = []
    for day in range(4):
        clock(repo, d=day)
        ids.append(repo.create(f"t{day}"))
    clock(repo, d=10)
    repo.bd("comment", ids[0], "touched").ok()
    repo.bd("close", ids[1]).ok()
    clock(repo, d=33, ms=1)
    assert repo.ids("stale") == [ids[2], ids[3]]
    clock(repo, d=33, ms=-1)
    assert repo.ids("stale") == [ids[2]]
    assert repo.ids("stale", "-d", "23", "-n", "0") == [ids[2], ids[3]]
    clock(repo, d=33, ms=1)
    assert repo.ids("stale", "-d", "20") == [ids[2], ids[3], ids[0]]
    assert repo.ids("stale", "-d", "20", "-n", "1") == [ids[2]]
    assert repo.ids("stale", "-d", "20", "-s", "closed") == [ids[1]]
    assert ids[2] in repo.bd("stale").ok().out
    for days in ("0", "-1", "x"):
        is_error(repo.bd("--json", "stale", f"--days={days}"), "invalid_argument", 1)


def many(repo):
    a = repo.create("a", "-p", "0", "-t", "bug", "-l", "x,y", "-a", "bob")
    b = repo.create("b", "-p", "1", "-l", "x")
    c = repo.create("c", "-p", "1")
    repo.bd("close", c).ok()
    repo.bd("claim", b).ok()
    return a, b, c


def groups(repo, *words):
    reply = repo.json("count", *words)
    return {g["group"]: g["count"] for g in reply["groups"]}


def test_count(repo):
    many(repo)
    assert repo.bd("count").ok().out == "3\n"
    assert repo.json("count")["count"] == 3
    assert repo.json("count", "-s", "open")["count"] == 1
    assert repo.json("count", "-l", "x")["count"] == 2
    assert groups(repo, "--by-status") == {"open": 1, "in_progress": 1, "closed": 1}
    assert groups(repo, "--by-priority") == {"0": 1, "1": 2}
    assert groups(repo, "--by-type") == {"bug": 1, "task": 2}
    assert groups(repo, "--by-assignee") == {"bob": 1, "alice": 1, None: 1}
    assert groups(repo, "--by-label") == {"x": 2, "y": 1}
    assert groups(repo, "--by-label", "-s", "open") == {"x": 1, "y": 1}


@pytest.mark.parametrize("by, lines", [("--by-status", {"1 open", "1 in_progress", "1 closed"}),
                                       ("--by-type", {"1 bug", "2 task"}), ("--by-label", {"2 x", "1 y"})])
def test_count_for_people(repo, by, lines):
    many(repo)
    assert {" ".join(line.split()) for line in repo.bd("count", by).ok().out.splitlines()} == lines


def test_status_counts(repo):
    a, b, c = many(repo)
    d = repo.create("d", "--deps", b)
    repo.bd("delete", repo.create("gone"), "--yes").ok()
    got = repo.json("status")
    expect = {"total_issues": 4, "open_issues": 2, "in_progress_issues": 1, "closed_issues": 1, "blocked_issues": 1,
              "ready_issues": 1, "expired_claims": 0, "deleted_issues": 1}
    assert {k: got[k] for k in expect} == expect
    assert repo.json("stats") == got
    assert repo.show(d)["status"] == "open"
    words = [line.split() for line in repo.bd("status").ok().out.splitlines()]
    assert ["open", "2"] in words and ["blocked", "1"] in words


def test_status_counts_leases_that_ended(repo):
    clock(repo)
    repo.bd("claim", repo.create("x")).ok()
    clock(repo, h=2)
    got = repo.json("status")
    assert (got["expired_claims"], got["ready_issues"]) == (1, 1)


@pytest.mark.parametrize("ended, words", [(1, "1 lease has expired"), (2, "2 leases have expired")])
def test_doctor_counts_leases_that_ended(repo, ended, words):
    clock(repo)
    for _ in range(ended):
        repo.bd("claim", repo.create("x")).ok()
    clock(repo, h=2)
    assert [c["message"] for c in repo.json("doctor")["checks"] if c["code"] == "claims"] == [words]


def epic(repo):
    top = repo.create("top", "-t", "epic")
    return top, repo.create("a", "--parent", top), repo.create("b", "--parent", top)


def test_epic_status(repo):
    top, a, b = epic(repo)
    repo.create("task with a part", "-t", "task")
    got, = repo.json("epic", "status")
    assert got == {"id": top, "title": "top", "status": "open", "total_children": 2, "closed_children": 0,
                   "eligible_for_close": False}
    repo.bd("close", a).ok()
    assert repo.json("epic", "status")[0]["closed_children"] == 1
    assert "1/2" in repo.bd("epic", "status").ok().out
    assert repo.json("epic", "status", "--eligible-only") == []
    repo.bd("close", b).ok()
    got, = repo.json("epic", "status", "--eligible-only")
    assert (got["id"], got["eligible_for_close"]) == (top, True)


def test_epic_close_eligible(repo):
    top, a, b = epic(repo)
    other, c, _ = epic(repo)
    empty = repo.create("empty", "-t", "epic")
    repo.bd("close", a, b, c).ok()
    assert [x["id"] for x in repo.json("epic", "close-eligible", "--dry-run")] == [top]
    assert repo.show(top)["status"] == "open"
    assert [x["id"] for x in repo.json("epic", "close-eligible")] == [top]
    assert [repo.show(x)["status"] for x in (top, other, empty)] == ["closed", "open", "open"]
    assert repo.json("epic", "close-eligible") == []


def test_an_epic_with_open_blockers_is_not_closed_without_force(repo):
    blocker = repo.create("blocker")
    top, a, b = epic(repo)
    repo.bd("dep", "add", top, blocker).ok()
    repo.bd("close", a, b).ok()
    repo.bd("epic", "close-eligible")
    assert repo.show(top)["status"] == "open"


def test_a_deleted_child_does_not_count(repo):
    top, a, b = epic(repo)
    repo.bd("close", a).ok()
    repo.bd("delete", b, "--yes").ok()
    got, = repo.json("epic", "status")
    assert (got["total_children"], got["closed_children"], got["eligible_for_close"]) == (1, 1, True)


def test_created_at_in_the_list_for_people(repo):
    clock(repo)
    bead = repo.create("x")
    clock(repo, m=5)
    assert "created     5m ago by alice\n" in repo.bd("show", bead).ok().out
    assert stamp() in repo.bd("show", bead, "--long").ok().out


def test_a_list_of_ready_or_blocked_beads_says_so_at_its_end(repo):
    a, b = repo.create("a"), repo.create("b")
    repo.bd("dep", "add", b, a).ok()
    assert repo.bd("ready").ok().out.splitlines()[-1] == "1 bead ready"
    assert repo.bd("blocked").ok().out.splitlines()[-1] == "1 bead blocked"
    assert repo.bd("list").ok().out.splitlines()[-1] == "2 beads: 1 open, 1 blocked"


def test_a_deferred_bead_is_called_deferred(repo):
    bead = repo.create("a")
    assert repo.bd("defer", bead).ok().out == f"Deferred {bead}: a\n  not ready before: bd undefer {bead}\n"
    shown = repo.bd("show", bead).ok().out
    assert "  deferred    until 'bd undefer'\n" in shown and "imported as" not in shown
    assert "    deferred: yes → no\n" in repo.bd("undo").ok().out
    assert repo.bd("defer", bead, "--until", "2100-01-01").ok().out.startswith(
        f"Deferred {bead}: a\n  not ready before 2100-01-01T00:00:00.000Z (in ")


def test_the_time_that_is_left_is_not_rounded_down(repo):
    clock(repo)
    bead = repo.create("a")
    assert "lease ends in 2h," in repo.bd("claim", bead, "--lease", "2h").ok().out
    clock(repo, s=1)
    assert "lease ends in 2h\n" in repo.bd("show", bead).ok().out
    clock(repo, m=1)
    assert "lease ends in 1h59m\n" in repo.bd("show", bead).ok().out
    clock(repo, m=75)
    assert "lease ends in 45m\n" in repo.bd("show", bead).ok().out
    bob = {"BD_ACTOR": "bob"}
    assert f"'{bead}' is claimed by alice for another 45m" in repo.bd("claim", bead, env=bob).err
    assert "  alice has claimed it for another 45m\n" in repo.bd("why", bead, env=bob).ok().out


def test_the_last_sync_is_relative_for_people(repo):
    repo.create("a")
    repo.bd("sync").ok()
    assert "Last sync: just now\n" in repo.bd("status").ok().out


def test_a_setting_is_listed_with_its_meaning(repo):
    shown = repo.bd("config", "list").ok().out
    assert "claim.lease = 1h  (default)\n    lease duration of a claim\n" in shown
    assert repo.bd("config", "get", "claim.lease").ok().out == "claim.lease = 1h  (default)\n"


def test_a_task_that_vybe_blocked_says_why(repo):
    bead = repo.create("a")
    repo.run("task", "complete", "--id", bead, "--outcome", "blocked", "--summary", "no access", "--agent", "alice", "--request-id", "r",
             program="vybe").ok()
    assert "  blocked     no access\n" in repo.bd("show", bead).ok().out
    assert "  it is blocked: no access\n" in repo.bd("why", bead).ok().out
    repo.bd("update", bead, "--status", "open").ok()
    assert "no access" not in repo.bd("show", bead).ok().out
