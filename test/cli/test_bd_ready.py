"""bd ready, bd blocked, bd why: the rule as a table"""
import itertools
import json

import pytest

from beads import append, clock, is_error, ms, prepared

STATUS = ["open", "in_progress", "closed"]
LEASE = ["none", "live-mine", "live-other", "expired-mine", "expired-other", "assigned-other"]
BLOCKER = ["none", "open", "in_progress", "closed", "deleted"]
EDGE = ["blocks", "removed", "parent", "related", "discovered_from"]


def expected(status, lease, blocker, edge):
    """Section 4.7 of the design, section 6.3 of the specification."""
    free = (status == "open" and lease != "live-other"
            or status == "in_progress" and lease.startswith("expired"))
    return free and not (edge == "blocks" and blocker in ("open", "in_progress"))


def bead(id, n, **fields):
    return {"_at": [ms(), n], "_by": "zoe", "created_at": [ms(), n], "created_by": "zoe", "id": id, "priority": 2,
            "status": "open", "title": id, "type": "task", **fields}


def build(repo):
    beads, deps, tombstones, rows = [], [], [], {}
    serial = itertools.count(10)
    for status, lease, blocker, edge in itertools.product(STATUS, LEASE, BLOCKER, EDGE):
        if blocker == "none" and edge != "blocks":
            continue
        n = next(serial)
        name = f"bd-r{n}"
        rows[name] = (status, lease, blocker, edge)
        fields = {"status": status}
        if status == "closed":
            fields |= {"closed_at": [ms(), n], "closed_by": "zoe"}
        if lease != "none":
            fields |= {"assignee": "alice" if lease.endswith("mine") else "bob", "assignee_at": [ms(), n]}
            if lease != "assigned-other":
                fields["assignee_expires"] = ms(h=3 if lease.startswith("live") else 1)
        beads.append(bead(name, n, **fields))
        if blocker != "none":
            to = f"bd-b-{blocker}"
            dep = {"_at": [ms(), n], "_by": "zoe", "created_at": [ms(), n], "created_by": "zoe", "from": name,
                   "kind": "blocks" if edge == "removed" else edge, "to": to}
            if edge == "removed":
                dep |= {"_at": [ms(), n + 9000], "deleted_at": [ms(), n + 9000], "deleted_by": "zoe"}
            deps.append(dep)
    for i, word in enumerate(["open", "in_progress", "closed", "deleted"]):
        fields = {"status": word if word != "deleted" else "open"}
        if word == "closed":
            fields |= {"closed_at": [ms(), i + 1], "closed_by": "zoe"}
        beads.append(bead(f"bd-b-{word}", i + 1, **fields))
    append(repo, {"beads": sorted(beads, key=lambda b: b["id"]), "deps": deps})
    clock(repo)
    repo.bd("delete", "bd-b-deleted").ok()
    clock(repo, h=2)
    repo.bd("list").ok()
    return rows


@pytest.fixture
def table(repo):
    """A bead for every row, put into the journal by hand, two hours before the commands run."""
    return prepared(repo, build)


def test_the_ready_rule_as_a_table(repo, table):
    ready = {x for x in repo.ids("ready", "-n", "0") if x in table}
    wrong = {row for name, row in table.items() if (name in ready) != expected(*row)}
    assert wrong == set()
    assert len(table) == 3 * 6 * (1 + 4 * 5)


def test_for_the_other_agent_mine_and_other_change_places(repo, table):
    ready = {x for x in repo.ids("ready", "-n", "0", "--actor", "bob") if x in table}
    swap = {"live-mine": "live-other", "live-other": "live-mine"}
    wrong = {row for name, row in table.items()
             if (name in ready) != expected(row[0], swap.get(row[1], row[1]), *row[2:])}
    assert wrong == set()


def test_the_table_holds_after_the_cache_is_lost(repo, table):
    before = repo.bd("ready", "-n", "0", "--json").ok().bytes
    for file in repo.home.glob("cache.db*"):
        file.unlink()
    assert repo.bd("ready", "-n", "0", "--json").ok().bytes == before


def test_status_counts_what_ready_lists(repo, table):
    assert repo.json("status")["ready_issues"] == len(repo.ids("ready", "-n", "0"))


def test_blocked_lists_what_waits_and_for_which(repo, table):
    got = {b["id"]: b["blocked_by"] for b in repo.json("blocked", "-n", "0") if b["id"] in table}
    want = {name: [f"bd-b-{row[2]}"] for name, row in table.items()
            if row[0] != "closed" and row[3] == "blocks" and row[2] in ("open", "in_progress")}
    assert got == want


@pytest.mark.parametrize("row", [("open", "none", "none", "blocks"), ("open", "live-other", "none", "blocks"),
                                 ("in_progress", "expired-other", "none", "blocks"),
                                 ("in_progress", "none", "none", "blocks"), ("closed", "none", "none", "blocks"),
                                 ("open", "none", "open", "blocks"), ("open", "none", "closed", "blocks"),
                                 ("open", "none", "deleted", "blocks"), ("open", "none", "open", "related"),
                                 ("open", "none", "open", "removed")])
def test_why_agrees_with_ready(repo, table, row):
    name = next(n for n, r in table.items() if r == row)
    got = repo.json("why", name)
    assert (got["id"], got["ready"]) == (name, expected(*row))
    out = repo.bd("why", name).ok().out
    assert out.startswith(f"{name} is {'ready' if expected(*row) else 'not ready'}")


# the same through commands

def test_work_becomes_ready_as_its_blockers_end(repo):
    a = repo.create("a")
    b = repo.create("b", "--deps", a)
    c = repo.create("c", "--deps", b)
    assert repo.ids("ready") == [a]
    repo.bd("claim", a).ok()
    assert repo.ids("ready") == []
    repo.bd("close", a).ok()
    assert repo.ids("ready") == [b]
    repo.bd("reopen", a).ok()
    assert repo.ids("ready") == [a]
    repo.bd("delete", a).ok()
    assert repo.ids("ready") == [b]
    repo.bd("undelete", a).ok()
    assert repo.ids("ready") == [a]
    repo.bd("dep", "remove", b, a).ok()
    assert repo.ids("ready") == [a, b]
    repo.bd("dep", "add", b, a).ok()
    assert repo.ids("ready") == [a]
    repo.bd("close", b, "--force").ok()
    assert repo.ids("ready") == [a, c]


def test_two_blockers_both_have_to_end(repo):
    a, b = repo.create("a"), repo.create("b")
    c = repo.create("c", "--deps", f"{a},{b}")
    repo.bd("close", a).ok()
    assert repo.ids("ready") == [b]
    repo.bd("close", b).ok()
    assert repo.ids("ready") == [c]


def test_an_unknown_blocker_does_not_block(repo):
    clock(repo)
    a = repo.create("a")
    append(repo, {"deps": [{"_at": [ms(), 90], "_by": "zoe", "created_at": [ms(), 90], "created_by": "zoe", "from": a,
                            "kind": "blocks", "to": "bd-never"}]})
    assert repo.ids("ready") == [a]


def test_members_of_a_cycle_are_reported_and_not_ready(repo):
    clock(repo)
    a, b = repo.create("a"), repo.create("b")
    append(repo, {"deps": [{"_at": [ms(), 90], "_by": "zoe", "created_at": [ms(), 90], "created_by": "zoe", "from": x,
                            "kind": "blocks", "to": y} for x, y in sorted([(a, b), (b, a)])]})
    assert repo.ids("ready") == []
    assert [sorted(c["ids"] if isinstance(c, dict) else c) for c in repo.json("dep", "cycles")] == [sorted([a, b])]
    assert "dependency_cycle" in [f["code"] for f in repo.json("validate")["findings"]]


def test_a_cycle_of_parents_is_not_ready_either(repo):
    clock(repo)
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c")
    append(repo, {"deps": [{"_at": [ms(), 90], "_by": "zoe", "created_at": [ms(), 90], "created_by": "zoe", "from": x,
                            "kind": "parent", "to": y} for x, y in sorted([(a, b), (b, a)])]})
    assert repo.ids("ready") == [c]


# order, filters

def test_priority_first_then_the_oldest(repo):
    ids = {}
    for i, p in enumerate([3, 1, 2, 1, 0, 4]):
        clock(repo, s=i)
        ids[i] = repo.create(f"t{i}", "-p", str(p))
    assert repo.ids("ready") == [ids[i] for i in (4, 1, 3, 2, 0, 5)]
    assert repo.ids("ready", "--sort", "oldest") == [ids[i] for i in range(6)]
    assert repo.ids("ready", "--sort", "newest") == [ids[i] for i in reversed(range(6))]
    assert repo.ids("ready", "-n", "2") == [ids[4], ids[1]]


def test_with_a_frozen_clock_the_first_is_the_oldest(repo):
    clock(repo)
    ids = [repo.create(f"t{i}") for i in range(6)]
    assert repo.ids("ready") == ids


def test_filters(repo):
    epic = repo.create("epic", "-t", "epic", "-p", "4")
    a = repo.create("a", "-p", "0", "-t", "bug", "-l", "x,y", "-a", "bob")
    b = repo.create("b", "-p", "1", "-l", "x", "--parent", epic)
    c = repo.create("c", "-p", "2", "-l", "z")
    for words, want in [([], [a, b, c, epic]), (["-p", "0"], [a]), (["-p", "0,P1"], [a, b]), (["-t", "bug"], [a]),
                        (["-t", "bug,epic"], [a, epic]), (["-l", "x"], [a, b]), (["-l", "x,y"], [a]),
                        (["-l", "x", "-l", "y"], [a]), (["--label-any", "y,z"], [a, c]), (["-a", "bob"], [a]),
                        (["-u"], [b, c, epic]), (["--parent", epic], [b]), (["-l", "none"], [])]:
        assert repo.ids("ready", *words) == want, words
    is_error(repo.bd("--json", "ready", "--parent", "bd-none"), "not_found", 1)
    is_error(repo.bd("--json", "ready", "-p", "7"), "invalid_argument", 1)


def test_explain_says_why(repo):
    repo.create("a", "-p", "1")
    got, = repo.json("ready", "--explain")
    assert "priority 1" in got["why"]
    assert got["why"] in repo.bd("ready", "--explain").ok().out


def test_explain_with_a_clock_that_went_back(repo):
    clock(repo, d=1)
    repo.create("a")
    clock(repo)
    assert "-" not in repo.json("ready", "--explain")[0]["why"]


def test_empty_is_an_empty_array_and_a_sentence(repo):
    assert repo.bd("ready", "--json").ok().out == "[]\n"
    assert repo.bd("blocked", "--json").ok().out == "[]\n"
    assert repo.bd("ready").ok().out.strip()
    assert json.loads(repo.bd("list", "--json").ok().out) == []
