"""Other programs are found by absolute path, never in the current folder."""
import os
import shutil
import subprocess

import pytest

from conftest import BIN, Repo, Result, environment, git

WITHOUT_PROC = ["unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]


def can_unmount():
    """Root in a container may not be allowed to, and a sanitized program needs /proc."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    return subprocess.run([*WITHOUT_PROC, str(BIN / "abacus"), "--version"], capture_output=True).returncode == 0


needs_unmount = pytest.mark.skipif(not can_unmount(), reason="unmounting /proc needs root, and a program that runs without")


@pytest.fixture
def trap(tmp_path, repo_with_beads):
    """A repository that contains programs, which record that they were started."""
    path = tmp_path / "proj"
    shutil.copytree(repo_with_beads, path)
    for name in ("libexec/abacus-sync", "libexec/abacus-serve", "bin/abacus", "abacus-sync", "abacus"):
        file = path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {tmp_path}/trapped\nexit 1\n")
        file.chmod(0o755)
    repo = Repo(path)
    repo.trapped = tmp_path / "trapped"
    return repo


def run(repo, *args, program=BIN / "bd", name=None, **env):
    """Runs a program without /proc; `name` is its argv[0]."""
    words = [*WITHOUT_PROC, str(program), *args]
    if name:
        words = [*WITHOUT_PROC, "bash", "-c", f'exec -a "{name}" "$@"', "bash", str(program), *args]
    return Result(subprocess.run(words, cwd=repo.path, capture_output=True, timeout=60,
                                 env=environment(**{**repo.env, **env})))


@needs_unmount
@pytest.mark.parametrize("name", [None, "bd", "./bin/bd", "libexec/bd"])
def test_without_proc_the_sync_starts_the_installed_program(trap, tmp_path, name):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(trap.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    run(trap, "create", "one", name=name).ok()
    run(trap, "sync", name=name).ok()
    assert not trap.trapped.exists()
    assert "refs/beads/store" in git(tmp_path / "remote.git", "for-each-ref")


@needs_unmount
def test_without_proc_the_automatic_sync_starts_the_installed_program(trap, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(trap.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    run(trap, "create", "one", ABACUS_AUTOSYNC="1").ok()
    run(trap, "sync", ABACUS_AUTOSYNC="0").ok()  # after the one that runs, if one does
    assert not trap.trapped.exists()


@needs_unmount
def test_an_installation_without_the_program_is_an_error(trap, tmp_path):
    """Started by a relative path, it looks only beside that path."""
    other = tmp_path / "other" / "bin"
    other.mkdir(parents=True)
    shutil.copy(BIN / "abacus", other / "bd")
    git(trap.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    done = run(trap, "--json", "sync", program="../other/bin/bd")
    assert done.code != 0
    assert str(tmp_path / "other" / "libexec" / "abacus-sync") in done.error["message"]
    assert not trap.trapped.exists()


def test_with_proc_the_current_folder_is_not_used_either(trap, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(trap.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    trap.bd("sync", env={"PATH": f".:./bin:./libexec:{os.environ['PATH']}"}).ok()
    assert not trap.trapped.exists()


# --- programs that PATH finds ---

RELATIVE = ["./node_modules/.bin:", "node_modules/.bin:", ":", "/nonexistent::", ".:"]


@pytest.fixture
def planted(tmp_path, repo_with_beads):
    """A repository that contains a 'git' and an 'ssh', which record that they were started."""
    path = tmp_path / "proj"
    shutil.copytree(repo_with_beads, path)
    for folder in (path, path / "node_modules" / ".bin"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("git", "ssh", "env", "sh"):
            file = folder / name
            file.write_text(f"#!/bin/sh\necho {name} >>{tmp_path}/trapped\nexit 1\n")
            file.chmod(0o755)
    repo = Repo(path)
    repo.trapped = tmp_path / "trapped"
    return repo


@pytest.mark.parametrize("entries", RELATIVE)
def test_a_relative_entry_of_the_search_path_finds_no_git(planted, entries):
    env = {"PATH": entries + os.environ["PATH"]}
    assert planted.run("agent", "register", "--name", "amber-otter", "--role", "x", program="bb", env=env).code == 0
    planted.run(program="bb-init", env=env)
    planted.run("agent", "guard", "install", program="bb", env=env).ok()
    planted.run("agent", "guard", "--staged", "--agent", "amber-otter", program="bb", env=env).ok()
    git(planted.path, "update-index", "--split-index")
    planted.run("init", program="bb", env=env).ok()
    assert not planted.trapped.exists()


@pytest.mark.parametrize("entries", RELATIVE[1:3])
@pytest.mark.parametrize("ssh", [{}, {"GIT_SSH": "ssh"}, {"GIT_SSH_COMMAND": "ssh"}], ids=["ssh", "GIT_SSH", "GIT_SSH_COMMAND"])
def test_a_relative_entry_of_the_search_path_finds_no_ssh(planted, tmp_path, entries, ssh):
    real = tmp_path / "bin"
    real.mkdir()
    (real / "ssh").write_text(f"#!/bin/sh\ntouch {tmp_path}/right\nexit 1\n")
    (real / "ssh").chmod(0o755)
    git(planted.path, "remote", "add", "origin", "ssh://nobody@127.0.0.1:1/x.git")
    env = {**ssh, "PATH": f"{entries}{real}:{os.environ['PATH']}"}
    assert planted.bd("sync", env=env).code != 0
    assert (tmp_path / "right").exists() and not planted.trapped.exists()


def test_a_search_path_of_relative_entries_alone_means_the_systems_programs(planted):
    planted.run("agent", "guard", "install", program="bb", env={"PATH": ".:node_modules/.bin"}).ok()
    assert not planted.trapped.exists()
