"""Beads at the limits of what can be read: a write that was acknowledged can always be published."""
import pytest

from bead_harness import assert_sound
from beads import canonical
from remotes import same_everywhere, sync
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


class Crowded(World):
    """With a bead that has nothing but its title, for Mallory to change."""

    def __init__(self, path):
        super().__init__(path)
        self.bead = self.anna.create("third")
        sync(self.anna)
        sync(self.ben)

    def push_third(self, change):
        return self.push_bead(lambda line: later(line) or change(line), title="third")


@pytest.fixture
def world(tmp_path):
    return Crowded(tmp_path)


def journal(repo):
    return {path.name: path.read_bytes() for path in repo.home.glob("journal.*")}


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
    world.anna.bd("delete", world.bead).ok()
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
    world.anna.bd("delete", world.bead).ok()
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
    world.anna.bd("delete", world.bead).ok()
    sync(world.anna)
    world.anna.bd("undelete", world.bead).ok()
    world.anna.bd("update", world.bead, "--description", "").ok()
    world.anna.bd("update", world.bead, "--title", "another").ok()
    sync(world.anna)
