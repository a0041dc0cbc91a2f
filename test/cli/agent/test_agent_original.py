"""A folder `.beadboard/agent` written by another program of the contract (seed 000 section 3): its reservations are
only in active.json, without epochs, and the states of messages only in the index."""
import json

import pytest

from board import at
from test_agent_identity import agent, data, refused
from test_agent_reservations import reserve

AGENTS = ["amber-otter", "cobalt-harbor"]
DAY = "2026-01-01T00:%02d:00.000Z"


def reservation(n, scope, who="amber-otter", **more):
    return {"reservation_id": f"res_20260101_000{n}", "scope": scope, "agent_id": who, "bead_id": f"bb-{n}",
            "state": "active", "created_at": DAY % n, "expires_at": "2026-01-01T02:00:00.000Z", "released_at": None, **more}


def message(n, state="unread", **more):
    return {"message_id": f"msg_20260101_000{n}", "thread_id": "bead:bb-1", "bead_id": "bb-1",
            "from_agent": "amber-otter", "to_agent": "cobalt-harbor", "category": "HANDOFF", "subject": f"s{n}",
            "body": "b", "state": state, "requires_ack": True, "created_at": DAY % n, "read_at": None, "acked_at": None,
            **more}


@pytest.fixture
def home(empty):
    home = empty.path / ".beadboard/agent"
    for folder in ("agents", "messages/index", "reservations"):
        (home / folder).mkdir(parents=True)
    for name in AGENTS:
        (home / f"agents/{name}.json").write_text(json.dumps({
            "agent_id": name, "display_name": name.title(), "role": "ui", "status": "idle", "created_at": DAY % 0,
            "last_seen_at": DAY % 0, "version": 1}))
    return home


def scopes(project):
    return [r["scope"] for r in data(project, "status", env=at(m=5))["reservations"]]


def active(home, list, bare=False):
    (home / "reservations/active.json").write_text(json.dumps(list if bare else {"reservations": list}, indent=2) + "\n")


@pytest.mark.parametrize("bare", [False, True], ids=["object", "list"])
def test_reservations_of_the_other_program_count(empty, home, bare):
    active(home, [reservation(1, "src/a"), reservation(2, "src/b", "cobalt-harbor")], bare)
    assert scopes(empty) == ["src/a", "src/b"]
    assert refused(empty, "reserve", "--agent", "cobalt-harbor", "--scope", "src/a", "--bead", "bb-9",
                   env=at(m=5)) == "RESERVATION_CONFLICT"
    assert not (home / "reservations/history.jsonl").exists()


def test_absolute_paths_count(empty, home):
    """The original stores the whole path of a scope."""
    root = empty.path.resolve()
    active(home, [reservation(1, f"{root}/src/a"), reservation(2, f"{root}/doc/*", "cobalt-harbor"), reservation(3, "/elsewhere")])
    assert sorted(scopes(empty)) == ["/elsewhere", "doc", "src/a"]
    assert refused(empty, "reserve", "--agent", "cobalt-harbor", "--scope", "src/a", "--bead", "bb-9",
                   env=at(m=5)) == "RESERVATION_CONFLICT"
    found = reserve(empty, "cobalt-harbor", "src", env=at(m=5))["incursions"]
    assert [(i["kind"], i["reservation"]["reservation_id"]) for i in found] == [("partial", "res_20260101_0001")]
    assert sorted(scopes(empty)) == ["/elsewhere", "doc", "src", "src/a"]
    data(empty, "release", "--agent", "amber-otter", "--scope", "src/a", env=at(m=6))
    data(empty, "release", "--agent", "cobalt-harbor", "--scope", f"{root}/doc", env=at(m=6))
    assert sorted(scopes(empty)) == ["/elsewhere", "src"]


def test_an_owner_that_could_not_be_registered_here_is_an_unknown_one(empty, home):
    active(home, [reservation(1, "src/a", "Claude_1")])
    args = ["reserve", "--agent", "cobalt-harbor", "--scope", "src/a", "--bead", "bb-9"]
    assert refused(empty, *args, env=at(m=5)) == "RESERVATION_STALE_FOUND"
    assert data(empty, *args, "--takeover-stale", env=at(m=5))["agent_id"] == "cobalt-harbor"


def test_lines_that_end_with_cr_lf_are_understood(empty, home):
    lines = [json.dumps(reservation(1, "src/a")), "", json.dumps(reservation(2, "src/b", "cobalt-harbor")), ""]
    (home / "reservations/history.jsonl").write_bytes("\r\n".join(lines).encode())
    assert scopes(empty) == ["src/a", "src/b"]
    assert refused(empty, "reserve", "--agent", "cobalt-harbor", "--scope", "src/a", "--bead", "bb-9",
                   env=at(m=5)) == "RESERVATION_CONFLICT"
    reserve(empty, "amber-otter", "src/c", env=at(m=5))
    assert scopes(empty) == ["src/a", "src/b", "src/c"]


def test_the_first_write_records_the_reservations(empty, home):
    active(home, [reservation(1, "src/a"), reservation(2, "src/b", "cobalt-harbor")])
    reserve(empty, "amber-otter", "src/c", env=at(m=5))
    lines = [json.loads(line) for line in (home / "reservations/history.jsonl").read_text().splitlines()]
    assert [(r["scope"], r["epoch"]) for r in lines] == [("src/a", 1), ("src/b", 2), ("src/c", 3)]
    (home / "reservations/active.json").unlink()
    assert scopes(empty) == ["src/a", "src/b", "src/c"]


def test_a_reservation_of_the_other_program_can_be_released(empty, home):
    active(home, [reservation(1, "src/a")])
    data(empty, "release", "--agent", "amber-otter", "--scope", "src/a", env=at(m=5))
    assert scopes(empty) == []


def test_a_release_in_the_record_stays_released(empty, home):
    """The other program still runs, and does not read the record."""
    done = reservation(1, "src/a", state="released", released_at=DAY % 3)
    (home / "reservations/history.jsonl").write_text(json.dumps(done) + "\n")
    active(home, [reservation(1, "src/a"), reservation(2, "src/b")])
    assert scopes(empty) == ["src/b"]


def test_an_incomplete_entry_is_damage(empty, home):
    active(home, [reservation(1, "src/a"), {"scope": "src/b"}])
    agent(empty, "status", warned="'reservations/active.json' is damaged", env=at(m=5))


def test_the_doctor_accepts_files_of_the_other_program(empty, home):
    active(home, [reservation(1, "src/a")])
    assert empty.run("doctor", program="abacus", env=at(m=5)).code == 0


def test_repairs_keep_files_of_the_other_program(empty, home):
    active(home, [reservation(1, "src/a")])
    (home / "reservations/history.jsonl").write_text("{torn\n")
    empty.run("doctor", "--fix", program="abacus", env=at(m=5))
    assert scopes(empty) == ["src/a"]


def letters(home, *indexed):
    (home / "messages/cobalt-harbor.jsonl").write_text("".join(json.dumps(message(n)) + "\n" for n in (1, 2, 3)))
    for m in indexed:
        (home / f"messages/index/{m['message_id']}.json").write_text(json.dumps(m, indent=2))


def states(project, *more):
    inbox = data(project, "inbox", "--agent", "cobalt-harbor", *more, env=at(m=5))
    return {m["subject"]: m["state"] for m in inbox}


READ = message(1, "read", read_at=DAY % 4)
ACKED = message(2, "acked", read_at=DAY % 4, acked_at=DAY % 4)


def test_read_and_acked_messages_keep_their_state(empty, home):
    letters(home, READ, ACKED, message(3))
    assert states(empty) == {"s1": "read", "s2": "acked", "s3": "unread"}
    assert states(empty, "--state", "unread") == {"s3": "unread"}
    assert states(empty, "--state", "acked") == {"s2": "acked"}
    assert [m["subject"] for m in data(empty, "status", env=at(m=5))["unacked_required_messages"]] == ["s3", "s1"]


def test_the_first_write_records_the_states_of_messages(empty, home):
    letters(home, READ, ACKED, message(3))
    data(empty, "ack", "--agent", "cobalt-harbor", "--message", READ["message_id"], env=at(m=6))
    assert states(empty) == {"s1": "acked", "s2": "acked", "s3": "unread"}
    lines = [json.loads(line) for line in (home / "messages/cobalt-harbor.jsonl").read_text().splitlines()]
    assert [(m["subject"], m["state"]) for m in lines[3:]] == [
        ("s1", "read"), ("s2", "read"), ("s2", "acked"), ("s1", "acked")]
    for file in (home / "messages/index").iterdir():
        file.unlink()
    assert states(empty) == {"s1": "acked", "s2": "acked", "s3": "unread"}


def test_acknowledging_again_changes_nothing(empty, home):
    letters(home, ACKED)
    reply = data(empty, "ack", "--agent", "cobalt-harbor", "--message", ACKED["message_id"], env=at(m=6))
    assert reply["acked_at"] == DAY % 4


def test_the_index_of_another_message_is_ignored(empty, home):
    letters(home, dict(ACKED, to_agent="amber-otter"))
    assert states(empty)["s2"] == "unread"
