"""A board in a Git repository changes nothing of the repository."""
import json
import os
import subprocess

import pytest

from conftest import environment

GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_OPTIONAL_LOCKS": "0",
       "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e"}


def git(path, *args):
    return subprocess.run(["git", *args], cwd=path, env=environment(**GIT), check=True,
                          capture_output=True).stdout


@pytest.fixture
def repository(empty):
    """With files of every kind: staged, changed, untracked, ignored, branches, tags, a stash, a worktree."""
    path = empty.path
    git(path, "init", "-q", "-b", "trunk")
    for name in ("kept", "changed", "staged", "stashed"):
        (path / name).write_text(name)
    (path / ".gitignore").write_text("ignored\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    git(path, "branch", "side")
    git(path, "tag", "-a", "v1", "-m", "one")
    git(path, "update-ref", "refs/other/thing", "HEAD")
    (path / "stashed").write_text("put away")
    git(path, "stash", "-q")
    git(path, "worktree", "add", "-q", str(path.parent / "linked"), "side")
    (path / "changed").write_text("more")
    (path / "staged").write_text("more")
    git(path, "add", "staged")
    (path / "untracked").write_text("")
    (path / "ignored").write_text("")
    (path / "sub").mkdir()
    git(path, "status")
    return empty


def seen(project):
    """Everything of the repository: the output of Git, every file of .git, every file of the worktree."""
    path = project.path
    files = {str(p.relative_to(path.parent)): p.read_bytes()
             for root in (path, path.parent / "linked") if root.exists()
             for p in sorted(root.rglob("*")) if p.is_file() and ".bb" not in p.relative_to(path.parent).parts}
    return {
        "status": git(path, "status", "--porcelain", "--branch"),
        "all": git(path, "status", "--porcelain", "--untracked-files=all"),
        "HEAD": git(path, "rev-parse", "HEAD") + git(path, "symbolic-ref", "HEAD"),
        "refs": git(path, "for-each-ref"),
        "index": (path / ".git" / "index").read_bytes(),
        "linked": git(path.parent / "linked", "status", "--porcelain", "--branch"),
        "files": files,
    }


COMMANDS = [
    ["status"], ["log"],  # before there is a board
    ["init"], ["init"], ["--json", "init"],
    ["install"], ["install", "claude"], ["install", "codex", "--print"],
    ["destroy"],
    ["status"], ["--as", "a", "status", "set", "a task", "--progress", "5"],
    ["--as", "a", "status", "set", "--blockers", "x"], ["status", "get", "a"], ["--as", "a", "status", "clear"],
    ["post", "hello", "--ref", "tt:issue:1"], ["--as", "a", "--request-id", "1", "post", "hello", "--reply-to", "1"],
    ["log"], ["--as", "a", "log", "--unread"], ["message", "1"],
    ["artifact", "add", "kept", "a file"], ["artifact", "add", "changed", "a file"], ["artifacts"],
    ["artifact", "show", "kept"], ["artifact", "add", "missing", "none"], ["artifact", "add", "../x", "none"],
    ["refs", "tt:issue:1"], ["export"], ["summary"], ["--json", "summary"], ["mcp"], ["--help"], ["--version"],
    ["clear", "--artifacts"], ["clear", "--messages-before", "0s", "--artifacts", "--reset-offline", "--confirm"],
    ["nonsense"], ["post"], ["log", "--since", "x"],
    ["destroy", "--confirm"], ["log"], ["init"],
]


@pytest.mark.parametrize("where", [".", "sub", "../linked"])
def test_no_command_touches_the_repository(repository, where):
    before = seen(repository)
    for command in COMMANDS:
        done = repository.bb(*command, cwd=(repository.path / where).resolve())
        assert done.code in (0, 1, 2), (command, done.code, done.err)
        after = seen(repository)
        assert after == before, f"{command} touched {[k for k in before if after[k] != before[k]]}"
    assert (repository.path / ".bb").is_dir()
    assert not (repository.path.parent / "linked" / ".bb").exists()


def test_a_session_of_mcp_touches_nothing(repository):
    repository.bb("init").ok()
    before = seen(repository)
    calls = [("bb_identify", {"agent_id": "a"}), ("bb_set_status", {"current_task": "x"}),
             ("bb_post_message", {"content": "x"}), ("bb_read_messages", {}), ("bb_get_status", {}),
             ("bb_register_artifact", {"path": "kept", "description": "d"}), ("bb_list_artifacts", {}),
             ("bb_find_refs", {"where": "a", "what": "b", "ref": "c"}), ("bb_summary", {})]
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines += [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name, "arguments": args}}
              for n, (name, args) in enumerate(calls, 1)]
    done = repository.bb("mcp", stdin="".join(json.dumps(line) + "\n" for line in lines).encode()).ok()
    replies = {r["id"]: r for r in map(json.loads, done.out.splitlines())}
    assert [n for n in range(1, len(calls) + 1) if replies[n]["result"].get("isError")] == [], done.out
    assert seen(repository) == before


@pytest.mark.parametrize("host", ["claude", "codex", "cursor", "gemini", "kilo", "kimi", "opencode", "vscode"])
def test_install_writes_the_host_s_file_and_nothing_else(repository, host):
    before = seen(repository)
    (done,) = repository.json("install", host, "--write")
    after = seen(repository)
    new = set(after["files"]) - set(before["files"])
    assert {str(repository.path.parent / name) for name in new} == {done["path"]}
    assert {k: v for k, v in after["files"].items() if k not in new} == before["files"]
    for what in ("HEAD", "refs", "index", "linked"):
        assert after[what] == before[what], what


def test_init_in_the_middle_of_a_merge(repository):
    """A repository in the middle of an operation is not changed."""
    path = repository.path
    git(path, "commit", "-qam", "second")
    git(path.parent / "linked", "rm", "-q", "kept")
    git(path.parent / "linked", "commit", "-qm", "other")
    git(path, "merge", "-q", "--no-commit", "--no-ff", "side")
    assert (path / ".git" / "MERGE_HEAD").exists()
    before = seen(repository)
    for command in (["init"], ["post", "x"], ["log"], ["destroy", "--confirm"]):
        repository.bb(*command).ok()
        assert seen(repository) == before, command


def test_git_clean_and_add_do_not_reach_the_board(repository):
    """The folder ignores itself, so that it is never committed or cleaned by accident."""
    repository.bb("init").ok()
    repository.json("post", "kept")
    git(repository.path, "add", "-A")
    assert b".bb" not in git(repository.path, "diff", "--cached", "--name-only")
    git(repository.path, "clean", "-fdq")
    git(repository.path, "stash", "-qu")
    assert [m["content"] for m in repository.json("log")] == ["kept"]
