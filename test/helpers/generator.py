"""Makes hostile stores from a seed: commits that an attacker pushed, and files that were changed in a clone.

The same seed always makes the same changes. `describe` of a world lists them, so that a failure can be reported and minimised."""
import contextlib
import copy
import hashlib
import json
import os
import random
import shutil
import sqlite3
import zlib

from stores import EVIL, World, fill

from beads import canonical, crc32c, other_id
from conftest import git
from remotes import FILES, REF, at, published, summed, sync
from test_join_model import REGISTERS as MEMBERS_OF
from test_join_model import canonical as rfc8785
from test_join_model import joined
from test_pushed_commits import REGISTERS, nested, spelled

T = 1767225600000  # the time of all honest writes
END = [253402300799999, 9007199254740991]
IDS = ["bd-a", "bd-b", "bd-c", "bd-epic", "bd-gone"]
DOTFILES = {".bashrc": b"alias ls=ls\n", ".profile": b"# profile\n", ".gitconfig": b"[user]\n\tname = Anna\n",
            ".ssh/id_ed25519": b"secret\n", ".config/git/ignore": b"*.o\n", ".claude/settings.json": b"{}\n"}


class Dice(random.Random):
    """Random numbers. Polite ones make only valid data: such a commit is not refused, but merged."""

    polite = False


# --- values ---

def text(rng):
    return rng.choice([
        "", "x", "plain text", EVIL, "\x00", "\x1b]0;t\x07", "\u202eabc", "a\nb\r\nc", "\ufeffx", "é" * 50, "\U0001f600" * 9, "x" * 999,
        "x" * 4096, "x" * 4097, "y" * 65536, "y" * 65537, "../../x", "-rf", "%s%n%s%n", "'; DROP TABLE beads; --", "${HOME}",
        "{\"a\":1}", "null", "\\", "\"", "bd-a", "anna", "mallory", "\u2028", "<<<ok>>>\nrun this", "a b", "\ud7ff", "\uffff"])


def number(rng):
    return rng.choice([0, 1, -1, 2, 4, 5, 1 << 31, 1 << 32, (1 << 53) - 1, 1 << 53, (1 << 63) - 1, 1 << 63, -(1 << 63), 1 << 64, 10 ** 30,
                       0.5, 1e300, 1e-320, T, END[0], END[0] + 1, -T])


def stamp(rng):
    """A stamp, usually a valid one."""
    good = [[T, rng.randrange(20)], [T + rng.randrange(1, 9999), 0], [T - rng.randrange(1, 9999), 3], [0, 0], [1, 0], [T + 86400000, 0],
            [T + 86400001, 0], [T + 10 ** 10, 7], END, [END[0], 0], [T, END[1]], [END[0] - 1, END[1]]]
    bad = [[END[0] + 1, 0], [END[0] + 1, 1], [T, END[1] + 1], [-1, 0], [T], [T, 0, 0], [], T, None, "now", [str(T), 0], [T, -1], [1.5, 0], {}]
    return rng.choice(good * 3 + bad) if rng.random() < 0.4 and not rng.polite else rng.choice(good)


def actor(rng):
    return rng.choice(["anna", "mallory", "aaa", "zzz", "\uffff", "m" * 4096, "ben"]) if rng.random() < 0.85 or rng.polite else rng.choice(
        ["", EVIL, "m" * 4097, 7, None, ["a"]])


def anything(rng, depth=0):
    if rng.polite:
        return rng.choice([text(rng), rng.randrange(1 << 53), True, [], {}, [1, ["x"]], {"a": {"b": text(rng)}}, nested(64)])
    kind = rng.randrange(9 if depth < 3 else 6)
    if kind < 3:
        return text(rng)
    if kind < 5:
        return number(rng)
    if kind == 5:
        return rng.choice([None, True, False, [], {}])
    if kind == 6:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {key(rng): anything(rng, depth + 1) for _ in range(rng.randrange(4))}
    return nested(rng.choice([1, 30, 61, 62, 63, 64, 65, 66, 96, 99, 128, 200]))


def key(rng):
    if rng.polite:
        return rng.choice(["x", "rank", "project", "blocked_reason", "k" * 4096, EVIL, "é", "\uffff", "\U0001f600", "created_on_branch", "a b"])
    return rng.choice(["x", "", "rank", "project", "blocked_reason", "request", "__proto__", "_at", "_x", "_v", "id", "content_hash",
                       "updated_at", "k" * 4096, "k" * 4097, EVIL, "parent", "type", "é", "\uffff", "\U0001f600", "a b", "\x00", "notes",
                       "status", "closed_at", "every", "remap", "created_on_branch"])


def bead_id(rng, known):
    if rng.polite:
        return rng.choice([*known, *known, "bd-new", "bd-0", "evil-1", "bd-nowhere", "bd-" + "x" * 117])
    return rng.choice(known) if rng.random() < 0.6 else rng.choice([
        "bd-" + "x" * 197, "bd-" + "x" * 198, "bd-" + "x" * 117, "x", "-", "", "bd-", "bd--", "bd-a-", "../../etc/passwd", "bd-a.1", "bd-A", "BD-a",
        "bd-a b", "bd-\u00e9", "bd-a\n", "bd-new", "evil-1", "a" * 200, "bd_a", "bd-a/b", ".", "..", EVIL, "bd-0", "1", "bd-nowhere"])


def register(rng, name):
    """A value for the register; always a valid one if the random numbers are polite."""
    if rng.polite:
        return {"labels": lambda: rng.choice([[], ["a", "b"], [EVIL], ["x" * 4096]]), "priority": lambda: rng.randrange(5),
                "status": lambda: rng.choice(["open", "closed", "in_progress"]), "type": lambda: rng.choice(["task", "bug", "epic"]),
                "title": lambda: "t" + text(rng)[:60000], "assignee": lambda: actor(rng), "closed_by": lambda: actor(rng),
                "closed_at": lambda: stamp(rng), "assignee_at": lambda: stamp(rng), "assignee_expires": lambda: rng.choice([0, T, END[0]]),
                }.get(name, lambda: text(rng))()
    if rng.random() < 0.2:
        return anything(rng)
    return {"labels": lambda: rng.choice([[], ["a", "b"], ["b", "a"], ["a", "a"], [EVIL], [""], ["x" * 4097], [1], ["l"] * 1001]),
            "priority": lambda: rng.choice([0, 1, 4, 5, -1, 2.0, "2", None]),
            "status": lambda: rng.choice(["open", "closed", "in_progress", "blocked", "OPEN", "", "tombstone"]),
            "type": lambda: rng.choice(["task", "bug", "epic", "feature", "chore", "gate", ""])}.get(name, lambda: text(rng))()


# --- changes to the beads of a commit: each takes random numbers and lines, and returns a description ---

def one(rng, lines):
    return rng.choice(lines) if lines else None


def known_ids(store):
    found = [line.get("id") for name in FILES[:2] for line in store[name] if isinstance(line, dict)]
    return [id for id in found if isinstance(id, str)] + IDS


def beads_of(store):
    """The beads of the state, and those inside tombstones."""
    lines = [line for line in store["state.jsonl"] if isinstance(line, dict)]
    return lines + [line["bead"] for line in store["tombstones.jsonl"] if isinstance(line, dict) and isinstance(line.get("bead"), dict)]


def set_register(rng, store):
    bead, name = one(rng, beads_of(store)), rng.choice(REGISTERS)
    if bead is None:
        return None
    member = rng.choice(MEMBERS_OF[name])
    bead[member] = register(rng, member)
    mark = [stamp(rng), actor(rng)]
    bead["_v"] = {**(bead.get("_v") if isinstance(bead.get("_v"), dict) else {}), name: mark}
    return f"{bead.get('id')!r}: {member} = {str(bead[member])[:60]!r} at {str(mark)[:60]}"


def set_mark(rng, store):
    bead = one(rng, beads_of(store))
    if bead is None:
        return None
    bead["_at"], bead["_by"] = stamp(rng), actor(rng)
    if rng.random() < 0.5:
        bead.pop("_v", None)
    if rng.random() < 0.1 and not rng.polite:
        bead.pop("_at")
    return f"{bead.get('id')!r}: mark {str([bead.get('_at'), bead['_by']])[:60]}"


def set_lineage(rng, store):
    bead = one(rng, beads_of(store))
    if bead is None:
        return None
    bead["created_at"] = stamp(rng)
    if rng.random() < 0.5:
        bead["created_by"] = actor(rng)
    return f"{bead.get('id')!r}: lineage {str([bead['created_at'], bead.get('created_by')])[:60]}"


def set_id(rng, store):
    bead = one(rng, store["state.jsonl"])
    if not isinstance(bead, dict):
        return None
    old, bead["id"] = bead.get("id"), bead_id(rng, known_ids(store))
    return f"{old!r} is called {str(bead['id'])[:60]!r}"


def drop_line(rng, store):
    name = rng.choice(FILES[:3])
    return store[name] and f"drop a line of {name}: {str(store[name].pop(rng.randrange(len(store[name]))))[:40]}"


def double_line(rng, store):
    name = rng.choice(FILES[:3])
    if not store[name]:
        return None
    line = copy.deepcopy(rng.choice(store[name]))
    store[name].append(line)
    if isinstance(line, dict) and rng.random() < 0.5:
        line["created_at"], line["created_by"] = stamp(rng), actor(rng)
    return f"double a line of {name}: {str(line)[:60]}"


def notes(rng, store):
    bead = one(rng, beads_of(store))
    if bead is None:
        return None
    have = bead.get("notes") if isinstance(bead.get("notes"), list) else []
    kind = rng.choice(["add", "drop", "change", "none"] + ["wrong"] * (not rng.polite))
    if kind == "add" or not have:
        have = [*have, {"at": stamp(rng), "author": actor(rng), "content": text(rng), "id": rng.choice(["6233366417e6", "n", EVIL, "n" * 4096] + [""] * (not rng.polite))}]
    elif kind == "drop":
        have = have[1:]
    elif kind == "change":
        have = copy.deepcopy(have)
        name = rng.choice(["at", "author", "content", "id"])
        have[0][name] = {"at": stamp(rng), "author": actor(rng), "content": text(rng), "id": "n" + text(rng)[:99]}[name] if rng.polite else rng.choice(
            [stamp(rng), actor(rng), text(rng)])
    else:
        have = anything(rng)
    bead["notes"] = have
    if kind == "none":
        bead.pop("notes")
    return f"{bead.get('id')!r}: notes {kind}"


def unknown_member(rng, store):
    others = store["deps.jsonl"] + store["tombstones.jsonl"] * (not rng.polite)
    line = one(rng, beads_of(store) + [line for line in others if isinstance(line, dict)])
    if line is None:
        return None
    name, value = key(rng), anything(rng)
    line[name] = value
    if rng.random() < 0.3 and isinstance(line.get("_v", {}), dict):
        line["_v"] = {**line.get("_v", {}), name: [stamp(rng), actor(rng)]}
    return f"{str(line.get('id', line.get('from')))[:40]!r}: member {name[:20]!r} = {str(value)[:60]!r}"


def drop_member(rng, store):
    line = one(rng, beads_of(store) + [line for line in store["deps.jsonl"] + store["tombstones.jsonl"] if isinstance(line, dict)])
    if not line:
        return None
    name = rng.choice([name for name in ("description", "labels", "notes", "_v") if name in line] or ["reason"] if rng.polite else sorted(line, key=str))
    if name not in line:
        return None
    del line[name]
    return f"{str(line.get('id', line.get('from')))[:40]!r}: without {name[:20]!r}"


def edge(rng, store):
    ids = known_ids(store)
    have = [line for line in store["deps.jsonl"] if isinstance(line, dict)]
    if have and rng.random() < 0.4:
        line = rng.choice(have)
        name = rng.choice(["from", "to", "kind", "_at", "_by", "created_at", "created_by", "deleted_at"])
        line[name] = {"from": lambda: bead_id(rng, ids), "to": lambda: bead_id(rng, ids), "_by": lambda: actor(rng),
                      "created_by": lambda: actor(rng), "kind": lambda: rng.choice(["blocks", "parent", "related"] + ["", "a b", EVIL, 7] * (not rng.polite))
                      }.get(name, lambda: stamp(rng))()
        if name == "deleted_at":
            line["deleted_by"] = actor(rng)
        return f"edge: {name} = {str(line[name])[:60]!r}"
    line = {"_at": stamp(rng), "_by": actor(rng), "created_at": stamp(rng), "created_by": actor(rng), "from": bead_id(rng, ids),
            "kind": rng.choice(["blocks", "parent", "parent-child", "related", "discovered-from", "odd"]), "to": bead_id(rng, ids)}
    store["deps.jsonl"].append(line)
    return f"edge {str(line)[:160]}"


def tombstone(rng, store):
    ids = known_ids(store)
    id = bead_id(rng, ids)
    line = {"deleted_at": rng.choice([stamp(rng), [END[0] + 1, 0]]), "deleted_by": actor(rng), "id": id}
    kinds = rng.sample(["bead", "every", "remap", "reason"] + ["wrong"] * (not rng.polite), rng.randrange(4))
    if "bead" in kinds and beads_of(store):
        line["bead"] = copy.deepcopy(one(rng, beads_of(store)))
        if rng.random() < 0.8 or rng.polite:
            line["bead"]["id"] = id
    if "every" in kinds:
        line["every"] = {"deleted_at": stamp(rng), "deleted_by": actor(rng)}
    if "remap" in kinds and (len(id) < 100 or not rng.polite):
        gone = [(stamp(rng), actor(rng)) for _ in range(rng.randrange(1, 4))]
        with contextlib.suppress(TypeError):
            gone.sort()
        line["remap"] = [{"created_at": a, "created_by": b, "to": other_id(str(id), a, b) if rng.random() < 0.9 or rng.polite else bead_id(rng, ids)}
                         for a, b in gone]
    if "reason" in kinds:
        line["reason"] = text(rng) if rng.polite else anything(rng)
    if "wrong" in kinds:
        line[key(rng)] = anything(rng)
    if rng.random() < 0.7:
        store["tombstones.jsonl"] = [old for old in store["tombstones.jsonl"] if not (isinstance(old, dict) and old.get("id") == id)]
    store["tombstones.jsonl"].append(line)
    if rng.random() < 0.5:
        store["state.jsonl"] = [old for old in store["state.jsonl"] if not (isinstance(old, dict) and old.get("id") == id)]
    return f"tombstone {str(line)[:200]}"


def remap_target(rng, store):
    """A bead with the id that another bead would get after an id conflict; half of the time, there is such a conflict."""
    bead = one(rng, [line for line in store["state.jsonl"] if isinstance(line, dict)])
    if bead is None or not isinstance(bead.get("id"), str):
        return None
    made = copy.deepcopy(bead)
    made["id"] = other_id(bead["id"], bead.get("created_at"), bead.get("created_by"))
    made["created_at"] = rng.choice([[1, 0], bead.get("created_at"), [T + 5, 0]])
    store["state.jsonl"].append(made)
    if rng.random() < 0.5:
        bead["created_at"] = [T - 1, 0]
    return f"a bead in the place {made['id']!r} of {bead['id']!r}"


def bury(rng, store):
    """Turns a bead into a tombstone, or a tombstone into a bead."""
    if store["state.jsonl"] and rng.random() < 0.6:
        bead = store["state.jsonl"].pop(rng.randrange(len(store["state.jsonl"])))
        if isinstance(bead, dict):
            store["tombstones.jsonl"].append({"bead": bead, "deleted_at": stamp(rng), "deleted_by": actor(rng), "id": bead.get("id")})
        return f"bury {str(bead)[:40]}"
    dead = [line for line in store["tombstones.jsonl"] if isinstance(line, dict) and isinstance(line.get("bead"), dict)]
    if not dead:
        return None
    line = rng.choice(dead)
    store["state.jsonl"].append(line["bead"])
    if rng.random() < 0.7:
        store["tombstones.jsonl"].remove(line)
    return f"exhume {line.get('id')!r}"


def meta(rng, store):
    value = store["meta.json"]
    if not isinstance(value, dict):
        return None
    kind = rng.choice(["prefix", "member"] if rng.polite else ["prefix", "prefix", "version", "sums", "member", "drop"])
    if rng.polite and kind == "prefix":
        value["prefix"] = {"mark": [stamp(rng), actor(rng)], "value": rng.choice(["bd", "evil", "p" * 32])}
    elif kind == "prefix":
        value["prefix"] = {"mark": rng.choice([[stamp(rng), actor(rng)], anything(rng)]),
                           "value": rng.choice(["bd", "evil", "p" * 64, "p" * 65, "", "../x", text(rng)])}
        if rng.random() < 0.2:
            value["prefix"] = anything(rng)
    elif kind == "version":
        value["format_version"] = rng.choice([0, 1, 2, "1", 1.5, None, number(rng)])
    elif kind == "sums":
        value["checksums"] = anything(rng)
    elif kind == "member":
        value[key(rng)] = anything(rng)
    elif value:
        value.pop(rng.choice(sorted(value, key=str)))
    return f"meta {kind}: {str(value)[:120]}"


STRUCTURE = [set_register] * 5 + [set_mark, set_mark, set_lineage, set_lineage, set_id, drop_line, double_line, notes, notes, unknown_member,
                                  unknown_member, drop_member, edge, edge, edge, tombstone, tombstone, tombstone, remap_target, bury, meta]


# --- changes to the bytes of a commit ---

def json_tricks(rng, data):
    """JSON that is valid but unusual."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    line = lines[i]
    trick = rng.choice(["double key", "escaped key", "number", "escape", "surrogate", "space", "deep"])
    if trick == "number":
        words = [b"1e400", b"-0", b"-0.0", b"1E1", b"01", b"1.", b"0x1", b"NaN", b"Infinity", b"9" * 400, b"1e-400", b"1" + b"0" * 308, b"+1"]
        spots = [n for n in range(1, len(line)) if line[n:n + 1].isdigit() and line[n - 1:n] in b":[,"]
        if spots:
            n = rng.choice(spots)
            end = n
            while line[end:end + 1].isdigit():
                end += 1
            line = line[:n] + rng.choice(words) + line[end:]
    elif trick == "double key":
        line = line[:-1] + rng.choice([b',"id":"bd-b"}', b',"title":"twice"}', b',"_at":[1,0]}', b',"zz":1,"zz":2}'])
    elif trick == "escaped key":
        line = line.replace(*rng.choice([(b'"id"', b'"\\u0069d"'), (b'"title"', b'"t\\u0069tle"'), (b'"_v"', b'"\\u005fv"'),
                                         (b'"bead"', b'"\\u0062ead"'), (b'"from"', b'"fro\\u006d"')]), 1)
    elif trick == "escape":
        line = line.replace(b'":"', b'":"' + rng.choice([b"\\u0000", b"\\u001b[2J", b"\\q", b"\\u12", b"\\/", b"\t"]), 1)
    elif trick == "surrogate":
        line = line.replace(b'":"', b'":"' + rng.choice([b"\\ud800", b"\\udc00\\ud800", b"\\ud83d\\ude00", b"\xed\xa0\x80"]), 1)
    elif trick == "space":
        line = line.replace(b",", rng.choice([b", ", b",\n", b",\t", b",,"]), 1)
    else:
        depth = rng.choice([60, 64, 65, 100, 1000, 100000])
        line = line[:-1] + b',"zz":' + b"[" * depth + rng.choice([b"]" * depth, b""]) + b"}"
    lines[i] = line
    return trick, b"\n".join(lines)


def spoil(rng, data):
    """Damages a file: flips, cuts or doubles bytes, or changes the encoding."""
    kind = rng.choice(["flip", "flip", "cut", "double", "insert", "crlf", "bom", "nul", "latin", "empty", "no end", "blank line", "utf-16", "tricks",
                       "tricks", "tricks", "tricks"])
    if kind == "tricks":
        kind, data = json_tricks(rng, data)
        return kind, data
    n = rng.randrange(len(data)) if data else 0
    end = n + rng.choice([1, 7, 100, 1000])
    return kind, {
        "flip": lambda: data[:n] + bytes([data[n] ^ 1 << rng.randrange(8)]) + data[n + 1:] if data else data,
        "cut": lambda: data[:n] + data[end:], "double": lambda: data[:end] + data[n:],
        "insert": lambda: data[:n] + rng.randbytes(rng.choice([1, 8])) + data[n:], "crlf": lambda: data.replace(b"\n", b"\r\n"),
        "bom": lambda: b"\xef\xbb\xbf" + data, "nul": lambda: data[:n] + b"\0" + data[n:], "latin": lambda: data[:n] + b"\xe9\xff" + data[n:],
        "empty": lambda: b"", "no end": lambda: data[:-1], "blank line": lambda: data + b"\n",
        "utf-16": lambda: data.decode("utf-8", "replace").encode("utf-16")}[kind]()


# --- commits ---

def write_object(repo, kind, data):
    """Writes a loose object without checking its content."""
    raw = kind.encode() + b" %d\0" % len(data) + data
    name = hashlib.sha1(raw).hexdigest()
    path = repo / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(zlib.compress(raw, 1))
    return name


def encode(rng, store):
    """The files of a store, usually sorted and in canonical form."""
    files, tidy = {}, rng.random() < 0.9
    if rng.polite:
        with contextlib.suppress(TypeError, KeyError, ValueError, AttributeError):
            made = joined([{"beads": store["state.jsonl"], "tombstones": store["tombstones.jsonl"], "deps": store["deps.jsonl"]}])
            files = {name: "".join(rfc8785(line) + "\n" for line in made[word]).encode()
                     for word, name in (("beads", "state.jsonl"), ("tombstones", "tombstones.jsonl"), ("deps", "deps.jsonl"))}
            return {**files, "meta.json": (rfc8785(store["meta.json"]) + "\n").encode()}

    def line_of(line):
        if isinstance(line, dict) and "title" in line and tidy:
            with contextlib.suppress(TypeError, KeyError, ValueError, AttributeError):
                return spelled(line)
        return canonical(line) + "\n"

    def order(line):
        names = ("from", "to", "kind") if isinstance(line, dict) and "from" in line else ("id",)
        return [str(line.get(name)) for name in names] if isinstance(line, dict) else [str(line)]

    for name in FILES[:3]:
        lines = sorted(store[name], key=order) if tidy else store[name]
        if tidy and name == "tombstones.jsonl":
            for line in lines:
                if isinstance(line, dict) and isinstance(line.get("bead"), dict):
                    with contextlib.suppress(TypeError, KeyError, ValueError, AttributeError):
                        line["bead"] = json.loads(spelled(line["bead"]))
        files[name] = "".join(line_of(line) for line in lines).encode("utf-8", "surrogatepass")
    files["meta.json"] = (canonical(store["meta.json"]) + "\n").encode("utf-8", "surrogatepass")
    return files


def extra_entries(rng, remote):
    """Tree entries that do not belong to a store."""
    blob = write_object(remote, "blob", b"x\n")
    empty = write_object(remote, "tree", b"")
    link = write_object(remote, "blob", b"../../../../.bashrc")
    one = rng.choice([(b"100644", b"README.md", blob), (b"40000", b"folder", empty), (b"160000", b"module", "1" * 40), (b"120000", b"link", link),
                      (b"120000", b"state.jsonl", link), (b"40000", b"state.jsonl", empty), (b"160000", b"deps.jsonl", "2" * 40),
                      (b"100644", b"..", blob), (b"40000", b".git", empty), (b"100644", b"a/b", blob), (b"100755", b"run", blob),
                      (b"100644", b"gone", "3" * 40), (b"100644", b"\xff\xfe", blob), (b"777777", b"odd", blob), (b"100644", b"x" * 5000, blob),
                      (b"100644", b"STATE.JSONL", blob), (b"100644", b"", blob), (b"100644", b"meta.json", "4" * 40)])
    return one


def write_tree(rng, remote, files, entries):
    made = {name.encode(): (b"100644", write_object(remote, "blob", data)) for name, data in files.items()}
    listed = [(name, mode, id) for name, (mode, id) in made.items()]
    for mode, name, id in entries:
        listed = [old for old in listed if old[0] != name or rng.random() < 0.1] + [(name, mode, id)]
    listed.sort(key=lambda e: e[0] + (b"/" if e[1] == b"40000" else b""))
    return write_object(remote, "tree", b"".join(mode + b" " + name + b"\0" + bytes.fromhex(id) for name, mode, id in listed))


def write_commit(rng, remote, tree, parents):
    when = rng.choice([T // 1000, 0, 1, 1 << 31, 1 << 40])
    who = rng.choice([b"m <m@example.com>", b"m\x1b[2J <m@x>", "\u202em <m>".encode(), b"<>"]) if rng.random() < 0.2 else b"m <m@example.com>"
    message = rng.choice([b"by hand\n", b"", b"\x1b]0;t\x07\xff\xfe\n", "\u202eevil\n".encode(), b"x" * 9000])
    return write_object(remote, "commit", b"tree %s\n" % tree.encode() + b"".join(b"parent %s\n" % p.encode() for p in parents)
                        + b"author %s %d +0000\ncommitter %s %d +0000\n\n" % (who, when, who, when) + message)


class Victims:
    """A remote, Anna with a store of every kind, and Ben with beads; both have unpublished changes."""

    def __init__(self, path):
        self.path, self.remote = path, path / "beads.git"
        self.anna, self.ben = (World(path / name, self.remote) for name in ("proj", "ben"))
        self.ben.env["BD_ACTOR"] = "ben"
        for repo in (self.anna, self.ben):
            repo.env["HOME"] = str(path / "home")
        self.done = []  # what the generator has changed
        self.unreadable = False  # whether it made objects that Git itself cannot read
        index = self.anna.agents / "messages" / "index"
        self.message = min(file.stem for file in index.iterdir()) if index.exists() else None

    def describe(self):
        return "\n".join(self.done)


def prepare(path):
    """Makes the valid world that every seed gets a copy of. Returns it with the state after an honest sync."""
    path.mkdir()
    world = Victims(path)
    fill(path)
    ben = path / "ben"
    ben.mkdir()
    git(ben, "init", "-q", "-b", "main")
    git(ben, "remote", "add", "origin", "../beads.git")
    world.ben.bd("init").ok()
    sync(world.ben)
    world.ben.bd("comment", "bd-b", "of ben").ok()
    world.ben.bd("create", "only ben has it", "--id", "bd-ben").ok()
    for name, data in DOTFILES.items():
        (path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "home" / name).write_bytes(data)
    for database in (world.anna.database, world.anna.continuity, world.anna.cache, world.ben.cache):
        with contextlib.closing(sqlite3.connect(database)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    honest = duplicate(path, path.parent / "honest")
    for repo in (honest.anna, honest.ben, honest.anna):
        sync(repo)
    return world, lines_of(published(honest.remote))


def duplicate(path, to):
    shutil.copytree(path, to, symlinks=True)
    return Victims(to)


def lines_of(files):
    """The state of a store, as the model of the merge expects it."""
    return {word: [json.loads(line) for line in files[name].splitlines()]
            for word, name in (("beads", "state.jsonl"), ("tombstones", "tombstones.jsonl"), ("deps", "deps.jsonl"))}


def push_hostile(rng, world):
    """Pushes a hostile commit to the remote; half of these commits are valid enough to be merged."""
    rng.polite = rng.random() < 0.5
    tip = at(world.remote)
    shape = rng.choice(["forward", "forward", "forward", "divergent", "rewind", "orphan", "two parents"])
    history = git(world.remote, "rev-list", REF).split()
    base = rng.choice(history) if shape in ("rewind", "divergent") else tip
    files = published(world.remote, base)
    store = {name: [json.loads(line) for line in files[name].splitlines()] for name in FILES[:3]}
    store["meta.json"] = json.loads(files["meta.json"])
    world.done.append(f"{shape} from {base[:7]}{' politely' * rng.polite}")
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        world.done.append(str(rng.choice(STRUCTURE)(rng, store)))
    files, entries = encode(rng, store), []
    clean = rng.polite or rng.random() < 0.5
    if not clean and rng.random() < 0.6:
        name = rng.choice(FILES)
        kind, files[name] = spoil(rng, files[name])
        world.done.append(f"spoil {name}: {kind}")
    if not clean and rng.random() < 0.15:
        name = rng.choice(FILES)
        del files[name]
        world.done.append(f"without {name}")
    if rng.random() < 0.15:
        entries = [extra_entries(rng, world.remote) for _ in range(rng.choice([1, 1, 3]))]
        world.unreadable = any(mode == b"777777" or not name or mode == b"100644" and id in ("3" * 40, "4" * 40) for mode, name, id in entries)
        world.done.append(f"entries {str(entries)[:300]}")
    if clean or rng.random() < 0.8:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            files = summed(files)
    else:
        world.done.append("with wrong checksums")
    parents = {"orphan": [], "rewind": [], "two parents": [tip, history[-1]]}.get(shape, [base])
    made = base if shape == "rewind" and rng.random() < 0.5 else write_commit(
        rng, world.remote, write_tree(rng, world.remote, files, entries), parents)
    ref = world.remote / REF
    ref.write_text(made + "\n")


# --- files of a clone ---

def journal_line(rng, world):
    """Changes the journal: adds, changes or drops a record with correct checksums, or damages bytes."""
    journal = world.anna.journal
    data = journal.read_bytes()
    kind = rng.choice(["append", "append", "append", "change", "spoil", "drop"])
    lines = data.splitlines()
    records = [json.loads(line[9:]) for line in lines]
    pick = copy.deepcopy(rng.choice(records))
    if kind == "append":
        store = {"state.jsonl": pick.get("beads", []), "tombstones.jsonl": pick.get("tombstones", []), "deps.jsonl": pick.get("deps", []),
                 "meta.json": {"prefix": pick.get("prefix")}}
        did = rng.choice(STRUCTURE)(rng, store)
        new = {**pick, "beads": store["state.jsonl"], "tombstones": store["tombstones.jsonl"], "deps": store["deps.jsonl"]}
        if rng.random() < 0.3:
            new[rng.choice(["base", "receipt", "joined", "prefix", "beads", "deps", "tombstones", "after", "receipts", "anew"])] = rng.choice([
                anything(rng), {"commit": "0" * 40, "offset": 0, "segment": 1}, {"commit": at(world.remote), "offset": 1 << 40, "segment": 9},
                {"commit": text(rng), "offset": -1, "segment": 1, "whole": True}, {"offset": 0, "segment": 1},
                {"actor": "anna", "id": "r9", "op": "bead update", "args": "x", "reply": anything(rng)}])
        records.append(new)
    elif kind == "change":
        i = rng.randrange(len(records))
        name = rng.choice(sorted(pick) or ["beads"])
        records[i] = {**pick, name: anything(rng)}
        did = f"{name} = {str(records[i][name])[:80]}"
    elif kind == "drop":
        did = records.pop(rng.randrange(len(records)))
    else:
        did, data = spoil(rng, data)
        journal.write_bytes(data)
    if kind != "spoil":
        out, before = [], 0
        for record in records:
            body = canonical(record).encode("utf-8", "surrogatepass")
            before = crc32c(body, before)
            out.append(b"%08x %s\n" % (before, body))
        journal.write_bytes(b"".join(out))
    return f"journal: {kind} {str(did)[:200]}"


def rows(rng, world):
    """Changes a column of one row or of all rows in some database, or removes rows or the table."""
    database = rng.choice([world.anna.cache, world.anna.database, world.anna.continuity, world.anna.home / "receipts.db",
                           world.anna.agents / "receipts.db"])
    if not database.exists():
        return None
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA ignore_check_constraints=ON")
        tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'")]
        table = rng.choice(sorted(tables))
        column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info('{table}')")])
        value = rng.choice([text(rng), text(rng).encode() + b"\xff", rng.choice([0, -1, 1 << 40, (1 << 63) - 1, -(1 << 63), 0.5, 1e300]), None,
                            "[1", '{"a":', "[" * 5000, canonical(anything(rng)), "9999-99-99T99:99:99Z", "-1"])
        act = rng.choice(["update", "update", "one", "delete", "drop"])
        with contextlib.suppress(sqlite3.Error):
            if act == "drop" and rng.random() < 0.5:
                db.execute(f"DROP TABLE '{table}'")
            elif act == "delete":
                db.execute(f"DELETE FROM '{table}'")
            elif act == "one":
                db.execute(f"UPDATE OR IGNORE '{table}' SET \"{column}\" = ? WHERE rowid IN (SELECT rowid FROM '{table}' LIMIT 1)", [value])
            else:
                db.execute(f"UPDATE OR IGNORE '{table}' SET \"{column}\" = ?", [value])
            db.commit()
        with contextlib.suppress(sqlite3.Error):
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return f"{database.name}: {act} {table}.{column} = {str(value)[:60]!r}"


def own_files(world):
    """Every file of Anna's stores."""
    folders = (world.anna.home, world.anna.path / ".bb", world.anna.path / ".beadboard")
    return sorted(file for folder in folders for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def json_file(rng, world):
    """Changes a value in a JSON file."""
    files = [file for file in own_files(world) if file.suffix in (".json", ".jsonl")]
    file = rng.choice(files)
    parts = file.read_text("utf-8", "replace").splitlines()
    spots = [i for i, part in enumerate(parts) if part.strip()]
    if not spots:
        new = canonical(rng.choice([anything(rng), {"records": anything(rng)}, {"file": "../../x", "length": 0, "line": "{}"}])) + "\n"
        file.write_bytes(new.encode("utf-8", "surrogatepass"))
        return f"{file.name}: {new[:100]!r}"
    i = rng.choice(spots)
    with contextlib.suppress(ValueError):
        value = json.loads(parts[i].rstrip(","))
        inner = value
        while isinstance(inner, (dict, list)) and inner:
            name = rng.choice(sorted(inner) if isinstance(inner, dict) else range(len(inner)))
            if isinstance(inner[name], (dict, list)) and inner[name] and rng.random() < 0.7:
                inner = inner[name]
                continue
            inner[name] = rng.choice([anything(rng), text(rng), number(rng), None])
            break
        if isinstance(value, dict) and rng.random() < 0.3:
            value[key(rng)] = anything(rng)
        parts[i] = canonical(value)
    if rng.random() < 0.3:
        parts.insert(i, rng.choice([parts[i], canonical(anything(rng)), "", "{"]))
    file.write_bytes(("\n".join(parts) + "\n").encode("utf-8", "surrogatepass"))
    return f"{file.name}:{i + 1}: {parts[i][:160]!r}"


def spoil_file(rng, world):
    file = rng.choice(own_files(world))
    kind, data = spoil(rng, file.read_bytes())
    file.write_bytes(data)
    return f"spoil {file.name}: {kind}"


def settings(rng, world):
    words = rng.choice([b"sync.auto = maybe\n", b"sync.max_file = 99999999999999999999g\n", b"= = =\n", b"prefix = ../x\n", b"x" * 100000, b"\xff\xfe\n",
                        b"sync.ref = refs/heads/../../x\n", b"sync.remote = -oProxyCommand=x\n", b"\0\0", b"sync.max_file = -1\n", b"claim.lease = 1e9\n"])
    file = rng.choice([world.anna.home / "config", world.anna.path / ".bb" / "config.toml", world.anna.home / "sync.json"])
    file.write_bytes(words if file.name != "config.toml" else rng.choice([words, b"[summary]\nmessages = \"9999999999999d\"\n", b"[[[", b"[summary]\nartifacts = -1\n"]))
    file.chmod(0o600)
    return f"{file.name}: {words[:60]!r}"


def odd_file(rng, world):
    """Replaces a file by a link, a FIFO or a folder, or gives it wrong permissions."""
    own = own_files(world) + [world.anna.home / "config", world.anna.home / "receipts.db", world.anna.agents / "tmp",
                              world.anna.path / ".bb" / "config.toml", world.anna.home / "serve.json", world.anna.home / "serve.sock",
                              world.anna.home / "feed.jsonl"]
    folders = [world.anna.agents, world.anna.path / ".bb", world.anna.home, world.anna.agents / "messages"]
    file = rng.choice(own + folders)
    kind = rng.choice(["link", "dangling", "loop", "fifo", "folder", "mode", "gone", "huge", "/dev/zero"])
    if kind == "mode":
        if file.exists():
            file.chmod(rng.choice([0o777, 0o000, 0o666, 0o444]))
        return f"mode {file.name}"
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
    target = {"link": world.path / "home" / ".bashrc", "dangling": world.path / "home" / "made", "loop": file, "/dev/zero": "/dev/zero"}
    if kind in target:
        file.symlink_to(target[kind])
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir(mode=0o700)
        (file / "x").write_text("x")
    elif kind == "huge":
        with file.open("wb") as out:
            out.truncate(1 << 28)  # a hole
    return f"{kind} in the place of {file.relative_to(world.anna.path)}"


LOCAL = [journal_line] * 4 + [rows] * 4 + [json_file] * 4 + [spoil_file] * 2 + [settings] + [odd_file] * 3


def tamper(rng, world):
    for _ in range(rng.choice([1, 1, 2, 3])):
        with contextlib.suppress(OSError, ValueError, IndexError, sqlite3.Error):
            world.done.append(str(rng.choice(LOCAL)(rng, world)))


def rng_of(seed, what):
    return Dice(f"{what} {seed}")
