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
    repo.bd("delete", "bd-b-deleted", "--yes").ok()
    clock(repo, h=2)
    repo.bd("list").ok()
    return rows


@pytest.fixture
def table(repo):
    """A bead for every row, written into the journal by the test, two hours before the commands run."""
    return prepared(repo, build)


def test_the_ready_rule_as_a_table(repo, table):
    ready = {x for x in repo.ids("ready", "-n", "0") if x in table}
    wrong = {row for name, row in table.items() if (name in ready) != expected(*row)}
    assert wrong == set()
    assert len(table) == 3 * 6 * (1 + 4 * 5)


def test_for_the_other_agent_mine_and_other_are_swapped(repo, table):
    ready = {x for x in repo.ids("ready", "-n", "0", "--actor", "bob") if x in table}
    swap = {"live-mine": "live-other", "live-other": "live-mine"}
    wrong = {row for name, row in table.items()
             if (name in ready) != expected(row[0], swap.get(row[1], row[1]), *row[2:])}
    assert wrong == set()


def test_the_table_is_valid_after_the_cache_was_rebuilt(repo, table):
    before = repo.bd("ready", "-n", "0", "--json").ok().bytes
    for file in repo.home.glob("cache.db*"):
        file.unlink()
    assert repo.bd("ready", "-n", "0", "--json").ok().bytes == before


def test_status_counts_the_beads_that_ready_lists(repo, table):
    assert repo.json("status")["ready_issues"] == len(repo.ids("ready", "-n", "0"))


def test_blocked_lists_blocked_beads_with_their_blockers(repo, table):
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

def test_a_bead_becomes_ready_when_its_blockers_close(repo):
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
    repo.bd("delete", a, "--yes").ok()
    assert repo.ids("ready") == [b]
    repo.bd("undelete", a).ok()
    assert repo.ids("ready") == [a]
    repo.bd("dep", "remove", b, a).ok()
    assert repo.ids("ready") == [a, b]
    repo.bd("dep", "add", b, a).ok()
    assert repo.ids("ready") == [a]
    repo.bd("close", b, "--force").ok()
    assert repo.ids("ready") == [a, c]


def test_both_of_two_blockers_have_to_close(repo):
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


def test_beads_in_a_cycle_are_reported_and_not_ready(repo):
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


def test_a_cycle_through_a_deleted_bead_blocks_nothing(repo):
    """By the rule of 'dep add', an edge counts while both of its beads are live. An updated cache and a rebuilt one
    agree."""
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c")
    for child, parent in ((a, b), (b, c)):
        repo.bd("update", child, "--parent", parent).ok()
    repo.bd("delete", b, "--force").ok()
    repo.bd("update", c, "--parent", a).ok()

    def seen():
        return (sorted(repo.ids("ready")), [sorted(x["ids"]) for x in repo.json("dep", "cycles")],
                [f["code"] for f in repo.json("validate")["findings"] if f["code"] == "dependency_cycle"],
                [x for x in (a, c) if "circle" in [r["code"] for r in repo.json("why", x)["reasons"]]])

    def seen_by_both():
        followed = seen()
        (repo.home / "cache.db").unlink()
        assert seen() == followed
        return followed

    assert seen_by_both() == (sorted([a, c]), [], [], [])
    repo.bd("undelete", b).ok()
    assert seen_by_both() == ([], [sorted([a, b, c])], ["dependency_cycle"], [a, c])
    repo.bd("delete", b, "--force").ok()
    assert seen_by_both() == (sorted([a, c]), [], [], [])


# beads with open children: listed last and marked, never handed out

def claim(repo, *words):
    return [b["id"] for b in repo.json("ready", "--claim", *words)]


def tree(repo):
    """An urgent epic, in it a bead that has a child; and a bead without a parent."""
    epic = repo.create("epic", "-t", "epic", "-p", "0")
    inner = repo.create("inner", "-p", "1", "--parent", epic)
    leaf = repo.create("leaf", "-p", "3", "--parent", inner)
    alone = repo.create("alone", "-p", "2")
    return epic, inner, leaf, alone


def test_leaves_come_first_and_containers_are_marked(repo):
    epic, inner, leaf, alone = tree(repo)
    ready = repo.json("ready")
    assert [b["id"] for b in ready] == [alone, leaf, epic, inner]
    assert [b.get("container") for b in ready] == [None, None, True, True]
    assert [b.get("open_children") for b in ready] == [None, None, 1, 1]
    assert repo.ids("ready", "-n", "3") == [alone, leaf, epic] and repo.ids("ready", "-n", "2") == [alone, leaf]
    assert repo.ids("ready", "--sort", "newest") == [alone, leaf, inner, epic]
    assert repo.json("ready", "--brief")[2]["container"] is True
    assert [sorted(b) for b in repo.json("ready", "--fields", "id,open_children")] == [["id"], ["id"]] + [["id", "open_children"]] * 2
    out = repo.bd("ready").ok().out
    assert "epic (container: 1 open child)" in out and out.count("container") == 2
    assert "open child" in repo.json("ready", "--explain")[2]["why"]
    assert "container" in [r["code"] for r in repo.json("why", epic)["reasons"]]
    assert repo.json("why", epic)["ready"] is True


def test_a_container_is_never_handed_out(repo):
    epic, inner, leaf, alone = tree(repo)
    assert [claim(repo) for _ in range(3)] == [[alone], [leaf], []]
    assert claim(repo, "-t", "epic") == [] and claim(repo, "--parent", epic) == []
    repo.bd("close", leaf).ok()
    assert claim(repo) == [inner]
    repo.bd("close", inner).ok()
    assert claim(repo) == [epic]


def test_a_container_whose_lease_has_ended_is_not_handed_out(repo):
    clock(repo)
    epic, inner, leaf, alone = tree(repo)
    repo.bd("claim", epic, inner, leaf, alone, "--lease", "1m", "--actor", "bob").ok()
    clock(repo, h=1)
    assert repo.ids("ready") == [alone, leaf, epic, inner]
    assert [claim(repo) for _ in range(3)] == [[alone], [leaf], []]


def test_claim_next_after_a_close_takes_no_container(repo):
    epic, inner, leaf, alone = tree(repo)
    closed, taken = repo.json("close", alone, "--claim-next")
    assert (closed["id"], taken["id"]) == (alone, leaf)
    blocked = repo.create("blocked container", "--deps", leaf)
    child = repo.create("its child", "--parent", blocked)
    free = repo.create("blocked leaf", "--deps", leaf)
    rows = repo.json("close", leaf, "--suggest-next")
    assert [b["id"] for b in rows if b.get("unblocked")] == [free]
    assert child in repo.ids("ready")


@pytest.mark.parametrize("words", [["close", "{0}"], ["delete", "{0}", "--yes"], ["dep", "remove", "{0}", "{1}", "--kind", "parent"],
                                   ["update", "{0}", "--parent", ""]], ids=lambda w: " ".join(w))
def test_without_its_last_open_child_a_bead_is_work_again(repo, words):
    parent = repo.create("parent", "-p", "0")
    child = repo.create("child", "--parent", parent)
    assert repo.ids("ready") == [child, parent]
    repo.bd(*(w.format(child, parent) for w in words)).ok()
    assert repo.ids("ready")[0] == parent
    before = repo.bd("ready", "--json").ok().bytes
    for file in repo.home.glob("cache.db*"):
        file.unlink()
    assert repo.bd("ready", "--json").ok().bytes == before  # a new cache counts the same
    assert claim(repo) == [parent]


def test_a_restored_child_makes_a_container_again(repo):
    parent = repo.create("parent", "-p", "0")
    child = repo.create("child", "--parent", parent)
    for there, back in ((["close"], "reopen"), (["delete", "--yes"], "undelete")):
        repo.bd(*there, child).ok()
        assert repo.ids("ready")[0] == parent
        repo.bd(back, child).ok()
        assert repo.ids("ready") == [child, parent] and repo.json("ready")[1]["open_children"] == 1


def test_another_kind_of_edge_makes_no_container(repo):
    a = repo.create("a", "-p", "0")
    for kind in ("related", "discovered_from"):
        repo.create(kind, "--deps", f"{kind}:{a}")
    assert repo.ids("ready")[0] == a and claim(repo) == [a]


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


def test_explain_gives_the_reason(repo):
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
