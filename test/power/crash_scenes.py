"""The commands whose power losses are tried: every one that writes, in short chains.

A scene is a function that prepares a world, untraced and durable, and returns its steps. A step is a
command line; `{}` in it is replaced by what an earlier command printed (`keep`).
"""
import json
import os
import pathlib
import re
import subprocess

SCENES, SHARE = {}, {}


def scene(function=None, share=1):
    """`share`: of the states that are tried; small where a state takes long to open, large where it does not."""
    if not function:
        return lambda function: scene(function, share)
    name = function.__name__.replace("_", "-")
    SCENES[name], SHARE[name] = function, share
    return function


class Step:
    """One command. `id`: the request id, with which a repeat has to give the same reply."""

    def __init__(self, program, *args, id=None, cwd="proj", minute=None, code=0, again=0, checks=True, parts=False,
                 edits=False, said=""):
        self.program, self.args, self.cwd, self.id = program, [str(a) for a in args], cwd, id
        self.minute, self.code = minute, code
        self.again = again    # exit status of the repeated command, if it was in progress; None: any
        self.checks = checks  # does a repeat give the same stores as the first run?
        self.parts = parts    # several changes, each of which is whole; a repeat makes the rest of them
        self.edits = edits    # does Git itself write the user's files, which it does not sync?
        self.said = said      # standard input

    def argv(self, build):
        args = self.args + (["--request-id", self.id] if self.id else [])
        directory = "libexec" if self.program == "abacus-sync" else "bin"
        return [str(build / directory / self.program), *args]

    def __str__(self):
        return " ".join([self.program, *self.args])


def bd(*args, **kw):
    return Step("bd", *args, "--json", id=kw.pop("id", "q-" + re.sub(r"\W+", "-", "-".join(map(str, args)))[:60]), **kw)


def bb(*args, **kw):
    return Step("bb", "--as", "kim", *args, "--json", id=kw.pop("id", "q-" + re.sub(r"\W+", "-", "-".join(args))[:60]), **kw)


def agent(*args, **kw):
    return Step("bb", "agent", *args, "--json", **kw)


def vybe(*args, **kw):
    return Step("vybe", *args, "--agent", "amber-otter",
                id=kw.pop("id", "q-" + re.sub(r"\W+", "-", "-".join(map(str, args)))[:60]), **kw)


def abacus(*args, **kw):
    return Step("abacus", *args, "--json", **kw)


def sync(**kw):
    return Step("bd", "sync", "--json", **kw)


# --- worlds ---

class World:
    """A folder with a project, its folder remote and, where a scene needs it, a second clone."""

    def __init__(self, path, build):
        self.path, self.build = pathlib.Path(path), build

    def env(self, minute=0, **more):
        keep = {k: os.environ[k] for k in ("PATH", "TMPDIR", "LANG") if k in os.environ}
        return {**keep, "HOME": str(self.path / "home"), "ABACUS_AUTOSYNC": "0", "BD_ACTOR": "anna", "VYBE_AGENT": "amber-otter",
                "ABACUS_NOW": str(1767225600000 + int(minute * 60000)), **more}

    def do(self, *steps, **env):
        for step in steps:
            done = subprocess.run(step.argv(self.build), cwd=self.path / step.cwd, input=step.said.encode(),
                                  capture_output=True, env=self.env(step.minute or 0, **env), timeout=60)
            assert done.returncode == step.code, f"{step}: {done.stdout.decode()}{done.stderr.decode()}"
        return done.stdout.decode()

    def git(self, cwd, *args):
        subprocess.run(["git", *args], cwd=self.path / cwd, check=True, capture_output=True,
                       env=self.env(GIT_TEMPLATE_DIR=""))

    def repository(self, name):
        (self.path / name).mkdir(parents=True)
        self.git(name, "init", "-q", "--template=", "-b", "main")
        self.git(name, "remote", "add", "origin", "../remote.git")

    def clone(self, name="other"):
        self.repository(name)
        self.do(Step("bd", "init", "--json", cwd=name))

    def damage(self, pattern, change):
        """Changes the bytes of the last file with such a name."""
        path = max(self.path.glob(pattern))
        path.write_bytes(change(path.read_bytes()))


class NoWorld(World):
    """For listing the steps of a scene without preparing it: runs nothing."""

    def __init__(self, path):
        super().__init__(path, None)
        (self.path / "proj").mkdir(parents=True)

    def do(self, *steps, **env):
        return ""

    git = repository = damage = lambda self, *args, **kw: None


def empty(world):
    (world.path / "home").mkdir()
    world.repository("proj")
    (world.path / "remote.git").mkdir()
    world.git("remote.git", "init", "-q", "--bare", "--template=", "-b", "main")


def beads(world):
    """Five published beads, and one that is not."""
    empty(world)
    world.do(Step("bd", "init", "--prefix", "w", "--json"))
    for id, title in (("w-a", "first"), ("w-b", "second"), ("w-c", "third"), ("w-d", "fourth"), ("w-e", "fifth")):
        world.do(bd("create", title, "--id", id, "-d", "text " * 8))
    world.do(bd("dep", "add", "w-b", "w-a"), sync(), bd("create", "not published", "--id", "w-f"))


def agents(world):
    empty(world)
    world.do(Step("bb", "init", "--json"))
    for name in ("amber-otter", "blue-heron"):
        world.do(agent("register", "--name", name, "--role", "ui"))
    world.do(agent("send", "--from", "blue-heron", "--to", "amber-otter", "--bead", "b1", "--category", "HANDOFF",
                   "--subject", "one", "--body", "text"),
             agent("reserve", "--agent", "blue-heron", "--scope", "lib/*", "--bead", "b1"))


def board(world):
    empty(world)
    world.do(Step("bb", "init", "--json"), bb("post", "hello", "--tag", "tag"))
    (world.path / "proj/file.txt").write_text("x")


def continuity(world):
    beads(world)
    world.do(vybe("task", "create", "--title", "task one"), vybe("memory", "set", "--key", "k", "--value", "v"))


# --- beads ---

@scene
def bd_create(world):
    beads(world)
    plan = world.path / "proj/plan.md"
    plan.write_text("## One\n\ntext\n\n## Two\n\ntext\n")
    return [bd("create", "new", "--id", "w-n1", "-d", "long " * 400, "-l", "a,b"),
            bd("create", "child", "--id", "w-n2", "--parent", "w-a", "--deps", "w-b"),
            bd("create", "--file", "plan.md")]


@scene
def bd_update(world):
    beads(world)
    return [bd("update", "w-a", "--title", "first of all", "-p", "0", "--description", "other " * 300),
            bd("update", "w-b", "w-c", "--add-label", "two"),
            bd("defer", "w-d", "--until", "2027-01-01"), bd("undefer", "w-d"),
            bd("update", "w-d", "--add-touches", "src/x.c")]


@scene
def bd_claims(world):
    beads(world)
    return [bd("claim", "w-a"), bd("renew", "w-a", "--lease", "2h"), bd("unclaim", "w-a"), bd("ready", "--claim"),
            bd("close", "w-a", "--reason", "done", "--claim-next"), bd("reclaim", minute=600)]


@scene
def bd_close(world):
    beads(world)
    return [bd("close", "w-c", "w-d", "--reason", "done", "--note", "that is all"), bd("reopen", "w-c"),
            bd("delete", "w-e", "--force"), bd("undelete", "w-e"), bd("undo")]


@scene
def bd_words(world):
    beads(world)
    return [bd("comment", "w-a", "a comment " * 60), bd("label", "add", "w-a", "red"), bd("label", "remove", "w-a", "red"),
            bd("dep", "add", "w-d", "w-c"), bd("dep", "remove", "w-d", "w-c")]


@scene
def bd_others(world):
    beads(world)
    world.do(bd("create", "epic", "--id", "w-x", "-t", "epic"), bd("create", "part", "--id", "w-y", "--parent", "w-x"),
             bd("close", "w-y", "--reason", "r"))
    return [bd("epic", "close-eligible"), bd("supersede", "w-d", "--with", "w-c"), bd("duplicate", "w-e", "--of", "w-a"),
            Step("bd", "remember", "a fact", "--key", "k1", "--json", checks=False),
            Step("bd", "forget", "k1", "--json", again=None, checks=False)]


@scene
def bd_config(world):
    beads(world)
    return [bd("config", "set", "claim.lease", "2h"), bd("config", "unset", "claim.lease"),
            abacus("slots", "set", "build", "2"), bd("config", "set", "mirror.beads", "true"), bd("comment", "w-a", "mirrored")]


@scene
def bd_init(world):
    empty(world)
    return [Step("bd", "init", "--prefix", "w", "--json"), bd("create", "new", "--id", "w-n1")]


@scene
def bd_init_workspace(world):
    empty(world)
    return [Step("bd", "init", "--prefix", "w", "--store", "workspace", "--json"), bd("create", "new", "--id", "w-n1")]


@scene
def bd_import(world):
    beads(world)
    lines = [json.dumps({"id": f"w-i{n}", "title": f"imported {n}", "status": "open", "priority": 1, "issue_type": "task",
                         "created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-01T00:00:00Z"}) for n in range(12)]
    (world.path / "proj/issues.jsonl").write_text("\n".join(lines) + "\n")
    return [Step("bd", "import", "issues.jsonl", "--json"), bd("comment", "w-i3", "after")]


@scene
def lost_cache(world):
    """The first write after the cache was lost builds it again."""
    beads(world)
    for file in (world.path / "proj/.git/abacus").glob("cache.db*"):
        file.unlink()
    return [bd("comment", "w-a", "one"), bd("comment", "w-a", "two")]


@scene(share=0.3)
def journal_cut_by_writer(world):
    """The next write makes the journal large enough to be cut."""
    beads(world)
    text = "x" * 200000
    for n in range(5):
        world.do(bd("comment", "w-a", f"{n} {text[:105000]}", id=f"fill{n}"), bd("comment", "w-b", f"{n} {text[:105000]}", id=f"fill-{n}"))
    return [bd("comment", "w-c", "cut " + text[:20000]), bd("comment", "w-c", "after")]


@scene(share=0.3)
def journal_cut_by_sync(world):
    beads(world)
    for n in range(3):
        world.do(bd("comment", "w-a", f"{n} " + "x" * 100000, id=f"fill{n}"))
    return [sync(), bd("comment", "w-c", "after"), sync()]


@scene
def bd_repair(world):
    """The last record of the journal is damaged, so that a repair has something to do."""
    beads(world)
    world.do(bd("comment", "w-a", "one"), bd("comment", "w-a", "two"))
    world.damage("proj/.git/abacus/journal.*", lambda text: b"?ne".join(text.rsplit(b"one", 1)))
    return [Step("bd", "repair", "--apply", "--json", parts=True), bd("comment", "w-b", "after")]


@scene
def bd_doctor(world):
    """The same damage, for the doctor; and an undo of the last write."""
    bd_repair(world)
    return [Step("bd", "doctor", "--fix", "--json", parts=True), bd("update", "w-b", "-p", "1"), bd("undo", id="undo")]


# --- sync ---

@scene(share=0.6)
def sync_first(world):
    empty(world)
    world.do(Step("bd", "init", "--prefix", "w", "--json"), bd("create", "one", "--id", "w-a"))
    return [sync(), bd("create", "two", "--id", "w-b"), sync()]


@scene(share=0.6)
def sync_push(world):
    beads(world)
    return [bd("create", "new", "--id", "w-n1"), sync(), bd("close", "w-n1", "--reason", "r"), sync()]


@scene(share=0.6)
def sync_both(world):
    """Both clones have changed; the other one fetches, merges and pushes."""
    beads(world)
    world.clone()
    world.do(bd("create", "theirs", "--id", "w-t1", cwd="other"), bd("update", "w-a", "--title", "theirs", cwd="other"),
             sync(cwd="other"))
    return [bd("update", "w-a", "--title", "ours", minute=5), sync(), bd("close", "w-t1", "--reason", "r"), sync()]


@scene(share=0.6)
def sync_join(world):
    """A new clone fetches a store that exists."""
    beads(world)
    world.do(sync())
    (world.path / "proj").rename(world.path / "first")
    world.repository("proj")
    return [Step("bd", "init", "--json"), bd("create", "new", "--id", "w-n1"), sync()]


@scene(share=0.3)
def sync_pack(world):
    """Enough commits for a pack."""
    beads(world)
    for n in range(66):
        world.do(bd("comment", "w-a", f"{n}", id=f"n{n}"), sync(), )
    return [Step("abacus-sync", "pack", str(world.path / "proj/.git"), again=None), bd("create", "new", "--id", "w-n1"), sync()]


@scene(share=0.6)
def exclusive(world):
    beads(world)
    world.do(sync())
    return [bd("claim", "w-a", "--exclusive"), bd("ready", "--claim", "--exclusive")]


# --- the store's place ---

@scene
def move_store(world):
    continuity(world)
    return [abacus("move-store", "workspace", again=None), bd("comment", "w-a", "in the workspace"),
            abacus("move-store", "git", again=None), bd("comment", "w-a", "back")]


@scene(share=2.5)
def abacus_init(world):
    empty(world)
    return [abacus("init"), bb("post", "hello")]


def committed(world):
    """Beads, and a branch with one commit."""
    beads(world)
    (world.path / "proj/file.txt").write_text("x")
    world.git("proj", "add", "file.txt")
    world.git("proj", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")


@scene
def abacus_work(world):
    committed(world)
    (world.path / "proj/message").write_text("a commit\n")
    return [abacus("work", "w-a", again=None, checks=False, edits=True),
            Step("abacus", "work", "trailer", "message"),
            abacus("work", "stop", again=None, checks=False, edits=True)]


@scene
def abacus_work_done(world):
    committed(world)
    return [abacus("work", "w-c", again=None, checks=False, edits=True),
            abacus("work", "done", "--reason", "r", again=None, checks=False, edits=True)]


@scene(share=2.5)
def abacus_on(world):
    """Rules belong to a path, so that a repeat in another folder makes another rule."""
    beads(world)
    return [abacus("on", "bead.created", "--", "true", checks=False), abacus("on", "mail", "--", "false", checks=False),
            abacus("on", "--remove", "1", again=None, checks=False)]


@scene
def abacus_run(world):
    beads(world)
    world.do(abacus("slots", "set", "build", "2"))
    return [Step("abacus", "run", "--need", "build:1", "--", "true"), abacus("slots", "set", "build", "3"),
            abacus("slots", "set", "other", "1")]


@scene(share=2.5)
def installers(world):
    beads(world)
    (world.path / "proj/.mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}\n')
    return [abacus("install", "claude", "--write"), Step("vybe", "hook", "install", "--claude", "--project"),
            Step("vybe", "hook", "uninstall", "--claude", "--project"), agent("guard", "install"), agent("guard", "uninstall")]


@scene(share=2.5)
def installers_of_bd(world):
    """What the set-up of upstream's bd writes, and its Git hooks and merge driver."""
    beads(world)
    lines = {name: json.dumps({"id": "w-u1", "title": name, "status": "open", "priority": 1, "issue_type": "task",
                               "created_at": "2025-01-01T00:00:00Z", "updated_at": f"2025-01-0{n}T00:00:00Z"}) + "\n"
             for n, name in enumerate(("base", "ours", "theirs"), 1)}
    (world.path / "proj/.beads").mkdir()
    for name, line in lines.items():
        (world.path / "proj" / name).write_text(line)
    (world.path / "proj/.beads/issues.jsonl").write_text(lines["ours"])
    return [Step("bd", "setup", "claude", "--project", "--json"), Step("bd", "setup", "claude", "--project", "--remove", "--json"),
            Step("bd", "hooks", "install", "--json"), Step("bd", "hook", "post-merge", "0", "--json"),
            Step("bd", "hooks", "uninstall", "--json"), Step("bd", "merge", "ours", "base", "ours", "theirs", "--json"),
            Step("bb", "install", "claude", "--write", "--json"), Step("bb", "install", "claude", "--remove", "--json")]


@scene
def host_hooks(world):
    """A session of a host: it starts, edits a file that is then reserved, and ends."""
    continuity(world)
    world.do(bd("config", "set", "guard.auto", "true"), Step("bb", "init", "--json"))

    def hook(event, **more):
        said = {"hook_event_name": event, "session_id": "s1", "cwd": str(world.path / "proj"), **more}
        return Step("vybe", "hook", "handle", "--host", "claude", said=json.dumps(said), parts=True, again=None, checks=False)
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(world.path / "proj/file.txt")}}
    return [hook("SessionStart", source="startup"), hook("UserPromptSubmit", prompt="do it"), hook("PreToolUse", **edit),
            hook("PostToolUse", **edit), hook("SessionEnd", reason="exit")]


@scene
def vybe_loop(world):
    continuity(world)
    return [Step("vybe", "loop", "--max-tasks", "2", "--cooldown", "0s", "--command", "true", "--agent", "amber-otter",
                 "--request-id", "loop", parts=True, again=None, checks=False)]


@scene(share=2.5)
def doctor_fix(world):
    """A torn snapshot and a torn last line are what the doctor repairs."""
    agents(world)
    world.damage("proj/.beadboard/agent/reservations/history.jsonl", lambda text: text + b'{"torn')
    return [abacus("doctor", "--fix"), agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "b1")]


# --- board ---

@scene(share=2.5)
def board_init(world):
    empty(world)
    return [Step("bb", "init", "--json"), bb("post", "first")]


@scene(share=2.5)
def board_posts(world):
    board(world)
    return [bb("post", "long " * 500, "--ref", "bd:bead:w-a"), bb("post", "reply", "--reply-to", "1"),
            bb("status", "set", "task", "--status", "blocked", "--blockers", "x"), bb("status", "clear"),
            bb("artifact", "add", "file.txt", "text")]


@scene(share=2.5)
def board_clear(world):
    board(world)
    for n in range(6):
        world.do(bb("post", f"message {n}", id=f"p{n}"))
    return [bb("clear", "--messages-before", "30m", "--confirm", minute=60), bb("post", "after", minute=61)]


@scene(share=0.3)
def board_log_written_back(world):
    """Enough posts that SQLite writes its log back into the database."""
    board(world)
    for n in range(120):
        world.do(bb("post", f"{n} " + "y" * 9000, id=f"p{n}"))
    return [bb("post", f"more {n} " + "z" * 60000, id=f"m{n}") for n in range(4)]


@scene(share=2.5)
def board_destroy(world):
    board(world)
    return [Step("bb", "destroy", "--confirm", "--json", again=None)]


# --- agents ---

@scene(share=2.5)
def agent_register(world):
    empty(world)
    return [agent("register", "--name", "amber-otter", "--role", "ui", again=None),
            Step("bb-init", "--register", "blue-heron", "--role", "ui", again=None),
            agent("heartbeat", "--agent", "amber-otter")]


@scene(share=2.5)
def agent_init(world):
    agents(world)
    return [agent("init", "--register", "calm-newt", "--role", "ui", "--non-interactive", again=None),
            agent("init", "--non-interactive", checks=False)]


@scene(share=2.5)
def agent_mail(world):
    agents(world)
    return [agent("send", "--from", "amber-otter", "--to", "blue-heron", "--bead", "b1", "--category", "BLOCKED", "--subject",
                  "two", "--body", "long " * 300, id="m1"),
            agent("send", "--from", "blue-heron", "--to", "broadcast", "--bead", "b1", "--category", "INFO", "--subject", "all",
                  "--body", "b", id="m2"),
            agent("read", "--agent", "blue-heron", again=None), agent("ack", "--agent", "amber-otter", again=None)]


@scene(share=2.5)
def agent_reserve(world):
    agents(world)
    return [agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "b1"),
            agent("reserve", "--agent", "amber-otter", "--scope", "lib/x.c", "--bead", "b1"),
            agent("release", "--agent", "amber-otter", "--scope", "src/*", again=None),
            agent("reserve", "--agent", "amber-otter", "--scope", "lib/*", "--bead", "b1", "--takeover-stale", minute=600)]


# --- continuity ---

@scene
def vybe_tasks(world):
    continuity(world)
    return [vybe("task", "create", "--title", "task two"), vybe("task", "begin", "--id", "w-a"),
            vybe("task", "set-priority", "--id", "w-a", "--priority", "2"),
            vybe("task", "complete", "--id", "w-a", "--outcome", "done", "--summary", "all done")]


@scene
def vybe_edges(world):
    continuity(world)
    return [vybe("task", "add-dep", "--id", "w-d", "--depends-on", "w-c"),
            vybe("task", "remove-dep", "--id", "w-d", "--depends-on", "w-c"),
            vybe("task", "set-status", "--id", "w-c", "--status", "completed"), vybe("task", "delete", "--id", "w-e")]


@scene
def vybe_memory(world):
    continuity(world)
    return [vybe("memory", "set", "--key", "k2", "--value", "v " * 600, "--expires-in", "1h"),
            vybe("memory", "pin", "--key", "k"), vybe("memory", "delete", "--key", "k"),
            vybe("memory", "gc", minute=600)]


@scene
def vybe_push_resume(world):
    continuity(world)
    push = {"task_id": "w-b", "event": {"kind": "progress", "message": "text"},
            "memories": [{"key": "key", "value": "value", "scope": "task", "scope_id": "w-b"}]}
    return [vybe("push", "--json", json.dumps(push), id="push"), vybe("resume"), vybe("resume", id="second")]


@scene
def vybe_first(world):
    """The first write of continuity makes its database."""
    beads(world)
    return [vybe("memory", "set", "--key", "k", "--value", "v"), vybe("resume")]


# --- sharing ---

@scene(share=0.6)
def share_on(world):
    agents(world)
    world.do(Step("bd", "init", "--prefix", "w", "--json"), bd("create", "one", "--id", "w-b1"))
    return [abacus("share", "on", parts=True), abacus("machines", "rename", "laptop", parts=True), sync(parts=True),
            agent("send", "--from", "amber-otter", "--to", "blue-heron", "--bead", "w-b1", "--category", "INFO", "--subject", "s",
                  "--body", "b", id="m1"), sync(parts=True), abacus("share", "off")]


@scene(share=0.6)
def share_take(world):
    """Mail, a reservation, a post and a memory of another machine arrive."""
    agents(world)
    world.do(Step("bd", "init", "--prefix", "w", "--json"), bd("create", "one", "--id", "w-b1"), abacus("share", "on"),
             abacus("machines", "rename", "laptop"), sync())
    world.repository("other")
    world.do(Step("bb", "init", "--json", cwd="other"), Step("bd", "init", "--json", cwd="other"),
             abacus("share", "on", cwd="other"), abacus("machines", "rename", "office", cwd="other"), sync(cwd="other"),
             agent("register", "--name", "bold-fox", "--role", "ui", cwd="other"),
             agent("send", "--from", "bold-fox", "--to", "amber-otter", "--bead", "w-b1", "--category", "INFO", "--subject", "far",
                   "--body", "b", cwd="other"),
             agent("reserve", "--agent", "bold-fox", "--scope", "web/*", "--bead", "w-b1", cwd="other"),
             bb("post", "far", cwd="other"), sync(cwd="other"))
    return [sync(parts=True), agent("reserve", "--agent", "amber-otter", "--scope", "doc/*", "--bead", "w-b1", "--exclusive",
                                      checks=False),  # the repeat may get the next epoch
            abacus("machines", "trust", "office", again=None), abacus("machines", "forget", "office", again=None, checks=False)]


# --- which commands are covered ---

FACES = {"bead": ["bd"], "upstream": ["bd"], "board": ["bb"], "agent": ["bb", "agent"], "vybe": ["vybe"], "project": ["abacus"]}


def words(operation):
    """The command line that runs an operation."""
    first, *rest = operation.split()
    return FACES[first] + rest if first in FACES else ["abacus", first, *rest]


def covered(folder, operations):
    """The operations that are steps of a scene; the folder is for what scenes write by themselves."""
    found, lines = set(), {tuple(words(o)): o for o in operations}
    for name, function in SCENES.items():
        for step in function(NoWorld(folder / name)):
            line = [w for w in [step.program, *step.args] if w not in ("--as", "kim")]
            found |= {lines[tuple(line[:n])] for n in range(len(line) + 1) if tuple(line[:n]) in lines}
    return found
