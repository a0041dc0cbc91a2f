"""Other programs are found by absolute path, never in the current folder."""
import json
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


@pytest.mark.parametrize("entries", RELATIVE)
def test_a_relative_entry_of_the_search_path_finds_no_command_of_the_user(planted, entries):
    """The command that the user names is looked for where only the user's own programs are."""
    env = {"PATH": entries + os.environ["PATH"], "VYBE_AGENT": "amber-otter"}
    task = planted.create("One")
    planted.run("run", "--", "env", program="abacus", env=env).ok()
    planted.run("loop", "--max-tasks", "1", "--cooldown", "0s", "--command", "env", "--post-hook", "env", program="vybe", env=env)
    assert task and not planted.trapped.exists()


def test_a_search_path_of_relative_entries_alone_means_the_systems_programs(planted):
    planted.run("agent", "guard", "install", program="bb", env={"PATH": ".:node_modules/.bin"}).ok()
    assert not planted.trapped.exists()


# --- hooks that are installed: Git and the hosts run them with the user's own PATH ---

@pytest.fixture
def hooked(planted, tmp_path):
    for folder in (planted.path, planted.path / "node_modules" / ".bin"):
        (folder / "git").unlink()  # the user's own git is the one that runs the hook
        for name in ("abacus", "cat"):
            shutil.copy(folder / "sh", folder / name)
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(planted.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(planted.path, "commit", "-q", "--allow-empty", "-m", "x")
    return planted


@pytest.mark.parametrize("entries", RELATIVE)
def test_a_relative_entry_of_the_search_path_finds_no_program_for_the_hook_before_a_push(hooked, tmp_path, entries):
    hooked.run("agent", "guard", "install", program="bb").ok()
    (hooked.path / ".git/hooks/pre-push").open("a").write(f"/bin/cat >{tmp_path}/input\n")
    subprocess.run(["git", "push", "-q", "origin", "HEAD:refs/heads/new"], cwd=hooked.path, check=True, timeout=60,
                   env=environment(PATH=entries + os.environ["PATH"]), executable=shutil.which("git"))
    assert not hooked.trapped.exists()
    assert "refs/heads/new" in (tmp_path / "input").read_text()  # the hooks after it get the input, too


@pytest.mark.parametrize("shell", ["/bin/sh", "bash", "zsh"])
@pytest.mark.parametrize("entries", RELATIVE)
def test_a_relative_entry_of_the_search_path_finds_no_program_for_a_hosts_hook(hooked, tmp_path, entries, shell):
    """Bash as 'sh' says that the program it found is at an absolute path."""
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    real = tmp_path / "home/.local/bin"
    real.mkdir(parents=True)
    (real / "abacus").write_text(f"#!/bin/sh\necho \"$@\" >{tmp_path}/right\n")
    (real / "abacus").chmod(0o755)
    hooked.run("hook", "install", "--claude", "--project", program="vybe").ok()
    hooks = json.loads((hooked.path / ".claude/settings.json").read_text())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    env = environment(PATH=entries + "/usr/bin:/bin", HOME=tmp_path / "home", **({} if shell == "zsh" else {"POSIXLY_CORRECT": "1"}))
    subprocess.run([shutil.which(shell), "-c", command], cwd=hooked.path, check=True, timeout=60, env=env)
    assert not hooked.trapped.exists()
    assert (tmp_path / "right").read_text() == "vybe hook handle --host claude\n"


@pytest.mark.parametrize("linked", [False, True], ids=["folder", "link"])
@pytest.mark.parametrize("tracked", [False, True])
def test_a_chained_hook_that_came_with_the_repository_is_not_run(repo, tracked, linked):
    """With core.hooksPath, the folder of the hooks can be one of the worktree."""
    folder = repo.path / (".other" if linked else ".husky")
    folder.mkdir()
    if linked:
        (repo.path / ".husky").symlink_to(".other")
    (folder / "pre-commit.old").write_text("#!/bin/sh\n: >ran\n")
    (folder / "pre-commit.old").chmod(0o755)
    git(repo.path, "config", "core.hooksPath", ".husky")
    if tracked:
        git(repo.path, "add", "-A")
    repo.bd("hooks", "run", "pre-commit").ok()
    assert (repo.path / "ran").exists() != tracked
