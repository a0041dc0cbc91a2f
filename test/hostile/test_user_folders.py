"""The user's folders outside of projects (XDG_STATE_HOME, XDG_DATA_HOME): never those of another user."""
import os

import pytest

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")

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


@pytest.mark.parametrize("words", STATE.values(), ids=STATE)
@pytest.mark.parametrize("above", [False, True])
def test_the_state_of_another_user_is_not_used(repo, home, words, above):
    """A rule names a program: the owner of the folder would choose what the user runs."""
    folder = home if above else folder_of(home, words)
    os.chown(folder, NOBODY, NOBODY)
    said = refused(repo, words)
    assert f"'{folder}' belongs to another user" in said and "Set HOME, or XDG_STATE_HOME, to a folder of yours" in said
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


def test_the_folder_of_one_projects_rules_counts_too(repo, home):
    [rules] = (home / "on").iterdir()
    os.chown(rules, NOBODY, NOBODY)
    assert f"'{rules}' belongs to another user" in refused(repo, STATE["on"])


def test_only_links_of_the_user_are_followed(repo, home, tmp_path):
    (home / "slots").rename(tmp_path / "elsewhere")
    (home / "slots").symlink_to(tmp_path / "elsewhere")
    repo.run("run", "--need", "gpu", "--", "true", program="abacus").ok()
    os.chown(home / "slots", NOBODY, NOBODY, follow_symlinks=False)
    assert "belongs to another user" in refused(repo, STATE["run"])


@pytest.mark.parametrize("part", ["abacus", "abacus/user.git"])
def test_the_memory_of_another_user_is_not_used(repo, home, tmp_path, part):
    """Outside of repositories, memory is in XDG_DATA_HOME, which may be another user's, as HOME may be."""
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.run("memory", "set", "--key", "k", "--value", "v", "--request-id", "1", program="vybe", cwd=outside).ok()
    os.chown(tmp_path / "data" / part, NOBODY, NOBODY)
    for words in (["vybe", "memory", "list"], ["vybe", "memory", "set", "--key", "k", "--value", "w", "--request-id", "2"]):
        said = refused(repo, words, cwd=outside)
        assert "DUBIOUS_OWNERSHIP" in said and "Set HOME, or XDG_DATA_HOME, to a folder of yours" in said
