"""Changes files between two system calls of a command, as another user who is fast enough can."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from conftest import BIN, Result, environment
from harness import STRACE

STOPPED = "--- stopped by SIGSTOP ---"


def trace(log, command, *options):
    return [STRACE, "-qq", "-o", log, "-e", "trace=%file", *options, str(BIN / command[0]), *command[1:]]


def calls_before(command, call, env, cwd):
    """For each system call with a path that matches: the name of the one before it, and how many there were of that."""
    with tempfile.NamedTemporaryFile("r") as log:
        subprocess.run(trace(log.name, command), env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=60)
        lines = [line for line in log.read().splitlines() if not line.startswith("---")]
    names = [line.split("(")[0] for line in lines]
    return [(names[at - 1], names[:at].count(names[at - 1])) for at, line in enumerate(lines) if re.search(call, line)]


def wait_until_stopped(log, process):
    while STOPPED not in log.read():
        log.seek(0)
        assert process.poll() is None, "the command has ended"
        time.sleep(0.01)


def run_stopped(command, before, call, change, env, cwd):
    """Stops the command after a call that calls_before() has named."""
    name, count = before
    with tempfile.NamedTemporaryFile("r") as log:
        process = subprocess.Popen(trace(log.name, command, "-e", f"inject={name}:signal=SIGSTOP:when={count}"),
                                   env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        wait_until_stopped(log, process)
        [child] = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
        change()
        os.kill(int(child), signal.SIGCONT)
        out, err = process.communicate(timeout=60)
        log.seek(0)
        after = log.read().split(STOPPED, 1)[1].splitlines()
    following = next(line for line in after if line and not line.startswith("---"))
    assert re.search(call, following), f"stopped before another call: {following}"
    return Result(subprocess.CompletedProcess(command, process.returncode, out, err))


def run_with_change(command, call, change, cwd, rehearsal=None, **env):
    """Runs the command, stops it right before the first system call that matches `call`, and lets `change` change files.

    The call is found in a rehearsal, in the folder of that name if the command cannot be repeated.
    """
    env = environment(**env)
    return run_stopped(command, calls_before(command, call, env, rehearsal or cwd)[0], call, change, env, cwd)


def run_with_each_change(command, call, prepare, change, cwd, **env):
    """Runs the command once for each system call that matches, and lets `change` change files right before that call.

    `prepare` restores the files before each run.
    """
    env = environment(**env)
    prepare()
    moments = calls_before(command, call, env, cwd)
    for moment in moments:
        prepare()
        yield run_stopped(command, moment, call, change, env, cwd)


def exchange(one, other):
    """The folder has another content from now on; the former content has the other name."""
    shutil.move(one, f"{one}.moved")
    shutil.move(other, one)
    shutil.move(f"{one}.moved", other)
