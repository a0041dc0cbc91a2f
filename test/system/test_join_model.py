"""The join, implemented a second time in another way: facts are only collected, and the result is computed once at
the end from all of them. So a bug would have to be made twice, in two ways, to go unnoticed: the model has no
order of joins and no mutable state."""

import datetime
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / os.environ.get("ABACUS_BUILD", "build") / "model" / "join_tool"
CASES = 20000 if os.environ.get("ABACUS_THOROUGH") else 4000

# --- canonical text ---


def arranged(value):
    """The value with its keys in the order of their UTF-16 units."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return {key: arranged(value[key]) for key in keys}
    return [arranged(item) for item in value] if isinstance(value, list) else value


def canonical(value):
    """RFC 8785, for values without fractions."""
    return json.dumps(arranged(value), ensure_ascii=False, separators=(",", ":"))


def order(value):
    """A key that sorts like the bytes of the canonical text."""
    return canonical(value).encode()


# --- marks: ((ms, n), the bytes of the actor) ---


def mark(at, by):
    return (tuple(at), by.encode())


def at(m):
    return list(m[0])


def by(m):
    return m[1].decode()


# --- what a line says ---

REGISTERS = {name: [name] for name in (
    "acceptance_criteria", "description", "design", "external_ref", "labels", "priority",
    "source_repo", "title", "type")}
REGISTERS["status"] = ["status", "closed_at", "closed_by", "closed_reason", "closed_on_branch"]
REGISTERS["assignee"] = ["assignee", "assignee_at", "assignee_expires"]
REGISTER_OF = {member: reg for reg, members in REGISTERS.items() for member in members}
DEFAULTS = {"priority": 2, "status": "open", "type": "task"}
OWN = {"_at", "_by", "_v", "id", "created_at", "created_by", "notes", "updated_at", "updated_by",
       "content_hash"}
EDGE_OWN = {"_at", "_by", "created_at", "created_by", "deleted_at", "deleted_by", "from", "kind",
            "to"}


def register_value(line, reg):
    """The members of a register that are not empty, as one object, so that two can be compared."""
    value = {}
    for member in REGISTERS[reg]:
        got = line.get(member)
        if got in (None, "", []):
            got = DEFAULTS.get(member)
        if member == "labels" and got:
            got = sorted(set(got), key=str.encode)
        if got is not None:
            value[member] = got
    return value


def bead_facts(line):
    """Of one lineage: (register, mark, value), and notes as (id, mark, content)."""
    last = mark(line["_at"], line["_by"]) if "_at" in line else None
    given = {key: mark(*entry) for key, entry in line.get("_v", {}).items()}
    writes = []
    for reg, members in REGISTERS.items():
        written = max([given[m] for m in members if m in given], default=last)
        if written:
            writes.append((reg, written, register_value(line, reg)))
    for key in (set(line) | set(given)) - OWN - set(REGISTER_OF):
        written = given.get(key, last)
        if written:
            writes.append((key, written, line.get(key)))
    notes = [(given_id(n), mark(n["at"], n["author"]), n["content"]) for n in line.get("notes") or ()]
    return writes, notes


DERIVED = re.compile(r"(.+)~([0-9a-f]{32})", re.DOTALL)


def note_digest(stamp, author, content):
    return hashlib.sha256(canonical([stamp, author, content]).encode()).hexdigest()[:32]


def given_id(note):
    """The id of a note before it lost it to another note."""
    name, digest = note["id"], note_digest(note["at"], note["author"], note["content"])
    while (parts := DERIVED.fullmatch(name)) and parts[2] == digest:
        name = parts[1]
    return name


def named_notes(said):
    """All notes with the same id are kept: the first one keeps the id, the others get their own."""
    for given, notes in said.items():
        for n, (written, content) in enumerate(sorted(notes)):
            text = content.decode()
            stays = n == 0 and not DERIVED.fullmatch(given)
            name = given if stays else f"{given}~{note_digest(at(written), by(written), text)}"
            yield {"at": at(written), "author": by(written), "content": text, "id": name}


class Facts:
    """All facts. A bead is identified by an id it was given and the mark of its creation; the end of an edge is named in
    the same way, or by an id alone."""

    def __init__(self):
        self.beads = {}  # (id, created) -> {"writes", "notes", "deletions"}
        self.every = {}  # id -> [(mark, reason)]
        self.moves = {}  # (id, created) -> where it went
        self.edges = []  # (from, to, kind, created, life, deleted, more)

    def bead(self, line, deletion=None):
        facts = self.beads.setdefault(
            (line["id"], mark(line["created_at"], line["created_by"])),
            {"writes": [], "notes": [], "deletions": []})
        writes, notes = bead_facts(line)
        facts["writes"] += writes
        facts["notes"] += notes
        if deletion:
            facts["deletions"].append(deletion)

    def tombstone(self, line):
        deletion = (mark(line["deleted_at"], line["deleted_by"]), line.get("reason") or None)
        every = line.get("every")
        if "bead" in line:
            self.bead(line["bead"], deletion)
        for gone in line.get("remap", ()):
            created = mark(gone["created_at"], gone["created_by"])
            self.moves[line["id"], created] = gone["to"]
        if every:
            deletion = (mark(every["deleted_at"], every["deleted_by"]), every.get("reason") or None)
        if every or not ("bead" in line or "remap" in line):
            self.every.setdefault(line["id"], []).append(deletion)

    def edge(self, line, holder):
        created = mark(line["created_at"], line["created_by"])
        life, deleted = created, False
        if line.get("_at"):
            life = mark(line["_at"], line["_by"])
        if line.get("deleted_at"):
            end = mark(line["deleted_at"], line["deleted_by"])
            deleted, life = end >= life, max(end, life)
        more = {key: line[key] for key in line if key not in EDGE_OWN}
        ends = [(line[end], holder.get(line[end])) for end in ("from", "to")]
        self.edges.append((*ends, line["kind"], created, life, deleted, more))

    def add(self, other):
        for key, facts in other.beads.items():
            mine = self.beads.setdefault(key, {"writes": [], "notes": [], "deletions": []})
            for kind in mine:
                mine[kind] = mine[kind] + facts[kind]
        for key, deletions in other.every.items():
            self.every[key] = self.every.get(key, []) + deletions
        self.moves.update(other.moves)
        self.edges += other.edges
        return self


def facts_of(state):
    """An edge refers to the bead that this state has under the id."""
    facts = Facts()
    for line in state.get("tombstones", ()):
        facts.tombstone(line)
    for line in state.get("beads", ()):
        facts.bead(line)
    holder, _, facts.moves = places(facts)
    for line in state.get("deps", ()):
        facts.edge(line, holder)
    return facts


# --- the result of all facts ---


@functools.lru_cache(None)
def other_id(old, created):
    """<prefix>-<base 36 of SHA-256 of the lineage>, four characters longer than the old id."""
    number = int.from_bytes(hashlib.sha256(order([old, at(created), by(created)])).digest(), "big")
    digits = ""
    while len(digits) < 50:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    prefix, dash, suffix = old.rpartition("-")
    if not dash:
        prefix, suffix = old, ""
    return f"{prefix}-{(digits * 5)[:len(suffix) + 4]}"


def places(facts):
    """Which bead has each id, and which ones left it. An id that a bead leaves for another is shorter, so each is
    settled before any bead can move to it."""
    wants, moves = {}, dict(facts.moves)
    for name, created in facts.beads:
        wants.setdefault(name, set()).add(created)
    holder, left, todo = {}, {}, set(wants)
    for name, created in moves:
        left.setdefault(name, set()).add(created)
        todo.add(name)
    while todo:
        name = min(todo, key=lambda n: (len(n), n))
        todo.remove(name)
        here = wants.get(name, set())
        stay = [created for created in here if (name, created) not in moves]
        if stay:
            holder[name] = min(stay)
        for created in here:
            if created != holder.get(name):
                to = moves.setdefault((name, created), other_id(name, created))
                left.setdefault(name, set()).add(created)
                wants.setdefault(to, set()).add(created)
                todo.add(to)
    return holder, left, moves


def end_of(moves, name, created):
    while (name, created) in moves:
        name = moves[name, created]
    return name


class Bead:
    """All facts about one lineage."""

    def __init__(self, name, created):
        self.id, self.created = name, created
        self.writes, self.notes, self.deletions = [], [], []

    def settle(self):
        self.regs, self.said = {}, {}
        for reg, written, value in self.writes:
            old = self.regs.get(reg)
            if old and written == old[0] and value != old[1]:
                value = max(value, old[1], key=order)
            if not old or written >= old[0]:
                self.regs[reg] = (written, value)
        for note, written, content in self.notes:
            self.said.setdefault(note, set()).add((written, content.encode()))
        self.deleted = max(self.deletions, key=lambda d: (d[0], order(d[1]) if d[1] else b""),
                           default=None)
        marks = [m for m, _ in self.regs.values()] + [m for notes in self.said.values() for m, _ in notes]
        self.top = max(marks, default=None)
        self.live = not self.deleted or (self.top is not None and self.top > self.deleted[0])

    def line(self):
        line = {"id": self.id, "created_at": at(self.created), "created_by": by(self.created)}
        last = self.top if REGISTERS.keys() <= self.regs.keys() else None
        if last:
            line.update(_at=at(last), _by=by(last))
        other = {reg: [at(m), by(m)] for reg, (m, _) in self.regs.items() if m != last}
        if other:
            line["_v"] = other
        for reg, (_, value) in self.regs.items():
            line.update(value if reg in REGISTERS else {reg: value})
        notes = list(named_notes(self.said))
        if notes:
            line["notes"] = sorted(notes, key=lambda n: (n["at"], n["id"].encode()))
        return line


def deletion_members(deletion):
    members = {"deleted_at": at(deletion[0]), "deleted_by": by(deletion[0])}
    return {**members, "reason": deletion[1]} if deletion[1] else members


def tombstone(name, bead, every, gone):
    """The tombstone of an id; None: it has none."""
    dead = bead if bead and not bead.live else None
    if not dead and not every and not gone:
        return None
    line = {"id": name}
    if dead:
        line.update(deletion_members(dead.deleted), bead=dead.line())
    elif gone:
        line.update(deletion_members((gone[-1][0], None)))
    else:
        line.update(deletion_members(every))
    if every and (dead or gone):
        line["every"] = deletion_members(every)
    if gone:
        line["remap"] = [{"created_at": at(c), "created_by": by(c), "to": to} for c, to in gone]
    return line


def edge_lines(facts, moves):
    found = {}
    for start, end, kind, created, life, deleted, more in facts.edges:
        key = (end_of(moves, *start), end_of(moves, *end), kind)
        life = (life, deleted, order(more) if more else b"", more)
        old = found.get(key)
        if old:
            created = min(created, old[0])
            life = max(life, old[1], key=lambda f: f[:3])
        found[key] = (created, life)
    for (start, end, kind), (created, (life, deleted, _, more)) in sorted(found.items()):
        line = {**more, "_at": at(life), "_by": by(life), "created_at": at(created),
                "created_by": by(created), "from": start, "kind": kind, "to": end}
        yield {**line, **deletion_members((life, None))} if deleted else line


def files_of(facts):
    """The lines of the three files, as objects."""
    holder, left, moves = places(facts)
    beads = {name: Bead(name, created) for name, created in holder.items()}
    every = {name: max(all_, key=lambda d: (d[0], order(d[1]) if d[1] else b""))
             for name, all_ in facts.every.items()}
    for (name, created), said in facts.beads.items():
        bead = beads[end_of(moves, name, created)]
        bead.writes += said["writes"]
        bead.notes += said["notes"]
        bead.deletions += said["deletions"]
    for name, deletion in every.items():
        for created in left.get(name, set()) | {holder.get(name)} - {None}:
            to = end_of(moves, name, created)
            if holder.get(to) == created:
                beads[to].deletions.append(deletion)
    for bead in beads.values():
        bead.settle()
    names = sorted(set(beads) | set(every) | set(left))
    tombs = [tombstone(n, beads.get(n), every.get(n),
                       sorted((c, moves[n, c]) for c in left.get(n, ()))) for n in names]
    return {
        "beads": [beads[n].line() for n in names if n in beads and beads[n].live and beads[n].top],
        "tombstones": [line for line in tombs if line],
        "deps": list(edge_lines(facts, moves)),
    }


def joined(states):
    facts = Facts()
    for state in states:
        facts.add(facts_of(state))
    return files_of(facts)


def texts(files):
    return {name: [canonical(line) for line in lines] for name, lines in files.items()}


# --- random states ---


class Maker:
    """Few ids, actors and stamps: ids collide, deletions meet edits, marks are equal."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        second = other_id("a-1", mark([2, 0], "x"))
        self.ids = ["a-1", "a-1", "a-2", "b", second]

    def one(self, *of):
        return self.rng.choice(of)

    def maybe(self, share):
        return self.rng.random() < share

    def stamp(self):
        return [self.one(0, 3, 4, 5, 6, 253402300799999), self.one(0, 0, 1, 9007199254740991)]

    def actor(self):
        return self.one("x", "y", "\u00e9")

    def value(self, member):
        if member == "title":
            return self.one("s", "t", "\U0001f600", "\ue000")
        if member in DEFAULTS:
            return self.one(None, *{"priority": (0, 2, 4), "status": ("open", "closed"),
                                    "type": ("task", "bug")}[member])
        if member == "labels":
            return self.one(None, [], ["k"], ["l", "k"], ["k", "l", "k"])
        if member in ("assignee_at", "closed_at"):
            return self.one(None, self.stamp())
        if member == "assignee_expires":
            return self.one(None, 8, 9)
        if member in ("assignee", "closed_by"):
            return self.one(None, "x", "y")
        return self.one(None, "", "v", "w\n")

    def line(self, name):
        line = {"id": name, "created_at": [self.one(1, 2), 0], "created_by": self.one("x", "y")}
        much = self.rng.randrange(4)
        if much == 0:
            return line
        if much > 1:
            line.update(_at=self.stamp(), _by=self.actor())
        marks = {}
        for reg, members in REGISTERS.items():
            said = self.maybe(0.2)
            if said:
                for member in self.one([reg], [reg], members, members[-1:]):
                    marks[member] = [self.stamp(), self.actor()]
            if said or much > 1:
                line.update({member: self.value(member) for member in members})
        for key in ("alpha", "\U0001f600", "\ue000", "due_at", "metadata"):  # extensions join as unknown members
            if self.maybe(0.1):
                line[key] = self.one(None, "", 1, 12, {"\U0001f600": 1, "\ue000": ["v"]})
            if self.maybe(0.1):
                marks[key] = [self.stamp(), self.actor()]
        if marks:
            line["_v"] = marks
        notes = [{"id": note, "at": self.stamp(), "author": self.actor(),
                  "content": self.one("", "c")} for note in ("n2", "n1", "n1~" + "0" * 32, "n3") if self.maybe(0.2)]
        for note in notes:
            if note["id"] == "n3":  # the name that a note n1 gets, right or wrong
                note["id"] = "n1~" + note_digest(note["at"], note["author"], self.one("", note["content"]))
        if notes:
            line["notes"] = notes
        return {key: value for key, value in line.items() if value is not None or self.maybe(0.5)}

    def small(self):
        state = {"beads": [], "tombstones": [], "deps": []}
        known = []
        for _ in range(self.rng.randrange(4)):
            line = self.line(self.one(*self.ids))
            if self.maybe(0.25):
                grave = {"id": line["id"], "bead": line, "deleted_by": self.actor(),
                         "deleted_at": self.one(self.stamp(), self.stamp(), [253402300800000, 0])}
                if self.maybe(0.5):
                    grave["reason"] = self.one(None, "", "p", "q")
                state["tombstones"].append(grave)
            else:
                state["beads"].append(line)
            known.append(line["id"])
        if self.maybe(0.15):
            state["tombstones"].append({"id": self.one(*self.ids), "deleted_at": self.stamp(),
                                        "deleted_by": self.actor()})
        for _ in range(self.rng.randrange(3) if known else 0):
            state["deps"].append(self.edge(self.one(*known), self.one(*known)))
        return state

    def edge(self, start, end):
        line = {"from": start, "to": end, "kind": self.one("blocks", "blocks", "later_kind"),
                "created_at": self.stamp(), "created_by": self.actor()}
        if self.maybe(0.7):
            line.update(_at=self.stamp(), _by=self.actor())
        if self.maybe(0.4):
            line.update(deleted_at=self.stamp(), deleted_by=self.actor())
        if self.maybe(0.2):
            line[self.one("a", "z")] = self.one(1, [None])
        return line

    def state(self):
        """Some are joins of two states, which name the beads that moved. These are closed: they have
        every bead that an edge ends at, or whose id another bead had to leave."""
        if self.maybe(0.5):
            return self.small()
        while True:
            files = joined([self.small(), self.small()])
            known = {line["id"] for line in files["beads"]}
            known |= {line["id"] for line in files["tombstones"] if "bead" in line}
            named = {line["id"] for line in files["tombstones"] if "remap" in line}
            named |= {edge[end] for edge in files["deps"] for end in ("from", "to")}
            if named <= known:
                return files


def run_tool(cases):
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([TOOL], input=lines.encode(), capture_output=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


def test_the_join_agrees_with_the_model():
    make = Maker(1)
    cases = [[make.state() for _ in range(3)] for _ in range(CASES)]
    for case, got in zip(cases, run_tool(cases), strict=True):
        assert got == texts(joined(case)), json.dumps(case)


def test_the_model_does_not_depend_on_order():
    """A test of the test."""
    make = Maker(2)
    for _ in range(300):
        a, b, c = (make.state() for _ in range(3))
        assert texts(joined([a, b, c])) == texts(joined([c, b, a])) == texts(joined([b, c, a, b]))


def test_a_line_is_read_and_written_unchanged():
    """The program reads the lines of the model and writes them again, byte for byte."""
    make = Maker(3)
    wanted = [joined([make.state(), make.state()]) for _ in range(1000)]
    for want, got in zip(wanted, run_tool([[files] for files in wanted]), strict=True):
        assert got == texts(want)


# --- what the commands wrote ---

HASHED = ["id", "title", "description", "status", "priority", "type", "labels", "assignee",
          "assignee_expires", "design", "acceptance_criteria", "notes", "created_at", "created_by",
          "created_on_branch", "closed_at", "closed_by", "closed_reason", "closed_on_branch",
          "external_ref", "source_repo"]


def content_hash(bead):
    """The hash as defined in the seed, section 8.5.1, of the shown members."""
    public = {name: bead[name] for name in HASHED}
    public["labels"] = sorted(public["labels"], key=str.encode)
    public["notes"] = sorted(({k: note[k] for k in ("id", "content", "author", "at")}
                              for note in public["notes"]), key=lambda n: n["id"].encode())
    return hashlib.sha256(order(public)).hexdigest()


def moment(ms):
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms)
    return when.isoformat(timespec="milliseconds") + "Z"


def public(line):
    """The public members of a line: every field of the seed, section 4.2, with readable times."""
    shown = {name: line.get(name) for name in [*HASHED, "assignee_at"]}
    shown.update(updated_at=line["_at"], updated_by=line["_by"],
                 description=line.get("description", ""), labels=line.get("labels", []),
                 notes=line.get("notes", []))
    for name in ("created_at", "updated_at", "closed_at"):
        shown[name] = shown[name] and moment(shown[name][0])
    shown["assignee_expires"] = shown["assignee_expires"] and moment(shown["assignee_expires"])
    return shown


def work(repo):
    """One of every kind of change to beads."""
    first = repo.create("\u00e9t\u00e9 \"one\" \U0001f600", "-d", "line\nline\ttab", "-l", "z,a,\u00e9",
                        "-p", "0", "--type", "bug")
    second = repo.create("two", "--external-ref", "gh-9")
    third = repo.create("three", "--deps", f"blocks:{second}")
    child = repo.create("child", "--parent", first)
    for args in (["update", first, "--design", "d", "--acceptance", "\u2028", "--add-label", "m"],
                 ["claim", first, "--lease", "90m"],
                 ["comment", first, "b"], ["comment", first, "a \\ \u0001"],
                 ["update", first, "--description", ""],
                 ["dep", "add", first, third], ["dep", "remove", first, third],
                 ["close", second, "--reason", "done \u00e9"],
                 ["close", third], ["reopen", third],
                 ["delete", child, "--force", "--reason", "not needed"],
                 ["unclaim", first], ["label", "remove", first, "z"],
                 ["delete", second, "--force"], ["undelete", second],
                 ["update", third, "--assignee", "bob", "--status", "in_progress"]):
        repo.bd(*args).ok()
    repo.bd("update", first, "--title", "by another", "--actor", "\u00e4nne").ok()
    return [first, second, third], child


def test_the_content_hash_covers_the_shown_members(repo):
    live, _ = work(repo)
    shown = [repo.show(bead) for bead in live] + repo.json("list", "--all")
    assert len(shown) == 2 * len(live)
    for bead in shown:
        assert bead["content_hash"] == content_hash(bead)
    assert len({bead["content_hash"] for bead in shown}) == len(live)


def test_replaying_the_journal_gives_the_shown_state(repo):
    """Replayed by the model, the records give the stored lines and the shown fields."""
    live, child = work(repo)
    records = [json.loads(text.split(" ", 1)[1])
               for text in repo.journal.read_text().split("\n") if text]
    files = joined(records)
    assert sorted(line["id"] for line in files["beads"]) == sorted(live)
    assert [line["id"] for line in files["tombstones"]] == [child]
    for line in files["beads"]:
        shown = repo.show(line["id"])
        assert public(line) == {name: shown[name] for name in public(line)}
    with sqlite3.connect(f"file:{repo.cache}?mode=ro", uri=True) as db:
        kept = {name: [text for text, in db.execute(f"SELECT line FROM {table} ORDER BY {key}")]
                for name, table, key in (("beads", "beads", "id"), ("tombstones", "tombstones", "id"),
                                         ("deps", "edges", "src, dst, kind"))}
    assert kept == texts(files)
