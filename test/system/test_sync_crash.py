"""A sync killed at any moment: no acknowledged write is lost, all refs are valid, and the next sync recovers."""
import fcntl
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from bead_harness import BD, drop_cache, faulty, files
from conftest import BUILD, Repo, Result, environment, git
from harness import STRACE, killed, needs_strace, processes_of, wait_until

SYNC = str(BUILD / "libexec" / "abacus-sync")
REF = "refs/beads/store"
BELONGS = re.compile(r"lock|config|claims\.jsonl|(cache|receipts)\.db(-wal|-shm)?|journal\.\d+|sync\.(json|lock)|courier\.lock|pack\.lock")
ONCE = ["--json", "--request-id", "once", "create", "asked for once"]


@pytest.fixture
def folder(tmp_path):
    """In memory if the system supports it: these tests are about kills, not power losses."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    path = pathlib.Path(tempfile.mkdtemp(prefix="abacus-sync-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


class World:
    """A remote and the clones `a` and `b`, whose state can be restored."""

    def __init__(self, folder):
        self.path = folder / "world"
        self.kept = folder / "kept"
        self.path.mkdir()
        self.remote = self.path / "r.git"
        git(self.path, "init", "-q", "--bare", "--template=", str(self.remote))
        self.a, self.b = self.clone("a"), self.clone("b")
        self.valid = {}
        self.reply = None
        self.acts = ["sync"]
        self.doomed = set()  # what others delete

    def clone(self, name):
        repo = Repo(self.path / name)
        repo.path.mkdir()
        git(repo.path, "init", "-q", "-b", "main", "--template=")
        git(repo.path, "remote", "add", "origin", str(self.remote))
        repo.env["BD_ACTOR"] = name
        return repo

    def keep(self):
        shutil.copytree(self.path, self.kept, symlinks=True)

    def put_back(self):
        shutil.rmtree(self.path)
        shutil.copytree(self.kept, self.path, symlinks=True)

    def begin(self):
        """Both clones have the same beads."""
        a, b = self.a, self.b
        a.bd("init", "--prefix", "bd").ok()
        for name in ("one", "two", "shut"):
            a.create(name, "--id", f"bd-{name}")
        a.bd("close", "bd-shut").ok()
        sync(a)
        b.bd("init").ok()
        return a, b

    def ref(self, path, name=REF):
        file = (path / ".git" if (path / ".git").exists() else path) / name
        return file.read_text().strip() if file.exists() else None

    def published(self):
        return self.ref(self.remote)

    def assert_whole(self, path):
        """The ref is absent, or at a commit that is valid to its last line."""
        commit = self.ref(path)
        if commit and not self.valid.get(commit):
            home = self.path / "look"
            if not home.exists():
                git(self.path, "init", "-q", "--template=", str(home))
            objects = (path / ".git" if (path / ".git").exists() else path) / "objects"
            (home / ".git/objects/info").mkdir(exist_ok=True)
            (home / ".git/objects/info/alternates").write_text(f"{objects}\n")
            found = Repo(home).json("validate", "--at", commit)
            assert found["ok"], found
            self.valid[commit] = True
        return commit


def run_sync(repo, *args, program=SYNC, act="sync", **env):
    return Result(subprocess.run([program, act, str(repo.path / ".git"), *args], stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=60, env=environment(**repo.env, **env)))


def sync(repo, *args):
    if "--begin" in args:
        return run_sync(repo, *args).ok()
    return repo.json("sync", *args)


def helper_of(faulty):
    return str(pathlib.Path(faulty).parent.parent / "libexec" / "abacus-sync")


def beads(repo):
    return repo.json("list", "--all", "-n", "0")


def ids(repo):
    return {b["id"] for b in beads(repo)}


def assert_doctor(repo):
    told = repo.json("doctor")
    assert told["ok"] and {c["status"] for c in told["checks"]} == {"ok"}, told


def assert_tidy(repo):
    left = [f for f in files(repo) if not BELONGS.fullmatch(f)]
    assert not left, left
    segments = [f for f in files(repo) if f.startswith("journal.")]
    assert len(segments) <= 3, segments


def is_ancestor(world, repo, older):
    return older is None or not subprocess.run(["git", "merge-base", "--is-ancestor", older, REF], cwd=repo.path,
                                               env=environment()).returncode


# --- what there is to do when it is killed ---


def first(w):
    w.a.bd("init", "--prefix", "bd").ok()
    for n in range(3):
        w.a.create(f"x{n}", "--id", f"bd-x{n}")
    w.a.bd("dep", "add", "bd-x1", "bd-x2").ok()
    w.a.bd("delete", "bd-x0", "--force").ok()


def both(w):
    a, b = w.begin()
    a.create("here", "--id", "bd-here")
    a.bd("comment", "bd-one", "from a").ok()
    a.bd("dep", "add", "bd-two", "bd-one").ok()
    b.create("there", "--id", "bd-there")
    b.bd("update", "bd-one", "-p", "0").ok()
    b.bd("delete", "bd-shut", "--force").ok()
    w.doomed = {"bd-shut"}
    sync(b)


def collision(w):
    a, b = w.begin()
    for repo in (b, a):
        repo.create("same id", "--id", "bd-same", "-d", repo.env["BD_ACTOR"])
        repo.bd("comment", "bd-same", "mine").ok()
        repo.bd("dep", "add", "bd-same", "bd-one").ok()
    sync(b)


def rewound(w):
    a, b = w.begin()
    old = w.published()
    a.create("more", "--id", "bd-more")
    sync(a)
    sync(b)
    (w.remote / REF).write_text(old + "\n")
    a.create("here", "--id", "bd-here")


def replaced(w):
    """Another history was pushed, with the same beads and one more."""
    a, b = w.begin()
    tree = git(w.remote, "rev-parse", f"{REF}^{{tree}}").strip()
    commit = git(w.remote, "commit-tree", "-m", "anew", tree).strip()
    (w.remote / REF).write_text(commit + "\n")
    a.create("here", "--id", "bd-here")


def deleted(w):
    a, b = w.begin()
    (w.remote / REF).unlink()
    a.create("here", "--id", "bd-here")


def grow(repo, bytes, bead="bd-one"):
    for n in range(bytes // 50000):
        repo.bd("update", bead, "-d", str(n) + "w" * 50000).ok()


def cut(w):
    """The journal is long enough to be cut."""
    a, b = w.begin()
    grow(a, 200000)  # each record has the text before it, too
    a.create("late", "--id", "bd-late")


def cut_and_pull(w):
    """A long journal, most of it in a commit, and changes at the remote."""
    a, b = w.begin()
    grow(a, 100000)
    sync(a)
    grow(a, 100000, "bd-two")
    sync(b)
    b.create("there", "--id", "bd-there")
    sync(b)


def cut_by_pull(w):
    """A journal that is long because of others: there are no local changes to publish."""
    a, b = w.begin()
    for n in range(6):
        grow(b, 50000)
        sync(b)
        if n < 5:
            sync(a)


def unpublished(w):
    """The local ref is ahead, because a sync died before the push; others have pushed meanwhile."""
    a, b = w.begin()
    a.create("here", "--id", "bd-here")
    sync(a, "--no-push")
    (a.home / "sync.json").unlink()
    b.create("there", "--id", "bd-there")
    sync(b)


def torn(w):
    """A writer died in the middle of a record; then the journal is cut."""
    cut(w)
    with open(w.a.journal, "ab") as journal:
        journal.write(b"0123")


def collected(w):
    """Others have deleted a bead that was written here, and dropped its deletion."""
    w.a.env["ABACUS_NOW"] = w.b.env["ABACUS_NOW"] = "2020-01-01T00:00:00Z"
    a, b = w.begin()
    del a.env["ABACUS_NOW"], b.env["ABACUS_NOW"]
    old, later = ({"ABACUS_NOW": f"2021-0{month}-01T00:00:00Z"} for month in (1, 6))
    b.bd("delete", "bd-two", "--force", env=old).ok()
    run_sync(b, **old).ok()
    run_sync(b, "--collect-before-ms", "1617235200000", **later).ok()  # 2021-04-01
    assert "bd-two" not in git(w.remote, "show", f"{REF}:tombstones.jsonl")
    a.bd("comment", "bd-two", "still of use", env={"ABACUS_NOW": "2021-05-01T00:00:00Z"}).ok()


def begin_anew(w):
    w.begin()
    shutil.rmtree(w.b.home)
    git(w.b.path, "update-ref", "-d", REF)
    git(w.b.path, "update-ref", "-d", "refs/beads/remote/origin")
    w.a, w.b = w.b, w.a
    w.acts = ["sync", "--begin"]


def adopt(w):
    """The folder was removed, but not the ref."""
    w.begin()
    shutil.rmtree(w.a.home)
    w.acts = ["sync", "--begin", "--no-pull", "--no-push"]


SCENES = [first, both, collision, rewound, replaced, deleted, cut, cut_and_pull, cut_by_pull, unpublished, torn,
          collected, begin_anew, adopt]
THOROUGH = "ABACUS_THOROUGH" in os.environ  # takes some minutes more


def arrange(folder, scene):
    w = World(folder)
    scene(w)
    if w.acts == ["sync"]:
        w.reply = w.a.bd(*ONCE).ok().json
        w.a.bd("--json", "--request-id", "first", "update", "bd-one" if scene != first else "bd-x1", "-p", "1").ok()
    w.known = (ids(w.a) if w.reply else ids(w.b)) - w.doomed
    w.before = w.published()
    w.keep()
    return w


def still_there(w, known):
    """All acknowledged data is there, with and without the cache; the data of a ref is restored automatically."""
    a = w.a
    if not w.reply:
        there = a.bd("--json", "list", "--all")
        if there.code and not w.ref(a.path):
            assert there.error["code"] == "not_initialized", there.out
            return
    assert ids(a) >= known
    assert_doctor(a)
    drop_cache(a)
    assert ids(a) >= known
    if w.reply:
        assert a.bd(*ONCE).ok().json == w.reply, "a receipt is lost"


def agree(w, known):
    """After two more syncs all clones are equal."""
    a, b = w.a, w.b
    sync(a, *w.acts[1:2])
    if b.home.exists():
        sync(b)
    else:
        b.bd("init").ok()
    sync(a)
    assert w.ref(a.path) == w.ref(b.path) == w.published()
    there = beads(a)
    assert there == beads(b)
    assert {bead["id"] for bead in there} >= known


def recovers(w, known, before, others=(), full=True):
    """After a kill: all data is there, and the next syncs agree."""
    for path in (w.a.path, w.remote) if full else (w.remote,):
        w.assert_whole(path)
    if full:
        still_there(w, known)
    else:
        drop_cache(w.a)
    agree(w, known | set(others))
    assert is_ancestor(w, w.a, before), "what was published is no longer in the history"
    for repo in (w.a, w.b):
        assert_tidy(repo)
    if not full:
        return
    w.assert_whole(w.remote)
    drop_cache(w.a)
    for repo in (w.a, w.b):
        assert_doctor(repo)
    if w.reply:
        assert w.a.bd(*ONCE).ok().json == w.reply, "a receipt is lost"
    assert beads(w.a) == beads(w.b)


def then_nothing(w, others):
    return w.published()


def then_others(w, others):
    """Others publish before the retry."""
    if not w.b.home.exists():
        w.b.bd("init")
    if w.b.home.exists() and not w.b.bd("list").code:
        others.add(w.b.create("meanwhile"))
        sync(w.b)
    return w.published()


def then_rewound(w, others):
    """The remote loses its last commit; clones that have it restore it."""
    if not w.published():
        return None
    parent = git(w.remote, "log", "-1", "--format=%P", REF).split()
    if parent:
        (w.remote / REF).write_text(parent[0] + "\n")
    return w.published()


def count(w, program, *args, act="sync"):
    """The number of steps that change the disk."""
    counted = w.path.parent / "counted"
    run_sync(w.a, *args, program=program, act=act, ABACUS_FAULT_COUNT=counted).ok()
    w.put_back()
    return int(counted.read_text()) if counted.exists() else 0


@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.__name__)
def test_killed_at_every_step(folder, faulty, scene):
    w, program = arrange(folder, scene), helper_of(faulty)
    known, before = w.known, w.before
    steps = count(w, program, *w.acts[1:])
    assert steps > 10
    thens = [then_nothing, then_others]
    for n in range(1, steps + 1, 1 if THOROUGH else 9 if scene is both else 13):
        for then in [thens[n // 2 % 2]] if scene is not both else [thens[n // 2 % 2], then_rewound]:
            done = run_sync(w.a, *w.acts[1:], program=program, ABACUS_FAULT_AT=n)
            assert killed(done) and done.out == "", f"step {n} of {steps}: {done.out}"
            others = set()
            try:
                recovers(w, known, then(w, others) or before, others, full=not THOROUGH or n % 6 == 1 or not w.reply)
            except AssertionError as error:
                raise AssertionError(f"step {n} of {steps}, {then.__name__}: {error}") from error
            w.put_back()


def test_killed_again_and_again(folder, faulty):
    """Each sync is killed one step later than the one before; nothing is cleaned up in between."""
    w, program = arrange(folder, both), helper_of(faulty)
    known, before = w.known, w.before
    for n in range(1, 200):
        done = run_sync(w.a, program=program, ABACUS_FAULT_AT=n)
        if not killed(done):
            break
        if n % 5 == 0:
            known.add(w.a.create(f"after {n}"))
    recovers(w, known, before)


@pytest.mark.parametrize("scene", [cut, cut_and_pull, torn], ids=lambda s: s.__name__)
def test_a_new_segment_written_in_part(folder, faulty, scene):
    """The journal is cut, and only a part of the new segment reaches the disk."""
    w, program = arrange(folder, scene), helper_of(faulty)
    known, before = w.known, w.before
    steps = count(w, program)
    for n in range(1, steps + 1):
        run_sync(w.a, program=program, ABACUS_FAULT_AT=n)
        if (w.a.home / "journal.2").exists() and w.a.journal.exists() and (w.a.home / "journal.2").stat().st_size:
            break
        w.put_back()
    else:
        raise AssertionError("never two segments")
    shutil.rmtree(w.kept)
    w.keep()
    size = (w.a.home / "journal.2").stat().st_size
    for left in (0, 1, 40, size // 3, size // 2, size - 2, size - 1):
        os.truncate(w.a.home / "journal.2", left)
        recovers(w, known, before)
        w.put_back()


def test_records_written_while_a_segment_is_cut_are_kept(folder, faulty):
    """A record that is in no commit is copied into the new segment; half a segment does not count."""
    w, program = World(folder), helper_of(faulty)
    cut(w)
    w.reply = w.a.bd(*ONCE).ok().json
    # a remote that takes long: a hook of the test's own is not run for a folder, so the lock of the ref holds it up
    lock = w.remote / f"{REF}.lock"
    lock.write_text("")
    syncing = subprocess.Popen([program, "sync", str(w.a.path / ".git")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(**w.a.env))
    for line in syncing.stderr:
        if b"pushing" in line:
            break
    w.a.create("meanwhile", "--id", "bd-meanwhile")
    known = ids(w.a)
    lock.unlink()
    assert syncing.wait(30) == 0, syncing.stdout.read()
    w.keep()
    new = w.a.home / "journal.2"
    assert new.exists() and not w.a.journal.exists()
    drop_cache(w.a)
    assert ids(w.a) == known
    recovers(w, known, w.published())


# --- packs ---


def test_a_pack_killed_at_every_step(folder, faulty):
    w, program = World(folder), helper_of(faulty)
    a, _ = w.begin()
    for n in range(66):
        a.bd("update", "bd-one", "-p", str(n % 5)).ok()
        run_sync(a).ok()
    w.reply = a.bd(*ONCE).ok().json
    for _ in range(4):  # the last three syncs each may have started a process that packs late, and leaves nothing to pack
        settled(a)
        w.keep()
        if steps := count(w, program, act="pack"):
            break
    assert steps
    known, before = ids(a), w.published()
    git(a.path, "fsck", "--full", "--strict")
    for n in sorted({*range(1, steps + 1, max(1, steps // 8)), steps}):
        done = run_sync(a, program=program, act="pack", ABACUS_FAULT_AT=n)
        assert killed(done), done.out
        git(a.path, "fsck", "--full")
        assert ids(a) == known
        run_sync(a, act="pack").ok()
        git(a.path, "fsck", "--full")
        if n % 8 == 1:
            recovers(w, known, before)
        w.put_back()


def settled(repo):
    """No pack is running any more: its lock is free."""
    wait_until(lambda: not processes_of(repo), "the packs have ended", 60)
    with open(repo.home / "pack.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    (repo.home / "sync.json").unlink(missing_ok=True)


# --- from outside ---


def test_killed_at_any_time(folder):
    """`bd sync`, whose git process is killed after a few random milliseconds."""
    w, chance = World(folder), random.Random(20240229)
    a, b = w.begin()
    w.reply = a.bd(*ONCE).ok().json
    known, died = ids(a), 0
    for n in range(200):
        repo = (a, b)[n % 2]
        known.add(repo.create(f"number {n}"))
        syncing = repo.spawn("sync", "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             start_new_session=True) if n % 4 < 2 else subprocess.Popen(
            [SYNC, "sync", str(repo.path / ".git")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment(**repo.env), start_new_session=True)
        time.sleep(chance.random() * 0.02)
        try:
            os.killpg(syncing.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        syncing.communicate()
        died += syncing.returncode == -signal.SIGKILL
        if n % 20 == 0:
            w.assert_whole(repo.path)
            w.assert_whole(w.remote)
            drop_cache(repo)
            assert_doctor(repo)
    assert died > 100, died
    assert ids(a) | ids(b) == known
    recovers(w, ids(a), w.published(), known)


def wrapped(folder):
    """A `bd` whose git process runs under strace, with the faults in INJECT."""
    place = folder / "installed"
    (place / "bin").mkdir(parents=True)
    (place / "libexec").mkdir()
    shutil.copy(BD, place / "bin/bd")
    helper = place / "libexec/abacus-sync"
    helper.write_text(f'#!/bin/sh\nexec {STRACE} -f -qq -o {folder}/calls -e trace=all -e "inject=$(cat {folder}/inject)" '
                      f'{SYNC} "$@"\n')
    helper.chmod(0o755)
    return str(place / "bin/bd")


@needs_strace
@pytest.mark.parametrize("call", ["fsync", "/^rename", "/^link", "/^unlink", "fdatasync"])
def test_killed_at_every_call(folder, call):
    w = arrange(folder, both)
    known, before = w.known, w.before
    for n in range(1, 100, 1 if THOROUGH else 5):
        done = Result(subprocess.run(
            [STRACE, "-f", "-qq", "-o", os.devnull, "-e", f"inject={call}:signal=SIGKILL:when={n}", SYNC, "sync",
             str(w.a.path / ".git")], capture_output=True, timeout=60, env=environment(**w.a.env)))
        if not killed(done):
            assert done.code == 0, done.out
            break
        recovers(w, known, before, full=n % 2 == 1)
        w.put_back()
    else:
        raise AssertionError(f"{call} never stops being called")


@needs_strace
@pytest.mark.parametrize("fault", ["write:error=ENOSPC", "pwrite64:error=ENOSPC", "fsync:error=EIO",
                                   "fdatasync:error=EIO", "/^rename:error=EIO", "/^openat:error=EMFILE"])
@pytest.mark.parametrize("scene", [both, cut] if THOROUGH else [both], ids=lambda s: s.__name__)
def test_a_disk_that_fails_at_every_call(folder, fault, scene):
    """One call fails: success, or one clear error; nothing is lost, and the next sync works."""
    w = arrange(folder, scene)
    known, before = w.known, w.before
    bd, failed = wrapped(folder), 0
    step = 13 if "openat" in fault else 5 if "pwrite" in fault else 1 if THOROUGH or fault.startswith("write") else 3
    for n in range(1, 500, step):
        (folder / "inject").write_text(f"{fault}:when={n}")
        done = Result(subprocess.run([bd, "--json", "sync"], cwd=w.a.path, stdin=subprocess.DEVNULL,
                                     capture_output=True, timeout=60, env=environment(**w.a.env)))
        trace = (folder / "calls").read_text(errors="replace") if (folder / "calls").exists() else ""
        hit = [line for line in trace.splitlines() if "(INJECTED)" in line]
        if not hit:
            assert done.code == 0, done.out
            break
        if "write(1," in hit[0] or "write(2," in hit[0] or ".so" in hit[0]:
            continue  # what it had to say could not be said; or it did not even start
        if done.code:
            failed += 1
            error = done.error
            assert done.code in (3, 4) and error["message"] and error["hint"], f"{n}: {done.out}"
            assert error["code"] not in ("internal", "corrupt"), f"{hit[0]}\n{error}"
        if n % 5 == 1:
            recovers(w, known, before, full=False)
            w.put_back()
        else:
            assert ids(w.a) >= known
            w.put_back()
    else:
        raise AssertionError(f"{fault} never stops being reached")
    assert failed or fault not in ("write:error=ENOSPC", "fsync:error=EIO"), fault


# --- crowds ---


def test_syncs_while_many_write(folder):
    """Ten processes write in each of two clones, while both sync without a pause."""
    w = World(folder)
    a, b = w.begin()
    script = ('for n in 1 2 3 4; do "$BD" create "$1.$n" --id "bd-$1x$n" --request-id "$1.$n" && '
              '"$BD" update "bd-$1x$n" --append-notes said && "$BD" comment bd-one "$1.$n" && '
              '"$BD" close "bd-$1x$n" || exit 1; done')
    writers = [subprocess.Popen(["sh", "-c", script, "sh", f"{repo.env['BD_ACTOR']}{k}"], cwd=repo.path,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env=environment(BD=BD, **repo.env)) for k in range(10) for repo in (a, b)]
    rounds = 0
    while any(p.poll() is None for p in writers):
        syncing = [repo.spawn("sync", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE) for repo in (a, b)]
        for p in syncing:
            out, err = p.communicate(timeout=60)
            assert p.returncode == 0, out + err
        rounds += 1
        drop_cache((a, b)[rounds % 2])
    for p in writers:
        assert p.wait() == 0, p.stderr.read()
    assert rounds > 1
    known = {f"bd-{who}{k}x{n}" for who in "ab" for k in range(10) for n in range(1, 5)} | {"bd-one", "bd-two", "bd-shut"}
    assert ids(a) | ids(b) == known
    recovers(w, ids(a), w.published(), known)
    assert ids(b) == known
    assert len(a.show("bd-one")["notes"]) == 80
    assert all(x["status"] == "closed" and len(x["notes"]) == 1 for x in beads(a) if "x" in x["id"])


# --- locks ---


def test_a_sync_waits_for_a_lock_that_is_released(folder):
    w = arrange(folder, both)
    known, before = w.known, w.before
    lock = w.remote / f"{REF}.lock"
    lock.write_text("")
    syncing = subprocess.Popen([SYNC, "sync", str(w.a.path / ".git")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(**w.a.env))
    while b"pushing" not in syncing.stderr.readline():
        assert syncing.poll() is None
    lock.unlink()
    assert syncing.wait(30) == 0, syncing.stdout.read()
    recovers(w, known, before)


@pytest.mark.parametrize("name", ["sync.lock", "lock"])
def test_the_holder_of_a_lock_is_killed(folder, name):
    """While it is held, waiting commands say what they wait for; after the kill nothing is left of it."""
    w = arrange(folder, both)
    known, before = w.known, w.before
    holder = subprocess.Popen(["flock", str(w.a.home / name), "sh", "-c", "echo held; exec sleep 60"],
                              stdout=subprocess.PIPE, start_new_session=True)
    holder.stdout.readline()
    assert ids(w.a) >= known, "readers wait for nobody"
    if name == "sync.lock":
        known.add(w.a.create("goes on"))
    done = w.a.bd("--json", "sync", "--timeout", "1s")
    assert done.code in (3, 4) and done.error["code"] in ("busy", "sync_timeout"), done.out
    os.killpg(holder.pid, signal.SIGKILL)
    holder.wait()
    recovers(w, known, before)


# --- what is removed ---


def test_the_cache_is_removed_between_any_two_commands(folder):
    w = World(folder)
    a, b = w.begin()
    w.reply = a.bd(*ONCE).ok().json
    known = ids(a)
    for n in range(6):
        for repo in (a, b):
            drop_cache(repo)
            known.add(repo.create(f"{n}"))
            drop_cache(repo)
            sync(repo)
            drop_cache(repo)
            repo.bd("update", "bd-one", "--append-notes", str(n)).ok()
    drop_cache(a)
    recovers(w, ids(a), w.published(), known)
    assert len(a.show("bd-one")["notes"]) == 12


@pytest.mark.parametrize("command", [["list", "--all"], ["create", "new"], ["sync"], ["ready"], ["show", "bd-one"]],
                         ids=lambda c: c[0])
def test_the_whole_folder_is_removed(folder, command):
    """Published data is restored automatically."""
    w = World(folder)
    a, b = w.begin()
    known = ids(a)
    shutil.rmtree(a.home)
    a.bd("--json", *command).ok()
    assert ids(a) >= known
    sync(a)
    sync(b)
    sync(a)
    assert w.ref(a.path) == w.ref(b.path) == w.published()
    assert_doctor(a)
    assert_tidy(a)
