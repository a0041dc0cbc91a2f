"""bb agent guard: denies changes to reserved files, also when Git is about to commit or push."""
import os
import subprocess

import pytest

from board import at
from conftest import BIN, Project, environment
from test_agent_identity import agent, data, register
from test_agent_reservations import reserve

ME, OTHER = "amber-otter", "cobalt-harbor"


class Repo(Project):
    """A repository in which one agent has reserved src."""

    def git(self, *args, who=None, cwd=None, ok=True, **env):
        done = subprocess.run(["git", *args], cwd=cwd or self.path, capture_output=True, text=True,
                              env=environment(GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="n", GIT_AUTHOR_EMAIL="e",
                                              GIT_COMMITTER_NAME="n", GIT_COMMITTER_EMAIL="e",
                                              **({"BB_AGENT_ID": who} if who else {}), **env))
        assert not ok or done.returncode == 0, done.stderr
        return done

    def write(self, name, text="x\n", cwd=None):
        file = (cwd or self.path) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def repo(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    for name in (ME, OTHER):
        register(repo, name)
    reserve(repo, ME, "src/*")
    return repo


def guard(project, *args, who=OTHER, **kw):
    """The result, and the paths that other agents have reserved."""
    reply = agent(project, "guard", *(["--agent", who] if who else []), *args, **kw)
    if reply["ok"]:
        return reply["data"]["outcome"], [d["path"] for d in reply["data"]["denied"]]
    details = reply["error"]["details"]
    return details["outcome"], [d["path"] for d in details["denied"]]


@pytest.mark.parametrize("path, outcome", [
    ("src", "deny"), ("src/lib/x.c", "deny"), ("./src/x", "deny"), ("doc/../src/x", "deny"), ("srcs/x", "allow"),
    ("src.c", "allow"), ("lib/src/x", "allow"), ("src/*.c", "deny"), ("src/ü", "deny"), (".", "deny"),
    ("/etc/passwd", "allow"), ("../other", "allow")])
def test_paths(repo, path, outcome):
    assert guard(repo, path)[0] == outcome
    assert guard(repo, path, who=ME) == ("allow", [])


def test_the_denied_paths_are_listed(repo):
    assert guard(repo, "doc/a", "src/b", "README.md", "src/c/d") == ("deny", ["src/b", "src/c/d"])
    reply = agent(repo, "guard", "--agent", OTHER, "src/b")
    [denied] = reply["error"]["details"]["denied"]
    assert denied["owner_liveness"] == "active" and denied["reservation"]["agent_id"] == ME
    assert reply["error"]["code"] == "RESERVATION_CONFLICT" and ME in reply["error"]["hint"]


def test_a_caller_without_a_name_counts_as_another_agent(repo):
    assert guard(repo, "src/b", who=None) == ("deny", ["src/b"])
    assert guard(repo, "src/b", who=None, env={"BB_AGENT_ID": ME}) == ("allow", [])
    assert guard(repo, "src/b", who="never-registered")[0] == "deny"


def test_only_live_reservations_count(repo):
    data(repo, "release", "--agent", ME, "--scope", "src")
    assert guard(repo, "src/b") == ("allow", [])
    register(repo, "late-fox", env=at())
    reserve(repo, "late-fox", "lib", "--ttl", "60", env=at())
    assert guard(repo, "lib/b", env=at(m=59))[0] == "deny"
    assert guard(repo, "lib/b", env=at(m=60))[0] == "allow"
    reply = agent(repo, "guard", "--agent", OTHER, "lib/b", env=at(m=20))
    assert reply["error"]["details"]["denied"][0]["owner_liveness"] == "stale"
    assert "--takeover-stale" in reply["error"]["hint"]


def test_a_folder_that_contains_another_agents_scope_is_denied(repo):
    reserve(repo, ME, "a/b/c")
    reserve(repo, ME, "a-b")
    assert guard(repo, "a") == ("deny", ["a"])
    assert guard(repo, ".") == ("deny", ["/"])
    assert guard(repo, "a/b/c/d", "a/b/d", "a/bc", "a-b/x") == ("deny", ["a/b/c/d", "a-b/x"])


@pytest.mark.parametrize("stdin", [b"doc/a\nsrc/b\n", b"doc/a\nsrc/b", b"doc/a\0src/b\0", b'"src/b"\n'])
def test_standard_input(repo, stdin):
    assert guard(repo, "--stdin", stdin=stdin) == ("deny", ["src/b"])


def test_names_as_git_prints_them(repo):
    assert guard(repo, "--stdin", stdin=rb'"src/\303\274 \"x\".c"' + b"\n") == ("deny", ['src/ü "x".c'])
    assert guard(repo, "--stdin", stdin=b"src/\xff\0") == ("deny", ["src/\ufffd"])
    assert guard(repo, "--stdin", stdin=b"") == ("allow", [])


def test_no_paths_is_an_error(repo):
    assert agent(repo, "guard", "--agent", OTHER)["error"]["code"] == "INVALID_ARGS"


def test_absolute_paths_and_links(repo, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(repo.path)
    for path in (repo.path / "src/new/file", link / "src/new/file", link / "src"):
        assert guard(repo, str(path))[0] == "deny", path
    assert guard(repo, str(link / "doc/file")) == ("allow", [])
    assert guard(repo, "src/b", cwd=link)[0] == "deny"


def test_a_link_in_the_project_counts_as_its_target(repo):
    for name in ("src/a", "doc/a"):
        repo.write(name)
    for name, to in (("folder", "src"), ("file", "src/a"), ("free", "doc/a")):
        (repo.path / name).symlink_to(to)
    asked = ["folder/a", "file", "free", "folder/none/yet"]
    assert guard(repo, *asked) == ("deny", ["src/a", "src/a", "src/none/yet"])
    assert guard(repo, "--stdin", stdin="\n".join(asked).encode()) == ("deny", ["src/a", "src/a", "src/none/yet"])
    assert guard(repo, *asked, who=ME) == ("allow", [])
    repo.git("add", "folder", "file", "free")  # for Git they are files that hold a name
    assert guard(repo, "--staged") == ("allow", [])


def test_policies(repo):
    done = repo.bb("agent", "guard", "--agent", OTHER, "src/b", "--on-deny", "warn")
    assert done.code == 0 and done.err.startswith("warning: ") and "src/b" in done.out
    assert guard(repo, "src/b", "--on-deny", "warn", warned="src/b") == ("deny", ["src/b"])
    active = repo.path / ".beadboard/agent/reservations/history.jsonl"
    active.write_text("{}\n")
    reply = agent(repo, "guard", "--agent", OTHER, "src/b")
    assert reply["error"]["code"] == "IO_READ_FAILED" and reply["error"]["details"]["outcome"] == "error"
    assert repo.bb("agent", "guard", "src/b").code == 3
    assert guard(repo, "src/b", "--on-error", "warn", warned="history.jsonl") == ("error", [])
    assert repo.bb("agent", "guard", "src/b", "--on-error", "warn").code == 0


def test_exit_codes(repo):
    assert [repo.bb("agent", "guard", *args).code for args in (["doc"], ["src"], [], ["--nonsense"])] == [0, 1, 2, 2]


def test_an_old_epoch_is_refused(repo):
    first = reserve(repo, OTHER, "lib", "--ttl", "60", env=at())["epoch"]
    assert guard(repo, "lib/x", "--epoch", str(first), env=at(m=1)) == ("allow", [])
    assert guard(repo, "doc/x", "--epoch", str(first), env=at(m=1)) == ("allow", [])
    reserve(repo, ME, "lib", "--takeover-stale", "--ttl", "60", env=at(m=60))
    data(repo, "release", "--agent", ME, "--scope", "lib", env=at(m=61))
    reply = agent(repo, "guard", "--agent", OTHER, "lib/x", "--epoch", str(first), env=at(m=62))
    assert (reply["error"]["code"], reply["error"]["reason"]) == ("RESERVATION_CONFLICT", "STALE_EPOCH")
    again = reserve(repo, OTHER, "lib", env=at(m=62))["epoch"]
    assert again > first
    assert guard(repo, "lib/x", "--epoch", str(first), env=at(m=63))[0] == "deny"
    assert guard(repo, "lib/x", "--epoch", str(again), env=at(m=63))[0] == "allow"


def test_staged(repo):
    for name in ("src/a", "doc/a", "src/ü x"):
        repo.write(name)
    assert guard(repo, "--staged") == ("allow", [])
    repo.git("add", "-A")
    assert guard(repo, "--staged") == ("deny", ["src/a", "src/ü x"])
    assert guard(repo, "--staged", cwd=repo.path / "doc")[0] == "deny"
    repo.git("commit", "-qm", "x")
    repo.git("mv", "src/a", "doc/b")  # the old place counts too
    assert guard(repo, "--staged") == ("deny", ["src/a"])


def test_a_project_that_is_a_part_of_the_repository(repo):
    (repo.path / "part").mkdir()
    part = Project(repo.path / "part")
    (part.path / ".beadboard").mkdir()
    for name in (ME, OTHER):
        register(part, name)
    reserve(part, ME, "lib")
    repo.write("lib/a")
    repo.git("add", "-A")
    assert guard(part, "--staged") == ("allow", [])
    repo.write("part/lib/a")
    repo.git("add", "-A")
    assert guard(part, "--staged") == ("deny", ["lib/a"])


def test_outside_of_a_repository(empty):
    register(empty, OTHER)
    done = empty.bb("agent", "guard", "--agent", OTHER, "--staged", "--json",
                    env={"GIT_CEILING_DIRECTORIES": str(empty.path.parent)})
    assert done.code == 3 and done.error["details"]["outcome"] == "error"
    assert done.error["message"] == f"'{empty.path}' is not in a worktree of Git"


# --- hooks ---

def changes(project, what, *args, **kw):
    return [h["change"] for h in data(project, "guard", what, *args, **kw)]


def hook(repo, name="pre-commit"):
    return repo.path / ".git/hooks" / name


def test_commits_are_stopped(repo):
    assert changes(repo, "install") == ["made", "made"] and changes(repo, "install") == ["unchanged", "unchanged"]
    repo.write("src/a")
    repo.git("add", "-A")
    done = repo.git("commit", "-qm", "x", who=OTHER, ok=False)
    assert done.returncode == 1 and f"'src/a' is reserved by '{ME}'" in done.stderr
    assert repo.git("rev-parse", "-q", "--verify", "HEAD", ok=False).returncode != 0
    repo.git("commit", "-qm", "x", who=ME)
    repo.write("src/a", "more\n")
    assert repo.git("commit", "-qam", "y", who=OTHER, ok=False).returncode == 1  # another index
    repo.write("doc/a")
    repo.git("add", "doc")
    repo.git("commit", "-qm", "z", "doc/a", who=OTHER)


@pytest.mark.parametrize("inside", [False, True])
def test_an_absolute_path_in_a_linked_worktree_is_the_same_scope(repo, tmp_path, inside):
    repo.write("src/a")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "x")
    tree = (repo.path if inside else tmp_path) / "trees/tree"
    repo.git("worktree", "add", "-q", str(tree), "-b", "other")
    made = data(repo, "reserve", "--agent", ME, "--scope", str(tree / "lib"), "--bead", "bb-1", cwd=tree)
    assert made["scope"] == "lib"
    for path, cwd in (("lib/a", repo.path), (str(tree / "lib/a"), tree), (str(repo.path / "lib/a"), repo.path)):
        assert guard(repo, path, cwd=cwd) == ("deny", ["lib/a"])


def test_linked_worktrees_get_the_same_answer(repo, tmp_path):
    repo.write("src/a")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "x")
    changes(repo, "install")
    tree = tmp_path / "tree"
    repo.git("worktree", "add", "-q", str(tree), "-b", "other")
    repo.write("src/a", "more\n", cwd=tree)
    assert repo.git("commit", "-qam", "y", who=OTHER, cwd=tree, ok=False).returncode == 1
    assert guard(repo, "src/a", cwd=tree) == guard(repo, str(tree / "src/a"), cwd=tree) == ("deny", ["src/a"])
    assert guard(repo, "src/a", cwd=tree, who=ME) == ("allow", [])
    repo.git("commit", "-qam", "y", who=ME, cwd=tree)
    assert changes(repo, "install", cwd=tree) == ["unchanged", "unchanged"]


def test_pushes_are_stopped(repo, tmp_path):
    """A commit that bypassed the guard cannot be pushed."""
    bare = tmp_path / "bare"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("remote", "add", "origin", str(bare))
    changes(repo, "install")
    repo.write("doc/a")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "x", who=OTHER)
    repo.git("push", "-q", "origin", "main", who=OTHER)
    repo.write("src/b")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--no-verify", "-m", "y", who=OTHER)
    for target in ("main", "main:new"):
        done = repo.git("push", "-q", "origin", target, who=OTHER, ok=False)
        assert done.returncode == 1 and "'src/b' is reserved" in done.stderr
    repo.git("push", "-q", "origin", "main", who=ME)
    repo.git("push", "-q", "origin", ":main", who=OTHER)  # nothing is in what is deleted


def test_git_log_settings_do_not_change_how_pushes_are_read(repo, tmp_path):
    gpg = tmp_path / "gpg"
    gpg.write_text('#!/bin/sh\ncat >/dev/null\necho "gpg: said" >&2\n')
    gpg.chmod(0o755)
    repo.write("src/a")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "x")
    first = repo.git("cat-file", "commit", "HEAD").stdout.partition("\n\n")[0]
    (tmp_path / "commit").write_text(f"{first}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----"
                                     "\n\nx\n")
    signed = repo.git("hash-object", "-t", "commit", "-w", str(tmp_path / "commit")).stdout.strip()
    for name, value in (("log.showSignature", "true"), ("gpg.program", str(gpg)), ("log.showRoot", "false"),
                        ("diff.relative", "true")):
        repo.git("config", name, value)
    reply = agent(repo, "guard", "--agent", OTHER, "--pushed", cwd=repo.path / "src",
                  stdin=f"refs/heads/main {signed} refs/heads/main {'0' * 40}\n".encode())
    assert reply["error"]["details"]["checked"] == 1
    assert [d["path"] for d in reply["error"]["details"]["denied"]] == ["src/a"]


MINE = """#!/bin/bash
# mine
echo "ran with: $(cat)" >"$(git rev-parse --git-dir)/ran"
exit 0
"""


@pytest.mark.parametrize("text", [MINE, MINE.replace("#!/bin/bash", "#! /usr/bin/env -S bash -e"), MINE[12:],
                                  MINE[:-1]])
def test_existing_hooks_are_kept_and_run(repo, tmp_path, text):
    hook(repo, "pre-push").write_text(text)
    hook(repo, "pre-push").chmod(0o755)
    assert changes(repo, "install") == ["made", "added"]
    assert os.access(hook(repo, "pre-push"), os.X_OK)
    repo.write("doc/a")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "x", who=OTHER)
    bare = tmp_path / "bare"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("push", "-q", str(bare), "main", who=OTHER)
    assert "ran with: refs/heads/main " in (repo.path / ".git/ran").read_text()
    assert changes(repo, "uninstall") == ["removed", "section removed"]
    assert hook(repo, "pre-push").read_text() == text
    assert not hook(repo).exists() and changes(repo, "uninstall") == ["unchanged", "unchanged"]


@pytest.mark.parametrize("text, mode", [("#!/usr/bin/python3\n", 0o755), (MINE, 0o644), ("\x7fELF\0", 0o755)])
def test_hooks_that_cannot_be_changed(repo, text, mode):
    hook(repo, "pre-push").write_text(text)
    hook(repo, "pre-push").chmod(mode)
    reply = agent(repo, "guard", "install")
    assert reply["error"]["code"] == "INVALID_ARGS" and "bb agent guard --pushed" in reply["error"]["hint"]
    assert hook(repo, "pre-push").read_text() == text and not hook(repo).exists()


def test_hooks_elsewhere(repo, tmp_path):
    repo.git("config", "core.hooksPath", ".husky")
    assert data(repo, "guard", "install")[0]["path"] == str(repo.path / ".husky/pre-commit")
    repo.write("src/a")
    repo.git("add", "src")
    assert repo.git("commit", "-qm", "x", who=OTHER, ok=False).returncode == 1
    repo.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    assert "core.hooksPath" in agent(repo, "guard", "install")["error"]["hint"]


def test_policies_of_the_hooks(repo):
    changes(repo, "install")
    assert changes(repo, "install", "--on-deny", "warn") == ["renewed", "renewed"]
    repo.write("src/a")
    repo.git("add", "-A")
    done = repo.git("commit", "-qm", "x", who=OTHER)
    assert "warning: 'src/a' is reserved" in done.stderr


def test_without_the_program_commits_pass(repo):
    changes(repo, "install")
    hook(repo).write_text(hook(repo).read_text().replace(str(BIN.resolve()), "/nowhere"))
    repo.write("src/a")
    repo.git("add", "-A")
    assert "reservations are not checked" in repo.git("commit", "-qm", "x", who=OTHER).stderr


def test_for_people(repo):
    assert "1 file checked: allowed." in repo.bb("agent", "guard", "doc", "--agent", OTHER).ok().out
    assert "pre-commit: created" in repo.bb("agent", "guard", "install").ok().out
    done = repo.bb("agent", "guard", "src", "--agent", OTHER)
    assert done.out == "" and done.err.startswith("error: 'src' is reserved by 'amber-otter' for another 2h")


def test_where_reservations_overlap_the_first_one_decides(repo):
    reserve(repo, OTHER, "src/lib")
    assert guard(repo, "src/lib/x") == ("deny", ["src/lib/x"]) and guard(repo, "src/lib/x", who=ME) == ("allow", [])
    reserve(repo, OTHER, "doc/part")
    reserve(repo, ME, "doc")
    assert guard(repo, "doc/part/x") == ("allow", []) and guard(repo, "doc/part/x", who=ME) == ("deny", ["doc/part/x"])
    assert guard(repo, "doc/y", who=ME) == ("allow", []) and guard(repo, "doc/y") == ("deny", ["doc/y"])


def test_lines_with_carriage_returns(repo):
    assert guard(repo, "--stdin", stdin=b"src/b\r\ndoc/a\r\n") == ("deny", ["src/b"])


def test_a_failed_check_is_not_a_denial(repo):
    assert repo.bb("agent", "guard", "doc", "--epoch", "0").code == 3
    assert repo.bb("agent", "guard", "doc", env={"BB_AGENT_STALE_MINUTES": "x"}).code == 3


def test_hooks_know_a_project_that_is_a_part_of_the_repository(repo):
    part = Project(repo.path / "part")
    (part.path / ".beadboard").mkdir(parents=True)
    for name in (ME, OTHER):
        register(part, name)
    reserve(part, ME, "lib")
    changes(part, "install")
    repo.write("part/lib/a")
    repo.git("add", "-A")
    assert repo.git("commit", "-qm", "x", who=OTHER, ok=False).returncode == 1
    repo.git("commit", "-qm", "x", who=ME)


def test_files_that_a_merge_brings_are_not_checked(repo, tmp_path):
    repo.write("doc/a", "one\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "base", who=ME)
    repo.git("checkout", "-qb", "theirs")
    repo.write("src/z")
    repo.write("doc/a", "theirs\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "theirs", who=ME)
    repo.git("checkout", "-q", "main")
    changes(repo, "install")
    repo.write("doc/a", "mine\n")
    repo.git("commit", "-qam", "mine", who=OTHER)
    assert repo.git("merge", "-q", "theirs", who=OTHER, ok=False).returncode == 1  # a conflict in doc/a
    repo.write("doc/a", "both\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "merged", who=OTHER)
    bare = tmp_path / "bare"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("remote", "add", "origin", str(bare))
    repo.git("push", "-q", "origin", "theirs", who=ME)
    repo.git("push", "-q", "origin", "main", who=OTHER)
    repo.write("src/z", "evil\n")
    repo.git("add", "-A")
    assert repo.git("commit", "-qm", "no", who=OTHER, ok=False).returncode == 1


def test_git_is_not_run_without_reservations(repo):
    data(repo, "release", "--agent", ME, "--scope", "src")
    assert guard(repo, "--staged", env={"PATH": "/nowhere"}) == ("allow", [])
