"""bb refs"""
import pytest

from board import ids


def test_refs_finds_messages_and_artifacts(project):
    (project.path / "f").write_text("x")
    message = project.json("post", "x", "--ref", "tt:issue:13")
    artifact = project.json("artifact", "add", "f", "d", "--ref", "tt:issue:13")
    project.bb("post", "y", "--ref", "tt:issue:14").ok()
    assert project.json("refs", "tt:issue:13") == {"messages": [message], "artifacts": [artifact]}


def test_nothing_found_is_two_empty_lists(project):
    project.bb("post", "tt:issue:13", "--tag", "tt:issue:13").ok()
    assert project.json("refs", "tt:issue:13") == {"messages": [], "artifacts": []}


@pytest.mark.parametrize("text", ["tt:issue:1", "tt:issue:133", "TT:issue:13", "tt:Issue:13", "gh:issue:13",
                                  "tt:pr:13", "tt:issue:%", "%:%:%", "issue:tt:13", "tt:issue:13 "])
def test_all_three_parts_match_exactly(project, text):
    project.bb("post", "x", "--ref", "tt:issue:13").ok()
    assert project.json("refs", text) == {"messages": [], "artifacts": []}


def test_parts_of_two_refs_do_not_make_a_third(project):
    project.bb("post", "x", "--ref", "a:b:1", "--ref", "c:d:2").ok()
    assert project.json("refs", "a:d:1")["messages"] == []
    assert project.json("refs", "a:b:2")["messages"] == []
    assert ids(project.json("refs", "c:d:2")["messages"]) == [1]


def test_a_message_with_the_ref_twice_is_found_once(project):
    project.bb("post", "x", "--ref", "a:b:1", "--ref", "a:b:1").ok()
    assert ids(project.json("refs", "a:b:1")["messages"]) == [1]


@pytest.mark.parametrize("where, what, ref", [("a\"b", "c'd", "e\\f"), ("日本", "ё", "👍"), ("a b", "[]", "{}")])
def test_any_text_can_be_a_part(project, where, what, ref):
    text = f"{where}:{what}:{ref}"
    project.bb("post", "x", "--ref", text).ok()
    assert project.json("refs", text)["messages"][0]["refs"] == [{"where": where, "what": what, "ref": ref}]


@pytest.mark.parametrize("text", ["", "a", "a:b", "a:b:c:d", ":b:c", "a::c", "a:b:"])
def test_another_form_is_refused(project, text):
    assert project.fails("refs", text)["code"] == "INVALID_REF_FORMAT"


def test_a_ref_is_needed(project):
    assert project.bb("refs").code == 2


def test_the_error_shows_the_form(project):
    error = project.fails("refs", "tt-13")
    assert "where:what:ref" in error["details"]["next_step"]


def test_people_see_both_kinds(project):
    (project.path / "f.md").write_text("x")
    project.bb("post", "the body", "--ref", "tt:issue:13").ok()
    project.bb("artifact", "add", "f.md", "the file", "--ref", "tt:issue:13").ok()
    out = project.bb("refs", "tt:issue:13").ok().out
    for part in ("the body", "f.md", "the file"):
        assert part in out


def test_every_reference_is_found_however_many(project):
    for i in range(25):
        project.bb("post", f"m{i}", "--ref", "tt:issue:13").ok()
    assert len(project.json("refs", "tt:issue:13")["messages"]) == 25
