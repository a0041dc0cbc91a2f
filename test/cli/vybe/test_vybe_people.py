"""vybe on a terminal: text for people, and a generated request id. Programs get JSON as before."""
import json
import re

import pytest

from board import on_terminal
from vybe import vybe  # noqa: F401  the fixture

LEE = {"VYBE_AGENT": "lee", "BD_ACTOR": "", "NO_COLOR": "1"}


def typed(project, *args, code=0, **env):
    """The output that a person sees."""
    shown, status = on_terminal(project, *args, program="vybe", env={**LEE, **env})
    assert status == code, shown
    return shown.replace("\r\n", "\n")


@pytest.fixture
def person(vybe):
    vybe.env = {}
    return vybe


def test_a_task_is_shown_as_text(person):
    shown = typed(person, "task", "create", "--title", "Write the docs", "--desc", "All of them", "--priority", "1")
    id = re.match(r"(\S+): Write the docs\n  pending, priority 1 \(P1\), updated just now\nRequest id: ", shown).group(1)
    assert typed(person, "task", "get", "--id", id).endswith("\n\n> All of them\n")
    listed = typed(person, "task", "list")
    assert "PRIORITY" in listed and "Write the docs" in listed
    assert "1 task. A higher priority is more urgent; 0 is normal." in listed
    assert "in_progress, priority 1 (P1), assigned to lee" in typed(person, "task", "begin", "--id", id)
    done = typed(person, "task", "complete", "--id", id, "--outcome", "done", "--summary", "written")
    assert "  completed, priority 1 (P1)" in done
    assert typed(person, "task", "delete", "--id", id).startswith(f"Deleted {id}. To restore it: bd undelete {id}\n")


def test_dependencies_are_shown_as_text(person):
    one, two = (person.task(title)["id"] for title in ("one", "two"))
    args = ["--id", one, "--depends-on", two]
    assert typed(person, "task", "add-dep", *args).startswith(f"'{one}' depends on '{two}'\n")
    assert typed(person, "task", "remove-dep", *args).startswith(f"'{one}' no longer depends on '{two}'\n")


def test_memory_events_and_artifacts_are_shown_as_text(person):
    task = person.task()["id"]
    assert typed(person, "memory", "list") == "No memories in scope global.\n"
    stored = typed(person, "memory", "set", "--key", "k", "--value", "a value", "--expires-in", "1h30m")
    assert stored.startswith("Stored 'k' (scope global), which expires in 1h30m.\n")
    assert "a value" in typed(person, "memory", "list") and "> a value" in typed(person, "memory", "get", "--key", "k")
    pushed = typed(person, "push", "--json", json.dumps({
        "task_id": task, "event": {"kind": "progress", "message": "half done"}, "artifacts": [{"file_path": "a.txt"}],
        "memories": [{"key": "m", "value": "1", "scope": "global"}]}))
    assert re.match(r"Recorded event \d+\.\nStored 1 memory\.\nRecorded 1 artifact\.\nRequest id: lee_push_", pushed)
    assert "half done" in typed(person, "events", "list")
    assert "a.txt" in typed(person, "artifacts", "list", "--task-id", task)
    assert typed(person, "memory", "pin", "--key", "k").startswith("Changed the pin of 'k'")
    assert typed(person, "memory", "delete", "--key", "k").startswith("Deleted 'k' (scope global).\n")
    assert typed(person, "memory", "gc").startswith("Deleted 0 expired memories.\n")


def test_resume_and_status_are_shown_as_text(person):
    task = person.task("the next one")["id"]
    shown = typed(person, "resume")
    assert shown.startswith(f"{task}: the next one\n") and "Changes since your last resume" in shown
    assert "Changes since" not in typed(person, "resume", "--peek")
    status = typed(person, "status")
    assert "Tasks:   1 pending, 0 in progress, 0 blocked, 0 completed\n" in status and "You:     lee, focus: " in status
    assert typed(person, "loop", "stats") == "No loop has run yet.\n"
    assert task in typed(person, "loop", "--dry-run")
    assert typed(person, "loop", "--dry-run").endswith("The loop ended: --dry-run runs nothing.\n")
    assert "Version" in typed(person, "upgrade")
    assert "claude: installed" in typed(person, "hook", "install", "--project")


def test_an_error_is_shown_as_text(person):
    shown = typed(person, "task", "get", "--id", "nope", code=1)
    assert shown.startswith("error: there is no ") and "{" not in shown
    assert typed(person, "nonsense", code=1).startswith("error: 'nonsense' is not a command of vybe\n")


def test_the_index_is_help_on_a_terminal(person):
    assert "task create" in typed(person) and "task create" in typed(person, "task")
    assert "memory set" not in typed(person, "task")


@pytest.mark.parametrize("args", [["task", "create", "--title", "x"], ["memory", "set", "--key", "k", "--value", "v"],
                                  ["memory", "gc"], ["resume"], ["push", "--json", '{"event":{"kind":"k","message":"m"}}']])
def test_a_request_id_is_generated_on_a_terminal_and_can_be_repeated(person, args):
    shown = typed(person, *args)
    made = re.search(r"^Request id: (lee_[a-z_]+_\d{13}_[0-9a-f]{6})$", shown, re.M).group(1)
    before = person.ok("events", "list", "--all", agent=None, request=False)["count"]
    again = typed(person, *args, "--request-id", made)
    assert "Request id:" not in again
    assert person.ok("events", "list", "--all", agent=None, request=False)["count"] == before


def test_json_on_a_terminal_has_the_generated_request_id(person):
    reply = json.loads(typed(person, "--json", "memory", "set", "--key", "k", "--value", "v"))
    assert list(reply) == ["schema_version", "success", "data", "request_id"]
    assert reply["request_id"].startswith("lee_memory_set_")
    given = json.loads(typed(person, "--json", "memory", "set", "--key", "k", "--value", "w", "--request-id", "mine"))
    assert list(given) == ["schema_version", "success", "data"]
    error = json.loads(typed(person, "--json", "task", "get", "--id", "nope", code=1))
    assert error["success"] is False


def test_indented_json_is_json_on_a_terminal_too(person):
    assert json.loads(typed(person, "task", "list", VYBE_PRETTY_JSON="1"))["data"] == {"count": 0, "tasks": []}


def test_a_pipe_gets_json_and_has_to_name_its_request(person):
    assert person.refused("task", "create", "--title", "x", request=False) == person.refused(
        "memory", "set", "--key", "k", "--value", "v", request=False)
    assert list(person.vybe("task", "list", request=False)) == ["schema_version", "success", "data"]
    asked = person.run("--json", "task", "list", program="vybe").ok()
    assert asked.out == person.run("task", "list", program="vybe").ok().out


def test_priorities_are_explained_in_help(person):
    for words in (["task", "create"], ["task", "set-priority"]):
        shown = " ".join(person.run(*words, "--help", program="vybe").ok().out.split())
        assert "a higher number is more urgent. 2 is P0 in bd, 1 is P1, 0 is P2 (normal), -1 is P3, -2 is P4" in shown


def test_a_push_of_nothing_shows_an_example(vybe):
    done = vybe.run("push", "--agent", "lee", "--request-id", "r", program="vybe")
    assert done.json["error"] == "--json may not be empty"
    assert done.json["suggested_action"].startswith("Pass an object, for example: vybe push --json '{")
