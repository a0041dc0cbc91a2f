"""Clients that were written for the original vybe read the same shapes here."""
import json
import sqlite3

import pytest

from vybe import vybe  # noqa: F401 (a fixture)


def kinds(vybe):
    return [e["kind"] for e in vybe.ok("events", "list", "--all", "--asc", agent=None, request=False)["events"]]


@pytest.mark.parametrize("value, type", [
    ("1", "number"), ("-1.5e3", "number"), (" 7 ", "number"), ("true", "boolean"), ("false", "boolean"), ("null", "json"),
    ('{"a":1}', "json"), ("[1,2]", "array"), ('"quoted"', "string"), ("hello", "string"), ("007", "string"),
    ("NaN", "string"), ("{bad", "string"), ("", "string"), ("True", "string"), ("1 2", "string")])
def test_the_type_of_a_value_is_inferred(vybe, value, type):
    vybe.ok("memory", "set", "-k", "k", f"--value={value}")
    found = vybe.ok("memory", "get", "-k", "k", request=False)
    assert (found["value"], found["value_type"]) == (value, type)


def test_a_given_type_overrides_the_inferred_one(vybe):
    vybe.ok("memory", "set", "-k", "k", "-v", "1", "-t", "string")
    assert vybe.ok("memory", "get", "-k", "k", request=False)["value_type"] == "string"
    vybe.push(memories=[{"key": "p", "value": "[1]", "scope": "global"}])
    assert vybe.ok("memory", "get", "-k", "p", request=False)["value_type"] == "array"


def test_every_kind_of_event_has_the_name_that_clients_filter_by(vybe):
    a, b = vybe.task("a")["id"], vybe.task("b")["id"]
    vybe.ok("task", "add-dep", "--id", a, "--depends-on", b)
    vybe.ok("task", "remove-dep", "--id", a, "--depends-on", b)
    vybe.ok("task", "set-priority", "--id", a, "--priority", "3")
    vybe.ok("memory", "set", "-k", "k", "-v", "v")
    vybe.ok("memory", "delete", "-k", "k")
    assert kinds(vybe) == ["task_created", "task_created", "task_dependency_added", "task_dependency_removed",
                           "task_priority_changed", "memory_upserted", "memory_delete"]


@pytest.mark.parametrize("status", ["completed", "blocked"])
def test_every_status_that_ends_work_has_a_close_event(vybe, status):
    task = vybe.task()["id"]
    pushed = vybe.push(task_id=task, task_status={"status": status})["task_status"]
    assert pushed["close_event_id"] == pushed["status_event_id"] + 1
    vybe.push(task_id=task, task_status={"status": "pending"})
    done = vybe.ok("task", "complete", "--id", task, "--outcome", "done" if status == "completed" else "blocked", "--summary", "so")
    assert done["close_event_id"] == done["status_event_id"] + 1
    vybe.ok("task", "set-status", "--id", task, "--status", "pending")
    vybe.ok("task", "set-status", "--id", task, "--status", status)
    assert kinds(vybe) == ["task_created", "task_status", "task_closed", "task_status", "task_status", "task_closed",
                           "task_status", "task_status", "task_closed"]


COMPLETIONS = {
    "complete": lambda vybe, task: vybe.ok("task", "complete", "--id", task, "--outcome", "done", "--summary", "so"),
    "set-status": lambda vybe, task: vybe.ok("task", "set-status", "--id", task, "--status", "completed"),
    "push": lambda vybe, task: vybe.push(task_id=task, task_status={"status": "completed", "summary": "so"}),
    "bd close": lambda vybe, task: vybe.bd("--actor", "w-1", "close", task, "--reason", "so").ok(),
}


@pytest.mark.parametrize("way", COMPLETIONS)
def test_a_completed_task_has_the_same_close_event_in_every_program(vybe, way):
    task = vybe.task("t", "--project-id", "p1")["id"]
    vybe.resume()
    COMPLETIONS[way](vybe, task)
    closed, = (d for d in vybe.resume()["deltas"] if d["kind"] == "task_closed")
    assert list(closed) == ["id", "kind", "agent_name", "project_id", "task_id", "message", "metadata", "created_at"]
    assert (closed["agent_name"], closed["project_id"], closed["task_id"]) == ("w-1", "p1", task)


def test_a_status_that_does_not_end_work_has_no_close_event(vybe):
    a, b = vybe.task("a")["id"], vybe.task("b")["id"]
    vybe.ok("task", "add-dep", "--id", a, "--depends-on", b)
    assert vybe.ok("task", "set-status", "--id", a, "--status", "pending")["task"]["status"] == "blocked"  # by b, not for good
    assert "close_event_id" not in vybe.push(task_id=b, task_status={"status": "in_progress", "summary": "soon"})["task_status"]
    assert "task_closed" not in kinds(vybe)


def test_the_state_of_an_agent_has_the_members_that_clients_read(vybe):
    state = vybe.ok("status", request=False)["agent_state"]
    assert state == {"agent_name": "w-1", "last_seen_event_id": 0, "focus_task_id": "", "version": 0, "last_active_at": None}
    task = vybe.task()["id"]
    vybe.ok("task", "begin", "--id", task)
    vybe.resume()
    state = vybe.ok("status", request=False)["agent_state"]
    assert state["focus_task_id"] == task and state["last_seen_event_id"] == 3 and state["version"] > 0
    assert state["last_active_at"].endswith("Z")


@pytest.mark.parametrize("text, seconds", [("1h30m", 5400), ("1w2d", 777600), ("1d1h1m1s", 90061), ("90m", 5400)])
def test_a_duration_may_have_several_units(vybe, text, seconds):
    from datetime import datetime
    env = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}
    expires = vybe.ok("memory", "set", "-k", "k", "-v", "v", "--expires-in", text, env=env)["expires_at"]
    assert (datetime.fromisoformat(expires) - datetime.fromisoformat(env["ABACUS_NOW"])).total_seconds() == seconds


@pytest.mark.parametrize("text", ["1m1h", "1h1h", "1h30", "h", "1 h", "", "1.5h", "-1h"])
def test_an_invalid_duration_is_refused(vybe, text):
    assert vybe.refused("memory", "set", "-k", "k", "-v", "v", f"--expires-in={text}") == "INVALID_INPUT"


def test_the_schema_names_defaults(vybe):
    commands = vybe.ok("schema", "commands", agent=None, request=False)["commands"]
    args = {c["command"]: c["args_schema"]["properties"] for c in commands}
    assert {name: args["vybe loop"][name]["default"] for name in ("max-tasks", "task-timeout", "cooldown", "dry-run")} == {
        "max-tasks": 10, "task-timeout": "10m", "cooldown": "5s", "dry-run": False}
    assert args["vybe task list"]["priority"]["default"] == -1 and args["vybe task create"]["priority"]["default"] == 0
    assert args["vybe hook install"]["claude"]["default"] is False and args["vybe memory set"]["scope"]["default"] == "global"


def test_the_version_is_an_envelope_for_programs(vybe):
    done = vybe.run("--version", program="vybe").ok()
    assert json.loads(done.out) == {"schema_version": "v1", "success": True, "data": {"version": "0.1.0"}}


def test_control_characters_in_a_title_are_reported(vybe):
    reply = vybe.vybe("task", "create", "--title", "a\tb")
    assert reply["error_code"] == "INVALID_INPUT" and "control characters" in reply["error"], reply
    assert "title" in reply["suggested_action"]


def test_the_brief_counts_the_tasks_by_status(vybe):
    a, b, c, d, e = (vybe.task(t)["id"] for t in "abcde")
    vybe.ok("task", "add-dep", "--id", a, "--depends-on", b)
    vybe.ok("task", "set-status", "--id", c, "--status", "blocked")
    vybe.ok("task", "set-status", "--id", d, "--status", "completed")
    vybe.ok("task", "begin", "--id", e)
    counts = {"pending": 1, "in_progress": 1, "completed": 1, "blocked": 2}
    assert vybe.resume()["brief"]["counts"] == counts
    assert vybe.ok("status", request=False)["counts"]["tasks"] == {"total": 5, **counts}


def test_a_damaged_store_is_reported_with_the_command_that_repairs_it(vybe):
    vybe.ok("memory", "set", "-k", "k", "-v", "1")
    [file] = vybe.path.rglob("vybe.db")
    db = sqlite3.connect(file)
    db.execute("DROP TABLE memory")
    db.commit()
    db.close()
    refused = vybe.vybe("memory", "get", "-k", "k", request=False)
    assert refused["error_code"] == "DAMAGED" and str(file) in refused["error"]
    assert "'abacus doctor --fix'" in refused["suggested_action"]
    vybe.run("doctor", "--fix", program="abacus").ok()
    assert vybe.ok("memory", "list", request=False)["memories"] == []
