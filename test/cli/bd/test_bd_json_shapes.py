"""bd --json: the members of every reply, frozen"""
import json

import pytest

from beads import ECOSYSTEM, PUBLIC, clock, content_hash, prepared

BEAD = sorted(PUBLIC + ECOSYSTEM)
BRIEF = sorted(["id", "title", "status", "priority", "type", "labels", "assignee"])
NOTE = ["author", "created_at", "id", "issue_id", "text"]
EDGE = ["created_at", "created_by", "from", "kind", "status", "to"]
STONE = ["deleted_at", "deleted_by", "id", "reason", "title"]
SETTING = ["help", "key", "set", "value"]
EPIC = ["closed_children", "eligible_for_close", "id", "status", "title", "total_children"]


def more(base, *names):
    return sorted([*base, *names])


SHAPES = [
    (["create", "x"], dict, BEAD), (["create", "x", "--dry-run"], dict, BEAD), (["q", "x"], dict, BEAD),
    (["show", "bd-a"], list, more(BEAD, "dependencies", "dependents")),
    (["show", "bd-c"], list, more(BEAD, "dependencies", "dependents", "epoch")),
    (["list"], list, BEAD), (["list", "--brief"], list, BRIEF), (["search", "a"], list, BEAD),
    (["ready"], list, BEAD), (["ready", "--explain"], list, more(BEAD, "why")),
    (["ready", "--claim"], list, more(BEAD, "epoch")), (["claim", "bd-a"], list, more(BEAD, "epoch")),
    (["renew", "bd-c"], list, more(BEAD, "epoch")), (["unclaim", "bd-c"], list, BEAD),
    (["update", "bd-a", "-p", "1"], list, BEAD), (["update", "bd-a", "--claim"], list, more(BEAD, "epoch")),
    (["close", "bd-a"], list, BEAD), (["reopen", "bd-a"], list, BEAD),
    (["blocked"], list, more(BEAD, "blocked_by", "blocked_by_count")),
    (["delete", "bd-a", "--yes"], list, more(STONE, "deleted", "dependent_count")),
    (["delete", "bd-a", "--dry-run"], list, more(STONE, "deleted", "dependent_count")),
    (["deleted"], list, STONE), (["undelete", "bd-g"], list, BEAD),
    (["dep", "add", "bd-c", "bd-a"], dict, EDGE), (["dep", "remove", "bd-b", "bd-a"], list, EDGE),
    (["dep", "list", "bd-b"], list, more(BEAD, "dependency_type", "direction")),
    (["children", "bd-p"], list, BEAD), (["comment", "bd-a", "hi"], dict, NOTE), (["comments", "bd-n"], list, NOTE),
    (["label", "add", "bd-a", "l"], list, BEAD), (["label", "remove", "bd-a", "l"], list, BEAD),
    (["label", "list-all"], list, ["count", "label"]),
    (["status"], dict, ["blocked_issues", "clock_ahead_ms", "closed_issues", "deleted_issues", "expired_claims",
                        "in_progress_issues", "journal_bytes", "open_issues", "prefix", "ready_issues", "sync", "total_issues"]),
    (["count"], dict, ["count", "total"]), (["count", "--by-type"], dict, ["count", "groups", "total"]),
    (["epic", "status"], list, EPIC), (["validate"], dict, ["errors", "findings", "ok", "warnings"]),
    (["doctor"], dict, ["checks", "ok"]), (["config", "list"], list, SETTING),
    (["config", "get", "claim.lease"], dict, SETTING), (["version"], dict, ["format_version", "version"]),
    (["why", "bd-a"], dict, ["id", "ready", "reasons", "status", "title"]),
    (["graph"], dict, ["edges", "format", "nodes"]), (["dep", "tree", "bd-b"], dict, ["format", "nodes"]),
]


def eight(repo):
    clock(repo)
    plan = [["create", "a", "--id", "bd-a", "-l", "l"], ["create", "b", "--id", "bd-b", "--deps", "bd-a"],
            ["create", "c", "--id", "bd-c"], ["create", "p", "--id", "bd-p", "-t", "epic", "-p", "4"],
            ["create", "n", "--id", "bd-n", "--parent", "bd-p", "-p", "3"], ["create", "g", "--id", "bd-g"],
            ["comment", "bd-n", "hi"], ["delete", "bd-g", "--yes"], ["claim", "bd-c"]]
    for words in plan:
        repo.bd(*words).ok()


@pytest.fixture
def store(repo):
    prepared(repo, eight)
    return repo


@pytest.mark.parametrize("words, kind, members", SHAPES, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_the_members_of_a_reply(store, words, kind, members):
    done = store.bd(*words, "--json").ok()
    assert done.err == "" and done.out.endswith("\n") and done.out.count("\n") == 1
    reply = done.json
    assert type(reply) is kind
    rows = reply if kind is list else [reply]
    assert rows
    for row in rows:
        container = ["container", "open_children"] if words[0] == "ready" and row["id"] == "bd-p" else []
        assert sorted(row) == more(members, *container)


def test_types_of_every_member(store):
    store.bd("close", "bd-a", "-r", "done").ok()
    for bead in store.json("show", "bd-a", "bd-c", "bd-n"):
        for key in ("id", "title", "description", "status", "type", "created_at", "created_by", "updated_at",
                    "updated_by", "content_hash", "issue_type"):
            assert type(bead[key]) is str, key
        for key in ("priority", "dependency_count", "dependent_count", "comment_count"):
            assert type(bead[key]) is int, key
        for key in ("labels", "notes", "comments", "dependencies", "dependents"):
            assert type(bead[key]) is list, key
        for key in ("assignee", "assignee_expires", "closed_at", "closed_by", "closed_reason", "design",
                    "acceptance_criteria", "external_ref", "source_repo", "created_on_branch", "closed_on_branch", "parent"):
            assert bead[key] is None or type(bead[key]) is str, key
        for stamp in [bead["assignee_at"]] * (bead["assignee_at"] is not None) + [n["at"] for n in bead["notes"]]:
            assert [type(x) for x in stamp] == [int, int]
        assert bead["content_hash"] == content_hash(bead)


def test_members_excluded_from_the_hash_do_not_change_it(store):
    before = store.show("bd-n")
    clock(store, m=1)
    store.bd("label", "add", "bd-n", "x", "--actor", "bob").ok()
    store.bd("label", "remove", "bd-n", "x", "--actor", "bob").ok()
    after = store.show("bd-n")
    assert (after["updated_by"], after["updated_at"]) != (before["updated_by"], before["updated_at"])
    assert after["content_hash"] == before["content_hash"]


@pytest.mark.parametrize("words", [["--title", "t"], ["-d", "d"], ["-p", "0"], ["-t", "bug"], ["-s", "in_progress"],
                                   ["-a", "bob"], ["--design", "d"], ["--acceptance", "a"], ["--external-ref", "r"],
                                   ["--add-label", "z"], ["--append-notes", "n"], ["--claim"]], ids=lambda w: w[0])
def test_every_public_change_changes_the_hash(store, words):
    before = store.show("bd-a")["content_hash"]
    after, = store.json("update", "bd-a", *words)
    assert after["content_hash"] != before
    assert after["content_hash"] == content_hash(after)


def test_numbers_and_text_are_plain_json(store):
    store.bd("update", "bd-a", "--title", 'q"\\/\u2028 🎉', "-d", "\x01\x7f\t\n").ok()
    raw = store.bd("show", "bd-a", "--json").ok().out
    bead = json.loads(raw)[0]
    assert (bead["title"], bead["description"]) == ('q"\\/\u2028 🎉', "\x01\x7f\t\n")
    assert "🎉" in raw and "\\u0001" in raw
    assert bead["content_hash"] == content_hash(bead)
