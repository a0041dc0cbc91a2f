"""Lock files of Git: those of dead processes are removed, those of live processes are not."""
import fcntl
import os
import pathlib
import stat
import subprocess
import threading
import time

import pytest

from bead_harness import faulty  # noqa: F401
from conftest import environment, git
from harness import STRACE, killed, needs_strace
from test_sync_crash import SYNC, THOROUGH, World, both, folder, helper_of, ids, run_sync, sync  # noqa: F401

REF, TRACKING = "refs/beads/store", "refs/beads/remote/origin"
KILLS = 1000 if THOROUGH else 40  # with a lock of Git left behind


def gitdir(path):
    return path / ".git" if (path / ".git").exists() else path


def locks(path):
    """The lock files of Git in a repository, without those of the store."""
    top = gitdir(path)
    return {str(f.relative_to(top)) for f in top.rglob("*.lock") if f.parent != top / "abacus"}


def own(path):
    """The file beside a lock that names its owner."""
    found = [f for f in path.parent.iterdir() if f.name.startswith(f"{path.name}.abacus-")]
    assert len(found) == 1, found
    return found[0]


def left(world):
    """Locks that keep other programs from moving a ref."""
    return {(path.name, name) for path in (world.a.path, world.b.path, world.remote) for name in locks(path)
            if ".abacus-" not in name}


@pytest.fixture
def world(folder):  # noqa: F811
    w = World(folder)
    w.begin()
    return w


def left_by_a_kill(world, program, lock):
    """Kills a sync of `a` at one step after another, until it leaves this lock behind."""
    for n in range(1, 400):
        world.put_back()
        done = run_sync(world.a, program=program, ABACUS_FAULT_AT=n)
        assert killed(done), f"{n} steps, and none leaves {lock}"
        if lock.exists():
            return
    raise AssertionError("it never ends")


# --- the dead ---


class Kills:
    """Syncs that are killed, and the next one, which must succeed without help."""

    def __init__(self, world, program):
        self.world, self.program, self.known, self.seen = world, program, ids(world.a), {}

    def at(self, repo, step):
        """Which locks it left; nothing: it was not killed."""
        self.known.add(repo.create("new"))
        done = run_sync(repo, program=self.program, ABACUS_FAULT_AT=step)
        if not killed(done):
            done.ok()
            return None
        found = left(self.world)
        for where in found:
            self.seen[where] = self.seen.get(where, 0) + 1
        sync(repo)
        assert not left(self.world), "a lock is still there after a sync"
        return found


def test_a_sync_that_was_killed_at_any_step_does_not_stop_the_next_one(world, faulty):  # noqa: F811
    """Every step once, then those that leave a lock, alternating between two clones."""
    kills, window, step = Kills(world, helper_of(faulty)), [], 1
    while (found := kills.at(world.a, step)) is not None:
        window += [step] if found else []
        step += 1
    for n in range(4 * KILLS):
        repo = (world.b, world.a)[n // len(window) % 2]
        if n % len(window) == 0:
            sync(repo)  # so that its steps are those of before
        kills.at(repo, window[n % len(window)])
        if sum(kills.seen.values()) >= KILLS:
            break
    seen, known = kills.seen, kills.known
    assert sum(seen.values()) >= KILLS, seen
    assert {name for _, name in seen} == {f"{REF}.lock", f"{TRACKING}.lock"} and ("r.git", f"{REF}.lock") in seen, seen
    for repo in (world.a, world.b, world.a):
        sync(repo)
    assert ids(world.a) == ids(world.b) == known
    assert world.ref(world.a.path) == world.ref(world.b.path) == world.published()
    assert not {*locks(world.a.path), *locks(world.b.path)}
    for path in (world.a.path, world.b.path, world.remote):
        git(path, "fsck", "--full")


def test_the_lock_of_a_killed_sync_can_be_opened_only_by_its_user(folder, faulty):  # noqa: F811
    """A user who can open it, even only to read, can hold flock() on it, and looks like a running sync."""
    w = World(folder)
    both(w)
    w.keep()
    refs = {gitdir(w.a.path) / REF, gitdir(w.a.path) / TRACKING, w.remote / REF}
    seen, before = set(), os.umask(0o022)
    try:
        for n in range(1, 400):
            w.put_back()
            done = run_sync(w.a, program=helper_of(faulty), ABACUS_FAULT_AT=n)
            if not killed(done):
                break
            files = [f for path in (w.a.path, w.remote) for f in gitdir(path).rglob("*.lock") if "refs" in f.parts]
            opened = [f for f in files if f.stat().st_mode & 0o077]
            moved = {ref.stat().st_ino for ref in refs if ref.exists()}
            assert not [f for f in opened if f.stat().st_ino not in moved], n
            seen |= {f.name.split(".")[0] for f in files}
            if files:
                sync(w.a)
                assert {stat.S_IMODE(ref.stat().st_mode) for ref in refs} == {0o644}, n
    finally:
        os.umask(before)
    assert seen == {"store", "origin"} and not left(w)


@pytest.mark.parametrize("where", ["clone", "remote"])
def test_a_process_that_flocks_an_old_lock_of_git_stops_no_sync(world, where):
    """Git does not use flock(), so a process that holds it did not make the lock."""
    ref = (gitdir(world.a.path) if where == "clone" else world.remote) / REF
    lock = pathlib.Path(f"{ref}.lock")
    lock.touch()
    os.utime(lock, (1, 1))
    world.a.create("new", "--id", "bd-new")
    with open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sync(world.a)
    assert not lock.exists()
    sync(world.b)
    assert "bd-new" in ids(world.b)


@pytest.mark.parametrize("where", ["clone", "remote"])
def test_a_lock_from_before_a_power_loss_is_removed(folder, faulty, where):  # noqa: F811
    """It is from another boot, so its owner cannot be checked; it is removed because it does not change."""
    w = World(folder)
    both(w)
    known = ids(w.a)
    w.keep()
    ref = (gitdir(w.a.path) if where == "clone" else w.remote) / REF
    lock = pathlib.Path(f"{ref}.lock")
    left_by_a_kill(w, helper_of(faulty), lock)
    name = own(ref)
    mark = name.name.split(".abacus-")[1]
    name.rename(name.with_name(name.name.replace(mark, "00000000" + mark[8:])))
    sync(w.a)
    sync(w.b)
    assert ids(w.b) >= known - {"bd-shut"}
    assert not lock.exists() and not [f for f in ref.parent.iterdir() if ".abacus-" in f.name]


def test_a_lock_of_all_packed_refs_is_removed_only_if_it_is_ours(folder, faulty):  # noqa: F811
    """Old backups are dropped from packed-refs, which also has the refs of the user."""
    w = World(folder)
    a, b = w.begin()
    tree = git(a.path, "rev-parse", f"{REF}^{{tree}}").strip()
    for n in range(18):
        commit = git(a.path, "commit-tree", "-m", f"{n}", tree).strip()
        git(a.path, "update-ref", f"refs/beads/backup/{commit}", commit)
        git(a.path, "update-ref", f"refs/heads/b{n}", commit)
    git(a.path, "tag", "-am", "x", "annotated", commit)
    git(a.path, "pack-refs", "--all")
    a.create("here", "--id", "bd-here")
    (w.remote / REF).unlink()
    mine = git(a.path, "for-each-ref", "refs/heads", "refs/tags")
    w.keep()
    lock = gitdir(a.path) / "packed-refs.lock"
    left_by_a_kill(w, helper_of(faulty), lock)
    sync(a)
    assert not lock.exists() and not [f for f in locks(a.path)]
    assert git(a.path, "for-each-ref", "refs/heads", "refs/tags") == mine
    assert len(git(a.path, "for-each-ref", "refs/beads/backup").splitlines()) == 16
    w.put_back()
    lock.write_text("")
    sync(a)
    assert lock.exists(), "a lock that another program made"
    assert git(a.path, "for-each-ref", "refs/heads", "refs/tags") == mine


def test_temporary_objects_that_are_a_day_old_are_removed(world):
    objects = gitdir(world.a.path) / "objects"
    old = [objects / "tmp_object_git2_x", objects / "pack/pack_git2_x", objects / "pack/pack_git2_xidx.lock"]
    new = [objects / "tmp_object_git2_y", objects / "pack/pack_git2_y", objects / "tmp_obj_of_git"]
    (objects / "pack").mkdir(exist_ok=True)
    for file in old + new:
        file.write_text("x")
    for file in old + new[2:]:
        os.utime(file, (1, 1))
    run_sync(world.a, act="pack").ok()
    assert not [f for f in old if f.exists()] and all(f.exists() for f in new)


# --- the living ---


class Touching(threading.Thread):
    """A program that is slow with a ref: its lock keeps changing."""

    def __init__(self, lock):
        super().__init__(daemon=True)
        self.lock, self.stop, self.lost = lock, threading.Event(), False
        lock.write_text("")
        self.made = lock.stat().st_ino
        self.start()

    def run(self):
        size = 0
        while not self.stop.wait(0.2):
            try:
                size += 1
                with open(self.lock, "r+") as f:
                    f.write("x" * size)
                self.lost = self.lost or self.lock.stat().st_ino != self.made
            except FileNotFoundError:
                self.lost = True

    def end(self):
        self.stop.set()
        self.join()
        assert not self.lost, "the lock was taken from a living program"
        self.lock.unlink()


def hold_like_a_sync(world, ref, program):
    """A lock of ours whose owner is alive and holds flock()."""
    lock = pathlib.Path(f"{ref}.lock")
    left_by_a_kill(world, program, lock)
    held = open(lock, "r+")
    fcntl.flock(held, fcntl.LOCK_EX)
    return lock, held


def test_a_lock_of_a_living_program_is_not_removed(folder, faulty):  # noqa: F811
    """In the clone, at the remote, one of a stopped sync, and one of a Git that waits for a hook and does not change
    it: all at once, because each takes long."""
    worlds = []
    for name in ("foreign-clone", "foreign-remote", "ours", "hook-clone", "hook-remote"):
        (folder / name).mkdir()
        w = World(folder / name)
        both(w)
        w.keep()
        worlds.append(w)
    here = pathlib.Path(f"{gitdir(worlds[0].a.path) / REF}.lock")
    there = pathlib.Path(f"{worlds[1].remote / REF}.lock")
    lock, held = hold_like_a_sync(worlds[2], worlds[2].remote / REF, helper_of(faulty))
    slow = [Touching(here), Touching(there)]
    still = [pathlib.Path(f"{gitdir(worlds[3].a.path) / REF}.lock"), pathlib.Path(f"{worlds[4].remote / REF}.lock")]
    for path in still:
        path.touch()
    syncing = [w.a.spawn("sync", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE) for w in worlds]
    answers = [p.communicate(timeout=60)[0].decode() for p in syncing]
    for p, answer, path in zip(syncing, answers, (here, there, lock, *still)):
        assert p.returncode == 4 and '"sync_failed"' in answer and str(path) in answer, answer
    assert f"another sync (process {os.getpid()}) has held" in answers[2] or not os.path.exists("/proc/locks")
    assert lock.exists() and os.fstat(held.fileno()).st_ino == lock.stat().st_ino
    for thread in slow:
        thread.end()
    for path in still:
        path.unlink()  # it is still there
    held.close()
    for w in worlds:
        sync(w.a)
        assert not left(w)


@needs_strace
def test_a_sync_works_without_hard_links(world):
    """The lock is an ordinary lock of Git then."""
    world.a.create("new", "--id", "bd-new")
    done = subprocess.run([STRACE, "-f", "-qq", "-o", os.devnull, "-e", "inject=link,linkat:error=EPERM", SYNC, "sync",
                           str(gitdir(world.a.path))], capture_output=True, timeout=60, env=environment(**world.a.env))
    assert done.returncode == 0, done.stdout
    sync(world.b)
    assert "bd-new" in ids(world.b) and not left(world) and not locks(world.a.path) | locks(world.remote)


def test_a_lock_with_a_time_in_the_future_grows_old(world):
    """The clock was ahead when Git died."""
    lock = gitdir(world.a.path) / f"{REF}.lock"
    lock.write_text("")
    os.utime(lock, (1 << 32, 1 << 32))
    world.a.create("new", "--id", "bd-new")
    assert "has held" in world.a.fails("sync")["message"]
    assert lock.stat().st_mtime <= time.time() + 1
    os.utime(lock, (time.time() - 301, time.time() - 301))
    sync(world.a)
