"""Facts that a machine signs, but that no honest machine would write: their cost is proportional to their number, and
none has more effect than it should."""
import json
import sqlite3
import subprocess

import pytest

from conftest import BUILD, environment
from harness import STRACE, needs_strace
from machines import copy_machines, log_of, machine, settle
from remotes import bare

MANY = 1000  # the cost of each of these was quadratic: 3,000 took more than the memory of a sync, or minutes
DAY = 24 * 3600 * 1000
NOW = 1_800_000_000_000


@pytest.fixture(scope="module")
def made_pair(tmp_path_factory):
    path = tmp_path_factory.mktemp("pair")
    remote = bare(path / "hub.git")
    made = [machine(path / name, remote, f"host-{name}", ABACUS_NOW=str(NOW)) for name in "ab"]
    for one in made:
        one.agent("register", "--name", f"agent-{one.path.name}", "--role", "ui")
    settle(*made)
    return made


@pytest.fixture
def pair(made_pair, tmp_path):
    return copy_machines(made_pair, tmp_path)


def subject(machine_id, kind, data):
    if kind in ("post", "task.event"):
        return f"{machine_id}:{data['id']}"
    if kind.startswith("memory."):
        return json.dumps([data["scope"], data["scope_id"], data["key"]], separators=(",", ":"))
    return data["agent"] if kind in ("agent.registered", "agent.seen", "status") else data.get("path", data.get("id"))


def plant(one, facts, at=(1, 0)):
    """Adds facts to the log of a machine, which signs and publishes them."""
    with sqlite3.connect(one.home / "machines" / "machines.db") as db:
        me, seq, segment = db.execute("SELECT id, count, segment FROM self").fetchone()
        size = 60000
        for kind, data in facts:
            seq += 1
            line = json.dumps({"at": at, "by": "x", "data": data, "kind": kind, "seq": seq},
                              separators=(",", ":"), sort_keys=True)
            size += len(line) + 1
            if size > 60000:
                segment, size = segment + 1, len(line) + 1
            db.execute("INSERT INTO facts VALUES (?, ?, ?, ?, 'x', ?, ?, ?, ?, 1)",
                       (me, seq, *at, kind, subject(me, kind, data), line, segment))
        db.execute("UPDATE self SET count = ?, segment = ?, dirty = 1", (seq, segment))
    one.exchange()


def minted(kind, number):
    return f"{kind}_20260101_000000_{number:016x}"


def message(number, **more):
    return "message.sent", {"id": minted("msg", number), "to": "agent-a", "from": "agent-b", "body": f"body {number}",
                            "subject": "s", "bead_id": "bd-1", "category": "INFO", "created": 1, **more}


def reservation(number, scope, **more):
    return "reservation.made", {"id": minted("res", number), "scope": scope, "bead": "bd-1", "agent": "agent-b",
                                "created": NOW, "expires": NOW + DAY, "epoch": 1, **more}


def registered(name, created, role="ui"):
    return "agent.registered", {"agent": name, "display": name, "role": role, "created": created}


def post(number, **more):
    return "post", {"id": number, "agent": "agent-b", "content": f"post {number}", "created": 1, "priority": "normal",
                    "refs": [], "tags": [], **more}


def test_many_registrations_of_one_name(pair):
    a, b = pair
    plant(b, [registered("agent-a", i + 1, role=f"role-{i}") for i in range(10 * MANY)])
    a.exchange()
    assert sorted(x["agent_id"] for x in a.agent("list")) == sorted([
        "agent-a", f"agent-a-{a.id[:4]}", f"agent-a-{b.id[:4]}", "agent-b"])


def test_many_agents_of_one_machine(pair):
    a, b = pair
    plant(b, [registered(f"many-{i}", 5) for i in range(MANY)])
    plant(b, [("agent.seen", {"agent": f"many-{i}", "seen": NOW - i}) for i in range(MANY)])
    assert a.exchange()["applied"] == 2 * MANY
    assert len(a.agent("list")) == 2 + MANY


def test_many_messages(pair):
    a, b = pair
    plant(b, [message(i) for i in range(MANY)])
    assert a.exchange()["applied"] == MANY
    assert len(list((a.agents / "messages" / "index").iterdir())) == MANY


def test_a_thread_of_replies_in_reverse_order(pair):
    a, b = pair
    plant(b, [post(i, **({"reply": f"{b.id}:{i + 1}"} if i < MANY else {})) for i in range(1, MANY + 1)])
    assert a.exchange()["applied"] == MANY


@pytest.mark.parametrize("fact", [
    lambda i: ("artifact", {"path": "doc/x", "by": "agent-b", "description": str(i), "version": "1", "refs": [],
                            "created": 1}),
    lambda i: ("memory.set", {"scope": "project", "scope_id": "x", "key": "k", "value": str(i), "type": "string",
                              "expires": 0, "created": 1, "updated": 1}),
], ids=["artifact", "memory"])
def test_many_values_of_one_register(pair, fact):
    a, b = pair
    plant(b, [fact(i) for i in range(3 * MANY)])
    assert a.exchange()["applied"] == 3 * MANY


def test_a_reservation_of_times_that_no_machine_could_give_does_not_count(pair):
    """One for days or for ever does not count; one for an hour does."""
    a, b = pair
    plant(b, [reservation(1, "src/1", expires=NOW + 9 * DAY), reservation(2, "src/2", expires=2**53 - 1)])
    plant(b, [reservation(3, "src/3", expires=NOW + 10 * DAY)], at=(NOW + 9 * DAY, 0))
    plant(b, [reservation(4, "src/4", expires=NOW + 3600 * 1000)], at=(NOW, 0))
    a.exchange()
    for number in (1, 2, 3):
        a.agent("reserve", "--agent", "agent-a", "--scope", f"src/{number}", "--bead", "bd-1")
    assert a.run("agent", "reserve", "--agent", "agent-a", "--scope", "src/4", "--bead", "bd-1",
                 program="bb").code != 0


def test_a_machine_reserves_a_thousand_scopes_at_most(pair):
    a, b = pair
    plant(b, [reservation(i, f"src/{i}") for i in range(MANY + 10)], at=(NOW, 0))
    a.exchange()
    a.agent("reserve", "--agent", "agent-a", "--scope", f"src/{MANY + 9}", "--bead", "bd-1")
    assert a.run("agent", "reserve", "--agent", "agent-a", "--scope", "src/1", "--bead", "bd-1", program="bb").code != 0


def test_a_dead_agent_is_not_kept_alive(pair):
    """A last-seen time that no clock has shown yet, and an agent registered in the future."""
    a, b = pair
    plant(b, [("agent.seen", {"agent": "agent-a", "seen": NOW + 40 * DAY}), registered("later", NOW + 900 * DAY)])
    a.exchange()
    seen = {x["agent_id"]: x["last_seen_at"] for x in a.agent("list")}
    assert seen["agent-a"] == seen["later"] == "2027-01-15T08:00:00.000Z"


def test_a_fact_about_a_message_leaves_other_facts_alone(pair):
    """A message with the id of a post of another machine must not count as that post."""
    a, b = pair
    (a.path / ".bb").rename(a.path / "no-board")  # posts wait until there is a board
    plant(b, [post(1)])
    plant(b, [("message.read", {"id": f"{b.id}:1", "when": 5})])
    a.exchange()
    (a.path / "no-board").rename(a.path / ".bb")
    a.exchange()
    assert "post 1" in json.dumps(a.bb("log"))


def test_one_machine_cannot_fill_a_mailbox(pair):
    """Its messages are bounded, and its other facts and the mail of this machine still arrive."""
    a, b = pair
    mailbox = a.agents / "messages" / "agent-a.jsonl"
    plant(b, [message(i, body="x" * 1_000_000) for i in range(40)])
    plant(b, [message(99, to="agent-b", body="for another")])
    [warning] = a.exchange()["warnings"]
    assert "mailbox of 'agent-a' has no room for more messages from the machine 'host-b'" in warning
    assert 31 << 20 < mailbox.stat().st_size <= 32 << 20
    assert len((a.agents / "messages" / "agent-b.jsonl").read_text().splitlines()) == 1
    before = mailbox.read_bytes()
    plant(b, [message(100, body="x" * 1_000_000)])
    assert a.exchange()["warnings"] == [] and mailbox.read_bytes() == before
    a.agent("send", "--from", "agent-b", "--to", "agent-a", "--bead", "bd-1", "--category", "INFO", "--subject", "s",
            "--body", "local")
    assert a.agent("inbox", "--agent", "agent-a", "--limit", "1")[0]["body"] == "local"


@needs_strace
def test_a_batch_of_messages_waits_for_the_disk_once(pair, tmp_path):
    """A command that sends waits for the lock meanwhile; each message used to take two syncs."""
    a, b = pair
    plant(b, [message(i) for i in range(150)] + [("message.acked", {"id": minted("msg", i), "when": 2}) for i in range(99)])
    trace = tmp_path / "trace"
    subprocess.run([STRACE, "-f", "-y", "-o", str(trace), "-e", "trace=fsync,fdatasync",
                    str(BUILD / "libexec" / "abacus-sync"), "share", str(a.path / ".git"), "--once"],
                   cwd=a.path, env=environment(**a.env), check=True, capture_output=True, timeout=60)
    assert len([x for x in trace.read_text().splitlines() if "messages/agent-a.jsonl" in x]) == 1
    assert len([x for x in a.agent("inbox", "--agent", "agent-a", "--limit", "500", "--state", "acked")]) == 99


def test_old_posts_leave_a_large_log_so_that_others_can_read_it(pair):
    """A log of 64 MB is refused. The posts stay on every board that has them; a new machine gets the newest ones, and
    those with a reply."""
    a, b = pair
    plant(b, [post(n, content=f"{n:06d}" + "x" * 999_000, **({"reply": f"{b.id}:2"} if n == 20 else {}))
              for n in range(1, 21)], at=(NOW - 40 * DAY, 0))
    a.exchange()
    for n in range(3):  # a segment is sealed, and the log compacted
        b.agent("send", "--from", "agent-b", "--to", "agent-a", "--bead", "bd-1", "--category", "INFO", "--subject", "s",
                "--body", f"{n}" * 30000)
    settle(b, a)
    meta, facts = log_of(b.path.parent / "hub.git", b.ref)
    kept = [f["data"]["id"] for f in facts if f["kind"] == "post"]
    assert kept == [2, *range(22 - len(kept), 21)] and 14 <= len(kept) <= 16
    assert sum(s["bytes"] for s in meta["segments"]) <= 16 << 20
    with sqlite3.connect(a.database) as board:
        assert board.execute("SELECT count(*) FROM messages").fetchone() == (20,)


LAST = [253402300799999, 9007199254740991]


def remember(one, value):
    one.vybe("memory", "set", "--key", "k", "--value", value, "--scope", "global", "--agent", "x", "--request-id", value)


def remembered(one):
    return one.vybe("memory", "get", "--key", "k", "--scope", "global", "--agent", "x")["data"]["value"]


@pytest.mark.parametrize("at", [LAST, [LAST[0], LAST[1] - 1]], ids=["last", "last but one"])
def test_a_value_with_the_last_stamp_can_be_changed_everywhere(pair, at, tmp_path):
    """No stamp is later, so the change names the fact that it replaces."""
    a, b = pair
    (a.path / "x").write_text("x")
    remember(a, "first")
    a.bb("artifact", "add", "x", "first", "--agent", "agent-a")
    settle(a, b)
    plant(b, [("memory.set", {"scope": "global", "scope_id": "", "key": "k", "value": "theirs", "type": "string",
                              "expires": 0, "created": 1, "updated": 1, "pinned": False, "memory_kind": None}),
              ("artifact", {"path": "x", "by": "agent-b", "description": "theirs", "version": "1", "refs": [],
                            "created": 1})], at)
    settle(a, b)
    assert remembered(a) == "theirs"
    for value in ("second", "third", "fourth"):
        remember(a, value)
        a.bb("artifact", "add", "x", value, "--agent", "agent-a")
        settle(a, b)
        new = machine(tmp_path / value, tmp_path / "hub.git", f"host-{value}", ABACUS_NOW=str(NOW))
        settle(new)
        for one in (a, b, new):
            assert remembered(one) == value, one.path
            assert [x["description"] for x in one.bb("artifacts")] == [value], one.path


def rows(one):
    return {(x["agent_id"], x.get("machine"), x["role"]) for x in one.agent("list")}


def test_a_machine_cannot_give_another_one_an_agent(pair):
    a, b = pair
    plant(b, [("agent.registered", {**registered("eve", NOW)[1], "machine": a.id})])
    settle(a, b)
    assert rows(a) == {("agent-a", None, "ui"), ("agent-b", "host-b", "ui")}
    assert next(x for x in a.abacus("machines") if x["here"])["agents"] == ["agent-a"]


@pytest.mark.parametrize("at", [1, NOW, LAST[0]])
def test_a_machine_cannot_take_another_ones_agent(pair, at):
    """An agent with the same name and time on another machine is a different agent, with its own mail."""
    a, b = pair
    plant(b, [registered("agent-a", NOW, role="theirs")], [at, 0])
    settle(a, b)
    b.agent("send", "--from", "agent-b", "--to", "agent-a@host-a", "--bead", "bd-1", "--category", "INFO",
            "--subject", "s", "--body", "for a")
    settle(b, a)
    mine, theirs = "agent-a", f"agent-a-{b.id[:4]}"
    if b.id < a.id:
        mine, theirs = f"agent-a-{a.id[:4]}", "agent-a"
    assert rows(a) == {(mine, None, "ui"), (theirs, "host-b", "theirs"), ("agent-b", "host-b", "ui")}
    assert "for a" in [m["body"] for m in a.agent("inbox", "--agent", mine)]


def test_another_machine_may_change_the_fields_of_an_agent(pair):
    a, b = pair
    plant(b, [("agent.registered", {**registered("agent-a", NOW, role="changed")[1], "machine": a.id})], [NOW + 5, 0])
    settle(a, b)
    assert rows(a) == {("agent-a", None, "changed"), ("agent-b", "host-b", "ui")}
    a.agent("register", "--name", "agent-a", "--role", "mine", "--force-update")
    settle(a, b)
    assert {("agent-a", "host-a", "mine"), ("agent-b", None, "ui")} == rows(b)


@pytest.mark.parametrize("change", [{"body": "forged"}, {"body": "forged", "to_registered": 5}, {"category": "NONE"},
                                    {"to": "agent-b", "to_machine": None, "to_registered": None}])
def test_a_message_under_the_id_of_another_one_does_not_hide_it(pair, change, tmp_path):
    """Its stamp is earlier, and machines that know neither get both at once, or the forged one first."""
    a, b = pair
    c = machine(tmp_path / "c", tmp_path / "hub.git", "host-c", ABACUS_NOW=str(NOW))
    c.agent("register", "--name", "agent-c", "--role", "ui")
    settle(a, b, c)
    a.agent("send", "--from", "agent-a", "--to", "agent-c", "--bead", "bd-1", "--category", "INFO", "--subject", "s", "--body",
            "true")
    a.exchange()
    sent = next(fact for fact in log_of(tmp_path / "hub.git", a.ref)[1] if fact["kind"] == "message.sent")
    data = {key: value for key, value in {**sent["data"], **change}.items() if value is not None}
    plant(b, [("message.sent", data)])
    for one in (c, a, b, c, a, b):
        one.exchange()
    for one in (a, b, c):
        bodies = [m["body"] for m in one.agent("inbox", "--agent", "agent-c")]
        assert bodies.count("true") == 1 and len(bodies) <= 2, bodies
    c.agent("ack", "--agent", "agent-c", "--message", next(
        m["message_id"] for m in c.agent("inbox", "--agent", "agent-c") if m["body"] == "true"))


def test_the_same_message_of_a_clone_and_its_copy_arrives_once(pair, tmp_path):
    a, b = pair
    a.agent("send", "--from", "agent-a", "--to", "agent-b", "--bead", "bd-1", "--category", "INFO", "--subject", "s", "--body", "x")
    a.exchange()
    sent = next(fact for fact in log_of(tmp_path / "hub.git", a.ref)[1] if fact["kind"] == "message.sent")
    c = machine(tmp_path / "c", tmp_path / "hub.git", "host-c", ABACUS_NOW=str(NOW))
    plant(c, [("message.sent", sent["data"])])
    settle(b, c)
    assert [m["body"] for m in b.agent("inbox", "--agent", "agent-b")] == ["x"]
