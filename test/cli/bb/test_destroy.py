"""bb destroy"""
import os

from board import counts, on_terminal


def test_without_confirm_it_warns_and_does_nothing(project):
    project.bb("post", "x").ok()
    done = project.bb("destroy", stdin=b"y\n")
    assert done.code == 1
    assert "--confirm" in done.out + done.err
    assert counts(project) == (1, 1, 0)


def test_without_confirm_json_says_what_is_there(project):
    project.bb("post", "x").ok()
    error = project.fails("destroy")
    assert error["code"] == "INVALID_INPUT"
    preview = error["details"]["preview"]
    assert (preview["agents"], preview["messages"], preview["artifacts"]) == (1, 1, 0)


def test_a_terminal_does_not_replace_confirm(project):
    _, code = on_terminal(project, "destroy", answer=b"y\n")
    assert code == 1
    assert project.database.exists()


def test_confirm_removes_the_folder_and_nothing_else(project):
    (project.path / "mine").write_text("x")
    (project.path / ".bb/config.toml").write_text("")
    project.bb("post", "x").ok()
    done = project.bb("destroy", "--confirm").ok()
    assert str(project.path / ".bb") in done.out
    assert sorted(os.listdir(project.path)) == ["mine"]


def test_json_tells_what_was_removed(project):
    project.bb("post", "x").ok()
    got = project.json("destroy", "--confirm")
    assert (got["confirmed"], got["project_dir"], got["messages"]) == (True, str(project.path), 1)
    assert not (project.path / ".bb").exists()


def test_a_link_in_the_folder_is_removed_and_what_it_leads_to_stays(project):
    outside = project.path.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    os.symlink(outside, project.path / ".bb/link")
    project.bb("destroy", "--confirm").ok()
    assert not (project.path / ".bb").exists()
    assert (outside / "precious").read_text() == "x"


def test_after_it_there_is_no_board(project):
    project.bb("destroy", "--confirm").ok()
    assert project.fails("log")["code"] == "NOT_INITIALIZED"
    assert project.fails("destroy", "--confirm")["code"] == "NOT_INITIALIZED"


def test_a_new_board_starts_empty(project):
    project.bb("post", "x").ok()
    project.bb("destroy", "--confirm").ok()
    project.bb("init").ok()
    assert project.json("post", "y")["id"] == 1


def test_from_below_it_removes_the_one_it_found(project):
    below = project.path / "a/b"
    below.mkdir(parents=True)
    project.bb("destroy", "--confirm", cwd=below).ok()
    assert not (project.path / ".bb").exists()


def test_a_damaged_board_can_be_removed(project):
    for file in (project.path / ".bb").glob("blackboard.db*"):
        file.unlink()
    project.database.write_bytes(b"garbage" * 100)
    project.bb("destroy", "--confirm").ok()
    assert not (project.path / ".bb").exists()
