"""vybe resume, push, memory, events, artifacts: what survives a session (seed 003)."""
import json
import re
import subprocess

import pytest

from vybe import vybe  # noqa: F401 (a fixture)


# --- exactly once ---

def test_a_repeated_request_has_one_effect_and_one_answer(vybe):
    commands = [["task", "create", "--title", "x"], ["memory", "set", "--key", "k", "--value", "v"],
                ["push", "--json", '{"event":{"kind":"progress","message":"m"}}'], ["resume"]]
    for i, command in enumerate(commands):
        first, second = (vybe.vybe(*command, request=f"once{i}") for _ in "12")
        assert second == {**first, "replayed": True}
    assert vybe.ok("task", "list", agent=None, request=False)["count"] == 1
    kinds = [e["kind"] for e in vybe.ok("events", "list", request=False)["events"]]
    assert kinds == ["progress", "memory_upserted", "task_created"]


def test_a_request_id_with_other_arguments_never_succeeds(vybe):
    vybe.task("x", request="r")
    for other in (["task", "create", "--title", "y"], ["memory", "set", "--key", "k", "--value", "v"], ["resume"]):
        assert vybe.refused(*other, request="r") == "IDEMPOTENCY_MISMATCH"
    vybe.task("y", request="r", agent="w-2")  # another agent's id is another id
    assert vybe.ok("task", "list", agent=None, request=False)["count"] == 2


def test_an_error_is_retried_with_the_same_id(vybe):
    first, second = vybe.task()["id"], vybe.task()["id"]
    vybe.ok("task", "add-dep", "--id", second, "--depends-on", first)
    assert vybe.refused("task", "begin", "--id", second, request="again") == "BLOCKED"
    vybe.ok("task", "complete", "--id", first, "--outcome", "done", "--summary", "s")
    assert vybe.ok("task", "begin", "--id", second, request="again")["task"]["status"] == "in_progress"


# --- memory ---

@pytest.mark.parametrize("type, value, fine", [
    ("string", "x", True), ("number", "12345678901234567890.5", True), ("number", "x", False), ("boolean", "true", True),
    ("boolean", "yes", False), ("json", '{"a":1}', True), ("json", "{", False), ("array", "[1]", True),
    ("array", '{"a":1}', False)])
def test_types(vybe, type, value, fine):
    args = ["memory", "set", "-k", "key", "-v", value, "-t", type]
    if not fine:
        assert vybe.refused(*args) == "INVALID_INPUT"
        return
    assert list(vybe.ok(*args)) == ["event_id", "key", "scope"]
    memory = vybe.ok("memory", "get", "-k", "key", agent=None, request=False)
    assert (memory["value"], memory["value_type"], memory["scope"], memory["scope_id"]) == (value, type, "global", "")


def test_scopes_are_separate(vybe):
    task = vybe.task()["id"]
    where = {"global": [], "project": ["--scope-id", "p"], "task": ["--scope-id", task], "agent": ["--scope-id", "w-1"]}
    for scope, id in where.items():
        vybe.ok("memory", "set", "-k", "k", "-v", scope, "-s", scope, *id)
    for scope, id in where.items():
        assert vybe.ok("memory", "get", "-k", "k", "-s", scope, *id, agent=None, request=False)["value"] == scope
        listed = vybe.ok("memory", "list", "-s", scope, *id, agent=None, request=False)
        assert (listed["scope"], listed["count"]) == (scope, 1)
    vybe.ok("memory", "delete", "-k", "k", "-s", "task", "--scope-id", task)
    assert vybe.refused("memory", "get", "-k", "k", "-s", "task", "--scope-id", task, agent=None, request=False) == "NOT_FOUND"
    assert vybe.refused("memory", "set", "-k", "k", "-v", "v", "-s", "task") == "INVALID_INPUT"
    assert vybe.refused("memory", "set", "-k", "k", "-v", "v", "--scope-id", "x") == "INVALID_INPUT"


def test_expired_entries_are_not_listed(vybe):
    at = lambda t, tz="UTC": {"ABACUS_NOW": f"2026-01-01T{t}Z", "TZ": tz}
    for tz in ("UTC", "Pacific/Auckland", "America/Los_Angeles"):
        done = vybe.ok("memory", "set", "-k", "k", "-v", "v", "--expires-in", "2h", env=at("00:00:00", tz))
        assert done["expires_at"] == "2026-01-01T02:00:00.000Z"
        get = ["memory", "get", "-k", "k"]
        assert vybe.ok(*get, agent=None, request=False, env=at("01:59:59", tz))["value"] == "v"
        assert vybe.refused(*get, agent=None, request=False, env=at("02:00:00", tz)) == "NOT_FOUND"
    gc = vybe.ok("memory", "gc", env=at("03:00:00"))
    assert (gc["deleted"], gc["limit"]) == (1, 500)


def test_pinned_ones_come_first_and_kinds_are_kept(vybe):
    for key, more in (("a", ["--pin", "--kind", "directive"]), ("b", []), ("c", ["--kind", "lesson"])):
        vybe.ok("memory", "set", "-k", key, "-v", key, *more)
    brief = vybe.resume()["brief"]["relevant_memory"]
    assert [m["key"] for m in brief] == ["a", "c", "b"] and brief[0]["kind"] == "directive"
    vybe.ok("memory", "pin", "-k", "b")
    vybe.ok("memory", "pin", "-k", "a", "--unpin")
    assert [m["key"] for m in vybe.resume()["brief"]["relevant_memory"]][0] == "b"


# --- push ---

def test_push_stores_all_parts(vybe):
    task = vybe.task()["id"]
    done = vybe.push(task_id=task, event={"kind": "progress", "message": "half", "metadata": {"n": 1}},
                     memories=[{"key": "k", "value": {"a": 1}, "scope": "global"}],
                     artifacts=[{"file_path": "out.txt", "content_type": "text/plain"}],
                     task_status={"status": "completed", "summary": "did it"})
    assert list(done) == ["event_id", "memories", "artifacts", "task_status"]
    assert done["task_status"]["status"] == "completed" and done["task_status"]["close_event_id"]
    assert vybe.get(task)["status"] == "completed"
    [artifact] = vybe.ok("artifacts", "list", "--task-id", task, agent=None, request=False)["artifacts"]
    assert (artifact["file_path"], artifact["content_type"]) == ("out.txt", "text/plain")
    assert vybe.ok("memory", "get", "-k", "k", agent=None, request=False)["value_type"] == "json"


def test_push_from_standard_input(vybe):
    text = json.dumps({"event": {"kind": "k", "message": "m"}}).encode()
    assert vybe.ok("push", stdin=text)["event_id"] == 1
    assert vybe.refused("push", stdin=b"x" * (1 << 20) + b"xxx") == "INVALID_INPUT"


@pytest.mark.parametrize("content", [
    "{}", "[]", "x", '{"event":{}}', '{"event":{"kind":"k"}}', '{"artifacts":[{"file_path":"x"}]}', '{"task_status":{"status":"completed"}}',
    '{"nonsense":1}', '{"event":{"kind":"k","message":"m","more":1}}', '{"memories":[{"key":"k","value":"v"}]}',
    json.dumps({"memories": [{"key": str(i), "value": "v", "scope": "global"} for i in range(51)]}),
    '{"event":{"kind":"k","message":"m"},"memories":[{"key":"","value":"v","scope":"global"}]}'])
def test_an_invalid_push_stores_nothing(vybe, content):
    assert vybe.refused("push", "--json", content) == "INVALID_INPUT"
    assert vybe.ok("events", "list", request=False)["count"] == 0


def test_metadata_keeps_every_digit(vybe):
    metadata = '{"a":12345678901234567890123,"b":1.10,"c":1e400,"z":[],"y":{}}'
    vybe.ok("push", "--json", '{"event":{"kind":"k","message":"m","metadata":%s}}' % metadata)
    assert metadata in vybe.run("events", "list", program="vybe").out


# --- events ---

def test_events_are_filtered(vybe):
    for i in range(5):
        vybe.push(event={"kind": "a" if i % 2 else "b", "message": str(i)}, agent="w-1" if i < 3 else "w-2")
    def said(*args, agent=None):
        return [e["message"] for e in vybe.ok("events", "list", *args, agent=agent, request=False)["events"]]
    assert said() == list("43210") and said("--asc") == list("01234") and said("--limit", "2") == list("43")
    assert said(agent="w-2") == list("43") and said("--all", agent="w-2") == list("43210")
    assert said("--kind", "a") == list("31") and said("--since-id", "3") == list("43")
    assert vybe.ok("events", agent=None, request=False)["count"] == 5


# --- resume ---

def test_a_new_session_gets_the_current_work(vybe):
    task = vybe.task("Fix the parser")["id"]
    vybe.ok("task", "begin", "--id", task)
    vybe.push(task_id=task, event={"kind": "reasoning", "message": "the lexer is to blame"})
    vybe.ok("memory", "set", "-k", "hint", "-v", "look at line 12", "-s", "task", "--scope-id", task)
    prompt = vybe.resume()["prompt"]
    for word in ("Fix the parser", task, "the lexer is to blame", "look at line 12", "vybe task complete"):
        assert word in prompt
    assert prompt == vybe.resume()["prompt"]


def test_deltas_have_the_events_of_all_agents_once(vybe):
    vybe.push(event={"kind": "k", "message": "one"}, agent="w-2")
    first = vybe.resume()
    assert [d["message"] for d in first["deltas"]] == ["one"] and (first["old_cursor"], first["new_cursor"]) == (0, 1)
    assert vybe.resume()["deltas"] == []
    vybe.push(event={"kind": "k", "message": "two"}, agent="w-2")
    assert [d["message"] for d in vybe.resume()["deltas"]] == ["two"]
    assert len(vybe.resume(agent="w-3")["deltas"]) == 2


def test_deltas_have_changes_of_others_to_beads(vybe):
    task = vybe.task()["id"]
    vybe.resume()
    vybe.bd("--actor", "alice", "update", task, "--title", "renamed").ok()
    made = vybe.bd("--actor", "bob", "create", "new one", "--json").ok().json["id"]
    vybe.bd("--actor", "bob", "close", made, "--reason", "r").ok()
    deltas = vybe.resume()["deltas"]
    assert [(d["kind"], d["agent_name"], d["task_id"]) for d in deltas] == [
        ("task_updated", "alice", task), ("task_created", "bob", made)]
    vybe.bd("--actor", "bob", "delete", made, "--force").ok()
    assert [d["kind"] for d in vybe.resume()["deltas"]] == ["task_deleted"]
    vybe.ok("task", "begin", "--id", task)  # of what is done here there is one event, not two
    assert [d["kind"] for d in vybe.resume()["deltas"]] == ["task_status", "agent_focus"]


def test_deltas_name_statuses_as_those_of_tasks(vybe):
    task = vybe.task("it")["id"]
    said = []
    for words in (["claim", task], ["close", task], ["reopen", task]):
        vybe.resume()
        vybe.bd("--actor", "alice", *words).ok()
        said += [d["message"] for d in vybe.resume()["deltas"]]
    assert said == ["is in_progress, was pending: it", "is completed, was in_progress: it", "is pending, was completed: it"]


def test_deltas_have_dependencies_that_others_added_and_removed(vybe):
    a, b = vybe.task("a")["id"], vybe.task("b")["id"]
    vybe.resume()
    vybe.bd("--actor", "alice", "dep", "add", a, b).ok()
    vybe.bd("--actor", "bob", "dep", "remove", a, b).ok()
    vybe.bd("--actor", "alice", "dep", "add", a, b, "--type", "parent").ok()
    vybe.ok("task", "add-dep", "--id", b, "--depends-on", vybe.task("c")["id"])  # noted by itself, once
    found = [(d["kind"], d["agent_name"], d["task_id"]) for d in vybe.resume()["deltas"]]
    assert found == [("task_dependency_added", "alice", a), ("task_dependency_removed", "bob", a), ("task_updated", "alice", a),
                     ("task_created", "w-1", found[3][2]), ("task_dependency_added", "w-1", b)]


def test_deltas_name_who_deleted_a_task(vybe):
    task = vybe.task()["id"]
    vybe.resume()
    vybe.bd("--actor", "zed", "delete", task, "--yes").ok()
    assert [(d["kind"], d["agent_name"]) for d in vybe.resume()["deltas"]] == [("task_deleted", "zed")]


def test_deltas_belong_to_the_requested_workspace(vybe, tmp_path):
    ours, other = tmp_path / "ours", tmp_path / "other"
    for folder in (ours, other):
        folder.mkdir()
    mine = vybe.task("mine", "--project-id", str(ours))["id"]
    theirs = vybe.task("theirs", "--project-id", str(other))["id"]
    free = vybe.task("free")["id"]
    vybe.push(task_id=theirs, event={"kind": "progress", "message": "not yours"})
    vybe.push(task_id=mine, event={"kind": "progress", "message": "yours"})
    vybe.push(event={"kind": "note", "message": "everybody's"})
    found = vybe.resume("--project-dir", str(ours))
    assert [(d["kind"], d["task_id"]) for d in found["deltas"]] == [
        ("task_created", mine), ("task_created", free), ("progress", mine), ("note", "")]
    assert vybe.resume("--project-dir", str(ours))["deltas"] == []
    assert theirs in {d["task_id"] for d in vybe.resume("--project-dir", str(other))["deltas"]}
    assert len(vybe.resume()["deltas"]) == 6


def test_memory_is_found_however_its_scope_was_written(vybe):
    """A folder for a project, a part of the id for a task, capitals for an agent: resume finds them all."""
    task = vybe.task()["id"]
    for scope, id in (("project", str(vybe.path)), ("task", task.split("-")[-1]), ("agent", " W-1 ")):
        vybe.ok("memory", "set", "-k", scope, "-v", "v", "-s", scope, "--scope-id", id)
        vybe.push(memories=[{"key": scope + "2", "value": "v", "scope": scope, "scope_id": id}])
    brief = vybe.resume("--project-dir", str(vybe.path))["brief"]
    assert {m["key"]: m["scope_id"] for m in brief["relevant_memory"]} == {
        "project": "", "project2": "", "task": task, "task2": task, "agent": "w-1", "agent2": "w-1"}


def test_the_hint_about_a_missing_scope_id_suits_a_push(vybe):
    memory = {"key": "k", "value": "v", "scope": "task"}
    refused = vybe.vybe("push", "--json", json.dumps({"memories": [memory]}))
    assert refused["error"] == "the scope 'task' needs a scope id"
    assert refused["suggested_action"] == 'Pass the task\'s id as --scope-id, or as "scope_id" in a push.'


def test_events_and_artifacts_are_found_by_a_part_of_the_id(vybe):
    task = vybe.task()["id"]
    short = task.split("-")[-1]
    vybe.push(task_id=short, artifacts=[{"file_path": "a"}])
    for what, count in (("events", 2), ("artifacts", 1)):
        listed = vybe.ok(what, "list", "--task-id", short, agent=None, request=False)
        assert (listed["task_id"], listed["count"]) == (task, count)


def test_the_root_of_another_repository_is_a_project(vybe, tmp_path):
    """With one store, only the root of its own repository is not a project."""
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    assert vybe.resume("--project-dir", str(other))["focus_project_id"] == str(other)
    assert "focus_project_id" not in vybe.resume("--project-dir", str(vybe.path))


def test_archived_events_are_still_new_to_an_agent_that_was_away(vybe):
    vybe.push(event={"kind": "progress", "message": "0"})
    vybe.resume()
    for i in range(5):
        vybe.push(event={"kind": "progress", "message": "x"}, agent="w-2")
    end = json.dumps({"hook_event_name": "SessionEnd", "cwd": str(vybe.path)}).encode()
    for _ in range(200):
        vybe.run("hook", "handle", "--host", "claude", program="vybe", stdin=end.replace(b"SessionEnd", b"Stop")).ok()
    vybe.run("hook", "handle", "--host", "claude", program="vybe", stdin=end).ok()
    packet = vybe.resume()
    assert [d["id"] for d in packet["deltas"]] == list(range(2, packet["new_cursor"] + 1))
    assert [d["kind"] for d in packet["deltas"]].count("progress") == 5
    assert vybe.resume(agent="new")["deltas"][0]["id"] > 100  # a newcomer begins with what is not


def test_a_full_prompt_has_pinned_memory_and_no_empty_part(vybe):
    task = vybe.task("x", "--desc", "é" * 2000)["id"]
    vybe.ok("memory", "set", "-k", "rule", "-v", "never force", "--pin")
    vybe.ok("memory", "set", "-k", "fact", "-v", "y" * 900)
    for i in range(12):
        vybe.push(task_id=task, event={"kind": "progress", "message": "😀" * 400})
    prompt = vybe.resume()["prompt"]
    assert "rule: never force" in prompt and len(prompt.encode()) <= 6000
    lines = prompt.splitlines() + [""]
    assert all(after.startswith(("  ", "> ")) for line, after in zip(lines, lines[1:]) if line.endswith(":"))


def test_an_entry_set_again_after_its_expiry_inherits_nothing(vybe):
    late = {"ABACUS_NOW": "2036-01-01T00:00:00Z"}
    vybe.ok("memory", "set", "-k", "k", "-v", "x", "--pin", "--kind", "lesson", "--expires-in", "1h")
    vybe.ok("memory", "set", "-k", "k", "-v", "y", env=late)
    memory = vybe.ok("memory", "get", "-k", "k", agent=None, request=False, env=late)
    assert "pinned" not in memory and "kind" not in memory and memory["created_at"] == "2036-01-01T00:00:00.000Z"


def test_peek_sees_the_task_that_resume_will_choose(vybe):
    vybe.resume(agent="w-2")
    vybe.task("soon", "--priority", "9")
    given = vybe.task("given")["id"]
    vybe.bd("update", given, "--assignee", "w-2").ok()
    peeked = vybe.ok("resume", "--peek", agent="w-2", request=False)["brief"]["task"]["id"]
    packet = vybe.resume(agent="w-2")
    assert (packet["focus_task_id"], packet["focus_rule"]) == (given, "assigned_to_me") and peeked == given


def test_every_project_has_its_own_cursor(vybe):
    (vybe.path / "sub").mkdir()
    vybe.push(event={"kind": "k", "message": "one"})
    assert len(vybe.resume()["deltas"]) == 1
    assert len(vybe.resume("--project-dir", "sub")["deltas"]) == 1
    assert vybe.resume("--project-dir", str(vybe.path))["deltas"] == []
    assert vybe.refused("resume", "--project-dir", "nowhere") == "INVALID_INPUT"


def focus(vybe, *args, **kw):
    packet = vybe.resume(*args, **kw)
    return packet["focus_task_id"], packet["focus_rule"]


def test_focus_follows_the_rules(vybe):
    low = vybe.task("low", env={"ABACUS_NOW": "2026-01-01T00:00:00Z"})["id"]
    old = vybe.task("old", "--priority", "1", env={"ABACUS_NOW": "2026-01-01T00:00:01Z"})["id"]
    new = vybe.task("new", "--priority", "1", env={"ABACUS_NOW": "2026-01-01T00:00:02Z"})["id"]
    assert focus(vybe) == (old, "next_ready") and focus(vybe) == (old, "mine_pending")
    vybe.ok("task", "begin", "--id", new)
    assert focus(vybe) == (new, "mine_in_progress")
    assert focus(vybe, agent="w-2") == (old, "next_ready")
    vybe.ok("task", "set-status", "--id", new, "--status", "pending")
    vybe.ok("task", "add-dep", "--id", new, "--depends-on", low)
    assert focus(vybe) == (new, "mine_waiting")
    vybe.ok("task", "complete", "--id", new, "--outcome", "done", "--summary", "s")
    assert focus(vybe) == (old, "next_ready")
    assert focus(vybe, "--focus", low) == (low, "asked_for")
    for id in (old, low):
        vybe.ok("task", "complete", "--id", id, "--outcome", "done", "--summary", "s")
    assert focus(vybe) == ("", "none") and "No task" in vybe.resume()["prompt"]


def test_assigned_tasks_come_before_free_ones(vybe):
    free = vybe.task("free", "--priority", "5")["id"]
    given = vybe.create("given", "-p", "4")
    assert focus(vybe) == (free, "next_ready")
    vybe.bd("update", given, "-a", "w-1").ok()
    assert focus(vybe) == (given, "assigned_to_me") and focus(vybe) == (given, "mine_pending")
    assert focus(vybe, agent="w-2") == (free, "next_ready")


def test_the_first_resume_focuses_the_bead_that_the_agent_claimed_with_bd(vybe):
    vybe.bd("init").ok()
    for title in ("claimed", "left over"):
        vybe.create(title)
    claimed = vybe.bd("--actor", "w-1", "ready", "--claim", "--json").ok().json[0]["id"]
    assert vybe.ok("resume", "--peek", request=False)["brief"]["task"]["id"] == claimed
    assert [focus(vybe) for _ in range(3)] == [(claimed, "mine_in_progress")] * 3
    assert focus(vybe, agent="w-2")[0] != claimed


def test_the_last_of_several_claims_is_the_focus_then_the_one_before(vybe):
    a, b = (vybe.task(title)["id"] for title in "ab")
    for id in (a, b):
        vybe.bd("--actor", "w-1", "claim", id).ok()
    assert focus(vybe) == (b, "mine_in_progress")
    vybe.bd("--actor", "w-1", "close", b, "--reason", "done").ok()
    assert focus(vybe) == (a, "mine_in_progress")
    vybe.bd("--actor", "w-1", "unclaim", a).ok()
    assert focus(vybe) == (a, "mine_pending")


def test_the_focus_is_the_same_with_and_without_a_project_dir(vybe):
    (vybe.path / "sub").mkdir()
    a, b = (vybe.task(title)["id"] for title in "ab")
    dirs = [[], ["--project-dir", "sub"], ["--project-dir", str(vybe.path)]]
    for id in (a, b, a):
        vybe.ok("task", "begin", "--id", id)
        for dir in dirs:
            assert focus(vybe, *dir) == (id, "mine_in_progress")
    vybe.resume("--focus", b, "--project-dir", "sub")
    assert [focus(vybe, *dir)[0] for dir in dirs] == [b] * 3


def test_a_project_uses_its_own_tasks_and_keeps_the_focus_of_others(vybe):
    for name in ("one", "two", "empty"):
        (vybe.path / name).mkdir()
    ids = {name: vybe.task(name, "--project-id", str(vybe.path / name))["id"] for name in ("one", "two")}
    for name in ("one", "two"):
        vybe.ok("task", "begin", "--id", ids[name])
    for name in ("one", "two", "one"):
        assert focus(vybe, "--project-dir", name) == (ids[name], "mine_in_progress")
    assert focus(vybe, "--project-dir", "empty") == ("", "none")
    assert focus(vybe) == (ids["one"], "mine_in_progress")


def test_a_task_that_another_agent_took_is_no_longer_the_focus(vybe):
    old, free = (vybe.task(title, "--priority", p)["id"] for title, p in (("old", "2"), ("free", "1")))
    assert focus(vybe) == (old, "next_ready")
    vybe.ok("task", "begin", "--id", old, agent="w-2")
    assert focus(vybe) == (free, "next_ready")
    vybe.ok("task", "set-status", "--id", old, "--status", "pending", agent="w-2")
    vybe.resume("--focus", old)
    vybe.ok("task", "add-dep", "--id", old, "--depends-on", free)
    assert focus(vybe) == (old, "mine_waiting")
    vybe.bd("update", old, "--assignee", "w-2").ok()
    assert focus(vybe) == (free, "next_ready")


def test_a_task_assigned_before_the_first_resume_comes_first(vybe):
    vybe.bd("init").ok()
    vybe.create("free", "-p", "0")
    given = vybe.create("given", "-p", "4")
    vybe.bd("update", given, "--assignee", "w-1").ok()
    assert focus(vybe) == (given, "assigned_to_me") and focus(vybe) == (given, "mine_pending")


def test_a_task_with_open_children_is_never_the_focus(vybe):
    epic = vybe.task("epic", "--priority", "9")["id"]
    assert focus(vybe) == (epic, "next_ready")
    child = vybe.create("child", "-p", "4", "--parent", epic)
    assert focus(vybe)[0] == child and focus(vybe, agent="w-2") == (child, "next_ready")
    vybe.bd("update", epic, "-a", "w-3").ok()
    packet = vybe.resume(agent="w-3")
    assert packet["focus_task_id"] == child and packet["brief"]["pipeline"] == []
    vybe.bd("close", child).ok()
    assert focus(vybe)[0] == epic


def test_peek_changes_nothing(vybe):
    vybe.push(event={"kind": "k", "message": "one"})
    peeked = vybe.ok("resume", "--peek", request=False)
    assert list(peeked) == ["agent_name", "brief"]
    assert len(vybe.resume()["deltas"]) == 1


def test_the_prompt_stays_within_its_budget(vybe):
    task = vybe.task("t" * 900, "--desc", "é" * 50_000)["id"]
    vybe.ok("task", "begin", "--id", task)
    for i in range(40):
        vybe.ok("memory", "set", "-k", f"k{i}", "-v", "ü" * 5000)
    packet = vybe.resume()
    assert len(packet["prompt"].encode()) <= 6000 and packet["brief"]["approx_tokens"] <= 1500
    assert "\ufffd" not in packet["prompt"] and "vybe task complete" in packet["prompt"]
    assert len(packet["brief"]["relevant_memory"]) == 40


def test_mail_and_reservations_are_in_the_brief(vybe):
    for name in ("w-one", "w-two"):
        vybe.run("agent", "register", "--name", name, "--role", "x", program="bb").ok()
    vybe.run("agent", "send", "--from", "w-two", "--to", "w-one", "--bead", "b", "--category", "HANDOFF", "--subject",
             "please take this", "--body", "b", program="bb").ok()
    vybe.run("agent", "reserve", "--agent", "w-one", "--scope", "src/x", "--bead", "b", program="bb").ok()
    packet = vybe.resume(agent="w-one")
    assert "please take this" in packet["prompt"] and "src/x" in packet["prompt"]
    assert len(packet["brief"]["mail"]) == len(packet["brief"]["reservations"]) == 1


def tools(vybe, task, count, agent="w-1"):
    """The events that a host's hooks log about the agent's focus."""
    said = json.dumps({"hook_event_name": "PostToolUse", "cwd": str(vybe.path), "tool_name": "Bash"}).encode()
    for _ in range(count):
        vybe.run("hook", "handle", "--host", "claude", program="vybe", stdin=said, env={"VYBE_AGENT": agent}).ok()
    assert vybe.ok("events", "list", "--task-id", task, "--kind", "tool_success", "--limit", "1", agent=None, request=False)["count"]


def noted(vybe):
    task = vybe.task()["id"]
    vybe.ok("task", "begin", "--id", task)
    for kind, message in (("progress", "the lexer is done"), ("reasoning", "the grammar is LL(1)"), ("decision", "no recursion")):
        vybe.push(task_id=task, event={"kind": kind, "message": message})
    return task


def test_notes_stay_however_many_tool_events_follow(vybe):
    task = noted(vybe)
    tools(vybe, task, 25)
    for packet in (vybe.resume(), vybe.ok("resume", "--peek", request=False), vybe.resume("--focus", task, agent="w-2")):
        brief = packet["brief"]
        assert [e["message"] for e in brief["prior_reasoning"]] == ["the grammar is LL(1)"]
        ids = [e["id"] for e in brief["recent_events"]]
        assert len(ids) == 20 and ids == sorted(set(ids), reverse=True)
        assert [e["message"] for e in brief["recent_events"]][-3:] == ["no recursion", "the grammar is LL(1)", "the lexer is done"]
        for word in ("the lexer is done", "the grammar is LL(1)", "no recursion") if "prompt" in packet else ():
            assert packet["prompt"].count(word) == 1


def test_log_events_of_commands_and_hooks_are_not_notes(vybe):
    other, task = vybe.task("other")["id"], noted(vybe)
    id = ["--id", task]
    vybe.ok("task", "set-priority", *id, "--priority", "3")
    vybe.ok("task", "add-dep", *id, "--depends-on", other)
    vybe.ok("task", "remove-dep", *id, "--depends-on", other)
    vybe.ok("task", "set-status", *id, "--status", "pending")
    of = ["-s", "task", "--scope-id", task, "-k", "k"]
    vybe.ok("memory", "set", *of, "-v", "x")
    vybe.ok("memory", "pin", *of)
    vybe.ok("memory", "pin", "--unpin", *of)
    vybe.ok("memory", "delete", *of)
    vybe.ok("memory", "gc")
    vybe.push(task_id=task, artifacts=[{"file_path": "a"}])
    vybe.bd("update", task, "--title", "changed", "--assignee", "w-1").ok()
    vybe.ok("task", "begin", *id)
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PreCompact", "Stop", "SessionEnd"):
        vybe.run("hook", "handle", "--host", "claude", program="vybe", env={"VYBE_AGENT": "w-1"},
                 stdin=json.dumps({"hook_event_name": event, "cwd": str(vybe.path)}).encode()).ok()
    kinds = {e["kind"] for e in vybe.ok("events", "list", "--limit", "100", agent=None, request=False)["events"]}
    assert len(kinds) > 20
    prompt = vybe.resume()["prompt"].split("Notes of earlier sessions:\n")[1]
    notes = [line.split(": ")[0] for line in prompt.split("Recent activity:")[0].splitlines() if line.startswith("> ")]
    assert notes == ["> w-1 decision", "> w-1 reasoning", "> w-1 progress"]


def test_notes_stay_when_events_are_archived(vybe):
    task = noted(vybe)
    tools(vybe, task, 201)
    vybe.run("hook", "handle", "--host", "claude", program="vybe", env={"VYBE_AGENT": "w-1"},
             stdin=json.dumps({"hook_event_name": "SessionEnd", "cwd": str(vybe.path)}).encode()).ok()
    assert vybe.ok("events", "list", "--kind", "reasoning", agent=None, request=False)["count"] == 0
    packet = vybe.resume()
    assert [e["message"] for e in packet["brief"]["prior_reasoning"]] == ["the grammar is LL(1)"]
    assert "the lexer is done" in packet["prompt"] and "the grammar is LL(1)" in packet["prompt"]


def test_prior_reasoning_is_the_last_ten_of_that_kind(vybe):
    task = noted(vybe)
    for i in range(15):
        vybe.push(task_id=task, event={"kind": "reasoning", "message": f"thought {i}"})
        vybe.push(task_id=task, event={"kind": "progress", "message": f"step {i}"})
    packet = vybe.resume()
    reasoning = packet["brief"]["prior_reasoning"]
    assert {e["kind"] for e in reasoning} == {"reasoning"}
    assert [e["message"] for e in reasoning] == [f"thought {i}" for i in range(14, 4, -1)]
    notes = packet["prompt"].split("Notes of earlier sessions:\n")[1].split("Recent activity:")[0]
    assert notes.count("thought ") == notes.count("step ") == 5


@pytest.mark.parametrize("many, few", [("progress", "reasoning"), ("reasoning", "progress")])
def test_neither_progress_nor_reasoning_displaces_the_other(vybe, many, few):
    task = vybe.task()["id"]
    vybe.push(task_id=task, event={"kind": few, "message": "the first one"})
    for i in range(30):
        vybe.push(task_id=task, event={"kind": many, "message": f"number {i}."})
    prompt = vybe.resume()["prompt"]
    assert prompt.count("the first one") == 1 and "number 29." in prompt


def test_the_prompt_repeats_nothing(vybe):
    task = noted(vybe)
    tools(vybe, task, 3)
    vybe.push(task_id=task, event={"kind": "progress", "message": "and after the tools"})
    lines = vybe.resume()["prompt"].splitlines()
    assert "Recent activity:" in lines
    quoted = [line for line in lines if line.startswith("> ") and "tool_success" not in line]
    assert len(quoted) == len(set(quoted))


def test_notes_and_memory_have_room_beside_much_mail_and_pinned_memory(vybe):
    for name in ("w-1", "w-two"):
        vybe.run("agent", "register", "--name", name, "--role", "x", program="bb").ok()
    task = noted(vybe)
    for i in range(12):
        vybe.run("agent", "send", "--from", "w-two", "--to", "w-1", "--bead", task, "--category", "HANDOFF", "--subject",
                 "s" * 400, "--body", "b", program="bb").ok()
        vybe.ok("memory", "set", "-k", f"p{i}", "-v", "m" * 900, "--pin")
    vybe.ok("memory", "set", "-k", "plain", "-v", "not pinned", "-s", "task", "--scope-id", task)
    packet = vybe.resume()
    assert len(packet["prompt"].encode()) <= 6000 and "Mail to acknowledge, 7 more: bb agent inbox --agent w-1\n" in packet["prompt"]
    for word in ("the lexer is done", "the grammar is LL(1)", "plain: not pinned"):
        assert word in packet["prompt"]


def test_the_comments_and_criteria_of_the_bead_are_in_the_brief(vybe):
    """A session that worked with bd left its notes as comments on the bead."""
    vybe.run("init", "-q", program="bd").ok()
    bead = json.loads(vybe.run("create", "x", "--design", "the design", "--acceptance", "the criteria", "--json",
                               program="bd").ok().out)["id"]
    for i in range(12):
        vybe.run("comment", bead, f"comment {i}", "--as", "bob", program="bd").ok()
    vybe.run("claim", bead, "--as", "w-1", program="bd").ok()
    reply = vybe.resume(agent="w-1")
    assert [(n["author"], n["text"]) for n in reply["brief"]["comments"]] == [
        ("bob", f"comment {i}") for i in range(11, 1, -1)]
    assert "\nComments on the task, newest first:\n" + "".join(
        f"> bob: comment {i}\n" for i in range(11, 6, -1)) in reply["prompt"]
    assert "\nIts design:\n> the design\nIts acceptance criteria:\n> the criteria\n" in reply["prompt"]
    vybe.run("comment", bead, "c" * 9000, "--as", "bob", program="bd").ok()
    vybe.push(task_id=bead, event={"kind": "progress", "message": "my note"})
    prompt = vybe.resume(agent="w-1")["prompt"]
    assert "my note" in prompt and "> bob: ccc" in prompt and len(prompt.encode()) <= 6000


def test_unread_mail_of_every_category_is_in_the_prompt(vybe):
    for name in ("w-one", "w-two"):
        vybe.run("agent", "register", "--name", name, "--role", "x", program="bb").ok()
    for category in ("INFO", "DECISION", "HANDOFF", "BLOCKED"):
        vybe.run("agent", "send", "--from", "w-two", "--to", "w-one", "--bead", "b", "--category", category, "--subject",
                 f"about {category}", "--body", f"said of {category}", program="bb").ok()
    packet = vybe.resume(agent="w-one")
    assert {m["category"] for m in packet["brief"]["mail"]} | {m["category"] for m in packet["brief"]["unread_mail"]} == {
        "INFO", "DECISION", "HANDOFF", "BLOCKED"}
    for category in ("INFO", "DECISION", "HANDOFF", "BLOCKED"):
        assert packet["prompt"].count(f"about {category}") == packet["prompt"].count(f"said of {category}") == 1
    commands = re.findall(r"^(?:Mail to acknowledge|Unread mail) \((bb agent [^)]*)\):", packet["prompt"], re.M)
    assert len(commands) == 4
    for command in commands:
        vybe.run(*command.split()[1:], program="bb").ok()
    prompt = vybe.resume(agent="w-one")["prompt"]
    assert "about INFO" not in prompt and "about HANDOFF" not in prompt


# --- status ---

def test_status(vybe):
    vybe.task()
    status = vybe.ok("status", agent=None, request=False)
    assert status["db"]["ok"] and status["db"]["source"] == "repository" and status["diagnostics"] == []
    assert status["counts"]["tasks"] == {"total": 1, "pending": 1, "in_progress": 0, "completed": 0, "blocked": 0}
    assert status["counts"]["events"] == 1
    db = vybe.path / ".git/abacus/vybe.db"
    for part in db.parent.glob("vybe.db-*"):
        part.unlink()
    db.write_bytes(b"x" * 4096)
    broken = vybe.ok("status", agent=None, request=False)
    assert not broken["db"]["ok"] and broken["diagnostics"][0]["suggested_action"]
    assert vybe.refused("status", "--check", agent=None, request=False)


def test_status_reports_that_a_named_store_can_be_neither_read_nor_created(vybe, tmp_path):
    (tmp_path / "file").write_text("x" * 4096)
    for path, said in ("file", "is damaged"), ("file/my.db", "is not a folder"), (".", "Is a directory"):
        status = vybe.ok("status", "--db-path", str(tmp_path / path), agent=None, request=False)
        assert not status["db"]["ok"] and said in status["diagnostics"][0]["message"], status
        assert vybe.refused("status", "--check", "--db-path", str(tmp_path / path), agent=None, request=False)
    fine = vybe.ok("status", "--db-path", str(tmp_path / "new/my.db"), agent=None, request=False)
    assert fine["db"]["ok"] and not (tmp_path / "new").exists()


def test_the_hint_for_a_damaged_user_store_works(vybe, tmp_path):
    db = tmp_path / "my own.db"
    db.write_text("x" * 4096)
    hint = vybe.vybe("memory", "list", "--db-path", str(db), agent=None, request=False)["suggested_action"]
    subprocess.run(["sh", "-c", hint.partition(": ")[2]], check=True)
    assert vybe.ok("memory", "list", "--db-path", str(db), agent=None, request=False)["count"] == 0
    kept, = tmp_path.glob("my own.db.damaged-*")  # a random name: a repository could bring a link under any other
    assert kept.read_text() == "x" * 4096


@pytest.mark.parametrize("args", ["help task create", "task help create", "task create --help"])
def test_help_names_a_command_in_any_place(vybe, args):
    assert vybe.run(*args.split(), program="vybe").ok().out.startswith("Create a task\n")


def test_upgrade_changes_nothing(vybe):
    assert "version" in vybe.ok("upgrade", agent=None, request=False)


def test_pretty(vybe):
    done = vybe.run("task", "list", program="vybe", env={"VYBE_PRETTY_JSON": "1"}).ok()
    assert done.out.startswith('{\n  "schema_version": "v1",\n') and json.loads(done.out)["data"]["tasks"] == []
