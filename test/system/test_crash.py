"""Killed at any moment: acknowledged writes are kept, and the next command works."""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess

import pytest

from conftest import Project, environment
from harness import (BB, STRACE, assert_error, assert_sound, copy_of, finish, held, killed, messages,
                     needs_strace, parts, reply_is_whole, rows, traced)

SEED = int(os.environ.get("ABACUS_SEED", "20240229"))

CALLS = ["write", "pwrite64", "fdatasync", "fsync", "/^rename", "/^ftruncate", "/^unlink", "/^mkdir"]

LOOP = '''i=0; while :; do i=$((i+1))
"$0" --as "$1" --json --request-id "$1-$2-$i" post "$1 $2 $i" || exit; done'''


def test_posts_killed_in_a_loop(project, tmp_path):
    """Loops of posts are killed at random moments, both program and shell."""
    chance = random.Random(SEED)
    acknowledged = {}
    for round_ in range(25):
        loops = []
        for n in range(4):
            out = open(tmp_path / f"{round_}-{n}", "wb")
            loops.append((subprocess.Popen(["sh", "-c", LOOP, BB, f"w{n}", str(round_)], cwd=project.path,
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                           env=environment(), start_new_session=True), out))
        for process, out in loops:
            try:
                process.wait(chance.uniform(0.005, 0.08))
            except subprocess.TimeoutExpired:
                pass
            os.killpg(process.pid, signal.SIGKILL)
            errors = process.communicate(timeout=60)[1].decode()
            out.close()
            assert "error" not in errors, f"seed {SEED}: {errors}"
            for line in open(out.name, encoding="utf-8"):
                if line.endswith("\n"):
                    reply = json.loads(line)
                    assert reply["id"] not in acknowledged, f"seed {SEED}"
                    acknowledged[reply["id"]] = (reply["id"], reply["from_agent"], reply["content"])
        there = {m[0]: m for m in messages(project)}
        lost = {i: m for i, m in acknowledged.items() if there.get(i) != m}
        assert not lost, f"seed {SEED}, round {round_}: {lost}"
        assert_sound(project)
        reply = project.json("post", f"after {round_}")
        acknowledged[reply["id"]] = (reply["id"], "human", f"after {round_}")
    assert len(acknowledged) > 50, "the loops got too little done to show anything"
    assert sorted(i for i, in rows(project, "SELECT id FROM messages")) == \
        list(range(1, max(acknowledged) + 1))


def test_single_posts_killed_and_sent_again(project):
    """Whether or not the first attempt was stored, the same request id has one effect."""
    chance = random.Random(SEED)
    dead = 0
    for n in range(120):
        command = ["--as", "a", "--json", "--request-id", f"r{n}", "post", f"message {n}"]
        process = project.spawn(*command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        try:
            process.wait(chance.uniform(0, 0.006))
        except subprocess.TimeoutExpired:
            process.kill()
        first = finish(process)
        dead += first.code != 0
        again = project.bb(*command).ok()
        if reply_is_whole(first.out):
            assert again.out == first.out, f"seed {SEED}"
        assert [m[2] for m in messages(project)] == [f"message {i}" for i in range(n + 1)], f"seed {SEED}"
    assert_sound(project)
    assert 0 < dead < 120, f"seed {SEED}: {dead} of 120 were killed, so little was shown"


def test_readers_killed_in_a_loop(project):
    """A reader writes too (read positions, offline agents), and must do no harm when killed."""
    chance = random.Random(SEED)
    for n in range(30):
        project.bb("--as", "w", "--quiet", "post", f"{n}").ok()
        process = project.spawn("--as", "r", "--json", "log", stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.wait(chance.uniform(0, 0.004))
        except subprocess.TimeoutExpired:
            process.kill()
        finish(process)
    assert_sound(project)
    assert [m["content"] for m in project.json("log", "-n", "100")] == [str(n) for n in range(29, -1, -1)]


def each_moment(call):
    """Numbers for "the N-th time this system call is made"; the test stops when it is not reached."""
    for n in range(1, 500):
        yield n, f"{call}:signal=SIGKILL:when={n}"
    raise AssertionError(f"{call} never stops being called")


@pytest.fixture
def fresh(project):
    """A board with one message, all of it in the log."""
    project.bb("--as", "a", "post", "acknowledged").ok()
    return project


@pytest.fixture
def full_log(project):
    """A board whose log is about to be checkpointed: the next post does it."""
    before = parts(project)[""]
    shadow = project.path.parent / "shadow"
    n = 0
    while True:
        n += 1
        shutil.rmtree(shadow, ignore_errors=True)
        shutil.copytree(project.path, shadow)
        project.bb("--as", "a", "--quiet", "post", f"acknowledged {n}").ok()
        if n > 1 and parts(project)[""] != before:
            break
        assert n < 1000, "the log is never written back"
    shutil.rmtree(project.path)
    shadow.rename(project.path)
    return project


@needs_strace
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("state", ["fresh", "full_log"])
def test_post_killed_at_every_call(request, tmp_path, state, call):
    template = request.getfixturevalue(state)
    known = messages(template)
    command = ["--as", "a", "--json", "--request-id", "once", "post", "new"]
    for n, fault in each_moment(call):
        board = copy_of(template, tmp_path / f"n{n}")
        first = traced(board, fault, *command)
        assert killed(first) or first.code == 0, first.err
        left = messages(board)
        assert left[:len(known)] == known, f"{fault}: acknowledged messages are gone"
        assert [m[2] for m in left[len(known):]] in ([], ["new"]), fault
        if reply_is_whole(first.out):
            assert len(left) == len(known) + 1, f"{fault}: acknowledged, and yet not there"
        seen = board.json("log", "-n", "100")
        assert [m["content"] for m in seen][::-1] == [m[2] for m in left], fault
        again = board.json(*command[:2], *command[3:])
        assert [m[2] for m in messages(board)] == [m[2] for m in known] + ["new"], fault
        assert again["id"] == len(known) + 1, fault
        assert board.json("post", "next")["id"] == len(known) + 2, fault
        assert_sound(board)
        shutil.rmtree(board.path)
        if not killed(first):
            break


@needs_strace
@pytest.mark.parametrize("call", CALLS)
def test_init_killed_at_every_call(tmp_path, call):
    for n, fault in each_moment(call):
        board = Project(tmp_path / f"n{n}")
        board.path.mkdir()
        first = traced(board, fault, "--json", "init")
        assert killed(first) or first.code == 0, first.err
        # until there is a board, everybody is told how to get one
        early = board.bb("--json", "post", "early")
        if early.code:
            error = early.error
            assert error["code"] in ("NOT_INITIALIZED", "INTERNAL_ERROR"), fault
            assert any(step in error["details"]["next_step"] for step in ("bb init", "abacus doctor --fix")), f"{fault}: {error}"
            assert not reply_is_whole(first.out), f"{fault}: init said that it was done"
        again = board.bb("--json", "init")
        assert again.code == 0, f"{fault}: {again.out}{again.err}"
        assert again.json["result"] in (["created", "exists"] if early.code else ["exists"]), fault
        assert not again.err and not [f for f in os.listdir(board.path / ".bb") if "damaged" in f or "tmp" in f], fault
        board.json("post", "next")
        assert [m[2] for m in messages(board)] == (["next"] if early.code else ["early", "next"]), fault
        assert (board.path / ".bb" / ".gitignore").read_text() == "*\n", fault
        assert_sound(board)
        shutil.rmtree(board.path)
        if not killed(first):
            break


@needs_strace
@pytest.mark.parametrize("call", CALLS)
def test_init_on_a_damaged_board_killed_at_every_call(fresh, tmp_path, call):
    """No byte of the damaged database or its log is lost on the way to a new board."""
    db = sqlite3.connect(fresh.database)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    fresh.bb("post", "in the log").ok()
    fresh.database.write_bytes(random.Random(SEED).randbytes(fresh.database.stat().st_size))
    damaged = parts(fresh)
    assert len(damaged["-wal"]) > 4096
    for n, fault in each_moment(call):
        board = copy_of(fresh, tmp_path / f"n{n}")
        first = traced(board, fault, "--json", "init")
        assert killed(first) or first.code == 0, first.err
        board.bb("--json", "init").ok()
        assert board.json("post", "next")["content"] == "next", fault
        assert [m[2] for m in messages(board)] == ["next"], fault
        files = held(board)
        aside = [name for name, data in files.items() if data == damaged[""]]
        assert len(aside) == 1, f"{fault}: the damaged database is not kept: {sorted(files)}"
        assert files.get(f"{aside[0]}-wal") == damaged["-wal"], \
            f"{fault}: the log of the damaged database is not kept beside it: {sorted(files)}"
        shutil.rmtree(board.path)
        if not killed(first):
            break


OTHERS = '{\n  // mine\n  "mcpServers": {"other": {"command": "x", "args": []}},\n  "keep": [1, 2.50]\n}\n'


@needs_strace
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("before", [None, OTHERS], ids=["no-file", "a-file"])
def test_install_killed_at_every_call(tmp_path, call, before):
    """The host's file is completely old or completely new, and a second attempt gives the same result."""
    whole = None
    for n, fault in each_moment(call):
        board = Project(tmp_path / f"n{n}")
        board.path.mkdir()
        file = board.path / ".mcp.json"
        if before is not None:
            file.write_text(before)
        first = traced(board, fault, "--json", "install", "claude", "--write")
        assert killed(first) or first.code == 0, first.err
        between = file.read_text() if file.exists() else None
        board.bb("--json", "install", "claude", "--write").ok()
        whole = whole or file.read_text()
        assert between in (before, whole), fault
        assert file.read_text() == whole, fault
        assert whole.count('"blackboard"') == 1
        if before is not None:
            others = [p for p in board.path.iterdir() if p != file]
            assert before in [p.read_text() for p in others], f"{fault}: no backup among {others}"
        again = board.json("install", "claude", "--write")
        assert again[0]["result"] == "unchanged" and file.read_text() == whole, fault
        shutil.rmtree(board.path)
        if not killed(first):
            break


@needs_strace
@pytest.mark.parametrize("state", ["fresh", "full_log"])
@pytest.mark.parametrize("fault", ["pwrite64:error=ENOSPC", "pwrite64:error=EIO", "fdatasync:error=EIO",
                                   "fdatasync:error=ENOSPC", "write:error=ENOSPC"])
def test_post_that_meets_a_failing_disk_at_every_call(request, tmp_path, state, fault):
    """Errors are true: "nothing was changed" only if that is so."""
    template = request.getfixturevalue(state)
    known = [m[2] for m in messages(template)]
    command = ["--as", "a", "--json", "--request-id", "once", "post", "new"]
    call = fault.split(":")[0]
    for n, moment in each_moment(call):
        board = copy_of(template, tmp_path / f"n{n}")
        first = traced(board, f"{fault}:when={n}", *command)
        left = [m[2] for m in messages(board)]
        assert left in (known, known + ["new"]), (fault, n)
        if first.code == 0:
            assert left[-1] == "new" and reply_is_whole(first.out), (fault, n)
        elif call != "write":
            error = assert_error(first, "INTERNAL_ERROR")
            if "nothing was changed" in error["details"]["next_step"].lower():
                assert left == known, f"{fault} at {n}: said {error}, but the message is there"
        board.json(*command[:2], *command[3:])
        assert [m[2] for m in messages(board)] == known + ["new"], (fault, n)
        assert_sound(board)
        shutil.rmtree(board.path)
        if not reached(template, tmp_path, call, n, command):
            break


def reached(template, tmp_path, call, n, command):
    """Does an undisturbed run make this call more than n times?"""
    return n < count(template, tmp_path, call, command)


def count(template, tmp_path, call, command, known={}):
    key = (template.path, call)
    if key not in known:
        board = copy_of(template, tmp_path / "count")
        log = tmp_path / "count.log"
        subprocess.run([STRACE, "-f", "-qq", "-o", log, "-e", f"trace={call}", BB, *command],
                       stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=board.path,
                       env=environment())
        known[key] = len(log.read_text().splitlines())
        shutil.rmtree(board.path)
    return known[key]


@needs_strace
def test_init_says_done_only_when_its_folder_is_durable(empty, tmp_path):
    """Each folder with a new entry is synced before the reply is printed."""
    log = tmp_path / "calls"
    subprocess.run([STRACE, "-f", "-qq", "-y", "-o", log, "-e", "trace=fsync,fdatasync,write", BB, "init"],
                   stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=empty.path,
                   env=environment())
    before_reply = log.read_text().split("write(1<")[0]
    for folder in (empty.path / ".bb", empty.path):
        assert f"<{folder}>)" in before_reply, f"{folder} was never synced"
