"""The states that a power loss can leave of a recorded folder, under two models of a file system.

`ext4`, like ext4 with data=ordered: names, sizes and renames become durable in their order, and any
sync makes all earlier ones durable. The data of a file that was not synced may be missing from any
write on, and the last write may be torn at a page.

`strict`, what POSIX promises: a sync makes durable the data of that file, or the names in that
folder, and nothing else. Of everything that was not synced, any part may be durable, in any order:
a rename before the data of its file, a deletion before the creation that precedes it, and any
512-byte sectors of a write.
"""
import hashlib
import itertools
import os
import random

SECTOR, PAGE = 512, 4096
DATA, NAMES = ("data", "size"), ("entry", "gone", "move")


def is_cache(path):
    """Files that are never synced on purpose: their many writes count as one."""
    name = os.path.basename(path)
    return name.startswith(("cache.db", "history.db")) or name.endswith("-shm")


class Disk:
    def __init__(self, recording):
        self.base, self.events = recording.base, recording.events
        names = {}
        for number, file in self.base.items():
            for name, child in (file.names or {}).items():
                names.setdefault(child, name)
        for e in self.events:
            if e[0] == "entry":
                names.setdefault(e[3], e[2])
        self.cached = {n for n, name in names.items() if is_cache(name)}

    # --- what is not durable yet ---

    def pending(self, upto):
        """Events before `upto` that no sync of their own file or folder has made durable."""
        safe, last = {}, 0
        for e in self.events[:upto]:
            if e[0] == "sync":
                safe[e[1]] = max(safe.get(e[1], 0), e[2])
                last = max(last, e[2])
        loose = [i for i, e in enumerate(self.events[:upto]) if
                 (e[0] in DATA and i >= safe.get(e[1], 0)) or
                 (e[0] in NAMES and i >= safe.get(e[3] if e[0] == "move" else e[1], 0))]
        return loose, last

    def points(self):
        """Moments at which a power loss can leave something new: just before a sync, a reply or an end."""
        known = None
        for i, e in enumerate(self.events + [("sync", None, 0)]):
            if e[0] in ("sync", "reply", "begin"):
                key = (tuple(self.pending(i)[0]), self.told(i))
                if key != known:
                    yield i
                known = key

    def told(self, upto):
        """How many commands have replied, and how many were started."""
        kinds = [e[0] for e in self.events[:upto]]
        return kinds.count("reply"), kinds.count("begin")

    # --- choices ---

    def strict(self, upto, chance):
        """Endless choices of durable events: sets of events, and torn writes. The simplest come first."""
        loose, _ = self.pending(upto)
        cache = [i for i in loose if self.events[i][1] in self.cached and self.events[i][0] in DATA]
        rest = [i for i in loose if i not in set(cache)]
        names = [i for i in rest if self.events[i][0] in NAMES]
        data = [i for i in rest if self.events[i][0] in DATA]
        yield set(), {}
        yield set(loose), {}
        yield set(names), {}
        yield set(data), {}
        yield set(rest), {}
        if len(rest) <= 6:
            for size in range(1, len(rest)):
                for some in itertools.combinations(rest, size):
                    yield set(some), {}
        else:
            for i in chance.sample(rest, min(len(rest), 40)):
                yield set(loose) - {i}, {}
                yield {i}, {}
        large = [i for i in rest if self.events[i][0] == "data" and len(self.events[i][3]) > SECTOR]
        while True:
            share = chance.choice((0.1, 0.5, 0.9))
            some = {i for i in rest if chance.random() < share}
            if chance.random() < 0.3:
                some |= {i for i in cache if chance.random() < share}
            torn = {}
            for i in large:
                if chance.random() < 0.5:
                    some.add(i)
                    torn[i] = chance.getrandbits(32)
            yield some, torn

    def ext4(self, upto, chance):
        loose, last = self.pending(upto)
        ordered = [i for i in loose if self.events[i][0] in NAMES]
        files = {}
        for i in loose:
            if self.events[i][0] in DATA:
                files.setdefault(self.events[i][1], []).append(i)
        forced = {i for i in ordered if i < last}
        free = [i for i in ordered if i >= last]
        while True:
            some = forced | set(free[:chance.randint(0, len(free))])
            torn = {}
            for writes in files.values():
                keep = chance.choice((0, len(writes), chance.randint(0, len(writes))))
                some |= set(writes[:keep])
                if keep and chance.random() < 0.5 and self.events[writes[keep - 1]][0] == "data":
                    torn[writes[keep - 1]] = -chance.randint(0, len(self.events[writes[keep - 1]][3]) // PAGE)
            yield some, torn

    # --- states ---

    def tear(self, event, how):
        """The pieces of a write that became durable: pages up to one, or some of its sectors."""
        _, _, offset, data = event
        if how <= 0:
            end = (offset // PAGE - how) * PAGE - offset
            return [(offset, data[:max(end, 0)])] if end > 0 else []
        chance, pieces, at = random.Random(how), [], 0
        share = chance.choice((0.2, 0.5, 0.8))
        while at < len(data):
            size = min(SECTOR - (offset + at) % SECTOR, len(data) - at)
            if chance.random() < share:
                pieces.append((offset + at, data[at:at + size]))
            at += size
        return pieces

    def build(self, upto, some, torn):
        """The files, folders and hard links after a power loss that made these events durable."""
        loose = set(self.pending(upto)[0])
        names = {n: dict(f.names) for n, f in self.base.items() if f.names is not None}
        data = {n: f.data for n, f in self.base.items() if f.names is None}
        for i, e in enumerate(self.events[:upto]):
            if i in loose and i not in some:
                continue
            if e[0] == "data":
                pieces = self.tear(e, torn[i]) if i in torn else [(e[2], e[3])]
                for offset, piece in pieces:
                    old = data[e[1]]
                    if len(old) < offset:
                        old = bytes(old) + bytes(offset - len(old))
                    data[e[1]] = old[:offset] + piece + old[offset + len(piece):]
            elif e[0] == "size":
                old = data[e[1]]
                data[e[1]] = old[:e[2]] if len(old) >= e[2] else bytes(old) + bytes(e[2] - len(old))
            elif e[0] == "entry":
                names[e[1]][e[2]] = e[3]
            elif e[0] == "gone" and names[e[1]].get(e[2]) == e[3]:
                del names[e[1]][e[2]]
            elif e[0] == "move":
                if names[e[1]].get(e[2]) == e[5]:
                    del names[e[1]][e[2]]
                names[e[3]][e[4]] = e[5]
        return names, data, {n: f.mode for n, f in self.base.items()}


def digest(state):
    names, data, _ = state
    h = hashlib.blake2b(digest_size=16)

    def walk(number, path):
        if number in names:
            h.update(f"d{path}\0".encode())
            for name in sorted(names[number]):
                walk(names[number][name], f"{path}/{name}")
        else:
            h.update(f"f{path}\0{len(data[number])}\0".encode())
            h.update(data[number])

    walk(0, "")
    return h.digest()


def write(state, root):
    """Makes a folder of a state; the folder must not exist."""
    names, data, modes = state
    made = {}

    def walk(number, path):
        if number in names:
            os.mkdir(path, 0o700)
            for name, child in names[number].items():
                walk(child, f"{path}/{name}")
        elif number in made:
            os.link(made[number], path)
        else:
            made[number] = path
            fd = os.open(path, os.O_WRONLY | os.O_CREAT, modes[number])
            os.write(fd, data[number]) if data[number] else None
            os.close(fd)

    walk(0, root)
