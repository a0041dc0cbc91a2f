"""Opens the state after a power loss with the real programs, and reports what is wrong with it."""
import json
import os
import re
import shutil
import subprocess

import crash_disk
from certificates import without_certificates

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
DEAR = "bead validate"  # it starts the git process, which takes as long as all of the others

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


STORES = {".bb", ".beadboard", ".abacus", ".beads", "abacus", "objects", "refs", "logs"}


def others(root):
    """The files outside of the stores, such as the settings of hosts and Git's hooks: each is old or new, never torn."""
    found = {}
    for top in ("proj", "home"):
        for folder, folders, files in os.walk(f"{root}/{top}"):
            folders[:] = [name for name in folders if "/.local" in folder or not (name in STORES or name.startswith(".bb."))]
            for name in files:
                if not name.endswith((".tmp", ".lock", ".held", ".queue")):  # of processes, which are gone
                    with open(f"{folder}/{name}", "rb") as file:
                        found[f"{folder}/{name}"[len(root) + 1:]] = file.read().replace(root.encode(), b"ROOT")
    return found


class Looked:
    """The output of the programs about each store, without the parts that differ between two runs."""

    def __init__(self, asked, replies, files):
        self.stores, self.failed, self.files = {}, [], files
        for (store, op, _), reply in zip(asked, replies):
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
                self.failed.append(f"{DEAR}: {reply['data']['findings'][:2]}")
            if op not in ("doctor", "bead validate"):
                if op == "bead list" and isinstance(data, list):
                    for row in data:
                        row["comments"] = [c["text"] for c in row["comments"]]
                self.stores.setdefault(store, []).append(plain(data))

    def failures(self, deep):
        return [text for text in self.failed if deep or not text.startswith(DEAR)]


def missing(error):
    return "no agent" in error["message"] or "there is no" in error["message"]


class Oracle:
    def __init__(self, world, scratch):
        self.world, self.scratch = world, str(scratch)
        self.more = without_certificates(os.path.dirname(self.scratch))

    def env(self, minute):
        return self.world.env(minute, ABACUS_FAULT_BOOT="the-boot-after", HOME=f"{self.scratch}/home", **self.more)

    def look(self, root, minute=0, deep=True):
        """One process shows all stores; a deep look also checks the published data."""
        asked = [one for one in LOOK if deep or one[1] != DEAR]
        ask = "".join(json.dumps({"op": op, "params": params}) + "\n" for _, op, params in asked)
        files = others(str(root))
        done = subprocess.run([str(self.world.build / "bin/abacus"), "pipe"], cwd=f"{root}/proj", input=ask.encode(),
                              capture_output=True, env=self.env(minute), timeout=60)
        replies = [json.loads(line) for line in done.stdout.replace(str(root).encode(), b"ROOT").splitlines()]
        assert len(replies) == len(asked), f"abacus pipe died: exit {done.returncode} {done.stderr.decode()[-500:]}"
        return Looked(asked, replies, files)

    def run(self, step, minute):
        argv = [a.replace(str(self.world.path), self.scratch) for a in step.argv(self.world.build)]
        return subprocess.run(argv, cwd=os.path.join(self.scratch, step.cwd),
                              input=step.said.replace(str(self.world.path), self.scratch).encode(), capture_output=True, env=self.env(minute), timeout=120)

    def judge(self, state, chain, told, deep):
        """None, or what is wrong with the state. `told`: commands that replied, commands that were started."""
        while True:
            try:
                shutil.rmtree(self.scratch, ignore_errors=True)
                crash_disk.write(state, self.scratch)
                break
            except FileExistsError:  # a background process of the last state still writes
                pass
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
        now = self.look(self.scratch, minute, deep)
        wrong = [path for path, content in now.files.items() if content not in (before.files.get(path), after.files.get(path))] + \
            [path for path in before.files.keys() & after.files.keys() if path not in now.files]
        if wrong and not steps[last].edits:
            return f"'{wrong[0]}' is neither as before nor as after: {str(now.files.get(wrong[0]))[:300]}"
        if begun > replied and steps[last].parts:
            before, now.failed = now, after.failed
        if now.failures(deep) not in (before.failures(deep), after.failures(deep)):
            return "; ".join(now.failed)
        for store, content in now.stores.items():
            if content not in (before.stores[store], after.stores[store]):
                return f"{store} is neither as before nor as after:\n{difference(content, before.stores[store], after.stores[store])}"
        if replied and steps[replied - 1].id:
            wrong = self.repeat(steps[replied - 1], chain.minute(replied - 1), replies[replied - 1])
            if wrong:
                return wrong
        if begun > replied:
            wrong = self.retry(steps[begun - 1], minute, after, deep)
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

    def retry(self, step, minute, after, deep):
        """A command that was in progress can be repeated, and then everything is as after it."""
        done = self.run(step, minute)
        if step.again is not None and done.returncode != step.again:
            return f"'{step}' again: exit {done.returncode}\n{done.stdout.decode()[:800]}{done.stderr.decode()[:800]}"
        if not step.checks:
            return None
        now = self.look(self.scratch, minute, deep)
        for store, content in now.stores.items():
            if content != after.stores[store]:
                return f"{store} differs after '{step}' was given again:\n{difference(content, after.stores[store], after.stores[store])}"
        return "; ".join(now.failed) if now.failures(deep) != after.failures(deep) else None

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
