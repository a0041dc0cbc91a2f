"""`bb mcp` driven by third-party clients from the npm registry."""
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, BUILD, environment

HERE = pathlib.Path(__file__).resolve().parent / "clients"
CACHE = pathlib.Path(os.environ.get("ABACUS_NPM", BUILD / "npm")).resolve()
MODULES = CACHE / "node_modules"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
LIBRARIES = [INSPECTOR.parents[3], *(MODULES / "@modelcontextprotocol" / n for n in ("sdk", "client")), MODULES / "ajv"]
NODE = 22  # the oldest that the clients run on
PATIENCE = 300

TOOLS = ["bb_identify", "bb_set_status", "bb_get_status", "bb_post_message", "bb_read_messages",
         "bb_register_artifact", "bb_list_artifacts", "bb_find_refs", "bb_summary"]
REF = {"where": "tt", "what": "issue", "ref": "13"}
CALLS = {
    "bb_identify": {"agent_id": "tester"},
    "bb_set_status": {"current_task": "drive", "progress": 40, "status": "coding", "agent": "tester"},
    "bb_get_status": {"agent_id": "tester"},
    "bb_post_message": {"content": "żółw 🐢", "tags": ["plan"], "priority": "high", "refs": [REF], "agent": "tester"},
    "bb_read_messages": {"since": "1h", "tags": ["plan"], "priority": "normal", "limit": 5, "agent": "reader"},
    "bb_register_artifact": {"path": "file.txt", "description": "d", "version": "1", "refs": [REF], "agent": "tester"},
    "bb_list_artifacts": {"produced_by": "tester", "limit": 5},
    "bb_find_refs": REF,
    "bb_summary": {},
}


def absent(why):
    pytest.skip(f"npm is not at hand: {why}")


def npm(*args, cache=CACHE):
    """Installs into a cache. No package's own script is needed, so none is run."""
    program = shutil.which("npm")
    if not program:
        absent("there is no npm in PATH")
    try:
        done = subprocess.run(
            [program, "install", "--prefix", str(cache), "--ignore-scripts", "--no-audit", "--no-fund",
             "--no-package-lock", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", *args],
            cwd=cache, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        absent(f"installing took more than {PATIENCE} s")
    if done.returncode:
        said = [l for l in done.stderr.splitlines() if l.startswith("npm error")] or done.stderr.splitlines()
        absent("; ".join(said[:2]) or f"it ended with {done.returncode}")


def new_enough(program, least=NODE):
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    except OSError:
        return False
    major = done.stdout.strip().lstrip("v").split(".")[0]
    return done.returncode == 0 and major.isdigit() and int(major) >= least


def node_package():
    """The package that the script of `node` would fetch for this machine."""
    system = platform.system().lower()
    cpu = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    prefix = "node-bin" if (system, cpu) == ("darwin", "arm64") else "node"
    return f"{prefix}-{system}-{cpu}"


def find_node():
    candidates = [shutil.which("node"), MODULES / "node/bin/node", MODULES / node_package() / "bin/node"]
    return next((str(p) for p in candidates if p and new_enough(p)), None)


@pytest.fixture(scope="session")
def node():
    """A Node that is new enough, with the clients beside it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_bytes()
    mark = CACHE / "installed.json"
    if not all(p.exists() for p in LIBRARIES) or not mark.exists() or mark.read_bytes() != wanted:
        (CACHE / "package.json").write_bytes(wanted)
        npm()
        mark.write_bytes(wanted)
    if not find_node():
        npm("--no-save", f"{node_package()}@24")
    program = find_node()
    if not program:
        absent(f"no Node {NODE} or newer for this machine")
    for script in HERE.glob("*.mjs"):  # imports are looked up from where the script is
        shutil.copy(script, CACHE / script.name)
    return program


@pytest.fixture
def run(node, project, tmp_path):
    (project.path / "file.txt").write_text("x")

    def program(*args, code=0):
        done = subprocess.run([node, *map(str, args)], cwd=project.path, capture_output=True, timeout=60,
                              env=environment(NO_COLOR=1) | {"HOME": str(tmp_path)})
        assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
        return done.stdout.decode(), done.stderr.decode()

    return program


def expected(name, data):
    """The expected result of each call of CALLS."""
    if name == "bb_set_status":
        return (data["id"], data["progress"], data["status"]) == ("tester", 40, "coding")
    if name == "bb_get_status":
        return [a["current_task"] for a in data] == ["drive"]
    if name == "bb_post_message":
        return (data["content"], data["refs"]) == ("żółw 🐢", [{**REF, "ref": 13}])
    if name == "bb_read_messages":
        return [m["content"] for m in data] == ["żółw 🐢"]
    if name == "bb_register_artifact":
        return (data["path"], data["produced_by"]) == ("file.txt", "tester")
    if name == "bb_list_artifacts":
        return [a["path"] for a in data] == ["file.txt"]
    if name == "bb_find_refs":
        return [len(data["messages"]), len(data["artifacts"])] == [1, 1]
    if name == "bb_summary":
        return [a["id"] for a in data["agents"]] == ["tester"] and len(data["high_priority_messages"]) == 1
    return data == {"agent_id": "tester", "source": "identify"}


def check_session(said, modern):
    offered = TOOLS[1:] if modern else TOOLS  # in the stateless revision there is no session to be named
    assert [t["name"] for t in said["tools"]] == offered
    assert said["server"]["name"] and said["instructions"]
    assert {"tools", "resources", "prompts"} <= set(said["capabilities"])
    assert [a["name"] for a in said["answers"]] == offered
    for answer in said["answers"]:
        name = answer["name"]
        assert "result" in answer, answer
        assert (answer["input"], answer["output"]) == (True, True), answer
        body = answer["result"]["structuredContent"]
        assert json.loads(answer["result"]["content"][0]["text"]) == body
        assert not answer["result"].get("isError"), answer
        assert expected(name, body["data"]), answer
    unread = {a["name"]: a["result"].get("_meta", {}).get("unread") for a in said["answers"]}
    assert unread["bb_read_messages"] == {"count": 0, "highest_priority": None}
    assert [m["content"] for m in json.loads(said["contents"]["contents"][0]["text"])] == ["żółw 🐢"]
    assert json.loads(said["summary"]["contents"][0]["text"])["agents"]
    assert {t["uriTemplate"] for t in said["resourceTemplates"]} == {"bb://message/{id}", "bb://artifact/{path}"}
    assert "żółw 🐢" in said["prompt"]["messages"][0]["content"]["text"]
    assert said["completion"]["completion"]["values"] == ["file.txt"]
    assert said["missing"]["code"] == -32602
    assert said["unknown"]["code"] == -32602
    assert said["closing"] < 1000  # it ends when its input does, and need not be killed


def calls(modern):
    return json.dumps([{"name": n, "arguments": a} for n, a in CALLS.items() if not modern or n != "bb_identify"])


def test_sdk_of_the_initialize_revisions(run, project):
    out, _ = run(CACHE / "sdk.mjs", BIN / "bb", project.path, calls(modern=False))
    said = json.loads(out)
    check_session(said, modern=False)
    assert said["pong"] == {}


@pytest.mark.parametrize("mode", ["pin", "auto"])
def test_client_of_the_stateless_revision(run, project, mode):
    out, _ = run(CACHE / "client.mjs", BIN / "bb", project.path, calls(modern=True), mode)
    said = json.loads(out)
    check_session(said, modern=True)
    assert said["version"] == "2026-07-28"


@pytest.fixture(params=["legacy", "modern"])
def era(request):
    return request.param


@pytest.fixture
def inspect(era, run):
    def inspector(method, *args):
        return run(INSPECTOR, "--cli", BIN / "bb", "mcp", "--protocol-era", era, "--method", method, *args)

    inspector.era = era
    return inspector


@pytest.mark.parametrize("server", [["bb", "mcp"], ["abacus", "mcp"], ["abacus", "mcp", "--tools", "all", "--schemas"]], ids=" ".join)
def test_inspector_accepts_the_schemas(run, era, server):
    program, *args = server
    out, err = run(INSPECTOR, "--cli", BIN / program, *args, "--protocol-era", era, "--method", "tools/list", "--strict")
    assert "tool" not in err and "warning" not in err.lower(), err
    assert ("bb_identify" in [t["name"] for t in json.loads(out)["tools"]]) == (era == "legacy" and server != ["abacus", "mcp"])


def test_inspector_calls_each_tool(inspect):
    for name, arguments in CALLS.items():
        if name == "bb_identify" and inspect.era == "modern":
            continue
        out, _ = inspect("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments), "--format", "json")
        result = json.loads(out)["result"]
        assert not result.get("isError"), result
        assert expected(name, result["structuredContent"]["data"]), result


def test_inspector_reads_resources_and_prompts(inspect, project):
    project.bb("--as", "a", "post", "hello there").ok()
    read = lambda method, *args: json.loads(inspect(method, *args, "--format", "json")[0])["result"]
    [summary] = read("resources/list")["resources"]
    assert len(read("resources/templates/list")["resourceTemplates"]) == 2
    for uri in (summary["uri"], "bb://message/1"):
        assert "hello there" in read("resources/read", "--uri", uri)["contents"][0]["text"]
    [prompt] = read("prompts/list")["prompts"]
    assert "hello there" in read("prompts/get", "--prompt-name", prompt["name"])["messages"][0]["content"]["text"]


# --- a whole session through the default profile ---

@pytest.fixture(scope="session")
def python_client():
    """The official Python library."""
    folder = CACHE.parent / "mcp-python"
    if not (folder / "mcp").exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), "mcp<2"],
                              capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            pytest.skip(f"PyPI is not at hand: {(done.stderr.splitlines() or ['pip failed'])[-1]}")
    return folder


@pytest.fixture
def worker(repo):
    repo.run("agent", "register", "--name", "amber-otter", "--role", "dev", program="bb").ok()
    repo.bead = repo.create("work")
    return repo


def check_work(worker, out):
    said = json.loads(out)
    assert len(said["tools"]) == 12
    assert all(step["success"] for step in said["steps"].values()), said["steps"]
    [claimed] = said["steps"]["claimed"]["data"]
    assert (claimed["id"], claimed["assignee"]) == (worker.bead, "amber-otter")
    assert said["steps"]["reserved"]["data"]["scope"] == "src/*"
    assert worker.show(worker.bead)["status"] == "closed"


@pytest.mark.parametrize("library", ["sdk", "client"])
def test_a_session_with_the_official_typescript_clients(run, worker, library):
    out, _ = run(CACHE / "session.mjs", BIN / "abacus", worker.path, library, "amber-otter")
    check_work(worker, out)


def test_a_session_with_the_official_python_client(worker, python_client, tmp_path):
    done = subprocess.run([sys.executable, HERE / "session.py", BIN / "abacus", worker.path, "amber-otter"], capture_output=True,
                          text=True, timeout=60, env=environment(PYTHONPATH=python_client) | {"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    check_work(worker, done.stdout)
