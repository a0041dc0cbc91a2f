"""Many agents at once: one winner, nothing lost or doubled, and every file complete at every moment."""
import json
import threading

import pytest

from conftest import Project
from harness import start_together


@pytest.fixture
def crowd(tmp_path):
    """A hundred agents."""
    path = tmp_path / "project"
    path.mkdir()
    project = Project(path)
    for i in range(100):
        project.bb("agent", "register", "--name", f"agent-{i}", "--role", "worker").ok()
    return project


def together(project, commands):
    return [done.json for done in start_together(project, [["agent", *command, "--json"] for command in commands])]


def test_one_scope_has_one_winner(crowd):
    replies = together(crowd, [["reserve", "--agent", f"agent-{i}", "--scope", "src", "--bead", "bb-1"]
                               for i in range(50)])
    [won] = [r["data"] for r in replies if r["ok"]]
    lost = [r["error"] for r in replies if not r["ok"]]
    assert len(lost) == 49 and {e["code"] for e in lost} == {"RESERVATION_CONFLICT"}
    assert {(e["details"]["agent_id"], e["details"]["expires_at"]) for e in lost} == {
        (won["agent_id"], won["expires_at"])}
    history = (crowd.path / ".beadboard/agent/reservations/history.jsonl").read_text().splitlines()
    assert [json.loads(line)["agent_id"] for line in history] == [won["agent_id"]]


def letter(i, to, subject):
    return ["send", "--from", f"agent-{i}", "--to", f"agent-{to}", "--bead", "bb-1", "--category", "HANDOFF",
            "--subject", subject, "--body", "x"]


def test_nothing_is_lost_and_every_file_parses_at_every_moment(crowd):
    """A hundred agents send, read and acknowledge at once, while a reader parses every snapshot repeatedly."""
    home = crowd.path / ".beadboard" / "agent"
    over, broken, looked = threading.Event(), [], []

    def look():
        while not over.is_set():
            for file in [*home.rglob("*.json")]:
                try:
                    json.loads(file.read_text())
                except FileNotFoundError:
                    pass
                except ValueError as error:
                    broken.append((file, error))
            looked.append(1)

    looker = threading.Thread(target=look)
    looker.start()
    first = together(crowd, [letter(i, (i + 1) % 100, str(i)) for i in range(100)])
    sent = [r["data"]["messages"][0] for r in first]
    assert len({m["message_id"] for m in sent}) == 100
    replies = together(crowd, [["ack", "--agent", m["to_agent"], "--message", m["message_id"]] for m in sent] +
                       [["read", "--agent", m["to_agent"], "--message", m["message_id"]] for m in sent] +
                       [letter(i, (i + 7) % 100, str(100 + i)) for i in range(100)])
    over.set()
    looker.join()
    assert broken == [] and looked and all(r["ok"] for r in replies)
    assert all(r["data"]["state"] == "acked" for r in replies[:100])
    inboxes = [json.loads(crowd.bb("agent", "inbox", "--agent", f"agent-{i}", "--json").out)["data"] for i in range(100)]
    assert sorted(int(m["subject"]) for box in inboxes for m in box) == list(range(200))
    assert sorted(m["state"] for box in inboxes for m in box) == ["acked"] * 100 + ["unread"] * 100
    assert len((home / "events.jsonl").read_text().splitlines()) == 200
    status = json.loads(crowd.bb("agent", "status", "--json").out)["data"]
    assert status["counts"] == {"unread": 100, "read": 0, "acked": 100} and len(status["unacked"]) == 100
