"""abacus work: the current bead of an agent, its reservations, its branch, and the trailer of its commits."""
import json
import pathlib
import shutil
import subprocess

import pytest

from conftest import environment, git, git_tree
from hints import command_of, run_command

AMBER, BIRCH = {"ABACUS_AGENT": "amber-otter"}, {"ABACUS_AGENT": "birch-finch"}


@pytest.fixture
def repo(repo):
    repo.env = {}
    (repo.path / "src").mkdir()
    (repo.path / "src/a.c").write_text("a")
    git(repo.path, "add", "src")
    git(repo.path, "commit", "-q", "-m", "start")
    return repo


def work(repo, *args, env=AMBER, cwd=None):
    return repo.run("--json", "work", *args, program="abacus", env=env, cwd=cwd)


def create(repo, title, *args):
    return repo.create(title, *args, env=AMBER)


def reservations(repo):
    return [(one["scope"], one["agent_id"], one["bead_id"]) for one in
            repo.run("--json", "agent", "status", program="bb", env=AMBER).ok().json["data"]["reservations"]]


def head(path):
    return git(path, "rev-parse", "--abbrev-ref", "HEAD").strip()


def test_work_claims_reserves_and_makes_a_branch_and_changes_no_file(repo):
    bead = create(repo, "Lexer", "--touches", "src/*,README.md")
    (repo.path / "src/a.c").write_text("changed")
    (repo.path / "new").write_text("new")
    before = git(repo.path, "status", "--porcelain")
    reply = work(repo, bead).ok().json
    assert (reply["bead"], reply["begun"], reply["branch"], reply["reserved"]) == (
        bead, True, f"work/{bead}", ["README.md", "src"])
    shown = repo.show(bead, env=AMBER)
    assert (shown["status"], shown["assignee"], shown["epoch"]) == ("in_progress", "amber-otter", reply["epoch"])
    assert reservations(repo) == [("README.md", "amber-otter", bead), ("src", "amber-otter", bead)]
    assert head(repo.path) == f"work/{bead}" and git(repo.path, "status", "--porcelain") == before
    assert work(repo).ok().json["result"] == "current"


def test_work_is_the_default_bead_of_reservations_and_messages(repo):
    bead, other = create(repo, "Lexer"), create(repo, "Other")
    work(repo, bead).ok()
    repo.bd("claim", other, env=AMBER).ok()
    for name in ("amber-otter", "birch-finch"):
        repo.run("agent", "register", "--name", name, "--role", "dev", program="bb", env=AMBER)
    sent = repo.run("--json", "agent", "send", "birch-finch", "Hi", "-m", "x", program="bb", env=AMBER).ok().json
    assert sent["data"]["bead_id"] == bead
    made = repo.run("--json", "agent", "reserve", "--scope", "doc", program="bb", env=AMBER).ok().json
    assert made["data"]["bead_id"] == bead
    failed = repo.run("--json", "agent", "reserve", "--scope", "lib", program="bb", env=BIRCH)
    assert failed.error["code"] == "MISSING_BEAD_ID"


def test_done_closes_and_stop_unclaims_and_both_release_the_scopes(repo):
    first, second = create(repo, "One", "--touches", "src"), create(repo, "Two", "--touches", "src")
    work(repo, first).ok()
    assert work(repo, "done", "--reason", "fixed").ok().json["result"] == "closed"
    assert (repo.show(first)["status"], repo.show(first)["closed_reason"]) == ("closed", "fixed")
    assert reservations(repo) == [] and work(repo).ok().json["bead"] is None
    work(repo, second).ok()
    assert work(repo, "stop").ok().json["result"] == "given back"
    assert (repo.show(second)["status"], repo.show(second)["assignee"]) == ("open", None)
    assert reservations(repo) == []
    assert work(repo, "done").error["code"] == "NOT_CLAIMED"


def test_a_failed_reservation_undoes_the_claim_and_is_reported(repo):
    mine, theirs = create(repo, "Mine", "--touches", "doc,src/a.c"), create(repo, "Theirs", "--touches", "src")
    work(repo, theirs, "--no-branch", env=BIRCH).ok()
    failed = work(repo, mine)
    assert failed.error["code"] == "INVALID_INPUT" and "birch-finch" in failed.error["message"]
    assert "was undone" in str(failed.error) and "part of it" not in str(failed.error)
    assert (repo.show(mine)["status"], repo.show(mine)["assignee"]) == ("open", None)
    assert reservations(repo) == [("src", "birch-finch", theirs)]
    assert work(repo).ok().json["bead"] is None and head(repo.path) == "main"


def test_a_claim_of_another_agent_refuses_the_work(repo):
    bead = create(repo, "One", "--touches", "src")
    repo.bd("claim", bead, env=BIRCH).ok()
    assert work(repo, bead).error["code"] == "ALREADY_CLAIMED"
    assert reservations(repo) == [] and work(repo).ok().json["bead"] is None


def test_an_agent_works_on_one_bead_at_a_time(repo):
    first, second = create(repo, "One"), create(repo, "Two")
    work(repo, first).ok()
    assert first in work(repo, second).error["message"]
    assert work(repo, first).ok().json["begun"]  # again is fine


def test_a_worktree_is_made_for_the_bead_and_shares_everything(repo):
    bead = create(repo, "One", "--touches", "src")
    reply = work(repo, bead, "--worktree").ok().json
    tree = repo.path.parent / f"proj-{bead}"
    assert reply["worktree"] == str(tree) and (tree / "src/a.c").read_text() == "a"
    assert head(tree) == f"work/{bead}" and head(repo.path) == "main"
    assert work(repo, cwd=tree).ok().json["bead"] == bead
    assert work(repo, bead, "--worktree").ok().json["worktree"] == str(tree)
    work(repo, "done").ok()
    assert tree.exists()


def test_a_folder_in_the_way_of_a_worktree_stops_only_that_attempt(repo):
    """In a shared folder, another user may have made it. libgit2 used to leave files that stopped every later
    attempt."""
    bead = create(repo, "one")
    tree = repo.path.parent / f"proj-{bead}"
    for kind in ("folder", "link", "dangling"):
        tree.mkdir() if kind == "folder" else tree.symlink_to(repo.path if kind == "link" else "nowhere")
        error = work(repo, bead, "--worktree").json["error"]
        assert error["code"] == "ALREADY_EXISTS" and str(tree) in error["message"], error
        tree.rmdir() if kind == "folder" else tree.unlink()
    assert not work(repo).ok().json["bead"] and repo.show(bead)["status"] == "open"
    missing = repo.path.parent / "missing/deep"
    assert str(missing) in work(repo, bead, "--path", str(missing)).json["error"]["message"]
    assert work(repo, bead, "--worktree").ok().json["worktree"] == str(tree)


def test_a_failed_worktree_leaves_no_files(repo):
    """A file of the commit is missing; a full disk fails in the same way."""
    blob = git(repo.path, "hash-object", "-w", "src/a.c").strip()
    root = git_tree(repo.path, ("100644", "first", blob), ("100644", "second", "1" * 40))
    git(repo.path, "update-ref", "--no-deref", "HEAD", git(repo.path, "commit-tree", "-m", "x", root).strip())
    bead = create(repo, "Lexer")
    before = sorted(repo.path.parent.iterdir()), git(repo.path, "for-each-ref"), git(repo.path, "worktree", "list")
    for _ in range(2):
        done = work(repo, bead, "--worktree")
        assert done.code == 1 and "object not found" in done.json["error"]["message"]
        assert (sorted(repo.path.parent.iterdir()), git(repo.path, "for-each-ref"), git(repo.path, "worktree", "list")) == before


def test_a_worktree_is_recreated_after_its_folder_was_removed_and_beside_one_of_the_same_name(repo):
    bead = create(repo, "one")
    tree = repo.path.parent / f"proj-{bead}"
    work(repo, bead, "--worktree").ok()
    shutil.rmtree(tree)
    assert work(repo, bead, "--worktree").ok().json["worktree"] == str(tree) and (tree / "src/a.c").exists()
    work(repo, "stop").ok()
    other = create(repo, "two")
    (repo.path.parent / "x").mkdir()
    there = repo.path.parent / "x" / tree.name
    assert work(repo, other, "--path", str(there)).ok().json["worktree"] == str(there) and (there / "src/a.c").exists()


def test_head_stays_where_another_agent_works_in_the_same_worktree(repo):
    first, second = create(repo, "One"), create(repo, "Two")
    work(repo, first).ok()
    done = repo.run("work", second, program="abacus", env=BIRCH).ok()
    assert "another agent works in this worktree" in done.err and head(repo.path) == f"work/{first}"


def test_a_repository_without_commits_gets_no_branch(plain_repo):
    plain_repo.bd("init", "--prefix", "bd", env=AMBER).ok()
    bead = plain_repo.create("One", env=AMBER)
    assert "no commit yet" in plain_repo.run("work", bead, program="abacus", env=AMBER).ok().err


def interrupt(repo):
    """As if the process had died after writing its record."""
    record, = (repo.home / "work").iterdir()
    record.write_text(json.dumps({**json.loads(record.read_text()), "begun": False}))


def test_interrupted_work_is_reported_and_the_same_command_completes_it(repo):
    bead = create(repo, "One", "--touches", "src")
    work(repo, bead).ok()
    interrupt(repo)
    repo.run("agent", "release", "--scope", "src", program="bb", env=AMBER).ok()
    git(repo.path, "checkout", "-q", "main")
    assert work(repo).ok().json["result"] == "unfinished"
    assert f"complete it: abacus work {bead}" in repo.run("work", program="abacus", env=AMBER).ok().out
    assert work(repo, bead).ok().json["result"] == "begun"
    assert reservations(repo) == [("src", "amber-otter", bead)] and head(repo.path) == f"work/{bead}"
    assert work(repo).ok().json["result"] == "current"


# --- the trailer ---


def commit(path, message, env, *args):
    file = path / "src/a.c"
    file.write_text(file.read_text() + "x")
    subprocess.run(["git", "-c", "user.name=tester", "-c", "user.email=t@e", "commit", "-q", "-a", "-m", message, *args],
                   cwd=path, check=True, capture_output=True, env=environment(GIT_CONFIG_NOSYSTEM=1, **env))
    return git(path, "log", "-1", "--format=%B").rstrip("\n")


def test_a_worktree_that_a_killed_command_has_left_is_made_again(repo):
    """To Git, the files that are not there yet would be deleted."""
    for name in ("one", "two"):
        (repo.path / name).write_text(name)
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-q", "-m", "files")
    bead = create(repo, "One")
    path = pathlib.Path(work(repo, bead, "--worktree").ok().json["worktree"])
    (repo.path / ".git/worktrees" / path.name / "index").unlink()
    (path / "one").unlink()
    (path / "two").write_text("edited")
    again = repo.run("work", bead, "--worktree", program="abacus", env=AMBER).ok()
    assert git(path, "status", "--short") == "" and (path / "one").read_text() == "one"
    [left] = path.parent.glob(f"{path.name}.unfinished-*")
    assert (left / "two").read_text() == "edited" and str(left) in again.err
    (path / "one").write_text("mine")
    assert "unfinished" not in repo.run("work", bead, "--worktree", program="abacus", env=AMBER).ok().err
    assert (path / "one").read_text() == "mine"


def test_a_long_author_and_subject_of_a_commit_are_shown_in_part(repo, tmp_path):
    bead = create(repo, "One")
    (tmp_path / "message").write_text(f"{'ö' * 1_000_000}\n\nBead: {bead}")
    git(repo.path, "-c", f"user.name={'ä' * 60_000}", "commit", "-q", "--allow-empty", "-F", str(tmp_path / "message"))
    repo.bd("touches", bead, env=AMBER).ok()
    [one] = repo.show(bead)["commits"]
    assert one["author"] == "ä" * 200 and one["summary"] == "ö" * 200


def test_commits_get_a_trailer_while_the_setting_is_on(repo):
    bead = create(repo, "One")
    repo.bd("config", "set", "commit.trailer", "true", env=AMBER).ok()
    assert commit(repo.path, "before", AMBER) == "before"
    work(repo, bead).ok()
    assert commit(repo.path, "lexer: fix", AMBER) == f"lexer: fix\n\nBead: {bead}"
    assert commit(repo.path, "more\n\nWhy: so", AMBER, "-s") == (
        f"more\n\nWhy: so\nSigned-off-by: tester <t@e>\nBead: {bead}")
    assert commit(repo.path, f"again\n\nBead: {bead}", AMBER) == f"again\n\nBead: {bead}"
    assert commit(repo.path, "nobody", {}) == f"nobody\n\nBead: {bead}"  # the branch says whose it is
    assert [one["summary"] for one in repo.show(bead).get("commits", [])] == []
    repo.bd("touches", bead, env=AMBER).ok()
    assert [one["summary"] for one in repo.show(bead)["commits"]] == ["nobody", "again", "more", "lexer: fix"]
    assert "Commits" in repo.bd("show", bead, env=AMBER).out
    repo.bd("config", "set", "commit.trailer", "false", env=AMBER).ok()
    assert commit(repo.path, "after", AMBER) == "after"
    assert not (repo.path / ".git/hooks/prepare-commit-msg").exists()


def test_the_section_keeps_an_existing_hook(repo):
    hook = repo.path / ".git/hooks/prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho mine >>\"$1\"\n")
    hook.chmod(0o755)
    repo.bd("config", "set", "commit.trailer", "true", env=AMBER).ok()
    bead = create(repo, "One")
    work(repo, bead).ok()
    assert commit(repo.path, "x", AMBER) == f"x\n\nBead: {bead}\nmine"
    repo.bd("config", "set", "commit.trailer", "false", env=AMBER).ok()
    assert hook.read_text() == "#!/bin/sh\necho mine >>\"$1\"\n"


def test_a_worktree_of_a_branch_that_is_checked_out_names_the_command_that_helps(repo):
    bead = create(repo, "One")
    work(repo, bead).ok()
    work(repo, "stop").ok()
    error = repo.run("work", bead, "--worktree", program="abacus", env=AMBER).err
    assert f"error: the branch 'work/{bead}' is checked out already" in error and error.strip().endswith(": git switch -")
    git(repo.path, "switch", "-q", "-")
    assert work(repo, bead, "--worktree").ok().json["worktree"].endswith(f"-{bead}")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("other, options", [("work", []), ("work", ["--worktree"]), ("work/{}/more", [])])
def test_a_branch_in_the_way_is_named_with_the_command_that_renames_it(repo, other, options, packed):
    bead = create(repo, "One")
    other = other.format(bead)
    git(repo.path, "switch", "-q", "-c", other)
    if packed:
        git(repo.path, "pack-refs", "--all")
    error = repo.run("work", bead, *options, program="abacus", env=AMBER).err
    assert f"error: cannot make the branch 'work/{bead}': a branch '{other}' is in the way" in error
    assert ("--no-branch" in error) == (not options)
    assert work(repo, bead, "--no-branch").ok().json["branch"] is None
    work(repo, "stop").ok()
    run_command(repo, command_of(error.strip(), "git branch -m ")).ok()
    assert work(repo, bead, *options).ok().json["branch"] == f"work/{bead}"
    assert git(repo.path, "rev-parse", "--verify", f"old-{other}")
