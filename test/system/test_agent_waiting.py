"""Waiting for mail, for a scope, for a bead: without CPU time, and without delay."""
import json
import os
import resource
import subprocess
import time

import pytest

from conftest import BIN, environment
from harness import finish, needs_strace, patience, STRACE, wait_until

AGENTS = ("amber-otter", "cobalt-harbor")


@pytest.fixture
def project(repo):
    for name in AGENTS:
        repo.run("agent", "register", "--name", name, "--role", "ui", program="bb").ok()
    repo.create("the bead of the messages", "--id", "bd-1")
    return repo


def start(project, *args, env=None):
    """Starts a program that waits; returns once it watches files and sleeps."""
    waiter = project.spawn("agent", *args, "--json", program="bb", env=env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    while waiter.poll() is None and not asleep(f"/proc/{waiter.pid}"):
        time.sleep(0.005)
    return waiter


def asleep(process):
    try:
        watches = any("inotify" in os.readlink(f"{process}/fd/{fd}") for fd in os.listdir(f"{process}/fd"))
        return watches and open(f"{process}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
    except FileNotFoundError:
        return False


def result(waiter):
    return json.loads(finish(waiter).out)["data"]


def act(project, *args, program="bb", **kw):
    return project.run(*args, program=program, **kw).ok()


def send(project, to="cobalt-harbor"):
    return act(project, "agent", "send", "--from", "amber-otter", "--to", to, "--bead", "bd-1", "--category", "INFO",
               "--subject", "s", "--body", "b", "--json").json["data"]["messages"][0]


def wait(*args):
    return ["wait", "--agent", "cobalt-harbor", "--timeout", "20s", *args]


def test_mail_is_seen_within_50_ms(project):
    """From the reply to the sender; the best of a few runs, because machines are busy."""
    late = []
    for _ in range(5):
        waiter = start(project, "inbox", "--agent", "cobalt-harbor", "--wait", "20s")
        sent = send(project)
        began = time.monotonic()
        assert result(waiter) == [sent]
        late.append(time.monotonic() - began)
        act(project, "agent", "read", "--agent", "cobalt-harbor", "--message", sent["message_id"])
    assert min(late) < patience(0.05), late


def test_waiting_uses_no_processor(project):
    """A wait of 1.5 seconds costs no more than a command, although others get mail meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(BIN / "bb"), "agent", "inbox", "--agent", "cobalt-harbor"], cwd=project.path, check=True,
                   env=environment(), stdout=subprocess.DEVNULL)
    middle = resource.getrusage(resource.RUSAGE_CHILDREN)
    waiter = project.spawn("agent", *wait()[:3], "--timeout", "2s", program="bb",
                           stdout=subprocess.DEVNULL)
    assert waiter.wait(20) == 1
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    once = middle.ru_utime + middle.ru_stime - before.ru_utime - before.ru_stime
    assert after.ru_utime + after.ru_stime - middle.ru_utime - middle.ru_stime < once + 0.03
    assert after.ru_nvcsw - middle.ru_nvcsw < 50


def test_only_mail_to_the_agent_counts(project):
    waiter = start(project, *wait("--mail"))
    act(project, "agent", "send", "--from", "cobalt-harbor", "--to", "amber-otter", "--bead", "bd-1", "--category", "INFO",
        "--subject", "s", "--body", "b")
    time.sleep(0.2)
    assert waiter.poll() is None
    sent = send(project)
    assert result(waiter) == {"events": [{"kind": "mail", "message": sent}], "cursor": sent["message_id"],
                              "timed_out": False, "interrupted": False}


def test_existing_mail_ends_a_wait_at_once_and_advances_the_cursor(project):
    first = send(project)
    data = result(start(project, *wait("--mail")))
    assert data["events"] == [{"kind": "mail", "message": first}] and data["cursor"] == first["message_id"]
    waiter = start(project, *wait("--after", data["cursor"]))
    second = send(project)
    assert result(waiter)["events"] == [{"kind": "mail", "message": second}]
    assert result(start(project, *wait("--after", first["message_id"])))["cursor"] == second["message_id"]


def test_each_message_is_reported_once_while_others_write(project):
    """Also those that require an acknowledgement: they are pending for a moment before the inbox has them."""
    letter = ["agent", "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", "bd-1", "--category", "HANDOFF",
              "--subject", "s", "--body", "b"]
    count, seen, cursor = 40, [], None
    loop = f'for i in $(seq {count}); do "$0" "$@" >/dev/null || exit 1; done'
    writer = subprocess.Popen(["sh", "-c", loop, str(BIN / "bb"), *letter], cwd=project.path, env=environment())
    while len(seen) < count:
        data = act(project, "agent", *wait(*(["--after", cursor] if cursor else [])), "--json").json["data"]
        seen += [e["message"]["message_id"] for e in reversed(data["events"])]
        cursor = data["cursor"]
        assert cursor == seen[-1]
    assert writer.wait(20) == 0
    inbox = act(project, "agent", "inbox", "--agent", "cobalt-harbor", "--limit", "100", "--json").json["data"]
    assert seen == [m["message_id"] for m in reversed(inbox)]


def test_the_oldest_of_many_messages_comes_first(project):
    sent = [send(project)["message_id"] for _ in range(53)]
    first = act(project, "agent", *wait(), "--json").json["data"]
    assert [e["message"]["message_id"] for e in reversed(first["events"])] == sent[:50] and first["cursor"] == sent[49]
    rest = act(project, "agent", *wait("--after", first["cursor"]), "--json").json["data"]
    assert [e["message"]["message_id"] for e in reversed(rest["events"])] == sent[50:] and rest["cursor"] == sent[52]


def test_the_cursor_after_a_timeout(project):
    sent = send(project)
    act(project, "agent", "read", "--agent", "cobalt-harbor", "--message", sent["message_id"])
    done = project.run("agent", *wait()[:3], "--timeout", "1s", "--json", program="bb")
    assert done.code == 1 and done.json["data"] == {
        "events": [], "cursor": sent["message_id"], "timed_out": True, "interrupted": False}


def test_nothing_is_missed_between_two_waits(project):
    """An agent that continues from the cursor sees every message once, however fast they arrive."""
    sent, seen, cursor = [send(project)], [], None
    for i in range(6):
        if i < 5:
            sent.append(send(project))
        data = result(start(project, *wait(*(["--after", cursor] if cursor else []), "--timeout", "1s")))
        seen += [e["message"]["message_id"] for e in data["events"]][::-1]
        cursor = data["cursor"]
    assert seen == [m["message_id"] for m in sent]


@pytest.mark.parametrize("scope", ["src", "src/lib", "/"])
def test_a_wait_ends_when_a_scope_is_released(project, scope):
    act(project, "agent", "reserve", "--agent", "amber-otter", "--scope", "src/lib", "--bead", "bd-1")
    waiter = start(project, *wait("--freed", scope, "--freed", "src/lib/x"))
    time.sleep(0.1)
    assert waiter.poll() is None
    act(project, "agent", "release", "--agent", "amber-otter", "--scope", "src/lib")
    assert result(waiter)["events"] == [{"kind": "freed", "scope": scope}, {"kind": "freed", "scope": "src/lib/x"}]


def test_a_wait_ends_when_a_reservation_expires(project):
    env = {"ABACUS_NOW": "2026-01-01T00:00:00Z"}
    act(project, "agent", "register", "--name", "late-fox", "--role", "ui", env=env)
    act(project, "agent", "reserve", "--agent", "late-fox", "--scope", "src", "--bead", "bd-1", "--ttl", "5", env=env)
    began = time.monotonic()
    waiter = start(project, *wait("--freed", "src"), env={"ABACUS_NOW": "2026-01-01T00:04:59Z"})
    assert result(waiter)["events"] == [{"kind": "freed", "scope": "src"}]
    assert 0.5 < time.monotonic() - began < patience(5)


def test_an_own_scope_counts_as_free(project):
    act(project, "agent", "reserve", "--agent", "cobalt-harbor", "--scope", "src", "--bead", "bd-1")
    assert result(start(project, *wait("--freed", "src")))["events"] == [{"kind": "freed", "scope": "src"}]


def test_a_wait_ends_when_a_bead_is_closed(project):
    bead = act(project, "create", "x", "--json", program="bd").json["id"]
    other = act(project, "create", "y", "--json", program="bd").json["id"]
    waiter = start(project, *wait("--bead", f"{bead}:closed", "--mail"))
    act(project, "close", other, program="bd")
    time.sleep(0.1)
    assert waiter.poll() is None
    act(project, "close", bead, program="bd")
    assert result(waiter)["events"] == [{"kind": "bead", "id": bead, "status": "closed"}]
    assert result(start(project, *wait("--bead", f"{bead.split('-')[1]}:closed")))["events"]


def test_a_wait_ends_at_its_timeout(project):
    began = time.monotonic()
    done = project.run("agent", "wait", "--agent", "cobalt-harbor", "--timeout", "1s", "--json", program="bb")
    assert done.code == 1 and done.json["data"] == {"events": [], "cursor": None, "timed_out": True, "interrupted": False}
    assert 0.9 < time.monotonic() - began < patience(5)
    assert project.run("agent", "inbox", "--agent", "cobalt-harbor", "--wait", "1s", "--json", program="bb").json["data"] == []
    assert "Timed out: no condition holds" in project.run("agent", "wait", "--agent", "cobalt-harbor", "--timeout", "1s",
                                                 program="bb").out


@pytest.mark.parametrize("args, code", [
    (["wait", "--agent", "nobody-here"], "AGENT_NOT_FOUND"), (["wait"], "INVALID_ARGS"),
    (["wait", "--agent", "cobalt-harbor", "--bead", "x"], "INVALID_ARGS"),
    (["wait", "--agent", "cobalt-harbor", "--bead", "x:done"], "INVALID_ARGS"),
    (["wait", "--agent", "cobalt-harbor", "--bead", "bd-none:closed"], "INVALID_ARGS"),  # a bead is no agent
    (["wait", "--agent", "cobalt-harbor", "--freed", "../x"], "INVALID_ARGS"),
    (["wait", "--agent", "cobalt-harbor", "--after", "msg_x"], "MESSAGE_NOT_FOUND"),
    (["inbox", "--agent", "nobody-here", "--wait", "1s"], "AGENT_NOT_FOUND"),
    (["inbox", "--agent", "cobalt-harbor", "--wait", "1"], "INVALID_ARGS")])
def test_invalid_conditions_are_refused(project, args, code):
    done = project.run("agent", *args, "--json", program="bb", timeout=5, env={"BD_ACTOR": ""})
    assert done.code and done.json["error"]["code"] == code


def test_a_recreated_folder_is_watched_again(project):
    """The messages are moved away during a wait: it continues, and sees later messages."""
    waiter = start(project, *wait("--mail"))
    home = project.path / ".beadboard/agent"
    (home / "messages").rename(home / "old")
    sent = send(project)
    assert result(waiter)["events"] == [{"kind": "mail", "message": sent}]


def test_many_waiting_agents_each_get_their_own_mail(project):
    names = [f"agent-{i}" for i in range(8)]
    for name in names:
        act(project, "agent", "register", "--name", name, "--role", "ui")
    waiters = [start(project, "inbox", "--agent", name, "--wait", "20s") for name in names]
    for name in names:
        send(project, to=name)
    assert [[m["to_agent"] for m in result(w)] for w in waiters] == [[name] for name in names]


# --- no wake-up is lost ---

ROUNDS = 1000 if os.environ.get("ABACUS_THOROUGH") == "1" else 30
TRIO = ("amber-otter", "blue-heron", "cobalt-harbor")


@pytest.fixture
def crew(project):
    """Three agents that wait, and one that acts."""
    for name in ("blue-heron", "busy-bee"):
        act(project, "agent", "register", "--name", name, "--role", "ui")
    return project


def all_wait(crew, conditions, sleep=True):
    """A waiting process for each agent and condition; with `sleep`, each of them already sleeps."""
    begin = start if sleep else lambda crew, *args: crew.spawn("agent", *args, "--json", program="bb",
                                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return [begin(crew, "wait", "--agent", who, "--timeout", "10m", *words)
            for words in conditions for who in TRIO]


def kinds(waiters):
    """The condition that woke each one, long before the timeout: the final check would find even a missed change."""
    end = time.monotonic() + 60
    try:
        return [[e["kind"] for e in json.loads(finish(w, end - time.monotonic()).out)["data"]["events"]] for w in waiters]
    except subprocess.TimeoutExpired:
        return f"{sum(w.poll() is None for w in waiters)} of {len(waiters)} were not woken"
    finally:
        for waiter in waiters:
            waiter.kill()


def test_no_wake_up_is_lost(crew):
    """Nine processes wait, three for each condition, while another one fulfils them all: asleep in one round, just
    starting in the next."""
    for n in range(ROUNDS):
        bead = crew.create("x")
        act(crew, "agent", "reserve", "--agent", "busy-bee", "--scope", "src/lib", "--bead", bead)
        waiters = all_wait(crew, [["--bead", f"{bead}:closed"], ["--freed", "src"], ["--mail"]], sleep=n % 2 == 0)
        acts = [crew.spawn(*words, program=program, stdout=subprocess.DEVNULL) for program, *words in [
            ("bd", "close", bead), ("bb", "agent", "release", "--agent", "busy-bee", "--scope", "src/lib"),
            ("bb", "agent", "send", "--from", "busy-bee", "--to", "broadcast", "--bead", bead, "--category", "INFO",
             "--subject", "s", "--body", "b")]]
        assert [p.wait(60) for p in acts] == [0, 0, 0]
        assert kinds(waiters) == [["bead"]] * 3 + [["freed"]] * 3 + [["mail"]] * 3, f"round {n}"
        for who in TRIO:
            mine = crew.run("agent", "inbox", "--agent", who, "--state", "unread", "--json", program="bb").json["data"]
            assert len(mine) == 1
            act(crew, "agent", "read", "--agent", who, "--message", mine[0]["message_id"])


def with_fault(crew, fault, *words):
    """A `bd` command that strace disturbs when it begins to write to the cache."""
    return subprocess.run([STRACE, "-f", "-qq", "-o", os.devnull, "-P", f"{crew.cache}-wal", "-e", "trace=pwrite64",
                           "-e", f"inject=pwrite64:{fault}:when=1", str(BIN / "bd"), *words], cwd=crew.path,
                          env=environment(BD_ACTOR="busy-bee"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@needs_strace
@pytest.mark.parametrize("status, words", [("closed", ["close"]), ("in_progress", ["claim"])])
def test_a_change_that_is_not_in_the_cache_yet_is_not_missed(crew, status, words):
    """The journal has it, which wakes the waiting processes; the cache has it half a second later, without another
    wake-up."""
    bead = crew.create("x")
    waiters = all_wait(crew, [["--bead", f"{bead}:{status}"]])
    assert with_fault(crew, "delay_enter=500000", *words, bead).returncode == 0
    assert kinds(waiters) == [["bead"]] * 3


@needs_strace
def test_a_change_of_a_killed_writer_is_not_missed(crew):
    """It was killed when the journal had the change and the cache did not: the next reader adds it."""
    bead = crew.create("x")
    waiters = all_wait(crew, [["--bead", f"{bead}:closed"]])
    assert with_fault(crew, "signal=SIGKILL", "close", bead).returncode != 0
    assert kinds(waiters) == [["bead"]] * 3


@needs_strace
@pytest.mark.parametrize("step", [1, 2, 3])
def test_mail_of_a_killed_sender_is_not_missed(crew, step):
    """Messages to several agents count as soon as they are stored together, before each inbox has its own."""
    waiters = all_wait(crew, [["--mail"]])
    subprocess.run([STRACE, "-f", "-qq", "-o", os.devnull, "-e", "trace=fdatasync", "-e",
                    f"inject=fdatasync:signal=SIGKILL:when={step}", str(BIN / "bb"), "agent", "send", "--from", "busy-bee",
                    "--to", "broadcast", "--bead", "bd-1", "--category", "HANDOFF", "--subject", "s", "--body", "b"],
                   cwd=crew.path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert kinds(waiters) == [["mail"]] * 3


def test_a_waiting_agent_stays_active(crew):
    """As long as it waits: with a stale limit of one minute, its time is updated every four seconds."""
    def seen():
        return json.loads((crew.path / ".beadboard/agent/agents/cobalt-harbor.json").read_text())["last_seen_at"]

    waiter = start(crew, *wait(), "--timeout", "60s", env={"BB_AGENT_STALE_MINUTES": "1"})
    first = seen()
    wait_until(lambda: seen() > first, "a waiting agent is noted as seen", 40)
    assert waiter.poll() is None
    send(crew)
    assert len(result(waiter)["events"]) == 1
