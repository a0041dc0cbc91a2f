"""Beads at the limits. An acknowledged write can always be published. A join that would exceed a limit is refused
before anything changes, and `bd repair --apply` keeps both versions."""
import json

import pytest

from bead_harness import assert_sound, drop_cache
from beads import append, canonical
from conftest import git
from remotes import REF, at, clone, copy_world, is_sync_error, published, same_everywhere, sync
from test_pushed_commits import MB, World, later
from vybe import Vybe

VALUES = 256 << 10


def notes(name, count=20000):
    """The most notes that a bead may have, as a change to its line."""
    return lambda line: line.update(
        notes=[{"at": [1, i], "author": "m", "content": "x", "id": f"{name}{i:05}"} for i in range(count)])


def values(line, count=VALUES):
    """As many JSON values as a line may have."""
    def total(value):
        parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        return len(parts) + sum(map(total, parts))
    line["x"] = []
    line["x"] = [0] * (count - total(line))


def full(line):
    """A line of exactly 32 MiB."""
    line["x"] = ""
    line["x"] = "y" * (32 * MB - len(canonical(line)))


def members(line):
    line.update({f"x{i:05}": i for i in range(9999)})


LARGE = {"20,000 notes": notes("p"), "262,144 values": values, "32 MiB": full}


class Crowded(World):
    """With a bead that has only a title, for Mallory to change."""

    def __init__(self, path):
        super().__init__(path)
        self.bead = self.anna.create("third")
        sync(self.anna)
        sync(self.ben)

    def push_third(self, change):
        return self.push_bead(lambda line: later(line) or change(line), title="third")


@pytest.fixture
def world(tmp_path):
    return copy_world(Crowded, tmp_path)


def journal(repo):
    return {path.name: path.read_bytes() for path in repo.home.glob("journal.*")}


def holders(repo, text):
    """The ids of beads that have this comment."""
    return [bead["id"] for bead in repo.json("list", "--all", "-n", "0")
            if text in [note["text"] for note in repo.json("comments", bead["id"])]]


def is_refused(repo, bead):
    """The sync is refused, the error names the place, and nothing has changed locally."""
    before, here = journal(repo), at(repo.path)
    error = is_sync_error(repo.run("sync", "--json"), "corrupt")
    assert error["details"]["file"] in ("state.jsonl", "tombstones.jsonl") and error["details"]["line"] > 0, error
    assert bead in error["message"] and "bd repair --apply" in error["hint"], error
    assert (journal(repo), at(repo.path)) == (before, here)
    assert repo.json("validate")["findings"] == []


# --- what was written here and what others pushed are too large together ---

@pytest.mark.parametrize("what", LARGE)
def test_a_join_that_does_not_fit_is_refused_before_anything_changes(world, what):
    world.anna.bd("comment", world.bead, "mine").ok()
    tip = at(world.remote)
    world.push_third(LARGE[what])
    is_refused(world.anna, world.bead)
    world.anna.bd("comment", world.bead, "mine as well").ok()
    world.anna.bd("update", world.bead, "--priority", "0").ok()
    drop_cache(world.anna)
    git(world.remote, "update-ref", REF, tip)
    sync(world.anna)
    world.converges()
    assert holders(world.ben, "mine") == holders(world.ben, "mine as well") == [world.bead]


@pytest.mark.parametrize("what", ["20,000 notes", "262,144 values"])
def test_repair_keeps_the_local_version_as_another_bead(world, what):
    """Both clones have comments that are in no commit; both are in the one copy afterwards."""
    for repo in (world.anna, world.ben):
        repo.bd("comment", world.bead, f"of {repo.path.name}").ok()
    world.push_third(LARGE[what])
    pushed = [line for line in published(world.remote)["state.jsonl"].splitlines() if world.bead.encode() in line][0]
    for repo in (world.anna, world.ben):
        is_refused(repo, world.bead)
        before = journal(repo)
        told = repo.json("repair")
        assert (told["damaged"], told["applied"], journal(repo)) == (1, False, before)
        line = told["commits"][0]["lines"][0]
        assert (line["file"], line["action"]) == ("state.jsonl", "kept_as") and line["line"] > 0, line
        assert repo.json("repair", "--apply")["applied"]
        sync(repo)
    world.converges()
    copies = holders(world.anna, "of anna")
    assert len(copies) == 1 and copies == holders(world.ben, "of ben") and copies != [world.bead], copies
    assert copies[0] in line["why"]
    assert world.anna.show(copies[0])["title"] == "third"
    assert pushed in published(world.remote)["state.jsonl"].splitlines(), "the id is the pushed bead's"
    assert world.anna.json("repair")["damaged"] == 0


def test_a_bead_that_was_deleted_here_stays_deleted(world):
    world.anna.bd("comment", world.bead, "mine").ok()
    world.anna.bd("delete", world.bead, "--yes").ok()
    world.push_third(notes("p"))
    is_refused(world.anna, world.bead)
    world.anna.bd("repair", "--apply").ok()
    world.converges()
    assert world.ben.fails("show", world.bead)["code"] == "deleted"
    gone = [bead["id"] for bead in world.ben.json("deleted") if bead["title"] == "third" and bead["id"] != world.bead]
    world.ben.bd("undelete", *gone).ok()
    assert holders(world.ben, "mine") == gone


def test_commits_that_cannot_be_joined_with_each_other_are_repaired_in_every_clone(world):
    """The second commit lacks what the first one published."""
    tip = at(world.remote)
    world.push_third(notes("a"))
    sync(world.anna)
    world.ben.bd("comment", world.bead, "of ben").ok()
    git(world.remote, "update-ref", REF, tip)
    world.push_third(notes("b"))
    for repo in (world.anna, world.ben):
        is_refused(repo, world.bead)
        world.usable(repo)
        repo.bd("repair", "--apply").ok()
        sync(repo)
    world.converges()
    copies = holders(world.anna, "of ben")
    assert len(copies) == 1 and copies != [world.bead]
    counts = {bead["id"]: len(world.anna.json("comments", bead["id"])) for bead in world.anna.json("list")}
    assert counts[world.bead] == 20000 and sorted(counts.values())[-2] == 20000, counts


def test_a_clone_that_joined_too_much_in_the_past_is_repaired(world):
    """Older versions wrote this to the journal, and could never sync again."""
    tip = at(world.remote)
    world.push_third(notes("p"))
    sync(world.anna)
    line = [json.loads(line) for line in published(world.remote)["state.jsonl"].splitlines() if b"p00000" in line][0]
    stamp = [line["_at"][0] + 5, 0]
    append(world.anna, {"beads": [{
        **{key: line[key] for key in ("id", "created_at", "created_by")}, "title": "mine", "_v": {"title": [stamp, "anna"]},
        "notes": [{"at": stamp, "author": "anna", "content": "mine", "id": "mine"}]}]})
    git(world.remote, "update-ref", REF, tip)
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert "bd repair --apply" in error["hint"], error
    assert world.anna.json("repair", "--apply")["applied"]
    sync(world.anna)
    world.converges()
    copy, = holders(world.ben, "mine")
    assert world.ben.show(copy)["title"] == "mine" and world.ben.show(world.bead)["title"] == "third"
    world.anna.bd("delete", world.bead, "--yes").ok()
    sync(world.anna)


def test_lines_of_one_commit_that_are_too_large_together_are_set_aside(world, tmp_path):
    """The bead is in both files, with different notes in each."""
    def twice(files):
        lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
        bead = [line for line in lines if line["title"] == "third"][0]
        dead = {**bead}
        notes("a")(dead)
        notes("b")(bead)
        buried = [json.loads(line) for line in files["tombstones.jsonl"].splitlines()]
        buried.append({"id": bead["id"], "deleted_at": [2, 0], "deleted_by": "m", "bead": {**dead, "_at": [1, 19999]}})
        def text(some):
            return "".join(canonical(line) + "\n" for line in sorted(some, key=lambda line: line["id"]))
        return {**files, "state.jsonl": text(lines), "tombstones.jsonl": text(buried)}
    world.push(twice)
    carl = clone(tmp_path / "carl", None)
    git(carl.path, "remote", "add", "origin", str(world.remote))
    for repo in (world.anna, carl):
        is_sync_error(repo.run("sync", "--json"), "corrupt")
        assert repo.json("validate")["findings"] == []
    assert world.anna.json("repair", "--apply")["applied"]
    sync(carl)
    world.converges()
    assert_sound(carl)


def test_a_line_that_is_too_large_in_its_normal_form_is_refused(world):
    """It states in a few bytes that all members were written by an actor with a long name; one was written later."""
    def change(files):
        lines = [json.loads(line) for line in files["state.jsonl"].splitlines()]
        bead = [line for line in lines if line["title"] == "third"][0]
        bead.update({f"x{i:05}": i for i in range(9000)}, _by="m" * 4000)
        bead["_v"] = {"title": [[bead["_at"][0] + 1, 0], "m"]}
        return {**files, "state.jsonl": "".join(canonical(line) + "\n" for line in lines)}
    world.push(change)
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert error["details"]["file"] == "state.jsonl" and error["details"]["line"] > 0
    assert world.anna.json("repair", "--apply")["applied"]
    world.converges()


def test_joined_members_of_meta_never_exceed_the_limit(world):
    def meta(name):
        def change(files):
            kept = {key: value for key, value in json.loads(files["meta.json"]).items() if not key.startswith("x")}
            return {**files, "meta.json": canonical({**kept, f"x{name}": "y" * (MB - 2000)})}
        return change
    world.push(meta("a"))
    sync(world.anna)
    world.push(meta("b"))
    world.anna.create("mine")
    before = journal(world.anna)
    assert is_sync_error(world.anna.run("sync", "--json"), "corrupt")["details"]["file"] == "meta.json"
    assert journal(world.anna) == before
    assert world.anna.json("repair", "--apply")["applied"]
    world.converges()
    assert "mine" in [bead["title"] for bead in world.ben.json("list")]


def test_a_file_is_never_published_that_others_would_not_read(world):
    world.anna.bd("config", "set", "sync.max_file", "1m").ok()
    before = at(world.remote)
    world.anna.bd("comment", world.bead, "-f", "-", stdin=b"x" * MB).ok()
    error = is_sync_error(world.anna.run("sync", "--json"), "corrupt")
    assert error["details"]["file"] == "state.jsonl" and error["hint"].endswith("'bd config set sync.max_file 2m'."), error
    assert at(world.remote) == before
    world.anna.bd("config", "set", "sync.max_file", "2m").ok()
    world.converges()


def test_the_limit_that_a_refused_merge_names_is_large_enough(world):
    for _ in range(3):
        world.anna.bd("comment", world.bead, "-f", "-", stdin=b"x" * 900_000).ok()
    world.anna.bd("config", "set", "sync.max_file", "1m").ok()
    hint = is_sync_error(world.anna.run("sync", "--json"), "corrupt")["hint"]
    assert hint.endswith("'bd config set sync.max_file 4m'."), hint
    world.anna.bd("config", "set", "sync.max_file", "4m").ok()
    world.converges()


# --- what commands write ---

def set_rank(repo, bead):
    repo = Vybe(repo.path)
    return repo.vybe("task", "set-priority", "--id", bead, "--priority", "5", "--request-id", "r1")


WRITES = {"a claim on 262,144 values": (values, ("claim", "ID")),
          "a title on 262,144 values": (values, ("update", "ID", "--title", "another")),
          "a label on 32 MiB": (full, ("label", "add", "ID", "x")),
          "a comment on 10,000 notes": (notes("p", 10000), ("comment", "ID", "one more")),
          "a comment on 9 MiB": (lambda line: line.update(x="y" * (9 * MB)), ("comment", "ID", "one more"))}


@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_could_not_be_published_is_refused_by_the_command(world, what):
    change, command = WRITES[what]
    world.push_third(change)
    sync(world.anna)
    assert_sound(world.anna)
    before = journal(world.anna)
    error = world.anna.fails(*[world.bead if word == "ID" else word for word in command])
    assert error["code"] == "invalid_argument" and f"bd delete {world.bead}" in error["hint"], error
    assert journal(world.anna) == before
    world.anna.bd("delete", world.bead, "--yes").ok()
    sync(world.anna)
    sync(world.ben)
    same_everywhere(world.remote, world.anna, world.ben)


def test_a_member_of_vybe_is_refused_where_there_is_no_room_for_it(world):
    world.push_third(members)
    sync(world.anna)
    before = journal(world.anna)
    done = set_rank(world.anna, world.bead)
    assert not done["success"] and "10001 extra members" in done["error"], done
    assert journal(world.anna) == before
    world.anna.bd("update", world.bead, "--priority", "0").ok()
    world.converges()
    world.anna.bd("delete", world.bead, "--yes").ok()
    world.anna.bd("undelete", world.bead).ok()
    world.converges()


def test_a_large_bead_can_be_made_smaller_and_restored(world):
    def large(line):
        for name in ("description", "design", "acceptance_criteria"):
            line[name] = "x" * (8 * MB)
        line["x"] = "y" * (7 * MB)
    world.push_third(large)
    sync(world.anna)
    assert world.anna.fails("update", world.bead, "--title", "another")["code"] == "invalid_argument"
    world.anna.bd("delete", world.bead, "--yes").ok()
    sync(world.anna)
    world.anna.bd("undelete", world.bead).ok()
    world.anna.bd("update", world.bead, "--description", "").ok()
    world.anna.bd("update", world.bead, "--title", "another").ok()
    sync(world.anna)
