"""Several clones that share mail, reservations, posts and memory through one remote."""
import json
import shutil
import subprocess

from conftest import BUILD, Repo, Result, environment, git

LOGS = "refs/abacus/machines/"


class Machine(Repo):
    """A clone that represents a machine; `bb`, `vybe` and `abacus` run in it, too."""

    def bb(self, *args, **kw):
        return self.json(*args, program="bb", **kw)

    def agent(self, *args, **kw):
        """The data of a `bb agent` command that has to succeed."""
        reply = self.json("agent", *args, program="bb", **kw)
        return reply["data"] if isinstance(reply, dict) and "data" in reply else reply

    def abacus(self, *args, **kw):
        return self.json(*args, program="abacus", **kw)

    def vybe(self, *args, **kw):
        return self.json(*args, program="vybe", **kw)

    def exchange(self, **env):
        """One round with the remote, without a sync of the beads."""
        done = Result(subprocess.run(
            [str(BUILD / "libexec" / "abacus-sync"), "share", str(self.path / ".git"), "--once"], capture_output=True,
            timeout=60, cwd=self.path, env=environment(**{**self.env, **env}))).ok()
        return done.json["reply"]

    def share(self, name=None):
        self.abacus("share", "on")
        if name:
            self.abacus("machines", "rename", name)
        return self

    @property
    def id(self):
        return json.loads((self.home / "machines" / "key").read_text())["machine"]

    @property
    def ref(self):
        return LOGS + self.id

    @property
    def agents(self):
        return self.path / ".beadboard" / "agent"


def machine(path, url, name=None, beads=False, **env):
    """A clone with a board; it shares if it gets a name. Without beads, mail may be about any id."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "remote", "add", "origin", str(url))
    made = Machine(path)
    made.env = {"BD_ACTOR": path.name, **env}
    made.bb("init")
    if beads:
        made.bd("init", "--prefix", "bd", env={"ABACUS_NOW": "0"}).ok()
    return made.share(name) if name else made


def copy_machines(made, path):
    """Copies of machines and their remote `hub.git`, which are in one folder and were made once."""
    old = made[0].path.parent
    shutil.copytree(old, path, dirs_exist_ok=True, symlinks=True)
    copies = []
    for one in made:
        copied = Machine(path / one.path.name)
        copied.env = dict(one.env)
        git(copied.path, "remote", "set-url", "origin", str(path / "hub.git"))
        copies.append(copied)
    return copies


def settle(*machines, rounds=2):
    """Exchanges until every machine has the facts of all others."""
    for _ in range(rounds):
        for one in machines:
            one.exchange()


def log_of(remote, ref):
    """meta.json and the facts of a published log."""
    def show(path):
        return subprocess.run(["git", "cat-file", "blob", f"{ref}:{path}"], cwd=remote, check=True,
                              capture_output=True, env=environment()).stdout
    meta = json.loads(show("meta.json"))
    facts = [json.loads(line) for segment in meta["segments"]
             for line in show(f"log/{segment['name']}.jsonl").splitlines()]
    return meta, facts
