"""`bb mcp` on the wire: JSON-RPC lines over pipes, in both generations of the protocol."""
import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import BIN, environment
from harness import patience

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META = {VERSION: MODERN, CAPABILITIES: {}}
TOOLS = ["bb_identify", "bb_set_status", "bb_get_status", "bb_post_message", "bb_read_messages",
         "bb_register_artifact", "bb_list_artifacts", "bb_find_refs", "bb_summary"]
WRITES = {
    "bb_set_status": {"current_task": "t"},
    "bb_post_message": {"content": "c"},
    "bb_register_artifact": {"path": "file.txt", "description": "d"},
}
PARSE, REQUEST, METHOD, PARAMS, UNSUPPORTED = -32700, -32600, -32601, -32602, -32022
DEADLINE = 8


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def ascii_head(value):
    """The name of a test whose parameter may be long."""
    return ascii(value)[:30]


def message(method, params=None, id=None):
    m = {"jsonrpc": "2.0"}
    if id is not None:
        m["id"] = id
    m["method"] = method
    if params is not None:
        m["params"] = params
    return m


class Server:
    """One `bb mcp`, and the messages of a client; `modern` puts _meta into each request."""

    def __init__(self, project, *args, env=None, cwd=None, modern=False, command=("mcp",)):
        self.modern = modern
        self.ids = 0
        self.rest = b""
        self.process = subprocess.Popen(
            [str(BIN / "bb"), *command, *args], cwd=cwd or project.path, bufsize=0,
            env=environment(**{**project.env, **(env or {})}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            if not self.process.stdout.closed:
                while self.raw():
                    pass
                self.process.stdout.close()
            self.process.wait(DEADLINE)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stderr.close()

    def write(self, data):
        """Writes everything, although the server may not read while we do not."""
        view, fd = memoryview(data), self.process.stdin.fileno()
        end = time.monotonic() + DEADLINE
        while view:
            ready = select.select([self.process.stdout], [fd], [], max(0, end - time.monotonic()))
            assert ready[0] or ready[1], "the server does not read"
            if ready[0]:
                self._more()
            if ready[1]:
                view = view[os.write(fd, view[:4096]):]

    def _more(self):
        got = os.read(self.process.stdout.fileno(), 1 << 16)
        self.rest += got
        return got

    def raw(self):
        """One unparsed line, or b"" at the end."""
        end = time.monotonic() + DEADLINE
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f"no line in {DEADLINE} s; so far {self.rest[:200]!r}"
            if not self._more():
                assert not self.rest, f"a line without its end: {self.rest[:200]!r}"
                return b""
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def line(self):
        line = self.raw()
        assert line, f"the server ended: {self.process.stderr.read()!r}"
        return json.loads(line.decode("utf-8"))

    def send(self, *messages):
        self.write(b"".join(compact(m) + b"\n" for m in messages))

    def params(self, params):
        if self.modern:
            params = {"_meta": META, **(params or {})}
        return params

    def ask(self, method, params=None):
        """The whole reply."""
        self.ids += 1
        self.send(message(method, self.params(params), self.ids))
        reply = self.line()
        assert reply["jsonrpc"] == "2.0"
        assert reply["id"] == self.ids
        assert ("result" in reply) != ("error" in reply)
        assert set(reply) <= {"jsonrpc", "id", "result", "error"}
        return reply

    def result(self, method, params=None):
        reply = self.ask(method, params)
        assert "result" in reply, reply
        if self.modern:
            assert reply["result"]["resultType"] == "complete"
        else:
            assert not {"resultType", "ttlMs", "cacheScope"} & set(reply["result"])
        return reply["result"]

    def error(self, method, params=None):
        reply = self.ask(method, params)
        assert "error" in reply, reply
        assert isinstance(reply["error"]["message"], str) and reply["error"]["message"]
        return reply["error"]

    def call(self, tool, /, **arguments):
        """The result of a tool, its two contents compared."""
        result = self.result("tools/call", {"name": tool, "arguments": arguments})
        [content] = result["content"]
        assert content["type"] == "text"
        assert json.loads(content["text"]) == result["structuredContent"]
        assert result["structuredContent"]["success"] is not result.get("isError", False)
        return result

    def data(self, tool, /, **arguments):
        result = self.call(tool, **arguments)
        assert set(result["structuredContent"]) == {"success", "data"}, result
        return result["structuredContent"]["data"]

    def fails(self, tool, /, **arguments):
        """The domain error of a tool, as {code, message, details}."""
        result = self.call(tool, **arguments)
        assert result.get("isError") is True, result
        assert set(result["structuredContent"]) == {"success", "error"}
        error = result["structuredContent"]["error"]
        assert set(error) == {"code", "message", "details"}
        assert error["message"]
        return error

    def refuses(self, tool, arguments):
        """The protocol error of a tools/call."""
        return self.error("tools/call", {"name": tool, "arguments": arguments})

    def initialize(self, version=LEGACY[0]):
        result = self.result("initialize", {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
        self.send(message("notifications/initialized"))
        return result

    def silent(self):
        """Nothing was printed since the last line: the next line answers this request."""
        assert "tools" in self.result("tools/list")

    def ends(self):
        """Waits for the end; returns the exit status and the text on stderr."""
        code = self.process.wait(DEADLINE)
        return code, self.process.stderr.read()


@pytest.fixture
def start(project):
    """Starts servers in the project, and stops them at the end."""
    running = []

    def begin(*args, modern=False, begun=True, version=LEGACY[0], **kw):
        s = Server(kw.pop("project", project), *args, modern=modern, **kw)
        running.append(s)
        if begun and not modern:
            s.initialize(version)
        return s

    (project.path / "file.txt").write_text("x")
    yield begin
    for s in running:
        s.__exit__()


@pytest.fixture(params=["legacy", "modern"])
def server(request, start):
    return start(modern=request.param == "modern")


# --- the beginning ---

@pytest.mark.parametrize("version", LEGACY)
def test_initialize_echoes_each_version_it_knows(start, version):
    result = start(begun=False).initialize(version)
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] and result["serverInfo"]["version"]
    assert set(result["capabilities"]) >= {"tools", "resources", "prompts"}


@pytest.mark.parametrize("version", ["2099-01-01", "1.0", "", MODERN])
def test_initialize_offers_its_newest_legacy_version_for_another(start, version):
    assert start(begun=False).initialize(version)["protocolVersion"] == LEGACY[0]


def test_capabilities_promise_no_subscription(start):
    for capabilities in (start(begun=False).initialize()["capabilities"],
                         start(modern=True).result("server/discover")["capabilities"]):
        for name, value in capabilities.items():
            assert not {"listChanged", "subscribe"} & set(value), name
    assert start(modern=True).error("subscriptions/listen")["code"] == METHOD


def test_discover(start):
    s = start(modern=True)
    result = s.result("server/discover")
    assert MODERN in result["supportedVersions"]
    assert set(result["capabilities"]) >= {"tools", "resources", "prompts"}
    assert result["instructions"]
    assert isinstance(result["ttlMs"], int) and result["ttlMs"] >= 0
    assert result["cacheScope"] in ("public", "private")


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": {CAPABILITIES: {}}}])
def test_discover_without_meta(start, params):
    s = start(begun=False)
    s.send(message("server/discover", params, 1))
    assert s.line()["error"]["code"] == PARAMS


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call", "no/such"])
@pytest.mark.parametrize("version", ["2031-01-01", "2025-11-25", ""])
def test_unknown_modern_version(start, method, version):
    s = start(modern=True)
    supported = s.result("server/discover")["supportedVersions"]
    s.send(message(method, {"_meta": {VERSION: version, CAPABILITIES: {}}}, "v"))
    reply = s.line()
    assert reply["id"] == "v"
    assert reply["error"]["code"] == UNSUPPORTED
    assert reply["error"]["data"] == {"supported": supported, "requested": version}


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "prompts/list"])
@pytest.mark.parametrize("more", [{}, {CAPABILITIES: None}, {CAPABILITIES: "all"}, {CAPABILITIES: []}])
def test_missing_client_capabilities(start, method, more):
    s = start(begun=False)
    s.send(message(method, {"_meta": {VERSION: MODERN, **more}}, 1))
    assert s.line()["error"]["code"] == PARAMS


def test_modern_results_have_a_cache_lifetime(start):
    s = start(modern=True)
    for method, params in [("server/discover", None), ("tools/list", None), ("resources/list", None),
                           ("resources/templates/list", None), ("prompts/list", None),
                           ("resources/read", {"uri": "bb://summary"})]:
        result = s.result(method, params)
        assert isinstance(result["ttlMs"], int) and result["ttlMs"] >= 0, method
        assert result["cacheScope"] in ("public", "private"), method
    s.result("prompts/get", {"name": s.result("prompts/list")["prompts"][0]["name"]})
    s.data("bb_summary")


def test_changing_results_are_not_cacheable(start):
    s = start(modern=True)
    assert s.result("resources/read", {"uri": "bb://summary"})["ttlMs"] == 0


def test_a_modern_request_needs_no_initialize_and_leaves_no_session(start):
    s = start(modern=True)
    assert s.result("tools/list")["tools"]
    s.modern = False
    s.initialize()
    s.data("bb_identify", agent_id="remembered")
    s.modern = True
    assert s.fails("bb_post_message", content="who am I?")["code"] == "IDENTITY_REQUIRED"
    s.modern = False
    assert s.data("bb_post_message", content="me")["from_agent"] == "remembered"


def test_initialize_is_not_a_method_of_the_stateless_revision(start):
    s = start(modern=True)
    assert s.error("initialize", {"protocolVersion": LEGACY[0], "capabilities": {},
                                  "clientInfo": {"name": "t", "version": "1"}})["code"] == METHOD


@pytest.mark.parametrize("version", LEGACY)
def test_ping(start, version):
    assert start(version=version).result("ping") == {}


def test_the_stateless_revision_has_no_ping(start):
    assert start(modern=True).error("ping")["code"] == METHOD


@pytest.mark.parametrize("method", ["no/such", "", "tools", "TOOLS/LIST", "logging/setLevel", "tools/list "])
def test_unknown_method(server, method):
    assert server.error(method)["code"] == METHOD
    server.silent()


# --- messages ---

NOTIFICATIONS = ["notifications/initialized", "notifications/cancelled", "notifications/progress",
                 "notifications/roots/list_changed", "notifications/no/such", "tools/list", "no/such", "ping"]


@pytest.mark.parametrize("method", NOTIFICATIONS)
def test_no_reply_without_an_id(server, method):
    for params in (None, {}, {"requestId": 77}, {"_meta": META}, {"_meta": {VERSION: "x"}}, {"_meta": 5}):
        server.send(message(method, params))
    server.silent()


def test_a_notification_with_an_id_is_a_request(server):
    for method in ("notifications/cancelled", "notifications/initialized"):
        assert server.error(method, {"requestId": 77})["code"] == METHOD


def test_a_tool_call_without_an_id_is_not_answered(server, project):
    server.send(message("tools/call", server.params(
        {"name": "bb_post_message", "arguments": {"content": "x", "agent": "a"}})))
    server.silent()


def test_a_response_without_a_request_is_not_answered(server):
    server.send({"jsonrpc": "2.0", "id": 9, "result": {}})
    server.send({"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "m"}})
    server.silent()


@pytest.mark.parametrize("id", [
    b"0", b"1", b"-1", b"9007199254740993", b"123456789012345678901234567890", b'"1"', b'""', b'"a b"',
    '"żółw 🐢"'.encode(), b'"' + b"x" * 10000 + b'"'], ids=ascii_head)
def test_ids_are_returned_exactly(start, id):
    s = start(modern=True)
    s.write(b'{"jsonrpc":"2.0","id":' + id + b',"method":"tools/list","params":{"_meta":' + compact(META) + b"}}\n")
    line = s.raw()
    assert b'"id":' + id + b"," in line
    s.write(b'{"jsonrpc":"2.0","method":"no","id":' + id + b"}\n")
    assert b'"id":' + id + b"," in s.raw()


def test_an_escaped_id_is_the_same_string(start):
    s = start()
    s.write(b'{"jsonrpc":"2.0","id":"\\u00e9\\n\\"\\ud83d\\ude00","method":"ping"}\n')
    assert s.line()["id"] == "é\n\"😀"


@pytest.mark.parametrize("line", [
    b"{", b"nonsense", b"[", b"{}}", b"\x00", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b"'", b"{'a':1}",
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', b'{"a":01}', b'"\\ud800"', b"\xef\xbb\xbf{}",
    b"[" * 100000, b'{"a":' * 5000 + b"1" + b"}" * 5000, b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
    b"Content-Length: 10"], ids=ascii_head)
def test_malformed_json(server, line):
    server.write(line + b"\n")
    reply = server.line()
    assert reply["id"] is None
    assert reply["error"]["code"] == PARSE
    server.silent()


@pytest.mark.parametrize("body", [
    "1", "null", "true", '"x"', "{}", "[]", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":4}',
    '{"id":4,"method":"ping"}', '{"jsonrpc":"1.0","id":4,"method":"ping"}', '{"jsonrpc":2.0,"id":4,"method":"ping"}',
    '{"jsonrpc":"2.0","id":4,"method":5}', '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}', '{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}'])
def test_json_that_is_not_a_request(server, body):
    server.write(body.encode() + b"\n")
    reply = server.line()
    assert reply["error"]["code"] == REQUEST
    assert reply["id"] in (None, 4)
    server.silent()


@pytest.mark.parametrize("params", [[], [1], "x", 5, True])
def test_params_that_are_not_an_object(server, params):
    server.send(message("tools/list", params, 3))
    reply = server.line()
    assert reply["error"]["code"] in (REQUEST, PARAMS) and reply["id"] == 3
    server.silent()


@pytest.mark.parametrize("meta", [None, 5, "x", [], {VERSION: 5}, {VERSION: None}, {VERSION: {}, CAPABILITIES: {}}])
def test_an_invalid_meta_is_tolerated(start, meta):
    s = start()
    s.send(message("tools/list", {"_meta": meta}, 3))
    reply = s.line()
    assert reply["id"] == 3
    assert reply.get("error", {"code": PARAMS})["code"] in (PARAMS, UNSUPPORTED)
    s.silent()


def test_blank_lines_spaces_and_carriage_returns_are_ignored(start):
    s = start()
    s.write(b'\n  \n\r\n \t {"jsonrpc" : "2.0" , "id" : 5 , "method" : "ping" } \r\n')
    assert s.line() == {"jsonrpc": "2.0", "id": 5, "result": {}}


def test_a_request_in_pieces_and_many_in_one(start):
    s = start()
    for byte in compact(message("ping", id=1)) + b"\n":
        os.write(s.process.stdin.fileno(), bytes([byte]))
    assert s.line()["id"] == 1
    s.send(*[message("ping", id=i) for i in range(500)])
    assert [s.line()["id"] for _ in range(500)] == list(range(500))


def test_a_last_request_without_its_line_end_is_answered(start):
    s = start()
    s.write(compact(message("ping", id=1)))
    s.process.stdin.close()
    assert s.line()["id"] == 1
    assert s.raw() == b""
    assert s.ends() == (0, b"")


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"])
def test_invalid_utf8_writes_nothing(server, project, bad):
    post = compact(message("tools/call", server.params(
        {"name": "bb_post_message", "arguments": {"agent": "a", "content": "MARK"}}), 1))
    for request in (post.replace(b"MARK", b"x" + bad), post.replace(b'"a"', b'"' + bad + b'"')):
        server.write(request + b"\n")
        reply = server.line()
        assert reply["error"]["code"] == PARSE
        assert reply["error"]["data"]["code"] == "INVALID_INPUT"
    server.silent()
    assert project.json("log") == []
    assert project.json("status") == []


def test_an_oversized_line(server, project):
    big = compact(message("tools/call", server.params(
        {"name": "bb_post_message", "arguments": {"agent": "a", "content": "x" * 5_000_000}}), 1))
    server.write(big + b"\n")
    reply = server.line()
    assert reply["error"]["code"] in (PARSE, REQUEST)
    server.silent()
    server.write(b"x" * 9_000_000 + b"\n")
    assert "error" in server.line()
    server.silent()
    for id in ("a\"b{", 17, "z" * 50):  # before or after what is too long
        params = {"name": "bb_post_message", "arguments": {"id": "no", "content": ['"id":3,}\\"', {"id": 4}] * 500_000}}
        for request in ({"id": id, "method": "tools/call", "params": params}, {"params": params, "method": "tools/call", "id": id}):
            server.write(compact({"jsonrpc": "2.0", **request}) + b"\n")
            reply = server.line()
            assert (reply["id"], reply["error"]["code"]) == (id, REQUEST) and "4 MiB" in reply["error"]["message"]
    server.silent()
    assert project.json("log") == []


def test_a_long_line_that_is_not_too_long(server):
    error = server.fails("bb_post_message", content="x" * 3_000_000, agent="a")
    assert error["code"] == "INVALID_INPUT"
    assert len(error["message"]) < 1000


# --- batches ---

def test_batches_where_the_revision_has_them(start):
    s = start(version="2025-03-26")
    s.send([message("ping", id=1), message("notifications/progress"), message("no/such", id="x"),
            message("tools/call", {"name": "bb_summary", "arguments": {}}, 2), 5])
    replies = s.line()
    assert {r["id"]: "error" in r for r in replies} == {1: False, "x": True, 2: False, None: True}
    assert len(replies) == 4
    s.send([message("notifications/progress"), message("notifications/no")])
    s.silent()
    s.send([])
    assert s.line()["error"]["code"] == REQUEST


@pytest.mark.parametrize("version", [v for v in LEGACY if v != "2025-03-26"])
def test_no_batches_elsewhere(start, version):
    s = start(version=version)
    s.send([message("ping", id=1), message("ping", id=2)])
    reply = s.line()
    assert isinstance(reply, dict) and reply["error"]["code"] == REQUEST and reply["id"] is None
    s.silent()


@pytest.mark.parametrize("modern", [True, False])
def test_no_batches_before_a_session(start, modern):
    s = start(modern=True)
    s.send([message("tools/list", {"_meta": META} if modern else {}, 1)])
    assert s.line()["error"]["code"] == REQUEST
    s.silent()


def test_requests_of_a_batch_do_not_share_an_identity(start):
    s = start(version="2025-03-26")
    call = lambda i, **a: message("tools/call", {"name": "bb_post_message", "arguments": a}, i)
    s.send([call(1, content="a", agent="x"), call(2, content="b"), call(3, content="c", agent="y")])
    said = [r["result"]["structuredContent"] for r in s.line()]
    assert said[0]["data"]["from_agent"] == "x"
    assert said[1]["error"]["code"] == "IDENTITY_REQUIRED"
    assert said[2]["data"]["from_agent"] == "y"


# --- cancellation ---

def post(s, id, content):
    return message("tools/call", s.params(
        {"name": "bb_post_message", "arguments": {"content": content, "agent": "a"}}), id)


@pytest.mark.parametrize("ids", [[1, 2, 3], ["a", "b", "c"], [1, "1", 10**25]])
def test_a_queued_request_can_be_cancelled(server, project, ids):
    server.send(*[post(server, i, f"m{n}") for n, i in enumerate(ids)],
                message("notifications/cancelled", {"requestId": ids[2], "reason": "changed my mind"}))
    assert [server.line()["id"] for _ in range(2)] == ids[:2]
    server.silent()
    assert [m["content"] for m in project.json("log")] == ["m1", "m0"]


def test_cancelling_one_request_does_not_affect_others(server, project):
    cancel = lambda i: message("notifications/cancelled", {"requestId": i})
    server.send(post(server, 1, "m1"), post(server, 2, "m2"), cancel(2), cancel(99), cancel("1"), cancel(None),
                post(server, 3, "m3"), post(server, 2, "again"))
    assert [server.line()["id"] for _ in range(3)] == [1, 3, 2]
    server.silent()
    assert [m["content"] for m in project.json("log")] == ["again", "m3", "m1"]


def test_cancelling_a_finished_request_changes_nothing(server):
    assert server.result("tools/list")
    server.send(message("notifications/cancelled", {"requestId": server.ids}))
    server.silent()


# --- the end ---

@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("how", ["eof", signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_at_the_end_of_its_input(start, how, modern):
    s = start(modern=modern)
    s.silent()
    began = time.monotonic()
    if how == "eof":
        s.process.stdin.close()
    else:
        s.process.send_signal(how)
    assert s.ends() == (0, b"")
    assert time.monotonic() - began < patience(1)
    assert s.raw() == b""


def test_eof_at_once(start):
    s = start(begun=False)
    s.process.stdin.close()
    assert s.ends() == (0, b"")


def test_eof_comes_after_the_answers(start, project):
    s = start(modern=True)
    s.send(*[post(s, i, f"m{i}") for i in range(20)])
    s.process.stdin.close()
    assert [s.line()["id"] for _ in range(20)] == list(range(20))
    assert s.ends() == (0, b"")


@pytest.mark.parametrize("modern", [True, False])
def test_a_server_whose_output_is_not_read_ends(start, modern):
    s = start(modern=modern)
    s.silent()
    s.process.stdout.close()
    os.write(s.process.stdin.fileno(), compact(message("tools/list", s.params(None), 1)) + b"\n")
    code, said = s.ends()
    assert code in (0, 1)
    assert said == b""


def test_sigterm_reaches_a_server_whose_client_does_not_read(start):
    s = start(modern=True)
    s.silent()
    request = compact(message("tools/list", s.params(None), 1)) + b"\n"
    fd = s.process.stdin.fileno()
    os.set_blocking(fd, False)
    full = 0
    while full < 5:  # both pipes are full, and the server waits in write()
        try:
            os.write(fd, request)
            full = 0
        except BlockingIOError:
            full += 1
            select.select([], [fd], [], 0.02)
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(3) == 0


def test_a_board_that_stays_locked_is_busy(start, project):
    s = start(modern=True)
    s.data("bb_post_message", content="before", agent="a")
    other = sqlite3.connect(project.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert s.fails("bb_post_message", content="x", agent="a")["code"] == "DATABASE_BUSY"
    finally:
        other.close()
    assert s.data("bb_post_message", content="y", agent="a")["id"] == 2


def test_stdout_carries_protocol_only(empty):
    """With unusual starts, bad requests and warnings, each line is still a reply."""
    with Server(empty, modern=True) as s:
        s.write(b"junk\n")
        s.send(message("tools/call", s.params({"name": "bb_summary"}), 1), message("no/such", id=2))
        s.process.stdin.close()
        lines = []
        while line := s.raw():
            lines.append(json.loads(line))
        assert [l["id"] for l in lines] == [None, 1, 2]
        assert all(l["jsonrpc"] == "2.0" for l in lines)


def test_the_flag_is_the_command(start):
    s = start(command=("--mcp",))
    assert s.result("ping") == {}


def test_the_folder_is_found_and_chosen(start, project, tmp_path):
    below = project.path / "a" / "b"
    below.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    start(modern=True, cwd=below).data("bb_post_message", content="1", agent="a")
    start(modern=True, cwd=elsewhere, env={"BB_DIR": project.path}).data("bb_post_message", content="2", agent="a")
    start(modern=True, cwd=elsewhere, command=("--dir", str(project.path), "mcp")).data(
        "bb_post_message", content="3", agent="a")
    assert [m["content"] for m in project.json("log")] == ["3", "2", "1"]


@pytest.mark.parametrize("tool", TOOLS[1:])
def test_mcp_never_creates_a_board(empty, tool):
    (empty.path / "file.txt").write_text("x")
    before = sorted(empty.path.iterdir())
    needs = {**WRITES, "bb_find_refs": {"where": "a", "what": "b", "ref": "c"}}
    with Server(empty, "--agent", "a", modern=True) as s:
        assert s.fails(tool, **needs.get(tool, {}))["code"] == "NOT_INITIALIZED"
        for method, params in [("resources/read", {"uri": "bb://summary"}), ("prompts/get", {"name": "catch_up"})]:
            assert s.error(method, params)["data"]["code"] == "NOT_INITIALIZED"
        assert sorted(empty.path.iterdir()) == before
        empty.bb("init").ok()
        s.data(tool, **needs.get(tool, {}))


# --- the list of tools ---

PLAIN = {"type", "properties", "required", "enum", "items", "description", "default", "minimum", "maximum"}


def schemas(node):
    """The schema and all below it."""
    yield node
    for child in node.get("properties", {}).values():
        yield from schemas(child)
    if "items" in node:
        yield from schemas(node["items"])


NULLABLE = {"blockers", "in_reply_to", "version"}  # hosts accept one type, so these are not declared


def problems(schema, value, at="$", closed=False):
    """The places where a value violates a schema made of the plain keywords; `closed`: undeclared members count."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
             "boolean": bool, "null": type(None)}
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    fits = [t for t in types if isinstance(value, kinds[t]) and (t == "boolean" or not isinstance(value, bool))]
    if types and not fits:
        return [f"{at}: {value!r} is not {types}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not one of {schema['enum']}")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{at}: {value} is out of range")
    if isinstance(value, dict):
        found += [f"{at}: no {key}" for key in schema.get("required", []) if key not in value]
        for key, child in schema.get("properties", {}).items():
            if key in value:
                found += problems(child, value[key], f"{at}.{key}", closed)
        if closed and "properties" in schema:
            found += [f"{at}: {key} is not declared" for key in value if key not in schema["properties"] and key not in NULLABLE]
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += problems(schema["items"], item, f"{at}[{i}]", closed)
    return found


def test_the_validator_itself():
    schema = {"type": "object", "properties": {"a": {"type": ["integer", "null"], "minimum": 1},
                                               "b": {"type": "array", "items": {"enum": ["x"]}}}, "required": ["a"]}
    assert problems(schema, {"a": 1, "b": ["x"]}) == []
    assert problems(schema, {"a": None}) == []
    for bad in ({}, {"a": 0}, {"a": "1"}, {"a": True}, {"a": 1, "b": ["y"]}, {"a": 1, "b": {}}, []):
        assert problems(schema, bad), bad
    assert problems(schema, {"a": 1, "c": 2}) == []
    assert problems(schema, {"a": 1, "c": 2}, closed=True)


def test_tools_come_in_one_order(start):
    listings = []
    for version in LEGACY:
        s = start(version=version)
        listings += [s.result("tools/list")["tools"], s.result("tools/list", {})["tools"]]
    assert [t["name"] for t in listings[0]] == TOOLS
    assert [t["name"] for t in start(modern=True).result("tools/list")["tools"]] == TOOLS[1:]  # no session to name
    assert all(tools == listings[0] for tools in listings)


def test_tools_are_small(server):
    tools = server.result("tools/list")["tools"]
    size = len(compact(tools))
    print(f"tools: {size} bytes")
    assert size < 8000


def test_schemas_are_plain(server):
    for tool in server.result("tools/list")["tools"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])
        assert tool["description"]
        for which in ("inputSchema", "outputSchema"):
            assert tool[which]["type"] == "object"
            for schema in schemas(tool[which]):
                assert set(schema) <= PLAIN, (tool["name"], which, schema)
                assert set(schema.get("required", [])) <= set(schema.get("properties", {}))
                if schema.get("type") == "array":
                    assert "items" in schema
                if which == "inputSchema":  # hosts map these onto dialects with one type each
                    assert isinstance(schema["type"], str)
                if "default" in schema:
                    assert problems({k: v for k, v in schema.items() if k != "default"}, schema["default"]) == []


PARAMETERS = {
    "bb_identify": ({"agent_id"}, {"agent_id"}),
    "bb_set_status": ({"current_task", "progress", "status", "blockers", "agent"}, set()),
    "bb_get_status": ({"agent_id"}, set()),
    "bb_post_message": ({"content", "tags", "priority", "in_reply_to", "refs", "agent"}, {"content"}),
    "bb_read_messages": ({"since", "tags", "from_agent", "priority", "ref_where", "ref_what", "ref_ref", "limit"},
                         set()),
    "bb_register_artifact": ({"path", "description", "version", "refs", "agent"}, {"path", "description"}),
    "bb_list_artifacts": ({"produced_by", "ref_where", "ref_what", "ref_ref", "limit"}, set()),
    "bb_find_refs": ({"where", "what", "ref"}, {"where", "what", "ref"}),
    "bb_summary": (set(), set()),
}


def test_parameters(server):
    for tool in server.result("tools/list")["tools"]:
        names, required = PARAMETERS[tool["name"]]
        assert names <= set(tool["inputSchema"].get("properties", {})), tool["name"]
        unnamed = {"agent"} if server.modern and tool["name"] in WRITES else set()
        assert set(tool["inputSchema"].get("required", [])) == required | unnamed


def test_annotations(server):
    tools = {t["name"]: t["annotations"] for t in server.result("tools/list")["tools"]}
    for name, hints in tools.items():
        assert hints["openWorldHint"] is False
        assert hints["readOnlyHint"] is (name not in WRITES), name
        if name in WRITES:
            assert hints["destructiveHint"] is False
            assert hints.get("idempotentHint", False) is (name != "bb_post_message")


# --- arguments ---

def test_unknown_tool(server):
    for name in ("no_such", "", "bb_", "bb", "BB_SUMMARY", "bb_bb_summary", "bb_summary ", None, 5):
        assert server.refuses(name, {})["code"] == PARAMS
    assert server.error("tools/call", {"arguments": {}})["code"] == PARAMS
    assert server.error("tools/call")["code"] == PARAMS


@pytest.mark.parametrize("arguments", [[], "x", 5, True])
def test_arguments_that_are_not_an_object(server, arguments):
    assert server.refuses("bb_summary", arguments)["code"] == PARAMS


def test_arguments_may_be_absent(server):
    assert server.result("tools/call", {"name": "bb_summary"})["structuredContent"]["success"] is True


def test_arguments_may_be_null(server):
    assert server.result("tools/call", {"name": "bb_summary", "arguments": None})["structuredContent"]["success"] is True
    assert server.refuses("bb_find_refs", None)["code"] == PARAMS


@pytest.mark.parametrize("tool, arguments", [
    ("bb_set_status", {"agent": "a"}),
    ("bb_set_status", {"agent": "a", "progress": 101}),
    ("bb_set_status", {"agent": "a", "status": "offline"}),
    ("bb_set_status", {"agent": "a", "status": "coding", "blockers": "b"}),
    ("bb_post_message", {"agent": "a", "content": ""}),
    ("bb_post_message", {"agent": "a", "content": "c\0"}),
    ("bb_post_message", {"agent": "a", "content": "c", "priority": "urgent"}),
    ("bb_read_messages", {"limit": 0}),
    ("bb_read_messages", {"since": "soon"}),
    ("bb_read_messages", {"unread": True}),
    ("bb_register_artifact", {"agent": "a", "path": "missing", "description": "d"}),
])
def test_errors_do_not_speak_of_options_of_the_command_line(server, tool, arguments):
    error = server.fails(tool, **arguments)
    assert "--" not in error["message"]
    assert error["details"]["next_step"] and "--" not in error["details"]["next_step"]


def test_a_message_that_cannot_be_parsed_gets_advice_for_programs(server):
    server.write(b"not JSON\n")
    step = server.line()["error"]["data"]["next_step"]
    assert "JSON" in step and "--" not in step


@pytest.mark.parametrize("tool, required", [(t, r) for t in TOOLS for r in sorted(PARAMETERS[t][1])])
def test_missing_argument(server, tool, required):
    full = {"agent_id": "a", "content": "c", "path": "file.txt", "description": "d", "where": "a", "what": "b",
            "ref": "c"}
    given = {k: full[k] for k in PARAMETERS[tool][1] if k != required}
    error = server.refuses(tool, given)
    assert error["code"] == PARAMS
    assert required in error["message"]


@pytest.mark.parametrize("tool", TOOLS)
def test_unknown_argument(server, tool, project):
    given = {**WRITES, "bb_identify": {"agent_id": "a"}, "bb_find_refs": {"where": "a", "what": "b", "ref": "c"}}
    for name in ("nope", "Content", "", "catch_up", "target"):
        error = server.refuses(tool, {**given.get(tool, {}), name: "x"})
        assert error["code"] == PARAMS, name
    assert project.json("log") == [] and project.json("status") == [] and project.json("artifacts") == []


WRONG = [
    ("bb_identify", "agent_id", [5, True, [], {}]),
    ("bb_set_status", "current_task", [5, True, ["x"], {}]),
    ("bb_set_status", "progress", ["50", True, [], {}]),
    ("bb_set_status", "status", [5, [], True]),
    ("bb_set_status", "blockers", [5, {}]),
    ("bb_set_status", "agent", [5, True, {}, []]),
    ("bb_get_status", "agent_id", [5, True]),
    ("bb_post_message", "content", [5, True, [], {}]),
    ("bb_post_message", "tags", ["plan", 5, {}, [5], [["x"]]]),
    ("bb_post_message", "priority", [1, True, []]),
    ("bb_post_message", "in_reply_to", ["1", True, {}]),
    ("bb_post_message", "refs", ["a:b:c", 5, {}]),
    ("bb_read_messages", "since", [5, {}]),
    ("bb_read_messages", "tags", ["x", {}]),
    ("bb_read_messages", "from_agent", [5]),
    ("bb_read_messages", "priority", [5]),
    ("bb_read_messages", "limit", ["5", True, []]),
    ("bb_register_artifact", "path", [5, []]),
    ("bb_register_artifact", "description", [5]),
    ("bb_register_artifact", "version", [5, 1.2]),
    ("bb_list_artifacts", "produced_by", [5]),
    ("bb_list_artifacts", "limit", ["5"]),
    ("bb_find_refs", "where", [5]),
]


@pytest.mark.parametrize("tool, name, values", WRONG)
def test_wrong_type(start, project, tool, name, values):
    s = start(modern=True)
    given = {**WRITES, "bb_find_refs": {"where": "a", "what": "b", "ref": "c"}}.get(tool, {})
    for value in values:
        error = s.refuses(tool, {**({"agent": "a"} if tool in WRITES else {}), **given, name: value})
        assert error["code"] == PARAMS, value
        assert name in error["message"]
    assert project.json("log") == [] and project.json("status") == [] and project.json("artifacts") == []


@pytest.mark.parametrize("tool, arguments, code", [
    ("bb_set_status", {"progress": 101}, "INVALID_INPUT"),
    ("bb_set_status", {"progress": -1}, "INVALID_INPUT"),
    ("bb_set_status", {"progress": 1.5}, "INVALID_INPUT"),
    ("bb_set_status", {"progress": 10**30}, "INVALID_INPUT"),
    ("bb_set_status", {"status": "sleeping"}, "INVALID_INPUT"),
    ("bb_set_status", {"status": "Coding"}, "INVALID_INPUT"),
    ("bb_set_status", {"status": "offline"}, "INVALID_INPUT"),
    ("bb_set_status", {"status": ""}, "INVALID_INPUT"),
    ("bb_set_status", {"current_task": "x" * 257}, "INVALID_INPUT"),
    ("bb_set_status", {"blockers": "x" * 1025}, "INVALID_INPUT"),
    ("bb_set_status", {"current_task": "a\0b"}, "INVALID_INPUT"),
    ("bb_set_status", {"current_task": "t", "agent": ""}, "INVALID_IDENTITY"),
    ("bb_set_status", {"current_task": "t", "agent": "  "}, "INVALID_IDENTITY"),
    ("bb_set_status", {"current_task": "t", "agent": "x" * 65}, "INVALID_IDENTITY"),
    ("bb_set_status", {"current_task": "t", "agent": "a\nb"}, "INVALID_IDENTITY"),
    ("bb_set_status", {"current_task": "t", "agent": "a\0b"}, "INVALID_IDENTITY"),
    ("bb_get_status", {"agent_id": "nobody"}, "NOT_FOUND"),
    ("bb_post_message", {"content": ""}, "INVALID_INPUT"),
    ("bb_post_message", {"content": " \n\t"}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "x" * 65537}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "priority": "urgent"}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "tags": ["t"] * 11}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "tags": ["t" * 33]}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "tags": [""]}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "in_reply_to": 99}, "NOT_FOUND"),
    ("bb_post_message", {"content": "c", "in_reply_to": 0}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "refs": [{"where": "a", "what": "b", "ref": "c"}] * 21}, "INVALID_INPUT"),
    ("bb_post_message", {"content": "c", "refs": [{"where": "", "what": "b", "ref": "c"}]}, "INVALID_REF_FORMAT"),
    ("bb_post_message", {"content": "c", "refs": [{"where": "a:b", "what": "b", "ref": "c"}]}, "INVALID_REF_FORMAT"),
    ("bb_post_message", {"content": "c", "refs": ["a:b"]}, "INVALID_REF_FORMAT"),
    ("bb_read_messages", {"since": "soon"}, "INVALID_INPUT"),
    ("bb_read_messages", {"since": "5"}, "INVALID_INPUT"),
    ("bb_read_messages", {"since": "5y"}, "INVALID_INPUT"),
    ("bb_read_messages", {"since": "-5m"}, "INVALID_INPUT"),
    ("bb_read_messages", {"since": ""}, "INVALID_INPUT"),
    ("bb_read_messages", {"since": "99999999999999999999d"}, "INVALID_INPUT"),
    ("bb_read_messages", {"priority": "urgent"}, "INVALID_INPUT"),
    ("bb_read_messages", {"limit": 0}, "INVALID_INPUT"),
    ("bb_read_messages", {"limit": -1}, "INVALID_INPUT"),
    ("bb_read_messages", {"ref_where": "a"}, "INVALID_REF_FORMAT"),
    ("bb_read_messages", {"ref_where": "a", "ref_what": "b"}, "INVALID_REF_FORMAT"),
    ("bb_register_artifact", {"path": "missing.txt", "description": "d"}, "INVALID_INPUT"),
    ("bb_register_artifact", {"path": "", "description": "d"}, "INVALID_INPUT"),
    ("bb_register_artifact", {"path": "/etc/passwd", "description": "d"}, "PATH_TRAVERSAL"),
    ("bb_register_artifact", {"path": "../project/file.txt", "description": "d"}, "PATH_TRAVERSAL"),
    ("bb_register_artifact", {"path": "file.txt", "description": "x" * 1025}, "INVALID_INPUT"),
    ("bb_register_artifact", {"path": "x" * 4097, "description": "d"}, "INVALID_INPUT"),
    ("bb_register_artifact", {"path": "file.txt", "description": "d", "version": "v" * 65}, "INVALID_INPUT"),
    ("bb_list_artifacts", {"limit": 0}, "INVALID_INPUT"),
    ("bb_list_artifacts", {"ref_ref": "a"}, "INVALID_REF_FORMAT"),
    ("bb_find_refs", {"where": "a:b", "what": "b", "ref": "c"}, "INVALID_REF_FORMAT"),
    ("bb_find_refs", {"where": "", "what": "b", "ref": "c"}, "INVALID_REF_FORMAT"),
])
def test_wrong_value(start, project, tool, arguments, code):
    who = {"agent": "a"} if tool in WRITES else {}
    assert start(modern=True).fails(tool, **{**who, **arguments})["code"] == code
    assert project.json("log") == [] and project.json("status") == [] and project.json("artifacts") == []


def test_limits_themselves_are_allowed(server):
    server.data("bb_set_status", current_task="x" * 256, blockers="y" * 1024, progress=100, agent="a" * 64)
    server.data("bb_post_message", content="x" * 65536, tags=["t" * 32] * 10, agent="a",
                refs=[{"where": "a", "what": "b", "ref": str(i)} for i in range(20)])
    server.data("bb_register_artifact", path="file.txt", description="x" * 1024, version="v" * 64, agent="a")


def test_null_is_absent(server):
    assert server.data("bb_post_message", content="c", agent="a", in_reply_to=None, tags=None, refs=None,
                       priority=None)["priority"] == "normal"
    assert server.refuses("bb_post_message", {"content": None, "agent": "a"})["code"] == PARAMS


def test_a_limit_above_the_maximum_becomes_the_maximum(server):
    assert server.data("bb_read_messages", limit=100000) == []
    assert server.data("bb_list_artifacts", limit=101) == []


# --- the nine tools ---

@pytest.fixture
def checked(server):
    """`data`, with each result checked against the tool's schemas."""
    tools = {t["name"]: t for t in server.result("tools/list")["tools"]}

    def data(tool, /, **arguments):
        assert problems(tools[tool]["inputSchema"], arguments, closed=True) == []
        result = server.call(tool, **arguments)
        assert problems(tools[tool]["outputSchema"], result["structuredContent"], closed=True) == []
        assert "data" in result["structuredContent"], result
        return result["structuredContent"]["data"]

    data.server, data.tools = server, tools
    return data


TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def test_set_status(checked):
    agent = checked("bb_set_status", current_task="zażółć 🐢", progress=40, status="coding", agent="a")
    assert re.fullmatch(TIME, agent.pop("last_seen")) and re.fullmatch(TIME, agent.pop("updated_at"))
    assert agent == {"id": "a", "current_task": "zażółć 🐢", "progress": 40, "status": "coding", "blockers": None,
                     "liveness": "active", "minutes_since_last_seen": 0}
    agent = checked("bb_set_status", status="blocked", blockers="the API", agent="a")
    assert (agent["status"], agent["blockers"], agent["progress"]) == ("blocked", "the API", 40)
    agent = checked("bb_set_status", status="testing", agent="a")
    assert (agent["status"], agent["blockers"], agent["current_task"]) == ("testing", None, "zażółć 🐢")


@pytest.mark.parametrize("status", ["idle", "planning", "coding", "testing", "reviewing", "blocked"])
def test_each_status(checked, status):
    assert checked("bb_set_status", status=status, agent="a")["status"] == status


def test_get_status(checked, project):
    assert checked("bb_get_status") == []
    for name in ("a", "b"):
        checked("bb_set_status", current_task=name, agent=name)
    assert {a["id"] for a in checked("bb_get_status")} == {"a", "b"}
    [b] = checked("bb_get_status", agent_id="b")
    assert b["current_task"] == "b" and b["liveness"] == "active"
    assert [a["id"] for a in project.json("status", "get", "b")] == ["b"]


def test_post_and_read(checked):
    first = checked("bb_post_message", content="Grüße\n\"שלום\" 🐢", tags=["plan", "información"], priority="high",
                    refs=[{"where": "tt", "what": "issue", "ref": "13"}, {"where": "g", "what": "pr", "ref": "x1"}],
                    agent="a")
    assert re.fullmatch(TIME, first["created_at"])
    assert {k: v for k, v in first.items() if k != "created_at"} == {
        "id": 1, "from_agent": "a", "content": "Grüße\n\"שלום\" 🐢", "tags": ["plan", "información"],
        "priority": "high", "in_reply_to": None,
        "refs": [{"where": "tt", "what": "issue", "ref": 13}, {"where": "g", "what": "pr", "ref": "x1"}]}
    second = checked("bb_post_message", content="reply", in_reply_to=1, agent="b")
    assert second["in_reply_to"] == 1 and second["priority"] == "normal" and second["tags"] == []
    assert checked("bb_read_messages") == [first, second]


def test_read_filters(checked):
    for i, (agent, priority, tag) in enumerate([("a", "low", "plan"), ("b", "normal", "info"), ("a", "high", "info"),
                                                ("b", "critical", "review")]):
        checked("bb_post_message", content=str(i), agent=agent, priority=priority, tags=[tag],
                refs=[{"where": "w", "what": "n", "ref": str(i % 2)}])

    def read(**filters):
        return "".join(m["content"] for m in checked("bb_read_messages", **filters))

    assert read() == "0123"
    assert read(limit=2) == "23"
    assert read(from_agent="a") == "02"
    assert [read(priority=p) for p in ("low", "normal", "high", "critical")] == ["0123", "123", "23", "3"]
    assert read(tags=["info"]) == "12"
    assert read(tags=["plan", "review"]) == "03"
    assert read(tags=["nothing"]) == ""
    assert read(ref_where="w", ref_what="n", ref_ref="1") == "13"
    assert read(ref_where="w", ref_what="n", ref_ref="2") == ""
    assert read(since="1h") == "0123"
    assert read(since="1w", from_agent="b", priority="high") == "3"


def test_refs_as_a_string_or_a_number_are_the_same_thing(server):
    said = server.data("bb_post_message", content="c", agent="a", refs=[{"where": "w", "what": "n", "ref": 7}])
    assert said["refs"] == [{"where": "w", "what": "n", "ref": 7}]
    for ref in ("7", 7):
        assert server.data("bb_find_refs", where="w", what="n", ref=ref)["messages"] == [said]
        filter = {"ref_where": "w", "ref_what": "n", "ref_ref": ref}
        assert [m["id"] for m in server.data("bb_read_messages", **filter)] == [said["id"]]
        assert server.data("bb_list_artifacts", **filter) == []


def test_artifacts(checked, project):
    (project.path / "a..b.c").write_text("x")
    one = checked("bb_register_artifact", path="file.txt", description="d", version="1", agent="a",
                  refs=[{"where": "w", "what": "n", "ref": "x"}])
    assert re.fullmatch(TIME, one["created_at"])
    assert {k: v for k, v in one.items() if k not in ("created_at", "id")} == {
        "path": "file.txt", "produced_by": "a", "description": "d", "version": "1",
        "refs": [{"where": "w", "what": "n", "ref": "x"}]}
    two = checked("bb_register_artifact", path="a..b.c", description="e", agent="b")
    assert two["version"] is None and two["refs"] == []
    assert checked("bb_list_artifacts") == [two, one]
    assert checked("bb_list_artifacts", limit=1) == [two]
    assert checked("bb_list_artifacts", produced_by="a") == [one]
    assert checked("bb_list_artifacts", ref_where="w", ref_what="n", ref_ref="x") == [one]
    again = checked("bb_register_artifact", path="file.txt", description="new", agent="b")
    assert (again["produced_by"], again["description"], again["version"], again["refs"]) == ("b", "new", None, [])
    assert len(checked("bb_list_artifacts")) == 2


def test_an_artifact_that_leaves_the_project_through_a_link(server, project, tmp_path):
    (tmp_path / "secret").write_text("x")
    (project.path / "link").symlink_to(tmp_path / "secret")
    assert server.fails("bb_register_artifact", path="link", description="d", agent="a")["code"] == "PATH_TRAVERSAL"


def test_find_refs(checked):
    ref = {"where": "tt", "what": "issue", "ref": "abc"}
    said = checked("bb_post_message", content="c", refs=[ref], agent="a")
    checked("bb_post_message", content="other", agent="a")
    made = checked("bb_register_artifact", path="file.txt", description="d", refs=[ref], agent="a")
    assert checked("bb_find_refs", **ref) == {"messages": [said], "artifacts": [made]}
    assert checked("bb_find_refs", where="tt", what="issue", ref="ab") == {"messages": [], "artifacts": []}


def test_summary(checked):
    empty = checked("bb_summary")
    parts = {"agents", "active_agents", "blocked_agents", "recent_messages", "high_priority_messages",
             "recent_artifacts"}
    assert set(empty) == parts
    assert all(empty[p] == [] for p in parts)
    checked("bb_set_status", status="blocked", blockers="x", agent="a")
    checked("bb_post_message", content="c", priority="critical", agent="b")
    checked("bb_register_artifact", path="file.txt", description="d", agent="b")
    full = checked("bb_summary")
    assert [a["id"] for a in full["blocked_agents"]] == ["a"]
    assert [m["content"] for m in full["high_priority_messages"]] == ["c"]
    assert [m["content"] for m in full["recent_messages"]] == ["c"]
    assert [a["path"] for a in full["recent_artifacts"]] == ["file.txt"]


def test_errors_fit_the_output_schema_too(checked):
    for tool, arguments in [("bb_post_message", {"content": "x"}), ("bb_get_status", {"agent_id": "nobody"}),
                            ("bb_read_messages", {"since": "x"}), ("bb_set_status", {"progress": 101, "agent": "a"})]:
        result = checked.server.call(tool, **arguments)
        assert result["isError"] is True
        assert problems(checked.tools[tool]["outputSchema"], result["structuredContent"]) == []


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_are_known_without_the_prefix(start, tool):
    s = start("--agent", "a") if tool != "bb_identify" else start()
    needs = {**WRITES, "bb_identify": {"agent_id": "a"}, "bb_find_refs": {"where": "a", "what": "b", "ref": "c"}}
    s.data(tool.removeprefix("bb_"), **needs.get(tool, {}))


def test_the_command_line_and_mcp_show_the_same(server, project):
    server.data("bb_post_message", content="c", tags=["t"], agent="a")
    server.data("bb_register_artifact", path="file.txt", description="d", agent="a")
    assert server.data("bb_read_messages") == project.json("log")[::-1]
    assert server.data("bb_list_artifacts") == project.json("artifacts")
    assert server.data("bb_get_status") == project.json("status")


def test_a_repeated_request_id_has_one_effect(server, project):
    said = server.data("bb_post_message", content="once", request_id="r1", agent="a")
    assert server.data("bb_post_message", content="once", request_id="r1", agent="a") == said
    assert server.call("bb_post_message", content="other", request_id="r1", agent="a")["isError"] is True
    assert [m["content"] for m in project.json("log")] == ["once"]


# --- identity ---

@pytest.mark.parametrize("tool", WRITES)
def test_writes_need_an_identity(server, project, tool):
    error = server.fails(tool, **WRITES[tool])
    assert error["code"] == "IDENTITY_REQUIRED"
    said = json.dumps(error)
    assert "agent" in said  # what to do; where there is no session, nothing about one
    assert ("bb_identify" in said) is not server.modern
    assert project.json("log") == [] and project.json("status") == [] and project.json("artifacts") == []


def test_reads_may_be_anonymous(server, project):
    project.bb("post", "hello").ok()
    assert len(server.data("bb_read_messages")) == 1
    for tool in ("bb_get_status", "bb_list_artifacts", "bb_summary"):
        assert "unread" not in server.call(tool).get("_meta", {})


@pytest.mark.parametrize("given, who", [
    ("arg env argument session", "arg"), ("env argument session", "env"), ("argument session", "argument"),
    ("session", "session"), ("arg session", "arg"), ("env session", "env"), ("arg env", "arg"), ("env argument", "env"),
])
def test_precedence(start, given, who):
    given = given.split()
    s = start(*(["--agent", "arg"] if "arg" in given else []), env={"BB_AGENT_ID": "env"} if "env" in given else {})
    if "session" in given:
        s.call("bb_identify", agent_id="session")
    more = {"agent": "argument"} if "argument" in given else {}
    for tool, arguments in WRITES.items():
        data = s.data(tool, **arguments, **more)
        assert (data.get("from_agent") or data.get("produced_by") or data["id"]) == who


@pytest.mark.parametrize("given, who", [("arg env argument", "arg"), ("env argument", "env"), ("argument", "argument")])
def test_precedence_without_a_session(start, given, who):
    given = given.split()
    s = start(*(["--agent", "arg"] if "arg" in given else []), modern=True,
              env={"BB_AGENT_ID": "env"} if "env" in given else {})
    more = {"agent": "argument"} if "argument" in given else {}
    assert s.data("bb_post_message", content="c", **more)["from_agent"] == who


def test_an_empty_variable_is_no_identity(start):
    s = start(env={"BB_AGENT_ID": ""})
    assert s.fails("bb_post_message", content="c")["code"] == "IDENTITY_REQUIRED"


@pytest.mark.parametrize("id", ["  ", "x" * 65, "a\tb"])
def test_a_bad_variable_is_a_bad_identity(start, id):
    s = start(env={"BB_AGENT_ID": id})
    assert s.fails("bb_post_message", content="c")["code"] == "INVALID_IDENTITY"
    s.silent()


def test_identify(start, project):
    s = start()
    assert s.data("bb_identify", agent_id="me") == {"agent_id": "me", "source": "identify"}
    assert s.data("bb_identify", agent_id="me")["agent_id"] == "me"
    error = s.fails("bb_identify", agent_id="you")
    assert error["code"] == "INVALID_INPUT" and "identity already set" in error["message"]
    assert s.data("bb_post_message", content="c")["from_agent"] == "me"
    assert [a["id"] for a in project.json("status")] == ["me"]


def test_identify_alone_writes_nothing(start, project):
    s = start()
    s.data("bb_identify", agent_id="me")
    assert project.json("status") == []


def test_identify_trims(start):
    s = start()
    assert s.data("bb_identify", agent_id="  me ")["agent_id"] == "me"
    s.data("bb_identify", agent_id="me")
    assert s.data("bb_post_message", content="c")["from_agent"] == "me"


@pytest.mark.parametrize("id", ["", "   ", "x" * 65, "a\nb", "a\x1bb", "a\0b"])
def test_identify_refuses_invalid_names(start, id):
    s = start()
    assert s.fails("bb_identify", agent_id=id)["code"] == "INVALID_IDENTITY"
    assert s.fails("bb_post_message", content="c")["code"] == "IDENTITY_REQUIRED"
    assert s.data("bb_identify", agent_id="good")["agent_id"] == "good"


@pytest.mark.parametrize("id", ["fixed", "other"])
def test_identify_when_fixed_on_the_command_line(start, id):
    s = start("--agent", "fixed")
    error = s.fails("bb_identify", agent_id=id)
    assert error["code"] == "INVALID_INPUT"
    assert "identity already fixed by --agent" in error["message"]
    assert error["details"]["next_step"] == "Call the other tools without bb_identify: they act as 'fixed'."
    assert s.data("bb_post_message", content="c")["from_agent"] == "fixed"


def test_identify_when_set_by_the_environment(start):
    s = start(env={"BB_AGENT_ID": "env"})
    assert s.data("bb_identify", agent_id="env") == {"agent_id": "env", "source": "env"}
    error = s.fails("bb_identify", agent_id="other")
    assert error["code"] == "INVALID_INPUT"
    assert "cannot change identity set by BB_AGENT_ID" in error["message"]


def test_identify_compares_trimmed_names(start):
    assert start(env={"BB_AGENT_ID": " env "}).data("bb_identify", agent_id="env")["agent_id"] == "env"


def test_identify_has_no_session_to_change_in_the_stateless_revision(start):
    s = start(modern=True)
    error = s.fails("bb_identify", agent_id="me")
    assert error["code"] == "INVALID_INPUT"
    assert "agent" in json.dumps(error["details"])
    assert s.fails("bb_post_message", content="c")["code"] == "IDENTITY_REQUIRED"


def test_sessions_do_not_share_an_identity(start):
    one, two = start(), start()
    one.data("bb_identify", agent_id="one")
    assert two.fails("bb_post_message", content="c")["code"] == "IDENTITY_REQUIRED"
    two.data("bb_identify", agent_id="two")
    assert one.data("bb_post_message", content="c")["from_agent"] == "one"


def test_a_name_that_is_not_utf8(project):
    for args, env in ([["--agent", b"\xff\xfe"], {}], [[], {"BB_AGENT_ID": b"\xff\xfe"}]):
        request = compact(message("tools/call", {"_meta": META, "name": "bb_post_message",
                                                 "arguments": {"content": "c"}}, 1))
        done = subprocess.run([str(BIN / "bb"), "mcp", *args], input=request + b"\n", capture_output=True,
                              cwd=project.path, env={**environment(), **env}, timeout=DEADLINE)
        done.stdout.decode("utf-8")
        assert b"INVALID_I" in done.stdout + done.stderr or done.returncode != 0
    assert project.json("log") == []


# --- unread ---

def test_unread_counts(server):
    def unread(agent, tool="bb_get_status", **arguments):
        return server.call(tool, agent=agent, **arguments)["_meta"]["unread"]

    assert unread("b") == {"count": 0, "highest_priority": None}
    for i, priority in enumerate(["normal", "critical", "low"]):
        assert unread("a", "bb_post_message", content=str(i), priority=priority)["count"] == 0  # its own
    for agent in ("b", "c"):
        assert unread(agent) == {"count": 3, "highest_priority": "critical"}
        assert unread(agent, "bb_summary") == {"count": 3, "highest_priority": "critical"}
        assert unread(agent, "bb_set_status", current_task="t") == {"count": 3, "highest_priority": "critical"}
    server.data("bb_read_messages")  # nobody read it
    assert unread("b")["count"] == 3
    assert unread("b", "bb_read_messages", priority="critical") == {"count": 2, "highest_priority": "normal"}
    assert unread("b") == {"count": 2, "highest_priority": "normal"}
    assert unread("b", "bb_read_messages", unread=True, limit=1) == {"count": 1, "highest_priority": "low"}
    assert unread("b", "bb_read_messages") == {"count": 0, "highest_priority": None}
    assert unread("c")["count"] == 3
    assert unread("b", "bb_post_message", content="news", priority="high")["count"] == 0
    assert unread("c") == {"count": 4, "highest_priority": "critical"}
    assert unread("a") == {"count": 1, "highest_priority": "high"}


def test_unread_reads_only_new_messages(server):
    for i in range(5):
        server.data("bb_post_message", content=str(i), agent="a")
    read = lambda **kw: [m["content"] for m in server.data("bb_read_messages", agent="b", unread=True, **kw)]
    assert read(limit=2) == ["0", "1"]
    assert read(limit=2) == ["2", "3"]
    assert read() == ["4"]
    assert read() == []


def test_unread_for_the_servers_own_agent(start, project):
    project.bb("--as", "a", "post", "x", "--priority", "high").ok()
    s = start("--agent", "b")
    for tool in ("bb_get_status", "bb_list_artifacts", "bb_summary"):
        assert s.call(tool)["_meta"]["unread"] == {"count": 1, "highest_priority": "high"}
    assert s.call("bb_find_refs", where="a", what="b", ref="c")["_meta"]["unread"]["count"] == 1
    assert s.result("resources/read", {"uri": "bb://summary"})["_meta"]["unread"]["count"] == 1
    assert s.call("bb_read_messages")["_meta"]["unread"] == {"count": 0, "highest_priority": None}
    assert s.call("bb_summary")["_meta"]["unread"]["count"] == 0


# --- resources, prompts, completion ---

def contents(s, uri):
    [content] = s.result("resources/read", {"uri": uri})["contents"]
    assert content["uri"] == uri and content["mimeType"] == "application/json"
    return json.loads(content["text"])


def test_resources(server, project):
    listed = server.result("resources/list")["resources"]
    assert listed and all(r["uri"] and r["name"] and r["mimeType"] for r in listed)
    templates = server.result("resources/templates/list")["resourceTemplates"]
    assert {t["uriTemplate"] for t in templates} == {"bb://message/{id}", "bb://artifact/{path}"}
    (project.path / "a dir").mkdir()
    (project.path / "a dir" / "żółw.txt").write_text("x")
    first = server.data("bb_post_message", content="c", agent="a")
    reply = server.data("bb_post_message", content="r", in_reply_to=1, agent="b")
    made = server.data("bb_register_artifact", path="a dir/żółw.txt", description="d", agent="a")
    assert [a["id"] for a in contents(server, "bb://summary")["agents"]] == [
        a["id"] for a in server.data("bb_summary")["agents"]]
    for resource in listed:
        contents(server, resource["uri"])
    assert contents(server, "bb://message/1") == [first, reply]
    assert contents(server, "bb://message/2") == [reply]
    assert contents(server, "bb://artifact/a%20dir/%c5%bc%C3%B3%C5%82w.txt") == made
    assert contents(server, "bb://artifact/a dir/żółw.txt") == made
    assert contents(server, "bb://artifact/a%20dir%2F%C5%BC%C3%B3%C5%82w.txt") == made


@pytest.mark.parametrize("uri", [
    "bb://nothing", "bb://message/99", "bb://message/", "bb://message/x", "bb://message/0", "bb://message/-1",
    "bb://message/1x", "bb://message/99999999999999999999", "bb://artifact/none.txt", "bb://artifact/",
    "bb://artifact/../x", "bb://artifact/%ff%fe", "bb://message/%ff", "bb://message/%c3", "bb://artifact/%00",
    "bb://artifact/%", "bb://artifact/%zz", "bb://summary/", "bb://Summary", "file:///etc/passwd", "", "x", None, 5])
def test_no_such_resource(server, uri):
    error = server.error("resources/read", {"uri": uri})
    assert error["code"] == PARAMS
    server.silent()


def test_reading_needs_an_address(server):
    assert server.error("resources/read")["code"] == PARAMS
    assert server.error("resources/read", {})["code"] == PARAMS


def test_completion(server, project):
    (project.path / "two.txt").write_text("x")
    for path in ("file.txt", "two.txt"):
        server.data("bb_register_artifact", path=path, description="d", agent="a")
    for i in range(12):
        server.data("bb_post_message", content=str(i), agent="a")

    def complete(uri, name, value):
        return server.result("completion/complete", {
            "ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}})["completion"]

    assert complete("bb://artifact/{path}", "path", "t")["values"] == ["two.txt"]
    assert set(complete("bb://artifact/{path}", "path", "")["values"]) == {"file.txt", "two.txt"}
    assert complete("bb://artifact/{path}", "path", "zzz")["values"] == []
    values = complete("bb://message/{id}", "id", "1")["values"]
    assert set(values) == {"1", "10", "11", "12"} and all(isinstance(v, str) for v in values)


def test_completion_gives_at_most_a_hundred(start, project):
    for i in range(130):
        (project.path / f"f{i:03}").write_text("x")
    s = start("--agent", "a", modern=True)
    for i in range(130):
        s.data("bb_register_artifact", path=f"f{i:03}", description="d")
    done = s.result("completion/complete", {"ref": {"type": "ref/resource", "uri": "bb://artifact/{path}"},
                                            "argument": {"name": "path", "value": "f"}})["completion"]
    assert len(done["values"]) <= 100
    assert done.get("hasMore") is True or len(done["values"]) == 130


@pytest.mark.parametrize("params", [
    None, {}, {"ref": {"type": "ref/prompt", "name": "no_such"}, "argument": {"name": "x", "value": ""}},
    {"ref": {"type": "ref/resource", "uri": "bb://no/{such}"}, "argument": {"name": "such", "value": ""}},
    {"ref": {"type": "ref/resource", "uri": "bb://message/{id}"}}])
def test_completion_without_candidates(server, params):
    assert server.error("completion/complete", params)["code"] == PARAMS


def test_prompts(server):
    server.data("bb_post_message", content="a word for all", priority="high", agent="a")
    prompts = server.result("prompts/list")["prompts"]
    assert prompts
    for prompt in prompts:
        assert prompt["description"]
        result = server.result("prompts/get", {"name": prompt["name"]})
        assert result["messages"]
        for m in result["messages"]:
            assert m["role"] in ("user", "assistant") and m["content"]["type"] == "text"
        assert "a word for all" in result["messages"][-1]["content"]["text"]


@pytest.mark.parametrize("params", [None, {}, {"name": "no_such"}, {"name": ""}, {"name": 5}])
def test_no_such_prompt(server, params):
    assert server.error("prompts/get", params)["code"] == PARAMS


# --- a long life ---

@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow(start):
    if b"__asan_init" in (BIN / "bb").read_bytes():
        pytest.skip("the address sanitizer keeps what was freed")
    s = start("--agent", "a", modern=True)

    def resident():
        status = open(f"/proc/{s.process.pid}/status").read()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1))

    def work(n):
        for i in range(n):
            s.data("bb_set_status", current_task=f"t{i}", progress=i % 100)
            s.data("bb_read_messages")
            s.refuses("no_such", {})
            s.write(b"junk\n")
            s.line()
            s.result("tools/list")

    s.data("bb_post_message", content="x" * 60000)
    work(20)
    before = resident()
    work(60)  # five requests each
    assert resident() - before <= 512
    assert resident() < 15 * 1024


def test_servers_share_one_board(start):
    one, two = start("--agent", "one", modern=True), start("--agent", "two")
    for i in range(10):
        one.data("bb_post_message", content=f"one {i}")
        two.data("bb_post_message", content=f"two {i}")
    messages = one.data("bb_read_messages", limit=100)
    assert [m["id"] for m in messages] == list(range(1, 21))
    assert two.data("bb_read_messages", from_agent="one")[-1]["content"] == "one 9"


def test_a_tool_use_that_the_host_repeats_has_one_effect(project, start):
    server = start("--agent", "k")
    params = {"name": "bb_post_message", "arguments": {"content": "once"},
              "_meta": {"claudecode/toolUseId": "toolu_01"}}
    first, second = (server.result("tools/call", params)["structuredContent"] for _ in range(2))
    assert first == second
    assert len(project.json("log")) == 1
