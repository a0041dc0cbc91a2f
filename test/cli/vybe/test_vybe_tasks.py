"""vybe task: beads as tasks (seed 003, the dialect's table)."""
import json

import pytest

from vybe import Vybe, vybe  # noqa: F401 (a fixture)

TASK = ["id", "title", "description", "status", "priority", "depends_on", "version", "created_at", "updated_at", "assignee"]


def test_create(vybe):
    made = vybe.ok("task", "create", "--title", "a thing", "--desc", "more", "--priority", "1")
    assert list(made) == ["task", "event_id"] and made["event_id"] == 1
    task = made["task"]
    assert list(task) == TASK
    assert (task["title"], task["description"], task["status"], task["priority"]) == ("a thing", "more", "pending", 1)
    assert vybe.get(task["id"]) == task
    assert vybe.ok("task", "list", agent=None, request=False) == {"count": 1, "tasks": [task]}


def test_a_task_is_a_bead_and_a_bead_is_a_task(vybe):
    task = vybe.task("from vybe", "--priority", "2")
    bead = vybe.show(task["id"])
    assert (bead["title"], bead["priority"], bead["status"]) == ("from vybe", 0, "open")
    made = vybe.create("from bd", "-p", "4")
    assert vybe.get(made)["priority"] == -2
    assert vybe.ok("task", "list", agent=None, request=False)["count"] == 2


@pytest.mark.parametrize("priority, bead", [(0, 2), (1, 1), (2, 0), (3, 0), (100, 0), (-1, 3), (-2, 4), (-3, 4), (-99, 4)])
def test_a_priority_keeps_its_value(vybe, priority, bead):
    task = vybe.task("x", "--priority", str(priority))
    assert task["priority"] == priority and vybe.show(task["id"])["priority"] == bead
    other = vybe.task("y")["id"]
    assert vybe.ok("task", "set-priority", "--id", other, "--priority", str(priority))["task"]["priority"] == priority
    vybe.bd("update", other, "-p", "3").ok()
    assert vybe.get(other)["priority"] == (-1 if bead != 3 else priority)


def test_list_is_by_priority_then_the_newest_first(vybe):
    ids = [vybe.task(t, "--priority", p, env={"ABACUS_NOW": f"2026-01-01T00:00:0{i}Z"})["id"]
           for i, (t, p) in enumerate([("a", "1"), ("b", "5"), ("c", "5"), ("d", "0")])]
    a, b, c, d = ids
    listed = [t["id"] for t in vybe.ok("task", "list", agent=None, request=False)["tasks"]]
    assert listed == [c, b, a, d]
    for filter, want in ((["--priority", "5"], [c, b]), (["--priority", "-1"], listed), (["--status", "completed"], [])):
        assert [t["id"] for t in vybe.ok("task", "list", *filter, agent=None, request=False)["tasks"]] == want


def test_projects(vybe):
    one = vybe.task("x", "--project-id", "p1")
    vybe.task("y")
    assert one["project_id"] == "p1"
    assert [t["id"] for t in vybe.ok("task", "list", "--project-id", "p1", agent=None, request=False)["tasks"]] == [one["id"]]


def test_begin_is_exclusive(vybe):
    id = vybe.task()["id"]
    begun = vybe.ok("task", "begin", "--id", id)
    assert list(begun) == ["task", "status_event_id", "focus_event_id"]
    assert (begun["task"]["status"], begun["task"]["assignee"]) == ("in_progress", "w-1")
    assert vybe.refused("task", "begin", "--id", id, agent="w-2") == "ALREADY_CLAIMED"
    assert vybe.ok("task", "begin", "--id", id)["task"]["assignee"] == "w-1"  # one's own goes on
    assert vybe.bd("--actor", "w-2", "claim", id).code == 1


def test_to_begin_again_changes_no_status(vybe):
    id = vybe.task()["id"]
    vybe.ok("task", "begin", "--id", id)
    again = vybe.ok("task", "begin", "--id", id)
    assert list(again) == ["task", "focus_event_id"] and again["task"]["status"] == "in_progress"
    events = vybe.ok("events", "list", "--task-id", id, agent=None, request=False)["events"]
    assert [event["kind"] for event in events] == ["agent_focus", "agent_focus", "task_status", "task_created"]
    vybe.ok("task", "set-status", "--id", id, "--status", "pending")
    assert list(vybe.ok("task", "begin", "--id", id)) == ["task", "status_event_id", "focus_event_id"]


def test_begin_refuses_a_blocked_task(vybe):
    first, second = vybe.task("first")["id"], vybe.task("second")["id"]
    assert "depends on" in vybe.ok("task", "add-dep", "--id", second, "--depends-on", first)["message"]
    task = vybe.get(second)
    assert (task["status"], task["blocked_reason"], task["depends_on"]) == ("blocked", "dependency", [first])
    assert vybe.refused("task", "begin", "--id", second) == "BLOCKED"
    vybe.ok("task", "complete", "--id", first, "--outcome", "done", "--summary", "did it")
    assert vybe.get(second)["status"] == "pending"
    vybe.ok("task", "set-status", "--id", first, "--status", "pending")  # reopened: it waits again
    assert vybe.get(second)["status"] == "blocked"
    vybe.ok("task", "remove-dep", "--id", second, "--depends-on", first)
    assert vybe.get(second)["status"] == "pending" and vybe.get(second)["depends_on"] == []


def test_complete(vybe):
    id = vybe.task()["id"]
    vybe.ok("task", "begin", "--id", id)
    done = vybe.ok("task", "complete", "--id", id, "--outcome", "done", "--summary", "all of it", "--label", "nice")
    assert list(done) == ["task", "status_event_id", "close_event_id"] and done["task"]["status"] == "completed"
    bead = vybe.show(id)
    assert (bead["status"], bead["closed_reason"], bead["labels"]) == ("closed", "all of it", ["nice"])


def test_blocked_for_another_reason_and_back(vybe):
    id = vybe.task()["id"]
    vybe.ok("task", "begin", "--id", id)
    task = vybe.ok("task", "complete", "--id", id, "--outcome", "blocked", "--summary", "no key", "--blocked-reason",
                   "needs a key")["task"]
    assert (task["status"], task["blocked_reason"], task["assignee"]) == ("blocked", "needs a key", None)
    assert id not in [b["id"] for b in vybe.json("ready")]
    assert "blocked_reason" not in vybe.ok("task", "begin", "--id", id)["task"]
    assert vybe.get(id)["status"] == "in_progress"


@pytest.mark.parametrize("first", ["pending", "in_progress", "completed", "blocked"])
@pytest.mark.parametrize("then", ["pending", "in_progress", "completed", "blocked"])
def test_any_status_may_follow_any_other(vybe, first, then):
    id = vybe.task()["id"]
    for status in (first, then):
        task = vybe.ok("task", "set-status", "--id", id, "--status", status)["task"]
        assert task["status"] == status and ("blocked_reason" in task) == (status == "blocked")


def test_an_abandoned_task_is_the_next_one_for_another_agent(vybe):
    """Its agent died. As for 'bd ready', the end of the lease makes it ready."""
    late = {"ABACUS_NOW": "2036-01-01T00:00:00Z"}
    id = vybe.task()["id"]
    vybe.ok("task", "begin", "--id", id)
    assert vybe.resume(agent="w-2")["focus_rule"] == "none"
    packet = vybe.resume(agent="w-2", env=late)
    assert (packet["focus_task_id"], packet["focus_rule"]) == (id, "next_ready")
    assert [r["task_id"] for r in vybe.ok("loop", "--dry-run", agent="w-2", request=False, env=late)["results"]] == [id]
    assert vybe.ok("task", "begin", "--id", id, agent="w-2", env=late)["task"]["assignee"] == "w-2"


def test_a_task_in_progress_has_a_lease_even_if_it_was_completed_before(vybe):
    id = vybe.task()["id"]
    for status in ("completed", "in_progress"):
        vybe.ok("task", "set-status", "--id", id, "--status", status)
    assert vybe.show(id)["assignee"] == "w-1" and vybe.show(id)["assignee_expires"]


def test_cycles_of_any_length_are_refused(vybe):
    ids = [vybe.task(str(i))["id"] for i in range(60)]
    for a, b in zip(ids, ids[1:]):
        vybe.ok("task", "add-dep", "--id", a, "--depends-on", b)
    assert vybe.refused("task", "add-dep", "--id", ids[-1], "--depends-on", ids[0]) == "CYCLE"
    assert vybe.refused("task", "add-dep", "--id", ids[0], "--depends-on", ids[0]) == "SELF_DEPENDENCY"


def test_delete_removes_the_artifacts(vybe):
    id = vybe.task()["id"]
    vybe.push(task_id=id, artifacts=[{"file_path": "a.txt"}])
    gone = vybe.ok("task", "delete", "--id", id)
    assert gone["task_id"] == id
    assert vybe.refused("task", "get", "--id", id, agent=None, request=False) == "DELETED"
    assert vybe.ok("artifacts", "list", "--task-id", id, agent=None, request=False)["count"] == 0


@pytest.mark.parametrize("args, code", [
    (["task", "get", "--id", "nope"], "NOT_FOUND"), (["task", "get"], "USAGE"), (["task", "begin", "--id", "nope"], "NOT_FOUND"),
    (["task", "create"], "USAGE"), (["task", "create", "--title", " "], "INVALID_INPUT"),
    (["task", "set-status", "--id", "x", "--status", "done"], "INVALID_INPUT"), (["frobnicate"], "USAGE"),
    (["task", "frobnicate"], "USAGE"), (["task", "create", "--nonsense"], "USAGE")])
def test_errors_have_a_code_and_a_next_step(vybe, args, code):
    vybe.task()
    assert vybe.refused(*args) == code


def test_agent_and_request_id_are_required(vybe):
    assert vybe.refused("task", "create", "--title", "x", agent=None) == "IDENTITY_REQUIRED"
    for words in (["task", "create", "--title", "x"], ["loop"]):
        assert "--agent" in vybe.vybe(*words, agent=None)["suggested_action"]
        assert "bb_identify" not in vybe.vybe(*words, agent=None)["suggested_action"]
    assert vybe.refused("task", "create", "--title", "x", request=False) == "USAGE"
    env = {"VYBE_AGENT": " W-9 ", "VYBE_REQUEST_ID": "q1"}
    vybe.ok("task", "create", "--title", "x", agent=None, request=False, env=env)
    assert vybe.ok("events", "list", agent="w-9", request=False)["count"] == 1


def test_index_and_schema(vybe):
    index = vybe.ok(agent=None, request=False)
    assert index["commands"] == ["artifacts", "events", "help", "hook", "loop", "memory", "push", "resume", "schema", "status", "task",
                                 "upgrade"]
    assert index["schema_hint"] == "vybe schema commands"
    assert [s["name"] for s in vybe.ok("task", agent=None, request=False)["subcommands"]] == [
        "create", "begin", "get", "list", "set-status", "set-priority", "complete", "add-dep", "remove-dep", "delete"]
    schema = {c["command"]: c for c in vybe.ok("schema", "commands", agent=None, request=False)["commands"]}
    create = schema["vybe task create"]
    assert create["mutates"] and create["requires_request_id"]
    assert create["args_schema"]["required"] == ["title", "agent", "request-id"]
    assert not schema["vybe task list"]["requires_request_id"]
    assert vybe.ok("schema", agent=None, request=False)["commands"] == list(schema.values())


def test_every_field_of_the_schema_can_be_used(vybe):
    """A caller that knows only the schema creates a task."""
    schema = {c["command"]: c for c in vybe.ok("schema", "commands", agent=None, request=False)["commands"]}
    args = {"title": "x", "agent": "a", "request-id": "r"}
    want = schema["vybe task create"]["args_schema"]["required"]
    made = vybe.vybe("task", "create", *[x for name in want for x in (f"--{name}", args[name])], agent=None, request=False)
    assert made["success"]


def test_outside_of_a_repository(tmp_path, plain_repo):
    """The user's own store."""
    path = tmp_path / "nowhere"
    path.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    outside = Vybe(path)
    env = {"HOME": str(home), "XDG_DATA_HOME": ""}
    task = outside.task("of my own", env=env)
    assert outside.resume(env=env)["focus_task_id"] == task["id"]
    outside.ok("task", "begin", "--id", task["id"], env=env)
    assert outside.ok("status", agent=None, request=False, env=env)["db"]["source"] == "user"
    assert list(path.iterdir()) == []


def test_a_store_named_by_the_user(vybe, tmp_path):
    db = str(tmp_path / "own" / "my.db")
    task = vybe.task("elsewhere", "--db-path", db)
    assert vybe.ok("task", "list", "--db-path", db, agent=None, request=False)["count"] == 1
    assert vybe.ok("task", "list", agent=None, request=False, env={"VYBE_DB_PATH": db})["tasks"] == [task]
    assert vybe.ok("task", "list", agent=None, request=False)["count"] == 0


def test_reading_creates_nothing(tmp_path):
    path, home = tmp_path / "nowhere", tmp_path / "home"
    path.mkdir()
    home.mkdir()
    outside = Vybe(path)
    env = {"HOME": str(home), "XDG_DATA_HOME": ""}
    assert outside.ok("task", "list", agent=None, request=False, env=env)["count"] == 0
    assert outside.ok("memory", "list", agent=None, request=False, env=env)["count"] == 0
    assert list(home.iterdir()) == [] == list(path.iterdir())
    assert outside.refused("task", "list", agent=None, request=False, env={"HOME": ""}) == "INVALID_INPUT"


def test_a_task_without_a_project_belongs_to_all(vybe):
    (vybe.path / "sub").mkdir()
    task = vybe.task()["id"]
    other = vybe.task("other", "--project-id", "p1", "--priority", "9")["id"]
    assert vybe.resume("--project-dir", "sub")["focus_task_id"] == task
    assert vybe.resume(agent="w-2")["focus_task_id"] == other


def test_changes_of_others_just_before_are_reported_too(vybe):
    task = vybe.task()["id"]
    vybe.resume()
    vybe.bd("--actor", "alice", "close", task).ok()
    vybe.ok("task", "set-priority", "--id", task, "--priority", "1")
    assert [(d["kind"], d["agent_name"]) for d in vybe.resume()["deltas"]] == [("task_closed", "alice"), ("task_priority_changed", "w-1")]
    vybe.bd("--actor", "alice", "reopen", task).ok()
    vybe.push(task_id=task, task_status={"status": "completed"})
    assert [(d["kind"], d["agent_name"]) for d in vybe.resume()["deltas"]] == [
        ("task_status", "alice"), ("task_status", "w-1"), ("task_closed", "w-1")]


def test_the_epoch_of_a_lost_claim_is_refused_by_every_write(vybe):
    task, other = vybe.task()["id"], vybe.task()["id"]
    epoch = vybe.ok("task", "begin", "--id", task)["task"]["epoch"]
    assert vybe.get(task)["epoch"] == epoch and "epoch" not in vybe.get(other)
    said = json.dumps(epoch, separators=(",", ":"))
    vybe.ok("task", "set-priority", "--id", task, "--priority", "1", "--epoch", said)
    vybe.bd("--actor", "w-2", "update", task, "--status", "open", "--force").ok()
    vybe.ok("task", "begin", "--id", task, agent="w-2")
    for words in (["set-status", "--status", "completed"], ["set-priority", "--priority", "2"], ["add-dep", "--depends-on", other],
                  ["remove-dep", "--depends-on", other], ["complete", "--outcome", "done", "--summary", "s"], ["delete"]):
        assert vybe.refused("task", words[0], "--id", task, *words[1:], "--epoch", said) == "STALE_CLAIM", words
    pushed = json.dumps({"task_id": task, "task_status": {"status": "completed", "epoch": epoch}})
    assert vybe.refused("push", "--json", pushed) == "STALE_CLAIM"
    assert vybe.get(task)["status"] == "in_progress"
