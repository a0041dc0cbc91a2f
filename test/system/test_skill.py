"""skills/abacus/SKILL.md: short enough to be read, and every command in it does what it says."""
import json
import os
import re
import subprocess

import pytest

from conftest import BIN, ROOT, environment

SKILL = (ROOT / "skills/abacus/SKILL.md").read_text()


def commands():
    return [line for block in re.findall(r"```sh\n(.*?)```", SKILL, re.S) for line in block.splitlines()]


def test_the_file_is_a_valid_skill():
    head = re.match(r"---\nname: abacus\ndescription: ([^\n]+)\n---\n", SKILL)
    assert head and len(head.group(1)) <= 1024


def test_the_skill_is_short():
    """A token is at least three and a half characters of such a text, and never more than a word with its
    punctuation."""
    words = re.findall(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]", SKILL)
    assert len(SKILL) / 3.5 < 1500 and len(words) < 1500, (len(SKILL), len(words))


@pytest.fixture
def shell(repo):
    """Runs a line as an agent would; the variables have its earlier results."""
    values = {"PATH": f"{BIN}:{os.environ['PATH']}"}

    def run(line, **more):
        done = subprocess.run(["sh", "-c", line], cwd=repo.path, capture_output=True, text=True, timeout=20,
                              env=environment(**{**values, **more}))
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout

    run.values = values
    return run


def prepare(shell):
    """Another agent, an evicted one with unfinished work, a bead, and mail."""
    shell("abacus init")
    shell("bb agent register --name peer-one --role ui")
    shell("bd create 'a thing' -p 1")
    long_ago = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}
    shell("bb agent register --name gone-one --role ui", **long_ago)
    bead = shell("bd create 'left behind' -p 4 --json")["id"]
    shell(f"bd --actor gone-one claim {bead}", **long_ago)
    shell.values["LEFT"] = bead


def test_every_command_works(shell):
    prepare(shell)
    shell.values |= {"GONE": "gone-one", "NAME": "my-name", "ROLE": "ui", "PEER": "peer-one"}
    ran = 0
    for line in commands():
        if line.startswith("bb-init --non-interactive"):
            line += " || true"  # somebody has left work: it recommends, and does not decide
        if "--bead \"$ID\":closed" in line:  # what it waits for is there
            shell("bb agent send --from peer-one --to my-name --bead $LEFT --category INFO --subject s --body b")
        said = shell(line)
        ran += 1
        if line.startswith("bb-init --non-interactive"):
            assert said["error"]["details"]["recommendation"]["agent_id"] == "gone-one"
        if line.startswith("bb-init --register"):
            shell.values["ABACUS_AGENT"] = said["data"]["agent"]["agent_id"]
            sent = shell("bb agent send --from peer-one --to my-name --bead $LEFT --category HANDOFF --subject s --body b --json")
            shell.values["MESSAGE"] = sent["data"]["messages"][0]["message_id"]
        if line.startswith("bd ready --claim"):
            shell.values["ID"] = said[0]["id"]
    assert ran == len(commands()) > 15
    status = shell("bb agent status --json")["data"]
    assert status["reservations"] == [] and {m["category"] for m in status["unacked"]} == {"BLOCKED", "HANDOFF"}
    assert [e["event_type"] for e in shell("bb agent events --json")["data"]] == ["HANDOFF", "BLOCKED", "HANDOFF", "RESUME"]


def test_the_skill_names_the_errors_and_words_of_the_protocol():
    for word in ("AMBIGUOUS_SESSION", "ADOPTION_REJECTED", "RESERVATION_CONFLICT", "RESERVATION_STALE_FOUND", "HANDOFF",
                 "BLOCKED", "DECISION", "INFO", "Seen", "Accepted", "--takeover-stale", "epoch", "heartbeat"):
        assert word in SKILL, word
