"""abacus init sets up all stores, and abacus where shows which stores are used."""
import json
import os
import subprocess

import pytest

from conftest import BIN, Project


@pytest.fixture
def project(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    return Project(path)


def abacus(project, *args, **kw):
    return project.run(*args, "--json", program="abacus", **kw)


def stores(project, **kw):
    return {s["store"]: s for s in abacus(project, "where", **kw).ok().json}


def test_everything_is_set_up(project):
    (project.path / "AGENTS.md").write_text("mine\n")
    before = {f: f.read_bytes() for f in project.path.rglob("*") if f.is_file()}
    made = abacus(project, "init").ok().json
    assert list(made) == ["beads", "board", "agents", "agents_md"]
    assert [made[s]["result"] for s in ("beads", "board", "agents")] == ["created"] * 3
    assert "bb-init" in made["agents_md"]
    assert all(f.read_bytes() == text for f, text in before.items())
    done = subprocess.run(["git", "status", "--porcelain"], cwd=project.path, capture_output=True, text=True)
    assert done.stdout == "?? AGENTS.md\n"
    again = abacus(project, "init").ok().json
    assert [again[s]["result"] for s in ("beads", "board", "agents")] == ["exists"] * 3
    for program, args in (("bd", ["create", "x"]), ("bb", ["log"]), ("bb", ["agent", "list"])):
        project.run(*args, program=program).ok()


def test_the_text_for_agents_md_is_printed_line_by_line(project):
    text = abacus(project, "init").ok().json["agents_md"]
    assert text.count("\n") > 3 and text in project.run("init", program="abacus").ok().out


def test_outside_of_a_repository_nothing_is_made(tmp_path):
    done = abacus(Project(tmp_path), "init")
    assert done.code == 1 and "Git repository" in done.error["message"] and list(tmp_path.iterdir()) == []


def test_where_before_and_after(project):
    before = stores(project)
    assert [s["exists"] for s in before.values()] == [False] * 3
    assert all("abacus init" in s["why"] for s in before.values())
    abacus(project, "init").ok()
    after = stores(project)
    assert {n: s["path"] for n, s in after.items()} == {n: s["path"] for n, s in before.items()} == {
        "beads": f"{project.path}/.git/abacus", "board": f"{project.path}/.bb", "agents": f"{project.path}/.beadboard"}
    assert all(s["exists"] for s in after.values())


def test_where_from_another_folder(project, tmp_path):
    abacus(project, "init").ok()
    below = project.path / "a/b"
    below.mkdir(parents=True)
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "x"],
                   cwd=project.path, check=True)
    tree = tmp_path / "tree"
    subprocess.run(["git", "worktree", "add", "-q", str(tree)], cwd=project.path, check=True)
    here = {n: s["path"] for n, s in stores(project).items()}
    for place, word in ((below, "parent folder"), (tree, "worktree")):
        there = stores(project, cwd=place)
        assert {n: s["path"] for n, s in there.items()} == here
        assert word in there["board"]["why"] and word in there["agents"]["why"]
    assert stores(project, cwd=tree)["beads"]["why"] == "in the Git directory that all worktrees share"


def test_where_outside_of_a_repository(tmp_path):
    found = stores(Project(tmp_path))
    assert found["beads"]["path"] is None and "Git repository" in found["beads"]["why"]
    assert found["board"]["path"] == f"{tmp_path}/.bb" and not found["board"]["exists"]


def test_for_people(project):
    out = project.run("init", program="abacus").ok().out
    assert "AGENTS.md" in out and str(project.path / ".bb") in out and "No file of yours was changed" in out
    assert "beads: " in project.run("where", program="abacus").ok().out


@pytest.fixture
def on_path(project):
    project.env["PATH"] = f"{BIN}:{os.environ['PATH']}"
    return project


def test_install_adds_all_tools_to_a_host(on_path):
    project = on_path
    file = project.path / ".mcp.json"
    project.run("install", "claude", "--write", program="bb").ok()
    assert list(json.loads(file.read_text())["mcpServers"]) == ["blackboard"]
    done = abacus(project, "install", "claude", "--write").ok().json
    assert done[0]["result"] == "added to" and "abacus -- abacus mcp" in done[0]["command"]
    [(name, entry)] = json.loads(file.read_text())["mcpServers"].items()
    assert (name, entry["command"], entry["args"]) == ("blackboard", "abacus", ["mcp"])  # one server, not two


def test_install_can_be_undone(on_path):
    project = on_path
    file = project.path / ".mcp.json"
    abacus(project, "install", "claude", "--write").ok()
    assert json.loads(file.read_text())["mcpServers"]["abacus"]["command"] == "abacus"
    assert abacus(project, "install", "claude", "--write").ok().json[0]["result"] == "unchanged"
    abacus(project, "install", "claude", "--remove").ok()
    assert not file.exists()


@pytest.fixture
def hosts(project, tmp_path):
    """Three hosts by their folders, and no program of any host."""
    home, programs = tmp_path / "home", tmp_path / "programs"
    for folder in (home / ".gemini", project.path / ".claude", project.path / ".cursor", programs):
        folder.mkdir(parents=True)
    (project.path / ".mcp.json").write_text('{\n  "mcpServers": {\n    "x": {"command": "y"}\n  }\n}\n')
    project.env.update(HOME=str(home), PATH=f"{BIN}:{programs}:/usr/bin:/bin")
    project.programs = programs
    return project


def test_install_lists_all_hosts_found_with_their_changes(hosts):
    before = {p: p.read_text() for p in hosts.path.rglob("*.json")}
    found = abacus(hosts, "install", "--all").ok().json
    assert [(h["host"], h["result"]) for h in found] == [("claude", "add to"), ("cursor", "add to"), ("gemini", "add to")]
    assert found[0]["diff"].startswith('  {\n    "mcpServers": {\n-     "x": {"command": "y"}\n+     "x": {"command": "y"},\n+     "abacus": {\n')
    assert {p: p.read_text() for p in hosts.path.rglob("*.json")} == before
    (hosts.programs / "opencode").write_text("#!/bin/sh\n")
    (hosts.programs / "opencode").chmod(0o755)
    assert "opencode" in [h["host"] for h in abacus(hosts, "install", "--all").ok().json]


def test_all_hosts_are_written_and_restored_to_the_byte(hosts):
    before = (hosts.path / ".mcp.json").read_bytes()
    assert {h["result"] for h in abacus(hosts, "install", "--all", "--write").ok().json} == {"added to"}
    assert "abacus" in json.loads((hosts.path / ".cursor/mcp.json").read_text())["mcpServers"]
    assert {h["result"] for h in abacus(hosts, "install", "--all", "--write").ok().json} == {"unchanged"}
    assert {h["result"] for h in abacus(hosts, "install", "--all", "--remove").ok().json} == {"removed from"}
    assert (hosts.path / ".mcp.json").read_bytes() == before and not (hosts.path / ".cursor/mcp.json").exists()


@pytest.mark.parametrize("act", ["--write", "--remove"])
def test_one_file_that_cannot_be_edited_leaves_all_hosts_alone(hosts, act):
    (hosts.path / ".cursor/mcp.json").write_text("{ broken")
    before = {p: p.read_bytes() for p in hosts.path.rglob("*.json")}
    error = abacus(hosts, "install", "--all", act)
    assert error.code != 0 and ".cursor/mcp.json" in error.out + error.err
    assert {p: p.read_bytes() for p in hosts.path.rglob("*.json")} == before


def test_a_file_that_cannot_be_written_undoes_the_earlier_edits(hosts):
    before = (hosts.path / ".mcp.json").read_bytes()
    (hosts.path / ".cursor").rmdir()
    (hosts.path / ".cursor").write_text("a file in the place of the folder")
    assert abacus(hosts, "install", "--all", "--write").code != 0
    assert (hosts.path / ".mcp.json").read_bytes() == before


@pytest.mark.parametrize("entry", ["ours", "older", "none"])
def test_undoing_restores_the_entry_that_was_there(hosts, entry):
    if entry == "ours":
        abacus(hosts, "install", "claude", "--write").ok()
    elif entry == "older":  # the edit replaces it
        (hosts.path / ".mcp.json").write_text('{"mcpServers":{"abacus":{"command":"./tools/abacus","args":["mcp"]}}}')
    (hosts.path / ".cursor").rmdir()
    (hosts.path / ".cursor").write_text("a file in the place of the folder")
    files = lambda: {p: p.read_bytes() for p in hosts.path.iterdir() if p.is_file()}
    before = files()
    assert abacus(hosts, "install", "--all", "--write").code != 0
    assert files() == before


def test_no_host_found_and_options_that_exclude_each_other(project, tmp_path):
    project.env.update(HOME=str(tmp_path), PATH=f"{BIN}:/usr/bin:/bin")
    assert abacus(project, "install", "--all").ok().json == []
    assert "No host was found" in project.run("install", "--all", program="abacus").ok().out
    assert abacus(project, "install", "claude", "--all").code != 0
    assert abacus(project, "install", "--write").code != 0


@pytest.mark.parametrize("entry", ['{"command":"./tools/abacus","args":["mcp"]}', '{"command":"theirs"}'])
@pytest.mark.parametrize("other", ['{"command":"bb","args":["mcp"]}', '{"command":"else"}'])
def test_a_server_with_our_name_is_replaced(project, entry, other):
    file = project.path / ".mcp.json"
    text = '{"mcpServers":{"first":%s,"abacus":%s,"last":%s}}' % (other, entry, other)
    file.write_text(text)
    if "theirs" in entry:  # what is not ours is not taken out either
        assert abacus(project, "install", "claude", "--remove").code != 0
    abacus(project, "install", "claude", "--write").ok()
    servers = json.loads(file.read_text())["mcpServers"]
    command = servers["abacus"]["command"]
    assert command.rpartition("/")[2] == "abacus" and "tools" not in command and servers["abacus"]["args"] == ["mcp"]
    assert servers["first"] == servers["last"] == json.loads(other)
    assert [kept.read_text() for kept in project.path.glob(".mcp.json.bak_*")] == [text]


def test_a_server_with_our_name_in_toml_is_replaced(project):
    file = project.path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('[mcp_servers.abacus]\ncommand = "theirs"\n')
    abacus(project, "install", "codex", "--write").ok()
    assert 'abacus"\n' in file.read_text() and "theirs" not in file.read_text()
