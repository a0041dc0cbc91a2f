"""Sessions of hosts: the next session in the same workspace adopts the work of an ended one; two that run at once
share nothing."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

from conftest import BIN, environment, git
from vybe import vybe  # noqa: F401 (a fixture)

HOST = """
import json, subprocess, sys
for line in sys.stdin:
    call = json.loads(line)
    done = subprocess.run(["/bin/sh", "-c", call["command"]], input=json.dumps(call["said"]), capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done
    print(json.dumps(done.stdout), flush=True)
"""


class Host:
    """A process that calls the installed hooks, as a host does."""

    def __init__(self, project, session, host="claude", cwd=None, after="", **env):
        self.project, self.session, self.host, self.after = project, session, host, after
        self.cwd = str(cwd or project.path)
        self.process = subprocess.Popen([sys.executable, "-c", HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        cwd=self.cwd, env=environment(**env))
        self.agent = None

    def send(self, event, **said):
        said = {"hook_event_name": event, "session_id": self.session, "cwd": self.cwd, **said}
        command = f"'{BIN}/abacus' vybe hook handle --host {self.host}{self.after}"
        self.process.stdin.write(json.dumps({"command": command, "said": said}) + "\n")
        self.process.stdin.flush()

    def heard(self):
        out = json.loads(self.process.stdout.readline())
        return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out.startswith("{") else out

    def hook(self, event, **said):
        self.send(event, **said)
        return self.heard()

    def start(self, source="startup"):
        return self.named(self.hook("SessionStart", source=source))

    def named(self, text):
        found = re.search(r"--agent (\S+)", text)
        self.agent = found and found[1]
        return text

    def tool(self):
        return self.hook("PostToolUse", tool_name="Bash", tool_input={"command": "make"})

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@pytest.fixture
def host(vybe):
    made = []

    def start(session, **kw):
        made.append(Host(vybe, session, **kw))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.close()


def work(vybe, host, task):
    """The work of a session: it begins a task, and leaves notes and memory."""
    vybe.ok("task", "begin", "--id", task, agent=host.agent)
    for kind, message in (("progress", "the lexer is done"), ("reasoning", "the grammar is LL(1)")):
        vybe.push(task_id=task, event={"kind": kind, "message": message}, agent=host.agent)
    for scope, id in (("task", task), ("project", ""), ("agent", host.agent)):
        vybe.ok("memory", "set", "-k", f"of-{scope}", "-v", f"{scope} value", "-s", scope, "--scope-id", id, agent=host.agent)
    host.tool()


LEFT = ("the lexer is done", "the grammar is LL(1)", "task value", "project value", "agent value")


def begun(vybe, host, session="s1", **kw):
    """A session at work on a task that is not the next one."""
    vybe.task("urgent", "--priority", "5")
    first = host(session, **kw)
    first.start()
    task = vybe.task("Fix the parser")["id"]
    work(vybe, first, task)
    return first, task


def assert_adopted(vybe, text, first, second, task):
    assert f"You continue the session {first.agent}, " in text and f"Your task: {task} (in_progress" in text
    assert f"> task {task} Fix the parser" in text and all(word in text for word in LEFT)
    assert second.agent != first.agent and vybe.show(task)["assignee"] == second.agent


def assert_left_alone(vybe, text, first, task):
    assert "You continue" not in text and f"Your task: {task}" not in text
    assert f"do not work on their tasks:\n> {first.agent}: {task} Fix the parser" in text
    assert vybe.show(task)["assignee"] == first.agent


def test_a_new_session_adopts_the_work_of_an_ended_one(vybe, host):
    first, task = begun(vybe, host)
    epoch = vybe.show(task)["assignee_at"]
    assert first.hook("SessionEnd", reason="prompt_input_exit") == ""
    second = host("s2")
    text = second.start()
    assert_adopted(vybe, text, first, second, task)
    assert "which has ended" in text and vybe.show(task)["assignee_at"] > epoch
    assert vybe.resume(agent=second.agent)["focus_task_id"] == task
    [command] = re.findall(r"  done:  (.*)", text)
    subprocess.run(["/bin/sh", "-c", command.replace("REQ", "done-1")], cwd=vybe.path, check=True, stdout=subprocess.DEVNULL,
                   env=environment(PATH=f"{BIN}:{os.environ['PATH']}"))
    assert vybe.show(task)["status"] == "closed"


def test_a_new_session_adopts_the_work_of_a_killed_one(vybe, host):
    first, task = begun(vybe, host)
    first.kill()
    second = host("s2")
    text = second.start()
    assert_adopted(vybe, text, first, second, task)
    assert "whose host process has ended" in text


def test_each_session_continues_the_one_before(vybe, host):
    first, task = begun(vybe, host)
    names = [first.agent]
    for session in ("s2", "s3", "s1"):
        first.hook("SessionEnd")
        second = host(session)
        assert_adopted(vybe, second.start("resume" if session == "s1" else "startup"), first, second, task)
        first = second
        names.append(first.agent)
    assert len(set(names)) == 3 and names[0] == names[3]


def test_sessions_that_run_at_once_never_take_from_each_other(vybe, host):
    first, task = begun(vybe, host)
    before = vybe.show(task)
    second = host("s2")
    for source in ("startup", "resume", "clear", "compact"):
        assert_left_alone(vybe, second.start(source), first, task)
    other = re.search(r"Your task: (\S+)", second.start())[1]
    vybe.ok("task", "begin", "--id", other, agent=second.agent)
    assert_left_alone(vybe, second.start("compact"), first, task)
    assert other not in first.start("compact").split("Other sessions")[0]
    assert {k: vybe.show(task)[k] for k in ("assignee", "assignee_at")} == {k: before[k] for k in ("assignee", "assignee_at")}
    assert vybe.show(other)["assignee"] == second.agent


def test_a_session_in_a_long_tool_call_keeps_its_task(vybe, host):
    """It reports nothing for longer than the stale limit, but its host runs, and its lease is live."""
    now = 1_800_000_000_000
    vybe.env["ABACUS_NOW"] = str(now)
    first, task = begun(vybe, host, ABACUS_NOW=now)
    second = host("s2", ABACUS_NOW=now + 50 * 60_000)
    assert_left_alone(vybe, second.start(), first, task)
    second.hook("SessionEnd")
    third = host("s3", ABACUS_NOW=now + 61 * 60_000)
    assert_adopted(vybe, third.start(), first, third, task)


def told(vybe, event, session, now, **said):
    """A hook whose host is this very process, as with a host of several sessions."""
    said = {"hook_event_name": event, "session_id": session, "cwd": str(vybe.path), **said}
    out = vybe.run("hook", "handle", "--host", "claude", program="vybe", stdin=json.dumps(said).encode(),
                   env={"ABACUS_NOW": str(now)}).ok().out
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def test_without_a_host_process_only_a_stale_session_counts_as_ended(vybe):
    now = 1_800_000_000_000
    vybe.env["ABACUS_NOW"] = str(now)
    task = vybe.task()["id"]
    told(vybe, "SessionStart", "s1", now)
    vybe.ok("task", "begin", "--id", task, agent="claude-s1")
    told(vybe, "PostToolUse", "s1", now, tool_name="Bash")
    assert "You continue" not in told(vybe, "SessionStart", "s2", now + 15 * 60_000 - 1)
    assert vybe.show(task)["assignee"] == "claude-s1"
    assert "claude-s1, which was last seen 15 minutes ago" in told(vybe, "SessionStart", "s3", now + 15 * 60_000)
    assert vybe.show(task)["assignee"] == "claude-s3"


@pytest.mark.parametrize("after", ["; true", " | cat"])
def test_a_shell_around_the_hook_is_not_the_host(vybe, host, after):
    """Every event then comes from a different process, which has already ended."""
    first, task = begun(vybe, host, after=after)
    assert_left_alone(vybe, host("s2").start(), first, task)
    first.kill()
    second = host("s3")
    assert_adopted(vybe, second.start(), first, second, task)


def test_only_one_of_two_sessions_that_begin_at_once_adopts(vybe, host):
    first, task = begun(vybe, host)
    first.hook("SessionEnd")
    both = [host("s2"), host("s3")]
    for one in both:
        one.send("SessionStart", source="startup")
    texts = [one.named(one.heard()) for one in both]
    [adopted] = [one for one, text in zip(both, texts) if "You continue" in text]
    assert vybe.show(task)["assignee"] == adopted.agent


def test_two_ended_sessions_are_adopted_by_two_new_ones(vybe, host):
    first, task = begun(vybe, host)
    second = host("s2")
    second.start()
    other = vybe.task("other")["id"]
    vybe.ok("task", "begin", "--id", other, agent=second.agent)
    for one in (first, second):
        one.hook("SessionEnd")
    third, fourth = host("s3"), host("s4")
    text = third.start()
    assert f"> task {other} other" in text and f"for a new session to adopt:\n> {first.agent}: {task} Fix the parser" in text
    assert_adopted(vybe, fourth.start(), first, fourth, task)


def test_a_session_whose_task_was_adopted_is_notified_once(vybe, host):
    first, task = begun(vybe, host)
    first.hook("SessionEnd")
    second = host("s2")
    second.start()
    text = first.tool()
    assert f"You have lost the claim on your task {task}." in text and f"> claimed by {second.agent}\n" in text
    assert first.tool() == "" and "You have lost" not in first.hook("UserPromptSubmit", prompt="go on")
    assert vybe.show(task)["assignee"] == second.agent
    assert_left_alone(vybe, first.start("resume"), second, task)


def test_reservations_and_mail_are_adopted_too(vybe, host):
    first, task = begun(vybe, host)
    for name in (first.agent, "w-two"):
        vybe.run("agent", "register", "--name", name, "--role", "parser", program="bb").ok()
    vybe.run("agent", "reserve", "--agent", first.agent, "--scope", "src/*", "--bead", task, program="bb").ok()
    vybe.run("agent", "send", "--from", "w-two", "--to", first.agent, "--bead", task, "--category", "HANDOFF", "--subject",
             "take the printer too", "--body", "b", program="bb").ok()
    first.hook("SessionEnd")
    second = host("s2")
    text = second.start()
    assert "> reservation of src/*" in text and "take the printer too" in text
    [held] = vybe.run("agent", "status", "--json", program="bb").ok().json["data"]["reservations"]
    assert (held["scope"], held["agent_id"], held["bead_id"]) == ("src/*", second.agent, task) and held["epoch"] == 2
    [event] = vybe.run("agent", "events", "--json", program="bb").ok().json["data"][:1]
    assert event["event_type"] == "RESUME" and event["payload"]["prior_session_agent"] == first.agent
    assert event["payload"]["adopted_agent"] == second.agent and event["payload"]["resume_reason"] == "in_progress_ownership"
    [command] = re.findall(r"Mail to acknowledge \((bb agent ack [^)]*)\)", text)
    vybe.run(*command.split()[1:], program="bb").ok()
    assert "take the printer too" not in second.start("compact")
    vybe.run("agent", "send", "--from", "w-two", "--to", first.agent, "--bead", task, "--category", "INFO", "--subject", "late",
             "--body", "to the old name", program="bb").ok()
    assert "to the old name" in second.tool() and second.tool() == ""


def reserve(vybe, host, scope):
    host.start()
    host.agent = f"claude-{host.session}"
    vybe.run("agent", "register", "--name", host.agent, "--role", "x", program="bb").ok()
    vybe.run("agent", "reserve", "--agent", host.agent, "--scope", scope, "--bead", "b-1", program="bb").ok()
    host.hook("SessionEnd")


def test_a_reservation_is_adopted_where_its_files_are_changed(vybe, host):
    (vybe.path / "src").mkdir()
    (vybe.path / "src/a.c").write_text("one")
    git(vybe.path, "add", "src")
    git(vybe.path, "commit", "-qm", "one")
    reserve(vybe, host("s1"), "src")
    assert "You continue" not in host("s2").start()
    (vybe.path / "doc").mkdir()
    (vybe.path / "doc/new.md").write_text("new")
    reserve(vybe, host("s3"), "doc")
    assert ("You continue the session claude-s3, which has ended.\nAdopted from it, and now yours:\n> reservation of doc\n"
            in host("s4").start())
    held = vybe.run("agent", "status", "--json", program="bb").ok().json["data"]["reservations"]
    assert {r["scope"]: r["agent_id"] for r in held} == {"src": "claude-s1", "doc": "claude-s4"}


def test_without_evidence_only_cursor_and_memory_are_adopted(vybe, host):
    first, task = begun(vybe, host)
    vybe.ok("task", "complete", "--id", task, "--outcome", "done", "--summary", "s", agent=first.agent)
    cursor = vybe.resume(agent=first.agent)["new_cursor"]
    first.hook("SessionEnd")
    second = host("s2")
    text = second.start()
    assert "You continue" not in text and "agent value" in text and "Your task: " in text
    assert vybe.resume(agent=second.agent)["old_cursor"] >= cursor


def test_a_task_that_was_only_in_focus_stays_in_focus(vybe, host):
    first = host("s1")
    first.start()
    task = vybe.task("chosen")["id"]
    vybe.resume("--focus", task, agent="claude-s1")
    vybe.task("urgent", "--priority", "9")
    first.hook("SessionEnd")
    text = host("s2").start()
    assert f"Your task: {task} (pending" in text and "You continue" not in text


def test_another_worktree_is_another_workspace_and_a_folder_of_it_is_the_same(vybe, host, tmp_path):
    git(vybe.path, "commit", "-q", "--allow-empty", "-m", "one")
    git(vybe.path, "worktree", "add", "-q", str(tmp_path / "other"))
    (vybe.path / "sub").mkdir()
    first, task = begun(vybe, host)
    first.hook("SessionEnd")
    assert "You continue" not in host("s2", cwd=tmp_path / "other").start()
    second = host("s3", cwd=vybe.path / "sub")
    assert_adopted(vybe, second.start(), first, second, task)


def test_an_agent_that_the_environment_names_neither_adopts_nor_is_adopted(vybe, host):
    first, task = begun(vybe, host)
    first.hook("SessionEnd")
    assert "You continue" not in host("s2", VYBE_AGENT="w-1").start()
    assert vybe.show(task)["assignee"] == first.agent
    vybe.ok("task", "begin", "--id", vybe.task("named")["id"], agent="w-1")
    named = host("s3", VYBE_AGENT="w-1")
    named.start()
    named.hook("SessionEnd")
    second = host("s4")
    assert_adopted(vybe, second.start(), first, second, task)


def test_commands_of_a_session_act_as_its_agent_and_claims_of_bd_are_adopted(vybe, host, tmp_path):
    vybe.bd("init").ok()
    for title in ("claimed", "left over"):
        vybe.create(title)
    script = tmp_path / "env.sh"
    first = host("s1", CLAUDE_ENV_FILE=script)
    for source in ("startup", "compact"):
        first.start(source)
    assert script.read_text() == "export BB_AGENT_ID='claude-s1'\n"
    done = subprocess.run(["/bin/sh", "-c", f". {script}; '{BIN}/bd' ready --claim --json"], cwd=vybe.path, check=True,
                          capture_output=True, env=environment())
    [bead] = json.loads(done.stdout)
    assert bead["assignee"] == "claude-s1"
    first.hook("SessionEnd")
    second = host("s2", BB_AGENT_ID="claude-s2")  # as if the host gave it to the hooks, too
    assert f"> task {bead['id']} {bead['title']}" in second.start() and vybe.show(bead["id"])["assignee"] == "claude-s2"


def test_the_name_that_the_user_gave_is_not_replaced_in_commands(vybe, host, tmp_path):
    host("s1", CLAUDE_ENV_FILE=tmp_path / "env.sh", VYBE_AGENT="w-1").start()
    host("s2", CLAUDE_ENV_FILE="env.sh").start()
    host("s3", CLAUDE_ENV_FILE=tmp_path / "no/where").start()
    assert not (tmp_path / "env.sh").exists() and not (vybe.path / "env.sh").exists()


@pytest.mark.parametrize("source, adopts", [("startup", True), ("resume", True), ("clear", True), ("compact", False)])
def test_a_compaction_does_not_start_a_session(vybe, host, source, adopts):
    first, task = begun(vybe, host)
    first.hook("SessionEnd", reason="clear")
    assert ("You continue" in host("s2").start(source)) == adopts


def test_events_that_arrive_after_the_end_do_not_revive_a_session(vybe, host):
    first, task = begun(vybe, host)
    for event in ("SessionEnd", "Stop", "SubagentStop", "PreCompact", "SessionEnd"):
        first.hook(event)
    second = host("s2")
    assert_adopted(vybe, second.start(), first, second, task)
    first.hook("SessionEnd")
    assert "You continue" not in host("s3").start()


def test_work_after_the_end_revives_a_session(vybe, host):
    first, task = begun(vybe, host)
    first.hook("SessionEnd")
    first.hook("UserPromptSubmit", prompt="once more")
    assert_left_alone(vybe, host("s2").start(), first, task)


def test_compaction_does_not_end_a_session(vybe, host):
    first, task = begun(vybe, host)
    first.hook("PreCompact")
    assert_left_alone(vybe, host("s2").start(), first, task)


@pytest.mark.parametrize("program, event", [("gemini", "SessionStart"), ("codex", "SessionStart"), ("kimi", "UserPromptSubmit"),
                                            ("opencode", "SessionStart")])
def test_every_host_continues_the_work_of_another(vybe, host, program, event):
    first, task = begun(vybe, host)
    first.kill()
    second = host("s2", host=program)
    text = second.named(second.hook(event, prompt="what were we working on?"))
    assert_adopted(vybe, text, first, second, task)
    assert second.agent == f"{program}-s2"


def test_a_store_of_a_version_without_sessions(vybe, host):
    first, task = begun(vybe, host)
    with sqlite3.connect(vybe.home / "vybe.db") as db:
        db.execute("DROP TABLE sessions")
    assert vybe.resume()["focus_task_id"]
    first.hook("SessionEnd")
    second = host("s2")
    assert_adopted(vybe, second.start(), first, second, task)
