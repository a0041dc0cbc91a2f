"""`abacus doctor`: reports damage to any store without stopping the other checks. --fix saves all readable data,
keeps the damaged file, and lists what was lost."""
import json
import shutil
import sqlite3

import pytest

from beads import wipe_cache
from conftest import Repo, git
from remotes import bare

PAGE = 4096


def doctor(repo, *args, code=0, **kw):
    done = repo.run("doctor", "--json", *args, program="abacus", **kw)
    assert done.code == code, done.out + done.err
    assert done.json["ok"] is (code == 0), done.out
    return done.json["checks"]


def about(checks, name):
    """The findings about one file."""
    return [c for c in checks if c["file"] and c["file"].endswith(name)]


def bb(repo, *args):
    return repo.run(*args, program="bb")


def agent(repo, *args):
    return json.loads(bb(repo, "agent", *args, "--json").ok().out)["data"]


@pytest.fixture(scope="module")
def furnished_store(tmp_path_factory):
    """Puts data into every store."""
    repo = Repo(tmp_path_factory.mktemp("doctor") / "proj")
    repo.path.mkdir()
    git(repo.path, "init", "-q")
    repo.env.update(BD_ACTOR="alice", VYBE_AGENT="me")
    repo.run("init", program="abacus").ok()
    for n in range(3):
        repo.create(f"bead {n}", "--id", f"proj-{n}")
    with_text = "with enough text to fill a few pages of the database " * 4
    for n in range(60):
        bb(repo, "--as", "k", "post", f"{n} {with_text}").ok()
    for n in range(60):
        repo.run("memory", "set", "--key", f"k{n}", "--value", f"{n} {with_text}", "--request-id", f"r{n}",
                 program="vybe").ok()
    for name in ("amber-otter", "blue-fox", "quiet-lake"):
        agent(repo, "register", "--name", name, "--role", "ui")
    for n in range(3):
        agent(repo, "send", "--from", "amber-otter", "--to", "blue-fox", "--bead", "proj-1", "--category", "HANDOFF",
              "--subject", f"s{n}", "--body", f"b{n}")
    agent(repo, "reserve", "--agent", "amber-otter", "--scope", "src/a", "--bead", "proj-1")
    agent(repo, "reserve", "--agent", "blue-fox", "--scope", "src/b", "--bead", "proj-2")
    return repo


@pytest.fixture
def repo(tmp_path, furnished_store):
    path = tmp_path / "proj"
    shutil.copytree(furnished_store.path, path)
    copy = Repo(path)
    copy.env.update(furnished_store.env)
    return copy


def home(repo):
    return repo.path / ".beadboard/agent"


def subjects(repo):
    return [m["subject"] for m in agent(repo, "inbox", "--agent", "blue-fox")][::-1]


def test_sound_stores(repo):
    """The check changes nothing, and neither does a repair of undamaged stores."""
    def files():
        return {p: p.read_bytes() for p in repo.path.rglob("*") if p.is_file() and not p.name.endswith(("-shm", "-wal"))}
    before = files()
    for args in ((), ("--fix",)):
        checks = doctor(repo, *args)
        assert {c["store"] for c in checks} == {"beads", "agents", "board", "vybe"}
        assert all(c["status"] == "ok" and c["lost"] == [] and c["kept"] is None for c in checks), checks
        assert files().keys() == before.keys()
    assert "every record is intact" in repo.run("doctor", program="abacus").ok().out


def test_without_stores(tmp_path):
    empty = Repo(tmp_path)
    assert doctor(empty) == []
    assert "no stores" in empty.run("doctor", program="abacus").ok().out


# --- agents ---

def test_a_damaged_line_of_an_inbox_is_restored_from_its_snapshot(repo):
    stream = home(repo) / "messages/blue-fox.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    damaged = lines[0] + lines[1].replace(b"{", b"[", 1) + lines[2]
    stream.write_bytes(damaged)
    [found] = about(doctor(repo, code=1), "blue-fox.jsonl")
    assert found["status"] == "error" and found["fix"] == "abacus doctor --fix" and "line 2" in found["lost"][0]
    assert stream.read_bytes() == damaged
    [found] = about(doctor(repo, "--fix"), "blue-fox.jsonl")
    assert found["status"] == "fixed" and "line 2" in found["lost"][0] and "s1" in found["lost"][0]
    with open(found["kept"], "rb") as kept:
        assert kept.read() == damaged
    assert sorted(subjects(repo)) == ["s0", "s1", "s2"]
    doctor(repo)


def test_two_lines_whose_line_end_was_lost_are_separated(repo):
    stream = home(repo) / "messages/blue-fox.jsonl"
    whole = stream.read_bytes()
    stream.write_bytes(whole.replace(b"}\n{", b"} {", 1))
    doctor(repo, "--fix")
    assert stream.read_bytes() == whole and subjects(repo) == ["s0", "s1", "s2"]


@pytest.mark.parametrize("left", [0, 1, None])
def test_messages_missing_at_the_end_are_restored(repo, left):
    read = agent(repo, "inbox", "--agent", "blue-fox")[0]["message_id"]
    agent(repo, "ack", "--agent", "blue-fox", "--message", read)
    stream = home(repo) / "messages/blue-fox.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.unlink() if left is None else stream.write_bytes(b"".join(lines[:left]))
    doctor(repo, code=1)
    doctor(repo, "--fix")
    assert sorted(subjects(repo)) == ["s0", "s1", "s2"]
    assert {m["message_id"]: m["state"] for m in agent(repo, "inbox", "--agent", "blue-fox")}[read] == "acked"
    doctor(repo)


def test_a_torn_file_of_an_agent(repo):
    file = home(repo) / "agents/blue-fox.json"
    file.write_text('{"agent_id":"blue')
    assert len(agent(repo, "list")) == 3
    [found] = about(doctor(repo, "--fix"), "blue-fox.json")
    assert found["status"] == "fixed" and found["lost"] == [] and found["kept"]
    assert json.loads(file.read_text())["agent_id"] == "blue-fox"
    doctor(repo)


def test_a_missing_file_of_an_agent_is_written_from_the_record(repo):
    """A process that was killed while it registered the agent leaves no file."""
    file = home(repo) / "agents/blue-fox.json"
    file.unlink()
    assert about(doctor(repo), "blue-fox.json") == [] and not file.exists()
    done = repo.run("agent", "list", program="bb").ok()
    assert "blue-fox" in done.out and done.err == ""
    [found] = about(doctor(repo, "--fix"), "blue-fox.json")
    assert (found["status"], found["lost"], found["kept"]) == ("fixed", [], None), found
    assert json.loads(file.read_text())["agent_id"] == "blue-fox"
    assert repo.run("agent", "list", program="bb").ok().err == ""
    doctor(repo)


WRITES = (["heartbeat", "--agent", "blue-fox"], ["register", "--name", "blue-fox", "--role", "ui"],
          ["reserve", "--agent", "blue-fox", "--scope", "src", "--bead", "bd-1"])


@pytest.mark.parametrize("words", WRITES, ids=[words[0] for words in WRITES])
def test_a_missing_file_of_an_agent_is_written_by_the_next_command_of_that_agent(repo, words):
    """Without a message, because the record has the registration."""
    file = home(repo) / "agents/blue-fox.json"
    before = json.loads(file.read_text())
    file.unlink()
    done = repo.run("agent", *words, "--json", program="bb")
    assert "missing" not in done.out + done.err and "warning" not in done.out + done.err
    assert done.json["ok"] or done.json["error"]["code"] == "DUPLICATE_AGENT_ID"
    assert json.loads(file.read_text())["created_at"] == before["created_at"]
    doctor(repo)


def test_a_torn_file_of_an_agent_without_any_other_record(repo):
    record, file = home(repo) / "agents/history.jsonl", home(repo) / "agents/blue-fox.json"
    record.write_text("".join(line for line in record.read_text().splitlines(keepends=True) if "blue-fox" not in line))
    file.write_text("{")
    assert [a["agent_id"] for a in agent(repo, "list")] == ["amber-otter", "quiet-lake"]
    agent(repo, "heartbeat", "--agent", "quiet-lake")
    [found] = about(doctor(repo, "--fix"), "blue-fox.json")
    assert found["lost"] == ["agent blue-fox"] and not file.exists()
    agent(repo, "register", "--name", "blue-fox", "--role", "ui")
    doctor(repo)


def test_damaged_records_of_agents_events_and_reservations(repo):
    for name in ("agents/history.jsonl", "events.jsonl", "reservations/history.jsonl"):
        file = home(repo) / name
        file.write_bytes(b"{\x00}\n" + file.read_bytes())
    (home(repo) / "reservations/active.json").unlink()
    assert bb(repo, "agent", "reserve", "--agent", "quiet-lake", "--scope", "x", "--bead", "proj-1").code != 0
    checks = doctor(repo, "--fix")
    for name in ("agents/history.jsonl", "events.jsonl", "reservations/history.jsonl"):
        [found] = about(checks, name)
        assert found["status"] == "fixed" and len(found["lost"]) == 1, found
    assert [r["scope"] for r in agent(repo, "status")["reservations"]] == ["src/a", "src/b"]
    agent(repo, "reserve", "--agent", "quiet-lake", "--scope", "x", "--bead", "proj-1")
    doctor(repo)


def test_reservations_that_only_the_snapshot_has_are_restored(repo):
    record = home(repo) / "reservations/history.jsonl"
    record.write_text(record.read_text().splitlines(keepends=True)[0])
    assert bb(repo, "agent", "release", "--agent", "amber-otter", "--scope", "src/a").code != 0
    doctor(repo, "--fix")
    assert [r["scope"] for r in agent(repo, "status")["reservations"]] == ["src/a", "src/b"]
    doctor(repo)


def test_pending_lines_that_a_power_failure_tore_are_dropped(repo):
    """Lost sectors read as zeros. The line was never durable, so it does not count, and nothing needs a repair."""
    line = b'[{"at":0,"lines":"' + b"x" * 1500 + b'","name":"events.jsonl"}]\n'
    (home(repo) / "pending.jsonl").write_bytes(line[:512] + bytes(512) + line[1024:])
    doctor(repo)
    agent(repo, "reserve", "--agent", "quiet-lake", "--scope", "x", "--bead", "proj-1")
    assert (home(repo) / "pending.jsonl").read_bytes() == b""
    doctor(repo)


def test_a_damaged_list_of_pending_lines_and_damaged_receipts(repo):
    (home(repo) / "pending.jsonl").write_text("nonsense\n")
    (home(repo) / "receipts.db").write_bytes(b"x" * 5000)
    (repo.home / "receipts.db").write_bytes(b"x" * 5000)
    assert bb(repo, "agent", "heartbeat", "--agent", "blue-fox").code != 0
    checks = doctor(repo, "--fix")
    assert len(about(checks, "pending.jsonl")) == 1 and len(about(checks, "receipts.db")) == 2, checks
    agent(repo, "heartbeat", "--agent", "blue-fox")
    agent(repo, "reserve", "--agent", "quiet-lake", "--scope", "x", "--bead", "proj-1", "--request-id", "r")
    repo.create("more", "--request-id", "r")
    doctor(repo)


# --- databases ---

def database(repo, store):
    path = repo.path / ".bb/blackboard.db" if store == "board" else repo.home / "vybe.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return path


def rows(repo, store):
    if store == "board":
        return [m["content"].split()[0] for m in json.loads(bb(repo, "export", "--json").ok().out)["messages"]]
    listed = repo.run("memory", "list", "--scope", "global", program="vybe").ok().json
    return [m["value"].split()[0] for m in listed["data"]["memories"]]


def use(repo, store):
    if store == "board":
        return bb(repo, "--as", "k", "post", "new")
    return repo.run("memory", "set", "--key", "new", "--value", "new", "--request-id", "new", program="vybe")


def pages_of(path):
    """The pages that hold whole rows, found by the texts on them."""
    data = path.read_bytes()
    mark = b"with enough text to fill"
    return [n for n in range(1, len(data) // PAGE) if data[n * PAGE:(n + 1) * PAGE].count(mark) > 8 and data[n * PAGE] == 13]


@pytest.mark.parametrize("store", ["board", "vybe"])
def test_a_damaged_page_costs_the_rows_that_are_on_it(repo, store):
    path = database(repo, store)
    everything = rows(repo, store)
    data = bytearray(path.read_bytes())
    for n in pages_of(path)[1:2]:
        data[n * PAGE:n * PAGE + 64] = b"\xee" * 64
    path.write_bytes(data)
    repo.json("list")
    agent(repo, "list")
    [found] = about(doctor(repo, code=1), path.name)
    assert found["status"] == "error" and path.read_bytes() == bytes(data)
    [found] = about(doctor(repo, "--fix"), path.name)
    assert found["status"] == "fixed" and found["lost"], found
    with open(found["kept"], "rb") as kept:
        assert kept.read() == bytes(data)
    left = rows(repo, store)
    assert set(left) <= set(everything) and len(left) >= len(everything) - 25, (len(left), found)
    use(repo, store).ok()
    doctor(repo)


@pytest.mark.parametrize("store", ["board", "vybe"])
@pytest.mark.parametrize("at", [0, 16, 18, 21])
def test_a_damaged_header_costs_nothing(repo, store, at):
    path = database(repo, store)
    everything = rows(repo, store)
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)
    assert use(repo, store).code
    doctor(repo, "--fix")
    assert rows(repo, store) == everything
    use(repo, store).ok()
    doctor(repo)


@pytest.mark.parametrize("store", ["board", "vybe"])
@pytest.mark.parametrize("how", ["garbage", "cut"])
def test_an_unreadable_file_is_kept_and_reported(repo, store, how):
    path = database(repo, store)
    path.write_bytes(b"garbage" * 2000 if how == "garbage" else path.read_bytes()[:PAGE + 100])
    damaged = path.read_bytes()
    error = use(repo, store)
    assert error.code and "abacus doctor --fix" in error.out + error.err, error.out + error.err
    repo.json("list")
    agent(repo, "list")
    [found] = about(doctor(repo, "--fix"), path.name)
    assert found["lost"], found
    with open(found["kept"], "rb") as kept:
        assert kept.read() == damaged
    use(repo, store).ok()
    doctor(repo)


# --- beads and settings ---

def test_a_damaged_journal(repo):
    repo.run("resume", "--request-id", "first", program="vybe").ok()
    damaged = repo.journal.read_bytes().replace(b"bead 1", b"bead X")
    repo.journal.write_bytes(damaged)
    wipe_cache(repo)
    [found] = about(doctor(repo, code=1), "journal.*")
    assert found["fix"] == "abacus doctor --fix" and repo.journal.read_bytes() == damaged
    for n in range(2):  # what is behind the damage is not taken for deleted
        resumed = repo.run("resume", "--request-id", f"resume-{n}", program="vybe").ok().json["data"]
        assert not [d for d in resumed["deltas"] if "delete" in d["kind"]], resumed["deltas"]
    [found] = about(doctor(repo, "--fix"), "journal.*")
    assert found["status"] == "fixed" and len(found["lost"]) == 1 and "bead X" in found["lost"][0], found
    assert [p.read_bytes() for p in repo.home.glob("journal.1.damaged_*")] == [damaged]
    assert [b["title"] for b in repo.json("list")] == ["bead 0", "bead 2"]
    doctor(repo)


def test_a_missing_journal(repo):
    repo.create("one")
    (repo.home / "journal.1").unlink()
    one, = [f for f in doctor(repo, code=1) if f["status"] == "error"]
    assert one["file"].endswith("journal.*") and one["fix"] == "abacus doctor --fix"
    assert one["lost"] == ["journal.1, byte 0: missing",
                           "the record with the id prefix is lost; the prefix was taken from the beads"]
    assert "  journal.1, byte 0: missing: the file is missing\n" in repo.bd("repair").ok().out
    assert [f["status"] for f in doctor(repo, "--fix") if f["store"] == "beads"][:1] == ["fixed"]
    repo.create("two")


def test_a_damaged_record_of_machines_is_made_anew(repo, tmp_path):
    git(repo.path, "remote", "add", "origin", str(bare(tmp_path / "hub.git")))
    repo.run("share", "on", program="abacus").ok()
    repo.bd("sync").ok()
    file = repo.home / "machines" / "machines.db"
    assert [f for f in doctor(repo) if f["store"] == "machines"] == []
    file.write_bytes(bytes(range(256)) * 200)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    [found] = about(doctor(repo, code=1), "machines.db")
    assert found["fix"] == "abacus doctor --fix" and found["status"] == "error"
    [found] = about(doctor(repo, "--fix"), "machines.db")
    assert found["status"] == "fixed" and "new one" in found["lost"][0]
    assert len(list(file.parent.glob("machines.db.damaged_*"))) == 1
    repo.bd("sync").ok()
    repo.run("machines", program="abacus").ok()
    doctor(repo)


def test_invalid_settings_are_reported(repo):
    (repo.path / ".bb/config.toml").write_text("no toml\n")
    checks = doctor(repo, "--fix", code=1, env={"BB_AGENT_STALE_MINUTES": "abc"})
    assert len(about(checks, "config.toml")) == 1
    assert [c["message"] for c in checks if c["store"] == "settings"][0].startswith("BB_AGENT_STALE_MINUTES is 'abc'")


def test_a_damaged_history_is_rebuilt(repo):
    for n in range(40):
        (repo.path / f"file{n}.c").write_text("x")
        git(repo.path, "add", ".")
        git(repo.path, "commit", "-q", "-m", f"change {n}")
    bead = repo.create("one", "--touches", "file1.c")
    repo.run("touches", bead).ok()
    history = repo.home / "history.db"
    with sqlite3.connect(history) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    data = bytearray(history.read_bytes())
    data[2 * PAGE:] = b"\xaa" * (len(data) - 2 * PAGE)
    for name in ("history.db-wal", "history.db-shm"):
        (repo.home / name).unlink(missing_ok=True)
    history.write_bytes(data)
    assert "abacus doctor --fix" in repo.fails("touches", bead)["hint"]
    assert about(doctor(repo, code=1), "history.db")[0]["status"] == "error"
    assert about(doctor(repo, "--fix"), "history.db")[0]["status"] == "fixed"
    assert not about(doctor(repo), "history.db")
    repo.run("touches", bead).ok()


def test_a_damaged_current_bead_is_named_and_set_aside(repo):
    bead = repo.create("one")
    repo.run("work", bead, "--no-branch", "--as", "amber-otter", program="abacus").ok()
    file, = (repo.home / "work").iterdir()
    file.write_bytes(b"{\0")
    assert about(doctor(repo, code=1), file.name)[0]["status"] == "error"
    finding, = about(doctor(repo, "--fix"), file.name)
    assert finding["status"] == "fixed" and "abacus work ID" in finding["lost"][0] and open(finding["kept"], "rb").read() == b"{\0"
    assert not about(doctor(repo), file.name)
    repo.run("work", bead, "--no-branch", "--as", "amber-otter", program="abacus").ok()


def test_the_doctor_of_the_beads_says_what_it_has_repaired(repo):
    data = repo.journal.read_bytes()
    repo.journal.write_bytes(data[:100] + b"XXXX" + data[104:])
    wipe_cache(repo)
    shown = repo.bd("doctor", "--fix").ok().out.splitlines()
    assert shown[0].startswith("fixed repair: the journal was damaged: ") and " lost; the damaged files are kept as journal.*." in shown[0]
    assert not any(line.startswith("fixed") for line in repo.bd("doctor", "--fix").ok().out.splitlines())
