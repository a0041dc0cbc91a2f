"""Exclusive claims: the Git remote decides, and a successful claim is valid there."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import pytest

from bead_harness import BD, faulty
from conftest import BIN, Repo, Result, environment, git
from harness import patience
from remotes import at, bare, clone, hook, http_remote, is_sync_error, point, ssh_remote, sshd_at_hand, sync

THOROUGH = bool(os.environ.get("ABACUS_THOROUGH"))


@pytest.fixture
def folder(tmp_path):
    """In memory if the system supports it: many clones push and sync files to disk."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    path = pathlib.Path(tempfile.mkdtemp(prefix="abacus-exclusive-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def remote(folder):
    return bare(folder / "r.git")


def stocked(folder, url, *ids):
    """The clones `ann` and `bob`, with the same ready beads in this order of urgency."""
    ann = clone(folder / "ann", url)
    for n, bead in enumerate(ids):
        ann.create(bead, "--id", bead, "-p", str(min(n + 1, 4)))
    sync(ann)
    return ann, clone(folder / "bob", url)


def claim(repo, *args, **kw):
    """The bead that an exclusive claim got."""
    [bead] = repo.json(*args, "--exclusive", **kw)
    assert bead["durability"] == "remote" and bead["status"] == "in_progress" and bead["epoch"], bead
    return bead


def there(remote, bead):
    """A bead as the remote has it."""
    lines = git(remote, "cat-file", "blob", "refs/beads/store:state.jsonl").splitlines()
    return next(line for line in map(json.loads, lines) if line["id"] == bead)


def held_there(remote, bead):
    """The holder and the epoch of the bead at the remote."""
    line = there(remote, bead)
    return line.get("assignee"), line.get("assignee_at")


def refused(repo, holder, *args, **kw):
    done = repo.bd("--json", *args, "--exclusive", **kw)
    assert done.code == 1 and done.error["code"] == "already_claimed", done.out
    assert done.error["details"]["holder"] == holder and holder in done.error["message"], done.error


# --- one after the other ---

@contextlib.contextmanager
def remote_by(kind, folder, remote):
    if kind == "path":
        yield remote, {}
    elif kind == "http":
        with http_remote(folder) as server:
            yield f"{server.url}/r.git", {}
    else:
        if not sshd_at_hand():
            pytest.skip("no sshd")
        with ssh_remote(folder / "ssh") as ssh:
            yield f"{ssh.base}{remote}", {"GIT_SSH_COMMAND": ssh.command(), "PATH": os.environ["PATH"]}


@pytest.mark.parametrize("kind", ["path", "http", "ssh"])
def test_an_exclusive_claim_is_at_the_remote_when_it_returns(folder, remote, kind):
    with remote_by(kind, folder, remote) as (url, env):
        ann, bob = stocked(folder, remote, "bd-one", "bd-two", "bd-three", "bd-four")
        for repo in (ann, bob):
            point(repo, url)
            repo.env.update(env)
        mine = claim(ann, "claim", "bd-one")
        assert held_there(remote, "bd-one") == ("ann", mine["epoch"])
        refused(bob, "ann", "claim", "bd-one")
        assert claim(bob, "ready", "--claim")["id"] == "bd-two"
        assert claim(ann, "update", "bd-three", "--claim", "--title", "Third")["title"] == "Third"
        assert there(remote, "bd-three")["title"] == "Third"
        refused(bob, "ann", "update", "bd-three", "--claim")
        assert claim(bob, "ready", "--claim")["id"] == "bd-four"
        assert ann.json("ready", "--claim", "--exclusive") == []
        assert git(ann.path, "for-each-ref", "refs/beads/exclusive") == ""
        assert not (ann.home / "exclusive.jsonl").exists()
        assert ann.json("sync", "--status")["pending"] == 0


def test_an_exclusive_claim_renews_an_own_one_and_takes_an_expired_one(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one")
    first = claim(ann, "claim", "bd-one", "--lease", "10m", env={"ABACUS_NOW": "2026-01-01T00:00:00Z"})
    again = claim(ann, "claim", "bd-one", "--lease", "10m", env={"ABACUS_NOW": "2026-01-01T00:05:00Z"})
    assert again["epoch"] == first["epoch"] and again["assignee_expires"] > first["assignee_expires"]
    refused(bob, "ann", "claim", "bd-one", env={"ABACUS_NOW": "2026-01-01T00:14:00Z"})
    done = bob.bd("--json", "claim", "bd-one", "--exclusive", env={"ABACUS_NOW": "2026-01-01T00:15:59Z"})
    assert done.error["code"] == "already_claimed" and "after 2026-01-01T00:16:00.000Z" in done.out, done.out
    assert bob.json("ready", "--claim", "--exclusive", env={"ABACUS_NOW": "2026-01-01T00:15:59Z"}) == []
    taken = claim(bob, "claim", "bd-one", env={"ABACUS_NOW": "2026-01-01T00:16:00Z"})
    assert taken["epoch"] > first["epoch"] and held_there(remote, "bd-one") == ("bob", taken["epoch"])


def test_a_lease_is_renewed_at_the_remote_before_the_reply(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one")
    first = claim(ann, "claim", "bd-one", "--lease", "10m", env={"ABACUS_NOW": "2026-01-01T00:00:00Z"})
    again = claim(ann, "renew", "bd-one", "--lease", "20m", env={"ABACUS_NOW": "2026-01-01T00:05:00Z"})
    assert again["epoch"] == first["epoch"] and again["assignee_expires"] > first["assignee_expires"]
    refused(bob, "ann", "claim", "bd-one", env={"ABACUS_NOW": "2026-01-01T00:24:00Z"})
    ann.bd("config", "set", "claim.exclusive", "true").ok()
    remote.rename(folder / "gone.git")
    done = ann.bd("--json", "renew", "bd-one")
    assert done.error["code"] == "sync_failed" and "Nothing was claimed" in done.out, done.out


def test_unpublished_changes_are_pushed_with_an_exclusive_claim(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one")
    ann.create("made here", "--id", "bd-new", "-p", "0")
    assert claim(ann, "ready", "--claim")["id"] == "bd-new"
    assert held_there(remote, "bd-new")[0] == "ann"
    refused(bob, "ann", "claim", "bd-new")


def test_several_beads_are_claimed_exclusively_for_several_agents(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one", "bd-two", "bd-three")
    got = ann.json("ready", "--parallel", "2", "--claim", "--for", "amy,ben", "--exclusive")
    assert [(x["id"], x["assignee"], x["durability"]) for x in got] == [
        ("bd-one", "amy", "remote"), ("bd-two", "ben", "remote")]
    assert held_there(remote, "bd-two") == ("ben", got[1]["epoch"])
    refused(bob, "amy", "claim", "bd-one")


def test_the_text_says_that_the_remote_has_confirmed_the_claim(folder, remote):
    ann, _ = stocked(folder, remote, "bd-one")
    assert ", confirmed by the remote\n" in ann.bd("claim", "bd-one", "--exclusive").ok().out
    done = ann.bd("ready", "--exclusive")
    assert done.code == 1 and "--exclusive needs --claim" in done.err


def test_without_a_remote_nothing_is_claimed(folder):
    ann, = [clone(folder / "ann", None)]
    ann.create("one", "--id", "bd-one")
    for args in (["claim", "bd-one"], ["ready", "--claim"], ["update", "bd-one", "--claim"]):
        error = is_sync_error(ann.bd("--json", *args, "--exclusive"), "sync_failed")
        assert "git remote add origin" in error["hint"] and "Nothing was claimed" in error["hint"]
        assert ann.show("bd-one")["status"] == "open"


def test_a_remote_that_cannot_be_reached_claims_nothing(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one")
    away = remote.rename(folder / "away.git")
    error = is_sync_error(ann.bd("--json", "claim", "bd-one", "--exclusive"), "sync_failed")
    assert "Nothing was claimed" in error["hint"], error
    assert ann.show("bd-one")["status"] == "open"
    away.rename(remote)
    claim(bob, "claim", "bd-one")
    refused(ann, "bob", "claim", "bd-one")


# --- every face ---

def test_the_setting_makes_every_claim_exclusive(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one", "bd-two", "bd-three", "bd-four")
    ann.bd("config", "set", "claim.exclusive", "true").ok()
    assert ann.json("claim", "bd-one")[0]["durability"] == "remote"
    assert ann.json("ready", "--claim")[0]["durability"] == "remote"
    shut, following = ann.json("close", "bd-one", "--claim-next")
    assert "durability" not in shut and following["durability"] == "remote"
    assert [there(remote, x)["status"] for x in ("bd-one", "bd-two", "bd-three")] == ["closed"] + ["in_progress"] * 2
    assert "durability" not in ann.json("claim", "bd-four", "--exclusive=false")[0]
    assert there(remote, "bd-four")["status"] == "open"
    assert bob.bd("config", "set", "claim.exclusive", "maybe").code == 1
    bob.bd("config", "set", "claim.exclusive", "true").ok()
    point(bob, folder / "nowhere")
    is_sync_error(bob.bd("--json", "ready", "--claim"), "sync_failed")


def test_a_task_is_begun_at_the_remote_if_the_setting_is_on(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one", "bd-two")
    ann.bd("dep", "add", "bd-two", "bd-one").ok()
    sync(ann)
    for repo in (ann, bob):
        repo.bd("config", "set", "claim.exclusive", "true").ok()

    def vybe(repo, *args):
        return repo.run("task", *args, "--agent", repo.path.name, program="vybe")

    begun = vybe(ann, "begin", "--id", "bd-one", "--request-id", "r1").ok().json["data"]["task"]
    assert held_there(remote, "bd-one") == ("ann", begun["epoch"])
    assert vybe(ann, "begin", "--id", "bd-one", "--request-id", "r1").ok().json["data"]["task"]["epoch"] == begun["epoch"]
    late = vybe(bob, "begin", "--id", "bd-one", "--request-id", "r1")
    assert late.code == 1 and "ALREADY_CLAIMED" in late.out and "ann" in late.out
    blocked = vybe(bob, "begin", "--id", "bd-two", "--request-id", "r2")
    assert blocked.code == 1 and "BLOCKED" in blocked.out
    assert there(remote, "bd-two")["status"] == "open"
    late = vybe(bob, "set-status", "--id", "bd-one", "--status", "in_progress", "--request-id", "r3")
    assert late.code == 1 and "ALREADY_CLAIMED" in late.out


def test_mcp_and_http_claim_exclusively(folder, remote):
    ann, bob = stocked(folder, remote, "bd-one", "bd-two", "bd-three")
    line = json.dumps({"op": "bead/ready", "params": {"claim": True, "exclusive": True, "agent": "ann"}})
    done = ann.run("pipe", program="abacus", stdin=line.encode() + b"\n")
    assert json.loads(done.out)["data"][0]["durability"] == "remote", done.out
    call = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "bd_claim", "arguments": {"ids": ["bd-two"], "exclusive": True, "agent": "ann"}}}]
    done = ann.run("mcp", program="abacus", stdin="".join(json.dumps(x) + "\n" for x in call).encode())
    reply = json.loads(done.out.splitlines()[1])["result"]
    assert not reply.get("isError") and "remote" in json.dumps(reply), reply
    assert held_there(remote, "bd-one")[0] == held_there(remote, "bd-two")[0] == "ann"
    refused(bob, "ann", "claim", "bd-two")


# --- races ---

def test_the_loser_of_a_race_gets_the_next_bead_or_the_name_of_the_holder(folder, remote):
    """Bob claims while Ann's push arrives at the server."""
    with http_remote(folder) as server:
        ann, bob = stocked(folder, remote, "bd-one", "bd-two", "bd-three")
        for act, lost, won in ((["ready", "--claim"], "bd-one", "bd-two"), (["claim", "bd-three"], "bd-three", None)):
            point(ann, f"{server.url}/r.git")
            hook(remote, "pre-receive", f"rm -f '{remote}/hooks/pre-receive'\n"
                 f"unset GIT_DIR GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
                 f"cd '{bob.path}' && BD_ACTOR=bob ABACUS_AUTOSYNC=0 '{BIN}/bd' claim {lost} --exclusive >&2\n")
            if won:
                assert claim(ann, *act)["id"] == won
                assert held_there(remote, won)[0] == "ann"
            else:
                refused(ann, "bob", *act)
            assert held_there(remote, lost)[0] == "bob"
            assert ann.show(lost)["assignee"] == "bob"


def test_a_local_claim_during_the_push_is_not_reported_as_won(folder, remote):
    with http_remote(folder) as server:
        ann, _ = stocked(folder, remote, "bd-one")
        point(ann, f"{server.url}/r.git")
        hook(remote, "pre-receive", f"unset GIT_DIR GIT_QUARANTINE_PATH\n"
             f"cd '{ann.path}' && BD_ACTOR=cy ABACUS_AUTOSYNC=0 '{BIN}/bd' claim bd-one >&2\n")
        refused(ann, "cy", "--request-id", "r", "claim", "bd-one")
        assert ann.show("bd-one")["assignee"] == "cy"
        (remote / "hooks" / "pre-receive").unlink()
        sync(ann)
        assert held_there(remote, "bd-one")[0] == "cy"
        refused(ann, "cy", "--request-id", "r", "claim", "bd-one")


# --- a remote that does not answer ---

def test_a_push_without_a_reply_is_found_at_the_remote(folder, remote):
    with http_remote(folder) as server:
        ann, _ = stocked(folder, remote, "bd-one", "bd-two")
        point(ann, f"{server.url}/r.git")
        server.mute = "git-receive-pack"
        mine = claim(ann, "ready", "--claim")
        assert mine["id"] == "bd-one" and held_there(remote, "bd-one") == ("ann", mine["epoch"])
        assert ann.show("bd-one")["assignee"] == "ann" and there(remote, "bd-two")["status"] == "open"


@pytest.mark.parametrize("named", [True, False], ids=["request-id", "plain"])
def test_an_unknown_result_is_reported_and_the_repeat_finds_it(folder, remote, named):
    """The remote accepts the push and disappears before it can be asked."""
    who = ["--request-id", "r1"] if named else []
    with http_remote(folder) as server:
        ann, bob = stocked(folder, remote, "bd-one", "bd-two")
        point(ann, f"{server.url}/r.git")
        hook(remote, "post-receive", f"mv '{remote}' '{folder}/gone.git'\n")
        server.mute = "git-receive-pack"
        error = is_sync_error(ann.bd("--json", *who, "ready", "--claim", "--exclusive"), "sync_failed")
        assert "may or may not have the claim" in error["hint"], error
        assert ann.show("bd-one")["status"] == "open"
        (folder / "gone.git").rename(remote)
        (remote / "hooks" / "post-receive").unlink()
        server.mute = None
        mine = claim(ann, *who, "ready", "--claim")
        assert mine["id"] == "bd-one" and held_there(remote, "bd-one") == ("ann", mine["epoch"])
        assert there(remote, "bd-two")["status"] == "open"
        assert ann.show("bd-one")["assignee"] == "ann"
        refused(bob, "ann", "claim", "bd-one")
        bob.bd("close", "bd-one", "--force").ok()
        sync(bob)
        assert [x["id"] for x in sync(ann)["lost_claims"]] == ["bd-one"]
        again = claim(ann, *who, "ready", "--claim")
        assert again["id"] == ("bd-one" if named else "bd-two")


def test_a_remote_that_is_too_slow_ends_in_a_timeout_that_claims_nothing(folder, remote):
    with http_remote(folder) as server:
        ann, _ = stocked(folder, remote, "bd-one")
        point(ann, f"{server.url}/r.git")
        server.hold = "git-receive-pack"
        error = is_sync_error(ann.bd("--json", "claim", "bd-one", "--exclusive", "--timeout", "1s"), "sync_timeout")
        assert "1 s" in error["message"] and "Run the same command again" in error["hint"], error
        assert ann.show("bd-one")["status"] == "open" and there(remote, "bd-one")["status"] == "open"
        server.hold = None
        assert claim(ann, "claim", "bd-one")["assignee"] == "ann"


def test_a_repeated_request_gets_the_same_reply_without_the_remote(folder, remote):
    ann, _ = stocked(folder, remote, "bd-one", "bd-two")
    first = claim(ann, "--request-id", "r1", "ready", "--claim")
    remote.rename(folder / "gone.git")
    assert claim(ann, "--request-id", "r1", "ready", "--claim") == first
    done = ann.bd("--json", "--request-id", "r1", "ready", "--claim")
    assert done.code == 1 and done.error["code"] == "request_mismatch"


# --- killed ---

def claim_after_kills(folder, remote, ann, kill, times):
    """Kills a claim at each of these moments; then repeats the same request until it gets a reply."""
    for n, moment in enumerate(times):
        ann.create(f"bead {n}", "--id", f"bd-k{n}", "-p", "0")
        sync(ann)
        words = ["--json", "--request-id", f"k{n}", "ready", "--claim", "--exclusive"]
        kill(words, moment)
        here, before = ann.show(f"bd-k{n}"), there(remote, f"bd-k{n}")
        assert (before["status"], before.get("assignee")) in (("open", None), ("in_progress", "ann")), before
        assert here["assignee"] in (None, "ann"), here
        if here["assignee"]:
            assert before.get("assignee") == "ann", "claimed here, and not at the remote"
        [bead] = ann.bd(*words).ok().json
        assert bead["id"] == f"bd-k{n}" and held_there(remote, bead["id"]) == ("ann", bead["epoch"])
        if before.get("assignee"):
            assert before["assignee_at"] == bead["epoch"]
        assert ann.bd(*words).ok().json == [bead]
        assert there(remote, "bd-spare")["status"] == "open"


def test_a_claim_killed_at_any_step_is_made_once(folder, remote, faulty):
    """Kills the command or the git process, whichever reaches that step first."""
    ann, _ = stocked(folder, remote, "bd-spare")
    counted = folder / "counted"

    def run(words, program=faulty, request="", **env):
        return Result(subprocess.run([program, *words], cwd=ann.path, capture_output=True, timeout=60,
                                     input=request.encode(), env=environment(BD_ACTOR="ann", **env)))

    ann.create("bead", "--id", "bd-first", "-p", "0")
    run(["exclusive", str(ann.path / ".git")], program=str(pathlib.Path(faulty).parents[1] / "libexec/abacus-sync"),
        request=json.dumps({"op": "bead claim", "actor": "ann", "parameters": {"ids": ["bd-first"]}}),
        ABACUS_FAULT_COUNT=counted).ok()
    assert held_there(remote, "bd-first")[0] == "ann"
    steps = int(counted.read_text())
    at_step = range(1, steps + 1) if THOROUGH else random.Random(7).sample(range(1, steps + 1), min(steps, 14))
    claim_after_kills(folder, remote, ann, lambda words, step: run(words, ABACUS_FAULT_AT=step), at_step)
    assert ann.json("validate")["ok"]


def test_a_claim_killed_at_any_time_is_made_once(folder, remote):
    with http_remote(folder) as server:
        ann, _ = stocked(folder, remote, "bd-spare")
        point(ann, f"{server.url}/r.git")

        def kill(words, seconds):
            process = subprocess.Popen([BD, *words], cwd=ann.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=environment(BD_ACTOR="ann"), start_new_session=True)
            time.sleep(seconds)
            process.kill()
            process.communicate()

        dice = random.Random(11)
        claim_after_kills(folder, remote, ann, kill, [dice.uniform(0, 0.25) for _ in range(100 if THOROUGH else 6)])


# --- many ---

def crowd(folder, remote, count, beads):
    """Clones of one repository with this many ready beads."""
    first = clone(folder / "c0", remote)
    lines = "".join(json.dumps({"id": f"bd-{n}", "title": f"bead {n}", "status": "open", "priority": 2,
                                "issue_type": "task", "created_at": "2026-01-01T00:00:00Z",
                                "updated_at": "2026-01-01T00:00:00Z"}) + "\n" for n in range(beads))
    (folder / "beads.jsonl").write_text(lines)
    first.bd("import", str(folder / "beads.jsonl")).ok()
    sync(first)
    clones = [first]
    for n in range(1, count):
        shutil.copytree(first.path, folder / f"c{n}")
        repo = Repo(folder / f"c{n}")
        repo.env = {"BD_ACTOR": f"c{n}"}
        clones.append(repo)
    return clones


def claim_all_at_once(clones, seconds=120):
    """Every clone claims one ready bead; returns the beads of successful claims, and the failures."""
    started = [(repo, repo.spawn("--json", "ready", "--claim", "--exclusive", "--timeout", f"{seconds}s",
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE))
               for repo in clones]
    won, failed = {}, []
    for repo, process in started:
        out, err = process.communicate(timeout=patience(seconds + 30))
        if process.returncode:
            failed.append(json.loads(out)["error"])
            continue
        for bead in json.loads(out):
            assert bead["durability"] == "remote"
            assert bead["id"] not in won, f"{bead['id']} has two winners"
            won[bead["id"]] = (bead["assignee"], bead["epoch"])
            assert bead["assignee"] == repo.path.name
    return won, failed


@pytest.mark.parametrize("kind", ["path", "http"] if THOROUGH else ["path"])
def test_no_bead_has_two_winners(folder, remote, kind):
    count, beads = 50, 30
    clones = crowd(folder, remote, count, beads)
    with remote_by(kind, folder, remote) as (url, _):
        for repo in clones:
            point(repo, url)
        won, failed = claim_all_at_once(clones)
    assert not failed and len(won) == beads
    for bead, (holder, epoch) in won.items():
        assert held_there(remote, bead) == (holder, epoch)


def test_no_bead_has_two_winners_while_the_remote_is_killed_and_slow(folder, remote):
    """The server loses replies, delays requests, and is unreachable for moments."""
    count, beads, faults = (50, 30, 40) if THOROUGH else (15, 10, 12)
    dice = random.Random(5)
    with http_remote(folder) as server:
        clones = crowd(folder, remote, count, beads)
        for repo in clones:
            point(repo, f"{server.url}/r.git")
        started = [(repo, repo.spawn("--json", "ready", "--claim", "--exclusive", "--timeout", "60s",
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE))
                   for repo in clones]
        for _ in range(faults):
            server.mute, server.status = dice.choice([("git-receive-pack", None), (None, 503), ("git-upload-pack", None)])
            time.sleep(0.15)
            server.mute = server.status = None
            time.sleep(0.15)
        won, unknown = {}, []
        for repo, process in started:
            out, _ = process.communicate(timeout=patience(90))
            if process.returncode:
                assert json.loads(out)["error"]["code"] in ("sync_failed", "sync_timeout"), out
                unknown.append(repo)
            for bead in json.loads(out) if not process.returncode else []:
                assert bead["id"] not in won and held_there(remote, bead["id"]) == (repo.path.name, bead["epoch"])
                won[bead["id"]] = repo.path.name
        for repo in unknown:
            for bead in repo.json("ready", "--claim", "--exclusive", "--timeout", "60s"):
                assert bead["id"] not in won and held_there(remote, bead["id"])[0] == repo.path.name
                won[bead["id"]] = repo.path.name
        assert len(won) == beads
        sync(clones[0])
        holders = [x["assignee"] for x in clones[0].json("list", "--status", "in_progress", "-n", "0")]
        assert sorted(holders) == sorted(won.values())
