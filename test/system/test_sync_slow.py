"""Remotes that are dead, hang, or are too slow: bd sync ends in time, leaves nothing running, and loses nothing."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from harness import patience, processes_of
from remotes import (at, bare, clone, free_port, history, http_remote, is_sync_error, point, same_everywhere, sync,
                     tcp_server, titles)

pytestmark = pytest.mark.skipif(not pathlib.Path("/proc/self/cmdline").exists(),
                                reason="there is no /proc to look for processes in")
HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n")


def hanging(connection, stop):
    """Accepts the connection, and never answers."""
    stop.wait()


def slow(connection, stop):
    """A byte a second."""
    connection.recv(4096)
    for byte in HEAD:
        connection.send(bytes([byte]))
        if stop.wait(1):
            return


def drip(connection, stop):
    """A valid beginning, and then a byte a second."""
    connection.recv(4096)
    connection.send(HEAD + b"1e\r\n001e# service=git-upload-pack\n\r\n4\r\n00")
    while not stop.wait(1):
        connection.send(b"0")


def short(connection, stop):
    """Closes the connection in the middle."""
    connection.recv(4096)
    connection.send(HEAD + b"1e\r\n001e# service=git")


def junk(connection, stop):
    connection.recv(4096)
    connection.send(b"220 this is mail\r\n" * 10)


def wait_until(true, seconds):
    end = time.monotonic() + patience(seconds)
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


@pytest.fixture
def remote(tmp_path):
    return bare(tmp_path / "srv" / "beads.git")


@pytest.fixture
def anna(tmp_path):
    repo = clone(tmp_path / "anna", None)
    repo.create("before")
    return repo


def arrives(anna, remote, port):
    """The remote is back, at the same address."""
    with http_remote(remote.parent, port=port):
        assert sync(anna)["durability"] == "remote"
        ben = clone(anna.path.parent / "ben", f"http://127.0.0.1:{port}/beads.git")
        sync(ben)
        same_everywhere(remote, anna, ben)


def ends_in_time(anna, *codes, timeout=1):
    start = time.monotonic()
    done = anna.run("sync", "--json", "--timeout", f"{timeout}s")
    took = time.monotonic() - start
    error = is_sync_error(done, done.error["code"])
    assert error["code"] in codes and error["retryable"], error
    assert took < timeout + patience(1), f"{took:.1f} s"
    assert processes_of(anna) == []
    return error


def test_dead(anna, remote):
    port = free_port()
    point(anna, f"http://127.0.0.1:{port}/beads.git")
    error = ends_in_time(anna, "sync_failed")
    assert "refused" in error["message"]
    anna.create("meanwhile")
    arrives(anna, remote, port)
    assert titles(anna) == ["before", "meanwhile"]


@pytest.mark.parametrize("talk,code", [(hanging, "sync_timeout"), (slow, "sync_timeout"), (drip, "sync_timeout"),
                                       (short, "sync_failed"), (junk, "sync_failed")])
def test_no_answer(anna, remote, talk, code):
    with tcp_server(talk) as port:
        point(anna, f"http://127.0.0.1:{port}/beads.git")
        error = ends_in_time(anna, code)
        assert "origin" in error["message"]
        told = anna.json("sync", "--status")
        assert (told["failures"], told["last_error"]) == (1, error["message"])
        assert told["pending"] and not told["running"]
        anna.create("meanwhile")
    arrives(anna, remote, port)
    assert titles(anna) == ["before", "meanwhile"]
    assert anna.json("sync", "--status")["failures"] == 0


@pytest.mark.parametrize("scheme", ["https", "git", "ssh"])
def test_no_answer_on_other_wires(anna, scheme):
    with tcp_server(hanging) as port:
        point(anna, f"{scheme}://127.0.0.1:{port}/beads.git")
        anna.env = {**anna.env, "GIT_SSH_COMMAND": "/usr/bin/ssh -F /dev/null"}
        ends_in_time(anna, "sync_timeout", "sync_failed", timeout=1)


@pytest.mark.parametrize("service", ["git-upload-pack", "git-receive-pack"])
def test_hangs_half_way(tmp_path, anna, remote, service):
    """The refs are listed, and then nothing comes; neither side is damaged."""
    with http_remote(remote.parent) as server:
        ben = clone(tmp_path / "ben", f"{server.url}/beads.git")
        ben.create("theirs")
        sync(ben)
        point(anna, f"{server.url}/beads.git")
        server.hold = service
        error = ends_in_time(anna, "sync_timeout", timeout=1)
        assert ("fetching" if service == "git-upload-pack" else "pushing") in error["message"]
        assert at(remote) == at(ben.path)
        assert "before" in titles(anna)
        server.hold = None
        sync(anna)
        sync(ben)
        same_everywhere(remote, anna, ben)
        assert titles(ben) == ["before", "theirs"]


def test_accepted_without_a_reply(anna, remote):
    """The push arrives, but its reply does not: the next sync finds the commit, and writes nothing again."""
    with http_remote(remote.parent) as server:
        point(anna, f"{server.url}/beads.git")
        server.mute = "git-receive-pack"
        ends_in_time(anna, "sync_failed")
        taken = at(remote)
        assert taken
        server.mute = None
        reply = sync(anna)
        assert (reply["commit"], reply["durability"], reply["warning"]) == (taken, "remote", None)
        assert history(remote) == [taken]
        same_everywhere(remote, anna)


def test_other_commands_work_during_a_sync_that_hangs(anna):
    """It holds no lock that a write or a read needs."""
    with tcp_server(hanging) as port:
        point(anna, f"http://127.0.0.1:{port}/beads.git")
        syncing = anna.spawn("sync", "--json", "--timeout", "3s", stdout=subprocess.PIPE)
        assert wait_until(lambda: len(processes_of(anna)) == 1, 4), "it has not begun"
        bead = anna.create("meanwhile")
        anna.bd("update", bead, "--priority", "0").ok()
        anna.bd("claim", bead).ok()
        anna.bd("close", bead).ok()
        assert len(anna.ids("list", "--all")) == 2 and len(anna.ids("ready")) == 1
        assert syncing.poll() is None, "all that took longer than the whole sync"
        out, _ = syncing.communicate(timeout=10)
        assert (syncing.returncode, b"sync_timeout" in out) == (4, True)


def hears_signals():
    """A shell that runs a program in the background makes it ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_bd_leaves_nothing_behind(anna, remote, number):
    """After Ctrl-C or a kill of `bd`, its git process ends too, and blocks nothing."""
    with tcp_server(hanging) as port:
        point(anna, f"http://127.0.0.1:{port}/beads.git")
        syncing = anna.spawn("sync", "--json", "--timeout", "20s", stdout=subprocess.DEVNULL, preexec_fn=hears_signals)
        assert wait_until(lambda: len(processes_of(anna)) == 1, 4), "it has not begun"
        syncing.send_signal(number)
        assert syncing.wait(timeout=5) == -number
        assert wait_until(lambda: not processes_of(anna), 4), processes_of(anna)
    arrives(anna, remote, port)


def test_two_at_once(anna, remote):
    """The second waits for the first, at most for its timeout, and reports it."""
    with tcp_server(hanging) as port:
        point(anna, f"http://127.0.0.1:{port}/beads.git")
        first = anna.spawn("sync", "--json", "--timeout", "3s", stdout=subprocess.DEVNULL)
        assert wait_until(lambda: len(processes_of(anna)) == 1, 3), "it has not begun"
        start = time.monotonic()
        done = anna.run("sync", "--json", "--timeout", "1s")
        assert time.monotonic() - start < patience(2)
        assert done.code in (3, 4) and done.error["code"] in ("sync_timeout", "busy"), done.out
        assert done.error["code"] == "busy" or "another sync" in done.error["message"]
        assert first.wait(timeout=10) == 4
    arrives(anna, remote, port)
