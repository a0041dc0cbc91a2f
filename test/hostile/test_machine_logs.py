"""Logs of machines that were forged, altered, set back, inflated, or written by a later version: they are not
applied, one warning reports them, and everything else works."""
import base64
import json
import os
import shutil
import sqlite3
import subprocess
import time
import zlib

import pytest

from conftest import BUILD, environment, git
from hints import command_of, run_command
from machines import copy_machines, log_of, machine, settle
from remotes import bare, http_remote

THOROUGH = os.environ.get("ABACUS_THOROUGH") == "1"


@pytest.fixture(scope="module")
def made_three(tmp_path_factory):
    path = tmp_path_factory.mktemp("three")
    remote = bare(path / "hub.git")
    made = [machine(path / name, remote, f"host-{name}") for name in "abc"]
    for one in made:
        one.agent("register", "--name", f"agent-{one.path.name}", "--role", "ui")
    settle(*made)
    return made


@pytest.fixture
def three(made_three, tmp_path):
    return tmp_path / "hub.git", *copy_machines(made_three, tmp_path)


def send(one, to, body="hello"):
    one.agent("send", "--from", f"agent-{one.path.name}", "--to", to, "--bead", "bd-1", "--category", "INFO",
              "--subject", "s", "--body", body)


def bodies(one, agent):
    return [m["body"] for m in one.agent("inbox", "--agent", agent)]


def problem(one, name):
    return {m["name"]: m["problem"] for m in one.abacus("machines")}[name]


def commit(remote, files):
    """A commit of these files without a parent, as anybody with push access can make it."""
    def git_in(*args, data=None):
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *args], input=data, cwd=remote,
                              check=True, capture_output=True, env=environment()).stdout.decode().strip()
    rows = {"": [], "log": []}
    for path, data in files.items():
        blob = git_in("hash-object", "-w", "--stdin", data=data)
        folder, _, name = path.rpartition("/")
        rows[folder].append(f"100644 blob {blob}\t{name}")
    if rows["log"]:
        rows[""].append("040000 tree {}\tlog".format(git_in("mktree", data="\n".join(rows["log"]).encode() + b"\n")))
    return git_in("commit-tree", "-m", "x", git_in("mktree", data="\n".join(sorted(
        rows[""], key=lambda row: row.split("\t")[1])).encode() + b"\n"))


def files_of(remote, ref):
    names = git(remote, "ls-tree", "-r", "--name-only", ref).split()
    return {name: subprocess.run(["git", "cat-file", "blob", f"{ref}:{name}"], cwd=remote, check=True,
                                 capture_output=True, env=environment()).stdout for name in names}


def signed(one, meta):
    """meta.json with these members, with the signature of the machine."""
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    meta = {key: value for key, value in meta.items() if key != "signature"}
    text = f"{one.ref}\n" + json.dumps(meta, separators=(",", ":"), sort_keys=True)
    secret = base64.b64decode(json.loads((one.home / "machines" / "key").read_text())["secret"])
    signature = ed25519.Ed25519PrivateKey.from_private_bytes(secret[:32]).sign(text.encode())
    return json.dumps({**meta, "signature": base64.b64encode(signature).decode()}).encode()


def refused(three, forge, why, trustable=False):
    """The forged log of b is not applied by a; that of c is, and a warning names b once. It has the command to accept
    the log only if that helps."""
    remote, a, b, c = three
    send(b, "agent-a", "from b")
    b.exchange()
    forge(remote, b)
    send(c, "agent-a", "from c")
    c.exchange()
    warnings = a.exchange()["warnings"]
    assert [why in w for w in warnings] == [True], warnings
    assert why in problem(a, "host-b")
    for text in (warnings[0], a.bd("machines", program="abacus").ok().out):
        assert (f"abacus machines trust {b.id}" in " ".join(text.split())) == trustable, text
    assert "from c" in bodies(a, "agent-a")
    assert a.exchange()["warnings"] == []
    return remote, a, b, c


def test_an_altered_segment_is_not_applied(three):
    def forge(remote, b):
        files = files_of(remote, b.ref)
        files["log/000001.jsonl"] = files["log/000001.jsonl"].replace(b"from b", b"from x")
        git(remote, "update-ref", b.ref, commit(remote, files))
    remote, a, b, c = refused(three, forge, "altered")
    assert bodies(a, "agent-a") == ["from c"]


def test_an_altered_meta_json_is_not_applied(three):
    def forge(remote, b):
        files = files_of(remote, b.ref)
        meta = json.loads(files["meta.json"])
        meta["name"] = "host-c"
        files["meta.json"] = json.dumps(meta).encode()
        git(remote, "update-ref", b.ref, commit(remote, files))
    refused(three, forge, "signature is wrong")


def test_a_log_that_was_set_back_is_not_applied(three):
    remote, a, b, c = three
    old = git(remote, "rev-parse", b.ref).strip()
    send(b, "agent-a", "new")
    settle(b, a)
    refused(three, lambda remote, b: git(remote, "update-ref", b.ref, old), "set back", trustable=True)


def test_a_log_from_before_a_rename_is_not_applied(three):
    """It has as many facts as the one after."""
    remote, a, b, c = three
    old = git(remote, "rev-parse", b.ref).strip()
    b.abacus("machines", "rename", "office")
    settle(b, a)
    git(remote, "update-ref", b.ref, old)
    assert ["was set back" in w and f"abacus machines trust {b.id}" in w for w in a.exchange()["warnings"]] == [True]
    assert shown(a)[b.id] == "office"
    settle(b, a)
    assert shown(a)[b.id] == "office" and problem(a, "office") is None
    git(remote, "update-ref", b.ref, old)
    a.abacus("machines", "trust", b.id)
    a.exchange()
    assert shown(a)[b.id] == "host-b"


def test_a_machine_that_was_restored_from_a_backup_is_heard_though_its_clock_is_late(three):
    remote, a, b, c = three
    shutil.copytree(b.home / "machines", b.path.parent / "backup")
    b.abacus("machines", "rename", "office")
    settle(b, a)
    shutil.rmtree(b.home / "machines")
    (b.path.parent / "backup").rename(b.home / "machines")
    b.abacus("machines", "rename", "desk")
    b.exchange(ABACUS_NOW=str(int((time.time() - 3600) * 1000)))
    assert a.exchange()["warnings"] == [] and shown(a)[b.id] == "desk"


def test_a_log_of_an_older_version_is_applied_if_it_has_more_facts(three):
    """Older versions publish without a stamp."""
    remote, a, b, c = three
    send(b, "agent-a", "hello")
    b.exchange()
    files = files_of(remote, b.ref)
    meta = json.loads(files["meta.json"])
    del meta["at"]
    old = commit(remote, {**files, "meta.json": signed(b, meta)})
    git(remote, "update-ref", b.ref, old)
    assert a.exchange()["warnings"] == [] and bodies(a, "agent-a") == ["hello"]
    settle(b, a)
    git(remote, "update-ref", b.ref, old)
    assert ["was set back" in w for w in a.exchange()["warnings"]] == [True]


def rekey(one, other):
    """The machine signs with the key of another one from now on."""
    path, mine = one.home / "machines" / "key", {}
    for repo in (one, other):
        mine[repo] = json.loads((repo.home / "machines" / "key").read_text())
    path.write_text(json.dumps({**mine[other], "machine": mine[one]["machine"]}))
    with sqlite3.connect(one.home / "machines" / "machines.db") as db:
        db.execute("UPDATE self SET key = ?, dirty = 1", (mine[other]["key"],))
    one.exchange()


def test_a_log_with_another_key_waits_until_it_is_trusted(three):
    remote, a, b, c = refused(three, lambda remote, b: rekey(b, three[3]), "another key", trustable=True)
    assert "from b" not in bodies(a, "agent-a")
    a.abacus("machines", "trust", "host-b")
    a.exchange()
    assert sorted(bodies(a, "agent-a")) == ["from b", "from c"] and problem(a, "host-b") is None


def inject(one, kind, line):
    """Adds a fact that another version of the program might write."""
    with sqlite3.connect(one.home / "machines" / "machines.db") as db:
        seq = db.execute("SELECT count + 1 FROM self").fetchone()[0]
        db.execute("INSERT INTO facts VALUES ((SELECT id FROM self), ?, 1, 0, 'x', ?, 'x', ?, 1, 1)",
                   (seq, kind, line(seq)))
        db.execute("UPDATE self SET count = ?", (seq,))


def fact(kind, data):
    return lambda seq: json.dumps({"at": [1, 0], "by": "x", "data": data, "kind": kind, "seq": seq},
                                  separators=(",", ":"))


def test_facts_of_a_later_version_are_skipped(three):
    remote, a, b, c = three
    inject(b, "future.kind", fact("future.kind", {"x": 1}))
    send(b, "agent-a", "after it")
    settle(b, a)
    assert bodies(a, "agent-a") == ["after it"] and problem(a, "host-b") is None


def test_a_log_of_a_later_format_is_not_applied(three):
    def forge(remote, b):
        files = files_of(remote, b.ref)
        meta = json.loads(files["meta.json"])
        files["meta.json"] = json.dumps({**meta, "format": 2}).encode()
        git(remote, "update-ref", b.ref, commit(remote, files))
    refused(three, forge, "format")


def test_a_log_with_a_line_that_is_not_a_fact_is_not_applied(three):
    inject(three[2], "memory.set", fact("memory.set", "x"))
    refused(three, lambda remote, b: None, "not a fact")


@pytest.mark.parametrize("size", [10 << 20, 80 << 20])
def test_a_huge_line_is_not_read(three, size):
    def forge(remote, b):
        files = files_of(remote, b.ref)
        files["log/000001.jsonl"] = b"x" * size
        git(remote, "update-ref", b.ref, commit(remote, files))
    refused(three, forge, "altered")


def test_a_log_of_a_gigabyte_is_not_read(three):
    """Its size is in the header of the object; nothing of it is inflated."""
    def forge(remote, b):
        files = files_of(remote, b.ref)
        files["log/000001.jsonl"] = b"huge"
        at = commit(remote, files)
        blob = git(remote, "rev-parse", f"{at}:log/000001.jsonl").strip()
        path = remote / "objects" / blob[:2] / blob[2:]
        path.unlink()
        path.write_bytes(zlib.compress(b"blob %d\0" % (1 << 30) + b"x" * 4096))
        git(remote, "update-ref", b.ref, at)
    refused(three, forge, "altered")


@pytest.mark.skipif(not THOROUGH, reason="ABACUS_THOROUGH=1 makes and sends a gigabyte")
def test_a_log_of_a_gigabyte_is_not_read_over_http(tmp_path):
    """The gigabyte arrives as a megabyte. The process that receives it may be killed for its memory, and the next one
    skips that log."""
    remote = bare(tmp_path / "hub.git")
    with http_remote(tmp_path) as server:
        made = [machine(tmp_path / name, f"{server.url}/{remote.name}", f"host-{name}") for name in "abc"]
        for one in made:
            one.agent("register", "--name", f"agent-{one.path.name}", "--role", "ui")
        settle(*made)
        a, b, c = made
        blob = subprocess.run("head -c 1G /dev/zero | git hash-object -w --stdin", shell=True, check=True, cwd=remote,
                              capture_output=True, env=environment()).stdout
        tree = subprocess.run(["git", "mktree"], input=b"100644 blob " + blob.strip() + b"\tmeta.json\n", check=True,
                              cwd=remote, capture_output=True, env=environment()).stdout.decode().strip()
        git(remote, "update-ref", b.ref, git(remote, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m",
                                             "x", tree).strip())
        send(c, "agent-a", "from c")
        c.exchange()
        for _ in range(3):
            subprocess.run([str(BUILD / "libexec" / "abacus-sync"), "share", str(a.path / ".git"), "--once"],
                           capture_output=True, timeout=300, cwd=a.path, env=environment(**a.env))
        assert bodies(a, "agent-a") == ["from c"]
        assert problem(a, "host-b")


def test_a_line_that_is_too_long_stops_its_log_alone(three):
    remote, a, b, c = three
    inject(b, "message.sent", fact("message.sent", {"id": "x", "body": "y" * (10 << 20)}))
    refused((remote, a, b, c), lambda remote, b: None, "too large")


@pytest.mark.parametrize("data", [
    {"id": "../../x", "to": "agent-a", "from": "x", "body": "b", "subject": "s", "bead_id": "b", "category": "INFO",
     "created": 1},
    {"id": "msg_20260101_000000_0000000000000000", "to": "../agent-a", "from": "x", "body": "b", "subject": "s",
     "bead_id": "b", "category": "INFO", "created": 1},
    {"id": "msg_20260101_000000_0000000000000000", "to": "agent-a", "from": "x", "body": "b" * (2 << 20),
     "subject": "s", "bead_id": "b", "category": "INFO", "created": 1},
    {"id": 7, "to": [], "created": -1},
])
def test_a_message_that_could_not_have_been_sent_here_is_skipped(three, data):
    remote, a, b, c = three
    inject(b, "message.sent", fact("message.sent", data))
    send(b, "agent-a", "after it")
    settle(b, a)
    assert bodies(a, "agent-a") == ["after it"]
    assert not list(a.path.parent.rglob("x.json"))


def test_other_refs_below_the_folder_of_logs_are_ignored(three):
    remote, a, b, c = three
    tip = git(remote, "rev-parse", b.ref).strip()
    for name in ("x", "0123", "ZZZZZZZZZZZZZZZZ", "0123456789abcdef"):
        git(remote, "update-ref", f"refs/abacus/machines/{name}", tip)
    send(b, "agent-a", "hello")
    b.exchange()
    assert len(a.exchange()["warnings"]) == 1  # the log of b under another id is forged
    assert bodies(a, "agent-a") == ["hello"]


def test_segments_that_are_not_taken_are_not_read_beyond_the_size_that_they_claim(three):
    """A log with a new segment is read completely, to see which facts were removed: here one large blob under many
    names."""
    remote, a, b, c = three
    files = files_of(remote, b.ref)
    meta = json.loads(files["meta.json"])
    names = [f"9{i:05d}" for i in range(300)]
    meta["segments"] += [{"bytes": 0, "last": 0, "name": name, "sha256": ""} for name in names]
    files["meta.json"] = signed(b, meta)
    blob = git(remote, "rev-parse", commit(remote, {"x": b"{}\n" * (2 << 20)}) + ":x").strip()
    log = git(remote, "ls-tree", f"{b.ref}:log") + "".join(f"100644 blob {blob}\t{name}.jsonl\n" for name in names)
    tree = subprocess.run(["git", "mktree"], input=log.encode(), check=True, cwd=remote, capture_output=True,
                          env=environment()).stdout.decode().strip()
    new = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=files["meta.json"], check=True, cwd=remote,
                         capture_output=True, env=environment()).stdout.decode().strip()
    root = subprocess.run(["git", "mktree"], input=f"040000 tree {tree}\tlog\n100644 blob {new}\tmeta.json\n".encode(),
                          check=True, cwd=remote, capture_output=True, env=environment()).stdout.decode().strip()
    git(remote, "update-ref", b.ref, git(remote, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "x",
                                         root).strip())
    assert a.exchange()["warnings"] == []


def test_a_machine_keeps_its_id_when_its_log_is_put_into_another_commit(three):
    """Anybody who can push can do this: the files and their signature are the machine's own."""
    remote, a, b, c = three
    send(a, "agent-b")
    settle(a, b)
    old = git(remote, "rev-parse", a.ref).strip()
    a.abacus("machines", "rename", "laptop")
    a.exchange()
    mine = a.id
    for commit_ in (git(remote, "commit-tree", "-m", "x", f"{a.ref}^{{tree}}").strip(), old):
        git(remote, "update-ref", a.ref, commit_)
        assert a.exchange()["warnings"] == []
        assert a.id == mine
        assert log_of(remote, a.ref)[0]["name"] == "laptop"


def test_nobody_can_publish_as_a_machine_that_was_forgotten(three):
    remote, a, b, c = three
    a.abacus("machines", "forget", "host-b")
    assert "host-b" not in {m["name"] for m in a.abacus("machines")}
    rekey(b, c)
    assert ["another key" in w for w in a.exchange()["warnings"]] == [True]


def test_a_forgotten_machine_that_still_shares_is_heard_again(three):
    remote, a, b, c = three
    a.abacus("machines", "forget", "host-b")
    a.exchange()
    send(b, "agent-a", "still here")
    settle(b, a)
    assert bodies(a, "agent-a") == ["still here"] and problem(a, "host-b") is None


def test_refs_that_anybody_made_do_not_push_known_machines_out(three):
    remote, a, b, c = three
    junk = git(remote, "rev-parse", c.ref).strip()
    with open(remote / "packed-refs", "a") as refs:
        refs.writelines(f"{junk} refs/abacus/machines/{n:016x}\n" for n in range(1200))
    warnings = a.exchange()["warnings"]
    assert len(warnings) <= 12 and any("logs at the remote are not read" in w for w in warnings), warnings
    send(b, "agent-a", "after it")
    settle(b, a)
    assert bodies(a, "agent-a") == ["after it"]
    assert a.exchange()["warnings"] == []


def call_itself(one, name):
    """The name in its log, also one that no command would take."""
    with sqlite3.connect(one.home / "machines" / "machines.db") as db:
        db.execute("UPDATE self SET name = ?, dirty = 1", (name,))
    one.exchange()


def shown(one):
    return {m["id"]: m["name"] for m in one.abacus("machines")}


@pytest.mark.parametrize("name", ["host-b (here)", "> x", "x'. Now run it", "\x1b[2J", "a\nb", "\u202ex", "x" * 41])
def test_a_name_that_no_command_would_take_is_not_shown(three, name):
    remote, a, b, c = three
    call_itself(c, name)
    a.exchange()
    assert shown(a)[c.id] == c.id


def test_a_machine_cannot_take_the_name_of_another_one(three):
    remote, a, b, c = three
    first, second = sorted((b, c), key=lambda one: one.id)
    had = shown(a)[second.id]
    call_itself(first, had)
    a.exchange()
    assert shown(a) == {a.id: "host-a", second.id: had, first.id: f"{had}-{first.id[:4]}"}
    call_itself(first, second.id)
    a.exchange()
    assert shown(a)[first.id] != second.id
    a.abacus("machines", "trust", second.id)
    assert {m["id"]: m["facts"] for m in a.abacus("machines")}[first.id] > 0, "the other machine was meant"
    a.abacus("machines", "rename", second.id, "office")
    call_itself(first, "office")
    a.exchange()
    assert shown(a)[second.id] == "office"


def test_a_machine_cannot_take_a_name_that_another_one_had(three):
    remote, a, b, c = three
    call_itself(b, "office")
    a.exchange()
    call_itself(c, "host-b")
    a.exchange()
    assert shown(a) == {a.id: "host-a", b.id: "office", c.id: f"host-b-{c.id[:4]}"}
    call_itself(b, "host-b")
    a.exchange()
    assert shown(a)[b.id] == "host-b" and shown(a)[c.id] == f"host-b-{c.id[:4]}"


def test_a_machine_keeps_its_first_ten_names_from_others(three):
    """host-b, and the name of the computer that it had before."""
    remote, a, b, c = three
    for n in range(10):
        call_itself(b, f"name-{n}")
        a.exchange()
    for n, kept in (0, True), (7, True), (8, False), (9, True):
        call_itself(c, f"name-{n}")
        a.exchange()
        assert (shown(a)[c.id] != f"name-{n}") == kept, n


def test_the_command_beside_a_problem_names_that_machine_alone(three):
    remote, a, b, c = refused(three, lambda remote, b: rekey(b, three[3]), "another key", trustable=True)
    call_itself(c, b.id[:4])
    a.exchange()
    told = " ".join(a.bd("machines", program="abacus").ok().out.split())
    command = told.split("another key than before; abacus ")[1].split(" ")[:3]
    a.abacus(*command)
    a.exchange()
    assert a.abacus("machines") and {m["id"]: m["problem"] for m in a.abacus("machines")}[b.id] is None


def test_a_ref_in_the_way_of_the_own_log_is_named_with_the_command_that_removes_it(tmp_path):
    remote = bare(tmp_path / "hub.git")
    a = machine(tmp_path / "a", remote, "host-a", beads=True)
    a.create("x")
    a.agent("register", "--name", "agent-a", "--role", "ui")
    a.bd("sync").ok()
    tip = git(remote, "rev-parse", a.ref).strip()
    git(remote, "update-ref", "-d", a.ref)
    git(remote, "update-ref", f"{a.ref}/x", tip)
    told = a.bd("sync").ok().err
    assert "were not shared" in told, told
    run_command(a, command_of(told.strip(), "git push")).ok()
    assert a.bd("sync").ok().err == "" and git(remote, "rev-parse", a.ref)
