"""Each limit, exactly at it and one above it, counted in bytes as the seed does."""
import os

import pytest

from board import counts, rows


def last(project):
    return project.json("log")[0]


LIMITS = [
    # what, most, arguments with {} for the text, where it is stored
    ("agent id", 64, ["--as", "{}", "post", "x"], "SELECT id FROM agents", "INVALID_IDENTITY"),
    ("task", 256, ["status", "set", "{}"], "SELECT current_task FROM agents", "INVALID_INPUT"),
    ("blockers", 1024, ["status", "set", "--blockers", "{}"], "SELECT blockers FROM agents", "INVALID_INPUT"),
    ("content", 65536, ["post", "{}"], "SELECT content FROM messages", "INVALID_INPUT"),
    ("description", 1024, ["artifact", "add", "f", "{}"], "SELECT description FROM artifacts", "INVALID_INPUT"),
    ("version", 64, ["artifact", "add", "f", "d", "--version", "{}"], "SELECT version FROM artifacts", "INVALID_INPUT"),
    ("tag", 32, ["post", "x", "--tag", "{}"], "SELECT json_extract(tags, '$[0]') FROM messages", "INVALID_INPUT"),
]


@pytest.fixture
def board(project):
    (project.path / "f").write_text("x")
    return project


@pytest.mark.parametrize("what, most, args, stored, code", LIMITS, ids=[row[0] for row in LIMITS])
@pytest.mark.parametrize("letter", ["x", "é", "漢", "👍"])
def test_text_is_stored_whole_at_its_limit_and_refused_past_it(board, what, most, args, stored, code, letter):
    size = len(letter.encode())
    text = letter * (most // size) + "x" * (most % size)
    board.bb(*[a.format(text) for a in args]).ok()
    assert rows(board, stored) == [(text,)]
    before = counts(board)
    error = board.fails(*[a.format(text + "x") for a in args])
    assert error["code"] == code
    assert str(most) in error["message"]
    assert counts(board) == before
    assert rows(board, stored) == [(text,)]


def test_content_from_standard_input_has_the_same_limit(project):
    project.bb("post", "-", stdin=b"x" * 65536).ok()
    assert len(last(project)["content"]) == 65536
    assert project.fails("post", "-", stdin=b"x" * 65537)["code"] == "INVALID_INPUT"
    assert project.fails("post", "-", stdin=b"x" * 3000000)["code"] == "INVALID_INPUT"
    assert counts(project) == (1, 1, 0)


def test_the_last_newline_of_standard_input_does_not_count(project):
    project.bb("post", "-", stdin=b"x" * 65536 + b"\n").ok()
    assert last(project)["content"] == "x" * 65536


def test_10_tags_are_taken_and_11_refused(project):
    tags = [a for i in range(10) for a in ("--tag", f"t{i}")]
    assert project.json("post", "x", *tags)["tags"] == [f"t{i}" for i in range(10)]
    error = project.fails("post", "x", *tags, "--tag", "t10")
    assert error["code"] == "INVALID_INPUT"
    assert "10" in error["message"]
    assert counts(project) == (1, 1, 0)


@pytest.mark.parametrize("args", [["post", "x"], ["artifact", "add", "f", "d"]], ids=["message", "artifact"])
def test_20_refs_are_taken_and_21_refused(board, args):
    refs = [a for i in range(20) for a in ("--ref", f"tt:issue:{i}")]
    assert [r["ref"] for r in board.json(*args, *refs)["refs"]] == list(range(20))
    before = counts(board)
    error = board.fails(*args, *refs, "--ref", "tt:issue:20")
    assert error["code"] == "INVALID_INPUT"
    assert "20" in error["message"]
    assert counts(board) == before
    assert len(board.json("refs", "tt:issue:19")["messages" if args[0] == "post" else "artifacts"]) == 1
    found = board.json("refs", "tt:issue:20")
    assert found == {"messages": [], "artifacts": []}


def test_a_path_of_more_than_4096_bytes_is_refused(board):
    long = "./" * 2047 + "f"
    assert board.json("artifact", "add", long, "d")["path"] == "f"
    error = board.fails("artifact", "add", "./" * 2048 + "f", "d")
    assert error["code"] == "INVALID_INPUT"
    assert "4096" in error["message"]


def test_a_long_path_is_stored_whole(board):
    path = "/".join(["d" * 250] * 15)
    here = os.open(board.path, os.O_RDONLY)
    try:
        for _ in range(14):
            os.mkdir("d" * 250, dir_fd=here)
            below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("d" * 250, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    finally:
        os.close(here)
    assert board.json("artifact", "add", path, "d")["path"] == path
    assert board.json("artifact", "show", path)["path"] == path


def test_names_are_measured_after_they_are_trimmed(project):
    assert project.json("--as", "  " + "x" * 64 + "  ", "post", "x")["from_agent"] == "x" * 64
