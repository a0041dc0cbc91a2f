"""Projects in folders whose path has hundreds or thousands of bytes: commands work, or report that it is too long."""
import os
import subprocess

import pytest

from conftest import BIN, Result, environment
from harness import STRACE, needs_strace

LENGTHS = [480, 500, 520, 1000, 2000, 4000]
TOO_LONG = [4080, 4090, 4095, 5000, 9000]
LETTER = ["--bead", "b-1", "--subject", "s", "--body", "b"]


class Deep:
    """A folder that can only be reached step by step: its path may be longer than the system accepts."""

    def __init__(self, top, length):
        self.env = environment(BD_ACTOR="alice", GIT_CONFIG_NOSYSTEM=1, HOME=top / "home",
                               XDG_DATA_HOME=top / "home/data", XDG_RUNTIME_DIR=top / "run")
        (top / "run").mkdir(mode=0o700)
        self.top, self.path = top, str(top)
        self.fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        while len(self.path) < length - 1:
            name = "d" * min(200, length - len(self.path) - 1)
            os.mkdir(name, dir_fd=self.fd)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.fd)
            os.close(self.fd)
            self.fd, self.path = below, f"{self.path}/{name}"

    def run(self, *command, timeout=60):
        program = command[0] if command[0] == "git" else str(BIN / command[0])
        done = subprocess.run([program, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                              env=self.env, preexec_fn=lambda: os.fchdir(self.fd))
        return Result(done)

    def close(self):
        os.close(self.fd)
        subprocess.run(["rm", "-rf", str(self.top)], check=True)  # shutil.rmtree knows no such paths


@pytest.fixture
def deep(tmp_path):
    made = []

    def make(length):
        (tmp_path / "t").mkdir()
        made.append(Deep(tmp_path / "t", length))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("length", LENGTHS)
def test_every_family_works(deep, length):
    d = deep(length)
    assert len(d.path) == length
    d.run("git", "init", "-q", "-b", "main").ok()
    for command in (["abacus", "where"], ["abacus", "init"], ["bd", "create", "x", "--id", "b-1", "--json"],
                    ["bd", "list", "--json"],
                    ["bd", "doctor"], ["bb", "--as", "a", "post", "hello"],
                    ["bb", "agent", "register", "--name", "amber-otter", "--role", "ui"],
                    ["bb", "agent", "register", "--name", "blue-fox", "--role", "ui"],
                    ["bb", "agent", "send", "--from", "amber-otter", "--to", "broadcast", "--category", "HANDOFF", *LETTER],
                    ["bb", "agent", "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "b"],
                    ["bb", "agent", "guard", "install"], ["bb", "install", "claude", "--write"],
                    ["vybe", "hook", "install", "--claude"],
                    ["vybe", "memory", "set", "--agent", "a", "--request-id", "r", "--key", "k", "--value", "v"],
                    ["vybe", "task", "create", "--agent", "a", "--request-id", "r2", "--title", "t"],
                    ["vybe", "resume", "--agent", "a", "--request-id", "r3"]):
        d.run(*command).ok()
    assert [m["content"] for m in d.run("bb", "--as", "b", "--json", "log").ok().json] == ["hello"]
    assert d.run("bb", "agent", "guard", "--agent", "blue-fox", "src/x").code == 1
    assert len(d.run("bd", "list", "--json").ok().json) == 2
    assert {".bb", ".beadboard", ".git", ".mcp.json"} <= set(os.listdir(d.fd))


@pytest.mark.parametrize("length", [500, 520, 3000])
@pytest.mark.parametrize("whole", [False, True])
def test_sync_with_a_folder_as_deep(deep, length, whole):
    d = deep(length)
    d.run("git", "init", "-q", "-b", "main").ok()
    d.run("git", "init", "-q", "--bare", "remote.git").ok()
    d.run("git", "remote", "add", "origin", f"{d.path}/remote.git" if whole else "remote.git").ok()
    d.run("bd", "init").ok()
    d.run("bd", "create", "x").ok()
    assert d.run("bd", "sync", "--json").ok().json["durability"] == "remote"
    os.mkdir("clone", dir_fd=d.fd)
    d.run("git", "clone", "-q", "remote.git", "clone").ok()
    d.run("bd", "--dir", "clone", "init").ok()
    assert len(d.run("bd", "--dir", "clone", "list", "--json").ok().json) == 1


@pytest.mark.parametrize("length", [90, 110, 500, 3000])
def test_the_service_runs_and_stops(deep, length):
    """A socket's path has at most 103 bytes, or 107."""
    d = deep(length)
    d.run("git", "init", "-q", "-b", "main").ok()
    d.run("bb", "init").ok()
    process = subprocess.Popen([str(BIN / "abacus"), "serve", "--port", "0"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=d.env,
                               preexec_fn=lambda: os.fchdir(d.fd))
    try:
        assert process.stdout.readline(), process.stderr.read()
        d.run("abacus", "serve", "--stop").ok()
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("length", [520, 3000])
def test_a_named_store(deep, length):
    d = deep(length)
    at = ["--db-path", f"{d.path}/store.db"]
    d.run("vybe", "memory", "set", *at, "--agent", "a", "--request-id", "r", "--key", "k", "--value", "v").ok()
    assert '"k"' in d.run("vybe", "memory", "list", *at, "--agent", "a").ok().out
    assert "store.db" in os.listdir(d.fd)


@pytest.mark.parametrize("length", TOO_LONG)
def test_a_path_that_is_too_long_is_reported(deep, length):
    """From a folder deep in a repository, no command uses another store or reports an empty one."""
    d = deep(length)
    for command in (["git", "init", "-q"], ["bd", "init"], ["bb", "init"],
                    ["bb", "agent", "register", "--name", "amber-otter", "--role", "ui"],
                    ["vybe", "memory", "set", "--agent", "a", "--request-id", "q", "--key", "k", "--value", "v"]):
        program = command[0] if command[0] == "git" else str(BIN / command[0])
        subprocess.run([program, *command[1:]], cwd=d.top, env=d.env, check=True, capture_output=True)
    for command, found in ((["bd", "create", "y", "--json"], '"title":"y"'), (["bd", "list", "--json"], '"y"'),
                           (["bb", "--json", "status"], "amber-otter"), (["bb", "agent", "list", "--json"], "amber-otter"),
                           (["vybe", "memory", "list", "--agent", "a"], '"k"'),
                           (["vybe", "memory", "set", "--agent", "a", "--request-id", "r", "--key", "l", "--value", "v"],
                            '"l"'), (["abacus", "where"], "abacus")):
        done = d.run(*command)
        said = done.out + done.err  # 'bb status' goes on without the agents, and says so
        assert (done.code == 0 and found in done.out) or "too long" in said, (command, done.out, done.err)
    assert not (d.top / "home").exists()


@needs_strace
def test_without_another_path_to_the_folder_it_is_too_long(deep):
    """Where /proc is not mounted, SQLite cannot reach a database that deep."""
    d = deep(1000)
    done = subprocess.run([STRACE, "-qq", "-o", os.devnull, "-e", "trace=access,faccessat,faccessat2", "-e",
                           "inject=access,faccessat,faccessat2:error=ENOENT", str(BIN / "bb"), "--json", "init"],
                          capture_output=True, env=d.env, preexec_fn=lambda: os.fchdir(d.fd))
    assert done.returncode == 1 and b"File name too long" in done.stdout, done.stdout
