"""Every command in the hint of an error works when it is pasted, on all faces. A command that is a template has one
placeholder, which the hint explains."""
import json
import subprocess

import pytest

from conftest import Project, git
from hints import commands_in, placeholders, run_command

# What a reader puts in place of a placeholder.
VALUES = {"ID": "bd-aaa1", "WORD": "parser", "NAME": "new-one", "PROGRAM": "bd"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project that uses every store, made once; and a folder without stores."""
    base = tmp_path_factory.mktemp("hints")
    path = base / "proj"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    project = Project(path)
    for program, words in [
            ("abacus", ["init"]), ("bd", ["create", "The parser", "--id", "bd-aaa1"]),
            ("bd", ["create", "The lexer", "--id", "bd-aaa2"]), ("bd", ["create", "Deleted", "--id", "bd-gone"]),
            ("bd", ["delete", "bd-gone", "--force"]), ("bd", ["create", "Closed", "--id", "bd-done"]),
            ("bd", ["close", "bd-done"]), ("bd", ["claim", "bd-aaa2", "--actor", "bob"]),
            ("bd", ["dep", "add", "bd-aaa1", "bd-aaa2"]),
            ("bb", ["agent", "register", "--name", "amber-otter", "--role", "ui"]),
            ("bb", ["agent", "register", "--name", "cobalt-harbor", "--role", "ui"]),
            ("bb", ["agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "bd-aaa1"]),
            ("bb", ["--as", "kim", "post", "hello"]),
            ("vybe", ["memory", "set", "--agent", "a", "--request-id", "q1", "--key", "k", "--value", "v"])]:
        project.run(*words, program=program).ok()
    project.run("sync", program="bd").ok()
    (base / "empty").mkdir()
    (base / "git").mkdir()
    git(base / "git", "init", "-q", "-b", "main")
    return base


@pytest.fixture
def folders(made, tmp_path):
    subprocess.run(["cp", "-a", str(made), str(tmp_path / "copy")], check=True)
    return tmp_path / "copy"


SITUATIONS = [
    # wrong commands and options
    ("proj", "bd lst"), ("proj", "bd shwo bd-aaa1"), ("proj", "bd nonsense"), ("proj", "bd dep"), ("proj", "bd list --statsu open"),
    ("proj", "bb lgo"), ("proj", "bb agent"), ("proj", "bb agent lsit"), ("proj", "bb agnet list"), ("proj", "vybe tsak"),
    ("proj", "vybe hook install --no-such"), ("proj", "abacus sttaus"), ("proj", "abacus doctor --nonsense"), ("proj", "abacus pipe x"),
    # missing and wrong values
    ("proj", "bd show"), ("proj", "bd list --limit"), ("proj", "bd list --limit many"), ("proj", "bd list --status opne"),
    ("proj", "bd create ''"), ("proj", "bd create x -p 9"), ("proj", "bd create x -t nonsense"), ("proj", "bd create -f missing.md"),
    ("proj", "bd config set sync.auto maybe"), ("proj", "bd config get nope"), ("proj", "bd comment bd-aaa1"),
    ("proj", "bd label add bd-aaa1"), ("proj", "bd dep add bd-aaa1 bd-aaa1"), ("proj", "bd edit bd-aaa1"),
    ("proj", "bb message x"), ("proj", "bb status set"), ("proj", "bb clear"), ("proj", "bb install nope"), ("proj", "bb refs x"),
    ("proj", "bb agent send"), ("proj", "bb agent read"), ("proj", "bb agent register --name new-one"),
    ("proj", "bb agent reserve --as cobalt-harbor --scope src"), ("proj", "bb agent send cobalt-harbor --as amber-otter"),
    ("proj", "bb agent reserve --as cobalt-harbor --scope lib --bead b --ttl 2"), ("proj", "bb agent guard --as cobalt-harbor"),
    ("proj", "bb agent send cobalt-harbor hi --as amber-otter"), ("proj", "bb agent wait --as amber-otter --bead x"),
    ("proj", "vybe task get"), ("proj", "vybe task set-status --id bd-aaa1 --status done --agent a --request-id 5"),
    ("proj", "vybe push --agent a --request-id 2 --json '{bad'"), ("proj", "vybe loop --agent a"),
    ("proj", "abacus completion tcsh"), ("proj", "abacus man nope"), ("proj", "abacus schema nope"), ("proj", "abacus install nope"),
    # unknown and ambiguous ids
    ("proj", "bd show bd-zzz"), ("proj", "bd show aaa"), ("proj", "bd show bd-gone"), ("proj", "bd undelete bd-aaa1"),
    ("proj", "bd history bd-zzz"), ("proj", "bd dep remove bd-aaa2 bd-done"), ("proj", "bd undo --actor nobody"),
    ("proj", "bd show bd-aaa1 --at 1234567"), ("proj", "bd graph bd-zzz"), ("proj", "bb message 999"), ("proj", "bb artifact show nope.txt"),
    ("proj", "bb status get nobody"), ("proj", "bb post x --reply-to 99"), ("proj", "bb agent show --agent nobody-x"),
    ("proj", "bb agent heartbeat --agent stranger"), ("proj", "bb agent send nobody-x hi --as amber-otter --bead bd-aaa1"),
    ("proj", "bb agent send amber-otter hi --as stranger --bead bd-aaa1"), ("proj", "bb agent read msg_x --as amber-otter"),
    ("proj", "bb agent read --as amber-otter"), ("proj", "bb agent inbox --agent amber-otter --after msg_x"),
    ("proj", "bb agent release --as amber-otter --scope nope"), ("proj", "vybe task get --id zzz"), ("proj", "vybe memory get --key nope"),
    ("proj", "vybe memory get --key nope --scope task --scope-id bd-aaa1"), ("proj", "abacus conversation zzz"),
    # lost races and rules
    ("proj", "bd claim bd-aaa2 --actor eve"), ("proj", "bd claim bd-done --actor eve"), ("proj", "bd close bd-aaa1 --actor eve"),
    ("proj", "bd close bd-aaa2 --actor eve"), ("proj", "bd update bd-aaa1 --title x --if-hash 0000"),
    ("proj", "bd unclaim bd-aaa1 --actor eve"), ("proj", "bd dep add bd-aaa2 bd-aaa1"), ("proj", "bd create x --id bd-aaa1"),
    ("proj", "bb agent reserve --as cobalt-harbor --scope 'src/*' --bead bd-aaa1"),
    ("proj", "bb agent release --as cobalt-harbor --scope 'src/*'"), ("proj", "bb agent release --as amber-otter --scope 'src/*' --epoch 9"),
    ("proj", "bb agent guard src/a --as cobalt-harbor"), ("proj", "bb agent register --name amber-otter --role ui"),
    ("proj", "vybe task begin --id bd-aaa2 --agent eve --request-id 1"),
    ("proj", "vybe memory set --agent a --request-id q1 --key k --value other"), ("proj", "bb destroy"),
    # no store, no repository
    ("empty", "bd list"), ("empty", "bd init"), ("git", "bd list"), ("git", "bd create x"), ("empty", "bb log"),
    ("empty", "bb --as k post x"), ("empty", "vybe task get --id x"),
]


def hint_of(done, command):
    """The second part of the error."""
    if command.startswith("vybe "):
        return json.loads(done.out)["suggested_action"]
    lines = [line for line in done.err.splitlines() if line]
    return lines[1] if len(lines) > 1 else lines[0]


def expected(command):
    """A wait for a scope that stays reserved exits with 1 after its timeout."""
    return (0, 1) if command.startswith("bb agent wait") else (0,)


@pytest.mark.parametrize("where, command", SITUATIONS)
def test_the_commands_of_a_hint_work(folders, where, command):
    project = Project(folders / where)
    done = run_command(project, command)
    assert done.code != 0, done.out
    hint = hint_of(done, command)
    assert "Check the spelling" not in hint and "Correct the value" not in hint
    if hint.startswith("Usage: "):
        assert hint.startswith(f"Usage: {' '.join(command.split()[:2])} ")
        return
    for pasted in commands_in(hint):
        if command.startswith("bb agent register --name amber-otter") and "--adopt" in pasted:
            continue  # only if that agent left unfinished work, as the hint says
        names = placeholders(pasted)
        assert len(set(names)) <= 1, hint
        for name in names:
            pasted = pasted.replace(name, VALUES[name])
        if pasted.startswith("bb agent wait"):
            pasted += " --timeout 0s"
        result = run_command(project, pasted, env={"BD_ACTOR": "eve"})
        assert result.code in expected(pasted), f"{hint}\n$ {pasted}\n{result.out}{result.err}"


def test_the_situations_are_many_and_differ():
    assert len(SITUATIONS) == len(set(SITUATIONS)) >= 90
