"""bb agent reserve, release and status: reservations of scopes (seed 000 section 7, seed 001 4.4 and 5)."""
import json

import pytest

from board import at
from test_agent_identity import agent, data, refused, register
from test_agent_mail import events, send

SHAPE = ["reservation_id", "scope", "agent_id", "bead_id", "state", "created_at", "expires_at", "released_at", "epoch",
         "expired"]


# What the snapshot is when nothing was ever reserved; the checksum is that of its last line.
EMPTY = '{"history":0,"epoch":0,"crc":3236597796,"reservations":[\n]}\n'


@pytest.fixture
def two(empty):
    for name in ("amber-otter", "cobalt-harbor"):
        register(empty, name, env=at())
    return empty


def args(who, scope="src/lib", *more, bead="bb-1"):
    return ["reserve", "--agent", who, "--scope", scope, "--bead", bead, *more]


def reserve(project, who, scope="src/lib", *more, env=None, warned="", **kw):
    return data(project, *args(who, scope, *more, **kw), env=env, warned=warned)


def history(project):
    file = project.path / ".beadboard/agent/reservations/history.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def reserved(reply):
    """The reservation, which is the reply itself."""
    return {key: value for key, value in reply.items() if key != "incursions"}


def test_status_has_the_names_that_scripts_of_the_original_read(two):
    reserve(two, "amber-otter", "a", env=at())
    reserve(two, "amber-otter", "b", "--ttl", "5", env=at(), bead="bb-2")
    reserve(two, "cobalt-harbor", "c", env=at())
    data(two, "release", "--agent", "amber-otter", "--scope", "a", env=at(m=1))
    data(two, "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", "bb-1", "--category", "HANDOFF",
         "--subject", "s", "--body", "b", env=at(m=1))
    status = data(two, "status", env=at(m=10))
    assert status["summary"] == {"active": 1, "released": 1, "expired": 1, "unacked_required_messages": 1}
    assert status["unacked_required_messages"] == status["unacked"] and len(status["unacked"]) == 1
    reserve(two, "cobalt-harbor", "d", env=at(m=10))  # archives what has expired
    assert data(two, "status", env=at(m=10))["summary"]["expired"] == 1
    assert data(two, "status", "--agent", "amber-otter", env=at(m=10))["summary"]["active"] == 0
    assert data(two, "status", "--bead", "bb-2", env=at(m=10))["summary"] == {
        "active": 0, "released": 0, "expired": 1, "unacked_required_messages": 0}


def test_reserve(two):
    reply = reserve(two, "amber-otter", "src/components/graph/*", env=at(m=1))
    assert list(reply) == [*SHAPE, "incursions"] and reply["incursions"] == []
    made = reserved(reply)
    assert (made["scope"], made["state"], made["epoch"], made["expired"]) == (
        "src/components/graph/*", "active", 1, False)
    assert (made["created_at"], made["expires_at"]) == ("2026-01-01T00:01:00.000Z", "2026-01-01T02:01:00.000Z")
    assert [h["reservation_id"] for h in history(two)] == [made["reservation_id"]]
    assert data(two, "status", env=at(m=1))["reservations"] == [made]


@pytest.mark.parametrize("ttl, fine", [("4", False), ("5", True), ("1440", True), ("1441", False), ("x", False)])
def test_the_duration_of_a_reservation(two, ttl, fine):
    assert agent(two, *args("amber-otter", "src", "--ttl", ttl))["ok"] is fine
    assert len(history(two)) == fine


# The takeover table: (is it over?, is its owner there?) with and without --takeover-stale.
# A reservation of 60 minutes, made at 0; its owner was last seen then, or a moment ago.

@pytest.mark.parametrize("minute, owner_acts, flag, outcome", [
    (1, True, False, "RESERVATION_CONFLICT"), (1, True, True, "RESERVATION_CONFLICT"),
    (14, False, True, "RESERVATION_CONFLICT"),
    (15, False, False, "RESERVATION_STALE_FOUND"), (15, False, True, "taken"),
    (30, False, False, "RESERVATION_STALE_FOUND"), (30, False, True, "taken"),
    (60, False, False, "RESERVATION_STALE_FOUND"), (60, False, True, "taken"),
    (60, True, False, "RESERVATION_STALE_FOUND"), (60, True, True, "taken")])
def test_takeover(two, minute, owner_acts, flag, outcome):
    first = reserved(reserve(two, "amber-otter", "src", "--ttl", "60", env=at()))
    if owner_acts:
        data(two, "heartbeat", "--agent", "amber-otter", env=at(m=minute))
    reply = agent(two, *args("cobalt-harbor", "src", *(["--takeover-stale"] if flag else [])), env=at(m=minute))
    if outcome != "taken":
        assert reply["error"]["code"] == outcome
        assert reply["error"]["details"]["agent_id"] == "amber-otter"
        assert reply["error"]["details"]["expires_at"] == first["expires_at"]
        assert len(history(two)) == 1 and events(two) == []
        return
    made = reserved(reply["data"])
    assert (made["agent_id"], made["epoch"]) == ("cobalt-harbor", 2)
    assert [(h["agent_id"], h["state"]) for h in history(two)] == [
        ("amber-otter", "active"), ("amber-otter", "expired"), ("cobalt-harbor", "active")]
    [event] = events(two)
    assert (event["event_type"], event["payload"]["incursion_kind"]) == ("INCURSION", "exact")
    assert (event["payload"]["owner_agent"], event["payload"]["incoming_agent"]) == ("amber-otter", "cobalt-harbor")


def test_nothing_is_taken_over_from_an_owner_whose_registration_cannot_be_read(two):
    reserve(two, "amber-otter", "src", env=at())
    home = two.path / ".beadboard/agent/agents"
    (home / "history.jsonl").unlink()
    (home / "amber-otter.json").write_text("{")
    assert refused(two, *args("cobalt-harbor", "src", "--takeover-stale"), env=at(m=1)) == "IO_READ_FAILED"
    assert [line["agent_id"] for line in history(two)] == ["amber-otter"]


@pytest.mark.parametrize("minute", [15, 60])
def test_the_reply_of_a_takeover_shows_the_old_reservation_as_expired(two, minute):
    """As in the record, even if it had not expired and only its owner was inactive."""
    reserve(two, "amber-otter", "src", "--ttl", "60", env=at())
    [incursion] = reserve(two, "cobalt-harbor", "src", "--takeover-stale", env=at(m=minute))["incursions"]
    old = incursion["reservation"]
    assert list(old) == SHAPE and (incursion["kind"], old["state"], old["expired"]) == ("exact", "expired", True)
    assert {k: v for k, v in old.items() if k != "expired"} == history(two)[1]


def active(project):
    """The reservations in the snapshot."""
    file = project.path / ".beadboard/agent/reservations/active.json"
    return [(r["scope"], r["state"]) for r in json.loads(file.read_text())["reservations"]]


def scopes(project, *more, env):
    return [r["scope"] for r in data(project, "status", *more, env=env)["reservations"]]


@pytest.mark.parametrize("write", [
    ["reserve", "--agent", "cobalt-harbor", "--scope", "web", "--bead", "bb-1"],
    ["reserve", "--agent", "cobalt-harbor", "--scope", "doc", "--bead", "bb-1"],
    ["release", "--agent", "cobalt-harbor", "--scope", "doc"]], ids=["reserve", "renew", "release"])
def test_the_next_write_archives_expired_reservations(two, write):
    """Even before that, status does not show them."""
    over = [reserve(two, "amber-otter", scope, "--ttl", "5", env=at()) and scope for scope in ("a", "b/c", "ü")]
    reserve(two, "cobalt-harbor", "doc", env=at())
    reserve(two, "amber-otter", "src", "--ttl", "6", env=at())
    assert scopes(two, env=at(m=4, s=59)) == ["a", "b/c", "doc", "src", "ü"]
    assert scopes(two, env=at(m=5)) == ["doc", "src"] and len(active(two)) == 5
    made = {h["scope"]: h for h in history(two)}
    data(two, *write, env=at(m=5))
    assert [h for h in history(two)[5:] if h["state"] == "expired"] == [{**made[s], "state": "expired"} for s in over]
    assert len(history(two)) == 5 + 3 + 1
    kept = {"reserve": ["doc", "src", "web"], "renew": ["doc", "src"], "release": ["src"]}[
        "renew" if write[0] == "reserve" and "doc" in write else write[0]]
    assert active(two) == [(s, "active") for s in kept] and scopes(two, env=at(m=5)) == kept
    assert scopes(two, "--agent", "amber-otter", env=at(m=5)) == ["src"]
    (two.path / ".beadboard/agent/reservations/active.json").unlink()
    assert scopes(two, env=at(m=5)) == kept  # the record says the same


def test_a_refused_command_archives_nothing(two):
    reserve(two, "amber-otter", "src", "--ttl", "5", env=at())
    reserve(two, "amber-otter", "doc", env=at())
    for scope, code in (("src", "RESERVATION_STALE_FOUND"), ("doc", "RESERVATION_CONFLICT")):
        assert refused(two, *args("cobalt-harbor", scope), env=at(m=6)) == code
    assert len(history(two)) == 2 and len(active(two)) == 2


def test_an_archived_scope_is_free(two):
    first = reserve(two, "amber-otter", "src", "--ttl", "5", env=at())
    reserve(two, "cobalt-harbor", "doc", env=at(m=6))
    reply = reserve(two, "cobalt-harbor", "src", env=at(m=7))
    assert reply["incursions"] == [] and events(two) == [] and first["incursions"] == []
    assert [(h["agent_id"], h["scope"], h["state"], h["epoch"]) for h in history(two)] == [
        ("amber-otter", "src", "active", 1), ("amber-otter", "src", "expired", 1), ("cobalt-harbor", "doc", "active", 2),
        ("cobalt-harbor", "src", "active", 3)]


@pytest.mark.parametrize("minute", [1, 20, 200])
def test_an_own_reservation_is_renewed(two, minute):
    first = reserved(reserve(two, "amber-otter", env=at()))
    again = reserved(reserve(two, "amber-otter", "src/lib/", "--ttl", "30", env=at(m=minute), bead="bb-2"))
    assert (again["reservation_id"], again["epoch"], again["bead_id"]) == (first["reservation_id"], 1, "bb-2")
    assert again["expires_at"] > first["created_at"] and events(two) == []


@pytest.mark.parametrize("scope", ["src/lib/*", "src/lib/", "./src/lib", "src/x/../lib", "src/lib/**"])
def test_a_scope_has_one_holder_however_it_is_spelled(two, scope):
    reserve(two, "amber-otter", env=at())
    assert refused(two, *args("cobalt-harbor", scope), env=at(m=1)) == "RESERVATION_CONFLICT"


@pytest.mark.parametrize("scope", ["src\\lib", "src\\lib\\*", ".\\src\\lib\\", "src/x\\..\\lib"])
def test_a_backslash_separates_folders_as_a_slash_does(two, scope):
    """On every system (seed 001, 5.1.2): who writes it so has the same scope, whoever came first."""
    reserve(two, "amber-otter", scope, env=at())
    assert refused(two, *args("cobalt-harbor"), env=at(m=1)) == "RESERVATION_CONFLICT"
    data(two, "release", "--agent", "amber-otter", "--scope", "src/lib", env=at(m=2))
    reserve(two, "cobalt-harbor", env=at(m=3))
    assert refused(two, *args("amber-otter", scope), env=at(m=4)) == "RESERVATION_CONFLICT"


def test_an_overlap_with_another_scope_is_reported_and_recorded(two):
    reserve(two, "amber-otter", "src", env=at())
    [incursion] = reserve(two, "cobalt-harbor", "src/lib/parser.ts", env=at(m=1))["incursions"]
    assert (incursion["kind"], incursion["owner_liveness"]) == ("partial", "active")
    assert incursion["reservation"]["agent_id"] == "amber-otter"
    [event] = events(two)
    assert (event["scope"], event["bead_id"], event["payload"]["incursion_kind"]) == (
        "src/lib/parser.ts", "bb-1", "partial")
    assert event["payload"]["resolution_hint"] and event["payload"]["owner_liveness"] == "active"


def test_an_incursion_is_recorded_once_however_often_it_is_renewed(two):
    reserve(two, "amber-otter", "src", "--ttl", "60", env=at())
    mine = ["cobalt-harbor", "src/lib", "--ttl", "20"]
    for minute in (1, 2, 20):
        assert len(reserve(two, *mine, env=at(m=minute))["incursions"]) == 1
    assert [e["event_type"] for e in events(two)] == ["INCURSION"]
    reserve(two, *mine, env=at(m=40))  # its time was over: it comes again
    assert [e["event_type"] for e in events(two)] == ["INCURSION"] * 2


def test_strict_refuses_an_overlap(two):
    reserve(two, "amber-otter", "src", env=at())
    assert refused(two, *args("cobalt-harbor", "src/lib", "--strict"), env=at(m=1)) == "RESERVATION_CONFLICT"
    assert events(two) == [] and len(history(two)) == 1
    assert reserve(two, "cobalt-harbor", "srcs", "--strict", env=at(m=1))["incursions"] == []


@pytest.mark.parametrize("wrong, code", [
    ({"who": "nobody-here"}, "AGENT_NOT_FOUND"), ({"bead": ""}, "MISSING_BEAD_ID"), ({"bead": " "}, "MISSING_BEAD_ID"),
    ({"scope": ".."}, "INVALID_ARGS"), ({"scope": "/etc"}, "INVALID_ARGS"), ({"scope": "src/*.c"}, "INVALID_ARGS"),
    ({"scope": "a\nb"}, "INVALID_ARGS"), ({"bead": "a\nb"}, "INVALID_ARGS")])
def test_invalid_scopes_are_refused(two, wrong, code):
    assert refused(two, *args(**{"who": "amber-otter", **wrong})) == code
    assert history(two) == []


def test_blanks_around_a_bead_are_not_kept(two):
    assert reserve(two, "amber-otter", bead=" bb-1 ")["bead_id"] == "bb-1"
    assert len(data(two, "status", "--bead", "bb-1")["reservations"]) == 1


def test_release(two):
    made = reserved(reserve(two, "amber-otter", env=at()))
    release = ["release", "--agent", "amber-otter", "--scope", "src/lib/*"]
    given = data(two, *release, env=at(m=1))
    assert given == {**made, "state": "released", "released_at": "2026-01-01T00:01:00.000Z"}
    assert data(two, "status")["reservations"] == []
    assert [h["state"] for h in history(two)] == ["active", "released"]
    assert refused(two, *release) == "RESERVATION_NOT_FOUND"
    assert reserved(reserve(two, "cobalt-harbor", env=at(m=2)))["epoch"] == 2


def test_a_release_is_never_older_than_the_reservation(two):
    made = reserved(reserve(two, "amber-otter", env=at(m=9)))
    gone = data(two, "release", "--agent", "amber-otter", "--scope", "src/lib", env=at(m=5))
    assert gone["released_at"] == made["created_at"]


def test_an_absolute_path_may_pass_through_a_link(two, tmp_path):
    (tmp_path / "link").symlink_to(two.path)
    for whole, scope in ((tmp_path / "link/src/*", "src"), (two.path / "doc", "doc"), (tmp_path / "link", "/")):
        assert reserved(reserve(two, "amber-otter", str(whole), env=at()))["scope"] == scope
    assert refused(two, *args("cobalt-harbor", str(tmp_path / "link/src")), env=at()) == "RESERVATION_CONFLICT"
    assert refused(two, *args("cobalt-harbor", str(tmp_path / "other")), env=at()) == "INVALID_ARGS"


def test_only_the_owner_releases(two):
    reserve(two, "amber-otter", env=at())
    assert refused(two, "release", "--agent", "cobalt-harbor", "--scope", "src/lib") == "RELEASE_FORBIDDEN"
    assert len(history(two)) == 1


def test_an_old_epoch_is_refused(two):
    reserve(two, "amber-otter", env=at())
    reserve(two, "cobalt-harbor", "src/lib", "--takeover-stale", env=at(m=20))
    reserve(two, "amber-otter", "src/lib", "--takeover-stale", env=at(m=40))
    release = ["release", "--agent", "amber-otter", "--scope", "src/lib", "--epoch"]
    assert refused(two, *release, "1", env=at(m=41)) == "RELEASE_FORBIDDEN"
    assert data(two, *release, "3", env=at(m=41))["state"] == "released"


@pytest.mark.parametrize("text, warned", [
    (None, ""), ("", "active.json"), ("{", "active.json"), (EMPTY.replace("]", " ]"), "active.json"),
    ('{"reservations":[]}', ""), (EMPTY, "")])
def test_a_lost_damaged_or_old_snapshot_is_rebuilt_from_the_record(two, text, warned):
    made = reserved(reserve(two, "amber-otter", env=at()))
    active = two.path / ".beadboard/agent/reservations/active.json"
    active.unlink() if text is None else active.write_text(text)
    assert data(two, "status", env=at(), warned=warned)["reservations"] == [made]
    assert refused(two, *args("cobalt-harbor"), env=at(m=1)) == "RESERVATION_CONFLICT"
    reserve(two, "amber-otter", "doc", env=at(m=1), warned=warned)
    assert [r["scope"] for r in data(two, "status", env=at())["reservations"]] == ["doc", "src/lib"]


@pytest.mark.parametrize("left", [None, 0, 1])
def test_a_record_shorter_than_its_snapshot_is_reported(two, left):
    """No reservation is lost without a message."""
    made = [reserved(reserve(two, "amber-otter", scope, env=at())) for scope in ("doc", "src/lib")]
    home = two.path / ".beadboard/agent/reservations"
    record = home / "history.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    record.unlink() if left is None else record.write_text("".join(lines[:left]) + "{")
    before = {f.name: f.read_bytes() for f in home.iterdir()}
    assert data(two, "status", env=at(), warned="'reservations/history.jsonl' is missing lines")["reservations"] == made
    for command in (args("cobalt-harbor"), ["release", "--agent", "amber-otter", "--scope", "doc"],
                    ["guard", "--agent", "cobalt-harbor", "src/lib/parser.ts"]):
        error = agent(two, *command, env=at())["error"]
        assert error["code"] == "IO_READ_FAILED" and "reservations/history.jsonl" in error["message"]
    assert {f.name: f.read_bytes() for f in home.iterdir()} == before
    (home / "active.json").unlink()
    assert data(two, "status", env=at())["reservations"] == made[:left or 0]


def test_a_rebuilt_snapshot_has_the_whole_record(two):
    reserve(two, "amber-otter", "a", env=at())
    line = (two.path / ".beadboard/agent/reservations/history.jsonl").read_text()
    scopes = ["a"] + [f"{n}".ljust(256 - len(line), "x") for n in range(1, 8)]  # lines that leave 2 of 256 bytes
    for scope in scopes[1:]:
        reserve(two, "amber-otter", scope, env=at())
    (two.path / ".beadboard/agent/reservations/active.json").unlink()
    reserve(two, "amber-otter", "z", env=at())
    assert [r["scope"] for r in data(two, "status", env=at())["reservations"]] == sorted([*scopes, "z"])


@pytest.mark.parametrize("before, after", [("", "\r"), (" ", ""), ("\t", " \r")])
def test_space_around_a_line_of_the_record_is_no_part_of_it(two, before, after):
    made = reserved(reserve(two, "amber-otter", env=at()))
    record = two.path / ".beadboard/agent/reservations/history.jsonl"
    record.write_bytes((before + record.read_text()[:-1] + after + "\n").encode())
    assert data(two, "status", env=at())["reservations"] == [made]
    reserve(two, "amber-otter", "doc", env=at())
    assert data(two, "status", env=at())["reservations"][1:] == [made]


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_line_of_the_record_that_lacks_its_end_is_damaged(two, lost):
    for scope in "abcdefghijkl":
        reserve(two, "amber-otter", scope, env=at())
    record = two.path / ".beadboard/agent/reservations/history.jsonl"
    record.write_text(record.read_text()[:-1 - lost] + "\n")
    assert refused(two, "release", "--agent", "amber-otter", "--scope", "a") == "IO_READ_FAILED"
    shown = data(two, "status", env=at(), warned="'reservations/history.jsonl' is missing lines")["reservations"]
    assert "".join(r["scope"] for r in shown) == "abcdefghijkl"
    (two.path / ".beadboard/agent/reservations/active.json").unlink()
    shown = data(two, "status", env=at(), warned="line 12 of 'reservations/history.jsonl'")["reservations"]
    assert "".join(r["scope"] for r in shown) == "abcdefghijk"


def test_status(two):
    reserve(two, "amber-otter", "src", env=at())
    reserve(two, "cobalt-harbor", "doc", env=at(), bead="bb-2")
    sent = send(two, category="HANDOFF", env=at())
    send(two, env=at())
    status = data(two, "status", env=at())
    assert [r["scope"] for r in status["reservations"]] == ["doc", "src"]
    assert status["unacked"] == [sent] and status["counts"] == {"unread": 2, "read": 0, "acked": 0}
    assert [r["scope"] for r in data(two, "status", "--agent", "amber-otter", env=at())["reservations"]] == ["src"]
    assert data(two, "status", "--agent", "amber-otter")["unacked"] == []
    assert [r["scope"] for r in data(two, "status", "--bead", "bb-2", env=at())["reservations"]] == ["doc"]
    assert refused(two, "status", "--agent", "nobody-here") == "AGENT_NOT_FOUND"


def test_events(two):
    """Newest first, exactly as written."""
    send(two, category="HANDOFF", env=at())
    reserve(two, "amber-otter", "src", env=at(m=1))
    reserve(two, "cobalt-harbor", "src/lib", env=at(m=2), bead="bb-2")
    assert data(two, "events") == events(two)[::-1]
    assert [e["event_type"] for e in data(two, "events", "--type", "INCURSION")] == ["INCURSION"]
    assert [e["event_type"] for e in data(two, "events", "--bead", "bb-1")] == ["HANDOFF"]
    assert len(data(two, "events", "--agent", "amber-otter")) == 2 and len(data(two, "events", "--limit", "1")) == 1
    assert refused(two, "events", "--limit", "501") == "INVALID_ARGS"
    send(two, category="BLOCKED", to="broadcast", env=at(m=3))
    assert [e["event_type"] for e in data(two, "events", "--agent", "cobalt-harbor")] == ["BLOCKED", "INCURSION", "HANDOFF"]
    assert "INCURSION" in two.bb("agent", "events").ok().out
    log = two.path / ".beadboard/agent/events.jsonl"
    log.write_text(log.read_text() + "{\n")
    assert len(data(two, "events", warned="line 4 of 'events.jsonl'")) == 3


def test_for_people(two):
    assert two.run("agent", *args("amber-otter"), env=at()).ok().out == (
        "src/lib is reserved by amber-otter for bb-1, ends in 2h, epoch 1\n")
    assert "overlaps" in two.run("agent", *args("cobalt-harbor", "src"), env=at()).ok().out
    assert "src/lib" in two.run("agent", "status", env=at()).ok().out
    done = two.run("agent", *args("cobalt-harbor"), env=at())
    assert done.code == 1 and "amber-otter" in done.err and "until" in done.err


def test_an_owner_whose_clock_was_once_ahead_can_be_released(two):
    """The owner counts as active until that time comes; the error names the command that releases its scope."""
    reserve(two, "amber-otter", env={"ABACUS_NOW": "2099-01-01T00:00:00Z"})
    error = agent(two, *args("cobalt-harbor", "src/lib", "--takeover-stale"), env=at())["error"]
    assert error["code"] == "RESERVATION_CONFLICT" and "2099-01-01" in error["hint"], error
    command = error["hint"].split("run: bb agent ")[1].replace("'", "").split()
    data(two, *command, env=at())
    assert reserve(two, "cobalt-harbor", env=at())["agent_id"] == "cobalt-harbor"


def test_people_read_the_status_as_tables_with_whole_message_ids(two):
    reserve(two, "amber-otter", "src/*", env=at())
    data(two, "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", "bb-1", "--category", "HANDOFF",
         "--subject", "Take over", "--body", "b", env=at())
    [message] = data(two, "status", env=at())["unacked"]
    out = two.run("agent", "status", env={**at(m=10), "COLUMNS": 80}).ok().out
    assert [line.split() for line in out.splitlines()] == [
        ["RESERVED", "AGENT", "BEAD", "ENDS", "EPOCH"],
        ["src/*", "amber-otter", "bb-1", "in", "1h50m", "1"],
        [],
        ["UNACKED", "BY", "KIND", "STATE", "SENT", "MESSAGE"],
        ["cobalt-harbor", "Passed", "to", "New", "10m", "ago", message["message_id"]],
        "> from amber-otter about bb-1: Take over".split(),
    ]
    assert two.run("agent", "status", "--bead", "other", env=at()).ok().out == (
        "No reservations.\n\nNo unacknowledged messages.\n")


def test_shortened_scopes_stay_distinguishable(two):
    for name in ("one", "two"):
        reserve(two, "amber-otter", f"a/long/way/down/the/tree/{name}/of/folders/with/the/same/end", env=at())
    rows = two.run("agent", "status", env={**at(), "COLUMNS": 80}).ok().out.splitlines()[1:3]
    assert len({row.split()[0] for row in rows}) == 2
