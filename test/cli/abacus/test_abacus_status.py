"""abacus status: the project on one screen."""
import json
import shlex
import shutil
import subprocess

import pytest

from conftest import BIN, environment
from remotes import bare, clone

NOW = 1_800_000_000_000
MINUTE = 60_000


@pytest.fixture
def crew(repo):
    """Two registered agents that are active, and commands at a given minute."""
    repo.env["ABACUS_NOW"] = NOW

    def act(*args, program="bd", by="alice", minute=0):
        return repo.run(*args, program=program,
                        env={"ABACUS_NOW": NOW + minute * MINUTE, "BD_ACTOR": by, "BB_AGENT_ID": by}).ok()

    repo.act = act
    for name in ("amber-otter", "cobalt-harbor"):
        act("agent", "register", "--name", name, "--role", "ui", program="bb")
    repo.bead = repo.create("Fix login", "-p", "1")
    repo.other = repo.create("Ship it")
    return repo


def status(repo, *args, minute=0):
    return repo.json("status", *args, program="abacus", env={"ABACUS_NOW": NOW + minute * MINUTE})


def kinds(found):
    return [one["kind"] for one in found["attention"]]


def send(repo, sender, to, category, subject="Hello", **kw):
    repo.act("agent", "send", "--from", sender, "--to", to, "--bead", repo.bead, "--category", category,
             "--subject", subject, "--body", "b", program="bb", **kw)


def test_an_agent_has_its_bead_files_and_last_act(crew):
    crew.act("claim", crew.bead, by="amber-otter")
    crew.act("agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", crew.bead, program="bb")
    crew.act("comment", crew.bead, "Nearly", by="amber-otter", minute=1)
    found = status(crew, minute=2)
    assert (found["agents_total"], found["agents_active"]) == (2, 2)
    otter = found["agents"][0]
    assert (otter["agent_id"], otter["role"], otter["liveness"]) == ("amber-otter", "ui", "active")
    assert [bead["id"] for bead in otter["beads"]] == [crew.bead]
    assert otter["scopes"] == ["src/*"]
    assert (otter["last_act"]["what"], otter["last_act"]["bead_id"]) == ("commented", crew.bead)
    assert found["attention"] == []


def test_the_board_and_the_registry_are_one_list(crew):
    crew.act("init", program="bb")
    crew.act("status", "set", "Reviewing", program="bb", by="kimi", minute=1)
    crew.act("status", "set", "Writing", program="bb", by="cobalt-harbor", minute=2)
    crew.act("claim", crew.bead, by="dana")
    found = {one["agent_id"]: one for one in status(crew, minute=3)["agents"]}
    assert {name: (one["registered"], one["liveness"], one["task"]) for name, one in found.items()} == {
        "dana": (False, None, None), "cobalt-harbor": (True, "active", "Writing"), "kimi": (False, "active", "Reviewing"),
        "amber-otter": (True, "active", None)}


def test_an_evicted_agent_is_listed_only_while_it_has_claims_or_reservations(crew):
    crew.act("agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", crew.bead, "--ttl", "600", program="bb")
    found = status(crew, minute=31)
    assert [(one["agent_id"], one["liveness"]) for one in found["agents"]] == [("amber-otter", "evicted")]
    assert (found["agents_total"], found["agents_active"]) == (2, 0)


def test_beads_are_in_progress_ready_or_blocked_with_their_blockers(crew):
    third = crew.create("Third")
    crew.act("dep", "add", crew.other, crew.bead)
    crew.act("dep", "add", crew.other, third)
    crew.act("claim", crew.bead, by="amber-otter")
    found = status(crew)
    assert [one["id"] for one in found["in_progress"]] == [crew.bead]
    assert [one["id"] for one in found["ready"]] == [third]
    assert [(one["id"], sorted(one["blocked_by"])) for one in found["blocked"]] == [(crew.other, sorted([crew.bead, third]))]
    assert [found[f"{part}_total"] for part in ("in_progress", "ready", "blocked")] == [1, 1, 1]


def test_the_limit_bounds_every_list_and_totals_count_all(crew):
    for i in range(5):
        crew.create(f"More {i}")
        send(crew, "amber-otter", "cobalt-harbor", "HANDOFF", f"Mail {i}")
    found = status(crew, "--limit", "2")
    assert (len(found["ready"]), found["ready_total"]) == (2, 7)
    assert (len(found["attention"]), found["attention_total"]) == (2, 5)
    out = crew.run("status", "--limit", "2", program="abacus").ok().out
    assert "READY  7, 2 shown; all: bd ready" in out


def test_a_large_total_is_not_counted_to_the_end(crew):
    """So the command costs no more in a large store."""
    lines = "".join(json.dumps({"op": "bead create", "params": {"title": f"bead {n}"}}) + "\n" for n in range(520))
    crew.run("pipe", program="abacus", stdin=lines.encode()).ok()
    assert status(crew)["ready_total"] == 501
    assert "READY  more than 500, 8 shown; all: bd ready" in crew.run("status", program="abacus").ok().out


def test_required_mail_and_requests_for_input_need_attention(crew):
    send(crew, "amber-otter", "cobalt-harbor", "HANDOFF", "Yours now")
    send(crew, "amber-otter", "cobalt-harbor", "BLOCKED", "Which way?")
    send(crew, "amber-otter", "cobalt-harbor", "INFO", "By the way")
    crew.act("init", program="bb")
    crew.act("status", "set", "Stuck", "--status", "blocked", "--blockers", "no access", program="bb", by="kimi")
    found = status(crew)
    assert [(one["kind"], one["agent_id"], one["text"]) for one in found["attention"]] == [
        ("input", "kimi", "kimi is blocked: no access"),
        ("input", "cobalt-harbor", "amber-otter needs input from cobalt-harbor: Which way?"),
        ("mail", "cobalt-harbor", "amber-otter waits for an acknowledgement from cobalt-harbor: Yours now")]


def test_expired_and_abandoned_claims_and_reservations_need_attention(crew):
    crew.act("claim", crew.bead, by="amber-otter")
    crew.act("agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", crew.bead, program="bb")
    assert kinds(status(crew, minute=14)) == []
    found = status(crew, minute=16)
    assert kinds(found) == ["holder", "reservation"]
    assert found["attention"][0]["text"] == f"amber-otter has claimed {crew.bead} and is not active: Fix login"
    found = status(crew, minute=125)
    assert [one["text"] for one in found["attention"]] == [
        f"the claim of amber-otter on {crew.bead} has expired: Fix login",
        "the reservation of src/* by amber-otter has expired"]
    assert found["attention"][-1]["scope"] == "src/*"
    assert [one["id"] for one in found["ready"]] == [crew.bead, crew.other]


def test_an_incursion_needs_attention_while_both_scopes_are_reserved(crew):
    for agent, scope in (("amber-otter", "src/*"), ("cobalt-harbor", "src/a.c")):
        crew.act("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", crew.bead, program="bb")
    [one] = status(crew)["attention"]
    assert (one["kind"], one["text"]) == ("incursion", "cobalt-harbor has reserved src/a.c, which overlaps src/* of amber-otter")
    crew.act("agent", "release", "--agent", "amber-otter", "--scope", "src/*", program="bb")
    assert status(crew)["attention"] == []


def test_lost_claims_and_failed_syncs_need_attention_and_stay(tmp_path):
    remote = bare(tmp_path / "remote.git")
    here, there = clone(tmp_path / "here", remote), clone(tmp_path / "there", remote)
    bead = here.create("Wanted by both")
    for repo in (here, there):
        repo.run("sync").ok()
    for repo in (there, here):  # the later claim wins
        repo.run("claim", bead).ok()
    for repo in (here, there):
        repo.run("sync", env={"BD_ACTOR": "autosync"}).ok()  # the loser would be told at once
    for _ in range(2):  # looking tells nobody
        [lost] = [one for one in there.json("status", program="abacus")["attention"] if one["kind"] == "lost_claim"]
        assert (lost["agent_id"], lost["bead_id"]) == ("there", bead)
    assert there.json("status", program="abacus")["sync"]["succeeded_at"]
    shutil.rmtree(remote)
    assert there.run("sync").code != 0
    found = there.json("status", program="abacus")
    assert found["sync"]["failures"] == 1
    assert "sync" in kinds(found)


def test_every_command_in_the_output_of_status_runs(crew):
    send(crew, "amber-otter", "cobalt-harbor", "HANDOFF")
    crew.act("init", program="bb")
    crew.act("status", "set", "Stuck", "--status", "blocked", "--blockers", "no access", program="bb", by="k'i mi")
    crew.act("claim", crew.bead, by="amber-otter")
    for agent, scope in (("amber-otter", "src/*"), ("cobalt-harbor", "src/a.c")):
        crew.act("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", crew.bead, program="bb")
    found = status(crew, minute=20)
    assert sorted(set(kinds(found))) == ["holder", "incursion", "input", "mail", "reservation"]
    for one in found["attention"]:
        program, *words = shlex.split(one["command"])
        crew.run(*words, program=program, env={"ABACUS_NOW": NOW + 20 * MINUTE}).ok()


@pytest.mark.parametrize("damage", [".beadboard/agent/agents/amber-otter.json", ".bb/blackboard.db"])
def test_a_store_that_cannot_be_read_hides_no_other(crew, damage):
    crew.act("init", program="bb")
    crew.act("post", "x" * 5000, program="bb")
    path = crew.path / damage
    shutil.rmtree(path.parent / "history", ignore_errors=True)
    path.unlink()
    path.mkdir()
    found = status(crew)
    assert found["ready_total"] == 2
    assert [one["command"] for one in found["attention"] if one["kind"] == "store"] == ["abacus doctor"]


def test_status_works_with_any_of_the_stores(tmp_path, repo, project):
    def out(cwd):
        return subprocess.run([BIN / "abacus", "status"], cwd=cwd, capture_output=True, env=environment(), check=True).stdout.decode()

    (tmp_path / "nothing").mkdir()
    assert out(tmp_path / "nothing") == "There is no project here yet. In a Git repository, run: abacus init\n"
    assert out(repo.path).startswith("No agents and no open beads. Run: bd create \"First task\"\n\nSYNC  ")
    project.run("--as", "kimi", "status", "set", "Alone").ok()
    assert out(project.path) == "AGENTS  1, 1 active\n  ● kimi  just now  Alone\n"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_it_fits_the_screen(crew, columns):
    crew.create("A long title " * 20)
    crew.act("update", crew.bead, "--title", "Another long title " * 20)
    crew.act("dep", "add", crew.other, crew.bead)
    crew.act("claim", crew.bead, by="amber-otter")
    crew.act("agent", "reserve", "--agent", "amber-otter", "--scope", "src/" + "deep/" * 30 + "*", "--bead", crew.bead, program="bb")
    send(crew, "amber-otter", "cobalt-harbor", "BLOCKED", "Which of the many ways? " * 10)
    out = crew.run("status", program="abacus", env={"COLUMNS": columns}).ok().out
    assert max(map(len, out.splitlines())) == columns


@pytest.mark.parametrize("args, says", [(("--limit", "0"), "--limit must be from 1 to 500, not 0"), (("more",), "'more'")])
def test_wrong_input_is_refused_with_a_hint(crew, args, says):
    done = crew.run("status", *args, program="abacus")
    first, hint = done.err.splitlines()
    assert done.code != 0 and says in first and "abacus status --help" in hint and not done.out


def test_a_wrong_setting_is_refused(crew):
    done = crew.run("status", program="abacus", env={"BB_AGENT_STALE_MINUTES": "soon"})
    assert done.code != 0 and "BB_AGENT_STALE_MINUTES" in done.err


def test_the_cost_of_status_does_not_grow_with_closed_beads(crew):
    """The reply has no entry for a closed bead, however many there are."""
    for i in range(30):
        crew.act("close", crew.create(f"Old {i}"))
    found = status(crew)
    assert "Old" not in json.dumps({key: value for key, value in found.items() if key != "agents"})


def test_an_entry_that_needs_attention_is_wrapped_and_not_cut(crew):
    send(crew, "amber-otter", "cobalt-harbor", "BLOCKED", subject="Which of the two callbacks should the login use from now on?")
    done = crew.run("status", program="abacus", env={"COLUMNS": "60"}).ok().out.splitlines()
    start = next(i for i, line in enumerate(done) if line.startswith("  ! "))
    end = next(i for i in range(start, len(done)) if done[i].strip().startswith("bb agent"))
    text = " ".join(line.strip() for line in done[start:end])
    assert "should the login use from now on? (just now)" in text and "…" not in text
    assert all(len(line) <= 60 for line in done[start:end])


def test_the_line_of_the_sync_says_that_it_fails(tmp_path):
    remote = bare(tmp_path / "remote.git")
    repo = clone(tmp_path / "here", remote)
    repo.create("x")
    repo.bd("sync").ok()
    assert repo.run("status", program="abacus").ok().out.endswith("SYNC  just now\n")
    shutil.rmtree(remote)
    assert repo.bd("sync").code == 4
    assert repo.run("status", program="abacus").ok().out.endswith("SYNC  failing; the last success was just now\n")


@pytest.mark.parametrize("line", ["{}", '{"message":5}', '{"message":""}', "[]", "x"])
def test_a_lost_claim_without_a_message_is_left_out(repo, line):
    (repo.home / "lost").mkdir(mode=0o700)
    (repo.home / "lost" / "cc3a29b6c1a471d39e21690d2852c042.jsonl").write_text(line + "\n")
    assert "lost" not in repo.run("status", program="abacus").ok().out
