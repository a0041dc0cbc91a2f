"""Random commands against a simple model: the replies agree."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from datetime import datetime, timezone

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conftest import BIN, environment

START = 1_700_000_000_000
MINUTE = 60_000
UNITS = {"s": 1000, "m": MINUTE, "h": 60 * MINUTE, "d": 24 * 60 * MINUTE, "w": 7 * 24 * 60 * MINUTE}
PRIORITIES = ["low", "normal", "high", "critical"]
STATUSES = ["idle", "planning", "coding", "testing", "reviewing", "blocked"]
FILES = ["a.txt", "b..c.txt", "ü/日本.md"]
TAGS = ["decision", "info", "Überlegung", "計画"]
REFS = ["tt:issue:1", "tt:issue:01", "tt:issue:x", "gh:pr:12345678901234567890123", "a:b:ключ"]

agents = st.sampled_from(["a", "b", "agent with space", "агент-1"])
letters = st.characters(blacklist_categories=("Cs", "Cc", "Cn", "Zs", "Zl", "Zp"))
line = st.text(letters, min_size=1, max_size=20).filter(lambda s: s != "-" and s.strip() == s)
body = st.lists(line, min_size=1, max_size=3).map("\n".join)
tags = st.lists(st.sampled_from(TAGS), max_size=2, unique=True)
refs = st.lists(st.sampled_from(REFS), max_size=2, unique=True)
priorities = st.sampled_from(PRIORITIES)
durations = st.sampled_from(["0s", "30s", "5m", "10m", "31m", "1h", "2d", "1w"])


def ms(duration):
    return int(duration[:-1]) * UNITS[duration[-1]]


def stamp(t):
    return datetime.fromtimestamp(t // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{t % 1000:03}Z"


def ref_value(text):
    where, what, ref = text.split(":")
    return {"where": where, "what": what, "ref": int(ref) if ref.isdecimal() else ref}


def same_ref(one, other):
    return one == other and type(one["ref"]) is type(other["ref"])


class Board(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="bb-peer-"))
        self.now = START
        self.messages, self.artifacts, self.agents = [], {}, {}
        self.read = {}
        self.ids, self.requests, self.last_artifact = itertools.count(1), itertools.count(1), 0

    def teardown(self):
        shutil.rmtree(self.path)

    # --- the program

    def run(self, *args, who=None):
        done = subprocess.run(
            [str(BIN / "bb"), "--json", *(["--as", who] if who else []), *args], cwd=self.path,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
            env=environment(ABACUS_NOW=self.now))
        return done.returncode, json.loads(done.stdout)

    def ok(self, *args, who=None):
        code, reply = self.run(*args, who=who)
        assert code == 0, reply
        return reply

    # --- the model

    def touch(self, who):
        agent = self.agents.setdefault(who, {
            "id": who, "current_task": "", "progress": 0, "status": "idle", "blockers": None,
            "last_seen": self.now, "updated_at": self.now})
        if agent["status"] == "offline":
            agent["status"] = "idle"
        agent["last_seen"] = self.now
        return agent

    def shown(self, agent):
        silent = self.now - agent["last_seen"]
        liveness = "active" if silent // MINUTE <= 5 else "stale" if silent // MINUTE <= 30 else "offline"
        return {**agent, "status": "offline" if silent > 30 * MINUTE else agent["status"],
                "last_seen": stamp(agent["last_seen"]), "updated_at": stamp(agent["updated_at"]),
                "liveness": liveness, "minutes_since_last_seen": silent // MINUTE}

    def look_at_agents(self):
        """Reads that return agents record which ones are offline."""
        for agent in self.agents.values():
            if self.now - agent["last_seen"] > 30 * MINUTE:
                agent["status"] = "offline"
        return [self.shown(a) for a in sorted(self.agents.values(), key=lambda a: (-a["last_seen"], a["id"].encode()))]

    def message(self, m):
        return {**m, "created_at": stamp(m["created_at"])}

    def artifact(self, a):
        return {**a, "created_at": stamp(a["created_at"])}

    def newest(self, wanted=lambda m: True):
        return [m for m in reversed(self.messages) if wanted(m)]

    def by_id(self, id_):
        return next((m for m in self.messages if m["id"] == id_), None)

    def unread(self, who):
        waiting = [m for m in self.messages if m["id"] not in self.read.get(who, set())]
        highest = max((PRIORITIES.index(m["priority"]) for m in waiting), default=None)
        return {"count": len(waiting), "highest_priority": None if highest is None else PRIORITIES[highest]}

    def assert_shown(self, reply, expected, who):
        """A named reader sees which messages are new to it; afterwards they are not new any more."""
        seen = self.read.setdefault(who, set()) if who else set()
        plain = [{k: v for k, v in m.items() if k != "unread"} for m in reply]
        assert plain == [self.message(m) for m in expected]
        if who:
            assert [m["unread"] for m in reply] == [m["id"] not in seen for m in expected]
            seen.update(m["id"] for m in expected)

    # --- what happens

    @initialize()
    def make(self):
        for name in FILES:
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).write_text("")
        assert self.ok("init")["result"] == "created"

    @rule(by=st.sampled_from([1, 999, 30_000, 4 * MINUTE, 5 * MINUTE, 6 * MINUTE, 31 * MINUTE, 25 * 60 * MINUTE]))
    def time_goes_on(self, by):
        self.now += by

    @rule(who=agents, content=body, tags=tags, refs=refs, priority=st.none() | priorities,
          reply=st.none() | st.integers(1, 12))
    def post(self, who, content, tags, refs, priority, reply):
        command = ["post"]
        for tag in tags:
            command += ["--tag", tag]
        for ref in refs:
            command += ["--ref", ref]
        if priority:
            command += ["--priority", priority]
        if reply:
            command += ["--reply-to", str(reply)]
        code, got = self.run(*command, "--", content, who=who)
        if reply and not self.by_id(reply):
            assert (code, got["error"]["code"]) == (1, "NOT_FOUND")
            return
        self.touch(who)
        new = {"id": next(self.ids), "from_agent": who, "content": content, "tags": tags,
               "priority": priority or "normal", "in_reply_to": reply, "refs": [ref_value(r) for r in refs],
               "created_at": self.now}
        self.messages.append(new)
        self.read.setdefault(who, set()).add(new["id"])
        assert got == self.message(new)

    @rule(who=agents, content=line)
    def post_twice_with_one_request_id(self, who, content):
        command = ["--request-id", f"r{next(self.requests)}", "post", "--", content]
        first, second = self.ok(*command, who=who), self.ok(*command, who=who)
        code, other = self.run(*command[:-1], content + "!", who=who)
        assert (code, other["error"]["code"]) == (1, "REQUEST_MISMATCH")
        self.touch(who)
        new = {"id": next(self.ids), "from_agent": who, "content": content, "tags": [], "priority": "normal",
               "in_reply_to": None, "refs": [], "created_at": self.now}
        self.messages.append(new)
        self.read.setdefault(who, set()).add(new["id"])
        assert first == second == self.message(new)

    @rule(who=agents, task=st.none() | line, progress=st.none() | st.integers(0, 100),
          status=st.none() | st.sampled_from(STATUSES), blockers=st.none() | line)
    def set_status(self, who, task, progress, status, blockers):
        if status != "blocked" and status is not None:
            blockers = None
        command = ["status", "set"]
        command += [f"--progress={progress}"] if progress is not None else []
        command += [f"--status={status}"] if status else []
        command += [f"--blockers={blockers}"] if blockers else []
        command += ["--", task] if task else []
        if len(command) == 2:
            code, got = self.run(*command, who=who)
            assert (code != 0, got["error"]["code"]) == (True, "INVALID_INPUT")
            return
        agent = self.touch(who)
        before = {k: agent[k] for k in ("current_task", "progress", "status", "blockers")}
        agent["current_task"] = agent["current_task"] if task is None else task
        agent["progress"] = agent["progress"] if progress is None else progress
        agent["status"] = status or ("blocked" if blockers else agent["status"])
        agent["blockers"] = None if agent["status"] != "blocked" else blockers or agent["blockers"]
        if before != {k: agent[k] for k in before}:
            agent["updated_at"] = self.now
        assert self.ok(*command, who=who) == self.shown(agent)

    @rule(who=agents, progress=st.sampled_from(["-1", "101", "x", "1.5"]))
    def set_nonsense(self, who, progress):
        code, got = self.run("status", "set", f"--progress={progress}", who=who)
        assert (code != 0, got["error"]["code"]) == (True, "INVALID_INPUT")

    @rule(who=agents)
    def clear_status(self, who):
        agent = self.touch(who)
        before = dict(agent)
        agent.update(current_task="", progress=0, status="idle", blockers=None)
        if agent != before:
            agent["updated_at"] = self.now
        assert self.ok("status", "clear", who=who) == self.shown(agent)

    @rule(who=agents, file=st.sampled_from(FILES), description=line, version=st.none() | line, refs=refs)
    def add_artifact(self, who, file, description, version, refs):
        command = ["artifact", "add"]
        command += [f"--version={version}"] if version else []
        for ref in refs:
            command += ["--ref", ref]
        self.touch(who)
        old = self.artifacts.pop(file, None)
        got = self.ok(*command, "--", file, description, who=who)
        # an entry keeps its id; a new one gets one that was never used
        assert got["id"] == old["id"] if old else got["id"] > self.last_artifact
        self.last_artifact = max(self.last_artifact, got["id"])
        new = {"id": got["id"], "path": file, "produced_by": who,
               "description": description, "version": version, "refs": [ref_value(r) for r in refs],
               "created_at": self.now}
        self.artifacts[file] = new
        assert got == self.artifact(new)
        assert self.ok("artifact", "show", file) == self.artifact(new)

    @rule(who=st.none() | agents, since=st.none() | durations, tags=tags, from_agent=st.none() | agents,
          priority=st.none() | priorities, ref=st.none() | st.sampled_from(REFS), limit=st.none() | st.integers(1, 5))
    def log(self, who, since, tags, from_agent, priority, ref, limit):
        command = ["log"]
        command += ["--since", since] if since else []
        command += list(itertools.chain(*(["--tag", t] for t in tags)))
        command += ["--from", from_agent] if from_agent else []
        command += ["--priority", priority] if priority else []
        command += ["--ref", ref] if ref else []
        command += ["--limit", str(limit)] if limit else []

        def wanted(m):
            return ((not since or m["created_at"] >= self.now - ms(since))
                    and (not tags or set(tags) & set(m["tags"]))
                    and (not from_agent or m["from_agent"] == from_agent)
                    and (not priority or PRIORITIES.index(m["priority"]) >= PRIORITIES.index(priority))
                    and (not ref or any(same_ref(r, ref_value(ref)) for r in m["refs"])))

        self.assert_shown(self.ok(*command, who=who), self.newest(wanted)[:limit or 20], who)

    @rule(who=agents, limit=st.integers(1, 5))
    def log_unread(self, who, limit):
        seen = self.read.get(who, set())
        expected = [m for m in self.messages if m["id"] not in seen][:limit]
        self.assert_shown(self.ok("log", "--unread", "-n", str(limit), who=who), expected[::-1], who)

    @rule()
    def status(self):
        expected = self.look_at_agents()
        assert self.ok("status") == expected

    @rule(who=agents)
    def status_of_one(self, who):
        code, got = self.run("status", "get", who)
        if who not in self.agents:
            assert (code, got["error"]["code"]) == (1, "NOT_FOUND")
            return
        self.look_at_agents()
        (row,) = got
        row.pop("unread", None)
        assert row == self.shown(self.agents[who])

    @rule(id_=st.integers(1, 12), who=st.none() | agents)
    def thread(self, id_, who):
        code, got = self.run("message", str(id_), who=who)
        if not self.by_id(id_):
            assert (code, got["error"]["code"]) == (1, "NOT_FOUND")
            return

        def tree(root):
            yield root
            for m in self.messages:
                if m["in_reply_to"] == root["id"]:
                    yield from tree(m)

        self.assert_shown(got, list(tree(self.by_id(id_))), who)

    @rule(by=st.none() | agents)
    def list_artifacts(self, by):
        expected = [a for a in self.artifacts.values() if not by or a["produced_by"] == by]
        expected.sort(key=lambda a: (-a["created_at"], -a["id"]))
        got = self.ok("artifacts", *(["--by", by] if by else []))
        assert got == [self.artifact(a) for a in expected]

    @rule(ref=st.sampled_from(REFS))
    def find_refs(self, ref):
        got = self.ok("refs", ref)
        has = [m for m in self.newest() if any(same_ref(r, ref_value(ref)) for r in m["refs"])]
        files = [a for a in self.artifacts.values() if any(same_ref(r, ref_value(ref)) for r in a["refs"])]
        assert sorted(m["id"] for m in got["messages"]) == sorted(m["id"] for m in has)
        assert sorted(a["path"] for a in got["artifacts"]) == sorted(a["path"] for a in files)

    @rule(who=agents)
    def summary(self, who):
        everybody = self.look_at_agents()
        got = self.ok("summary", who=who)
        assert got["unread"] == self.unread(who)
        assert got["agents"] == everybody
        assert got["blocked_agents"] == [a for a in everybody if a["status"] == "blocked"]
        recent = self.newest(lambda m: m["created_at"] >= self.now - 30 * MINUTE)
        assert [m["id"] for m in got["recent_messages"]] == [m["id"] for m in recent][:len(got["recent_messages"])]
        files = [a for a in self.artifacts.values() if a["created_at"] >= self.now - 60 * MINUTE]
        assert sorted(a["path"] for a in got["recent_artifacts"]) == sorted(a["path"] for a in files)

    @rule()
    def export(self):
        everybody = self.look_at_agents()
        got = self.ok("export")
        assert sorted(m["id"] for m in got["messages"]) == [m["id"] for m in self.messages]
        assert {m["id"]: m for m in got["messages"]} == {m["id"]: self.message(m) for m in self.messages}
        assert {a["path"]: a for a in got["artifacts"]} == {p: self.artifact(a) for p, a in self.artifacts.items()}
        assert got["agents"] == everybody

    @rule(before=st.none() | durations, offline=st.booleans(), artifacts=st.booleans(), confirm=st.booleans())
    def clear(self, before, offline, artifacts, confirm):
        command = ["clear"]
        command += ["--messages-before", before] if before else []
        command += ["--reset-offline"] if offline else []
        command += ["--artifacts"] if artifacts else []
        command += ["--confirm"] if confirm else []
        code, got = self.run(*command)
        if not (before or offline or artifacts):
            assert (code != 0, got["error"]["code"]) == (True, "INVALID_INPUT")
            return
        kept = [m for m in self.messages if not before or m["created_at"] >= self.now - ms(before)]
        for m in kept:  # what a kept message answers is kept; the list grows while we go
            parent = self.by_id(m["in_reply_to"])
            if parent and parent not in kept:
                kept.append(parent)
        gone = [w for w, a in self.agents.items() if offline and self.now - a["last_seen"] > 30 * MINUTE]
        count = {"messages": len(self.messages) - len(kept), "agents": len(gone),
                 "artifacts": len(self.artifacts) if artifacts else 0}
        if not confirm and any(count.values()):
            assert (code, got["error"]["code"]) == (1, "INVALID_INPUT")
            return
        assert code == 0, got
        assert {k: got[k] for k in count} == count
        self.messages = sorted(kept, key=lambda m: m["id"])
        self.agents = {w: a for w, a in self.agents.items() if w not in gone}
        self.artifacts = {} if artifacts else self.artifacts


TestBoard = Board.TestCase
TestBoard.settings = settings(
    max_examples=int(os.environ.get("ABACUS_EXAMPLES", "40")), stateful_step_count=25, deadline=None,
    derandomize=True, print_blob=True, database=None, suppress_health_check=list(HealthCheck))
