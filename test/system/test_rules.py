"""abacus on: runs a command per change, at least once, by one runner, even after a kill"""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import BIN, environment
from harness import patience

LOG = 'echo "$ABACUS_EVENT $ABACUS_BEAD $ABACUS_BY" >>log'


@pytest.fixture
def repo(repo, tmp_path):
    started = []

    def run(*args):
        started.append(subprocess.Popen([f"{BIN}/abacus", "on", "--run", *args], cwd=repo.path, env=environment(**repo.env),
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True))
        return started[-1]

    repo.env = {"XDG_STATE_HOME": tmp_path / "state"}
    repo.runner = run
    yield repo
    for one in started:
        if one.poll() is None:
            one.kill()
        one.communicate()


def on(repo, *args):
    return repo.run("--json", "on", *args, program="abacus")


def rule(repo, event, *args, script=LOG):
    return on(repo, event, *args, "--", "sh", "-c", script).ok().json[-1]["rule"]


def log(repo, name="log"):
    path = repo.path / name
    return path.read_text().splitlines() if path.exists() else []


def until(condition):
    end = time.monotonic() + patience(20)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def stop(runner):
    runner.terminate()
    said = runner.communicate(timeout=patience(20))[1]
    assert runner.returncode == 0
    return said


def close(repo, bead, who="kim"):
    repo.bd("close", bead, "--as", who).ok()


def test_rules_are_added_listed_and_removed(repo):
    assert on(repo).ok().json == []
    rule(repo, "bead.closed", "--label", "release,hot")
    assert rule(repo, "mail", script="true") == 2
    first, second = on(repo).ok().json
    assert (first["event"], first["labels"], first["command"], first["running"]) == (
        "bead.closed", ["release", "hot"], ["sh", "-c", LOG], False)
    assert [one["rule"] for one in on(repo, "--remove", "1").ok().json] == [2]
    missing = on(repo, "--remove", "1").error
    assert (missing["code"], missing["message"]) == ("NOT_FOUND", "there is no rule 1")
    wrong = on(repo, "bead.close", "--", "true").error["message"]
    assert wrong.startswith("EVENT must be one of bead.created, ") and wrong.endswith(", not 'bead.close'")
    assert on(repo, "bead.closed").error["message"] == "a rule has an event and a command"


@pytest.mark.parametrize("act,event", [
    (lambda repo, bead: repo.create("New"), "bead.created"), (lambda repo, bead: repo.bd("claim", bead).ok(), "bead.claimed"),
    (lambda repo, bead: repo.bd("comment", bead, "hi").ok(), "bead.commented"),
    (lambda repo, bead: repo.bd("update", bead, "-p", "0").ok(), "bead.changed"),
    (lambda repo, bead: repo.bd("close", bead).ok(), "bead.closed"),
    (lambda repo, bead: repo.bd("delete", bead, "--force").ok(), "bead.deleted")], ids=lambda v: v if isinstance(v, str) else "")
def test_every_kind_of_change_is_an_event(repo, act, event):
    bead = repo.create("Parser")
    rule(repo, "bead.*")
    act(repo, bead)
    runner = repo.runner()
    until(lambda: log(repo))
    stop(runner)
    assert [line.split()[0] for line in log(repo)] == [event]


def test_a_command_gets_the_event_and_only_changes_since_the_rule(repo):
    close(repo, repo.create("Before", "-l", "release"))
    rule(repo, "bead.closed", "--label", "release", script=LOG + "; cat >json")
    with_label, without = repo.create("After", "-l", "release"), repo.create("Other")
    close(repo, with_label), close(repo, without)
    runner = repo.runner()
    until(lambda: log(repo, "json"))
    close(repo, without := repo.create("Live", "-l", "release"), "lee")
    until(lambda: len(log(repo)) == 2)
    stop(runner)
    assert log(repo) == [f"bead.closed {with_label} kim", f"bead.closed {without} lee"]
    told = json.loads((repo.path / "json").read_text())
    assert (told["event"], told["bead_id"], told["by"], told["rule"]) == ("bead.closed", without, "lee", 1)


def test_a_runner_continues_where_the_previous_one_stopped(repo):
    rule(repo, "bead.closed")
    beads = [repo.create(f"Bead {i}") for i in range(4)]
    for i, bead in enumerate(beads):
        close(repo, bead)
        if i % 2:
            continue
        runner = repo.runner("--jobs", "1")  # commands that run beside each other end in any order
        until(lambda: len(log(repo)) == i + 1)
        stop(runner)
        assert len(log(repo)) == i + 1
    runner = repo.runner("--jobs", "1")
    until(lambda: len(log(repo)) == 4)
    stop(runner)
    assert [line.split()[1] for line in log(repo)] == beads


def test_never_two_runners_of_a_rule_and_the_second_takes_over(repo):
    rule(repo, "bead.closed")
    first = repo.runner()
    until(lambda: on(repo).ok().json[0]["running"])
    second = repo.runner()
    assert second.stderr.readline() == "rule 1 is run by another process\n"
    close(repo, one := repo.create("One"))
    until(lambda: log(repo))
    first.kill()
    first.wait()
    close(repo, two := repo.create("Two"))
    until(lambda: len(log(repo)) >= 2)
    stop(second)
    assert sorted({line.split()[1] for line in log(repo)}) == sorted((one, two))


@pytest.mark.parametrize("times", [6 if not os.environ.get("ABACUS_THOROUGH") else 60])
def test_a_runner_that_is_killed_at_any_moment_misses_nothing(repo, times):
    rule(repo, "bead.closed")
    beads = [repo.create(f"Bead {i}") for i in range(times * 2)]
    for i, bead in enumerate(beads):
        if i % 2 == 0:
            runner = repo.runner()
        close(repo, bead)
        time.sleep(0.004 * i)  # the moment of the kill differs
        if i % 2:
            runner.send_signal(signal.SIGKILL)
            runner.wait()
    runner = repo.runner()
    until(lambda: {line.split()[1] for line in log(repo)} == set(beads) and on(repo).ok().json[0]["running"])
    stop(runner)


def test_at_most_the_maximum_number_of_commands_run_at_a_time(repo):
    """Every command counts those that run with it; a lock directory makes the counting atomic."""
    rule(repo, "bead.created", script='mkdir "run.$ABACUS_BEAD"; ls -d run.* | wc -l >>log; sleep 0.1; rmdir "run.$ABACUS_BEAD"; echo >>end')
    for i in range(8):
        repo.create(f"Bead {i}")
    runner = repo.runner("--jobs", "2")
    until(lambda: len(log(repo, "end")) == 8)
    stop(runner)
    assert max(map(int, log(repo))) == 2


def test_a_failed_command_is_reported_and_not_repeated(repo):
    rule(repo, "bead.created", script="echo >>log; exit 3")
    bead = repo.create("One")
    runner = repo.runner()
    until(lambda: log(repo))
    time.sleep(0.1)
    assert f"rule 1: bead.created {bead}: the command ended with status 3; it is not repeated" in stop(runner)
    assert len(log(repo)) == 1


def test_without_journal_records_the_changes_come_from_the_beads(repo):
    rule(repo, "bead.closed")
    close(repo, bead := repo.create("One"))
    place, = repo.env["XDG_STATE_HOME"].rglob("1.place")
    stored = json.loads(place.read_text())
    stored["known"]["journal"] = [7, 100, 50, 1, 1]
    place.write_text(json.dumps(stored))
    runner = repo.runner()
    until(lambda: log(repo))
    assert "the records since" in stop(runner)
    assert log(repo) == [f"bead.closed {bead} kim"]


def test_a_rule_that_is_removed_runs_no_more_and_its_number_is_not_used_again(repo):
    rule(repo, "bead.created")
    runner = repo.runner()
    until(lambda: on(repo).ok().json[0]["running"])
    on(repo, "--remove", "1").ok()
    assert rule(repo, "bead.closed") == 2
    close(repo, repo.create("One"))
    until(lambda: log(repo))
    stop(runner)
    assert [line.split()[0] for line in log(repo)] == ["bead.closed"]


def test_the_service_runs_the_rules_too(repo):
    rule(repo, "bead.closed")
    service = subprocess.Popen([f"{BIN}/abacus", "serve"], cwd=repo.path, env=environment(**repo.env), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        until(lambda: on(repo).ok().json[0]["running"])
        close(repo, bead := repo.create("One"))
        until(lambda: log(repo))
    finally:
        service.kill()
        service.wait()
    until(lambda: not on(repo).ok().json[0]["running"])
    assert log(repo) == [f"bead.closed {bead} kim"]


def test_no_rule_comes_with_a_clone_or_over_mcp(repo, tmp_path):
    rule(repo, "bead.closed")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repo.path), str(clone)], check=True, env=environment(**repo.env))
    repo.run("init", program="bd", cwd=clone).ok()
    assert repo.run("--json", "on", program="abacus", cwd=clone).ok().json == []
