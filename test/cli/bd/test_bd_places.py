"""bd: one store per repository, and no file of the user is changed"""
import os
import re
import shutil
import stat

import pytest

from beads import clock, is_error, snapshot, stamp
from conftest import Repo, git


def commit(path):
    (path / "file.txt").write_text("mine\n")
    git(path, "add", "file.txt")
    git(path, "commit", "-q", "-m", "first")


# init

def test_init_creates_a_store_and_prints_the_text_for_agents_md(plain_repo):
    done = plain_repo.bd("init", "--prefix", "work", "--json").ok()
    reply = done.json
    assert (reply["prefix"], reply["store"]) == ("work", str(plain_repo.home))
    assert "bd ready" in reply["agents_md"]
    assert sorted(p.name for p in plain_repo.path.iterdir()) == [".git"]


def test_init_for_people_and_quietly(plain_repo):
    out = plain_repo.bd("init").ok().out
    assert "AGENTS.md" in out and str(plain_repo.home) in out
    assert plain_repo.bd("init", "-q").ok().out.count("AGENTS.md") == 0


def test_without_a_prefix_it_is_the_name_of_the_folder(plain_repo):
    plain_repo.bd("init").ok()
    assert plain_repo.create("x").startswith("proj-")


def test_init_again_keeps_the_existing_store(repo):
    bead = repo.create("x")
    journal = repo.journal.read_bytes()
    for words in ([], ["--prefix", "bd"]):
        repo.bd("init", *words).ok()
        assert repo.journal.read_bytes() == journal
    assert repo.ids("list") == [bead]


@pytest.mark.parametrize("word", ["", " ", "a b", "ä", "a/b", "-a", "a\n"])
def test_an_invalid_prefix_is_refused(plain_repo, word):
    is_error(plain_repo.bd("init", f"--prefix={word}", "--json"), "invalid_argument", 1)
    assert not plain_repo.journal.exists()


BRANCHES = ["main", "HEAD", "refs/heads/main", "refs/heads/topic", "refs/tags/v1", "refs/beads/..x", "refs/beads/",
            "refs/beads/a b", "refs/beads/x.lock", "refs/remotes/origin/main", "refs/replace/" + "1" * 40, "refs/Heads/main"]


@pytest.mark.parametrize("ref", BRANCHES)
def test_the_sync_ref_is_a_ref_and_never_a_branch_of_the_user(plain_repo, ref):
    commit(plain_repo.path)
    git(plain_repo.path, "branch", "topic")
    is_error(plain_repo.bd("init", "--ref", ref, "--json"), "invalid_argument", 1)
    assert not plain_repo.journal.exists()
    plain_repo.bd("init", "--prefix", "bd").ok()
    is_error(plain_repo.bd("config", "set", "sync.ref", ref, "--json"), "invalid_argument", 1)
    assert plain_repo.json("where")["ref"] == "refs/beads/store"


@pytest.mark.parametrize("ref", ["refs/beads/other", "refs/heads/beads/store"])
def test_another_sync_ref_can_be_chosen(plain_repo, ref):
    plain_repo.bd("init", "--ref", ref).ok()
    assert plain_repo.json("where")["ref"] == ref


def test_folders_and_files_belong_to_the_user_alone(repo):
    repo.create("x")
    assert stat.S_IMODE(repo.home.stat().st_mode) == 0o700
    for file in repo.home.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_prefix_with_dashes(plain_repo):
    plain_repo.bd("init", "--prefix", "my-app").ok()
    bead = plain_repo.create("x")
    assert re.fullmatch(r"my-app-[0-9a-z]{4}", bead)
    assert plain_repo.ids("show", bead[-4:]) == [bead]


# where

def test_where_says_why_the_store_is_used(repo):
    got = repo.json("where")
    assert (got["store"], got["repository"], got["exists"]) == (str(repo.home), str(repo.path), True)
    assert got["why"]
    assert repo.bd("where").ok().out.startswith(f"{repo.home}\n")


def test_where_inside_the_git_folder_is_the_same_store(repo):
    got = repo.json("where", cwd=repo.path / ".git" / "hooks")
    assert got["store"] == str(repo.home)
    assert "bare" not in got["why"]


def test_where_without_a_store(plain_repo):
    got = plain_repo.json("where")
    assert (got["store"], got["exists"]) == (str(plain_repo.home), False)


def test_info(repo):
    repo.create("x")
    got = repo.json("info")
    assert (got["actor"], got["prefix"], got["store"]) == ("alice", "bd", str(repo.home))
    assert "alice" in repo.bd("info").ok().out


# one store

@pytest.fixture
def sub(repo):
    folder = repo.path / "deep" / "er"
    folder.mkdir(parents=True)
    return folder


def test_the_same_store_from_a_subdirectory(repo, sub):
    bead = repo.create("x", cwd=sub)
    assert repo.ids("list") == repo.ids("list", cwd=sub) == [bead]
    assert repo.json("where", cwd=sub)["store"] == str(repo.home)


def test_the_same_store_from_a_linked_worktree(repo, tmp_path):
    commit(repo.path)
    tree = tmp_path / "linked"
    git(repo.path, "worktree", "add", "-q", str(tree), "-b", "topic")
    (tree / "in").mkdir()
    bead = repo.json("create", "x", cwd=tree / "in")
    assert bead["created_on_branch"] == "topic"
    assert repo.ids("list") == repo.ids("list", cwd=tree) == [bead["id"]]
    assert repo.json("where", cwd=tree)["store"] == str(repo.home)
    assert repo.json("close", bead["id"])[0]["closed_on_branch"] == "main"


def test_init_in_a_linked_worktree_applies_to_all_worktrees(plain_repo, tmp_path):
    commit(plain_repo.path)
    tree = tmp_path / "linked"
    git(plain_repo.path, "worktree", "add", "-q", str(tree), "-b", "topic")
    plain_repo.bd("init", "--prefix", "bd", cwd=tree).ok()
    bead = plain_repo.create("x", cwd=tree)
    assert plain_repo.ids("list") == [bead]
    assert plain_repo.home.is_dir()


def test_a_submodule_has_a_store_of_its_own(repo, tmp_path):
    commit(repo.path)
    lib = tmp_path / "lib"
    lib.mkdir()
    git(lib, "init", "-q", "-b", "main")
    commit(lib)
    git(repo.path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(lib), "lib")
    inner = repo.path / "lib"
    is_error(repo.bd("--json", "list", cwd=inner), "not_initialized", 1)
    repo.bd("init", "--prefix", "lib", cwd=inner).ok()
    mine, theirs = repo.create("outer"), repo.create("inner", cwd=inner)
    assert theirs.startswith("lib-")
    assert (repo.ids("list"), repo.ids("list", cwd=inner)) == ([mine], [theirs])
    assert repo.json("where", cwd=inner)["store"] == str(repo.path / ".git" / "modules" / "lib" / "abacus")


def test_the_same_store_through_a_symlink(repo, tmp_path, sub):
    link, deep = tmp_path / "link", tmp_path / "deeplink"
    link.symlink_to(repo.path)
    deep.symlink_to(sub)
    bead = repo.create("x", cwd=link)
    assert repo.ids("list") == repo.ids("list", cwd=link) == repo.ids("list", cwd=deep) == [bead]
    assert repo.ids("list", "-C", str(link), cwd="/") == [bead]


def test_a_git_folder_elsewhere(plain_repo, tmp_path):
    elsewhere = tmp_path / "elsewhere.git"
    shutil.move(plain_repo.path / ".git", elsewhere)
    (plain_repo.path / ".git").write_text(f"gitdir: {elsewhere}\n")
    plain_repo.bd("init", "--prefix", "bd").ok()
    bead = plain_repo.create("x")
    assert plain_repo.ids("list") == [bead]
    assert (elsewhere / "abacus").is_dir()


def test_a_bare_repository(tmp_path):
    path = tmp_path / "bare.git"
    path.mkdir()
    git(path, "init", "-q", "--bare", "-b", "main")
    repo = Repo(path)
    repo.bd("init", "--prefix", "bd").ok()
    bead = repo.json("create", "x")
    assert repo.ids("list") == [bead["id"]]
    assert (path / "abacus").is_dir()
    assert repo.ids("list", cwd=path / "refs") == [bead["id"]]


def test_a_worktree_of_a_bare_repository(tmp_path):
    path, tree = tmp_path / "bare.git", tmp_path / "tree"
    src = tmp_path / "src"
    src.mkdir()
    git(src, "init", "-q", "-b", "main")
    commit(src)
    git(tmp_path, "clone", "-q", "--bare", str(src), str(path))
    git(path, "worktree", "add", "-q", str(tree), "main")
    repo = Repo(tree)
    repo.bd("init", "--prefix", "bd").ok()
    bead = repo.create("x")
    assert repo.ids("list", cwd=path) == [bead]
    assert (path / "abacus").is_dir()


def test_dir_and_beads_dir_choose_the_repository(repo, tmp_path):
    bead = repo.create("x")
    assert repo.ids("--dir", str(repo.path), "list", cwd=tmp_path) == [bead]
    assert repo.ids("list", "-C", str(repo.path), cwd=tmp_path) == [bead]
    assert repo.ids("list", cwd=tmp_path, env={"BEADS_DIR": repo.path}) == [bead]
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    is_error(repo.bd("--json", "-C", str(other), "list", cwd=tmp_path, env={"BEADS_DIR": repo.path}),
             "not_initialized", 1)
    is_error(repo.bd("--json", "-C", str(tmp_path / "none"), "list"), "invalid_argument", 1)


def test_the_nearest_repository_counts(repo):
    inner = repo.path / "vendored"
    inner.mkdir()
    git(inner, "init", "-q")
    is_error(repo.bd("--json", "list", cwd=inner), "not_initialized", 1)


def test_a_path_with_spaces_quotes_and_umlauts(tmp_path):
    path = tmp_path / "my 'ü' \"proj\" 🎉"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    repo = Repo(path)
    repo.bd("init", "--prefix", "bd").ok()
    bead = repo.create("x")
    assert repo.ids("list") == [bead]
    assert repo.json("where")["store"] == str(repo.home)


# what is the user's

COMMANDS = [["init"], ["create", "a", "--id", "bd-a"], ["create", "b", "--id", "bd-b", "--deps", "bd-a"], ["q", "c"],
            ["list"], ["show", "bd-a"], ["search", "a"], ["ready"], ["why", "bd-a"], ["claim", "bd-a"],
            ["renew", "bd-a"], ["update", "bd-a", "-p", "0"], ["comment", "bd-a", "hi"], ["comments", "bd-a"],
            ["label", "add", "bd-a", "l"], ["label", "remove", "bd-a", "l"], ["label", "list", "bd-a"],
            ["label", "list-all"], ["unclaim", "bd-a"], ["dep", "list", "bd-b"], ["dep", "tree", "bd-b"],
            ["dep", "cycles"], ["dep", "remove", "bd-b", "bd-a"], ["dep", "add", "bd-b", "bd-a"], ["blocked"],
            ["children", "bd-a"], ["close", "bd-a"], ["reopen", "bd-a"], ["delete", "bd-b", "--yes"], ["deleted"],
            ["undelete", "bd-b"], ["reclaim"], ["status"], ["count"], ["stale"], ["epic", "status"],
            ["epic", "close-eligible"], ["graph"], ["validate"], ["doctor"], ["where"], ["info"], ["version"],
            ["config", "set", "claim.lease", "2h"], ["config", "get", "claim.lease"], ["config", "list"],
            ["config", "unset", "claim.lease"], ["show", "bd-none"], ["frob"], ["--help"]]


def users(repo):
    """Everything except the store: worktree, index, HEAD, refs, hooks, config, objects."""
    return {name: data for name, data in snapshot(repo.path).items() if not name.startswith(".git/abacus/")}


def test_no_command_changes_files_of_the_user(repo):
    commit(repo.path)
    (repo.path / "file.txt").write_text("changed\n")
    (repo.path / "staged.txt").write_text("staged\n")
    git(repo.path, "add", "staged.txt")
    (repo.path / "untracked.txt").write_text("untracked\n")
    git(repo.path, "status", "--porcelain")
    status, refs = git(repo.path, "status", "--porcelain"), git(repo.path, "for-each-ref")
    before = users(repo)
    for words in COMMANDS:
        repo.bd(*words)
        assert users(repo) == before, words
    assert (git(repo.path, "status", "--porcelain"), git(repo.path, "for-each-ref")) == (status, refs)
    assert git(repo.path, "fsck") == ""


def test_no_git_is_needed(repo):
    env = {"PATH": "/nonexistent"}
    for words in COMMANDS:
        if words[0] not in ("show", "frob") or words[1:] == ["bd-a"]:
            done = repo.bd(*words, env=env)
            assert done.code == 0, (words, done.out, done.err)


def test_readers_write_nothing(repo):
    repo.bd("create", "a", "--id", "bd-a").ok()
    repo.bd("list").ok()
    before = {k: v for k, v in snapshot(repo.home).items() if not k.endswith("-shm")}
    for words in (["list"], ["show", "bd-a"], ["ready"], ["search", "a"], ["blocked"], ["status"], ["count"], ["where"],
                  ["info"], ["dep", "tree", "bd-a"], ["validate"], ["comments", "bd-a"], ["deleted"], ["graph"]):
        repo.bd(*words).ok()
        assert {k: v for k, v in snapshot(repo.home).items() if not k.endswith("-shm")} == before, words


def test_lock_files_of_git_do_not_stop_commands(repo):
    for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"):
        (repo.path / ".git" / name).write_text("")
    bead = repo.create("x")
    assert repo.ids("list") == [bead]


def test_settings_belong_to_the_clone_and_are_not_in_git_config(repo):
    config = (repo.path / ".git" / "config").read_bytes()
    assert repo.json("config", "get", "claim.lease")["value"] == "1h"
    assert repo.json("config", "set", "claim.lease", "90m")["value"] == "90m"
    assert repo.bd("config", "get", "claim.lease").ok().out.startswith("claim.lease = 90m")
    assert {c["key"]: c["value"] for c in repo.json("config", "list")}["claim.lease"] == "90m"
    clock(repo)
    bead = repo.create("x")
    assert repo.json("claim", bead)[0]["assignee_expires"] == stamp(m=90)
    assert repo.json("config", "unset", "claim.lease")["value"] == "1h"
    assert (repo.path / ".git" / "config").read_bytes() == config
    for words in (["get", "nope"], ["set", "nope", "1"], ["set", "claim.lease", "x"], ["unset", "nope"]):
        is_error(repo.bd("--json", "config", *words), "invalid_argument", 1)


def test_a_removed_current_folder(repo, sub):
    here = os.getcwd()
    try:
        os.chdir(sub)
        shutil.rmtree(sub)
        done = repo.bd("--json", "list", cwd=".")
    except FileNotFoundError:
        pytest.skip("the system does not start a program in a folder that is gone")
    finally:
        os.chdir(here)
    assert done.code in (1, 3)
    assert list(done.json) == ["error"]
