"""vybe and other clones: changes that arrive by a sync are among the deltas, and affect readiness."""
import json
import subprocess

import pytest

from conftest import BIN, Repo, environment

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null"}


def git(*args, cwd=None):
    subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, env=environment(**GIT))


@pytest.fixture
def clones(tmp_path):
    """Two clones of one remote with the same beads."""
    git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    made = []
    for name in ("one", "two"):
        path = tmp_path / name
        git("clone", "-q", str(tmp_path / "remote.git"), str(path))
        repo = Repo(path)
        repo.env["BD_ACTOR"] = name
        repo.bd("init", "--prefix", "bd").ok()
        repo.bd("sync").ok()
        made.append(repo)
    return made


def vybe(repo, *args, request=None):
    done = subprocess.run([str(BIN / "vybe"), *args, "--agent", f"agent-{repo.path.name}",
                           *(["--request-id", request] if request else [])], cwd=repo.path, capture_output=True, timeout=30,
                          env=environment(**repo.env))
    reply = json.loads(done.stdout)
    assert reply["success"], reply
    return reply["data"]


def exchange(*repos):
    for repo in (*repos, *repos):
        repo.bd("sync").ok()


def test_changes_of_other_clones_are_among_the_deltas(clones):
    one, two = clones
    task = vybe(one, "task", "create", "--title", "shared", request="r1")["task"]["id"]
    vybe(one, "resume", request="r2")
    exchange(one, two)
    assert vybe(two, "task", "get", "--id", task)["title"] == "shared"
    vybe(two, "task", "begin", "--id", task, request="r1")
    vybe(two, "task", "complete", "--id", task, "--outcome", "done", "--summary", "there", request="r2")
    exchange(two, one)
    [delta] = vybe(one, "resume", request="r3")["deltas"]
    assert (delta["kind"], delta["task_id"], delta["agent_name"]) == ("task_closed", task, "agent-two")
    assert vybe(one, "resume", request="r4")["deltas"] == []


def test_a_blocker_that_arrives_blocks(clones):
    one, two = clones
    task = vybe(one, "task", "create", "--title", "waits", request="r1")["task"]["id"]
    assert vybe(one, "resume", request="r2")["focus_task_id"] == task
    exchange(one, two)
    first = vybe(two, "task", "create", "--title", "first", request="r1")["task"]["id"]
    vybe(two, "task", "add-dep", "--id", task, "--depends-on", first, request="r2")
    exchange(two, one)
    assert vybe(one, "task", "get", "--id", task)["status"] == "blocked"
    packet = vybe(one, "resume", request="r3")
    assert (packet["focus_task_id"], packet["focus_rule"]) == (task, "mine_waiting")
    vybe(two, "task", "complete", "--id", first, "--outcome", "done", "--summary", "s", request="r3")
    exchange(two, one)
    assert vybe(one, "task", "get", "--id", task)["status"] == "pending"


def test_nothing_is_reported_twice_after_the_journal_was_cut(clones):
    """A sync may cut the journal; known changes stay known."""
    one, two = clones
    ids = [vybe(one, "task", "create", "--title", str(i), request=f"r{i}")["task"]["id"] for i in range(5)]
    vybe(one, "resume", request="a")
    exchange(one, two)
    for file in (one.path / ".git/abacus").glob("cache.db*"):
        file.unlink()
    assert vybe(one, "resume", request="b")["deltas"] == []
    two.bd("update", ids[0], "--title", "new").ok()
    exchange(two, one)
    assert [d["task_id"] for d in vybe(one, "resume", request="c")["deltas"]] == [ids[0]]


def test_a_bead_that_moved_to_another_id_is_followed(clones):
    """Both clones created a bead with the same id: the later one moves, with its memory, events and focus."""
    one, two = clones
    env = dict(one.env)
    one.env["ABACUS_NOW"] = "2026-01-01T00:00:00Z"
    one.bd("create", "earlier", "--id", "bd-same").ok()
    one.env = env
    two.bd("create", "later", "--id", "bd-same").ok()
    vybe(two, "resume", "--focus", "bd-same", request="r0")
    vybe(two, "memory", "set", "--key", "k", "--value", "v", "--scope", "task", "--scope-id", "bd-same", request="r1")
    vybe(two, "push", "--json", '{"task_id":"bd-same","event":{"kind":"progress","message":"mine"}}', request="r2")
    exchange(one, two)
    moved, = [t["id"] for t in vybe(two, "task", "list")["tasks"] if t["title"] == "later"]
    assert moved != "bd-same"
    packet = vybe(two, "resume", request="r3")
    assert packet["focus_task_id"] == moved
    assert [m["key"] for m in packet["brief"]["relevant_memory"]] == ["k"]
    assert "mine" in [e["message"] for e in packet["brief"]["recent_events"]]
