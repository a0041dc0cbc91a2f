"""Many agents on beads that touch the same files: with 'bd ready --parallel', no two claimed beads overlap."""
import random

import pytest

AGENTS, BEADS = 8, 60


def overlap(a, b):
    return any(x == y or x.startswith(y + "/") or y.startswith(x + "/") for x in a for y in b)


def overlaps(held, touches):
    """Pairs of claimed beads that touch a file in common."""
    beads = sorted(held)
    return [(a, b) for i, a in enumerate(beads) for b in beads[i + 1:] if overlap(touches[a], touches[b])]


def crowd(repo, *ready):
    """Every agent claims a bead, works and closes it, until none is left; returns the number of overlaps."""
    touches = {bead["id"]: bead.get("touches", []) for bead in repo.json("list", "-n", "0")}
    chance, held, seen, closed = random.Random(7), {}, 0, 0
    while closed < BEADS:
        free = [f"agent-{n}" for n in range(AGENTS) if f"agent-{n}" not in held.values()]
        agent = chance.choice(free) if free else None
        taken = repo.json("ready", "--claim", *ready, env={"BD_ACTOR": agent}) if agent else []
        if taken:
            held[taken[0]["id"]] = agent
        seen += len(overlaps(held, touches))
        if held and (not taken or chance.random() < .4):
            bead = chance.choice(sorted(held))
            repo.bd("close", bead, env={"BD_ACTOR": held.pop(bead)}).ok()
            closed += 1
    return seen


@pytest.mark.parametrize("ready, collides", [((), True), (("--parallel", "1"), False)])
def test_held_beads_overlap_without_parallel_and_never_with_it(repo, ready, collides):
    shared = ["src/parser", "src/parser/lexer.c", "doc/guide.md"]
    for n in range(BEADS):
        files = f"own/{n}.c" if n % 2 else f"{shared[n // 2 % 3]},other/{n}.c"
        repo.create(f"Bead {n}", "--touches", files)
    assert (crowd(repo, *ready) > 0) == collides


def test_a_dispatcher_gives_eight_agents_beads_that_do_not_overlap(repo):
    for n in range(BEADS):
        repo.create(f"Bead {n}", "--touches", f"own/{n}.c" if n % 2 else "src/parser")
    names = ",".join(f"agent-{n}" for n in range(AGENTS))
    taken = repo.json("ready", "--parallel", str(AGENTS), "--claim", "--for", names)
    assert len(taken) == AGENTS == len({bead["assignee"] for bead in taken})
    touches = {bead["id"]: bead["touches"] for bead in taken}
    assert overlaps(touches, touches) == []
