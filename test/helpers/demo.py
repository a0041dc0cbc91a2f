#!/usr/bin/env python3
"""A busy project to look at: 200 beads, 12 agents, mail, posts, reservations and memory of a day.

    test/helpers/demo.py FOLDER

Everything but the ids follows from the seed and the time of the call.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

BUILD = pathlib.Path(os.environ.get("ABACUS_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build")).resolve()
AGENTS = ("amber-otter", "cobalt-harbor", "silver-heron", "teal-finch", "crimson-fox", "indigo-lynx", "jade-falcon",
          "copper-wren", "violet-ibex", "ochre-badger", "slate-marten", "coral-kite")
ROLES = ("backend", "frontend", "docs", "tests", "backend", "infra", "frontend", "security", "data", "backend", "review", "release")
EPICS = (
    ("Checkout accepts SEPA and cards", "payments", ("Validate the IBAN while it is typed", "Retry a declined card once", "Show the mandate before confirming",
     "Store the mandate reference", "Refund partial amounts", "Reconcile the bank file every night", "Round amounts by currency", "Log the payment id with each request")),
    ("Search answers within 100 ms", "search", ("Index product titles by prefix", "Rank exact matches first", "Cache the last hundred queries", "Measure the slowest queries",
     "Drop the LIKE query from the catalogue", "Highlight the matched words", "Search in descriptions too", "Warm the index after a restart")),
    ("Accounts: sign in with a passkey", "accounts", ("Register a passkey in settings", "Fall back to a mail code", "Rename and remove passkeys", "Limit attempts per address",
     "Explain passkeys on the sign-in page", "Audit every new passkey", "Migrate the session table", "Expire old sessions")),
    ("Release 2.0", "release", ("Write the upgrade guide", "Freeze the public API", "Sign the packages", "Publish the changelog", "Test the upgrade from 1.8", "Announce the end of 1.x",
     "Update the screenshots", "Check the licences of all dependencies")),
    ("Nightly jobs never overlap", "infra", ("Take a lease before a job starts", "Alert when a job is late", "Record the duration of each job", "Stop a job that exceeds its limit",
     "Document how to run a job by hand", "Replace cron by the scheduler", "Back up before the migration", "Rotate the logs weekly")),
    ("Accessible forms", "frontend", ("Label every field", "Announce errors to screen readers", "Keep the focus after a failed submit", "Contrast of disabled buttons",
     "Keyboard order of the address form", "Respect reduced motion", "Test the forms at 200 % zoom", "Describe the password rules")),
)
BODY = """Customers see this **at least once a day**, mostly on slow connections.

## What to do

- reproduce it with `make demo` and the *slow* profile
- fix the cause in `src/{area}/{file}.c`, not the symptom
- add a test that failed before

```
GET /{area}/items?limit=50
500 Internal Server Error
```

> Reported by support, see the [ticket](https://example.com/t/{n}).
"""


class Demo:
    def __init__(self, path, now=None, program=BUILD / "bin/abacus"):
        self.path, self.program = pathlib.Path(path), str(program)
        self.now = int(now if now is not None else time.time() * 1000)
        self.random = random.Random(7)
        self.env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "ABACUS_AUTOSYNC": "0", "BD_ACTOR": "ada"}

    def git(self, *args):
        subprocess.run(["git", "-c", "user.name=ada", "-c", "user.email=ada@example.com", *args], cwd=self.path, check=True,
                       capture_output=True, env={**self.env, "GIT_CONFIG_NOSYSTEM": "1"})

    def commit(self, minutes, author, message):
        when = f"{(self.now - int(minutes * 60000)) // 1000} +0000"
        subprocess.run(["git", "-c", f"user.name={author}", "-c", f"user.email={author}@example.com", "commit", "-qam", message], cwd=self.path, check=True,
                       capture_output=True, env={**self.env, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when})

    def at(self, minutes, *calls):
        """Runs operations as if that many minutes ago; returns their data."""
        text = "".join(json.dumps({"op": op, "params": params}) + "\n" for op, params in calls)
        done = subprocess.run([self.program, "pipe"], input=text.encode(), capture_output=True, cwd=self.path, check=True,
                              env={**self.env, "ABACUS_NOW": str(self.now - int(minutes * 60000))})
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        for call, reply in zip(calls, replies):
            assert "data" in reply, (call, reply)
        return [reply["data"] for reply in replies]

    def make(self):
        self.path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "ada")
        self.git("config", "user.email", "ada@example.com")
        for _, area, _ in EPICS:
            (self.path / "src" / area).mkdir(parents=True)
            for name in ("main", "store", "view", "rules"):
                (self.path / "src" / area / f"{name}.c").write_text(f"/* {area} */\n")
        (self.path / "doc").mkdir()
        (self.path / "doc/guide.md").write_text("# Guide\n")
        self.git("add", ".")
        self.commit(1500, "ada", "The shop")
        subprocess.run([self.program, "init", "--as", "ada"], cwd=self.path, check=True, capture_output=True,
                       env={**self.env, "ABACUS_NOW": str(self.now - 1500 * 60000)})
        self.beads()
        self.links()
        self.agents()
        self.history()
        self.today()
        return self

    # --- beads ---

    def beads(self):
        made = self.at(1400, *(("bead create", {"title": title, "type": "epic", "priority": i % 3, "labels": [area], "agent": "ada",
                                                "description": f"Everything about {area} that has to be done before the release."})
                               for i, (title, area, _) in enumerate(EPICS)))
        self.epics = [bead["id"] for bead in made]
        calls = []
        for n in range(194):
            e = n % len(EPICS)
            _, area, titles = EPICS[e]
            title = titles[n // len(EPICS) % len(titles)]
            round_ = n // (len(EPICS) * 8)
            if round_:
                title = f"{title}, part {round_ + 1}"
            calls.append(("bead create", {
                "title": title, "type": self.random.choice(("task", "task", "task", "bug", "feature", "chore")), "priority": self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)),
                "parent": self.epics[e], "labels": [area, *(["customer"] if n % 7 == 0 else [])], "agent": self.random.choice(("ada", *AGENTS)),
                "description": BODY.format(area=area, file=("main", "store", "view", "rules")[n % 4], n=n),
                **({"acceptance": "- the test passes\n- the error is gone from the log"} if n % 5 == 0 else {})}))
        self.tasks = []
        for start in range(0, len(calls), 50):
            self.tasks += [bead["id"] for bead in self.at(1300 - start, *calls[start:start + 50])]

    def links(self):
        calls = []
        for n, bead in enumerate(self.tasks):
            if n >= 24 and n % 3 == 0 and n // 6 % 4:
                calls.append(("bead dep add", {"from": bead, "to": self.tasks[n - 6], "agent": "ada"}))
            if n >= 60 and n % 18 == 0:
                calls.append(("bead dep add", {"from": bead, "to": self.tasks[n - 13], "agent": "ada"}))
        self.at(1000, *calls)

    # --- agents ---

    def agents(self):
        self.at(900, *(("agent register", {"name": name, "role": role}) for name, role in zip(AGENTS, ROLES)))

    def history(self):
        """Two thirds of the day: beads claimed, commented on, closed."""
        todo = [bead for n, bead in enumerate(self.tasks[:110]) if n % 3 or n < 18]
        for step, start in enumerate(range(0, 60, 6)):
            minutes = 840 - step * 70
            calls = []
            for k, bead in enumerate(todo[start:start + 6]):
                agent = AGENTS[(start + k) % len(AGENTS)]
                calls += [("bead claim", {"ids": [bead], "agent": agent, "lease": "8h"}),
                          ("bead comment", {"id": bead, "agent": agent, "text": self.random.choice((
                              "Found the cause: the cursor is reset twice.", "Reproduced on the slow profile.", "The test is red now, as it should be.",
                              "Needs the change of the store first."))})]
            self.at(minutes, *calls)
            self.at(minutes - 40, *(("bead close", {"ids": [bead], "agent": AGENTS[(start + k) % len(AGENTS)], "force": True,
                                                    "reason": "Fixed, with a test."}) for k, bead in enumerate(todo[start:start + 6])))
            if step % 3 == 0:
                self.at(minutes - 45, ("bead sync", {"no_push": True, "agent": "ada"}))
        self.todo = todo[60:]
        for k in range(24):  # commits of the work, and of what is in progress
            bead = todo[k * 3] if k < 20 else self.todo[k - 20]
            area = EPICS[(k * 5) % 6][1]
            name = ("main", "store", "view", "rules")[k % 4]
            file = self.path / "src" / area / f"{name}.c"
            file.write_text(file.read_text() + f"int {name}_{k}(void);\n")
            self.commit(700 - 28 * k, AGENTS[k % 12], f"{area}: {('fix the limits', 'add a test', 'split the function', 'handle an empty list')[k % 4]}\n\nBead: {bead}")
        self.at(100, *(("bead update", {"ids": [bead], "touches": [f"src/{EPICS[k % 6][1]}/{('view', 'rules')[k % 2]}.c"], "agent": "ada"}) for k, bead in enumerate(self.todo[:30])))

    # --- the last hours ---

    def today(self):
        work, claims = self.todo, []
        for k, agent in enumerate(AGENTS[:10]):
            claims.append(("bead claim", {"ids": [work[k]], "agent": agent, "lease": "50m" if k == 7 else "4h"}))
        self.at(95, *claims)
        self.at(90, *(("agent reserve", {"agent": agent, "scope": f"src/{EPICS[k % 6][1]}/{('main', 'store')[k // 6]}.c", "bead": work[k], "ttl": 240})
                      for k, agent in enumerate(AGENTS[:10])),
                ("agent reserve", {"agent": "cobalt-harbor", "scope": "src/payments/*", "bead": work[1], "ttl": 240}),
                ("board post", {"content": "Staging is down until noon, please test locally.", "tags": ["infra"], "priority": "high", "agent": "indigo-lynx"}))
        self.at(60, ("vybe memory set", {"key": "build", "value": "Run 'make -j4' with ccache; a cold build takes 6 minutes.", "kind": "lesson", "scope": "project", "agent": "teal-finch"}),
                ("vybe memory set", {"key": "style", "value": "Money is an integer of cents, everywhere.", "kind": "directive", "scope": "project", "agent": "ada"}),
                ("board artifact add", {"path": "doc/guide.md", "description": "Draft of the upgrade guide", "agent": "silver-heron"}))
        send = lambda sender, to, k, category, subject, body, **more: ("agent send", {
            "from": sender, "to": to, "bead": work[k], "category": category, "subject": subject, "body": body, **more})
        self.at(44, send("amber-otter", "cobalt-harbor", 0, "HANDOFF", "The store is done", "The view can use `mandate_find` now.", next_action="Wire it into the form"),
                send("crimson-fox", "slate-marten", 4, "INFO", "Ready for review", "Two commits, the second only moves code."))
        self.at(31, send("teal-finch", "indigo-lynx", 3, "BLOCKED", "Which database for the tests?", "The staging copy is a week old.", next_action="Name a newer copy", urgency="high"),
                ("board status set", {"agent": "teal-finch", "status": "blocked", "current_task": "Upgrade test", "blockers": "waits for a newer copy of staging"}))
        self.at(22, *(("agent heartbeat", {"agent": a}) for a in ("violet-ibex",)))
        for k, minutes in enumerate((18, 15, 12, 9, 7, 5, 4, 3, 2, 1)):
            agent = AGENTS[k % 7]
            self.at(minutes, ("agent heartbeat", {"agent": agent}), ("bead comment", {"id": work[k % 7], "agent": agent, "text": (
                "The mandate is stored and read back; the view is next.", "Halfway: the form validates.", "Wrote the section on backups.", "Waiting for the copy.",
                "Second commit pushed.", "The lease works with two schedulers.", "Focus stays on the field now.")[k % 7]}),
                ("board status set", {"agent": agent, "status": ("coding", "coding", "reviewing", "blocked", "testing", "coding", "testing")[k % 7],
                                      "current_task": "", "progress": 10 + 8 * k} if k % 7 != 3 else
                 {"agent": agent, "status": "blocked", "blockers": "waits for a newer copy of staging"}))
        self.at(0.6, *(("agent heartbeat", {"agent": a}) for a in AGENTS[:7]), ("board post", {
            "content": "Tests of `payments` are green again.", "tags": ["ci"], "agent": "jade-falcon"}),
            ("bead create", {"title": "Card form loses the focus on iOS", "type": "bug", "priority": 1, "labels": ["frontend"], "agent": "jade-falcon", "deps": [f"discovered-from:{work[6]}"]}))
        self.at(0.2, ("bead sync", {"no_push": True, "agent": "ada"}))


if __name__ == "__main__":
    Demo(sys.argv[1]).make()
