"""A file of a store that is far too large costs little memory, and counts as damage."""

import json
import re
import resource
import subprocess

import pytest
from stores import made, world  # noqa: F401  (fixtures)
from test_generated_stores import SANITIZED, run

HOLE = 256 << 20
MB = 1 << 20


def hole(file, size=HOLE):
    """Makes the file that large without using disk space."""
    with file.open("r+b") as out:
        out.truncate(file.stat().st_size + size)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs more memory")
@pytest.mark.parametrize("line", ["bd list", "bd create new", "bd doctor"])
def test_zeros_after_the_last_record_of_the_journal_are_not_held_in_memory(world, line):
    """A crash of the system can leave them; they were never acknowledged."""
    hole(world.journal)
    done = run(world, world, line)
    assert done.code == 0, done.err
    assert done.memory < HOLE, done.memory // MB
    assert "first of all" in world.run("list").ok().out


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs more memory")
@pytest.mark.parametrize("line", ["bb agent status", "bb agent inbox --agent amber-otter", "bb agent list", "abacus sessions"])
def test_a_snapshot_of_the_agents_that_is_too_large_is_rebuilt(world, line):
    for name in ("agents/amber-otter.json", f"messages/index/{world.message}.json", "messages/boxes/amber-otter.json", "reservations/active.json"):
        hole(world.agents / name, 1 << 33)
    done = run(world, world, line)
    assert done.code == 0, done.err
    assert done.memory < 64 * MB, done.memory // MB


RECORDS = {
    "messages/amber-otter.jsonl": "bb agent inbox --agent amber-otter",
    "agents/history.jsonl": "bb agent list",
    "reservations/history.jsonl": "bb agent status",
    "events.jsonl": "bb agent events",
}
FULL, MOST = 96 * MB, 128 * MB  # as in src/store/agent_files.h


def checks(world, *args):
    done = world.run("doctor", "--json", *args, program="abacus")
    return {c["file"].partition("/agent/")[2]: c for c in done.json["checks"] if c["store"] == "agents"}


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs more memory")
@pytest.mark.parametrize("unit", [b"\n", b"\r\n", b"x\n", b"[{},[[\n"], ids=["blank", "crlf", "text", "json"])
@pytest.mark.parametrize("name", RECORDS)
def test_many_damaged_lines_of_a_record_cost_little_and_are_one_warning(world, name, unit):
    """Blank lines are not damage."""
    record = world.agents / name
    before, many = record.read_bytes(), 200_000
    record.write_bytes(before + unit * many)
    for line in (RECORDS[name], "abacus sessions", "bb agent list"):
        done = run(world, world, line)
        assert done.code == 0, done.err
        assert done.memory < 64 * MB, done.memory // MB
        assert done.err.count(b"are damaged and were left out") <= 1
    done = run(world, world, RECORDS[name])
    said = f"{many} lines of '{name}' are damaged and were left out, the first of them line {before.count(10) + 1};"
    assert (said.encode() in done.err) is bool(unit.strip()), done.err


@pytest.mark.parametrize("name", RECORDS)
def test_doctor_lists_the_first_hundred_damaged_lines_of_a_record(world, name):
    record = world.agents / name
    before, many = record.read_bytes(), 100_000
    record.write_bytes(before + b"x\n" * many)
    done = run(world, world, "abacus doctor")
    assert done.code == 1 and (SANITIZED or done.memory < 64 * MB), done.memory // MB
    found = checks(world, "--fix")[name]
    first = before.count(10) + 1
    assert found["status"] == "fixed" and f"{many} lines are damaged" in found["message"]
    assert found["lost"] == [f"line {first + n}: x" for n in range(100)] + [f"and {many - 100} more lines"]
    assert record.read_bytes() == before


def test_doctor_searches_once_for_a_lost_line_end(world):
    """A line with many places that look like the end of an object used to take quadratic time."""
    record = world.agents / "messages/amber-otter.jsonl"
    record.write_bytes(record.read_bytes() + b'{"a":"' + b"}{" * 1_000_000 + b'"}\n')
    assert run(world, world, "abacus doctor").code == 1


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_is_too_large_is_refused_by_name_and_set_aside_by_doctor(world, name):
    """The error names the limit of this program, not one of the system."""
    record = world.agents / name
    size = 10 * MOST
    hole(record, size - record.stat().st_size)
    for line in (RECORDS[name], "abacus sessions", "bb agent list", "bb agent inbox --agent blue-heron"):
        done = run(world, world, line)
        said = done.out + done.err
        assert SANITIZED or done.memory < 64 * MB, (line, done.memory // MB)
        assert b"ulimit" not in said
        if done.code or line == RECORDS[name]:
            assert f"'{name}' has {size} bytes, and at most {MOST} are read".encode() in said
            assert b"abacus doctor --fix" in said
        assert done.code == 0 or name.startswith("messages/") and line == RECORDS[name], said
    found = checks(world)[name]
    assert found["status"] == "error" and f"it has {size} bytes" in found["message"] and found["fix"]
    found = checks(world, "--fix")[name]
    kept = world.agents / found["kept"].partition("/agent/")[2]
    assert found["status"] == "fixed" and kept.stat().st_size == size and record.stat().st_size < MB
    assert set(checks(world)) == {""}, "something is still damaged"
    assert [a["agent_id"] for a in world.bb("agent", "list", "--json").ok().json["data"]] == ["amber-otter", "blue-heron"]
    assert [m["message_id"] for m in world.bb("agent", "inbox", "--agent", "amber-otter", "--json").ok().json["data"]] == [world.message]
    assert world.bb("agent", "status", "--json").ok().json["data"]["reservations"]


def test_epochs_of_reservations_continue_after_their_record_was_set_aside(world):
    """If an epoch were given twice, a holder that has lost its reservation would be accepted."""
    def reserve(scope):
        return world.bb("agent", "reserve", "--agent", "amber-otter", "--scope", scope, "--bead", "bd-b", "--json").ok().json["data"]["epoch"]
    last = reserve("doc/a")
    world.bb("agent", "release", "--agent", "amber-otter", "--scope", "doc/a").ok()
    hole(world.agents / "reservations/history.jsonl", 2 * MOST)
    checks(world, "--fix")
    assert reserve("doc/b") == last + 1


def test_the_scopes_of_a_record_may_come_in_any_order(world):
    """Scopes used to be inserted one by one, so a record in descending order took quadratic time."""
    record = world.agents / "reservations/history.jsonl"
    many, last = 80_000, json.loads(record.read_text().splitlines()[-1])

    def cost(order):
        record.write_text("".join(json.dumps({**last, "reservation_id": f"res_{i}", "scope": f"many/{i:06}", "epoch": i + 1},
                                             separators=(",", ":")) + "\n" for i in order))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        world.bb("agent", "guard", "many/000007")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    (world.agents / "reservations/active.json").unlink()
    assert cost(range(many, 0, -1)) < 4 * cost(range(many)) + 0.1


@pytest.mark.parametrize("name, line", [
    ("messages/amber-otter.jsonl", "agent send --from blue-heron --to amber-otter --bead bd-a --category INFO --subject s --body b"),
    ("agents/history.jsonl", "agent register --name new-heron --role ui"),
    ("reservations/history.jsonl", "agent reserve --agent amber-otter --scope doc --bead bd-a"),
])
def test_a_record_is_full_before_it_is_too_large_to_be_read(world, name, line):
    record = world.agents / name
    record.write_bytes(record.read_bytes()[:-1].ljust(FULL) + b"\n")
    done = world.bb(*line.split(), "--json")
    error = done.json["error"]
    assert done.code and error["code"] == "IO_WRITE_FAILED", done.out
    assert f"'{name}' is full: it has {FULL + 1} bytes, and nothing is added beyond {FULL}" in error["message"]
    assert "abacus doctor --fix" in json.dumps(error) and record.stat().st_size == FULL + 1
    assert checks(world, "--fix")[name]["status"] == "fixed"
    world.bb(*line.split(), "--json").ok()


@pytest.mark.parametrize("name, size", [("pending.jsonl", 10 * MOST), ("receipts.jsonl", 10 * MOST)])
def test_a_huge_file_that_stops_all_writers_is_set_aside_by_doctor(world, name, size):
    (world.agents / name).touch()
    hole(world.agents / name, size)
    line = "agent register --name new-heron --role ui --request-id r7 --json".split()
    done = world.bb(*line)
    assert done.code and "abacus doctor --fix" in done.out and "ulimit" not in done.out, done.out
    assert checks(world, "--fix")[name]["status"] == "fixed"
    world.bb(*line).ok()


# --- files of hosts ---

SETTINGS_MOST = 4 * MB
HOSTS = [
    (".codex/config.toml", "abacus install codex --write"),
    (".codex/config.toml", "abacus install codex --remove"),
    (".mcp.json", "abacus install claude --write"),
    (".mcp.json", "abacus install claude --remove"),
    (".claude/settings.json", "vybe hook install --project --claude"),
    (".claude/settings.json", "vybe hook uninstall --project --claude"),
]


def host_file(world, name, text):
    file = world.path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text)
    return file


@pytest.mark.parametrize("name, line", HOSTS)
def test_a_file_of_a_host_that_is_too_large_is_not_changed_and_reported(world, name, line):
    text = b"{\033[2J" + b" " * SETTINGS_MOST + b"}" if name.endswith("json") else b"\033" + b"\n" * (SETTINGS_MOST + 1)
    file = host_file(world, name, text)
    done = run(world, world, line)
    said = (done.out + done.err).decode()
    assert done.code == 1 and (SANITIZED or done.memory < 64 * MB), done.memory // MB
    assert f"{name}' has {len(text)} bytes" in said and f"at most {SETTINGS_MOST} are allowed" in said, said
    assert "Nothing was changed" in said and file.read_bytes() == text
    shown = subprocess.run(["sh", "-c", re.search(r"head -c 1000 \S+ \| cat -v", said)[0]], cwd=world.path, capture_output=True, check=True).stdout
    assert b"^[" in shown and b"\033" not in shown


@pytest.mark.parametrize("name, line", HOSTS)
def test_a_file_of_a_host_takes_memory_in_proportion_to_its_size(world, name, line):
    """With the maximum number of values or lines; one more is refused, whatever the size of the file."""
    if name.endswith("json"):
        text = b"{" + b",".join(b'"%x":0' % n for n in range(200_000)) + b"}\n"
        more = b'{"x":[' + b"0," * 300_000 + b"0]}"
    else:
        text, more = b"a.b=0\n" * 200_000, b"\n" * 300_000
    host_file(world, name, text)
    done = run(world, world, line)
    assert done.code == 0, done.err
    assert SANITIZED or done.memory < 256 * MB, done.memory // MB
    file = host_file(world, name, more)
    done = run(world, world, line)
    assert done.code == 1 and b"too many" in done.out + done.err, done.err
    assert file.read_bytes() == more


@pytest.mark.parametrize("name, line", HOSTS[1::2])
def test_a_huge_copy_of_a_file_of_a_host_is_not_read(world, name, line):
    """It came with the repository, and has the name of a backup that an installation leaves."""
    install = line.replace("uninstall", "install").replace("--remove", "--write")
    host_file(world, name, b"{}" if name.endswith("json") else b"")
    assert run(world, world, install).code == 0
    copy = world.path / (name + ".bak_20990101_000000_0123456789abcdef")
    copy.touch()
    hole(copy, 1 << 33)
    done = run(world, world, line)
    assert done.code == 0, done.err
    assert SANITIZED or done.memory < 64 * MB, done.memory // MB
    assert copy.exists()
