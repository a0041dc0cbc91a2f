"""vybe killed after every durable step of every write, and with many processes: one effect, one reply."""
import json
import pathlib
import shutil
import subprocess

import pytest

from bead_harness import faulty  # noqa: F401 (a fixture)
from conftest import BIN, Result, environment
from harness import crash_steps, killed, start_together

COMMANDS = {
    "create": ["task", "create", "--title", "made", "--priority", "7", "--project-id", "p"],
    "begin": ["task", "begin", "--id", "ONE"],
    "set-status": ["task", "set-status", "--id", "ONE", "--status", "blocked"],
    "set-priority": ["task", "set-priority", "--id", "ONE", "--priority", "9"],
    "complete": ["task", "complete", "--id", "ONE", "--outcome", "done", "--summary", "s"],
    "add-dep": ["task", "add-dep", "--id", "ONE", "--depends-on", "TWO"],
    "delete": ["task", "delete", "--id", "TWO"],
    "memory-set": ["memory", "set", "--key", "k", "--value", "v"],
    "memory-delete": ["memory", "delete", "--key", "old"],
    "push": ["push", "--json", '{"task_id":"ONE","event":{"kind":"progress","message":"m"},"memories":[{"key":"a","value":1,'
             '"scope":"global"}],"artifacts":[{"file_path":"f"}],"task_status":{"status":"completed","summary":"s"}}'],
    "resume": ["resume"],
}


@pytest.fixture
def project(plain_repo):
    plain_repo.env |= {"ABACUS_NOW": "2026-01-01T00:00:00Z", "VYBE_AGENT": "w-1"}
    plain_repo.ids = {}
    for name in ("ONE", "TWO"):
        made = vybe(plain_repo, "task", "create", "--title", name, "--request-id", name)
        plain_repo.ids[name] = made["data"]["task"]["id"]
    vybe(plain_repo, "memory", "set", "--key", "old", "--value", "v", "--request-id", "m0")
    return plain_repo


def vybe(project, *args, program=None, **env):
    done = subprocess.run([program or str(BIN / "vybe"), *args], cwd=project.path, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, env=environment(**project.env, **env))
    return json.loads(done.stdout) if not killed(Result(done)) else None


def command(project, name):
    args = COMMANDS[name]
    for word, id in project.ids.items():
        args = [a.replace(word, id) for a in args]
    return [*args, "--request-id", "once"]


def state(project):
    """The replies of all reads, without random ids."""
    tasks = vybe(project, "task", "list")["data"]["tasks"]
    return {"tasks": sorted((t["title"], t["status"], t["priority"], len(t["depends_on"]), t["assignee"]) for t in tasks),
            "events": [(e["kind"], e["message"]) for e in vybe(project, "events", "list", "--all", "--limit", "1000")["data"]["events"]],
            "memory": sorted((m["key"], m["value"]) for m in vybe(project, "memory", "list")["data"]["memories"]),
            "artifacts": [a["file_path"] for a in vybe(project, "artifacts", "list")["data"]["artifacts"]]}


def shape(reply):
    """Without ids of beads, which differ from one run to the next."""
    if isinstance(reply, dict):
        return {k: shape(v) for k, v in reply.items() if k not in ("id", "task_id", "replayed", "prompt", "focus_task_id")}
    return [shape(v) for v in reply] if isinstance(reply, list) else reply


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_every_step(project, faulty, tmp_path, name):  # noqa: F811
    program = str(pathlib.Path(faulty).parent / "vybe")
    args, home, kept, counted = command(project, name), project.path / ".git/abacus", tmp_path / "kept", tmp_path / "counted"
    shutil.copytree(home, kept)
    reply = vybe(project, *args, program=program, ABACUS_FAULT_COUNT=counted)
    assert reply["success"]
    after, steps = state(project), int(counted.read_text())
    assert vybe(project, *args) == {**reply, "replayed": True}
    for n in crash_steps(steps):
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        assert vybe(project, *args, program=program, ABACUS_FAULT_AT=n) is None, f"step {n} of {steps}"
        again = vybe(project, *args, program=program)
        assert again["success"] and shape(again) == shape(reply), f"step {n} of {steps}"
        assert state(project) == after, f"step {n} of {steps}"
        third = vybe(project, *args)
        assert third["replayed"] and third["data"] == again["data"]


def together(project, commands, env=None):
    env = {key: value for key, value in project.env.items() if key != "ABACUS_NOW"}
    return [done.json for done in start_together(project, commands, env=env, program=str(BIN / "vybe"))]


def test_fifty_agents_push_twenty_times_each(project):
    before = len(state(project)["events"])
    for batch in range(10):
        replies = together(project, [["push", "--agent", f"a{i}", "--request-id", f"r{batch}-{j}", "--json",
                                      json.dumps({"event": {"kind": "k", "message": f"{i}-{batch}-{j}"}})]
                                     for i in range(50) for j in range(2)])
        assert all(r["success"] for r in replies)
    said = [m for kind, m in state_events(project) if kind == "k"]
    assert len(said) == len(set(said)) == 1000 and before == 3


def state_events(project):
    listed = vybe(project, "events", "list", "--all", "--limit", "100000")["data"]["events"]
    assert [e["id"] for e in listed] == sorted((e["id"] for e in listed), reverse=True)
    return [(e["kind"], e["message"]) for e in listed]


def test_one_request_of_eight_processes(project):
    replies = together(project, [["task", "create", "--title", "x", "--request-id", "same"]] * 8)
    assert all(r["success"] for r in replies) and sum("replayed" not in r for r in replies) == 1
    assert len({json.dumps(r["data"]) for r in replies}) == 1
    assert [t["title"] for t in vybe(project, "task", "list")["data"]["tasks"]].count("x") == 1


def test_four_agents_begin_one_task(project):
    id = project.ids["ONE"]
    replies = together(project, [["task", "begin", "--agent", f"a{i}", "--request-id", "b", "--id", id] for i in range(4)])
    [won] = [r for r in replies if r["success"]]
    assert {r["error_code"] for r in replies if not r["success"]} == {"ALREADY_CLAIMED"}
    assert vybe(project, "task", "get", "--id", id)["data"]["assignee"] == won["data"]["task"]["assignee"]
