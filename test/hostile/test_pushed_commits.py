"""Commits that anybody with push access can make: they never make a clone unusable, lose no acknowledged write, and
cost no more than their size."""
import hashlib
import json
import resource
import subprocess
import sys
import time

import pytest

from bead_harness import assert_sound, drop_cache
from beads import canonical, other_id
from conftest import BIN, Repo, Result, environment, git
from harness import patience
from hints import command_of, run_command
from remotes import (FILES, REF, at, bare, clone, commit, copy_world, http_remote, is_sync_error, point, published, same_everywhere, summed, sync,
                     titles)
from service import SANITIZED
from vybe import Vybe

MB = 1 << 20


class World:
    """A remote and two clones; Mallory writes commits directly."""

    def __init__(self, path):
        self.remote = bare(path / "beads.git")
        self.anna, self.ben = (clone(path / name, self.remote) for name in ("anna", "ben"))
        self.first = self.anna.create("first", "--id", "bd-a001")  # tests append beads whose ids come later
        self.second = self.anna.create("second", "--id", "bd-b002")
        self.anna.bd("dep", "add", self.second, self.first).ok()
        self.anna.bd("comment", self.first, "a note").ok()
        self.anna.bd("delete", self.anna.create("gone", "--id", "bd-c003"), "--yes").ok()
        sync(self.anna)
        sync(self.ben)

    def push(self, change, extra=None, parent=None):
        """A commit on top of the remote's with files changed by `change`, and correct checksums."""
        files = {name: text.decode() for name, text in published(self.remote).items()}
        files = change(files) or files
        made = commit(self.remote, summed({**{name: text.encode() for name, text in files.items()}, **(extra or {})}),
                      parent or at(self.remote))
        git(self.remote, "update-ref", REF, made)
        return made

    def push_bead(self, change, title="first"):
        """The same with one bead changed."""
        return self.push(each(lambda line: line["title"] == title and change(line)))

    def usable(self, *repos):
        """Reads and writes still work, even without the cache."""
        for repo in repos or (self.anna, self.ben):
            for _ in range(2):
                repo.create("more")
                assert "first" in titles(repo)
                repo.json("update", self.first, "--priority", "1")
                drop_cache(repo)

    def converges(self):
        for _ in range(2):
            sync(self.anna)
            sync(self.ben)
        same_everywhere(self.remote, self.anna, self.ben)
        assert_sound(self.anna)


@pytest.fixture
def world(tmp_path):
    return copy_world(World, tmp_path)


def nested(depth):
    """An array of arrays of arrays."""
    value = 1
    for _ in range(depth):
        value = [value]
    return value


REGISTERS = ("acceptance_criteria", "assignee", "description", "design", "external_ref", "labels", "priority",
             "source_repo", "status", "title", "type")
OWN = {"_at", "_by", "_v", "id", "created_at", "created_by", "notes", "closed_at", "closed_by", "closed_reason",
       "closed_on_branch", "assignee_at", "assignee_expires", *REGISTERS}


def spelled(line):
    """The line with its marks in canonical form: `_at` is the last of them, `_v` has those that differ."""
    last, others = [line["_at"], line["_by"]], line.get("_v", {})
    marks = {key: others.get(key, last) for key in (*REGISTERS, *(set(line) - OWN), *others)}
    top = max([*marks.values(), *([note["at"], note["author"]] for note in line.get("notes", []))])
    differ = {key: mark for key, mark in marks.items() if mark != top}
    line = {key: value for key, value in line.items() if key != "_v"}
    return canonical({**line, "_at": top[0], "_by": top[1], **({"_v": differ} if differ else {})}) + "\n"


def later(line):
    """Everything was written again, a millisecond later."""
    line["_at"] = [line["_at"][0] + 1, 0]
    line.pop("_v", None)


def each(change):
    """Changes every bead of the store."""
    def edit(files):
        lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
        for line in lines:
            change(line)
        return {**files, "state.jsonl": "".join(spelled(line) for line in sorted(lines, key=lambda n: n["id"]))}
    return edit


def usage(repo, *args):
    """The result of a command, its duration in seconds, and the peak memory of it and its children."""
    script = ("import resource, subprocess, sys\n"
              "done = subprocess.run(sys.argv[1:])\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
              "sys.exit(done.returncode)\n")
    start = time.monotonic()
    done = Result(subprocess.run([sys.executable, "-c", script, str(BIN / "bd"), *args], cwd=repo.path,
                                 capture_output=True, timeout=120, env=environment(**repo.env)))
    return done, time.monotonic() - start, int(done.err.split()[-1]) * 1024


# --- nesting ---

@pytest.mark.parametrize("depth", [65, 96, 97, 98, 99, 100, 101, 800])
def test_a_member_that_is_nested_too_deep_is_refused_with_file_and_line(world, depth):
    world.push_bead(lambda line: line.update(weird=nested(depth)))
    for repo in (world.anna, world.ben):
        error = is_sync_error(repo.run("sync", "--json"), "corrupt")
        assert error["details"]["file"] == "state.jsonl" and error["details"]["line"] in (1, 2), error
    world.usable()


def test_a_member_at_the_limit_of_depth_works_in_every_command(world):
    """Published, journalled, deleted, restored, listed: every envelope has room for it."""
    world.push_bead(lambda line: line.update(weird=nested(64)) or later(line))
    sync(world.anna)
    drop_cache(world.anna)
    world.anna.json("update", world.first, "--title", "first")
    world.anna.bd("delete", world.first, "--yes").ok()
    drop_cache(world.anna)
    assert world.anna.json("deleted")
    sync(world.anna)
    sync(world.ben)
    world.ben.bd("undelete", world.first).ok()
    drop_cache(world.ben)
    assert "first" in titles(world.ben)
    world.converges()
    kept = [json.loads(line) for line in published(world.remote)["state.jsonl"].splitlines()]
    assert next(line["weird"] for line in kept if line["id"] == world.first) == nested(64)


def test_a_dependency_of_more_than_128_kib_is_refused_with_its_line(world):
    edge = json.loads(published(world.remote)["deps.jsonl"])
    world.push(lambda files: {**files, "deps.jsonl": canonical({**edge, "weird": "w" * (128 << 10)}) + "\n"})
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert (error["details"]["file"], error["details"]["line"]) == ("deps.jsonl", 1) and "131072" in error["message"]
    world.usable()
    world.anna.bd("repair", "--apply").ok()
    world.converges()


def test_nesting_in_an_edge_or_in_meta_is_refused(world):
    tip = at(world.remote)
    world.push(lambda files: {**files, "deps.jsonl": canonical(
        {**json.loads(files["deps.jsonl"]), "weird": nested(90)}) + "\n"})
    assert is_sync_error(world.anna.run("sync", "--json"), "corrupt")["details"]["file"] == "deps.jsonl"
    world.push(lambda files: {**files, "meta.json": canonical(
        {**json.loads(files["meta.json"]), "weird": nested(90)}) + "\n"}, parent=tip)
    world.usable()


# --- meta.json and the tree ---

@pytest.mark.parametrize("prefix", ["../../x", "", "a b", "x\n", "-", "é", "p" * 65, 7, None, {"value": "x"}])
def test_a_prefix_that_cannot_begin_an_id_never_reaches_the_maker_of_ids(world, prefix):
    def edit(files):
        meta = json.loads(files["meta.json"])
        meta["prefix"] = {"mark": [[9000000000000, 0], "mallory"], "value": prefix}
        return {**files, "meta.json": canonical(meta) + "\n"}
    world.push(edit)
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert error["details"]["file"] == "meta.json", error
    assert world.anna.create("made").startswith("bd-")
    fresh = Repo(world.remote.parent / "fresh")
    git(world.remote.parent, "clone", "-q", str(world.remote), "fresh")
    assert "meta.json" in fresh.bd("init").ok().err
    assert fresh.create("made").startswith("fresh-")


def test_members_of_meta_and_files_that_are_not_ours_are_kept(world):
    """Another program, or a later version of this one, has put them beside our files."""
    tip = at(world.remote)

    def edit(files):
        return {**files, "meta.json": canonical({**json.loads(files["meta.json"]), "theirs": {"a": [1, 2.5]}}) + "\n"}
    world.push(edit, extra={"README.md": b"# beads\n", "zzz.bin": b"\x00\xff"}, parent=tip)
    world.anna.create("next")
    world.ben.create("other")
    world.converges()
    assert json.loads(published(world.remote)["meta.json"])["theirs"] == {"a": [1, 2.5]}
    assert git(world.remote, "cat-file", "blob", f"{REF}:README.md") == "# beads\n"
    assert sorted(git(world.remote, "ls-tree", "--name-only", REF).split()) == [
        "README.md", "deps.jsonl", "meta.json", "state.jsonl", "tombstones.jsonl", "zzz.bin"]


def foreign(world, notes="", **meta):
    """A commit as another program writes it: meta.json without checksums, notes in a separate file."""
    files = {**published(world.remote), "notes.jsonl": notes.encode(),
             "meta.json": (canonical({"format_version": 1, **meta}) + "\n").encode()}
    git(world.remote, "update-ref", REF, commit(world.remote, files, at(world.remote)))


@pytest.mark.parametrize("slug", ["../../x", "", "a b", 7])
def test_a_slug_of_another_program_never_reaches_the_maker_of_ids(world, slug):
    foreign(world, root_slug=slug)
    fresh = Repo(world.remote.parent / "fresh")
    git(world.remote.parent, "clone", "-q", str(world.remote), "fresh")
    fresh.bd("init").ok()
    assert fresh.create("made").startswith("bd-")
    sync(world.anna)
    assert world.anna.create("made").startswith("bd-")


def test_many_notes_of_another_program_are_linear(world):
    notes = "".join(canonical({"bead_id": world.first, "note": {
        "at": [2, i], "author": "m", "content": "x", "id": f"n{i:05}"}}) + "\n" for i in range(19000))
    foreign(world, notes)
    done, seconds, memory = usage(world.anna, "sync", "--json")
    assert done.code == 0, done.out
    assert memory < 300 * MB and seconds < patience(20), (seconds, memory)
    assert len(world.anna.show(world.first)["notes"]) == 19001


def test_an_entry_that_git_would_not_write_is_dropped(world):
    """Entries such as ".." cannot be written again, so they would keep all clones from publishing."""
    tip, blob = at(world.remote), git(world.remote, "rev-parse", f"{REF}:meta.json").strip()
    old = subprocess.run(["git", "cat-file", "tree", REF], cwd=world.remote, check=True, capture_output=True,
                         env=environment()).stdout
    entries = b"".join(b"100644 %s\0%s" % (name, bytes.fromhex(blob)) for name in (b"..", b".git")) + old
    tree = subprocess.run(["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"], cwd=world.remote, check=True,
                          input=entries, capture_output=True, env=environment()).stdout.decode().strip()
    git(world.remote, "update-ref", REF, git(world.remote, "commit-tree", "-p", tip, "-m", "x", tree).strip())
    world.anna.create("next")
    world.converges()
    assert git(world.remote, "ls-tree", "--name-only", REF).split() == sorted(FILES)


# --- a commit on top of ours that has lost something ---

def older_title(line):
    if line["title"] == "first":
        line["title"] = "a value of before"
        line["_v"] = {**line.get("_v", {}), "title": [[1, 0], "mallory"]}


def other_lineage(line):
    if line["title"] == "first":
        line.update(created_at=[line["created_at"][0] + 5, 0], created_by="mallory", title="usurper")
        line.pop("notes", None)


LOSSES = {
    "a note": each(lambda line: line.pop("notes", None)),
    "a later value": each(older_title),
    "a lineage": each(other_lineage),
    "an edge": lambda files: {**files, "deps.jsonl": ""},
    "a tombstone": lambda files: {**files, "tombstones.jsonl": ""},
    "a bead": lambda files: {**files, "state.jsonl": files["state.jsonl"].split("\n", 1)[1]},
    "everything": lambda files: {**files, "state.jsonl": "", "deps.jsonl": "", "tombstones.jsonl": ""},
}


def acknowledged(repo):
    """The acknowledged data: beads with their notes, edges, deletions."""
    beads = {bead["id"]: (bead["title"], len(bead["notes"])) for bead in repo.json("list", "--all", "-n", "0")
             if bead["created_by"] != "mallory"}
    return beads, repo.json("dep", "list", next(iter(beads))), [
        gone for gone in repo.json("deleted") if gone["deleted_by"] != "mallory"]


@pytest.mark.parametrize("loss", LOSSES)
def test_data_lost_in_a_commit_on_top_of_ours_is_restored_and_reported(world, loss):
    before = acknowledged(world.anna)
    world.push(LOSSES[loss])
    replies = [sync(world.anna), sync(world.ben)]
    assert "lacked" in replies[0]["warning"], replies
    assert acknowledged(world.anna) == before
    world.converges()
    drop_cache(world.anna)
    assert acknowledged(world.anna) == before
    assert acknowledged(world.ben) == before


def rewritten(change):
    def each_note(line):
        for note in line.get("notes", []):
            note.update(change)
    return each(each_note)


@pytest.mark.parametrize("change", [{"content": "zzz, approved"}, {"content": "0, approved"}, {"author": "zoe"},
                                    {"content": "approved", "at": [1, 0]}], ids=str)
def test_a_changed_note_becomes_a_second_note_and_is_reported(world, change):
    """Whether the new version is later, greater or neither: both versions are kept."""
    [before] = world.anna.show(world.first)["notes"]
    world.push(rewritten(change))
    replies = [sync(world.anna), sync(world.ben)]
    assert "lacked" in replies[0]["warning"], replies
    world.converges()
    for repo in (world.anna, world.ben):
        drop_cache(repo)
        notes = [{key: note[key] for key in ("author", "content", "at")} for note in repo.show(world.first)["notes"]]
        kept = {key: before[key] for key in ("author", "content", "at")}
        assert len(notes) == 2 and kept in notes and {**kept, **change} in notes, notes
    assert world.anna.json("validate")["ok"]


def test_the_name_of_a_second_note_cannot_be_taken_in_advance(world):
    """An attacker who knows both versions can compute the name of the second one."""
    [note] = world.anna.show(world.first)["notes"]
    second = {"at": note["at"], "author": note["author"], "content": "zzz"}
    name = hashlib.sha256(canonical([second["at"], second["author"], "zzz"]).encode()).hexdigest()[:32]

    def take(line):
        if line.get("notes"):
            line["notes"] = [{**second, "id": note["id"]}, {**second, "content": "squatter", "id": f"{note['id']}~{name}"}]
    world.push(each(take))
    for repo in (world.anna, world.ben):
        sync(repo)
    world.converges()
    for repo in (world.anna, world.ben):
        notes = repo.show(world.first)["notes"]
        assert sorted(n["content"] for n in notes) == ["a note", "squatter", "zzz"]
        assert len({n["id"] for n in notes}) == 3


def test_an_edge_whose_end_became_another_bead_is_in_the_cache_too(world):
    """The line of the edge is the same in both commits, but the bead that had the id took its edge with it."""
    def edit(files):
        lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
        for line in lines:
            if line["id"] == world.first:
                line["created_at"] = [1, 0]
        return {**files, "state.jsonl": "".join(canonical(line) + "\n" for line in lines)}
    world.push(edit)
    world.converges()
    assert len(world.anna.json("dep", "list", world.second)) == 2
    drop_cache(world.anna)
    assert len(world.anna.json("dep", "list", world.second)) == 2


def test_a_commit_that_only_adds_is_taken_unchanged(world):
    """We add no commit on top of it, and there is no warning."""
    made = world.push_bead(later)
    reply = sync(world.anna)
    assert (reply["warning"], reply["commit"], at(world.remote)) == (None, made, made)


# --- small data, big cost ---

def many_members(line):
    line.update({f"x{i:05}": i for i in range(9900)})


def many_marks(line):
    line.update({f"x{i:05}": i for i in range(5000)})
    line["_v"] = {f"x{i:05}": [[1, i], "mallory"] for i in range(5000)}


def many_notes(line):
    line["notes"] = [{"at": [1, i], "author": "m", "content": "x", "id": f"n{i:05}"} for i in range(20000)]


ALLOWED = {"9,900 members": many_members, "5,000 marks": many_marks, "20,000 notes": many_notes,
           "1,000 labels": lambda line: line.update(labels=sorted(f"l{i}" for i in range(1000))),
           "8 MB": lambda line: line.update(description="x" * (8 * MB))}


@pytest.mark.parametrize("what", ALLOWED)
def test_the_cost_of_a_large_bead_is_proportional_to_its_size(world, what):
    world.push_bead(lambda line: later(line) or ALLOWED[what](line), title="second")
    done, seconds, memory = usage(world.anna, "sync", "--json")
    assert done.code == 0, done.out
    assert memory < 300 * MB and seconds < patience(20), (seconds, memory)
    drop_cache(world.anna)
    done, seconds, memory = usage(world.anna, "update", world.second, "--priority", "0")
    assert done.code == 0 and memory < 300 * MB and seconds < patience(20), (done.out, seconds, memory)


def test_a_change_of_many_members_in_many_beads_costs_memory_in_proportion_to_them(world):
    """Such a change took 3 KB for each member, so that 5 MB of them stopped the sync of every clone for good."""
    beads, members = 30, 9000

    def version(number):
        def edit(files):
            rows = [json.loads(line) for line in files["state.jsonl"].splitlines() if '"id":"bd-z' not in line]
            one = {**rows[0], "_at": [rows[0]["_at"][0] + number, 0], **{f"z{i:04}": number for i in range(members)}}
            rows += [{**one, "id": f"bd-z{i:02}"} for i in range(beads)]
            return {**files, "state.jsonl": "".join(spelled(line) for line in rows)}
        return edit

    for number in range(2):
        world.push(version(number))
        done, _, memory = usage(world.anna, "sync", "--json")
        assert done.code == 0 and done.json["pulled"] == beads, done.out
        assert SANITIZED or memory < beads * members * 600 + 16 * MB, memory // MB
    world.usable(world.anna)


def test_the_blame_and_history_of_many_members_cost_memory_in_proportion_to_them(world):
    """Each member has a mark of its own, and there are two later versions of the bead."""
    def blame(count):
        made = world.push_bead(lambda line: line.update(
            {f"x{i:05}": i for i in range(count)}, _v={f"x{i:05}": [[1, i], "mallory"] for i in range(count)}), title="second")
        sync(world.anna)
        for priority in "01":
            world.anna.json("update", world.second, "--priority", priority)
            sync(world.anna)
        done, _, memory = usage(world.anna, "blame", world.second, "--json")
        fields = {one["field"]: one for one in json.loads(done.out)}
        assert fields[f"x{count - 1:05}"]["commit"] == made and fields[f"x{count - 1:05}"]["by"] == "mallory"
        assert fields["priority"]["commit"] == at(world.remote)
        assert sum(field.startswith("x") for field in fields) == count
        return memory, usage(world.anna, "history", world.second, "--json")[2]
    few, many = blame(1000), blame(4000)
    assert SANITIZED or all(b - a < 16 * MB for a, b in zip(few, many)), (few, many)


REFUSED = {"20,000 labels": (lambda line: line.update(labels=sorted(f"l{i:05}" for i in range(20000))), "labels"),
           "10,001 members": (lambda line: line.update({f"x{i:05}": i for i in range(10001)}), "members"),
           "20,001 notes": (lambda line: line.update(notes=[
               {"at": [1, i], "author": "m", "content": "x", "id": f"n{i:05}"} for i in range(20001)]), "notes"),
           "a long title": (lambda line: line.update(title="x" * (64 * 1024 + 1)), "title"),
           "a long text": (lambda line: line.update(design="x" * (8 * MB + 1)), "design"),
           "a long line": (lambda line: line.update(x=["y" * MB] * 33), "bytes"),
           "a million values": (lambda line: line.update(x=[0] * 1000000), "too many values"),
           "a long number": (lambda line: line.update(x=10 ** 1000), "number"),
           "a long actor": (lambda line: line.update(_by="x" * 5000), "_by")}


@pytest.mark.parametrize("what", REFUSED)
def test_lines_over_a_limit_are_refused_with_file_and_line(world, what):
    change, word = REFUSED[what]
    world.push_bead(change, title="second")
    done, seconds, memory = usage(world.anna, "sync", "--json")
    error = is_sync_error(done, "corrupt")
    assert error["details"]["file"] == "state.jsonl" and error["details"]["line"] > 0, error
    assert word in error["message"], error
    assert memory < 300 * MB and seconds < patience(20), (seconds, memory)
    world.usable(world.anna)


def test_a_file_that_is_too_large_is_not_even_inflated(world):
    """300 MB of one letter are a few hundred kilobytes in Git."""
    def edit(files):
        line = json.loads(files["state.jsonl"].split("\n", 1)[0])
        line["title"] = "x" * (300 * MB)
        return {**files, "state.jsonl": canonical(line) + "\n"}
    world.push(edit)
    done, seconds, memory = usage(world.anna, "sync", "--json")
    error = is_sync_error(done, "corrupt")
    assert "state.jsonl" in error["message"] and "sync.max_file" in error["hint"], error
    assert memory < 100 * MB, memory
    world.usable(world.anna)


def push_zeros(world, size, name="zeros"):
    """A commit with a file of zeros beside the valid files of the store; Git compresses it to a thousandth."""
    with (world.remote / "zeros").open("wb") as file:
        file.truncate(size)
    blob = git(world.remote, "-c", "core.bigFileThreshold=1m", "hash-object", "-w", file.name).strip()
    files = git(world.remote, "ls-tree", REF).strip() + f"\n100644 blob {blob}\t{name}\n"
    tree = subprocess.run(["git", "-C", world.remote, "mktree"], input=files, capture_output=True, text=True, check=True).stdout.strip()
    made = git(world.remote, "commit-tree", tree, "-p", REF, "-m", "zeros").strip()
    git(world.remote, "update-ref", REF, made)
    return made


@pytest.mark.parametrize("transport", ["folder", "http"])
def test_a_file_beside_the_store_that_is_too_large_is_refused_and_repair_leaves_it_out(world, transport):
    push_zeros(world, 64 * MB)
    for repo in (world.anna, world.ben):
        repo.bd("config", "set", "sync.max_file", "16m").ok()
    with http_remote(world.remote.parent) as server:
        if transport == "http":
            point(world.anna, f"{server.url}/{world.remote.name}")
        world.anna.create("acknowledged")
        done, seconds, memory = usage(world.anna, "sync", "--json")
        error = is_sync_error(done, "corrupt")
        assert "'zeros'" in error["message"] and "sync.max_file 64m" in error["hint"] and "bd repair --apply" in error["hint"], error
        assert memory < 50 * MB, memory
        world.anna.bd("repair", "--apply").ok()
        sync(world.anna)
    assert {"first", "second", "acknowledged"} <= set(titles(world.anna))
    assert "zeros" not in git(world.remote, "ls-tree", "--name-only", REF).split()
    assert git(world.anna.path, "fsck") == ""
    point(world.anna, str(world.remote))
    world.converges()


def push_files(world, files, parent=None):
    """A commit with these files beside those of the store: name or path, and number of zeros."""
    index = world.remote / "index-of-files"
    index.unlink(missing_ok=True)
    env = {**environment(), "GIT_INDEX_FILE": str(index)}
    with (world.remote / "zeros").open("wb") as file:
        listed = ""
        for name, size in files.items():
            file.truncate(size)
            blob = git(world.remote, "-c", "core.bigFileThreshold=1m", "hash-object", "-w", file.name).strip()
            listed += f"100644 {blob}\t{name}\n"
    subprocess.run(["git", "-C", world.remote, "read-tree", parent or REF], env=env, check=True)
    subprocess.run(["git", "-C", world.remote, "update-index", "--index-info"], env=env, input=listed, text=True, check=True)
    tree = subprocess.run(["git", "-C", world.remote, "write-tree"], env=env, capture_output=True, text=True, check=True).stdout.strip()
    git(world.remote, "update-ref", REF, git(world.remote, "commit-tree", tree, "-p", REF, "-m", "files").strip())
    return at(world.remote)


def limited(world, most):
    for repo in (world.anna, world.ben):
        repo.bd("config", "set", "sync.max_file", most).ok()
    world.anna.create("acknowledged")


def is_repaired(world, *left):
    """The command in the hint leaves the files out, and every clone can work as before."""
    world.anna.bd("repair", "--apply").ok()
    sync(world.anna)
    assert {"first", "second", "acknowledged"} <= set(titles(world.anna))
    assert set(git(world.remote, "ls-tree", "-r", "--name-only", REF).split()) == {*FILES, *left}
    assert git(world.anna.path, "fsck") == ""
    point(world.anna, str(world.remote))
    world.converges()


@pytest.mark.parametrize("transport", ["folder", "http"])
@pytest.mark.parametrize("name", ["x{}", "a/b/x{}"])
def test_files_beside_the_store_that_are_too_large_together_are_refused_and_repair_leaves_them_out(world, name, transport):
    """Each of them is smaller than the limit. Of a folder's files, none is inflated: all would take 72 MB."""
    bad = push_files(world, {name.format(i): 12 * MB + i for i in range(6)})
    limited(world, "16m")
    with http_remote(world.remote.parent) as server:
        if transport == "http":
            point(world.anna, f"{server.url}/{world.remote.name}")
        done, _, memory = usage(world.anna, "sync", "--json")
        error = is_sync_error(done, "corrupt")
        assert f"the files of commit {bad} beside the store have {72 * MB + 15} bytes together" in error["message"], error
        assert f"most of them in '{name.format(5).split('/')[0]}'; at most {16 * MB} are read" in error["message"], error
        assert "sync.max_file 128m" in error["hint"] and error["hint"].endswith("run 'bd repair --apply' to leave that commit out."), error
        assert SANITIZED or memory < 60 * MB, memory
        assert not list((world.anna.path / ".git" / "objects" / "tmp_objdir-abacus").glob("pack/*.pack")) or transport == "http"
        is_repaired(world)


def kept(**keys):
    return {"imported": {"keys": {key: json.dumps(value) for key, value in keys.items()}}}


@pytest.mark.parametrize("members", [
    kept(status="tombstone", deleted_at="2026-01-01T00:00:00Z", deleted_by="anna"), kept(_type="memory", key="deploy", value="Run x"),
    kept(status="closed"), kept(title="another"), kept(labels=["x"]), kept(created_at="2001-01-01T00:00:00Z"), kept(id="bd-b002"),
    {"imported": {"comments": {"ID": json.dumps({"author": "zoe", "text": "never said"})}}},
    {"comments": {"a": "b"}, "issue_type": "bug", "deleted_at": "2026-01-01T00:00:00Z", "dependencies": []},
], ids=["tombstone", "memory", "closed", "title", "labels", "time", "id", "comment", "keys of the export"])
def test_an_export_gives_the_bead_whatever_was_pushed_as_imported_text(world, members):
    """Importing the own export changes nothing, and no key occurs twice."""
    note = world.anna.show(world.first)["notes"][0]["id"]
    world.push_bead(lambda line: line.pop("_v", None) and None or line.update(
        json.loads(json.dumps(members).replace("ID", note)), _at=[line["_at"][0] + 1000, 0], _by="mallory"))
    sync(world.anna)
    before = world.anna.json("list", "--all"), world.anna.json("deleted"), world.anna.json("show", world.first)
    world.anna.bd("export", "-o", "e.jsonl").ok()
    for line in (world.anna.path / "e.jsonl").read_text().splitlines():
        keys = []
        json.loads(line, object_pairs_hook=lambda pairs: keys.append([key for key, _ in pairs]) or dict(pairs))
        assert all(len(set(some)) == len(some) for some in keys), line
    report = world.anna.json("import", "e.jsonl")
    assert (report["created"], report["updated"], report["memories"], report["refused"], report["tombstones"]) == (0, 0, 0, 0, 0), report
    assert (world.anna.json("list", "--all"), world.anna.json("deleted"), world.anna.json("show", world.first)) == before


def test_folders_of_an_absurd_size_are_refused_without_a_size_that_would_be_too_small(world):
    """Each of them has the next one twice, so the sum is 2 to the power of their number."""
    def tree_of(rows):
        return subprocess.run(["git", "-C", world.remote, "mktree"], input=rows, capture_output=True, text=True, check=True).stdout.strip()

    world.anna.create("acknowledged")
    rows = git(world.remote, "ls-tree", REF)
    tree = tree_of(rows)
    for _ in range(96):
        tree = tree_of("".join(f"040000 tree {tree}\t{name}\n" for name in "ab"))
    root = tree_of(rows + f"040000 tree {tree}\tbomb\n")
    bad = git(world.remote, "commit-tree", "-p", REF, "-m", "x", root).strip()
    git(world.remote, "update-ref", REF, bad)
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert f"the files of commit {bad} beside the store have {1 << 50} bytes together" in error["message"], error
    assert error["hint"] == "Your own work is safe. Run 'bd repair --apply' to leave that commit out.", error
    is_repaired(world)


@pytest.mark.parametrize("transport", ["folder", "http"])
def test_files_of_many_commits_that_are_too_large_together_are_refused_and_repair_leaves_them_out(world, transport):
    """Each commit has one large file, which replaces the one before it. A small older file stays."""
    first = push_files(world, {"honest": 10})
    for i in range(6):
        push_files(world, {"x": 6 * MB + i}, parent=first)
    limited(world, "16m")
    with http_remote(world.remote.parent) as server:
        if transport == "http":
            point(world.anna, f"{server.url}/{world.remote.name}")
        done, _, memory = usage(world.anna, "sync", "--json")
        error = is_sync_error(done, "corrupt")
        assert "the files beside the store that were fetched, with 'x' of commit " in error["message"], error
        assert f"bytes together; at most {32 * MB} are read" in error["message"] and "bd repair --apply" in error["hint"], error
        assert SANITIZED or memory < 60 * MB, memory
        world.anna.bd("repair", "--apply").ok()
        sync(world.anna)
    assert {"first", "second", "acknowledged"} <= set(titles(world.anna))
    assert "honest" in git(world.remote, "ls-tree", "--name-only", REF).split()
    point(world.anna, str(world.remote))
    world.converges()


def test_files_that_come_one_after_the_other_are_refused_once_they_are_too_large_together(world):
    """Otherwise a new clone could not fetch what the older clones have fetched in parts."""
    limited(world, "16m")
    push_files(world, {"x0": 12 * MB})
    world.converges()
    push_files(world, {"x1": 12 * MB + 1})
    for repo in (world.anna, world.ben):
        error = is_sync_error(repo.run("sync", "--json"), "corrupt")
        assert f"have {24 * MB + 1} bytes together, most of them in 'x1'" in error["message"], error
    is_repaired(world, "x0")


def test_files_of_two_clones_that_are_too_large_together_are_not_published(world):
    """Both were within the limit. A commit with both would be refused by everybody."""
    before = at(world.remote)
    push_files(world, {"x0": 12 * MB})
    limited(world, "16m")
    sync(world.anna)
    git(world.remote, "update-ref", REF, before)
    push_files(world, {"x1": 12 * MB + 1})
    world.converges()
    assert {"x0", "x1"} & set(git(world.remote, "ls-tree", "--name-only", REF).split()) in ({"x0"}, {"x1"})


def test_many_versions_of_the_files_of_a_store_count_one_by_one(world, tmp_path):
    """The history of a store may be much larger than a file of it."""
    for i in range(6):
        world.push_bead(lambda line: later(line) or line.update(description=f"{i}" * (3 * MB)))
    limited(world, "8m")
    sync(world.anna)
    new = clone(tmp_path / "new", world.remote)
    new.bd("config", "set", "sync.max_file", "8m").ok()
    sync(new)
    assert "first" in titles(new)


def test_many_large_folders_are_refused_early_and_repair_leaves_them_out(world):
    """Twelve commits, each with a folder of 180,000 names: some hundred bytes each as a delta."""
    def write(kind, data):
        return subprocess.run(["git", "-C", world.remote, "hash-object", "-w", "-t", kind, "--stdin"], input=data, capture_output=True,
                              check=True).stdout.decode().strip()
    before, blob = at(world.remote), bytes.fromhex(write("blob", b"x"))
    names = b"".join(b"100644 f%06d\0" % n + blob for n in range(180000))
    files = git(world.remote, "ls-tree", REF).strip()
    for n in range(12):
        folder = write("tree", names + b"100644 g%d\0" % n + blob)
        tree = subprocess.run(["git", "-C", world.remote, "mktree"], input=f"{files}\n040000 tree {folder}\tz\n".encode(), capture_output=True,
                              check=True).stdout.decode().strip()
        git(world.remote, "update-ref", REF, git(world.remote, "commit-tree", tree, "-p", REF, "-m", "names").strip())
    done, seconds, memory = usage(world.anna, "sync", "--json")
    error = is_sync_error(done, "corrupt")
    assert "bytes of names" in error["message"] and "bd repair --apply" in error["hint"], error
    assert memory < 300 * MB, memory
    world.anna.bd("repair", "--apply").ok()
    assert git(world.remote, "merge-base", "--is-ancestor", before, REF) == ""
    world.converges()


def test_a_larger_limit_takes_the_file_over(world):
    push_zeros(world, 2 * MB)
    world.anna.bd("config", "set", "sync.max_file", "1m").ok()
    assert "sync.max_file 2m" in world.anna.fails("sync")["hint"]
    world.anna.bd("config", "set", "sync.max_file", "2m").ok()
    sync(world.anna)
    assert "zeros" in git(world.remote, "ls-tree", "--name-only", REF).split()


def test_a_new_clone_of_an_unusable_commit_replaces_nothing(world, tmp_path):
    """The commits before the unusable one are published again, and joined with the clone's own work."""
    push_zeros(world, 300 * MB)
    new = clone(tmp_path / "new", world.remote)
    new.create("work of the new clone")
    for word in ("sync",), ("repair",):
        done = new.run(*word, "--json")
        assert "--force" not in done.out + done.err, done
    new.bd("repair", "--apply").ok()
    sync(new)
    assert {"first", "second", "work of the new clone"} <= set(titles(new))


def test_many_edges_at_one_bead_and_long_chains_are_linear(world):
    """20,000 blockers of one bead, a chain of 10,000 parents, and a cycle of as many, in every view."""
    stamp = [1, 0]

    def edge(a, b, kind):
        return {"_at": stamp, "_by": "m", "created_at": stamp, "created_by": "m", "from": a, "kind": kind, "to": b}

    def edit(files):
        ids = [f"bd-n{i:05}" for i in range(20000)]
        beads = [json.loads(line) for line in files["state.jsonl"].splitlines()]
        beads += [{"_at": stamp, "_by": "m", "created_at": stamp, "created_by": "m", "id": id, "priority": 2,
                   "status": "open", "title": "t", "type": "task"} for id in ids]
        edges = [json.loads(line) for line in files["deps.jsonl"].splitlines()]
        edges += [edge("bd-n00000", id, "blocks") for id in ids[1:]]
        edges += [edge(a, b, "parent") for a, b in zip(ids, ids[1:] + ids[10000:10001])]
        return {**files,
                "state.jsonl": "".join(canonical(b) + "\n" for b in sorted(beads, key=lambda b: b["id"])),
                "deps.jsonl": "".join(canonical(e) + "\n" for e in sorted(
                    edges, key=lambda e: (e["from"], e["to"], e["kind"])))}
    world.push(edit)
    done, seconds, memory = usage(world.anna, "sync", "--json")
    assert done.code == 0, done.out
    assert memory < 300 * MB and seconds < patience(20), (seconds, memory)
    for view in ("validate", "graph", "graph bd-n00000", "graph bd-n19999", "graph --all --format dot",
                 "dep tree bd-n00000", "dep tree bd-n00000 --format mermaid", "dep tree bd-n15000 --direction up",
                 "dep cycles", "why bd-n00000", "blocked -n 0", "epic status", "list --tree -n 0"):
        done, seconds, memory = usage(world.anna, *view.split())
        assert memory < 300 * MB and seconds < patience(5), (view, seconds, memory)
    ready = world.anna.ids("ready", "-n", "0")
    assert "bd-n00001" in ready and "bd-n00000" not in ready and "bd-n15000" not in ready


def test_an_id_that_cannot_grow_still_has_somewhere_to_go(world):
    """Two lineages of an id of 200 bytes: the one that has to move gets a valid id."""
    long = "bd-" + "x" * 197

    def bead(created, by):
        return {"_at": [created, 0], "_by": by, "created_at": [created, 0], "created_by": by, "id": long,
                "priority": 2, "status": "open", "title": f"by {by}", "type": "task"}

    def with_bead(b):
        return lambda files: {**files, "state.jsonl": "".join(sorted(
            [line + "\n" for line in files["state.jsonl"].splitlines() if json.loads(line)["id"] != long]
            + [canonical(b) + "\n"], key=lambda line: json.loads(line)["id"]))}
    world.push(with_bead(bead(1000, "a")))
    sync(world.anna)
    world.push(with_bead(bead(2000, "b")))
    sync(world.anna)
    drop_cache(world.anna)
    assert {"by a", "by b"} <= set(titles(world.anna))
    world.converges()


# --- what commands write ---

def test_a_command_refuses_to_make_a_bead_larger_than_others_would_read(world):
    world.push_bead(lambda line: later(line) or line.update(notes=[
        {"at": [1, i], "author": "m", "content": "x", "id": f"n{i:05}"} for i in range(10000)]), title="second")
    sync(world.anna)
    error = world.anna.fails("comment", world.second, "one more")
    assert error["code"] == "invalid_argument" and "10001 comments" in error["message"], error
    labels = [f"l{i}" for i in range(1001)]
    error = world.anna.fails("create", "labels", "-l", ",".join(labels))
    assert "1001 labels" in error["message"] or "1000" in error["message"], error
    for i in range(7):
        world.anna.bd("comment", world.first, "-f", "-", stdin=b"x" * MB).ok()
    error = world.anna.fails("comment", world.first, "-f", "-", stdin=b"x" * MB)
    assert "bytes" in error["message"] and world.first in error["hint"], error
    world.converges()


# --- the same in the other stores ---

@pytest.mark.parametrize("depth, fits", [(63, True), (64, False), (97, False)])
def test_metadata_in_vybe_is_nested_no_deeper_than_readers_accept(plain_repo, depth, fits):
    plain_repo.__class__ = Vybe
    done = plain_repo.vybe("push", "--json", json.dumps(
        {"event": {"kind": "progress", "message": "m", "metadata": {"x": nested(depth)}}}))
    assert done["success"] == fits, done
    if not fits:
        assert "nested" in done["error"], done
    plain_repo.ok("events", "list", agent=None, request=False)
    plain_repo.resume()


# --- checks ---

def chain(count):
    """Many beads, each blocked by the next one."""
    def edit(files):
        edges = [canonical({"_at": [5, 0], "_by": "m", "created_at": [5, 0], "created_by": "m", "from": f"zz-{n:07}",
                            "kind": "blocks", "to": f"zz-{n + 1:07}"}) + "\n" for n in range(count - 1)]
        return {**with_lines([plain(f"zz-{n:07}") for n in range(count)])(files),
                "deps.jsonl": files["deps.jsonl"] + "".join(edges)}
    return edit


def test_validate_and_doctor_take_a_small_multiple_of_the_files(world):
    world.push(chain(30_000))
    sync(world.anna)
    size = sum(len(text) for text in published(world.remote).values())
    for _ in range(2):  # the second time with a change that is not published
        done, _, memory = usage(world.anna, "validate", "--json")
        assert done.code == 0 and memory < 8 * size + 16 * MB, (memory // MB, size // MB)
        done, _, memory = usage(world.anna, "doctor", "--json")
        assert done.code == 0 and memory < 12 * size + 16 * MB, (memory // MB, size // MB)
        world.anna.create("not published")


def test_a_list_takes_little_more_memory_than_its_text(world):
    world.push(chain(30_000))
    sync(world.anna)
    done, _, memory = usage(world.anna, "list", "--limit", "0", "--json")
    assert len(done.json) > 30_000 and memory < 2 * len(done.out) + 16 * MB, (memory // MB, len(done.out) // MB)


def test_a_dense_graph_of_parents_costs_a_writer_as_much_as_it_has_edges(world):
    """A parent edge between every two of 250 beads: 31,000 edges. Each used to be read once per bead."""
    def edit(files):
        beads = [json.loads(text) for text in files["state.jsonl"].splitlines()]
        ids = [world.first] + [f"zz-{n:03}" for n in range(250)]
        made = [{**beads[0], "id": name, "title": name} for name in ids[1:]]
        edge = json.loads(files["deps.jsonl"].splitlines()[0])
        edges = [edge] + [{**edge, "from": ids[a], "to": ids[b], "kind": "parent"} for a in range(251) for b in range(a + 1, 251)]
        return {**files, "state.jsonl": "".join(canonical(n) + "\n" for n in sorted(beads + made, key=lambda n: n["id"])),
                "deps.jsonl": "".join(canonical(n) + "\n" for n in sorted(edges, key=lambda n: (n["from"], n["to"], n["kind"])))}
    world.push(edit)
    sync(world.anna)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for line in ("close --force", "reopen", "delete --yes", "undelete"):
        world.anna.bd(*line.split(), world.first).ok()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 5, "processor time, not the clock: it was 11 s"
    assert_sound(world.anna)


def test_parents_below_a_long_chain_read_the_chain_once(world):
    """Each of these edges used to read all ancestors, in memory that was kept: 500 of them stopped the sync for good. These took 332 MB."""
    def below(heads):
        edge = {"_at": [5, 0], "_by": "m", "created_at": [5, 0], "created_by": "m", "kind": "parent"}
        edges = [{**edge, "from": f"zz-{n:07}", "to": f"zz-{n + 1:07}"} for n in range(6000 - 1)]
        edges += [{**edge, "from": f"zy-{n:07}", "to": "zz-0000000"} for n in range(heads)]
        edges += [{**edge, "from": f"zx-{n:07}", "to": f"zy-{n:07}"} for n in range(heads)]
        names = [f"z{x}-{n:07}" for x in "xy" for n in range(heads)] + [f"zz-{n:07}" for n in range(6000)]

        def edit(files):
            mine = [line for line in files["deps.jsonl"].splitlines(True) if '"from":"z' not in line]
            old = [line for line in files["state.jsonl"].splitlines(True) if '"id":"z' not in line]
            return {**with_lines([plain(name) for name in names])({**files, "state.jsonl": "".join(old)}),
                    "deps.jsonl": "".join(sorted(mine + [canonical(e) + "\n" for e in edges],
                                                 key=lambda line: [json.loads(line)[k] for k in ("from", "to", "kind")]))}
        return edit
    world.push(below(0))
    sync(world.anna)
    world.push(below(400))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done, _, memory = usage(world.anna, "sync")
    assert done.code == 0 and memory < 160 * MB, (memory // MB, done.err)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 5, "processor time"
    assert_sound(world.anna)


def test_many_parents_at_the_end_of_a_chain_take_memory_in_proportion_to_them(world):
    """The search for cycles pushed each of them to a stack that was full, and copied the stack. These took 326 MB."""
    path, ends = [f"zy-{n:06}" for n in reversed(range(4097))], [f"zz-{n:06}" for n in range(8000)]
    edge = {"_at": [5, 0], "_by": "m", "created_at": [5, 0], "created_by": "m", "kind": "parent"}
    edges = [{**edge, "from": a, "to": b} for a, b in zip(path, path[1:])] + [{**edge, "from": path[-1], "to": b} for b in ends]
    world.push(lambda files: {**with_lines([plain(name) for name in sorted(path) + ends])(files), "deps.jsonl": "".join(
        files["deps.jsonl"].splitlines(True) + sorted((canonical(e) + "\n" for e in edges), key=lambda line: line.partition('"from"')[2]))})
    for command in "sync", "list":
        done, _, memory = usage(world.anna, command)
        assert done.code == 0 and memory < 100 * MB, (command, memory // MB, done.err)
        drop_cache(world.anna)


def test_the_text_of_neighbours_is_not_held_in_memory(world):
    """Eight edges to each of ten beads with a description of 2 MB; none of it is shown."""
    kinds = ("blocks", "parent", "related", "discovered_from")
    def edit(files):
        beads = [json.loads(text) for text in files["state.jsonl"].splitlines()]
        made = [{**beads[0], "id": f"zz-{n}", "title": f"large {n}", "description": "d" * (2 * MB)} for n in range(10)]
        edge = json.loads(files["deps.jsonl"].splitlines()[0])
        edges = [{**edge, "from": here, "to": there, "kind": kind} for bead in made for kind in kinds
                 for here, there in ((world.first, bead["id"]), (bead["id"], world.first))]
        both = {"state.jsonl": beads + made, "deps.jsonl": edges}
        key = {"state.jsonl": lambda n: n["id"], "deps.jsonl": lambda n: (n["from"], n["to"], n["kind"])}
        return {**files, **{name: "".join(canonical(n) + "\n" for n in sorted(lines, key=key[name])) for name, lines in both.items()}}
    world.push(edit)
    sync(world.anna)
    for line in "show", "why", "dep tree":
        done, seconds, memory = usage(world.anna, *line.split(), world.first)
        assert done.code == 0 and "zz-0" in done.out, done
        assert memory < 40 * MB, (line, memory)
    done, seconds, memory = usage(world.anna, "dep", "list", world.first, "--json")
    assert len(done.out) > 80 * MB and memory < 1.25 * len(done.out), (memory // MB, len(done.out) // MB)


def test_a_sync_of_many_large_lines_takes_a_small_multiple_of_the_file(world):
    world.push(with_lines(plain(f"zz-{n:02}", description="x" * MB) for n in range(20)))
    done, _, memory = usage(world.anna, "sync", "--json")
    assert done.code == 0 and memory < 4 * 20 * MB + 32 * MB, memory // MB
    world.converges()


def in_32_mb(repo, *args, **env):
    script = ("import os, resource, sys\n"
              "resource.setrlimit(resource.RLIMIT_AS, (32 << 20, 32 << 20))\n"
              "os.execv(sys.argv[1], sys.argv[1:])\n")
    return subprocess.run([sys.executable, "-c", script, str(BIN / "bd"), *args], timeout=60, cwd=repo.path,
                          capture_output=True, env=environment(**repo.env, **env))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_command_without_memory_reports_it_and_exits_normally(world):
    world.push(chain(30_000))
    sync(world.anna)
    done = in_32_mb(world.anna, "graph")
    assert done.returncode == 71 and b"error: out of memory" in done.stderr and not done.stdout, done


@pytest.mark.skipif(sys.platform != "linux" or "asan" in str(BIN), reason="the limit is one of Linux, and of ASan's")
@pytest.mark.parametrize("command", ["list", "ready", "search", "export"])
def test_a_list_for_programs_needs_no_memory_for_its_length(world, command):
    """It is complete before its first byte is printed, so it is kept in a file. Without one, it is kept in memory."""
    world.push(with_lines([plain(f"zz-{n:07}") for n in range(30_000)]))
    sync(world.anna)
    words = {"search": ["search", "zz", "--limit", "0", "--json"], "export": ["export"]}.get(
        command, [command, "--limit", "0", "--json"])
    whole = world.anna.run(*words, env={"TMPDIR": "/nonexistent"})
    done = in_32_mb(world.anna, *words)
    assert done.returncode == 0 and done.stdout.decode() == whole.out, done.stderr
    assert len(json.loads(done.stdout) if command != "export" else done.stdout.splitlines()) >= 30_000


@pytest.mark.skipif(sys.platform != "linux" or "asan" in str(BIN), reason="the limit is one of Linux, and of ASan's")
def test_a_sync_without_memory_reports_it_and_exits_normally(world):
    """Even if the sync program cannot be started."""
    world.anna.create("x")
    seen = set()
    for kilobytes in range(6000, 16000, 2000):
        done = subprocess.run(["/bin/sh", "-c", f'ulimit -v {kilobytes}; exec "$0" sync --json', str(BIN / "bd")], timeout=60,
                              cwd=world.anna.path, capture_output=True, env=environment(**world.anna.env))
        assert done.returncode in (0, 71), (kilobytes, done)
        assert done.returncode == 0 or (b"error: out of memory" in done.stderr and not done.stdout), (kilobytes, done)
        seen.add(done.returncode)
    assert 71 in seen


# --- repair ---

def test_repair_of_a_million_damaged_lines_costs_little_and_lists_some(world):
    world.push(lambda files: {**files, "deps.jsonl": "[]\n" * 1_000_000})
    done, seconds, memory = usage(world.anna, "sync", "--json")
    assert is_sync_error(done, "corrupt")["details"]["file"] == "deps.jsonl" and memory < 300 * MB, memory
    done, seconds, memory = usage(world.anna, "repair", "--apply", "--json")
    assert done.code == 0 and memory < 300 * MB and seconds < patience(20), (done.out[:200], seconds, memory)
    told = done.json
    assert told["set_aside"] == 1_000_000 and sum(len(c["lines"]) for c in told["commits"]) == 1000
    world.converges()


def plain(name, **more):
    """A bead that Mallory made, as a line of state.jsonl."""
    return spelled({"_at": [5, 0], "_by": "m", "created_at": [5, 0], "created_by": "m", "id": name, "priority": 2,
                    "status": "open", "title": "t", "type": "task", **more})


def with_lines(lines):
    """Lines that sort after all others."""
    return lambda files: {**files, "state.jsonl": files["state.jsonl"] + "".join(lines)}


def repaired(world):
    """The report of a repair, its memory, and a clone that still works."""
    is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    done, _, memory = usage(world.anna, "repair", "--json")
    assert done.code == 0 and not done.json["applied"], done.out[:200]
    done, _, applying = usage(world.anna, "repair", "--apply", "--json")
    assert done.code == 0 and done.json["applied"], done.out[:200]
    world.converges()
    return done.json, max(memory, applying)


def test_repair_joins_a_line_that_is_there_very_often_and_lists_it_once(world):
    world.push(with_lines([plain("zz-1")] * 100_000))
    told, memory = repaired(world)
    [line] = told["commits"][0]["lines"]
    assert line["action"] == "rewritten" and "100000 times" in line["why"], line
    assert not told["set_aside"] and memory < 150 * MB, memory // MB


def test_repair_joins_different_lines_of_one_bead_in_little_memory(world):
    notes = [{"at": [6, n], "author": "m", "content": f"note {n}", "id": f"{n:012x}"} for n in range(15_000)]
    world.push(with_lines(plain("zz-1", _at=note["at"], notes=[note]) for note in notes))
    told, memory = repaired(world)
    assert memory < 200 * MB, memory // MB
    assert len(world.anna.json("comments", "zz-1")) == len(notes)


def test_repair_of_many_sound_lines_and_a_bad_one_takes_a_small_multiple_of_the_file(world):
    world.push(with_lines([plain(f"zz-{n:07}") for n in range(20_000)] + ["{}\n"]))
    told, memory = repaired(world)
    assert told["set_aside"] == 1 and memory < 40 * MB, memory // MB


def test_repair_sorts_lines_and_keeps_every_bead_that_was_given_one_id(world):
    lines = [plain("zz-3"), plain("zz-1", created_by="n", title="other"), plain("zz-2"), plain("zz-1")]
    world.push(with_lines(lines))
    told, _ = repaired(world)
    assert not told["set_aside"]
    mine = [(bead["id"], bead["title"]) for bead in world.anna.json("list", "--limit", "0") if bead["id"] > "zz"]
    assert {("zz-1", "t"), ("zz-2", "t"), ("zz-3", "t")} < set(mine) and len(mine) == 4, mine


def test_repair_lists_a_rewritten_meta_json(world):
    files = published(world.remote)
    meta = {**json.loads(files["meta.json"]), "checksums": {"state.jsonl": "0" * 64}}
    git(world.remote, "update-ref", REF, commit(world.remote, {**files, "meta.json": canonical(meta).encode() + b"\n"},
                                                at(world.remote)))
    is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    told = world.anna.json("repair", "--apply")
    assert [(line["file"], line["action"]) for line in told["commits"][0]["lines"]] == [("meta.json", "rewritten")], told
    world.converges()


def test_repair_does_not_change_a_later_format(world):
    files = published(world.remote)
    meta = {**json.loads(files["meta.json"]), "format_version": 2}
    later_version = commit(world.remote, {**files, "meta.json": canonical(meta).encode() + b"\n"}, at(world.remote))
    git(world.remote, "update-ref", REF, later_version)
    for command in ("sync", "repair", "repair --apply"):
        error = is_sync_error(world.anna.run(*command.split(), "--json"), "corrupt")
        assert "version 2" in error["message"], error
    assert "Install a newer version" in error["hint"] and at(world.remote) == later_version, error
    world.usable(world.anna)


def test_two_commits_that_cannot_be_joined_stop_the_sync_and_do_not_change_the_clone(world):
    """Each can be read alone; joined, they make a line that no clone could read."""
    def notes(name):
        return lambda line: later(line) or line.update(notes=[
            {"at": [1, i], "author": "m", "content": "x" * (3 * MB), "id": f"{name}{i}"} for i in range(9)])
    tip = at(world.remote)
    world.push_bead(notes("a"), title="second")
    sync(world.anna)
    good = at(world.remote)
    git(world.remote, "update-ref", REF, tip)
    evil = world.push_bead(notes("b"), title="second")
    git(world.remote, "update-ref", REF, evil)
    here = at(world.anna.path)
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert world.second in error["message"], error
    assert at(world.anna.path) == here, "nothing was written that cannot be read"
    world.usable(world.anna)
    git(world.remote, "update-ref", REF, good)
    world.converges()


def test_repair_of_a_clone_never_replaces_the_history_of_a_sound_remote(world):
    broken = commit(world.anna.path, summed({**published(world.anna.path), "deps.jsonl": b"[]\n"}), at(world.anna.path))
    world.ben.create("of ben")
    sync(world.ben)
    tip = at(world.remote)
    git(world.anna.path, "update-ref", REF, broken)
    world.anna.bd("repair", "--apply").ok()
    git(world.remote, "merge-base", "--is-ancestor", tip, REF)
    world.converges()
    assert "of ben" in titles(world.anna)


@pytest.mark.parametrize("damaged", [1, 3])
def test_repair_keeps_lines_published_before_the_damage_and_never_fetched(world, damaged):
    """A damaged commit that dropped a line used to make a repair lose it, if the repairing clone had not fetched the
    line before."""
    new = world.ben.create("of ben")
    world.ben.bd("claim", new).ok()
    sync(world.ben)
    for _ in range(damaged):
        world.push(lambda files: {**files, "state.jsonl": "{]\n" + "".join(
            line for line in files["state.jsonl"].splitlines(True) if new not in line and "{]" not in line)})
    world.anna.bd("repair", "--apply").ok()
    sync(world.anna)
    assert world.anna.json("show", new)[0]["assignee"], "the claim is kept"
    world.converges()
    assert "of ben" in titles(world.ben)


def test_an_undo_that_force_cannot_help_names_a_command_that_does(world):
    """Another actor deleted the bead, or its id was reused: the hint used to be 'bd undo --force', which failed with
    the same hint."""
    anna = world.anna
    anna.bd("update", world.first, "--title", "mine").ok()
    sync(anna)
    sync(world.ben)
    world.ben.bd("delete", world.first, "--yes").ok()
    sync(world.ben)
    sync(anna)
    for options in ([], ["--force"]):
        error = anna.run("undo", "--json", *options).json["error"]
        assert error["code"] == "cas_mismatch" and "ben deleted" in error["message"], error
    run_command(anna, command_of(error["hint"], "bd undelete")).ok()
    assert "mine" in titles(anna)


def test_an_undo_of_a_bead_whose_id_was_taken_names_the_other_bead(world):
    anna = world.anna
    anna.bd("update", world.first, "--title", "mine").ok()
    sync(anna)
    world.push_bead(lambda line: line.update(created_at=[1, 0], created_by="eve"), "mine")
    sync(anna)
    for options in ([], ["--force"]):
        error = anna.run("undo", "--json", *options).json["error"]
        assert "eve created another bead" in error["message"] and "--force" not in error["hint"], error
        assert "eve" in run_command(anna, command_of(error["hint"], "bd show")).ok().out


def test_a_newer_format_is_named_with_a_way_back(world):
    """No version has to exist that supports it: any number stops the sync."""
    acked = world.anna.create("acked")
    world.push(lambda files: {**files, "meta.json": files["meta.json"].replace('"format_version":1', '"format_version":2')})
    error = world.anna.fails("sync")
    assert "version 2" in error["message"] and "bd repair" in error["hint"]
    error = world.anna.fails("repair", "--apply")
    command = error["hint"].rpartition(": ")[2]
    assert command == f"git push --force origin {REF}"
    git(world.anna.path, *command.split()[1:])
    sync(world.anna)
    assert acked in [b["id"] for b in world.anna.json("list")] and acked in published(world.remote)["state.jsonl"].decode()


def push_chain(world, parent, files, count):
    """That many commits, each with another reason of the one deletion."""
    dead = json.loads(files["tombstones.jsonl"].splitlines()[0])
    importer = subprocess.Popen(["git", "fast-import", "--quiet", "--force"], cwd=world.remote, stdin=subprocess.PIPE)
    for n in range(count):
        importer.stdin.write(f"commit {REF}\ncommitter x <x@x> {1700000000 + n} +0000\ndata 1\nx\n".encode())
        importer.stdin.write(f"from {parent}\n".encode() if not n else b"")
        tombstones = canonical({**dead, "reason": f"r{n}"}) + "\n"
        for name, text in summed({**{name: text.encode() for name, text in files.items()}, "tombstones.jsonl": tombstones.encode()}).items():
            importer.stdin.write(f"M 100644 inline {name}\ndata {len(text)}\n".encode() + text + b"\n")
    importer.stdin.close()
    assert importer.wait() == 0


def test_looking_for_lost_beads_costs_as_much_as_the_commits_have_text(tmp_path):
    """Not commits times beads: small commits that lack all beads are cheap to push."""
    def processor_time(count):
        world = copy_world(World, tmp_path / str(count))
        small = {name: text.decode() for name, text in published(world.remote).items()}
        one = {key: value for key, value in json.loads(small["state.jsonl"].splitlines()[0]).items() if key not in ("notes", "_v")}
        world.push(lambda files: {**files, "state.jsonl": files["state.jsonl"] + "".join(
            canonical({**one, "id": f"bd-z{n:06}", "title": "t"}) + "\n" for n in range(20000))})
        sync(world.anna)
        push_chain(world, at(world.remote), small, count)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        world.anna.bd("sync", "--timeout", "10m", timeout=600).ok()
        took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        assert published(world.remote)["state.jsonl"].decode().count('"id":"bd-z0') == 20000
        return took

    assert processor_time(600) < 4 * processor_time(6)


def without(files, bead):
    return {**files, "state.jsonl": "".join(line + "\n" for line in files["state.jsonl"].splitlines() if f'"id":"{bead}"' not in line)}


@pytest.mark.parametrize("between", [False, True], ids=["at once", "one commit at a time"])
def test_a_bead_is_restored_even_if_its_deletion_was_dated_back_and_then_removed(world, between):
    """Old deletions are removed, and the date of a deletion is whatever its author wrote."""
    long_ago = str(int(time.time() * 1000) - 30 * 86400000)
    bead = world.anna.json("create", "old", "--description", "important", env={"ABACUS_NOW": long_ago})["id"]
    world.anna.bd("comment", bead, "a note", env={"ABACUS_NOW": long_ago}).ok()
    sync(world.anna)
    sync(world.ben)
    (line,) = [one for one in map(json.loads, published(world.remote)["state.jsonl"].decode().splitlines()) if one["id"] == bead]
    tombstone = {"bead": line, "deleted_at": [line["_at"][0] + 1, 0], "deleted_by": "eve", "id": bead}
    before = published(world.remote)["tombstones.jsonl"].decode()
    world.push(lambda files: {**without(files, bead), "tombstones.jsonl": "".join(
        canonical(one) + "\n" for one in sorted([*map(json.loads, before.splitlines()), tombstone], key=lambda n: n["id"]))})
    if between:
        sync(world.anna)
        sync(world.ben)
    world.push(lambda files: {**files, "tombstones.jsonl": before})
    sync(world.anna)
    sync(world.ben)
    for repo in (world.anna, world.ben):
        assert [one["change"] for one in repo.json("history", bead)] == ["deleted", "created"]
        assert repo.fails("undelete", "bd-nothing")["code"] == "not_found"
    restored = world.anna.bd("undelete", bead, "--json").ok()
    assert "had been removed" in restored.err
    world.converges()
    shown = world.ben.json("show", bead)
    shown = shown[0] if isinstance(shown, list) else shown
    assert (shown["title"], shown["description"]) == ("old", "important") and shown["notes"][0]["content"] == "a note"


def test_a_bead_that_is_restored_is_not_deleted_any_more(world):
    stamp = [int(time.time() * 1000), 0]
    world.push(lambda files: {**files, "state.jsonl": "", "tombstones.jsonl": canonical(
        {"deleted_at": stamp, "deleted_by": "eve", "id": world.first}) + "\n"})
    sync(world.anna)
    world.anna.bd("undelete", world.first).ok()
    assert world.anna.fails("undelete", world.first)["message"] == f"'{world.first}' is not deleted"


def test_a_dependency_of_an_unknown_kind_is_an_error_until_it_is_removed(world):
    stamp = [int(time.time() * 1000), 0]
    line = {"_at": stamp, "_by": "eve", "created_at": stamp, "created_by": "eve", "from": world.first, "kind": "zz", "to": world.second}
    world.push(lambda files: {**files, "deps.jsonl": "".join(sorted([*files["deps.jsonl"].splitlines(True), canonical(line) + "\n"],
                                                                    key=lambda text: [json.loads(text)[k] for k in ("from", "to", "kind")]))})
    sync(world.anna)
    assert "invalid_field" in world.anna.bd("validate").out
    world.anna.bd("dep", "remove", world.first, world.second).ok()
    sync(world.anna)
    assert world.anna.bd("validate").ok().out == "0 errors, 0 warnings\n"


@pytest.mark.parametrize("name, harm", [
    ("state.jsonl", lambda text: "garbage\n"), ("state.jsonl", lambda text: text * 2), ("deps.jsonl", lambda text: '[]\n{"a"'),
    ("state.jsonl", lambda text: text.replace('"title":"first"', '"title":"first"x'))], ids=["garbage", "twice", "cut", "not JSON"])
def test_a_damaged_commit_in_the_history_is_named_by_diff(world, name, harm):
    """Only the last commit is checked when it is fetched."""
    sound = published(world.remote)
    damaged = world.push(lambda files: {**files, name: harm(files[name])})
    git(world.remote, "update-ref", REF, commit(world.remote, sound, at(world.remote)))
    sync(world.anna)
    error = world.anna.fails("diff", damaged)
    assert name in error["message"] or world.first in error["message"]


def test_a_line_that_is_rewritten_goes_with_its_bead_to_another_id(world):
    """A dependency that is not in normal form, of a later bead under a published id: the merge moves both."""
    now = int(time.time() * 1000)

    def collide(files):
        beads = [json.loads(line) for line in files["state.jsonl"].splitlines()]
        for bead in beads:
            if bead["id"] == world.first:
                bead.update(created_at=[now, 0], created_by="eve", _at=[now, 0], _by="eve", title="later")
                for member in ("notes", "_v"):
                    bead.pop(member, None)
        edge = {"_at": [now + 50, 0], "_by": "eve", "created_at": [now, 0], "created_by": "eve", "deleted_at": [now + 10, 0],
                "deleted_by": "eve", "from": world.first, "kind": "related", "to": world.second}
        edges = sorted([*files["deps.jsonl"].splitlines(), canonical(edge)], key=lambda t: [json.loads(t)[k] for k in ("from", "to", "kind")])
        return {**files, "state.jsonl": "".join(canonical(b) + "\n" for b in beads), "deps.jsonl": "".join(e + "\n" for e in edges)}

    world.push(collide)
    world.converges()
    for repo in (world.anna, world.ben):
        assert repo.json("dep", "list", world.first, "--kind", "related") == []
        assert "ok cache: " in repo.bd("doctor").out


def plant_chain(world, count):
    """Beads that are older than the first one, under its id, under its next id, and so on."""
    first = next(line for line in map(json.loads, published(world.remote)["state.jsonl"].splitlines()) if line["title"] == "first")
    ids = [first["id"]]
    while len(ids) < count:
        ids.append(other_id(ids[-1], first["created_at"], first["created_by"]))

    def change(files):
        lines = [line for line in map(json.loads, files["state.jsonl"].splitlines()) if line["id"] != first["id"]]
        lines += [{"_at": [1000, 0], "_by": "m", "created_at": [1000, 0], "created_by": "m", "id": id, "priority": 2,
                   "status": "open", "title": "planted", "type": "task"} for id in ids]
        return {**files, "state.jsonl": "".join(canonical(line) + "\n" for line in sorted(lines, key=lambda line: line["id"]))}

    world.push(change)
    return other_id(ids[-1], first["created_at"], first["created_by"])


def test_a_bead_that_has_to_move_again_and_again_costs_little(world):
    """Every bead of the chain was loaded twice, and so were those after it: 2^60 times."""
    end = plant_chain(world, 60)
    sync(world.anna)
    sync(world.ben)
    for repo in (world.anna, world.ben):
        assert repo.show(world.first)["remap"][0]["to"] == end
        for args in (("update", world.first, "-p", "1"), ("comment", end, "still here"), ("close", world.first)):
            repo.bd(*args, timeout=patience(5)).ok()
        assert repo.show(end)["title"] == "first"
    world.converges()
    world.anna.bd("delete", world.first, "--yes", timeout=patience(5)).ok()


def test_a_chain_of_ids_does_not_need_a_large_stack(world, tmp_path):
    end = plant_chain(world, 4000)
    small = ["/bin/sh", "-c", 'ulimit -s 300 && exec "$@"', "sh", str(BIN / "bd")]
    new = Repo(tmp_path / "new")
    new.path.mkdir()
    new.env = {"BD_ACTOR": "new"}
    git(new.path, "init", "-q")
    git(new.path, "remote", "add", "origin", str(world.remote))
    for repo, args in ((world.anna, ["sync"]), (world.anna, ["repair"]), (new, ["init"]), (new, ["sync"])):
        done = subprocess.run([*small, *args], cwd=repo.path, env=environment(**repo.env), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert world.anna.show(end)["title"] == new.show(end)["title"] == "first"


def give_away(world, bead, at_ms):
    """A later write by Mallory gives the bead to Eve."""
    def change(line):
        if line["id"] == bead:
            line.update(assignee="eve", assignee_at=[at_ms, 0], assignee_expires=at_ms + 3600_000)
            line["_v"] = {**line.get("_v", {}), "assignee": [[at_ms, 0], "mallory"]}
            for register in REGISTERS:
                line["_v"].setdefault(register, [line["_at"], line["_by"]])
    world.push(each(change))


@pytest.mark.parametrize("moves", [1, 100])
@pytest.mark.parametrize("flags", [[], ["--exclusive"]], ids=["ordinary", "exclusive"])
def test_the_loss_of_a_claim_is_reported_although_its_bead_moved_to_another_id(world, flags, moves):
    [claim] = world.anna.json("claim", world.first, *flags)
    sync(world.anna)
    end = plant_chain(world, moves)
    assert "lost_claims" not in sync(world.anna)
    assert world.anna.show(end)["assignee"] == "anna"
    give_away(world, end, claim["epoch"][0] + 1000)
    [lost] = sync(world.anna)["lost_claims"]
    assert (lost["id"], lost["title"], lost["holder"], lost["epoch"], lost["to"]) == (end, "first", "anna", claim["epoch"], "eve")
    assert f"the claim of anna on '{end}' is lost" in world.anna.bd("list").ok().err
    assert "lost_claims" not in sync(world.anna)


def test_a_claim_that_was_given_up_under_the_new_id_is_not_lost(world):
    [claim] = world.anna.json("claim", world.first)
    sync(world.anna)
    end = plant_chain(world, 1)
    sync(world.anna)
    world.anna.json("unclaim", end)
    sync(world.anna)
    give_away(world, end, claim["epoch"][0] + 60_000)
    assert "lost_claims" not in sync(world.anna)


def test_a_claim_of_the_bead_that_took_the_id_is_a_claim_of_its_own(world):
    """The agent has claimed both beads that were given one id."""
    [claim] = world.anna.json("claim", world.first)
    sync(world.anna)
    end = plant_chain(world, 1)
    sync(world.anna)
    [other] = world.anna.json("claim", world.first)
    sync(world.anna)
    give_away(world, end, claim["epoch"][0] + 60_000)
    give_away(world, world.first, other["epoch"][0] + 60_000)
    assert sorted((lost["id"], lost["title"]) for lost in sync(world.anna)["lost_claims"]) == sorted(
        [(end, "first"), (world.first, "planted")])
