"""Every option for a duration accepts 30m, 2h and 1h30m; a bare number keeps its old unit. The board accepts only a
number and one unit."""
import json

import pytest

from board import at
from test_agent_identity import agent, data, register

# The options by program: the command line up to the value of the option.
DURATIONS = {
    "abacus": [["serve", "--idle"], ["work", "bd-1", "--lease"], ["run", "--need", "build", "--timeout"]],
    "bb": [["log", "--since"], ["clear", "--messages-before"], ["agent", "wait", "--agent", "amber-otter", "--timeout"],
           ["agent", "inbox", "--agent", "amber-otter", "--wait"],
           ["agent", "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-1", "--ttl"],
           ["agent", "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-1", "--timeout"]],
    "bd": [["claim", "bd-1", "--lease"], ["ready", "--claim", "--lease"], ["update", "bd-1", "--claim", "--lease"],
           ["renew", "bd-1", "--lease"], ["renew", "bd-1", "--exclusive", "--timeout"], ["claim", "bd-1", "--exclusive", "--timeout"],
           ["ready", "--claim", "--exclusive", "--timeout"], ["update", "bd-1", "--claim", "--exclusive", "--timeout"],
           ["reclaim", "--older-than"], ["sync", "--timeout"], ["repair", "--timeout"], ["stale", "--days"],
           ["create", "x", "--estimate"], ["update", "bd-1", "--estimate"]],
    "vybe": [["memory", "set", "--key", "k", "--value", "v", "--expires-in"], ["loop", "--task-timeout"],
             ["loop", "--cooldown"], ["loop", "--max-wait"]],
}


STRICT = [["log", "--since"], ["clear", "--messages-before"]]


def rows():
    return [(program, words) for program, lines in DURATIONS.items() for words in lines]


def test_every_duration_option_is_tested(empty):
    """The reference lists the options that take a duration."""
    shown = {}
    for line in empty.run("docs", program="abacus").ok().out.splitlines():
        if line.startswith("### `"):
            command = line[5:-1]
        if line.startswith("| `") and " DURATION`" in line:
            shown[f"{command} {line.split('`')[1].split()[-2]}"] = True
    def command_of(program, words):
        options = [w for w in words if w.startswith("--")]
        return [s for s in shown if s.startswith(f"{program} {words[0]}") and s.endswith(f" {options[-1]}")]

    assert all(command_of(program, words) for program, words in rows())
    named = {s for program, words in rows() for s in command_of(program, words)}
    assert set(shown) == named


@pytest.mark.parametrize("program, words", rows())
@pytest.mark.parametrize("wrong", ["soon", "h", "1h30", "30m1h", "-1h", "1.5h", ""])
def test_an_invalid_duration_is_refused_with_an_example(repo, program, words, wrong):
    env = {"VYBE_REQUEST_ID": "r", "VYBE_AGENT": "a", "BD_ACTOR": "a"}
    done = repo.run(*words, wrong, *([] if program == "vybe" else ["--json"]), program=program, env=env)
    reply = json.loads(done.out)
    assert done.code != 0
    text = json.dumps(reply)
    assert words[-1] in text
    if wrong not in ("", "-1h"):
        assert ("1h30m" in text) == (words not in STRICT), text


@pytest.mark.parametrize("words", STRICT, ids=" ".join)
@pytest.mark.parametrize("text", ["1h30m", "1w1d", " 2h5m"])
def test_the_board_takes_a_number_and_one_unit(empty, words, text):
    empty.run("init").ok()
    assert empty.fails(*words, text)["code"] == "INVALID_INPUT"
    assert empty.run(*words, " 2h ", *(["--confirm"] if "clear" in words else [])).code == 0


@pytest.mark.parametrize("text, minutes", [("30m", 30), ("2h", 120), ("1h30m", 90), ("45", 45), ("1d", 1440), ("300s", 5)])
def test_the_time_of_a_reservation(empty, text, minutes):
    register(empty, "amber-otter", env=at())
    made = data(empty, "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "b", "--ttl", text, env=at())
    assert made["expires_at"] == f"2026-01-0{1 + minutes // 1440}T{minutes // 60 % 24:02}:{minutes % 60:02}:00.000Z"


@pytest.mark.parametrize("text", ["4", "4m", "1441", "2d", "90s"])
def test_a_reservation_outside_its_limits_is_refused(empty, text):
    register(empty, "amber-otter")
    reply = agent(empty, "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "b", "--ttl", text)
    assert reply["error"]["code"] == "INVALID_ARGS" and "--ttl must be " in reply["error"]["message"]


def test_the_age_of_stale_beads(repo):
    repo.create("old", env=at())
    for text, found in (("13", 1), ("13d", 1), ("1w", 1), ("15", 0), ("3w", 0), ("1w6d", 1)):
        assert len(repo.json("stale", "--days", text, env=at(d=14))) == found, text
    assert repo.fails("stale", "--days", "36h")["message"] == "--days must be a multiple of 1d, not '36h'"


@pytest.mark.parametrize("text, minutes", [("90", 90), ("90m", 90), ("1h30m", 90), ("2d", 2880)])
def test_the_estimate_of_a_bead(repo, text, minutes):
    bead = repo.create("x", "--estimate", text)
    assert minutes in repo.show(bead).values()


def test_over_json_a_number_keeps_its_unit_and_a_duration_is_taken_too(repo):
    register_line = {"op": "agent register", "params": {"name": "amber-otter", "role": "r"}}
    for ttl, end in ((30, "00:30"), ("1h30m", "01:30")):
        ask = {"op": "agent reserve", "params": {"agent": "amber-otter", "scope": "src", "bead": "bd-1", "ttl": ttl}}
        done = repo.run("pipe", program="abacus", env=at(),
                        stdin=(json.dumps(register_line) + "\n" + json.dumps(ask) + "\n").encode())
        assert f"2026-01-01T{end}:00.000Z" in done.out, done.out
