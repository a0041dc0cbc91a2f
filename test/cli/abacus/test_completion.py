"""Shell completion: the candidates, and that bash, zsh and fish show them."""
import os
import shutil
import subprocess
import time

import pytest

from conftest import BIN, Project, environment
from test_generated import COMMANDS, abacus
from test_top import Terminal

PROGRAMS = ("abacus", "bb", "bd", "vybe")
PATH = f"{BIN}:{os.environ['PATH']}"


def needs(shell):
    return pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed")


SHELLS = [pytest.param(shell, marks=needs(shell)) for shell in ("bash", "zsh", "fish")]


@pytest.fixture
def team(repo):
    """Two agents, three beads and two messages, with titles and subjects that a shell could interpret."""
    project = Project(repo.path)
    project.env = {"ABACUS_AGENT": "cobalt-harbor"}
    for name, role in (("amber-otter", "ui"), ("cobalt-harbor", "backend")):
        project.bb("agent", "register", "--name", name, "--role", role).ok()
    for bead, title in (("bd-aaa1", "Parser: fails"), ("bd-aaa2", "$(touch evil) `touch evil` %F{red}"),
                        ("bd-bbb1", "Done already")):
        project.run("create", title, "--id", bead, program="bd").ok()
    project.run("close", "bd-bbb1", program="bd").ok()
    project.ids = [project.json("agent", "send", "cobalt-harbor", subject, "--as", "amber-otter", "--bead", "bd-aaa1",
                                "--category", category)["data"]["message_id"]
                   for subject, category in (("First: $(touch evil)", "INFO"), ("Second", "HANDOFF"))]
    return project


def offered(project, program, *words, env=None):
    """The candidates for the last word, with their descriptions."""
    done = project.run("__complete", *words, program=program, env=env)
    assert (done.code, done.err) == (0, "")
    return dict(line.split("\t", 1) if "\t" in line else (line, None) for line in done.out.splitlines())


# --- what is offered ---

@pytest.mark.parametrize("words, found", [
    (["sta"], ["status"]), (["su"], ["summary"]), (["art"], ["artifact", "artifacts"]),
    (["status", "s"], ["set"]), (["artifact", ""], ["add", "show"]), (["log", "--li"], ["--limit"]),
    (["status", "set", "--pro"], ["--progress"]), (["status", "set", "--b"], ["--blockers"]),
    (["--as", "k", "sta"], ["status"]), (["--as", "k", "status", "set", "--pro"], ["--progress"]),
    (["--json", "log", "--si"], ["--since"]), (["log", "--priority", "cr"], ["critical"]),
    (["log", "--priority=cr"], ["--priority=critical"]), (["log", "--priority", "=", "cr"], ["critical"]),
    (["log", "-p", "h"], ["high"]), (["status", "set", "--status", "b"], ["blocked"]),
    (["install", "cl"], ["claude"]), (["artifact", "add", "--ver"], ["--version"]), (["--js"], ["--json"]),
    (["clear", "--me"], ["--messages-before"]), (["post", "x", "--rep"], ["--reply-to"]), (["zz"], []),
    (["log", "--", "--li"], [])])
def test_commands_options_and_words_are_offered(empty, words, found):
    assert sorted(offered(empty, "bb", *words)) == found


def test_every_command_is_offered_with_its_help(empty):
    found = offered(empty, "bb", "")
    assert {c.split()[0] for c in COMMANDS} <= set(found)
    assert found["summary"] and offered(empty, "bd", "list", "--sta")["--status"]


def test_abacus_offers_the_other_programs_and_their_commands(team):
    assert {"bd", "bb", "vybe", "init"} <= set(offered(team, "abacus", ""))
    assert list(offered(team, "abacus", "bd", "sho")) == ["show"]
    assert "bd-aaa1" in offered(team, "abacus", "bd", "show", "")


def test_open_beads_are_offered_with_their_titles(team):
    assert offered(team, "bd", "show", "") == {"bd-aaa1": "Parser: fails",
                                               "bd-aaa2": "$(touch evil) `touch evil` %F{red}"}
    assert offered(team, "bd", "show", "bd-b") == {"bd-bbb1": "closed: Done already"}
    assert list(offered(team, "bd", "reopen", "")) == ["bd-bbb1"]
    assert list(offered(team, "vybe", "task", "get", "--id", "")) == ["bd-aaa1", "bd-aaa2"]
    assert list(offered(team, "bb", "agent", "reserve", "--bead", "")) == ["bd-aaa1", "bd-aaa2"]
    assert list(offered(team, "bd", "dep", "add", "bd-aaa1", "bd-aaa")) == ["bd-aaa1", "bd-aaa2"]


def test_no_existing_bead_is_offered_as_the_id_of_a_new_one(team):
    assert offered(team, "bd", "create", "x", "--id", "") == {}


def test_a_short_id_stays_short(team):
    assert list(offered(team, "bd", "close", "aa")) == ["aaa1", "aaa2"]
    end = team.ids[0].rsplit("_", 1)[1]
    assert list(offered(team, "bb", "agent", "read", end[:10])) == [end]


def test_deleted_beads_are_offered_to_undelete(team):
    team.run("delete", "bd-aaa2", "--force", program="bd").ok()
    assert list(offered(team, "bd", "undelete", "")) == ["bd-aaa2"]
    assert list(offered(team, "bd", "show", "bd-a")) == ["bd-aaa1"]


def test_agents_are_offered_with_their_roles(team):
    agents = {"amber-otter": "ui", "cobalt-harbor": "backend"}
    for words in (["show", "--agent"], ["reserve", "--agent"], ["heartbeat", "--as"]):
        assert offered(team, "bb", "agent", *words, "") == agents
    assert offered(team, "bd", "update", "bd-aaa1", "--assignee", "") == agents
    assert offered(team, "bb", "agent", "send", "") == {**agents, "broadcast": "all other agents"}


def test_messages_of_the_actor_are_offered_with_their_subjects(team):
    first, second = team.ids
    messages = {second: "amber-otter: Second", first: "amber-otter: First: $(touch evil)"}
    assert offered(team, "bb", "agent", "read", "") == messages
    assert offered(team, "bb", "agent", "read", "--agent", "amber-otter", "") == {}
    assert offered(team, "bb", "agent", "read", "", env={"ABACUS_AGENT": "amber-otter"}) == {}
    assert offered(team, "bb", "agent", "read", "--agent", "cobalt-harbor", "--message", "msg",
                   env={"ABACUS_AGENT": "amber-otter"}) == messages
    team.bb("agent", "ack", second).ok()
    assert list(offered(team, "bb", "agent", "ack", "")) == [first]


def test_file_names_are_offered_only_where_a_path_is_expected(team):
    assert ":files" in offered(team, "bb", "--dir", "")
    assert ":files" not in offered(team, "bd", "create", "")


@pytest.mark.parametrize("program, words", [
    ("bd", ["show", ""]), ("bb", ["agent", "read", ""]), ("bb", ["agent", "send", ""]), ("vybe", ["task", "get", "--id", ""]),
    ("bd", ["show", "--no-such", ""]), ("bd", []), ("abacus", [])])
def test_completion_without_stores_is_silent(empty, program, words):
    done = empty.run("__complete", *words, program=program, env={"ABACUS_AGENT": "amber-otter"})
    assert (done.code, done.err) == (0, "")
    assert "bd-" not in done.out


def test_damaged_stores_are_no_error(team):
    for path in (team.path / ".git/abacus").iterdir():
        if path.is_file():
            path.write_bytes(b"\xff" * 100)
    for path in (team.path / ".beadboard/agent").rglob("*.json*"):
        path.write_bytes(b"{")
    for program, words in (("bd", ["show", ""]), ("bb", ["agent", "read", ""]), ("bb", ["agent", "send", ""])):
        done = team.run("__complete", *words, program=program)
        assert (done.code, done.err) == (0, "")


def test_a_completion_changes_nothing(team):
    def files():
        return {str(f): f.read_bytes() for f in sorted((team.path / ".beadboard").rglob("*")) if f.is_file()}

    before = files()
    offered(team, "bb", "agent", "read", "")
    offered(team, "bb", "agent", "send", "")
    assert files() == before


def test_a_completion_is_as_fast_as_a_command(repo):
    """The fastest of ten runs takes at most twice the time of a list of the same beads."""
    lines = "".join(f"## Bead {i}\n\n" for i in range(500))
    (repo.path / "plan.md").write_text(lines)
    repo.bd("create", "-f", "plan.md").ok()

    def fastest(*args):
        took = []
        for _ in range(10):
            began = time.monotonic()
            repo.bd(*args).ok()
            took.append(time.monotonic() - began)
        return min(took)

    assert fastest("__complete", "show", "") < 2 * fastest("list", "-n", "200") + 0.005


# --- in the shells ---

@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_parses(empty, shell, program):
    script = abacus(empty, "completion", shell, program)
    done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def bash(project, *words, cwd=None):
    """What bash offers after these words."""
    script = abacus(project, "completion", "bash", words[0])
    quoted = " ".join(f"'{w}'" for w in words)
    done = subprocess.run(["bash", "--norc", "-c", f"""{script}
COMP_WORDS=({quoted}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_{words[0]} {words[0]} "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}" """], capture_output=True, text=True, cwd=cwd or project.path,
                          env=environment(**project.env, PATH=PATH))
    assert done.stderr == ""
    return [w for w in done.stdout.split("\n") if w]


def fish(project, *words):
    """What fish offers after these words, with descriptions after tabs."""
    script = project.path.parent / "words.fish"
    script.write_text(abacus(project, "completion", "fish", words[0]))
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{' '.join(words)}'"],
                          capture_output=True, text=True, cwd=project.path,
                          env=environment(**{**project.env, "PATH": PATH, "HOME": str(project.path.parent)}))
    assert done.stderr == ""
    return done.stdout.splitlines()


@needs("bash")
def test_bash_offers_ids(team):
    assert bash(team, "bd", "show", "") == ["bd-aaa1", "bd-aaa2"]
    assert bash(team, "bb", "agent", "send", "am") == ["amber-otter"]
    assert bash(team, "bb", "agent", "ack", "msg") == list(reversed(team.ids))
    assert bash(team, "bb", "sta") == ["status"]
    assert bash(team, "bd", "show", "", cwd="/") == []
    assert not (team.path / "evil").exists()


@needs("fish")
def test_fish_offers_ids_with_descriptions(team):
    assert fish(team, "bd", "show", "") == ["bd-aaa1\tParser: fails", "bd-aaa2\t$(touch evil) `touch evil` %F{red}"]
    assert fish(team, "bb", "agent", "send", "am") == ["amber-otter\tui"]
    first, second = team.ids
    assert fish(team, "bb", "agent", "ack", "msg") == [f"{second}\tamber-otter: Second",
                                                       f"{first}\tamber-otter: First: $(touch evil)"]
    assert fish(team, "bb", "sta")[0].startswith("status\t")
    assert not (team.path / "evil").exists()


@pytest.fixture
def terminal(team):
    """An interactive shell in which the completion of bd and bb is loaded."""
    opened = []

    def open_shell(shell, *args, setup=""):
        folder = team.path.parent / "scripts"
        folder.mkdir()
        for program in ("bd", "bb"):
            (folder / f"_{program}").write_text(abacus(team, "completion", shell, program))
        project = Project(team.path)
        project.env = {**team.env, "PATH": PATH, "HOME": str(folder), "PS1": "ready> ", "ZDOTDIR": str(folder)}
        one = Terminal(project, shutil.which(shell), *args)
        opened.append(one)
        one.press(setup.format(folder=folder) + "; echo loa''ded\n")
        one.sees("loaded\r\n", 20)
        one.forget()
        return one

    yield open_shell
    for one in opened:
        one.press("\x03\x04")
        os.kill(one.pid, 9)
        os.waitpid(one.pid, 0)
        one.close()


@needs("bash")
def test_the_tab_key_of_bash_completes_ids(team, terminal):
    shell = terminal("bash", "--norc", "-i", setup=". {folder}/_bd; . {folder}/_bb")
    shell.press("bd show bd-aaa\t\t")
    shell.sees("bd-aaa1  bd-aaa2")
    shell.press("1 --json\n")
    shell.sees('"title":"Parser: fails"')
    shell.press("bb agent send am\t")
    shell.sees("amber-otter ")
    shell.press("\x15bb agent ack " + team.ids[1][:-4] + "\t\n")
    shell.sees("Accepted")


@needs("zsh")
def test_the_tab_key_of_zsh_completes_ids_with_descriptions(team, terminal):
    shell = terminal("zsh", "-f", "-i", setup="fpath=({folder} $fpath); autoload -U compinit; compinit -u -D")
    shell.press("bd show bd-aaa\t")
    shell.sees("bd-aaa1  -- Parser: fails")
    shell.sees("bd-aaa2  -- $(touch evil) `touch evil` %F{red}")
    shell.press("1 --json\n")
    shell.sees('"title":"Parser: fails"')
    shell.press("bb agent send \t")
    shell.sees("amber-otter    -- ui")
    shell.press("\x15bb agent ack msg\t\t")
    shell.sees("-- amber-otter: Second")
    shell.sees("-- amber-otter: First: $(touch evil)")
    shell.press("\x15bb agent ack " + team.ids[1][:-4] + "\t\n")
    shell.sees("Accepted")
    assert not (team.path / "evil").exists()


@needs("zsh")
def test_the_script_of_zsh_can_also_be_sourced(team, terminal):
    shell = terminal("zsh", "-f", "-i", setup="autoload -U compinit; compinit -u -D; . {folder}/_bd")
    shell.press("bd show bd-aaa\t")
    shell.sees("bd-aaa1  -- Parser: fails")


def test_an_unknown_shell_is_refused(empty):
    done = empty.run("--json", "completion", "tcsh", program="abacus")
    assert done.code != 0
    assert done.error["code"] == "INVALID_INPUT"
