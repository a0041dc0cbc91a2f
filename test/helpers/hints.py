"""Runs the commands in error hints, as a user who copies them would."""
import os
import re
import subprocess

from conftest import BIN, Result, environment

SHELLS = ("sh", "bash")


def command_of(text, verb):
    """The command at the end of a hint, unquoted and with nothing after it."""
    assert f": {verb}" in text, text
    return text[text.index(f": {verb}") + 2:]


def pasted(project, text, verb, shell="sh"):
    """Runs the command of a hint, and returns the command."""
    command = command_of(text, verb)
    subprocess.run([shell, "-n", "-c", command], check=True, capture_output=True)
    subprocess.run([shell, "-c", command], cwd=project.path, check=False, capture_output=True, env=environment())
    return command


def quoted_commands(text):
    """The commands of a hint that are in single quotes."""
    return re.findall(r"'((?:bd|bb|vybe|abacus|git) [^']*)'", text)


def run_command(project, command, env=None):
    """Runs a command of a hint with the programs of this build."""
    more = {**project.env, **(env or {}), "PATH": f"{BIN}:{os.environ['PATH']}"}
    return Result(subprocess.run(["sh", "-c", command], cwd=project.path, capture_output=True, check=False,
                                 env=environment(**more)))


PROGRAMS = "bd|bb|vybe|abacus|git"


def commands_in(text):
    """All commands of a hint: in single quotes, or at the end after a colon. The last may have quotes of its own."""
    last = re.search(rf": ((?:{PROGRAMS}) .*)$", text)
    rest = text[:last.start()] if last else text
    return quoted_commands(rest) + ([last.group(1)] if last else [])


def placeholders(command):
    """The placeholders of a command: ID, NAME."""
    return [word for word in re.findall(r"(?<![\w$-])[A-Z]{2,}(?![\w-])", command)]
