"""Facts that a machine signs, but that no honest machine would write: their cost is proportional to their number, and
none has more effect than it should."""
import datetime
import json
import os
import random
import re
import resource
import sqlite3
import subprocess

import pytest

from conftest import BUILD, environment
from harness import STRACE, needs_strace
from machine_model import Names, name_of_machine, order
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


def exchange_within(one, most):
    """One round that takes at most so many bytes of memory, beside those of the program and of this process."""
    process = subprocess.Popen([str(BUILD / "libexec" / "abacus-sync"), "share", str(one.path / ".git"), "--once"],
                               stdout=subprocess.PIPE, cwd=one.path, env=environment(**one.env))
    reply = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert used.ru_maxrss * 1024 < inherited * 1024 + most, f"{used.ru_maxrss >> 10} MB"
    return json.loads(reply)["reply"]


def test_many_registrations_of_one_name(pair):
    a, b = pair
    plant(b, [registered("agent-a", i + 1, role=f"role-{i}") for i in range(10 * MANY)])
    a.exchange()
    assert sorted(x["agent_id"] for x in a.agent("list")) == sorted([
        "agent-a", f"agent-a-{a.id[:4]}", f"agent-a-{b.id[:4]}", "agent-b"])


def test_a_reply_to_a_post_that_was_never_made_answers_no_other_post(pair):
    """On the machine that it names, another machine's post has that number."""
    a, b = pair
    plant(b, [post(1, content="theirs")])
    a.exchange()
    number = next(m["id"] for m in a.bb("log") if m["content"] == "theirs")
    plant(b, [post(2, content="a reply", reply=f"{a.id}:{number}")])
    a.exchange()
    assert [m["content"] for m in a.bb("log")] == ["theirs"]


@pytest.mark.parametrize("at_once", [False, True])
def test_an_agent_has_the_same_fields_whether_facts_arrive_at_once_or_not(pair, at_once):
    """A name that a machine's agent has, and another one of that machine was given later: the earlier registration counts."""
    a, b = pair
    new = f"agent-a-{b.id[:4]}"
    for fact, at in ((("agent.registered", {"agent": new, "display": "t3", "role": "ui", "created": NOW - 5}), 2),
                     (("agent.registered", {"agent": "agent-a", "display": "t1", "role": "ui", "created": NOW + DAY, "machine": b.id}), NOW + 1000)):
        plant(b, [fact], at=(at, 0))
        if not at_once:
            a.exchange()
    a.exchange()
    assert [x["display_name"] for x in a.agent("list") if x["agent_id"] == new] == ["t3"]


@pytest.mark.parametrize("words", [{"role": ""}, {"role": "a\nb"}, {"role": None}, {"display": " "}])
def test_words_that_no_command_accepts_do_not_stop_the_rename_of_an_agent(pair, words):
    """A change of another machine gave them to the agent, whose name an earlier registration then took."""
    a, b = pair
    made = next(x["created_at"] for x in a.agent("list") if x["agent_id"] == "agent-a")
    created = int(datetime.datetime.fromisoformat(made.replace("Z", "+00:00")).timestamp() * 1000)
    plant(b, [("agent.registered", {"agent": "agent-a", "created": created, "display": "d", "role": "r", "machine": a.id, **words})],
          at=(NOW + DAY, 0))
    plant(b, [registered("agent-a", 1)])
    a.exchange()
    own = next(x for x in a.agent("list") if x["agent_id"] == f"agent-a-{a.id[:4]}")
    assert (own["display_name"], own["role"]) == ("agent-a", "ui")


def test_many_renames_read_the_messages_once(pair):
    """All messages were read for each rename: the memory of a sync was not enough, also once the log was deleted."""
    a, b = pair
    plant(b, [registered(f"many-{i}", created) for i in range(MANY) for created in (1, 2)] +
          [message(i, to=f"many-{i}", to_machine=b.id, to_registered=2) for i in range(MANY)])
    assert exchange_within(a, 128 << 20)["applied"] == 3 * MANY
    new = f"many-7-{b.id[:4]}"
    assert [m["body"] for m in a.agent("inbox", "--agent", new)] == ["body 7"]
    assert a.agent("inbox", "--agent", "many-7") == []


def test_messages_follow_each_of_many_renamed_agents(pair, tmp_path):
    """The mail was here before the registrations that cause the renames."""
    a, b = pair
    c = machine(tmp_path / "c", tmp_path / "hub.git", "host-c", ABACUS_NOW=str(NOW))
    plant(b, [registered(f"many-{i}", 2) for i in range(50)] +
          [message(i, to=f"many-{i}", to_machine=b.id, to_registered=2) for i in range(50)] +
          [message(100 + i, **{"from": f"many-{i}"}) for i in range(50)])
    settle(a)
    plant(c, [registered(f"many-{i}", 1) for i in range(50)])
    settle(a)
    for i in (0, 49):
        assert [m["body"] for m in a.agent("inbox", "--agent", f"many-{i}-{b.id[:4]}")] == [f"body {i}"]
        assert a.agent("inbox", "--agent", f"many-{i}") == []
    assert {m["from_agent"] for m in a.agent("inbox", "--agent", "agent-a", "--limit", "500")} == {
        f"many-{i}-{b.id[:4]}" for i in range(50)}


def test_a_clone_that_has_received_many_renames_joins_the_facts_of_others(pair, tmp_path):
    """Also after the log with the renames was deleted at the remote."""
    a, b = pair
    c = machine(tmp_path / "c", tmp_path / "hub.git", "host-c", ABACUS_NOW=str(NOW))
    c.agent("register", "--name", "agent-c", "--role", "ui")
    settle(a, c)
    plant(b, [registered(f"many-{i}", created) for i in range(MANY) for created in (1, 2)] +
          [message(i) for i in range(MANY)])
    exchange_within(a, 128 << 20)
    a.abacus("machines", "forget", "host-b")
    c.agent("send", "--from", "agent-c", "--to", "agent-a", "--bead", "bd-1", "--category", "INFO", "--subject", "s",
            "--body", "from c")
    exchange_within(c, 128 << 20)
    exchange_within(a, 128 << 20)
    assert [m["body"] for m in a.agent("inbox", "--agent", "agent-a", "--limit", "1")] == ["from c"]


def test_many_agents_of_one_machine(pair):
    a, b = pair
    plant(b, [registered(f"many-{i}", 5) for i in range(MANY)])
    plant(b, [("agent.seen", {"agent": f"many-{i}", "seen": NOW - i}) for i in range(MANY)])
    assert a.exchange()["applied"] == 2 * MANY
    assert len(a.agent("list")) == 2 + MANY


@needs_strace
def test_many_agents_are_joined_without_reading_the_history_again_for_each_pass(pair, tmp_path):
    """Each pass joins a few agents, and used to read all lines that the passes before it had written."""
    a, b = pair
    plant(b, [registered(f"many-{i}", 5) for i in range(MANY)])
    trace = tmp_path / "trace"
    subprocess.run([STRACE, "-f", "-y", "-o", str(trace), "-e", "trace=read,pread64",
                    str(BUILD / "libexec" / "abacus-sync"), "share", str(a.path / ".git"), "--once"],
                   cwd=a.path, env=environment(**a.env), check=True, capture_output=True, timeout=60)
    read = sum(int(x.rpartition(" = ")[2]) for x in trace.read_text().splitlines() if "agents/history.jsonl" in x)
    assert len(a.agent("list")) == 2 + MANY
    assert read < 2048 * MANY, "1 KB before each line that is added, and the line itself"


def test_the_cost_of_joining_agents_is_proportional_to_their_number(pair):
    a, b = pair
    spent = []
    for count in (MANY, 6 * MANY):
        plant(b, [registered(f"many-{count}-{i}", 5) for i in range(count)])
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        assert a.exchange()["applied"] == count
        spent.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    assert spent[1] < 12 * spent[0], spent


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


@pytest.mark.parametrize("fact", [
    lambda i: ("artifact", {"path": f"doc/{i}", "by": "agent-b", "description": "d", "version": "1", "refs": [],
                            "created": 1}),
    lambda i: ("memory.set", {"scope": "global", "scope_id": "", "key": f"k{i}", "value": "v", "type": "string",
                              "memory_kind": "fact", "pinned": False, "expires": 0, "created": 1, "updated": 1}),
], ids=["artifact", "memory"])
def test_many_new_registers_take_memory_in_proportion_to_their_number(pair, fact):
    """All values known before were read for each value that is not here yet: 3,000 took 400 MB."""
    a, b = pair
    plant(b, [fact(i) for i in range(3 * MANY)])
    assert exchange_within(a, 128 << 20)["applied"] == 3 * MANY


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


def test_the_cost_of_reservations_is_proportional_to_their_number(pair, tmp_path):
    """All pairs of them were compared, again for each further fact, while local commands waited."""
    a, b = pair
    makers = [b] + [machine(tmp_path / f"m{i}", tmp_path / "hub.git", f"host-m{i}", ABACUS_NOW=str(NOW)) for i in range(7)]
    folder, spent = "/".join(["x" * 50] * 36), []
    for first, count in (0, MANY // 8), (MANY // 8, MANY // 8 * 7):
        for m, one in enumerate(makers):
            plant(one, [reservation(m * MANY + i, f"{folder}/{m}-{i}", agent=f"agent-{m}") for i in range(first, first + count)])
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        assert a.exchange()["applied"] >= 8 * count
        spent.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    assert len(a.agent("status")["reservations"]) == 8 * MANY
    assert spent[1] < 20 * spent[0], spent


def test_many_contested_reservations_take_memory_in_proportion_to_their_number(pair):
    """The record of events was read for each of them: 60 of them, and 9 MB of events, took 600 MB, and every later round failed."""
    a, b = pair
    for i in range(60):
        a.agent("reserve", "--agent", "agent-a", "--scope", f"src/x{i}", "--bead", "bd-1")
    a.exchange()
    plant(b, [("event", {"id": minted("proto", i + 1), "event_type": "RESUME", "bead_id": "bd-1", "from_agent": "agent-b",
                         "to_agent": "agent-a", "scope": "src", "created_at": "2026-01-01T00:00:00.000Z", "payload": {"x": [0] * 4000}})
              for i in range(MANY)])
    a.exchange()
    plant(b, [reservation(9 * MANY, "/")])
    exchange_within(a, 64 << 20)
    assert len(a.agent("events", "--type", "INCURSION", "--limit", "500")) == 60
    mail = a.agent("inbox", "--agent", "agent-a", "--limit", "500")
    assert len([m for m in mail if m["subject"].startswith("Reservation contested: src/x")]) == 60
    size = (a.path / ".beadboard/agent/events.jsonl").stat().st_size
    for number in range(3):  # made and released again and again, it costs nothing more
        plant(b, [("reservation.released", {"id": minted("res", 9 * MANY + number), "when": NOW}), reservation(9 * MANY + number + 1, "/")])
        a.exchange()
    assert (a.path / ".beadboard/agent/events.jsonl").stat().st_size == size
    assert len(a.agent("inbox", "--agent", "agent-a", "--limit", "500")) == len(mail)


def test_reservations_with_many_values_take_memory_in_proportion_to_their_text(pair):
    """Those of all machines were parsed at once, in each round: 40 MB of text took more than the memory of a sync."""
    a, b = pair
    plant(b, [("reservation.released", {"id": minted("res", i), "x": [0] * 4000}) for i in range(2 * MANY)])
    assert exchange_within(a, 128 << 20)["applied"] == 2 * MANY
    plant(b, [reservation(9 * MANY, "src")])
    exchange_within(a, 64 << 20)
    assert [r["scope"] for r in a.agent("status")["reservations"]] == ["src"]


@pytest.mark.parametrize("fact", [
    lambda i: post(i + 1, x=[0] * 4000),
    lambda i: ("task.event", {"id": i + 1, "event_kind": "note", "agent": "agent-b", "project": "", "task": "bd-1",
                              "message": "m", "metadata": json.dumps([0] * 4000), "created": 1, "x": [0] * 4000}),
    lambda i: ("status", {"agent": "agent-b", "status": "blocked", "progress": 5, "task": "t", "blockers": "b",
                          "updated": 1, "x": [0] * 4000}),
    lambda i: ("artifact", {"path": "doc/x", "by": "agent-b", "description": "d", "version": "1", "refs": [0] * 4000,
                            "created": 1}),
    lambda i: ("memory.set", {"scope": "global", "scope_id": "", "key": "k", "value": "v", "type": "string",
                              "expires": 0, "created": 1, "updated": 1, "x": [0] * 4000}),
    lambda i: ("event", {"id": minted("proto", i), "event_type": "RESUME", "bead_id": "bd-1", "from_agent": "agent-b",
                         "to_agent": "agent-a", "scope": "src", "created_at": "2026-01-01T00:00:00Z", "payload": {},
                         "x": [0] * 4000}),
    lambda i: ("agent.registered", {"agent": "agent-b", "display": "d", "role": "ui", "created": 1, "x": [0] * 4000}),
    lambda i: ("agent.seen", {"agent": "agent-b", "seen": NOW, "x": [0] * 4000}),
    lambda i: message(1, x=[0] * 4000),
    lambda i: ("message.read", {"id": minted("msg", 1), "when": 1, "x": [0] * 4000}),
], ids=["post", "task.event", "status", "artifact", "memory", "event", "agent.registered", "agent.seen", "message.sent",
        "message.read"])
def test_facts_with_many_values_take_memory_in_proportion_to_their_text(pair, fact):
    """Those of one kind of all machines were parsed at once: three logs of 13 MB ended all sharing. Compacting the
    own log, which two large posts cause, reads all facts once more."""
    a, b = pair
    plant(b, [fact(i) for i in range(MANY)])
    assert exchange_within(a, 96 << 20)["applied"] == MANY
    for _ in range(2):
        a.bb("post", "--as", "agent-a", "x" * 40000)
    exchange_within(a, 96 << 20)


def test_a_dead_agent_is_not_kept_alive(pair):
    """A last-seen time that no clock has shown yet, and an agent registered in the future."""
    a, b = pair
    plant(b, [("agent.seen", {"agent": "agent-a", "seen": NOW + 40 * DAY}), registered("later", NOW + 900 * DAY)])
    a.exchange()
    seen = {x["agent_id"]: x["last_seen_at"] for x in a.agent("list")}
    assert seen["agent-a"] == seen["later"] == "2027-01-15T08:00:00.000Z"


@pytest.mark.parametrize("time", [NOW + 40 * DAY, 253402300799999, 2**63 - 1])
def test_no_act_is_dated_in_the_future(pair, time):
    """Beyond 30 days: it would be the newest one for ever, and its agent would be active for ever."""
    a, b = pair
    number, moment = minted("msg", 1), "9999-12-31T23:59:59.999Z"
    plant(b, [registered("future", time), ("agent.seen", {"agent": "agent-a", "seen": time}), message(1, created=time),
              ("message.read", {"id": number, "when": time}), ("message.acked", {"id": number, "when": time}),
              reservation(1, "src", created=time, expires=NOW + 1), post(1, created=time),
              ("reservation.released", {"id": minted("res", 1), "when": time}),
              reservation(2, "doc", created=time, expires=NOW + 1),
              ("event", {"id": minted("proto", 1), "event_type": "RESUME", "bead_id": "bd-1", "from_agent": "agent-b",
                         "to_agent": "agent-a", "scope": "src", "created_at": moment, "payload": {}}),
              ("status", {"agent": "ghost", "status": "blocked", "progress": 5, "task": "t", "blockers": "b", "updated": time}),
              ("artifact", {"path": "doc/x", "by": "agent-b", "description": "d", "version": "1", "refs": [],
                            "created": time}),
              ("memory.set", {"scope": "global", "scope_id": "", "key": "k", "value": "v", "type": "string",
                              "memory_kind": "fact", "pinned": False, "expires": 0, "created": time, "updated": time}),
              ("task.event", {"id": 1, "event_kind": "note", "agent": "agent-b", "project": "", "task": "bd-1",
                              "message": "m", "metadata": "{}", "created": time})], at=(NOW, 0))
    settle(a, b)
    shown = [a.abacus("log"), a.bb("status"), a.bb("log"), a.bb("artifacts"), a.agent("inbox", "--agent", "agent-a"),
             a.vybe("memory", "list", "--scope", "global"), *([x["agent_id"], x["last_seen_at"]] for x in a.agent("list"))]
    for one in shown:
        dates = re.findall(r"\d{4}-\d\d-\d\dT[^\"]*", json.dumps(one))
        assert dates and max(dates) <= "2027-01-15T08:00:00.001Z", one
    assert {x["what"] for x in a.abacus("log")} >= {"sent", "accepted", "reserved", "registered", "resumed", "posted"}


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


def send(one, body):
    one.agent("send", "--from", "agent-b", "--to", "agent-a", "--bead", "bd-1", "--category", "INFO", "--subject", "s",
              "--body", body)
    assert one.agent("inbox", "--agent", "agent-a", "--limit", "1")[0]["body"] == body


def step(kind, number, when):
    return f"message.{kind}", {"id": minted("msg", number), "when": when}


THIRD = 32 << 20


def test_one_machine_cannot_fill_a_mailbox(pair):
    """Its messages are bounded, and its other facts and the mail of this machine still arrive."""
    a, b = pair
    mailbox = a.agents / "messages" / "agent-a.jsonl"
    plant(b, [message(i, body="x" * 1_000_000) for i in range(40)])
    plant(b, [message(99, to="agent-b", body="for another")])
    [warning] = a.exchange()["warnings"]
    assert "mailbox of 'agent-a' has no room for more messages, reads and acks from the machine 'host-b'" in warning
    assert THIRD / 3 - (1 << 20) < mailbox.stat().st_size <= THIRD / 3, "there is room to read and ack each"
    assert len((a.agents / "messages" / "agent-b.jsonl").read_text().splitlines()) == 1
    before = mailbox.read_bytes()
    plant(b, [message(100, body="x" * 1_000_000)])
    assert a.exchange()["warnings"] == [] and mailbox.read_bytes() == before
    send(a, "local")


def test_steps_of_messages_count_towards_the_share_of_their_machine(pair):
    """Each appends the whole message, also if it only has an earlier time."""
    a, b = pair
    mailbox = a.agents / "messages" / "agent-a.jsonl"
    plant(b, [message(i, body="x" * 1_000_000) for i in range(40)])
    a.exchange()
    for kind, when in ("read", 9), ("acked", 9), ("acked", 8), ("acked", 7), ("read", 6):
        plant(b, [step(kind, i, when) for i in range(40)] + [message(1000 + when, to="agent-b")])
        a.exchange()
        assert mailbox.stat().st_size <= THIRD
    assert {m["state"] for m in a.agent("inbox", "--agent", "agent-a")} == {"acked"}, "they had room"
    assert len(a.agent("inbox", "--agent", "agent-b")) == 4, "all other facts were joined"
    send(a, "local")


def fill(one, count, **more):
    """Writes messages of 1 MB to the mailbox of agent-a, as commands do."""
    mailbox = one.agents / "messages" / "agent-a.jsonl"
    send(one, "local")
    line = json.loads(mailbox.read_text())
    with mailbox.open("a") as file:
        for i in range(count):
            line.update(message_id=minted("msg", i), body="x" * 1_000_000, **more)
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def test_steps_of_local_messages_count_towards_the_share_of_the_machine_that_took_them(pair):
    a, b = pair
    fill(a, 10)
    a.exchange()
    said = []
    for when in range(9, 4, -1):
        plant(b, [step("read", i, when) for i in range(10)])
        said += a.exchange()["warnings"]
    assert len(said) == 1 and "has no room for more messages, reads and acks from the machine 'host-b'" in said[0]
    assert (a.agents / "messages" / "agent-a.jsonl").stat().st_size <= THIRD + (10 << 20)
    send(a, "again")


def test_messages_of_other_machines_that_are_read_here_leave_room_for_local_mail(pair, tmp_path):
    a, b = pair
    mailbox = a.agents / "messages" / "agent-a.jsonl"
    others = [machine(tmp_path / name, tmp_path / "hub.git", f"host-{name}", ABACUS_NOW=str(NOW)) for name in "cd"]
    for first, one in enumerate([b, *others]):
        plant(one, [message(100 * first + i, body="x" * 1_000_000) for i in range(20)])
    a.exchange()
    for one in a.agent("inbox", "--agent", "agent-a", "--limit", "100"):
        a.agent("ack", "--agent", "agent-a", "--message", one["message_id"])
    assert THIRD < mailbox.stat().st_size <= 2 * THIRD
    plant(b, [message(99, body="x" * 1_000_000)])
    a.exchange()
    assert mailbox.stat().st_size <= 2 * THIRD
    send(a, "local")


def test_a_full_mailbox_leaves_out_its_facts_and_no_others(pair):
    a, b = pair
    fill(a, 102, via="0" * 16)
    mailbox = a.agents / "messages" / "agent-a.jsonl"
    before = mailbox.stat().st_size
    assert before > 96 << 20
    plant(b, [message(0), step("read", 0, 5), message(1000), message(1001, to="agent-b"), post(1)])
    [warning] = a.exchange()["warnings"]
    assert "has no room for more messages, reads and acks from the machine 'host-b'" in warning
    assert mailbox.stat().st_size == before
    assert [m["body"] for m in a.agent("inbox", "--agent", "agent-b")] == ["body 1001"]
    assert "post 1" in json.dumps(a.bb("log"))


def event(number, **payload):
    return "event", {"id": minted("proto", number), "bead_id": "bd-1", "created_at": "2026-01-01T00:00:00.000Z",
                     "event_type": "HANDOFF", "from_agent": "agent-b", "to_agent": "agent-a", "scope": None,
                     "version": "v1", "payload": {"subject": "s", **payload}}


def hand_over(one):
    one.agent("send", "--from", "agent-b", "--to", "agent-a", "--bead", "bd-1", "--category", "HANDOFF", "--subject", "s",
              "--body", "local")
    last = (one.agents / "events.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["payload"]["summary"] == "local"


def test_other_machines_cannot_fill_the_record_of_events(pair, tmp_path):
    """One fills a third, all together two thirds, in several pushes too. Their other facts are joined."""
    a, b = pair
    events = a.agents / "events.jsonl"
    others = [machine(tmp_path / name, tmp_path / "hub.git", f"host-{name}", ABACUS_NOW=str(NOW)) for name in "cd"]
    plant(b, [event(i, summary="x" * 1_000_000) for i in range(20)])
    assert a.exchange()["warnings"] == []
    for number, (one, count, most) in enumerate(zip([b, *others], (16, 36, 2), (THIRD, 2 * THIRD, 2 * THIRD)), 1):
        plant(one, [event(100 * number + i, summary="x" * 1_000_000) for i in range(count)] + [message(number)])
        [warning] = [w for w in a.exchange()["warnings"] if "no room" in w]
        assert f"the record of events has no room for more events from the machine 'host-{one.path.name}'" in warning
        assert most - (2 << 20) < events.stat().st_size <= most
    assert len(a.agent("inbox", "--agent", "agent-a")) == 3
    hand_over(a)


def test_a_full_record_of_events_does_not_stop_other_facts(pair):
    a, b = pair
    hand_over(a)
    a.exchange()
    events = a.agents / "events.jsonl"
    line = {**json.loads(events.read_text()), "via": "0" * 16}
    with events.open("a") as file:
        for i in range(102):
            line.update(id=minted("proto", 5000 + i), payload={"summary": "x" * 1_000_000})
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    before = events.stat().st_size
    plant(b, [event(1), message(1), post(1)])
    [warning] = a.exchange()["warnings"]
    assert "the record of events has no room for more events from the machine 'host-b'" in warning
    assert events.stat().st_size == before > 96 << 20
    assert "body 1" in [m["body"] for m in a.agent("inbox", "--agent", "agent-a")]
    assert "post 1" in json.dumps(a.bb("log"))


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


MEMORY = {"scope": "global", "scope_id": "", "key": "k", "value": "theirs", "type": "string", "expires": 0, "created": 1,
          "updated": 1, "pinned": False, "memory_kind": None}
ARTIFACT = {"path": "x", "by": "agent-b", "description": "theirs", "version": "1", "refs": [], "created": 1}
STATUS = {"agent": "agent-a", "task": "theirs", "blockers": None, "status": "working", "progress": 5, "updated": NOW}


@pytest.mark.parametrize("fact", [
    *(("memory.set", {**MEMORY, **wrong}) for wrong in (
        {"memory_kind": "agent"}, {"type": "nope"}, {"value": 5}, {"expires": -1}, {"created": 0}, {"updated": 0})),
    *(("artifact", {**ARTIFACT, **wrong}) for wrong in ({"created": -1}, {"by": ""}, {"version": "v" * 10000})),
    *(("status", {**STATUS, **wrong}) for wrong in ({"progress": 1000}, {"status": "nope"}, {"updated": -1})),
], ids=lambda fact: fact[0])
def test_a_fact_that_is_not_valid_does_not_hide_a_valid_one(pair, fact, tmp_path):
    """It must not win: clones that had the valid value before would keep it, and later ones would have none."""
    a, b = pair
    (a.path / "x").write_text("x")
    remember(a, "ours")
    a.bb("artifact", "add", "x", "ours", "--agent", "agent-a")
    a.bb("status", "set", "ours", "--agent", "agent-a")
    settle(a, b)
    plant(b, [fact], (NOW + 1000, 0))
    settle(a, b)
    new = machine(tmp_path / "new", tmp_path / "hub.git", "host-new", ABACUS_NOW=str(NOW))
    settle(new)
    for one in (a, b, new):
        assert remembered(one) == "ours", one.path
        assert [x["description"] for x in one.bb("artifacts")] == ["ours"], one.path
        assert one.bb("status", "get", "agent-a")[0]["current_task"] == "ours", one.path


def rows(one):
    return {(x["agent_id"], x.get("machine"), x["role"]) for x in one.agent("list")}


def third(path):
    """A third machine, which only looks."""
    made = machine(path / "c", path / "hub.git", "host-c", ABACUS_NOW=str(NOW))
    made.agent("register", "--name", "agent-c", "--role", "ui")
    settle(made)
    return made


def write(one, sender, to, body):
    one.agent("send", "--from", sender, "--to", to, "--bead", "bd-1", "--category", "INFO", "--subject", "s", "--body",
              body)


def bodies_of(one, name):
    """What the agents have written to this one."""
    return {m["body"] for m in one.agent("inbox", "--agent", name) if m["from_agent"] != "abacus"}


def test_a_machine_cannot_give_another_one_an_agent(pair):
    a, b = pair
    plant(b, [("agent.registered", {**registered("eve", NOW)[1], "machine": a.id})])
    settle(a, b)
    assert rows(a) == {("agent-a", None, "ui"), ("agent-b", "host-b", "ui")}
    assert next(x for x in a.abacus("machines") if x["here"])["agents"] == ["agent-a"]


@pytest.mark.parametrize("name", ["k" * 43, "k" * 44, "k" * 48, "k" * 33 + "-" + "k" * 14], ids=[
    "all fits", "one too long", "the longest", "a dash where it is cut"])
def test_an_agent_with_a_long_name_that_another_machine_takes_gets_a_valid_name(pair, name, tmp_path):
    """It keeps its identity and its mail, and the old name still means it here."""
    a, b = pair
    c = third(tmp_path)
    a.agent("register", "--name", name, "--role", "ui")
    write(a, "agent-a", name, "before")
    settle(a, c)
    plant(b, [registered(name, 1, role="theirs")])
    settle(a, c)
    new = name_of_machine(name, a.id[:4])
    assert 3 <= len(new) <= 48
    assert (new, None, "ui") in rows(a) and (name, "host-b", "theirs") in rows(a) and len(rows(a)) == 5
    assert (new, "host-a", "ui") in rows(c) and (name, "host-b", "theirs") in rows(c) and len(rows(c)) == 5
    for to in (name, new, f"{name}@host-a"):
        write(a, "agent-a", to, f"to {to}")
    write(c, "agent-c", f"{name}@host-a", "from c")
    settle(c, a)
    for one, called in (a, name), (a, new), (c, new):
        assert bodies_of(one, called) == {"before", f"to {name}", f"to {new}", f"to {name}@host-a", "from c"}
    assert bodies_of(c, name) == set()


def test_two_agents_with_long_names_that_begin_alike_stay_apart(pair, tmp_path):
    a, b = pair
    c = third(tmp_path)
    names = ["k" * 47 + end for end in "xy"]
    for name in names:
        a.agent("register", "--name", name, "--role", "ui")
    settle(a, c)
    plant(b, [registered(name, 1) for name in names])
    settle(a, c)
    assert {(name_of_machine(name, a.id[:4]), "host-a", "ui") for name in names} < rows(c)
    assert len(rows(c)) == 7


def test_a_name_that_no_command_would_take_does_not_become_valid_when_it_is_shortened(pair):
    a, b = pair
    plant(b, [registered("x" * 60, created) for created in (1, 2)])
    settle(a, b)
    assert rows(a) == {("agent-a", None, "ui"), ("agent-b", "host-b", "ui")}


def test_a_message_whose_sender_was_renamed_is_listed_once_and_hides_no_other(pair):
    """It is in the mailbox twice, with the old and the new name of its sender."""
    a, b = pair
    a.agent("register", "--name", "other", "--role", "ui")
    for body in ("one", "two"):
        write(a, "agent-a", "other", body)
        write(a, "other", "other", f"after {body}")
    settle(a)
    plant(b, [registered("agent-a", 1)])
    settle(a)
    assert sorted(m["body"] for m in a.agent("inbox", "--agent", "other")) == ["after one", "after two", "one", "two"]


@pytest.mark.parametrize("steps", ["name alias", "name, alias", "alias, name"])
def test_a_machine_cannot_wait_for_an_agent_at_its_next_name(pair, steps, tmp_path):
    """It registers the name of another machine's agent, and the name which that agent gets then."""
    a, b = pair
    c = third(tmp_path)
    new = f"agent-a-{a.id[:4]}"
    write(a, "agent-a", "agent-a", "before")
    settle(a, c)
    for step in steps.split(", "):
        plant(b, [registered({"name": "agent-a", "alias": new}[word], 1, role=word) for word in step.split()])
        settle(a, c)
    late = machine(tmp_path / "d", tmp_path / "hub.git", "host-d", ABACUS_NOW=str(NOW))
    settle(late)
    for one in (a, c, late):
        assert {("agent-a", "host-b", "name"), (new, None if one is a else "host-a", "ui"),
                (f"{new}-{b.id[:4]}", "host-b", "alias")} == {row for row in rows(one) if "agent-a" in row[0]}, one.path
    write(c, "agent-c", new, "to the new name")
    write(c, "agent-c", "agent-a@host-a", "to the old name")
    write(c, "agent-c", f"{new}@host-b", "to the other one")
    settle(c, a, late)
    for one in (a, c, late):
        assert bodies_of(one, new) == {"before", "to the new name", "to the old name"}, one.path
        assert bodies_of(one, f"{new}-{b.id[:4]}") == {"to the other one"}, one.path


def take_id(one, id):
    """Gives a machine that has not shared anything another id."""
    key = one.home / "machines" / "key"
    key.write_text(json.dumps({**json.loads(key.read_text()), "machine": id}))
    with sqlite3.connect(one.home / "machines" / "machines.db") as db:
        db.execute("UPDATE self SET id = ?", (id,))


@pytest.mark.parametrize("renamed", [False, True], ids=["at once", "after it was renamed"])
def test_a_machine_with_the_same_first_digits_does_not_get_the_agent(pair, renamed, tmp_path):
    """Both agents would have the same new name: the later one gets all digits, with the mail that it has."""
    a, b = pair
    c = third(tmp_path)
    twin = machine(tmp_path / "twin", tmp_path / "hub.git", "twin", ABACUS_NOW=str(NOW))
    take_id(twin, a.id[:4] + "0" * 12)
    short, long = f"agent-a-{a.id[:4]}", f"agent-a-{a.id}"
    write(a, "agent-a", "agent-a", "first")
    a.bb("post", "a post", "--agent", "agent-a")
    plant(b, [registered("agent-a", 1, role="name")])
    if renamed:
        settle(a, c)
        write(c, "agent-c", short, "second")
        settle(c, a)
        assert bodies_of(a, short) == {"first", "second"}
    plant(twin, [registered("agent-a", 2, role="twin")])
    settle(a, c)
    late = machine(tmp_path / "d", tmp_path / "hub.git", "host-d", ABACUS_NOW=str(NOW))
    settle(late)
    for one in (a, c, late):
        assert {("agent-a", "host-b", "name"), (short, "twin", "twin"),
                (long, None if one is a else "host-a", "ui")} == {row for row in rows(one) if "agent-a" in row[0]}
        assert bodies_of(one, long) == ({"first", "second"} if renamed else {"first"}), one.path
        assert [x["from_agent"] for x in one.bb("log")] == [long], one.path
    assert bodies_of(c, short) == set()
    write(c, "agent-c", "agent-a@host-a", "third")
    settle(c, a)
    assert "third" in bodies_of(a, "agent-a")
    assert ("third" in bodies_of(a, short)) == renamed, "a name that it had still means it on its own machine"


@pytest.mark.parametrize("first", ["kim", "k" * 48], ids=["short", "long"])
@pytest.mark.parametrize("seed", range(4))
def test_names_follow_from_the_facts_in_whatever_order_they_arrive(pair, seed, first, tmp_path):
    """Two machines have the same first digits, and all register names that the agents of the others get."""
    choice = random.Random(seed)
    a, b = pair
    makers = [b] + [machine(tmp_path / name, tmp_path / "hub.git", f"host-{name}", ABACUS_NOW=str(NOW)) for name in "cd"]
    take_id(makers[2], makers[1].id[:4] + "5" * 12)
    names = [first]
    for _ in range(2):
        names += [name_of_machine(name, one.id[:digits]) for name in names for one in makers for digits in (4, 16)]
    names = [first, *choice.sample(sorted(set(names)), 12)]
    made = [(one, name) for name in dict.fromkeys(names) for one in makers
            if one.id[:4] not in name and choice.random() < 0.7]
    choice.shuffle(made)
    for (one, name), created in zip(made, choice.sample(range(1, 100), len(made))):
        plant(one, [registered(name, created, role=f"role-{created}")])
        if choice.random() < 0.2:
            a.exchange()
    late = machine(tmp_path / "late", tmp_path / "hub.git", "late", ABACUS_NOW=str(NOW))
    settle(a, late)
    facts = [{**fact, "machine": one.id} for one in (a, *makers) for fact in log_of(tmp_path / "hub.git", one.ref)[1]]
    for fact in facts:
        fact["data"]["_order"] = order(fact)
    model = Names([fact for fact in facts if fact["kind"] == "agent.registered"])
    expected = {shown: model.last[key]["role"] for key, shown in model.shown.items()}
    assert len(expected) == len(model.shown), "no two agents have one name"
    assert {x["agent_id"]: x["role"] for x in late.agent("list")} == expected
    there = {x["agent_id"]: x["role"] for x in a.agent("list")}
    if first == "kim":
        assert there == expected
    else:  # a name that a machine lost, and that nobody has now, stays in the list
        assert {**there, **expected} == there


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


def lengthen(path, size):
    """Repeats the last line of a record, as if a machine had written it, until the record has that size."""
    text = path.read_bytes()
    line = text[text.rstrip(b"\n").rfind(b"\n") + 1:].replace(b"}\n", b',"via":"0123456789abcdef"}\n')
    path.write_bytes(text + line * ((size - len(text)) // len(line) + 1))


RECORD_FULL = 96 << 20


def test_agents_of_others_leave_room_for_those_of_this_machine(pair):
    a, b = pair
    lengthen(a.agents / "agents" / "history.jsonl", RECORD_FULL // 3 * 2)
    plant(b, [registered("eve", NOW), message(1)])
    assert "the record of agents has no room for more agents from the machine 'host-b'" in json.dumps(a.exchange())
    assert "eve" not in [x["agent_id"] for x in a.agent("list")]
    assert len(a.agent("inbox", "--agent", "agent-a")) == 1  # other facts arrive
    a.agent("register", "--name", "new-one", "--role", "ui")
    assert "new-one" in [x["agent_id"] for x in a.agent("list")]


def test_reservations_of_others_leave_room_for_those_of_this_machine(pair):
    a, b = pair
    a.agent("reserve", "--agent", "agent-a", "--scope", "src", "--bead", "bd-1")
    a.agent("release", "--agent", "agent-a", "--scope", "src")
    a.exchange()
    lengthen(a.agents / "reservations" / "history.jsonl", RECORD_FULL // 2)
    plant(b, [reservation(1, "doc"), message(1)])
    assert "the record of reservations has no room for more reservations from the machine 'host-b'" in json.dumps(a.exchange())
    assert a.agent("status")["reservations"] == []
    assert len(a.agent("inbox", "--agent", "agent-a")) == 1
    a.agent("reserve", "--agent", "agent-a", "--scope", "doc", "--bead", "bd-1")
    assert [r["scope"] for r in a.agent("status")["reservations"]] == ["doc"]


def test_machines_whose_refs_were_deleted_take_no_place(pair, tmp_path):
    """A thousand logs were read once, and then somebody deleted their refs."""
    a, b = pair
    with sqlite3.connect(a.home / "machines" / "machines.db") as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(machines)")]
        known = dict(zip(columns, db.execute("SELECT * FROM machines WHERE id = ?", (b.id,)).fetchone()))
        db.executemany(f"INSERT INTO machines VALUES ({', '.join('?' * len(columns))})",
                       ([{**known, "id": f"{n:016x}", "name": f"gone-{n}"}[column] for column in columns] for n in range(1000)))
    new = machine(tmp_path / "new", tmp_path / "hub.git", "host-new", ABACUS_NOW=str(NOW))
    new.agent("register", "--name", "agent-new", "--role", "ui")
    settle(new)
    assert "1 logs at the remote are not read" in json.dumps(a.exchange())
    a.exchange()
    assert "agent-new" in [x["agent_id"] for x in a.agent("list")]
