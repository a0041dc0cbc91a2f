"""Every command block in README.md and the guides runs as it is printed."""
import os
import pathlib
import re
import subprocess

import pytest

from conftest import BIN, ROOT, environment, git

PAGES = ["README.md", "doc/concepts.md", "doc/cookbook.md", "doc/faq.md", "doc/machines.md", "doc/moving.md", "doc/troubleshooting.md", "doc/upgrade.md",
         "doc/upstream.md"]


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


@pytest.fixture
def shell(tmp_path):
    """Runs a script in a repository with a commit and a remote, as a user with a home of their own."""
    path, remote, home = tmp_path / "project", tmp_path / "remote.git", tmp_path / "home"
    for folder in (path, home):
        folder.mkdir()
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(path, "init", "-q", "-b", "main")
    git(path, "remote", "add", "origin", str(remote))
    (path / "src").mkdir()
    (path / "src" / "parse.c").write_text("int parse(void);\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "begin")

    def run(script):
        return subprocess.run(["bash", "-e", "-c", script], cwd=path, capture_output=True, text=True, timeout=120,
                              env=environment(HOME=home, PATH=f"{BIN}:{os.environ['PATH']}", GIT_AUTHOR_NAME="me",
                                              GIT_AUTHOR_EMAIL="me@example.org", GIT_COMMITTER_NAME="me",
                                              GIT_COMMITTER_EMAIL="me@example.org"))

    run.path = path
    return run


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_every_block_of_a_page_runs_in_order(shell, page):
    done = shell("\n".join(["abacus init >/dev/null", *blocks(page)]))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_no_page_shows_commands_that_no_test_runs():
    """An indented block is output, or one of these, which a test cannot run."""
    free = {"./quickstart", "git pull && ./quickstart --no-tour"}
    for page in PAGES:
        text = re.sub(r"^```sh\n.*?^```", "", (ROOT / page).read_text(), flags=re.S | re.M)
        for line in re.findall(r"^    (\S.*)$", text, re.M):
            assert line in free, f"{page}: {line}"


def test_every_guide_is_linked_from_the_readme():
    text = (ROOT / "README.md").read_text()
    for page in sorted(pathlib.Path(ROOT / "doc").glob("*.md")):
        assert f"doc/{page.name}" in text, page.name
