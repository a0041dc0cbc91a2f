"""abacus pipe: operations as lines of JSON."""
import json
import os
import subprocess

import pytest

from conftest import BIN, environment
from harness import STRACE, needs_strace


def ask(repo, *lines, **kw):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = repo.run("pipe", program="abacus", stdin=text.encode(), **kw).ok()
    return [json.loads(line) for line in done.out.splitlines()]


def test_each_line_is_answered_in_order(repo):
    made, shown, ready = ask(
        repo, {"op": "bead create", "params": {"title": "By a program"}, "id": 1},
        {"op": "bead list", "params": {}, "id": "two"}, {"op": "bead ready"})
    assert made["data"]["title"] == "By a program" and made["id"] == 1
    assert [b["id"] for b in shown["data"]] == [made["data"]["id"]] and shown["id"] == "two"
    assert ready["data"] == shown["data"] and "id" not in ready


@pytest.mark.parametrize("name", ["bead/create", "bead_create", "bead-create", "bead create"])
def test_an_operation_can_be_named_like_its_url_path(repo, name):
    [made] = ask(repo, {"op": name, "params": {"title": "x"}})
    assert made["data"]["title"] == "x"


def test_a_person_acts_unless_an_agent_is_named(repo):
    mine, theirs = ask(repo, {"op": "bead create", "params": {"title": "a"}},
                       {"op": "bead create", "params": {"title": "b", "agent": "kimi-01"}}, env={"BD_ACTOR": "somebody"})
    assert repo.show(theirs["data"]["id"])["created_by"] == "kimi-01"
    # whose terminal it was started from says nothing of who asks
    assert repo.show(mine["data"]["id"])["created_by"] not in ("kimi-01", "somebody")


def test_errors_are_those_of_the_operation(repo):
    wrong, unknown, strange, not_json, not_object = ask(
        repo, {"op": "bead show", "params": {"ids": ["nope"]}}, {"op": "bead fly"},
        {"op": "bead list", "params": {"colour": "red"}}, "{", {"op": "bead list", "params": []})
    assert wrong["error"]["code"] == "not_found" and wrong["error"]["status"] == 404 and wrong["error"]["hint"]
    assert unknown["error"]["code"] == "NOT_FOUND" and "bead fly" in unknown["error"]["message"]
    assert "colour" in strange["error"]["message"] and strange["error"]["status"] == 400
    assert not_json["error"]["status"] == 400
    assert "not an object" in not_object["error"]["message"]


def test_a_request_id_has_one_effect(repo):
    first, again, other = ask(repo, *[{"op": "bead create", "params": {"title": t, "agent": "a-1", "request_id": "r1"}} for t in "xxy"])
    assert first == again and other["error"]["code"] == "request_mismatch" and other["error"]["status"] == 409
    assert len(repo.json("list")) == 1


def test_arguments_of_reads_can_be_strings(repo):
    repo.create("One", "-p", "1")
    repo.create("Two", "-p", "3")
    [found] = ask(repo, {"op": "bead list", "args": {"priority": "1", "limit": "5"}})
    assert [b["title"] for b in found["data"]] == ["One"]
    [refused] = ask(repo, {"op": "bead create", "args": {"title": "x"}})
    assert "requires POST" in refused["error"]["message"] and len(repo.json("list")) == 2


def test_parameters_of_the_command_line_are_accepted(repo):
    repo.create("One", "-d", "needle")
    [found] = ask(repo, {"op": "bead list", "params": {"desc_contains": "needle", "reverse": True}})
    assert len(found["data"]) == 1


def test_operations_that_need_a_terminal_are_refused(repo):
    for op in ("vybe loop", "vybe hook handle"):
        [no] = ask(repo, {"op": op, "params": {"command": "touch pwned"}})
        assert no["error"]["code"] == "NOT_FOUND"
    assert not (repo.path / "pwned").exists()


def test_changes_by_others_are_seen_while_the_databases_stay_open(repo):
    """Even if the cache is deleted between two lines."""
    child = repo.spawn("pipe", program="abacus", stdin=-1, stdout=-1)

    def once(line):
        child.stdin.write((json.dumps(line) + "\n").encode())
        child.stdin.flush()
        return json.loads(child.stdout.readline())["data"]

    try:
        for i in range(6):
            repo.create(f"by the command line {i}")
            once({"op": "bead create", "params": {"title": f"by the pipe {i}"}})
            if i % 2:
                repo.cache.unlink()
            assert len(once({"op": "bead list", "params": {"limit": 0}})) == 2 * (i + 1)
            assert len(repo.json("list", "-n", "0")) == 2 * (i + 1)
    finally:
        child.stdin.close()
        assert child.wait(5) == 0


def test_the_description_lists_all_operations(repo):
    [found] = ask(repo, {"op": "openapi.json"})
    paths = found["data"]["paths"]
    assert found["data"]["openapi"].startswith("3.1")
    assert "/api/bead/create" in paths and "/api/sessions/{bead}/conversation" in paths and "/api/events" in paths
    assert "get" in paths["/api/bead/list"] and "get" not in paths["/api/bead/create"]
    for path, methods in paths.items():
        for method in methods.values():
            assert method["operationId"] and method["responses"]["200"]["description"], path
    assert len({m["operationId"] for p in paths.values() for m in p.values()}) == sum(len(p) for p in paths.values())


def test_whoami_is_the_person_who_runs_the_process(repo):
    (repo.path / ".git" / "config").open("a").write("[user]\n\tname = Jane Doe\n")
    mine, theirs = ask(repo, {"op": "whoami"}, {"op": "whoami", "params": {"agent": "kimi-01"}})
    assert (mine["data"]["actor"], theirs["data"]["actor"]) == ("Jane Doe", "kimi-01")


def test_an_undo_can_be_previewed(repo):
    [made] = ask(repo, {"op": "bead create", "params": {"title": "Old"}})
    bead = made["data"]["id"]
    _, look, done = ask(repo, {"op": "bead update", "params": {"ids": [bead], "title": "New"}}, {"op": "bead undo", "params": {"dry_run": True}},
                        {"op": "bead show", "params": {"ids": [bead]}})
    assert done["data"][0]["title"] == "New" and look["data"]["beads"][0]["id"] == bead
    ask(repo, {"op": "bead undo", "params": {"write": look["data"]["write"]}})
    assert repo.show(bead)["title"] == "Old"


# --- writes that wait already become durable together ---


def create(title, **more):
    return {"op": "bead create", "params": {"title": title, **more}}


def traced(repo, lines, *options):
    """The replies of a traced process that reads all lines at once."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([STRACE, "-f", "-qq", *options, str(BIN / "abacus"), "pipe"], input=text.encode(), capture_output=True,
                          timeout=60, cwd=repo.path, env=environment(**repo.env))
    return [json.loads(line) for line in done.stdout.splitlines()]


@needs_strace
def test_waiting_writes_share_one_fsync(repo, tmp_path):
    log = tmp_path / "calls"
    made = traced(repo, [create(f"bead {i}") for i in range(50)], "-e", "trace=fdatasync", "-o", str(log))
    assert [m["data"]["title"] for m in made] == [f"bead {i}" for i in range(50)]
    assert log.read_text().count("fdatasync(") == 1
    assert len(repo.json("list", "-n", "0")) == 50
    assert len({m["data"]["id"] for m in made}) == 50


def test_each_write_of_a_group_sees_those_before_it(repo):
    first, again, note, loop = ask(
        repo, create("one", id="bd-one", request_id="r1", agent="a-1"), create("one", id="bd-one"),
        {"op": "bead comment", "params": {"id": "bd-one", "text": "seen"}},
        {"op": "bead dep add", "params": {"from": "bd-one", "to": "bd-one"}})
    assert first["data"]["id"] == "bd-one" and again["error"]["code"] == "already_exists"
    assert "error" not in note and loop["error"]
    assert [n["content"] for n in repo.show("bd-one")["notes"]] == ["seen"]


def test_a_failed_write_does_not_affect_the_others(repo):
    """The second write is refused after it has changed its first bead, so the cache is rolled back and catches up."""
    repo.create("there", "--id", "bd-there")
    made, refused, last, shown = ask(
        repo, create("before", id="bd-before"), {"op": "bead update", "params": {"ids": ["bd-there", "bd-nope"], "title": "half"}},
        create("after", id="bd-after"), {"op": "bead list", "params": {}})
    assert refused["error"]["code"] == "not_found" and "error" not in made and "error" not in last
    assert {b["title"] for b in shown["data"]} == {"there", "before", "after"}
    os.unlink(repo.path / ".git/abacus/cache.db")
    assert {b["title"] for b in repo.json("list")} == {"there", "before", "after"}


@needs_strace
@pytest.mark.parametrize("fault, known", [("write:error=ENOSPC:when=1", True), ("fdatasync:error=EIO:when=1", False)])
def test_a_disk_that_fails_refuses_the_whole_group(repo, fault, known):
    answers = traced(repo, [create("a"), create("b"), {"op": "bead show", "params": {"ids": ["bd-nope"]}}],
                     "-o", os.devnull, "-e", f"inject={fault}")
    assert [a["error"]["code"] for a in answers] == ["storage", "storage", "not_found"]
    assert ("not known" in answers[0]["error"]["hint"]) is not known
    assert ("Nothing was changed" in answers[1]["error"]["hint"]) is known
    assert len(repo.json("list")) == (0 if known else 2)
    assert "error" not in ask(repo, create("c"))[0]


@needs_strace
@pytest.mark.parametrize("call", ["write", "pwrite64", "fdatasync"])
def test_a_killed_group_is_stored_completely_or_not_at_all(repo, call):
    """Every write with a reply is stored. If the process is killed before the reply, its records are complete or
    absent."""
    for n in [*range(1, 12), *range(12, 200, 9)]:
        before = len(repo.json("list", "-n", "0"))
        answers = traced(repo, [create(f"{call} {n} {i}") for i in range(3)], "-o", os.devnull,
                         "-e", f"inject={call}:signal=SIGKILL:when={n}")
        assert len(repo.json("list", "-n", "0")) - before in ([3] if answers else [0, 3]), n
        if len(answers) == 3:
            return
    raise AssertionError(f"{call} never stops being called")
