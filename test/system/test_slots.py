"""abacus run, abacus slots: counted resources of a machine, first come first served, freed when the process dies"""
import fcntl
import json
import signal
import subprocess
import sys

import pytest

from conftest import BIN, environment
from harness import patience, wait_until

ABACUS = str(BIN / "abacus")


@pytest.fixture
def machine(tmp_path):
    """Runs abacus with resources of its own."""
    started = []

    def run(*args, **kw):
        return subprocess.run([ABACUS, *args], cwd=tmp_path, capture_output=True, text=True, timeout=patience(30), env=run.env,
                              **kw)

    def start(*args):
        started.append(subprocess.Popen([ABACUS, *args], cwd=tmp_path, env=run.env))
        return started[-1]

    run.env = environment(XDG_STATE_HOME=tmp_path / "state", ABACUS_AGENT="amber-otter")
    run.start, run.path = start, tmp_path
    yield run
    for one in started:
        one.kill()
        one.wait()


def slots(machine, name="build"):
    return next(one for one in json.loads(machine("slots", "--json").stdout) if one["name"] == name)


def test_the_exit_status_and_signals_are_those_of_the_command(machine):
    machine("slots", "set", "build", "2").check_returncode()
    assert machine("run", "--need", "build:2", "--", "sh", "-c", "echo hi; exit 7").returncode == 7
    assert machine("run", "--need", "build", "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert machine("run", "--need", "build", "--", "echo", "--need", "-x").stdout == "--need -x\n"
    assert machine("run", "--need", "build", "--", "no-such-program").returncode == 127
    assert slots(machine)["held"] == []


def test_an_impossible_request_is_refused_with_the_next_step(machine):
    missing = machine("run", "--need", "build", "--", "true")
    assert missing.returncode == 1 and "abacus slots set build 1" in missing.stderr
    machine("slots", "set", "build", "2").check_returncode()
    assert "'build' has 2 slots, not 3" in machine("run", "--need", "build:3", "--", "true").stderr
    assert "--need is NAME or NAME:N" in machine("run", "--need", "build:x", "--", "true").stderr
    assert machine("slots", "set", "a/b", "1").returncode == 1
    machine("slots", "set", "build", "0").check_returncode()
    assert json.loads(machine("slots", "--json").stdout) == []


def test_slots_lists_the_holders_and_a_killed_holder_frees_its_slots_at_once(machine):
    machine("slots", "set", "build", "1").check_returncode()
    holder = machine.start("run", "--need", "build", "--", "sleep", "1000")
    wait_until(lambda: slots(machine)["held"], "the slot is held")
    held, = slots(machine)["held"]
    assert (held["pid"], held["agent"], held["command"]) == (holder.pid, "amber-otter", "sleep 1000")
    assert "1 of 1 slots held" in machine("slots").stdout
    late = machine("run", "--need", "build", "--timeout", "1s", "--", "true")
    assert late.returncode == 1 and "did not become free in time" in late.stderr
    waiting = machine.start("run", "--need", "build", "--", "true")
    wait_until(lambda: slots(machine)["waiting"] == 1, "one waits")
    holder.kill()
    holder.wait()
    assert waiting.wait(timeout=patience(30)) == 0 and slots(machine)["held"] == []


WORKER = """
import os, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(log, b"+%s\\n" % sys.argv[2].encode())
os.write(log, b"-%s\\n" % sys.argv[2].encode())
"""


def crowd(machine, slot_count, size):
    """Processes that start one after another while all slots are taken, and then run; returns their log."""
    machine("slots", "set", "build", str(slot_count)).check_returncode()
    gate = [machine.start("run", "--need", "build", "--", "sleep", "1000") for _ in range(slot_count)]
    wait_until(lambda: len(slots(machine)["held"]) == slot_count, "all slots are held")
    log, started = machine.path / "log", []
    for n in range(size):  # each has its ticket before the next one comes
        started.append(machine.start("run", "--need", "build", "--", sys.executable, "-S", "-c", WORKER, str(log), str(n)))
        wait_until(lambda: slots(machine)["waiting"] == n + 1, "it has its ticket")
    for one in gate:
        one.send_signal(signal.SIGKILL)
        one.wait()
    assert [one.wait(timeout=patience(60)) for one in started] == [0] * size
    return log.read_text().split()


def test_at_most_two_of_fifty_processes_have_one_of_two_slots_and_none_starves(machine):
    inside, most, began = set(), 0, []
    for line in crowd(machine, 2, 48):
        inside.add(line[1:]) if line[0] == "+" else inside.remove(line[1:])
        began += [int(line[1:])] if line[0] == "+" else []
        most = max(most, len(inside))
    assert most <= 2 and sorted(began) == list(range(48))


def test_slots_are_given_in_the_order_of_arrival(machine):
    assert crowd(machine, 1, 16) == [f"{sign}{n}" for n in range(16) for sign in "+-"]


def test_needs_of_the_same_resource_are_added_up(machine):
    machine("slots", "set", "build", "3").check_returncode()
    assert "'build' has 3 slots, not 4" in machine("run", "--need", "build:2", "--need", "build:2", "--", "true").stderr
    machine.start("run", "--need", "build:2", "--need", "build", "--", "sleep", "60")
    wait_until(lambda: len(slots(machine)["held"]) == 3, "three slots")


@pytest.mark.parametrize("counter", ["9223372036854775807", "-7", "x", "99999999999999999999999"])
def test_a_damaged_counter_of_tickets_does_not_stop_the_queue(machine, counter):
    machine("slots", "set", "build", "1").check_returncode()
    machine("run", "--need", "build", "--", "true").check_returncode()
    (machine.path / "state/abacus/slots/build.queue").write_text(counter + "\n")
    for _ in range(2):
        machine("run", "--need", "build", "--", "true").check_returncode()


def test_the_timeout_counts_while_another_process_keeps_the_counter(machine):
    machine("slots", "set", "build", "1").check_returncode()
    machine("run", "--need", "build", "--", "true").check_returncode()
    with open(machine.path / "state/abacus/slots/build.queue", "r+b") as queue:
        fcntl.lockf(queue, fcntl.LOCK_EX, 1, 0)
        late = machine("run", "--need", "build", "--timeout", "1s", "--", "true")
    assert late.returncode == 1 and "did not become free in time" in late.stderr
