"""Earlier bugs."""
import pytest

from beads import is_error
from conftest import git


def healthy(repo):
    """The journal alone can still be read."""
    for part in repo.home.glob("cache.db*"):
        part.unlink()
    assert repo.json("validate")["ok"] is True


@pytest.mark.parametrize("lease", ["99999999w", "0s"])
def test_a_lease_that_cannot_be_stored_is_refused(repo, lease):
    bead = repo.create("x")
    is_error(repo.bd("--json", "claim", bead, "--lease", lease), "invalid_argument", 1)
    healthy(repo)


def test_a_time_before_1970_is_refused(repo):
    repo.create("x")
    is_error(repo.bd("--json", "ready", "--claim", env={"ABACUS_NOW": "1969-12-31T23:00:00Z"}), "invalid_argument", 1)
    healthy(repo)


def test_a_branch_with_a_name_that_is_not_utf8_is_omitted(repo):
    (repo.path / ".git" / "HEAD").write_bytes(b"ref: refs/heads/caf\xe9\n")
    bead = repo.create("x")
    assert repo.show(bead)["created_on_branch"] is None
    repo.bd("close", bead).ok()
    healthy(repo)


def test_the_first_millisecond_of_1970_is_a_valid_time(repo):
    bead, closed = repo.create("x"), repo.create("y")
    repo.bd("close", closed).ok()
    zero = {"ABACUS_NOW": "0"}
    assert repo.ids("ready", env=zero) == [bead]
    assert repo.json("reclaim", env=zero) == []
    assert repo.show(closed)["status"] == "closed"
    assert repo.json("list", "--created-before", "1970-01-01") == []


def test_a_claim_is_always_for_its_actor(repo):
    bead = repo.create("x")
    got, = repo.json("update", bead, "--claim", "--assignee", "alice")
    assert (got["assignee"], got["status"]) == ("alice", "in_progress")
    assert got["assignee_expires"] and got["epoch"] == got["assignee_at"]
    is_error(repo.bd("--json", "update", bead, "--claim", "--assignee", "bob"), "invalid_argument", 1)


def test_a_claimed_bead_can_be_reopened_for_an_assignee(repo):
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    got, = repo.json("update", bead, "--status", "open", "--assignee", "bob")
    assert (got["status"], got["assignee"], got["assignee_expires"]) == ("open", "bob", None)


def test_a_reassigned_bead_keeps_a_lease(repo):
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    got, = repo.json("update", bead, "--assignee", "bob")
    assert (got["status"], got["assignee"]) == ("in_progress", "bob") and got["assignee_expires"]


def test_the_epoch_of_a_claim_is_printed(repo):
    repo.create("x")
    assert ", epoch [" in repo.bd("ready", "--claim").ok().out


def test_output_options_are_not_part_of_a_request(repo):
    repo.create("x"), repo.create("y")
    first = repo.bd("ready", "--claim", "--request-id", "r").ok().out
    again = repo.json("ready", "--claim", "--request-id", "r", "--brief")
    assert again[0]["id"] in first
    assert len(repo.json("list", "-s", "in_progress")) == 1


@pytest.mark.parametrize("text", ["## " + "t" * 1001 + "\n", "## a\tb\n", "## a\n### Labels\n" + "l" * 201 + "\n",
                                  "## a\n### Assignee\n" + "n" * 257 + "\n"])
def test_a_file_has_the_limits_of_the_flags(repo, text):
    (repo.path / "plan.md").write_text(text)
    is_error(repo.bd("--json", "create", "-f", "plan.md"), "invalid_argument", 1)
    assert repo.json("list") == []


@pytest.mark.parametrize("more", [["-p", "0"], ["-l", "x"], ["-a", "bob"], ["-t", "bug"]])
def test_options_that_do_not_go_with_a_file_are_refused(repo, more):
    (repo.path / "plan.md").write_text("## a\n")
    is_error(repo.bd("--json", "create", "-f", "plan.md", *more), "invalid_argument", 1)


def test_an_init_that_fails_sets_nothing(repo):
    repo.fails("init", "--prefix", "!!", "--ref", "refs/beads/other")
    repo.fails("init", "--remote", "-x", "--ref", "refs/beads/other")
    assert repo.json("config", "get", "sync.ref")["value"] == "refs/beads/store"


def test_the_git_user_is_that_of_the_chosen_repository(repo, tmp_path):
    git(repo.path, "config", "user.name", "of the repository")
    repo.env = {}
    assert repo.json("-C", str(repo.path), "info", cwd=tmp_path)["actor"] == "of the repository"


def test_closing_by_update_is_closing(repo):
    a = repo.create("a")
    b = repo.create("b", "--deps", f"blocks:{a}")
    assert repo.fails("update", b, "-s", "closed")["details"]["blockers"] == [a]
    assert {x["status"] for x in repo.json("update", b, a, "-s", "closed")} == {"closed"}


def test_an_act_of_the_holder_renews_by_the_configured_lease(repo):
    repo.env["ABACUS_NOW"] = "2026-05-01T12:00:00Z"
    repo.bd("config", "set", "claim.lease", "5m").ok()
    bead = repo.create("x")
    repo.bd("claim", bead).ok()
    repo.env["ABACUS_NOW"] = "2026-05-01T12:02:00Z"
    repo.bd("comment", bead, "still at it").ok()
    assert repo.show(bead)["assignee_expires"] == "2026-05-01T12:07:00.000Z"


def test_the_doctor_writes_nothing(repo):
    repo.bd("create", "x", "--request-id", "r").ok()
    before = {p.name: p.read_bytes() for p in repo.home.iterdir() if p.name != "cache.db-shm"}
    assert repo.json("doctor")["ok"] is True
    assert {p.name: p.read_bytes() for p in repo.home.iterdir() if p.name != "cache.db-shm"} == before


def test_many_words_in_a_filter_do_not_invalidate_the_cache(repo):
    repo.create("x")
    cache = repo.cache.stat().st_ino
    is_error(repo.bd("--json", "list", *["-l", "a"] * 200), "invalid_argument", 1)
    is_error(repo.bd("--json", "list", "--title-contains", "a" * 60_000), "invalid_argument", 1)
    assert repo.cache.stat().st_ino == cache


def test_two_beads_of_one_file_never_get_the_same_id(repo):
    (repo.path / "plan.md").write_text("".join(f"## t{i}\n" for i in range(400)))
    made = [bead["id"] for bead in repo.json("create", "-f", "plan.md")]
    assert len(set(made)) == 400
    assert [bead["title"] for bead in repo.json("list", "-n", "0")] == [f"t{i}" for i in range(400)]
