"""Output for people: lists, trees, one bead, history, graphs"""
import json

import pytest

from beads import clock, stamp
from board import column_of, on_terminal, width


@pytest.fixture
def busy(repo):
    """An epic with three children: one in progress and blocked, one blocked, one open; and a closed bead."""
    clock(repo)
    repo.create("Parser", "--id", "bd-top", "-t", "epic")
    repo.create("Grammar", "--id", "bd-gram", "--parent", "bd-top", "-p", "1", "-l", "docs,parser")
    clock(repo, h=1)
    repo.create("Lexer", "--id", "bd-lex", "--parent", "bd-top", "--deps", "bd-gram")
    repo.create("Release", "--id", "bd-rel", "--parent", "bd-top", "--deps", "bd-gram,bd-lex", "-l", "x")
    repo.create("Done", "--id", "bd-done")
    repo.json("close", "bd-done")
    repo.json("update", "bd-lex", "-s", "in_progress", "-a", "amber-otter")
    clock(repo, h=3, m=5)
    return repo


def table(repo, *args, columns=120):
    lines = repo.bd(*args, env={"COLUMNS": str(columns)}).ok().out.splitlines()
    return {line.split()[0]: line for line in lines[1:-1]}, lines


def test_a_list_has_age_labels_blocked_state_and_a_total(busy):
    rows, lines = table(busy, "list", "--all")
    assert lines[0].split() == ["ID", "P", "TYPE", "STATUS", "AGE", "ASSIGNEE", "TITLE"]
    assert rows["bd-gram"].split() == ["bd-gram", "P1", "task", "open", "3h", "-", "Grammar", "[docs,", "parser]"]
    assert rows["bd-rel"].split() == ["bd-rel", "P2", "task", "blocked", "2h", "-", "Release", "[x]"]
    assert rows["bd-lex"].split()[3:] == ["in_progress", "2h", "amber-otter", "Lexer", "blocked", "by", "1"]
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1] == "5 beads: 2 open, 1 blocked, 1 in progress, 1 closed"


def test_the_total_of_one_state_and_of_one_bead(repo):
    repo.create("x")
    assert repo.bd("list").ok().out.endswith("\n1 bead open\n")
    repo.create("y")
    assert repo.bd("list").ok().out.endswith("\n2 beads open\n")


def test_a_limited_list_shows_the_total(repo):
    for i in range(5):
        repo.create(str(i))
    for command, word in (("list", "open"), ("ready", "ready")):
        assert repo.bd(command, "-n", "3").ok().out.endswith("\n3 of 5 beads; -n 0 shows all.\n")
        assert repo.bd(command, "-n", "5").ok().out.endswith(f"\n5 beads {word}\n")


def test_the_json_of_a_list_has_no_new_members(busy):
    for command in (["list", "--all"], ["ready"], ["search", "Grammar"]):
        assert all("blocked_by_count" not in bead for bead in busy.json(*command))
    assert busy.json("list", "--fields", "blocked_by_count", "--id", "bd-rel") == [{"id": "bd-rel", "blocked_by_count": 2}]
    assert busy.json("blocked", "--fields", "blocked_by_count")[0]["blocked_by_count"] > 0


def test_the_assignee_is_left_out_if_there_is_none(repo):
    repo.create("x")
    assert "ASSIGNEE" not in repo.bd("list").ok().out


def test_a_narrow_screen_has_no_type(busy):
    busy.create("A title of forty characters, or a few more")
    busy.create("x" * 200)
    assert table(busy, "list", columns=80)[1][0].split() == ["ID", "P", "STATUS", "AGE", "ASSIGNEE", "TITLE"]
    assert table(busy, "list", columns=100)[1][0].split() == ["ID", "P", "TYPE", "STATUS", "AGE", "ASSIGNEE", "TITLE"]


def test_a_tree_has_guides(busy):
    _, lines = table(busy, "list", "--tree")
    at = lines[0].index("TITLE")
    assert [line[at:].split("  [")[0].split("  blocked")[0] for line in lines[1:-1]] == [
        "Parser", "├─ Grammar", "├─ Lexer", "└─ Release"]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("args", [["list"], ["list", "--tree"], ["list", "--long"], ["ready"], ["blocked"]])
def test_no_line_of_a_list_is_wider_than_the_screen(busy, columns, args):
    busy.create("日本語のとても長い題名です" * 8, "-l", "ラベル,別のラベル", "--deps", "bd-gram")
    busy.create("x" * 300, "-l", "y" * 50)
    for line in busy.bd(*args, env={"COLUMNS": str(columns)}).ok().out.splitlines():
        assert "\ufffd" not in line
        assert width(line) <= max(columns, 60), line


def test_titles_begin_in_one_column(busy):
    busy.create("日本語", "-a", "ゆう", "--id", "bd-wide")
    rows, lines = table(busy, "list")
    start = column_of(lines[0], "TITLE")
    assert column_of(rows["bd-wide"], "日本語") == column_of(rows["bd-gram"], "Grammar") == start


def test_colours_only_on_a_terminal_and_never_with_no_color(busy):
    assert "\033" not in busy.bd("list").ok().out
    assert "\033[31mblocked\033[0m" in on_terminal(busy, "list", program="bd")[0]
    assert "\033" not in on_terminal(busy, "list", program="bd", env={"NO_COLOR": "1"})[0]


def test_show_has_relative_times_and_the_hash_only_with_long(busy):
    busy.json("claim", "bd-gram", "--lease", "2h")
    short, long = busy.bd("show", "bd-gram").ok().out, busy.bd("show", "bd-gram", "--long").ok().out
    assert "created     3h ago by alice\n" in short and "lease ends in 2h" in short
    assert stamp() not in short and stamp() in long and stamp(h=5, m=5) in long
    assert busy.show("bd-gram")["content_hash"] not in short
    assert busy.show("bd-gram")["content_hash"] in long
    clock(busy, h=6)
    assert "lease ended 55m ago" in busy.bd("show", "bd-gram").ok().out


def test_show_says_what_a_dependency_means(busy):
    out = busy.bd("show", "bd-lex").ok().out
    assert [line.split() for line in out.splitlines() if line.startswith("  bloc") or line.startswith("  child")] == [
        ["blocked", "by", "bd-gram", "open", "Grammar"], ["child", "of", "bd-top", "open", "Parser"],
        ["blocks", "bd-rel", "open", "Release"]]


def test_history_has_relative_times_and_every_field_with_long(busy):
    busy.bd("sync").ok()
    busy.json("close", "bd-gram", "-r", "done")
    busy.bd("sync").ok()
    clock(busy, h=4, m=5)
    short, long = busy.bd("history", "bd-gram").ok().out, busy.bd("history", "bd-gram", "--long").ok().out
    assert "1h ago" in short and "status: open → closed" in short and "closed_by" not in short
    assert stamp(h=3, m=5) in long and "closed_by" in long and "1h ago" not in long
    for command in (["commits"], ["blame", "bd-gram"]):
        assert " ago" in busy.bd(*command).ok().out and " ago" not in busy.bd(*command, "--long").ok().out


def test_a_graph_of_one_bead_is_its_neighbourhood(repo):
    for i in range(5):
        repo.create(f"t{i}", "--id", f"bd-t{i}", *(["--deps", f"bd-t{i - 1}"] if i else []))
    nodes = lambda *args: [n["id"] for n in repo.json("graph", *args)["nodes"]]  # noqa: E731
    assert nodes("bd-t2") == ["bd-t1", "bd-t2", "bd-t3"]
    assert nodes("bd-t0") == ["bd-t0", "bd-t1"]
    assert nodes("bd-t0", "--depth", "2") == ["bd-t0", "bd-t1", "bd-t2"]
    assert len(nodes("bd-t0", "--depth", "0")) == 5
    assert repo.bd("graph", "bd-t1").ok().out == (
        "bd-t0 P2 open t0\nbd-t1 P2 open t1\n  blocked by bd-t0\nbd-t2 P2 open t2\n  blocked by bd-t1\n")


@pytest.mark.parametrize("form,arrow", [("mermaid", "bd__b -->|blocked by| bd__a"), ("dot", '"bd-b" -> "bd-a" [label="blocked by"]')])
def test_an_arrow_points_to_the_blocker(repo, form, arrow):
    repo.create("a", "--id", "bd-a")
    repo.create("b", "--id", "bd-b", "--deps", "bd-a")
    for command in (["graph"], ["dep", "tree", "bd-b"]):
        assert arrow in repo.bd(*command, "--format", form).ok().out


@pytest.mark.parametrize("columns", [80, 120])
def test_a_drawing_is_not_wider_than_the_terminal(repo, columns):
    repo.create("長い" * 100, "--id", "bd-a")
    repo.create("y" * 200, "--id", "bd-b", "--deps", "bd-a")
    env = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    for command in (["graph"], ["dep", "tree", "bd-b"]):
        shown, _ = on_terminal(repo, *command, program="bd", env=env)
        assert "…" in shown and "\ufffd" not in shown
        assert max(width(line) for line in shown.splitlines()) <= columns, shown
        assert "y" * 200 in repo.bd(*command).ok().out


def test_the_history_names_the_creator_of_a_bead_that_was_changed_before_its_first_commit(repo):
    bead = repo.run("--actor", "ann", "create", "x", "--silent").ok().out.strip()
    repo.run("--actor", "ben", "update", bead, "-p", "0").ok()
    repo.bd("sync").ok()
    first, = repo.json("history", bead)
    assert (first["change"], first["by"]) == ("created", "ann")
    assert "created by ann" in repo.run("history", bead).ok().out


def test_a_record_without_a_time_has_no_age(repo, tmp_path):
    file = tmp_path / "issues.jsonl"
    file.write_text('{"id":"old-1","title":"from somewhere","status":"open","priority":1,"issue_type":"task"}\n')
    repo.bd("import", str(file)).ok()
    line = next(line for line in repo.run("list").ok().out.splitlines() if "old-1" in line)
    assert " - " in line and "d " not in line.split("from")[0], line


def test_a_large_total_is_not_counted_to_the_end(repo):
    """So a list costs no more in a large store."""
    lines = "".join(json.dumps({"op": "bead create", "params": {"title": f"bead {n}"}}) + "\n" for n in range(230))
    repo.run("pipe", program="abacus", stdin=lines.encode()).ok()
    for command in "list", "ready":
        assert repo.run(command).ok().out.splitlines()[-1] == "50 of more than 200 beads; -n 0 shows all."
    assert repo.run("list", "-n", "0").ok().out.splitlines()[-1] == "230 beads open"
