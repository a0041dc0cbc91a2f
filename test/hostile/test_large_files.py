"""A file of a store that is far larger than it can be costs little memory, and is damage as any other."""

import pytest
from stores import made, world  # noqa: F401  (fixtures)
from test_generated_stores import SANITIZED, run

HOLE = 256 << 20
MB = 1 << 20


def hole(file, size=HOLE):
    """The file is as large as that, and takes no room on the disk."""
    with file.open("r+b") as out:
        out.truncate(file.stat().st_size + size)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs more memory")
@pytest.mark.parametrize("line", ["bd list", "bd create new", "bd doctor"])
def test_zeros_after_the_last_record_of_the_journal_are_not_held_in_memory(world, line):
    """A crash of the system can leave them; they were never acknowledged."""
    hole(world.journal)
    done = run(world, world, line)
    assert done.code == 0, done.err
    assert done.memory < HOLE, done.memory // MB
    assert "first of all" in world.run("list").ok().out


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs more memory")
@pytest.mark.parametrize("line", ["bb agent status", "bb agent inbox --agent amber-otter", "bb agent list", "abacus sessions"])
def test_a_snapshot_of_the_agents_that_is_too_large_is_made_anew(world, line):
    for name in ("agents/amber-otter.json", f"messages/index/{world.message}.json", "messages/boxes/amber-otter.json", "reservations/active.json"):
        hole(world.agents / name, 1 << 33)
    done = run(world, world, line)
    assert done.code == 0, done.err
    assert done.memory < 1024 * MB, done.memory // MB
