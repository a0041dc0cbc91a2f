"""Seeded histories of four machines: partitions, clocks that are a day wrong, restarts, killed exchanges, lost files,
equal names, logs that are compacted. At the end all machines have the same state, and it is the one that a model
computes from the published facts: nothing that was acknowledged is lost, and nothing is there twice.

The rules run 150 histories in one process (test/model/machines_tool.c). A few more histories have real processes, Git
and a bare remote."""
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

import machine_model
from conftest import BUILD, environment
from machines import LOGS, Machine, log_of, machine
from remotes import bare

THOROUGH = os.environ.get("ABACUS_THOROUGH") == "1"
HISTORIES = int(os.environ.get("ABACUS_HISTORIES", 1000 if THOROUGH else 150))
CHUNK = 50
FAILED_ONCE = (578, 839, 875, 902, 962)
REAL = 40 if THOROUGH else 8
AGENTS = ("amber-otter", "bold-fox", "calm-seal", "dark-wren")
COMMON = "warm-newt"  # more than one machine may register it
START = 1_780_000_000_000  # ms
DAY = 86_400_000
SCOPES = ("src", "src/a", "src/a/b.c", "doc", "test/x")

REFUSALS = {"UNKNOWN_RECIPIENT", "UNKNOWN_SENDER", "AGENT_NOT_FOUND", "MESSAGE_NOT_FOUND", "RESERVATION_CONFLICT",
            "RESERVATION_STALE_FOUND", "RESERVATION_NOT_FOUND", "RELEASE_FORBIDDEN", "DUPLICATE_AGENT_ID", "NOT_FOUND",
            "NO_MAIL", "ACK_FORBIDDEN"}


class Tool:
    """All machines in one process; the remote is a folder with a file per log."""

    def __init__(self, root, seed, template):
        self.root, self.hub, self.template = root, root / "hub", template
        self.hub.mkdir()
        self.process = subprocess.Popen([str(BUILD / "model" / "machines_tool")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment())
        self.process.stdin.write(json.dumps({"seed": seed + 1}) + "\n")
        self.ids = {}

    def say(self, i, now, **step):
        self.process.stdin.write(json.dumps({"dir": str(self.root / f"m{i}"), "now": now, **step}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def run(self, i, now, op, params):
        return self.say(i, now, op=op, params=params)

    def round(self, i, now, others, dies=None, cut=False):
        step = {} if cut else {"hub": str(self.hub), "from": [self.ids[n] for n in others if n in self.ids]}
        reply = self.say(i, now, **step, **({"dies": dies} if dies else {}))
        assert "error" not in reply, reply
        if "data" in reply:
            assert reply["data"]["problems"] == []
            self.ids[i] = reply["data"]["machine"]

    def lose(self, i):
        """The objects of logs are in no folder here."""

    def join(self, i):
        shutil.copytree(self.template, self.root / f"m{i}", symlinks=True)

    def published(self):
        for i, id in self.ids.items():
            if (self.hub / id).exists():
                log = json.loads((self.hub / id).read_text())
                yield id, json.loads(log["meta.json"]), "".join(log[name] for name in sorted(log) if name != "meta.json")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


class Real:
    """Clones of a bare remote; every step is a process."""

    def __init__(self, root, seed, template):
        self.root, self.random, self.template = root, random.Random(seed), template
        bare(root / "hub.git")

    def at(self, i):
        one = Machine(self.root / f"m{i}")
        one.env = {"BD_ACTOR": f"m{i}"}
        return one

    def run(self, i, now, op, params):
        done = subprocess.run([str(BUILD / "bin" / "abacus"), "pipe"], input=json.dumps({"op": op, "params": params}),
                              capture_output=True, text=True, cwd=self.root / f"m{i}", env=environment(
                                  ABACUS_NOW=str(now), BD_ACTOR=f"m{i}"))
        reply = json.loads(done.stdout)
        return {**reply, **({"error": reply["error"]["reason"]} if "error" in reply else {})}

    def round(self, i, now, others, dies=None, cut=False):
        if cut:
            return
        one = self.at(i)
        if not dies:
            one.exchange(ABACUS_NOW=str(now))
            return
        process = subprocess.Popen([str(BUILD / "libexec" / "abacus-sync"), "share", str(one.path / ".git"), "--once"],
                                   stdout=subprocess.PIPE, cwd=one.path, env=environment(**one.env, ABACUS_NOW=str(now)))
        time.sleep(self.random.uniform(0.002, 0.04))
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def lose(self, i):
        """The objects of the logs, with the refs and packs, are only a cache."""
        shutil.rmtree(self.at(i).home / "machines" / "objects", ignore_errors=True)

    def join(self, i):
        shutil.copytree(self.template, self.root / f"m{i}", symlinks=True)
        self.at(i).share(f"host-{i}")

    def published(self):
        for i in range(len(AGENTS)):
            id = self.at(i).id
            meta, facts = log_of(self.root / "hub.git", LOGS + id)
            yield id, meta, "".join(json.dumps(f) + "\n" for f in facts)

    def close(self):
        pass


class History:
    def __init__(self, root, seed, way, template):
        self.root, self.way, self.random = root, way(root, seed, template), random.Random(seed)
        for i in range(len(AGENTS)):
            self.way.join(i)
        self.now, self.count = START, 0
        self.skew = [self.random.choice((0, 0, DAY, -DAY, 5000)) for _ in AGENTS]
        self.cut = set()
        self.facts = collections.defaultdict(dict)  # by machine and number
        self.done = []  # what was acknowledged
        self.aged = False  # facts may have left the logs

    def time(self, i):
        self.now += self.random.randint(1, 2000)
        return self.now + (self.skew[i] if i < len(self.skew) else 0)

    def run(self, i, op, **params):
        reply = self.way.run(i, self.time(i), op, params)
        assert reply.get("error") in REFUSALS | {None}, (op, params, reply)
        return reply.get("data")

    def next(self, word):
        self.count += 1
        return f"{word} {self.count}"

    # --- acts ---

    def own(self, i):
        """An agent of this machine."""
        return self.random.choice([AGENTS[i]] * 3 + [COMMON] * (i in self.named))

    def register(self, i):
        name = self.random.choice((AGENTS[i], COMMON)) if self.equal else AGENTS[i]
        if self.run(i, "agent register", name=name, role=self.next("role"), force_update=self.random.random() < 0.5) \
                and name == COMMON and not self.knows_common(i):
            self.named.add(i)

    def knows_common(self, i):
        """Does the name belong to an agent of another machine here?"""
        return any(a["agent_id"] == COMMON and "machine" in a for a in self.run(i, "agent list")) and i not in self.named

    def send(self, i, body=None):
        body = body or self.next("body")
        sent = self.run(i, "agent send", **{"from": self.own(i)}, to=self.random.choice((*AGENTS, COMMON, "broadcast")),
                        bead="bd-1", category=self.random.choice(("INFO", "HANDOFF")), subject="s", body=body)
        self.done += [("messages", m["message_id"], "unread") for m in (sent or {}).get("messages", [])]

    def receive(self, i):
        who = self.own(i) if self.random.random() < 0.8 else self.random.choice(AGENTS)  # an agent may act anywhere
        got = self.run(i, "agent inbox", agent=who, limit=20) or []
        for m in self.random.sample(got, min(1, len(got))):
            after = self.run(i, self.random.choice(("agent read", "agent ack")), agent=who, message=m["message_id"])
            if after:
                self.done.append(("messages", after["message_id"], after["state"]))

    def reserve(self, i):
        self.run(i, "agent reserve", agent=self.own(i), scope=self.random.choice(SCOPES), bead="bd-1",
                 ttl=self.random.choice((10, 1440)), takeover_stale=self.random.random() < 0.2)

    def release(self, i):
        self.run(i, "agent release", agent=self.own(i), scope=self.random.choice(SCOPES))

    def post(self, i):
        known = [m["id"] for m in self.run(i, "board log", limit=20)]
        reply = {"in_reply_to": self.random.choice(known)} if known and self.random.random() < 0.6 else {}
        assert self.run(i, "board post", content=(text := self.next("post")), agent=self.own(i), **reply)
        self.done.append(("posts", text))

    def status(self, i):
        assert self.run(i, "board status set", current_task=self.next("task"),
                        agent=self.random.choice((*AGENTS, self.own(i))), status=self.random.choice(("coding", "testing")))

    def artifact(self, i):
        name = self.random.choice(("out.txt", "doc.md"))
        (self.root / f"m{i}" / name).write_text("x")
        assert self.run(i, "board artifact add", path=name, description=self.next("artifact"), agent=self.own(i))

    def remember(self, i):
        key = self.random.choice("pqr")
        if self.random.random() < 0.25:
            self.run(i, "vybe memory delete", key=key, agent=AGENTS[i], request_id=self.next("id"))
        else:
            assert self.run(i, "vybe memory set", key=key, value=self.next("value"), agent=AGENTS[i],
                            request_id=self.next("id"))

    def event(self, i):
        text = self.next("event")
        assert self.run(i, "vybe push", json=json.dumps({"event": {"kind": "progress", "message": text}}),
                        agent=AGENTS[i], request_id=text)
        self.done.append(("task events", text))

    def exchange(self, i, dies=None):
        others = [n for n in range(len(AGENTS)) if n != i]
        if self.random.random() < 0.3:
            others = self.random.sample(others, self.random.randint(0, 2))
        self.way.round(i, self.time(i), others, dies, i in self.cut)
        self.look()

    def kill(self, i):
        self.exchange(i, dies=self.random.randint(1, 60))

    def lose(self, i):
        self.way.lose(i)

    # --- the course ---

    def look(self):
        """Published facts do not change until they are removed."""
        for id, meta, text in self.way.published():
            lines = [json.loads(line) for line in text.splitlines()]
            assert [f["seq"] for f in lines] == sorted({f["seq"] for f in lines})
            assert meta["count"] >= max((f["seq"] for f in lines), default=0)
            last = {}
            for f in lines:
                subject = machine_model.subject(f)  # a later write of a register has a later stamp
                assert last.get(subject, [0, 0]) < f["at"]
                last[subject] = f["at"]
                assert self.facts[id].setdefault(f["seq"], f) == f

    def settle(self, machines=range(len(AGENTS)), rounds=3):
        self.cut = set()
        for _ in range(rounds):
            for i in machines:
                self.way.round(i, self.time(i), [n for n in machines if n != i])

    def some(self, steps):
        acts = {self.send: 5, self.receive: 5, self.reserve: 3, self.release: 2, self.post: 3, self.status: 2,
                self.artifact: 1, self.remember: 3, self.event: 1, self.register: 1, self.exchange: 8, self.kill: 3,
                self.lose: 1}
        for step in range(steps):
            if step == steps * 2 // 3:
                self.cut = set()
            self.random.choices(list(acts), acts.values())[0](self.random.randrange(len(AGENTS)))

    def month(self):
        """Settled facts are removed from those logs whose last segment is sealed."""
        self.aged = True
        self.settle()
        self.look()
        self.now += 40 * DAY
        for i in self.random.sample(range(len(AGENTS)), 2):
            for _ in range(3):
                self.send(i, self.next("x" * 30000))
            self.exchange(i)

    def play(self, steps):
        self.equal = self.random.random() < 0.5
        self.named = set()
        for i in range(len(AGENTS)):
            self.run(i, "agent register", name=AGENTS[i], role="agent")
            if self.equal and self.random.random() < 0.6 and self.run(i, "agent register", name=COMMON, role="agent"):
                self.named.add(i)
            self.exchange(i)
        self.cut = set(self.random.sample(range(len(AGENTS)), self.random.choice((0, 0, 1, 2))))
        self.some(steps)
        if self.random.random() < 0.3:
            self.month()
            self.some(steps // 2)
        self.skew = [0] * len(AGENTS)  # the clocks are set, some of them back
        self.settle()
        self.look()

    # --- the end ---

    def state(self, i):
        now = self.now
        def ask(op, **params):
            return self.way.run(i, now, op, params)["data"]
        mail, files = {}, self.root / f"m{i}" / ".beadboard" / "agent"
        for file in (files / "messages").glob("*.jsonl"):
            for m in map(json.loads, file.read_text().splitlines()):
                assert m["to_agent"] == file.stem
                mail[m["message_id"]] = (m["from_agent"], m["to_agent"], m["body"], m["state"],
                                         machine_model.ms(m["read_at"]), machine_model.ms(m["acked_at"]))
        board = ask("board export")
        text = {m["id"]: m["content"] for m in board["messages"]}
        events = (files / "events.jsonl").read_text() if (files / "events.jsonl").exists() else ""
        return {
            "registry": {a["agent_id"]: (a["role"], machine_model.ms(a["created_at"])) for a in ask("agent list")},
            "messages": mail,
            "reservations": {(r["agent_id"], r["scope"], machine_model.ms(r["expires_at"]))
                             for r in ask("agent status")["reservations"]},
            "memory": {m["key"]: m["value"] for m in ask("vybe memory list", scope="global")["memories"]},
            "tasks": {a["id"]: a["current_task"] for a in board["agents"] if a["current_task"]},
            "artifacts": {a["path"]: a["description"] for a in board["artifacts"]},
            "posts": sorted((m["from_agent"], m["content"], text[m["in_reply_to"]] if m["in_reply_to"] else "")
                            for m in board["messages"]),
            "events": sorted(json.loads(line)["id"] for line in events.splitlines()),
            "task events": sorted(e["message"] for e in ask("vybe events list", all=True, kind="progress",
                                                            limit=1000)["events"]),
        }

    def check(self):
        expected = machine_model.state([{**f, "machine": id} for id, facts in self.facts.items()
                                        for f in facts.values()], self.now)
        expected["tasks"] = {agent: task for agent, task in expected["tasks"].items() if task}
        states = ("unread", "read", "acked")
        for kind, what, *rest in self.done:  # nothing that was acknowledged is lost
            if kind == "messages":
                assert states.index(expected[kind][what][3]) >= states.index(rest[0])
            else:
                assert what in (expected[kind] if kind != "posts" else [text for _, text, _ in expected[kind]]), what
        for i in range(len(AGENTS)):
            found = self.state(i)
            for kind in expected:
                assert found[kind] == expected[kind], (kind, f"m{i}", found[kind], expected[kind])
        if self.aged:
            self.join_late(len(AGENTS), expected)
        self.way.close()

    def join_late(self, i, expected):
        """A new machine needs no removed facts, except for settled mail."""
        self.way.join(i)
        self.way.round(i, self.time(i), range(len(AGENTS)))
        found = self.state(i)
        messages = {id: m for id, m in expected["messages"].items() if id in found["messages"] or m[3] == "unread"}
        for kind, value in {**expected, "messages": messages}.items():
            assert found[kind] == value, (kind, "late", found[kind], value)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A clone with a board, before it shares."""
    root = tmp_path_factory.mktemp("template")
    one = machine(root / "m", "../hub.git")
    shutil.rmtree(one.path / ".git" / "hooks", ignore_errors=True)
    return one.path


@pytest.mark.parametrize("seeds", [range(first, min(first + CHUNK, HISTORIES)) for first in range(0, HISTORIES, CHUNK)]
                         + [FAILED_ONCE], ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_all_machines_end_with_the_state_of_the_model(tmp_path, template, seeds):
    for seed in seeds:
        root = tmp_path / str(seed)
        root.mkdir()
        history = History(root, seed, Tool, template)
        try:
            history.play(40)
            history.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        shutil.rmtree(root)


@pytest.mark.parametrize("seed", range(REAL))
def test_clones_of_a_bare_remote_end_with_the_state_of_the_model(tmp_path, template, seed):
    history = History(tmp_path, seed, Real, template)
    history.play(20)
    history.check()
