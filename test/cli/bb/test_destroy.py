"""bb destroy"""
import os
import subprocess

import pytest

from board import counts, on_terminal
from conftest import BIN, environment
from harness import STRACE, needs_strace


def test_without_confirm_it_warns_and_does_nothing(project):
    project.bb("post", "x").ok()
    done = project.bb("destroy", stdin=b"y\n")
    assert done.code == 1
    assert "--confirm" in done.out + done.err
    assert counts(project) == (1, 1, 0)


def test_without_confirm_json_counts_the_entries(project):
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


def test_json_counts_the_removed_entries(project):
    project.bb("post", "x").ok()
    got = project.json("destroy", "--confirm")
    assert (got["confirmed"], got["project_dir"], got["messages"]) == (True, str(project.path), 1)
    assert not (project.path / ".bb").exists()


def test_a_link_in_the_folder_is_removed_and_its_target_stays(project):
    outside = project.path.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    os.symlink(outside, project.path / ".bb/link")
    project.bb("destroy", "--confirm").ok()
    assert not (project.path / ".bb").exists()
    assert (outside / "precious").read_text() == "x"


def test_after_destroy_there_is_no_board(project):
    project.bb("destroy", "--confirm").ok()
    assert project.fails("log")["code"] == "NOT_INITIALIZED"
    assert project.fails("destroy", "--confirm")["code"] == "NOT_INITIALIZED"


def test_a_new_board_starts_empty(project):
    project.bb("post", "x").ok()
    project.bb("destroy", "--confirm").ok()
    project.bb("init").ok()
    assert project.json("post", "y")["id"] == 1


def test_destroy_in_a_subfolder_removes_the_board_it_finds(project):
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


@pytest.mark.parametrize("next_command", [["init"], ["destroy", "--confirm"]], ids=" ".join)
def test_the_rest_of_a_killed_destroy_is_removed_by_the_next_command(project, next_command):
    """The folder is renamed before it is emptied; other folders with similar names stay."""
    left = project.path / ".bb.destroyed-0123456789abcdef"
    kept = {".bb.destroyed-mine", ".bb.0123abcd", ".bb.destroyed-0123456789abcdeX"}
    (project.path / ".bb").rename(left)
    for name in kept:
        (project.path / name).mkdir()
    project.bb(*next_command)
    assert {*os.listdir(project.path)} - {".bb"} == kept


@needs_strace
def test_a_destroy_that_is_killed_leaves_nothing_after_the_next_one(project):
    project.bb("post", "x").ok()
    subprocess.run([STRACE, "-f", "-qq", "-o", os.devnull, "-e", "inject=unlink,unlinkat:signal=KILL:when=2",
                    str(BIN / "bb"), "destroy", "--confirm"], cwd=project.path, capture_output=True, env=environment())
    assert [name for name in os.listdir(project.path) if name.startswith(".bb.")]
    project.bb("destroy", "--confirm")
    assert os.listdir(project.path) == []
