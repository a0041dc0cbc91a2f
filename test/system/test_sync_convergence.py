"""Random histories of four real clones and a bare remote: whatever clones were offline, whatever their clocks showed
and in whatever order they synced, all end with the same bytes, and with the state that the model computes from all
writes. A history depends on its seed alone. ABACUS_THOROUGH=1 runs more of them, ABACUS_HISTORIES=N that many,
ABACUS_SEED=N begins at that seed; a failure names its seed."""
import concurrent.futures
import json
import os
import random
import shutil
import subprocess

import pytest

from conftest import BIN, environment, git
from test_join_model import canonical, joined, mark, texts

HISTORIES = int(os.environ.get("ABACUS_HISTORIES", 400 if os.environ.get("ABACUS_THOROUGH") == "1" else 40))
FIRST = int(os.environ.get("ABACUS_SEED", 1))
CLONES = 4
STEPS = 25
DAY = 86400000
T0 = 1767225600000
BD = str(BIN / "bd")
FILES = ("state", "tombstones", "deps", "meta")
KINDS = ("blocks", "blocks", "parent", "related", "discovered-from")
TEXTS = ("", "one", "two", "\u00e9t\u00e9", "\U0001f600 \ue000", "a \"b\"\n\tc\\")


def head_of(gitdir):
    """The commit of the store's ref; refs are not packed here."""
    return (gitdir / "refs" / "beads" / "store").read_text().strip()


class Clone:
    """A repository with beads on one machine."""

    def __init__(self, path, actor, skew):
        self.path, self.actor, self.skew = path, actor, skew
        self.known = set()

    def bd(self, *args, now):
        return subprocess.run([BD, *args], cwd=self.path, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              env=environment(BD_ACTOR=self.actor, ABACUS_NOW=now))

    def records(self):
        """The local records, without those of others."""
        found = []
        for segment in sorted((self.path / ".git" / "abacus").glob("journal.*")):
            for line in segment.read_bytes().decode().split("\n"):
                record = json.loads(line[9:]) if line else {}
                if record and "base" not in record:
                    found.append(record)
        return found

    def head(self):
        return head_of(self.path / ".git")


def files_of(path):
    """The four files of a store's ref, with a single process."""
    wanted = "".join(f"refs/beads/store:{name}.json{'' if name == 'meta' else 'l'}\n" for name in FILES)
    rest = subprocess.run(["git", "cat-file", "--batch"], cwd=path, input=wanted.encode(), check=True,
                          capture_output=True, env=environment(GIT_CONFIG_NOSYSTEM=1)).stdout
    files = {}
    for name in FILES:
        head, rest = rest.split(b"\n", 1)
        size = int(head.split()[-1])
        files[name], rest = rest[:size].decode(), rest[size + 1:]
    return files


class History:
    """The acts of four people, and the times of their syncs."""

    def __init__(self, seed, root):
        self.rng = random.Random(seed)
        self.root, self.log, self.now = root, [], T0
        shared = self.chance(0.3)  # one person on several machines
        self.clones = [Clone(root / f"c{i}", "ann" if shared and i < 2 else ("ann", "bob", "\u00e4nne", "cy")[i],
                             self.rng.randrange(-DAY, DAY)) for i in range(CLONES)]
        self.pool = [f"bd-{i}" for i in range(self.rng.choice((2, 4, 8)))]
        self.moved = []  # ids that beads were given when they had to leave theirs
        self.awake, self.published = list(range(CLONES)), set()
        self.gone, self.linked = [], []  # ids and edges that it may be worth to look at again
        self.rewinds = seed % 8 == 1

    def chance(self, share):
        return self.rng.random() < share

    def one(self, *of):
        return self.rng.choice(of)

    def bd(self, clone, *args):
        """A refusal is an answer; anything else that is not success is not."""
        self.log.append((clone.path.name, self.now + clone.skew, args))
        done = clone.bd(*args, now=self.now + clone.skew)
        assert done.returncode in (0, 1), (self.log[-1], done.stdout, done.stderr)
        return done

    def some_id(self, clone):
        """Usually an existing one."""
        known = sorted(clone.known)
        if known and self.chance(0.95):
            return self.one(*known)
        return self.one(*self.pool, *self.moved)

    # --- what they do ---

    def create(self, clone):
        name = self.one(*self.pool)
        if self.moved and self.chance(0.2):  # an id that somebody had to go to, as this clone may not know
            name = self.one(*self.moved)
        args = ["create", self.one("s", "t", TEXTS[3]), "--id", name, "-p", str(self.rng.randrange(5))]
        if self.chance(0.3):
            args += ["-l", self.one("x", "x,y", "z")]
        if self.chance(0.4) and clone.known:
            args += ["--deps", f"{self.one(*KINDS)}:{self.some_id(clone)}"]
        if self.bd(clone, *args).returncode == 0:
            clone.known.add(name)

    def edit(self, clone):
        changes = {"--title": ("s", "t", "u"), "--description": TEXTS, "--design": TEXTS, "--acceptance": TEXTS,
                   "-p": "01234", "--type": ("bug", "epic", "task"), "--status": ("open", "in_progress", "closed"),
                   "--assignee": ("", "ann", "bob"), "--add-label": ("x", "y", "z"), "--set-labels": ("", "x,y", "w"),
                   "--remove-label": ("x", "y"), "--external-ref": ("", "gh-1"), "--append-notes": ("n", TEXTS[5])}
        args = ["update", self.some_id(clone)]
        for option in self.rng.sample(sorted(changes), self.one(1, 1, 2, 3)):
            args += [option, self.one(*changes[option])]
        self.bd(clone, *args)

    def note(self, clone):
        self.bd(clone, "comment", self.some_id(clone), self.one(*TEXTS[1:]))

    def move(self, clone):
        name = self.some_id(clone)
        self.bd(clone, *self.one(("close", name, "--reason", "r"), ("close", name), ("reopen", name), ("claim", name),
                                 ("claim", name, "--lease", "2d"), ("unclaim", name), ("label", "add", name, "x")))

    def delete(self, clone):
        names = {self.some_id(clone) for _ in range(self.one(1, 1, 2))}
        self.bd(clone, "delete", *sorted(names), "--force", *self.one((), ("--reason", self.one("p", "q"))))
        self.gone += sorted(names)

    def undelete(self, clone):
        self.bd(clone, "undelete", self.one(*self.gone) if self.gone and self.chance(0.8) else self.some_id(clone))

    def link(self, clone):
        ends = self.some_id(clone), self.some_id(clone)
        self.bd(clone, "dep", "add", *ends, "--kind", self.one(*KINDS))
        self.linked.append(ends)

    def ends(self, clone):
        """Usually of an existing edge."""
        if self.linked and self.chance(0.7):
            return self.one(*self.linked)
        return self.some_id(clone), self.some_id(clone)

    def unlink(self, clone):
        self.bd(clone, "dep", "remove", *self.ends(clone), *self.one((), (), ("--kind", self.one(*KINDS))))

    def adopt(self, clone):
        self.bd(clone, "update", self.some_id(clone), "--parent", self.one("", self.some_id(clone)))

    def relink(self, clone):
        """The same edge, removed and added again, with syncs of others in between."""
        ends = self.ends(clone)
        for act in self.one(("add", "remove"), ("remove", "add"), ("add", "remove", "add")):
            self.bd(clone, "dep", act, *ends, "--kind", "blocks")

    def lose_cache(self, clone):
        for file in (clone.path / ".git" / "abacus").glob("cache.db*"):
            file.unlink()

    def sync(self, clone, *how):
        done = self.bd(clone, "sync", "--json", *how)
        assert done.returncode == 0, (self.log[-1], done.stdout, done.stderr)
        reply = json.loads(done.stdout)
        self.moved += [r["to"] for r in reply["remapped"] if r["to"] not in self.moved]
        if "--no-push" not in how:
            self.published |= clone.known | {r["to"] for r in reply["remapped"]}
        clone.known |= self.published
        return reply

    def rewind(self):
        """Sets the remote's ref back, or deletes it."""
        ref = self.root / "remote.git" / "refs" / "beads" / "store"
        if not ref.exists():
            return
        past = git(self.root / "remote.git", "rev-list", "refs/beads/store").split()
        self.log.append(("remote", self.now, ("rewound",)))
        if len(past) == 1 or self.chance(0.2):
            ref.unlink()
        else:
            ref.write_text(self.one(*past[1:]) + "\n")

    def step(self):
        self.now += self.one(0, 0, 1, 1, 1000, 3600000)
        if self.chance(0.15):  # some leave, some come back
            self.awake = self.rng.sample(range(CLONES), self.one(1, 2, 3, 4))
        if self.chance(0.04):
            self.one(*self.clones).skew = self.rng.randrange(-DAY, DAY)
        if self.chance(0.01):  # a clock that is centuries ahead, until it is set again
            self.one(*self.clones).skew = 300000 * DAY
        if self.rewinds and self.chance(0.08):
            self.rewind()
        clone = self.clones[self.one(*range(CLONES))]
        if self.chance(0.2):
            how = self.one((), (), (), (), ("--no-push",))
            if self.clones.index(clone) in self.awake:
                self.sync(clone, *how)
            return
        acts = [(self.create, 5), (self.edit, 5), (self.note, 2), (self.move, 3), (self.delete, 2), (self.undelete, 2),
                (self.link, 4), (self.unlink, 3), (self.relink, 1), (self.adopt, 1), (self.lose_cache, 0.5)]
        act, = self.rng.choices([a for a, _ in acts], [weight for _, weight in acts])
        if act != self.create and not clone.known:
            act = self.create
        act(clone)

    # --- and what comes of it ---

    def settle(self):
        """All clones sync, in some order, until none has changes."""
        order = self.rng.sample(self.clones, CLONES)
        for turn in range(4 * CLONES):
            self.now += 1
            reply = self.sync(order[turn % CLONES])
            assert reply["durability"] == "remote", reply
            if turn >= CLONES - 1 and len({clone.head() for clone in self.clones}) == 1:
                break
        else:
            raise AssertionError("they go on and on")
        head = self.clones[0].head()
        for clone in self.rng.sample(self.clones, 2):
            reply = self.sync(clone)
            assert (reply["pulled"], reply["pushed"], reply["remapped"], reply["commit"]) == (0, 0, [], head), reply

    def check(self):
        files = files_of(self.root / "remote.git")
        head = head_of(self.root / "remote.git")
        for clone in self.clones:
            assert clone.head() == head
            found = json.loads(self.bd(clone, "validate", "--json").stdout)
            assert found["errors"] == 0, found
            told = json.loads(self.bd(clone, "doctor", "--json").stdout)
            status = {c["code"]: c["status"] for c in told["checks"]}  # leases, clocks and circles: warnings
            assert told["ok"] and status["journal"] == status["cache"] == "ok", told
        written = [record for clone in self.clones for record in clone.records()]
        want = {name: "".join(line + "\n" for line in lines) for name, lines in texts(joined(written)).items()}
        got = {"beads": files["state"], "tombstones": files["tombstones"], "deps": files["deps"]}
        for name, text in got.items():
            assert text == want[name], name
        prefixes = [(mark(*r["prefix"]["mark"]), r["prefix"]["value"]) for r in written if "prefix" in r]
        chosen = json.loads(files["meta"])["prefix"]
        assert (mark(*chosen["mark"]), chosen["value"]) == max(prefixes)
        assert files["meta"] == canonical(json.loads(files["meta"])) + "\n"


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory):
    """New clones: of a store that all have, and of one that was never published."""
    root = tmp_path_factory.mktemp("beginnings")
    for kind in ("known", "new"):
        (root / kind).mkdir()
        git(root / kind, "init", "-q", "--bare", "remote.git")
        for i in range(CLONES):
            path = root / kind / f"c{i}"
            path.mkdir()
            git(path, "init", "-q", "-b", "main")
            git(path, "remote", "add", "origin", "../remote.git")
            shutil.rmtree(path / ".git" / "hooks", ignore_errors=True)
            clone = Clone(path, f"a{i}", 0)
            assert clone.bd("init", "--prefix", ("bd", "bd", "zz", "aa")[i], now=0).returncode == 0
            if kind == "known":
                assert clone.bd("sync", now=T0 - 9 * DAY).returncode == 0
        shutil.rmtree(root / kind / "remote.git" / "hooks", ignore_errors=True)
    return root


def run(seed, beginnings, where):
    root = where / str(seed)
    shutil.copytree(beginnings / ("new" if seed % 4 == 0 else "known"), root)
    history = History(seed, root)
    try:
        for _ in range(STEPS):
            history.step()
        history.settle()
        history.check()
    except Exception as error:
        told = "\n".join(f"{who} at {when}: bd {' '.join(map(repr, args))}" for who, when, args in history.log)
        return f"seed {seed} in {root}: {error!r}\n{told}"
    shutil.rmtree(root)
    return None


def test_all_clones_converge_to_the_state_of_the_model(tmp_path, beginnings):
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        failures = [failure for failure in
                    pool.map(lambda seed: run(seed, beginnings, tmp_path), range(FIRST, FIRST + HISTORIES)) if failure]
    assert not failures, f"{len(failures)} of {HISTORIES} histories: {failures[0]}"
