"""bb export"""
import json
import sqlite3

from board import at, counts, ids, stamp


def test_an_empty_board_is_three_empty_lists(project):
    assert project.json("export", env=at()) == {
        "exported_at": stamp(), "project_dir": str(project.path), "agents": [], "messages": [], "artifacts": []}


def test_export_is_json_with_and_without_the_flag(project):
    project.bb("post", "x", env=at()).ok()
    assert project.bb("export", env=at()).ok().out == project.bb("export", "--json", env=at()).ok().out
    assert project.bb("export", "-q", env=at()).ok().out == project.bb("export", env=at()).ok().out


def test_export_contains_everything_as_other_commands_show_it(project):
    (project.path / "f").write_text("x")
    message = project.json("--as", "k", "post", "x", "--tag", "t", "--ref", "a:b:1", env=at())
    artifact = project.json("--as", "k", "artifact", "add", "f", "d", env=at())
    got = project.json("export", env=at())
    assert got["messages"] == [message]
    assert got["artifacts"] == [artifact]
    assert got["agents"] == project.json("status", env=at())


def test_export_is_complete_past_every_limit(project):
    db = sqlite3.connect(project.database)
    with db:
        db.executemany("INSERT INTO messages (from_agent, content, created_at) VALUES ('k', ?, ?)",
                       [(f"m{i}", stamp(s=i)) for i in range(1500)])
        db.executemany("INSERT INTO artifacts (path, produced_by, created_at) VALUES (?, 'k', ?)",
                       [(f"f{i}", stamp(s=i)) for i in range(300)])
        db.executemany("INSERT INTO agents (id, last_seen, updated_at) VALUES (?, ?, ?)",
                       [(f"a{i}", stamp(), stamp()) for i in range(200)])
    db.close()
    got = project.json("export", env=at())
    assert sorted(ids(got["messages"])) == list(range(1, 1501))
    assert len(got["artifacts"]) == 300
    assert len({a["id"] for a in got["agents"]}) == 200


def test_messages_are_in_order(project):
    for i in range(5):
        project.bb("post", str(i), env=at(s=i)).ok()
    assert ids(project.json("export")["messages"]) == [1, 2, 3, 4, 5]


def test_export_deletes_nothing_and_marks_nothing_read(project):
    project.bb("post", "x", env=at()).ok()
    project.bb("--as", "k", "export", env=at()).ok()
    assert counts(project) == (1, 1, 0)
    assert project.json("--as", "k", "summary", env=at())["unread"]["count"] == 1


def test_large_content_is_exported_completely(project):
    text = "é\n\"\\" * 13000
    project.bb("post", "-", stdin=text.encode()).ok()
    assert json.loads(project.bb("export").ok().out)["messages"][0]["content"] == text
