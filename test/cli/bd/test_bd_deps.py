"""bd dep, bd children, bd graph"""
import pytest

from beads import append, clock, is_error, ms, stamp


def test_an_edge_is_added_and_shown_from_both_ends(repo):
    clock(repo)
    a, b = repo.create("a"), repo.create("b")
    assert repo.json("dep", "add", a, b, "--actor", "bob") == {
        "from": a, "to": b, "kind": "blocks", "created_at": stamp(), "created_by": "bob", "status": "added"}
    down, up = repo.show(a), repo.show(b)
    assert [(d["id"], d["title"], d["status"], d["dependency_type"]) for d in down["dependencies"]] == [
        (b, "b", "open", "blocks")]
    assert [(d["id"], d["title"], d["status"], d["dependency_type"]) for d in up["dependents"]] == [
        (a, "a", "open", "blocks")]
    assert (down["dependency_count"], down["dependent_count"]) == (1, 0)
    assert (up["dependency_count"], up["dependent_count"]) == (0, 1)
    assert down["dependents"] == up["dependencies"] == []


def test_for_people(repo):
    a, b = repo.create("a"), repo.create("b")
    out = repo.bd("dep", "add", a, b).ok().out
    assert a in out and b in out and "blocks" in out
    assert b in repo.bd("dep", "list", a).ok().out
    out = repo.bd("dep", "remove", a, b).ok().out
    assert a in out and b in out
    assert repo.bd("dep", "list", a).ok().out.strip()


@pytest.mark.parametrize("flag", ["--type", "--kind", "-t"])
@pytest.mark.parametrize("word, kind", [("parent-child", "parent"), ("relates-to", "related"),
                                        ("discovered-from", "discovered_from")])
def test_kinds_by_their_names(repo, flag, word, kind):
    a, b = repo.create("a"), repo.create("b")
    assert repo.json("dep", "add", a, b, flag, word)["kind"] == kind


def test_another_kind_is_refused(repo):
    a, b = repo.create("a"), repo.create("b")
    is_error(repo.bd("--json", "dep", "add", a, b, "--type", "eats"), "invalid_argument", 1)
    assert repo.show(a)["dependency_count"] == 0


def test_the_same_edge_again_keeps_its_origin_and_writes_nothing(repo):
    clock(repo)
    a, b = repo.create("a"), repo.create("b")
    repo.bd("dep", "add", a, b).ok()
    journal = repo.journal.read_bytes()
    clock(repo, m=1)
    again = repo.json("dep", "add", a, b, "--actor", "bob")
    assert (again["created_at"], again["created_by"]) == (stamp(), "alice")
    assert repo.journal.read_bytes() == journal
    assert repo.show(a)["dependency_count"] == 1


def test_an_edge_is_its_ends_and_its_kind(repo):
    a, b = repo.create("a"), repo.create("b")
    for kind in ("blocks", "related", "discovered_from", "parent"):
        repo.bd("dep", "add", a, b, "-t", kind).ok()
    assert sorted(d["dependency_type"] for d in repo.json("dep", "list", a)) == [
        "blocks", "discovered_from", "parent", "related"]
    gone, = repo.json("dep", "remove", a, b, "-t", "related")
    assert (gone["from"], gone["to"], gone["kind"], gone["status"]) == (a, b, "related", "removed")
    assert sorted(d["dependency_type"] for d in repo.json("dep", "list", a)) == ["blocks", "discovered_from", "parent"]
    assert sorted(g["kind"] for g in repo.json("dep", "remove", a, b)) == ["blocks", "discovered_from", "parent"]
    assert repo.json("dep", "list", a) == []
    is_error(repo.bd("--json", "dep", "remove", a, b), "not_found", 1)


def test_a_removed_edge_can_be_added_again(repo):
    clock(repo)
    a, b = repo.create("a"), repo.create("b")
    for _ in range(3):
        repo.bd("dep", "add", a, b).ok()
        assert repo.ids("ready") == [b]
        repo.bd("dep", "remove", a, b).ok()
        assert repo.ids("ready") == [a, b]


def test_a_removed_edge_is_seen_by_no_query(repo):
    a, b = repo.create("a"), repo.create("b")
    repo.bd("dep", "add", a, b).ok()
    repo.bd("dep", "remove", a, b).ok()
    assert repo.show(a)["dependencies"] == repo.show(b)["dependents"] == []
    assert repo.show(a)["dependency_count"] == repo.show(b)["dependent_count"] == 0
    assert repo.json("dep", "list", b, "--direction", "both") == []
    assert [n["id"] for n in repo.json("dep", "tree", a)["nodes"]] == [a]
    assert repo.json("graph")["edges"] == []
    assert repo.json("blocked") == []


@pytest.mark.parametrize("kind", ["blocks", "parent"])
def test_cycles_are_refused_and_their_path_is_reported(repo, kind):
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c")
    repo.bd("dep", "add", a, b, "-t", kind).ok()
    repo.bd("dep", "add", b, c, "-t", kind).ok()
    journal = repo.journal.read_bytes()
    error = is_error(repo.bd("--json", "dep", "add", c, a, "-t", kind), "cycle", 1)
    assert set(error["details"]["path"]) == {a, b, c}
    assert all(x in error["message"] for x in (a, b, c))
    assert repo.journal.read_bytes() == journal
    repo.bd("dep", "remove", a, b).ok()
    repo.bd("dep", "add", c, a, "-t", kind).ok()


@pytest.mark.parametrize("kind", ["related", "discovered_from"])
def test_other_kinds_may_form_cycles(repo, kind):
    a, b = repo.create("a"), repo.create("b")
    repo.bd("dep", "add", a, b, "-t", kind).ok()
    repo.bd("dep", "add", b, a, "-t", kind).ok()
    assert repo.json("dep", "cycles") == []


@pytest.mark.parametrize("kind", ["blocks", "parent", "related", "discovered_from"])
def test_a_bead_cannot_depend_on_itself(repo, kind):
    a = repo.create("a")
    is_error(repo.bd("--json", "dep", "add", a, a, "-t", kind), "self_dependency", 1)
    assert repo.show(a)["dependency_count"] == 0


def test_both_beads_of_an_edge_must_exist(repo):
    a, gone = repo.create("a"), repo.create("gone")
    repo.bd("delete", gone, "--yes").ok()
    is_error(repo.bd("--json", "dep", "add", a, "bd-none"), "not_found", 1)
    is_error(repo.bd("--json", "dep", "add", "bd-none", a), "not_found", 1)
    is_error(repo.bd("--json", "dep", "add", a, gone), "deleted", 1)
    is_error(repo.bd("--json", "dep", "add", gone, a), "deleted", 1)
    is_error(repo.bd("--json", "dep", "add", a), "invalid_argument", 2)


def test_a_bead_has_one_parent(repo):
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c", "-t", "epic")
    repo.bd("dep", "add", a, b, "-t", "parent").ok()
    assert repo.show(a)["parent"] == b
    assert repo.ids("children", b) == [a]
    repo.bd("update", a, "--parent", c).ok()
    assert repo.show(a)["parent"] == c


def test_children_lists_closed_children_too(repo):
    epic = repo.create("epic", "-t", "epic")
    a, b = repo.create("a", "--parent", epic), repo.create("b", "--parent", epic)
    repo.bd("close", a).ok()
    assert sorted(repo.ids("children", epic)) == sorted([a, b])
    out = repo.bd("children", epic).ok().out
    assert a in out and b in out
    is_error(repo.bd("--json", "children", "bd-none"), "not_found", 1)


def test_dep_list_directions_and_kinds(repo):
    a, b, c = repo.create("a"), repo.create("b"), repo.create("c")
    repo.bd("dep", "add", a, b).ok()
    repo.bd("dep", "add", c, a, "-t", "related").ok()
    assert [(d["id"], d["dependency_type"], d["direction"]) for d in repo.json("dep", "list", a)] == [
        (b, "blocks", "down")]
    assert [(d["id"], d["dependency_type"], d["direction"]) for d in repo.json("dep", "list", a, "--direction", "up")
            ] == [(c, "related", "up")]
    assert {d["id"] for d in repo.json("dep", "list", a, "--direction", "both")} == {b, c}
    assert repo.json("dep", "list", a, "--direction", "both", "-t", "related")[0]["id"] == c
    is_error(repo.bd("--json", "dep", "list", a, "--direction", "left"), "invalid_argument", 1)


def diamond(repo):
    a, b, c, d = (repo.create(x) for x in "abcd")
    for x, y in ((a, b), (a, c), (b, d), (c, d)):
        repo.bd("dep", "add", x, y).ok()
    return a, b, c, d


def test_the_tree_of_a_diamond(repo):
    a, b, c, d = diamond(repo)
    nodes = repo.json("dep", "tree", a)["nodes"]
    assert [(n["id"], n["depth"], n["under"]) for n in nodes if not n["again"]][0] == (a, 0, None)
    assert {(n["id"], n["under"]) for n in nodes} == {(a, None), (b, a), (c, a), (d, b), (d, c)}
    assert sum(n["again"] for n in nodes) == 1
    assert [n["depth"] for n in nodes if n["id"] == d] == [2, 2]
    assert {n["id"] for n in repo.json("dep", "tree", d, "--direction", "up")["nodes"]} == {a, b, c, d}
    assert {n["id"] for n in repo.json("dep", "tree", d)["nodes"]} == {d}
    assert {n["id"] for n in repo.json("dep", "tree", b, "--direction", "both")["nodes"]} >= {a, b, d}
    assert {n["id"] for n in repo.json("dep", "tree", a, "-d", "1")["nodes"]} == {a, b, c}
    out = repo.bd("dep", "tree", a).ok().out
    assert out.splitlines()[0].startswith(a) and all(x in out for x in (b, c, d))


def test_the_tree_as_mermaid_and_dot(repo):
    a, b, c, d = diamond(repo)
    out = repo.bd("dep", "tree", a, "--format", "mermaid").ok().out
    assert out.startswith(("graph ", "flowchart "))
    assert out.count("-->") == 4
    out = repo.bd("dep", "tree", a, "--format", "dot").ok().out
    assert out.startswith("digraph ") and out.rstrip().endswith("}")
    assert out.count("->") == 4
    for x, y in ((a, b), (a, c), (b, d), (c, d)):
        assert f'"{x}" -> "{y}"' in out


def test_every_bead_is_a_node_of_its_own_in_mermaid(repo):
    """Ids that differ only in '-', '_' and '.' are different beads."""
    prefix = repo.create("first").partition("-")[0]
    ids = [f"{prefix}-{rest}" for rest in ("b-1", "b_1", "b.1", "b--1", "b-u1", "b-_1", "b__1", "bu1")]
    for n, id in enumerate(ids):
        repo.create("x", "--id", id, *(["--deps", ids[n - 1]] if n else []))
    for args in (("dep", "tree", ids[-1]), ("graph",)):
        out = repo.bd(*args, "--format", "mermaid").ok().out
        nodes = {line.split("[")[0].strip(): line for line in out.splitlines() if '["' in line}
        assert len(nodes) == len(ids) and all(name.replace("_", "").isalnum() for name in nodes), out
        edges = [tuple(line.split(" -->|blocked by| ")) for line in out.splitlines() if "-->" in line]
        assert len(edges) == len(ids) - 1 and {end.strip() for edge in edges for end in edge} == set(nodes), out


@pytest.mark.parametrize("title", ['say "hi"', "back\\slash", "<b>&amp;", "a]b[c", "日本語 🎉"])
def test_titles_in_drawings_are_quoted(repo, title):
    a = repo.create(title)
    b = repo.create("b", "--deps", a)
    dot = repo.bd("graph", "--format", "dot").ok().out
    quoted = title.replace("\\", "\\\\").replace('"', '\\"')
    assert f'[label="{a}: {quoted}"]' in dot
    mermaid = repo.bd("dep", "tree", b, "--format", "mermaid").ok().out
    line = next(line for line in mermaid.splitlines() if f"{a}:" in line)
    assert line.count('"') == 2


def test_graph_of_all_and_of_one(repo):
    a, b, c, d = diamond(repo)
    e = repo.create("e", "--deps", f"related:{a}")
    repo.bd("close", e).ok()
    graph = repo.json("graph")
    assert {n["id"] for n in graph["nodes"]} == {a, b, c, d}
    assert sorted((e["from"], e["to"], e["kind"]) for e in graph["edges"]) == sorted(
        [(a, b, "blocks"), (a, c, "blocks"), (b, d, "blocks"), (c, d, "blocks")])
    assert {n["id"] for n in repo.json("graph", b)["nodes"]} == {a, b, d}
    assert {n["id"] for n in repo.json("graph", b, "--depth", "2")["nodes"]} == {a, b, c, d}
    assert {n["id"] for n in repo.json("graph", b, "--depth", "0")["nodes"]} == {a, b, c, d}
    assert {n["id"] for n in repo.json("graph", "--all")["nodes"]} == {a, b, c, d, e}
    is_error(repo.bd("--json", "graph", "bd-none"), "not_found", 1)


def test_a_deleted_bead_is_in_no_tree_and_undelete_restores_its_edges(repo):
    a, b, c, d = diamond(repo)
    repo.bd("delete", b, "--yes").ok()
    assert {n["id"] for n in repo.json("dep", "tree", a)["nodes"]} == {a, c, d}
    assert [x["id"] for x in repo.show(a)["dependencies"]] == [c]
    assert repo.show(a)["dependency_count"] == 1
    repo.bd("undelete", b).ok()
    assert {x["id"] for x in repo.show(a)["dependencies"]} == {b, c}


def test_a_long_chain(repo):
    plan = repo.path / "plan.md"
    plan.write_text("".join(f"## t{i:03}\n\n" for i in range(120)))
    ids = [b["id"] for b in repo.json("create", "-f", str(plan))]
    append(repo, {"deps": [{"_at": [ms(), 1], "_by": "zoe", "created_at": [ms(), 1], "created_by": "zoe", "from": x,
                            "kind": "blocks", "to": y} for x, y in sorted(zip(ids, ids[1:]))]})
    assert repo.ids("ready") == [ids[-1]]
    is_error(repo.bd("--json", "dep", "add", ids[-1], ids[0]), "cycle", 1)
    assert len(repo.json("dep", "tree", ids[0], "-d", "100")["nodes"]) == 101


def test_the_graph_of_one_kind_has_only_its_edges_and_their_beads(repo):
    epic, first, second, loose = repo.create("Epic", "-t", "epic"), repo.create("First"), repo.create("Second"), repo.create("Loose")
    repo.run("dep", "add", second, first).ok()
    repo.run("dep", "add", loose, epic, "--type", "parent").ok()
    repo.run("dep", "add", first, epic, "--type", "parent").ok()
    ids = lambda graph: sorted(n["id"] for n in graph["nodes"])
    graph = repo.json("graph", "--kind", "blocks")
    assert graph["edges"] == [{"from": second, "to": first, "kind": "blocks"}] and ids(graph) == sorted([first, second])
    graph = repo.json("graph", first, "--kind", "parent", "--depth", "1")
    assert graph["edges"] == [{"from": first, "to": epic, "kind": "parent"}] and ids(graph) == sorted([epic, first, second])
    assert len(repo.json("graph")["edges"]) == 3
