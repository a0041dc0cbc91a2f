"""Lists for people that are too long for memory look like short ones."""
import resource
import shutil
import sqlite3
import subprocess

import pytest

from board import width
from conftest import BIN, Repo, environment
from test_bd_import import imported, issue, write

COUNT = 12_000
MOST = 12 << 20  # bytes of data; with a list in memory, these commands need twice as much
HEADS = ["ID", "P", "TYPE", "STATUS", "AGE", "ASSIGNEE", "TITLE"]
NOW = {"ABACUS_NOW": "2025-12-04T10:00:00Z"}


def one(i):
    """A bead; each column has cells of different widths."""
    more = {"assignee": f"agent-{i % 13}", "status": "in_progress"} if i % 1000 == 7 else {}
    if i % 10 in (1, 3, 5):  # below a bead, or below one that is below it
        parent = i - 2 if i % 10 == 3 else i - i % 10
        more["dependencies"] = [{"issue_id": f"bd-{i}", "depends_on_id": f"bd-{parent}", "type": "parent-child"}]
    return issue(f"bd-{i}", title=f"part {i} of the 索引" + " word" * (i % 7), priority=i % 5,
                 labels=["backend"] if i % 3 == 0 else [], **more)


@pytest.fixture(scope="module")
def made(tmp_path_factory, repo_with_beads):
    repo = Repo(tmp_path_factory.mktemp("long") / "proj")
    shutil.copytree(repo_with_beads, repo.path)
    imported(repo, write(repo, *map(one, range(COUNT))))
    return repo


def cells(bead, guide=""):
    labels = f"  [{', '.join(bead['labels'])}]" if bead["labels"] else ""
    return [bead["id"], f"P{bead['priority']}", bead["type"], bead["status"], "3d", bead["assignee"] or "-",
            guide + bead["title"] + labels]


def lay_out(beads):
    """The lines of a table with these rows."""
    rows = [HEADS, *beads]
    most = [max(width(row[i]) for row in rows) for i in range(len(HEADS) - 1)]
    return ["".join(cell + " " * (n + 2 - width(cell)) for cell, n in zip(row, most)) + row[-1] for row in rows]


def test_a_long_list_is_laid_out_as_a_whole(made):
    beads = made.json("list", "-n", "0")
    done = made.bd("list", "-n", "0", env={**NOW, "COLUMNS": "1000"}).ok().out.splitlines()
    assert done[:-1] == lay_out(map(cells, beads))
    assert done[-1] == f"{COUNT} beads: {COUNT - COUNT // 1000} open, {COUNT // 1000} in progress"
    ids = [bead["id"] for bead in beads]
    assert made.bd("list", "-n", "0", "--format", "ids").ok().out.split() == ids
    assert made.bd("list", "-n", "0", "--silent").ok().out.split() == ids


def below(beads, parent, guide=""):
    """The rows of a tree."""
    children = beads.get(parent, [])
    for bead in children:
        last = bead is children[-1]
        yield cells(bead, parent and guide + ("└─ " if last else "├─ ") or "")
        yield from below(beads, bead["id"], parent and guide + ("   " if last else "│  ") or "")


def test_a_long_tree_has_children_below_their_parents(made):
    beads = {}
    for bead in made.json("list", "-n", "0"):
        beads.setdefault(bead["parent"], []).append(bead)
    done = made.bd("list", "-n", "0", "--tree", env={**NOW, "COLUMNS": "1000"}).ok().out.splitlines()
    assert done[:-1] == lay_out(below(beads, None))
    assert sum("─ " in line for line in done) == COUNT // 10 * 3


def test_a_long_list_fits_the_screen(made):
    done = made.bd("list", "-n", "0", env={**NOW, "COLUMNS": "60"}).ok().out.splitlines()
    assert len(done) == COUNT + 2
    assert max(map(width, done)) == 60


def test_a_long_list_without_assignees_has_no_such_column(made):
    lines = made.bd("list", "-n", "0", "-s", "open", env={**NOW, "COLUMNS": "1000"}).ok().out.splitlines()
    assert lines[0].split() == [head for head in HEADS if head != "ASSIGNEE"]
    assert len(lines) == COUNT - COUNT // 1000 + 2


@pytest.mark.skipif("asan" in str(BIN), reason="the sanitizer reserves more")
@pytest.mark.parametrize("line", ["list -n 0", "list -n 0 --long", "list -n 0 --tree", "list -n 0 --format lines",
                                  "list -n 0 --silent", "ready -n 0", "search part -n 0", "stale -n 0 --days 1"])
def test_a_long_list_takes_little_memory(made, line):
    done = subprocess.run([str(BIN / "bd"), *line.split()], cwd=made.path, env=environment(**made.env, **NOW),
                          capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MOST, MOST)))
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") >= COUNT - COUNT // 1000


def test_an_error_in_a_long_list_follows_no_half_of_it(made, tmp_path):
    repo = Repo(tmp_path / "proj")
    shutil.copytree(made.path, repo.path)
    with sqlite3.connect(repo.path / ".git/abacus/cache.db") as db:
        last = made.bd("list", "-n", "0", "--format", "ids").ok().out.split()[-1]
        assert db.execute("UPDATE beads SET tags = '[' WHERE id = ?", (last,)).rowcount == 1
    for args in ([], ["--tree"], ["--format", "ids"]):
        done = repo.bd("list", "-n", "0", *args)
        assert (done.code, done.out) == (3, ""), done.out[-2000:] + done.err
        assert done.err.startswith("error: the stored data is damaged: the reply is not JSON\n")
