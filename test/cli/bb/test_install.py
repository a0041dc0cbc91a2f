"""bb install: its output, and its changes to a host's file."""
import json
import os
import re
import tomllib

import pytest

from conftest import BIN

# host: project's file, user's file (None: it has none), key of the servers
HOSTS = {
    "claude": (".mcp.json", None, "mcpServers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "copilot": (".mcp.json", ".copilot/mcp-config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "kilo": ("kilo.jsonc", ".config/kilo/kilo.jsonc", "mcp"),
    "kimi": (".mcp.json", ".kimi-code/mcp.json", "mcpServers"),
    "opencode": ("opencode.json", ".config/opencode/opencode.json", "mcp"),
    "vscode": (".vscode/mcp.json", None, "servers"),
}
JSON_HOSTS = [h for h in HOSTS if h != "codex"]
JSONC_HOSTS = ["kilo", "opencode", "vscode"]
WITH_USER = [h for h in HOSTS if HOSTS[h][1]]


@pytest.fixture
def place(empty):
    empty.home = empty.path.parent / "home"
    empty.home.mkdir()
    empty.env["PATH"] = f"{BIN}:{os.environ['PATH']}"
    return empty


@pytest.mark.parametrize("program, name", [("bb", "blackboard"), ("abacus", "abacus")])
def test_a_program_that_is_not_on_the_path_is_named_by_its_path(place, program, name):
    place.run("install", "claude", "--write", program=program, env={"PATH": "/usr/bin:/bin:."}).ok()
    command = json.loads(file_of(place, "claude").read_text())["mcpServers"][name]["command"]
    assert command == str(BIN.resolve() / program)
    place.run("install", "claude", "--remove", program=program).ok()
    assert name not in file_of(place, "claude").read_text()


def file_of(place, host):
    return place.path / HOSTS[host][0]


def parse(text):
    """JSON with comments and trailing commas."""
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or "", text, flags=re.S)
    return json.loads(re.sub(r'("(?:\\.|[^"\\])*")|,(\s*[}\]])', lambda m: m[1] or m[2], text, flags=re.S))


def servers(host, text):
    return (tomllib.loads(text) if host == "codex" else parse(text)).get(HOSTS[host][2], {})


def command_of(host, server):
    return server["command"] if isinstance(server["command"], list) else [server["command"], *server["args"]]


def foreign(host):
    """A file of the user with an entry of another program, in an unusual format."""
    if host == "codex":
        return ('# my settings\nmodel = "x"   # keep\n\n[mcp_servers.other]\ncommand = "other"\nargs = [ "a" ,  # why\n'
                '  "b" ]\n\n[tail]\nlast = true\n')
    entry = '{ "command":"other",\t"args":[ ] }'
    if host in ("kilo", "opencode"):
        entry = '{ "type":"local",\t"command":[ "other" ] }'
    return f'{{\n\t"keep" : 1.50,\n\t"{HOSTS[host][2]}": {{\n\t\t"other": {entry}\n\t}},\n\t"last":"\\u00e9 é"\n}}\n'


def backups(path):
    return [p for p in path.parent.iterdir() if p.name.startswith(path.name + ".")]


@pytest.mark.parametrize("host", HOSTS)
def test_install_shows_and_writes_nothing(place, host):
    before = sorted(p for p in place.path.rglob("*"))
    done = place.bb("install", host).ok()
    assert str(file_of(place, host)) in done.out
    assert "bb" in done.out and "mcp" in done.out
    assert place.bb("install", host, "--print").ok().out == done.out
    assert sorted(p for p in place.path.rglob("*")) == before


@pytest.mark.parametrize("host", HOSTS)
def test_the_shown_text_is_the_written_text(place, host):
    shown = place.json("install", host)[0]
    place.bb("install", host, "--write").ok()
    assert servers(host, shown["snippet"]) == servers(host, file_of(place, host).read_text())


def test_without_a_host_all_are_shown(place):
    assert [r["host"] for r in place.json("install")] == list(HOSTS)
    out = place.bb("install").ok().out
    assert all(f"{host}:" in out for host in HOSTS)


@pytest.mark.parametrize("args", [["--write"], ["--remove"]])
def test_without_a_host_nothing_is_written(place, args):
    assert place.bb("install", *args).code == 2
    assert list(place.path.iterdir()) == []


def test_the_error_for_an_unknown_host_lists_the_known_ones(place):
    error = place.fails("install", "emacs")
    assert error["code"] == "INVALID_INPUT"
    assert all(host in error["message"] + error["details"]["next_step"] for host in HOSTS)


@pytest.mark.parametrize("host", HOSTS)
def test_a_new_file_contains_only_our_server(place, host):
    place.bb("install", host, "--write").ok()
    text = file_of(place, host).read_text()
    assert text.endswith("\n")
    found = servers(host, text)
    assert list(found) == ["blackboard"]
    assert command_of(host, found["blackboard"]) == ["bb", "mcp"]
    assert backups(file_of(place, host)) == []


@pytest.mark.parametrize("host, key, value", [
    ("claude", "type", "stdio"), ("vscode", "type", "stdio"), ("opencode", "type", "local"), ("kilo", "type", "local"),
    ("opencode", "enabled", True), ("kilo", "enabled", True)])
def test_an_entry_has_the_hosts_own_shape(place, host, key, value):
    place.bb("install", host, "--write").ok()
    assert servers(host, file_of(place, host).read_text())["blackboard"][key] == value


@pytest.mark.parametrize("host", HOSTS)
def test_foreign_entries_stay_byte_for_byte(place, host):
    file, before = file_of(place, host), foreign(host)
    file.parent.mkdir(exist_ok=True)
    file.write_text(before)
    place.bb("install", host, "--write").ok()
    after = file.read_text()
    found = servers(host, after)
    assert sorted(found) == ["blackboard", "other"]
    lines = iter(after.splitlines())
    for line in before.splitlines():
        assert any(line.rstrip(",") in other for other in lines), line
    assert len(after) > len(before)


@pytest.mark.parametrize("host", HOSTS)
def test_the_old_file_is_kept_beside_it(place, host):
    file, before = file_of(place, host), foreign(host)
    file.parent.mkdir(exist_ok=True)
    file.write_text(before)
    backup = place.json("install", host, "--write")[0]["backup"]
    assert [str(p) for p in backups(file)] == [backup]
    assert backups(file)[0].read_text() == before


@pytest.mark.parametrize("host", HOSTS)
def test_installing_twice_changes_nothing(place, host):
    file = file_of(place, host)
    file.parent.mkdir(exist_ok=True)
    file.write_text(foreign(host))
    place.bb("install", host, "--write").ok()
    once = file.read_bytes()
    assert place.json("install", host, "--write")[0]["backup"] is None
    assert file.read_bytes() == once
    assert len(backups(file)) == 1


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("end", ["\n", "", "\r\n"], ids=["newline", "no newline", "crlf"])
def test_remove_restores_the_bytes(place, host, end):
    file = file_of(place, host)
    file.parent.mkdir(exist_ok=True)
    before = foreign(host).rstrip("\n").replace("\n", "\r\n" if end == "\r\n" else "\n") + end
    file.write_bytes(before.encode())
    place.bb("install", host, "--write").ok()
    assert file.read_bytes() != before.encode()
    place.bb("install", host, "--remove").ok()
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("before", ["{}", "{ }\n", '{"a":[1,2]}', '{"KEY":{}}', '{"KEY": {\n}\n}\n', ""])
def test_remove_restores_small_files_too(place, host, before):
    if host == "codex":
        before = {"{}": "# only this", "{ }\n": "a = 1", '{"a":[1,2]}': "[a]\nb = [1,2]", '{"KEY":{}}': "[mcp_servers]\n",
                  '{"KEY": {\n}\n}\n': "\n\n[a]\n\n", "": ""}[before]
    file, before = file_of(place, host), before.replace("KEY", HOSTS[host][2])
    file.parent.mkdir(exist_ok=True)
    file.write_text(before)
    place.bb("install", host, "--write").ok()
    assert list(servers(host, file.read_text())) == ["blackboard"]
    place.bb("install", host, "--remove").ok()
    after = file.read_text()
    assert after == before or (before == "" and (after == "" or parse(after) == {}))


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "codex"])
@pytest.mark.parametrize("before", ["{ }", "{\n}\n", "{\n\n}\n", " {\t\n \n } ", '{"KEY": { }}\n',
                                    '{\n  "KEY": {\n\n  }\n}\n'])
def test_an_entry_replaces_the_blanks_of_an_empty_object_and_remove_restores_them(place, host, before):
    file, before = file_of(place, host), before.replace("KEY", HOSTS[host][2])
    file.parent.mkdir(exist_ok=True)
    file.write_text(before)
    place.bb("install", host, "--write").ok()
    lines = file.read_text().rstrip().splitlines()
    assert all(line and line == line.rstrip() for line in lines)
    place.bb("install", host, "--remove").ok()
    assert file.read_text() == before


@pytest.mark.parametrize("host", HOSTS)
def test_remove_deletes_a_file_that_install_created(place, host):
    place.bb("install", host, "--write").ok()
    place.bb("install", host, "--remove").ok()
    assert not file_of(place, host).exists()


@pytest.mark.parametrize("host", HOSTS)
def test_remove_without_an_entry_changes_nothing(place, host):
    file, before = file_of(place, host), foreign(host)
    place.bb("install", host, "--remove").ok()
    assert not file.exists()
    file.parent.mkdir(exist_ok=True)
    file.write_text(before)
    place.bb("install", host, "--remove").ok()
    assert file.read_text() == before
    assert backups(file) == []


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("text", ["{ not json", "[1", "{\"a\":1}}", "\xff\xfe"])
def test_a_file_that_does_not_parse_is_left_alone(place, host, text):
    file = file_of(place, host)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode("latin-1"))
    for what in ("--write", "--remove"):
        error = place.fails("install", host, what)
        assert error["code"] == "INVALID_INPUT"
        assert str(file) in error["message"]
    assert file.read_bytes() == text.encode("latin-1")
    assert backups(file) == []


@pytest.mark.parametrize("host", JSON_HOSTS)
@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null", '{"KEY":[]}', '{"KEY":"x"}', '{"KEY":null}'])
def test_a_file_of_another_shape_is_left_alone(place, host, text):
    file, text = file_of(place, host), text.replace("KEY", HOSTS[host][2])
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert place.fails("install", host, "--write")["code"] == "INVALID_INPUT"
    assert file.read_text() == text


@pytest.mark.parametrize("host", JSONC_HOSTS)
def test_comments_and_trailing_commas_stay(place, host):
    key = HOSTS[host][2]
    before = ('// top\n{\n  /* "%s": {} */ "a": "// no comment", // end\n  "%s": {\n    // "blackboard": {},\n'
              '    "other": {"command": ["x"], }, // mine\n  }, /* tail */\n}\n// bottom\n') % (key, key)
    file = file_of(place, host)
    file.parent.mkdir(exist_ok=True)
    file.write_text(before)
    place.bb("install", host, "--write").ok()
    after = file.read_text()
    assert sorted(servers(host, after)) == ["blackboard", "other"]
    for comment in ("// top", f'/* "{key}": {{}} */', "// end", '// "blackboard": {},', "// mine", "/* tail */", "// bottom"):
        assert after.count(comment) == 1
    place.bb("install", host, "--remove").ok()
    assert file.read_text() == before


def test_toml_of_every_kind_stays(place):
    before = ('"quoted key" = \'lit # no comment\'\nmulti = """\n[mcp_servers.blackboard]\n"""\ndate = 2026-01-01T00:00:00Z\n'
              'inline = { a = 1, "b" = [ 1, 2 ] }\n\n[[hooks]]\nevent = "x"\n\n[[hooks]]\nevent = "y" # c\n\n'
              '[mcp_servers."other.one"]\ncommand = "x"\n[mcp_servers."other.one".env]\nA = "b"\n')
    file = file_of(place, "codex")
    file.parent.mkdir()
    file.write_text(before)
    place.bb("install", "codex", "--write").ok()
    after = file.read_text()
    assert after.startswith(before.rstrip("\n"))
    read = tomllib.loads(after)
    assert read["mcp_servers"].pop("blackboard") == {"command": "bb", "args": ["mcp"]}
    assert read == tomllib.loads(before)
    place.bb("install", "codex", "--remove").ok()
    assert file.read_text() == before


@pytest.mark.parametrize("text", ['mcp_servers = { other = { command = "x" } }\n', 'mcp_servers.other.command = "x"\n',
                                  '[mcp_servers]\nother = { command = "x" }\n'])
def test_servers_written_inline_in_toml_still_parse_afterwards_or_are_refused(place, text):
    file = file_of(place, "codex")
    file.parent.mkdir()
    file.write_text(text)
    done = place.run("--json", "install", "codex", "--write")
    if done.code == 0:
        assert sorted(tomllib.loads(file.read_text())["mcp_servers"]) == ["blackboard", "other"]
        place.bb("install", "codex", "--remove").ok()
    else:
        assert done.error["code"] == "INVALID_INPUT"
    assert file.read_text() == text


@pytest.mark.parametrize("host", HOSTS)
def test_another_agent_changes_our_entry_and_nothing_else(place, host):
    file = file_of(place, host)
    file.parent.mkdir(exist_ok=True)
    file.write_text(foreign(host))
    place.bb("install", host, "--write").ok()
    place.bb("install", host, "--write", "--agent", 'k "1"\\').ok()
    found = servers(host, file.read_text())
    assert command_of(host, found["blackboard"]) == ["bb", "mcp", "--agent", 'k "1"\\']
    assert sorted(found) == ["blackboard", "other"]
    place.bb("install", host, "--remove").ok()
    assert file.read_text() == foreign(host)


def test_a_wrong_agent_is_refused(place):
    for name in ("", " ", "a\nb", "x" * 65):
        assert place.fails("install", "claude", "--write", f"--agent={name}")["code"] in ("INVALID_IDENTITY", "INVALID_INPUT")
    assert list(place.path.iterdir()) == []


@pytest.mark.parametrize("host", ["cursor", "codex", "opencode"])
def test_a_server_of_another_with_our_name_is_left_alone(place, host):
    text = {"cursor": '{"mcpServers":{"blackboard":{"command":"theirs","args":[]}}}',
            "codex": '[mcp_servers.blackboard]\ncommand = "theirs"\n',
            "opencode": '{"mcp":{"blackboard":{"type":"local","command":["theirs"]}}}'}[host]
    file = file_of(place, host)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    for what in ("--write", "--remove"):
        assert place.fails("install", host, what)["code"] == "INVALID_INPUT"
    assert file.read_text() == text


def test_our_server_under_another_name_is_recognised_by_its_command(place):
    text = '{"mcpServers":{"board":{"command":"bb","args":["mcp"]}}}'
    file = file_of(place, "cursor")
    file.parent.mkdir()
    file.write_text(text)
    place.bb("install", "cursor", "--write").ok()
    assert list(servers("cursor", file.read_text())) == ["board"]


def test_two_hosts_of_one_file_do_not_undo_each_other(place):
    place.bb("install", "claude", "--write").ok()
    one = file_of(place, "claude").read_bytes()
    place.bb("install", "kimi", "--write").ok()
    assert file_of(place, "claude").read_bytes() == one


def test_a_link_stays_a_link(place):
    file = file_of(place, "cursor")
    file.parent.mkdir()
    (file.parent / "real.json").write_text("{}\n")
    file.symlink_to("real.json")
    place.bb("install", "cursor", "--write").ok()
    assert file.is_symlink()
    assert "blackboard" in (file.parent / "real.json").read_text()


def test_the_files_permissions_stay(place):
    file = file_of(place, "cursor")
    file.parent.mkdir()
    file.write_text("{}\n")
    file.chmod(0o640)
    place.bb("install", "cursor", "--write").ok()
    assert file.stat().st_mode & 0o777 == 0o640


def test_from_below_the_projects_file_is_at_the_projects_root(place):
    place.bb("init").ok()
    below = place.path / "a/b"
    below.mkdir(parents=True)
    place.bb("install", "gemini", "--write", cwd=below).ok()
    assert file_of(place, "gemini").exists()
    assert list(below.iterdir()) == []


def test_install_uses_the_folder_of_dir(place):
    other = place.path.parent / "other"
    other.mkdir()
    place.bb("--dir", str(other), "install", "claude", "--write").ok()
    assert (other / ".mcp.json").exists()
    assert not file_of(place, "claude").exists()


def test_install_needs_no_board_and_makes_none(place):
    place.bb("install", "claude", "--write").ok()
    assert not (place.path / ".bb").exists()


@pytest.mark.parametrize("host", WITH_USER)
def test_user_writes_the_users_file_and_not_the_projects(place, host):
    env = {"HOME": str(place.home)}
    path = place.home / HOSTS[host][1]
    assert place.json("install", host, "--user", "--write", env=env)[0]["path"] == str(path)
    assert list(servers(host, path.read_text())) == ["blackboard"]
    assert list(place.path.iterdir()) == []
    place.bb("install", host, "--user", "--remove", env=env).ok()


@pytest.mark.parametrize("host", [h for h in HOSTS if not HOSTS[h][1]])
def test_writing_a_user_file_that_the_host_does_not_have_fails(place, host):
    error = place.fails("install", host, "--user", "--write", env={"HOME": str(place.home)})
    assert error["code"] == "INVALID_INPUT"
    assert list(place.home.iterdir()) == []


def test_write_and_remove_together_are_refused(place):
    done = place.bb("install", "claude", "--write", "--remove")
    assert done.code != 0
    assert list(place.path.iterdir()) == []


def test_the_shown_configuration_ends_with_its_last_line(project):
    shown = project.bb("install", "codex").ok().out
    assert shown.endswith('args = ["mcp"]\n') and "\n\n\n" not in project.bb("install").ok().out
