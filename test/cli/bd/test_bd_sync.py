"""bd sync and related commands: setup, history, dropping deletions, repair."""
import datetime
import json
import re
import socket
import subprocess
import threading

import pytest

from beads import at, canonical, is_error, ms, snapshot, stamp, wipe_cache
from board import on_terminal
from conftest import Repo, environment, git
from hints import command_of

REF = "refs/beads/store"
OTHER = "refs/heads/beads/store"
FILES = ("state.jsonl", "tombstones.jsonl", "deps.jsonl", "meta.json")
DAY = 24 * 3600 * 1000
TTL = {"BD_TOMBSTONE_TTL_MS": str(7 * DAY)}
SHAPE = ["pulled", "pushed", "remapped", "commit", "attempts", "durability", "remote", "ref", "dry_run", "warning"]
STATUS = ["ref", "remote", "auto", "commit", "published", "pending", "oldest_pending", "last_sync", "last_try",
          "failures", "last_error", "running"]


class Remote:
    """A bare repository, and clones of it."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "remote.git"
        git(folder, "init", "-q", "--bare", str(self.path))

    def clone(self, name, actor=None, init=True):
        path = self.folder / name
        path.mkdir()
        git(path, "init", "-q", "-b", "main")
        git(path, "remote", "add", "origin", str(self.path))
        repo = Repo(path)
        repo.env["BD_ACTOR"] = actor or name
        if init:
            repo.bd("init", "--prefix", "bd").ok()
        return repo

    def head(self, ref=REF):
        done = subprocess.run(["git", "rev-parse", "-q", "--verify", ref], cwd=self.path, capture_output=True,
                              check=False)
        return done.stdout.decode().strip() or None

    def file(self, name, ref=REF):
        return git(self.path, "show", f"{ref}:{name}")

    def lines(self, name, ref=REF):
        return [json.loads(line) for line in self.file(name, ref).splitlines()]

    def put(self, files, ref=REF, parent=None):
        """A commit of these files, as any program could make it."""
        tree = ""
        for name, text in files.items():
            blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=self.path, input=text.encode(),
                                  capture_output=True, check=True).stdout.decode().strip()
            tree += f"100644 blob {blob}\t{name}\n"
        made = subprocess.run(["git", "mktree"], cwd=self.path, input=tree.encode(), capture_output=True,
                              check=True).stdout.decode().strip()
        commit = git(self.path, "commit-tree", made, "-m", "x", *(["-p", parent] if parent else [])).strip()
        git(self.path, "update-ref", ref, commit)
        return commit


@pytest.fixture
def remote(tmp_path):
    return Remote(tmp_path)


@pytest.fixture
def pair(remote):
    """Two clones that have each other's beads."""
    a = remote.clone("a")
    a.bd("sync").ok()
    return a, remote.clone("b")


def local(repo, ref=REF):
    done = subprocess.run(["git", "rev-parse", "-q", "--verify", ref], cwd=repo.path, capture_output=True, check=False)
    return done.stdout.decode().strip() or None


def refs(path):
    return git(path, "for-each-ref")


# --- bd sync ---

def test_the_reply(remote):
    repo = remote.clone("a")
    repo.create("one")
    reply = repo.json("sync")
    assert list(reply) == SHAPE
    assert reply == {"pulled": 0, "pushed": 1, "remapped": [], "commit": remote.head(), "attempts": 1,
                     "durability": "remote", "remote": "origin", "ref": REF, "dry_run": False, "warning": None}
    again = repo.json("sync")
    assert again == {**reply, "pushed": 0}
    assert git(remote.path, "rev-list", "--count", REF).strip() == "1"


def test_the_reply_without_a_remote(plain_repo):
    plain_repo.bd("init", "--prefix", "bd").ok()
    plain_repo.create("one")
    reply = plain_repo.json("sync")
    assert list(reply) == SHAPE
    assert (reply["durability"], reply["remote"], reply["commit"]) == ("local", None, local(plain_repo))
    shown = plain_repo.bd("sync").ok().out
    assert "git remote add origin" in shown


@pytest.mark.parametrize("words", [["dolt", "push"], ["dolt", "pull"], ["dolt", "commit"]])
def test_other_names_of_the_command(remote, words):
    repo = remote.clone("a")
    repo.create("one")
    reply = repo.json(*words)
    assert list(reply) == SHAPE and reply["durability"] == "remote"
    assert [bead["title"] for bead in remote.lines("state.jsonl")] == ["one"]


def test_a_dry_run_changes_nothing(pair, remote):
    a, b = pair
    a.create("one")
    a.bd("sync").ok()
    b.create("two")
    before = snapshot(b.path / ".git" / "abacus"), refs(b.path), refs(remote.path)
    reply = b.json("sync", "--dry-run")
    assert list(reply) == SHAPE and reply["dry_run"] is True
    assert (reply["pulled"], reply["pushed"]) == (1, 1)
    after = snapshot(b.path / ".git" / "abacus"), refs(b.path), refs(remote.path)
    same = {name for name in before[0] if not name.startswith("cache.db") and not name.endswith(".lock")}
    assert {n: after[0].get(n) for n in same} == {n: before[0][n] for n in same}
    assert before[1:] == after[1:]
    assert [bead["title"] for bead in b.json("list")] == ["two"]
    assert "Would push 1 change" in b.bd("sync", "-n").ok().out


def test_a_dry_run_reports_a_new_prefix(pair):
    """The sync that follows publishes it, so the dry run must not report "nothing"."""
    _, b = pair
    b.bd("init", "--prefix", "zz").ok()
    assert b.json("sync", "--dry-run")["pushed"] == 1
    assert "Nothing new" not in b.bd("sync").ok().out


def test_no_push_only_pulls(pair, remote):
    a, b = pair
    a.create("one")
    a.bd("sync").ok()
    b.create("two")
    head = remote.head()
    reply = b.json("sync", "--no-push")
    assert reply["durability"] == "local" and remote.head() == head
    assert sorted(bead["title"] for bead in b.json("list")) == ["one", "two"]
    b.create("three")
    assert "Published" not in b.bd("sync", "--no-push").ok().out
    assert b.json("sync")["durability"] == "remote"
    assert remote.head() == local(b) and len(remote.lines("state.jsonl")) == 3
    assert git(remote.path, "rev-list", "--count", REF).strip() == "3"


def test_no_pull_only_pushes(pair, remote):
    """Without a fetch: it succeeds if no other clone has pushed, and is refused at once otherwise."""
    a, b = pair
    a.create("one")
    assert a.json("sync", "--no-pull")["durability"] == "remote"
    b.create("two")
    error = is_error(b.bd("--json", "sync", "--no-pull"), "sync_failed", 4)
    assert "--no-pull" in error["message"]
    assert [bead["title"] for bead in remote.lines("state.jsonl")] == ["one"]
    b.bd("sync").ok()
    assert {bead["title"] for bead in remote.lines("state.jsonl")} == {"one", "two"}


def test_status(pair):
    _, b = pair
    status = b.json("sync", "--status")
    assert list(status) == STATUS
    assert status["pending"] == 0 and status["running"] is False and status["auto"] is False
    b.create("one", env={"ABACUS_NOW": "2026-01-02T00:00:00Z"})
    b.create("two")
    status = b.json("sync", "--status")
    assert status["pending"] == 2 and status["oldest_pending"] == "2026-01-02T00:00:00.000Z"
    assert b.json("status")["sync"] == status
    shown = b.bd("sync", "--status", env={"ABACUS_NOW": "2026-01-03T00:00:00Z"}).ok().out
    assert "2 changes are not pushed yet, the oldest from 1d ago." in shown


def test_status_after_init(plain_repo):
    """The first prefix is a change without a time."""
    plain_repo.bd("init").ok()
    assert plain_repo.json("sync", "--status")["pending"] == 1
    assert "1 change is not pushed yet." in plain_repo.bd("sync", "--status").ok().out
    plain_repo.create("one", env={"ABACUS_NOW": "2026-01-02T00:00:00Z"})
    assert plain_repo.json("sync", "--status")["oldest_pending"] == "2026-01-02T00:00:00.000Z"
    assert plain_repo.bd("status").ok().out.startswith("1 bead\n")


@pytest.mark.parametrize("value", ["0s", "999", "2h", "x", "-5s", ""])
def test_an_invalid_timeout_is_refused(repo, value):
    error = is_error(repo.bd("--json", "sync", f"--timeout={value}"), "invalid_argument", 1)
    assert "--timeout" in error["message"]


@pytest.mark.parametrize("words", [["extra"], ["--nope"], ["--timeout"]])
def test_usage(repo, words):
    is_error(repo.bd("--json", "sync", *words), "invalid_argument", 2)


def test_failures_have_codes(plain_repo):
    """With a missing remote, local commands still work, and the error names the remote and the reason."""
    plain_repo.bd("init", "--prefix", "bd").ok()
    git(plain_repo.path, "remote", "add", "origin", str(plain_repo.path / "nowhere.git"))
    bead = plain_repo.create("one")
    error = is_error(plain_repo.bd("--json", "sync"), "sync_failed", 4)
    assert "nowhere.git" in error["message"] and "protocol" not in error["message"] and error["retryable"]
    status = plain_repo.json("sync", "--status")
    assert status["failures"] == 1 and status["last_error"] == error["message"]
    assert plain_repo.show(bead)["title"] == "one"
    git(plain_repo.path, "init", "-q", "--bare", "nowhere.git")
    assert plain_repo.json("sync")["durability"] == "remote"
    assert plain_repo.json("sync", "--status")["failures"] == 0


def test_a_chosen_remote_that_does_not_exist(plain_repo):
    plain_repo.bd("init", "--prefix", "bd").ok()
    plain_repo.bd("config", "set", "sync.remote", "nowhere").ok()
    error = is_error(plain_repo.bd("--json", "sync"), "sync_failed", 4)
    assert "'nowhere'" in error["message"] and "sync.remote" in error["hint"]


def test_a_repository_without_beads(plain_repo):
    for words in (["sync"], ["sync", "--status"], ["repair"], ["history", "x"], ["diff", "~1"]):
        error = is_error(plain_repo.bd("--json", *words), "not_initialized", 1)
        assert "bd init" in error["hint"]


def test_a_relative_remote_from_any_folder(remote):
    repo = remote.clone("a")
    git(repo.path, "remote", "set-url", "origin", "../remote.git")
    (repo.path / "sub" / "folder").mkdir(parents=True)
    repo.create("one")
    assert repo.json("sync", cwd=repo.path / "sub" / "folder")["durability"] == "remote"
    assert len(remote.lines("state.jsonl")) == 1


def test_on_a_terminal(pair):
    a, _ = pair
    a.create("one")
    shown, code = on_terminal(a, "sync", program="bd")
    assert code == 0 and "Pushed 1 change.\r\n" in shown
    shown, code = on_terminal(a, "sync", program="bd")
    assert "Nothing new on either side." in shown


def test_on_a_terminal_a_slow_sync_shows_its_progress(repo):
    """After one second, and only on a terminal."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        git(repo.path, "remote", "add", "origin", f"http://127.0.0.1:{hanging.getsockname()[1]}/x.git")
        shown, code = on_terminal(repo, "sync", "--timeout", "3s", program="bd")
        assert code == 4 and shown.count("fetching from 'origin' …") == 1
        done = repo.bd("sync", "--timeout", "1s")
        assert done.code == 4 and "…" not in done.out + done.err


# --- beginning ---

def test_init_without_a_remote(plain_repo):
    reply = plain_repo.json("init", "--prefix", "bd")
    assert (reply["result"], reply["prefix"]) == ("created", "bd")
    assert plain_repo.json("init")["result"] == "exists"


def test_init_with_an_empty_remote(remote):
    a = remote.clone("a", init=False)
    done = a.bd("--json", "init", "--prefix", "x").ok()
    assert done.json["result"] == "created" and done.err == ""
    assert a.json("sync")["durability"] == "remote"
    assert json.loads(remote.file("meta.json"))["prefix"]["value"] == "x"


def test_init_joins_a_published_store(pair, remote):
    a, _ = pair
    bead = a.create("one")
    a.bd("sync").ok()
    c = remote.clone("c", init=False)
    done = c.bd("--json", "init", "--prefix", "other").ok()
    assert done.json["result"] == "joined" and done.json["prefix"] == "bd"
    assert "'bd-'" in done.err and "other" in done.err
    assert c.ids("list") == [bead]
    d = remote.clone("d", init=False)
    shown = d.bd("init").ok().out
    assert "Try: bd ready" in shown and "bd-" in shown


def test_two_begin_at_once(remote):
    a, b = remote.clone("a", init=False), remote.clone("b", init=False)
    done = {}

    def begin(repo):
        done[repo] = [repo.bd("init", "--prefix", repo.path.name), repo.bd("create", f"of {repo.path.name}"),
                      repo.bd("sync")]

    both = [threading.Thread(target=begin, args=(repo,)) for repo in (a, b)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    for steps in done.values():
        for step in steps:
            step.ok()
    for repo in (a, b, a):
        repo.bd("sync").ok()
    assert sorted(x["title"] for x in a.json("list")) == sorted(x["title"] for x in b.json("list")) == ["of a", "of b"]
    assert a.json("status")["prefix"] == b.json("status")["prefix"]
    assert local(a) == local(b) == remote.head()


def test_two_begin_at_once_in_one_repository(remote):
    repo = remote.clone("a", init=False)
    children = [repo.spawn("init", "--prefix", "bd", "--json", stdout=subprocess.PIPE) for _ in range(6)]
    results = sorted(json.loads(child.communicate(timeout=60)[0])["result"] for child in children)
    assert all(child.returncode == 0 for child in children)
    assert set(results) <= {"created", "exists", "joined"} and repo.json("validate")["ok"]


def test_init_with_an_unreachable_remote(remote):
    """It succeeds, reports the problem, and syncs later."""
    a = remote.clone("a", init=False)
    git(a.path, "remote", "set-url", "origin", str(remote.folder / "gone.git"))
    done = a.bd("--json", "init", "--prefix", "bd").ok()
    assert done.json["result"] == "created" and done.err.startswith("warning: ") and "gone.git" in done.err
    a.create("one")
    git(a.path, "remote", "set-url", "origin", str(remote.path))
    assert a.json("sync")["durability"] == "remote"


def test_init_chooses_ref_and_remote(remote):
    a = remote.clone("a", init=False)
    git(a.path, "remote", "rename", "origin", "up")
    a.bd("init", "--prefix", "bd", "--ref", "refs/beads/mine", "--remote", "up").ok()
    a.create("one")
    reply = a.json("sync")
    assert (reply["remote"], reply["ref"]) == ("up", "refs/beads/mine")
    assert remote.head("refs/beads/mine") == reply["commit"] and remote.head() is None
    b = remote.clone("b", init=False)
    assert b.json("init", "--ref", "refs/beads/mine")["result"] == "joined"
    assert [bead["title"] for bead in b.json("list")] == ["one"]


@pytest.mark.parametrize("words", [["--ref", "refs/heads/main"], ["--ref", "a b"], ["--ref", "store"],
                                   ["--remote", "a b"], ["--remote", "-x"], ["--prefix", "9"]])
def test_init_refuses(plain_repo, words):
    name, value = words
    is_error(plain_repo.bd("--json", "init", f"{name}={value}"), "invalid_argument", 1)
    assert not plain_repo.home.exists() or not list(plain_repo.home.glob("journal*"))


def test_a_local_ref_is_adopted_without_contacting_the_remote(pair, remote):
    a, _ = pair
    bead = a.create("one")
    a.bd("sync").ok()
    path = remote.folder / "copy"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "fetch", "-q", str(remote.path), f"{REF}:{REF}")
    c = Repo(path)
    assert c.ids("list") == [bead]
    c.bd("close", bead).ok()
    assert c.json("sync")["durability"] == "local"
    assert c.json("doctor")["ok"]


# --- what beads-rs has written ---

T = 1702234567890


def row(ident, n=0, **more):
    return {"id": ident, "title": f"title of {ident}", "description": "", "status": "open", "priority": 2,
            "type": "task", "labels": [], "created_at": [T, n], "created_by": "carol@mac", "_at": [T + 1000, n],
            "_by": "carol@mac", **more}


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def first_format():
    """Labels as lists, one edge per line, different keys in `_v`, a readable meta.json, no checksums."""
    return {
        "state.jsonl": jsonl(
            row("bd-a", labels=["x", "y"], status="in_progress", assignee="dave", assignee_at=[T + 2000, 1],
                assignee_expires=T + 3600000, shape="round", _at=[T + 3000, 0],
                _v={"workflow": [[T + 2000, 0], "alice"], "claim": [[T + 2000, 1], "dave"]},
                notes=[{"id": "n1", "content": "hi", "author": "dave", "at": [T + 500, 0]}]),
            row("bd-b", 1), row("bd-c", 2, status="closed", closed_at=[T + 900, 0], closed_by="carol@mac",
                                closed_reason="done")),
        "tombstones.jsonl": jsonl(
            {"id": "bd-d", "deleted_at": [T + 50, 0], "deleted_by": "alice", "reason": "old"},
            {"id": "bd-e", "deleted_at": [T + 60, 0], "deleted_by": "alice", "reason": None,
             "lineage_created_at": [T, 7], "lineage_created_by": "erin"}),
        "deps.jsonl": jsonl({"from": "bd-b", "to": "bd-a", "kind": "blocks", "created_at": [T, 0],
                             "created_by": "alice"},
                            {"from": "bd-b", "to": "bd-c", "kind": "related", "created_at": [T, 0],
                             "created_by": "alice", "deleted_at": [T + 9, 0], "deleted_by": "bob"}),
        "meta.json": json.dumps({"format_version": 1, "root_slug": "bd", "state_sha256": "0" * 64}, indent=2) + "\n",
    }


def second_format():
    """Labels and edges as sets of dots, notes in a separate file."""
    dots = [{"replica": "11111111-2222-3333-4444-555555555555", "counter": 1}]
    return {
        "state.jsonl": jsonl(row("bd-a", labels={"entries": {"x": dots, "y": dots}, "cc": {"max": {}}}, shape="round",
                                 status="in_progress", assignee="dave", assignee_at=[T + 2000, 1],
                                 assignee_expires=T + 3600000,
                                 _v={"workflow": [[T + 2000, 0], "alice"], "claim": [[T + 2000, 1], "dave"]}),
                             row("bd-b", 1, labels={"entries": {}, "cc": {"max": {}}}),
                             row("bd-c", 2, status="closed", closed_at=[T + 900, 0], closed_by="carol@mac",
                                 closed_reason="done")),
        "tombstones.jsonl": first_format()["tombstones.jsonl"],
        "deps.jsonl": jsonl({"cc": {"max": {}}, "entries": [
            {"key": {"from": "bd-b", "to": "bd-a", "kind": "blocks"}, "dots": dots}], "stamp": [[T, 0], "alice"]}),
        "notes.jsonl": jsonl({"bead_id": "bd-a", "note": {"id": "n1", "content": "hi", "author": "dave",
                                                          "at": [T + 500, 0]},
                              "lineage_created_at": [T, 0], "lineage_created_by": "carol@mac"}),
        "meta.json": json.dumps({"format_version": 1, "root_slug": "bd"}, indent=2),
    }


@pytest.fixture(params=[first_format, second_format], ids=["first", "second"])
def theirs(request, remote):
    remote.put(request.param(), OTHER)
    return remote


def assert_adopted(repo):
    a = repo.show("bd-a")
    assert a["title"] == "title of bd-a" and sorted(a["labels"]) == ["x", "y"] and a["status"] == "in_progress"
    assert a["assignee"] == "dave" and a["assignee_at"] == [T + 2000, 1]
    assert [n["content"] for n in a["notes"]] == ["hi"]
    assert [d["id"] for d in repo.show("bd-b")["dependencies"]] == ["bd-a"]
    c = repo.show("bd-c")
    assert c["status"] == "closed" and c["closed_reason"] == "done"
    assert sorted(d["id"] for d in repo.json("deleted")) == ["bd-d", "bd-e"]
    assert repo.json("status")["prefix"] == "bd"
    assert repo.json("validate")["errors"] == 0


def test_a_foreign_store_is_adopted(theirs):
    repo = theirs.clone("a", init=False)
    assert repo.json("init")["result"] == "joined"
    assert_adopted(repo)
    head = theirs.head(OTHER)
    repo.bd("update", "bd-b", "--title", "new").ok()
    reply = repo.json("sync")
    assert reply["ref"] == OTHER and reply["durability"] == "remote"
    lines = {bead["id"]: bead for bead in theirs.lines("state.jsonl", OTHER)}
    assert lines["bd-a"]["shape"] == "round", "a member that is unknown here was lost"
    written = {f["field"]: (f["at"], f["by"]) for f in repo.json("blame", "bd-a")}
    assert written["status"][1] == "alice" and written["assignee"][1] == "dave" and written["title"][1] == "carol@mac"
    assert git(theirs.path, "rev-parse", f"{OTHER}~1").strip() == head
    assert repo.json("validate", "--at", "@")["errors"] == 0
    wipe_cache(repo)
    assert repo.show("bd-b")["title"] == "new"
    other = theirs.clone("b", init=False)
    assert other.json("init")["result"] == "joined"
    assert other.show("bd-b")["title"] == "new" and other.show("bd-a")["labels"] == repo.show("bd-a")["labels"]
    assert repo.json("doctor")["ok"] and other.json("doctor")["ok"]


def test_two_clones_adopt_a_foreign_store_in_the_same_way(theirs):
    """Both convert it before either has published: the results are the same bytes."""
    a, b = theirs.clone("a", init=False), theirs.clone("b", init=False)
    for repo in (a, b):
        repo.bd("init").ok()
    for repo in (a, b, a, b):
        repo.bd("sync").ok()
    assert local(a, OTHER) == local(b, OTHER) == theirs.head(OTHER)
    assert_adopted(a)
    assert_adopted(b)


def test_a_local_branch_of_the_other_program_is_adopted(remote, tmp_path):
    """If only the local branch exists."""
    remote.put(first_format(), OTHER)
    path = tmp_path / "here"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "fetch", "-q", str(remote.path), f"{OTHER}:{OTHER}")
    repo = Repo(path)
    assert repo.json("init")["result"] == "joined"
    assert_adopted(repo)


@pytest.mark.parametrize("where", ["here", "in a worktree", "not born"])
def test_no_branch_is_moved_that_is_checked_out(remote, tmp_path, where):
    """A repository may have a store on the branch that a clone checks out: local commits were lost from it, and published."""
    remote.put(first_format(), OTHER)
    path = tmp_path / "here"
    path.mkdir()
    git(path, "init", "-q", "-b", "beads/store" if where == "not born" else "main")
    git(path, "remote", "add", "origin", str(remote.path))
    if where != "not born":
        git(path, "fetch", "-q", "origin", f"{OTHER}:{OTHER}")
        git(path, *(["checkout", "-q"] if where == "here" else ["worktree", "add", "-q", str(tmp_path / "tree")]), "beads/store")
    before = local(Repo(path), OTHER)
    repo = Repo(path)
    error = is_error(repo.bd("init", "--json"), "invalid_argument", 1)
    assert error["message"] == "the beads are kept on the branch 'beads/store', and that branch is checked out"
    assert local(repo, OTHER) == before
    assert repo.json(*command_of(error["hint"], "bd init").split()[1:])["result"] == "created"
    repo.create("mine")
    assert repo.json("sync")["ref"] == "refs/beads/store" and local(repo, OTHER) == before


def test_a_branch_with_other_files_is_not_adopted(remote):
    """People work on it: a sync published their commits, and moved the branch."""
    remote.put({**first_format(), "main.c": "int main(void) { return 0; }\n"}, OTHER)
    repo = remote.clone("a", init=False)
    head = remote.head(OTHER)
    error = is_error(repo.bd("init", "--json"), "invalid_argument", 1)
    assert error["message"] == "the branch 'beads/store' has beads, but also other files, such as 'main.c'"
    assert repo.json(*command_of(error["hint"], "bd init").split()[1:])["result"] == "created"
    repo.create("mine")
    assert repo.json("sync")["ref"] == "refs/beads/store" and remote.head(OTHER) == head


@pytest.mark.parametrize("bead, lineage", [("bd-zz", [T, 0]), ("bd-a", [T, 5]), ("bd-d", [T, 0])],
                         ids=["unknown", "of another", "deleted"])
def test_a_note_of_a_missing_bead_is_ignored(remote, bead, lineage):
    """It does not stop the adoption."""
    files = second_format()
    files["notes.jsonl"] += jsonl({"bead_id": bead, "note": {"id": "n2", "content": "x", "author": "a", "at": [T, 0]},
                                   "lineage_created_at": lineage, "lineage_created_by": "carol@mac"})
    remote.put(files, OTHER)
    repo = remote.clone("a", init=False)
    done = repo.bd("--json", "init").ok()
    assert done.json["result"] == "joined" and done.err == ""
    assert_adopted(repo)


def test_a_damaged_foreign_store_is_reported(remote):
    """The error says neither that nothing is damaged nor that the remote is unreachable."""
    files = first_format()
    files["state.jsonl"] += "{oops\n"
    remote.put(files, OTHER)
    repo = remote.clone("a", init=False)
    done = repo.bd("init").ok()
    assert "line 4 of state.jsonl" in done.err and "reached" not in done.err
    is_error(repo.bd("--json", "sync"), "corrupt", 4)
    error = is_error(repo.bd("--json", "repair"), "corrupt", 4)
    assert "line 4 of state.jsonl" in error["message"] and "bd repair" not in error["hint"]


def test_our_ref_comes_first(remote):
    a = remote.clone("a")
    a.create("ours")
    a.bd("sync").ok()
    remote.put(first_format(), OTHER)
    b = remote.clone("b", init=False)
    b.bd("init").ok()
    assert [bead["title"] for bead in b.json("list")] == ["ours"]


# --- the past ---

@pytest.fixture
def past(remote):
    """Three commits, an hour apart."""
    repo = remote.clone("a")
    repo.env |= at()
    repo.create("one", "--id", "bd-one")
    repo.create("two", "--id", "bd-two")
    repo.bd("sync").ok()
    repo.env |= at(h=1)
    repo.bd("claim", "bd-one", "--lease", "30m").ok()
    repo.bd("dep", "add", "bd-two", "bd-one").ok()
    repo.bd("sync").ok()
    repo.env |= at(h=2)
    repo.bd("close", "bd-one", "--reason", "done").ok()
    repo.bd("delete", "bd-two", "--force").ok()
    repo.bd("sync").ok()
    return repo


def test_history(past):
    versions = past.json("history", "bd-one")
    assert [v["change"] for v in versions] == ["closed", "updated", "created"]
    assert all(sorted(v) == ["at", "by", "change", "commit", "committed_at", "fields"] for v in versions)
    assert {f["field"]: (f["old"], f["new"]) for f in versions[0]["fields"]}["status"] == ("in_progress", "closed")
    assert [v["change"] for v in past.json("history", "bd-two")] == ["deleted", "created"]
    assert len(past.json("history", "bd-one", "-n", "1")) == 1
    assert [v["commit"] for v in versions] == git(past.path, "rev-list", REF).split()
    shown = past.bd("history", "bd-one").ok().out
    assert "closed by a" in shown and "status: in_progress → closed" in shown
    is_error(past.bd("--json", "history", "bd-none"), "not_found", 1)


def test_blame(past):
    fields = {f["field"]: f for f in past.json("blame", "bd-one")}
    commits = git(past.path, "rev-list", REF).split()
    assert fields["title"]["commit"] == commits[2] and fields["status"]["commit"] == commits[0]
    assert fields["status"]["by"] == "a" and fields["status"]["value"] == "closed"
    is_error(past.bd("--json", "blame", "bd-two"), "deleted", 1)


def test_diff(past):
    reply = past.json("diff", "~2", "~1")
    assert list(reply) == ["from", "to", "beads", "dependencies"]
    assert [(b["id"], b["change"]) for b in reply["beads"]] == [("bd-one", "updated")]
    assert reply["dependencies"] == [{"change": "added", "from": "bd-two", "to": "bd-one", "kind": "blocks"}]
    reply = past.json("diff", "~1")
    assert [(b["id"], b["change"]) for b in reply["beads"]] == [("bd-one", "closed"), ("bd-two", "deleted")]
    assert past.bd("diff", "@", "@").ok().out == "No difference.\n"
    is_error(past.bd("--json", "diff"), "invalid_argument", 2)
    is_error(past.bd("--json", "diff", "~1", "nope"), "not_found", 1)


def test_show_and_list_at_a_past_commit(past):
    commits = git(past.path, "rev-list", REF).split()
    for spec in (commits[1], commits[1][:10], "~1"):
        assert past.json("show", "bd-one", "--at", spec)[0]["status"] == "in_progress", spec
        assert sorted(past.ids("list", "--at", spec)) == ["bd-one", "bd-two"]
    assert past.json("show", "bd-one", "--at", "@")[0]["status"] == "closed"
    times = [int(git(past.path, "log", "-1", "--format=%ct", commit)) for commit in commits]
    for commit, t in zip(commits, times):
        if times.count(t) == 1:
            then = datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            assert past.json("list", "--all", "--at", then) == past.json("list", "--all", "--at", commit)
    later = {"ABACUS_NOW": str((times[0] + 10) * 1000)}
    assert past.json("show", "bd-one", "--at", "5s", env=later)[0]["status"] == "closed"
    assert past.ids("list", "--all") == ["bd-one"], "the past has changed the present"


def test_ready_at_a_past_commit(past):
    """With the leases of that time: this one has ended since. A commit has the time of the command that made it."""
    assert git(past.path, "log", "-1", "--format=%ct", f"{REF}~1").strip() == str(ms(h=1) // 1000)
    assert past.ids("ready", "--at", "~2") == ["bd-one", "bd-two"]
    assert past.json("show", "bd-one", "--at", "~1")[0]["assignee_expires"] == stamp(h=1, m=30)
    assert past.ids("ready", "--at", "~1") == []
    assert past.ids("ready", "--at", stamp(h=1, m=45)) == ["bd-one"]


@pytest.mark.parametrize("spec, code", [("~7", "not_found"), ("nope", "not_found"), ("2020-01-01", "not_found"),
                                        ("0000000", "not_found"), ("yesterday", "not_found"),
                                        ("", "invalid_argument"), ("x" * 300, "invalid_argument")])
def test_an_unknown_commit_or_time_is_an_error(past, spec, code):
    error = is_error(past.bd("--json", "list", f"--at={spec}"), code, 1)
    assert "bd sync" not in error["hint"] and "spelling" not in error["hint"]


def test_a_commit_of_the_code_has_no_beads(past):
    git(past.path, "commit", "-q", "--allow-empty", "-m", "code")
    for words in (["list", "--at", "HEAD"], ["diff", "HEAD"]):
        is_error(past.bd("--json", *words), "not_found", 1)


def test_the_past_cannot_be_changed(past):
    is_error(past.bd("--json", "ready", "--claim", "--at", "~1"), "invalid_argument", 1)
    is_error(past.bd("--json", "update", "bd-one", "--title", "x", "--at", "~1"), "invalid_argument", 2)


def test_the_past_before_a_first_sync(repo):
    bead = repo.create("one")
    for words in (["history", bead], ["blame", bead], ["diff", "~1"], ["list", "--at", "~1"]):
        error = is_error(repo.bd("--json", *words), "not_found", 1)
        assert "bd sync" in error["hint"] or "commit" in error["hint"]


def test_validate_a_commit(past, remote):
    assert past.json("validate", "--at", "~1") == {"ok": True, "errors": 0, "warnings": 0, "findings": []}
    files = {name: remote.file(name) for name in FILES}
    files["state.jsonl"] = "{\n" + files["state.jsonl"]
    broken = remote.put(files, "refs/broken", remote.head())
    git(past.path, "fetch", "-q", "origin", "refs/broken:refs/broken")
    done = past.bd("--json", "validate", "--at", broken)
    assert done.code == 1 and not done.json["ok"]
    assert {"state.jsonl"} <= {f["file"] for f in done.json["findings"] if f["line"] == 1}


# --- forgetting ---

@pytest.mark.parametrize("value", ["0", "604799999", "-1", "x", "7d", "1e12", "604800000 "])
def test_a_tombstone_ttl_that_is_too_short_is_refused(repo, value):
    error = is_error(repo.bd("--json", "sync", env={"BD_TOMBSTONE_TTL_MS": value}), "invalid_argument", 1)
    assert "BD_TOMBSTONE_TTL_MS" in error["message"] and "604800000" in error["hint"]


@pytest.fixture
def deleted(pair, remote):
    """A deleted bead and a deleted edge that two clones have."""
    a, b = pair
    for repo in (a, b):
        repo.env |= at()
    for name in ("gone", "kept", "other"):
        a.create(name, "--id", f"bd-{name}")
    a.bd("dep", "add", "bd-kept", "bd-other").ok()
    a.bd("sync").ok()
    b.bd("sync").ok()
    a.bd("dep", "remove", "bd-kept", "bd-other").ok()
    a.bd("delete", "bd-gone", "--force").ok()
    a.bd("sync").ok()
    assert len(remote.lines("tombstones.jsonl")) == 1 and len(remote.lines("deps.jsonl")) == 1
    return a, b


def test_a_wrong_ttl_stops_only_the_sync(repo):
    env = {"BD_TOMBSTONE_TTL_MS": "abc"}
    repo.bd("create", "x", env=env).ok()
    repo.bd("list", env=env).ok()
    repo.bd("sync", "--status", env=env).ok()
    assert "BD_TOMBSTONE_TTL_MS" in is_error(repo.bd("--json", "sync", env=env), "invalid_argument", 1)["message"]


def test_deletions_are_kept_by_default(deleted, remote):
    a, _ = deleted
    a.env |= at(d=1000)
    a.bd("sync").ok()
    assert len(remote.lines("tombstones.jsonl")) == 1 and len(remote.lines("deps.jsonl")) == 1


@pytest.mark.parametrize("days, left", [(6, 1), (8, 0)])
def test_deletions_are_dropped_after_the_ttl(deleted, remote, days, left):
    a, b = deleted
    for repo in (a, b):
        repo.bd("sync").ok()
        repo.env |= at(d=days)
    a.bd("sync", env=TTL).ok()
    assert len(remote.lines("tombstones.jsonl")) == left and len(remote.lines("deps.jsonl")) == left
    for repo in (a, b):
        repo.bd("sync").ok()
        assert sorted(repo.ids("list", "--all")) == ["bd-kept", "bd-other"]
        assert len(repo.json("deleted")) == left
        assert repo.json("doctor")["ok"] and repo.json("validate")["ok"]
        wipe_cache(repo)
        assert sorted(repo.ids("list", "--all")) == ["bd-kept", "bd-other"]


def test_one_clone_drops_deletions_and_another_does_not(deleted, remote):
    """They do not push back and forth, and nothing is restored."""
    a, b = deleted
    b.bd("sync").ok()
    for repo in (a, b):
        repo.env |= at(d=8)
    a.bd("sync", env=TTL).ok()
    head = remote.head()
    for _ in range(5):
        b.bd("sync").ok()
        a.bd("sync", env=TTL).ok()
        assert remote.head() == head
    assert local(a) == local(b) == head
    for repo in (a, b):
        assert sorted(repo.ids("list", "--all")) == ["bd-kept", "bd-other"]
        assert repo.json("doctor")["ok"]
    b.create("new", "--id", "bd-new")
    b.bd("sync").ok()
    a.bd("sync", env=TTL).ok()
    assert remote.lines("tombstones.jsonl") == [] and a.ids("list", "--all") == b.ids("list", "--all")
    assert local(a) == local(b) == remote.head()


def test_an_old_clone_without_changes_learns_of_the_deletion(deleted):
    """It never received the deletion, and still loses the bead."""
    a, b = deleted
    a.env |= at(d=8)
    a.bd("sync", env=TTL).ok()
    b.env |= at(d=9)
    b.bd("sync").ok()
    assert sorted(b.ids("list", "--all")) == ["bd-kept", "bd-other"]
    assert b.show("bd-kept")["dependencies"] == []
    assert b.json("doctor")["ok"]
    wipe_cache(b)
    assert sorted(b.ids("list", "--all")) == ["bd-kept", "bd-other"]


@pytest.mark.parametrize("published", [False, True], ids=["pending", "committed"])
def test_an_old_clone_loses_none_of_its_writes(deleted, remote, published):
    """Pending edits, a note and an edge of a bead whose deletion was dropped meanwhile."""
    a, b = deleted
    b.env |= at(h=1)
    b.bd("update", "bd-gone", "--description", "what I found").ok()
    b.bd("comment", "bd-gone", "a note").ok()
    b.bd("dep", "add", "bd-kept", "bd-gone").ok()
    b.create("mine", "--id", "bd-mine")
    if published:
        b.bd("sync", "--no-pull", "--no-push").ok()
    a.env |= at(d=8)
    a.bd("sync", env=TTL).ok()
    b.env |= at(d=9)
    b.bd("sync").ok()
    for repo in (b, a):
        repo.bd("sync").ok()
        bead = repo.show("bd-gone")
        assert bead["title"] == "gone" and bead["description"] == "what I found"
        assert [n["content"] for n in bead["notes"]] == ["a note"]
        assert "bd-gone" in [d["id"] for d in repo.show("bd-kept")["dependencies"]]
        assert repo.show("bd-mine")["title"] == "mine"
        assert repo.json("doctor")["ok"] and repo.json("validate")["errors"] == 0
    assert local(a) == local(b) == remote.head()


def test_a_remap_is_never_dropped(pair, remote):
    """An edit may still arrive under the old id."""
    a, b = pair
    a.env |= at()
    b.env |= at(s=1)
    a.create("first", "--id", "bd-same")
    b.create("second", "--id", "bd-same")
    a.bd("sync").ok()
    [moved] = b.json("sync")["remapped"]
    assert moved["from"] == "bd-same"
    a.bd("sync").ok()
    for repo in (a, b):
        repo.env |= at(d=30)
        repo.bd("sync", env=TTL).ok()
    [stone] = remote.lines("tombstones.jsonl")
    assert stone["id"] == "bd-same" and stone["remap"]
    assert a.show(moved["to"])["title"] == "second" and a.show("bd-same")["title"] == "first"
    a.bd("delete", moved["to"], "--force").ok()
    a.bd("sync", env=TTL).ok()
    a.env |= at(d=60)
    a.bd("sync", env=TTL).ok()
    assert [s["id"] for s in remote.lines("tombstones.jsonl")] == ["bd-same"]


# --- mending ---

@pytest.fixture
def damaged(pair, remote):
    """At the remote: an invalid line, a duplicate, two lines in the wrong order, one that is not canonical."""
    a, b = pair
    for n in "abcd":
        a.create(n, "--id", f"bd-{n}")
    a.bd("sync").ok()
    b.bd("sync").ok()
    files = {name: remote.file(name) for name in FILES}
    lines = files["state.jsonl"].splitlines(keepends=True)
    new = canonical({**json.loads(lines[0]), "id": "bd-e", "title": "e"}) + "\n"
    spelled = json.dumps(json.loads(lines[2])) + "\n"
    files["state.jsonl"] = lines[0] + lines[0] + "{not a line\n" + lines[3] + spelled + new
    remote.put(files, REF, remote.head())
    b.create("mine", "--id", "bd-mine")
    return a, b


def test_a_damaged_remote_stops_the_sync(damaged, remote):
    _, b = damaged
    head = remote.head()
    error = is_error(b.bd("--json", "sync"), "corrupt", 4)
    assert error["details"]["file"] == "state.jsonl" and "bd repair" in error["hint"]
    assert remote.head() == head and sorted(b.ids("list")) == ["bd-a", "bd-b", "bd-c", "bd-d", "bd-mine"]
    b.create("more")


def test_repair_without_apply_only_reports(damaged, remote):
    _, b = damaged
    b.bd("--json", "sync")
    before = refs(b.path), refs(remote.path), b.ids("list")
    done = b.bd("--json", "repair").ok()
    reply = done.json
    assert list(reply) == ["commits", "damaged", "set_aside", "applied", "commit"]
    assert (reply["damaged"], reply["set_aside"], reply["applied"], reply["commit"]) == (1, 1, False, None)
    assert (refs(b.path), refs(remote.path), b.ids("list")) == before
    [commit] = reply["commits"]
    assert commit["commit"] == remote.head() and commit["where"] == "remote"
    told = {(line["line"], line["action"]) for line in commit["lines"] if line["file"] == "state.jsonl"}
    assert {(2, "rewritten"), (3, "set_aside"), (5, "rewritten")} <= told
    assert [line["text"] for line in commit["lines"] if line["action"] == "set_aside"] == ["{not a line"]
    shown = b.bd("repair").ok().out
    assert "bd repair --apply" in shown and "state.jsonl:3 set aside" in shown and "{not a line" in shown


def test_repair_with_apply_repairs(damaged, remote):
    a, b = damaged
    bad = remote.head()
    reply = b.json("repair", "--apply")
    assert reply["applied"] and reply["commit"] == remote.head()
    assert git(remote.path, "rev-parse", f"{REF}~1").strip() == bad
    assert local(b, f"refs/beads/backup/{bad}") == bad
    for repo in (b, a, b):
        repo.bd("sync").ok()
    for repo in (a, b):
        assert sorted(repo.ids("list")) == ["bd-a", "bd-b", "bd-c", "bd-d", "bd-e", "bd-mine"]
        assert repo.json("doctor")["ok"] and repo.json("validate", "--at", "@")["ok"]
    assert local(a) == local(b) == remote.head()
    assert b.json("repair") == {"commits": [], "damaged": 0, "set_aside": 0, "applied": False, "commit": None}


@pytest.mark.parametrize("name", FILES)
def test_repair_a_file_that_is_missing(pair, remote, name):
    a, b = pair
    a.create("one", "--id", "bd-one")
    a.bd("sync").ok()
    b.bd("sync").ok()
    files = {n: remote.file(n) for n in FILES if n != name}
    remote.put(files, REF, remote.head())
    assert b.bd("--json", "sync").code == 4
    assert b.json("repair")["damaged"] == 1
    assert b.json("repair", "--apply")["applied"]
    for repo in (b, a):
        repo.bd("sync").ok()
        assert repo.ids("list") == ["bd-one"] and repo.json("status")["prefix"] == "bd"
        assert repo.json("doctor")["ok"]


def test_repair_when_nothing_is_wrong(pair, remote):
    a, _ = pair
    head = remote.head()
    assert a.json("repair", "--apply")["applied"] is False
    assert a.bd("repair").ok().out == "No damage was found.\n"
    assert remote.head() == head
    is_error(a.bd("--json", "repair", "--timeout", "0s"), "invalid_argument", 1)


# --- json and nothing else ---

def test_the_output_is_only_json(past):
    for words in (["sync"], ["sync", "--status"], ["sync", "-n"], ["history", "bd-one"], ["blame", "bd-one"],
                  ["diff", "~1"], ["repair"], ["status"], ["validate", "--at", "~1"], ["init"]):
        done = past.bd(*words, "--json").ok()
        assert done.out.count("\n") == 1 and done.json is not None and done.err == "", words


def test_the_text_has_no_gaps_and_no_wrong_plurals(past):
    """For people."""
    for words in (["sync"], ["sync", "--status"], ["status"], ["history", "bd-one"], ["repair"], ["diff", "~1"]):
        shown = past.bd(*words).ok().out
        assert not re.search(r"\(null\)| \.|\b1 (beads|lines|changes|times)\b|  $", shown), (words, shown)
    assert environment()["ABACUS_AUTOSYNC"] == "0"
