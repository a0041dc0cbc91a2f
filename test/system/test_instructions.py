"""No command gets more expensive unnoticed: instructions counted by callgrind are compared with the baseline in the
tree."""
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[1] / "bench"
BUILD = os.environ.get("ABACUS_BUILD", "build")
ALLOWED = 1.05


def test_every_command_is_counted_or_the_reason_is_given():
    """The commands that `make bench-instructions` counts and those it leaves out are together all commands of the
    reference."""
    sys.path.insert(0, str(BENCH))
    import instructions
    reference = (BENCH.parents[1] / "doc" / "commands.md").read_text()
    commands = set(re.findall(r"^### `((?:abacus|bb|bd|vybe)[^`]*)`", reference, re.M))
    without = {name.strip() for names in instructions.UNCOUNTED.values() for name in names.split(";")}
    counted = {max((c for c in commands if f"{line} ".startswith(f"{c} ")), key=len, default=line)
               for line in instructions.lines()}
    assert commands - counted - without == set(), "add them to READS, WRITES or UNCOUNTED in test/bench/instructions.py"
    assert without & counted == set() and without - commands == set()


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_no_command_costs_more_than_the_baseline_allows(tmp_path):
    baseline, made = json.loads((BENCH / "baseline.json").read_text()), tmp_path / "made.json"
    subprocess.run([sys.executable, BENCH / "instructions.py", BUILD, "--baseline", made], check=True)
    counted = json.loads(made.read_text())
    if counted["toolchain"] != baseline["toolchain"]:
        pytest.skip(f"the baseline was counted with another toolchain: {baseline['toolchain']}")
    before = baseline["instructions"]
    dearer = {command: f"{now} instructions, {now / before[command]:.2f} times the baseline"
              for command, now in counted["instructions"].items() if now > ALLOWED * before[command]}
    assert not dearer, "make it cheaper, or run 'make bench-baseline' and say why in the commit"


def instructions(folder, *command):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], check=True,
                          cwd=folder, capture_output=True, text=True, env={**os.environ, "ABACUS_AUTOSYNC": "1"})
    return int(re.findall(r"Collected : (\d+)", done.stderr)[0])


# What sharing may add to any command: a few microseconds.
SHARING = 10_000


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_commands_cost_the_same_with_sharing_on(tmp_path):
    """A write notifies the running share process; a read does nothing more."""
    build = pathlib.Path(BUILD).resolve()
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "hub.git"], check=True)
    for name in ("on", "off"):
        folder = tmp_path / name
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(["git", "-C", folder, "remote", "add", "origin", "../hub.git"], check=True)
        for command in ("abacus init", "bb agent register --name amber-otter --role ui", "bb post first --agent amber-otter",
                        *["abacus share on"] * (name == "on")):
            program, *args = command.split()
            subprocess.run([build / "bin" / program, *args], cwd=folder, check=True, capture_output=True,
                           env={**os.environ, "ABACUS_AUTOSYNC": "0"})
    running = open(tmp_path / "on" / ".git" / "abacus" / "machines" / "share.lock", "w")
    fcntl.flock(running, fcntl.LOCK_EX)  # as the share process holds it
    for command in ("bb log", "bb agent inbox --agent amber-otter", "bb agent heartbeat --agent amber-otter",
                    "bb post second --agent amber-otter"):
        program, *args = command.split()
        off, on = (instructions(tmp_path / name, build / "bin" / program, *args) for name in ("off", "on"))
        assert on <= ALLOWED * off + SHARING, command
