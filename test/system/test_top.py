"""`abacus top`, on its own terminal."""
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
    """A program on a terminal, and its output."""

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
        """The last complete picture, as lines with colours."""
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
        """The alternate screen is left, the cursor is visible, and input is line by line again."""
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


def test_top_shows_the_state_and_changes(repo, top):
    top.sees("There from the start")
    top.sees("1, 1 active")
    top.forget()
    bead = repo.create("Made meanwhile")
    top.sees("Made meanwhile", 1.5)
    top.forget()
    repo.run("claim", bead, env={"BD_ACTOR": "amber-otter"}).ok()
    top.sees("IN PROGRESS", 1.5)
    top.press("q")
    assert top.ends() == 0
    assert top.restored()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_top_cleanly(top, how):
    top.sees("There from the start")
    os.kill(top.pid, how)
    assert top.ends() == 0
    assert top.restored()


def test_ctrl_c_ends_top_cleanly(top):
    top.sees("There from the start")
    top.press("\x03")
    assert top.ends() == 0
    assert top.restored()


def test_top_fits_the_terminal_and_scrolls(repo, top):
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


def test_long_lines_end_at_the_edge(repo, top):
    """A line that wrapped would push the first lines off the screen."""
    repo.run("agent", "register", "--name", "cobalt-harbor", "--role", "ui", program="bb").ok()
    for agent, scope in (("amber-otter", "src/a folder/with/a/name/that/goes/on/*"), ("cobalt-harbor", "src/a folder/with/a/name/that/goes/on/ünï.c")):
        repo.run("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", "x", program="bb").ok()
    top.sees("overlaps")
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
        assert any("cobalt-harbor" in line for line in plain)
        wide = [line for line, shown in zip(lines, plain) if len(shown) == columns and line is not lines[-1]]
        assert wide and not any(line.endswith("\x1b[K") for line in wide), "its last letter is wiped"


def shows(top, wanted, seconds=5):
    """The lines of the last picture, once they match, without colours."""
    end = time.monotonic() + patience(seconds)
    while True:
        plain = [re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", line) for line in top.picture()]
        if plain and wanted(plain):
            return plain
        assert time.monotonic() < end, "\n".join(plain)


def chosen(plain):
    return [line for line in plain if line.startswith("›")]


def test_each_agent_has_its_bead_and_files_and_closed_work_is_left_out(repo, top):
    title = "A title that is longer than twelve characters, and not cut"
    bead, old = repo.create(title), repo.create("Closed work")
    repo.run("close", old).ok()
    repo.run("claim", bead, env={"BD_ACTOR": "amber-otter"}).ok()
    repo.run("agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", bead, program="bb").ok()
    top.resize(30, 80)
    os.kill(top.pid, signal.SIGWINCH)
    plain = shows(top, lambda lines: any("src/*" in line for line in lines) and max(map(len, lines)) <= 80)
    text = "\n".join(plain)
    assert f"{bead}  {title[:30]}" in text
    assert "Closed work" not in text
    assert text.index("IN PROGRESS") < text.index("READY")


def test_keys_choose_a_line_and_open_its_bead(repo, top):
    second = repo.create("The second one", "-p", "2")
    repo.run("comment", second, "Words about the second").ok()
    top.press("j")
    shows(top, lambda lines: [line for line in chosen(lines) if "The second one" in line])
    top.press("\r")
    shows(top, lambda lines: any("Words about the second" in line for line in lines) and not chosen(lines))
    top.press("q")  # back, not out
    shows(top, lambda lines: [line for line in chosen(lines) if "The second one" in line])
    top.press("\x1b[A")
    shows(top, lambda lines: [line for line in chosen(lines) if "There from the start" in line])
    top.press("q")
    assert top.ends() == 0


def test_the_choice_stays_with_its_bead_when_others_come(repo, top):
    shows(top, lambda lines: [line for line in chosen(lines) if "There from the start" in line])
    repo.create("More urgent", "-p", "0")
    shows(top, lambda lines: any("More urgent" in line for line in lines)
          and [line for line in chosen(lines) if "There from the start" in line])


def test_a_filter_shows_only_the_entries_that_have_its_text(repo, top):
    repo.create("Another one")
    top.press("/oj FROM\x7f\x7f\x7f\x7f\x7f\x7f\x7fFROM the\x1b[C\r")
    plain = shows(top, lambda lines: "filter: FROM the" in lines[-1] and not any("Another one" in line for line in lines))
    assert any("There from the start" in line for line in plain)
    assert any(line.startswith("READY  2, 1 shown") for line in plain)
    top.press("\x1b")
    shows(top, lambda lines: any("Another one" in line for line in lines))


def test_without_a_terminal_the_state_is_printed_once(repo):
    repo.create("Only one")
    done = repo.run(program="abacus", *["top"]).ok()
    assert "Only one" in done.out and "\x1b" not in done.out


def test_errors_are_shown_and_top_continues(plain_repo):
    done = plain_repo.run("top", program="abacus")
    assert done.code == 0 and done.out == "There is no project here yet. In a Git repository, run: abacus init\n"
