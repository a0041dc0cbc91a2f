"""Global options, and how a command line is parsed."""
import pathlib
import re

import pytest

from board import at, counts, ids, on_terminal

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMANDS = ["init", "install", "destroy", "status", "status set", "status get", "status clear", "log", "post",
            "message", "artifacts", "artifact add", "artifact show", "refs", "clear", "export", "summary", "mcp"]
GLOBAL = ["--as", "--json", "--dir", "--quiet"]


@pytest.mark.parametrize("args", [
    ["--as", "k", "--json", "post", "x", "--tag", "t"], ["post", "x", "--tag", "t", "--as", "k", "--json"],
    ["post", "--tag", "t", "--json", "x", "--as", "k"], ["--as=k", "post", "--json", "--tag=t", "x"],
    ["post", "-t", "t", "x", "--json", "--as=k"], ["post", "-tt", "x", "--json", "--as=k"],
    ["--json", "post", "--as", "k", "-t", "t", "--", "x"]])
def test_options_can_be_before_or_after_the_command_joined_or_separate(project, args):
    got = project.bb(*args).ok().json
    assert (got["from_agent"], got["content"], got["tags"]) == ("k", "x", ["t"])


def test_a_global_option_can_be_between_the_words_of_a_command(project):
    got = project.bb("status", "--as", "k", "set", "--json", "T").ok().json
    assert (got["id"], got["current_task"]) == ("k", "T")


def test_a_value_may_look_like_a_command(project):
    assert project.json("--as", "status", "post", "log")["from_agent"] == "status"


def test_a_value_may_begin_with_a_dash(project):
    assert project.json("post", "--tag=-x", "a")["tags"] == ["-x"]
    assert project.json("status", "set", "--blockers=--as")["blockers"] == "--as"


def test_an_equals_sign_in_a_value_stays(project):
    assert project.json("post", "x", "--tag=a=b")["tags"] == ["a=b"]


def test_everything_after_two_dashes_is_an_argument(project):
    assert project.json("post", "--", "--json")["content"] == "--json"
    assert project.json("post", "--", "-t")["content"] == "-t"
    assert project.json("status", "set", "--", "--progress")["current_task"] == "--progress"


def test_two_dashes_before_the_command_are_harmless(project):
    assert project.bb("--json", "--", "log").ok().json == []


def test_an_empty_value_is_a_value(project):
    assert project.json("status", "set", "T", "--blockers=")["blockers"] in (None, "")


@pytest.mark.parametrize("args", [["log", "--limt", "3"], ["log", "--nope"], ["--nope", "log"], ["log", "-x"],
                                  ["post", "x", "--json-x"], ["log", "--confirm"], ["-x"], ["--nope"]])
def test_an_unknown_option_is_a_usage_error(project, args):
    done = project.bb(*args)
    assert done.code == 2
    assert done.out == ""
    named = [a for a in args if a.startswith("-")][0]
    assert f"'{named}'" in done.err


@pytest.mark.parametrize("wrong, right", [
    (["log", "--limt", "3"], "--limit"), (["log", "--prioritiy", "high"], "--priority"), (["--jsn", "log"], "--json"),
    (["post", "x", "--replyto", "1"], "--reply-to"), (["post", "x", "--tags", "a"], "--tag"),
    (["clear", "--artifact"], "--artifacts"), (["log", "--qiet"], "--quiet")])
def test_a_near_miss_of_an_option_is_suggested(project, wrong, right):
    done = project.bb(*wrong)
    assert done.code == 2
    line = re.search(r"^Did you mean: bb (.*)$", done.err, re.M).group(1)
    assert line.split() == [right if word.startswith("--") and word != "--json" else word for word in wrong]


@pytest.mark.parametrize("args", [["log", "-a"], ["log", "-a", "3"], ["log", "--a"], ["s"], ["log", "--session", "s"]])
def test_a_single_letter_or_another_word_gets_no_guess(project, args):
    done = project.bb(*args)
    assert done.code == 2
    assert "Did you mean" not in done.err


@pytest.mark.parametrize("wrong, right", [
    (["statu"], "bb status"), (["pots", "x"], "bb post"), (["lgo"], "bb log"), (["sumary"], "bb summary"),
    (["artefacts"], "bb artifacts"), (["status", "ste", "x"], "bb status set"), (["ref", "a:b:1"], "bb refs"),
    (["artifact", "ad", "x", "y"], "bb artifact add"), (["messages", "1"], "bb message"), (["Log"], "bb log")])
def test_a_near_miss_of_a_command_is_suggested_and_not_run(project, wrong, right):
    done = project.bb(*wrong)
    assert done.code == 2
    line = re.search(r"Did you mean: (.*)$", done.err, re.M).group(1)
    assert line.split() == [*right.split(), *wrong[len(right.split()) - 1:]]
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("args", [["frobnicate"], ["xyzzy", "set"]])
def test_a_word_unlike_any_command_gets_no_suggestion(project, args):
    done = project.bb(*args)
    assert done.code == 2
    assert "Did you mean" not in done.err
    assert "--help" in done.err


def test_no_suggestion_is_destructive(project):
    for word in ("destory", "destro", "cler", "clea"):
        error = project.fails(word)
        assert "--confirm" not in error["details"]["next_step"]


@pytest.mark.parametrize("args", [["log", "--limit"], ["post", "x", "-t"], ["--as"], ["--dir"], ["post", "--ref"]])
def test_an_option_without_its_value_is_a_usage_error(project, args):
    done = project.bb(*args)
    assert done.code == 2
    assert args[-1] in done.err


@pytest.mark.parametrize("args", [["log", "x"], ["status", "get", "a", "b"], ["init", "x"], ["export", "x"],
                                  ["message", "1", "2"], ["summary", "x"], ["artifact", "add", "a", "b", "c"]])
def test_one_argument_too_many_is_a_usage_error(project, args):
    done = project.bb(*args)
    assert done.code == 2
    assert f"'{args[-1]}'" in done.err


def test_a_usage_error_is_json_wherever_the_json_flag_is(project):
    for args in (["--json", "log", "--nope"], ["log", "--nope", "--json"], ["--nope", "--json", "log"],
                 ["nope", "--json"], ["--json", "nope"], ["log", "x", "--json"], ["--json", "log", "--limit"]):
        done = project.bb(*args)
        assert done.code == 2
        assert done.error["code"] == "INVALID_INPUT", args
        assert done.err == ""


def test_json_after_two_dashes_is_not_the_flag(project):
    done = project.bb("nope", "--", "--json")
    assert done.code == 2
    assert done.out == ""


def test_the_last_of_a_repeated_option_counts(project):
    project.bb("post", "x").ok()
    project.bb("post", "y").ok()
    assert ids(project.json("log", "--limit", "5", "--limit", "1")) == [2]
    assert project.json("--as", "a", "--as", "b", "post", "x")["from_agent"] == "b"


def test_short_options_can_be_joined(project):
    project.bb("post", "x").ok()
    assert project.bb("log", "-qn", "1").ok().out == project.bb("log", "-q", "-n", "1").ok().out


# --quiet

@pytest.mark.parametrize("args", [["post", "x"], ["status", "set", "T"], ["status", "clear"],
                                  ["artifact", "add", "f", "d"], ["clear", "--artifacts", "--confirm"],
                                  ["destroy", "--confirm"]])
def test_a_quiet_write_prints_nothing(project, args):
    (project.path / "f").write_text("x")
    done = project.bb("--quiet", *args).ok()
    assert (done.out, done.err) == ("", "")


def test_a_quiet_read_still_prints_its_result(project):
    project.bb("post", "the body", env=at()).ok()
    assert project.bb("-q", "log", env=at()).ok().out == project.bb("log", env=at()).ok().out


def test_quiet_leaves_json_alone(project):
    assert project.bb("-q", "--json", "post", "x").ok().json["id"] == 1


def test_quiet_hides_no_error(project):
    done = project.bb("-q", "message", "7")
    assert done.code == 1
    assert "7" in done.err


# help and version

def test_help_names_every_command_and_global_option(empty):
    out = empty.bb("--help").ok().out
    for command in COMMANDS:
        assert re.search(rf"^  {re.escape(command)}  ", out, re.M), command
    for option in GLOBAL + ["--request-id", "--version", "--help"]:
        assert option in out
    for name in ("BB_AGENT_ID", "BB_DIR", "NO_COLOR", "ABACUS_NOW"):
        assert name in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_without_a_board(empty, command):
    words = command.split()
    done = empty.bb(*words, "--help").ok()
    assert f"bb {command}" in done.out
    assert done.err == ""
    assert empty.bb(*words, "-h").ok().out == done.out
    assert empty.bb("--help", *words).ok().out == done.out
    assert not (empty.path / ".bb").exists()


@pytest.mark.parametrize("args", [["destroy", "--confirm", "--help"], ["post", "x", "--help"],
                                  ["clear", "--artifacts", "--confirm", "-h"]])
def test_help_has_no_side_effect(project, args):
    project.bb(*args).ok()
    assert counts(project) == (0, 0, 0)
    assert project.database.exists()


@pytest.mark.parametrize("program", ["bb", "bd"])
def test_help_separates_variables_from_their_meanings(empty, program):
    told = empty.run("--help", program=program).ok().out.split("Environment\n")[1].split("\n\n")[0]
    assert all(re.fullmatch("  [A-Z_]+ {2,}[^ ].*", line) for line in told.splitlines()), told


def test_help_is_at_most_100_columns_wide(empty):
    for command in [[], *[c.split() for c in COMMANDS]]:
        for line in empty.bb(*command, "--help").ok().out.splitlines():
            assert len(line) <= 100, line


def test_the_help_of_a_group_lists_its_commands(empty):
    out = empty.bb("artifact", "--help").ok().out
    assert "artifact add" in out and "artifact show" in out
    assert "summary" not in out


def test_a_group_without_a_command_lists_its_commands(empty):
    done = empty.bb("artifact")
    assert done.code == 2
    assert "Run 'bb artifact --help' to see its commands." in done.err


def test_the_help_of_a_wrong_command_is_an_error(empty):
    assert empty.bb("frobnicate", "--help").code == 2


def test_help_is_also_a_word(empty):
    assert empty.bb("help").ok().out == empty.bb("--help").ok().out
    assert empty.bb("help", "log").ok().out == empty.bb("log", "--help").ok().out


def test_version_is_the_projects(empty):
    version = (ROOT / "VERSION").read_text().strip()
    assert empty.bb("--version").ok().out == f"bb version {version}\n"
    assert empty.run("--version", program="abacus").ok().out == f"abacus version {version}\n"


def test_version_of_an_artifact_is_not_the_version_of_the_program(project):
    (project.path / "f").write_text("x")
    assert project.json("artifact", "add", "f", "d", "--version", "7")["version"] == "7"
    assert project.json("artifact", "add", "f", "d", "--version=8")["version"] == "8"


def test_abacus_bb_is_bb(project):
    project.bb("post", "x", env=at()).ok()
    assert project.run("bb", "log", program="abacus", env=at()).ok().out == project.bb("log", env=at()).ok().out
    assert project.run("bb", "nope", program="abacus").code == 2


def test_without_a_command_bb_prints_its_help(empty):
    done = empty.bb()
    assert "Usage" in done.out + done.err


def test_json_mode_prints_nothing_but_json(project):
    project.bb("post", "x").ok()
    done = project.bb("--json")
    assert done.out == "" or done.json


# colour

def test_colour_is_for_terminals_only(project):
    project.bb("post", "x", "--priority", "critical").ok()
    project.bb("status", "set", "T", "--blockers", "b").ok()
    for args in (["log"], ["status"], ["summary"], ["artifacts"]):
        assert "\x1b" not in project.bb(*args).ok().out
    shown, code = on_terminal(project, "log")
    assert code == 0
    assert "\x1b[" in shown


@pytest.mark.parametrize("args", [["log"], ["status"], ["summary"]])
def test_no_color_is_honoured(project, args):
    project.bb("post", "x", "--priority", "critical").ok()
    assert "\x1b" not in on_terminal(project, *args, env={"NO_COLOR": "1"})[0]


def test_json_is_never_coloured(project):
    project.bb("post", "x", "--priority", "critical").ok()
    assert "\x1b" not in on_terminal(project, "log", "--json")[0]


def test_colour_does_not_move_the_columns(project):
    project.bb("--as", "kimi", "status", "set", "T", "--blockers", "b", env=at()).ok()
    project.bb("--as", "k", "status", "set", "U", "--progress", "100", env=at()).ok()
    shown = re.sub(r"\x1b\[[0-9;]*m", "", on_terminal(project, "status", env=at())[0]).replace("\r\n", "\n")
    assert shown == project.bb("status", env=at()).ok().out


# the clock

@pytest.mark.parametrize("now, stamp", [
    ("1767225600000", "2026-01-01T00:00:00.000Z"), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
    ("2026-01-01T02:00:00.5+02:00", "2026-01-01T00:00:00.500Z"), ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z")])
def test_the_clock_can_be_given(project, now, stamp):
    assert project.json("post", "x", env={"ABACUS_NOW": now})["created_at"] == stamp


@pytest.mark.parametrize("now", ["bad", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "12x", "2026-01-01"])
def test_an_invalid_clock_is_an_error_and_nothing_is_written(project, now):
    assert project.fails("post", "x", env={"ABACUS_NOW": now})["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


def test_a_required_option_can_be_given_by_its_value_alone(project):
    project.bb("agent", "register", "amber-otter", "ui").ok()
    assert project.bb("--json", "agent", "show", "amber-otter").ok().json["data"]["role"] == "ui"
    reserved = ["agent", "reserve", "src/a.c", "--bead", "b1", "--as", "amber-otter"]
    assert project.bb("--json", *reserved).ok().json["data"]["scope"] == "src/a.c"
    assert project.bb("agent", "release", "--as", "amber-otter", "src/a.c").ok()


def test_an_argument_too_many_is_refused_also_beside_required_options(project):
    project.bb("agent", "register", "amber-otter", "ui").ok()
    for words in (["agent", "show", "amber-otter", "x"], ["agent", "show", "x", "--agent", "amber-otter"]):
        done = project.bb(*words)
        assert done.code == 2 and "unexpected argument 'x'" in done.err


@pytest.mark.parametrize("program", ["bd", "bb", "vybe", "abacus"])
def test_every_line_of_the_overview_of_commands_fits_80_columns(project, program):
    for line in project.run("--help", program=program).ok().out.splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("words, usage", [
    (["run"], "abacus run [--need NAME:N…] [--timeout DURATION] -- COMMAND…"),
    (["on"], "abacus on [EVENT] [--label LABEL…] [--remove N] [--run] [--jobs N] [-- COMMAND…]")])
def test_a_usage_ends_with_the_command_that_is_to_be_run(project, words, usage):
    assert usage in " ".join(project.run(*words, "--help", program="abacus").ok().out.split())
