"""vybe loop: an agent's command, task by task."""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import BIN, Repo, environment
from harness import patience

DONE = 'cat >"$OUT/$VYBE_TASK_ID"; vybe task complete --request-id "d-$VYBE_TASK_ID" --id "$VYBE_TASK_ID" --outcome done ' \
       '--summary s'


@pytest.fixture
def project(plain_repo, tmp_path):
    (tmp_path / "out").mkdir()
    plain_repo.env |= {"PATH": f"{BIN}:{os.environ['PATH']}", "OUT": str(tmp_path / "out"), "VYBE_AGENT": "looper"}
    plain_repo.out = tmp_path / "out"
    return plain_repo


def tasks(project, *titles):
    made = []
    for i, title in enumerate(titles):
        done = project.run("task", "create", "--title", title, "--request-id", f"t{i}", program="vybe",
                           env={"ABACUS_NOW": f"2026-01-01T00:00:{i:02}Z"}).ok()
        made.append(done.json["data"]["task"]["id"])
    return made


def loop(project, *args):
    return project.run("loop", "--cooldown", "0s", *args, program="vybe").ok().json["data"]


def status(project, id):
    return project.run("task", "get", "--id", id, program="vybe").ok().json["data"]


def test_every_task_is_worked_on_with_its_prompt(project):
    one, two = tasks(project, "one", "two")
    done = loop(project, "--command", DONE)
    assert (done["completed"], done["failed"], done["total"], done["stopped_by"]) == (2, 0, 2, "no_tasks")
    assert [(r["task_id"], r["status"]) for r in done["results"]] == [(one, "completed"), (two, "completed")]
    prompt = (project.out / one).read_text()
    assert f"Your task: {one} (" in prompt and "\n> one\n" in prompt


def test_the_mail_of_the_agent_is_shown_once(project):
    for name in ("looper", "sender"):
        project.run("agent", "register", "--name", name, "--role", "r", program="bb").ok()
    project.run("agent", "send", "--from", "sender", "--to", "looper", "--bead", "b-1", "--category", "INFO", "--subject", "s",
                "--body", "b", program="bb").ok()
    tasks(project, "one", "two")
    done = project.run("loop", "--cooldown", "0s", "--command", "true", program="vybe").ok()
    assert [line for line in done.err.splitlines() if "mail" in line] == ['{"mail":{"unread":1,"to_accept":0}}']


def test_a_dry_run_begins_nothing(project):
    one, others, two = tasks(project, "one", "others", "two")
    project.bd("update", others, "--assignee", "somebody").ok()
    assert [r["task_id"] for r in loop(project, "--dry-run")["results"]] == [one, two]
    assert status(project, one)["status"] == "pending"


@pytest.mark.parametrize("command, why", [("exit 1", "the command failed"), ("true", "without completing"),
                                          ("kill -9 $$", "the command failed")])
def test_a_task_that_was_not_completed_is_blocked(project, command, why):
    one, = tasks(project, "one")
    assert loop(project, "--command", command)["results"][0]["status"] == "failed"
    task = status(project, one)
    assert task["status"] == "blocked" and why in task["blocked_reason"]


def test_consecutive_failures_end_the_loop(project):
    tasks(project, *"abcde")
    done = loop(project, "--command", "exit 1", "--max-fails", "2")
    assert (done["failed"], done["total"], done["stopped_by"]) == (2, 2, "max_fails")
    assert loop(project, "--command", DONE, "--max-tasks", "1")["stopped_by"] == "max_tasks"


def test_a_command_that_takes_too_long_is_killed(project):
    """SIGTERM first, then SIGKILL."""
    one, = tasks(project, "one")
    began = time.monotonic()
    done = loop(project, "--command", f"trap 'touch {project.out}/asked; exit' TERM; while :; do sleep 0.05; done",
                "--task-timeout", "1s")
    assert done["results"][0]["status"] == "timeout" and (project.out / "asked").exists()
    assert time.monotonic() - began < patience(5) and "time limit" in status(project, one)["blocked_reason"]


def test_the_hook_after_each_task(project):
    one, = tasks(project, "one")
    loop(project, "--command", DONE, "--post-hook", f'echo "$VYBE_TASK_ID $VYBE_TASK_STATUS" >{project.out}/hook')
    assert (project.out / "hook").read_text() == f"{one} completed\n"


def test_an_interrupted_loop_ends_cleanly(project):
    one, two = tasks(project, "one", "two")
    running = subprocess.Popen([str(BIN / "vybe"), "loop", "--cooldown", "0s", "--command",
                                f"touch {project.out}/begun; exec sleep 60"], cwd=project.path, stdout=subprocess.PIPE,
                               env=environment(**project.env), restore_signals=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while not (project.out / "begun").exists():
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    reply = json.loads(running.communicate(timeout=20)[0])["data"]
    assert reply["stopped_by"] == "signal" and reply["total"] == 1
    assert status(project, one)["status"] == "blocked" and status(project, two)["status"] == "pending"


def test_stats(project):
    tasks(project, "one", "two")
    loop(project, "--command", DONE, "--max-tasks", "1")
    loop(project, "--command", "false")
    stats = project.run("loop", "stats", program="vybe").ok().json["data"]
    assert (stats["runs"], stats["avg_completed"], stats["avg_failed"]) == (2, 0.5, 0.5) and len(stats["history"]) == 2


def test_two_loops_share_the_work(project):
    ids = tasks(project, *map(str, range(8)))
    running = [project.spawn("loop", "--cooldown", "0s", "--agent", f"l{i}", "--command",
                             DONE.replace("d-", f"d{i}-"), program="vybe", stdout=subprocess.PIPE,
                             env={"VYBE_AGENT": f"l{i}"}, stderr=subprocess.DEVNULL) for i in range(2)]
    results = [json.loads(p.communicate(timeout=60)[0])["data"]["results"] for p in running]
    assert sorted(r["task_id"] for one in results for r in one) == sorted(ids)
    assert all(r["status"] == "completed" for one in results for r in one)


def test_without_a_command(project):
    assert project.run("loop", program="vybe").json["error_code"] == "USAGE"


def test_the_command_works_on_the_same_store(project, tmp_path):
    db = ["--db-path", "own.db"]
    project.run("task", "create", "--title", "one", "--request-id", "t", *db, program="vybe").ok()
    assert loop(project, "--command", f"cd / && {DONE}", *db)["completed"] == 1


def test_the_post_hook_runs_to_its_end_when_the_loop_is_stopped(project):
    tasks(project, "one")
    began, ended = project.out / "began", project.out / "ended"
    running = subprocess.Popen([BIN / "vybe", "loop", "--cooldown", "0s", "--command", f"touch {began}; sleep 60", "--post-hook",
                                f"sleep 0.3; echo $VYBE_TASK_STATUS >{ended}"], cwd=project.path,
                               env=environment() | project.env, stdout=subprocess.PIPE)
    while not began.exists():
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    assert json.loads(running.communicate(timeout=20)[0])["data"]["stopped_by"] == "signal"
    assert ended.read_text() == "failed\n"


LIMITED = 'echo run >>"$OUT/runs"; [ -e "$OUT/again" ] || { touch "$OUT/again"; %s; exit 1; }; ' + DONE


def test_a_rate_limit_is_waited_for_and_the_claim_is_kept(project):
    """The lease is shorter than the wait, so it must have been renewed meanwhile."""
    project.run("init", program="bd").ok()
    project.run("config", "set", "claim.lease", "1s", program="bd").ok()
    (one,) = tasks(project, "one")
    began = time.time()
    done = loop(project, "--command", LIMITED % 'echo "Claude AI usage limit reached|$(($(date +%s) + 4))"')
    assert time.time() - began >= 3 and (project.out / "runs").read_text() == "run\nrun\n"
    assert (done["completed"], done["failed"], done["stopped_by"]) == (1, 0, "no_tasks")
    events = project.run("events", "list", "--all", "--kind", "rate_limit", program="vybe").ok().json["data"]["events"]
    assert [(event["agent_name"], event["task_id"]) for event in events] == [("looper", one)]
    assert events[0]["message"] == f"waits for the reset of the host's rate limit at {events[0]['metadata']['until']}"


def test_a_reset_that_is_too_late_ends_the_loop_and_frees_the_task(project):
    one, two = tasks(project, "one", "two")
    done = loop(project, "--max-wait", "1h", "--command", LIMITED % 'echo "try again in 3 hours 2 minutes: usage limit" >&2')
    assert (done["completed"], done["failed"], done["total"], done["stopped_by"]) == (0, 0, 1, "rate_limit")
    assert [r["status"] for r in done["results"]] == ["rate_limited"]
    assert [status(project, id)["status"] for id in (one, two)] == ["pending", "pending"]


def test_a_completed_task_stays_completed_whatever_the_output_says(project):
    tasks(project, "one")
    assert loop(project, "--command", DONE + "; echo usage limit reached, resets in 5h")["completed"] == 1
