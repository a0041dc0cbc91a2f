"""bb artifacts, artifact add, artifact show"""
import os
import sqlite3

import pytest

from board import at, column_of, counts, ids, rows, stamp


@pytest.fixture
def files(project):
    for name in ("a.md", "b.md", "dir/c.md", "a..b.c", "with space.md"):
        (project.path / name).parent.mkdir(exist_ok=True)
        (project.path / name).write_text("x")
    return project


def test_an_empty_board_has_no_artifacts(project):
    assert project.bb("artifacts").ok().out == "No artifacts found.\n"
    assert project.json("artifacts") == []


def test_add_prints_the_new_artifact(files):
    assert files.json("--as", "k", "artifact", "add", "dir/c.md", "the API", "--version", "2",
                      "--ref", "tt:issue:13", env=at()) == {
        "id": 1, "path": "dir/c.md", "produced_by": "k", "description": "the API", "version": "2",
        "refs": [{"where": "tt", "what": "issue", "ref": 13}], "created_at": stamp()}


def test_what_is_not_given_has_its_default(files):
    got = files.json("artifact", "add", "a.md", "d")
    assert (got["produced_by"], got["version"], got["refs"]) == ("human", None, [])


def test_add_prints_path_and_id(files):
    assert files.bb("artifact", "add", "a.md", "d").ok().out == "Registered artifact: a.md (ID: 1)\n"


def test_the_commands_of_the_original_are_understood(files):
    added = files.json("artifact-add", "a.md", "d", "--version", "2", "--ref", "tt:issue:1")
    assert added == files.json("artifact", "show", "a.md") == files.json("artifact-show", "a.md")
    assert "artifact-" not in files.bb("--help").ok().out


def test_add_registers_the_agent(files):
    files.bb("--as", "k", "artifact", "add", "a.md", "d").ok()
    assert rows(files, "SELECT id, status FROM agents") == [("k", "idle")]


def test_adding_a_path_again_replaces_producer_description_version_refs_and_time(files):
    files.bb("--as", "a", "artifact", "add", "a.md", "one", "--version", "1", "--ref", "a:b:1", env=at()).ok()
    again = files.json("--as", "b", "artifact", "add", "a.md", "two", env=at(m=1))
    assert again == {"id": 1, "path": "a.md", "produced_by": "b", "description": "two", "version": None,
                     "refs": [], "created_at": stamp(m=1)}
    assert files.json("artifacts") == [again]


@pytest.mark.parametrize("path", ["./a.md", ".//a.md", "dir/./../a.md"])
def test_one_file_has_one_entry_however_its_path_is_written(files, path):
    files.bb("artifact", "add", "a.md", "one").ok()
    done = files.run("--json", "artifact", "add", path, "two")
    if ".." in path:
        assert done.error["code"] == "PATH_TRAVERSAL"
    else:
        assert done.ok().json["path"] == "a.md"
    assert counts(files)[2] == 1


def test_a_replaced_entry_leaves_no_gap_in_the_ids(files):
    for _ in range(3):
        files.bb("artifact", "add", "a.md", "d").ok()
    assert files.json("artifact", "add", "b.md", "d")["id"] == 2


# paths

@pytest.mark.parametrize("path", ["/etc/passwd", "/", "//etc/passwd"])
def test_an_absolute_path_is_refused(files, path):
    assert files.fails("artifact", "add", path, "d")["code"] == "PATH_TRAVERSAL"
    assert counts(files) == (0, 0, 0)


def test_an_absolute_path_inside_the_project_is_refused_too(files):
    assert files.fails("artifact", "add", str(files.path / "a.md"), "d")["code"] == "PATH_TRAVERSAL"


@pytest.mark.parametrize("path", ["..", "../x", "dir/../../x", "dir/..", "../project/a.md", "./../x"])
def test_a_path_with_two_dots_is_refused(files, path):
    (files.path.parent / "x").write_text("x")
    assert files.fails("artifact", "add", path, "d")["code"] == "PATH_TRAVERSAL"
    assert counts(files) == (0, 0, 0)


@pytest.mark.parametrize("path", ["a..b.c", "with space.md", "dir/c.md"])
def test_two_dots_inside_a_name_are_fine(files, path):
    assert files.json("artifact", "add", path, "d")["path"] == path


@pytest.mark.parametrize("name", ["...", "..a", "a.."])
def test_dots_in_a_name_are_ordinary_characters(files, name):
    (files.path / name).write_text("x")
    assert files.json("artifact", "add", name, "d")["path"] == name


def test_a_link_that_leaves_the_project_is_refused(files):
    (files.path.parent / "out").mkdir()
    (files.path.parent / "out/x").write_text("x")
    os.symlink("../out/x", files.path / "link")
    os.symlink("../out", files.path / "folder")
    for path in ("link", "folder/x"):
        assert files.fails("artifact", "add", path, "d")["code"] == "PATH_TRAVERSAL"
    assert counts(files) == (0, 0, 0)


def test_a_sibling_folder_with_the_same_name_prefix_is_outside(files):
    neighbour = files.path.parent / (files.path.name + "-2")
    neighbour.mkdir()
    (neighbour / "x").write_text("x")
    os.symlink(neighbour, files.path / "link")
    assert files.fails("artifact", "add", "link/x", "d")["code"] == "PATH_TRAVERSAL"


def test_a_link_that_stays_inside_is_fine(files):
    os.symlink("dir/c.md", files.path / "link")
    assert files.json("artifact", "add", "link", "d")["path"] == "link"


@pytest.mark.parametrize("path", ["none.md", "dir/none.md", "none/none.md", "a.md/x"])
def test_a_file_that_does_not_exist_is_refused(files, path):
    assert files.fails("artifact", "add", path, "d")["code"] == "INVALID_INPUT"
    assert counts(files) == (0, 0, 0)


def test_a_link_to_nothing_is_refused(files):
    os.symlink("nothing", files.path / "link")
    assert files.fails("artifact", "add", "link", "d")["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("path", ["", " ", "."])
def test_an_empty_path_is_refused(files, path):
    assert files.fails("artifact", "add", path, "d")["code"] == "INVALID_INPUT"


def test_a_folder_is_not_a_file(files):
    assert files.fails("artifact", "add", "dir", "d")["code"] == "INVALID_INPUT"


def test_paths_are_relative_to_the_project_and_the_error_says_so(files):
    error = files.fails("artifact", "add", "c.md", "d", cwd=files.path / "dir")
    assert error["code"] == "INVALID_INPUT"
    assert "dir/c.md" in error["details"]["next_step"]
    assert files.json("artifact", "add", "dir/c.md", "d", cwd=files.path / "dir")["path"] == "dir/c.md"


def test_path_and_description_are_needed(files):
    assert files.bb("artifact", "add").code == 2
    assert files.bb("artifact", "add", "a.md").code == 2
    assert counts(files) == (0, 0, 0)


def test_an_artifact_outlives_its_file(files):
    made = files.json("artifact", "add", "a.md", "d")
    (files.path / "a.md").unlink()
    assert files.json("artifact", "show", "a.md") == made
    assert files.json("artifacts") == [made]


# lists

def test_the_newest_comes_first(files):
    for second, name in enumerate(("a.md", "b.md", "dir/c.md")):
        files.bb("artifact", "add", name, "d", env=at(s=second)).ok()
    files.bb("artifact", "add", "a.md", "again", env=at(s=9)).ok()
    assert [a["path"] for a in files.json("artifacts")] == ["a.md", "dir/c.md", "b.md"]


def test_the_list_can_be_narrowed_to_producer_and_ref(files):
    files.bb("--as", "k", "artifact", "add", "a.md", "d", "--ref", "tt:issue:1").ok()
    files.bb("--as", "k", "artifact", "add", "b.md", "d").ok()
    files.bb("--as", "j", "artifact", "add", "dir/c.md", "d", "--ref", "tt:issue:1").ok()
    assert [a["path"] for a in files.json("artifacts", "--by", "k")] == ["b.md", "a.md"]
    assert [a["path"] for a in files.json("artifacts", "--by", "k", "--ref", "tt:issue:1")] == ["a.md"]
    assert files.json("artifacts", "--by", "nobody") == []
    assert files.json("artifacts", "--ref", "tt:issue:12") == []


def test_50_are_listed_by_default_and_never_more_than_100(project):
    db = sqlite3.connect(project.database)
    with db:
        db.executemany("INSERT INTO artifacts (path, produced_by, created_at) VALUES (?, 'k', ?)",
                       [(f"f{i}", stamp(s=i)) for i in range(1, 121)])
    db.close()
    assert ids(project.json("artifacts")) == list(range(120, 70, -1))
    assert ids(project.json("artifacts", "--limit", "2")) == [120, 119]
    assert ids(project.json("artifacts", "--limit", "100")) == list(range(120, 20, -1))
    assert ids(project.json("artifacts", "--limit", "1000")) == list(range(120, 20, -1))


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_must_be_a_positive_number(project, limit):
    assert project.fails("artifacts", f"--limit={limit}")["code"] == "INVALID_INPUT"


def test_the_table_is_aligned(files):
    files.bb("--as", "kimi-01", "artifact", "add", "a.md", "short", "--version", "v1", env=at()).ok()
    files.bb("artifact", "add", "with space.md", "other", env=at(s=1)).ok()
    head, first, second = files.bb("artifacts", env=at(m=5)).ok().out.splitlines()
    assert column_of(head, "PATH") == column_of(first, "with space.md") == column_of(second, "a.md")
    assert column_of(head, "DESCRIPTION") == column_of(first, "other") == column_of(second, "short")
    assert "kimi-01" in second and "v1" in second and "5m ago" in second


# show

def test_show_is_the_artifact(files):
    made = files.json("artifact", "add", "dir/c.md", "d")
    assert files.json("artifact", "show", "dir/c.md") == made
    assert files.json("artifact", "show", "./dir/c.md") == made


def test_show_of_an_unknown_path_is_not_found(files):
    assert files.fails("artifact", "show", "a.md")["code"] == "NOT_FOUND"


def test_show_prints_every_member_for_people(files):
    files.bb("--as", "k", "artifact", "add", "a.md", "the API", "--version", "v2", "--ref", "tt:issue:13",
             env=at()).ok()
    out = files.bb("artifact", "show", "a.md", env=at(h=2)).ok().out
    for part in ("a.md", "ID: 1", "the API", "v2", "k", "tt:issue:13", "2h ago", stamp()):
        assert part in out


# --- for people ---

def listed(project, columns):
    """The printed column of paths."""
    out = project.run("artifacts", env={"COLUMNS": columns}).ok().out.splitlines()
    at, end = out[0].index("PATH"), out[0].index("VERSION")
    return [line[at:end].rstrip() for line in out[1:]], out


def add_files(project, *paths):
    for path in paths:
        file = project.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        project.run("artifact", "add", path, "A description that takes its room").ok()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_two_paths_never_look_the_same(project, columns):
    deep = "a/long/way/down/the/tree/of/folders/and/further"
    paths = [f"{deep}/one/of/them/with/the/same/end.md", f"{deep}/two/of/them/with/the/same/end.md",
             f"{deep}/one/of/them/with/the/same/end.mk", "short.md"]
    add_files(project, *paths)
    shown, _ = listed(project, columns)
    assert len(set(shown)) == 4 and "short.md" in shown


def test_a_path_is_cut_in_the_middle_and_the_table_fits(project):
    add_files(project, "a/long/way/down/the/tree/of/folders/and/further/report.md", "b/other.md")
    shown, out = listed(project, 80)
    assert max(map(len, out)) <= 80
    assert any(path.startswith("a/lon") and "…" in path and path.endswith("report.md") for path in shown)
