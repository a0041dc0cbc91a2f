"""bd create: open beads with nearly the same title"""
import pytest


def similar(bead):
    return [(one["id"], one["score"]) for one in bead.get("similar", [])]


def test_create_names_open_beads_with_nearly_the_same_title(repo):
    first = repo.create("Parser fails on empty input")
    other = repo.create("Write the release notes")
    made = repo.json("create", "The parser fails on empty input!")
    assert similar(made) == [(first, 90)]  # five words of five and six: 2 * 5 / 11
    assert similar(repo.json("create", "Write release notes for the parser")) == [(other, 80)]
    assert similar(repo.json("create", "Something else entirely")) == []
    assert f"  similar: {first} (100%) Parser fails on empty input\n" in repo.bd(
        "create", "parser FAILS on empty input").out


def test_closed_beads_and_single_words_are_not_similar(repo):
    first = repo.create("Parser fails on empty input")
    repo.bd("close", first).ok()
    assert similar(repo.json("create", "Parser fails on empty input")) == []
    repo.create("Parser")
    assert similar(repo.json("create", "Parser")) == []


def test_at_most_three_are_named_the_most_similar_first(repo):
    ids = [repo.create(f"Speed up the scanner {word}") for word in ("", "now", "now please", "now please today", "x y z v w")]
    assert [one for one, _ in similar(repo.json("create", "Speed up the scanner"))] == ids[:3]


def test_if_new_refuses_a_bead_that_exists(repo):
    first = repo.create("Parser fails on empty input")
    error = repo.fails("create", "parser fails on Empty input", "--if-new")
    assert error["code"] == "already_exists" and first in error["message"] and f"bd show {first}" in error["hint"]
    assert len(repo.json("list")) == 1
    assert repo.json("create", "Lexer fails on large files", "--if-new")["id"]


@pytest.mark.parametrize("title", ["\"quoted\" AND (broken", "title : * NEAR OR", "žluťoučký kůň úpěl", "a" * 900 + " " + "b" * 90])
def test_a_title_is_never_part_of_the_query(repo, title):
    repo.create(title)
    assert repo.json("create", title)["title"] == title


def test_similar_beads_are_found_by_their_present_title_and_status(repo):
    first = repo.create("Parser fails on empty input")
    look = lambda title: similar(repo.json("create", title, "--dry-run"))
    repo.bd("update", first, "--title", "Lexer loses the last newline").ok()
    assert look("Parser fails on empty input") == []
    assert look("Lexer loses last newline") == [(first, 88)]
    repo.bd("close", first).ok()
    assert look("Lexer loses last newline") == []
    repo.bd("reopen", first).ok()
    assert look("Lexer loses last newline") == [(first, 88)]
    repo.bd("delete", first, "--force").ok()
    assert look("Lexer loses last newline") == []
    repo.bd("undelete", first).ok()
    assert look("Lexer loses last newline") == [(first, 88)]


def test_a_rebuilt_cache_finds_the_same_similar_beads(repo):
    kept, closed = repo.create("Parser fails on empty input"), repo.create("Parser fails on empty files")
    repo.bd("close", closed).ok()
    for path in repo.path.glob(".git/abacus/cache.db*"):
        path.unlink()
    assert similar(repo.json("create", "Parser fails on empty lines")) == [(kept, 80)]


def test_two_of_the_four_longest_words_are_enough_to_be_compared(repo):
    first = repo.create("the parser of the scanner in its folder is old")
    assert similar(repo.json("create", "the parser of the scanner in its drawer is new")) == [(first, 77)]
