"""Opens what a power loss has left with the real programs, and says what is wrong with it."""
import json
import os
import re
import shutil
import subprocess

import crash_disk

LOOK = [
    ("beads", "bead list", {"all": True, "full": True, "limit": 0}), ("beads", "bead deleted", {}),
    ("beads", "bead config list", {}), ("beads", "bead validate", {}),
    ("board", "board export", {}),
    ("agents", "agent list", {}), ("agents", "agent status", {}), ("agents", "agent events", {}),
    ("mail", "agent inbox", {"agent": "amber-otter"}), ("mail", "agent inbox", {"agent": "blue-heron"}),
    ("vybe", "vybe memory list", {"scope": "global"}), ("vybe", "vybe events list", {"all": True}),
    ("sharing", "share status", {}),
    ("doctor", "doctor", {}),
]
ASK = "".join(json.dumps({"op": op, "params": params}) + "\n" for _, op, params in LOOK).encode()

# What a repeat makes anew (ids, stamps), and what reading or acting moves (last seen).
DROP = {"content_hash", "last_seen", "last_seen_at", "exported_at", "project_dir", "project_root", "minutes_since_last_seen",
        "liveness", "version", "machine", "ref", "last_push", "sent", "waiting", "warnings", "meta", "hint", "details", "others",
        "assignee_at", "updated_at", "at", "file", "owner_liveness"}
RANDOM = re.compile(r"(msg|res|proto|evt)_\d+_\d+_[0-9a-f]{16}|\bw-[0-9a-z]{4,}\b")


def plain(value, key=None):
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in value.items() if k not in DROP and not (k == "id" and key == "notes")
                and k not in ("notes", "message_id", "reservation_id", "event_id")}
    if isinstance(value, list):
        return sorted((plain(v, key) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, str):
        return RANDOM.sub("RANDOM", value)
    return value


# The file of an agent is not synced, since a record has all of it: the agent's next command writes it again.
RESTORED = "it is damaged; the registration is in"


class Looked:
    """What the programs show of each store, without what differs between two runs."""

    def __init__(self, replies):
        self.stores, self.failed = {}, []
        for (store, op, _), reply in zip(LOOK, replies):
            data = reply.get("data", reply.get("error"))
            if "error" in reply:
                data = reply["error"]["code"]
                if reply["error"]["code"] not in ("NOT_INITIALIZED", "not_initialized", "AGENT_NOT_FOUND", "UNKNOWN_AGENT",
                                                  "NOT_FOUND", "INBOX_UNKNOWN_AGENT") and not missing(reply["error"]):
                    self.failed.append(f"{op}: {reply['error']['code']}: {reply['error']['message']}")
            if op == "doctor" and "data" in reply and not reply["data"]["ok"]:
                self.failed += [f"doctor: {c['store']}: {c['message']}" for c in reply["data"]["checks"] if c["status"] != "ok"
                                and not c["message"].startswith(RESTORED)]
            if op == "bead validate" and "data" in reply and reply["data"]["errors"]:
                self.failed.append(f"validate: {reply['data']['findings'][:2]}")
            if op not in ("doctor", "bead validate"):
                if op == "bead list" and isinstance(data, list):
                    for row in data:
                        row["comments"] = [c["text"] for c in row["comments"]]
                self.stores.setdefault(store, []).append(plain(data))


def missing(error):
    return "no agent" in error["message"] or "there is no" in error["message"]


class Oracle:
    def __init__(self, world, scratch):
        self.world, self.scratch = world, str(scratch)

    def env(self, minute, boot="the-boot-after"):
        return self.world.env(minute, ABACUS_FAULT_BOOT=boot, HOME=f"{self.scratch}/home")

    def look(self, root, minute=0, boot="the-boot-after"):
        done = subprocess.run([str(self.world.build / "bin/abacus"), "pipe"], cwd=f"{root}/proj", input=ASK,
                              capture_output=True, env=self.env(minute, boot), timeout=60)
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(replies) == len(LOOK), f"abacus pipe died: exit {done.returncode} {done.stderr.decode()[-500:]}"
        return Looked(json.loads(json.dumps(replies).replace(str(root), "ROOT")))

    def run(self, step, minute):
        argv = [a.replace(str(self.world.path), self.scratch) for a in step.argv(self.world.build)]
        return subprocess.run(argv, cwd=os.path.join(self.scratch, step.cwd), stdin=subprocess.DEVNULL,
                              capture_output=True, env=self.env(minute), timeout=120)

    def judge(self, state, chain, told, deep):
        """None, or what is wrong with the state. `told`: commands that replied, commands that were started."""
        while os.path.exists(self.scratch):  # a background process of the last state may still write
            shutil.rmtree(self.scratch, ignore_errors=True)
        crash_disk.write(state, self.scratch)
        replied, begun = told
        steps, replies = chain.steps, chain.replies
        last = max(begun - 1, 0)
        minute = chain.minute(last)
        before, after = chain.before[last], chain.after[last]
        if not begun:
            after = before
        elif begun == replied:
            before = after
        if not os.path.isdir(f"{self.scratch}/proj"):
            return "the project is gone"
        now = self.look(self.scratch, minute)
        if begun > replied and steps[last].parts:
            before, now.failed = now, after.failed
        if now.failed != before.failed and now.failed != after.failed:
            return "; ".join(now.failed)
        for store, content in now.stores.items():
            if content not in (before.stores[store], after.stores[store]):
                return f"{store} is neither as before nor as after:\n{difference(content, before.stores[store], after.stores[store])}"
        if replied and steps[replied - 1].id:
            wrong = self.repeat(steps[replied - 1], chain.minute(replied - 1), replies[replied - 1])
            if wrong:
                return wrong
        if begun > replied:
            wrong = self.retry(steps[begun - 1], minute, after)
            if wrong:
                return wrong
        return self.next(minute) if deep else None

    def repeat(self, step, minute, reply):
        """A command that had replied has to give the same reply again: its receipt is durable, too."""
        done = self.run(step, minute)
        said, first = done.stdout.decode(), reply
        if done.returncode != step.code or bare(said) != bare(first):
            return f"repeating '{step}': exit {done.returncode}\n{said[:600]}{done.stderr.decode()[:600]}\nfirst: {first[:600]}"
        return None

    def retry(self, step, minute, after):
        """A command that was in progress can be given again, and then everything is as after it."""
        done = self.run(step, minute)
        if step.again is not None and done.returncode != step.again:
            return f"'{step}' again: exit {done.returncode}\n{done.stdout.decode()[:800]}{done.stderr.decode()[:800]}"
        if not step.checks:
            return None
        now = self.look(self.scratch, minute)
        for store, content in now.stores.items():
            if content != after.stores[store]:
                return f"{store} differs after '{step}' was given again:\n{difference(content, after.stores[store], after.stores[store])}"
        return "; ".join(now.failed) if now.failed != after.failed else None

    def next(self, minute):
        """New writes and a sync work."""
        beads = os.path.isdir(f"{self.scratch}/proj/.git/abacus") or os.path.isdir(f"{self.scratch}/proj/.abacus")
        for argv, there in ((["bd", "create", "next", "--json"], beads), (["bd", "sync", "--json"], beads),
                            (["bb", "--as", "kim", "post", "next", "--json"], os.path.exists(f"{self.scratch}/proj/.bb/blackboard.db"))):
            if not there:
                continue
            done = subprocess.run([str(self.world.build / "bin" / argv[0]), *argv[1:]], cwd=f"{self.scratch}/proj",
                                  stdin=subprocess.DEVNULL, capture_output=True, env=self.env(minute + 1), timeout=120)
            if done.returncode:
                return f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout.decode()[:800]}{done.stderr.decode()[:800]}"
        return None


def bare(said):
    """A reply without what only says that it is a repeat."""
    try:
        value = json.loads(said)
    except ValueError:
        return said
    if isinstance(value, dict):
        value.pop("replayed", None)
        value.pop("meta", None)
    return value


def difference(now, before, after):
    """The first rows that are in neither."""
    def rows(value):
        found = set()
        for part in value:
            parts = part if isinstance(part, list) else [part]
            found |= {json.dumps(p, sort_keys=True) for p in parts}
        return found
    new = sorted(rows(now) - rows(before) - rows(after))
    gone = sorted((rows(before) & rows(after)) - rows(now))
    return "\n".join([f"  + {r[:700]}" for r in new[:3]] + [f"  - {r[:700]}" for r in gone[:3]])
