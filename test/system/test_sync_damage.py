"""bd sync with a remote or a clone that was rewound, replaced, deleted or damaged."""
import json
import os
import shutil
import subprocess
import time
import zlib

import pytest

from bead_harness import drop_cache
from beads import canonical
from conftest import Repo, environment, git
from hints import command_of, run_command
from remotes import (FILES, NO_GIT, REF, at, backups, bare, clone, commit, history, is_sync_error, point, published,
                     same_everywhere, summed, sync, titles)

TRACKING = "refs/beads/remote/origin"


class World:
    """A remote, and two clones that have all its data."""

    def __init__(self, path):
        self.path, self.remote = path, path / "beads.git"
        self.anna, self.ben = Repo(path / "anna"), Repo(path / "ben")
        for repo in (self.anna, self.ben):
            repo.env = {"BD_ACTOR": repo.path.name, **NO_GIT}
        self.tip = at(self.remote)

    def move(self, commit):
        git(self.remote, "update-ref", REF, commit)

    def healed(self, *more):
        """After two rounds all clones are equal, and nothing is missing."""
        for _ in range(2):
            sync(self.anna)
            sync(self.ben)
        same_everywhere(self.remote, self.anna, self.ben)
        assert titles(self.anna) == sorted(["a1", "a2", "a3", "b1", *more])
        assert len(self.anna.json("deleted")) == 1
        assert len(published(self.remote)["deps.jsonl"].splitlines()) == 1


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Made once, then copied; relative remotes are copied too."""
    path = tmp_path_factory.mktemp("world") / "w"
    bare(path / "beads.git")
    anna, ben = (clone(path / name, "../beads.git") for name in ("anna", "ben"))
    first = anna.create("a1")
    sync(anna)
    ben.create("b1")
    sync(ben)
    second = anna.create("a2")
    anna.create("a3")
    anna.bd("dep", "add", second, first).ok()
    anna.bd("delete", anna.create("gone"), "--yes").ok()
    sync(anna)
    sync(ben)
    assert len(history(path / "beads.git")) == 3
    return path


@pytest.fixture
def world(tmp_path, made):
    shutil.copytree(made, tmp_path / "w")
    return World(tmp_path / "w")


# --- commits by hand ---

def lines(change, name="state.jsonl"):
    """The files with some lines of one of them changed."""
    return lambda files: summed({**files, name: b"".join(change(files[name].splitlines(keepends=True)))})


def without(name):
    return lambda files: {key: files[key] for key in FILES if key != name}


def meta(old, new, count=-1):
    return lambda files: {**files, "meta.json": files["meta.json"].replace(old, new, count)}


def second(change):
    """Replaces the second line of state.jsonl."""
    return lines(lambda n: [n[0], change(n[1]), *n[2:]])


DAMAGE = {
    "no JSON": (second(lambda line: b"nonsense\n"), "state.jsonl", 2),
    "cut off": (second(lambda line: line[:-20] + b"\n"), "state.jsonl", 2),
    "no UTF-8": (second(lambda line: line.replace(b'"title":"', b'"title":"\xff')), "state.jsonl", 2),
    "not canonical": (second(lambda line: line.replace(b'":', b'": ', 1)), "state.jsonl", 2),
    "impossible value": (second(lambda line: line.replace(b'"priority":2', b'"priority":77')), "state.jsonl", 2),
    "empty line": (second(lambda line: b"\n" + line), "state.jsonl", 2),
    "same line twice": (second(lambda line: line + line), "state.jsonl", 3),
    "same id twice": (second(lambda line: line + line.replace(b'"priority":2', b'"priority":1')), "state.jsonl", 3),
    "wrong order": (lines(lambda n: [n[1], n[0], *n[2:]]), "state.jsonl", 2),
    "CRLF": (lines(lambda n: [line.replace(b"\n", b"\r\n") for line in n]), "state.jsonl", 1),
    "one CRLF": (lines(lambda n: [*n[:-1], n[-1].replace(b"\n", b"\r\n")]), "state.jsonl", 4),
    "no final newline": (lines(lambda n: [*n[:-1], n[-1].rstrip()]), "state.jsonl", 4),
    "edge": (lines(lambda n: [b'{"from":1}\n', *n], "deps.jsonl"), "deps.jsonl", 1),
    "edge CRLF": (lines(lambda n: [n[0].replace(b"\n", b"\r\n")], "deps.jsonl"), "deps.jsonl", 1),
    "tombstone": (lines(lambda n: [*n, b"{}\n"], "tombstones.jsonl"), "tombstones.jsonl", 2),
    "checksum": (lambda files: {**files, "state.jsonl": files["state.jsonl"].split(b"\n", 1)[1]}, "meta.json", 1),
    "no state.jsonl": (without("state.jsonl"), "state.jsonl", 0),
    "no deps.jsonl": (without("deps.jsonl"), "deps.jsonl", 0),
    "no tombstones.jsonl": (without("tombstones.jsonl"), "tombstones.jsonl", 0),
    "no meta.json": (without("meta.json"), "meta.json", 0),
    "meta.json": (lambda files: {**files, "meta.json": b"{\n"}, "meta.json", 1),
    "meta.json nested too deep": (meta(b"{", b'{"aaa":' + b"[" * 70 + b"]" * 70 + b",", 1), "meta.json", 1),
    "version": (meta(b'"format_version":1', b'"format_version":99'), "meta.json", 1),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_commit(world, how):
    """It stops the sync with file and line; local commands work; after a repair everything works."""
    damage, file, line = DAMAGE[how]
    anna, good = world.anna, published(world.remote)
    anna.create("before")
    bad = commit(world.remote, damage(good), world.tip)
    world.move(bad)
    here, journal = at(anna.path), anna.json("sync", "--status")["pending"]
    error = is_sync_error(anna.run("sync", "--json"), "corrupt")
    assert error["details"] == {"file": file, "line": line, "commit": bad}
    assert file in error["message"] and bad[:10] in error["message"] and not error["retryable"]
    assert how != "checksum" or "state.jsonl" in error["message"]
    assert (at(anna.path), at(anna.path, TRACKING), at(world.remote)) == (here, world.tip, bad)
    assert anna.json("sync", "--status")["pending"] == journal

    bead = anna.create("meanwhile")
    assert bead in anna.ids("list") and bead in anna.ids("ready")
    anna.bd("close", bead).ok()
    drop_cache(anna)
    assert titles(anna) == ["a1", "a2", "a3", "b1", "before", "meanwhile"]

    is_sync_error(anna.run("sync", "--json"), "corrupt")

    world.move(commit(world.remote, good, bad))  # mended on top
    assert sync(anna)["durability"] == "remote"
    assert sync(world.ben)["pulled"] == 2
    assert titles(world.ben) == ["a1", "a2", "a3", "b1", "before", "meanwhile"]
    assert published(world.ben.path) == published(world.remote)


def test_damaged_commit_is_the_first_that_is_seen(tmp_path, world):
    """A new clone has none of its lines, and finds the same damage."""
    good, late = published(world.remote), clone(tmp_path / "late", None)
    point(late, world.remote)
    late.create("late")
    for how, (damage, file, line) in DAMAGE.items():
        bad = commit(world.remote, damage(good), world.tip)
        world.move(bad)
        error = is_sync_error(late.run("sync", "--json"), "corrupt")
        assert error["details"] == {"file": file, "line": line, "commit": bad}, how
        assert (at(late.path), at(late.path, TRACKING)) == (None, None)
    assert titles(late) == ["late"]
    world.move(commit(world.remote, good, bad))
    assert "a1" not in titles(late) and sync(late)["pulled"]
    world.healed("late")


def test_a_damaged_commit_that_was_removed_again(world):
    """The administrator removes it: no clone publishes it again, and it is not a loss."""
    world.move(commit(world.remote, DAMAGE["no JSON"][0](published(world.remote)), world.tip))
    bad = at(world.remote)
    is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    world.move(world.tip)
    world.anna.create("next")
    reply = sync(world.anna)
    assert reply["warning"] is None
    assert bad not in history(world.remote) and bad not in backups(world.anna.path)
    world.healed("next")


def test_a_damaged_unrelated_history(world):
    """The history was replaced by a damaged one: nothing is joined to it; the old data is kept and published again."""
    good = published(world.remote)
    for how, (damage, file, line) in DAMAGE.items():
        bad = commit(world.remote, damage(good))
        world.move(bad)
        error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
        assert error["details"] == {"file": file, "line": line, "commit": bad}, how
        assert (at(world.anna.path), backups(world.anna.path)) == (world.tip, {world.tip}), how
    git(world.remote, "update-ref", "-d", REF)
    world.anna.create("next")
    assert "deleted" in sync(world.anna)["warning"]
    assert world.tip in history(world.remote) and bad not in history(world.remote)
    world.healed("next")


@pytest.mark.parametrize("what", ["blob", "tag"])
def test_a_ref_that_is_not_a_commit(world, what):
    git(world.remote, "tag", "-am", "x", "x", world.tip)
    name = git(world.remote, "rev-parse", "refs/tags/x" if what == "tag" else f"{world.tip}:meta.json").strip()
    (world.remote / REF).write_text(f"{name}\n")
    world.anna.create("next")
    assert REF in is_sync_error(world.anna.run("sync", "--json"), "corrupt")["message"]
    world.move(world.tip)
    assert sync(world.anna)["warning"] is None
    world.healed("next")


def test_remote_lost_an_object(world):
    world.anna.create("next")
    sync(world.anna)
    blob = git(world.remote, "rev-parse", f"{REF}:state.jsonl").strip()
    file = world.remote / "objects" / blob[:2] / blob[2:]
    data = file.read_bytes()
    file.unlink()
    for _ in range(2):
        assert blob in is_sync_error(world.ben.run("sync", "--json"), "corrupt")["message"]
    assert "next" not in titles(world.ben)
    file.write_bytes(data)
    world.healed("next")


@pytest.mark.parametrize("left", [0, 2])
def test_lines_are_only_missing(world, left):
    """A valid commit on top of ours that lacks beads which were not deleted: they are restored, with a warning."""
    files = published(world.remote)
    files["state.jsonl"] = b"".join(files["state.jsonl"].splitlines(keepends=True)[:left])
    if not left:
        files["deps.jsonl"] = files["tombstones.jsonl"] = b""
    world.move(commit(world.remote, summed(files), world.tip))
    world.anna.create("next")
    assert "lacked" in sync(world.anna)["warning"]
    assert sync(world.ben)["warning"] is None
    world.healed("next")


def test_a_dropped_deletion_is_not_a_loss(world):
    """Ben was offline while a bead was deleted and its tombstone dropped: he loses it too."""
    gone = next(bead["id"] for bead in world.anna.json("list") if bead["title"] == "a3")
    world.anna.bd("delete", gone, "--yes").ok()
    sync(world.anna)
    late = {"BD_TOMBSTONE_TTL_MS": 7 * 24 * 3600 * 1000, "ABACUS_NOW": "2099-01-01T00:00:00Z"}
    world.anna.create("later", env=late)
    sync(world.anna, env=late)
    assert gone.encode() not in b"".join(published(world.remote).values())
    assert sync(world.ben, env=late)["warning"] is None
    same_everywhere(world.remote, world.anna, world.ben)
    assert titles(world.ben) == ["a1", "a2", "b1", "later"]


# --- lines that the specification allows, written in another way than bd writes them ---

T = int(time.time() * 1000) + 3600000  # later than all that the world has, and less than a day ahead


def newer(title, change):
    """A bead whose line was changed by `change`, as canonical JSON."""
    def edit(n):
        values = [json.loads(line) for line in n]
        for value in values:
            if value["title"] == title:
                change(value)
        return [canonical(value).encode() + b"\n" for value in values]
    return lines(edit)


def closed_by_members(line):
    line.update(status="closed", closed_at=[T, 1], closed_by="zoe", closed_reason="done",
                _v={"closed_at": [[T, 1], "zoe"], "closed_reason": [[T, 0], "zoe"]})


def seed_edge(n):
    """An edge as in the specification, without `_at`."""
    edge = json.loads(n[0])
    return [canonical({key: edge[key] for key in ("created_at", "created_by", "from", "kind", "to")}).encode() + b"\n"]


ALLOWED = {
    "_v newer than _at": newer("a1", lambda n: n.update(title="new", _v={"title": [[T, 0], "zoe"]})),
    "_v newer than _at, of two": newer("a1", lambda n: n.update(
        title="new", priority=0, _v={"priority": [[T, 1], "yan"], "title": [[T, 0], "zoe"]})),
    "_v under the names of members": newer("a1", closed_by_members),
    "_v that says what _at says": newer("a1", lambda n: n.update(
        title="new", _at=[T, 0], _by="zoe", _v={"title": [[T, 0], "zoe"], "status": [[T, 0], "zoe"]})),
    "_v without entries": newer("a1", lambda n: n.update(title="new", _at=[T, 0], _by="zoe", _v={})),
    "_v of a member that is not there": newer("a1", lambda n: n.update(
        title="new", _v={"title": [[T, 0], "zoe"], "design": [[T, 3], "zoe"], "assignee_at": [[T, 4], "zoe"]})),
    "a note newer than _at": newer("a1", lambda n: n.update(
        title="new", _v={"title": [[T, 0], "zoe"]}, notes=[{"at": [T, 9], "author": "zoe", "content": "x", "id": "n"}])),
    "nulls": newer("a1", lambda n: n.update(title="new", design=None, closed_at=None, _at=[T, 0], _by="zoe")),
    "labels in another order": newer("a1", lambda n: n.update(title="new", labels=["y", "x"], _at=[T, 0], _by="zoe")),
    "defaults left out": newer("a1", lambda n: [n.pop(key) for key in ("priority", "status", "type")] and n.update(
        title="new", _at=[T, 0], _by="zoe")),
    "updated_at and content_hash": newer("a1", lambda n: n.update(
        title="new", updated_at=[T, 0], updated_by="zoe", content_hash="0" * 64, _at=[T, 0], _by="zoe")),
    "an edge without _at": lines(seed_edge, "deps.jsonl"),
}


@pytest.mark.parametrize("how", ALLOWED)
def test_a_line_that_the_specification_allows_is_accepted_and_normalized(world, how):
    """Readers accept the line, with any local changes; writers normalize it."""
    anna, ben, good = world.anna, world.ben, published(world.remote)
    made = ALLOWED[how](good)
    late = clone(world.path / "late", "../beads.git")
    world.move(commit(world.remote, made, world.tip))
    assert made != good
    ben.create("by ben")
    for repo in (anna, ben, late, anna, ben, late):
        reply = sync(repo)
        assert reply["warning"] is None and reply["durability"] == "remote", reply
    same_everywhere(world.remote, anna, ben, late)
    wanted = {"_v under the names of members": "a1", "an edge without _at": "a1"}.get(how, "new")
    assert titles(anna) == sorted([wanted, "a2", "a3", "b1", "by ben"])
    if how == "_v under the names of members":
        bead = next(bead for bead in anna.json("list", "--all") if bead["title"] == "a1")
        assert (bead["status"], bead["closed_by"], bead["closed_reason"]) == ("closed", "zoe", "done")
    drop_cache(anna)
    assert titles(anna) == titles(ben)
    assert anna.json("validate")["findings"] == []
    for line in published(world.remote)["state.jsonl"].splitlines():
        value = json.loads(line)
        assert max([value["_at"], *(at for at, _ in value.get("_v", {}).values())]) == value["_at"]
        assert [value["_at"], value["_by"]] not in value.get("_v", {}).values()
        assert not {"closed_at", "closed_reason", "assignee_at", "updated_at", "content_hash"} & set(value.get("_v", {}))


@pytest.mark.parametrize("how", ALLOWED)
def test_an_unrelated_history_with_such_lines_is_joined(world, how):
    """The remote was replaced by a commit that is not on top of ours."""
    world.move(commit(world.remote, ALLOWED[how](published(world.remote))))
    world.anna.create("by anna")
    assert "replaced" in sync(world.anna)["warning"]
    for repo in (world.ben, world.anna, world.ben):
        sync(repo)
    same_everywhere(world.remote, world.anna, world.ben)
    assert "by anna" in titles(world.ben) and len(titles(world.ben)) == 5


def test_more_such_lines_than_findings_are_counted(world):
    """Each is accepted, and an unreadable line after them is still found."""
    def many(last):
        def edit(n):
            template = json.loads(n[0])
            new = [{**template, "id": f"bd-zz{i:04}", "title": "many", "_v": {"title": [[T, i], "zoe"]}} for i in range(1500)]
            return [*n, *(canonical(value).encode() + b"\n" for value in new), *last]
        return lines(edit)
    good = published(world.remote)
    world.move(commit(world.remote, many([b'{"id":"bd-zzz"}\n'])(good), world.tip))
    late = clone(world.path / "late", None)
    point(late, "../beads.git")
    for repo in (world.anna, late):
        assert is_sync_error(repo.run("sync", "--json"), "corrupt")["details"]["line"] == 1505
    world.move(commit(world.remote, many([])(good), world.tip))
    for repo in (world.anna, late, world.ben, world.anna):
        sync(repo)
    same_everywhere(world.remote, world.anna, world.ben, late)
    assert titles(late).count("many") == 1500


# --- history at the remote ---

def test_rewound(world):
    """The first clone that syncs restores the commits, with a warning."""
    world.move(history(world.remote)[-1])
    reply = sync(world.anna)
    assert "replaced" in reply["warning"] and world.tip[:10] in reply["warning"]
    assert backups(world.anna.path) == {world.tip}
    assert at(world.remote) == reply["commit"] == world.tip
    assert sync(world.ben)["warning"] is None
    world.healed()


def test_rewound_under_new_work(world):
    world.move(history(world.remote)[-1])
    world.anna.create("new a")
    world.ben.create("new b")
    assert sync(world.anna)["warning"]
    assert world.tip in history(world.remote)
    world.healed("new a", "new b")
    assert world.tip in history(world.remote)


@pytest.mark.parametrize("first", ["--no-push", "--dry-run", "refused"])
def test_rewound_and_not_put_back_at_once(world, first):
    """Published data stays in the history, even if the first sync could not push."""
    world.move(history(world.remote)[-1])
    world.anna.create("new a")
    if first == "refused":
        git(world.anna.path, "remote", "set-url", "--push", "origin", "http://127.0.0.1:1/x.git")
        is_sync_error(world.anna.run("sync", "--json"), "sync_failed")
        git(world.anna.path, "remote", "set-url", "--delete", "--push", "origin", ".*")
    else:
        assert sync(world.anna, first)["warning"]
    world.anna.create("more a")
    assert "replaced" in sync(world.anna)["warning"]
    assert world.tip in history(world.remote) and backups(world.anna.path) == {world.tip}
    world.healed("new a", "more a")


def test_rewound_and_continued(world):
    """A clone that had only the old commit has published on top of it."""
    old = history(world.remote)[-1]
    late = clone(world.path / "late", None)
    point(late, "../beads.git")
    world.move(old)
    late.create("late")
    sync(late)
    world.anna.create("new a")
    assert "replaced" in sync(world.anna)["warning"]
    assert backups(world.anna.path) == {world.tip}
    world.healed("late", "new a")


def test_replaced_by_another_history(world):
    other = clone(world.path / "other", None)
    other.create("other")
    sync(other)
    git(other.path, "push", "-qf", "../beads.git", f"{REF}:{REF}")
    theirs = at(world.remote)
    for repo in (world.anna, world.ben):
        assert "replaced" in sync(repo)["warning"]
        assert backups(repo.path) == {world.tip}
    assert theirs in history(world.remote)
    world.healed("other")
    assert sync(world.anna)["warning"] is None


@pytest.mark.parametrize("new", [(), ("new",)])
def test_deleted(world, new):
    git(world.remote, "update-ref", "-d", REF)
    for title in new:
        world.anna.create(title)
    reply = sync(world.anna)
    assert "deleted" in reply["warning"] and reply["durability"] == "remote"
    assert backups(world.anna.path) == {world.tip} and world.tip in history(world.remote)
    world.healed(*new)


def test_a_recreated_remote(world):
    """The whole repository was made again, empty."""
    shutil.rmtree(world.remote)
    bare(world.remote)
    world.ben.create("new b")
    assert sync(world.ben)["warning"]
    assert world.tip in history(world.remote)
    world.healed("new b")


def test_the_number_of_backups_is_bounded(world):
    """The last sixteen are kept; all are from the same second, so their time does not decide."""
    old = history(world.remote)[-1]
    for i in range(18):
        world.anna.create(f"n{i:02}")
        sync(world.anna)  # heals, and publishes the next
        world.move(old)
    sync(world.anna)
    kept = backups(world.anna.path)
    assert len(kept) == 16 and at(world.remote) in kept
    world.healed(*(f"n{i:02}" for i in range(18)))


# --- damage here ---

def test_own_ref_deleted(world):
    git(world.anna.path, "update-ref", "-d", REF)
    world.anna.create("new")
    assert sync(world.anna)["durability"] == "remote"
    assert world.tip in history(world.remote)
    world.healed("new")


def test_own_ref_deleted_without_a_remote(tmp_path):
    anna = clone(tmp_path / "anna", None)
    anna.create("one")
    sync(anna)
    git(anna.path, "update-ref", "-d", REF)
    anna.create("two")
    sync(anna)
    assert len(published(anna.path)["state.jsonl"].splitlines()) == 2


def test_own_ref_moved_back(world):
    git(world.anna.path, "update-ref", REF, history(world.remote)[-1])
    world.anna.create("new")
    assert sync(world.anna)["warning"] is None
    assert world.tip in history(world.remote)
    world.healed("new")


def test_own_ref_moved_elsewhere(world):
    """To a damaged commit: nothing of it is published, and the error names the place."""
    bad = commit(world.anna.path, DAMAGE["no JSON"][0](published(world.remote)))
    git(world.anna.path, "update-ref", REF, bad)
    world.anna.create("new")
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert error["details"]["commit"] == bad and at(world.remote) == world.tip
    git(world.anna.path, "update-ref", REF, world.tip)
    world.healed("new")


def test_a_deleted_remote_tracking_ref(world):
    git(world.anna.path, "update-ref", "-d", TRACKING)
    world.anna.create("new")
    sync(world.anna)
    assert world.tip in history(world.remote)
    world.healed("new")


@pytest.mark.parametrize("cache", ["kept", "lost"])
def test_all_refs_and_objects_lost(world, cache):
    """Refs deleted, objects collected: the remote has everything, and the journal has the rest."""
    world.anna.create("new")
    world.ben.create("theirs")
    sync(world.ben)
    for ref in (REF, TRACKING):
        git(world.anna.path, "update-ref", "-d", ref)
    git(world.anna.path, "gc", "-q", "--prune=now")
    if cache == "lost":
        drop_cache(world.anna)
    assert sync(world.anna)["durability"] == "remote"
    world.healed("new", "theirs")


@pytest.mark.parametrize("place,lock", [("anna/.git", REF), ("anna/.git", TRACKING), ("beads.git", REF)])
def test_lock_of_a_dead_process(world, place, lock):
    """A lock of Git that is minutes old and does not change was left behind, and is removed."""
    world.ben.create("theirs")
    sync(world.ben)
    world.anna.create("new")
    left = world.path / place / f"{lock}.lock"
    left.touch()
    os.utime(left, (time.time() - 600,) * 2)
    assert sync(world.anna)["durability"] == "remote"
    assert not left.exists()
    world.healed("theirs", "new")


@pytest.mark.parametrize("lock", ["packed-refs.lock", "index.lock", "HEAD.lock", "config.lock"])
def test_a_lock_of_another_ref_is_ignored(world, lock):
    (world.anna.path / ".git" / lock).touch()
    (world.remote / lock).touch()
    world.anna.create("new")
    assert sync(world.anna)["durability"] == "remote"
    world.healed("new")


def test_packed_refs(world):
    for path in (world.remote, world.anna.path, world.ben.path):
        git(path, "pack-refs", "--all")
        git(path, "gc", "-q", "--prune=now")
    world.anna.create("new")
    world.healed("new")


# --- objects that were damaged here or at the remote ---


def file_of(gitdir, spec):
    """The file of a loose object, which is writable from now on."""
    name = git(gitdir, "rev-parse", spec).strip()
    file = gitdir / "objects" / name[:2] / name[2:]
    file.chmod(0o600)
    return file


def is_fetched_again(world):
    """The remote is not at fault, so its ref is not set back."""
    before = at(world.remote)
    shown = world.anna.json("repair")
    assert shown["refetched"] and not shown["applied"], shown
    assert {one["where"] for one in shown["commits"]} == {"here"}
    assert world.anna.json("repair", "--apply")["refetched"] and at(world.remote) == before
    assert "No damage was found" in world.anna.bd("repair").ok().out
    world.anna.create("new")
    world.healed("new")


@pytest.mark.parametrize("spec", ["", "^{tree}", ":state.jsonl", ":meta.json"])
@pytest.mark.parametrize("left", [0, 2, 40, -4])
def test_an_object_that_was_cut_off_here_is_fetched_again(world, spec, left):
    """libgit2 alone would never return."""
    file = file_of(world.anna.path / ".git", REF + spec)
    file.write_bytes(file.read_bytes()[:left])
    result = world.anna.bd("sync", timeout=20)
    assert result.code == 3 and "its file is cut off" in result.err and "'bd repair --apply'" in result.err, result.err
    is_fetched_again(world)


@pytest.mark.parametrize("what", ["garbage", "more", "a folder", "a FIFO"])
def test_an_object_that_is_not_one_is_fetched_again(world, what):
    file = file_of(world.anna.path / ".git", f"{REF}:state.jsonl")
    if what == "garbage":
        file.write_bytes(b"\0" * 200)
    elif what == "more":
        file.write_bytes(zlib.compress(zlib.decompress(file.read_bytes()) + b"x"))
    else:
        file.unlink()
        file.mkdir() if what == "a folder" else os.mkfifo(file)
    result = world.anna.bd("sync", timeout=20)
    assert result.code == 3 and f"{file}', which has an object of Git, is damaged" in result.err, result.err
    is_fetched_again(world)


@pytest.mark.parametrize("spec", ["", "~1", "^{tree}", "~1^{tree}", "~1:state.jsonl"])
def test_an_object_that_was_lost_here_is_fetched_again(world, spec):
    git(world.anna.path, "fetch", "-q", "--refetch", "origin", REF)  # into a pack
    for pack in (world.anna.path / ".git/objects/pack").glob("*.pack"):
        pack.with_suffix(".idx").unlink()
        with pack.rename(world.path / "pack").open("rb") as objects:
            subprocess.run(["git", "unpack-objects", "-q"], cwd=world.anna.path, stdin=objects, check=True, env=environment())
    file_of(world.anna.path / ".git", REF + spec).unlink()
    is_fetched_again(world)


@pytest.mark.parametrize("spec", ["", "~1", "~1^{tree}", ":state.jsonl"])
def test_an_object_that_was_damaged_in_a_pack_is_fetched_again(world, spec):
    gitdir = world.anna.path / ".git"
    name = git(gitdir, "rev-parse", REF + spec).strip()
    git(gitdir, "repack", "-adq")
    [pack] = (gitdir / "objects/pack").glob("*.pack")
    [where] = [line.split() for line in git(gitdir, "verify-pack", "-v", str(pack)).splitlines() if line.startswith(name)]
    pack.chmod(0o600)
    with pack.open("r+b") as out:
        out.seek(int(where[4]) + 3)
        out.write(bytes(int(where[3]) - 3))
    os.utime(pack, (1, 1))
    is_fetched_again(world)


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_a_pack_of_the_remote_that_cannot_be_read_is_no_damage(world, suffix):
    """libgit2 passes such a pack over. A disk or a permission may be the reason, and its objects may be intact."""
    world.ben.create("b2")
    sync(world.ben)
    git(world.remote, "repack", "-adq")
    [file] = (world.remote / "objects/pack").glob(f"*{suffix}")
    away, tip = file.rename(world.path / "away"), at(world.remote)
    file.mkdir()
    for command in (["sync"], ["repair", "--apply"]):
        result = world.anna.bd(*command, timeout=20)
        assert result.code and f"cannot read '{file}'" in result.err, result.err
    file.rmdir()
    away.rename(file)
    assert at(world.remote) == tip
    world.healed("b2")


def test_a_damaged_object_that_no_remote_has_is_moved_away(tmp_path):
    repo = clone(tmp_path / "here", None)
    repo.create("one")
    sync(repo)
    file = file_of(repo.path / ".git", f"{REF}:state.jsonl")
    file.write_bytes(file.read_bytes()[:10])
    for command in (["sync"], ["repair", "--apply"]):
        result = repo.bd(*command, timeout=20)
        assert result.code == 3 and "its file is cut off" in result.err, result.err
    run_command(repo, command_of(result.err, "mv"))
    assert not file.exists() and list(file.parent.glob("*.damaged-*"))


@pytest.mark.parametrize("spec", ["", "^{tree}", ":state.jsonl"])
def test_an_object_that_was_cut_off_at_the_remote_is_reported_at_once(world, spec):
    tip = at(world.remote)
    world.anna.create("new")
    sync(world.anna)
    file = file_of(world.remote, REF + spec)
    file.write_bytes(file.read_bytes()[:40])
    error = world.ben.bd("sync", timeout=20)
    assert error.code == 4 and "cannot be read" in error.err, error.err
    assert at(world.anna.path / ".git") != tip
    assert titles(world.ben) == ["a1", "a2", "a3", "b1"]


# --- the journal is cut short or gone, and the cache lost: the ref still has what was published ---

def cut(repo, records):
    """The journal with only its first records, without a cache."""
    repo.journal.write_bytes(b"".join(repo.journal.read_bytes().splitlines(keepends=True)[:records]))
    drop_cache(repo)


def half(repo):
    """The journal after a program copied only a part of it."""
    repo.journal.write_bytes(repo.journal.read_bytes()[:20])
    drop_cache(repo)


def gone(repo):
    repo.journal.unlink()
    drop_cache(repo)


LOST = {"gone": gone, "half a record": half, **{f"{n} records": lambda repo, n=n: cut(repo, n) for n in range(7)}}


@pytest.mark.parametrize("first", ["list", "create", "sync"])
@pytest.mark.parametrize("how", LOST)
def test_published_beads_are_read_from_the_ref_if_the_journal_lacks_them(tmp_path, how, first):
    """Published data is there, at once and later, and the loss is reported."""
    anna = clone(tmp_path / "anna", None)
    for title in ("one", "two", "three"):
        anna.create(title)
        sync(anna)
    records = anna.journal.read_bytes().splitlines()
    assert len(records) == 7  # the prefix, then a bead and a commit for each
    LOST[how](anna)
    more = ["four"] if first == "create" else []
    done = anna.run(*{"list": ["list", "--all"], "create": ["create", "four"], "sync": ["sync"]}[first]).ok()
    lost = how != "7 records" and first != "sync" and how not in ("6 records", "5 records")
    assert ("may be lost" in done.err or "are lost" in done.err) or not lost, done.err
    assert titles(anna) == sorted(["one", "two", "three", *more])
    drop_cache(anna)
    assert titles(anna) == sorted(["one", "two", "three", *more])
    sync(anna)
    assert anna.run("list").ok().err == ""
    assert anna.json("doctor")["ok"] and anna.json("validate")["findings"] == []
    assert len(published(anna.path)["state.jsonl"].splitlines()) == 3 + len(more)


def test_later_records_are_joined_to_the_ref(tmp_path):
    """The journal lost its end, and continues: nothing of either is missing."""
    anna = clone(tmp_path / "anna", None)
    first = anna.create("one")
    sync(anna)
    anna.create("two")
    sync(anna)
    cut(anna, 3)
    anna.json("update", first, "--title", "new")
    anna.create("three")
    drop_cache(anna)
    assert titles(anna) == ["new", "three", "two"]
    sync(anna)
    assert titles(anna) == ["new", "three", "two"] and len(published(anna.path)["state.jsonl"].splitlines()) == 3


def test_a_commit_that_was_not_pushed_is_not_a_loss(world):
    """The ref is ahead of the journal's base after a failed push: there is no warning."""
    world.anna.create("new")
    point(world.anna, "http://127.0.0.1:1/x.git")
    is_sync_error(world.anna.run("sync", "--json"), "sync_failed")
    sync(world.anna, "--no-pull", "--no-push")
    drop_cache(world.anna)
    done = world.anna.run("list", "--all").ok()
    assert done.err == "" and "new" in titles(world.anna)


def test_a_broken_ref_and_a_journal_without_a_base_is_an_error(tmp_path):
    """Never an empty list if there was data."""
    anna = clone(tmp_path / "anna", None)
    anna.create("one")
    sync(anna)
    file = anna.path / ".git" / REF
    good = file.read_text()
    cut(anna, 1)
    file.write_text("garbage\n")
    for command in (["list"], ["ready"], ["create", "x"], ["sync"], ["list"]):
        done = anna.run(*command, "--json")
        assert done.code == 3 and done.error["code"] == "corrupt" and REF in done.error["message"], done.out
    file.write_text(good)
    assert titles(anna) == ["one"]


def test_a_ref_that_was_moved_forward_by_hand_is_not_damage(world):
    """Git fetched the remote's commit to our ref: doctor reports that the journal is behind, not that the cache is
    wrong."""
    world.ben.create("theirs")
    sync(world.ben)
    git(world.anna.path, "fetch", "-q", "origin", f"{REF}:{REF}")
    checks = {check["code"]: check["status"] for check in world.anna.json("doctor")["checks"]}
    assert checks["journal"] == "warning" and set(checks.values()) == {"ok", "warning"}, checks
    drop_cache(world.anna)
    assert "theirs" in titles(world.anna)
    world.healed("theirs")
    assert {check["status"] for check in world.anna.json("doctor")["checks"]} == {"ok"}


def test_a_commit_of_ours_that_cannot_be_used_is_not_read_in_the_place_of_the_base(world):
    """The ref was moved on to something damaged: the cache is made from the commit that the journal names."""
    git(world.anna.path, "update-ref", REF, commit(world.anna.path, DAMAGE["checksum"][0](published(world.remote)), world.tip))
    drop_cache(world.anna)
    assert titles(world.anna) == ["a1", "a2", "a3", "b1"]
    assert not world.anna.bd("doctor", "--json").json["ok"]
