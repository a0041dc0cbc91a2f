"""Exclusive reservations: one small ref at the Git remote decides between all machines."""
import fcntl
import json
import pathlib
import random
import subprocess
import time
from datetime import datetime, timedelta

import pytest

from bead_harness import faulty
from conftest import BUILD, environment, git
from harness import patience
from hints import command_of, run_command
from remotes import at, clone, hook, http_remote, point
from test_exclusive_claims import THOROUGH, folder, remote, remote_by

LEASES = "refs/abacus/leases"
T0 = "2026-01-01T00:00:00Z"


def later(minutes):
    return {"ABACUS_NOW": f"2026-01-01T{minutes // 60:02d}:{minutes % 60:02d}:00Z"}


def machine(folder, name, url, **env):
    """A clone with sharing on and one agent with the same name."""
    repo = clone(folder / name, url)
    repo.env.update(env)
    repo.agent = f"{name}-agent"
    repo.run("share", "on", program="abacus").ok()
    repo.run("agent", "register", "--name", repo.agent, "--role", "r", program="bb").ok()
    return repo


def reserve(repo, scope, *args, agent=None, **kw):
    return repo.run("agent", "reserve", "--agent", agent or repo.agent, "--scope", scope, "--bead", "bd-1",
                    "--exclusive", "--json", *args, program="bb", **kw)


def mine(repo, scope, *args, **kw):
    got = reserve(repo, scope, *args, **kw).ok().json["data"]
    assert got["durability"] == "remote" and got["state"] == "active", got
    return got


def release(repo, scope, **kw):
    repo.run("agent", "release", "--agent", repo.agent, "--scope", scope, program="bb", **kw).ok()


def refused(done, code, *words):
    error = done.json["error"]
    assert done.code != 0 and error["code"] == code, done.out
    assert all(word in json.dumps(error) for word in words), error
    return error


def reserved_here(repo, **kw):
    done = repo.run("agent", "status", "--json", program="bb", **kw).ok()
    return [(r["agent_id"], r["scope"]) for r in done.json["data"]["reservations"]]


def leases(remote):
    return json.loads(git(remote, "cat-file", "blob", f"{LEASES}:leases.json"))


def moment(text):
    return datetime.fromisoformat(text)


def leased_until(remote, scope):
    """The end of a lease at the remote."""
    [end] = [moment(x["until"]) for x in leases(remote)["leases"] if x["scope"] == scope]
    return end


MARGIN = timedelta(minutes=1)  # a lease lasts longer than its reservation, by what clocks may differ


def write_leases(remote, data):
    """Pushes these bytes, as anybody with push access can."""
    def plumbing(*args, data):
        return subprocess.run(["git", *args], input=data, cwd=remote, check=True, capture_output=True,
                              env=environment()).stdout.decode().strip()

    blob = plumbing("hash-object", "-w", "--stdin", data=data)
    tree = plumbing("mktree", data=f"100644 blob {blob}\tleases.json\n".encode())
    git(remote, "update-ref", LEASES, git(remote, "commit-tree", "-m", "forged", tree).strip())


# --- the rules ---

@pytest.mark.parametrize("kind", ["path", "http", "ssh"])
def test_one_machine_reserves_and_the_others_get_the_name_of_the_holder(folder, remote, kind):
    with remote_by(kind, folder, remote) as (url, env):
        ann, bob = machine(folder, "ann", url, **env), machine(folder, "bob", url, **env)
        first = mine(ann, "src/*")
        for scope in ("src", "src/a.c", "/"):
            told = refused(reserve(bob, scope), "RESERVATION_CONFLICT", "ann-agent", "machine")["details"]["expires_at"]
            assert moment(told) == leased_until(remote, "src") == moment(first["expires_at"]) + MARGIN
        assert reserved_here(bob) == []
        mine(bob, "doc")
        again = mine(ann, "src/*", "--ttl", "240")
        assert again["epoch"] == first["epoch"] and again["expires_at"] > first["expires_at"]
        assert leased_until(remote, "src") == moment(again["expires_at"]) + MARGIN
        release(ann, "src/*")
        ann.bd("sync").ok()
        taken = mine(bob, "src/a.c")
        assert taken["epoch"] > first["epoch"]
        assert mine(ann, "test")["epoch"] > taken["epoch"]
        assert git(remote, "rev-list", "--count", LEASES).strip() == "1"
        assert {x["scope"] for x in leases(remote)["leases"]} == {"doc", "src/a.c", "test"}


def test_an_expired_reservation_is_free_and_removed_from_the_file(folder, remote):
    ann, bob = machine(folder, "ann", remote), machine(folder, "bob", remote)
    mine(ann, "src", "--ttl", "10", env=later(0))
    refused(reserve(bob, "src", env=later(9)), "RESERVATION_CONFLICT", "ann-agent")
    mine(bob, "src", env=later(11))
    assert [x["agent"] for x in leases(remote)["leases"]] == ["bob-agent"]


def at_second(minutes, seconds):
    return {"ABACUS_NOW": f"2026-01-01T00:{minutes:02d}:{seconds:02d}Z"}


def test_a_scope_is_free_for_others_a_minute_after_its_end(folder, remote):
    """So that a clock that is up to a minute ahead does not give it to a second holder."""
    ann, bob = machine(folder, "ann", remote), machine(folder, "bob", remote)
    got = mine(ann, "src", "--ttl", "10", env=later(0))
    assert got["expires_at"] == "2026-01-01T00:10:00.000Z"
    told = refused(reserve(bob, "src", env=at_second(10, 59)), "RESERVATION_CONFLICT", "ann-agent")
    assert told["details"]["expires_at"] == "2026-01-01T00:11:00.000Z"
    assert reserved_here(ann, env=at_second(9, 59)) == [("ann-agent", "src")]
    assert reserved_here(ann, env=at_second(10, 0)) == []
    mine(bob, "src", env=at_second(11, 0))


def test_a_renewal_never_ends_the_lease_before_the_reservation(folder, remote):
    """A shorter end reaches the agents' files later than the remote, or never, if the command dies."""
    ann = machine(folder, "ann", remote)
    mine(ann, "src", "--ttl", "240", env=later(0))
    again = mine(ann, "src", "--ttl", "10", env=later(1))
    assert again["expires_at"] == "2026-01-01T00:11:00.000Z"
    assert leased_until(remote, "src") == moment("2026-01-01T04:01:00Z")
    ann.bd("sync", env=later(12)).ok()
    assert leases(remote)["leases"] == []


def test_only_the_remote_extends_an_exclusive_reservation(folder, remote):
    ann = machine(folder, "ann", remote)
    first = mine(ann, "src", "--ttl", "10", env=later(0))
    words = ["agent", "reserve", "--agent", "ann-agent", "--bead", "bd-1", "--json", "--scope"]
    done = ann.run(*words, "src", program="bb", env=later(5)).ok()
    assert done.json["data"]["expires_at"] == first["expires_at"] and "--exclusive extends it" in done.err
    said = {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": str(ann.path), "tool_name": "Bash"}
    ann.run("hook", "handle", "--host", "claude", program="vybe", stdin=json.dumps(said).encode(),
            env={**later(6), "ABACUS_AGENT": "ann-agent"}).ok()
    assert ann.run(*words, "doc", program="bb", env=later(6)).ok().json["data"]["expires_at"] > first["expires_at"]
    status = ann.run("agent", "status", "--json", program="bb", env=later(7)).ok().json["data"]["reservations"]
    assert {r["scope"]: r["expires_at"] for r in status}["src"] == first["expires_at"]


def test_the_reservation_of_a_stale_agent_can_be_taken_over(folder, remote):
    """Only if the agent is known here: any other one may be active on a machine whose facts have not arrived."""
    ann, bob, cy = (machine(folder, name, remote, **later(0)) for name in ("ann", "bob", "cyd"))
    mine(ann, "src", "--ttl", "1440", env=later(1))
    ann.bd("sync", env=later(1)).ok()
    bob.bd("sync", env=later(2)).ok()
    refused(reserve(cy, "src", "--takeover-stale", env=later(100)), "RESERVATION_CONFLICT", "ann-agent")
    refused(reserve(bob, "src", "--takeover-stale", env=later(3)), "RESERVATION_CONFLICT", "ann-agent")
    refused(reserve(bob, "src", env=later(100)), "RESERVATION_STALE_FOUND", "ann-agent")
    taken = mine(bob, "src", "--takeover-stale", env=later(100))
    assert taken["epoch"] == 2 and [x["agent"] for x in leases(remote)["leases"]] == ["bob-agent"]


def test_another_agent_of_the_same_machine_is_refused_locally(folder, remote):
    ann = machine(folder, "ann", remote)
    ann.run("agent", "register", "--name", "other-one", "--role", "r", program="bb").ok()
    mine(ann, "src")
    refused(reserve(ann, "src", agent="other-one"), "RESERVATION_CONFLICT", "ann-agent")
    refused(reserve(ann, "src/a", agent="other-one"), "RESERVATION_CONFLICT", "ann-agent")
    assert len(leases(remote)["leases"]) == 1


def test_without_sharing_or_a_remote_nothing_is_reserved(folder, remote):
    off = clone(folder / "off", remote)
    off.agent = "off-agent"
    off.run("agent", "register", "--name", "off-agent", "--role", "r", program="bb").ok()
    refused(reserve(off, "src"), "INVALID_ARGS", "abacus share on")
    ann = machine(folder, "ann", remote)
    git(ann.path, "remote", "remove", "origin")
    refused(reserve(ann, "src"), "IO_READ_FAILED", "git remote add origin URL", "Nothing was reserved")
    point(ann, folder / "nowhere.git")
    refused(reserve(ann, "src"), "IO_READ_FAILED", "Nothing was reserved")
    assert reserved_here(off) == reserved_here(ann) == []
    assert at(remote, LEASES) is None


def test_a_claim_names_the_machine_of_its_holder(folder, remote):
    ann, bob = machine(folder, "ann", remote), machine(folder, "bob", remote)
    ann.create("one", "--id", "bd-one")
    ann.bd("claim", "bd-one", "--exclusive", "--actor", "ann-agent").ok()
    ann.bd("sync").ok(), bob.bd("sync").ok()
    done = bob.bd("--json", "claim", "bd-one", "--exclusive")
    own = ann.run("share", "status", "--json", program="abacus").ok().json
    assert done.error["code"] == "already_claimed" and done.error["details"]["holder"] == "ann-agent"
    assert done.error["details"]["machine"] == own["name"] and f"(on {own['name']})" in done.error["message"]


def test_the_text_says_that_the_remote_has_confirmed_the_reservation(folder, remote):
    ann = machine(folder, "ann", remote)
    done = ann.run("agent", "reserve", "--agent", "ann-agent", "--scope", "src", "--bead", "bd-1", "--exclusive",
                   program="bb").ok()
    assert "confirmed by the remote" in done.out


# --- a remote that does not answer, and processes that die ---

def test_a_push_without_a_reply_is_found_at_the_remote(folder, remote):
    with http_remote(folder) as server:
        ann = machine(folder, "ann", f"{server.url}/r.git")
        server.mute = "git-receive-pack"
        got = mine(ann, "src")
        assert [x["epoch"] for x in leases(remote)["leases"]] == [got["epoch"]]


def test_an_unknown_result_is_reported_and_the_repeat_finds_it(folder, remote):
    with http_remote(folder) as server:
        ann, bob = machine(folder, "ann", f"{server.url}/r.git"), machine(folder, "bob", remote)
        hook(remote, "post-receive", f"mv '{remote}' '{folder}/gone.git'\n")
        server.mute = "git-receive-pack"
        refused(reserve(ann, "src"), "IO_READ_FAILED", "may or may not have the reservation")
        assert reserved_here(ann) == []
        (folder / "gone.git").rename(remote)
        (remote / "hooks" / "post-receive").unlink()
        server.mute = None
        refused(reserve(bob, "src"), "RESERVATION_CONFLICT", "ann-agent")
        mine(ann, "src")
        assert len(leases(remote)["leases"]) == 1


def test_a_slow_remote_ends_in_a_timeout_that_reserves_nothing(folder, remote):
    with http_remote(folder) as server:
        ann = machine(folder, "ann", f"{server.url}/r.git")
        server.hold = "git-receive-pack"
        refused(reserve(ann, "src", "--timeout", "1s"), "IO_READ_FAILED", "Run the same command again")
        assert reserved_here(ann) == []
        server.hold = None
        got = mine(ann, "src")
        assert leased_until(remote, "src") >= moment(got["expires_at"]) + MARGIN


def test_a_lease_whose_reservation_was_never_made_is_removed(folder, remote):
    """The command died after the push: no agent here has the reservation."""
    ann, bob = machine(folder, "ann", remote), machine(folder, "bob", remote)
    request = {"agent": "ann-agent", "bead": "bd-1", "epoch": 0, "minutes": 120, "own": False, "scope": "src",
               "takeover": False}
    subprocess.run([str(BUILD / "libexec/abacus-sync"), "lease", str(ann.path / ".git")], input=json.dumps(request).encode(), check=True,
                   capture_output=True, env=environment(**later(0)), cwd=ann.path)
    with open(ann.home / "machines/reserving.lock", "w") as command:  # a command that is still alive
        fcntl.flock(command, fcntl.LOCK_EX)
        ann.bd("sync", env=later(1)).ok()
        refused(reserve(bob, "src", env=later(1)), "RESERVATION_CONFLICT", "ann-agent")
    ann.bd("sync", env=later(1)).ok()
    assert leases(remote)["leases"] == [] and not list((ann.home / "machines/leases").iterdir())
    mine(bob, "src", env=later(1))


def test_a_reservation_killed_at_any_step_is_made_once(folder, remote, faulty):
    ann = machine(folder, "ann", remote)
    dice = random.Random(3)
    for n in range(1, 130) if THOROUGH else sorted(dice.sample(range(1, 100), 10)):
        words = ["agent", "reserve", "--agent", "ann-agent", "--scope", f"s{n}", "--bead", "bd-1", "--exclusive",
                 "--json", "--request-id", f"r{n}"]
        subprocess.run([str(pathlib.Path(faulty).parent / "bb"), *words], cwd=ann.path, capture_output=True, timeout=60,
                       env=environment(BD_ACTOR="ann", ABACUS_FAULT_AT=n))
        there = [x for x in leases(remote)["leases"] if x["scope"] == f"s{n}"] if at(remote, LEASES) else []
        assert not ("ann-agent", f"s{n}") in reserved_here(ann) or there, "reserved here, and not at the remote"
        first = ann.run(*words, program="bb").ok().json["data"]
        assert ann.run(*words, program="bb").ok().json["data"] == first
        [lease] = [x for x in leases(remote)["leases"] if x["scope"] == f"s{n}"]
        assert lease["epoch"] == first["epoch"] and lease["agent"] == "ann-agent"


# --- data of strangers ---

@pytest.mark.parametrize("data", [b"", b"no json", b"[]", b'{"format":2,"leases":[]}', b'{"leases":[]}',
                                  b'{"format":1,"leases":' + b"[" * 90 + b"]" * 90 + b"}",
                                  b'{"format":1,"leases":[' + b" " * (2 << 20) + b"]}",
                                  b'{"format":1,"leases":[' + b",".join([b"{}"] * 50000) + b"]}"],
                         ids=["empty", "text", "list", "future", "no-format", "deep", "large", "many"])
def test_unreadable_leases_are_refused_and_nothing_else_stops(folder, remote, data):
    ann = machine(folder, "ann", remote)
    write_leases(remote, data)
    git(ann.path, "remote", "rename", "origin", "hub")
    ann.bd("config", "set", "sync.remote", "hub").ok()
    hint = refused(reserve(ann, "src"), "IO_READ_FAILED")["hint"]
    assert reserved_here(ann) == []
    ann.bd("sync").ok()
    run_command(ann, command_of(hint, "refs=")).ok()
    mine(ann, "src")


@pytest.mark.parametrize("target", ["refs/beads/store", "refs/heads/main"])
def test_the_command_that_deletes_leases_deletes_no_other_ref(folder, remote, target):
    """A push that deletes a symbolic ref deletes the ref that it points to."""
    ann = machine(folder, "ann", remote)
    ann.create("published")
    ann.bd("sync").ok()
    git(remote, "update-ref", "refs/heads/main", at(remote))
    git(remote, "symbolic-ref", LEASES, target)
    hint = refused(reserve(ann, "src"), "IO_READ_FAILED")["hint"]
    assert run_command(ann, command_of(hint, "refs=")).code == 1
    assert at(remote) and at(remote, "refs/heads/main")
    git(remote, "symbolic-ref", "--delete", LEASES)
    mine(ann, "src")


def test_a_forged_lease_ends_and_unknown_members_are_kept(folder, remote):
    ann = machine(folder, "ann", remote)
    good = {"agent": "eve", "at": T0, "bead": "b", "epoch": 7, "id": "x1", "machine": "0" * 16, "scope": "src",
            "until": "2026-01-01T02:00:00Z", "extra": {"deep": [1]}}
    forged = [{**good, "id": "x2", "scope": "doc", "until": "9999-12-31T00:00:00Z"},
              {**good, "id": "x3", "scope": "doc", "at": "2027-01-01T00:00:00Z", "until": "2027-01-01T10:00:00Z"},
              {**good, "id": "x4", "scope": "doc", "machine": "../../x"}, {**good, "id": "x5", "scope": "d\u001boc"},
              {**good, "id": "x6", "scope": "doc", "epoch": 1 << 62}, {"id": "x7"}, 5]
    write_leases(remote, json.dumps({"format": 1, "epoch": 20, "leases": [good, *forged], "more": 1}).encode())
    refused(reserve(ann, "src", env=later(1)), "RESERVATION_CONFLICT", "eve")
    assert mine(ann, "doc", env=later(1))["epoch"] == 21
    now = leases(remote)
    assert now["more"] == 1 and [x["id"] for x in now["leases"][1:]] == ["x1"]
    assert now["leases"][1] == {**good, "at": "2026-01-01T00:00:00.000Z", "until": "2026-01-01T02:00:00.000Z"}
    mine(ann, "src", env=later(121))
    assert {x["agent"] for x in leases(remote)["leases"]} == {"ann-agent"}


# --- many ---

@pytest.mark.parametrize("kind", ["path", "http"] if THOROUGH else ["path"])
def test_no_scope_has_two_winners(folder, remote, kind):
    """Every machine retries until it has had the scope; the holder checks the file and then releases the scope."""
    count = 50
    with remote_by(kind, folder, remote) as (url, env):
        machines = [machine(folder, f"m{n}", url) for n in range(count)]
        left = list(machines)
        rounds = 3
        epochs = []
        while left and rounds:
            rounds -= 1
            started = [(m, m.spawn("agent", "reserve", "--agent", m.agent, "--scope", "src", "--bead", "bd-1",
                                   "--exclusive", "--json", "--timeout", "120s", program="bb", stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)) for m in left]
            winners = []
            for m, process in started:
                out, _ = process.communicate(timeout=patience(150))
                if process.returncode == 0:
                    winners.append((m, json.loads(out)["data"]["epoch"]))
                else:
                    assert json.loads(out)["error"]["code"] == "RESERVATION_CONFLICT", out
            [(winner, epoch)] = winners
            assert [(x["agent"], x["epoch"]) for x in leases(remote)["leases"]] == [(winner.agent, epoch)]
            assert not epochs or epoch > epochs[-1]
            epochs.append(epoch)
            release(winner, "src")
            winner.bd("sync").ok()
            left.remove(winner)


def test_no_scope_has_two_winners_while_the_remote_is_killed_and_slow(folder, remote):
    """The server loses replies and is unreachable for moments; a machine with an unknown result repeats the request."""
    count, faults = (50, 40) if THOROUGH else (15, 12)
    dice = random.Random(9)
    with http_remote(folder) as server:
        machines = [machine(folder, f"m{n}", remote) for n in range(count)]
        for m in machines:
            point(m, f"{server.url}/r.git")
        words = ["--scope", "src", "--bead", "bd-1", "--exclusive", "--json", "--timeout", "60s"]
        started = [(m, m.spawn("agent", "reserve", "--agent", m.agent, *words, program="bb", stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)) for m in machines]
        for _ in range(faults):
            server.mute, server.status = dice.choice([("git-receive-pack", None), (None, 503), ("git-upload-pack", None)])
            time.sleep(0.15)
            server.mute = server.status = None
            time.sleep(0.15)
        winners, unknown = [], []
        for m, process in started:
            out, _ = process.communicate(timeout=patience(90))
            if not process.returncode:
                winners.append(m.agent)
            elif json.loads(out)["error"]["code"] != "RESERVATION_CONFLICT":
                unknown.append(m)
        assert len(winners) <= 1
        winners += [m.agent for m in unknown if not reserve(m, "src", "--timeout", "60s").code]
        assert [x["agent"] for x in leases(remote)["leases"]] == winners and len(winners) == 1
