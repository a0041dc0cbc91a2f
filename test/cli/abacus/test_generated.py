"""Generated from the tables: the reference, completion, manuals."""
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


# manuals

def test_the_manual_has_every_command(empty):
    text = abacus(empty, "man", "bb").replace("\\-", "-")
    assert text.startswith(".TH ")
    for command in COMMANDS:
        assert re.search(rf"^\.S[SH] .*bb {re.escape(command)}\b", text, re.M), command


def test_no_line_of_the_manual_is_taken_for_a_roff_request(empty):
    for program in ("bb", "abacus"):
        for line in abacus(empty, "man", program).splitlines():
            if line[:1] in (".", "'"):
                assert re.match(r"\.(TH|SH|SS|TP|PP|B|I|BR|RS|RE|IP|nf|fi|br|EX|EE)\b", line), line


def test_groff_finds_no_error_in_the_manual(empty):
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"], input=abacus(empty, "man", "bb"),
                              text=True, capture_output=True)
        assert done.stderr == ""
        plain = re.sub(".\x08", "", done.stdout)
        for command in COMMANDS:
            assert f"bb {command}" in plain


def test_the_manual_of_an_unknown_program_is_an_error(empty):
    assert empty.run("man", "nope", program="abacus").code != 0
