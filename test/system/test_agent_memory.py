"""Many agents cost little memory. A sanitized program needs more than these tests allow."""
import json
import subprocess

from conftest import BIN, environment
from test_agent_identity import register
from test_agent_reservations import reserve


def in_little_memory(project, *args, program="bb"):
    """The reply of a command that may use at most 300 MB."""
    done = subprocess.run(["sh", "-c", 'ulimit -v 300000; exec "$@"', "sh", str(BIN / program), *args], cwd=project.path,
                          capture_output=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["data"]


def test_the_record_is_read_once_for_all_agents_whose_files_are_lost(empty):
    register(empty, "amber-otter")
    home = empty.path / ".beadboard/agent/agents"
    line = (home / "history.jsonl").read_text()
    names = [f"agent-{n:04}" for n in range(1000)]
    (home / "history.jsonl").write_text("".join(line.replace("amber-otter", name) for name in names))
    (home / "amber-otter.json").unlink()
    found = in_little_memory(empty, "agent", "list", "--json")
    assert [a["agent_id"] for a in found] == names


def test_a_thousand_agents_and_reservations_are_read_once(empty):
    register(empty, "amber-otter")
    reserve(empty, "amber-otter")
    home = empty.path / ".beadboard/agent"
    one, held = home / "agents/amber-otter.json", home / "reservations/history.jsonl"
    line = held.read_text()
    for n in range(1000):
        name = f"agent-{n:04}"
        (home / "agents" / f"{name}.json").write_text(one.read_text().replace("amber-otter", name))
    held.write_text(line + "".join(line.replace("amber-otter", f"agent-{n:04}").replace("src/lib", f"src/lib{n}")
                                   for n in range(1000)))
    assert in_little_memory(empty, "--register", "late-comer", program="bb-init")["decision"] == "registered"
