"""Hosts that we did not write, with a stand-in for their model on loopback: the hook fires, what it says is in the request
to the model, and the tool that the model calls is ours. Where npm is at hand."""
import contextlib
import http.server
import json
import os
import platform
import shutil
import subprocess
import threading

import pytest

from conftest import BIN, Repo, environment
from test_mcp_clients import CACHE, absent, new_enough, npm

HOSTS = {"claude": "@anthropic-ai/claude-code", "gemini": "@google/gemini-cli"}
TOOL = "vybe_task_list"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
HERE = CACHE / "hosts"
MODULES = HERE / "node_modules"
CLAUDE = MODULES / f"@anthropic-ai/claude-code-{platform.system().lower()}-{MACHINE}/claude"
GEMINI = MODULES / "@google/gemini-cli/bundle/gemini.js"


class Model(http.server.BaseHTTPRequestHandler):
    """Calls our tool once, if the host offers it, and then is done."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, body, kind="application/json"):
        body = body.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply("{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        self.server.requests.append(body)
        if "generatecontent" in self.path.lower():
            self.gemini(body)
        elif self.path.split("?")[0].endswith("/messages"):
            self.claude(body)
        else:
            self.reply('{"input_tokens":1,"totalTokens":1}')

    def wanted(self, names):
        """The tool, the first time that it is offered."""
        found = [n for n in names if n.endswith(TOOL)]
        if not found or self.server.called:
            return None
        self.server.called = found[0]
        return found[0]

    def claude(self, body):
        tool = self.wanted(t.get("name", "") for t in body.get("tools", []))
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}} if tool else {"type": "text", "text": ""}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        why = "tool_use" if tool else "end_turn"
        if not body.get("stream"):
            self.reply(json.dumps({**message, "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}))
            return
        delta = {"type": "input_json_delta", "partial_json": "{}"} if tool else {"type": "text_delta", "text": "done"}
        events = [{"type": "message_start", "message": message},
                  {"type": "content_block_start", "index": 0, "content_block": block},
                  {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": {"output_tokens": 1}},
                  {"type": "message_stop"}]
        self.reply("".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events), "text/event-stream")

    def gemini(self, body):
        tool = self.wanted(f.get("name", "") for t in body.get("tools", []) for f in t.get("functionDeclarations", []))
        part = {"functionCall": {"name": tool, "args": {}}} if tool else {"text": "done"}
        answer = json.dumps({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                             "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
        if "stream" in self.path:
            self.reply(f"data: {answer}\r\n\r\n", "text/event-stream")
        else:
            self.reply(answer)


@pytest.fixture
def model():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.requests, server.called = [], None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def installed():
    if not shutil.which("node") or not new_enough(shutil.which("node"), 20):
        absent("a Node of version 20 or newer is needed")
    if not CLAUDE.exists() or not GEMINI.exists():
        HERE.mkdir(parents=True, exist_ok=True)
        npm(*HOSTS.values(), cache=HERE)
    if not CLAUDE.exists() or not GEMINI.exists():
        absent("the hosts were not installed for this machine")


@pytest.fixture
def project(plain_repo, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    plain_repo.env |= {"HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}"}
    plain_repo.run("init", program="abacus").ok()
    plain_repo.run("task", "create", "--agent", "x", "--request-id", "1", "--title", "Fix the parser", program="vybe").ok()
    return plain_repo


def start(project, argv, **env):
    return subprocess.run(argv, cwd=project.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env=environment(**{**project.env, "BD_ACTOR": "", **env}))


def verify(project, model, host, done):
    """In the first request of the session is what the hook said; in a later one what our tool answered."""
    assert done.returncode == 0 and "done" in done.stdout, done.stdout + done.stderr
    asked = [json.dumps(r) for r in model.requests]
    assert any("Your task: " in r and "Fix the parser" in r for r in asked)
    assert model.called, "the host did not offer the tool"
    assert any('\\"tasks\\"' in r or '"tasks"' in r for r in asked[1:]), "what the tool said did not come back"
    events = project.run("events", "list", "--all", program="vybe").ok().json["data"]["events"]
    assert {"session_start", "user_prompt"} <= {e["kind"] for e in events}
    assert all(e["agent_name"].startswith(f"{host}-") for e in events if e["kind"] == "session_start")


def test_claude(installed, project, model):
    project.run("hook", "install", "--claude", "--project", program="vybe").ok()
    (project.path / ".mcp.json").write_text(json.dumps({"mcpServers": {"abacus": {
        "type": "stdio", "command": str(BIN / "abacus"), "args": ["mcp", "--tools", "all", "--agent", "claude-test"]}}}))
    done = start(project, [str(CLAUDE), "-p", "hello", "--mcp-config", ".mcp.json", "--allowedTools", f"mcp__abacus__{TOOL}"],
                 ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model.server_port}", ANTHROPIC_API_KEY="sk-ant-none",
                 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", ENABLE_TOOL_SEARCH="0")
    verify(project, model, "claude", done)


def test_gemini(installed, project, model):
    project.run("hook", "install", "--gemini", "--project", program="vybe").ok()
    settings = project.path / ".gemini/settings.json"
    merged = {**json.loads(settings.read_text()), "mcpServers": {"abacus": {
        "command": str(BIN / "abacus"), "args": ["mcp", "--tools", "all", "--agent", "gemini-test"], "trust": True}}}
    settings.write_text(json.dumps(merged))
    with contextlib.suppress(FileExistsError):
        (project.path.parent / "home/.gemini").mkdir()
    (project.path.parent / "home/.gemini/settings.json").write_text(
        '{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    done = start(project, [shutil.which("node"), str(GEMINI), "-p", "hello", "-m", "gemini-2.5-flash", "--approval-mode", "yolo"],
                 GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{model.server_port}", GEMINI_API_KEY="none",
                 GEMINI_DEFAULT_AUTH_TYPE="gemini-api-key", GEMINI_CLI_TRUST_WORKSPACE="true")
    verify(project, model, "gemini", done)
