"""Stamps in the future, by mistake or on purpose: they win only for the values that have them."""
import json

import pytest

from bead_harness import drop_cache
from beads import canonical
from conftest import git
from generator import other_id
from remotes import REF, at, bare, clone, commit, copy_world, published, same_everywhere, summed, sync, titles

END = [253402300799999, 9007199254740991]
AFTER_THE_END = [253402300800000, 0]  # only deletions can have it
FUTURE = {"ABACUS_NOW": "9999-06-01T00:00:00Z"}
NOW = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}


class World:
    def __init__(self, path):
        self.remote = bare(path / "beads.git")
        self.anna, self.ben = (clone(path / name, self.remote) for name in ("anna", "ben"))
        for repo in (self.anna, self.ben):
            repo.env = {**repo.env, **NOW}
        self.plain = self.anna.create("plain")
        self.victim = self.anna.create("victim")
        self.anna.bd("dep", "add", self.victim, self.plain).ok()
        sync(self.anna)
        sync(self.ben)

    def push(self, name, change):
        """A commit on top in which every line of a file was changed."""
        files = published(self.remote)
        lines = [json.loads(line) for line in files[name].splitlines()]
        lines = change(lines) or lines
        files[name] = "".join(canonical(line) + "\n" for line in lines).encode()
        git(self.remote, "update-ref", REF, commit(self.remote, summed(files), at(self.remote)))

    def poison(self, stamp=END):
        """Writes the bead `victim` with that stamp."""
        def change(lines):
            for line in lines:
                if line["id"] == self.victim:
                    line.update(_at=stamp, _by="mallory")
                    line.pop("_v", None)
        self.push("state.jsonl", change)

    def converges(self):
        for _ in range(2):
            sync(self.anna)
            sync(self.ben)
        same_everywhere(self.remote, self.anna, self.ben)


@pytest.fixture
def world(tmp_path):
    return copy_world(World, tmp_path)


def of_today(repo, id):
    bead = repo.show(id)
    return bead["created_at"].startswith("2026-01-01") and bead["updated_at"].startswith("2026-01-01")


def test_a_stamp_at_the_end_of_time_refuses_no_write_and_moves_no_clock(world):
    world.poison()
    for repo in (world.anna, world.ben):
        sync(repo)
        for _ in range(2):
            assert of_today(repo, repo.create("new"))
            repo.bd("update", world.plain, "--priority", "0").ok()
            repo.bd("comment", world.plain, "still here").ok()
            repo.bd("ready", "--claim", "--json").ok()
            drop_cache(repo)
        assert of_today(repo, world.plain)
    world.converges()


def test_a_bead_with_the_last_possible_stamp_is_reported_and_can_be_deleted(world):
    world.poison()
    sync(world.anna)
    error = world.anna.fails("update", world.victim, "--title", "mine")
    assert world.victim in error["message"] and "highest possible stamp" in error["message"], error
    assert "bd repair --stamps --apply" in error["hint"], error
    world.anna.bd("delete", world.victim, "--yes").ok()
    assert titles(world.anna) == ["plain"]
    drop_cache(world.anna)
    assert titles(world.anna) == ["plain"]
    world.converges()
    assert titles(world.ben) == ["plain"]


def test_repair_copies_a_bead_with_the_last_possible_stamp(world):
    """The copy has everything of the bead, with present stamps; the old bead is deleted everywhere."""
    world.poison()
    sync(world.anna)
    world.anna.bd("update", world.plain, "--description", "kept").ok()
    told = world.anna.json("repair", "--stamps")
    assert [(one["id"], one["copy"]) for one in told["stamps"]] == [(world.victim, None)] and not told["applied"]
    assert world.victim in world.anna.bd("repair", "--stamps").ok().out
    doctor = {check["code"]: check for check in world.anna.json("doctor")["checks"]}
    assert doctor["stamps"]["fix"] == "bd repair --stamps" and world.victim in doctor["stamps"]["message"]
    told = world.anna.json("repair", "--stamps", "--apply")
    copy = told["stamps"][0]["copy"]
    assert told["applied"] and of_today(world.anna, copy)
    bead = world.anna.show(copy)
    assert bead["title"] == "victim" and [edge["id"] for edge in bead["dependencies"]] == [world.plain]
    world.anna.bd("update", copy, "--title", "mine").ok()
    assert world.anna.json("repair", "--stamps")["stamps"] == []
    world.converges()
    assert titles(world.ben) == ["mine", "plain"]
    found = world.ben.json("validate")
    assert found["ok"] and {f["code"] for f in found["findings"]} <= {"clock_skew", "orphaned_dependency"}, found


def test_a_clock_that_was_wrong_once_is_not_followed(world):
    """Anna's clock was in 9999 for a while. Afterwards all clones write with present stamps, and every edit counts."""
    future = world.anna.create("from the future", env=FUTURE)
    world.anna.bd("update", world.victim, "--priority", "1", env=FUTURE).ok()
    assert of_today(world.anna, world.anna.create("after"))
    sync(world.anna)
    sync(world.ben)
    assert of_today(world.ben, world.ben.create("elsewhere"))
    world.ben.bd("update", world.victim, "--priority", "3").ok()
    assert world.ben.show(world.victim)["priority"] == 3
    world.ben.bd("close", future).ok()
    drop_cache(world.ben)
    assert world.ben.show(future)["status"] == "closed"
    world.ben.bd("reopen", future).ok()
    world.ben.bd("delete", future, "--yes").ok()
    world.ben.bd("undelete", future).ok()
    world.ben.bd("dep", "remove", world.victim, world.plain).ok()
    world.converges()
    bead = world.anna.show(world.victim)
    assert (bead["priority"], bead["dependencies"], world.anna.show(future)["status"]) == (3, [], "open")
    assert of_today(world.anna, world.anna.create("last"))


def test_stamps_within_a_day_are_followed(world):
    """So that a later write on a clock that is behind gets a later stamp."""
    world.anna.create("ahead", env={"ABACUS_NOW": "2026-01-01T20:00:00Z"})
    sync(world.anna)
    sync(world.ben)
    assert world.ben.show(world.ben.create("after"))["created_at"] == "2026-01-01T20:00:00.000Z"


def bury(world, stamp, *ids, content=True):
    """A commit in which these beads are deleted with that stamp; without `content`, any beads with these ids."""
    files = published(world.remote)
    beads = [json.loads(line) for line in files["state.jsonl"].splitlines()]
    files["state.jsonl"] = "".join(canonical(b) + "\n" for b in beads if b["id"] not in ids).encode()
    known = {b["id"]: {"bead": b} for b in beads if content}
    graves = [{**known.get(id, {}), "deleted_at": stamp, "deleted_by": "mallory", "id": id} for id in sorted(ids)]
    files["tombstones.jsonl"] = "".join(canonical(g) + "\n" for g in graves).encode()
    git(world.remote, "update-ref", REF, commit(world.remote, summed(files), at(world.remote)))


def undeleted(repo, *ids):
    """The new ids of restored beads; a warning names each of them."""
    done = repo.bd("undelete", *ids, "--json").ok()
    copies = [bead["id"] for bead in done.json]
    for id, copy in zip(ids, copies):
        assert f"'{id}' was deleted with the latest possible time stamp" in done.err and f"'{copy}'" in done.err, done.err
    return copies


@pytest.mark.parametrize("stamp", [END, AFTER_THE_END])
@pytest.mark.parametrize("content", [True, False])
def test_a_deletion_at_the_end_of_time_is_undone_by_undelete(world, stamp, content):
    """The bead is restored as a complete copy, which is the same one if two clones do it at once."""
    world.anna.bd("comment", world.victim, "a note").ok()
    sync(world.anna)
    sync(world.ben)
    bury(world, stamp, world.plain, world.victim, content=content)
    sync(world.anna)
    sync(world.ben)
    assert titles(world.anna) == titles(world.ben) == []
    assert f"bd undelete {world.victim}" in world.anna.fails("show", world.victim)["hint"]
    plain, victim = undeleted(world.anna, world.plain, world.victim)
    assert undeleted(world.ben, world.victim) == [victim]
    assert undeleted(world.ben, world.plain) == [plain]
    world.anna.bd("update", victim, "--title", "edited").ok()
    world.converges()
    for repo in (world.anna, world.ben):
        drop_cache(repo)
        assert titles(repo) == ["edited", "plain"]
        bead = repo.show(victim)
        assert [edge["id"] for edge in bead["dependencies"]] == [plain]
        assert [note["content"] for note in bead["notes"]] == ["a note"]
        assert of_today(repo, victim) and repo.json("repair", "--stamps")["stamps"] == []
    assert world.ben.json("validate")["ok"]


def test_beads_that_others_delete_before_they_are_published_come_back(world):
    """So is one that had to give up its id to another bead that was deleted in advance."""
    mine = world.anna.create("not published", "--id", "bd-mine")
    bury(world, AFTER_THE_END, mine, content=False)
    sync(world.anna)
    assert titles(world.anna) == ["plain", "victim"]
    [copy] = undeleted(world.anna, mine)
    assert world.anna.show(copy)["title"] == "not published"
    world.converges()

    files = published(world.remote)
    beads = [json.loads(line) for line in files["state.jsonl"].splitlines()]
    for bead in beads:
        if bead["id"] == world.victim:
            other = other_id(world.victim, bead["created_at"], bead["created_by"])
            bead.update(created_at=[0, 0], created_by="mallory", title="impostor")
    graves = [json.loads(line) for line in files["tombstones.jsonl"].splitlines()]
    graves = [*graves, {"deleted_at": AFTER_THE_END, "deleted_by": "mallory", "id": other}]
    files["state.jsonl"] = "".join(canonical(bead) + "\n" for bead in beads).encode()
    files["tombstones.jsonl"] = "".join(canonical(g) + "\n" for g in sorted(graves, key=lambda g: g["id"])).encode()
    git(world.remote, "update-ref", REF, commit(world.remote, summed(files), at(world.remote)))
    sync(world.anna)
    assert titles(world.anna) == ["impostor", "not published", "plain"]
    [copy] = undeleted(world.anna, other)
    world.converges()
    assert world.ben.show(copy)["title"] == "victim"


def test_ids_of_copies_that_are_already_taken_are_skipped(world):
    """Anybody who knows a bead can compute the ids of its copies, and use or delete those ids first."""
    bury(world, AFTER_THE_END, world.victim)
    sync(world.anna)
    [first] = undeleted(world.anna, world.victim)
    bury(world, AFTER_THE_END, world.victim, first)
    sync(world.anna)
    assert titles(world.anna) == ["plain"]
    sync(world.ben)
    [second] = undeleted(world.ben, world.victim)
    assert second != first and world.ben.show(second)["title"] == "victim"
    world.converges()
    assert titles(world.anna) == titles(world.ben) == ["plain", "victim"]


def test_deleting_a_bead_at_the_end_of_time_can_be_undone(world):
    world.poison()
    sync(world.anna)
    world.anna.bd("delete", world.victim, "--yes").ok()
    [copy] = undeleted(world.anna, world.victim)
    world.anna.bd("update", copy, "--title", "mine").ok()
    world.converges()
    assert titles(world.ben) == ["mine", "plain"]


def test_repairs_in_two_clones_make_one_copy_and_keep_its_changes(world):
    world.poison()
    sync(world.anna)
    sync(world.ben)
    later = {"ABACUS_NOW": "2026-01-01T01:00:00Z"}
    [copy] = [one["copy"] for one in world.anna.json("repair", "--stamps", "--apply")["stamps"]]
    world.anna.bd("update", copy, "--title", "mine").ok()
    world.anna.bd("dep", "remove", copy, world.plain).ok()
    assert [one["copy"] for one in world.ben.json("repair", "--stamps", "--apply", env=later)["stamps"]] == [copy]
    world.converges()
    assert titles(world.anna) == titles(world.ben) == ["mine", "plain"]
    assert world.ben.show(copy)["dependencies"] == []


def test_dependencies_at_the_end_of_time_can_be_changed_after_a_repair(world):
    """One that cannot be removed, and one that cannot be added again."""
    def change(lines):
        [edge] = lines
        gone = {**edge, "from": world.plain, "to": world.victim, "kind": "related", "deleted_at": END, "deleted_by": "mallory"}
        return sorted(({**line, "_at": END, "_by": "mallory"} for line in (edge, gone)), key=lambda e: e["from"])
    world.push("deps.jsonl", change)
    sync(world.anna)
    sync(world.ben)
    for words in (("remove", world.victim, world.plain), ("add", world.plain, world.victim, "--type", "related")):
        error = world.anna.fails("dep", *words)
        assert "highest possible stamp" in error["message"] and "bd repair --stamps --apply" in error["hint"], error
    doctor = {check["code"]: check for check in world.anna.json("doctor")["checks"]}
    assert doctor["stamps"]["fix"] == "bd repair --stamps"
    told = {repo: {one["id"]: one["copy"] for one in repo.json("repair", "--stamps", "--apply")["stamps"]}
            for repo in (world.anna, world.ben)}
    copies = told[world.anna]
    assert set(copies) == {world.plain, world.victim} and copies == told[world.ben]
    plain, victim = copies[world.plain], copies[world.victim]
    assert [edge["id"] for edge in world.anna.show(victim)["dependencies"]] == [plain]
    world.anna.bd("dep", "remove", victim, plain).ok()
    world.anna.bd("dep", "add", plain, victim, "--type", "related").ok()
    world.converges()
    for repo in (world.anna, world.ben):
        assert [edge["id"] for edge in repo.show(plain)["dependencies"]] == [victim]
        assert repo.show(victim)["dependencies"] == [] and repo.json("repair", "--stamps")["stamps"] == []
        error = repo.fails("dep", "remove", world.victim, world.plain)
        assert "repair" not in error["hint"] and world.victim in error["message"], error


def poison_prefix(world, stamp=END):
    files = published(world.remote)
    meta = json.loads(files["meta.json"])
    meta["prefix"] = {"mark": [stamp, "mallory"], "value": "evil"}
    files["meta.json"] = (canonical(meta) + "\n").encode()
    git(world.remote, "update-ref", REF, commit(world.remote, summed(files), at(world.remote)))


def prefix_there(world):
    return json.loads(published(world.remote)["meta.json"])["prefix"]["value"]


def prefix_of(id):
    return id.rpartition("-")[0]


@pytest.mark.parametrize("stamp", [END, [1767225600000 + 3 * 86400000, 0]])
def test_a_prefix_from_the_future_does_not_replace_the_chosen_one(world, stamp):
    """It neither replaces the prefix nor moves the clock, and the sync removes it from the remote."""
    before = prefix_of(world.plain)
    poison_prefix(world, stamp)
    sync(world.anna)
    new = world.anna.create("new")
    assert of_today(world.anna, new) and prefix_of(new) == before
    world.converges()
    assert prefix_there(world) == before


def test_a_prefix_from_the_future_can_be_replaced_in_every_clone(world, tmp_path):
    """Also in a new clone that begins with that commit, and has no other prefix."""
    poison_prefix(world)
    carl = clone(tmp_path / "carl", world.remote)
    carl.env = {**carl.env, **NOW}
    drop_cache(carl)
    assert prefix_of(carl.create("carl's")) == "evil"
    carl.bd("init", "--prefix", "good").ok()
    assert prefix_of(carl.create("carl's")) == "good"
    drop_cache(carl)
    assert prefix_of(carl.create("carl's")) == "good"
    sync(carl)
    world.converges()
    assert {prefix_of(repo.create("new")) for repo in (world.anna, world.ben)} == {"good"}
    assert prefix_there(world) == "good"


def test_a_prefix_that_a_wrong_clock_chose_can_be_replaced(world):
    world.anna.bd("init", "--prefix", "far", env=FUTURE).ok()
    world.anna.bd("init", "--prefix", "near").ok()
    assert prefix_of(world.anna.create("new")) == "near"
    drop_cache(world.anna)
    assert prefix_of(world.anna.create("new")) == "near"
    world.converges()
    assert prefix_of(world.ben.create("new")) == "near"


def test_repair_needs_no_name_and_the_copy_of_a_claimed_bead_is_open(world):
    """The Git user is the actor, as for every other command."""
    world.poison([1767225600000 + 3 * 86400000, 0])
    sync(world.anna)
    world.anna.bd("claim", world.victim).ok()
    world.anna.env.pop("BD_ACTOR")
    git(world.anna.path, "config", "user.name", "Anna")
    copy = world.anna.json("repair", "--stamps", "--apply")["stamps"][0]["copy"]
    bead = world.anna.show(copy)
    assert (bead["status"], bead["assignee"], bead["updated_by"]) == ("open", None, "Anna")


@pytest.mark.parametrize("now", ["0", "1970-01-01T00:00:00Z"])
def test_what_is_written_at_the_beginning_of_1970_can_be_read(project, now):
    """A clock that is wrong often begins there, and 0 means "no time" in the stores."""
    early = {"ABACUS_NOW": now}
    project.bb("agent", "register", "--name", "amber-otter", "--role", "ui", env=early).ok()
    assert [a["agent_id"] for a in project.bb("agent", "list", "--json", env=early).ok().json["data"]] == ["amber-otter"]
