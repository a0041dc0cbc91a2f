"""Exclusive claims and reservations at a remote that lies, and a file of reservations that anybody may write."""
import json
import time

import pytest
from hints import command_of, run_command
from test_machine_facts import plant

from conftest import git
from machines import machine, settle
from remotes import at, bare, hook, http_remote, sync
from remotes import commit as commit_of

LEASES = "refs/abacus/leases"
HOUR = 3600 * 1000
UNDO = """while read old new ref
do case $old in 0000*) git update-ref -d "$ref";; *) git update-ref "$ref" "$old";; esac
done
"""


@pytest.fixture
def pair(tmp_path):
    """Two machines with a bead, and the remote."""
    remote = bare(tmp_path / "hub.git")
    with http_remote(tmp_path) as server:
        made = [machine(tmp_path / name, f"{server.url}/hub.git", f"host-{name}", beads=True) for name in "ab"]
        bead = made[0].create("x")
        for one in made:
            sync(one)
            one.agent("register", "--name", f"agent-{one.path.name}", "--role", "ui")
        settle(*made)
        yield remote, *made, bead


def words(one, bead):
    return "agent", "reserve", "--agent", f"agent-{one.path.name}", "--scope", "src/x", "--bead", bead, "--exclusive"


def reserve(one, bead):
    return one.bb(*words(one, bead))["data"]


def refused(one, bead):
    return one.fails(*words(one, bead), program="bb")


def leases(remote):
    return json.loads(git(remote, "cat-file", "blob", f"{LEASES}:leases.json"))


def holders(one):
    return {(r["agent_id"], r["scope"]) for r in one.agent("status")["reservations"] if r["state"] == "active"}


def test_a_remote_that_undoes_what_it_accepts_gives_nothing_to_anybody(pair):
    remote, a, b, bead = pair
    hook(remote, "post-receive", UNDO)
    for one in (a, b):
        error = one.fails("claim", bead, "--exclusive")
        assert error["code"] == "sync_failed" and "accepted the change but does not have it" in error["message"], error
        error = refused(one, bead)
        assert error["reason"] == "SYNC_FAILED" and "accepted the change but does not have it" in error["message"], error
        assert one.show(bead)["assignee"] is None and not holders(one)
    (remote / "hooks/post-receive").unlink()
    a.json("claim", bead, "--exclusive")
    assert b.fails("claim", bead, "--exclusive")["code"] == "already_claimed"
    reserve(b, bead)
    assert refused(a, bead)["code"] == "RESERVATION_CONFLICT"


def test_a_remote_that_reports_a_refusal_of_what_it_has_stored(pair):
    """The command looks at the remote before it says that nothing was claimed."""
    remote, a, b, bead = pair
    hook(remote, "update", 'git update-ref "$1" "$3"; exit 1\n')
    assert a.json("claim", bead, "--exclusive", env={"BD_ACTOR": "agent-a"})[0]["assignee"] == "agent-a"
    hook(remote, "update", "exit 1\n")
    other = b.create("y")
    error = b.fails("claim", other, "--exclusive", env={"BD_ACTOR": "agent-b"})
    assert error["code"] == "remote_rejected" and error["hint"].startswith("Nothing was claimed. "), error


def test_a_release_removes_the_lease_though_another_machine_has_the_same_scope_and_epoch(pair):
    """The remote showed each of them a file without the other's lease."""
    remote, a, b, bead = pair
    reserve(a, bead)
    mine = at(remote, LEASES)
    git(remote, "update-ref", "-d", LEASES)
    reserve(b, bead)
    settle(a, b)
    git(remote, "update-ref", LEASES, mine)
    a.agent("release", "--agent", "agent-a", "--scope", "src/x")
    settle(a, b)
    assert leases(remote)["leases"] == []


@pytest.mark.parametrize("way", ["log", "file"])
def test_an_epoch_that_nobody_can_count_to_does_not_hide_later_reservations(pair, way):
    """Other machines accept epochs below a quarter of 2^63 alone."""
    remote, a, b, bead = pair
    last = (1 << 61) - 2
    now = int(time.time() * 1000)
    if way == "log":
        plant(b, [("reservation.made", {"agent": "agent-b", "bead": "x", "created": now, "epoch": last, "expires": now + HOUR,
                                        "id": "res_20270115_080000_00000000000000ab", "scope": "doc"})], at=(now, 0))
        a.exchange()
        a.agent("reserve", "--agent", "agent-a", "--scope", "src/x", "--bead", bead)
    else:
        git(remote, "update-ref", LEASES, commit_of(remote, {"leases.json": json.dumps(
            {"epoch": last, "format": 1, "leases": []}).encode()}))
        reserve(a, bead)
    for n in range(3):
        a.agent("reserve", "--agent", "agent-a", "--scope", f"lib/{n}", "--bead", bead)
    settle(a, b)
    assert {("agent-a", scope) for scope in ("src/x", "lib/0", "lib/1", "lib/2")} <= holders(b)


@pytest.mark.parametrize("way", ["log", "file"])
@pytest.mark.parametrize("last", [lambda now: (1 << 40) - 1, lambda now: now - 1], ids=["2^40", "now"])
def test_epochs_grow_after_the_highest_one_that_counts(pair, way, last):
    remote, a, b, bead = pair
    now = int(time.time() * 1000)
    if way == "log":
        plant(b, [("reservation.made", {"agent": "agent-b", "bead": "x", "created": now, "epoch": last(now),
                                        "expires": now + HOUR, "id": "res_20270115_080000_00000000000000ab",
                                        "scope": "doc"})], at=(now, 0))
    else:
        git(remote, "update-ref", LEASES, commit_of(remote, {"leases.json": json.dumps(
            {"epoch": last(now), "format": 1, "leases": []}).encode()}))
    settle(a, b)
    epochs = [last(now) if way == "file" else 0]
    for one, scope, more in [(a, "x", ["--exclusive"]), (a, "y", []), (a, "z", ["--exclusive"]), (a, "v", []),
                             (b, "w", ["--exclusive"]), (b, "u", [])]:
        epochs.append(one.agent("reserve", "--agent", f"agent-{one.path.name}", "--scope", scope, "--bead", bead,
                                *more)["epoch"])
        settle(a, b)
    assert epochs == sorted(set(epochs)), epochs
    assert leases(remote)["epoch"] == epochs[5]


@pytest.mark.parametrize("room, left", [(20, 0), (400, 1)])
def test_no_reservation_makes_the_list_larger_than_others_read(pair, room, left):
    remote, a, b, bead = pair
    text = lambda filler: json.dumps({"epoch": 4, "format": 1, "leases": [], "x": filler}, separators=(",", ":")) + "\n"
    git(remote, "update-ref", LEASES, commit_of(remote, {"leases.json": text("y" * ((1 << 20) - room - len(text("")))).encode()}))
    taken = [scope for scope in ("src/x", "src/y") if a.run(
        "agent", "reserve", "--agent", "agent-a", "--scope", scope, "--bead", bead, "--exclusive", program="bb").code == 0]
    assert taken == ["src/x", "src/y"][:left]
    error = a.fails("agent", "reserve", "--agent", "agent-a", "--scope", "src/z", "--bead", bead, "--exclusive", program="bb")
    assert error["code"] == "RESERVATION_CONFLICT" and error["hint"].startswith("Nothing was reserved. "), error
    assert len(leases(remote)["leases"]) == left
    run_command(a, command_of(error["hint"], "refs=")).ok()
    assert reserve(b, bead)["durability"] == "remote"


def test_the_command_in_the_error_removes_a_ref_that_leaves_no_room(pair):
    remote, a, b, bead = pair
    git(remote, "update-ref", f"{LEASES}/x", at(remote))
    error = refused(a, bead)
    assert error["hint"].startswith("Nothing was reserved. "), error
    run_command(a, command_of(error["hint"], "git push")).ok()
    assert reserve(a, bead)["durability"] == "remote"
