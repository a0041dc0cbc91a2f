"""A program that may talk to the service, for instance from a sandbox, changes the stores of the project and nothing else."""
import hashlib
import json
import os
import re
import stat
import subprocess

import pytest

from conftest import git
from harness import wait_until

STORES = re.compile(r"^[^/]+/(\.bb|\.beadboard|\.git/(abacus|objects|refs/beads|refs/abacus|logs/refs/(beads|abacus)))(/|$)")
COMMAND_LINE = [
    "install", "board install", "vybe hook install", "vybe hook uninstall", "agent guard install", "agent guard uninstall",
    "init", "bead init", "bead config set", "bead config unset", "bead import", "bead export", "move-store", "project work",
    "project work trailer", "project slots set", "share on", "share off", "machines trust", "upstream hooks install",
    "upstream setup", "upstream merge", "project on", "vybe loop", "vybe hook handle"]


def everything(top):
    """All entries below a folder except the stores of the project: kind, mode and content."""
    found = {}
    for folder, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(folder, name)
            short = os.path.relpath(path, top)
            if not STORES.match(short):
                mode = os.lstat(path).st_mode
                content = b"" if not stat.S_ISREG(mode) else open(path, "rb").read()
                found[short] = (oct(mode), hashlib.sha256(content).hexdigest())
    return found


def value_for(name, schema, bead):
    """A value that a hostile caller would choose."""
    kind = schema.get("type")
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "boolean":
        return True
    if kind == "array":
        return [value_for(name, schema.get("items", {}), bead)]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    if name in ("timeout", "wait"):
        return "0s"
    return "claude" if name == "host" else bead if re.search(r"id|bead|task|parent|focus", name) else "src/x"


def requests(op, bead):
    """With the required parameters, with all parameters, and with each switch alone."""
    schema = op["input"]
    full = {name: value_for(name, one, bead) for name, one in schema.get("properties", {}).items()}
    least = {name: full[name] for name in schema.get("required", []) if name in full}
    least.update({name: full[name] for name in ("agent", "request_id", "timeout", "host") if name in full})
    yield least
    yield full
    for name, one in schema.get("properties", {}).items():
        if one.get("type") == "boolean":
            yield {**least, name: True}
    if "request_id" in full:
        yield {**least, "request_id": "another", "dry_run": False}


@pytest.fixture
def place(repo, tmp_path):
    """A project, a bead, and a home folder with files of hosts."""
    home = tmp_path / "home"
    for name in (".claude", ".codex", ".gemini", ".config"):
        (home / name).mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text("{}\n")
    (repo.path / "src").mkdir()
    (repo.path / "src" / "x").write_text("x\n")
    git(repo.path, "add", "src")
    git(repo.path, "commit", "-q", "-m", "one")
    repo.run("init", program="abacus").ok()
    repo.bead = repo.create("one")
    repo.home_env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / "data")}
    return repo


def ask(repo, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = repo.run("pipe", program="abacus", stdin=text.encode(), env=repo.home_env, timeout=120).ok()
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("handed", [False, True], ids=["asked", "handed over"])
def test_no_request_changes_anything_but_the_stores(place, tmp_path, handed):
    before = everything(tmp_path)
    more = {"dir": str(place.path)} if handed else {}
    lines = [{"op": op["name"], "params": params, **more} for op in place.json("schema", program="abacus")
             for params in requests(op, place.bead)]
    if handed:
        lines += [{"op": "project work", "params": {"id": place.bead, "agent": "kimi", "worktree": True}, **more},
                  {"op": "bead sync", "params": {"flush_only": True, "agent": "kimi"}, **more}]
    lines.sort(key=lambda line: line["op"] in ("board destroy", "board clear", "bead delete"))
    done = ask(place, lines)
    assert len(done) == len(lines) and sum("data" in one for one in done) > 100
    assert everything(tmp_path) == before


@pytest.mark.parametrize("handed", [False, True], ids=["asked", "handed over"])
def test_operations_that_change_more_than_the_stores_are_only_on_the_command_line(place, handed):
    more = {"dir": str(place.path)} if handed else {}
    for name, answer in zip(COMMAND_LINE, ask(place, [{"op": name, "params": {}, **more} for name in COMMAND_LINE])):
        assert answer["error"]["status"] == 404 and f"only the command line has '{name}'" in answer["error"]["message"], answer


def test_a_git_directory_in_a_submodule_runs_no_program(place, tmp_path):
    """Anybody who may write to the worktree can put a Git directory there, whose settings name a program."""
    git(tmp_path, "init", "-q", "part")
    git(tmp_path / "part", "commit", "-q", "--allow-empty", "-m", "part")
    git(place.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
    git(place.path, "commit", "-q", "-m", "part")
    (place.path / "part" / ".git").unlink()
    git(tmp_path, "clone", "-q", "part", str(place.path / "part"))
    pwned = tmp_path / "pwned"
    git(place.path / "part", "config", "core.fsmonitor", f"touch {pwned}; false")
    (place.path / "src" / "x").write_text("changed\n")
    place.run("agent", "register", "--name", "amber-otter", "--role", "dev", program="bb").ok()
    [answer] = ask(place, [{"op": "agent init", "params": {}}])
    place.run("--non-interactive", program="bb-init", env=place.home_env).ok()
    assert not pwned.exists(), answer


def test_a_rule_in_the_store_runs_no_command(place, tmp_path):
    """A sandbox may allow its programs to write to the store, in .git/abacus or in .abacus."""
    env = {**place.home_env, "XDG_STATE_HOME": str(tmp_path / "state")}
    place.run("on", "bead.closed", "--", "touch", "ran", program="abacus", env=env).ok()
    rule, = (tmp_path / "state").rglob("1.json")
    assert not list(place.home.rglob("on")), "the store has no rules"
    (place.home / "on").mkdir()
    for file in rule.parent.iterdir():
        (place.home / "on" / file.name).write_text(file.read_text().replace("ran", "pwned"))
    runner = place.spawn("on", "--run", program="abacus", env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        place.run("close", place.bead, "--force", "--reason", "done").ok()
        wait_until(lambda: (place.path / "ran").exists(), "the command of the rule")
    finally:
        runner.terminate()
        runner.wait()
    assert not (place.path / "pwned").exists()
