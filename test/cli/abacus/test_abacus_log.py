"""abacus log: the activity of all stores in one order."""
import json
import os
import select
import signal
import subprocess
import time

import pytest

from conftest import BIN, environment
from harness import patience
from remotes import bare, clone

NOW = 1_800_000_000_000
MINUTE = 60_000


@pytest.fixture
def busy(repo):
    """A project with one act per minute."""
    repo.clock = NOW - 60 * MINUTE
    repo.env["ABACUS_NOW"] = NOW

    def act(*args, program="bd", by="alice"):
        repo.clock += MINUTE
        return repo.run(*args, program=program, env={"ABACUS_NOW": repo.clock, "BD_ACTOR": by, "BB_AGENT_ID": by}).ok()

    repo.act = act
    for name in ("amber-otter", "cobalt-harbor"):
        act("agent", "register", "--name", name, "--role", "ui", program="bb")
    act("init", program="bb")
    repo.bead = act("create", "Fix login", "--json").json["id"]
    repo.other = act("create", "Ship it", "--json").json["id"]
    return repo


def log(repo, *args):
    return repo.json("log", *args, program="abacus")


def test_an_event_says_of_which_kind_it_is(busy):
    busy.act("memory", "set", "--key", "style", "--value", "Money is an integer of cents.", "--request-id", "r0", program="vybe")
    busy.act("push", "--agent", "amber-otter", "--request-id", "r1", "--json", json.dumps({"event": {"kind": "build_broken", "message": "make fails"}}), program="vybe")
    assert [a["text"] for a in log(busy, "--kind", "note")] == ["memory upserted: style", "build broken: make fails"]


def acts(found):
    return [(one["by"], one["what"], one["bead_id"], one["title"] or one["text"]) for one in found]


def send(repo, sender, to, category="INFO", subject="Hello", bead=None):
    repo.act("agent", "send", "--from", sender, "--to", to, "--bead", bead or repo.bead, "--category", category,
             "--subject", subject, "--body", "b", program="bb")


def test_all_stores_are_in_one_order_newest_last(busy):
    bead, other = busy.bead, busy.other
    busy.act("dep", "add", other, bead)
    busy.act("claim", bead, by="amber-otter")
    busy.act("agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", bead, program="bb")
    busy.act("post", "Which way?", program="bb", by="cobalt-harbor")
    busy.act("comment", bead, "Nearly there", by="amber-otter")
    busy.act("update", bead, "--priority", "0", by="amber-otter")
    send(busy, "amber-otter", "cobalt-harbor", "HANDOFF", "Yours now")
    busy.act("status", "set", "Reviewing", "--progress", "10", program="bb", by="cobalt-harbor")
    busy.act("agent", "release", "--agent", "amber-otter", "--scope", "src/*", program="bb")
    busy.act("close", bead, by="amber-otter")
    busy.act("delete", other, "--force")
    assert [one["text"] for one in log(busy) if one["what"] in ("linked", "changed", "commented")] == [
        f"blocked by {bead}", "Nearly there", "priority"]
    assert acts(log(busy)) == [
        ("amber-otter", "registered", None, "ui"),
        ("cobalt-harbor", "registered", None, "ui"),
        ("alice", "created", bead, "Fix login"),
        ("alice", "created", other, "Ship it"),
        ("alice", "linked", other, "Ship it"),
        ("amber-otter", "claimed", bead, "Fix login"),
        ("amber-otter", "reserved", bead, "src/*"),
        ("cobalt-harbor", "posted", None, "Which way?"),
        ("amber-otter", "commented", bead, "Fix login"),
        ("amber-otter", "changed", bead, "Fix login"),
        ("amber-otter", "sent", bead, "Yours now"),
        ("cobalt-harbor", "set", None, "idle, 10%: Reviewing"),
        ("amber-otter", "released", bead, "src/*"),
        ("amber-otter", "closed", bead, "Fix login"),
        ("alice", "deleted", other, "Ship it"),
    ]


def test_the_limit_keeps_the_newest(busy):
    for i in range(50):
        busy.act("comment", busy.bead, f"Number {i}")
    assert len(log(busy)) == 30
    assert [one["text"] for one in log(busy, "--limit", "2")] == ["Number 48", "Number 49"]
    assert len(log(busy, "--limit", "1000")) == 54


@pytest.mark.parametrize("limit", [1, 7, 40, 200])
def test_a_filter_finds_as_much_as_a_full_read(busy, limit):
    """The acts are far back, behind many acts of other agents."""
    for i in range(5):
        busy.act("comment", busy.other, f"Early {i}", by="amber-otter")
        send(busy, "amber-otter", "cobalt-harbor", subject=f"Early mail {i}")
    for i in range(45):
        busy.act("comment", busy.bead, f"Later {i}")
    everything = [one for one in log(busy, "--limit", "10000") if one["by"] == "amber-otter" or "amber-otter" in one["to"]]
    assert log(busy, "--agent", "amber-otter", "--limit", str(limit)) == everything[-limit:]


def test_one_bead_has_its_mail_posts_and_reservations(busy):
    busy.act("agent", "reserve", "--agent", "amber-otter", "--scope", "a", "--bead", busy.bead, program="bb")
    busy.act("agent", "reserve", "--agent", "amber-otter", "--scope", "b", "--bead", busy.other, program="bb")
    busy.act("post", f"See {busy.bead}.", program="bb")
    busy.act("post", f"See {busy.bead}x.", program="bb")
    send(busy, "amber-otter", "cobalt-harbor", bead=busy.bead.split("-", 1)[1])
    found = log(busy, "--bead", busy.bead.split("-", 1)[1])
    assert [one["what"] for one in found] == ["created", "reserved", "posted", "sent"]


def test_since_takes_a_duration_or_a_time(busy):
    assert log(busy, "--since", "1m") == []
    assert len(log(busy, "--since", "55m")) == 1
    assert len(log(busy, "--since", "2000-01-01")) == 4


def test_a_renewed_lease_is_no_act_and_keeps_the_claim(busy):
    busy.act("claim", busy.bead, by="amber-otter")
    busy.act("comment", busy.bead, "Still here", by="amber-otter")
    busy.act("renew", busy.bead, by="amber-otter")
    assert [one["what"] for one in log(busy, "--bead", busy.bead)] == ["created", "claimed", "commented"]


def test_a_broadcast_is_one_act_with_its_recipients(busy):
    busy.act("agent", "register", "--name", "violet-comet", "--role", "ui", program="bb")
    send(busy, "amber-otter", "broadcast", "HANDOFF")
    [sent] = [one for one in log(busy) if one["kind"] == "mail"]
    assert sorted(sent["to"]) == ["cobalt-harbor", "violet-comet"]
    [message] = busy.json("agent", "inbox", "--agent", "cobalt-harbor", program="bb")["data"]
    busy.act("agent", "ack", "--agent", "cobalt-harbor", "--message", message["message_id"], program="bb")
    accepted = log(busy)[-1]
    assert (accepted["what"], accepted["by"], accepted["to"]) == ("accepted", "cobalt-harbor", ["amber-otter"])


def test_another_clone_shows_the_changes_of_a_sync(tmp_path):
    """Its journal has no records of these changes, so they are read from the beads."""
    remote = bare(tmp_path / "remote.git")
    here, there = clone(tmp_path / "here", remote), clone(tmp_path / "there", remote)
    bead = here.create("Made here", env={"ABACUS_NOW": NOW})
    here.run("claim", bead, env={"ABACUS_NOW": NOW + 1}).ok()
    here.run("comment", bead, "And said", env={"ABACUS_NOW": NOW + 2}).ok()
    here.run("delete", here.create("Deleted here", env={"ABACUS_NOW": NOW + 3}), "--force", env={"ABACUS_NOW": NOW + 4}).ok()
    for repo in (here, there):
        repo.run("sync").ok()
    expected = [("here", "created", "Made here"), ("here", "claimed", "Made here"), ("here", "commented", "Made here"),
                ("here", "created", "Deleted here"), ("here", "deleted", "Deleted here")]
    assert [(one["by"], one["what"], one["title"]) for one in log(here)] == expected
    assert [(one["by"], one["what"], one["title"]) for one in log(there)] == expected


@pytest.mark.parametrize("args, says", [
    (("--bead", "nothing"), "there is no bead 'nothing'"),
    (("--since", "yesterday"), "--since must be a date, not 'yesterday'"),
    (("--limit", "0"), "--limit must be from 1 to 10000, not 0"),
    (("--limit", "many"), "--limit"),
])
def test_wrong_input_is_refused_with_a_hint(busy, args, says):
    done = busy.run("log", *args, program="abacus")
    first, hint = done.err.splitlines()
    assert done.code != 0 and says in first and hint and not done.out


def test_a_bead_that_could_be_two_is_refused(busy):
    busy.act("create", "One", "--id", "bd-same1")
    busy.act("create", "Two", "--id", "bd-same2")
    done = busy.run("log", "--bead", "same", program="abacus")
    assert done.code != 0 and "'same'" in done.err and "bd-same1" in done.err and not done.out


def test_without_any_store_the_log_is_empty(tmp_path):
    done = subprocess.run([BIN / "abacus", "log"], cwd=tmp_path, capture_output=True, env=environment(), check=True)
    assert done.stdout == b"No activity found.\n"


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_the_screen_and_contain_no_escape_sequences(busy, columns):
    busy.act("comment", busy.bead, "a\x1b[31m very long text " * 20, by="amber-otter")
    busy.act("comment", busy.bead, "two\nlines", by="amber-otter")
    done = busy.run("log", program="abacus", env={"COLUMNS": columns}).ok()
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) == columns
    assert len(done.out.splitlines()) == 6
    assert done.out.splitlines()[2].split() == ["56m", "ago", "alice", "created", busy.bead, "Fix", "login"]


def test_long_has_exact_times_and_whole_lines(busy):
    busy.act("comment", busy.bead, "word " * 60)
    last = busy.run("log", "--long", "-n", "1", program="abacus").ok().out
    assert last.startswith("2027-01-15T07:06:00.000Z  alice  commented  ") and last.count("word") == 60


class Follower:
    """abacus log -f, and the lines that it has printed."""

    def __init__(self, repo, *args):
        self.process = repo.spawn("log", "-f", *args, program="abacus", env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = ""

    def sees(self, words):
        end = time.monotonic() + patience(10)
        while words not in self.text:
            assert time.monotonic() < end, self.text
            if select.select([self.process.stdout], [], [], 0.05)[0]:
                self.text += os.read(self.process.stdout.fileno(), 65536).decode()
        return self.text

    def ends(self):
        return self.process.wait(patience(10)), self.process.stderr.read()


@pytest.fixture
def live(repo):
    del repo.env["BD_ACTOR"]
    repo.env["ABACUS_AGENT"] = "alice"
    followers = []

    def follow(*args):
        followers.append(Follower(repo, *args))
        return followers[-1]

    yield follow
    for one in followers:
        one.process.kill()
        one.process.wait()


def test_follow_prints_each_new_act_once(repo, live):
    bead = repo.create("From before")
    follower = live()
    follower.sees("created")
    repo.run("init", program="bb").ok()
    repo.run("post", "On a new board", program="bb").ok()
    follower.sees("On a new board")
    repo.run("update", bead, "--title", "Renamed").ok()
    follower.sees("Renamed (title)")
    follower.process.send_signal(signal.SIGINT)
    assert follower.ends() == (0, b"")
    assert [line.split()[2] for line in follower.text.splitlines()] == ["created", "posted", "changed"]


def test_follow_as_json_is_an_object_per_line(repo, live):
    repo.create("First")
    follower = live("--json", "-n", "1")
    follower.sees("First")
    repo.create("Second")
    lines = follower.sees("Second").splitlines()
    assert [json.loads(line)["title"] for line in lines] == ["First", "Second"]


def test_follow_ends_when_the_reader_of_its_output_ends(repo, live):
    repo.create("First")
    follower = live()
    follower.sees("First")
    follower.process.stdout.close()
    assert follower.ends() == (0, b"")


def test_follow_refuses_wrong_input(repo, live):
    follower = live("--bead", "nothing")
    code, err = follower.ends()
    assert code != 0 and b"there is no bead 'nothing'" in err


def test_acts_behind_one_large_record_are_found(busy):
    """An import is one record that is larger than the first read."""
    lines = [json.dumps({"id": f"bd-i{i}", "title": f"Imported {i}", "description": "words " * 200, "status": "open", "priority": 2,
                         "issue_type": "task", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"})
             for i in range(400)]
    (busy.path / "issues.jsonl").write_text("\n".join(lines) + "\n")
    busy.act("comment", busy.bead, "Before the import")
    busy.act("import", "issues.jsonl")
    busy.act("comment", busy.bead, "After the import")
    found = log(busy, "--limit", "2", "--since", "1h")
    assert [one["text"] for one in found] == ["Before the import", "After the import"]
    assert [one["text"] for one in log(busy, "--agent", "alice", "--limit", "2")] == ["Before the import", "After the import"]
    assert sum(one["kind"] == "bead" and one["what"] == "created" for one in log(busy, "--limit", "10000")) == 402


def test_an_agent_with_an_unusual_name_is_found(busy):
    """A record contains the name with the escapes of JSON."""
    for name in ('q"uote', "back\\slash", "Zoë"):
        busy.act("comment", busy.bead, f"By {name}", by=name)
        assert [one["text"] for one in log(busy, "--agent", name)] == [f"By {name}"]


def test_the_log_can_be_limited_to_a_kind_and_to_a_time(busy):
    busy.act("post", "Staging is down", program="bb", by="amber-otter")
    busy.act("comment", busy.bead, "later")
    assert acts(log(busy, "--kind", "post")) == [("amber-otter", "posted", None, "Staging is down")]
    until = log(busy, "--kind", "post")[0]["at"]
    assert [one["what"] for one in log(busy, "--until", until, "-n", "2")] == ["created", "posted"]


def test_the_newest_acts_are_found_in_many_mailboxes_with_lines_in_any_order(busy):
    """Messages of other machines arrive late, so their lines come after newer ones."""
    names = [f"agent-{i}" for i in range(6)]
    for name in names:
        busy.act("agent", "register", "--name", name, "--role", "ui", program="bb")
    at = lambda ms: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms / 1000)) + f".{ms % 1000:03}Z"
    sent = []
    for i, name in enumerate(names):
        lines = []
        for k in range(90):
            ms = busy.clock + 1000 * (k * len(names) + i) if k < 60 else NOW - 86400000 - k  # the last thirty are of yesterday
            sent.append((ms, f"{name} {k}"))
            lines.append(json.dumps({
                "message_id": f"msg_20270101_000000_{i:08x}{k:08x}", "thread_id": f"bead:{busy.bead}", "bead_id": busy.bead, "from_agent": names[i - 1], "to_agent": name,
                "category": "INFO", "subject": f"{name} {k}", "body": "b", "state": "unread", "requires_ack": False, "created_at": at(ms), "read_at": None, "acked_at": None},
                separators=(",", ":") if i % 2 else None))
        (busy.path / f".beadboard/agent/messages/{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    newest = [subject for _, subject in sorted(sent)[-40:]]
    assert [one["text"] for one in log(busy, "-n", "40")] == newest
    assert [one["text"] for one in log(busy, "-n", "40", "--kind", "mail")] == newest
