"""Machines that share mail through a Git remote: what crosses, how fast, and what never leaves."""
import os
import re
import subprocess
import time

import pytest

from conftest import environment, git
from harness import patience, wait_until
from machines import LOGS, log_of, machine, settle
from remotes import bare, http_remote, ssh_remote, sshd_at_hand

LIVE = {"ABACUS_AUTOSYNC": "1"}


def pair(tmp_path, url=None, **env):
    """Two machines with an agent each, which know each other."""
    remote = bare(tmp_path / "hub.git")
    url = url(remote) if url else remote
    a, b = machine(tmp_path / "a", url, "laptop", **env), machine(tmp_path / "b", url, "office", **env)
    a.agent("register", "--name", "amber-otter", "--role", "backend")
    b.agent("register", "--name", "bold-fox", "--role", "ui")
    settle(a, b)
    return remote, a, b


def inbox(repo, agent, *args):
    return repo.agent("inbox", "--agent", agent, *args)


def send(repo, sender, to, category="INFO", bead="bd-1", **kw):
    return repo.agent("send", "--from", sender, "--to", to, "--bead", bead, "--category", category,
                      "--subject", "Parser", "--body", "It is done", **kw)


def refs(remote):
    return git(remote, "for-each-ref", "--format=%(refname)").split()


# --- identity ---

def test_sharing_gives_a_machine_an_id_a_key_and_a_ref(tmp_path):
    remote = bare(tmp_path / "hub.git")
    a = machine(tmp_path / "a", remote)
    reply = a.abacus("share", "on")
    assert reply["on"] and reply["changed"] and re.fullmatch("[0-9a-f]{16}", reply["machine"])
    assert (a.home / "machines" / "key").stat().st_mode & 0o777 == 0o600
    assert refs(remote) == [a.ref]
    meta, facts = log_of(remote, a.ref)
    assert sorted(meta) == ["count", "format", "key", "machine", "name", "segments", "signature"]
    assert (meta["format"], meta["machine"], facts) == (1, a.id, [])
    again = a.abacus("share", "on")
    assert again["machine"] == reply["machine"] and not again["changed"]


def test_a_second_machine_of_the_same_host_gets_a_number(tmp_path):
    remote = bare(tmp_path / "hub.git")
    names = [machine(tmp_path / name, remote).abacus("share", "on")["name"] for name in "ab"]
    assert names[1] == names[0] + "-2"


def test_sharing_without_a_remote_is_refused_and_stays_off(tmp_path):
    remote = bare(tmp_path / "hub.git")
    a = machine(tmp_path / "a", remote)
    git(a.path, "remote", "remove", "origin")
    error = a.fails("share", "on", program="abacus")
    assert "no Git remote 'origin'" in error["message"]
    assert not a.abacus("share", "status")["on"]


def test_machines_are_renamed_for_all_or_for_this_clone(tmp_path):
    remote, a, b = pair(tmp_path)
    a.abacus("machines", "rename", "desk")
    settle(a, b)
    assert [m["name"] for m in b.abacus("machines")] == ["office", "desk"]
    b.abacus("machines", "rename", "desk", "hers")
    assert [m["name"] for m in b.abacus("machines")] == ["office", "hers"]
    assert [m["name"] for m in a.abacus("machines")][0] == "desk"
    assert "can't be the name" in a.fails("machines", "rename", "a/b", program="abacus")["message"]


# --- mail ---

def test_a_handoff_is_accepted_on_another_machine_and_its_sender_sees_it(tmp_path):
    remote, a, b = pair(tmp_path)
    sent = send(a, "amber-otter", "bold-fox", "HANDOFF")
    settle(a, b)
    [got] = inbox(b, "bold-fox")
    assert got["machine"] == "laptop" and got["state"] == "unread"
    assert {k: got[k] for k in sent if k not in ("messages", "recipients")} == {
        k: v for k, v in sent.items() if k not in ("messages", "recipients")}
    b.agent("ack", "--agent", "bold-fox", "--message", got["message_id"])
    settle(b, a)
    [seen] = inbox(a, "bold-fox")
    assert seen["state"] == "acked" and "machine" not in seen
    assert [seen["read_at"], seen["acked_at"]] == [inbox(b, "bold-fox")[0][k] for k in ("read_at", "acked_at")]


def test_a_broadcast_reaches_the_agents_of_all_machines(tmp_path):
    remote, a, b = pair(tmp_path)
    a.agent("register", "--name", "calm-seal", "--role", "ui")
    settle(a, b)
    assert sorted(send(b, "bold-fox", "broadcast")["recipients"]) == ["amber-otter", "calm-seal"]
    settle(b, a)
    assert [len(inbox(a, name)) for name in ("amber-otter", "calm-seal", "bold-fox")] == [1, 1, 0]


def test_a_fact_that_came_from_another_machine_is_never_sent_again(tmp_path):
    remote, a, b = pair(tmp_path)
    send(a, "amber-otter", "bold-fox")
    settle(a, b, a, b)
    counts = {ref: len(log_of(remote, ref)[1]) for ref in (a.ref, b.ref)}
    commits = git(remote, "for-each-ref", "--format=%(objectname)", LOGS)
    settle(a, b, a, b)
    assert {ref: len(log_of(remote, ref)[1]) for ref in counts} == counts
    assert git(remote, "for-each-ref", "--format=%(objectname)", LOGS) == commits
    assert len(inbox(b, "bold-fox")) == len(inbox(a, "bold-fox")) == 1


def test_what_was_done_before_sharing_is_sent_if_it_is_current(tmp_path):
    remote = bare(tmp_path / "hub.git")
    a, b = machine(tmp_path / "a", remote), machine(tmp_path / "b", remote, "office")
    old = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}
    for name in ("amber-otter", "calm-seal"):
        a.agent("register", "--name", name, "--role", "ui", env=old)
    send(a, "amber-otter", "calm-seal", env=old)
    a.agent("read", "--agent", "calm-seal", env=old)
    send(a, "amber-otter", "calm-seal", "HANDOFF", env=old)
    a.share("laptop")
    settle(a, b)
    assert [m["category"] for m in inbox(b, "calm-seal")] == ["HANDOFF"]


def test_facts_are_canonical_lines_with_consecutive_numbers(tmp_path):
    remote, a, b = pair(tmp_path)
    for _ in range(3):
        send(a, "amber-otter", "bold-fox")
    settle(a, b)
    meta, facts = log_of(remote, a.ref)
    assert [f["seq"] for f in facts] == list(range(1, len(facts) + 1)) and meta["count"] == len(facts)
    assert all(sorted(f) == ["at", "by", "data", "kind", "seq"] for f in facts)
    assert [f["at"] for f in facts] == sorted(f["at"] for f in facts)


@pytest.mark.parametrize("way", ["http", "ssh"])
def test_mail_crosses_over_http_and_ssh(tmp_path, way):
    if way == "ssh" and not sshd_at_hand():
        pytest.skip("there is no sshd")
    with http_remote(tmp_path) if way == "http" else ssh_remote(tmp_path / "ssh") as server:
        url = (lambda r: f"{server.url}/{r.name}") if way == "http" else (lambda r: f"{server.base}{r}")
        env = {} if way == "http" else {"GIT_SSH_COMMAND": server.command()}
        remote, a, b = pair(tmp_path, url, **env)
        for n in range(2):
            send(a, "amber-otter", "bold-fox")
            settle(a, b, rounds=1)
            assert len(inbox(b, "bold-fox")) == n + 1
        b.abacus("machines", "forget", "laptop")
        assert refs(remote) == [b.ref]


# --- waiting ---

def processes(repo):
    """The share processes of a clone."""
    found = subprocess.run(["pgrep", "-f", f"abacus-sync share {repo.path}/.git"], capture_output=True, text=True)
    return found.stdout.split()


def stop(*repos):
    """Sharing is off: the share processes end with their next look."""
    for repo in repos:
        repo.abacus("share", "off")
    wait_until(lambda: not any(processes(repo) for repo in repos), "the share processes end", 30)


def test_a_message_wakes_an_agent_that_waits_on_another_machine(tmp_path):
    remote, a, b = pair(tmp_path)
    waiting = b.spawn("--json", "agent", "inbox", "--agent", "bold-fox", "--wait", "60s", program="bb", env=LIVE,
                      stdout=subprocess.PIPE)
    wait_until(lambda: processes(b), "a share process runs while an agent waits")
    began = time.monotonic()
    send(a, "amber-otter", "bold-fox", env=LIVE)
    out = waiting.communicate(timeout=patience(30))[0]
    assert b"It is done" in out
    assert time.monotonic() - began < patience(5)
    stop(a, b)


# --- off by default ---

def test_nothing_leaves_a_machine_that_does_not_share(tmp_path):
    remote = bare(tmp_path / "hub.git")
    a, b = machine(tmp_path / "a", remote, beads=True), machine(tmp_path / "b", remote, "office")
    b.agent("register", "--name", "bold-fox", "--role", "ui")
    b.exchange()
    bead, secret = a.create("A bead travels"), "xyzzy-never-leaves"
    a.agent("register", "--name", secret, "--role", secret)
    a.agent("send", "--from", secret, "--to", secret, "--bead", bead, "--category", "INFO", "--subject", secret,
            "--body", secret)
    a.agent("reserve", "--agent", secret, "--scope", f"src/{secret}", "--bead", bead)
    a.bb("post", secret, "--agent", secret)
    a.vybe("memory", "set", "--key", secret, "--value", secret, "--agent", secret, "--request-id", "1")
    a.json("sync")
    everything = subprocess.run(["git", "cat-file", "--batch-all-objects", "--batch"], cwd=remote,
                                capture_output=True, env=environment()).stdout
    assert b"A bead travels" in everything and secret.encode() not in everything
    assert sorted(refs(remote)) == sorted([b.ref, "refs/beads/store"])
    assert not (a.home / "machines" / "key").exists()


def test_share_off_stops_sending_and_says_what_is_out_there(tmp_path):
    remote, a, b = pair(tmp_path)
    before = git(remote, "for-each-ref", "--format=%(objectname)", a.ref)
    reply = a.abacus("share", "off")
    assert not reply["on"] and reply["sent"] == log_of(remote, a.ref)[0]["count"] and reply["ref"] == a.ref
    send(a, "amber-otter", "bold-fox")
    assert a.bd("init", "--prefix", "bd").ok() and a.json("sync")
    assert git(remote, "for-each-ref", "--format=%(objectname)", a.ref) == before
    a.abacus("share", "on")
    b.exchange()
    assert len(inbox(b, "bold-fox")) == 1


def test_forgetting_a_machine_deletes_its_log_until_it_shares_again(tmp_path):
    remote, a, b = pair(tmp_path)
    b.abacus("machines", "forget", "laptop")
    assert refs(remote) == [b.ref]
    assert [m["name"] for m in b.abacus("machines")] == ["office"]
    send(a, "amber-otter", "bold-fox")
    settle(a, b)
    assert sorted(refs(remote)) == sorted([a.ref, b.ref])
    assert len(inbox(b, "bold-fox")) == 1
