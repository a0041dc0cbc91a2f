"""bd count, status, list: counts that are kept up to date, and lists in the order of an index"""
import collections
import random

from beads import clock, stamp


def act(repo, rng, ids, step):
    """One random change of a bead."""
    one, other = rng.choice(ids), rng.choice(ids)
    return rng.choice([
        ["update", one, "-p", str(rng.randrange(5))],
        ["update", one, "-t", rng.choice(["bug", "task", "epic", "chore", "feature"])],
        ["close", one, "--force"], ["reopen", one], ["claim", one], ["unclaim", one],
        ["dep", "add", one, other], ["dep", "remove", one, other],
        ["update", one, "--parent", other], ["delete", one, "--yes"],
        ["defer", one, "--until", stamp(h=step % 20)], ["undefer", one],
        ["create", f"made in step {step}", "-p", str(rng.randrange(5))],
    ])


def numbers(repo):
    """The counts of bd, and those of a list of all beads."""
    beads = repo.json("list", "--all", "-n", "0")
    status = repo.json("status")
    for flag, member in (("--by-status", "status"), ("--by-priority", "priority"), ("--by-type", "issue_type")):
        got = repo.json("count", flag)
        counted = {str(g["group"]): g["count"] for g in got["groups"]}
        assert counted == {str(k): n for k, n in collections.Counter(b[member] for b in beads).items()}
        assert got["total"] == len(beads)
    assert status["total_issues"] == len(beads)
    assert status["blocked_issues"] == len(repo.json("blocked", "-n", "0"))
    assert status["ready_issues"] == len(repo.json("ready", "-n", "0"))


def test_counts_are_correct_after_any_change(repo):
    clock(repo)
    rng = random.Random(7)
    ids = [repo.create(f"bead {i}") for i in range(12)]
    for step in range(120):
        clock(repo, m=step)
        repo.bd(*act(repo, rng, ids, step))  # some are refused: that changes nothing
        if step % 30 == 29:
            numbers(repo)
    repo.bd("doctor").ok()
    (repo.path / ".git/abacus/cache.db").unlink()
    numbers(repo)


def test_a_deferred_or_claimed_bead_is_not_counted_as_ready(repo):
    clock(repo)
    a, b, c = (repo.create(title) for title in "abc")
    repo.bd("defer", a, "--until", stamp(h=5)).ok()
    repo.bd("claim", b, "--actor", "bob").ok()
    assert repo.json("status")["ready_issues"] == 1
    clock(repo, h=6)
    assert repo.json("status")["ready_issues"] == len(repo.json("ready")) == 3


def test_a_search_reports_the_number_of_results(repo):
    for i in range(6):
        repo.create(f"parser {i}" if i % 2 else f"printer {i}")
    assert "2 of 3 beads" in repo.bd("search", "parser", "-n", "2").ok().out
    repo.create("other words", "-d", "about a parser")
    repo.create("a parser in both", "-d", "about a parser")
    lists = {n: repo.bd("search", "parser", "-n", str(n)).ok().out.splitlines() for n in range(7)}
    assert all(lists[n][-1].startswith(f"{n} of 5 beads") for n in range(1, 5))
    assert all(len(lists[n]) == n + 2 for n in range(1, 6))
    assert lists[0] == lists[5] == lists[6] and lists[5][-1].startswith("5 beads")


def test_lists_by_assignee_status_and_age_have_the_usual_order(repo):
    clock(repo)
    ids = []
    for i, priority in enumerate((2, 0, 4, 0)):
        clock(repo, m=i)
        ids.append(repo.create(f"bead {i}", "-p", str(priority), "-a", "bob"))
    by_priority = [ids[1], ids[3], ids[0], ids[2]]
    assert [b["id"] for b in repo.json("list", "--assignee", "bob")] == by_priority
    assert [b["id"] for b in repo.json("list", "--sort", "updated")] == ids[::-1]
    repo.bd("close", *ids).ok()
    assert [b["id"] for b in repo.json("list", "-s", "closed")] == by_priority
