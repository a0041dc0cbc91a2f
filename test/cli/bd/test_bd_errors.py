"""bd: the code, exit status and output stream of every error"""
import fcntl
import re
import resource
import shutil
import signal
import subprocess

import pytest

from beads import append, clock, is_error, ms, wipe_cache
from conftest import BIN, environment


def test_outside_a_repository(repo, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for words in (["list"], ["create", "x"], ["ready"], ["init"], ["show", "a"], ["status"]):
        error = is_error(repo.bd("--json", *words, cwd=other), "not_a_repository", 1)
        assert str(other) in error["message"]
    assert list(other.iterdir()) == []


def test_a_repository_without_a_store(plain_repo):
    for words in (["list"], ["create", "x"], ["ready"], ["show", "a"], ["status"], ["validate"], ["count"]):
        error = is_error(plain_repo.bd("--json", *words), "not_initialized", 1)
        assert "bd init" in error["hint"]
    assert not plain_repo.home.exists()


def test_an_unknown_bead_is_not_found(repo):
    for words in (["show"], ["update", "-p", "0"], ["close"], ["reopen"], ["delete"], ["undelete"], ["claim"],
                  ["renew"], ["unclaim"], ["comment", "hi"], ["comments"], ["children"], ["why"]):
        error = is_error(repo.bd("--json", words[0], "bd-nope", *words[1:]), "not_found", 1)
        assert "bd-nope" in error["message"]
        assert error["retryable"] is False


@pytest.mark.parametrize("words", [["frobnicate"], ["list", "--nope"], ["create"], ["show"], ["dep"], ["dep", "frob"],
                                   ["create", "a", "b"], ["list", "stray"], ["update"], ["create", "x", "--title"],
                                   ["close"], ["--nope", "list"], ["config", "get"], ["label"], ["epic"],
                                   ["list", "--limit"]])
def test_usage_errors_exit_with_2(repo, words):
    is_error(repo.bd("--json", *words), "invalid_argument", 2)
    done = repo.bd(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")


def test_no_command_at_all_is_help_or_usage(repo):
    done = repo.bd()
    assert "Usage" in done.out + done.err


def test_for_people_the_error_is_on_stderr(repo):
    done = repo.bd("show", "bd-nope")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ") and "bd-nope" in done.err


def test_an_error_without_a_store_is_json_even_if_the_flag_is_last(plain_repo):
    is_error(plain_repo.bd("list", "--json"), "not_initialized", 1)
    is_error(plain_repo.bd("frobnicate", "--json"), "invalid_argument", 2)
    is_error(plain_repo.bd("list", "--nope", "--json"), "invalid_argument", 2)


# storage

def break_at(repo, where):
    data = bytearray(repo.journal.read_bytes())
    data[where] ^= 1
    repo.journal.write_bytes(data)


def test_damage_in_the_middle_refuses_writes_with_the_offset_and_keeps_the_file(repo):
    """Reads use the records before the damage, and report it."""
    repo.create("one")
    repo.create("two")
    lines = repo.journal.read_bytes().splitlines(keepends=True)
    offset = len(lines[0]) + len(lines[1])
    break_at(repo, offset + 30)
    wipe_cache(repo)
    damaged = repo.journal.read_bytes()
    for words in (["create", "x"], ["close", "x"], ["validate"], ["repair", "--stamps", "--apply"]):
        error = is_error(repo.bd("--json", *words), "corrupt", 3)
        assert f"byte {offset} " in error["message"] and str(repo.journal) in error["message"]
        assert "init" not in error["hint"] and "--force" not in error["hint"]
        assert "bd repair --apply" in error["hint"]
    for words in (["list"], ["ready"], ["status"], ["info"], ["show", repo.ids("list")[0]], ["search", "one"]):
        done = repo.bd("--json", *words).ok()
        assert f"byte {offset} " in done.err and "bd repair --apply" in done.err, words
    assert [b["title"] for b in repo.json("list")] == ["one"]
    assert repo.journal.read_bytes() == damaged
    done = repo.bd("doctor", "--json")
    assert done.code != 0
    assert done.json["ok"] is False
    assert repo.journal.read_bytes() == damaged


def test_init_on_a_damaged_store_changes_nothing(repo):
    repo.create("one")
    break_at(repo, 20)
    wipe_cache(repo)
    damaged = repo.journal.read_bytes()
    is_error(repo.bd("init", "--json"), "corrupt", 3)
    assert repo.journal.read_bytes() == damaged


@pytest.mark.parametrize("cut", [1, 2, 10, 60])
def test_a_torn_last_record_is_dropped(repo, cut):
    one = repo.create("one")
    whole = repo.journal.read_bytes()
    repo.create("two")
    torn = repo.journal.read_bytes()[:-cut]
    assert len(torn) > len(whole)
    repo.journal.write_bytes(torn)
    wipe_cache(repo)
    assert repo.ids("list") == [one]
    three = repo.create("three")
    assert repo.ids("list") == [one, three]
    assert repo.journal.read_bytes().startswith(whole)
    wipe_cache(repo)
    assert repo.ids("list") == [one, three]


def test_a_record_missing_in_the_cache_is_applied(repo):
    """Another process died between the journal and the cache."""
    clock(repo)
    one = repo.create("one")
    saved = {f.name: f.read_bytes() for f in repo.home.glob("cache.db*")}
    two = repo.create("two")
    wipe_cache(repo)
    for name, data in saved.items():
        (repo.home / name).write_bytes(data)
    assert repo.ids("list") == [one, two]
    three = repo.create("three")
    assert repo.ids("list") == [one, two, three]
    assert repo.json("doctor")["ok"] is True


def test_a_journal_that_cannot_be_read_is_a_storage_error(repo):
    repo.create("one")
    repo.journal.unlink()
    repo.journal.mkdir()
    wipe_cache(repo)
    for words in (["list"], ["create", "x"]):
        is_error(repo.bd("--json", *words), "storage", 3)


def test_a_missing_journal_is_not_an_empty_list(repo):
    repo.create("one")
    repo.journal.unlink()
    for words in (["list"], ["ready"], ["create", "x"], ["status"]):
        done = repo.bd("--json", *words)
        assert (done.code, list(done.json)) in [(1, ["error"]), (3, ["error"])], (words, done.out)


def test_a_full_disk_is_a_storage_error_and_reports_no_success(repo):
    bead = repo.create("one")
    journal = repo.journal.read_bytes()
    limit = len(journal) + 20

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run([str(BIN / "bd"), "--json", "update", bead, "--title", "new " * 20], cwd=repo.path,
                          env=environment(**repo.env), capture_output=True, preexec_fn=small, timeout=60)
    assert done.returncode == 3, done.stdout
    assert b'"code":"storage"' in done.stdout
    assert repo.journal.read_bytes() == journal
    assert repo.show(bead)["title"] == "one"
    repo.bd("update", bead, "--title", "new").ok()
    assert repo.show(bead)["title"] == "new"


def test_a_writer_waits_for_the_lock_and_a_reader_does_not(repo):
    one = repo.create("one")
    with (repo.home / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert repo.ids("list") == [one]
        assert repo.show(one)["title"] == "one"
        writer = repo.spawn("update", one, "--title", "new")
        assert repo.show(one)["title"] == "one"
        assert writer.poll() is None
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert writer.wait(60) == 0
    assert repo.show(one)["title"] == "new"


# the cache

SESSION = [["create", "a", "--id", "bd-a", "-l", "x"], ["create", "b", "--id", "bd-b", "--deps", "bd-a"],
           ["list"], ["ready"], ["claim", "bd-a", "--request-id", "r"], ["comment", "bd-a", "hi", "--request-id", "c"],
           ["show", "bd-a", "bd-b"], ["search", "hi"], ["blocked"], ["close", "bd-a", "-r", "done"], ["ready"],
           ["delete", "bd-b", "--yes"], ["deleted"], ["undelete", "bd-b"], ["dep", "tree", "bd-b"], ["status"], ["count"],
           ["claim", "bd-a", "--request-id", "r"], ["label", "list-all"], ["list", "--all", "--sort", "updated"]]


def drop(repo):
    wipe_cache(repo)


def drop_one(repo):
    for file in repo.home.glob("cache.db-*"):
        file.unlink()


def drop_main(repo):
    repo.cache.unlink()


def truncate(repo):
    repo.cache.write_bytes(repo.cache.read_bytes()[:5000])


def empty(repo):
    for file in repo.home.glob("cache.db*"):
        file.write_bytes(b"")


def noise(repo):
    for file in repo.home.glob("cache.db*"):
        file.write_bytes(bytes((i * 7919 >> 3) & 255 for i in range(20000)))


def noise_inside(repo):
    data = bytearray(repo.cache.read_bytes())
    for i in range(100, len(data), 97):
        data[i] ^= 0x55
    repo.cache.write_bytes(data)


def old(repo):
    saved = repo.home / "saved"
    if not saved.exists():
        saved.mkdir()
        for file in repo.home.glob("cache.db*"):
            shutil.copy(file, saved / file.name)
        return
    wipe_cache(repo)
    for file in saved.iterdir():
        shutil.copy(file, repo.home / file.name)


@pytest.fixture(scope="module")
def plain_answers():
    return []


@pytest.mark.parametrize("harm", [None, drop, drop_one, drop_main, truncate, empty, noise, noise_inside, old],
                         ids=lambda h: h.__name__ if h else "none")
def test_the_cache_may_be_deleted_or_damaged_between_any_two_commands(repo, plain_answers, harm):
    answers = []
    for i, words in enumerate(SESSION):
        clock(repo, s=i)
        if harm and i:
            harm(repo)
        answers.append(repo.bd("--json", *words).bytes)
    ids = [a.replace(str(repo.path).encode(), b"PATH") for a in answers]
    # the ids of notes are made by chance
    ids = [re.sub(rb'"id":"[0-9a-f]{12}"', b'"id":"note"', a) for a in ids]
    ids = [re.sub(rb'"content_hash":"[0-9a-f]{64}"', b'"content_hash":""', a) for a in ids]
    if harm is None:
        plain_answers[:] = ids
        assert all(b'"error"' not in a for a in answers)
    else:
        assert plain_answers, "run the whole group"
        assert ids == plain_answers


def test_a_record_of_another_process_is_seen_at_once(repo):
    clock(repo)
    one = repo.create("one")
    append(repo, {"beads": [{"_at": [ms(), 99], "_by": "zoe", "created_at": [ms(), 99], "created_by": "zoe",
                             "id": "bd-new", "priority": 2, "status": "open", "title": "new", "type": "task"}]})
    assert repo.ids("list") == [one, "bd-new"]
