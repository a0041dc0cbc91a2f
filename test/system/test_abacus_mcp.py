"""`abacus mcp`: the board's tools and those of the beads, from one server."""
import json
import subprocess

import pytest

from conftest import BIN, environment

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}
BEADS = ["bd_ready", "bd_list", "bd_search", "bd_show", "bd_create", "bd_update", "bd_claim", "bd_close",
         "bd_reopen", "bd_dep", "bd_comment", "bd_status"]
AGENTS = ["agent_register", "agent_send", "agent_inbox", "agent_read", "agent_ack", "agent_reserve", "agent_release",
          "agent_guard", "agent_status", "agent_wait"]
VYBE = ["vybe_resume", "vybe_push", "vybe_memory_set", "vybe_memory_get", "vybe_memory_list", "vybe_task_create",
        "vybe_task_begin", "vybe_task_list", "vybe_task_complete"]
BRIEF = {"id", "title", "status", "priority", "type", "labels", "assignee"}


def ask(repo, *requests, args=(), env=None):
    """The results of all requests, in one session."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": {**params, "_meta": META}})
             for i, (method, params) in enumerate(requests)]
    done = subprocess.run([str(BIN / "abacus"), "mcp", *args], input="\n".join(lines).encode() + b"\n",
                          capture_output=True, cwd=repo.path, timeout=20, env=environment(**(env or {})))
    assert (done.returncode, done.stderr) == (0, b"")
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["id"] for r in replies] == list(range(len(requests)))
    return [r.get("result", r) for r in replies]


def call(repo, name, arguments, **kw):
    """The result of one tool call."""
    result, = ask(repo, ("tools/call", {"name": name, "arguments": arguments}), **kw)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


CORE = ["bd_ready", "bd_show", "bd_create", "bd_update", "bd_close", "bd_comment", "vybe_resume", "agent_send", "agent_wait",
        "project_status", "agent_mail", "agent_files"]


def listed(repo, *args):
    result, = ask(repo, ("tools/list", {}), args=args)
    return {tool["name"]: tool for tool in result["tools"]}


def test_the_default_profile_has_twelve_tools_in_twelve_kilobytes(repo):
    tools = listed(repo)
    assert list(tools) == CORE
    assert len(json.dumps(list(tools.values()), separators=(",", ":"))) < 12_000
    assert not any("outputSchema" in tool for tool in tools.values())
    assert all("outputSchema" in tool for tool in listed(repo, "--schemas").values())
    assert tools["bd_create"]["inputSchema"]["required"] == ["title", "agent"]
    assert listed(repo, "--agent", "amber-otter")["bd_create"]["inputSchema"]["required"] == ["title"]
    for tool in tools.values():
        assert all("type" in kind for kind in tool["inputSchema"]["properties"].values()), tool


def test_a_list_of_tools_can_be_requested(repo):
    assert list(listed(repo, "--tools", "bd_list,agent_mail")) == ["bd_list", "agent_mail"]
    assert list(listed(repo, "--tools", "bd_list", "--tools", "bd_show")) == ["bd_list", "bd_show"]
    assert "agent_mail" not in listed(repo, "--tools", "all")  # its three tools are listed instead
    done = repo.run("mcp", "--tools", "bd_lsit", program="abacus")
    assert done.code == 1 and "--tools has no value 'bd_lsit'; did you mean 'bd_list'?\nRun 'abacus mcp --help', " in done.err
    assert " bd_list," in repo.run("mcp", "--help", program="abacus").out


def test_a_session_works_in_the_default_profile(repo):
    bead = call(repo, "bd_create", {"title": "work", "agent": "amber-otter"})["data"]["id"]
    assert call(repo, "agent_register", {"name": "amber-otter", "role": "dev"})["success"]  # not listed, and works
    assert call(repo, "vybe_resume", {"agent": "amber-otter", "request_id": "r1"})["success"]
    taken, = call(repo, "bd_ready", {"claim": True, "agent": "amber-otter"})["data"]
    assert taken["id"] == bead
    reserved = call(repo, "agent_files", {"action": "reserve", "scope": "src/*", "bead": bead, "agent": "amber-otter"})["data"]
    assert (reserved["scope"], reserved["agent_id"]) == ("src/*", "amber-otter")
    assert call(repo, "agent_files", {"action": "guard", "paths": ["src/a.c"], "agent": "amber-otter"})["success"]
    assert call(repo, "bd_comment", {"id": bead, "text": "half done", "agent": "amber-otter"})["success"]
    assert call(repo, "agent_mail", {"action": "inbox", "agent": "amber-otter"})["data"] == []
    assert call(repo, "agent_files", {"action": "release", "scope": "src/*", "agent": "amber-otter"})["data"]["state"] == "released"
    assert call(repo, "bd_close", {"ids": [bead], "reason": "done", "agent": "amber-otter"})["data"][0]["status"] == "closed"
    assert call(repo, "project_status", {})["data"]["in_progress"] == []


@pytest.mark.parametrize("arguments, message", [
    ({}, "'agent_mail' needs an action: inbox, read or ack"),
    ({"action": "inbx"}, "'agent_mail' has no action 'inbx'; use inbox, read or ack"),
    ({"action": "inbox", "nope": 1}, "'agent_mail' has no parameter 'nope'"),
])
def test_the_error_for_an_unknown_action_lists_the_valid_ones(repo, arguments, message):
    """The message has the name of the tool, not that of its operation."""
    result, = ask(repo, ("tools/call", {"name": "agent_mail", "arguments": arguments}))
    assert result["error"]["message"] == message


def test_all_tools_are_there_and_their_schemas_are_small(repo):
    result, = ask(repo, ("tools/list", {}), args=("--tools", "all", "--schemas"))
    names = [tool["name"] for tool in result["tools"]]
    assert [n for n in names if n.startswith("bd_")] == BEADS
    assert [n for n in names if n.startswith("agent_")] == AGENTS
    assert [n for n in names if n.startswith("vybe_")] == VYBE
    assert len(names) == 8 + len(BEADS) + len(AGENTS) + len(VYBE) + 1
    assert len(json.dumps(result["tools"], separators=(",", ":"))) < 45_000
    agents = [t for t in result["tools"] if t["name"].startswith("agent_")]
    assert len(json.dumps(agents, separators=(",", ":"))) < 10_500
    assert [t["name"] for t in agents if t["annotations"]["readOnlyHint"]] == [
        "agent_inbox", "agent_guard", "agent_status", "agent_wait"]
    beads = [t for t in result["tools"] if t["name"].startswith("bd_")]
    assert len(json.dumps(beads, separators=(",", ":"))) < 17_000
    hints = {t["name"]: t["annotations"]["readOnlyHint"] for t in beads}
    assert [n for n in BEADS if hints[n]] == ["bd_list", "bd_search", "bd_show", "bd_status"]


def test_a_bead_is_created_claimed_and_closed(repo):
    made = call(repo, "bd_create", {"title": "from a model", "type": "bug", "labels": ["x"], "agent": "m1"})
    assert set(made["data"]) == BRIEF
    bead = made["data"]["id"]
    taken, = call(repo, "bd_ready", {"claim": True, "agent": "m1"})["data"]
    assert (taken["id"], taken["assignee"], len(taken["epoch"])) == (bead, "m1", 2)
    lost = call(repo, "bd_claim", {"ids": [bead], "agent": "m2"})
    assert lost["error"]["code"] == "already_claimed"
    assert lost["error"]["details"]["holder"] == "m1" and "next_step" in lost["error"]["details"]
    stale = call(repo, "bd_close", {"ids": [bead], "epoch": [1, 0], "agent": "m1"})
    assert stale["error"]["code"] == "stale_claim"
    closed, = call(repo, "bd_close", {"ids": [bead], "epoch": taken["epoch"], "reason": "done", "agent": "m1"})["data"]
    assert closed["status"] == "closed"
    assert repo.show(bead)["closed_by"] == "m1"


def test_lists_are_brief_and_a_single_bead_is_complete(repo):
    bead = repo.create("x", "-d", "text")
    assert set(call(repo, "bd_list", {})["data"][0]) == BRIEF
    assert call(repo, "bd_list", {"full": True})["data"][0]["description"] == "text"
    assert set(call(repo, "bd_list", {"fields": ["title"]})["data"][0]) == {"id", "title"}
    assert call(repo, "bd_show", {"ids": [bead]})["data"][0]["description"] == "text"


def test_the_replies_equal_those_of_the_command_line(repo):
    a, b = repo.create("a"), repo.create("b")
    assert call(repo, "bd_dep", {"from": a, "to": b, "agent": "m"})["data"]["kind"] == "blocks"
    assert [x["id"] for x in call(repo, "bd_ready", {})["data"]] == repo.ids("ready") == [b]
    assert call(repo, "bd_comment", {"id": a, "text": "hm", "agent": "m"})["data"]["author"] == "m"
    assert [x["id"] for x in call(repo, "bd_search", {"query": "hm"})["data"]] == [a]
    assert call(repo, "bd_status", {})["data"]["blocked_issues"] == 1
    call(repo, "bd_close", {"ids": [b], "agent": "m"})
    assert call(repo, "bd_reopen", {"ids": [b], "agent": "m"})["data"][0]["status"] == "open"
    assert call(repo, "bd_update", {"ids": [a], "priority": 0, "add_labels": ["l"], "agent": "m"})["data"][0]["labels"] == ["l"]


def test_a_request_id_has_one_effect(repo):
    arguments = {"title": "once", "agent": "m", "request_id": "r1"}
    assert call(repo, "bd_create", arguments) == call(repo, "bd_create", arguments)
    assert call(repo, "bd_create", {**arguments, "title": "other"})["error"]["code"] == "request_mismatch"
    assert len(repo.json("list")) == 1


@pytest.mark.parametrize("name, arguments", [
    ("bd_create", {"title": "x"}), ("bd_claim", {"ids": ["bd-x"]}), ("bd_ready", {"claim": True})])
def test_a_write_needs_an_agent_name(repo, name, arguments):
    assert call(repo, name, arguments)["success"] is False
    assert call(repo, name, arguments)["error"]["details"]["next_step"] == 'Pass "agent" with each call.'


def test_the_server_can_have_a_fixed_agent(repo):
    assert call(repo, "bd_create", {"title": "x"}, args=("--agent", "fixed"))["success"]
    assert repo.json("list")[0]["created_by"] == "fixed"


def test_the_tools_of_the_board_are_included(repo):
    repo.run("init", program="bb").ok()
    assert call(repo, "bb_post_message", {"content": "hello", "agent": "m"})["data"]["from_agent"] == "m"
    assert call(repo, "bb_summary", {})["success"]


def test_without_a_store_the_error_has_a_next_step(plain_repo):
    error = call(plain_repo, "bd_list", {})["error"]
    assert error["code"] == "not_initialized" and "bd init" in error["details"]["next_step"]


def test_continuity(repo):
    """A session that ends and one that continues, only with tools."""
    made = call(repo, "vybe_task_create", {"title": "from a model", "agent": "m1", "request_id": "r1"})["data"]["task"]
    assert call(repo, "vybe_task_create", {"title": "from a model", "agent": "m1", "request_id": "r1"})["data"]["task"] == made
    other = call(repo, "vybe_task_create", {"title": "other", "agent": "m1", "request_id": "r1"})
    assert other["error"]["code"] == "IDEMPOTENCY_MISMATCH"
    assert call(repo, "vybe_task_begin", {"id": made["id"], "agent": "m1"})["data"]["task"]["status"] == "in_progress"
    assert call(repo, "vybe_task_begin", {"id": made["id"], "agent": "m2"})["error"]["code"] == "ALREADY_CLAIMED"
    call(repo, "vybe_push", {"agent": "m1", "json": json.dumps({"task_id": made["id"], "event": {
        "kind": "reasoning", "message": "it is the lexer"}})})
    call(repo, "vybe_memory_set", {"agent": "m1", "key": "k", "value": "remember me"})
    assert call(repo, "vybe_memory_get", {"key": "k"})["data"]["value"] == "remember me"
    resumed = call(repo, "vybe_resume", {"agent": "m1"})["data"]
    assert resumed["focus_task_id"] == made["id"]
    assert "it is the lexer" in resumed["prompt"] and "remember me" in resumed["prompt"]
    done = call(repo, "vybe_task_complete", {"agent": "m1", "id": made["id"], "outcome": "done", "summary": "s"})["data"]
    assert done["task"]["status"] == "completed" and repo.show(made["id"])["status"] == "closed"


@pytest.mark.parametrize("tool, arguments, code", [
    ("bd_close", {"ids": ["{}"]}, "already_claimed"), ("bd_update", {"ids": ["{}"], "status": "open"}, "already_claimed"),
    ("vybe_task_complete", {"id": "{}", "outcome": "done", "summary": "s", "request_id": "r1"}, "ALREADY_CLAIMED")])
def test_a_claim_of_another_agent_is_ended_only_by_force(repo, tool, arguments, code):
    bead = repo.create("x")
    repo.bd("claim", bead, "--actor", "bob").ok()
    arguments = json.loads(json.dumps(arguments).replace("{}", bead))
    refused = call(repo, tool, {**arguments, "agent": "m1"})
    assert refused["error"]["code"] == code, refused
    assert repo.show(bead)["assignee"] == "bob"
    call(repo, tool, {**arguments, "agent": "m1", "force": True})
    assert repo.show(bead)["status"] != "in_progress"
