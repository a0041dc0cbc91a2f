"""Two machines, two services, two windows: acts on one machine are on both pages."""
import pytest

from browser import Browser, available
from conftest import git
from machines import machine, settle
from remotes import bare
from test_page import Page

pytestmark = pytest.mark.skipif(not available(), reason="chromium and chromedriver are not at hand")


@pytest.fixture
def pages(tmp_path):
    remote = bare(tmp_path / "hub.git")
    pages = []
    for name, agent in (("laptop", "amber-otter"), ("office", "bold-fox")):
        repo = machine(tmp_path / name, remote, name, beads=True)
        git(repo.path, "commit", "-q", "--allow-empty", "-m", "first")
        pages.append(Page(repo, Browser()))
        pages[-1].agent("register", "--name", agent, "--role", "ui")
    settle(*(p.repo for p in pages))
    yield pages
    for page in pages:
        page.stop()
        page.browser.close()


def test_a_protocol_event_is_on_both_pages(pages):
    """Both pages are open; the other machine's page is updated when the event arrives, without a reload."""
    here, there = pages
    bug = here.repo.create("Parser fails on empty input", "-t", "bug")
    for page in pages:
        page.run("sync")
        page.enter()
        page.go(f"#/sessions?task={bug}")
        page.sees("main", "Parser fails on empty input")
    here.agent("register", "--name", "silver-heron", "--role", "docs")
    here.agent("reserve", "--agent", "amber-otter", "--scope", "src/parser/*", "--bead", bug)
    here.agent("reserve", "--agent", "silver-heron", "--scope", "src/parser/lexer.c", "--bead", bug)
    here.agent("send", "--from", "amber-otter", "--to", "bold-fox", "--bead", bug, "--category", "HANDOFF",
               "--subject", "The lexer is done", "--body", "One end token for empty input.")
    here.soon(".item.protocol.incursion", "src/parser/lexer.c")
    here.soon(".item.handoff .label", "Passed to bold-fox")
    here.run("sync")
    there.run("sync")
    there.soon(".item.protocol.incursion .label", "Incursion")
    there.soon(".item.protocol.incursion", "src/parser/lexer.c")
    there.soon(".item.handoff .label", "Passed to bold-fox")
