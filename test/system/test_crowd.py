"""Many processes at once: nothing lost, nothing doubled, no error shown."""
import concurrent.futures
import json
import subprocess

import pytest

from conftest import environment
from harness import (BB, STRACE, assert_sound, finish, messages, needs_strace, notes, rows,
                     start_together, wait_until)

WRITERS, READERS, EACH = 50, 50, 20

POSTING = 'i=1; while [ $i -le "$2" ]; do "$0" --as "$1" --json post "$1 says $i" || echo "exit $?"; i=$((i+1)); done'
READING = '''i=1; while [ $i -le "$2" ]; do
  case $((i % 3)) in 0) set -- "$1" "$2" log;; 1) set -- "$1" "$2" status;; *) set -- "$1" "$2" summary;; esac
  printf '%s\\t' "$3"; "$0" $1 --json "$3" || echo "exit $?"
  i=$((i+1)); done'''


def loop(project, script, name, times):
    return subprocess.Popen(["sh", "-c", script, BB, name, str(times)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.path,
                            env=environment())


def test_fifty_writers_beside_fifty_readers(project):
    crowd = [("w", n) for n in range(WRITERS)] + [("r", n) for n in range(READERS)]
    with concurrent.futures.ThreadPoolExecutor(len(crowd)) as pool:
        def run(member):
            kind, n = member
            if kind == "w":
                return finish(loop(project, POSTING, f"w{n:02}", EACH), 110)
            # half of the readers give a name, and so write down what they have read
            return finish(loop(project, READING, f"--as r{n:02}" if n % 2 else "", EACH), 110)
        done = list(pool.map(run, crowd))

    writers, readers = done[:WRITERS], done[WRITERS:]
    assert [n for d in done for n in notes(d.err)] == []
    acknowledged = {}
    for n, writer in enumerate(writers):
        assert "exit" not in writer.out, writer.out
        replies = [json.loads(line) for line in writer.out.splitlines()]
        assert [r["content"] for r in replies] == [f"w{n:02} says {i}" for i in range(1, EACH + 1)]
        ids = [r["id"] for r in replies]
        assert ids == sorted(ids)
        acknowledged.update({r["id"]: (r["id"], r["from_agent"], r["content"]) for r in replies})
    assert sorted(acknowledged) == list(range(1, WRITERS * EACH + 1))
    assert messages(project) == [acknowledged[i] for i in sorted(acknowledged)]

    for reader in readers:
        newest = 0
        lines = reader.out.splitlines()
        assert len(lines) == EACH
        for line in lines:
            what, reply = line.split("\t", 1)
            reply = json.loads(reply)
            if what != "log":
                continue
            # whoever sees a message sees all that were there before it, and time goes on
            seen = [m["id"] for m in reply]
            assert not seen or seen == list(range(seen[0], seen[0] - len(seen), -1))
            assert (seen[0] if seen else 0) >= newest
            newest = seen[0] if seen else newest
    agents = {a["id"] for a in project.json("status")}
    assert agents == {f"w{n:02}" for n in range(WRITERS)}
    assert_sound(project)


@pytest.mark.parametrize("attempt", range(5))
def test_twenty_inits_make_one_board(empty, attempt):
    done = start_together(empty, [["--json", "init"]] * 20)
    assert [d.code for d in done] == [0] * 20, [d.out + d.err for d in done]
    assert [d.err for d in done if d.err] == []
    assert sorted(d.json["result"] for d in done) == ["created"] + ["exists"] * 19
    assert [d.json["kept_aside"] for d in done] == [None] * 20
    assert rows(empty, "SELECT version FROM schema_version") == [(1,)]
    assert not [f.name for f in (empty.path / ".bb").iterdir() if "tmp" in f.name or "damaged" in f.name]
    assert empty.json("post", "first")["id"] == 1
    assert_sound(empty)


@needs_strace
def test_an_init_that_overtakes_another_warns_of_nothing(empty):
    """The slower one has made the folder, and the faster one still makes the first board."""
    slow = subprocess.Popen([STRACE, "-qq", "-o", "/dev/null", "-e", "inject=flock:delay_enter=500000",
                             BB, "--json", "init"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd=empty.path, env=environment())
    wait_until((empty.path / ".bb").exists, "the slower one has made the folder")
    fast = empty.bb("--json", "init").ok()
    slow = finish(slow).ok()
    assert (fast.json["result"], fast.err, slow.json["result"], slow.err) == ("created", "", "exists", "")


def test_a_post_right_after_any_init_is_kept(empty):
    """The board can be used as soon as one init has replied, while others still start."""
    script = '"$0" --quiet init && "$0" --json post "$1"'
    done = [finish(p) for p in [loop(empty, script, f"m{n}", 1) for n in range(20)]]
    assert [d.code for d in done] == [0] * 20, [d.out + d.err for d in done]
    assert [n for d in done for n in notes(d.err)] == []
    assert sorted(json.loads(d.out)["id"] for d in done) == list(range(1, 21))
    assert sorted(m[2] for m in messages(empty)) == sorted(f"m{n}" for n in range(20))


def test_status_of_one_agent_set_by_many(project):
    done = start_together(project, [
        ["--as", "a", "--json", "status", "set", f"task {n}", "--progress", str(n)] for n in range(20)])
    assert [d.code for d in done] == [0] * 20, [d.out + d.err for d in done]
    (agent,) = project.json("status", "get", "a")
    assert agent["current_task"] == f"task {agent['progress']}"
    assert rows(project, "SELECT count(*) FROM agents") == [(1,)]


def test_fields_of_one_status_do_not_undo_each_other(project):
    fields = [["the task"], ["--progress", "42"], ["--blockers", "a key"]]
    done = start_together(project, [
        ["--as", "a", "--json", "status", "set", *fields[n % 3]] for n in range(18)])
    assert [d.code for d in done] == [0] * 18, [d.out + d.err for d in done]
    (agent,) = project.json("status", "get", "a")
    assert (agent["current_task"], agent["progress"], agent["status"], agent["blockers"]) == \
        ("the task", 42, "blocked", "a key")


def test_artifact_registered_by_many_is_one_row(project):
    (project.path / "out.txt").write_text("x")
    done = start_together(project, [
        ["--as", f"a{n}", "--json", "artifact", "add", "out.txt", f"by {n}", "--version", str(n),
         "--ref", f"tt:issue:{n}"] for n in range(20)])
    assert [d.code for d in done] == [0] * 20, [d.out + d.err for d in done]
    assert {d.json["id"] for d in done} == {1}
    (artifact,) = project.json("artifacts")
    assert artifact in [d.json for d in done]
    n = artifact["version"]
    assert (artifact["produced_by"], artifact["description"], artifact["refs"]) == \
        (f"a{n}", f"by {n}", [{"where": "tt", "what": "issue", "ref": int(n)}])


def test_one_request_sent_eight_times_at_once(project):
    done = start_together(project, [
        ["--as", "a", "--json", "--request-id", "once", "post", "hello", "--tag", "info"]] * 8)
    assert [d.code for d in done] == [0] * 8, [d.out + d.err for d in done]
    assert len({d.bytes for d in done}) == 1
    assert messages(project) == [(1, "a", "hello")]
    (project.path / "f").write_text("")
    for command in (["status", "set", "t"], ["artifact", "add", "f", "d"]):
        done = start_together(project, [["--as", "a", "--json", "--request-id", command[0], *command]] * 8)
        assert [d.code for d in done] == [0] * 8, [d.out + d.err for d in done]
        assert len({d.bytes for d in done}) == 1


def test_one_request_id_with_eight_contents(project):
    done = start_together(project, [
        ["--as", "a", "--json", "--request-id", "once", "post", f"hello {n}"] for n in range(8)])
    assert sorted(d.code for d in done) == [0] + [1] * 7
    assert {d.error["code"] for d in done if d.code} == {"REQUEST_MISMATCH"}
    (winner,) = [d.json for d in done if not d.code]
    assert messages(project) == [(1, "a", winner["content"])]


def test_replies_to_a_message_that_is_cleared_meanwhile(project):
    """Either the reply comes first and keeps its message, or its message is not found."""
    for round_ in range(5):
        old = project.json("post", "old", env={"ABACUS_NOW": "2020-01-01T00:00:00Z"})["id"]
        done = start_together(project, [["--json", "post", "re", "--reply-to", str(old)]] * 6 + [
            ["--json", "clear", "--messages-before", "1d", "--confirm"]] * 2)
        for d in done:
            assert d.code == 0 or d.error["code"] == "NOT_FOUND", d.out + d.err
        assert rows(project, "PRAGMA foreign_key_check") == []
    assert_sound(project)


def test_a_board_removed_among_writers(project):
    """They get the error that there is no board, and no other; nothing is half removed."""
    for round_ in range(5):
        done = start_together(project, [["--json", "post", "x"]] * 8 + [["--json", "destroy", "--confirm"]] +
                              [["--json", "log"]] * 4)
        for d in done:
            assert d.code == 0 or d.error["code"] == "NOT_INITIALIZED", d.out + d.err
        assert not (project.path / ".bb").exists()
        project.bb("init").ok()
        assert project.json("post", "x")["id"] == 1


def test_boards_made_and_removed_by_a_crowd(project):
    for round_ in range(5):
        done = start_together(project, [["--json", "init"]] * 5 + [["--json", "destroy", "--confirm"]] * 5 +
                              [["--json", "post", "x"]] * 5)
        for d in done:
            assert d.code == 0 or d.error["code"] == "NOT_INITIALIZED", d.out + d.err
    project.bb("init").ok()
    project.json("post", "after")
    assert_sound(project)


def test_clocks_that_disagree(project):
    """A writer that waited has an earlier time than the one before it: the order is still newest first."""
    at = ["12:00:00.000", "12:00:01.000", "12:00:03.000", "12:00:02.000"]
    for n, time in enumerate(at, 1):
        project.json("post", f"m{n}", env={"ABACUS_NOW": f"2024-01-01T{time}Z"})
    later = {"ABACUS_NOW": "2024-01-01T12:00:10Z"}
    newest_first = [m["id"] for m in project.json("log", env=later)]
    assert newest_first == [4, 3, 2, 1]
    since = [m["id"] for m in project.json("log", "--since", "1h", env=later)]
    assert since in ([4, 3, 2, 1], [3, 4, 2, 1]), since
    shown = project.bb("log", "--since", "1h", env=later).ok().out
    assert shown.index("m1") < shown.index("m2") < min(shown.index("m3"), shown.index("m4"))
