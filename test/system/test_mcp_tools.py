"""Every tool of `bb mcp` and `abacus mcp`: valid and invalid arguments, and results that match the tool's own
schemas."""
import json
import subprocess

import pytest

from conftest import BIN, environment

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
REF = {"where": "tt", "what": "issue", "ref": "13"}
ME = {"agent": "amber-otter"}
PLAIN = {"type", "properties", "required", "items", "enum", "description", "default", "minimum", "maximum", "additionalProperties"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
INVALID_PARAMS = -32602

# Right arguments of each tool, in an order in which each works. "BEAD", "MESSAGE", "ACK" and "LEFT" stand for ids.
BOARD = {
    "bb_identify": {"agent_id": "amber-otter"},
    "bb_set_status": {**ME, "current_task": "drive", "progress": 40, "status": "coding"},
    "bb_get_status": {"agent_id": "amber-otter"},
    "bb_post_message": {**ME, "content": "żółw 🐢", "tags": ["plan"], "priority": "high", "refs": [REF]},
    "bb_read_messages": {**ME, "since": "1h", "tags": ["plan"], "limit": 5},
    "bb_register_artifact": {**ME, "path": "file.txt", "description": "d", "version": "1", "refs": [REF]},
    "bb_list_artifacts": {"produced_by": "amber-otter", "limit": 5},
    "bb_find_refs": REF,
    "bb_summary": {},
}
ALL = {
    **BOARD,
    "agent_register": {"name": "amber-otter", "role": "dev"},
    "vybe_resume": {**ME, "request_id": "r1"},
    "bd_create": {**ME, "title": "work", "labels": ["x"], "priority": 1},
    "bd_list": {"status": ["open"]},
    "bd_search": {"query": "work"},
    "bd_show": {"ids": ["BEAD"]},
    "bd_update": {**ME, "ids": ["BEAD"], "title": "more work"},
    "bd_dep": {**ME, "from": "BEAD", "to": "LEFT"},
    "bd_ready": {**ME, "claim": True},
    "bd_claim": {**ME, "ids": ["LEFT"]},
    "bd_comment": {**ME, "id": "BEAD", "text": "half done"},
    "bd_close": {**ME, "ids": ["LEFT"], "reason": "done"},
    "bd_reopen": {**ME, "ids": ["LEFT"]},
    "bd_status": {},
    "vybe_push": {**ME, "request_id": "r2", "json": '{"event":{"kind":"progress","message":"half"}}'},
    "vybe_memory_set": {**ME, "request_id": "r3", "key": "k", "value": "v", "scope": "global"},
    "vybe_memory_get": {"key": "k", "scope": "global"},
    "vybe_memory_list": {"scope": "global"},
    "vybe_task_create": {**ME, "request_id": "r4", "title": "task"},
    "vybe_task_begin": {**ME, "request_id": "r5", "id": "TASK"},
    "vybe_task_list": {},
    "vybe_task_complete": {**ME, "request_id": "r6", "id": "TASK", "outcome": "done", "summary": "s"},
    "agent_send": {"from": "amber-otter", "to": "amber-otter", "bead": "BEAD", "category": "HANDOFF", "subject": "s", "body": "b"},
    "agent_wait": {**ME, "mail": True, "timeout": "1s"},  # ends at once, because there is mail
    "agent_inbox": ME,
    "agent_read": {**ME, "message": "MESSAGE"},
    "agent_ack": {**ME, "message": "MESSAGE"},
    "agent_reserve": {**ME, "scope": "src/*", "bead": "BEAD"},
    "agent_guard": {**ME, "paths": ["src/a.c"]},
    "agent_release": {**ME, "scope": "src/*"},
    "agent_status": {},
    "project_status": {},
}
CORE = {
    **{name: ALL[name] for name in ("vybe_resume", "bd_create", "bd_show", "bd_update", "bd_ready", "bd_comment", "agent_send",
                                    "agent_wait", "project_status", "bd_close")},
    "agent_mail": {**ME, "action": "inbox"},
    "agent_files": {**ME, "action": "guard", "paths": ["src/a.c"]},
}
SERVERS = {"board": ("bb", (), BOARD), "all": ("abacus", ("--tools", "all", "--schemas"), ALL),
           "default": ("abacus", ("--schemas",), CORE)}


class Server:
    """A running server, of either generation of the protocol."""

    def __init__(self, repo, program, args, modern):
        self.meta = {"_meta": META} if modern else {}
        self.process = subprocess.Popen([str(BIN / program), "mcp", *args], cwd=repo.path, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment(ABACUS_NOW="2026-01-01T00:00:00Z"))
        self.count = 0
        if not modern:
            self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})

    def ask(self, method, **params):
        self.count += 1
        line = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": {**params, **self.meta}}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        assert reply["id"] == self.count
        return reply

    def call(self, name, arguments):
        return self.ask("tools/call", name=name, arguments=arguments)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


@pytest.fixture(params=["legacy", "modern"])
def start(repo, request):
    repo.run("init", program="abacus").ok()
    (repo.path / "file.txt").write_text("x")
    running = []

    def server(kind, *more):
        program, args, _ = SERVERS[kind]
        running.append(Server(repo, program, (*args, *more), request.param == "modern"))
        return running[-1]

    server.era = request.param
    yield server
    for one in running:
        one.close()


def fits(value, schema, where=""):
    """The parts of a value that its schema does not allow."""
    assert set(schema) <= PLAIN and schema.get("type") in TYPES, (where, schema)
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return [f"{where} is not of type {schema['type']}: {value!r}"]
    wrong = [f"{where} is not one of {schema['enum']}"] if "enum" in schema and value not in schema["enum"] else []
    if kind is dict:
        wrong += [f"{where}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, part in schema.get("properties", {}).items():
            wrong += fits(value[key], part, f"{where}.{key}") if key in value else []
    if kind is list and "items" in schema:
        for i, one in enumerate(value):
            wrong += fits(one, schema["items"], f"{where}[{i}]")
    return wrong


def filled(arguments, ids):
    """The arguments with the ids of this run."""
    return json.loads(json.dumps(arguments), object_hook=lambda o: {
        k: ids.get(v, v) if isinstance(v, str) else [ids.get(x, x) if isinstance(x, str) else x for x in v]
        if isinstance(v, list) else v for k, v in o.items()})


def learn(name, data, ids):
    """The ids that later calls need."""
    if name == "vybe_task_create":
        ids["TASK"] = data["task"]["id"]
    if name == "bd_create":
        ids["BEAD"] = data["id"]
    if name == "agent_send":
        ids["MESSAGE"] = data["message_id"]


def play(repo, server, calls, tools):
    """Calls each tool, and checks arguments and result against its schemas. Returns the arguments."""
    ids = {"LEFT": repo.create("left", env={"BD_ACTOR": "amber-otter"})}
    if "agent_register" not in calls:
        repo.run("agent", "register", "--name", "amber-otter", "--role", "dev", program="bb").ok()
    for name in calls:
        if name not in tools:
            continue
        arguments = filled(calls[name], ids)
        assert fits(arguments, tools[name]["inputSchema"], name) == []
        reply = server.call(name, arguments)
        result = reply.get("result")
        assert result, (name, reply)
        body = result["structuredContent"]
        assert body["success"] and not result.get("isError"), (name, body)
        assert json.loads(result["content"][0]["text"]) == body
        assert fits(body, tools[name]["outputSchema"], name) == []
        learn(name, body["data"], ids)
    return ids


@pytest.mark.parametrize("kind", SERVERS)
def test_every_tool_answers_right_arguments_as_its_schema_says(repo, start, kind):
    server, calls = start(kind), SERVERS[kind][2]
    tools = {t["name"]: t for t in server.ask("tools/list")["result"]["tools"]}
    assert set(calls) - set(tools) == ({"bb_identify"} & set(calls) if start.era == "modern" else set())
    assert set(tools) <= set(calls)
    play(repo, server, calls, tools)


@pytest.mark.parametrize("kind", SERVERS)
def test_every_tool_refuses_wrong_arguments(repo, start, kind):
    """A missing or unknown parameter and a value of a wrong type are INVALID_PARAMS, or a failure that names the value."""
    server, calls = start(kind), SERVERS[kind][2]
    tools = {t["name"]: t for t in server.ask("tools/list")["result"]["tools"]}
    ids = {"LEFT": "x-1", "BEAD": "x-1", "TASK": "x-1", "MESSAGE": "x-1"}
    for name, tool in tools.items():
        schema, right = tool["inputSchema"], filled(calls[name], ids)
        wrong = [{**right, "no_such": 1}] + [{k: v for k, v in right.items() if k != one} for one in schema.get("required", [])]
        wrong += [{**right, key: 5.5 if part["type"] in ("integer", "boolean") else {"a": [None]} if part["type"] == "string" else 7}
                  for key, part in schema["properties"].items()]
        for arguments in wrong:
            reply = server.call(name, arguments)
            if "error" in reply:
                assert reply["error"]["code"] == INVALID_PARAMS and reply["error"]["message"], (name, arguments, reply)
                continue
            body = reply["result"]["structuredContent"]
            assert reply["result"]["isError"] and not body["success"], (name, arguments, body)
            assert body["error"]["message"] and body["error"]["details"]["next_step"], (name, body)
            assert fits(body, tool["outputSchema"], name) == []


# What happens to the required arguments alone, after all tools were called: not a lack of arguments.
AFTERWARDS = {"bb_set_status": "INVALID_INPUT", "agent_register": "DUPLICATE_AGENT_ID", "vybe_task_begin": "CLOSED",
              "vybe_task_complete": "CLOSED"}


def test_the_required_parameters_are_all_that_is_needed(repo, start):
    server = start("all")
    tools = {t["name"]: t for t in server.ask("tools/list")["result"]["tools"]}
    ids = play(repo, server, ALL, tools)
    for name, tool in tools.items():
        if name == "agent_wait":  # without its limit it would wait for long
            continue
        given = {**filled(ALL[name], ids), "from": "amber-otter", "request_id": f"alone-{name}"}
        needed = {k: given[k] for k in tool["inputSchema"].get("required", [])}
        if name == "bd_dep":
            needed["from"] = ids["BEAD"]
        body = server.call(name, needed)["result"]["structuredContent"]
        assert body["success"] or body["error"]["code"] == AFTERWARDS.get(name), (name, needed, body)


def test_a_name_is_required_if_the_server_has_none(start):
    def required(*more):
        tools = {t["name"]: t["inputSchema"].get("required", []) for t in start("all", *more).ask("tools/list")["result"]["tools"]}
        return [[one for one in ("agent", "from") if one in tools[name]] for name in ("bd_create", "agent_inbox", "agent_send",
                                                                                     "bd_list")]

    assert required() == ([["agent"], ["agent"], ["from"], []] if start.era == "modern" else [[], [], [], []])
    assert required("--agent", "amber-otter") == [[], [], [], []]


def test_a_name_may_be_passed_to_every_tool(repo, start):
    """The instructions ask for it."""
    server = start("default")
    repo.run("agent", "register", "--name", "amber-otter", "--role", "dev", program="bb").ok()
    bead = repo.create("work")
    sent = server.call("agent_send", {**ME, "to": "amber-otter", "bead": bead, "category": "INFO", "subject": "s", "body": "b"})
    assert sent["result"]["structuredContent"]["data"]["from_agent"] == "amber-otter"
    assert server.call("project_status", ME)["result"]["structuredContent"]["success"]


def test_a_missing_bead_is_named_as_the_argument_it_is(repo, start):
    repo.run("agent", "register", "--name", "amber-otter", "--role", "dev", program="bb").ok()
    server = start("default")
    for name, arguments in (("agent_send", {"to": "amber-otter", "category": "INFO", "subject": "s", "body": "b"}),
                            ("agent_files", {"action": "reserve", "scope": "src"})):
        error = server.call(name, {**ME, **arguments})["result"]["structuredContent"]["error"]
        assert (error["code"], error["message"]) == ("MISSING_BEAD_ID", "bead is missing")
        assert "--" not in error["details"]["next_step"]


def test_a_session_names_its_agent_only_if_the_protocol_has_sessions(start):
    def offered(*more):
        return "bb_identify" in [t["name"] for t in start("board", *more).ask("tools/list")["result"]["tools"]]

    assert offered() == (start.era == "legacy")
    assert not offered("--agent", "amber-otter")
