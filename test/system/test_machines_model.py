"""Seeded histories of four machines: partitions, wrong clocks, killed exchanges, lost files. At the end all machines
have the same state, and it is the one that an independent model computes from the published facts."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, environment
from machines import LOGS, Machine, log_of, machine
from remotes import bare

THOROUGH = os.environ.get("ABACUS_THOROUGH") == "1"
HISTORIES = 300 if THOROUGH else 8
NAMES = ("amber-otter", "bold-fox", "calm-seal", "dark-wren")
START = 1_780_000_000_000  # ms
DAY = 86_400_000


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Made once, then copied: four machines that know each other."""
    root = tmp_path_factory.mktemp("template")
    bare(root / "hub.git")
    for i, name in enumerate(NAMES):
        one = machine(root / f"m{i}", "../hub.git", f"host-{i}", ABACUS_NOW=str(START + i))
        one.agent("register", "--name", name, "--role", "agent")
    for _ in range(2):
        for i in range(len(NAMES)):
            at(root, i).exchange(ABACUS_NOW=str(START + 100))
    return root


def at(root, i):
    one = Machine(root / f"m{i}")
    one.env = {"BD_ACTOR": NAMES[i]}
    return one


# --- the model: from the published facts to the state ---

def order(fact):
    return fact["at"], fact["by"], fact["machine"]


def messages(facts):
    sent = {f["data"]["id"]: f for f in facts if f["kind"] == "message.sent"}
    found = {}
    for id, fact in sent.items():
        read = [f["data"]["when"] for f in facts if f["kind"] == "message.read" and f["data"]["id"] == id]
        acked = [f["data"]["when"] for f in facts if f["kind"] == "message.acked" and f["data"]["id"] == id]
        state = "acked" if acked else "read" if read else "unread"
        found[id] = (fact["data"]["from"], fact["data"]["to"], fact["data"]["body"], state,
                     min(read + acked, default=0), min(acked, default=0))
    return found


def overlap(a, b):
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def reservations(facts, now):
    """The reservations that hold: the earliest of those that overlap across machines."""
    made = {}
    for f in sorted((f for f in facts if f["kind"] == "reservation.made"), key=order):
        one = made.setdefault(f["data"]["id"], {"at": (f["at"], f["machine"], f["data"]["id"]),
                                                "machine": f["machine"]})
        one.update(agent=f["data"]["agent"], scope=f["data"]["scope"], expires=f["data"]["expires"])
    ended = {f["data"]["id"] for f in facts if f["kind"] in ("reservation.released", "reservation.expired")}
    ended |= {f["data"]["takes"] for f in facts if f["kind"] == "reservation.made" and "takes" in f["data"]}
    holds = []
    for id, one in sorted(made.items(), key=lambda item: item[1]["at"]):
        if id not in ended and one["expires"] > now and not any(
                other["machine"] != one["machine"] and other["agent"] != one["agent"] and
                overlap(other["scope"], one["scope"]) for other in holds):
            holds.append(one)
    return {(one["agent"], one["scope"]) for one in holds}


def registers(facts, kinds, key):
    """The last write of each register."""
    last = {}
    for f in sorted((f for f in facts if f["kind"] in kinds), key=order):
        last[key(f["data"])] = f
    return last


def memory(facts):
    last = registers(facts, ("memory.set", "memory.deleted"), lambda d: (d["scope"], d["scope_id"], d["key"]))
    return {key[2]: f["data"]["value"] for key, f in last.items() if f["kind"] == "memory.set"}


def tasks(facts):
    """The task in each agent's status; the status itself becomes offline by time."""
    return {agent: f["data"]["task"] for agent, f in registers(facts, ("status",), lambda d: d["agent"]).items()}


def posts(facts):
    """Every post with the text that it answers."""
    text = {f"{f['machine']}:{f['data']['id']}": f["data"]["content"] for f in facts if f["kind"] == "post"}
    return sorted((f["data"]["agent"], f["data"]["content"], text.get(f["data"].get("reply")))
                  for f in facts if f["kind"] == "post")


# --- the state of a machine, from its own stores ---

def ms(text):
    if not text:
        return 0
    import datetime
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def state_of(one, now):
    env = {"ABACUS_NOW": str(now)}
    mail = {}
    for file in sorted((one.agents / "messages").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            m = json.loads(line)
            mail[m["message_id"]] = (m["from_agent"], m["to_agent"], m["body"], m["state"], ms(m["read_at"]),
                                     ms(m["acked_at"]))
    board = one.bb("export", env=env)
    by_id = {m["id"]: m for m in board["messages"]}
    memories = one.vybe("memory", "list", "--scope", "global", "--agent", "x", env=env)["data"]
    return {
        "messages": mail,
        "reservations": {(r["agent_id"], r["scope"]) for r in one.agent("status", env=env)["reservations"]},
        "memory": {m["key"]: m["value"] for m in memories.get("memories", memories.get("entries", []))},
        "tasks": {a["id"]: a["current_task"] for a in board["agents"]},
        "posts": sorted((m["from_agent"], m["content"], by_id[m["in_reply_to"]]["content"] if m["in_reply_to"] else None)
                        for m in board["messages"]),
        "registry": sorted(a["agent_id"] for a in one.agent("list", env=env)),
    }


# --- a history ---

class History:
    def __init__(self, root, seed):
        self.root, self.random, self.done, self.count = root, random.Random(seed), [], 0
        self.now = START + 1000
        self.skew = [self.random.choice((0, 0, DAY, -DAY, 5000)) for _ in NAMES]
        self.machines = [at(root, i) for i in range(len(NAMES))]
        self.scopes = ["src", "src/a", "src/a/b.c", "doc", "test/x"]

    def env(self, i):
        self.now += self.random.randint(1, 2000)
        return {"ABACUS_NOW": str(self.now + self.skew[i])}

    def run(self, i, *args, program="bb"):
        """A command that may be refused, as local rules want it; its reply if it was not."""
        done = self.machines[i].run("--json", *args, program=program, env=self.env(i))
        return done.json if done.code == 0 else None

    def send(self, i):
        to = self.random.choice([n for n in NAMES if n != NAMES[i]] + ["broadcast"])
        self.count += 1
        reply = self.run(i, "agent", "send", "--from", NAMES[i], "--to", to, "--bead", "bd-1", "--category",
                         self.random.choice(("INFO", "HANDOFF")), "--subject", "s", "--body", f"body {self.count}")
        self.done += [("message", m["message_id"]) for m in reply["data"]["messages"]]

    def receive(self, i):
        who = NAMES[i] if self.random.random() < 0.8 else self.random.choice(NAMES)  # an agent may act anywhere
        reply = self.run(i, "agent", self.random.choice(("read", "ack")), "--agent", who)
        if reply:
            self.done.append(("step", reply["data"]["message_id"], reply["data"]["state"]))

    def reserve(self, i):
        self.run(i, "agent", "reserve", "--agent", NAMES[i], "--scope", self.random.choice(self.scopes), "--bead", "bd-1",
                 "--ttl", self.random.choice(("10m", "24h")))

    def release(self, i):
        self.run(i, "agent", "release", "--agent", NAMES[i], "--scope", self.random.choice(self.scopes))

    def post(self, i):
        self.count += 1
        known = [m["id"] for m in self.machines[i].bb("log", env=self.env(i))]
        reply = ["--reply-to", str(self.random.choice(known))] if known and self.random.random() < 0.6 else []
        assert self.run(i, "post", f"post {self.count}", "--agent", NAMES[i], *reply)
        self.done.append(("post", f"post {self.count}"))

    def status(self, i):
        assert self.run(i, "status", "set", f"task {self.now}", "--status", self.random.choice(("coding", "testing")),
                        "--agent", self.random.choice(NAMES))

    def remember(self, i):
        self.count += 1
        key = self.random.choice("pqr")
        if self.random.random() < 0.25:
            self.run(i, "memory", "delete", "--key", key, "--agent", NAMES[i], "--request-id", str(self.count),
                     program="vybe")
        else:
            assert self.run(i, "memory", "set", "--key", key, "--value", f"v{self.count}", "--agent", NAMES[i],
                            "--request-id", str(self.count), program="vybe")

    def exchange(self, i):
        self.machines[i].exchange(**self.env(i))

    def kill(self, i):
        """An exchange that is killed anywhere."""
        one = self.machines[i]
        process = subprocess.Popen([str(BUILD / "libexec" / "abacus-sync"), "share", str(one.path / ".git"), "--once"],
                                   stdout=subprocess.PIPE, cwd=one.path, env=environment(**{**one.env, **self.env(i)}))
        time.sleep(self.random.uniform(0.002, 0.04))
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def lose(self, i):
        """The objects of the logs are only a cache."""
        shutil.rmtree(self.machines[i].home / "machines" / "objects", ignore_errors=True)

    def play(self, steps):
        acts = [(self.send, 5), (self.receive, 5), (self.reserve, 3), (self.release, 2), (self.post, 3), (self.status, 2),
                (self.remember, 3), (self.exchange, 7), (self.kill, 2), (self.lose, 1)]
        offline = self.random.sample(range(len(NAMES)), 1) if self.random.random() < 0.5 else []
        for step in range(steps):
            act = self.random.choices([a for a, _ in acts], [w for _, w in acts])[0]
            i = self.random.randrange(len(NAMES))
            if act in (self.exchange, self.kill) and i in offline and step < steps * 2 // 3:
                continue  # a partition
            act(i)

    def settle(self):
        end = self.now + 1000  # some clocks go back, some ahead
        for _ in range(3):
            for one in self.machines:
                one.exchange(ABACUS_NOW=str(end))
        return end


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_all_machines_end_with_the_state_of_the_model(tmp_path, template, seed):
    shutil.copytree(template, tmp_path / "t", symlinks=True)
    history = History(tmp_path / "t", seed)
    history.play(30)
    end = history.settle()
    facts = []
    for one in history.machines:
        meta, lines = log_of(tmp_path / "t" / "hub.git", LOGS + one.id)
        assert [f["at"] for f in lines] == sorted(f["at"] for f in lines) and meta["count"] == lines[-1]["seq"]
        facts += [{**f, "machine": one.id} for f in lines]
    expected = {"messages": messages(facts), "reservations": reservations(facts, end), "memory": memory(facts),
                "posts": posts(facts), "registry": sorted(NAMES), "tasks": tasks(facts)}
    for kind, what, *rest in history.done:  # nothing that was acknowledged is lost
        if kind == "post":
            assert what in [content for _, content, _ in expected["posts"]]
        else:
            assert what in expected["messages"]
            states = ("unread", "read", "acked")
            assert not rest or states.index(expected["messages"][what][3]) >= states.index(rest[0])
    for one in history.machines:
        found = state_of(one, end)
        assert found == expected, one.path
