"""bd edit"""
import pytest

from beads import is_error
from board import on_terminal
from conftest import BIN

EMPTY = {"VISUAL": "", "EDITOR": ""}


def editor(repo, script):
    """An editor that runs a shell script on its file, which is $1."""
    path = repo.path / "editor.sh"
    path.write_text("#!/bin/sh\nset -e\n" + script)
    path.chmod(0o755)
    return {"EDITOR": str(path), "VISUAL": "", "COLUMNS": "1000"}


def edit(repo, bead, script):
    return on_terminal(repo, "edit", bead, program="bd", env=editor(repo, script))


def left(repo):
    return sorted(repo.home.glob("edit-*"))


def test_the_page_has_the_fields_and_the_texts(repo):
    parent = repo.create("top")
    bead = repo.create("Fix it", "-d", "Long\n\ntext", "-l", "b,a", "-p", "1", "-t", "bug", "--parent", parent,
                       "--design", "so", "--acceptance", "- [ ] done", "-a", "bob")
    out, code = edit(repo, bead, f'cp "$1" {repo.path}/page\n')
    assert code == 0 and "Nothing was changed." in out
    assert [line for line in (repo.path / "page").read_text().splitlines() if not line.startswith("#")] == [
        "---", "title: Fix it", "status: open", "priority: 1", "type: bug", "assignee: bob", "labels: a, b",
        f"parent: {parent}", "external_ref:", "---", "", "Long", "", "text", "", "<!-- design -->", "", "so", "",
        "<!-- acceptance -->", "", "- [ ] done"]
    assert left(repo) == []


def test_only_changed_fields_are_written(repo):
    bead = repo.create("old", "-d", "text", "-l", "a", "-a", "bob", "--design", "keep")
    journal = repo.journal.read_bytes()
    out, code = edit(repo, bead, """
sed -i -e 's/^title: .*/title: new: one/' -e 's/^priority: .*/priority: P0/' -e 's/^labels:.*/labels: x, y z/' \\
    -e 's/^assignee:.*/assignee:/' -e 's/^status:.*/status: in_progress/' -e 's/^text$/other\\n\\n## text/' "$1"
""")
    assert code == 0 and "Updated " in out and ": new: one" in out
    now = repo.show(bead)
    assert {k: now[k] for k in ("title", "priority", "labels", "assignee", "status", "description", "design")} == {
        "title": "new: one", "priority": 0, "labels": ["x", "y z"], "assignee": None, "status": "in_progress",
        "description": "other\n\n## text", "design": "keep"}
    assert repo.journal.read_bytes().count(b"\n") == journal.count(b"\n") + 1
    assert left(repo) == []


def test_parent_and_texts_can_be_added_and_removed(repo):
    top, bead = repo.create("top"), repo.create("x", "-d", "text")
    edit(repo, bead, f"""sed -i -e 's/^parent:.*/parent: {top}/' -e 's/^text$//' "$1"; printf '\\n- [ ] yes\\n' >> "$1"\n""")
    now = repo.show(bead)
    assert (now["parent"], now["description"], now["acceptance_criteria"]) == (top, "", "- [ ] yes")
    edit(repo, bead, """sed -i -e 's/^parent:.*/parent:/' -e '/yes/d' "$1"\n""")
    now = repo.show(bead)
    assert (now["parent"], now["acceptance_criteria"]) == (None, None)


@pytest.mark.parametrize("script", ["true\n", 'touch "$1"\n', 'printf "\\n\\n" >> "$1"\n', 'sed -i "s/priority: 2/priority:  2/" "$1"\n'])
def test_an_unchanged_page_writes_nothing(repo, script):
    bead = repo.create("x", "-d", "text")
    journal = repo.journal.read_bytes()
    out, code = edit(repo, bead, script)
    assert code == 0 and "Nothing was changed." in out
    assert repo.journal.read_bytes() == journal and left(repo) == []


def test_a_field_that_another_actor_changed_meanwhile_is_not_overwritten_and_the_text_is_kept(repo):
    bead = repo.create("x")
    out, code = edit(repo, bead, f'{BIN}/bd --as bob update {bead} --title bobs -q\nsed -i "s/^title:.*/title: mine/" "$1"\n')
    assert code == 1 and "bob has changed the title" in out
    assert repo.show(bead)["title"] == "bobs"
    kept, = left(repo)
    assert str(kept) in out and "title: mine" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_another_field_that_was_changed_meanwhile_is_kept(repo):
    bead = repo.create("x")
    out, code = edit(repo, bead, f'{BIN}/bd --as bob update {bead} -p 0 -q\nsed -i "s/^title:.*/title: mine/" "$1"\n')
    assert code == 0
    assert (repo.show(bead)["title"], repo.show(bead)["priority"]) == ("mine", 0)
    assert left(repo) == []


@pytest.mark.parametrize("script,word", [
    ('sed -i "s/^status:.*/status: later/" "$1"\n', "later"),
    ('sed -i "s/^priority:.*/priority: 9/" "$1"\n', "9"),
    ('sed -i "s/^title:.*/title:/" "$1"\n', "title"),
    ('sed -i "s/^title:.*/titel: x/" "$1"\n', "line 4"),
    ('sed -i "s/^parent:.*/parent: bd-nope/" "$1"\n', "bd-nope"),
    ('sed -i "/design/d" "$1"\n', "design"),
    ('printf "no front matter" > "$1"\n', "line 1"),
    ('printf "\\377" >> "$1"\n', "UTF-8"),
])
def test_an_invalid_page_is_kept_and_nothing_is_written(repo, script, word):
    bead = repo.create("x")
    journal = repo.journal.read_bytes()
    out, code = edit(repo, bead, script)
    assert code == 1 and word in out, out
    kept, = left(repo)
    assert str(kept) in out
    assert repo.journal.read_bytes() == journal


def test_an_editor_that_fails_changes_nothing(repo):
    bead = repo.create("x")
    out, code = edit(repo, bead, "exit 3\n")
    assert code == 1 and "ended with status 3" in out and left(repo) == []
    out, code = edit(repo, bead, 'sed -i "s/^title:.*/title: y/" "$1"\nexit 3\n')
    assert code == 1 and len(left(repo)) == 1
    assert repo.show(bead)["title"] == "x"


def test_unusual_values_survive_an_edit(repo):
    bead = repo.create('"quoted" # title', "-l", "plain", "-d", "<!-- design -->\nmine", "--design", "d")
    repo.json("update", bead, "--external-ref", "[x]")
    before = repo.show(bead)
    edit(repo, bead, 'sed -i "s/^priority:.*/priority: 0/" "$1"\n')
    after = repo.show(bead)
    assert after["priority"] == 0
    for key in ("title", "labels", "description", "design", "external_ref"):
        assert after[key] == before[key]


def test_visual_comes_first(repo):
    bead = repo.create("x")
    env = {**editor(repo, 'sed -i "s/^title:.*/title: y/" "$1"\n'), "EDITOR": "false"}
    env["VISUAL"] = str(repo.path / "editor.sh")
    assert on_terminal(repo, "edit", bead, program="bd", env=env)[1] == 0
    assert repo.show(bead)["title"] == "y"


def test_without_an_editor_or_a_terminal_there_is_a_clear_error(repo):
    bead = repo.create("x")
    out, code = on_terminal(repo, "edit", bead, program="bd", env=EMPTY)
    assert code == 1 and "no editor is set" in out and f"EDITOR=vi bd edit {bead}" in out
    error = is_error(repo.bd("--json", "edit", bead, env={"EDITOR": "true"}), "invalid_argument", 1)
    assert "terminal" in error["message"] and "bd update" in error["hint"]


def test_an_unknown_bead_opens_no_editor(repo):
    out, code = edit(repo, "bd-nope", f"touch {repo.path}/opened\n")
    assert code == 1 and "bd-nope" in out and not (repo.path / "opened").exists()
