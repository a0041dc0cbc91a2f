"""Commands in the hints of errors, run as somebody who copies them would."""
import subprocess

from conftest import environment

SHELLS = ("sh", "bash")


def command_of(text, verb):
    """The command at the end of a hint. Nothing follows it, and no quotes are around it."""
    assert f": {verb}" in text, text
    return text[text.index(f": {verb}") + 2:]


def pasted(project, text, verb, shell="sh"):
    """Runs the command of a hint, and returns it."""
    command = command_of(text, verb)
    subprocess.run([shell, "-n", "-c", command], check=True, capture_output=True)
    subprocess.run([shell, "-c", command], cwd=project.path, check=False, capture_output=True, env=environment())
    return command
