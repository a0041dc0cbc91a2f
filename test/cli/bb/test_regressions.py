"""Earlier bugs, each named by the rule that it broke."""
import json
import os
import sqlite3
import subprocess

import pytest

from conftest import BIN, environment


def talk(project, rounds):
    for i in range(rounds):
        for who in "ab":
            project.bb("-q", "--as", who, "post", f"{who}{i}", "--tag", who).ok()


def test_an_agent_with_many_gaps_can_read_what_is_unread(project):
    talk(project, 70)
    assert len(project.json("--as", "a", "log", "--unread", "-n", "100")) == 70
    assert project.json("--as", "b", "log", "--unread", "--tag", "none") == []


def test_the_highest_priority_counts_also_past_the_most_that_is_counted(project):
    db = sqlite3.connect(project.database)
    db.executemany("INSERT INTO messages (from_agent, content) VALUES ('x', ?)", (("old",) for _ in range(1100)))
    db.commit()
    db.close()
    project.bb("--as", "me", "post", "mine").ok()
    project.bb("--as", "x", "post", "fire", "--priority", "critical").ok()
    assert project.json("--as", "me", "summary")["unread"] == {"count": 999, "highest_priority": "critical"}


def test_a_refused_clear_leaves_its_request_id_free(project):
    project.bb("post", "x").ok()
    args = ["clear", "--messages-before", "0s", "--request-id", "r1"]
    assert project.fails(*args, env={"ABACUS_NOW": "2099-01-01T00:00:00Z"})["code"] == "INVALID_INPUT"
    assert project.json(*args, "--confirm", env={"ABACUS_NOW": "2099-01-01T00:00:00Z"})["messages"] == 1


def test_destroy_leaves_a_folder_alone_that_never_held_a_board(empty):
    folder = empty.path / ".bb"
    folder.mkdir()
    (folder / "precious").write_text("x")
    assert empty.fails("destroy", "--confirm")["code"] == "NOT_INITIALIZED"
    assert (folder / "precious").read_text() == "x"


def test_destroy_does_not_follow_a_link(project, tmp_path):
    (project.path / ".bb").rename(tmp_path / "elsewhere")
    (project.path / ".bb").symlink_to(tmp_path / "elsewhere")
    assert project.fails("destroy", "--confirm")["code"] == "UNSAFE_PATH"
    assert (tmp_path / "elsewhere" / "blackboard.db").exists()


def test_an_empty_database_with_a_log_beside_it_keeps_its_log(project):
    project.bb("post", "only in the log").ok()
    project.database.write_bytes(b"")
    for command in (["log"], ["post", "x"]):
        assert project.fails(*command)["code"] == "INTERNAL_ERROR"
    done = project.bb("init").ok()
    assert "kept as" in done.err
    kept = b"".join(f.read_bytes() for f in (project.path / ".bb").glob("*damaged*"))
    assert b"only in the log" in kept


def test_references_of_another_form_do_not_stop_commands(project):
    db = sqlite3.connect(project.database)
    db.execute("INSERT INTO messages (from_agent, content, refs) VALUES ('x', 'y', '[\"tt:issue:1\", 7, null]')")
    db.execute("INSERT INTO artifacts (path, produced_by, refs) VALUES ('p', 'x', '[\"tt:issue:1\"]')")
    db.commit()
    db.close()
    project.bb("post", "mine", "--ref", "tt:issue:1").ok()
    assert [m["content"] for m in project.json("refs", "tt:issue:1")["messages"]] == ["mine"]
    assert [m["content"] for m in project.json("log", "--ref", "tt:issue:1")] == ["mine"]


def test_a_message_that_replies_to_itself_causes_no_endless_loop(project):
    project.bb("post", "x").ok()
    db = sqlite3.connect(project.database)
    db.execute("UPDATE messages SET in_reply_to = 1")
    db.commit()
    db.close()
    assert len(project.json("message", "1", timeout=10)) == 1


def test_mcp_without_an_input_ends(project):
    done = subprocess.run(["sh", "-c", f"exec '{BIN / 'bb'}' mcp <&-"], cwd=project.path, env=environment(), timeout=10)
    assert done.returncode == 0


def test_as_names_the_agent_of_the_mcp_server(project):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "bb_post_message", "arguments": {"content": "x"}}}
    project.bb("--as", "kimi", "mcp", stdin=json.dumps(call).encode() + b"\n").ok()
    assert project.json("log")[0]["from_agent"] == "kimi"


# files of other people's programs

CLAUDE = '{"mcpServers":{"clj":{"command":"bb","args":["server.clj"],"env":{"K":"v"}}}}'


def test_another_program_called_bb_is_not_ours(empty):
    (empty.path / ".mcp.json").write_text(CLAUDE)
    empty.bb("install", "claude", "--write").ok()
    servers = json.loads((empty.path / ".mcp.json").read_text())["mcpServers"]
    assert servers["clj"] == json.loads(CLAUDE)["mcpServers"]["clj"]
    assert "blackboard" in servers
    empty.bb("install", "claude", "--remove").ok()
    assert (empty.path / ".mcp.json").read_text() == CLAUDE


@pytest.mark.parametrize("first", [None, "{}\n", CLAUDE])
def test_remove_removes_the_entry_of_any_earlier_install(empty, first):
    file = empty.path / ".mcp.json"
    if first is not None:
        file.write_text(first)
    empty.bb("install", "claude", "--write", "--agent", "a").ok()
    empty.bb("install", "claude", "--write").ok()
    empty.bb("install", "claude", "--remove").ok()
    assert not file.exists() or "blackboard" not in file.read_text()


def test_a_copy_of_the_users_own_is_neither_read_nor_removed(empty):
    (empty.path / ".mcp.json").write_text("{}\n")
    (empty.path / ".mcp.json.bak_mine").write_text("not JSON")
    empty.bb("install", "claude", "--write").ok()
    empty.bb("install", "claude", "--remove").ok()
    assert (empty.path / ".mcp.json").read_text() == "{}\n"
    assert (empty.path / ".mcp.json.bak_mine").read_text() == "not JSON"


def test_single_quotes_and_comments_in_toml_are_understood(empty):
    (empty.path / ".codex").mkdir()
    file = empty.path / ".codex" / "config.toml"
    file.write_text("[mcp_servers.blackboard]\ncommand = 'bb' # ours\nargs = ['mcp']\n")
    empty.bb("install", "codex", "--write", env={"PATH": f"{BIN}:/usr/bin:/bin"}).ok()
    assert 'command = "bb"' in file.read_text()


# places

def git(*args, cwd):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args], cwd=cwd, check=True,
                   capture_output=True, env={**environment(), "GIT_CONFIG_GLOBAL": os.devnull})


@pytest.fixture
def bare(tmp_path, empty):
    """Two worktrees of a bare repository without a main worktree."""
    git("init", "-q", "seed", cwd=tmp_path)
    (tmp_path / "seed" / "a.txt").write_text("x")
    git("add", ".", cwd=tmp_path / "seed")
    git("commit", "-qm", "x", cwd=tmp_path / "seed")
    git("clone", "-q", "--bare", "seed", "repo.git", cwd=tmp_path)
    for name in ("one", "two"):
        git("worktree", "add", "-q", "-b", name, str(tmp_path / name), cwd=tmp_path / "repo.git")
    return tmp_path


def test_the_worktrees_of_a_bare_repository_share_one_board(bare, empty):
    empty.bb("init", cwd=bare / "one").ok()
    empty.bb("post", "x", cwd=bare / "one").ok()
    assert len(empty.json("log", cwd=bare / "two")) == 1
    assert empty.json("init", cwd=bare / "two")["result"] == "exists"


def test_artifacts_are_files_of_the_current_worktree(bare, empty):
    empty.bb("init", cwd=bare / "one").ok()
    (bare / "two" / "sub").mkdir()
    (bare / "two" / "sub" / "new.txt").write_text("x")
    assert empty.json("artifact", "add", "sub/new.txt", "d", cwd=bare / "two")["path"] == "sub/new.txt"
    error = empty.fails("artifact", "add", "new.txt", "d", cwd=bare / "two" / "sub")
    assert "'sub/new.txt'" in error["details"]["next_step"]
    assert empty.json("artifact", "show", "sub/new.txt", cwd=bare / "one")["path"] == "sub/new.txt"


def test_a_board_further_up_does_not_hide_the_main_worktrees(tmp_path, empty):
    git("init", "-q", "main", cwd=tmp_path)
    (tmp_path / "main" / "a").write_text("x")
    git("add", ".", cwd=tmp_path / "main")
    git("commit", "-qm", "x", cwd=tmp_path / "main")
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=tmp_path / "main")
    empty.bb("--dir", str(tmp_path), "init").ok()
    empty.bb("init", cwd=tmp_path / "main").ok()
    empty.bb("post", "x", cwd=tmp_path / "main").ok()
    assert len(empty.json("log", cwd=tmp_path / "linked")) == 1


def test_a_removed_current_folder_is_an_error(empty, tmp_path):
    script = f"mkdir gone && cd gone && rmdir ../gone && exec '{BIN / 'bb'}' init"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no longer exists" in done.stderr
