"""Which board a command uses."""
import os
import shutil
import subprocess

import pytest

from conftest import Project


def git(*args, cwd):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "protocol.file.allow=always", *args],
                   cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path):
    path = tmp_path / "repo"
    path.mkdir()
    git("init", "-q", cwd=path)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=path)
    return Project(path)


def where(project, cwd, **kw):
    """The project of the board that a command uses here."""
    return project.json("export", cwd=cwd, **kw)["project_dir"]


def test_from_a_subdirectory(project):
    below = project.path / "a/b/c"
    below.mkdir(parents=True)
    assert where(project, below) == str(project.path)


def test_the_nearest_of_two_boards(project):
    below = project.path / "a/b"
    below.mkdir(parents=True)
    project.bb("--dir", str(project.path / "a"), "init").ok()
    assert where(project, below) == str(project.path / "a")


def test_through_a_symlink(project):
    (project.path / "sub").mkdir()
    link = project.path.parent / "link"
    os.symlink(project.path / "sub", link)
    assert where(project, link) == str(project.path)


def test_outside_of_a_project_there_is_no_board(empty):
    done = empty.bb("status")
    assert (done.code, done.out) == (1, "")
    assert done.err == "No blackboard found. Run 'bb init' to create one.\n"
    assert not (empty.path / ".bb").exists()


@pytest.mark.parametrize("args", [["status"], ["status", "set", "T"], ["status", "get", "k"], ["status", "clear"],
                                  ["log"], ["post", "x"], ["message", "1"], ["artifacts"], ["artifact", "add", "f", "d"],
                                  ["artifact", "show", "f"], ["refs", "a:b:1"], ["clear", "--artifacts", "--confirm"],
                                  ["export"], ["summary"], ["destroy", "--confirm"]])
def test_every_command_but_init_needs_a_board(empty, args):
    (empty.path / "f").write_text("x")
    assert empty.fails(*args)["code"] == "NOT_INITIALIZED"
    assert os.listdir(empty.path) == ["f"]


def test_init_in_a_subdirectory_of_a_repository_goes_to_its_root(repo):
    below = repo.path / "a/b"
    below.mkdir(parents=True)
    assert repo.json("init", cwd=below)["project_dir"] == str(repo.path)
    assert (repo.path / ".bb/blackboard.db").exists()
    assert not (below / ".bb").exists()


def test_init_outside_a_repository_uses_the_current_folder(empty):
    below = empty.path / "a"
    below.mkdir()
    assert empty.json("init", cwd=below)["project_dir"] == str(below)


def test_a_linked_worktree_shares_the_board_of_the_main_one(repo):
    tree = repo.path.parent / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repo.path)
    (tree / "sub").mkdir()
    repo.bb("init", cwd=repo.path).ok()
    repo.bb("post", "from the main one").ok()
    assert where(repo, tree / "sub") == str(repo.path)
    assert repo.json("post", "from the linked one", cwd=tree)["id"] == 2
    assert len(repo.json("log")) == 2
    assert not (tree / ".bb").exists()


def test_init_in_a_linked_worktree_goes_to_the_main_one(repo):
    tree = repo.path.parent / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repo.path)
    assert repo.json("init", cwd=tree)["project_dir"] == str(repo.path)
    assert not (tree / ".bb").exists()
    assert where(repo, repo.path) == str(repo.path)


def test_a_linked_worktree_inside_the_main_one(repo):
    tree = repo.path / ".trees/one"
    git("worktree", "add", "-q", str(tree), cwd=repo.path)
    repo.bb("init", cwd=tree).ok()
    assert where(repo, tree) == str(repo.path)
    assert not (tree / ".bb").exists()


def test_a_worktree_with_relative_links(repo):
    tree = repo.path.parent / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repo.path)
    (tree / ".git").write_text("gitdir: ../repo/.git/worktrees/tree\n")
    assert repo.json("init", cwd=tree)["project_dir"] == str(repo.path)


def test_a_worktree_through_a_symlink(repo):
    tree = repo.path.parent / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repo.path)
    os.symlink(tree, repo.path.parent / "link")
    repo.bb("init").ok()
    assert where(repo, repo.path.parent / "link") == str(repo.path)


def test_a_submodule_uses_the_board_above_it_until_it_has_its_own(repo):
    other = repo.path.parent / "other"
    other.mkdir()
    git("init", "-q", cwd=other)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=other)
    git("submodule", "add", "-q", str(other), "sub", cwd=repo.path)
    repo.bb("init").ok()
    assert where(repo, repo.path / "sub") == str(repo.path)


def test_init_in_a_submodule_makes_the_submodules_own(repo):
    other = repo.path.parent / "other"
    other.mkdir()
    git("init", "-q", cwd=other)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=other)
    git("submodule", "add", "-q", str(other), "sub", cwd=repo.path)
    assert repo.json("init", cwd=repo.path / "sub")["project_dir"] == str(repo.path / "sub")
    assert where(repo, repo.path / "sub") == str(repo.path / "sub")


def test_a_broken_git_file_is_reported_by_commands_that_need_a_board(empty):
    """Without it, it is unknown whether a folder comes from that repository."""
    (empty.path / ".git").write_text("gitdir: /nonexistent/place\n")
    error = empty.fails("init")
    assert error["code"] == "UNSAFE_PATH" and f"'{empty.path}/.git' is not one that Git can use" in error["message"]
    (empty.path / ".git").unlink()
    empty.bb("init").ok()
    assert where(empty, empty.path) == str(empty.path)


def test_an_empty_folder_named_bb_is_not_a_board(empty):
    (empty.path / ".bb").mkdir()
    assert empty.fails("log")["code"] == "NOT_INITIALIZED"


# --dir and BB_DIR

def test_dir_overrides_the_environment_which_overrides_the_current_folder(project):
    places = {}
    for name in ("one", "two"):
        places[name] = project.path.parent / name
        places[name].mkdir()
        project.bb("--dir", str(places[name]), "init").ok()
    env = {"BB_DIR": str(places["one"])}
    assert where(project, project.path) == str(project.path)
    assert where(project, project.path, env=env) == str(places["one"])
    assert project.json("--dir", str(places["two"]), "export", env=env)["project_dir"] == str(places["two"])


def test_dir_may_be_relative_and_end_in_a_slash(project):
    assert project.json("--dir", f"../{project.path.name}/", "export",
                        cwd=project.path.parent.joinpath(project.path.name))["project_dir"] == str(project.path)
    assert project.json("--dir", project.path.name, "export", cwd=project.path.parent)["project_dir"] == str(project.path)


def test_dir_is_exact_and_looks_no_further_up(project):
    below = project.path / "a"
    below.mkdir()
    assert project.fails("--dir", str(below), "log")["code"] == "NOT_INITIALIZED"


def test_init_with_dir_is_exact_even_in_a_repository(repo):
    below = repo.path / "a"
    below.mkdir()
    assert repo.json("--dir", "a", "init")["project_dir"] == str(below)


def test_init_obeys_the_environment(empty):
    other = empty.path.parent / "other"
    other.mkdir()
    assert empty.json("init", env={"BB_DIR": str(other)})["project_dir"] == str(other)
    assert not (empty.path / ".bb").exists()


def test_a_missing_folder_is_an_error_and_is_not_created(empty):
    for kw in ({"env": {"BB_DIR": str(empty.path / "no")}}, {}):
        args = [] if kw else ["--dir", str(empty.path / "no")]
        assert empty.fails(*args, "init", **kw)["code"] == "INVALID_INPUT"
    assert not (empty.path / "no").exists()


def test_a_file_is_not_a_place(empty):
    (empty.path / "f").write_text("x")
    assert empty.fails("--dir", "f", "init")["code"] == "INVALID_INPUT"


def test_an_empty_environment_variable_is_none(project):
    assert where(project, project.path, env={"BB_DIR": ""}) == str(project.path)


def test_artifacts_are_relative_to_the_given_folder(project):
    (project.path / "f").write_text("x")
    assert project.json("--dir", str(project.path), "artifact", "add", "f", "d", cwd="/")["path"] == "f"


def test_a_moved_project_keeps_its_board(project):
    project.bb("post", "x").ok()
    new = project.path.parent / "moved"
    shutil.move(project.path, new)
    assert where(project, new) == str(new)
    assert len(project.json("log", cwd=new)) == 1


def test_a_path_with_spaces_quotes_and_non_ascii(tmp_path):
    path = tmp_path / "a b'c\"d%20?#é漢"
    path.mkdir()
    odd = Project(path)
    assert odd.json("init")["project_dir"] == str(path)
    odd.bb("post", "x").ok()
    assert len(odd.json("log")) == 1
    assert sorted(p.name for p in path.iterdir()) == [".bb"]
