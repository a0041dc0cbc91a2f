"""The pre-push guard checks every commit that the remote lacks: no date and no merge bypasses a reservation."""
import pytest

from conftest import git as plain_git
from test_agent_guard import ME, OTHER, Repo, agent, changes
from test_agent_identity import data, register
from test_agent_reservations import reserve

ENV = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}


@pytest.fixture
def repo(tmp_path):
    """A clone with hooks and one published commit; ME has reserved src."""
    path = tmp_path / "project"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    repo.git("init", "-q", "--bare", str(tmp_path / "bare"))
    repo.git("remote", "add", "origin", str(tmp_path / "bare"))
    commit(repo, "src/a", "doc/a")
    repo.git("push", "-q", "origin", "main")
    for name in (ME, OTHER):
        register(repo, name)
    reserve(repo, ME, "src/*")
    changes(repo, "install")
    return repo


def commit(repo, *names, text="x\n", **env):
    for name in names:
        repo.write(name, text)
    repo.git("add", "-A")
    repo.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "x", **env)


def push(repo, *what, who=OTHER, **env):
    """The first line of the guard's output; absent if the push succeeded."""
    done = repo.git("push", "-q", "origin", *(what or ("main",)), who=who, ok=False, **env)
    assert done.returncode in (0, 1), done.stderr
    return done.stderr.splitlines()[0] if done.returncode else None


def refuses(repo, name, *what, **kw):
    said = push(repo, *what, **kw)
    assert said and f"'{name}' is reserved by '{ME}'" in said, said


def test_a_commit_that_is_dated_back(repo):
    commit(repo, "src/b", **ENV)
    refuses(repo, "src/b")
    refuses(repo, "src/b", "main:new")
    assert push(repo, who=ME) is None


def test_a_commit_that_is_dated_far_ahead(repo):
    commit(repo, "src/b", GIT_COMMITTER_DATE="2099-01-01T00:00:00Z")
    refuses(repo, "src/b")


def test_a_commit_that_was_made_before_the_reservation(repo):
    """The date of a commit is chosen by its committer, so it cannot be trusted."""
    data(repo, "release", "--agent", ME, "--scope", "src")
    commit(repo, "src/b")
    reserve(repo, ME, "src/*")
    refuses(repo, "src/b")
    data(repo, "release", "--agent", ME, "--scope", "src")
    assert push(repo) is None


def test_commits_that_a_merge_brings_are_checked(repo):
    repo.git("checkout", "-qb", "side")
    commit(repo, "src/b")
    repo.git("checkout", "-q", "main")
    commit(repo, "doc/b")
    repo.git("merge", "-q", "--no-ff", "--no-verify", "-m", "m", "side")
    refuses(repo, "src/b")


def test_commits_of_the_remote_pass_in_a_merge(repo):
    repo.git("checkout", "-qb", "side")
    commit(repo, "src/b")
    assert push(repo, "side", who=ME) is None
    repo.git("checkout", "-q", "main")
    commit(repo, "doc/b")
    repo.git("merge", "-q", "--no-ff", "--no-verify", "-m", "m", "side")
    assert push(repo) is None


def test_changes_made_by_the_merge_itself_are_checked(repo):
    repo.git("checkout", "-qb", "side")
    commit(repo, "doc/c")
    repo.git("checkout", "-q", "main")
    commit(repo, "doc/b")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repo.write("src/a", "evil\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--no-verify", "-m", "m")
    refuses(repo, "src/a")


def test_a_merge_that_undoes_changes_of_the_remote_is_checked(repo):
    """`-s ours` takes over a history without its content: no commit of the push names the file."""
    repo.git("branch", "old")
    commit(repo, "src/a", text="by the owner\n")
    assert push(repo, who=ME) is None
    repo.git("checkout", "-q", "old")
    repo.git("merge", "-q", "-s", "ours", "--no-verify", "-m", "m", "main")
    refuses(repo, "src/a", "old:main")


def test_a_merge_of_more_than_two(repo):
    for name in ("one", "two"):
        repo.git("checkout", "-qb", name, "main")
        commit(repo, f"doc/{name}")
    repo.git("checkout", "-q", "main")
    commit(repo, "doc/three")
    repo.git("merge", "-q", "--no-commit", "one", "two")
    repo.write("src/a", "evil\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--no-verify", "-m", "m")
    assert len(repo.git("rev-list", "--parents", "-n1", "HEAD").stdout.split()) >= 4
    refuses(repo, "src/a")


def test_a_forced_push_that_removes_commits_is_checked(repo):
    commit(repo, "src/a", text="by the owner\n")
    assert push(repo, who=ME) is None
    repo.git("reset", "-q", "--hard", "HEAD~1")
    refuses(repo, "src/a", "--force", "main")
    commit(repo, "doc/d")
    refuses(repo, "src/a", "--force", "main")
    assert push(repo, "--force", "main", who=ME) is None


def test_a_remote_that_is_ahead_of_the_last_fetch(repo, tmp_path):
    """It is unknown then which commits a forced push would remove: fetch first."""
    other = tmp_path / "other"
    plain_git(tmp_path, "clone", "-q", "bare", "other")
    plain_git(other, "checkout", "-q", "main")
    (other / "src/a").write_text("newer\n")
    plain_git(other, "commit", "-qam", "newer")
    plain_git(other, "push", "-q", "origin", "main")
    commit(repo, "doc/d")
    done = repo.git("push", "-q", "--force", "origin", "main", who=OTHER, ok=False)
    assert done.returncode == 1 and "git fetch" in done.stderr, done.stderr


def test_replaced_commits_are_read_as_they_are_pushed(repo):
    commit(repo, "src/b")
    evil = repo.git("rev-parse", "HEAD").stdout.strip()
    innocent = repo.git("commit-tree", "-p", "HEAD~1", "-m", "x", "HEAD~1^{tree}").stdout.strip()
    repo.git("replace", evil, innocent)
    refuses(repo, "src/b")


@pytest.mark.parametrize("name", ["src/\x01commit 1", "src/ü", "src/new\nline", "src/diff: warning"])
def test_strange_names(repo, name):
    commit(repo, name)
    said = push(repo)
    assert said and "is reserved" in said


def test_a_submodule_that_diff_would_not_show(repo):
    head = repo.git("rev-parse", "HEAD").stdout.strip()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},src/module")
    repo.git("config", "diff.ignoreSubmodules", "all")
    assert not agent(repo, "guard", "--agent", OTHER, "--staged")["ok"]
    repo.git("config", "--unset", "diff.ignoreSubmodules")
    repo.git("commit", "-q", "--no-verify", "-m", "x")
    repo.git("config", "diff.ignoreSubmodules", "all")
    refuses(repo, "src/module")


def test_unreserved_files_pass(repo):
    commit(repo, "doc/b", **ENV)
    repo.git("tag", "-a", "v1", "-m", "v1")
    assert push(repo, "main", "v1", "main:refs/heads/new") is None
    assert push(repo, ":new") is None
    lines = f"refs/heads/main {'0' * 40} refs/heads/main {'1' * 40}\nnonsense\n\n"
    assert agent(repo, "guard", "--agent", OTHER, "--pushed", stdin=lines.encode())["data"]["outcome"] == "allow"


def test_a_log_without_end_is_cut_and_the_push_is_refused(repo, tmp_path):
    """Small trees that contain each other list any number of paths."""
    tools, calls = tmp_path / "tools", tmp_path / "calls"
    tools.mkdir()
    (tools / "git").write_text(f'#!/bin/sh\ncase " $* " in *" log "*) echo log >>{calls}; exec yes "a/long/path/of/a/file";; esac\n'
                               'exec /usr/bin/git "$@"\n')
    (tools / "git").chmod(0o755)
    commit(repo, "doc/b")
    line = f"refs/heads/main {repo.git('rev-parse', 'main').stdout.strip()} refs/heads/main {'0' * 40}\n"
    done = repo.run("agent", "guard", "--agent", OTHER, "--pushed", stdin=line.encode(), env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert done.code == 3 and "'git log' printed more than 64 MB" in done.err
    assert calls.read_text() == "log\n"
