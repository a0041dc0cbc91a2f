"""Hostile stores from a generator: whatever they contain, every command ends in time with a readable reply,
acknowledged writes are kept, clones converge, and no file outside of the store is changed. `ABACUS_THOROUGH=1`
tries many more seeds; `ABACUS_SEEDS=100-120` tries those."""
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from generator import DOTFILES, duplicate, lines_of, prepare, push_hostile, rng_of, tamper
from test_terminal import unsafe

from bead_harness import drop_cache
from conftest import BIN, environment
from remotes import REF, at, published
from test_join_model import joined

SANITIZED = b"__asan_init" in (BIN / "abacus").read_bytes()
MEMORY = 400 << 20
SECONDS = 60 if SANITIZED else 20


def seeds(few):
    if "ABACUS_SEEDS" in os.environ:
        first, _, last = os.environ["ABACUS_SEEDS"].partition("-")
        return range(int(first), int(last or first) + 1)
    return range(1000 if os.environ.get("ABACUS_THOROUGH") == "1" else few)


# What every face answers, and how it may fail. A word in capitals stands for what the world has.
BEADS = ["list --all -n 0", "ready", "show bd-a bd-b", "why bd-b", "update bd-a --priority 1", "create new", "close bd-b --reason x --force",
         "comment bd-epic text", "dep add bd-c bd-a", "dep tree bd-b", "delete bd-c --force", "undelete bd-gone", "deleted", "validate", "doctor",
         "repair", "history bd-a", "blame bd-a", "diff ~1", "graph --all", "status", "sync --status", "repair --stamps"]
OTHERS = ["bb log", "bb status", "bb --as kim post text", "bb summary", "bb export", "bb --as kim log --unread", "bb artifacts",
          "bb agent inbox --agent amber-otter", "bb agent status", "bb agent events", "bb agent list",
          "bb agent reserve --agent amber-otter --scope lib/* --bead bd-b",
          "bb agent send --from amber-otter --to blue-heron --bead bd-a --category INFO --subject s --body b --request-id q1",
          "bb agent read --agent amber-otter --message MESSAGE", "vybe resume --request-id v1", "vybe task list", "vybe events list",
          "vybe task create --title x --request-id v2", "vybe memory list --scope global", "abacus where", "abacus sessions", "abacus conversation bd-a"]


class Done:
    def __init__(self, code, out, err, memory):
        self.code, self.out, self.err, self.memory = code, out, err, memory

    @property
    def json(self):
        return json.loads(self.out)


def run(world, repo, line, json_too=False):
    """Runs a command: its exit status, output and memory. It must never hang."""
    program, *args = [world.message if word == "MESSAGE" else word for word in line.split()]
    args += ["--json"] if json_too else []
    env = environment(**{**repo.env, "ASAN_OPTIONS": f"log_path={world.path}/asan:detect_leaks=0",
                         "UBSAN_OPTIONS": f"log_path={world.path}/ubsan:print_stacktrace=1"})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = subprocess.Popen([str(BIN / program), *args], cwd=repo.path, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        end, pause, pid = time.monotonic() + SECONDS, 0.0005, 0
        while not pid and time.monotonic() < end:
            pid, status, used = os.wait4(started.pid, os.WNOHANG)
            if not pid:
                time.sleep(pause)
                pause = min(pause * 1.5, 0.05)
        if not pid:
            os.killpg(started.pid, signal.SIGKILL)
            os.wait4(started.pid, 0)
        started.returncode = 0 if not pid else os.waitstatus_to_exitcode(status)
        assert pid, f"'{line}' did not end in {SECONDS} s"
        out.seek(0)
        err.seek(0)
        # until it becomes the program, a child counts as large as the process that it was forked from
        large = used.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Done(started.returncode, out.read(), err.read(), used.ru_maxrss << 10 if large else 0)


def error_of(reply):
    """Code, message and next step of an error, in the format of the program."""
    if not isinstance(reply, dict):
        return None
    if "error_code" in reply:
        return reply["error_code"], reply["error"], reply["suggested_action"]
    error = reply.get("error")
    if isinstance(error, dict):
        return error["code"], error["message"], error.get("hint") or error["details"].get("next_step")
    return None


def check(world, repo, line, json_too=False):
    """Runs a command; its output must have the right form in every case."""
    done = run(world, repo, line, json_too)
    said = f"'{line}'{' --json' * json_too}: exit {done.code}\n{done.out[-2000:]}\n{done.err[-2000:]}"
    reports = [file.read_text("utf-8", "replace")[:6000] for file in world.path.glob("*san.*")]
    assert not reports, said + "\n" + reports[0]
    assert done.code in (0, 1, 2, 3, 4), said
    assert done.memory < MEMORY or SANITIZED or not line.startswith("bd"), f"{said}\n{done.memory >> 20} MB"
    done.out, done.err = done.out.decode(), done.err.decode()
    is_json = json_too or line.startswith("vybe") or line == "bb export"
    if not is_json:
        assert unsafe(done.out + done.err) == [], said
        assert done.code == 0 or done.out or done.err, said
        return done
    if line != "bb export" or done.code == 0:
        reply = json.loads(done.out)
        assert not [c for c in done.out if ord(c) < 0x20 and c != "\n"], said
        error = error_of(reply)
        assert error is None if done.code == 0 else error is not None or "validate" in line or "doctor" in line, said
        assert error is None or all(isinstance(part, str) and part.strip() for part in error), said
        done.error = error
    if line.startswith("vybe"):
        for part in done.err.splitlines():
            json.loads(part)
    else:
        assert unsafe(done.err) == [], said
    return done


def sync(world, repo):
    return check(world, repo, "bd sync", json_too=True)


def use(world, repo, lines, seed):
    """Runs each command, for people or for programs, which depends on the seed."""
    for n, line in enumerate(lines):
        check(world, repo, line, json_too=(n + seed) % 2 == 0 and not line.startswith("vybe") and line != "bb export")


def home_is_untouched(world):
    home = world.path / "home"
    now = {str(file.relative_to(home)): file.read_bytes() for file in home.rglob("*") if file.is_file()}
    assert now == DOTFILES


def answers(world, repo):
    return [check(world, repo, line, json_too=True).json for line in ("bd list --all -n 0", "bd deleted -n 0", "bd graph --all", "bd ready -n 0")]


def has_all(files, honest):
    """The acknowledged writes are there, or later ones on top of them: joining them again changes nothing."""
    lines = lines_of(files)
    both = joined([lines, honest])
    for kind in both:
        assert both[kind] == lines[kind], f"{kind} lack\n" + "\n".join(
            json.dumps(line, sort_keys=True) for line in both[kind] if line not in lines[kind])[:4000]


def settled(world):
    """Both clones have the same commit, bytes and beads, and the cache matches the journal."""
    assert at(world.anna.path) == at(world.ben.path) == at(world.remote)
    assert published(world.anna.path) == published(world.ben.path) == published(world.remote)
    both = [answers(world, repo) for repo in (world.anna, world.ben)]
    assert both[0] == both[1]
    for repo, before in zip((world.anna, world.ben), both):
        told = check(world, repo, "bd doctor", json_too=True).json
        status = {c["code"]: c["status"] for c in told["checks"]}
        assert status["journal"] == status["cache"] == "ok" and status["contents"] in ("ok", "warning"), told
        drop_cache(repo)
        assert answers(world, repo) == before


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("sound") / "world")


@pytest.fixture
def world(tmp_path, sound):
    world = duplicate(sound[0].path, tmp_path / "w")
    yield world
    home_is_untouched(world)
    shutil.rmtree(tmp_path / "w", ignore_errors=True)


def explained(world, body):
    """A failure lists the changes."""
    try:
        body()
    except Exception as why:
        raise AssertionError(f"{why}\n\nThe store was changed:\n{world.describe()}") from why


def settle(world, rounds=2):
    """Syncs both clones alternately; returns the last result."""
    for _ in range(rounds):
        for repo in (world.anna, world.ben):
            last = sync(world, repo)
    return last


def mended(world, tip):
    """After the steps that a person can take against an unusable commit, both clones sync again. If Git itself cannot
    read the commit, the step is to reset the ref of the remote."""
    for repo in (world.anna, world.ben):
        check(world, repo, "bd repair --apply", json_too=True)
        last = sync(world, repo)
    if last.code and last.error[0] in ("sync_failed", "corrupt"):
        assert "cannot fetch" in last.error[1] or "git push --force" in last.error[2], last.error
        assert world.unreadable, last.error
        (world.remote / REF).write_text(tip + "\n")
    last = settle(world)
    assert last.code == 0, last.error


@pytest.mark.parametrize("seed", seeds(12))
def test_a_hostile_commit_breaks_nothing(world, sound, seed):
    tip = at(world.remote)
    push_hostile(rng_of(seed, "commit"), world)

    def body():
        before = {repo: answers(world, repo) for repo in (world.anna, world.ben)}
        for repo in (world.anna, world.ben):
            if sync(world, repo).code:
                assert answers(world, repo) == before[repo], "a sync that failed has changed something"
        use(world, world.ben, ["bd list --all -n 0", "bd validate", "bd doctor", "bd show bd-a", "bd repair"], seed)
        mended(world, tip)
        settled(world)
        has_all(published(world.anna.path), sound[1])
        use(world, world.anna, [f"bd {line}" for line in BEADS] + OTHERS, seed)
        assert settle(world).code == 0
        settled(world)
    explained(world, body)


@pytest.mark.parametrize("seed", seeds(16))
def test_a_tampered_clone_breaks_nothing(world, seed):
    tamper(rng_of(seed, "clone"), world)

    def body():
        use(world, world.anna, ["bd sync", *(f"bd {line}" for line in BEADS), *OTHERS, "bd repair --apply", "bd sync"], seed)
        sync(world, world.ben)
        use(world, world.ben, ["bd list --all -n 0", "bd validate"], seed)
    explained(world, body)
