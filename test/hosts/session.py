"""Drives a host through its sessions against the stand-in model, and checks the input of the model."""
import json
import os
import pathlib
import subprocess

from model import Model

TASK = "Fix the parser"
BRIEF = "Your task: "
ANSWER = '{"success":true'  # how our tool's answer begins
MAIL = "the printer is on fire"


class Session:
    """A home, a repository with one task, and the host that works there."""

    def __init__(self, host, folder, programs):
        self.host, self.model, self.hooks = host, None, []
        self.home, self.project = pathlib.Path(folder) / "home", pathlib.Path(folder) / "project"
        for path in (self.home, self.project):
            path.mkdir(parents=True)
        self.env = {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]]), "HOME": str(self.home), "LANG": "C.UTF-8",
                    "TERM": "dumb", "NO_COLOR": "1", "ABACUS_AUTOSYNC": "0"}
        self.mailed = None
        for words in ("init -q -b main", "config user.name x", "config user.email x@example.org",
                      "commit -q --allow-empty -m one"):
            self.run("git", *words.split())
        self.run("abacus", "init")
        self.bead = json.loads(self.run("bd", "create", TASK, "--json"))["id"]

    def run(self, *words):
        done = subprocess.run(words, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    # what is installed

    def ours(self):
        """The files that the installers change, with their bytes; absent ones are None."""
        shown = json.loads(self.run("abacus", "install", self.host.name, self.host.mcp, "--json"))
        paths = [self.host.files, [one["path"] for one in shown], self.hooks]
        found = {self.project / name for group in paths for name in group}
        return {str(p): p.read_bytes() if p.exists() else None for p in found}

    def install(self):
        for name, text in self.host.files.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        self.host.set_up(self.home, self.project, self.model.url)
        before = {str(p): p.read_bytes() for root in (self.home, self.project) for p in root.rglob("*")
                  if p.is_file() and ".git/" not in str(p)}
        self.run("abacus", "install", self.host.name, self.host.mcp, "--write")
        done = json.loads(self.run("vybe", "hook", "install", f"--{self.host.name}", self.host.hooks))
        self.hooks = [done["data"][self.host.name]["path"]]
        self.before = {path: before.get(path) for path in self.ours()}
        assert self.ours() != self.before

    def uninstall(self):
        """Every byte is restored."""
        self.run("vybe", "hook", "uninstall", f"--{self.host.name}", self.host.hooks)
        self.run("abacus", "install", self.host.name, self.host.mcp, "--remove")
        after = self.ours()
        assert after == self.before, [p for p in after if after[p] != self.before[p]]

    # what the model is told

    def ask(self, prompt, *steps, again=False, said="done", **script):
        """The requests of the conversation that one prompt caused."""
        self.model.play(*steps, **script)
        self.host.ask(prompt, self.env, self.project, self.model.url, again, said)
        return self.model.turns

    def agents(self):
        """The agents of the sessions so far, the last one first."""
        events = json.loads(self.run("vybe", "events", "list", "--all"))["data"]["events"]
        names = [e["agent_name"] for e in events if e["kind"] in ("session_start", "user_prompt")]
        return list(dict.fromkeys(names))

    def mail(self, number):
        """Another agent writes to this session while the model thinks."""
        if number or self.mailed:
            return
        self.mailed = self.agents()[0]
        for name in (self.mailed, "boss"):
            self.run("bb", "agent", "register", "--name", name, "--role", "worker")
        self.run("bb", "agent", "send", "--from", "boss", "--to", self.mailed, "--bead", self.bead, "--category", "INFO",
                 "--subject", "smoke", "--body", MAIL)

    def read_mail(self):
        inbox = json.loads(self.run("bb", "agent", "inbox", "--agent", self.mailed, "--json"))["data"]
        for message in inbox["messages"] if isinstance(inbox, dict) else inbox:
            self.run("bb", "agent", "read", "--agent", self.mailed, "--message", message["message_id"])


def counts(requests, text):
    return [request.text.count(text) for request in requests]


def check_first(s):
    """The first request has the start prompt once, it stays, our tool answers, and mail arrives once."""
    turns = s.ask("hello", ("bd_ready", {}), ("bd_ready", {}), before=s.mail)
    assert len(turns) == 3 and TASK in turns[0].text
    assert counts(turns, BRIEF) == [1, 1, 1], counts(turns, BRIEF)
    assert [ANSWER in r.text.replace("\\", "") for r in turns] == [False, True, True], "the tool did not answer"
    assert counts(turns, MAIL) == ([0, 1, 1] if s.host.hears_tools else [0, 0, 0]), counts(turns, MAIL)
    assert [name.startswith(s.host.name + "-") for name in s.agents()] == [True]


def check_resumed(s):
    """The session continues: the start prompt is there, and mail that was read is not shown again."""
    if s.host.hears_tools:
        s.read_mail()
    turns = s.ask("go on", ("bd_ready", {}), again=True)
    assert min(counts(turns, BRIEF)) >= 1, counts(turns, BRIEF)
    assert set(counts(turns, MAIL)) == {s.host.copies if s.host.hears_tools else 1}, counts(turns, MAIL)
    assert len(s.agents()) == 1, s.agents()
    if not s.host.hears_tools:
        s.read_mail()


def check_second(s):
    """Another session is another agent, with the start prompt in its first request."""
    turns = s.ask("hello again", ("bd_ready", {}))
    assert counts(turns, BRIEF) == [1, 1] and len(s.agents()) == 2


def check_compacted(s):
    """After a compaction the session has the start prompt again."""
    if s.host.compact:
        s.ask(s.host.compact, again=True, said="")
    else:
        s.ask("much", ("bd_ready", {}), ("bd_ready", {}), again=True, tokens=s.host.full)
    asked = s.model.requests
    summaries = [i for i, r in enumerate(asked) if r.is_summary or (not r.is_turn and i)]
    assert summaries, "the context was not compacted"
    turns = [r for r in asked[summaries[-1] + 1:] if r.is_turn]
    if turns and s.host.hears_tools:
        assert counts(turns, BRIEF)[-1] >= 1, counts(turns, BRIEF)
    turns = s.ask("what now?", ("bd_ready", {}), again=True)
    assert min(counts(turns, BRIEF)) >= 1, counts(turns, BRIEF)


def check_listed(s):
    """An entry of the host's own task list becomes a bead below the agent's task, and closes with it."""
    s.run("bd", "config", "set", "hosts.tasks", "true")
    s.ask("plan", ("TaskCreate", {"subject": "Write the lexer", "description": "by hand"}),
          ("TaskUpdate", {"taskId": "1", "status": "in_progress"}), ("TaskUpdate", {"taskId": "1", "status": "completed"}))
    s.run("bd", "config", "unset", "hosts.tasks")
    below = json.loads(s.run("bd", "list", "--all", "--parent", s.bead, "--json"))
    assert [(one["title"], one["status"]) for one in below] == [("Write the lexer", "closed")], below


def check_guarded(s):
    """A file that another agent has reserved is not written, and the model reads why; if the reservations cannot be read, it
    is. Last, because it damages a store."""
    taken, free = s.project / "taken.txt", s.project / "free.txt"
    s.run("bb", "agent", "register", "--name", "holder", "--role", "worker", "--force-update")
    s.run("bb", "agent", "reserve", "--agent", "holder", "--scope", "taken.txt", "--bead", s.bead)
    turns = s.ask("write", s.host.writes(taken, "x"), s.host.writes(free, "y"))
    assert not taken.exists() and free.read_text() == "y", "a reserved file was written, or a free one was not"
    reason = f"is reserved by agent holder for {s.bead}"
    assert counts(turns, reason)[:1] == [0] and min(counts(turns, reason)[1:]) >= 1, counts(turns, reason)
    for path in (s.project / ".beadboard/agent/reservations").iterdir():
        path.write_bytes(b"\xff damaged {")
    s.ask("write again", s.host.writes(taken, "z"))
    assert taken.read_text() == "z", "a damaged store stopped the write"


CHECKS = {"first": check_first, "resumed": check_resumed, "second": check_second, "compacted": check_compacted,
          "listed": check_listed, "guarded": check_guarded}


def applies(name, host):
    """Whether the host has what the check is about."""
    return {"listed": host.lists, "guarded": bool(host.write)}.get(name, True)


def verify(host, folder, programs, report=lambda name: None, only=CHECKS):
    """Runs the checks that apply to the host, and reports each; the first that fails raises AssertionError."""
    session = Session(host, folder, programs)
    with Model() as session.model:
        session.install()
        for name in (name for name in only if applies(name, host)):
            CHECKS[name](session)
            report(name)
        session.uninstall()
        report("uninstalled")
