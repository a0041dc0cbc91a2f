"""The expected final state of several machines that share, computed from all facts that were ever published,
regardless of the order in which they arrived. A fact is the parsed line of a log, with "machine" added."""
import datetime
import hashlib


def order(fact):
    return fact["at"], fact["by"], fact["machine"]


def ms(text):
    if not text:
        return 0
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def subject(fact):
    """Facts about one subject are joined; a memory entry is set and deleted."""
    kind, data = fact["kind"], fact["data"]
    return (kind.split(".")[0] if kind.startswith("memory") else kind,
            *(data.get(name) for name in ("id", "agent", "path", "scope", "scope_id", "key")))


def of(facts, *kinds):
    return [f for f in facts if f["kind"] in kinds]


def name_of_machine(name, digits):
    """The new name of an agent, with digits of its machine's id; at most 48 characters."""
    if len(name) + 1 + len(digits) <= 48:
        return f"{name}-{digits}"
    head = name[:48 - 10 - len(digits)].removesuffix("-")
    return f"{head}-{hashlib.sha256(name.encode()).hexdigest()[:8]}-{digits}"


class Names:
    """The earliest registration of a name keeps it; the others get four digits of their machine's id behind it, or all
    sixteen if another machine's agent has that name. A name that was given belongs to its machine."""

    def __init__(self, facts):
        made, self.shown, self.owner, self.last, self.aliases = {}, {}, {}, {}, {}
        for f in sorted(of(facts, "agent.registered"), key=order):
            key = f["data"]["agent"], f["data"]["created"]
            if key not in made:
                made[key] = f["machine"]
            self.last[key] = f["data"]
        for (name, created), machine in sorted(made.items(), key=lambda item: len(item[0][0])):
            for digits in 4, 16:  # changed after it was renamed, under its new name
                same = name_of_machine(name, machine[:digits]), created
                if made.get(same) == machine:
                    del made[same]
                    self.last[name, created] = max(self.last[name, created], self.last.pop(same),
                                                   key=lambda data: data["_order"])
        self.name_all(made)

    def name_all(self, made):
        lists = {}
        for (name, created), machine in made.items():
            lists.setdefault(name, []).append((created, machine))
        ordered = sorted(lists, key=lambda name: (len(name), name))
        given = {}
        for name in ordered:
            for _, machine in sorted(lists[name]):
                for alias in (name_of_machine(name, machine[:digits]) for digits in (4, 16)):
                    if not alias.startswith(name):
                        given.setdefault(alias, machine)
        for name in ordered:
            kept = False
            for created, machine in sorted(lists[name]):
                self.owner.setdefault((name, machine), created)
                if not kept and given.get(name, machine) == machine:
                    kept, self.shown[name, created] = True, name
                    continue
                short, long = (name_of_machine(name, machine[:digits]) for digits in (4, 16))
                self.shown[name, created] = short if given.setdefault(short, machine) == machine else long
                for alias in short, self.shown[name, created]:
                    self.aliases.setdefault((alias, machine), self.shown[name, created])

    def of(self, machine, name, created=None):
        """The name of the agent that a machine calls so."""
        created = created or self.owner.get((name, machine))
        return self.shown.get((name, created), self.aliases.get((name, machine), name))

    def registry(self):
        return {shown: (self.last[key]["role"], key[1]) for key, shown in self.shown.items()}


def messages(facts, names):
    found = {}
    for f in of(facts, "message.sent"):
        data = f["data"]
        read, acked = ([x["data"]["when"] for x in of(facts, kind) if x["data"]["id"] == data["id"]]
                       for kind in ("message.read", "message.acked"))
        assert data["id"] not in found, "a message was sent twice"
        found[data["id"]] = (names.of(f["machine"], data["from"]),
                             names.of(f["machine"], data["to"], data.get("to_registered")), data["body"],
                             "acked" if acked else "read" if read else "unread", min(read + acked, default=0),
                             min(acked, default=0))
    return found


def overlap(a, b):
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def reservations(facts, names, now):
    """The reservations that hold: the earliest of those that overlap across machines."""
    made = {}
    for f in sorted(of(facts, "reservation.made"), key=order):
        one = made.setdefault(f["data"]["id"], {"at": (f["at"], f["machine"], f["data"]["id"]), "machine": f["machine"]})
        one.update(agent=names.of(f["machine"], f["data"]["agent"]), scope=f["data"]["scope"],
                   expires=f["data"]["expires"], epoch=f["data"]["epoch"])
    ended = {f["data"]["id"] for f in of(facts, "reservation.released", "reservation.expired")}
    ended |= {f["data"]["takes"] for f in of(facts, "reservation.made") if "takes" in f["data"]}
    holds = []
    for id, one in sorted(made.items(), key=lambda item: item[1]["at"]):
        if id not in ended and one["expires"] > now and not any(
                other["machine"] != one["machine"] and other["agent"] != one["agent"] and
                overlap(other["scope"], one["scope"]) for other in holds):
            holds.append(one)
    return {(one["agent"], one["scope"], one["expires"]) for one in holds}


def registers(facts, kinds, key):
    """The last write of each register."""
    return {key(f): f for f in sorted(of(facts, *kinds), key=order)}


def memory(facts):
    last = registers(facts, ("memory.set", "memory.deleted"),
                     lambda f: (f["data"]["scope"], f["data"]["scope_id"], f["data"]["key"]))
    return {key[2]: f["data"]["value"] for key, f in last.items() if f["kind"] == "memory.set"}


def tasks(facts, names):
    """The task in each agent's status; the status itself becomes offline by time."""
    last = registers(facts, ("status",), lambda f: names.of(f["machine"], f["data"]["agent"]))
    return {agent: f["data"]["task"] for agent, f in last.items()}


def artifacts(facts):
    return {path: f["data"]["description"] for path, f in
            registers(facts, ("artifact",), lambda f: f["data"]["path"]).items()}


def posts(facts, names):
    """Every post with the text of the post it replies to."""
    text = {f"{f['machine']}:{f['data']['id']}": f["data"]["content"] for f in of(facts, "post")}
    return sorted((names.of(f["machine"], f["data"]["agent"]), f["data"]["content"],
                   text[f["data"]["reply"]] if "reply" in f["data"] else "") for f in of(facts, "post"))


def state(facts, now):
    for f in of(facts, "agent.registered"):
        f["data"]["_order"] = order(f)
    names = Names(facts)
    return {
        "registry": names.registry(),
        "messages": messages(facts, names),
        "reservations": reservations(facts, names, now),
        "memory": memory(facts),
        "tasks": tasks(facts, names),
        "artifacts": artifacts(facts),
        "posts": posts(facts, names),
        "events": sorted(f["data"]["id"] for f in of(facts, "event")),
        "task events": sorted(f["data"]["message"] for f in of(facts, "task.event")),
    }
