"""Many agents at once: one winner, nothing lost, nothing twice, every file whole at every moment."""
import json
import os
import subprocess
import threading

import pytest

from conftest import BIN, Project, environment
from harness import finish


@pytest.fixture
def crowd(tmp_path):
    """Twenty agents."""
    path = tmp_path / "project"
    path.mkdir()
    project = Project(path)
    for i in range(20):
        project.bb("agent", "register", "--name", f"agent-{i}", "--role", "worker").ok()
    return project


def together(project, commands):
    """Programs that all wait at a gate, and then start in the same moment."""
    gate, opener = os.pipe()
    waiting = [subprocess.Popen(["sh", "-c", 'read _; exec "$@" </dev/null', "sh", str(BIN / "bb"), "agent", *command,
                                 "--json"], stdin=gate, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=project.path, env=environment()) for command in commands]
    os.close(gate)
    os.close(opener)
    return [json.loads(finish(p).out) for p in waiting]


def test_one_scope_has_one_winner(crowd):
    replies = together(crowd, [["reserve", "--agent", f"agent-{i % 20}", "--scope", "src", "--bead", "bb-1"]
                               for i in range(50)])
    owners = {r["data"]["reservation"]["agent_id"] for r in replies if r["ok"]}
    assert len(owners) == 1
    for reply in replies:
        if not reply["ok"]:
            assert reply["error"]["code"] == "RESERVATION_CONFLICT"
            assert reply["error"]["details"]["agent_id"] in owners and reply["error"]["details"]["expires_at"]


def test_nothing_is_lost_and_every_file_parses_at_every_moment(crowd):
    """Readers look at every snapshot while a hundred messages are sent, read and accepted."""
    home = crowd.path / ".beadboard" / "agent"
    over, broken = threading.Event(), []

    def look():
        while not over.is_set():
            for file in [*home.rglob("*.json")]:
                try:
                    json.loads(file.read_text())
                except FileNotFoundError:
                    pass
                except ValueError as error:
                    broken.append((file, error))

    looker = threading.Thread(target=look)
    looker.start()
    sent = together(crowd, [["send", "--from", f"agent-{i % 20}", "--to", f"agent-{(i + 1) % 20}", "--bead", "bb-1",
                             "--category", "HANDOFF", "--subject", str(i), "--body", "x"] for i in range(100)])
    ids = [r["data"]["messages"][0] for r in sent]
    assert len({m["message_id"] for m in ids}) == 100
    acked = together(crowd, [["ack", "--agent", m["to_agent"], "--message", m["message_id"]] for m in ids for _ in "12"])
    over.set()
    looker.join()
    assert broken == [] and all(r["ok"] and r["data"]["state"] == "acked" for r in acked)
    inboxes = [json.loads(crowd.bb("agent", "inbox", "--agent", f"agent-{i}", "--json").out)["data"] for i in range(20)]
    assert sorted(int(m["subject"]) for box in inboxes for m in box) == list(range(100))
    assert len((home / "events.jsonl").read_text().splitlines()) == 100
