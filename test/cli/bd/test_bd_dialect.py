"""bd: the habits of agents and scripts"""
import json
import re

import pytest

from beads import ECOSYSTEM, PUBLIC, clock, content_hash, is_error, prepared
from board import on_terminal


def pair(repo):
    clock(repo)
    repo.create("a", "--id", "bd-a")
    repo.create("b", "--id", "bd-b", "--deps", "bd-a")


@pytest.fixture
def two(repo):
    prepared(repo, pair)
    return repo


def test_create_is_an_object_and_the_others_are_arrays(two):
    assert isinstance(two.json("create", "x"), dict)
    for words in (["ready"], ["show", "bd-a"], ["list"], ["update", "bd-a", "-p", "1"], ["search", "a"], ["blocked"],
                  ["claim", "bd-a"], ["close", "bd-a"], ["reopen", "bd-a"]):
        got = two.json(*words)
        assert isinstance(got, list) and got, words


@pytest.mark.parametrize("words", [["ready"], ["list"], ["search", "x"], ["blocked"], ["deleted"], ["stale"], ["reclaim"],
                                   ["dep", "cycles"], ["label", "list-all"], ["epic", "status"],
                                   ["ready", "--claim"], ["epic", "close-eligible"]])
def test_empty_is_an_empty_array(repo, words):
    assert repo.bd(*words, "--json").ok().out == "[]\n"


def four(repo):
    pair(repo)
    repo.create("c", "--id", "bd-c")
    repo.create("p", "--id", "bd-p", "-t", "epic")
    repo.bd("update", "bd-b", "--parent", "bd-p").ok()
    repo.bd("comment", "bd-a", "note").ok()
    repo.bd("delete", "bd-c", "--yes").ok()


def whole(bead):
    assert set(PUBLIC + ECOSYSTEM) <= set(bead)
    assert bead["issue_type"] == bead["type"]
    assert bead["close_reason"] == bead["closed_reason"]
    assert bead["comment_count"] == len(bead["comments"]) == len(bead["notes"])
    assert bead["content_hash"] == content_hash(bead)


@pytest.mark.parametrize("words", [["show", "bd-a", "bd-b"], ["list"], ["ready"], ["search", "a"], ["blocked"],
                                   ["update", "bd-a", "-p", "0"], ["claim", "bd-a"], ["close", "bd-a", "-r", "x"],
                                   ["reopen", "bd-a"], ["label", "add", "bd-a", "l"], ["unclaim", "bd-a"],
                                   ["renew", "bd-a"], ["undelete", "bd-c"], ["reclaim"], ["children", "bd-p"],
                                   ["dep", "list", "bd-b"], ["stale"], ["ready", "--claim"], ["close", "bd-a", "--claim-next"]])
def test_every_command_prints_whole_beads(repo, words):
    prepared(repo, four)
    if words[0] in ("unclaim", "renew"):
        repo.bd("claim", "bd-a").ok()
    if words[0] == "reclaim":
        repo.bd("claim", "bd-a").ok()
        clock(repo, h=2)
    if words[0] == "stale":
        clock(repo, d=9000)
    got = repo.json(*words)
    assert got
    for bead in got:
        whole(bead)


def test_show_adds_dependencies_and_the_epoch_of_a_claim(two):
    bead = two.show("bd-b")
    assert [(d["id"], d["dependency_type"]) for d in bead["dependencies"]] == [("bd-a", "blocks")]
    assert bead["dependents"] == []
    assert "epoch" not in bead
    two.bd("claim", "bd-b").ok()
    bead = two.show("bd-b")
    assert bead["epoch"] == bead["assignee_at"]


def test_flags_before_and_after_the_command(repo):
    a = repo.bd("--json", "--actor", "bob", "create", "x", "-p", "1").ok().json
    b = repo.bd("create", "-p", "1", "x", "--actor=bob", "--json").ok().json
    c = repo.bd("create", "--json", "--priority=1", "--actor", "bob", "--", "x").ok().json
    assert [(v["title"], v["priority"], v["created_by"]) for v in (a, b, c)] == [("x", 1, "bob")] * 3


def test_short_flags_with_their_value_attached_or_not(repo):
    assert repo.json("create", "x", "-p1")["priority"] == 1
    assert repo.json("create", "x", "-p", "1")["priority"] == 1
    assert repo.json("create", "x", "-tbug")["type"] == "bug"


IGNORED = [["--no-daemon"], ["--no-auto-flush"], ["--no-auto-import"], ["--allow-stale"], ["--sandbox"], ["--no-db"],
           ["--lock-timeout", "5s"], ["--lock-timeout=30"], ["--db", "/nonexistent/x.db"], ["--db=/nonexistent"],
           ["--verbose"], ["-v"], ["--dolt-auto-commit", "off"], ["--dolt-auto-commit=on"]]


@pytest.mark.parametrize("flags", IGNORED, ids=lambda f: f[0])
def test_old_flags_are_taken_and_ignored(two, flags):
    before = two.bd("list", "--json").ok().bytes
    assert two.bd(*flags, "list", "--json").ok().bytes == before
    assert two.bd("list", *flags, "--json").ok().bytes == before
    assert two.bd(*flags, "create", "x", "--json").ok().json["title"] == "x"
    assert two.bd("update", "bd-a", *flags, "-p", "0").ok()


def test_words_without_quotes_are_one_text(repo):
    bead = repo.bd("q", "fix", "the parser", "-p", "1", "now").ok().out.strip()
    assert (repo.show(bead)["title"], repo.show(bead)["priority"]) == ("fix the parser now", 1)
    repo.create("fix it")
    assert repo.ids("search", "fix", "-s", "open", "parser") == [bead]
    repo.bd("note", bead, "two", "words").ok()
    assert [c["text"] for c in repo.json("comments", bead)] == ["two words"]
    is_error(repo.bd("--json", "q", "a", "b" * 1000), "invalid_argument", 1)
    is_error(repo.bd("--json", "search", "--query", "fix", "parser"), "invalid_argument", 2)


@pytest.mark.parametrize("alias, command", [(["ls"], ["list"]), (["view", "bd-a"], ["show", "bd-a"]),
                                            (["stats"], ["status"])])
def test_other_names_of_commands(two, alias, command):
    assert two.bd(*alias, "--json").ok().bytes == two.bd(*command, "--json").ok().bytes


def test_version(repo):
    out = repo.bd("version").ok().out
    assert re.fullmatch(r"bd version \d+\.\d+\.\d+[^\n]*\n", out)
    assert repo.bd("--version").ok().out == out
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", repo.json("version")["version"])


def test_version_and_help_need_no_repository(repo, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for words in (["version"], ["--version"], ["--help"], ["create", "--help"], ["dep", "add", "-h"], ["help"]):
        assert repo.bd(*words, cwd=other).ok().out


@pytest.mark.parametrize("command", [
    "init", "create", "q", "update", "show", "list", "search", "ready", "close", "reopen", "delete", "undelete",
    "deleted", "claim", "unclaim", "renew", "reclaim", "dep add", "dep remove", "dep list", "dep tree", "dep cycles",
    "blocked", "children", "comments", "comment", "label add", "label remove", "label list", "label list-all", "status",
    "validate", "doctor", "where", "info", "version", "config get", "config set", "config list", "stale", "count",
    "epic status", "epic close-eligible", "graph"])
def test_every_command_has_help(plain_repo, command):
    out = plain_repo.bd(*command.split(), "--help").ok().out
    assert "Usage" in out and f"bd {command}" in out


def test_json_and_silent_and_quiet(two):
    assert two.bd("update", "bd-a", "bd-b", "-p", "1", "--silent").ok().out == "bd-a\nbd-b\n"
    assert two.bd("close", "bd-a", "--silent").ok().out == "bd-a\n"
    assert two.bd("ready", "--silent").ok().out == "bd-b\n"


def test_json_is_one_line_without_colour_or_prose(two):
    for words in (["list"], ["show", "bd-a"], ["ready"], ["status"], ["dep", "tree", "bd-b"], ["graph"], ["doctor"],
                  ["validate"], ["config", "list"], ["init"], ["where"], ["info"], ["version"], ["count"]):
        done = two.bd(*words, "--json").ok()
        assert done.err == ""
        assert done.out.count("\n") == 1
        json.loads(done.out)
        assert "\x1b" not in done.out


def test_no_color_on_a_terminal(two):
    shown, code = on_terminal(two, "list", program="bd", env={"NO_COLOR": "1"})
    assert (code, "\x1b" in shown) == (0, False)
    assert "bd-a" in shown


def test_no_colour_where_there_is_no_terminal(two):
    for words in (["list"], ["show", "bd-a"], ["ready"], ["dep", "tree", "bd-b"], ["status"]):
        assert "\x1b" not in two.bd(*words).ok().out


def test_an_unknown_command_is_an_error(repo):
    error = is_error(repo.bd("--json", "lst"), "invalid_argument", 2)
    assert "lst" in error["message"]


def test_dep_add_a_b_means_a_depends_on_b(two):
    two.bd("dep", "remove", "bd-b", "bd-a").ok()
    two.bd("dep", "add", "bd-a", "bd-b").ok()
    assert [d["id"] for d in two.show("bd-a")["dependencies"]] == ["bd-b"]
    assert two.ids("ready") == ["bd-b"]


def test_several_ids_at_once(repo):
    ids = [repo.create(x) for x in "abc"]
    for words in (["show"], ["update", "-p", "0"], ["close"], ["reopen"], ["claim"], ["renew"], ["unclaim"], ["delete", "--yes"],
                  ["undelete"]):
        assert [b["id"] for b in repo.json(words[0], *ids, *words[1:])] == ids, words
    assert [b["id"] for b in repo.json("label", "add", *ids, "l")] == ids


def test_the_same_id_twice_is_one_bead(repo):
    bead = repo.create("x")
    assert [b["id"] for b in repo.json("close", bead, bead)] == [bead]
    assert [b["id"] for b in repo.json("delete", bead, bead[:-1], "--yes")] == [bead]


def test_abacus_bd_is_bd(two):
    assert two.run("bd", "list", "--json", program="abacus").ok().bytes == two.bd("list", "--json").ok().bytes
