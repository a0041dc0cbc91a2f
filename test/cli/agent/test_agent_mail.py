"""bb agent send, inbox, read and ack: messages between agents (seed 000 section 6, seed 001 section 6)."""
import json
import subprocess

import pytest

from board import at
from test_agent_identity import agent, data, refused, register

SHAPE = ["message_id", "thread_id", "bead_id", "from_agent", "to_agent", "category", "subject", "body", "state",
         "requires_ack", "created_at", "read_at", "acked_at"]


@pytest.fixture
def two(empty):
    register(empty, "amber-otter", env=at())
    register(empty, "cobalt-harbor", env=at())
    return empty


def letter(project, *more, to="cobalt-harbor", category="INFO", bead="bb-1", subject="a subject", body="a body"):
    return ["send", "--from", "amber-otter", "--to", to, "--bead", bead, "--category", category, "--subject", subject,
            "--body", body, *more]


def send(project, *more, env=None, **kw):
    reply = data(project, *letter(project, *more, **kw), env=env)
    assert reply["recipients"] == [m["to_agent"] for m in reply["messages"]]
    return reply["messages"][0]


def inbox(project, *more, who="cobalt-harbor", **kw):
    return data(project, "inbox", "--agent", who, *more, **kw)


def files(project):
    home = project.path / ".beadboard"
    return {str(f): f.read_bytes() for f in sorted(home.rglob("*")) if f.is_file() and "agents" not in f.parts}


def events(project):
    file = project.path / ".beadboard/agent/events.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_send(two):
    sent = send(two, category="HANDOFF", env=at(m=1))
    assert list(sent) == SHAPE
    assert (sent["state"], sent["requires_ack"], sent["thread_id"]) == ("unread", True, "bead:bb-1")
    assert sent["created_at"] == "2026-01-01T00:01:00.000Z" and sent["read_at"] is sent["acked_at"] is None
    home = two.path / ".beadboard/agent/messages"
    assert json.loads((home / "cobalt-harbor.jsonl").read_text()) == sent
    assert json.loads((home / "index" / f"{sent['message_id']}.json").read_text()) == sent
    assert inbox(two) == [sent]


@pytest.mark.parametrize("category, ack", [("HANDOFF", True), ("BLOCKED", True), ("DECISION", False), ("INFO", False)])
def test_which_categories_require_an_acknowledgement(two, category, ack):
    assert send(two, category=category)["requires_ack"] is ack
    assert len(events(two)) == ack


def test_a_handoff_is_an_event(two):
    send(two, "--next-action", "look", category="HANDOFF", env=at(m=1))
    [event] = events(two)
    assert list(event) == ["id", "version", "event_type", "project_root", "bead_id", "from_agent", "to_agent", "scope",
                           "created_at", "payload"]
    assert (event["version"], event["event_type"], event["scope"]) == ("v1", "HANDOFF", None)
    assert event["payload"] == {"subject": "a subject", "summary": "a body", "next_action": "look",
                                "requires_ack": True}


def test_a_call_for_help_is_an_event(two):
    send(two, category="BLOCKED")
    send(two, "--urgency", "high", category="BLOCKED")
    assert [e["payload"] for e in events(two)] == [
        {"subject": "a subject", "blocker": "a body", "requested_action": "a subject", "urgency": urgency,
         "requires_ack": True} for urgency in ("medium", "high")]


@pytest.mark.parametrize("wrong, code", [
    ({"to": "nobody-here"}, "UNKNOWN_RECIPIENT"), ({"to": "../x"}, "UNKNOWN_RECIPIENT"),
    ({"bead": ""}, "MISSING_BEAD_ID"), ({"bead": " "}, "MISSING_BEAD_ID"), ({"category": "NEWS"}, "INVALID_CATEGORY"),
    ({"category": "info"}, "INVALID_CATEGORY"), ({"subject": " "}, "INVALID_ARGS"), ({"body": " \n"}, "INVALID_ARGS"),
    ({"subject": "a\nb"}, "INVALID_ARGS"), ({"subject": "x" * 501}, "INVALID_ARGS"),
    ({"bead": "a\nb"}, "INVALID_ARGS")])
def test_invalid_messages_are_refused(two, wrong, code):
    before = files(two)
    assert refused(two, *letter(two, **wrong)) == code
    assert files(two) == before


def test_an_unknown_urgency_is_refused(two):
    before = files(two)
    assert refused(two, *letter(two, "--urgency", "now", category="BLOCKED")) == "INVALID_ARGS"
    assert files(two) == before


def test_an_unknown_sender_is_refused(two):
    args = letter(two)
    args[2] = "nobody-here"
    assert refused(two, *args) == "UNKNOWN_SENDER"


def test_a_message_without_a_bead_is_refused(two):
    args = letter(two)
    del args[5:7]
    assert refused(two, *args) == "MISSING_BEAD_ID"


def test_a_large_body_is_stored_completely_and_a_larger_one_is_refused(two):
    args = letter(two, body="-")
    text = "é" * 400_000
    assert data(two, *args, stdin=text.encode())["messages"][0]["body"] == text
    before = files(two)
    assert refused(two, *args, stdin=b"x" * 10_000_000) == "INVALID_ARGS"
    assert files(two) == before


def test_broadcast_reaches_all_but_the_sender(two):
    register(two, "blue-fox")
    reply = data(two, *letter(two, to="broadcast", category="HANDOFF"))
    assert reply["recipients"] == ["blue-fox", "cobalt-harbor"]
    assert len({m["message_id"] for m in reply["messages"]}) == 2
    assert inbox(two, who="amber-otter") == [] and len(inbox(two, who="blue-fox")) == 1
    assert len(events(two)) == 1


def test_a_broadcast_that_fails_for_one_recipient_is_sent_to_none(two):
    for name in ("blue-fox", "quiet-lake"):
        register(two, name)
    (two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl").mkdir()
    before = files(two)
    assert refused(two, *letter(two, to="broadcast")) == "IO_READ_FAILED"
    assert files(two) == before and inbox(two, who="blue-fox") == inbox(two, who="quiet-lake") == []


def test_a_damaged_inbox_does_not_stop_a_broadcast(two):
    register(two, "blue-fox")
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    stream.write_text("{}\n")
    reply = data(two, *letter(two, to="broadcast"), warned="line 1 of 'messages/cobalt-harbor.jsonl'")
    assert reply["recipients"] == ["blue-fox", "cobalt-harbor"]
    assert len(inbox(two, who="blue-fox")) == 1
    assert len(data(two, "inbox", "--agent", "cobalt-harbor", warned="abacus doctor --fix")) == 1
    assert stream.read_text().startswith("{}\n"), "the damaged line was not kept"


def test_inbox_is_the_newest_first_and_filtered(two):
    sent = [send(two, bead=f"bb-{i % 2}", subject=str(i), env=at(m=i)) for i in range(4)]
    data(two, "read", "--agent", "cobalt-harbor", "--message", sent[1]["message_id"])
    assert [m["subject"] for m in inbox(two)] == ["3", "2", "1", "0"]
    assert [m["subject"] for m in inbox(two, "--bead", "bb-1")] == ["3", "1"]
    assert [m["subject"] for m in inbox(two, "--state", "read")] == ["1"]
    assert [m["subject"] for m in inbox(two, "--state", "unread", "--limit", "2")] == ["3", "2"]


@pytest.mark.parametrize("limit, fine", [("0", False), ("1", True), ("500", True), ("501", False), ("x", False)])
def test_the_limit(two, limit, fine):
    assert agent(two, "inbox", "--agent", "cobalt-harbor", "--limit", limit)["ok"] is fine


def test_read_and_ack(two):
    sent = send(two, category="HANDOFF", env=at())
    args = ["--agent", "cobalt-harbor", "--message", sent["message_id"]]
    read = data(two, "read", *args, env=at(m=1))
    assert read == {**sent, "state": "read", "read_at": "2026-01-01T00:01:00.000Z"}
    assert data(two, "read", *args, env=at(m=2)) == read
    acked = data(two, "ack", *args, env=at(m=3))
    assert acked == {**read, "state": "acked", "acked_at": "2026-01-01T00:03:00.000Z"}
    assert data(two, "ack", *args, env=at(m=4)) == acked
    assert data(two, "read", *args, env=at(m=5)) == acked  # terminal
    assert inbox(two) == [acked]


def test_a_message_that_requires_no_ack_can_be_acknowledged(two):
    sent = send(two)
    assert data(two, "ack", "--agent", "cobalt-harbor", "--message", sent["message_id"])["state"] == "acked"


@pytest.mark.parametrize("act, code", [("read", "READ_FORBIDDEN"), ("ack", "ACK_FORBIDDEN")])
def test_a_stranger(two, act, code):
    sent = send(two)
    before = files(two)
    assert refused(two, act, "--agent", "amber-otter", "--message", sent["message_id"]) == code
    assert refused(two, act, "--agent", "nobody-here", "--message", sent["message_id"]) == "AGENT_NOT_FOUND"
    for unknown in ("msg_1", "x", "../../agents/amber-otter", "msg_/../x"):
        assert refused(two, act, "--agent", "cobalt-harbor", "--message", unknown) == "MESSAGE_NOT_FOUND"
    assert files(two) == before


def test_writes_update_last_seen_and_reads_do_not(two):
    sent = send(two, env=at(m=10))

    def seen(who):
        return data(two, "show", "--agent", who)["last_seen_at"]

    assert seen("amber-otter") == "2026-01-01T00:10:00.000Z" and seen("cobalt-harbor") == "2026-01-01T00:00:00.000Z"
    inbox(two, env=at(m=11))
    assert seen("cobalt-harbor") == "2026-01-01T00:00:00.000Z"
    data(two, "read", "--agent", "cobalt-harbor", "--message", sent["message_id"], env=at(m=12))
    assert seen("cobalt-harbor") == "2026-01-01T00:12:00.000Z"


def test_an_unfinished_line_is_not_a_message(two):
    first = send(two)
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    stream.write_bytes(stream.read_bytes() + stream.read_bytes()[:40])
    assert inbox(two) == [first]
    second = send(two)
    assert inbox(two) == [second, first]
    assert stream.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("lost", [1, 2, 3, 7])
def test_a_line_that_lost_sectors_was_never_confirmed(two, lost):
    """A power failure can replace any sectors of a line that was not synced by zeros, even if the end of the line is
    intact."""
    first = send(two)
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    before = stream.read_bytes()
    lost_one = send(two, body="long " * 1000)["message_id"]
    torn = bytearray(stream.read_bytes())
    start = (len(before) // 512 + lost) * 512
    torn[start:start + 512] = bytes(512)
    for snapshot in ("boxes/cobalt-harbor", f"index/{lost_one}"):  # they are written after the sync
        (stream.parent / f"{snapshot}.json").unlink()
    stream.write_bytes(torn)
    assert inbox(two) == [first]
    assert two.run("doctor", "--json", program="abacus").ok().json["ok"]
    second = send(two)
    assert inbox(two) == [second, first]
    assert stream.read_bytes().startswith(before) and stream.read_bytes().count(b"\n") == 2
    torn[start:start + 512] = b'"' * 512  # other damage is no trace of a power failure
    stream.write_bytes(torn)
    assert len(data(two, "inbox", "--agent", "cobalt-harbor", warned="line 2 of 'messages/cobalt-harbor.jsonl'")) == 1


def test_a_damaged_line_is_reported(two):
    send(two)
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    stream.write_bytes(b"{}\n" + stream.read_bytes())
    assert len(data(two, "inbox", "--agent", "cobalt-harbor", warned="line 1 of 'messages/cobalt-harbor.jsonl'")) == 1


@pytest.mark.parametrize("bad", ["{}", "", "\r", " \t\r", "nonsense", '{"message_id":"msg_1"', "\0\0\0", "[]"])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_damaged_line_hides_no_other_message(two, bad, where):
    """Reading, acknowledging, sending and waiting still work, and each reports the damaged line. A blank line is not
    damage."""
    sent = [send(two, category="HANDOFF") for _ in range(2)]
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    lines = stream.read_text().splitlines()
    lines.insert(where, bad)
    stream.write_text("\n".join(lines) + "\n")
    warned = {"warned": f"line {where + 1} of 'messages/cobalt-harbor.jsonl'"} if bad.strip() else {}
    assert data(two, "inbox", "--agent", "cobalt-harbor", **warned) == sent[::-1]
    for m in sent:
        done = two.bb("agent", "ack", "--agent", "cobalt-harbor", "--message", m["message_id"], "--json").ok()
        assert done.json["data"]["state"] == "acked"
    third = two.bb("agent", *letter(two), "--json").ok()
    assert [m["state"] for m in data(two, "inbox", "--agent", "cobalt-harbor", **warned)] == ["unread", "acked", "acked"]
    assert inbox(two, who="amber-otter") == [], third.err
    two.bb("agent", "wait", "--agent", "cobalt-harbor", "--mail", "--timeout", "1s").ok()


@pytest.mark.parametrize("left", [None, 0, 1, 2])
def test_a_record_shorter_than_its_snapshot_is_reported(two, left):
    """The loss of acknowledged messages is reported; the remaining messages are shown."""
    sent = [send(two, category="HANDOFF") for _ in range(3)]
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    lines = stream.read_text().splitlines(keepends=True)
    stream.unlink() if left is None else stream.write_text("".join(lines[:left]) + "{")
    warned = {"warned": "'messages/cobalt-harbor.jsonl' is missing lines"}
    for command in (["inbox", "--agent", "cobalt-harbor"], ["inbox", "--agent", "cobalt-harbor", "--state", "unread"]):
        assert data(two, *command, **warned) == sent[:left or 0][::-1]
    data(two, "status", **warned)
    two.bb("agent", *letter(two), "--json").ok()
    assert len(data(two, "inbox", "--agent", "cobalt-harbor")) == (left or 0) + 1


def test_a_lost_snapshot_loses_no_message(two):
    sent = send(two)
    (two.path / ".beadboard/agent/messages/index" / f"{sent['message_id']}.json").unlink()
    assert inbox(two) == [sent]
    assert data(two, "ack", "--agent", "cobalt-harbor", "--message", sent["message_id"])["state"] == "acked"


@pytest.mark.parametrize("text", [None, "", "{}", '{"known":999999,"latest":0,"unread":9,"read":0,"acked":0}',
                                  '{"known":-1,"latest":0,"unread":9,"read":0,"acked":0,"owed":[]}'])
def test_a_lost_box_file_is_rebuilt(two, text):
    first, second = send(two, category="HANDOFF", env=at(m=1)), send(two, category="BLOCKED", env=at(m=2))
    data(two, "ack", "--agent", "cobalt-harbor", "--message", first["message_id"])
    box = two.path / ".beadboard/agent/messages/boxes/cobalt-harbor.json"
    whole = box.read_bytes()
    box.unlink() if text is None else box.write_text(text)
    status = data(two, "status")
    assert status["unacked"] == [second] and status["counts"] == {"unread": 1, "read": 0, "acked": 1}
    data(two, "read", "--agent", "cobalt-harbor", "--message", second["message_id"])
    assert json.loads(box.read_bytes()) == {**json.loads(whole), "known": json.loads(box.read_bytes())["known"],
                                            "unread": 0, "read": 1, "opened": [second["message_id"]],
                                            "unsure": [first["message_id"], second["message_id"]]}


def test_a_message_snapshot_older_than_the_box_changes_nothing(two):
    """Neither file is synced, so a power failure can lose the newer one."""
    sent = send(two, category="HANDOFF")
    index = two.path / ".beadboard/agent/messages/index" / f"{sent['message_id']}.json"
    old = index.read_bytes()
    acked = data(two, "ack", "--agent", "cobalt-harbor", "--message", sent["message_id"])
    new = index.read_bytes()
    for act in ("read", "ack"):
        index.write_bytes(old)
        assert data(two, act, "--agent", "cobalt-harbor", "--message", sent["message_id"]) == acked
        assert index.read_bytes() == new
    assert data(two, "status")["counts"] == {"unread": 0, "read": 0, "acked": 1}
    assert [send(two)] == inbox(two, "--state", "unread")


def test_a_message_snapshot_older_than_the_box_is_not_shown(two):
    sent = send(two, category="HANDOFF")
    index = two.path / ".beadboard/agent/messages/index" / f"{sent['message_id']}.json"
    old = index.read_bytes()
    read = data(two, "read", "--agent", "cobalt-harbor", "--message", sent["message_id"])
    index.write_bytes(old)
    assert data(two, "status")["unacked"] == [read]
    data(two, "ack", "--agent", "cobalt-harbor", "--message", sent["message_id"])
    index.write_bytes(old)
    assert data(two, "status")["unacked"] == []


def test_a_record_that_was_changed_by_hand_is_counted_again(two):
    first, second = send(two, body="teh body"), send(two)
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    stream.write_text(stream.read_text().replace("teh body", "the whole body"))
    first["body"] = "the whole body"
    assert inbox(two, "--state", "unread") == [second, first]
    third = send(two)
    assert inbox(two, "--state", "unread") == [third, second, first]
    assert data(two, "status")["counts"] == {"unread": 3, "read": 0, "acked": 0}


def test_the_unfinished_work_of_a_killed_writer_is_completed(two):
    """A line that is in no snapshot counts like any other."""
    first = send(two, category="HANDOFF", env=at(m=1))
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    late = {**first, "message_id": "msg_20260101_000200_00000000000000ff", "created_at": "2026-01-01T00:02:00.000Z"}
    with stream.open("a") as file:
        for message in ({**first, "state": "read", "read_at": "2026-01-01T00:02:00.000Z"}, late):
            file.write(json.dumps(message, separators=(",", ":")) + "\n")
    assert [m["state"] for m in inbox(two)] == ["unread", "read"]
    assert inbox(two, "--state", "unread") == [late]
    assert data(two, "status")["counts"] == {"unread": 1, "read": 1, "acked": 0}
    assert data(two, "ack", "--agent", "cobalt-harbor", "--message", late["message_id"])["state"] == "acked"
    assert data(two, "status")["counts"] == {"unread": 0, "read": 1, "acked": 1}
    index = two.path / ".beadboard/agent/messages/index"
    assert json.loads((index / f"{first['message_id']}.json").read_text())["state"] == "read"


def test_a_later_message_never_has_an_earlier_time(two):
    first, second = send(two, env=at(m=5)), send(two, env=at(m=1))
    assert second["created_at"] == first["created_at"] and inbox(two) == [second, first]


def test_the_steps_of_a_message_never_go_back_in_time(two):
    """Even if the clock is set back."""
    sent = send(two, env=at(m=9))
    args = ["--agent", "cobalt-harbor", "--message", sent["message_id"]]
    assert data(two, "read", *args, env=at(m=5))["read_at"] == sent["created_at"]
    assert data(two, "ack", *args, env=at(m=4))["acked_at"] == sent["created_at"]
    other = send(two, env=at(m=9))
    acked = data(two, "ack", "--agent", "cobalt-harbor", "--message", other["message_id"], env=at(m=5))
    assert acked["created_at"] == acked["read_at"] == acked["acked_at"]


def test_inbox_after_a_message(two):
    first, second, third = (send(two) for _ in "123")
    assert inbox(two, "--after", first["message_id"]) == [third, second]
    assert inbox(two, "--after", third["message_id"]) == []
    assert refused(two, "inbox", "--agent", "cobalt-harbor", "--after", "msg_x") == "MESSAGE_NOT_FOUND"
    assert refused(two, "inbox", "--agent", "amber-otter", "--after", first["message_id"]) == "READ_FORBIDDEN"


def beside(project, *args, program="bb", **kw):
    """The counts of unread mail that come with the reply of a command."""
    done = project.bb(*args, program=program, **kw).ok()
    return [json.loads(line)["mail"] for line in done.err.splitlines() if '"mail":' in line]


def test_every_reply_counts_the_mail(two):
    subprocess.run(["git", "init", "-q", str(two.path)], check=True)
    two.bb("init", program="bd").ok()
    two.bb("create", "the bead of the messages", "--id", "bb-1", program="bd").ok()
    two.bb("init").ok()
    me = {"BB_AGENT_ID": "cobalt-harbor"}
    faces = [(["agent", "list", "--json"], "bb"), (["agent", "status", "--json"], "bb"), (["log", "--json"], "bb"),
             (["agent", "heartbeat", "--json"], "bb"), (["post", "x", "--json"], "bb"), (["list", "--json"], "bd"),
             (["create", "x", "--json"], "bd")]
    assert all(beside(two, *args, program=program, env=me) == [] for args, program in faces)
    sent = send(two, category="HANDOFF")
    send(two)
    for args, program in faces:
        assert beside(two, *args, program=program, env=me) == [{"unread": 2, "to_accept": 1}], args
        assert beside(two, *args, "--quiet", program=program, env=me) == []
        assert beside(two, *args, program=program, env={"BB_AGENT_ID": "amber-otter"}) == []
    assert beside(two, "--as", "cobalt-harbor", "status", "--json") == [{"unread": 2, "to_accept": 1}]
    assert beside(two, "--actor", "cobalt-harbor", "ready", "--json", program="bd") == [{"unread": 2, "to_accept": 1}]
    read = ["agent", "read", "--agent", "cobalt-harbor", "--message", sent["message_id"], "--json"]
    assert beside(two, *read) == [{"unread": 1, "to_accept": 1}]
    assert "1 unread message in your mail, 1 to acknowledge: bb agent inbox --agent cobalt-harbor" in \
        two.bb("agent", "list", env=me).ok().err
    assert beside(two, *["agent", "ack", *read[2:]]) == [{"unread": 1, "to_accept": 0}]


@pytest.mark.parametrize("program, args, code", [
    ("bb", ["agent", "show", "--agent", "nobody-here"], "AGENT_NOT_FOUND"),
    ("bb", ["agent", "release", "--scope", "src"], "RESERVATION_NOT_FOUND"), ("bd", ["show", "bd-none"], "not_found")])
def test_an_error_counts_the_mail_too_and_is_unchanged(two, program, args, code):
    subprocess.run(["git", "init", "-q", str(two.path)], check=True)
    two.bb("init", program="bd").ok()
    two.bb("create", "the bead of the messages", "--id", "bb-1", program="bd").ok()
    me = {"BB_AGENT_ID": "cobalt-harbor"}
    before = two.bb(*args, "--json", program=program, env=me)
    assert before.error["code"] == code and before.err == ""
    send(two, category="HANDOFF")
    done = two.bb(*args, "--json", program=program, env=me)
    assert (done.code, done.out) == (before.code, before.out)
    assert json.loads(done.err) == {"mail": {"unread": 1, "to_accept": 1}}
    told = two.bb(*args, program=program, env=me).err
    assert told.startswith("error: ") and told.endswith("1 to acknowledge: bb agent inbox --agent cobalt-harbor\n")


def test_unreadable_mail_does_not_stop_commands(two):
    (two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl").write_text("{\n")
    done = two.bb("agent", "list", "--json", env={"BB_AGENT_ID": "cobalt-harbor"}).ok()
    assert done.err == "" and len(done.json["data"]) == 2


def test_the_agent_can_be_named_by_the_environment(two):
    sent = send(two)
    for env, args in (({"BB_AGENT_ID": "cobalt-harbor"}, []), ({}, ["--as", "cobalt-harbor"])):
        assert two.bb(*args, "agent", "inbox", "--json", env=env).json["data"] == [sent]
    reply = agent(two, "inbox")
    assert reply["error"]["code"] == "INVALID_ARGS" and "this command requires your name" in reply["error"]["message"]
    assert inbox(two, env={"BB_AGENT_ID": "amber-otter"}) == [sent]  # what is said counts


def test_a_repeated_request_sends_once(two):
    register(two, "blue-fox")
    for category, to in (("INFO", "cobalt-harbor"), ("HANDOFF", "blue-fox"), ("BLOCKED", "broadcast")):
        before = len(events(two))
        args = [*letter(two, to=to, category=category), "--request-id", f"r-{to}"]
        first, second = data(two, *args, env=at(m=1)), data(two, *args, env=at(m=9))
        assert first == second and len(events(two)) == before + (category != "INFO")
    assert [len(inbox(two, who=who)) for who in ("cobalt-harbor", "blue-fox")] == [2, 2]
    assert refused(two, *letter(two, body="other"), "--request-id", "r-cobalt-harbor") == "INVALID_ARGS"
    data(two, "ack", "--agent", "blue-fox", "--message", inbox(two, who="blue-fox")[0]["message_id"])
    assert data(two, *letter(two, to="broadcast", category="BLOCKED"), "--request-id", "r-broadcast") == first
    assert len(inbox(two, who="blue-fox")) == 2


def test_an_event_that_a_dead_sender_did_not_record_is_recorded_by_the_repeat(two):
    """A sender stores the receipt, then the box. If it dies before the receipt, neither is there."""
    args = [*letter(two, category="HANDOFF"), "--request-id", "r1"]
    first = data(two, *args)
    for name in ("events.jsonl", "receipts.db", "messages/boxes/cobalt-harbor.json"):
        (two.path / f".beadboard/agent/{name}").unlink()
    for name in ("receipts.db-wal", "receipts.db-shm"):
        (two.path / f".beadboard/agent/{name}").unlink(missing_ok=True)
    assert data(two, *args) == first and len(events(two)) == 1 and len(inbox(two)) == 1


def test_a_long_inbox_is_read_from_its_end(two):
    """Messages larger than one read, and many small ones, are complete and in order."""
    texts = [str(i) * size for i, size in enumerate([10, 70_000, 200_000, 3, 65_536, 1, 1])]
    for text in texts:
        data(two, *letter(two, body="-"), stdin=text.encode())
    assert [m["body"] for m in inbox(two)] == texts[::-1]
    stream = two.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    with stream.open("a") as file:
        file.write("x" * 150_000)
    assert [m["body"] for m in inbox(two)] == texts[::-1]


def test_for_people(two):
    sent = send(two, category="HANDOFF")
    assert "Passed to" in two.bb("agent", "inbox", "--agent", "cobalt-harbor").ok().out
    args = ["--agent", "cobalt-harbor", "--message", sent["message_id"]]
    assert "Seen" in two.bb("agent", "read", *args).ok().out
    assert "Accepted" in two.bb("agent", "ack", *args).ok().out


@pytest.mark.parametrize("more", [["--urgency", "high"], ["--next-action", "look"]])
def test_options_of_other_categories_are_refused(two, more):
    assert refused(two, *letter(two, *more)) == "INVALID_ARGS"


@pytest.mark.parametrize("body", ["a\tb\nc\r\nd", "a\x07b", "a\x7f", "a\rb", "\x1b[31mred"])
def test_a_body_takes_control_characters_and_shows_them_safely(two, body):
    assert agent(two, *letter(two, body="-"), stdin=body.encode())["ok"]
    assert agent(two, "inbox", "--agent", "cobalt-harbor")["data"][0]["body"] == body
    shown = two.bb("agent", "inbox", "--agent", "cobalt-harbor").ok().out
    assert not set(shown) & set("\x07\x7f\r\x1b")


@pytest.mark.parametrize("bead", [" bd-1", "bd-1 ", "\tbd-1\n"])
def test_the_id_of_a_bead_is_trimmed(two, bead):
    sent = agent(two, *letter(two, bead=bead))["data"]["messages"][0]
    assert (sent["bead_id"], sent["thread_id"]) == ("bd-1", "bead:bd-1")
    assert len(agent(two, "inbox", "--agent", "cobalt-harbor", "--bead", bead)["data"]) == 1


def test_the_message_is_the_reply_itself(two):
    """Scripts of the original program read data.message_id."""
    sent = agent(two, *letter(two))["data"]
    assert {k: v for k, v in sent.items() if k not in ("messages", "recipients")} == sent["messages"][0]
    register(two, "blue-fox")
    sent = agent(two, *letter(two, to="broadcast"))["data"]
    assert sent["message_id"] == sent["messages"][0]["message_id"] and len(sent["messages"]) == 2


def test_a_role_reaches_all_its_agents_except_the_sender(two):
    for name, role in (("red-owl", "api"), ("teal-elk", "docs"), ("gray-cat", "api")):
        register(two, name, role=role)
    register(two, "amber-otter", "api", "--force-update")
    sent = agent(two, *letter(two, to="role:api", category="HANDOFF"))["data"]
    assert sorted(sent["recipients"]) == ["gray-cat", "red-owl"]
    assert {m["to_agent"] for m in sent["messages"]} == {"gray-cat", "red-owl"}
    assert len(agent(two, "inbox", "--agent", "red-owl")["data"]) == 1
    for nobody in ("role:nobody", "role:", "role:API"):
        assert refused(two, *letter(two, to=nobody)) == "UNKNOWN_RECIPIENT"


def test_a_repeated_request_gets_the_same_answer(two):
    """Even if that was an error. With other arguments, the repeat is an error."""
    commands = [["register", "--name", "new-one", "--role", "x"],
                ["reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "b"],
                ["release", "--agent", "amber-otter", "--scope", "src"],
                [*letter(two, category="HANDOFF"), "--next-action", "n"]]
    for i, command in enumerate(commands):
        first, second = (data(two, *command, "--request-id", f"r{i}", env=at(m=m)) for m in (1, 2))
        assert first == second
        other = [*command[:-1], command[-1] + "-y"]
        assert agent(two, *other, "--request-id", f"r{i}")["error"]["reason"] == "REQUEST_MISMATCH"
