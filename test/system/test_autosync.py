"""Autosync: one quiet process that publishes changes, not too often, not for long, and without disturbing others."""
import contextlib
import datetime
import fcntl
import itertools
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import BIN, Repo, environment, git
from harness import patience

REF = "refs/beads/store"


# --- what is looked at ---

def couriers(repo):
    """The autosync processes of this repository, and their children."""
    found = subprocess.run(["pgrep", "-f", f"abacus-sync [a-z]+ {repo.path}/.git( |$)"], capture_output=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def courier(repo):
    """The one autosync process that must exist."""
    found = subprocess.run(["pgrep", "-f", f"abacus-sync autosync {repo.path}/.git$"], capture_output=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def stat(pid):
    """The fields of /proc/PID/stat, from the state on."""
    with open(f"/proc/{pid}/stat", encoding="utf8") as file:
        return file.read().rsplit(")", 1)[1].split()


def until(seconds, condition):
    """The first true result of a condition."""
    end = time.monotonic() + patience(seconds)
    while not (got := condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)
    return got


def head(bare):
    """The commit of the remote's ref."""
    file = bare / REF
    return file.read_text(encoding="utf8").strip() if file.exists() else None


def pushes(bare):
    return int(git(bare, "rev-list", "--count", REF)) if head(bare) else 0


def published(bare):
    """The titles at the remote."""
    text = git(bare, "show", f"{REF}:state.jsonl") if head(bare) else ""
    return text.count('"title":')


# --- what is prepared ---

class Published(Repo):
    """A repository with beads and autosync."""

    def __init__(self, path, bare):
        super().__init__(path)
        self.bare = bare
        self.env["ABACUS_AUTOSYNC"] = "1"

    @property
    def sync(self):
        return self.json("status")["sync"]


def make(folder, url=None):
    bare, path = folder / "remote.git", folder / "proj"
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(folder, "init", "-q", "--bare", str(bare))
    git(path, "remote", "add", "origin", str(bare))
    repo = Published(path, bare)
    repo.bd("init", "--prefix", "bd", env={"ABACUS_AUTOSYNC": "0"}).ok()
    if url:
        git(path, "remote", "set-url", "origin", url)
    return repo


@pytest.fixture
def auto(tmp_path):
    repo = make(tmp_path)
    yield repo
    for pid in courier(repo):  # what it was started for has been seen
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(10, lambda: not couriers(repo))


class Trouble:
    """A remote that never answers and a missing one; the changes written to them, and when."""

    def __init__(self, folder):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.hanging = make(folder / "hanging", f"http://127.0.0.1:{self.listener.getsockname()[1]}/x.git")
        self.refused = make(folder / "refused", str(folder / "nowhere.git"))
        self.took = []
        for n in range(20):
            start = time.monotonic()
            self.hanging.create(f"{n}")
            self.took.append(time.monotonic() - start)
        self.before = self.refused.sync["last_try"]
        self.refused.create("one")
        self.since = time.monotonic()
        self.tries, self.watched = [], threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        """The times of the attempts, until there are no more."""
        while not self.watched.is_set() and time.monotonic() - self.since < 30:
            at = self.refused.sync["last_try"]
            if at not in (self.before, *self.tries):
                self.tries.append(at)
            self.watched.wait(0.1)

    def end(self):
        self.watched.set()
        self.thread.join()
        self.listener.close()


@pytest.fixture(scope="module", autouse=True)
def trouble(tmp_path_factory):
    """Started before all other tests, because its results take half a minute."""
    made = Trouble(tmp_path_factory.mktemp("trouble"))
    yield made
    made.end()


# --- when all is well ---

def test_a_change_is_published_by_itself(auto):
    auto.create("one")
    until(10, lambda: published(auto.bare) == 1)
    until(10, lambda: auto.sync["pending"] == 0)
    sync = auto.sync
    assert sync["failures"] == 0 and sync["last_error"] is None and sync["oldest_pending"] is None
    assert sync["commit"] == head(auto.bare)


def test_the_autosync_process_is_alone_and_inherits_nothing(auto):
    """It has its own session, no terminal, no inherited descriptor, and uses no CPU time; and it ends."""
    theirs, ours = os.pipe()
    child = auto.spawn("create", "one", stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                       pass_fds=[ours])
    os.close(ours)
    assert child.stdout.read().startswith(b"Created ") and child.stderr.read() == b""
    assert os.read(theirs, 1) == b""
    assert child.wait(20) == 0
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()
    os.close(theirs)
    [pid] = until(10, lambda: courier(auto))
    fields = stat(pid)
    assert int(fields[3]) != os.getsid(0), "it is in our session"
    assert fields[4] == "0", "it has a terminal"
    files = {int(fd): os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    assert [files.pop(n) for n in range(3)] == ["/dev/null"] * 3
    assert not [name for name in files.values() if not name.startswith(str(auto.home))], files
    until(10, lambda: published(auto.bare) == 1)
    ticks, end = 0, time.monotonic() + 30
    while courier(auto):
        assert time.monotonic() < end, "it stays"
        try:
            ticks = sum(map(int, stat(pid)[11:13]))
        except (FileNotFoundError, ProcessLookupError):
            break
        time.sleep(0.1)
    assert ticks < os.sysconf("SC_CLK_TCK") / 4


def test_the_autosync_process_ends_however_late_the_next_push_is(auto):
    auto.bd("config", "set", "sync.push_interval", "10m").ok()
    auto.create("one")
    until(10, lambda: published(auto.bare) == 1)
    until(20, lambda: not couriers(auto))


def test_looking_for_an_autosync_process_does_not_keep_one_from_starting(auto):
    """Even if another process looks at that very moment."""
    with open(auto.home / "courier.lock", "w", encoding="utf8") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        auto.create("one")
        fcntl.flock(lock, fcntl.LOCK_UN)
    until(10, lambda: published(auto.bare) == 1)


@pytest.mark.parametrize("how", ["environment", "config"])
def test_autosync_is_not_started_if_it_is_off(auto, how):
    if how == "environment":
        auto.env["ABACUS_AUTOSYNC"] = "0"
    else:
        auto.bd("config", "set", "sync.auto", "false").ok()
    bead = auto.create("one")
    auto.bd("close", bead).ok()
    assert couriers(auto) == []
    assert auto.sync["auto"] is False and auto.sync["pending"] > 0
    assert head(auto.bare) is None


def test_a_reader_starts_no_autosync(auto):
    auto.bd("list").ok()
    auto.bd("status").ok()
    assert couriers(auto) == []


def test_a_burst_is_few_pushes(auto):
    """Five hundred changes by several processes at once; there are never two autosync processes."""
    start, seen = time.monotonic(), []

    def create(numbers):
        for n in numbers:
            auto.create(f"{n}")

    crowd = [threading.Thread(target=create, args=(range(n, 500, 4),)) for n in range(4)]
    for one in crowd:
        one.start()
    while any(one.is_alive() for one in crowd):
        seen.append(set(courier(auto)))
        time.sleep(0.3)
    took = time.monotonic() - start
    until(30, lambda: published(auto.bare) == 500)
    assert pushes(auto.bare) <= max(3, 2 + took / 5)
    # one that finds another there leaves at once: none but the first is seen twice
    assert all(len(a & b) <= 1 for a, b in itertools.pairwise(seen))


def test_steady_writes_are_published_at_a_steady_pace(auto):
    """A write every 100 ms: a push at least every 10 s, and none within 5 s of another."""
    start, seen, stop = time.monotonic(), [], threading.Event()

    def watch():
        before = None
        while not stop.is_set():
            now = head(auto.bare)
            if now != before:
                seen.append(time.monotonic())
                before = now
            stop.wait(0.02)

    watching = threading.Thread(target=watch)
    watching.start()
    count = 0
    while (left := start + 30 - time.monotonic()) > 0:
        auto.create(f"{count}")
        count += 1
        time.sleep(max(0, min(left, start + count * 0.1 - time.monotonic())))
    end = time.monotonic()
    until(20, lambda: published(auto.bare) == count)
    stop.set()
    watching.join()
    gaps = [b - a for a, b in itertools.pairwise(seen)]
    assert all(gap > 4.8 for gap in gaps), gaps
    assert all(b - a < 10 for a, b in itertools.pairwise([start, *(t for t in seen if t < end), end])), seen


# --- when the remote is in trouble ---

def test_a_remote_that_hangs_costs_a_change_nothing(trouble):
    assert max(trouble.took) < 5, "it waited for the remote"
    sync = trouble.hanging.sync
    assert sync["pending"] >= 20 and sync["oldest_pending"]


def test_failures_are_reported_and_retried_with_growing_pauses(trouble):
    until(40, lambda: not trouble.thread.is_alive())
    sync = trouble.refused.sync
    assert sync["failures"] >= 3 and sync["pending"] >= 1
    assert "nowhere.git" in sync["last_error"]
    assert sync["oldest_pending"].endswith("Z") and sync["last_try"] > sync["oldest_pending"]
    tries = [datetime.datetime.fromisoformat(t) for t in trouble.tries]
    pauses = [(b - a).total_seconds() for a, b in itertools.pairwise(tries)]
    assert len(pauses) >= 2
    for n, pause in enumerate(pauses):
        assert pause > 0.5 * 2 ** n - 0.01, pauses


def test_no_process_stays_for_a_remote_that_does_not_answer(trouble):
    time.sleep(max(0, trouble.since + 30 - time.monotonic()))
    assert couriers(trouble.hanging) == [] and couriers(trouble.refused) == []
    sync = trouble.hanging.sync
    assert sync["failures"] >= 1 and "longer than" in sync["last_error"] and not sync["running"]


def test_when_the_remote_is_back_the_next_change_publishes_everything(trouble):
    """The pause after the last failure has ended by then, or `bd sync` publishes."""
    repo = trouble.refused
    shutil.copytree(repo.bare, repo.path.parent.parent / "nowhere.git")
    repo.bare = repo.path.parent.parent / "nowhere.git"
    repo.create("two")
    if not couriers(repo):
        repo.bd("sync").ok()
    until(20, lambda: published(repo.bare) == 2)
    until(10, lambda: repo.sync["failures"] == 0 and repo.sync["pending"] == 0)
    assert repo.sync["last_error"] is None
    git(trouble.hanging.path, "remote", "set-url", "origin", str(trouble.hanging.bare))
    reply = trouble.hanging.json("sync")
    assert reply["durability"] == "remote" and reply["pushed"] == 20
    assert published(trouble.hanging.bare) == 20


def test_a_stopped_autosync_leaves_no_sync_running(tmp_path):
    """A sync that hangs would block all later ones."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        repo = make(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}/x.git")
        child = subprocess.Popen([str(BIN / "bd"), "sync"], cwd=repo.path, env=environment(BD_ACTOR="alice"),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(10, lambda: couriers(repo))
        child.kill()
        child.wait()
        until(10, lambda: not couriers(repo))
