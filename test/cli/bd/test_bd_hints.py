"""bd: the commands in the hint of an error name the bead, and work when pasted."""
import pytest

from hints import command_of, quoted_commands, run_command


def closed(repo, bead):
    repo.bd("close", bead).ok()
    return ["claim", bead]


def deleted(repo, bead):
    repo.bd("delete", bead, "--yes").ok()
    return ["show", bead]


def claimed_by_another(repo, bead):
    repo.bd("claim", bead, env={"BD_ACTOR": "bob"}).ok()
    return ["unclaim", bead]


def epoch_of_another(repo, bead):
    repo.bd("claim", bead, env={"BD_ACTOR": "bob"}).ok()
    return ["close", bead, "--epoch", "[1,2]"]


CASES = {
    "closed": (closed, ["bd reopen {}"]),
    "deleted": (deleted, ["bd undelete {}"]),
    "not claimed": (lambda repo, bead: ["renew", bead], ["bd show {}", "bd claim {}"]),
    "stale claim": (epoch_of_another, ["bd show {}"]),
    "another hash": (lambda repo, bead: ["update", bead, "-p", "0", "--if-hash", "00"], ["bd show {} --json"]),
}


@pytest.mark.parametrize("prepare, commands", CASES.values(), ids=CASES.keys())
def test_the_commands_of_a_hint_name_the_bead_and_work(repo, prepare, commands):
    bead = repo.create("x")
    words = prepare(repo, bead)
    hint = repo.bd("--json", *words).error["hint"]
    assert quoted_commands(hint) == [command.format(bead) for command in commands], hint
    for command in quoted_commands(hint):
        run_command(repo, command).ok()


def test_the_hint_for_a_claim_of_another_names_the_bead(repo):
    bead = repo.create("x")
    hint = repo.bd("--json", *claimed_by_another(repo, bead)).error["hint"]
    assert quoted_commands(hint) == [f"bd show {bead}", f"bd claim {bead}"]


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("kind", ["blocks", "parent-child"])
def test_the_command_of_the_hint_breaks_the_cycle(repo, kind, length):
    beads = [repo.create(f"{n}") for n in range(length)]
    for blocked, blocker in zip(beads, beads[1:]):
        repo.bd("dep", "add", blocked, blocker, "--type", kind).ok()
    closing = ["dep", "add", beads[-1], beads[0], "--type", kind]
    [command] = quoted_commands(repo.bd("--json", *closing).error["hint"])
    run_command(repo, command).ok()
    repo.bd(*closing).ok()


def test_a_deletion_that_nobody_confirms_names_the_whole_command(repo):
    bead = repo.create("x")
    hint = repo.bd("--json", "delete", bead, "--reason", "not needed").error["hint"]
    command = command_of(hint, "bd")
    assert command == f"bd --json delete {bead} --reason 'not needed' --yes"
    run_command(repo, command)
    assert repo.ids("deleted") == [bead]


def test_a_bead_that_was_not_deleted_leads_to_the_deleted_ones(repo):
    error = repo.bd("--json", "undelete", "zz").error
    assert error["message"] == "there is no deleted bead 'zz'"
    assert quoted_commands(error["hint"]) == ["bd deleted"]


@pytest.mark.parametrize("words", [["dep", "zz"], ["label", "zz", "x"], ["epic", "zz"]])
def test_a_wrong_word_of_a_group_leads_to_the_help_of_the_group(repo, words):
    assert repo.bd("--json", *words).error["hint"] == f"Run 'bd {words[0]} --help' to see its commands."


@pytest.mark.parametrize("words", [["search"], ["close"], ["dep", "add"]])
def test_a_missing_argument_never_prints_a_usage_of_many_lines(repo, words):
    assert len(repo.bd("--json", *words).error["hint"]) <= 80


def test_an_option_that_names_an_argument_is_suggested_too(repo):
    assert repo.bd("--json", "create", "--titel", "x").error["hint"] == "Did you mean: bd --json create --title x"
