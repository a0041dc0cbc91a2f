"""abacus pipe: operations as lines of JSON."""
import json

import pytest


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
def test_words_may_be_parted_as_an_address_does_it(repo, name):
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


def test_texts_will_do_where_it_only_looks(repo):
    repo.create("One", "-p", "1")
    repo.create("Two", "-p", "3")
    [found] = ask(repo, {"op": "bead list", "args": {"priority": "1", "limit": "5"}})
    assert [b["title"] for b in found["data"]] == ["One"]
    [refused] = ask(repo, {"op": "bead create", "args": {"title": "x"}})
    assert "requires POST" in refused["error"]["message"] and len(repo.json("list")) == 2


def test_what_is_only_for_command_lines_may_be_asked_too(repo):
    repo.create("One", "-d", "needle")
    [found] = ask(repo, {"op": "bead list", "params": {"desc_contains": "needle", "reverse": True}})
    assert len(found["data"]) == 1


def test_what_belongs_to_a_terminal_is_not_served(repo):
    for op in ("vybe loop", "vybe hook handle"):
        [no] = ask(repo, {"op": op, "params": {"command": "touch pwned"}})
        assert no["error"]["code"] == "NOT_FOUND"
    assert not (repo.path / "pwned").exists()


def test_changes_by_others_are_seen_though_the_databases_stay_open(repo):
    """Also when the cache is thrown away between two lines."""
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


def test_the_description_of_all_of_it(repo):
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


def test_an_undo_can_be_looked_at_before_it_is_made(repo):
    [made] = ask(repo, {"op": "bead create", "params": {"title": "Old"}})
    bead = made["data"]["id"]
    _, look, done = ask(repo, {"op": "bead update", "params": {"ids": [bead], "title": "New"}}, {"op": "bead undo", "params": {"dry_run": True}},
                        {"op": "bead show", "params": {"ids": [bead]}})
    assert done["data"][0]["title"] == "New" and look["data"]["beads"][0]["id"] == bead
    ask(repo, {"op": "bead undo", "params": {"write": look["data"]["write"]}})
    assert repo.show(bead)["title"] == "Old"
