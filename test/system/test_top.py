"""`abacus top`, on a terminal of its own."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pytest

from conftest import BIN, environment
from harness import patience


class Terminal:
    """A program on a terminal, and what it has drawn."""

    def __init__(self, repo, *words, rows=30, columns=120):
        self.parent, child = pty.openpty()
        self.before = termios.tcgetattr(child)
        self.child = child
        self.resize(rows, columns)
        self.text = ""
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            fcntl.ioctl(child, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(child, fd)
            os.chdir(repo.path)
            os.execve(str(BIN / words[0]), words, environment(**repo.env, TERM="xterm"))
        self.status = None

    def resize(self, rows, columns):
        fcntl.ioctl(self.child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        while select.select([self.parent], [], [], seconds)[0]:
            self.text += os.read(self.parent, 65536).decode(errors="replace")

    def sees(self, words, seconds=5):
        end = time.monotonic() + patience(seconds)
        while time.monotonic() < end:
            self.read()
            if words in self.text:
                return True
        raise AssertionError(f"no {words!r} in {self.text[-2000:]!r}")

    def picture(self):
        """The last one that is whole, as lines with what paints them."""
        self.read()
        whole = [part for part in self.text.split("\x1b[H") if " lines" in part]
        return whole[-1].split("\r\n") if whole else []

    def forget(self):
        self.read()
        self.text = ""

    def press(self, keys):
        os.write(self.parent, keys.encode())

    def ends(self, seconds=2):
        end = time.monotonic() + patience(seconds)
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read()
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("it did not end")

    def restored(self):
        """Its own screen is left, the cursor is there, and keys are lines again."""
        return "\x1b[?25h" in self.text and "\x1b[?1049l" in self.text and termios.tcgetattr(self.child) == self.before

    def close(self):
        os.close(self.parent)
        os.close(self.child)


@pytest.fixture
def top(repo):
    repo.create("There from the start", "-p", "1")
    repo.run("agent", "register", "--name", "amber-otter", "--role", "backend", program="bb").ok()
    terminal = Terminal(repo, "abacus", "top")
    yield terminal
    try:
        os.kill(terminal.pid, signal.SIGKILL)
        os.waitpid(terminal.pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
    terminal.close()


def test_it_shows_what_is_there_and_what_happens(repo, top):
    top.sees("There from the start")
    top.sees("1 of 1 agents active")
    top.forget()
    bead = repo.create("Made meanwhile")
    top.sees("Made meanwhile", 1.5)
    top.forget()
    repo.run("claim", bead, env={"BD_ACTOR": "amber-otter"}).ok()
    top.sees("in_progress", 1.5)
    top.press("q")
    assert top.ends() == 0
    assert top.restored()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_as_cleanly(top, how):
    top.sees("There from the start")
    os.kill(top.pid, how)
    assert top.ends() == 0
    assert top.restored()


def test_ctrl_c_is_one_of_them(top):
    top.sees("There from the start")
    top.press("\x03")
    assert top.ends() == 0
    assert top.restored()


def test_it_fits_the_terminal_and_scrolls(repo, top):
    for i in range(60):
        repo.create(f"Number {i:02}")
    top.sees("lines 1 to 29 of")
    top.forget()
    top.press(" ")
    top.sees("lines 29 to")
    top.forget()
    top.resize(12, 60)
    os.kill(top.pid, signal.SIGWINCH)
    top.sees("lines 29 to 39")
    assert all(len(line) <= 60 for line in top.text.replace("\x1b[K", "").split("\n") if "\x1b" not in line)
    top.press("g")
    top.sees("lines 1 to 11")


def test_what_is_too_wide_ends_at_the_edge(repo, top):
    """A line that went on in the next would push the first ones off the screen."""
    repo.run("agent", "register", "--name", "cobalt-harbor", "--role", "ui", program="bb").ok()
    for agent, scope in (("amber-otter", "src/a folder/with/a/name/that/goes/on/*"), ("cobalt-harbor", "src/a folder/with/a/name/that/goes/on/ünï.c")):
        repo.run("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", "x", program="bb").ok()
    top.sees("Incursion")
    for rows, columns in ((24, 60), (8, 30)):
        top.forget()
        top.resize(rows, columns)
        os.kill(top.pid, signal.SIGWINCH)
        end = time.monotonic() + patience(5)
        while True:  # the one before may still be on its way
            lines = top.picture()
            plain = [re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", line) for line in lines]
            if plain and max(map(len, plain[:-1])) <= columns:
                break
            assert time.monotonic() < end, plain
        assert any(line.startswith("Incursion") for line in plain)
        wide = [line for line in lines if re.match("\x1b.*Incursion|Incursion", line)]
        assert wide and not any(line.endswith("\x1b[K") for line in wide), "its last letter is wiped"


def test_without_a_terminal_it_is_printed_once(repo):
    repo.create("Only one")
    done = repo.run(program="abacus", *["top"]).ok()
    assert "Only one" in done.out and "\x1b" not in done.out


def test_what_is_wrong_is_said_and_it_goes_on(plain_repo):
    done = plain_repo.run("top", program="abacus")
    assert done.code == 0 and "No tasks" in done.out
