"""RLIMIT_FSIZE: a write beyond the limit is an error that names the file, and does not kill the process."""
import json
import os
import resource
import socket
import subprocess
import sys

import pytest

from beads import wipe_cache
from conftest import BIN, Result, environment, git
from harness import wait_until
from service import Answer, Service, receive

WRITES = {
    "bead": ["bd", "create", "x", "-d", "d" * 4000, "--json"],
    "post": ["bb", "--as", "a", "--json", "post", "p" * 4000],
    "register": ["bb", "agent", "register", "--name", "blue-fox", "--role", "r" * 200, "--json"],
    "memory": ["vybe", "memory", "set", "--agent", "a", "--request-id", "r", "--key", "k", "--value", "v" * 4000],
    "config": ["bd", "config", "set", "sync.remote", "r" * 900, "--json"],
}
LOOKS = [["bd", "list", "--json"], ["bb", "--as", "b", "--json", "log"], ["bb", "agent", "list", "--json"],
         ["vybe", "memory", "list", "--agent", "a"]]


def limited(repo, command, size, **env):
    """A command that may make no file longer than `size` bytes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return Result(subprocess.run([str(BIN / command[0]), *command[1:]], cwd=repo.path, capture_output=True, timeout=60,
                                 stdin=subprocess.DEVNULL, preexec_fn=limit, env=environment(**{**repo.env, **env})))


@pytest.fixture
def used(repo):
    """A repository with data in every store."""
    repo.create("first")
    repo.run("init", program="bb").ok()
    repo.run("--as", "a", "post", "first", program="bb").ok()
    repo.run("agent", "register", "--name", "amber-otter", "--role", "ui", program="bb").ok()
    repo.run("memory", "set", "--agent", "a", "--request-id", "q", "--key", "j", "--value", "w", program="vybe").ok()
    return repo


def look(repo):
    return [repo.run(*command[1:], program=command[0]).ok().json for command in LOOKS]


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("size", [0, 1, 100, 400])
def test_a_write_beyond_the_limit_is_an_error(used, name, size):
    done = limited(used, WRITES[name], size)
    assert done.code > 0, (done.code, done.err)
    assert "too large" in done.out, done.out
    shown = str(look(used))
    assert shown.count("first") and "blue-fox" not in shown and "v" * 4000 not in shown and "p" * 4000 not in shown
    Result(subprocess.run([str(BIN / WRITES[name][0]), *WRITES[name][1:]], cwd=used.path, capture_output=True,
                          stdin=subprocess.DEVNULL, env=environment(**used.env))).ok()


@pytest.mark.parametrize("name", ["memory", "post"])
def test_a_database_that_reaches_the_limit_is_an_error_that_names_it(used, name):
    """SQLite reports "disk I/O error", and often not why. With any limit, the write succeeds or the reply names the limit."""
    more = {"memory": "vybe push --agent a --request-id r{} --json {{\"event\":{{\"kind\":\"progress\",\"message\":\"x\"}}}}",
            "post": "bb --as a --json post p{}"}[name]
    for n in range(12):
        program, *words = more.format(n).split()
        used.run(*words, program=program).ok()
    failed = 0
    for size in range(4 << 10, 140 << 10, 4 << 10):
        done = limited(used, WRITES[name], size)
        failed += done.code != 0
        assert not done.code or "ulimit -f" in done.out, (size, done.out, done.err)
    assert failed > 1


def test_a_service_that_cannot_read_a_store_ends_on_sigterm(used):
    """Its watch is always ready then, because the failed attempt to open the database changes the watched folder."""
    with subprocess.Popen([str(BIN / "abacus"), "serve"], cwd=used.path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=environment(**used.env),
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))) as service:
        wait_until(lambda: (used.path / ".git/abacus/serve/address.json").exists(), "the service has started")
        used.run(*WRITES["memory"][1:], program="vybe").ok()
        service.terminate()
        assert service.wait(20) == 0


@pytest.mark.parametrize("name", WRITES)
def test_too_few_open_files_is_an_error_that_names_the_limit(used, name):
    """With any limit, the write succeeds or the reply names the limit."""
    def limit(count):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    codes = set()
    for count in range(3, 12):
        done = Result(subprocess.run([str(BIN / WRITES[name][0]), *WRITES[name][1:]], cwd=used.path, capture_output=True, timeout=60,
                                     stdin=subprocess.DEVNULL, preexec_fn=limit(count), env=environment(**used.env)))
        codes.add(done.code)
        if done.code and not ("DUPLICATE" in done.out):
            assert "ulimit -n" in done.out, (count, done.out, done.err)
    assert len(codes) > 1


@pytest.mark.parametrize("words", [["serve", "--port", "0"], ["open", "--print"], ["serve", "--stop"]], ids=" ".join)
@pytest.mark.parametrize("count", [4, 6, 10, 14, 40])
def test_a_service_that_may_open_too_few_files_is_not_started(used, words, count):
    """The error names the limit, and no service without a page is left running."""
    done = Result(subprocess.run([str(BIN / "abacus"), *words], cwd=used.path, capture_output=True, timeout=60,
                                 stdin=subprocess.DEVNULL, env=environment(**used.env),
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))))
    assert done.code == 1 and "open files" in done.err and "ulimit -n" in done.err, done.err
    assert "No service is running" in used.run("serve", "--stop", program="abacus").ok().out


def test_a_page_is_opened_where_the_limit_may_be_raised(used):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (10, 64))

    try:
        done = Result(subprocess.run([str(BIN / "abacus"), "open", "--print"], cwd=used.path, capture_output=True,
                                     timeout=60, stdin=subprocess.DEVNULL, env=environment(**used.env),
                                     preexec_fn=limit))
        assert done.ok().out.startswith("http://"), done.out
    finally:
        used.run("serve", "--stop", program="abacus").ok()


@pytest.fixture
def limited_service(used, request):
    """A service that may open so many files."""
    service = Service(used)
    try:
        service.start("--port", "0", limits={resource.RLIMIT_NOFILE: (request.param, request.param)})
        yield service
    finally:
        service.close()


@pytest.mark.parametrize("limited_service, count", [(64, 100), (1024, 1400)], indirect=["limited_service"])
def test_connections_without_a_key_leave_descriptors_for_the_socket_and_the_workers(limited_service, count):
    """Any user of the machine can open connections on the loopback."""
    crowd = []
    try:
        for n in range(count):
            sock = socket.socket(socket.AF_INET6 if n % 2 and socket.has_dualstack_ipv6() else socket.AF_INET)
            sock.setblocking(False)
            crowd.append(sock)
            sock.connect_ex(("::1" if sock.family == socket.AF_INET6 else "127.0.0.1", limited_service.port))
        for n in range(3):
            answers = [limited_service.begin("/api/bead/create", {"title": f"bead {n}.{i}"}) for i in range(4)]
            for sock in answers:
                with sock:
                    assert Answer(receive(sock)).status == 200
    finally:
        for sock in crowd:
            sock.close()


@pytest.mark.parametrize("limited_service", [256], indirect=True)
def test_a_worker_that_cannot_be_started_for_want_of_descriptors_is_an_error_that_names_the_limit(limited_service):
    """And that says that nothing was done."""
    pid = limited_service.process.pid
    assert limited_service.get("/").status == 200  # needs no worker
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    free = next(n for n in range(256) if n not in used)
    above = next(n for n in range(free + 1, 256) if n not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (above, 256))  # one more: the connection
    answer = limited_service.post("/api/bead/create", {"title": "never"})
    assert answer.status == 503 and answer.error["code"] == "BUSY"
    assert "cannot start a worker process: Too many open files" in answer.error["message"]
    assert answer.error["hint"].startswith("Nothing was changed.") and "ulimit -n" in answer.error["hint"]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (256, 256))
    limited_service.post("/api/bead/create", {"title": "later"}).data
    assert "never" not in str(limited_service.repo.json("list"))


def test_a_sync_beyond_the_limit_is_an_error(used, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(used.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    used.create("second", "-d", os.urandom(4000).hex())
    done = limited(used, ["bd", "sync", "--json"], 2000)
    assert done.code > 0 and done.error["message"], (done.code, done.out, done.err)
    assert used.bd("sync", "--json").ok().json["durability"] == "remote"
    assert len(used.json("list")) == 2


def test_the_service_refuses_to_start_instead_of_dying(used):
    done = limited(used, ["abacus", "serve", "--port", "0"], 0)
    assert done.code > 0 and "too large" in done.err, (done.code, done.out, done.err)


def test_commands_of_the_loop_have_default_signal_dispositions(used, tmp_path):
    """Only this program ignores SIGPIPE and SIGXFSZ, not the programs of the agent."""
    used.create("work")
    status = tmp_path / "status"
    used.run("loop", "--agent", "a", "--command", f"cat /proc/self/status >{status}", "--max-tasks", "1", program="vybe")
    if not status.exists():
        pytest.skip("no /proc here")
    [ignored] = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigIgn")]
    assert int(ignored, 16) & (1 << 12 | 1 << 24) == 0


def test_a_read_without_room_for_the_cache_takes_a_small_multiple_of_the_beads(repo):
    """The cache is built in memory then. An earlier version kept the memory of the failed write until the end."""
    size = 12_000_000
    issues = [{"id": f"a-{n}", "title": "t", "description": f"word{n:06} " * (size // 12 // 11)} for n in range(12)]
    (repo.path / "issues.jsonl").write_text("".join(json.dumps(issue) + "\n" for issue in issues))
    repo.bd("import", "issues.jsonl").ok()
    wipe_cache(repo)
    watch = "import resource, subprocess, sys\n" \
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n" \
        "subprocess.run(sys.argv[1:], check=True)\n" \
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)\n"
    done = Result(subprocess.run([sys.executable, "-c", watch, str(BIN / "bd"), "list", "--json"], cwd=repo.path,
                                 capture_output=True, timeout=60, env=environment(**repo.env))).ok()
    assert len(done.json) == 12 and not (repo.home / "cache.db").exists()
    assert int(done.err) < 5 * size + (16 << 20), done.err
