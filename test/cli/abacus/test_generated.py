"""What is made from the tables: the reference, completion, manuals."""
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BIN, environment

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMANDS = ["init", "install", "destroy", "status", "status set", "status get", "status clear", "log", "post",
            "message", "artifacts", "artifact add", "artifact show", "refs", "clear", "export", "summary", "mcp"]


def abacus(empty, *args):
    return empty.run(*args, program="abacus").ok().out


def test_the_reference_in_the_tree_is_up_to_date(empty):
    assert (ROOT / "doc/commands.md").read_text() == abacus(empty, "docs")


def test_the_reference_has_every_command_and_its_options(empty):
    text = abacus(empty, "docs")
    for command in COMMANDS:
        assert f"### `bb {command}`" in text, command
    for option in ("--reply-to", "--messages-before", "--since", "--blockers", "--request-id"):
        assert option in text


# completion

def complete(script, *words):
    """What bash offers after these words."""
    quoted = " ".join(f"'{w}'" for w in words)
    done = subprocess.run(["bash", "--norc", "-c", f"""{script}
COMP_WORDS=({quoted}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
f=$(complete -p bb); f=${{f##*-F }}; f=${{f%% *}}
$f bb "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}" """], capture_output=True, text=True,
                          env={**environment(), "PATH": f"{BIN}:{environment()['PATH']}"})
    assert done.stderr == ""
    return sorted(w.strip() for w in done.stdout.split("\n") if w.strip())


@pytest.fixture(scope="module")
def bash():
    return subprocess.run([str(BIN / "abacus"), "completion", "bash", "bb"], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("program", ["bb", "abacus"])
def test_the_bash_script_parses(empty, program):
    script = abacus(empty, "completion", "bash", program)
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).stderr == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_scripts_parse_where_the_shell_is_at_hand(empty, shell):
    script = abacus(empty, "completion", shell, "bb")
    assert "bb" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words, offered", [
    (["bb", "sta"], ["status"]), (["bb", "su"], ["summary"]), (["bb", "art"], ["artifact", "artifacts"]),
    (["bb", "status", "s"], ["set"]), (["bb", "artifact", ""], ["add", "show"]), (["bb", "log", "--li"], ["--limit"]),
    (["bb", "status", "set", "--pro"], ["--progress"]), (["bb", "status", "set", "--b"], ["--blockers"]),
    (["bb", "--as", "k", "sta"], ["status"]), (["bb", "--as", "k", "status", "set", "--pro"], ["--progress"]),
    (["bb", "--json", "log", "--si"], ["--since"]), (["bb", "log", "--priority", "cr"], ["critical"]),
    (["bb", "log", "-p", "h"], ["high"]), (["bb", "status", "set", "--status", "b"], ["blocked"]),
    (["bb", "install", "cl"], ["claude"]), (["bb", "artifact", "add", "--ver"], ["--version"]), (["bb", "--js"], ["--json"]),
    (["bb", "clear", "--me"], ["--messages-before"]), (["bb", "post", "x", "--rep"], ["--reply-to"]), (["bb", "zz"], [])])
def test_bash_completes(bash, words, offered):
    assert complete(bash, *words) == offered


def test_bash_offers_every_command(bash):
    assert {c.split()[0] for c in COMMANDS} <= set(complete(bash, "bb", ""))


def test_an_unknown_shell_is_refused(empty):
    done = empty.run("--json", "completion", "tcsh", program="abacus")
    assert done.code != 0
    assert done.error["code"] == "INVALID_INPUT"


# manuals

def test_the_manual_has_every_command(empty):
    text = abacus(empty, "man", "bb").replace("\\-", "-")
    assert text.startswith(".TH ")
    for command in COMMANDS:
        assert re.search(rf"^\.S[SH] .*bb {re.escape(command)}\b", text, re.M), command


def test_the_manual_has_no_line_that_roff_would_obey_by_mistake(empty):
    for program in ("bb", "abacus"):
        for line in abacus(empty, "man", program).splitlines():
            if line[:1] in (".", "'"):
                assert re.match(r"\.(TH|SH|SS|TP|PP|B|I|BR|RS|RE|IP|nf|fi|br|EX|EE)\b", line), line


def test_the_manual_is_clean_where_a_checker_is_at_hand(empty):
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"], input=abacus(empty, "man", "bb"),
                              text=True, capture_output=True)
        assert done.stderr == ""
        plain = re.sub(".\x08", "", done.stdout)
        for command in COMMANDS:
            assert f"bb {command}" in plain


def test_the_manual_of_an_unknown_program_is_an_error(empty):
    assert empty.run("man", "nope", program="abacus").code != 0
