"""Any user who may read the project's folder can hold flock() on it: that stops no command where the store exists."""
import fcntl
import os

import pytest

from conftest import git

COMMANDS = {"init": ["bd", "init"], "open": ["abacus", "open", "--print"], "stop": ["abacus", "serve", "--stop"],
            "share": ["abacus", "share", "on"],
            "memory": ["vybe", "memory", "set", "--key", "k", "--value", "v", "--request-id", "1", "--agent", "a"]}


@pytest.fixture
def held(repo, tmp_path):
    """The folder's lock, held by somebody else."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    folder = os.open(repo.path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    yield repo
    os.close(folder)
    repo.run("serve", "--stop", program="abacus")


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_lock_on_the_projects_folder_stops_no_command(held, words):
    held.run(*words[1:], program=words[0]).ok()
