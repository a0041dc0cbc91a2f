"""The tools of agents in `abacus mcp`: mail, reservations, the guard and waiting, for a model."""
import json
import select
import subprocess
import time

import pytest

from conftest import BIN, environment
from test_abacus_mcp import META, call
from harness import patience

LETTER = {"bead": "bd-1", "category": "HANDOFF", "subject": "s", "body": "b"}


class Server:
    """A session that stays open."""

    def __init__(self, repo, *args):
        self.process = subprocess.Popen([str(BIN / "abacus"), "mcp", *args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=repo.path, env=environment(),
                                        bufsize=0)  # what select() is asked about is all there is

    def send(self, id, method, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": META}}
        self.process.stdin.write(json.dumps({**message, "id": id} if id is not None else message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, id, tool, **arguments):
        self.send(id, "tools/call", name=tool, arguments=arguments)

    def reply(self, within=5):
        assert select.select([self.process.stdout], [], [], within)[0], "no reply"
        return json.loads(self.process.stdout.readline())

    def silent(self, seconds=0.2):
        return not select.select([self.process.stdout], [], [], seconds)[0]


@pytest.fixture
def server(repo):
    for name in ("amber-otter", "cobalt-harbor"):
        assert call(repo, "agent_register", {"name": name, "role": "model"})["success"]
    repo.create("the bead of the messages", "--id", "bd-1")
    server = Server(repo, "--agent", "cobalt-harbor")
    yield server
    server.process.stdin.close()
    assert server.process.wait(5) == 0


def test_a_session(repo, server):
    sent = call(repo, "agent_send", {"from": "amber-otter", "to": "cobalt-harbor", **LETTER})["data"]["messages"][0]
    server.call(1, "agent_inbox")
    reply = server.reply()["result"]
    assert reply["structuredContent"]["data"] == [sent]
    assert reply["_meta"]["mail"] == {"unread": 1, "to_accept": 1}
    server.call(2, "bd_list")
    assert server.reply()["result"]["_meta"]["mail"] == {"unread": 1, "to_accept": 1}
    server.call(3, "agent_read", message=sent["message_id"])
    assert server.reply()["result"]["_meta"]["mail"] == {"unread": 0, "to_accept": 1}
    server.call(4, "agent_ack", message=sent["message_id"])
    reply = server.reply()["result"]
    assert reply["structuredContent"]["data"]["state"] == "acked" and "mail" not in reply["_meta"]
    assert call(repo, "agent_reserve", {"agent": "amber-otter", "scope": "src", "bead": "bd-1"})["success"]
    server.call(5, "agent_guard", paths=["src/x", "doc/y"])
    denied = server.reply()["result"]
    error = denied["structuredContent"]["error"]
    assert denied["isError"] and error["code"] == "RESERVATION_CONFLICT"
    assert [d["path"] for d in error["details"]["denied"]] == ["src/x"]
    assert call(repo, "agent_guard", {"agent": "amber-otter", "paths": ["src/x"]})["data"]["outcome"] == "allow"
    server.call(6, "agent_status")
    assert len(server.reply()["result"]["structuredContent"]["data"]["reservations"]) == 1
    assert call(repo, "agent_release", {"agent": "amber-otter", "scope": "src"})["data"]["state"] == "released"


def test_an_agent_cannot_act_for_another(repo, server):
    for id, (tool, arguments) in enumerate([
            ("agent_inbox", {"agent": "amber-otter"}), ("agent_send", {"from": "amber-otter", "to": "broadcast", **LETTER}),
            ("agent_reserve", {"agent": "amber-otter", "scope": "src", "bead": "bd-1"})]):
        server.call(id, tool, **arguments)
        reply = server.reply()["result"]
        assert reply["isError"] and reply["structuredContent"]["error"]["code"] == "INVALID_ARGS"
    nobody = call(repo, "agent_inbox", {})["error"]
    assert nobody["code"] == "INVALID_ARGS" and nobody["details"]["next_step"] == 'Pass your name as "agent".'


def test_a_wait_ends_when_mail_arrives(repo, server):
    server.call(1, "agent_wait", mail=True, timeout="30s")
    assert server.silent()
    sent = call(repo, "agent_send", {"from": "amber-otter", "to": "cobalt-harbor", **LETTER})["data"]["messages"][0]
    data = server.reply(2)["result"]["structuredContent"]["data"]
    assert data["events"] == [{"kind": "mail", "message": sent}] and data["cursor"] == sent["message_id"]


def test_a_request_during_a_wait_is_answered_at_once(repo, server):
    """And the wait continues."""
    server.call(1, "agent_wait", timeout="30s")
    assert server.silent()
    server.send(None, "notifications/progress")
    assert server.silent()
    server.call(2, "agent_status")
    assert server.reply(patience(5))["id"] == 2
    call(repo, "agent_send", {"from": "amber-otter", "to": "cobalt-harbor", **LETTER})
    woken = server.reply(patience(5))
    assert woken["id"] == 1 and woken["result"]["structuredContent"]["data"]["events"][0]["kind"] == "mail"


def test_a_request_in_the_same_read_as_the_wait_is_answered_at_once(server):
    both = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": META}}
            for id, (name, arguments) in enumerate([("agent_wait", {"timeout": "30s"}), ("agent_status", {})])]
    server.process.stdin.write("".join(json.dumps(m) + "\n" for m in both).encode())
    assert server.reply(patience(5))["id"] == 1


def test_concurrent_waits_end_independently(repo, server):
    bead = repo.create("a bead to wait for")
    server.call(1, "agent_wait", mail=True, timeout="60s")
    server.call(2, "agent_wait", bead=[bead + ":closed"], timeout="60s")
    server.call(3, "agent_wait", mail=True, timeout="0s")
    assert server.reply(patience(5))["id"] == 3
    repo.bd("close", bead).ok()
    assert server.reply(patience(5))["id"] == 2
    call(repo, "agent_send", {"from": "amber-otter", "to": "cobalt-harbor", **LETTER})
    assert server.reply(patience(5))["id"] == 1


def test_more_waits_than_the_maximum_are_still_answered(server):
    for id in range(20):
        server.call(id, "agent_wait", mail=True, timeout="60s")
    server.call(20, "agent_status")
    early = {}
    while 20 not in early:
        reply = server.reply(patience(10))
        early[reply["id"]] = reply
    assert all(r["result"]["structuredContent"]["data"]["interrupted"] for id, r in early.items() if id != 20)
    server.process.stdin.close()
    late = [json.loads(line) for line in server.process.stdout]
    assert sorted([*early, *(r["id"] for r in late)]) == list(range(21))


def test_progress_is_reported_once_a_second_if_a_token_was_given(server):
    server.send(1, "tools/call", name="agent_wait", arguments={"timeout": "60s"}, **{})
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
               "params": {"name": "agent_wait", "arguments": {"timeout": "60s"}, "_meta": {**META, "progressToken": "t-1"}}}
    server.process.stdin.write(json.dumps(message).encode() + b"\n")
    told = [server.reply(patience(5)) for _ in range(3)]
    assert all(t["method"] == "notifications/progress" and t["params"]["progressToken"] == "t-1" for t in told)
    numbers = [t["params"]["progress"] for t in told]
    assert numbers == sorted(set(numbers)), numbers


def test_a_server_whose_output_is_closed_during_a_wait_ends(repo, server):
    other = Server(repo, "--agent", "amber-otter")
    other.call(1, "agent_wait", timeout="300s")
    assert other.silent()
    other.process.stdout.close()
    assert other.process.wait(patience(5)) == 0


def test_the_waits_of_a_killed_server_end(repo, server):
    other = Server(repo, "--agent", "amber-otter")
    other.call(1, "agent_wait", timeout="300s")
    assert other.silent()
    other.process.kill()
    assert other.process.stdout.read() == b""  # it ends when no process has the pipe any more


def test_waiting_can_be_cancelled(server):
    server.call(1, "agent_wait", timeout="30s")
    assert server.silent()
    server.send(None, "notifications/cancelled", requestId=1)
    assert server.silent()
    server.call(2, "agent_status")
    assert server.reply(2)["id"] == 2


def test_waiting_ends_with_the_session(repo, server):
    server.call(1, "agent_wait", timeout="30s")
    assert server.silent()
    began = time.monotonic()
    server.process.terminate()
    assert server.process.wait(patience(5)) == 0 and time.monotonic() - began < patience(2)


def test_the_same_use_of_a_tool_sends_once(repo, server):
    arguments = {"from": "amber-otter", "to": "cobalt-harbor", **LETTER, "request_id": "r1"}
    first, second = (call(repo, "agent_send", arguments)["data"] for _ in "12")
    assert first == second
    other = call(repo, "agent_send", {**arguments, "body": "another"})
    assert other["error"]["details"]["next_step"] and not other["success"]
