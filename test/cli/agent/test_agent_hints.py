"""bb agent: the commands in the hints of errors are complete, and work when pasted."""
import pytest

from board import at
from conftest import Project
from hints import command_of, quoted_commands, run_command
from test_agent_identity import agent, data, register

OWNER, OTHER = "amber-otter", "cobalt-harbor"


@pytest.fixture
def two(tmp_path):
    project = Project(tmp_path)
    for name in (OWNER, OTHER):
        register(project, name, env=at())
    data(project, "reserve", "--agent", OWNER, "--scope", "it's/*", "--bead", "b-1", env=at())
    return project


def hint(project, *words, **kw):
    return agent(project, *words, **kw)["error"]["hint"]


RESERVE = ["reserve", "--agent", OTHER, "--scope", "it's/*", "--bead", "b-2"]
GUARD = ["guard", "--agent", OTHER, "it's/x"]


@pytest.mark.parametrize("words", [RESERVE, GUARD, ["reserve", "--agent", OTHER, "--scope", "it's", "--bead", "b-2", "--strict"]],
                         ids=["reserve", "guard", "strict"])
def test_the_command_of_a_hint_waits_for_the_scope(two, words):
    command = command_of(hint(two, *words, env=at(m=1)), "bb agent wait ")
    data(two, "release", "--agent", OWNER, "--scope", "it's/*", env=at(m=1))
    assert "free" in run_command(two, command, env=at(m=1)).ok().out


@pytest.mark.parametrize("words", [RESERVE, GUARD], ids=["reserve", "guard"])
def test_the_command_of_a_hint_takes_over(two, words):
    command = command_of(hint(two, *words, env=at(m=20)), "bb agent reserve ")
    run_command(two, command, env=at(m=20)).ok()
    assert agent(two, *GUARD, env=at(m=20))["ok"]


def test_the_command_of_a_hint_registers_the_agent(two):
    words = ["heartbeat", "--agent", "late-fox"]
    for command in quoted_commands(hint(two, *words)):
        run_command(two, command).ok()
    assert agent(two, *words)["ok"]


def test_the_command_of_a_hint_lists_the_mail_of_the_agent(two):
    [command] = quoted_commands(hint(two, "ack", "--agent", OTHER, "--message", "msg_x"))
    run_command(two, command).ok()
    assert OTHER in command
