"""A plan may come with the repository: reading it costs in proportion to its size, and so do lists of a request."""
import pytest
from stores import made, world  # noqa: F401  (fixtures)
from test_generated_stores import SANITIZED, run

MB = 1 << 20


def cheap(world, line):
    done = run(world, world, line, json_too=True)
    assert SANITIZED or done.memory < 64 * MB, done.memory // MB
    return done


@pytest.mark.parametrize("plan", [
    "## a\nlabels: " + "a," * 20_000,
    "## 1. a\n- [ ] 1.1 " + "[a]" * 20_000 + " x",
    "## a\n\n## b\nneeds: " + "a," * 20_000,
], ids=["labels", "tags", "needs"])
def test_a_long_list_of_a_plan_takes_memory_in_proportion_to_it(world, plan):
    (world.path / "plan.md").write_text(plan + "\n")
    done = cheap(world, "bd create -f plan.md --dry-run")
    assert done.code == 0, done.err


def test_a_long_list_of_a_request_takes_memory_in_proportion_to_it(world):
    done = cheap(world, "bd create x --dry-run" + " --labels a" * 20_000)
    assert done.code == 0, done.err


def put_stories(world, stories, tasks):
    lines = ["# Tasks: F"]
    for i in range(stories):
        lines += [f"## Phase {i}", f"- [ ] T{i} [US1] story"]
    lines += ["## Last"] + [f"- [ ] T9{i} [P] task" for i in range(tasks)]
    (world.path / "plan.md").write_text("\n".join(lines) + "\n")


def test_stories_times_parallel_tasks_are_refused_with_the_line(world):
    put_stories(world, 1500, 500)
    done = cheap(world, "bd create -f plan.md --dry-run")
    error = done.json["error"]
    assert (done.code, error["code"]) == (1, "invalid_argument")
    assert error["message"].startswith("plan.md:3009: "), error  # the seventh task that needs 1,500 stories


def test_a_plan_with_many_stories_and_parallel_tasks_is_accepted(world):
    put_stories(world, 100, 100)
    done = cheap(world, "bd create -f plan.md --dry-run")
    assert done.code == 0 and len(done.json) == 1 + 2 * 100 + 1 + 100
    assert [len(bead["blocked_by"]) for bead in done.json[-100:]] == [100] * 100


def refused(world, plan, line, what):
    (world.path / "plan.md").write_text(plan)
    done = cheap(world, "bd create -f plan.md --dry-run")
    error = done.json["error"]
    assert (done.code, error["code"]) == (1, "invalid_argument")
    assert error["message"] == f"plan.md:{line}: a plan has at most {what}, and with this line it has more"


@pytest.mark.parametrize("plan", ["# E\n" + "## a\n" * 100_000, "# E\n" + "- [ ] T1 [US1] a\n" * 100_000], ids=["plan", "tasks"])
def test_a_plan_with_too_many_beads_is_refused_with_the_line(world, plan):
    refused(world, plan, 5001, "5000 beads")


@pytest.mark.parametrize("line, needs", [
    (4, "needs: " + "a," * 300_000), (20_005, "needs:\n" + "- a\n" * 300_000), (4, "### Dependencies\n" + "a," * 300_000),
    (4, "### Dependencies\n" + "- a\n" * 300_000)
], ids=["names", "list", "section", "list of a section"])
def test_a_plan_with_too_many_dependencies_is_refused_with_the_line(world, line, needs):
    refused(world, f"## a\n\n## b\n{needs}\n", line, "20000 dependencies")
