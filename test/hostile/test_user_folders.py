"""The user's folders outside of projects (XDG_STATE_HOME, XDG_DATA_HOME): never those of another user or of a repository."""
import os
import shutil

import pytest

from conftest import git
from harness import needs_strace
from race import exchange, run_with_change

NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")

STATE = {"on": ["abacus", "on"], "on --run": ["abacus", "on", "--run"], "slots": ["abacus", "slots"],
         "run": ["abacus", "run", "--need", "gpu", "--", "touch", "ran"], "set": ["abacus", "slots", "set", "gpu", "1"],
         "add": ["abacus", "on", "mail", "--", "true"]}


@pytest.fixture
def home(repo, tmp_path):
    """A rule and a resource, in folders that the user has made."""
    repo.env.update(XDG_STATE_HOME=tmp_path / "state", XDG_DATA_HOME=tmp_path / "data", HOME=tmp_path)
    repo.run("on", "bead.created", "--", "touch", str(tmp_path / "ran"), program="abacus").ok()
    repo.run("slots", "set", "gpu", "1", program="abacus").ok()
    return tmp_path / "state" / "abacus"


def refused(repo, words, cwd=None):
    done = repo.run(*words[1:], program=words[0], cwd=cwd, timeout=20)
    assert done.code == 1, done
    return done.err or done.out


def folder_of(home, words):
    return home / ("slots" if "run" in words[1:2] or "slots" in words else "on")


@needs_root
@pytest.mark.parametrize("words", STATE.values(), ids=STATE)
@pytest.mark.parametrize("above", [False, True])
def test_the_state_of_another_user_is_not_used(repo, home, words, above):
    """A rule names a program: the owner of the folder would choose what the user runs."""
    folder = home if above else folder_of(home, words)
    os.chown(folder, NOBODY, NOBODY)
    said = refused(repo, words)
    assert f"'{folder}' belongs to another user" in said and "Set HOME, or XDG_STATE_HOME, to a folder of your own" in said
    assert not (repo.path / "ran").exists()


@pytest.mark.parametrize("words", STATE.values(), ids=STATE)
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_state_that_others_may_write_to_is_not_used(repo, home, words, mode):
    folder = folder_of(home, words)
    folder.chmod(mode)
    said = refused(repo, words)
    assert f"other users may write to '{folder}'" in said and said.rstrip().endswith(f"chmod 700 {folder}")
    folder.chmod(0o700)
    if words[1:] != ["on", "--run"]:
        repo.run(*words[1:], program=words[0]).ok()


@needs_root
def test_the_folder_of_one_projects_rules_counts_too(repo, home):
    [rules] = (home / "on").iterdir()
    os.chown(rules, NOBODY, NOBODY)
    assert f"'{rules}' belongs to another user" in refused(repo, STATE["on"])


@needs_root
def test_only_links_of_the_user_are_followed(repo, home, tmp_path):
    (home / "slots").rename(tmp_path / "elsewhere")
    (home / "slots").symlink_to(tmp_path / "elsewhere")
    repo.run("run", "--need", "gpu", "--", "true", program="abacus").ok()
    os.chown(home / "slots", NOBODY, NOBODY, follow_symlinks=False)
    assert "belongs to another user" in refused(repo, STATE["run"])


@needs_root
@pytest.mark.parametrize("part", ["abacus", "abacus/user.git"])
def test_the_memory_of_another_user_is_not_used(repo, home, tmp_path, part):
    """Outside of repositories, memory is in XDG_DATA_HOME, which may be another user's, as HOME may be."""
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.run("memory", "set", "--key", "k", "--value", "v", "--request-id", "1", program="vybe", cwd=outside).ok()
    os.chown(tmp_path / "data" / part, NOBODY, NOBODY)
    for words in (["vybe", "memory", "list"], ["vybe", "memory", "set", "--key", "k", "--value", "w", "--request-id", "2"]):
        said = refused(repo, words, cwd=outside)
        assert "DUBIOUS_OWNERSHIP" in said and "Set HOME, or XDG_DATA_HOME, to a folder of your own" in said


# --- a folder of another user, who exchanges the user's folder in it after it was checked ---

THEIRS = "/home/mallory/pwn"


def theirs_like(folder):
    """A copy that another user has made, with another program in its rules."""
    theirs = folder.parent / "theirs"
    shutil.copytree(folder, theirs)
    for path in theirs.rglob("[0-9].json"):
        path.write_text(path.read_text().replace("touch", THEIRS))
    for path in [theirs, *theirs.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    return theirs


FILES = {"on": (STATE["on"], "on/*/1.json"), "add": (STATE["add"], "on/*/lock"), "slots": (STATE["slots"], "slots/gpu.count"),
         "run": (STATE["run"], "slots/gpu.count"), "queue": (STATE["run"], "slots/gpu.queue"),
         "held": (STATE["run"], "slots/gpu.held")}
SPOILT = {"owner": (lambda path, tmp: os.chown(path, NOBODY, NOBODY), "belongs to another user"),
          "mode": (lambda path, tmp: path.chmod(0o666), "other users may write to"),
          "link": (lambda path, tmp: os.link(path, tmp / "second"), "is a hard link")}


@needs_root
@pytest.mark.parametrize("words,file", FILES.values(), ids=FILES)
@pytest.mark.parametrize("spoil,why", SPOILT.values(), ids=SPOILT)
def test_each_file_is_checked_and_not_only_its_folder(repo, home, words, file, spoil, why, tmp_path):
    """What was opened counts: the folder may have been another one when it was checked."""
    repo.run("run", "--need", "gpu", "--", "true", program="abacus").ok()
    [path] = home.glob(file)
    spoil(path, tmp_path)
    said = refused(repo, words)
    assert why in said and str(path) in said
    assert not (repo.path / "ran").exists()


@needs_root
@needs_strace
@pytest.mark.parametrize("words,file", FILES.values(), ids=FILES)
def test_a_file_that_is_exchanged_after_the_check_is_not_used(repo, home, words, file):
    """The folder was the user's own when it was checked, and the file in it is another user's when it is opened."""
    repo.run("run", "--need", "gpu", "--", "true", program="abacus").ok()
    theirs = theirs_like(home)

    def change():
        (repo.path / "ran").unlink(missing_ok=True)
        exchange(home, theirs)

    call = rf'openat\(.*/{file.replace("*", "[^/]*")}", O_RD'
    done = run_with_change(words, call, change, cwd=repo.path, **repo.env)
    assert done.code == 1 and "belongs to another user" in done.err + done.out, done.err + done.out
    assert THEIRS not in done.out and not (repo.path / "ran").exists()


@needs_root
@needs_strace
@pytest.mark.parametrize("file", ["vybe.db", "vybe.db-wal", "vybe.db-shm", "vybe.db.lock"])
def test_memory_that_is_exchanged_after_the_check_is_not_used(repo, home, file, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.run("memory", "set", "--key", "k", "--value", "v", "--request-id", "1", "--agent", "a", program="vybe",
             cwd=outside).ok()
    mine = tmp_path / "data" / "abacus"
    theirs = theirs_like(mine)
    words = MEMORY["set memory" if file.endswith("lock") else "list"]
    done = run_with_change(words, rf'openat\(.*/{file}", O_RD', lambda: exchange(mine, theirs), cwd=outside, **repo.env)
    assert done.code == 1 and done.json["error_code"] == "DUBIOUS_OWNERSHIP", done.out


# --- a home folder that Git tracks: kept in Git, or the project itself, as some build servers set it ---

MEMORY = {"list": ["vybe", "memory", "list", "--agent", "a"],
          "set memory": ["vybe", "memory", "set", "--key", "k", "--value", "w", "--request-id", "2", "--agent", "a"]}


@pytest.fixture
def tracked(repo, tmp_path):
    """The home folder is a worktree, and a pull has brought a rule, a resource and memory."""
    home = tmp_path / "home"
    for folder in (home, tmp_path / "outside"):
        folder.mkdir()
    repo.env.update(HOME=home)
    repo.run("on", "bead.created", "--", "touch", str(tmp_path / "ran"), program="abacus").ok()
    repo.run("slots", "set", "gpu", "1", program="abacus").ok()
    repo.run("memory", "set", "--key", "k", "--value", "v", "--request-id", "1", "--agent", "a", program="vybe",
             cwd=tmp_path / "outside").ok()
    git(home, "init", "-q")
    git(home, "add", "-f", ".local")
    return home


@pytest.mark.parametrize("words", [*STATE.values(), *MEMORY.values()], ids=[*STATE, *MEMORY])
@pytest.mark.parametrize("linked", [False, True])
def test_what_a_repository_brings_into_the_home_folder_is_not_used(repo, tracked, words, linked, tmp_path):
    folder = tracked / ".local" / ("share" if words[0] == "vybe" else "state") / "abacus"
    if linked:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / ".local").symlink_to(tracked / ".local")
        repo.env.update(HOME=tmp_path / "other")
    said = refused(repo, words, cwd=tmp_path / "outside" if words[0] == "vybe" else None)
    assert f"'{folder}' comes from the repository" in said
    assert not (repo.path / "ran").exists()


def test_a_linked_folder_of_a_repository_is_not_used(repo, tracked, tmp_path):
    """The folder itself is the user's; one in it leads into a worktree."""
    state = tmp_path / "state" / "abacus"
    state.mkdir(parents=True, mode=0o700)
    (state / "slots").symlink_to(tracked / ".local/state/abacus/slots")
    repo.env.update(XDG_STATE_HOME=tmp_path / "state")
    assert "comes from the repository" in refused(repo, STATE["slots"])


def test_a_home_folder_in_git_that_does_not_track_them_is_used(repo, tracked, tmp_path):
    git(tracked, "rm", "-r", "-q", "--cached", ".local")
    for words in (STATE["on"], STATE["slots"]):
        repo.run(*words[1:], program=words[0]).ok()
    assert '"v"' in repo.run(*MEMORY["list"][1:], program="vybe", cwd=tmp_path / "outside").ok().out


@pytest.mark.parametrize("home", [".", "home", "./home", ""])
def test_a_relative_home_is_in_every_repository_so_it_is_none(repo, home):
    """The checkout would choose the rules and the slots."""
    repo.env.update(HOME=home)
    (repo.path / home / ".local").mkdir(parents=True)
    for words in STATE.values():
        assert "HOME is not set to an absolute path" in refused(repo, words)
    for words in (["bd", "setup", "claude"], ["vybe", "hook", "install", "--claude"]):
        assert "HOME is not set to an absolute path" in refused(repo, words)
    assert not list((repo.path / home / ".local").iterdir()) and not (repo.path / home / ".claude").exists()
