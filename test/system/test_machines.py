"""Machines that share mail through a Git remote: what is exchanged, how fast, and what never leaves a machine."""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

import pytest

from conftest import BIN, environment, git
from harness import patience, wait_until
from machines import LOGS, Machine, log_of, machine, settle
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
    assert sorted(meta) == ["at", "count", "format", "key", "machine", "name", "segments", "signature"]
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


def test_acts_before_sharing_are_sent_if_they_are_current(tmp_path):
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


# --- waiting ---

def processes(repo):
    """The share processes of a clone."""
    found = subprocess.run(["pgrep", "-f", f"abacus-sync share {repo.path}/.git"], capture_output=True, text=True)
    return found.stdout.split()


def stop(*repos):
    """Turns sharing off: the share processes end at their next look."""
    for repo in repos:
        repo.abacus("share", "off")
    wait_until(lambda: not any(processes(repo) for repo in repos), "the share processes end", 30)


def ticks(pid):
    """CPU time of a process, in hundredths of a second."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_a_waiting_machine_only_polls_and_ends_a_minute_after_the_last_act(tmp_path):
    remote, a, b = pair(tmp_path)
    waiting = b.spawn("agent", "inbox", "--agent", "bold-fox", "--wait", "60s", program="bb", env=LIVE)
    wait_until(lambda: processes(b), "a share process runs while an agent waits")
    [share] = processes(b)
    before, began = (ticks(waiting.pid), ticks(share)), time.monotonic()
    time.sleep(5)  # what it uses in this time
    polls = (time.monotonic() - began) / 2 + 1
    assert ticks(waiting.pid) - before[0] <= 1 and ticks(share) - before[1] <= 10 * polls
    waiting.terminate()
    waiting.wait()
    send(b, "bold-fox", "amber-otter", env=LIVE)
    assert processes(b)
    minute = time.time() - 61  # as if a minute had passed
    os.utime(b.home / "machines" / "changed", (minute, minute))
    wait_until(lambda: not processes(b), "no process is left", 60)


# --- everything, over every transport ---

@contextlib.contextmanager
def transport(tmp_path, way):
    """The address of a remote, and the environment for it."""
    remote = bare(tmp_path / "hub.git")
    if way == "path":
        yield remote, remote, {}
    elif way == "http":
        with http_remote(tmp_path) as server:
            yield remote, f"{server.url}/{remote.name}", {}
    else:
        with ssh_remote(tmp_path / "ssh") as server:
            yield remote, f"{server.base}{remote}", {"GIT_SSH_COMMAND": server.command()}


def hand_over(a, b, bead):
    """A HANDOFF wakes the waiting agent, and its sender sees that it was acknowledged."""
    waiting = b.spawn("--json", "agent", "inbox", "--agent", "bold-fox", "--wait", "60s", program="bb", env=LIVE,
                      stdout=subprocess.PIPE)
    wait_until(lambda: processes(b), "a share process runs while an agent waits")
    began = time.monotonic()
    send(a, "amber-otter", "bold-fox", "HANDOFF", bead, env=LIVE)
    [got] = json.loads(waiting.communicate(timeout=patience(60))[0])["data"]
    assert got["body"] == "It is done" and time.monotonic() - began < patience(5)
    b.agent("ack", "--agent", "bold-fox", "--message", got["message_id"], env=LIVE)
    wait_until(lambda: inbox(a, "bold-fox")[0]["state"] == "acked", "the sender sees that it was accepted", 60)


def protocol_events(repo, bead):
    """The protocol's events in a bead's timeline, which the page shows: that of a message stands with it."""
    items = repo.abacus("conversation", bead)["items"]
    return [(i["event"]["event_type"], i["event"]["from_agent"]) for i in items if i.get("event")]


@pytest.mark.parametrize("way", ["path", "http", "ssh"])
def test_all_kinds_of_facts_reach_other_machines(tmp_path, way):
    if way == "ssh" and not sshd_at_hand():
        pytest.skip("there is no sshd")
    with transport(tmp_path, way) as (remote, url, env):
        a, b = (machine(tmp_path / name, url, host, beads=True, **env) for name, host in (("a", "laptop"), ("b", "office")))
        bead = a.create("Parser")
        a.agent("register", "--name", "amber-otter", "--role", "backend")
        b.agent("register", "--name", "bold-fox", "--role", "ui")
        for one in (a, b, a):
            one.json("sync")
        hand_over(a, b, bead)
        send(a, "amber-otter", "broadcast", bead=bead)
        first = a.bb("post", "How do we parse?", "--agent", "amber-otter")
        a.bb("status", "set", "Parser", "--agent", "amber-otter")
        (a.path / "out.txt").write_text("x")
        a.bb("artifact", "add", "out.txt", "The grammar", "--agent", "amber-otter")
        remember(a, "grammar", "LL(1)", 1)
        a.vybe("push", "--agent", "amber-otter", "--request-id", "2", "--json",
               '{"event":{"kind":"progress","message":"half of it"}}')
        settle(a, b, rounds=1)
        assert [m["category"] for m in inbox(b, "bold-fox")] == ["INFO", "HANDOFF"]
        assert b.bb("status", "get", "amber-otter")[0]["current_task"] == "Parser"
        assert [x["path"] for x in b.bb("artifacts")] == ["out.txt"]
        resumed = b.vybe("resume", "--agent", "bold-fox", "--request-id", "3")["data"]
        assert "LL(1)" in json.dumps(resumed)
        assert progress(b) == ["half of it"]
        assert [protocol_events(one, bead) for one in (a, b)] == [[("HANDOFF", "amber-otter")]] * 2
        [seen] = b.bb("log")
        b.bb("post", "By hand", "--agent", "bold-fox", "--reply-to", str(seen["id"]))
        settle(b, a, rounds=1)
        assert [m["content"] for m in a.bb("message", str(first["id"]))] == ["How do we parse?", "By hand"]
        stop(a, b)
        b.abacus("machines", "forget", "laptop")
        assert refs(remote) == [b.ref, "refs/beads/store"]


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


def test_a_sync_counts_what_was_exchanged_with_other_machines(tmp_path):
    remote = bare(tmp_path / "hub.git")
    a, b = (machine(tmp_path / name, remote, name, beads=True) for name in ("laptop", "office"))
    a.agent("register", "--name", "amber-otter", "--role", "backend")
    b.agent("register", "--name", "bold-fox", "--role", "ui")
    bead = a.create("x")
    for one in (a, b, a):
        one.json("sync")
    send(a, "amber-otter", "bold-fox", bead=bead)
    assert a.json("sync")["shared"] == {"received": 0, "sent": 1}
    assert "received 1, sent 0" in b.run("sync").ok().out
    assert "Nothing new" in b.run("sync").ok().out


def test_a_sync_reports_once_that_others_share(tmp_path):
    remote = bare(tmp_path / "hub.git")
    machine(tmp_path / "b", remote, "office")
    a = machine(tmp_path / "a", remote, beads=True)
    hint = "other machines share mail, posts and memory through this remote; to take part, run 'abacus share on'"
    assert [hint in a.run("sync").err for _ in range(2)] == [True, False]
    c = machine(tmp_path / "c", bare(tmp_path / "quiet.git"), beads=True)
    assert hint not in c.run("sync").err


def test_share_off_stops_sending_and_lists_what_was_published(tmp_path):
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


# --- reservations ---

def reserve(repo, agent, scope, *args, **kw):
    return repo.agent("reserve", "--agent", agent, "--scope", scope, "--bead", "bd-1", *args, **kw)


def held(repo):
    return {(r["agent_id"], r["scope"]) for r in repo.agent("status")["reservations"]}


def guard(repo, agent, path):
    return repo.run("agent", "guard", path, "--agent", agent, program="bb").code


def test_a_reservation_of_another_machine_is_respected(tmp_path):
    remote, a, b = pair(tmp_path)
    reserve(a, "amber-otter", "src/parser")
    settle(a, b)
    [seen] = b.agent("status")["reservations"]
    assert (seen["agent_id"], seen["machine"]) == ("amber-otter", "laptop")
    assert "amber-otter@laptop" in b.run("agent", "list", program="bb").out
    assert {x["agent_id"]: x.get("machine") for x in b.abacus("sessions")["agents"]} == {
        "amber-otter": "laptop", "bold-fox": None}
    assert "amber-otter@laptop" in b.run("status", program="abacus").out
    assert {x["agent_id"]: x.get("machine") for x in b.abacus("status")["agents"]} == {
        "amber-otter": "laptop", "bold-fox": None}
    error = b.fails("agent", "reserve", "--agent", "bold-fox", "--scope", "src/parser", "--bead", "bd-1", program="bb")
    assert error["reason"] == "RESERVATION_CONFLICT" if "reason" in error else error["code"] == "RESERVATION_CONFLICT"
    a.agent("release", "--agent", "amber-otter", "--scope", "src/parser")
    settle(a, b)
    assert held(b) == set()
    assert reserve(b, "bold-fox", "src/parser")["epoch"] > seen["epoch"]


@pytest.mark.parametrize("mine", ["src/parser", "src/parser/lexer.c", "src"])
def test_the_earlier_of_two_overlapping_reservations_counts(tmp_path, mine):
    remote, a, b = pair(tmp_path)
    reserve(b, "bold-fox", mine)
    time.sleep(0.002)
    reserve(a, "amber-otter", "src/parser")
    settle(a, b)
    assert held(a) == held(b) == {("bold-fox", mine)}
    events = a.agent("events", "--type", "INCURSION")
    assert [(e["from_agent"], e["to_agent"]) for e in events] == [("amber-otter", "bold-fox")]
    assert [e["id"] for e in events] == [e["id"] for e in b.agent("events", "--type", "INCURSION")]
    warned = a.run("agent", "status", program="bb", env={"BD_ACTOR": "amber-otter"})
    assert "bold-fox reserved" in warned.err and "grants nothing" in warned.err
    assert "grants nothing" not in a.run("agent", "status", program="bb", env={"BD_ACTOR": "amber-otter"}).err
    [told] = inbox(a, "amber-otter")
    assert told["from_agent"] == "abacus" and told["subject"].startswith("Reservation contested")
    target = "src/parser/lexer.c"
    assert [guard(repo, who, target) for repo in (a, b) for who in ("amber-otter", "bold-fox")] == [1, 0, 1, 0]
    settle(a, b)
    assert len(inbox(a, "amber-otter")) == 1
    b.agent("release", "--agent", "bold-fox", "--scope", mine)
    settle(b, a, b)
    assert held(a) == held(b) == {("amber-otter", "src/parser")}


def test_a_takeover_on_another_machine_ends_the_old_reservation(tmp_path):
    remote, a, b = pair(tmp_path, ABACUS_NOW="2026-11-01T00:00:00Z")
    first = reserve(a, "amber-otter", "src/parser", "--ttl", "600")
    settle(a, b)
    for one in (a, b):
        one.env["ABACUS_NOW"] = "2026-11-01T01:00:00Z"
    taken = reserve(b, "bold-fox", "src/parser", "--takeover-stale")
    assert taken["epoch"] > first["epoch"]
    settle(b, a)
    assert held(a) == held(b) == {("bold-fox", "src/parser")}


# --- the board ---

def test_a_post_and_its_replies_reach_other_machines_by_global_ids(tmp_path):
    remote, a, b = pair(tmp_path)
    b.bb("post", "Only here", "--agent", "bold-fox")  # ids differ from now on
    first = a.bb("post", "How do we parse?", "--agent", "amber-otter", "--priority", "high", "--tag", "parser")
    settle(a, b)
    [seen] = [m for m in b.bb("log") if m["content"] == "How do we parse?"]
    assert seen["id"] != first["id"] and (seen["priority"], seen["tags"]) == ("high", ["parser"])
    b.bb("post", "By hand", "--agent", "bold-fox", "--reply-to", str(seen["id"]))
    settle(b, a)
    thread = a.bb("message", str(first["id"]))
    assert [(m["from_agent"], m["content"]) for m in thread] == [("amber-otter", "How do we parse?"),
                                                                ("bold-fox", "By hand")]


def test_a_reply_brings_the_old_posts_it_replies_to(tmp_path):
    remote, a, b = pair(tmp_path)
    old = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}
    a.bb("post", "Never answered", "--agent", "amber-otter", env=old)
    first = a.bb("post", "Which parser?", "--agent", "amber-otter", env=old)["id"]
    second = a.bb("post", "By hand?", "--agent", "amber-otter", "--reply-to", str(first), env=old)["id"]
    for text in ("Yes", "No"):
        a.bb("post", text, "--agent", "amber-otter", "--reply-to", str(second))
    settle(a, b)
    assert sorted(m["content"] for m in b.bb("log")) == ["By hand?", "No", "Which parser?", "Yes"]


def test_a_reply_to_a_post_that_was_deleted_here_arrives_as_a_post(tmp_path):
    remote, a, b = pair(tmp_path)
    a.bb("post", "Mine", "--agent", "amber-otter")
    b.bb("post", "Theirs", "--agent", "bold-fox")
    settle(b, a, b)
    for m in b.bb("log"):
        b.bb("post", f"Re: {m['content']}", "--agent", "bold-fox", "--reply-to", str(m["id"]))
    a.bb("clear", "--messages-before", "1s", "--confirm", env={"ABACUS_NOW": "2099-01-01T00:00:00Z"})
    settle(b, a)
    assert sorted((m["content"], m["in_reply_to"]) for m in a.bb("log")) == [("Re: Mine", None), ("Re: Theirs", None)]


def test_a_status_and_an_artifact_reach_other_machines(tmp_path):
    remote, a, b = pair(tmp_path)
    (a.path / "out.txt").write_text("x")
    a.bb("status", "set", "Parser", "--status", "coding", "--progress", "40", "--agent", "amber-otter")
    a.bb("artifact", "add", "out.txt", "The grammar", "--agent", "amber-otter")
    settle(a, b)
    [status] = b.bb("status", "get", "amber-otter")
    assert (status["status"], status["current_task"], status["progress"]) == ("coding", "Parser", 40)
    assert [x["path"] for x in b.bb("artifacts")] == ["out.txt"]
    b.bb("status", "set", "--status", "testing", "--agent", "amber-otter")
    settle(b, a)
    assert a.bb("status", "get", "amber-otter")[0]["status"] == "testing"


# --- continuity ---

def remember(repo, key, value, n, *args):
    repo.vybe("memory", "set", "--key", key, "--value", value, "--agent", "amber-otter", "--request-id", str(n), *args)


def recall(repo, key):
    done = repo.run("memory", "get", "--key", key, "--agent", "amber-otter", program="vybe")
    return done.json["data"]["value"] if done.code == 0 else None


@pytest.mark.parametrize("gone", [False, True], ids=["stored", "deleted by gc"])
def test_a_memory_that_has_expired_can_be_set_again_on_another_machine(tmp_path, gone):
    remote, a, b = pair(tmp_path, ABACUS_NOW="2026-01-01T00:00:00Z")
    remember(a, "style", "tabs", 1, "--expires-in", "2s")
    settle(a, b)
    assert recall(b, "style") == "tabs"
    for one in (a, b):
        one.env["ABACUS_NOW"] = "2026-01-01T00:01:00Z"
    assert recall(b, "style") is None
    if gone:
        b.vybe("memory", "gc", "--agent", "amber-otter", "--request-id", "gc")
    remember(a, "style", "spaces", 2)
    settle(a, b)
    assert [recall(one, "style") for one in (a, b)] == ["spaces"] * 2


def test_a_memory_reaches_other_machines_and_the_last_writer_wins(tmp_path):
    remote, a, b = pair(tmp_path)
    remember(a, "style", "tabs", 1)
    settle(a, b)
    assert recall(b, "style") == "tabs"
    assert "tabs" in b.run("resume", "--agent", "bold-fox", "--request-id", "9", program="vybe").out
    remember(b, "style", "spaces", 2)
    settle(b, a)
    assert recall(a, "style") == "spaces"
    a.vybe("memory", "delete", "--key", "style", "--agent", "amber-otter", "--request-id", "3")
    settle(a, b)
    assert recall(b, "style") is None


def test_a_change_replaces_the_old_value_however_wrong_the_clocks_are(tmp_path):
    remote, a, b = pair(tmp_path, ABACUS_NOW="2026-01-01T00:00:00Z")
    a.env["ABACUS_NOW"] = "2026-01-04T00:00:00Z"
    remember(a, "style", "tabs", 1)
    reserve(a, "amber-otter", "src", "--ttl", "1440")
    settle(a, b)
    remember(b, "style", "spaces", 2)
    reserve(b, "amber-otter", "src", "--ttl", "1440")
    settle(b, a)
    assert [recall(one, "style") for one in (a, b)] == ["spaces"] * 2
    assert [r["expires_at"] for one in (a, b) for r in one.agent("status", env=b.env)["reservations"]] \
        == ["2026-01-02T00:00:00.000Z"] * 2
    send(b, "bold-fox", "amber-otter")
    b.exchange()
    sent = log_of(remote, b.ref)[1][-1]
    assert sent["kind"] == "message.sent" and sent["at"][0] == 1767225600000  # the clock has not followed


def progress(repo):
    events = repo.vybe("events", "list", "--agent", "amber-otter")["data"]["events"]
    return [e["message"] for e in events if e["kind"] == "progress"]


def test_an_event_of_a_task_reaches_other_machines(tmp_path):
    remote, a, b = pair(tmp_path)
    a.vybe("push", "--agent", "amber-otter", "--request-id", "1", "--json",
           '{"event":{"kind":"progress","message":"half of the grammar"}}')
    settle(a, b)
    assert progress(b) == ["half of the grammar"]
    settle(a, b, a, b)
    assert progress(a) == ["half of the grammar"]


# --- names ---

def collide(tmp_path, before=lambda later: None):
    """One name, registered on two machines before they exchange; the laptop was first."""
    remote = bare(tmp_path / "hub.git")
    a, b = machine(tmp_path / "a", remote, "laptop"), machine(tmp_path / "b", remote, "office")
    for one in (a, b):
        one.agent("register", "--name", "amber-otter", "--role", "backend")
        one.agent("register", "--name", f"friend-{one.path.name}", "--role", "ui")
        time.sleep(0.002)
        send(one, f"friend-{one.path.name}", "amber-otter", "HANDOFF")
        send(one, "amber-otter", f"friend-{one.path.name}")
    before(b)
    settle(a, b)
    return a, b, f"amber-otter-{b.id[:4]}"


def test_the_earlier_of_two_agents_with_one_name_keeps_it(tmp_path):
    a, b, other = collide(tmp_path)
    for one in (a, b):
        assert sorted(x["agent_id"] for x in one.agent("list")) == ["amber-otter", other, "friend-a", "friend-b"]
        machines = {x["agent_id"]: x.get("machine") for x in one.agent("list")}
        away = "office" if one is a else "laptop"
        assert machines[other] == (away if one is a else None) and machines["amber-otter"] == (None if one is a else away)
        assert [(m["from_agent"], m["to_agent"]) for m in inbox(one, "friend-b")] == [(other, "friend-b")]
        assert [m["from_agent"] for m in inbox(one, "friend-a")] == ["amber-otter"]


def test_whoami_shows_the_new_name_of_a_renamed_agent(tmp_path):
    a, b, other = collide(tmp_path)
    me = b.abacus("whoami", "--as", "amber-otter")
    assert (me["actor"], me["renamed_from"], me["unread_mail"]) == (other, "amber-otter", 2)
    shown = b.run("whoami", "--as", "amber-otter", program="abacus").out
    assert "renamed from amber-otter, which an agent on another machine registered before you" in shown
    assert a.abacus("whoami", "--as", "amber-otter")["renamed_from"] is None
    assert [m["agents"] for m in a.abacus("machines")] == [["amber-otter", "friend-a"], [other, "friend-b"]]


def test_posts_and_status_of_a_renamed_agent_show_its_new_name(tmp_path):
    a, b, other = collide(tmp_path, lambda b: (
        b.bb("post", "Before", "--agent", "amber-otter"), b.bb("status", "set", "Parser", "--agent", "amber-otter")))
    b.bb("post", "After", "--agent", "amber-otter")
    a.bb("post", "Mine", "--agent", "amber-otter")
    settle(a, b)
    for one in (a, b):
        assert sorted((m["content"], m["from_agent"]) for m in one.bb("log")) == [
            ("After", other), ("Before", other), ("Mine", "amber-otter")]
        assert {x["id"]: x["current_task"] for x in one.bb("export")["agents"] if x["current_task"]} == {other: "Parser"}


def test_mail_and_the_old_name_follow_a_renamed_agent(tmp_path):
    a, b, other = collide(tmp_path)
    assert [m["from_agent"] for m in inbox(a, "amber-otter")] == ["friend-a"]
    assert [m["from_agent"] for m in inbox(a, other)] == ["abacus", "friend-b"]
    mine = inbox(b, "amber-otter")  # on its own machine, the old name means it
    assert [m["to_agent"] for m in mine] == [other] * 2 and [m["from_agent"] for m in mine] == ["abacus", "friend-b"]
    assert mine[0]["subject"] == f"Your name is now {other}"
    b.agent("ack", "--agent", "amber-otter", "--message", mine[1]["message_id"])
    settle(b, a)
    assert [m["state"] for m in inbox(a, other)] == ["unread", "acked"]
    settle(a, b)
    assert len(inbox(b, other)) == 2


def test_a_change_between_collecting_and_applying_is_not_overwritten(tmp_path):
    """A round collects, contacts the remote, and applies; the command runs while the remote is contacted."""
    remote, a, b = pair(tmp_path)
    register = ["agent", "register", "--name", "amber-otter", "--force-update", "--role"]
    settle(b, a)
    b.run(*register, "there", program="bb").ok()
    b.exchange()
    trigger, ssh = tmp_path / "trigger", tmp_path / "ssh"
    trigger.touch()
    words = shlex.join([str(BIN / "bb"), *register, "here"])
    ssh.write_text(f"#!/bin/sh\n[ -e {trigger} ] && rm {trigger} && (cd {a.path} && {words} >&2)\n"
                   'for last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    git(a.path, "remote", "set-url", "origin", f"ssh://host{remote}")
    a.exchange(GIT_SSH_COMMAND=str(ssh))
    assert not trigger.exists()
    role = lambda one: next(x["role"] for x in one.agent("list") if x["agent_id"] == "amber-otter")
    assert role(a) == "here"
    git(a.path, "remote", "set-url", "origin", str(remote))
    settle(a, b)
    assert role(a) == role(b) == "here"


def test_an_agent_is_reached_by_its_name_at_its_machine(tmp_path):
    a, b, other = collide(tmp_path)
    for text, who in (("amber-otter@laptop", "amber-otter"), ("amber-otter@office", other), (other, other)):
        for one in (a, b):
            assert send(one, f"friend-{one.path.name}", text)["to_agent"] == who
    error = b.fails("agent", "send", "--from", "friend-b", "--to", "amber-otter@moon", "--bead", "bd-1", "--category",
                    "INFO", "--subject", "s", "--body", "b", program="bb")
    assert "amber-otter@moon" in error["message"]


# --- the log ---

def test_a_sealed_segment_never_changes(tmp_path):
    remote, a, b = pair(tmp_path)
    for n in range(4):
        a.agent("send", "--from", "amber-otter", "--to", "bold-fox", "--bead", "bd-1", "--category", "INFO",
                "--subject", "s", "--body", f"{n}" * 30000)
    a.exchange()
    first = {s["name"]: s["sha256"] for s in log_of(remote, a.ref)[0]["segments"]}
    assert len(first) == 2 and all(s["bytes"] <= 64 << 10 for s in log_of(remote, a.ref)[0]["segments"])
    a.agent("send", "--from", "amber-otter", "--to", "bold-fox", "--bead", "bd-1", "--category", "INFO",
            "--subject", "s", "--body", "x" * 100000)
    settle(a, b)
    meta, facts = log_of(remote, a.ref)
    assert [s["name"] for s in meta["segments"]][0] == "000001"
    assert meta["segments"][0]["sha256"] == first["000001"] and meta["segments"][-1]["bytes"] > 64 << 10
    assert [len(m["body"]) for m in inbox(b, "bold-fox")] == [100000, 30000, 30000, 30000, 30000]


def test_settled_facts_leave_the_log_after_30_days_and_current_ones_stay(tmp_path):
    remote, a, b = pair(tmp_path, ABACUS_NOW="2026-01-01T00:00:00Z")
    old = send(a, "amber-otter", "bold-fox", "HANDOFF")["message_id"]
    open_ = send(a, "amber-otter", "bold-fox", "HANDOFF")["message_id"]
    settle(a, b)
    b.agent("ack", "--agent", "bold-fox", "--message", old)
    settle(b, a)
    for one in (a, b):
        one.env["ABACUS_NOW"] = "2026-03-01T00:00:00Z"
    for n in range(3):
        a.agent("send", "--from", "amber-otter", "--to", "bold-fox", "--bead", "bd-1", "--category", "HANDOFF",
                "--subject", "s", "--body", f"{n}" * 30000)
    settle(a, b)
    meta, facts = log_of(remote, a.ref)
    kept = {f["data"].get("id") for f in facts}
    assert old not in kept and open_ in kept and "agent.registered" in {f["kind"] for f in facts}
    assert meta["count"] == max(f["seq"] for f in facts)
    c = machine(tmp_path / "c", remote, "late", ABACUS_NOW="2026-03-01T00:00:00Z")
    c.exchange()
    assert len(c.agent("inbox", "--agent", "bold-fox")) == 4 and len(inbox(b, "bold-fox")) == 5


def seal(repo, agent, to):
    """Fills a segment, so that the log is compacted."""
    for n in range(3):
        repo.agent("send", "--from", agent, "--to", to, "--bead", "bd-1", "--category", "HANDOFF", "--subject", "s",
                   "--body", f"{n}" * 30000)


def test_an_ack_leaves_the_log_only_after_its_message(tmp_path):
    remote, a, b = pair(tmp_path, ABACUS_NOW="2026-01-01T00:00:00Z")
    old = send(a, "amber-otter", "bold-fox", "HANDOFF")["message_id"]
    settle(a, b)
    b.agent("ack", "--agent", "bold-fox", "--message", old)
    settle(b, a)
    for one in (a, b):
        one.env["ABACUS_NOW"] = "2026-03-01T00:00:00Z"
    kept = lambda one: [f["kind"] for f in log_of(remote, one.ref)[1] if f["data"].get("id") == old]
    seal(b, "bold-fox", "amber-otter")
    b.exchange()
    assert (kept(a), kept(b)) == (["message.sent"], ["message.read", "message.acked"])
    seal(a, "amber-otter", "bold-fox")
    settle(a, b)
    assert (kept(a), kept(b)) == ([], ["message.read", "message.acked"])
    seal(b, "bold-fox", "amber-otter")
    settle(b, a)
    assert (kept(a), kept(b)) == ([], [])
    assert {m["message_id"]: m["state"] for m in inbox(a, "bold-fox")}[old] == "acked"


def test_a_copied_clone_gets_a_new_machine_id(tmp_path):
    remote, a, b = pair(tmp_path)
    shutil.copytree(a.path, tmp_path / "copy", symlinks=True)
    copy = Machine(tmp_path / "copy")
    copy.env = dict(a.env)
    send(copy, "amber-otter", "bold-fox")
    copy.exchange()
    send(a, "amber-otter", "bold-fox")
    warnings = a.exchange()["warnings"]
    assert len(warnings) == 1 and "new id" in warnings[0]
    assert a.id != copy.id
    settle(a, copy, b)
    assert len(inbox(b, "bold-fox")) == 2
    a.bb("post", "One", "--agent", "amber-otter")
    copy.bb("post", "Two", "--agent", "amber-otter")
    settle(a, copy, b)
    for one in (a, copy, b):
        assert sorted(m["content"] for m in one.bb("log")) == ["One", "Two"]
    assert sorted(x["agent_id"] for x in b.agent("list")) == ["amber-otter", "bold-fox"]
