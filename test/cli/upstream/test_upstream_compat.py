"""Every command, alias and option of upstream's bd works, or the error says what to use instead."""
import json
import os
import shlex

import pytest

from beads import clock, is_error, prepared
from conftest import BIN


def some(repo):
    clock(repo)
    for name in "abcdefgh":
        repo.create(f"title {name}", "--id", f"bd-{name}")
    repo.create("epic", "--id", "bd-epic", "-t", "epic")
    repo.bd("dep", "add", "bd-b", "bd-a").ok()
    repo.bd("claim", "bd-h").ok()
    repo.bd("delete", "bd-g", "--yes").ok()
    repo.bd("remember", "a fact", "--key", "k1").ok()
    repo.bd("config", "set", "custom.key", "value").ok()


DICT, LIST, TEXT = dict, list, str
# A line of bd, and the type of its JSON.
WORKS = [
    ("create --title=x --type=task --priority=2", DICT), ("create x -d d -t feat -p P1 -l a,b -a me --deps discovered-from:bd-a,blocks:bd-b", DICT),
    ("new x --type enhancement", DICT), ("create x --parent bd-epic --design D --acceptance A --external-ref gh-1 --id bd-new", DICT),
    ("create x --dry-run", DICT), ("create x --notes n --estimate 30 --due 2030-01-01 --defer 2030-01-01 --metadata '{\"a\":1}' --spec-id s", DICT),
    ("update bd-a --claim", LIST), ("update bd-a -s in_progress -p 1 -t bug --title T -d D --design X --acceptance Y", LIST),
    ("update bd-a --append-notes N -a me --add-label l --remove-label z", LIST), ("update bd-a --set-labels q --parent bd-epic --external-ref e", LIST),
    ("update bd-a --notes text", LIST), ("show bd-a", LIST), ("view bd-a", LIST), ("show bd-a --long", LIST), ("show bd-a --include-dependents", LIST),
    ("show --current", LIST), ("show --id=bd-a", LIST), ("list", LIST), ("ls --ready", LIST),
    ("list -s open,closed --all -t task -p 1 --priority-min 0 --priority-max 2 -a me", LIST),
    ("list --no-assignee -l a --label-any b --id bd-a,bd-b --parent bd-a --title-contains x --desc-contains y", LIST),
    ("list --created-after 2020-01-01 --created-before 2030-01-01 --updated-after 2020-01-01 --updated-before 2030-01-01", LIST),
    ("list --closed-after 2020-01-01 --closed-before 2030-01-01 -n 0 --sort priority --reverse --long", LIST), ("list --tree", LIST),
    ("list --tree=false", LIST), ("list --format ids", LIST), ("list --title x", LIST), ("search title", LIST), ("search --query title", LIST),
    ("ready -n 3 -p 1 -t bug -a me -l x --label-any y --parent bd-epic --sort priority", LIST), ("ready -u --explain", LIST),
    ("ready --sort hybrid", LIST), ("ready --claim", LIST), ("close bd-a -r done", LIST), ("done bd-a", LIST), ("close bd-a --suggest-next", LIST),
    ("close bd-a --claim-next", LIST), ("close bd-b --force", LIST), ("reopen bd-a", LIST), ("delete bd-a --force", LIST), ("undelete bd-g", LIST),
    ("deleted", LIST), ("claim bd-a", LIST), ("unclaim bd-h", LIST), ("renew bd-h", LIST), ("reclaim --older-than 1h", LIST),
    ("dep add bd-c bd-d --type blocks", DICT), ("dep add bd-c bd-d --kind parent-child", DICT), ("dep add bd-c bd-d --type relates-to", DICT),
    ("dep add bd-c bd-d --type discovered-from", DICT), ("dep remove bd-b bd-a", LIST), ("dep list bd-b", LIST), ("dep tree bd-b --direction both -d 3", DICT),
    ("dep tree bd-b --direction up --format mermaid", DICT), ("dep cycles", LIST), ("blocked", LIST), ("children bd-epic", LIST), ("comments bd-a", LIST),
    ("comments add bd-a text --author ann", DICT), ("comment bd-a text", DICT), ("note bd-a text", DICT), ("label add bd-a x", LIST),
    ("label remove bd-a x", LIST), ("label list bd-a", LIST), ("label list-all", LIST), ("sync", DICT), ("sync --flush-only", DICT),
    ("sync --import-only", DICT), ("sync --full", DICT), ("dolt push", DICT), ("dolt pull", DICT), ("dolt commit", DICT), ("status", DICT), ("stats", DICT),
    ("validate", DICT), ("doctor", DICT), ("doctor --fix", DICT), ("doctor --agent", DICT), ("doctor --check=validate", DICT), ("where", DICT),
    ("info", DICT), ("info --schema", DICT), ("version", DICT), ("config get sync.auto", DICT), ("config set sync.auto true", DICT), ("config list", LIST),
    ("config set status.custom a,b", DICT), ("config get custom.key", DICT), ("config unset custom.key", DICT), ("onboard", DICT), ("quickstart", DICT),
    ("setup --list", DICT), ("setup claude --check --project", DICT), ("setup claude --project", DICT), ("setup claude --remove --project", DICT),
    ("stale", LIST), ("count --by-status", DICT), ("epic status", LIST), ("epic close-eligible", LIST), ("graph", DICT), ("remember fact", DICT),
    ("memories", DICT), ("memories fact", DICT), ("recall k1", DICT), ("forget k1", DICT), ("context", DICT), ("defer bd-a --until 2030-01-01", LIST),
    ("undefer bd-a", LIST), ("supersede bd-a --with bd-c", LIST), ("duplicate bd-a --of bd-c", LIST), ("duplicates", DICT), ("todo", LIST),
    ("todo list", LIST), ("todo add x", DICT), ("todo done bd-a", LIST), ("query 'status=open AND priority<=2'", LIST), ("admin cleanup", DICT),
    ("admin compact --stats", DICT), ("hooks install", LIST), ("hooks list", LIST), ("hooks uninstall", LIST), ("daemon status", DICT), ("init", DICT),
    ("--no-daemon list", LIST), ("list --no-auto-flush --no-auto-import --allow-stale --sandbox --no-db --lock-timeout 5s --db x", LIST),
    ("--actor me list", LIST),
]
PRINTS = ["q x", "create --silent x", "prime", "prime --hook-json", "prime --mcp", "hooks run pre-commit", "hook post-merge"]


@pytest.mark.parametrize("line,shape", WORKS, ids=[line for line, _ in WORKS])
def test_a_documented_command_line_of_upstream_works(repo, line, shape):
    prepared(repo, some)
    words = shlex.split(line)
    got = repo.bd(*words, "--json", env={"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}).ok()
    assert isinstance(got.json, shape), got.out
    assert not got.err or "unread" in got.err or words[0] == "init", got.err


def test_history_export_and_import_as_upstream_calls_them(repo):
    prepared(repo, some)
    repo.bd("sync").ok()
    repo.bd("update", "bd-a", "-p", "0").ok()
    repo.bd("sync").ok()
    assert isinstance(repo.json("history", "bd-a"), list)
    repo.bd("diff", "~1", "~0", "--json").ok()
    lines = [json.loads(line) for line in repo.bd("export").ok().out.splitlines()]
    assert "bd-a" in [line.get("id") for line in lines]
    repo.bd("export", "-o", "out.jsonl").ok()
    for words in (["import", "out.jsonl"], ["import", "-i", "out.jsonl"]):
        got = repo.json(*words)
        assert got["read"] == len(lines) and not (got["created"] or got["updated"] or got["refused"]), got


@pytest.mark.parametrize("line", PRINTS)
def test_a_command_line_with_text_output_works(repo, line):
    prepared(repo, some)
    assert repo.bd(*line.split()).ok().err == ""


@pytest.mark.parametrize("line", ["mol list", "formula list", "wisp list", "dolt sql -q x"])
def test_an_unsupported_command_says_what_to_use_instead(repo, line):
    is_error(repo.bd(*line.split(), "--json"), "invalid_argument", 1)


@pytest.mark.parametrize("line,instead", [("update bd-a --status blocked", "bd dep add"), ("update bd-a --status=deferred", "bd defer"),
                                          ("list --status blocked", "bd blocked"), ("list --status all", "--all")])
def test_a_status_of_upstream_that_does_not_exist_here_has_a_hint(repo, line, instead):
    prepared(repo, some)
    done = repo.bd(*line.split(), "--json")
    is_error(done, "invalid_argument", 1)
    assert instead in done.error["hint"]


def test_a_comment_has_the_author_that_the_option_names(repo):
    bead = repo.create("x")
    assert repo.json("comments", "add", bead, "text", "--author", "Ann Author")["author"] == "Ann Author"


def test_list_ready_equals_ready(repo):
    prepared(repo, some)
    assert sorted(repo.ids("list", "--ready", "-n", "0")) == sorted(repo.ids("ready", "-n", "0"))


def test_show_current_shows_the_beads_that_the_actor_works_on(repo):
    prepared(repo, some)
    assert repo.ids("show", "--current") == ["bd-h"]
    assert repo.ids("show", "--current", "--as", "bob") == []
    assert repo.bd("show").code == 2


def test_a_fact_is_remembered_until_it_is_forgotten(repo):
    assert repo.json("remember", "Run the tests first!")["key"] == "run-the-tests-first"
    assert repo.json("recall", "run-the-tests-first")["value"] == "Run the tests first!"
    assert repo.json("memories") == {"run-the-tests-first": "Run the tests first!"}
    assert "Run the tests first!" in repo.bd("prime").out
    repo.bd("forget", "run-the-tests-first").ok()
    assert repo.json("memories") == {}
    assert repo.bd("recall", "run-the-tests-first").code == 1


def test_a_bead_that_is_superseded_is_closed_and_related(repo):
    old, new = repo.create("old"), repo.create("new")
    got, = repo.json("supersede", old, "--with", new)
    assert (got["status"], got["closed_reason"]) == ("closed", f"superseded by {new}")
    assert [(d["id"], d["dependency_type"]) for d in repo.show(old)["dependencies"]] == [(new, "related")]
    assert repo.bd("supersede", new, "--with", "bd-none").code == 1


def test_duplicates_are_open_beads_with_the_same_content(repo):
    clock(repo)
    first, _, shut = repo.create("x", "-d", "d"), repo.create("x", "-d", "other"), repo.create("x", "-d", "d")
    clock(repo, h=1)
    second = repo.create("x", "-d", "d")
    repo.bd("close", shut).ok()
    got = repo.json("duplicates")
    assert got["groups"] == [{"title": "x", "ids": [first, second], "command": f"bd duplicate {second} --of {first}"}]
    repo.bd(*shlex.split(got["groups"][0]["command"])[1:]).ok()
    assert repo.json("duplicates")["duplicate_groups"] == 0


@pytest.mark.parametrize("text,ids", [
    ("status=open", "abce"), ("priority<=1", "ab"), ("priority=P0 OR label=red", "ac"), ("NOT (type=bug OR type=epic) AND status!=closed", "ac"),
    ("title:\"of b\"", "b"), ("assignee=none AND type=bug", "b"), ("assignee=ann", "c"), ("updated>2h AND status=open", "e"), ("closed<2030-01-01", "d"),
    ("status=closed", "d"), ("created>=2026-01-01", "abce"),
])
def test_a_query_is_an_expression_over_members(repo, text, ids):
    def build(repo):
        clock(repo)
        repo.create("of a", "--id", "bd-a", "-p", "0")
        repo.create("of b", "--id", "bd-b", "-p", "1", "-t", "bug")
        repo.create("of c", "--id", "bd-c", "-l", "red", "-a", "ann")
        repo.create("of d", "--id", "bd-d")
        repo.bd("close", "bd-d").ok()
        clock(repo, h=5)
        repo.create("of e", "--id", "bd-e", "-t", "epic")
    build(repo)
    assert sorted(repo.ids("query", text)) == [f"bd-{x}" for x in ids]


@pytest.mark.parametrize("text", ["status", "status=", "=x", "(status=open", "status=open priority=1", "AND", "a=b OR", "(" * 100 + "a=b", "!x"])
def test_an_invalid_expression_is_refused(repo, text):
    is_error(repo.bd("query", text, "--json"), "invalid_argument", 1)


def test_unknown_settings_are_kept_and_invalid_ones_refused(repo):
    assert repo.json("config", "set", "jira.url", "https://x/?a=b")["value"] == "https://x/?a=b"
    assert repo.json("config", "get", "jira.url")["value"] == "https://x/?a=b"
    assert "jira.url" in [one["key"] for one in repo.json("config", "list")]
    assert repo.json("config", "unset", "jira.url")["set"] is False
    for key in ("sync.atuo", "claim.lese", "json.dialekt", "a b", ""):
        assert repo.bd("config", "set", key, "x").code, key
    assert repo.bd("config", "set", "jira.url", "a\nsync.auto = false").code == 1


def test_admin_only_explains(repo):
    bead = repo.create("x")
    repo.bd("close", bead).ok()
    journal = repo.journal.read_bytes()
    for words in (["admin", "cleanup", "--older-than", "2d", "--force"], ["admin", "compact", "--analyze"]):
        assert "Nothing was" in repo.bd(*words).ok().out
        assert repo.json(*words)["status"] == "not_needed"
    assert repo.journal.read_bytes() == journal


def test_setup_writes_the_hosts_file_of_the_project_and_removes_it_again(repo):
    file = repo.path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"hooks":{"SessionStart":[{"matcher":"","hooks":[{"type":"command","command":"bd prime"}]}]}}\n')
    assert repo.json("setup", "claude", "--project")["installed"] is True
    assert "bd prime" in file.read_text() and "vybe" in file.read_text()
    assert repo.json("setup", "claude", "--project", "--check")["installed"] is True
    assert repo.json("setup", "claude", "--project", "--remove")["installed"] is False
    assert json.loads(file.read_text())["hooks"]["SessionStart"][0]["hooks"][0]["command"] == "bd prime"
