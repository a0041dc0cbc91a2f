"""A host's own task list becomes beads below the current bead, and they close with its entries."""
import json

import pytest

AMBER = {"ABACUS_AGENT": "amber-otter"}


@pytest.fixture
def work(repo):
    repo.env = {}
    repo.bd("config", "set", "hosts.tasks", "true").ok()
    repo.work = repo.create("Parser", env=AMBER)
    repo.run("work", repo.work, program="abacus", env=AMBER).ok()
    return repo


def hook(repo, tool, event="PostToolUse", response=None, env=AMBER, **said):
    said = {"hook_event_name": event, "session_id": "s1", "cwd": str(repo.path), **({"tool_name": tool, "tool_input": said} if tool else said)}
    if response is not None:
        said["tool_response"] = response
    repo.run("hook", "handle", "--host", "claude", program="vybe", stdin=json.dumps(said).encode(), env=env).ok()


def todos(repo, **entries):
    hook(repo, "TodoWrite", todos=[{"content": text.replace("_", " "), "status": status, "activeForm": "x"}
                                   for text, status in entries.items()])


def below(repo):
    return {one["title"]: (one["status"], one.get("assignee"), one.get("closed_reason"))
            for one in repo.bd("--json", "list", "--all", "--parent", repo.work).ok().json}


DONE, DROPPED = "completed in the host's task list", "dropped from the host's task list"


def test_the_entries_of_a_todo_list_become_beads_and_close_with_them(work):
    todos(work, Write_the_lexer="in_progress", Write_the_tests="pending")
    assert below(work) == {"Write the lexer": ("open", None, None), "Write the tests": ("open", None, None)}
    todos(work, Write_the_lexer="completed", Write_the_tests="in_progress")
    assert below(work) == {"Write the lexer": ("closed", None, DONE), "Write the tests": ("in_progress", "amber-otter", None)}
    todos(work, Write_the_lexer="completed")
    assert below(work)["Write the tests"] == ("closed", None, DROPPED)
    assert work.show(work.work)["status"] == "in_progress"


def test_repeating_a_list_changes_nothing(work):
    todos(work, One="pending", Two="completed")
    before = work.bd("--json", "list", "--all").ok().json
    todos(work, One="pending", Two="completed")
    assert work.bd("--json", "list", "--all").ok().json == before and len(before) == 2


@pytest.mark.parametrize("response", [{"task": {"id": "7", "subject": "Lexer"}}, "Task #7 created successfully: Lexer"])
def test_the_task_tools_create_update_and_close(work, response):
    hook(work, "TaskCreate", subject="Lexer", description="by hand", response=response)
    assert below(work) == {"Lexer": ("open", None, None)}
    hook(work, "TaskUpdate", taskId="7", status="in_progress")
    assert below(work) == {"Lexer": ("in_progress", "amber-otter", None)}
    hook(work, "TaskUpdate", taskId="7", subject="The lexer")
    assert list(below(work)) == ["The lexer"]
    hook(work, None, "TaskCompleted", task_id="7", task_subject="The lexer")
    hook(work, "TaskUpdate", taskId="7", status="completed")
    assert below(work) == {"The lexer": ("closed", None, DONE)}
    assert work.show(work.work)["status"] == "in_progress"


def test_a_deleted_task_is_dropped_and_one_that_is_unknown_is_ignored(work):
    hook(work, "TaskCreate", subject="Lexer", response={"task": {"id": "1"}})
    hook(work, "TaskUpdate", taskId="1", status="deleted")
    hook(work, "TaskUpdate", taskId="9", status="completed")
    assert below(work) == {"Lexer": ("closed", None, DROPPED)}


def test_without_the_setting_or_a_current_bead_nothing_is_created(work):
    work.bd("config", "set", "hosts.tasks", "false").ok()
    todos(work, One="pending")
    assert below(work) == {}
    work.bd("config", "set", "hosts.tasks", "true").ok()
    hook(work, "TodoWrite", todos=[{"content": "One", "status": "pending"}], env={"ABACUS_AGENT": "birch-finch"})
    assert below(work) == {} and len(work.bd("--json", "list", "--all").ok().json) == 1


@pytest.mark.parametrize("tool,said", [("TodoWrite", {"todos": "x"}), ("TodoWrite", {"todos": [7, {"content": " "}]}),
                                       ("TaskCreate", {"subject": "x"}), ("TaskUpdate", {"taskId": 7}), ("TodoWrite", {})])
def test_invalid_input_is_ignored(work, tool, said):
    hook(work, tool, **said)
    assert below(work) == {}
