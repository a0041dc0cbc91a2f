"""The rules of the sync, one at a time, with real clones and a bare remote."""
import concurrent.futures
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import time

import pytest

from bead_harness import drop_cache, state
from conftest import Repo, environment, git
from harness import wait_until
from remotes import commit, published, summed
from test_abacus_mcp import ask
from test_join_model import mark, other_id

T0 = 1767225600000
FILES = ("state.jsonl", "tombstones.jsonl", "deps.jsonl", "meta.json")
REF = "refs/beads/store"


class Clone(Repo):
    """A clone of one person, with its own clock."""

    def __init__(self, path, actor):
        super().__init__(path)
        self.env = {"BD_ACTOR": actor}

    def at(self, seconds, *args, **kw):
        """Runs a command that long after T0."""
        return self.json(*args, env={"ABACUS_NOW": T0 + 1000 * seconds}, **kw)

    def sync(self, *how, **kw):
        reply = self.json("sync", *how, **kw)
        assert reply["durability"] == ("local" if "--no-push" in how else "remote"), reply
        return reply

    def head(self):
        return git(self.path, "rev-parse", REF).strip()


def make_clone(root, actor, name=None):
    path = root / (name or actor)
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "remote", "add", "origin", "../remote.git")
    return Clone(path, actor)


def make_remote(root):
    git(root, "init", "-q", "--bare", "remote.git")
    return root / "remote.git"


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """Ann, bob and cy share a store that has three beads; made once, and copied."""
    root = tmp_path_factory.mktemp("three")
    make_remote(root)
    clones = [make_clone(root, actor) for actor in ("ann", "bob", "cy")]
    clones[0].bd("init", "--prefix", "bd", env={"ABACUS_NOW": 0}).ok()
    for name in ("bd-in", "bd-out", "bd-one"):
        clones[0].at(0, "create", name, "--id", name)
    clones[0].sync()
    for clone in clones[1:]:
        clone.bd("init").ok()
        clone.sync()
    return root


@pytest.fixture
def clones(tmp_path, three):
    root = tmp_path / "work"
    shutil.copytree(three, root)
    return [Clone(root / actor, actor) for actor in ("ann", "bob", "cy")]


def settle(clones):
    """All clones sync until none has changes, and all are equal."""
    for _ in range(2):
        for clone in clones:
            clone.sync()
    remote = clones[0].path.parent / "remote.git"
    head = git(remote, "rev-parse", REF).strip()
    for clone in clones:
        assert clone.head() == head
        assert clone.json("validate")["errors"] == 0
        told = {c["code"]: c["status"] for c in clone.json("doctor")["checks"]}
        assert told["journal"] == told["cache"] == "ok"
    return {name: git(remote, "show", f"{REF}:{name}") for name in FILES}


def edges(clone):
    """The live edges, as (from, to, kind)."""
    text = git(clone.path, "show", f"{REF}:deps.jsonl")
    return {(e["from"], e["to"], e["kind"]) for e in map(json.loads, text.splitlines()) if "deleted_at" not in e}


def lines(clone, name):
    return [json.loads(line) for line in git(clone.path, "show", f"{REF}:{name}").splitlines()]


# deletions

ORDERS = list(itertools.permutations(range(3)))
TIMES = {"between": (100, 200, 300), "after_both": (100, 300, 200), "before_both": (200, 100, 300)}


@pytest.mark.parametrize("case", sorted(TIMES))
def test_a_deletion_meets_two_edits_in_any_order(clones, tmp_path, case):
    """Whichever clone syncs first: the last of the three decides, and no edit is lost with it."""
    ann, bob, cy = clones
    edit, deletion, other = TIMES[case]
    bob.at(edit, "update", "bd-one", "--title", "by bob")
    ann.at(deletion, "delete", "bd-one", "--force", "--reason", "enough")
    cy.at(other, "update", "bd-one", "--description", "by cy")
    results = set()
    for order in ORDERS:
        root = tmp_path / "".join(map(str, order))
        shutil.copytree(ann.path.parent, root)
        copies = [Clone(root / c.path.name, c.env["BD_ACTOR"]) for c in clones]
        for i in order:
            copies[i].sync()
        results.add(json.dumps(settle(copies)))
        shown = [c.run("--json", "show", "bd-one") for c in copies]
        if case == "after_both":
            assert {s.error["code"] for s in shown} == {"deleted"}
            back = copies[2].at(999, "undelete", "bd-one")
            back = back[0] if isinstance(back, list) else back
            assert (back["title"], back["description"]) == ("by bob", "by cy")
        else:
            assert {(s.json[0]["title"], s.json[0]["description"]) for s in shown} == {("by bob", "by cy")}
            assert copies[0].json("deleted") == []
    assert len(results) == 1


def test_concurrent_edits_of_different_fields_survive(clones):
    ann, bob, cy = clones
    ann.at(10, "update", "bd-one", "--title", "t", "--append-notes", "of ann")
    bob.at(10, "update", "bd-one", "--design", "d", "-p", "0", "--append-notes", "of bob")
    cy.at(5, "update", "bd-one", "--set-labels", "x,y", "--title", "too old")
    cy.at(6, "close", "bd-one", "--reason", "done")
    settle(clones)
    for clone in clones:
        bead = clone.show("bd-one")
        assert (bead["title"], bead["design"], bead["priority"], bead["labels"]) == ("t", "d", 0, ["x", "y"])
        assert (bead["status"], bead["closed_reason"], bead["closed_by"]) == ("closed", "done", "cy")
        assert sorted(n["content"] for n in bead["notes"]) == ["of ann", "of bob"]


def test_the_last_write_of_a_field_wins_in_any_order(clones):
    """Even if the clocks are a day apart, and if two marks have the same time."""
    ann, bob, cy = clones
    ann.at(86400, "update", "bd-one", "--title", "ann", "--set-labels", "a")
    bob.at(-86400, "update", "bd-one", "--title", "bob", "--set-labels", "b")
    cy.at(86400, "update", "bd-one", "--title", "cy")
    settle([cy, bob, ann])
    bead = bob.show("bd-one")
    assert (bead["title"], bead["labels"]) == ("cy", ["a"])
    bob.at(-86400, "update", "bd-one", "--title", "bob knows, and is later")
    settle(clones)
    assert ann.show("bd-one")["title"] == "bob knows, and is later"


# deletions that are forgotten

DAYS = 86400


@pytest.fixture
def forgetful(clones):
    """Clones that keep deletions for a week."""
    for clone in clones:
        clone.env["BD_TOMBSTONE_TTL_MS"] = 7 * DAYS * 1000
    return clones


def sync_at(seconds, *clones):
    for clone in clones:
        assert clone.at(seconds, "sync")["durability"] == "remote"


def assert_same(clones):
    for clone in clones:
        assert clone.json("validate")["errors"] == 0
        before = state(clone)
        drop_cache(clone)
        assert state(clone) == before
    assert len({clone.head() for clone in clones}) == 1


@pytest.mark.parametrize("published", [True, False])
def test_an_old_deletion_is_dropped_and_the_bead_stays_deleted(forgetful, published):
    """Even if neither the bead nor its deletion was ever published."""
    ann, bob, cy = forgetful
    ann.at(DAYS, "delete", "bd-one", "--force")
    ann.at(DAYS, "create", "short", "--id", "bd-short")
    ann.at(DAYS, "delete", "bd-short", "--force")
    if published:
        sync_at(2 * DAYS, ann, bob)
        assert sorted(b["id"] for b in bob.json("deleted")) == ["bd-one", "bd-short"]
    for day in (9, 10, 11):
        sync_at(day * DAYS, ann, bob, cy, ann)
        for clone in forgetful:
            assert clone.json("deleted") == [] and sorted(clone.ids("list", "--all")) == ["bd-in", "bd-out"]
    assert_same(forgetful)


@pytest.mark.parametrize("deletion_known", [True, False])
def test_a_write_to_a_bead_whose_deletion_was_dropped_restores_it_completely(forgetful, deletion_known):
    """A change alone is not a bead: if it were published, no clone could read the store any more."""
    ann, bob, cy = forgetful
    ann.at(DAYS, "delete", "bd-one", "--force")
    if deletion_known:
        sync_at(2 * DAYS, ann, bob)
        bob.at(8 * DAYS, "undelete", "bd-one")
    bob.at(8 * DAYS, "update", "bd-one", "--design", "of bob")
    sync_at(9 * DAYS, ann, ann)  # to say it, and to forget it
    assert ann.json("deleted") == []
    sync_at(10 * DAYS, bob, cy, ann, bob)
    for clone in forgetful:
        bead = clone.show("bd-one")
        assert (bead["title"], bead["design"], bead["created_by"]) == ("bd-one", "of bob", "ann")
    assert_same(forgetful)


# edges

EDGE = ("bd-one", "bd-out", "blocks")


@pytest.fixture
def with_edge(clones):
    clones[0].at(10, "dep", "add", "bd-one", "bd-out")
    settle(clones)
    assert edges(clones[2]) == {EDGE}
    return clones


def test_a_removed_edge_stays_removed_although_an_old_clone_still_has_it(with_edge):
    ann, bob, cy = with_edge
    ann.at(20, "dep", "remove", "bd-one", "bd-out")
    settle([ann, bob])
    cy.at(9999, "update", "bd-one", "--title", "of one who slept")
    settle([cy, ann, bob])
    assert edges(cy) == set() and cy.show("bd-one")["dependency_count"] == 0
    assert "bd-one" in cy.ids("ready") and "bd-one" in bob.ids("ready")


@pytest.mark.parametrize("slept", [15, 25, 35])
@pytest.mark.parametrize("act", ["add", "remove"])
def test_an_edge_removed_and_added_again_is_joined_with_an_old_clone(with_edge, slept, act):
    """Removed at 20, added at 30; the old clone has a change of it that may be older than either."""
    ann, bob, cy = with_edge
    ann.at(20, "dep", "remove", "bd-one", "bd-out")
    ann.sync()
    bob.sync()
    assert edges(bob) == set()
    bob.at(30, "dep", "add", "bd-one", "bd-out")
    bob.sync()
    if act == "add":  # it is there already, as far as he knows
        cy.at(slept - 1, "dep", "remove", "bd-one", "bd-out")
    cy.at(slept, "dep", act, "bd-one", "bd-out")
    settle([cy, ann, bob])
    gone = act == "remove" and slept > 30
    assert edges(ann) == (set() if gone else {EDGE})
    edge, = lines(ann, "deps.jsonl")
    assert (edge["created_at"][0], edge["created_by"]) == (T0 + 10000, "ann")
    blocked = [b["id"] for b in cy.json("blocked")]
    assert blocked == ([] if gone else ["bd-one"])


def test_a_cycle_made_by_two_clones_is_reported_and_both_edges_are_kept(clones):
    ann, bob, cy = clones
    ann.at(10, "dep", "add", "bd-one", "bd-out")
    bob.at(10, "dep", "add", "bd-out", "bd-one")
    settle(clones)
    found = cy.json("validate")
    assert found["ok"] and "dependency_cycle" in {f["code"] for f in found["findings"]}
    assert not {"bd-one", "bd-out"} & set(cy.ids("ready"))
    drop_cache(cy)
    assert not {"bd-one", "bd-out"} & set(cy.ids("ready"))


# one id, two beads

NEW_OF_ANN = other_id("bd-x", mark([T0 + 200000, 0], "ann"))


def collide(ann, bob):
    """Ann's bead is the later one, so it has to move."""
    ann.at(200, "create", "of ann", "--id", "bd-x", "-l", "hers", "--deps", "blocks:bd-out")
    ann.at(201, "dep", "add", "bd-in", "bd-x", "--kind", "related")
    ann.at(202, "comment", "bd-x", "said ann")
    bob.at(100, "create", "of bob", "--id", "bd-x", "-l", "his", "--deps", "discovered-from:bd-out")
    bob.at(101, "dep", "add", "bd-in", "bd-x", "--kind", "related")


def assert_remapped(clones):
    for clone in clones:
        first, other = clone.show("bd-x"), clone.show(NEW_OF_ANN)
        assert (first["title"], first["labels"], first["created_by"]) == ("of bob", ["his"], "bob")
        assert (other["title"], other["labels"], other["created_by"]) == ("of ann", ["hers"], "ann")
        assert [n["content"] for n in other["notes"]] == ["said ann"] and first["notes"] == []
        assert edges(clone) == {("bd-x", "bd-out", "discovered_from"), ("bd-in", "bd-x", "related"),
                                (NEW_OF_ANN, "bd-out", "blocks"), ("bd-in", NEW_OF_ANN, "related")}
        grave, = lines(clone, "tombstones.jsonl")
        assert grave["id"] == "bd-x" and [r["to"] for r in grave["remap"]] == [NEW_OF_ANN]
        assert [b["id"] for b in clone.json("blocked")] == [NEW_OF_ANN]


@pytest.mark.parametrize("end, status", [("done", "closed"), ("stop", "open")])
def test_work_on_a_bead_goes_on_after_a_merge_moved_it(clones, end, status):
    ann, bob, _ = clones
    bob.at(100, "create", "of bob", "--id", "bd-x")
    ann.at(200, "create", "of ann", "--id", "bd-x", "--touches", "src/a.c")
    ann.at(202, "work", "bd-x", "--no-branch", program="abacus")
    bob.sync()
    ann.sync()
    shown = ann.at(210, "work", program="abacus")
    assert (shown["bead"], shown["title"], shown["reserved"]) == (NEW_OF_ANN, "of ann", ["src/a.c"])
    assert ann.at(211, "work", end, program="abacus")["bead"] == NEW_OF_ANN
    assert (ann.show(NEW_OF_ANN)["status"], ann.show("bd-x")["status"]) == (status, "open")
    assert ann.run("agent", "status", "--json", program="bb").ok().json["data"]["reservations"] == []


@pytest.mark.parametrize("first", ["ann", "bob"])
def test_one_id_created_on_two_machines(clones, first):
    """Whichever clone pushes first, the bead that was created first keeps the id."""
    ann, bob, cy = clones
    collide(ann, bob)
    order = [ann, bob] if first == "ann" else [bob, ann]
    assert order[0].sync()["remapped"] == []
    if first == "ann":
        cy.sync()
        assert cy.show("bd-x")["title"] == "of ann"
    moved = [{"from": "bd-x", "to": NEW_OF_ANN}]
    assert order[1].sync()["remapped"] == moved
    assert_remapped([order[1]])
    assert order[0].sync()["remapped"] == moved
    settle(clones)
    assert_remapped(clones)
    for clone in clones:
        drop_cache(clone)
    assert_remapped(clones)


def test_the_old_id_leads_to_the_new_id(clones):
    ann, bob, _ = clones
    collide(ann, bob)
    settle(clones)
    grave, = ann.json("deleted")
    assert (grave["id"], [r["to"] for r in grave["remap"]]) == ("bd-x", [NEW_OF_ANN])
    assert [r["to"] for r in ann.show("bd-x")["remap"]] == [NEW_OF_ANN]
    assert NEW_OF_ANN in ann.bd("show", "bd-x").ok().out
    assert "remap" not in ann.show(NEW_OF_ANN)


def test_a_write_under_the_old_id_reaches_the_moved_bead(clones):
    """Cy has ann's bead under its first id; then it has to move."""
    ann, bob, cy = clones
    collide(ann, bob)
    ann.sync()
    cy.sync()
    bob.sync()
    cy.at(300, "update", "bd-x", "--title", "of ann, by cy", "--append-notes", "said cy")
    cy.at(301, "dep", "add", "bd-x", "bd-one", "--kind", "related")
    cy.at(302, "dep", "remove", "bd-in", "bd-x")
    assert cy.sync()["remapped"] == [{"from": "bd-x", "to": NEW_OF_ANN}]
    settle(clones)
    for clone in clones:
        assert clone.show("bd-x")["title"] == "of bob"
        bead = clone.show(NEW_OF_ANN)
        assert bead["title"] == "of ann, by cy"
        assert [n["content"] for n in bead["notes"]] == ["said ann", "said cy"]
        assert edges(clone) == {("bd-x", "bd-out", "discovered_from"), ("bd-in", "bd-x", "related"),
                                (NEW_OF_ANN, "bd-out", "blocks"), (NEW_OF_ANN, "bd-one", "related")}


def test_a_deletion_under_the_old_id_reaches_the_moved_bead(clones):
    ann, bob, cy = clones
    collide(ann, bob)
    ann.sync()
    cy.sync()
    cy.at(300, "delete", "bd-x", "--force")
    bob.sync()
    settle([cy, ann, bob])
    for clone in clones:
        assert clone.show("bd-x")["title"] == "of bob"
        assert clone.fails("show", NEW_OF_ANN)["code"] == "deleted"
    ann.at(400, "undelete", NEW_OF_ANN)
    settle(clones)
    assert_remapped(clones)


def test_an_edge_of_a_deleted_bead_is_removed_from_the_right_bead(clones):
    """Cy's record has to name the lineage of the bead: in other clones the id belongs to another bead."""
    ann, bob, cy = clones
    collide(ann, bob)
    ann.sync()
    cy.sync()
    cy.at(300, "delete", "bd-x", "--force")
    cy.sync()
    cy.at(301, "dep", "remove", "bd-in", "bd-x")
    bob.sync()
    settle([cy, ann, bob])
    assert ("bd-in", "bd-x", "related") in edges(ann) and ("bd-in", NEW_OF_ANN, "related") not in edges(ann)
    assert {(e["from"], e["to"]) for e in lines(ann, "deps.jsonl") if "deleted_at" in e} == {("bd-in", NEW_OF_ANN)}


def test_three_beads_of_one_id(clones):
    """Two have to move, in whatever order they are joined."""
    ann, bob, cy = clones
    collide(ann, bob)
    cy.at(150, "create", "of cy", "--id", "bd-x", "--deps", "blocks:bd-in")
    settle([ann, cy, bob])
    new_of_cy = other_id("bd-x", mark([T0 + 150000, 0], "cy"))
    for clone in clones:
        assert [clone.show(i)["title"] for i in ("bd-x", new_of_cy, NEW_OF_ANN)] == ["of bob", "of cy", "of ann"]
        assert (new_of_cy, "bd-in", "blocks") in edges(clone)
        grave, = lines(clone, "tombstones.jsonl")
        assert sorted(r["to"] for r in grave["remap"]) == sorted([NEW_OF_ANN, new_of_cy])


# beginning

@pytest.mark.parametrize("first", [0, 1])
def test_two_begin_at_one_empty_remote(tmp_path, first):
    """In the same second: they agree on a prefix, whichever syncs first, and no bead is lost."""
    make_remote(tmp_path)
    clones = [make_clone(tmp_path, actor) for actor in ("ann", "bob")]
    ids = []
    for clone, prefix in zip(clones, ("left", "right")):
        clone.bd("init", "--prefix", prefix, env={"ABACUS_NOW": "2026-01-01T00:00:00Z"}).ok()
        ids.append(clone.create("x"))
    assert [i.split("-")[0] for i in ids] == ["left", "right"]
    settle(clones if first == 0 else clones[::-1])
    prefixes = {clone.create("y").split("-")[0] for clone in clones}
    assert prefixes == {"right"}
    settle(clones)
    assert {i for clone in clones for i in clone.ids("list")} >= set(ids)
    for clone in clones:
        drop_cache(clone)
        assert clone.create("z").split("-")[0] == "right"


def test_a_later_clone_uses_the_existing_prefix(tmp_path):
    make_remote(tmp_path)
    ann, zoe = make_clone(tmp_path, "ann"), make_clone(tmp_path, "zoe", "zzz")
    ann.bd("init", "--prefix", "bd").ok()
    bead = ann.create("x")
    ann.sync()
    zoe.bd("init").ok()
    assert zoe.ids("list") == [bead]
    assert zoe.create("y").startswith("bd-")
    settle([zoe, ann])
    assert ann.create("z").startswith("bd-")


# a crowd

CROWD, ROUNDS = 8, 13


def test_eight_clones_sync_in_a_loop(tmp_path):
    """None starves; published data stays; the history is linear, and every commit has changes."""
    remote = make_remote(tmp_path)
    clones = [make_clone(tmp_path, f"agent{i}") for i in range(CROWD)]
    clones[0].bd("init", "--prefix", "bd").ok()
    clones[0].bd("create", "shared", "--id", "bd-shared").ok()
    clones[0].sync()
    for clone in clones[1:]:
        clone.bd("init").ok()
        clone.sync()

    def loop(clone):
        commits, attempts = [], []
        for n in range(ROUNDS):
            clone.bd("create", f"{n}", "--id", f"bd-{clone.env['BD_ACTOR']}x{n}").ok()
            clone.bd("comment", "bd-shared", f"{clone.env['BD_ACTOR']} {n}").ok()
            reply = clone.sync("--timeout", "60s", timeout=90)
            commits.append(reply["commit"])
            attempts.append(reply["attempts"])
        return commits, attempts

    with concurrent.futures.ThreadPoolExecutor(CROWD) as pool:
        told = list(pool.map(loop, clones))
    history = git(remote, "rev-list", "--parents", REF).splitlines()
    assert all(len(line.split()) == 2 for line in history[:-1]) and len(history[-1].split()) == 1
    trees = git(remote, "log", "--format=%T", REF).splitlines()
    assert all(a != b for a, b in zip(trees, trees[1:]))
    published = {line.split()[0] for line in history}
    assert {commit for commits, _ in told for commit in commits} <= published
    assert max(n for _, attempts in told for n in attempts) <= 60
    settle(clones)
    want = {f"bd-agent{i}x{n}" for i in range(CROWD) for n in range(ROUNDS)} | {"bd-shared"}
    for clone in clones:
        assert set(clone.ids("list", "-n", "0")) == want
        notes = [n["content"] for n in clone.show("bd-shared")["notes"]]
        assert sorted(notes) == sorted(f"agent{i} {n}" for i in range(CROWD) for n in range(ROUNDS))


def test_concurrent_syncs_of_one_clone(clones):
    """Many processes in the same clone: each succeeds, and nothing is published twice."""
    ann, bob, _ = clones
    for n in range(4):
        ann.create(f"{n}")
    running = [ann.spawn("sync", "--json", stdout=subprocess.PIPE) for _ in range(6)]
    replies = [json.loads(p.communicate(timeout=60)[0]) for p in running]
    assert {r["durability"] for r in replies} == {"remote"} and len({r["commit"] for r in replies}) == 1
    assert sum(r["pushed"] for r in replies) == 4
    bob.sync()
    assert {"0", "1", "2", "3"} <= {b["title"] for b in bob.json("list")}


# what a commit says

def test_a_message_is_text_and_not_too_long(clones):
    """A thousand beads, with titles that must not be cut between bytes or characters."""
    ann = clones[0]
    hard = ["\U0001f469\u200d\U0001f680" * 60, "e" + "\u0301" * 200, "\u202e\u2066 \U0001f1e9\U0001f1ea" * 30,
            "\u0e01\u0e33" * 90, "\ufeff" * 100, "x" * 400]
    plan = "".join(f"## {hard[n % len(hard)]} {n}\n\ntext\n\n" for n in range(1000))
    (ann.path / "plan.md").write_text(plan)
    ann.bd("create", "-f", "plan.md").ok()
    ann.sync()
    for n in range(len(hard)):
        ann.bd("update", "bd-one", "--title", hard[n]).ok()
        ann.sync()
    raw = subprocess.run(["git", "log", "--format=%B%x00", REF], cwd=ann.path, check=True, capture_output=True,
                         env=environment(GIT_CONFIG_NOSYSTEM=1)).stdout
    messages = raw.decode().split("\0")
    assert len(messages) >= len(hard) + 2
    for message in messages:
        assert len(message.encode()) <= 16384 and message.count("\n") <= 30
        assert not any(ord(ch) < 32 and ch != "\n" for ch in message)
        assert "\ufffd" not in message
    assert "1000 created" in messages[len(hard)] and "more" in messages[len(hard)]


# what is the user's

def hooks(gitdir, trace):
    """Each of them would leave a trace."""
    (gitdir / "hooks").mkdir(exist_ok=True)
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push", "post-checkout",
                 "post-merge", "post-rewrite", "reference-transaction", "pre-auto-gc", "post-index-change"):
        hook = gitdir / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >>{trace}\n")
        hook.chmod(0o755)


OURS = ("abacus", "objects")


def everything(root):
    """All files of the user and their times, without the store, its refs, and objects."""
    found = {}
    for folder, folders, files in os.walk(root):
        rel = os.path.relpath(folder, root)
        if rel.endswith("refs/beads"):
            folders[:] = []
            continue
        if os.path.exists(os.path.join(folder, "HEAD")):
            folders[:] = [f for f in folders if f not in OURS]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.join(rel, name)] = (file.read(), os.stat(path).st_mtime_ns, os.stat(path).st_mode)
    return found


def a_user_works(path, trace):
    (path / "kept").write_text("kept")
    git(path, "add", "kept")
    git(path, "commit", "-qm", "first")
    git(path, "branch", "side")
    git(path, "tag", "v1")
    (path / "staged").write_text("staged")
    git(path, "add", "staged")
    (path / "kept").write_text("changed")
    (path / "untracked").write_text("")
    git(path, "status")
    hooks(path / ".git", trace)


def sync_both_ways(mine, other, **kw):
    mine.bd("create", "mine", **kw).ok()
    mine.sync(**kw)
    other.create("other")
    other.sync()
    assert mine.sync(**kw)["pulled"] == 1
    mine.sync("--no-push", **kw)
    assert {"mine", "other"} <= {b["title"] for b in mine.json("list", **kw)}


def test_a_repository_of_the_user_is_not_changed(clones, tmp_path):
    ann, bob, _ = clones
    trace = tmp_path / "trace"
    a_user_works(ann.path, trace)
    before = everything(ann.path)
    sync_both_ways(ann, bob)
    assert everything(ann.path) == before
    assert not trace.exists()
    assert git(ann.path, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes").split() == [
        "refs/heads/main", "refs/heads/side", "refs/tags/v1"]


def test_a_linked_worktree_is_not_changed(clones, tmp_path):
    """It shares the store, and nothing in either worktree changes."""
    ann, bob, _ = clones
    linked = ann.path.parent / "linked"
    a_user_works(ann.path, tmp_path / "other-trace")
    git(ann.path, "worktree", "add", "-q", str(linked), "side")
    (linked / "kept").write_text("changed here too")
    git(linked, "status")
    trace = tmp_path / "trace"
    hooks(ann.path / ".git", trace)
    before = everything(ann.path), everything(linked)
    sync_both_ways(ann, bob, cwd=linked)
    assert (everything(ann.path), everything(linked)) == before
    assert not trace.exists()
    assert ann.ids("list") == ann.ids("list", cwd=linked)


def test_a_bare_repository_is_not_changed(clones, tmp_path):
    ann, bob, _ = clones
    bare = ann.path.parent / "bare.git"
    git(ann.path.parent, "init", "-q", "--bare", "bare.git")
    git(bare, "remote", "add", "origin", "../remote.git")
    trace = tmp_path / "trace"
    hooks(bare, trace)
    mine = Clone(bare, "dora")
    before = everything(bare)
    mine.bd("init").ok()
    sync_both_ways(mine, bob)
    assert everything(bare) == before
    assert not trace.exists()
    assert git(bare, "rev-parse", REF) == git(bob.path, "rev-parse", REF)


def test_the_remote_keeps_its_other_refs(clones):
    ann, bob, _ = clones
    remote = ann.path.parent / "remote.git"
    before = everything(remote)
    sync_both_ways(ann, bob)
    assert everything(remote) == before
    assert git(remote, "fsck", "--strict") == ""


# the journal after many syncs

def journals(clone):
    return sorted(p.name for p in clone.home.glob("journal.*"))


def test_the_journal_is_cut_and_receipts_survive(clones):
    """A megabyte of changes, synced now and then: only old segments are removed."""
    ann, bob, _ = clones
    first = ann.json("create", "once", "--request-id", "req-1")
    ann.sync()
    for n in range(12):
        ann.bd("update", "bd-one", "--description", chr(97 + n) * 60000, "--design", chr(65 + n) * 60000).ok()
        if n % 4 == 3:
            ann.sync()
    middle = ann.json("comment", "bd-one", "noted", "--request-id", "req-2")
    ann.sync()
    bob.create("elsewhere")
    bob.sync()
    late = ann.json("create", "late", "--request-id", "req-3")
    ann.sync()
    assert "journal.1" not in journals(ann) and len(journals(ann)) == 1
    assert sum(p.stat().st_size for p in ann.home.glob("journal.*")) < 1 << 20

    def again():
        assert ann.json("create", "once", "--request-id", "req-1") == first
        assert ann.json("comment", "bd-one", "noted", "--request-id", "req-2") == middle
        assert ann.json("create", "late", "--request-id", "req-3") == late
        assert ann.fails("create", "twice", "--request-id", "req-1")["code"] == "request_mismatch"

    again()
    before = state(ann)
    for _ in range(2):
        drop_cache(ann)
        assert state(ann) == before
        again()
    assert state(ann) == before
    settle(clones)
    assert bob.show("bd-one")["description"] == "l" * 60000
    assert state(ann) == state(bob)


def test_unpublished_records_survive_the_cut(clones):
    """Records that are written during a pull are in no commit yet."""
    ann, bob, cy = clones
    for n in range(6):
        bob.bd("update", "bd-one", "--description", chr(97 + n) * 40000, "--design", chr(65 + n) * 40000).ok()
        ann.bd("update", "bd-out", "--description", chr(97 + n) * 40000, "--design", chr(65 + n) * 40000).ok()
    bob.sync()
    ann.create("mine", "--request-id", "req-1")
    ann.sync("--no-push")
    assert "journal.1" not in journals(ann)
    drop_cache(ann)
    assert "mine" in {b["title"] for b in ann.json("list")}
    assert ann.show("bd-out")["description"] == "f" * 40000
    cy.create("of cy")
    cy.sync()
    settle(clones)
    assert {"mine", "of cy"} <= {b["title"] for b in cy.json("list")}
    assert state(ann) == state(bob) == state(cy)


def test_the_cache_may_be_deleted_between_any_two_steps(clones):
    """In a history with collisions, deletions and edges; the replies are the same with and without it."""
    ann, bob, cy = clones
    collide(ann, bob)
    cy.at(50, "delete", "bd-out", "--force")
    for clone in (ann, bob, cy, ann, bob, cy):
        before = state(clone)
        drop_cache(clone)
        assert state(clone) == before
        clone.sync()
        before = state(clone)
        drop_cache(clone)
        assert state(clone) == before
    settle(clones)


# size

SYNCS = int(os.environ.get("ABACUS_SYNCS", "150"))


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_a_repository_does_not_grow_for_ever(clones, tmp_path):
    """After many syncs with one change each, it is at most three times as large as a fresh clone."""
    ann = clones[0]
    for i in range(50):
        ann.create(f"number {i}", "-d", f"description {i} " * 20)
    for i in range(SYNCS):
        ann.bd("update", "bd-one", "--title", f"title {i}").ok()
        ann.sync()
    packs = ann.path / ".git" / "objects" / "pack"
    deadline = time.monotonic() + 30  # the process that packs is not waited for by anybody
    while not list(packs.glob("*.pack")) and time.monotonic() < deadline:
        time.sleep(0.05)
    with open(ann.home / "pack.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    git(tmp_path, "clone", "-q", "--mirror", "--no-local", str(ann.path.parent / "remote.git"), "fresh")
    git(ann.path, "fsck", "--full")
    ours, fresh = size_of(ann.path / ".git" / "objects"), size_of(tmp_path / "fresh" / "objects")
    assert ours <= 3 * fresh
    assert size_of(ann.home) < 2_000_000


# --- claims that are lost in a merge ---

def register(clone, name):
    clone.run("agent", "register", "--name", name, "--role", "r", program="bb").ok()


def inbox(clone, name):
    return clone.run("agent", "inbox", "--agent", name, "--json", program="bb").ok().json["data"]


def beside(done):
    """The metadata beside a JSON reply: lines of JSON on standard error, without warnings."""
    return [json.loads(line) for line in done.ok().err.splitlines() if line.startswith("{")]


def told(clone, *words, actor, **kw):
    """The lost claims of the actor that come with this reply."""
    lost = [x["lost_claims"] for x in beside(clone.run(*words, "--json", env={"BD_ACTOR": actor, **kw.pop("env", {})}, **kw))
            if "lost_claims" in x]
    return [claim["id"] for some in lost for claim in some]


def test_the_loser_of_a_claim_is_notified(clones):
    """By the sync, by a message, and with its next reply; no other agent is notified."""
    ann, bob, cy = clones
    for clone, name in zip(clones, ("ann", "bob", "cyd")):
        register(clone, name)
    mine = ann.at(10, "claim", "bd-one")[0]["epoch"]
    bob.at(20, "claim", "bd-one")
    assert "lost_claims" not in ann.sync()
    assert "lost_claims" not in cy.sync()
    assert "lost_claims" not in bob.sync()
    assert "lost_claims" not in cy.sync()
    [lost] = ann.sync()["lost_claims"]
    assert (lost["id"], lost["holder"], lost["epoch"], lost["to"], lost["by"], lost["status"]) == (
        "bd-one", "ann", mine, "bob", "bob", "in_progress")
    assert lost["until"] == "2026-01-01T01:00:20.000Z" and "bob" in lost["message"]
    assert "lost_claims" not in ann.sync()
    assert told(ann, "list", actor="cy") == []
    assert told(ann, "list", actor="ann") == ["bd-one"]
    assert told(ann, "list", actor="ann") == []
    [message] = inbox(ann, "ann")
    assert message["bead_id"] == "bd-one" and "bob" in message["body"] and message["state"] == "unread"
    assert inbox(bob, "bob") == inbox(cy, "cyd") == []


def test_a_lost_claim_is_printed_with_the_sync_and_with_the_next_command(clones):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one")
    bob.at(20, "claim", "bd-one")
    bob.sync()
    assert "Claim lost: the claim of ann on 'bd-one' is lost: bob has claimed it" in ann.bd("sync").ok().out
    done = ann.bd("show", "bd-one").ok()
    assert "the claim of ann on 'bd-one' is lost" in done.err and "lost" not in done.out


def test_the_clone_whose_clock_is_behind_can_lose_by_its_own_sync(clones):
    ann, bob, _ = clones
    bob.at(10, "claim", "bd-one")
    ann.at(20, "claim", "bd-one")
    ann.sync()
    assert [x["holder"] for x in bob.sync("--no-push")["lost_claims"]] == ["bob"]
    assert told(bob, "ready", actor="bob") == ["bd-one"]
    assert "lost_claims" not in ann.sync()


@pytest.mark.parametrize("program, words", [("bb", ["log"]), ("vybe", ["task", "list"]), ("abacus", ["sessions"])])
def test_every_program_reports_a_lost_claim(clones, program, words):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one")
    bob.at(20, "claim", "bd-one")
    bob.sync()
    ann.sync()
    ann.run("init", program="bb", env={"BD_ACTOR": ""}).ok()  # nobody who would be told
    env = {"BB_AGENT_ID": "ann", "VYBE_AGENT": "ann"}
    done = ann.run(*words, *(["--json"] if program != "vybe" else []), program=program, env=env)
    assert [c["id"] for x in beside(done) for c in x.get("lost_claims", [])] == ["bd-one"]


def test_a_task_that_was_begun_is_a_claim_too(clones):
    ann, bob, _ = clones
    for clone, name, second in ((ann, "ann", 10), (bob, "bob", 20)):
        clone.run("task", "begin", "--id", "bd-one", "--agent", name, "--request-id", "r", program="vybe",
                  env={"ABACUS_NOW": T0 + 1000 * second}).ok()
    bob.sync()
    assert [x["holder"] for x in ann.sync()["lost_claims"]] == ["ann"]


@pytest.mark.parametrize("act, status", [(["close", "bd-one"], "closed"), (["delete", "bd-one", "--force"], "deleted"),
                                         (["update", "bd-one", "-s", "closed", "--force"], "closed")], ids=lambda a: a[0])
def test_a_bead_that_another_actor_closed_is_lost_too(clones, act, status):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one")
    bob.at(20, *act)
    bob.sync()
    [lost] = ann.sync()["lost_claims"]
    assert (lost["holder"], lost["by"], lost["to"], lost["status"]) == ("ann", "bob", None, status)


def test_released_and_expired_claims_are_not_lost(clones):
    ann, bob, cy = clones
    ann.at(10, "claim", "bd-one")
    ann.at(10, "claim", "bd-in", "--lease", "1m")
    ann.at(10, "claim", "bd-out")
    ann.sync(), cy.sync()
    ann.at(20, "unclaim", "bd-one")
    ann.at(20, "close", "bd-out")
    ann.sync(), bob.sync()
    bob.at(30, "claim", "bd-one")
    bob.at(300, "claim", "bd-in")
    bob.at(300, "reopen", "bd-out")
    bob.sync()
    for clone in (ann, cy, bob):
        assert "lost_claims" not in clone.sync()
    assert not list((ann.path / ".git/abacus").glob("lost/*"))


@pytest.mark.parametrize("act", [["claim", "bd-one"], ["close", "bd-one"], ["delete", "bd-one", "--force"]], ids=lambda a: a[0])
def test_a_stamp_beyond_the_end_of_a_lease_does_not_hide_the_loss(clones, act):
    """An attacker who pushes chooses the stamp; the lease uses the clock of the clone that made the claim."""
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one", "--lease", "10m")
    bob.at(3600, *act)
    bob.sync()
    assert [x["holder"] for x in ann.at(60, "sync")["lost_claims"]] == ["ann"]
    assert told(ann, "list", actor="ann") == ["bd-one"]


@pytest.mark.parametrize("by", ["bob", "ann"])
def test_a_forged_claim_with_the_epoch_or_the_name_of_the_holder_does_not_hide_the_loss(clones, by):
    """An attacker who pushes chooses epochs and names, too."""
    ann, bob, _ = clones
    register(ann, "ann")
    [mine] = ann.at(10, "claim", "bd-one")
    ann.sync()
    remote = ann.path.parent / "remote.git"
    files = published(remote)
    lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
    bead = next(line for line in lines if line["id"] == "bd-one")
    own, later = [bead["_at"], bead["_by"]], [mine["epoch"][0] + 1000, 0]
    bead.update({"assignee": "bob", "_at": later, "_by": by, "_v": {**bead["_v"], "status": own}})
    files["state.jsonl"] = "".join(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
                                   for line in lines).encode()
    git(remote, "update-ref", REF, commit(remote, summed(files), git(remote, "rev-parse", REF).strip()))
    [lost] = ann.at(60, "sync")["lost_claims"]
    assert (lost["id"], lost["holder"], lost["to"], lost["by"]) == ("bd-one", "ann", "bob", by)
    assert told(ann, "list", actor="ann") == ["bd-one"] and len(inbox(ann, "ann")) == 1


def test_a_claim_merged_with_a_reopening_is_shown_as_a_claim(clones):
    """The merge has the claim of one clone and the status of the other: the bead is open, and nobody else gets it."""
    ann, bob, _ = clones
    ann.bd("claim", "bd-one").ok()
    bob.bd("close", "bd-one").ok()
    bob.bd("reopen", "bd-one").ok()
    settle(clones)
    shown = ann.show("bd-one")
    assert (shown["status"], shown["assignee"]) == ("open", "ann")
    for clone in clones:
        status = clone.json("status", program="abacus")
        assert [b["id"] for b in status["in_progress"]] == ["bd-one"] and status["in_progress_total"] == 1
        assert [(a["agent_id"], [b["id"] for b in a["beads"]]) for a in status["agents"]] == [("ann", ["bd-one"])]
        assert "bd-one" not in [b["id"] for b in clone.json("ready", env={"BD_ACTOR": "cy"})]
    assert [c["id"] for c in ann.json("whoami", "--as", "ann", program="abacus")["claims"]] == ["bd-one"]
    assert [b["id"] for b in ann.json("show", "--current")] == ["bd-one"]
    resumed = ann.run("resume", "--agent", "ann", "--request-id", "r", program="vybe").ok().json["data"]
    assert (resumed["focus_task_id"], resumed["focus_rule"]) == ("bd-one", "mine_in_progress"), resumed
    counts = ann.run("status", program="vybe").ok().json["data"]["counts"]["tasks"]
    assert counts == {"total": 3, "pending": 2, "in_progress": 1, "completed": 0, "blocked": 0}
    ann.json("renew", "bd-one")
    ann.json("unclaim", "bd-one")
    assert ann.json("status", program="abacus")["in_progress_total"] == 0


@pytest.mark.parametrize("later, to, said", [(0, "mallory", "mallory has claimed it"), (5, "ann", "mallory changed its epoch")])
def test_a_claim_that_is_taken_with_its_own_stamp_or_gets_another_epoch_is_lost(clones, later, to, said):
    """Of two writes with one stamp, the one with the greater name wins."""
    ann = clones[0]
    [mine] = ann.at(10, "claim", "bd-one", "--lease", "1h")
    ann.at(20, "sync")
    remote = ann.path.parent / "remote.git"
    files = published(remote)
    lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
    bead = next(line for line in lines if line["id"] == "bd-one")
    stamp = [mine["epoch"][0] + later, mine["epoch"][1]]
    bead["_v"] = {**bead["_v"], "status": [bead["_at"], bead["_by"]]}
    bead.update({"_at": stamp, "_by": "mallory", "assignee": to, "assignee_at": stamp})
    files["state.jsonl"] = "".join(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
                                   for line in lines).encode()
    git(remote, "update-ref", REF, commit(remote, summed(files), git(remote, "rev-parse", REF).strip()))
    [lost] = ann.at(60, "sync")["lost_claims"]
    assert (lost["id"], lost["holder"], lost["to"], lost["by"]) == ("bd-one", "ann", to, "mallory") and said in lost["message"]


@pytest.mark.parametrize("end, to, said", [
    (50, None, "bob ended its lease"), (None, None, "bob ended its lease"),
    (90, "ann", "bob shortened its lease, which ends at 2026-01-01T00:01:30.000Z")])
def test_a_lease_that_another_actor_ended_or_shortened_is_lost(clones, end, to, said):
    """The agent believes that the bead is its own until the time that it was told."""
    ann, bob, _ = clones
    [mine] = ann.at(10, "claim", "bd-one")
    ann.at(10, "claim", "bd-in")
    ann.at(20, "sync")
    remote = ann.path.parent / "remote.git"
    files = published(remote)
    lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
    bead = next(line for line in lines if line["id"] == "bd-one")
    bead["_v"] = {**bead["_v"], "status": [bead["_at"], bead["_by"]]}
    bead.update({"_at": [mine["epoch"][0] + 1000, 0], "_by": "bob"})
    if end:
        bead["assignee_expires"] = T0 + 1000 * end
    else:
        del bead["assignee_expires"]
        bead["status"] = "open"
        bead["_v"]["status"] = [bead["_at"], "bob"]
    files["state.jsonl"] = "".join(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
                                   for line in lines).encode()
    git(remote, "update-ref", REF, commit(remote, summed(files), git(remote, "rev-parse", REF).strip()))
    [lost] = ann.at(60, "sync")["lost_claims"]
    assert (lost["id"], lost["holder"], lost["by"], lost["to"]) == ("bd-one", "ann", "bob", to)
    assert lost["message"] == f"the claim of ann on 'bd-one' is lost: {said}"
    assert "lost_claims" not in ann.at(60, "sync") and told(ann, "list", actor="ann") == ["bd-one"]


@pytest.mark.parametrize("program, words", [
    ("bd", ["close", "bd-one"]), ("bd", ["update", "bd-one", "-s", "closed"]),
    ("vybe", ["task", "complete", "--id", "bd-one", "--outcome", "done", "--summary", "s", "--request-id", "r"])])
def test_a_lost_bead_cannot_be_closed_by_the_loser(clones, program, words):
    ann, bob, _ = clones
    ann.bd("claim", "bd-one").ok()
    bob.bd("claim", "bd-one").ok()
    bob.sync(), ann.sync()
    json_flag = ["--json"] if program == "bd" else ["--agent", "ann"]
    done = ann.run(*words, *json_flag, program=program)
    assert done.code == 1 and "already_claimed" in done.out.lower() and "bob" in done.out
    assert ann.show("bd-one")["status"] == "in_progress"


def test_a_renewed_claim_is_lost_up_to_its_new_end(clones):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one", "--lease", "1m")
    ann.at(60, "renew", "bd-one", "--lease", "10m")
    bob.at(300, "claim", "bd-one")  # in bob's clone nobody has it
    bob.sync()
    assert [x["holder"] for x in ann.sync()["lost_claims"]] == ["ann"]


def test_the_same_agent_in_two_clones_loses_nothing(clones):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one", "--actor", "both")
    bob.at(20, "claim", "bd-one", "--actor", "both")
    bob.sync()
    assert "lost_claims" not in ann.sync()


def test_a_claim_that_was_released_before_any_sync_is_not_lost(clones):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one")
    ann.at(12, "unclaim", "bd-one")
    ann.at(10, "claim", "bd-in")
    ann.at(12, "update", "bd-in", "-a", "cy")
    bob.at(20, "claim", "bd-one")
    bob.at(20, "claim", "bd-in")
    bob.sync()
    assert [(x["id"], x["holder"]) for x in ann.sync()["lost_claims"]] == [("bd-in", "cy")]


def test_changes_to_a_claim_in_its_own_clone_are_not_a_loss(clones):
    """An actor that overrides or takes over a claim there knows about it; a merge happens unnoticed."""
    ann, _, _ = clones
    for bead in ("bd-one", "bd-in", "bd-out"):
        ann.at(10, "claim", bead)
    ann.at(20, "close", "bd-one", "--force", "--actor", "zoe")
    ann.at(20, "update", "bd-in", "-a", "dan", "--actor", "zoe")
    ann.at(20, "close", "bd-out")
    assert "lost_claims" not in ann.sync()


def test_a_model_gets_lost_claims_beside_the_result(clones):
    ann, bob, _ = clones
    ann.at(10, "claim", "bd-one", "--actor", "m1")
    bob.at(20, "claim", "bd-one")
    bob.sync(), ann.sync()
    ready = ("tools/call", {"name": "bd_ready", "arguments": {"agent": "m1"}})
    first, second = ask(ann, ready, ready)
    assert [x["id"] for x in first["_meta"]["lost_claims"]] == ["bd-one"]
    assert "lost_claims" not in second.get("_meta", {})


def test_autosync_reports_lost_claims_too(clones):
    ann, bob, _ = clones
    register(ann, "ann")
    ann.at(10, "claim", "bd-one")
    bob.at(20, "claim", "bd-one")
    bob.sync()
    ann.bd("create", "something to publish", env={"ABACUS_AUTOSYNC": "1"}).ok()
    wait_until(lambda: inbox(ann, "ann"), "a message about the lost claim", 30)
