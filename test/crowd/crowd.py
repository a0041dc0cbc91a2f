#!/usr/bin/env python3
"""crowd: a simulated week of many agents on many clones of one repository, with everything that goes wrong.

    test/crowd/crowd.py [--seeds N] [--first N] [--clones N] [--agents N] [--turns N] [--build DIR] [--jobs N]

A history is a list of turns, made from a seed alone. In a turn an agent does what the skill says (claims a
bead, reserves files, comments, sends mail, closes), a clone syncs, a clone loses its cache, or a hostile
clone pushes something that is not a store. A turn may be killed at any step (FAULTS=1), meet a full disk, or
run with a wrong clock. After every turn:

  - one holder     a claim never succeeds while another agent's lease runs (exclusive claims: in any clone)
  - one landing    a bead is closed once
  - nothing lost   everything that was acknowledged is there; a killed command can be repeated by its request id
  - epochs         of a bead and of a scope only grow, and every new holder gets a new one
  - wakeups        a waiting agent returns when its mail arrives

and after a quiet round of syncs all clones have the same bytes. A violation prints its seed and the shortest
part of the history that still shows it.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "helpers"))
from certificates import without_certificates  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
START, HOUR, DAY = 1_767_225_600_000, 3_600_000, 86_400_000
REFUSED = {"already_claimed", "closed", "stale_claim", "not_claimed", "not_found", "RESERVATION_CONFLICT",
           "RESERVATION_STALE_FOUND", "RESERVATION_NOT_FOUND", "NOT_FOUND", "already_exists", "RELEASE_FORBIDDEN", "blocked",
           "RESERVE_CONFLICT", "sync_failed", "busy"}


DONE = ("claims", "reservations", "comments", "closes", "messages", "syncs", "crashes", "full disks", "repairs", "wakeups")


class Violation(Exception):
    pass


def scratch():
    """A folder in memory, because everything is synced."""
    return pathlib.Path(tempfile.mkdtemp(prefix="abacus-crowd-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))


# --- histories ---

def history(seed, clones, agents, turns):
    """The turns of a week. Each contains everything it needs, so that any part of them can be played."""
    chance = random.Random(f"crowd {seed}")
    exclusive = seed % 3 == 0
    skew = [0 if exclusive else chance.choice((0, 0, -3 * HOUR, 2 * HOUR, 20 * HOUR)) for _ in range(clones)]
    offline = {c: chance.randrange(7) for c in range(clones) if not exclusive and chance.random() < 0.5}
    found, at = [], START
    for n in range(turns):
        at += chance.randint(1, 2 * 7 * DAY // turns)
        clone = chance.randrange(clones)
        away = offline.get(clone) == (at - START) // DAY
        kind = chance.choices(("work", "sync", "lose", "hostile", "wait"), (60, 25, 4, 2, 3))[0]
        if kind == "sync" and away:
            kind = "work"
        found.append({
            "n": n, "kind": kind, "clone": clone, "at": at + skew[clone], "agent": f"agent-{chance.randrange(agents):03}",
            "exclusive": exclusive, "seed": chance.getrandbits(30), "scope": f"src/{chance.randrange(max(2, agents // 4))}/*",
            "dies": chance.choice((None, None, None, chance.randint(1, 40))), "full": chance.random() < 0.05,
            "other": f"agent-{chance.randrange(agents):03}"})
    return found


# --- programs ---

def environment(now=None, **more):
    keep = {k: os.environ[k] for k in ("PATH", "TMPDIR", "LANG", "LD_PRELOAD") if k in os.environ}
    clock = {"ABACUS_NOW": str(now)} if now else {}
    return {**keep, "HOME": "/nonexistent", "ABACUS_AUTOSYNC": "0", "BD_ACTOR": "crowd", **clock, **more}


def small_files():
    """As on a full disk: no file can grow past this size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


class Pipe:
    """One process that runs operations at one moment, as those of the service do."""

    def __init__(self, build, folder, now, dies=None, full=False):
        fault = {"ABACUS_FAULT_AT": str(dies)} if dies else {}
        self.process = subprocess.Popen([str(build / "bin/abacus"), "pipe"], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(now, **fault),
                                        preexec_fn=small_files if full else None)

    def run(self, op, **params):
        """The reply, or None if the process has died."""
        try:
            self.process.stdin.write((json.dumps({"op": op, "params": params}) + "\n").encode())
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        return json.loads(line) if line.endswith(b"\n") else None

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait(60)


class World:
    """The clones, the remote, and the acknowledged writes."""

    def __init__(self, folder, build, clones):
        self.folder, self.build, self.clones = folder, build, clones
        self.texts = {c: {} for c in range(clones)}   # clone -> bead -> comments that were acknowledged there
        self.holder = {c: {} for c in range(clones)}  # clone -> bead -> (agent, end of the lease, epoch)
        self.closed = {c: {} for c in range(clones)}  # clone -> bead -> agent that closed it
        self.scopes = {c: {} for c in range(clones)}  # clone -> scope -> (agent, epoch)
        self.epochs = {c: {} for c in range(clones)}  # clone -> bead -> the highest epoch
        self.mail = {c: {} for c in range(clones)}    # clone -> subject -> recipient
        self.mine = {}                                # (clone, agent) -> bead, epoch
        self.far = {}                                 # bead -> (agent, end): exclusive claims of all clones
        self.broken = False
        self.done = dict.fromkeys(DONE, 0)

    def path(self, clone):
        return self.folder / f"c{clone}"

    def pipe(self, turn, **kw):
        return Pipe(self.build, self.path(turn["clone"]), turn["at"], **kw)

    def command(self, clone, now, *argv, code=(0,), **more):
        done = subprocess.run([str(self.build / "bin" / argv[0]), *argv[1:]], cwd=self.path(clone), stdin=subprocess.DEVNULL,
                              capture_output=True, env=environment(now, **more), timeout=120)
        if code is not None and done.returncode not in code:
            raise Violation(f"{' '.join(argv)} in clone {clone}: exit {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
        return done


def prepare(folder, build, clones, agents):
    """Clones of one remote, with a few beads and all agents registered; copied for each history."""
    env = environment(START - DAY, GIT_TEMPLATE_DIR="")

    def do(cwd, *argv):
        subprocess.run([str(a) for a in argv], cwd=cwd, check=True, capture_output=True, env=env)
    folder.mkdir(parents=True)
    do(folder, "git", "init", "-q", "--bare", "--template=", "-b", "main", "remote.git")
    for c in range(clones):
        path = folder / f"c{c}"
        do(folder, "git", "init", "-q", "--template=", "-b", "main", path.name)
        do(path, "git", "remote", "add", "origin", "../remote.git")
        do(path, build / "bin/bd", "init", *(["--prefix", "w"] if not c else []), "--json")
        do(path, build / "bin/bb", "init", "--json")
        pipe = Pipe(build, path, START - DAY)
        for n in range(agents):
            assert "data" in pipe.run("agent register", name=f"agent-{n:03}", role="any")
        if not c:
            for n in range(max(6, agents // 3)):
                assert "data" in pipe.run("bead create", title=f"first {n}", id=f"w-s{n}", agent="crowd")
        pipe.close()
        do(path, build / "bin/bd", "sync", "--json")


# --- turns ---

class Turn:
    """What an agent does in one turn. A command whose process died is repeated, with the same request id."""

    def __init__(self, world, turn):
        self.w, self.t, self.clone, self.agent = world, turn, turn["clone"], turn["agent"]
        self.chance = random.Random(turn["seed"])
        self.count = 0
        self.pipe = world.pipe(turn, dies=turn["dies"], full=turn["full"])

    def ask(self, op, who="agent", repeats=True, **params):
        self.count += 1
        params = {who: self.agent, **params}
        if repeats:
            params["request_id"] = f"t{self.t['n']}-{self.count}"
        reply = self.pipe.run(op, **params)
        full = self.t["full"] and reply is not None and "error" in reply
        if reply is None or full:
            self.w.done["full disks" if full else "crashes"] += 1
            self.pipe.close()
            self.pipe = self.w.pipe(self.t)  # after the crash, or once there is space again
            self.t = {**self.t, "full": False}
            reply = self.pipe.run(op, **params)
            if reply is None:
                raise Violation(f"'{op}' dies without a fault: {params}")
        if "error" in reply:
            hostile = self.w.broken and reply["error"]["code"] == "corrupt"  # an exclusive claim has to fetch
            if reply["error"]["code"] not in REFUSED and not hostile:
                raise Violation(f"'{op}' of {self.agent} in clone {self.clone}: {json.dumps(reply['error'])}")
            return None
        return reply["data"]

    def play(self):
        self.ask("agent heartbeat", repeats=False)
        held = self.w.mine.get((self.clone, self.agent))
        bead, epoch = held or self.claim()
        if bead:
            self.reserve(bead)
            self.talk(bead, epoch)
        if self.chance.random() < 0.3:
            name = f"w-t{self.t['n']}"
            if self.ask("bead create", title=f"found in turn {self.t['n']}", id=name):
                self.w.texts[self.clone].setdefault(name, set())
        self.check()
        self.pipe.close()

    def claim(self):
        rows = self.ask("bead ready", claim=True, limit=1, **({"exclusive": True} if self.t["exclusive"] else {}))
        if not rows:
            return None, None
        row = rows[0] if isinstance(rows, list) else rows
        bead, epoch, end = row["id"], row["assignee_at"], row["assignee_expires"]
        seen = self.w.holder[self.clone].get(bead)
        now = self.t["at"]
        if row["assignee"] != self.agent:
            raise Violation(f"two holders: {self.agent} was given {bead}, which {row['assignee']} has")
        if seen and seen[0] != self.agent and seen[1] > now:
            raise Violation(f"two holders of {bead} in clone {self.clone}: {seen[0]} until {seen[1]}, and now {self.agent} at {now}")
        far = self.w.far.get(bead)
        if self.t["exclusive"] and far and far[0] != (self.clone, self.agent) and far[1] > now:
            raise Violation(f"two holders of {bead}: {far[0]} until {far[1]}, and now {self.agent} of clone {self.clone} at {now}")
        if bead in self.w.closed[self.clone]:
            raise Violation(f"{bead} was closed by {self.w.closed[self.clone][bead]}, and is handed out again")
        last = self.w.epochs[self.clone].get(bead)
        same = seen and seen[0] == self.agent  # an agent that claims its own bead again renews its claim
        if last and (epoch < last if same else epoch <= last):
            raise Violation(f"the epoch of {bead} is {epoch} after {last}")
        ends = moment(end)
        self.w.epochs[self.clone][bead] = max(epoch, last or epoch)
        self.w.holder[self.clone][bead] = (self.agent, ends, epoch)
        self.w.mine[self.clone, self.agent] = bead, epoch
        self.w.done["claims"] += 1
        if self.t["exclusive"]:
            self.w.far[bead] = ((self.clone, self.agent), ends)
        return bead, epoch

    def reserve(self, bead):
        scope, seen = self.t["scope"], self.w.scopes[self.clone].get(self.t["scope"])
        made = self.ask("agent reserve", repeats=False, scope=scope, bead=bead, ttl=60) or \
            self.ask("agent reserve", repeats=False, scope=scope, bead=bead, ttl=60, takeover_stale=True)
        if not made:
            return
        if seen and made["epoch"] < seen[1] or (seen and made["agent_id"] != seen[0] and made["epoch"] <= seen[1]):
            raise Violation(f"the epoch of '{scope}' in clone {self.clone} is {made['epoch']} for {made['agent_id']}, after {seen}")
        self.w.scopes[self.clone][scope] = made["agent_id"], made["epoch"]
        self.w.done["reservations"] += 1

    def talk(self, bead, epoch):
        text = f"turn {self.t['n']} of {self.agent}"
        if self.ask("bead comment", id=bead, text=text):
            self.w.texts[self.clone].setdefault(bead, set()).add(text)
            self.w.done["comments"] += 1
        if self.chance.random() < 0.4 and self.t["other"] != self.agent:
            sent = self.ask("agent send", who="from", to=self.t["other"], bead=bead, category="INFO", subject=text, body="b")
            if sent:
                self.w.mail[self.clone][text] = self.t["other"]
                self.w.done["messages"] += 1
        if self.chance.random() < 0.5:
            done = self.ask("bead close", ids=[bead], reason=text, epoch=epoch)
            self.w.mine.pop((self.clone, self.agent), None)
            if done:
                if bead in self.w.closed[self.clone]:
                    raise Violation(f"{bead} was closed twice: by {self.w.closed[self.clone][bead]} and {self.agent}")
                self.w.closed[self.clone][bead] = self.agent
                self.w.done["closes"] += 1
                self.w.holder[self.clone].pop(bead, None)
                self.w.far.pop(bead, None)
            self.ask("agent release", repeats=False, scope=self.t["scope"])

    def check(self):
        """Everything that this clone has acknowledged is there."""
        reply = self.pipe.run("bead list", all=True, full=True, limit=0)
        if reply is None:
            self.pipe.close()
            self.pipe = self.w.pipe(self.t)
            reply = self.pipe.run("bead list", all=True, full=True, limit=0)
        present(self.w, self.clone, reply, self.t["at"])
        if self.w.mail[self.clone]:
            subject, to = list(self.w.mail[self.clone].items())[-1]
            inbox = self.pipe.run("agent inbox", agent=to, limit=500)
            if inbox and subject not in [m["subject"] for m in inbox.get("data", [])]:
                raise Violation(f"the message '{subject}' to {to} in clone {self.clone} is gone: {json.dumps(inbox)[:400]}")


def moment(text):
    import datetime
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000) if isinstance(text, str) else text


def present(world, clone, reply, now):
    if "data" not in reply:
        raise Violation(f"clone {clone} cannot list its beads: {json.dumps(reply)}")
    rows = {row["id"]: row for row in reply["data"]}
    for bead, texts in world.texts[clone].items():
        if bead not in rows:
            raise Violation(f"{bead} was acknowledged in clone {clone}, and is gone")
        lost = texts - {c["text"] for c in rows[bead]["comments"]}
        if lost:
            raise Violation(f"comments of {bead} were acknowledged in clone {clone}, and are gone: {sorted(lost)}")
    return rows


def synced(world, clone, now):
    """After a sync, the clone has the changes of others: its view of holders and of closed beads is reset."""
    pipe = Pipe(world.build, world.path(clone), now)
    rows = present(world, clone, pipe.run("bead list", all=True, full=True, limit=0), now)
    pipe.close()
    world.closed[clone] = {b: world.closed[clone].get(b, "another clone") for b, r in rows.items() if r["status"] == "closed"}
    world.holder[clone] = {b: (r["assignee"], moment(r["assignee_expires"]), r["assignee_at"]) for b, r in rows.items()
                           if r["assignee"] and r["assignee_expires"]}
    for bead, (agent, _, epoch) in world.holder[clone].items():
        last = world.epochs[clone].get(bead)
        world.epochs[clone][bead] = max(epoch, last) if last else epoch
    for (c, agent), (bead, epoch) in list(world.mine.items()):
        if c == clone and (bead in world.closed[clone] or world.holder[clone].get(bead, (None,))[0] != agent):
            del world.mine[c, agent]  # the agent looks at its bead again after a sync


def play_sync(world, turn):
    dies = {"ABACUS_FAULT_AT": str(turn["dies"])} if turn["dies"] else {}
    done = world.command(turn["clone"], turn["at"], "bd", "sync", "--json", code=None, **dies)
    if done.returncode and not dies and not world.broken:
        raise Violation(f"bd sync in clone {turn['clone']}: exit {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    world.done["syncs" if not done.returncode else "crashes"] += 1
    if world.broken and not dies:
        world.command(turn["clone"], turn["at"], "bd", "repair", "--apply", "--json")
        world.done["repairs"] += 1
        world.broken = False
    synced(world, turn["clone"], turn["at"])


def play_lose(world, turn):
    for file in (world.path(turn["clone"]) / ".git/abacus").glob("cache.db*"):
        file.unlink()


def play_hostile(world, turn):
    """An attacker who may push replaces the store by something else, or by lines that are not records."""
    remote = world.folder / "remote.git"
    env = environment(GIT_AUTHOR_NAME="x", GIT_AUTHOR_EMAIL="x@x", GIT_COMMITTER_NAME="x", GIT_COMMITTER_EMAIL="x@x")

    def git(*args, data=b""):
        return subprocess.run(["git", *args], cwd=remote, input=data, capture_output=True, check=True, env=env).stdout.decode().strip()
    blob = git("hash-object", "-w", "--stdin", data=b'{"id":"w-s0","title":null}\nnot a record\n')
    tree = git("mktree", data=f"100644 blob {blob}\tstate.jsonl\n".encode())
    parent = git("for-each-ref", "--format=%(objectname)", "refs/beads/store").split()
    git("update-ref", "refs/beads/store", git("commit-tree", tree, *[a for p in parent for a in ("-p", p)], "-m", "x"))
    world.broken = True


def asleep(process):
    """Returns once the process watches files and sleeps, or has ended: a message from now on has to wake it up."""
    while process.poll() is None:
        try:
            watches = any("inotify" in os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd"))
            if watches and pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S":
                return
        except OSError:
            pass  # a descriptor was closed, or the process has just ended
        time.sleep(0.005)


def play_wait(world, turn):
    """An agent waits for mail; another one sends it."""
    if turn["other"] == turn["agent"]:
        return
    path = world.path(turn["clone"])
    pipe = world.pipe(turn)
    pipe.run("agent heartbeat", agent=turn["agent"])
    unread = pipe.run("agent inbox", agent=turn["agent"], state="unread", limit=500)
    for m in unread.get("data", []):
        pipe.run("agent read", agent=turn["agent"], message=m["message_id"])
    waiting = subprocess.Popen([str(world.build / "bin/bb"), "agent", "wait", "--agent", turn["agent"], "--mail", "--timeout", "20s", "--json"],
                               cwd=path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(turn["at"]))
    asleep(waiting)
    began = time.time()
    subject = f"wake up {turn['n']}"
    sent = pipe.run("agent send", **{"from": turn["other"], "to": turn["agent"], "bead": "w-s0", "category": "INFO", "subject": subject, "body": "b"})
    pipe.close()
    out, err = waiting.communicate(timeout=60)
    world.done["wakeups"] += 1
    if "data" in sent and (waiting.returncode or time.time() - began > 15):
        raise Violation(f"lost wakeup: {turn['agent']} waited {time.time() - began:.0f} s for '{subject}': exit {waiting.returncode}\n{out.decode()[:400]}{err.decode()[:300]}")


def quiet(world, now):
    """All clones are online: after a few rounds they have the same bytes."""
    if world.broken:
        world.command(0, now, "bd", "repair", "--apply", "--json")
        world.broken = False
    for round_ in range(2):
        for clone in range(world.clones):
            world.command(clone, now + round_, "bd", "sync", "--json")
    looks, refs = [], []
    for clone in range(world.clones):
        pipe = Pipe(world.build, world.path(clone), now + 5)
        reply = pipe.run("bead list", all=True, full=True, limit=0)
        pipe.close()
        for other in range(world.clones):  # what one clone has acknowledged, all of them have now
            world_texts = world.texts[other]
            rows = {row["id"]: {c["text"] for c in row["comments"]} for row in reply["data"]}
            for bead, texts in world_texts.items():
                if bead not in rows or texts - rows[bead]:
                    raise Violation(f"acknowledged in clone {other}, and missing in clone {clone} after all syncs: {bead} {sorted(texts - rows.get(bead, set()))}")
        looks.append(json.dumps(reply["data"], sort_keys=True))
        refs.append((world.path(clone) / ".git/refs/beads/store").read_text())
    if len(set(refs)) > 1 or len(set(looks)) > 1:
        raise Violation(f"the clones differ after two quiet rounds: {refs}")


PLAYS = {"work": lambda w, t: Turn(w, t).play(), "sync": play_sync, "lose": play_lose, "hostile": play_hostile, "wait": play_wait}


class Found(str):
    """A violation, and the position of the turn that showed it; None: the final check did."""

    def __new__(cls, text, at):
        self = super().__new__(cls, text)
        self.at = at
        return self


def play(template, build, clones, turns):
    """The violation that this history shows, or None; and how much was done."""
    folder = scratch()
    try:
        shutil.copytree(template, folder / "w")
        world = World(folder / "w", build, clones)
        for at, turn in enumerate(turns):
            try:
                PLAYS[turn["kind"]](world, turn)
            except Violation as violation:
                return Found(f"turn {turn['n']} ({turn['kind']}): {violation}", at), world.done
        try:
            quiet(world, START + 8 * DAY + 30 * HOUR)
        except Violation as violation:
            return Found(f"at the end: {violation}", None), world.done
        return None, world.done
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def shortest(turns, fails, last=None):
    """The fewest turns that still fail, by delta debugging; `last`: the turn that showed the failure, if it is known."""
    if last is not None and fails(turns[:last + 1]):
        turns = turns[:last + 1]
    size = max(1, len(turns) // 2)
    while size:
        at = 0
        while at < len(turns):
            less = turns[:at] + turns[at + size:]
            if fails(less):
                turns = less
            else:
                at += size
        size //= 2
    return turns


def try_seed(job):
    seed, build, clones, agents, count, template = job
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    turns = history(seed, clones, agents, count)
    found, done = play(template, build, clones, turns)
    if not found:
        return seed, None, done
    less = shortest(turns, lambda some: play(template, build, clones, some)[0], found.at)
    last = play(template, build, clones, less)[0] or found
    lines = [f"seed {seed}, {clones} clones, {agents} agents, {count} turns: {found}",
             f"  the shortest history, {len(less)} turns: {last}"]
    lines += ["    " + json.dumps({k: v for k, v in t.items() if v not in (None, False) and k != "seed"}) for t in less]
    return seed, "\n".join(lines), done


def run(build, seeds, clones, agents, turns, jobs, tell=print, most=None):
    """The violations of these seeds, at most so many, and how much was done in all of them."""
    base = scratch()
    bad, all_done, pool = [], dict.fromkeys(DONE, 0), None
    try:
        os.environ.update(without_certificates(base))
        prepare(base / "template", build, clones, agents)
        work = [(seed, build, clones, agents, turns, base / "template") for seed in seeds]
        if jobs < 2:
            results = map(try_seed, work)
        else:
            pool = multiprocessing.Pool(jobs)
            results = pool.imap_unordered(try_seed, work)
        for n, (seed, found, done) in enumerate(results, 1):
            all_done = {k: v + done[k] for k, v in all_done.items()}
            if found:
                bad.append(found)
                tell(found)
            if n % 50 == 0:
                tell(f"{n} seeds, {len(bad)} violations")
            if most and len(bad) >= most:
                break
        return bad, all_done
    finally:
        os.environ.pop("LD_PRELOAD", None)
        if pool:
            pool.terminate()
        shutil.rmtree(base, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=ROOT / "build/faults", help="programs built with FAULTS=1")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--clones", type=int, default=3)
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, help="stop after so many violations")
    args = parser.parse_args()
    bad, done = run(pathlib.Path(args.build).resolve(), range(args.first, args.first + args.seeds), args.clones, args.agents, args.turns,
                    args.jobs, lambda text: print(text, flush=True), args.most)
    print(f"{args.seeds} seeds of {args.clones} clones, {args.agents} agents and {args.turns} turns: {len(bad)} violations")
    print(", ".join(f"{v} {k}" for k, v in done.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
