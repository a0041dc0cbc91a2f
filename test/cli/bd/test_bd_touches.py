"""bd touches, bd conflicts, bd ready --parallel: the files of each bead, and the beads that collide"""
import json

import pytest

from beads import at
from conftest import Repo, git


def touches(repo, bead):
    return repo.json("touches", bead)


def commit(repo, message, *files):
    """A commit that changes these files."""
    for name in files:
        path = repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.read_text() + "x" if path.exists() else "x")
    git(repo.path, "add", "-A", "--", *files)
    git(repo.path, "commit", "-q", "-m", message)


def reserve(repo, agent, scope, bead, *more):
    env = {"BB_AGENT_ID": agent}
    repo.run("agent", "register", "--name", agent, "--role", "dev", program="bb", env=env)
    return repo.run("agent", "reserve", "--scope", scope, "--bead", bead, *more, program="bb", env=env).ok()


def pairs(repo, *args):
    return [(one["a"]["id"], one["b"]["id"], one["score"]) for one in repo.json("conflicts", *args)]


# --- what a bead declares ---


def test_create_declares_scopes_sorted_once_and_normalised(repo):
    bead = repo.json("create", "Parser", "--touches", "src/parser/*,doc/x.md,./src/parser/,doc//x.md")
    assert bead["touches"] == ["doc/x.md", "src/parser"] == touches(repo, bead["id"])["declared"]
    assert "touches     doc/x.md, src/parser" in repo.bd("show", bead["id"]).out


@pytest.mark.parametrize("scope, reason", [("../x", "outside"), ("src/*/a.c", "'*'")])
def test_a_scope_that_cannot_be_reserved_cannot_be_declared(repo, scope, reason):
    error = repo.fails("create", "Parser", "--touches", scope)
    assert error["code"] == "invalid_argument" and reason in error["message"] and scope in error["message"]
    assert repo.json("list") == []


def test_update_sets_adds_and_removes_scopes(repo):
    bead = repo.create("Parser", "--touches", "a,b")
    assert repo.json("update", bead, "--touches", "c")[0]["touches"] == ["c"]
    assert repo.json("update", bead, "--add-touches", "a/*,d", "--remove-touches", "./c")[0]["touches"] == ["a", "d"]
    assert "touches" not in repo.json("update", bead, "--touches", "")[0]


def test_scopes_survive_sync_and_merge_as_one_value(repo, tmp_path):
    bead = repo.create("Parser", "--touches", "a")
    git(tmp_path, "init", "-q", "--bare", "hub")
    git(repo.path, "remote", "add", "origin", str(tmp_path / "hub"))
    repo.bd("sync").ok()
    git(tmp_path, "clone", "-q", "hub", "other")
    other = Repo(tmp_path / "other")
    other.bd("init").ok()
    repo.bd("update", bead, "--touches", "b").ok()
    other.bd("update", bead, "--touches", "c", "--title", "Better").ok()
    repo.bd("sync").ok()
    other.bd("sync").ok()
    repo.bd("sync").ok()
    assert repo.show(bead)["touches"] == other.show(bead)["touches"] == ["c"]


def test_an_export_and_an_import_keep_the_scopes(repo, tmp_path):
    repo.create("Parser", "--touches", "a,b")
    text = repo.bd("export").ok().out
    assert json.loads(text.splitlines()[0])["touches"] == ["a", "b"]
    other = Repo(tmp_path / "other")
    other.path.mkdir()
    git(other.path, "init", "-q")
    other.bd("init", "--prefix", "bd").ok()
    other.bd("import", "-", stdin=text.encode()).ok()
    assert other.json("list")[0]["touches"] == ["a", "b"]


# --- what it really touched ---


def test_the_files_of_commits_that_name_a_bead_are_learned(repo):
    first, second = repo.create("One"), repo.create("Two")
    commit(repo, f"parser: fix ({first})", "src/a.c", "src/b.c")
    commit(repo, f"parser: again\n\nBead: {first}, {second}", "src/a.c")
    commit(repo, f"unrelated {first}x", "src/c.c")
    assert touches(repo, first)["learned"] == [{"path": "src/a.c", "commits": 2, "reservations": 0},
                                               {"path": "src/b.c", "commits": 1, "reservations": 0}]
    assert [one["path"] for one in touches(repo, second)["learned"]] == ["src/a.c"]


def test_reservations_for_a_bead_are_reserved_and_then_learned(repo):
    bead = repo.create("One")
    reserve(repo, "amber-otter", "src/*", bead)
    reserve(repo, "amber-otter", "src/*", bead)
    now = touches(repo, bead)
    assert [(one["scope"], one["agent_id"]) for one in now["reserved"]] == [("src/*", "amber-otter")]
    assert now["learned"] == [{"path": "src", "commits": 0, "reservations": 1}]
    repo.run("agent", "release", "--scope", "src/*", program="bb", env={"BB_AGENT_ID": "amber-otter"}).ok()
    after = touches(repo, bead)
    assert after["reserved"] == [] and after["learned"] == now["learned"]


def test_rewritten_history_is_read_again_and_more_history_is_continued(repo):
    bead = repo.create("One")
    commit(repo, f"base {bead}", "a")
    commit(repo, f"wrong {bead}", "b")
    assert [one["path"] for one in touches(repo, bead)["learned"]] == ["a", "b"]
    commit(repo, f"more {bead}", "c")
    assert [one["path"] for one in touches(repo, bead)["learned"]] == ["a", "b", "c"]
    git(repo.path, "reset", "-q", "--hard", "HEAD~2")
    commit(repo, f"right {bead}", "d")
    assert [one["path"] for one in touches(repo, bead)["learned"]] == ["a", "d"]


def test_a_damaged_or_missing_history_cache_is_rebuilt(repo):
    bead = repo.create("One")
    commit(repo, f"base {bead}", "a")
    before = touches(repo, bead)
    cache = repo.home / "history.db"
    for end in ("-wal", "-shm"):
        cache.with_name(cache.name + end).unlink(missing_ok=True)
    cache.write_bytes(b"x" * 5000)
    assert touches(repo, bead) == before
    for end in ("", "-wal", "-shm"):
        cache.with_name(cache.name + end).unlink(missing_ok=True)
    assert touches(repo, bead) == before


# --- the forecast ---


def test_a_conflict_names_the_scope_that_both_declare(repo):
    a, b = repo.create("One", "--touches", "src/a.c"), repo.create("Two", "--touches", "src")
    repo.create("Three", "--touches", "doc")
    reply = repo.json("conflicts")
    assert [(one["a"]["id"], one["b"]["id"], one["score"]) for one in reply] == [(a, b, 100)]
    assert reply[0]["reason"] == f"{a} declares src/a.c; {b} declares src"
    assert reply[0]["evidence"] == [{"scope": "src/a.c", "chance": 100, "a_why": "declared", "a_chance": 100,
                                     "a_with": None, "b_why": "declared", "b_chance": 100, "b_with": None}]


def test_files_that_changed_together_collide_and_merges_and_large_commits_do_not_count(repo):
    for _ in range(9):
        commit(repo, "together", "src/a.c", "src/b.c")
    for _ in range(3):
        commit(repo, "large", "x.c", *[f"large/{n}" for n in range(101)])
    git(repo.path, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(repo, "side", "x.c")
    git(repo.path, "checkout", "-q", "main")
    commit(repo, "main", "y.c")
    git(repo.path, "merge", "-q", "--no-edit", "-X", "ours", "side")
    a, b = repo.create("A", "--touches", "src/a.c"), repo.create("B", "--touches", "src/b.c")
    repo.create("X", "--touches", "x.c"), repo.create("L", "--touches", "large/1"), repo.create("Y", "--touches", "y.c")
    reply = repo.json("conflicts")
    assert [(one["a"]["id"], one["b"]["id"]) for one in reply] == [(a, b)]
    # 9 of 9 commits of the file, and two more that behave like those of its folder, of which 9 of 9 + 2 did
    chance = round(100 * (9 + 2 * 9 / 11) / 11)
    assert [(one["scope"], one["chance"]) for one in reply[0]["evidence"]] == [
        ("src/a.c", chance), ("src/b.c", chance), ("src", 10)]
    assert (reply[0]["evidence"][0]["a_why"], reply[0]["evidence"][0]["b_with"]) == ("declared", "src/b.c")
    assert reply[0]["score"] == round(100 * (1 - 0.9 * (1 - chance / 100) ** 2))


def test_a_large_commit_says_less_about_two_of_its_files(repo):
    for n in range(4):
        commit(repo, "small", "a/x.c", "b/x.c")
        commit(repo, "large", "c/x.c", "d/x.c", *[f"e/{n}.{i}" for i in range(8)])
    for path in ("a", "b", "c", "d"):
        repo.create(path, "--touches", f"{path}/x.c")
    small, large = (one["score"] for one in repo.json("conflicts", "--min-score", "1"))
    assert small > large


def test_the_same_folder_adds_to_other_signs_but_is_no_collision_alone(repo):
    repo.create("One", "--touches", "src/a.c"), repo.create("Two", "--touches", "src/b.c")
    repo.create("Three", "--touches", "src/deep/c.c")
    assert repo.json("conflicts") == []
    [one] = repo.json("conflicts", "--min-score", "1")
    assert (one["score"], [(e["scope"], e["chance"]) for e in one["evidence"]]) == (10, [("src", 10)])


def test_a_new_file_in_a_new_folder_borrows_from_the_folder_around_it(repo):
    for n in range(6):
        commit(repo, "command", f"src/ops/{n}.c", "doc/commands.md")
    a, b = repo.create("New", "--touches", "src/ops/more/x.c"), repo.create("Doc", "--touches", "doc/commands.md")
    repo.create("Other", "--touches", "web/more/x.c")
    # 6 of 6 + 2 commits of src; of the two that src/ops borrows, as many; and so on down to the file
    around = 6 / 8
    for own in (6, 0, 0):
        around = (own + 2 * around) / (own + 2)
    assert pairs(repo) == [(a, b, round(100 * around))]
    [one] = repo.json("conflicts")
    assert one["reason"] == f"{a} changes src/ops/more/x.c, and doc/commands.md often changes with it; " \
                            f"{b} declares doc/commands.md"


def test_a_file_that_the_text_names_and_one_of_an_earlier_commit_count_less(repo):
    commit(repo, "start", "src/a.c")
    named = repo.create("Fix `src/a.c`.")
    done = repo.create("Started")
    commit(repo, f"part of {done}", "src/a.c")
    assert pairs(repo) == [(named, done, 40)]
    assert pairs(repo, "--min-score", "41") == []


def test_a_reservation_collides_with_beads_that_touch_its_scope(repo):
    bead, other = repo.create("One", "--touches", "src/a.c"), repo.create("Two")
    reserve(repo, "amber-otter", "src/*", other)
    reply = repo.json("conflicts", bead)
    assert [(one["score"], one["a"]["agent"]) for one in reply] == [(100, "amber-otter")]
    assert reply[0]["reason"] == f"src is reserved for {other}; {bead} declares src/a.c"


def test_conflicts_says_when_there_are_none(repo):
    repo.create("One", "--touches", "a")
    assert repo.json("conflicts") == []
    assert "No two beads are likely to collide" in repo.bd("conflicts").out


# --- handing out ---


def test_parallel_omits_beads_that_collide_with_more_urgent_ones(repo):
    a = repo.create("A", "--touches", "src/a.c", "-p", "1")
    b = repo.create("B", "--touches", "src", "-p", "0")
    c = repo.create("C", "--touches", "doc")
    d = repo.create("D")
    assert repo.ids("ready", "--parallel", "2") == [b, c]
    reply = repo.json("ready", "--parallel", "4", "--explain")
    assert [one["id"] for one in reply] == [b, c, d, a]
    assert [one.get("left_out", False) for one in reply] == [False, False, False, True]
    assert (reply[3]["collides_with"], reply[3]["score"]) == (b, 100)
    assert reply[3]["why"] == f"left out: collides with {b} (100%): {a} declares src/a.c; {b} declares src"


def test_parallel_claims_for_several_agents_in_one_step(repo):
    a, b, c = (repo.create(name, "--touches", name) for name in "abc")
    records = len(repo.journal.read_bytes().splitlines())
    reply = repo.json("ready", "--parallel", "2", "--claim", "--for", "amber,birch")
    assert [(one["id"], one["assignee"], one["status"]) for one in reply] == [(a, "amber", "in_progress"),
                                                                             (b, "birch", "in_progress")]
    assert all(one["epoch"] for one in reply)
    assert len(repo.journal.read_bytes().splitlines()) == records + 1
    assert repo.ids("ready", "--parallel", "5") == [c]
    assert repo.json("update", b, "--title", "x", "--epoch", json.dumps(reply[1]["epoch"]),
                     env={"BD_ACTOR": "birch"})[0]["assignee"] == "birch"


def test_parallel_avoids_beads_in_progress_until_their_lease_ends(repo):
    held = repo.create("Held", "--touches", "src")
    free = repo.create("Free", "--touches", "src/a.c")
    repo.bd("claim", held, "--lease", "1h", env={"BD_ACTOR": "bob", **at(m=0)}).ok()
    assert repo.ids("ready", "--parallel", "1", env=at(m=1)) == []
    assert repo.ids("ready", "--parallel", "1", env=at(m=61)) == [held]
    assert repo.ids("ready", env=at(m=1)) == [free]


@pytest.mark.parametrize("args", [("--for", "a,b"), ("--parallel", "2", "--for", "a,b"),
                                  ("--parallel", "3", "--claim", "--for", "a,b"), ("--parallel", "0")])
def test_options_of_parallel_that_do_not_fit_are_refused(repo, args):
    repo.create("One")
    assert repo.fails("ready", *args)["code"] == "invalid_argument"
    assert repo.json("list")[0]["status"] == "open"


def test_a_broken_git_process_leaves_a_forecast_without_history(repo):
    commit(repo, "start", "a")
    a, b = repo.create("A", "--touches", "a"), repo.create("B", "--touches", "a")
    (repo.home / "history.db").mkdir()
    done = repo.bd("conflicts", "--json")
    assert [(one["a"]["id"], one["b"]["id"]) for one in done.ok().json] == [(a, b)]
    assert "the forecast lacks the repository's history" in repo.bd("conflicts").err


def test_a_higher_score_hands_out_more_beads_at_a_higher_risk(repo):
    for _ in range(2):
        commit(repo, "both", "src/a.c", "doc/a.md")
    a, b = repo.create("A", "--touches", "src/a.c"), repo.create("B", "--touches", "doc/a.md")
    [(_, _, score)] = pairs(repo)
    assert [one["id"] for one in repo.json("ready", "--parallel", "2")] == [a]
    assert [one["id"] for one in repo.json("ready", "--parallel", "2", "--min-score", str(score))] == [a]
    assert [one["id"] for one in repo.json("ready", "--parallel", "2", "--min-score", str(score + 1))] == [a, b]
    assert "--min-score 50 accepts more risk" in repo.bd("ready", "--parallel", "2", "--explain").ok().err


def test_a_bead_with_reserved_files_is_not_called_in_progress(repo):
    bead, other = repo.create("a", "--touches", "src/a.c"), repo.create("b", "--touches", "src/a.c")
    reserve(repo, "amber-otter", "src/a.c", bead)
    assert f"   {bead} (reserved by amber-otter)\n   {other} b\n" in repo.bd("conflicts").ok().out


def test_without_a_bead_for_parallel_work_the_reason_is_named(repo):
    bead = repo.create("a", "--touches", "src/a.c")
    reserve(repo, "amber-otter", "src/a.c", "bd-other")
    assert repo.bd("ready", "--parallel", "1").ok().out == "No bead can be worked on without a likely collision.\n"
    assert repo.bd("ready", "--parallel", "1", "--explain").ok().out.endswith("0 beads ready, 1 left out\n"), bead
