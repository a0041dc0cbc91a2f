"""Bytes that are not UTF-8, in the name of a folder or in a file of a store: no crash, and JSON stays valid."""
import json
import os
import re
import shutil
import subprocess

import pytest
from stores import at, made, texts, update, world  # noqa: F401  (fixtures)
from test_terminal import COMMANDS

from conftest import BIN, environment

BAD = b"caf\xe9\xff"


def crashed(code):
    return code < 0 or code in (134, 139)


def check(world, *args, program, cwd=None):
    """In every case the output is UTF-8, JSON output is valid JSON, and no program crashes."""
    env = {os.fsencode(k): os.fsencode(v) for k, v in environment(**world.env).items()}
    done = subprocess.run([str(BIN / program), *args], cwd=cwd or world.path, env=env, capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert not crashed(done.returncode), (program, args, done.returncode, done.stderr)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0 or out or err or program == "vybe", (program, args)
    if "--json" in args or program == "vybe" and out.startswith("{"):
        assert out, (program, args, err)
        json.loads(out)
    return out + err


def check_all(world, programs=COMMANDS, cwd=None):
    shown = []
    for program in programs:
        for line in COMMANDS[program]:
            args = [world.message if word == "MESSAGE" else word for word in line.split()]
            shown.append(check(world, *args, program=program, cwd=cwd))
            if program in ("bd", "bb") and args[0] != "export":
                shown.append(check(world, *args, "--json", program=program, cwd=cwd))
    return "".join(shown)


# --- the name of the folder ---

@pytest.mark.parametrize("program", COMMANDS)
def test_in_a_project_whose_folder_is_not_utf8(world, tmp_path, program):
    place = os.path.join(os.fsencode(tmp_path), BAD)
    os.rename(os.fsencode(tmp_path / "w"), place)
    world.env["HOME"] = os.fsdecode(place)
    check_all(world, [program], cwd=os.path.join(place, b"proj"))


@pytest.mark.parametrize("program", COMMANDS)
def test_in_a_folder_that_is_not_utf8_and_has_nothing(world, tmp_path, program):
    place = os.path.join(os.fsencode(tmp_path), BAD)
    os.mkdir(place)
    world.env["HOME"] = os.fsdecode(place)
    check_all(world, [program], cwd=place)


def test_an_installed_command_never_names_another_path(world, tmp_path):
    """A file of a host is UTF-8: a path that is not cannot be written there, so it is refused."""
    place = os.path.join(os.fsencode(tmp_path), BAD)
    os.rename(os.fsencode(tmp_path / "w"), place)
    world.env["HOME"] = os.fsdecode(place)
    home = os.path.join(place, b"proj")
    for program, args in (("bb", ["install", "claude", "--write"]), ("abacus", ["install", "claude", "--write"]),
                          ("vybe", ["hook", "install", "--project"])):
        check(world, *args, program=program, cwd=home)
    for folder, _, names in os.walk(home):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                if b".git" not in folder and name.endswith((b".json", b".toml", b".js")):
                    assert "\ufffd".encode() not in file.read(), name


def test_hooks_are_not_installed_from_a_program_whose_path_is_not_utf8(world, tmp_path):
    place = os.path.join(os.fsencode(tmp_path), BAD)
    os.mkdir(place)
    shutil.copy(BIN / "abacus", os.path.join(place, b"abacus"))
    done = subprocess.run([os.path.join(place, b"abacus"), "vybe", "hook", "install", "--project"], cwd=world.path,
                          env=environment(**world.env), capture_output=True)
    reply = json.loads(done.stdout)
    assert (done.returncode, reply["error_code"]) == (1, "INVALID_INPUT") and "caf\ufffd\ufffd" in reply["error"]
    assert not (world.path / ".claude").exists()


# --- files ---

FILES = [".beadboard/agent/agents/amber-otter.json", ".beadboard/agent/agents/history.jsonl",
         ".beadboard/agent/reservations/history.jsonl", ".beadboard/agent/reservations/active.json",
         ".beadboard/agent/events.jsonl", ".beadboard/agent/messages/boxes/amber-otter.json",
         ".beadboard/agent/messages/index/MESSAGE.json", ".beadboard/agent/messages/amber-otter.jsonl",
         ".git/abacus/journal.1", ".git/abacus/sync.json"]

STRING = re.compile(rb'("\w+":"[^"]*)"')


def every_string(data, byte=b"\xff"):
    """The file with the byte in one string, for each of its strings."""
    for found in STRING.finditer(data):
        yield data[:found.end() - 1] + byte + data[found.end() - 1:]


HOW = {
    "a byte in a string": lambda data: data.replace(b'":"', b'":"\xff', 3),
    "a byte in the last string": lambda data: b'":"\xff'.join(data.rsplit(b'":"', 1)),
    "a byte at the start": lambda data: b"\xff" + data,
    "a byte at the end": lambda data: data[:-1] + b"\xff\n",
    "a line of bytes": lambda data: data + b"\xff\xfe\x00\n",
    "cut off": lambda data: data[:len(data) // 2],
    "empty": lambda data: b"",
    "an array": lambda data: b"[]\n",
    "other types": lambda data: data.replace(b'":"', b'":["', 2).replace(b'","', b'"],"', 2),
    "a number with a zero": lambda data: data.replace(b'"epoch":', b'"epoch":0'),
    "a long number": lambda data: data.replace(b":1", b":" + b"9" * 400, 2),
}


READERS = {
    "agents": [("bb", "agent list"), ("bb", "agent show --agent amber-otter"), ("abacus", "sessions")],
    "reservations": [("bb", "agent status"), ("bb", "agent status --agent blue-heron"), ("abacus", "sessions"),
                     ("bb", "agent reserve --agent amber-otter --scope other.c --bead bd-b"), ("bb", "agent status")],
    "events": [("bb", "agent events"), ("abacus", "conversation bd-a")],
    "messages": [("bb", "agent inbox --agent amber-otter"), ("bb", "agent read --agent amber-otter --message MESSAGE"),
                 ("bb", "agent status"), ("abacus", "conversation bd-a")],
    "abacus/": [("bd", "list"), ("bd", "show bd-a"), ("bd", "create x"), ("bd", "doctor"), ("bd", "validate"), ("bd", "status"),
                ("bd", "sync"), ("bd", "repair"), ("bd", "history bd-a"), ("vybe", "resume --peek"), ("vybe", "task list"),
                ("abacus", "conversation bd-a")],
}


def read_file(world, name):
    """The commands that read a file."""
    for program, line in next(READERS[part] for part in READERS if part in name):
        args = [world.message if word == "MESSAGE" else word for word in line.split()]
        check(world, *args, program=program)
        if program in ("bb", "bd"):
            check(world, *args, "--json", program=program)



@pytest.mark.parametrize("name", FILES)
def test_a_file_with_such_bytes(world, name):
    file = world.path / name.replace("MESSAGE", world.message)
    good = file.read_bytes()
    for how in HOW:
        file.write_bytes(HOW[how](good))
        read_file(world, name)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(".beadboard")])
def test_a_byte_in_each_string_of_a_file(world, name):
    file = world.path / name.replace("MESSAGE", world.message)
    good = file.read_bytes()
    if "reservations/history" in name:  # which is read where the snapshot does not know all of it
        good += good.splitlines(keepends=True)[0].replace(b"src/*", b"doc/*")
    for data in every_string(good):
        file.write_bytes(data)
        read_file(world, name)


@pytest.mark.parametrize("value", ["CAST(X'ff61ff' AS TEXT)", "X'00ff'", "NULL", "-1", "9223372036854775807", "1e300", "''"])
@pytest.mark.parametrize("store", ["board", "continuity"])
def test_a_database_with_such_values(world, store, value):
    """In the text columns, then in all columns."""
    database = world.database if store == "board" else world.continuity
    for types in (("TEXT", "TIMESTAMP"), ("TEXT", "TIMESTAMP", "INTEGER")):
        for table, column in list(texts(database, types)):
            update(database, table, column, value)
        check_all(world, ["bb"] if store == "board" else ["vybe"])


def test_a_branch_whose_name_is_not_utf8(world):
    subprocess.run([b"git", b"checkout", b"-q", b"-b", b"br\xe9\xff"], cwd=world.path, check=True, env=environment())
    check_all(world, ["bd"])
    assert check(world, "create", "on it", "--json", program="bd")


def test_the_environment(world):
    for name in ("BD_ACTOR", "BB_AGENT_ID", "BB_DIR", "VYBE_AGENT", "VYBE_DB_PATH", "HOME", "XDG_DATA_HOME", "USER"):
        world.env[name] = os.fsdecode(BAD)
        for program, args in (("bd", ["create", "x"]), ("bd", ["list"]), ("bb", ["status"]), ("bb", ["--as", "x", "post", "y"]),
                              ("bb", ["agent", "list"]), ("abacus", ["where"]), ("abacus", ["sessions"]), ("vybe", ["status"])):
            check(world, *args, program=program)
            if program != "vybe":
                check(world, *args, "--json", program=program)
        del world.env[name]
        world.env = {**at(world.path.parent).env, **world.env}


def test_git_configuration(world):
    config = world.path / ".git" / "config"
    config.write_bytes(config.read_bytes() + b"[user]\n\tname = caf\xe9\n\temail = \xff@x\n[remote \"origin\"]\n\turl = /caf\xe9\n")
    del world.env["BD_ACTOR"]
    check_all(world, ["bd"])


def test_programs_that_answer_lines_of_json(world, tmp_path):
    place = os.path.join(os.fsencode(tmp_path), BAD)
    os.rename(os.fsencode(tmp_path / "w"), place)
    asked = {
        ("abacus", "pipe"): [{"op": op} for op in ("where", "bead list", "bead where", "board summary", "sessions", "agent status")],
        ("bb", "mcp"): [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
                         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
                        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "bb_summary", "arguments": {}}}],
    }
    for words, lines in asked.items():
        done = subprocess.run([str(BIN / words[0]), words[1]], cwd=os.path.join(place, b"proj"), env=environment(**world.env),
                              input="".join(json.dumps(line) + "\n" for line in lines).encode(), capture_output=True, timeout=60)
        assert done.returncode == 0 and len([json.loads(line) for line in done.stdout.splitlines()]) == len(lines), done


# --- mail ---

def test_counts_of_mail_are_never_below_zero(world):
    """Neither if the snapshot has such a count, nor if the line that sent a message is missing."""
    record, box = world.agents / "messages" / "amber-otter.jsonl", world.agents / "messages" / "boxes" / "amber-otter.json"

    def unread():
        agents = world.json("sessions", program="abacus")["agents"]
        return next(agent["unread"] for agent in agents if agent["agent_id"] == "amber-otter")
    box.write_text(json.dumps({**json.loads(box.read_text()), "unread": -5}))
    assert unread() == 1
    world.bb("agent", "read", "--agent", "amber-otter", "--message", world.message).ok()
    record.write_bytes(b"".join(line + b"\n" for line in record.read_bytes().splitlines()[1:]))
    box.unlink()
    assert unread() == 0
