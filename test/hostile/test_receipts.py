"""Receipts of request ids: their size is bounded, and they are kept as long as a request may be repeated."""
import hashlib
import json
import sqlite3
import subprocess

import pytest

from bead_harness import assert_sound, drop_cache, faulty, state  # noqa: F401  (a fixture)
from conftest import BIN, environment
from remotes import bare, clone, sync, titles
from harness import STRACE, needs_strace
from vybe import Vybe

MB = 1 << 20
CUT = 512 << 10  # bytes of the journal after which a writer cuts it
THEN, LATER = ({"ABACUS_NOW": day} for day in ("2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"))


def journal_bytes(repo):
    return sum(file.stat().st_size for file in repo.home.glob("journal.*"))


def pipe(repo, operations):
    """Runs all requests in one process; returns the replies."""
    lines = "".join(json.dumps({"op": op, "params": params}) + "\n" for op, params in operations)
    done = subprocess.run([str(BIN / "abacus"), "pipe"], input=lines.encode(), cwd=repo.path, capture_output=True,
                          check=True, timeout=120, env=environment(**repo.env))
    return [json.loads(line) for line in done.stdout.splitlines()]


def updates(ids, count, size=100):
    return [("bead update", {"ids": [ids[i % len(ids)]], "description": f"{i} " + "x" * size, "request_id": f"r{i}"})
            for i in range(count)]


@pytest.fixture
def repo(plain_repo):
    plain_repo.env = {**plain_repo.env, "BD_ACTOR": "anna"}
    plain_repo.bd("init", "--prefix", "bd").ok()
    return plain_repo


# --- growth ---

def test_the_journal_is_cut_without_a_sync(repo):
    """4,000 requests leave at most 2,000 records; every request is recognised, and nothing is done twice."""
    ids = [repo.create(f"bead {i}") for i in range(5)]
    sizes, asked = [], updates(ids, 4000)
    first = pipe(repo, asked[:2000])
    sizes.append(journal_bytes(repo))
    first += pipe(repo, asked[2000:])
    sizes.append(journal_bytes(repo))
    assert all("data" in answer for answer in first)
    assert max(sizes) < 3 * CUT, sizes
    before = state(repo)
    for kept in (True, False):
        if not kept:
            drop_cache(repo)
        some = [0, 1, 700, 1999, 2000, 3999]
        assert pipe(repo, [asked[i] for i in some]) == [first[i] for i in some]
        assert state(repo) == before
    refused = pipe(repo, [("bead update", {**asked[3][1], "description": "other"})])[0]
    assert refused["error"]["code"] == "request_mismatch", refused
    assert_sound(repo)


def test_pending_changes_are_counted_and_published_after_a_cut(tmp_path):
    remote = bare(tmp_path / "beads.git")
    repo = clone(tmp_path / "anna", remote)
    ids = [repo.create(f"bead {i}") for i in range(3)]
    pipe(repo, updates(ids, 1500))
    assert journal_bytes(repo) < 2.5 * MB
    assert repo.json("sync", "--status")["pending"] == 1500 + 4, "unpublished changes are counted as before"
    sync(repo)
    pipe(repo, [(op, {**params, "request_id": f"again{n}"}) for n, (op, params) in enumerate(updates(ids, 1500))])
    drop_cache(repo)
    sync(repo)
    other = clone(tmp_path / "ben", remote)
    assert titles(other) == titles(repo)
    assert other.show(ids[0])["description"] == repo.show(ids[0])["description"]
    assert_sound(repo)


def test_old_replies_are_shortened_and_still_nothing_is_done_twice(repo):
    """With more than 16 MB of replies, the oldest request gets the bead's present state, with a warning."""
    bead = repo.create("large")
    asked = updates([bead], 60, size=500_000)
    pipe(repo, asked)
    now = repo.show(bead)
    assert now["description"].startswith("59 ")
    with sqlite3.connect(repo.home / "receipts.db") as db:
        whole, = db.execute("SELECT sum(length(reply)) FROM replies").fetchone()
    assert whole <= 16 * MB and (repo.home / "receipts.db").stat().st_size < 40 * MB
    again = pipe(repo, [asked[0]])[0]["data"][0]
    assert (again["id"], again["description"]) == (bead, now["description"]), "it was done again"
    assert repo.show(bead)["description"] == now["description"]
    assert pipe(repo, [asked[59]])[0]["data"][0]["description"] == asked[59][1]["description"]


def test_a_reply_too_large_for_a_receipt_is_refused_before_anything_is_written(repo):
    answers = pipe(repo, [("bead create", {"title": f"bead {i}", "description": "d" * 1_000_000}) for i in range(65)])
    ids = [answer["data"]["id"] for answer in answers]
    error = pipe(repo, [("bead update", {"ids": ids, "priority": 0, "request_id": "r"})])[0]["error"]
    assert error["code"] == "invalid_argument", error
    assert "with a request id it may have 62914560" in error["message"], error
    assert {bead["priority"] for bead in repo.json("list", "--limit", "0")} == {2}
    done = pipe(repo, [("bead update", {"ids": ids[:9], "priority": 0, "request_id": "r"})])[0]
    assert len(done["data"]) == 9


def whole_answers(database):
    with sqlite3.connect(database) as db:
        return db.execute("SELECT count(*), sum(length(reply)) FROM receipt_replies").fetchone()


def test_stored_replies_of_vybe_are_bounded(plain_repo):
    """Each reply of 'vybe resume' has all memories."""
    plain_repo.__class__ = Vybe
    vybe = plain_repo
    pipe(vybe, [("vybe memory set", {"key": "big", "value": "v" * 400_000, "agent": "w-1", "request_id": "m"})])
    asked = [("vybe resume", {"agent": "w-1", "request_id": f"r{i}"}) for i in range(100)]
    answers = pipe(vybe, asked)
    assert all(len(json.dumps(answer["data"])) > 400_000 for answer in answers)
    count, size = whole_answers(vybe.home / "vybe.db")
    assert 30 <= count < 50 and size <= 16 * MB
    assert sum(file.stat().st_size for file in vybe.home.glob("vybe.db*")) < 40 * MB
    again = pipe(vybe, [asked[99], asked[0]])
    assert again[0]["data"] == answers[99]["data"] and again[0]["replayed"]
    assert again[1]["error"]["code"] == "IDEMPOTENCY_MISMATCH" and "was carried out at" in again[1]["error"]["message"]
    assert pipe(vybe, [asked[99]])[0]["data"] == answers[99]["data"], "a refused request leaves no receipt"


@pytest.mark.parametrize("earlier", [lambda text: text, lambda text: hashlib.sha256(text.encode()).hexdigest()],
                         ids=["whole", "64 digits"])
def test_a_receipt_has_a_short_digest_of_the_arguments_and_earlier_ones_are_understood(project, earlier):
    post = ("board post", {"content": "y" * 60_000, "agent": "kimi-01", "request_id": "r"})
    answer = pipe(project, [post])[0]
    with sqlite3.connect(project.database) as db:
        (args,), = db.execute("SELECT args FROM receipt_keys")
        whole = json.dumps({"content": "y" * 60_000, "tags": [], "priority": "normal", "in_reply_to": None, "refs": []},
                           separators=(",", ":"))
        assert args == hashlib.sha256(whole.encode()).hexdigest()[:32]
        db.execute("UPDATE receipt_keys SET args = ?", [earlier(whole)])
    assert pipe(project, [post])[0]["data"] == answer["data"]
    other = pipe(project, [("board post", {**post[1], "content": "z"})])[0]
    assert "was used for another" in other["error"]["message"]


def test_stored_replies_of_the_board_are_bounded(project):
    asked = [("board post", {"content": f"{i} " + "y" * 60_000, "agent": "kimi-01", "request_id": f"r{i}"})
             for i in range(400)]
    answers = pipe(project, asked)
    count, size = whole_answers(project.database)
    assert 200 <= count < 300 and size <= 16 * MB
    again = pipe(project, [asked[399], asked[0], ("board post", {**asked[1][1], "content": "other"})])
    assert again[0]["data"] == answers[399]["data"]
    assert "was carried out at" in again[1]["error"]["message"]
    assert "was used for another" in again[2]["error"]["message"]
    with sqlite3.connect(project.database) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (400,)


OLD_LEDGER = """CREATE TABLE ledger (    agent TEXT, request TEXT, op TEXT NOT NULL, args TEXT NOT NULL,\
    reply TEXT NOT NULL, created INTEGER NOT NULL);
CREATE UNIQUE INDEX ledger_key ON ledger (agent, request);CREATE INDEX ledger_created ON ledger (created);"""


def test_receipts_of_an_earlier_vybe_are_migrated(plain_repo):
    """A few at a time; each is recognised before and after it was migrated."""
    plain_repo.__class__ = Vybe
    vybe = plain_repo
    memory = lambda i: ("vybe memory set",  # noqa: E731
                        {"key": f"k{i}", "value": "v", "agent": "w-1", "request_id": f"r{i}"})
    answers = pipe(vybe, [memory(i) for i in range(600)])
    with sqlite3.connect(vybe.home / "vybe.db") as db:
        rows = db.execute("SELECT op, args, reply, at FROM receipt_keys JOIN receipt_replies USING (n)").fetchall()
        db.executescript("DROP TABLE receipt_keys; DROP TABLE receipt_replies; DROP TABLE receipt_bytes;" + OLD_LEDGER)
        db.executemany("INSERT INTO ledger VALUES ('w-1', ?, ?, ?, ?, ?)",
                       [(f"r{i}", *row) for i, row in enumerate(rows)])
    left = []
    for i in (0, 599, 300, 0, 599):
        assert pipe(vybe, [memory(i)])[0]["data"] == answers[i]["data"]
        pipe(vybe, [memory(1000 + len(left))])
        with sqlite3.connect(vybe.home / "vybe.db") as db:
            there = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'ledger'").fetchone()
            left.append(db.execute("SELECT count(*) FROM ledger").fetchone()[0] if there else None)
    assert left == [344, 88, 0, None, None], left


def test_a_damaged_database_of_receipts_is_reported(repo):
    bead = repo.create("a bead")
    pipe(repo, updates([bead], 1500))
    (repo.home / "receipts.db").write_bytes(b"noise" * 1000)
    for part in ("-wal", "-shm"):
        (repo.home / f"receipts.db{part}").unlink(missing_ok=True)
    error = repo.fails("update", bead, "--title", "x", "--request-id", "new")
    assert error["code"] == "corrupt" and "receipts.db" in error["message"] + error["hint"], error
    repo.bd("update", bead, "--title", "without an id").ok()
    assert repo.show(bead)["title"] == "without an id"


def test_receipts_of_agents_are_indexed_and_earlier_ones_migrated(plain_repo):
    repo = plain_repo
    agent = lambda *args: repo.run("agent", *args, "--json", program="bb").ok().json["data"]  # noqa: E731
    agent("register", "--name", "amber-otter", "--role", "x")
    first = agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "b-1", "--request-id", "r1")
    home = repo.path / ".beadboard" / "agent"
    with sqlite3.connect(home / "receipts.db") as db:
        op, args, reply = db.execute("SELECT op, args, reply FROM receipts JOIN replies USING (n)").fetchone()
    for file in home.glob("receipts.db*"):
        file.unlink()
    line = {"agent_id": "amber-otter", "request_id": "r1", "op": op, "args": args,
            "created_at": "2026-01-01T00:00:00.000Z", "reply": json.loads(reply)}
    (home / "receipts.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")
    assert agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "b-1",
                 "--request-id", "r1") == first
    assert not (home / "receipts.jsonl").exists()
    for i in range(40):
        agent("heartbeat", "--agent", "amber-otter", "--request-id", f"h{i}")
    with sqlite3.connect(home / "receipts.db") as db:
        assert db.execute("SELECT count(*) FROM receipts").fetchone() == (41,)
        plan = db.execute("EXPLAIN QUERY PLAN SELECT op FROM receipts WHERE key = 'x'").fetchall()
    assert "SEARCH" in str(plan), plan


# --- clocks that are months apart on one machine ---

def test_a_clock_two_months_ahead_drops_no_receipt_of_beads(repo):
    first = repo.json("create", "once", "--request-id", "r1", env=THEN)
    for i in range(3):
        repo.json("create", f"later {i}", "--request-id", f"later{i}", env=LATER)
    drop_cache(repo)
    assert repo.json("create", "once", "--request-id", "r1", env=THEN) == first
    assert repo.json("create", "once", "--request-id", "r1", env=LATER) == first
    assert titles(repo).count("once") == 1


def test_a_clock_two_months_ahead_drops_no_receipt_of_the_board(project):
    board = project
    board.json("--as", "kimi-01", "post", "once", "--request-id", "r1", env=THEN)
    for i in range(130):  # now and then, old ones are swept
        board.json("--as", "kimi-01", "post", f"{i}", "--request-id", f"x{i}",
                   env={"ABACUS_NOW": str(1772323200000 + i)})
    board.json("--as", "kimi-01", "post", "once", "--request-id", "r1", env=THEN)
    with sqlite3.connect(board.database) as db:
        assert db.execute("SELECT count(*) FROM messages WHERE content = 'once'").fetchone() == (1,)


def test_a_clock_two_months_ahead_drops_no_receipt_of_vybe(plain_repo):
    plain_repo.__class__ = Vybe
    vybe = plain_repo
    first = vybe.task("once", request="mine", env=THEN)
    vybe.ok("memory", "gc", env=LATER)
    vybe.task("later", env=LATER)
    assert vybe.task("once", request="mine", env=THEN) == first
    assert [task["title"] for task in vybe.ok("task", "list", agent=None, request=False)["tasks"]].count("once") == 1


# --- one id in two clones ---

def test_a_request_that_created_a_bead_in_another_clone_is_recognised_after_the_merge(tmp_path):
    remote = bare(tmp_path / "beads.git")
    anna, ben = (clone(tmp_path / name, remote, BD_ACTOR="one-agent") for name in ("anna", "ben"))
    made = anna.json("create", "the same", "--request-id", "r1")
    sync(anna)
    sync(ben)
    again = ben.json("create", "the same", "--request-id", "r1")
    assert again["id"] == made["id"] and titles(ben) == ["the same"]
    error = ben.fails("create", "something else", "--request-id", "r1")
    assert error["code"] == "request_mismatch" and made["id"] in error["message"], error
    assert "request" not in again, "the request id is not shown"


# --- killed while the journal is cut ---

def test_killed_at_every_step_of_a_cut(repo, faulty, tmp_path):  # noqa: F811
    """The request that cuts the journal, and those before it, take effect once, whenever it is killed."""
    ids = [repo.create(f"bead {i}") for i in range(3)]
    asked, answers = updates(ids, 2000), []
    while journal_bytes(repo) < CUT - 20000:
        answers += pipe(repo, asked[len(answers):len(answers) + 5])
    filler = iter(range(10000, 20000))
    while journal_bytes(repo) < CUT - 1200:
        pipe(repo, [("bead update", {"ids": [ids[0]], "priority": next(filler) % 5})])
    kept = tmp_path / "kept"
    subprocess.run(["cp", "-a", repo.home, kept], check=True)
    last = ["update", ids[1], "--title", "cut " + "x" * 900, "--request-id", "the-last", "--json"]
    def die(**how):
        subprocess.run(["rm", "-rf", repo.home], check=True)
        subprocess.run(["cp", "-a", kept, repo.home], check=True)
        return subprocess.run([faulty, *last], cwd=repo.path, capture_output=True,
                              env=environment(**repo.env, **how)).returncode

    assert die(ABACUS_FAULT_COUNT=tmp_path / "steps") == 0 and (repo.home / "journal.2").exists(), "it was not cut"
    count = int((tmp_path / "steps").read_text())
    assert count > 100
    for step in sorted({*range(1, 8), *range(8, count - 14, count // 12), *range(count - 14, count + 1)}):
        assert die(ABACUS_FAULT_AT=step) == -9
        reply = repo.json(*last[:-1])
        assert reply[0]["title"].startswith("cut ") and repo.json(*last[:-1]) == reply
        assert pipe(repo, asked[:2]) == answers[:2]
        assert_sound(repo)


# --- what was only begun ---

@needs_strace
def test_an_incomplete_store_of_vybe_is_completed_by_the_next_command(plain_repo):
    """The process was killed, or ran out of space, before the tables existed."""
    plain_repo.__class__ = Vybe
    vybe = plain_repo
    vybe.bd("init").ok()
    for call in ("ftruncate", "pwrite64"):
        for when in (1, 2, 3):
            for part in vybe.home.glob("vybe.db*"):
                part.unlink()
            subprocess.run([STRACE, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                            f"inject={call}:signal=KILL:when={when}", str(BIN / "vybe"), "memory", "set", "--key", "a",
                            "--value", "b", "--agent", "w-1", "--request-id", "r"], cwd=vybe.path,
                           capture_output=True, env=environment())
            vybe.ok("events", "list", agent=None, request=False)
            vybe.ok("memory", "set", "--key", "a", "--value", "b", request="r")
            assert vybe.ok("memory", "get", "--key", "a", request=False)["value"] == "b"


def test_a_session_that_begins_twice_with_one_request_id_is_one_agent(empty):
    begin = lambda: empty.run("agent", "init", "--role", "x", "--request-id", "same", "--json").ok().json  # noqa: E731
    first = begin()
    assert begin() == first and len(empty.run("agent", "list", "--json").json["data"]) == 1


def at_once(project, *args):
    """The replies of ten programs that are started at once with the same arguments."""
    programs = [subprocess.Popen([str(BIN / "bb"), "agent", *args, "--request-id", "same", "--json"], cwd=project.path,
                                 env=environment(**project.env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(10)]
    done = [p.communicate(timeout=60) for p in programs]
    assert [p.returncode for p in programs] == [0] * 10, done
    return [json.loads(out)["data"] for out, _ in done]


@pytest.mark.parametrize("args", [["init", "--non-interactive"], ["init", "--register", "amber-otter"],
                                  ["register", "--name", "amber-otter", "--role", "ui"]])
@pytest.mark.parametrize("before", ["nothing", "an agent"])
def test_ten_equal_requests_at_once_register_one_agent(empty, args, before):
    if before == "an agent":
        empty.run("agent", "register", "--name", "blue-fox", "--role", "x", "--json").ok()
    answers = at_once(empty, *args)
    assert all(answer == answers[0] for answer in answers), answers
    agents = [a["agent_id"] for a in empty.run("agent", "list", "--json").json["data"]]
    assert len(agents) == (2 if before == "an agent" else 1), agents


def left_work(repo):
    """The agent amber-otter, with a bead in progress."""
    agent = {"BB_AGENT_ID": "amber-otter", **THEN}
    repo.run("agent", "register", "--name", "amber-otter", "--role", "x", program="bb", env=agent).ok()
    bead = repo.create("a bead")
    repo.bd("claim", bead, "--actor", "amber-otter", env=agent).ok()


def resumed(repo):
    events = repo.run("agent", "events", "--json", program="bb").ok().json["data"]
    return len([e for e in events if e["event_type"] == "RESUME"])


def test_ten_equal_requests_at_once_adopt_an_agent_once(repo):
    left_work(repo)
    answers = at_once(repo, "init", "--adopt", "amber-otter")
    assert all(answer == answers[0] for answer in answers), answers
    assert answers[0]["decision"] == "adopted" and resumed(repo) == 1


def test_an_adoption_whose_receipt_was_lost_is_not_recorded_again(repo):
    """The process was killed after the event and before the receipt; the work was finished meanwhile."""
    left_work(repo)
    adopt = lambda: repo.run("agent", "init", "--adopt", "amber-otter", "--request-id", "same", "--json",  # noqa: E731
                             program="bb").ok()
    first = adopt().json["data"]
    for file in (repo.path / ".beadboard" / "agent").glob("receipts.db*"):
        file.unlink()
    for bead in repo.json("list"):
        repo.bd("close", bead["id"], "--force").ok()
    again = adopt()
    assert again.err == "" and resumed(repo) == 1
    assert again.json["data"]["decision"] == "adopted"
    assert again.json["data"]["resumed"]["evidence"] == first["resumed"]["evidence"]


def test_the_database_of_receipts_is_private(repo, empty):
    empty.run("agent", "init", "--role", "x", "--request-id", "same", "--json").ok()
    pipe(repo, updates([repo.create("a")], 1500))
    for folder in (empty.path / ".beadboard" / "agent", repo.home):
        for file in folder.glob("receipts.db*"):
            assert file.stat().st_mode & 0o077 == 0, file
