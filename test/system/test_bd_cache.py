"""The cache is only a cache: missing, truncated, damaged, old or from another store, the replies are the same."""
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import pytest

from bead_harness import BD, NOW, Store, assert_sound, drop_cache, state
from conftest import Repo, Result, environment, git
from harness import needs_root

SEED = int(os.environ.get("ABACUS_SEED", "20240229"))

# A session that uses every table, each step deterministic.
SESSION = [
    ["create", "all", "--id", "b-epic", "-t", "epic"],
    ["create", "one thing", "--id", "b-one", "-l", "l1,l2", "--parent", "b-epic", "-p", "1"],
    ["create", "two things", "--id", "b-two", "--deps", "blocks:b-one", "-d", "words to be found"],
    ["ready"],
    ["blocked"],
    ["claim", "b-one"],
    ["update", "b-two", "--title", "second thing", "--add-label", "l1", "-p", "0"],
    ["search", "thing"],
    ["show", "b-two"],
    ["close", "b-one", "--reason", "done"],
    ["list", "--all", "--label", "l1"],
    ["why", "b-two"],
    ["delete", "b-one", "--force"],
    ["deleted"],
    ["undelete", "b-one"],
    ["reopen", "b-one"],
    ["dep", "remove", "b-two", "b-one"],
    ["--request-id", "r", "create", "asked once", "--id", "b-r"],
    ["--request-id", "r", "create", "asked once", "--id", "b-r"],
    ["search", "words"],
    ["ready", "--claim"],
    ["graph", "--all"],
    ["epic", "status"],
    ["children", "b-epic"],
    ["label", "list-all"],
    ["count"],
    ["list", "--all"],
]


def fresh(path, now=NOW):
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    repo = Repo(path)
    repo.env["ABACUS_NOW"] = now
    repo.bd("init", "--prefix", "b").ok()
    return repo


def answers(repo, between=lambda n: None):
    found = []
    for n, command in enumerate(SESSION):
        between(n)
        found.append(repo.bd("--json", *command).ok().json)
    between(len(SESSION))
    return found


@pytest.fixture
def wanted(tmp_path):
    """The replies of an undisturbed session."""
    repo = fresh(tmp_path / "calm")
    found = answers(repo)
    assert_sound(repo)
    return found, state(repo)


@pytest.fixture
def other_store(tmp_path):
    """A store of the same shape with other beads in it."""
    repo = fresh(tmp_path / "other", "2024-02-29T12:00:01.000Z")
    for n, command in enumerate(SESSION):
        repo.bd("--json", *[word.replace("thing", "else") for word in command]).ok()
    return repo.home


def parts(home):
    return [p for p in (home / name for name in ("cache.db", "cache.db-wal", "cache.db-shm")) if p.exists()]


def noise(path, chance):
    path.write_bytes(chance.randbytes(path.stat().st_size or 4096))


def cut(path, chance):
    size = path.stat().st_size
    os.truncate(path, chance.choice([0, 1, 16, 100, 512, 4096, 8192, size // 2, size // 4096 * 4096 // 2, max(size - 1, 0)]))


def grown(path, chance):
    with open(path, "ab") as file:
        file.write(chance.randbytes(chance.choice([1, 24, 4096, 9000])))


def gone(path, chance):
    path.unlink()


@pytest.mark.parametrize("which", ["cache.db", "cache.db-wal", "cache.db-shm", "any", "all"])
@pytest.mark.parametrize("harm", [gone, cut, noise, grown], ids=lambda f: f.__name__)
def test_damaged_between_any_two_commands(tmp_path, wanted, harm, which):
    chance = random.Random(f"{SEED} {harm.__name__} {which}")
    repo = fresh(tmp_path / "repo")

    def between(n):
        there = parts(repo.home)
        for path in {"all": there, "any": chance.sample(there, min(1, len(there)))}.get(
                which, [p for p in there if p.name == which]):
            harm(path, chance)

    assert answers(repo, between) == wanted[0], f"seed {SEED}"
    assert state(repo) == wanted[1], f"seed {SEED}"
    drop_cache(repo)
    assert state(repo) == wanted[1]
    assert_sound(repo)


@pytest.mark.parametrize("harm", ["older", "other", "older database", "older log", "other database", "other log"])
def test_replaced_between_any_two_commands(tmp_path, wanted, other_store, harm):
    """By its own copy from a few commands ago, or by that of another repository, completely or in part."""
    chance = random.Random(f"{SEED} {harm}")
    repo = fresh(tmp_path / "repo")
    kept = []

    def between(n):
        copy = tmp_path / f"copy{n}"
        shutil.copytree(repo.home, copy)
        kept.append(copy)
        source = other_store if harm.startswith("other") else chance.choice(kept)
        names = {"database": ["cache.db"], "log": ["cache.db-wal"]}.get(
            harm.split()[-1], ["cache.db", "cache.db-wal", "cache.db-shm"])
        for name in names:
            (repo.home / name).unlink(missing_ok=True)
            if (source / name).exists():
                shutil.copy(source / name, repo.home / name)

    assert answers(repo, between) == wanted[0], f"seed {SEED}"
    assert state(repo) == wanted[1], f"seed {SEED}"
    assert_sound(repo)


def test_files_of_the_cache_that_are_not_regular_or_not_writable(tmp_path, wanted):
    """A folder, a dangling link or a file without permissions in its place does no lasting harm."""
    repo = fresh(tmp_path / "repo")
    answers(repo)
    drop_cache(repo)
    repo.cache.symlink_to("nowhere")
    assert state(repo) == wanted[1]
    drop_cache(repo)
    repo.cache.write_bytes(b"")
    assert state(repo) == wanted[1]
    assert_sound(repo)


def test_every_page_of_noise(tmp_path):
    """A damaged page in the middle is noticed when it is read, and the reply comes from the journal."""
    repo = fresh(tmp_path / "repo")
    for n in range(60):
        repo.create(f"bead {n}", "--id", f"b-{n}", "-d", "text " * 40, "-l", f"l{n % 5}")
    drop_cache(repo)
    good = state(repo)
    found = repo.json("search", "bead", "-n", "0")
    chance = random.Random(SEED)
    store = Store(repo)
    kept, size = store.keep(), repo.cache.stat().st_size
    assert len(found) == 60 and size >= 20 * 4096
    for page in range(size // 4096):
        store.put_back(kept)
        with open(repo.cache, "r+b") as file:
            file.seek(page * 4096)
            file.write(chance.randbytes(4096))
        assert repo.json("list", "--all", "-n", "0") == good["beads"], page
        assert repo.json("search", "bead", "-n", "0") == found, page
        assert repo.ids("ready", "-n", "0") == good["ready"], page
        repo.bd("update", "b-7", "--title", "changed", "--add-label", "new").ok()
        assert repo.show("b-7")["title"] == "changed"
        assert len(repo.json("list", "--all", "-n", "0")) == 60, page
        if page % 8 == 0:
            drop_cache(repo)
            assert repo.show("b-7")["title"] == "changed"
            assert_sound(repo)


def test_a_cache_ahead_of_the_journal(tmp_path):
    """It contains a record that was torn in the journal, which does not count."""
    repo = fresh(tmp_path / "repo")
    repo.create("kept", "--id", "b-kept")
    size = repo.journal.stat().st_size
    repo.create("torn", "--id", "b-torn")
    os.truncate(repo.journal, size + 10)
    assert repo.ids("list") == ["b-kept"]
    repo.create("new", "--id", "b-new")
    assert repo.ids("list") == ["b-kept", "b-new"]
    assert_sound(repo)


def test_cut_inside_the_last_page(tmp_path):
    """SQLite would read the missing part as zeros."""
    repo = fresh(tmp_path / "repo")
    answers(repo)
    drop_cache(repo)
    good, store = state(repo), Store(repo)
    kept, size = store.keep(), repo.cache.stat().st_size
    for less in (1, 2, 100, 1000, 4000, 4095):
        store.put_back(kept)
        os.truncate(repo.cache, size - less)
        assert state(repo) == good, less
        assert repo.json("epic", "status")[0]["total_children"] == 1, less
        assert_sound(repo)


def test_another_journal_of_the_same_length(tmp_path):
    """The content decides whether the cache matches the journal, not its length or time."""
    one, two = fresh(tmp_path / "one"), fresh(tmp_path / "two")
    for repo, title in ((one, "first"), (two, "other")):
        for n in range(3):
            repo.create(f"{title} {n}", "--id", f"b-{n}")
    assert one.journal.stat().st_size == two.journal.stat().st_size
    times = one.journal.stat()
    shutil.copy(two.journal, one.journal)
    os.utime(one.journal, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [b["title"] for b in one.json("list")] == [f"other {n}" for n in range(3)]
    assert_sound(one)


# --- where nothing can be written ---


def nobody(repo, *args):
    """`bd`, run by a user who may only read the store, and trusts its owner."""
    trust = {"GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": repo.path}
    return Result(subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", BD, *args], cwd=repo.path,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=environment(**repo.env, **trust)))


@pytest.fixture
def readable():
    """A store that other users may read; pytest makes its own folders private."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bd-readable-"))
    folder.chmod(0o755)
    repo = fresh(folder / "repo")
    answers(repo)
    subprocess.run(["chmod", "-R", "a+rX,go-w", str(repo.path)], check=True)
    if nobody(repo, "version").code:
        pytest.skip("nobody may not run the program where it is")
    yield repo
    shutil.rmtree(folder)


@needs_root
@pytest.mark.parametrize("cache", ["whole", "no log", "empty log", "none", "noise", "stale", "ahead"])
def test_reads_without_the_right_to_write(readable, cache, wanted):
    repo = readable
    expected = wanted[1]["beads"]
    if cache == "no log":
        (repo.home / "cache.db-wal").unlink(missing_ok=True)
        (repo.home / "cache.db-shm").unlink(missing_ok=True)
    if cache == "empty log":
        (repo.home / "cache.db-wal").write_bytes(b"")
    if cache == "none":
        drop_cache(repo)
    if cache == "noise":
        noise(repo.cache, random.Random(SEED))
    if cache == "stale":
        copy = repo.path.parent / "copy"
        shutil.copytree(repo.home, copy)
        repo.create("later", "--id", "b-later")
        drop_cache(repo)
        for path in parts(copy):
            shutil.copy(path, repo.home / path.name)
        expected = None
    if cache == "ahead":
        os.truncate(repo.journal, repo.journal.stat().st_size - 3)
        expected = None
    subprocess.run(["chmod", "-R", "a+rX,go-w", str(repo.path)], check=True)
    held = {p.name: p.read_bytes() for p in repo.home.iterdir() if p.name != "cache.db-shm"}
    listed = nobody(repo, "--json", "list", "--all", "-n", "0").ok().json
    if expected is not None:
        assert listed == expected
    if cache == "stale":
        assert "b-later" in [b["id"] for b in listed]
    assert nobody(repo, "--json", "search", "thing").ok().json
    assert nobody(repo, "--json", "show", "b-two").ok().json[0]["title"] == "second thing"
    assert nobody(repo, "--json", "validate").ok().json["ok"]
    refused = nobody(repo, "--json", "create", "x")
    assert (refused.code, refused.error["code"]) == (3, "read_only"), refused.out
    assert {p.name: p.read_bytes() for p in repo.home.iterdir() if p.name != "cache.db-shm"} == held
    assert repo.json("list", "--all", "-n", "0") == listed, "who may write sees the same"
