"""The JSON that clients of upstream's bd read; the specification's own shapes are the default."""
import pytest

from beads import ECOSYSTEM, PUBLIC, clock, is_error
from conftest import git

UPSTREAM = {"BD_JSON_DIALECT": "upstream"}


@pytest.fixture
def both(repo):
    """A few beads; upstream(…) prints replies in upstream's dialect."""
    clock(repo)
    repo.create("a", "--id", "bd-a", "--notes", "text of the notes")
    repo.create("epic", "--id", "bd-e", "-t", "epic")
    repo.create("b", "--id", "bd-b", "--deps", "blocks:bd-a,discovered-from:bd-e")
    repo.create("c", "--id", "bd-c", "--parent", "bd-e", "--deps", "related:bd-a")
    repo.bd("comment", "bd-a", "said").ok()
    repo.upstream = lambda *words: repo.json(*words, env=UPSTREAM)
    return repo


def edge(of, on, kind):
    return {"issue_id": of, "depends_on_id": on, "type": kind, "created_at": "2026-01-01T00:00:00.000Z", "created_by": "alice"}


def by_id(beads):
    return {bead["id"]: bead for bead in beads}


def test_the_default_is_the_specifications_shape_byte_for_byte(both):
    for words in (["list"], ["show", "bd-b"], ["stats"], ["version"], ["info"], ["epic", "status"]):
        plain = both.bd(*words, "--json").ok().bytes
        assert both.bd(*words, "--json", env={"BD_JSON_DIALECT": "specification"}).ok().bytes == plain
        assert both.bd(*words, "--json", env=UPSTREAM).ok().bytes != plain


def test_the_clone_or_the_environment_chooses_the_dialect(both):
    both.bd("config", "set", "json.dialect", "upstream").ok()
    assert both.json("show", "bd-a")[0]["notes"] == "text of the notes"
    assert isinstance(both.json("show", "bd-a", env={"BD_JSON_DIALECT": "specification"})[0]["notes"], list)
    is_error(both.bd("config", "set", "json.dialect", "other", "--json"), "invalid_argument", 1)


@pytest.mark.parametrize("words", [["list"], ["ready"], ["search", "a"], ["show", "bd-a"], ["update", "bd-a", "-p", "1"], ["close", "bd-a"],
                                   ["claim", "bd-a"], ["blocked"], ["children", "bd-e"], ["reopen", "bd-a"], ["dep", "list", "bd-b"]])
def test_notes_are_a_string_and_comments_the_discussion_in_every_command(both, words):
    if words[0] == "reopen":
        both.bd("close", "bd-a").ok()
    got = both.upstream(*words)
    assert got
    for bead in got:
        assert set(PUBLIC + ECOSYSTEM) <= set(bead)
        assert bead["notes"] == ("text of the notes" if bead["id"] == "bd-a" else "")
        assert [c["text"] for c in bead["comments"]] == (["said"] if bead["id"] == "bd-a" else [])
        assert not {"notes_text", "original_status", "original_type"} & set(bead)


def test_lists_have_the_edges_of_each_bead(both):
    got = by_id(both.upstream("list"))
    assert got["bd-a"]["dependencies"] == []
    assert sorted(got["bd-b"]["dependencies"], key=lambda e: e["type"]) == [
        edge("bd-b", "bd-a", "blocks"), edge("bd-b", "bd-e", "discovered-from")]
    assert sorted(got["bd-c"]["dependencies"], key=lambda e: e["type"]) == [
        edge("bd-c", "bd-e", "parent-child"), edge("bd-c", "bd-a", "relates-to")]
    assert set(both.upstream("list", "--fields", "title")[0]) == {"id", "title"}


def test_show_has_the_whole_beads_at_the_other_ends(both):
    got, = both.upstream("show", "bd-c")
    assert [(d["id"], d["issue_id"], d["depends_on_id"], d["type"], d["dependency_type"], d["issue_type"]) for d in got["dependencies"]] == [
        ("bd-e", "bd-c", "bd-e", "parent-child", "parent-child", "epic"), ("bd-a", "bd-c", "bd-a", "relates-to", "relates-to", "task")]
    assert all(d["created_at"] and d["updated_at"] and isinstance(d["notes"], str) for d in got["dependencies"])
    got, = both.upstream("show", "bd-e")
    assert [(d["issue_id"], d["depends_on_id"], d["dependency_type"]) for d in got["dependents"]] == [
        ("bd-b", "bd-e", "discovered-from"), ("bd-c", "bd-e", "parent-child")]


def test_dependencies_and_labels_have_the_shapes_of_upstream(both):
    assert both.upstream("dep", "add", "bd-c", "bd-b") == {"status": "added", "issue_id": "bd-c", "depends_on_id": "bd-b", "type": "blocks"}
    assert both.upstream("dep", "remove", "bd-c", "bd-b") == {"status": "removed", "issue_id": "bd-c", "depends_on_id": "bd-b", "type": "blocks"}
    assert both.upstream("label", "add", "bd-a", "bd-b", "x") == [
        {"status": "added", "issue_id": "bd-a", "label": "x"}, {"status": "added", "issue_id": "bd-b", "label": "x"}]
    assert both.upstream("label", "remove", "bd-a", "x") == [{"status": "removed", "issue_id": "bd-a", "label": "x"}]


def test_epics_have_the_bead_and_its_progress(both):
    got, = both.upstream("epic", "status")
    assert (got["epic"]["id"], got["total_children"], got["closed_children"], got["eligible_for_close"]) == ("bd-e", 1, 0, False)
    assert got["epic"]["issue_type"] == "epic" and got["epic"]["created_at"]
    both.bd("close", "bd-c").ok()
    assert both.upstream("epic", "close-eligible") == {"closed": ["bd-e"], "count": 1}


def test_stats_have_a_summary(both):
    both.bd("defer", "bd-b", "--until", "2026-02-01").ok()
    clock(both, h=2)
    both.bd("close", "bd-a").ok()
    assert both.upstream("stats")["summary"] == {
        "total_issues": 4, "open_issues": 3, "in_progress_issues": 0, "closed_issues": 1, "blocked_issues": 0, "ready_issues": 2,
        "tombstone_issues": 0, "deferred_issues": 1, "average_lead_time_hours": 2.0}


def test_info_and_version_have_the_members_that_clients_read(both):
    info = both.upstream("info")
    assert (info["issue_count"], info["mode"], info["daemon_connected"]) == (4, "direct", False) and info["database_path"]
    for words in (["version"], ["--version"]):
        assert both.bd(*words, env=UPSTREAM).ok().out.startswith("bd version 1.0.5")
    assert both.upstream("version")["version"] == "1.0.5"


def test_close_with_claim_next_lists_closed_and_claimed_beads(both):
    got = both.upstream("close", "bd-a", "--claim-next")
    assert [b["id"] for b in got["closed"]] == ["bd-a"] and got["claimed"]["status"] == "in_progress"
    got = both.upstream("close", got["claimed"]["id"], "--suggest-next", "--force")
    assert set(got) == {"closed", "unblocked"}


def test_errors_are_on_stderr_too(both):
    done = both.bd("show", "bd-none", "--json", env=UPSTREAM)
    is_error(done, "not_found", 1)
    assert "there is no bead 'bd-none'" in done.err
    assert both.bd("show", "bd-none", "--json").err == ""


def test_init_in_a_repository_of_upstream_chooses_its_dialect_and_says_so(empty):
    git(empty.path, "init", "-q")
    (empty.path / ".beads").mkdir()
    done = empty.run("init", "-q", program="bd").ok()
    assert "json.dialect" in done.err
    assert empty.run("config", "get", "json.dialect", "--json", program="bd").json["value"] == "upstream"
    assert "json.dialect" not in empty.run("init", "-q", program="bd").ok().err


def test_two_clones_one_in_each_dialect_converge(repo, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    repo.create("a", "--id", "bd-a", "--notes", "text")
    repo.bd("sync").ok()
    git(tmp_path, "clone", "-q", "remote.git", "other")
    other = type(repo)(tmp_path / "other")
    other.bd("init", "-q", env=UPSTREAM).ok()
    other.bd("config", "set", "json.dialect", "upstream").ok()
    other.bd("update", "bd-a", "--add-label", "x", "--json").ok()
    other.bd("sync").ok()
    repo.bd("sync").ok()
    got = repo.show("bd-a"), other.json("show", "bd-a", env={"BD_JSON_DIALECT": "specification"})[0]
    assert got[0] == got[1] and other.show("bd-a")["content_hash"] == got[0]["content_hash"]
