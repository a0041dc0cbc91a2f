"""`bd` killed at any moment, and failing disks: acknowledged writes are kept, and no change is half done."""
import json
import re
import resource
import signal
import subprocess

import pytest

from bead_harness import (BD, BELONGS, NOW, Store, assert_sound, drop_cache, faulty, files, state, storage_error,
                          traced)
from conftest import Result, environment
from harness import crash_steps, killed, needs_strace

MANY = ["--title", "new title", "-d", "new text", "-p", "0", "-t", "bug", "--design", "d", "--acceptance", "a",
        "--external-ref", "gh-1", "--append-notes", "a note", "--add-label", "l2", "--remove-label", "l1",
        "--parent", "bd-epic"]
COMMANDS = {
    "create": ["create", "made", "--id", "bd-made", "-l", "x,y", "--deps", "blocks:bd-one", "--deps",
               "related:bd-two", "--parent", "bd-epic"],
    "update": ["update", "bd-one", "bd-two", *MANY],
    "close": ["close", "bd-one", "--reason", "done", "--note", "a note"],
    "reopen": ["reopen", "bd-shut", "--reason", "not done"],
    "claim": ["claim", "bd-one"],
    "ready-claim": ["ready", "--claim"],
    "comment": ["comment", "bd-one", "said"],
    "dep-add": ["dep", "add", "bd-two", "bd-one"],
    "dep-remove": ["dep", "remove", "bd-wait", "bd-one"],
    "label-add": ["label", "add", "bd-one", "bd-two", "l9"],
    "delete": ["delete", "bd-two", "bd-shut", "--force"],
    "undelete": ["undelete", "bd-gone"],
    "config-set": ["config", "set", "claim.lease", "2h"],
}


@pytest.fixture
def furnished(plain_repo):
    """A store with a bead in every state, with a fixed clock."""
    repo = plain_repo
    repo.env["ABACUS_NOW"] = NOW
    repo.bd("init", "--prefix", "bd").ok()
    repo.create("all of it", "--id", "bd-epic", "-t", "epic", "-p", "4")
    repo.create("one", "--id", "bd-one", "-l", "l1", "-p", "1")
    repo.create("two", "--id", "bd-two", "-l", "l1,l3")
    repo.create("waits", "--id", "bd-wait", "--deps", "blocks:bd-one")
    for bead in ("bd-shut", "bd-gone"):
        repo.create(bead, "--id", bead)
    repo.bd("close", "bd-shut").ok()
    repo.bd("delete", "bd-gone", "--force").ok()
    return repo


def plain(value):
    """Notes get a random id, which the hash covers, so two runs never give the same hash."""
    text = re.sub(r'"id": "[0-9a-z]{8,}"', '"id": "note"', json.dumps(value))
    return json.loads(re.sub(r'"content_hash": "[0-9a-f]{64}"', '"content_hash": "hash"', text))


def run(repo, program, *args, **env):
    return Result(subprocess.run([program, *args], cwd=repo.path, stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=60, env=environment(**repo.env, **env)))


def points(repo, program, tmp_path, *args):
    """The number of steps of this command that change the disk."""
    counted = tmp_path / "counted"
    run(repo, program, *args, ABACUS_FAULT_COUNT=counted).ok()
    return int(counted.read_text())


def whole_of(found):
    return found["beads"], found["deleted"], found["settings"]


def whole(repo):
    """The same, with fewer queries."""
    return tuple(plain(repo.json(*q)) for q in (("list", "--all", "-n", "0"), ("deleted", "-n", "0"), ("config", "list")))


def same_whole(repo, wanted):
    """The state in the cache and the state in the journal are both one of these."""
    found = plain(state(repo))
    assert found in wanted, f"neither before nor after: {found}"
    assert_sound(repo)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_every_step(furnished, faulty, tmp_path, name):
    repo, store = furnished, Store(furnished)
    command = ["--json", "--request-id", "once", *COMMANDS[name]]
    before, kept = plain(state(repo)), store.keep()
    steps = points(repo, faulty, tmp_path, *command)
    after = plain(state(repo))
    assert after != before
    reply = plain(repo.bd(*command).ok().json)
    assert plain(state(repo)) == after, "the request had two effects"
    seen = []
    for n in crash_steps(steps):
        store.put_back(kept)
        done = run(repo, faulty, *command, ABACUS_FAULT_AT=n)
        assert killed(done) and done.out == "", f"step {n} of {steps}: {done.out}{done.err}"
        seen.append(same_whole(repo, (before, after)) == after)
        drop_cache(repo)
        assert whole(repo) == whole_of(after if seen[-1] else before), f"step {n}: the cache and the journal differ"
        assert plain(repo.bd(*command).ok().json) == reply, f"step {n}"
        assert whole(repo) == whole_of(after), f"step {n}: not one effect"
        if n % 6 == 0:
            same_whole(repo, (after,))
    assert seen == sorted(seen), "a change that was there is gone with a later step"
    assert seen[0] is False and seen[-1] is True, seen


@pytest.mark.parametrize("ref", [[], ["--ref", "refs/beads/other"]], ids=["plain", "ref"])
def test_init_killed_at_every_step(plain_repo, faulty, tmp_path, ref):
    repo, store = plain_repo, Store(plain_repo)
    command, nothing = ["--json", "init", "--prefix", "zz", *ref], store.keep()
    steps = points(repo, faulty, tmp_path, *command)
    for n in crash_steps(steps):
        store.put_back(nothing)
        assert killed(run(repo, faulty, *command, ABACUS_FAULT_AT=n)), f"step {n}"
        there = repo.bd("--json", "list")
        made = repo.bd("--json", "create", "first")
        exists = repo.json("where")["exists"]
        if there.code:
            assert (there.error["code"], made.code, made.error["code"], exists) == \
                ("not_initialized", 1, "not_initialized", False), f"step {n}"
            assert repo.fails("ready")["code"] == "not_initialized"
        else:
            assert (there.json, made.code, exists) == ([], 0, True), f"step {n}: {made.out}"
            assert made.json["id"].startswith("zz-"), f"step {n}"
            repo.bd("delete", made.json["id"], "--force").ok()
        again = repo.bd(*command).ok().json
        assert (again["result"], again["prefix"]) == ("exists" if not there.code else "created", "zz"), f"step {n}"
        assert repo.create("next").startswith("zz-")
        drop_cache(repo)
        assert len(repo.json("list")) == 1
        assert_sound(repo)


@pytest.mark.parametrize("command", [["list", "--all"], ["create", "new", "--id", "bd-new"]], ids=["reader", "writer"])
def test_a_rebuild_killed_at_every_step(furnished, faulty, tmp_path, command):
    repo, store = furnished, Store(furnished)
    before = plain(state(repo))
    drop_cache(repo)
    kept = store.keep()
    steps = points(repo, faulty, tmp_path, "--json", *command)
    after = plain(state(repo))
    for n in crash_steps(steps):
        store.put_back(kept)
        assert killed(run(repo, faulty, "--json", *command, ABACUS_FAULT_AT=n))
        same_whole(repo, (before, after))


@pytest.mark.parametrize("command", [["list"], ["config", "set", "claim.lease", "2h"]], ids=["rebuild", "config"])
def test_killed_commands_leave_no_files_behind(furnished, faulty, tmp_path, command):
    """Temporary files of killed commands are removed by the next command of the same kind; they would fill the disk."""
    repo, store = furnished, Store(furnished)
    drop_cache(repo)
    kept = store.keep()
    steps = points(repo, faulty, tmp_path, "--json", *command)
    store.put_back(kept)
    for n in crash_steps(steps):
        drop_cache(repo)
        assert killed(run(repo, faulty, "--json", *command, ABACUS_FAULT_AT=n))
    drop_cache(repo)
    repo.bd(*command).ok()
    assert files(repo) <= BELONGS


def test_a_caught_up_cache_is_killed_at_every_step(furnished, faulty, tmp_path):
    """The record is in the journal and not in the cache, and the command that adds it is killed too."""
    repo, store = furnished, Store(furnished)
    kept = store.keep()
    repo.bd("update", "bd-one", *MANY).ok()
    after, journal = plain(state(repo)), repo.journal.read_bytes()
    store.put_back(kept)
    repo.journal.write_bytes(journal)
    kept = store.keep()
    steps = points(repo, faulty, tmp_path, "--json", "list")
    for n in crash_steps(steps):
        store.put_back(kept)
        assert killed(run(repo, faulty, "--json", "list", ABACUS_FAULT_AT=n))
        same_whole(repo, (after,))


# --- from outside ---


@pytest.fixture
def full_log(furnished):
    """A store whose cache is about to checkpoint its log: the next change does it."""
    store, main = Store(furnished), furnished.cache.read_bytes()
    for n in range(100):
        kept = store.keep()
        furnished.create(f"fill {n}", "--id", f"bd-f{n:03}")
        if furnished.cache.read_bytes() != main:
            store.put_back(kept)
            return furnished
    raise AssertionError("the log is never written back")


def moments():
    """The N-th call of a kind; every third one of the many that write pages of the cache."""
    return [n for n in range(1, 400) if n <= 12 or n % 3 == 0]


@needs_strace
@pytest.mark.parametrize("call", ["write", "pwrite64", "fdatasync", "/^rename", "/^ftruncate", "/^unlink"])
@pytest.mark.parametrize("place", ["full_log", "no_cache"])
def test_killed_at_every_call(request, call, place):
    repo = request.getfixturevalue("furnished" if place == "no_cache" else place)
    store, command = Store(repo), ["--json", "--request-id", "once", *COMMANDS["create"]]
    if place == "no_cache":
        drop_cache(repo)
    kept = store.keep()
    before = repo.json("list", "--all", "-n", "0")
    store.put_back(kept)
    repo.bd(*command).ok()
    after = repo.json("list", "--all", "-n", "0")
    reached = 0
    for n in moments():
        store.put_back(kept)
        done = traced(repo, f"{call}:signal=SIGKILL:when={n}", *command)
        if not killed(done):
            assert done.code == 0, done.out
            break
        reached += 1
        assert done.out == ""
        left = repo.json("list", "--all", "-n", "0")
        assert left in (before, after), f"{call} {n}"
        again = repo.bd(*command).ok()
        assert repo.json("list", "--all", "-n", "0") == after, f"{call} {n}"
        assert [b["id"] for b in after].count(again.json["id"]) == 1
        if n % 8 == 1:
            assert_sound(repo)
        if n == 1:
            drop_cache(repo)
            assert repo.json("list", "--all", "-n", "0") == after
    else:
        raise AssertionError(f"{call} never stops being called")
    expected = {"write": 2, "fdatasync": 1, "/^ftruncate": 1 if place == "full_log" else 0,
                "pwrite64": 8, "/^rename": place == "no_cache", "/^unlink": place == "no_cache"}
    assert reached >= expected[call], reached


@needs_strace
@pytest.mark.parametrize("fault", ["write:error=ENOSPC", "write:error=EIO", "pwrite64:error=ENOSPC",
                                   "pwrite64:error=EIO", "/^ftruncate:error=EIO", "fdatasync:error=EIO",
                                   "fsync:error=EIO"])
@pytest.mark.parametrize("place", ["full_log", "no_cache", "torn"])
def test_a_disk_that_fails_at_every_call(request, place, fault):
    """One call fails: the command succeeds, or an error says that the change was not made or that the result is
    unknown."""
    repo = request.getfixturevalue("full_log" if place == "full_log" else "furnished")
    store, command = Store(repo), ["--json", *COMMANDS["create"]]
    if place == "no_cache":
        drop_cache(repo)
    if place == "torn":
        repo.journal.write_bytes(repo.journal.read_bytes() + b"0123")
    kept = store.keep()
    before = repo.json("list", "--all", "-n", "0")
    store.put_back(kept)
    repo.bd(*command).ok()
    after = repo.json("list", "--all", "-n", "0")
    failed = 0
    for n in moments():
        store.put_back(kept)
        log = repo.path.parent / "calls"
        done = traced(repo, f"{fault}:when={n}", *command, calls="all", log=log)
        trace = log.read_text()
        if "(INJECTED)" not in trace:
            assert done.code == 0, done.out
            break
        if "write(1," in [line for line in trace.splitlines() if "(INJECTED)" in line][0]:
            continue  # what it had to say could not be said
        left = repo.json("list", "--all", "-n", "0")
        if done.code == 0:
            assert left == after, f"{fault} {n}: acknowledged, and not there"
        else:
            failed += 1
            error = storage_error(done)
            unknown = "not known" in error["hint"]
            assert left in ((before, after) if unknown else (before,)), f"{fault} {n}: {error}"
            assert "corrupt" != error["code"], f"{fault} {n}: {error}"
        if n % 4 == 1:
            assert_sound(repo)
        if left == before:
            repo.bd(*command).ok()
        else:
            assert repo.fails(*command[1:])["code"] == "already_exists"
        assert repo.json("list", "--all", "-n", "0") == after
    else:
        raise AssertionError(f"{fault} never stops being reached")


@needs_strace
def test_a_sync_that_fails_has_no_second_effect(furnished):
    """The record may or may not be on disk: it has one effect, and is never acknowledged."""
    for n, more in enumerate(([], ["--request-id", "once"])):
        done = traced(furnished, "fdatasync:error=EIO:when=1", "--json", "create", f"title {n}", *more)
        error = storage_error(done)
        assert "not known" in error["hint"], error
        assert [b["title"] for b in furnished.json("list")].count(f"title {n}") == 1
    again = furnished.bd("--json", "--request-id", "once", "create", "title 1").ok()
    assert [b["id"] for b in furnished.json("list") if b["title"] == "title 1"] == [again.json["id"]]
    assert_sound(furnished)


@needs_strace
@pytest.mark.parametrize("again", [["--request-id", "once", "create", "new", "--id", "bd-new"],
                                   ["label", "add", "bd-new", "l"], ["init"]],
                         ids=["same request", "nothing to change", "init"])
def test_an_unsynced_record_is_synced_before_it_is_acknowledged(furnished, tmp_path, again):
    """After a kill between write and sync, a later command that acknowledges the record syncs it first."""
    done = traced(furnished, "fdatasync:signal=SIGKILL:when=1", "--request-id", "once", "--json", "create", "new",
                  "--id", "bd-new", "-l", "l")
    assert killed(done)
    if again[0] == "--request-id":
        again = [*again, "-l", "l"]
    log = tmp_path / "calls"
    traced(furnished, None, "--json", *again, calls="fdatasync,fsync", log=log).ok()
    assert "fdatasync(" in log.read_text(), "acknowledged, and in no way on the disk"


# --- a disk that takes only a part ---


@pytest.fixture
def long_journal(furnished):
    """A journal that is longer than the cache, so that a limit on file sizes affects only the journal."""
    for n in range(40):
        furnished.bd("update", "bd-one", "-d", "word " * 1000 + str(n)).ok()
    assert furnished.journal.stat().st_size > 2 * furnished.cache.stat().st_size
    return furnished


def limited(repo, room, ignored, *args):
    """Runs `bd` with room for that many bytes in the journal: the kernel writes a part and then refuses."""
    most = repo.journal.stat().st_size + room

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return Result(subprocess.run([BD, *args], cwd=repo.path, stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=60, env=environment(**repo.env), preexec_fn=limit, restore_signals=False))


@pytest.mark.parametrize("ignored", [True, False], ids=["SIGXFSZ ignored", "SIGXFSZ by default"])
def test_a_record_written_in_part(long_journal, ignored):
    """A limit on the size of files is an error, and its signal kills no command."""
    repo, store = long_journal, Store(long_journal)
    command = ["--json", "--request-id", "once", *COMMANDS["create"]]
    before, kept, size = repo.json("list", "--all"), store.keep(), repo.journal.stat().st_size
    repo.bd(*command).ok()
    after, grown = repo.json("list", "--all"), repo.journal.stat().st_size - size
    for room in [0, 1, 2, 8, 9, 10, *range(50, grown, 97), grown - 2, grown - 1]:
        store.put_back(kept)
        done = limited(repo, room, ignored, *command)
        storage_error(done)
        assert repo.journal.stat().st_size == size, "a part was left"
        assert repo.json("list", "--all") == before, f"{room} bytes"
        assert_sound(repo)
        repo.bd(*command).ok()
        assert repo.json("list", "--all") == after, f"{room} bytes"
        assert repo.journal.stat().st_size == size + grown
    store.put_back(kept)
    limited(repo, grown, ignored, *command).ok()
