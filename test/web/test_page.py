"""The page, in a real browser, on a real project. Seed 001 §6.3 and §9 are among the tests."""
import json
import os
import pathlib
import time

import pytest

from browser import Browser, available
from conftest import BUILD, Repo, git

pytestmark = pytest.mark.skipif(not available(), reason="chromium and chromedriver are not at hand")
SHOTS = pathlib.Path(os.environ.get("ABACUS_SHOTS", BUILD / "shots"))
SOON = 1.0  # a change made anywhere is on the page within a second
ENTER, ESCAPE = "\ue007", "\ue00c"


@pytest.fixture(scope="module")
def window():
    browser = Browser()
    yield browser
    browser.close()


class Page:
    def __init__(self, repo, browser):
        self.repo, self.browser = repo, browser

    def run(self, *args, **kw):
        return self.repo.run(*args, **kw).ok()

    def bb(self, *args, **kw):
        return self.run(*args, program="bb", **kw)

    def agent(self, *args, **kw):
        return self.bb("agent", *args, "--json", **kw).json["data"]

    def enter(self, view="#/sessions"):
        self.browser.open(self.run("open", "--print", program="abacus").out.strip())
        self.browser.wait_text("#state", "Live")
        self.origin = self.browser.run("return location.origin")
        self.browser.until(lambda: self.browser.run("return window.abacus?.store.loaded"))
        self.browser.run("window.untouched = true")
        self.go(view)

    def go(self, address):
        self.browser.run("location.hash = arguments[0]", address)

    def sees(self, selector, text, seconds=5):
        self.browser.wait_text(selector, text, seconds)

    def soon(self, selector, text):
        """Within a second, and without a reload."""
        self.browser.wait_text(selector, text, SOON)
        assert self.browser.run("return window.untouched"), "the page was loaded again"

    def stop(self):
        complaints = [e["message"] for e in self.browser.log()]
        self.browser.open("about:blank")
        self.repo.run("serve", "--stop", program="abacus")
        assert not [m for m in complaints if "ERR_" not in m], complaints


@pytest.fixture
def page(repo, window):
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "first")
    page = Page(repo, window)
    for name, role in (("amber-otter", "backend"), ("cobalt-harbor", "ui")):
        page.agent("register", "--name", name, "--role", role)
    yield page
    page.stop()


def ago(minutes):
    return str(int((time.time() - 60 * minutes) * 1000))


@pytest.fixture
def story(page):
    """An epic with two tasks, and all four kinds of events about one of them."""
    epic = page.repo.create("Release 1.2", "-t", "epic", "-p", "1")
    bug = page.repo.create("Parser fails on empty input", "-t", "bug", "-p", "0", "--parent", epic, "-d", "The lexer stumbles")
    notes = page.repo.create("Write the release notes", "--parent", epic, "--deps", f"blocks:{bug}")
    page.run("claim", bug, env={"BD_ACTOR": "amber-otter"})
    page.agent("reserve", "--agent", "amber-otter", "--scope", "src/parser/*", "--bead", bug)
    page.agent("reserve", "--agent", "cobalt-harbor", "--scope", "src/parser/lexer.c", "--bead", bug)
    page.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", bug, "--category", "HANDOFF",
               "--subject", "The lexer is done", "--body", "One end token for empty input.", "--next-action", "Do the parser")
    page.agent("send", "--from", "cobalt-harbor", "--to", "amber-otter", "--bead", bug, "--category", "BLOCKED",
               "--subject", "Which error code?", "--body", "Is an empty file an error?", "--next-action", "Decide", "--urgency", "high")
    (page.repo.path / "src/parser").mkdir(parents=True)
    (page.repo.path / "src/parser/p.c").write_text("x")
    page.repo.run("--adopt", "amber-otter", "--bead", bug, "--non-interactive", "--json", program="bb-init").ok()
    page.agent("register", "--name", "silver-heron", "--role", "docs", env={"ABACUS_NOW": ago(40)})
    page.agent("reserve", "--agent", "silver-heron", "--scope", "docs/*", "--bead", notes, env={"ABACUS_NOW": ago(40)})
    page.epic, page.bug, page.notes = epic, bug, notes
    return page


# --- seed 001 §6.3, §9 ---

def test_the_four_kinds_of_events_are_rows_with_the_words_of_the_protocol(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".item.handoff .label", "Passed to cobalt-harbor")
    story.sees(".item.blocked .label", "Needs input")
    story.sees(".item.protocol.incursion .label", "Incursion")
    story.sees(".item.protocol.incursion", "src/parser/lexer.c")
    story.sees(".item.protocol.resume .label", "Resumed")
    story.sees(".item.protocol.resume", "uncommitted scope")
    labels = story.browser.run("return [...document.querySelectorAll('.item button.do')].map(b => b.textContent)")
    assert "Seen" in labels and "Accepted" in labels


def test_incursions_and_stale_reservations_are_visible(story):
    story.enter()
    story.sees(".attention .incursion", "cobalt-harbor reserved src/parser/lexer.c, which overlaps amber-otter's reservation")
    story.sees(".attention .stale", "docs/*, reserved by silver-heron")
    story.sees(".agent", "evicted")
    story.sees(".agent", "active")


def test_empty_lists_and_errors_have_texts(story):
    story.enter()
    story.go("#/sessions?q=no-such-words")
    story.sees(".summary", "No matching beads.")
    story.go(f"#/sessions?task={story.bug}")
    story.browser.click(".composer input[value=mail]")
    story.browser.run("window.prompt = () => 'Ada Lovelace'; const s = document.querySelector('.message select'); s.value = '+'; s.dispatchEvent(new Event('change'))")
    story.sees("#toast", "is not a valid agent id. Use 3 to 48")
    story.browser.log()  # the browser itself complains of every 400


def test_cards_show_owner_state_last_act_and_waiting_mail(story):
    story.enter()
    story.sees(".epic h2", "Release 1.2")
    card = f".card:has(a[href*='{story.bug}'])"
    for words in ("Parser fails on empty input", "In progress", "P0", "amber-otter", "active", "2 unread", "2 unacked"):
        story.sees(card, words)
    story.sees(f".card:has(a[href*='{story.notes}'])", "blocked by 1")


def test_past_acts_are_never_shown_in_the_future(story):
    """Even with a clock that is two days off; ends may be in the future."""
    story.agent("register", "--name", "teal-finch", "--role", "tests", env={"ABACUS_NOW": ago(-2880)})
    story.enter()
    story.sees(".agent", "teal-finch")
    assert "in 1 d" not in story.browser.text(".side") and "in 2 d" not in story.browser.text(".side")
    story.go("#/files")
    story.sees(".tree", "in 1 h")


def test_seen_and_accepted_act_for_the_recipient(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.browser.click(".item.handoff button.read")
    story.sees(".item.handoff .recipients", "Seen by cobalt-harbor")
    [mail] = story.agent("inbox", "--agent", "cobalt-harbor")
    assert mail["state"] == "read"
    story.browser.click(".item.handoff button.ack")
    story.sees(".item.handoff .recipients", "Accepted by cobalt-harbor")
    [mail] = story.agent("inbox", "--agent", "cobalt-harbor")
    assert mail["state"] == "acked"
    story.soon(f".card:has(a[href*='{story.bug}'])", "1 unacked")


def test_the_chosen_recipient_stays_chosen(story):
    chosen = "return [...document.querySelectorAll('.message select')].slice(0, 2).map(s => s.value)"
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.browser.click(".composer input[value=mail]")
    assert story.browser.run(chosen) == ["", "amber-otter"]  # the person writes to the bead's owner
    story.browser.run("document.querySelector('.message select[aria-label=\"To\"]').value = 'broadcast'")
    story.agent("register", "--name", "teal-finch", "--role", "tests")
    story.soon(".message select option", "teal-finch")
    assert story.browser.run(chosen) == ["", "broadcast"]


def test_a_reply_is_sent_as_the_person_unless_an_agent_is_chosen(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.browser.find(".item.handoff button.reply")
    chosen = "return [...document.querySelectorAll('.message select')].slice(0, 2).map(s => s.value)"
    story.browser.click(".item.handoff button.reply")
    assert story.browser.run(chosen) == ["", "amber-otter"]
    story.browser.run("document.querySelector('.message select').value = 'cobalt-harbor'")
    story.browser.type(".composer textarea", "For the harbor")
    story.browser.click(".composer button[type=submit]")
    story.soon(".item.mail", "For the harbor")
    assert any(m["body"] == "For the harbor" and m["from_agent"] == "cobalt-harbor" for m in story.agent("inbox", "--agent", "amber-otter"))


# --- it keeps itself true ---

def test_changes_of_others_appear_within_a_second(page):
    page.repo.create("There from the start")
    page.enter()
    page.sees(".card", "There from the start")
    new = page.repo.create("Made on a command line")
    page.soon(".card", "Made on a command line")
    page.run("claim", new, env={"BD_ACTOR": "amber-otter"})
    page.soon(f".card:has(a[href*='{new}'])", "In progress")
    page.run("update", new, "--title", "Renamed")
    page.soon(f".card:has(a[href*='{new}'])", "Renamed")
    page.agent("register", "--name", "teal-finch", "--role", "tests")
    page.soon(".agent", "teal-finch")
    page.agent("send", "--from", "amber-otter", "--to", "teal-finch", "--bead", new, "--category", "INFO", "--subject", "hello", "--body", "there")
    page.soon(f".card:has(a[href*='{new}'])", "1 unread")
    page.run("delete", new, "--force")
    page.browser.until(lambda: "Renamed" not in page.browser.text(".feed"), SOON)


def test_the_same_from_another_worktree_and_from_a_sync(page, tmp_path):
    page.enter()
    git(page.repo.path, "worktree", "add", "-q", str(tmp_path / "tree"))
    page.run("create", "From a worktree", cwd=tmp_path / "tree")
    page.soon(".card", "From a worktree")
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(page.repo.path, "remote", "add", "origin", str(tmp_path / "hub.git"))
    page.run("sync")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), "other")
    other = Repo(tmp_path / "other")
    other.run("init").ok()
    other.create("From another machine")
    other.run("sync").ok()
    page.run("sync")
    page.soon(".card", "From another machine")


def test_an_open_thread_is_updated_and_typing_is_not_disturbed(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".about h2", "Parser fails")
    story.browser.type(".composer textarea", "half a thou")
    for i in range(5):
        story.run("comment", story.bug, f"note {i}")
        story.soon(".thread", f"note {i}")
    assert story.browser.run("return document.activeElement.tagName") == "TEXTAREA"
    assert story.browser.run("return document.querySelector('.composer textarea').value") == "half a thou"
    story.browser.type(".composer textarea", "ght")
    story.browser.click(".composer button[type=submit]")
    story.soon(".item.note", "half a thought")
    assert story.repo.show(story.bug)["comments"][-1]["text"] == "half a thought"


def test_a_draft_is_kept_when_the_person_comes_back(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.browser.type(".composer textarea", "half a thought")
    story.browser.press(ESCAPE)
    story.go(f"#/sessions?task={story.notes}")
    story.sees(".about h2", "release notes")
    assert story.browser.run("return document.querySelector('.composer textarea').value") == ""
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".about h2", "Parser fails")
    assert story.browser.run("return document.querySelector('.composer textarea').value") == "half a thought"


def test_a_missing_task_is_reported(story):
    """Unknown, or deleted while it is shown; it cannot be written to."""
    hidden = "return document.querySelector('.composer').hidden"
    story.enter()
    story.go("#/sessions?task=no-such")
    story.sees(".about", "there is no bead 'no-such'")
    assert story.browser.run(hidden)
    story.go(f"#/sessions?task={story.notes}")
    story.sees(".about h2", "release notes")
    assert not story.browser.run(hidden)
    story.run("delete", story.notes, "--force")
    story.soon(".about", "was deleted by")
    assert story.browser.run(hidden)
    story.run("undelete", story.notes)
    story.soon(".about h2", "release notes")
    assert not story.browser.run(hidden)
    story.browser.log()  # the browser itself complains of every 404


def test_a_sent_message_scrolls_into_view(story):
    for i in range(30):
        story.run("comment", story.bug, f"note {i}")
    visible = """
        const last = [...document.querySelectorAll('.item')].at(-1), room = document.querySelector('#drawer > .scroll').getBoundingClientRect();
        return last.textContent.includes(arguments[0]) && last.getBoundingClientRect().bottom <= room.bottom + 1"""
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".about h2", "Parser fails")
    story.run("comment", story.bug, "from elsewhere")
    story.browser.until(lambda: "from elsewhere" in story.browser.run("return document.querySelector('.thread').textContent"))
    assert not story.browser.run(visible, "from elsewhere")  # who reads is not moved
    story.browser.type(".composer textarea", "from here")
    story.browser.click(".composer button[type=submit]")
    story.browser.until(lambda: story.browser.run(visible, "from here"), 2)


def test_a_reply_is_mail(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.browser.click(".item.blocked button.reply")
    assert story.browser.run("return document.querySelector('.message select[aria-label=\"To\"]').value") == "cobalt-harbor"
    story.browser.type(".composer textarea", "No error at all")
    story.browser.click(".composer button[type=submit]")
    story.soon(".item.mail", "No error at all")
    [mail] = [m for m in story.agent("inbox", "--agent", "cobalt-harbor") if m["body"] == "No error at all"]
    people = [a["agent_id"] for a in story.agent("list") if a["role"] == "person"]
    assert [mail["from_agent"]] == people, "the person was registered, and is the sender"


def test_a_person_makes_closes_and_reopens(story):
    story.enter()
    story.browser.click("#create")
    story.browser.type("dialog input", "Made on the page")
    story.browser.type("dialog textarea", "with words")
    story.browser.run("document.querySelector('dialog select:last-of-type')")
    story.browser.run("const s = [...document.querySelectorAll('dialog select')].at(-1); s.value = arguments[0]", story.epic)
    story.browser.click("dialog button[type=submit]")
    story.soon(".about h2", "Made on the page")
    [made] = [b for b in story.repo.json("list") if b["title"] == "Made on the page"]
    assert (made["description"], made["parent"], made["priority"]) == ("with words", story.epic, 2)
    story.browser.type(".composer textarea", "not needed")
    story.browser.click("button.close")
    story.soon(".about .facts", "Closed")
    assert story.repo.show(made["id"])["close_reason"] == "not needed"
    story.browser.click("button.reopen")
    story.soon(".about .facts", "Open")
    assert story.repo.show(made["id"])["status"] == "open"


def test_a_person_is_asked_before_the_claim_of_an_agent_is_ended(story):
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".about h2", "Parser fails")
    story.browser.run("window.asked = []; window.confirm = (words) => { window.asked.push(words); return window.asked.length > 1; }")
    story.browser.click("button.close")
    story.browser.until(lambda: story.browser.run("return window.asked.length") == 1)
    assert story.repo.show(story.bug)["assignee"] == "amber-otter"
    story.browser.until(lambda: not story.browser.run("return document.querySelector('button.close').disabled"))
    story.browser.click("button.close")
    story.soon(".about .facts", "Closed")
    assert "amber-otter" in story.browser.run("return window.asked[1]")
    assert story.repo.show(story.bug)["status"] == "closed"
    refused = story.browser.log()  # the browser notes both refusals
    assert len(refused) == 2 and all("409" in e["message"] for e in refused), refused


def given_to_a_browser(page, tmp_path):
    """The file that 'abacus open' gives to a browser."""
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" >{tmp_path}/new && mv {tmp_path}/new {tmp_path}/given\n')
    script.chmod(0o755)
    page.run("open", program="abacus", env={"BROWSER": script})
    return pathlib.Path(page.browser.until(lambda: (tmp_path / "given").read_text()))


def test_the_command_opens_the_page_through_a_file(page, tmp_path):
    """The address, with its code, is in no argument and in no history."""
    given = given_to_a_browser(page, tmp_path)
    page.browser.open(given.as_uri())
    page.browser.wait_text("#state", "Live")
    assert not given.exists()
    assert page.browser.run("return [location.pathname, location.search, document.referrer]") == ["/", "", ""]
    page.browser.ask("POST", "/back", {})
    assert "code=" not in page.browser.run("return location.href")


def test_a_browser_that_cannot_resolve_the_name_gets_a_number(page, tmp_path):
    """Safari does not resolve names below .localhost to this machine."""
    cdp = lambda command, **params: page.browser.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": params})
    script = cdp("Page.addScriptToEvaluateOnNewDocument",
                 source="Object.defineProperty(Navigator.prototype, 'vendor', { get: () => 'Apple Computer, Inc.' })")
    try:
        page.browser.open(given_to_a_browser(page, tmp_path).as_uri())
        page.browser.wait_text("#state", "Live")
        assert page.browser.run("return location.hostname") == "127.0.0.1"
    finally:
        cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


def kill(page):
    """Ends the service as a crash would."""
    os.kill(json.loads((page.repo.home / "serve/address.json").read_text())["pid"], 9)
    Browser.until(lambda: "No service is running" in page.repo.run("serve", "--stop", program="abacus").out)


def test_after_the_service_has_ended_the_page_asks_to_be_opened_again(page):
    page.enter()
    before = page.origin
    kill(page)
    page.sees("#state", "Connection lost")
    page.sees("#state", "If the service has stopped, run 'abacus open' to open the page again")
    page.repo.create("While nobody served")
    page.enter()
    assert page.origin != before, "another user's server may have run scripts in the old origin"
    page.soon(".card", "While nobody served")


def test_the_stream_reconnects_automatically(page):
    """A connection was lost while the service kept running."""
    page.enter()
    page.browser.run("window.asking = fetch; window.fetch = () => { window.asked = true; return Promise.reject(new TypeError()); }")
    page.repo.create("Told of, and not read")
    page.browser.until(lambda: page.browser.run("return window.asked"))
    page.browser.run("dispatchEvent(new PageTransitionEvent('pagehide')); dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    page.sees("#state", "Connection lost")
    page.browser.run("window.fetch = window.asking")
    page.sees("#state", "Live", 8)
    page.soon(".card", "Told of, and not read")


def test_a_draft_is_kept_after_the_service_has_ended(story):
    """And the page says why it was not sent."""
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".about h2", "Parser fails")
    story.browser.type(".composer textarea", "not ")
    kill(story)
    story.sees("#state", "Connection lost")
    story.browser.type(".composer textarea", "lost")
    story.browser.click(".composer button[type=submit]")
    story.sees("#toast", "The service does not answer. If the service has stopped, run 'abacus open' to open the page again.")
    story.go(f"#/sessions?task={story.notes}")
    story.sees(".about", "The service does not answer.")
    story.go(f"#/sessions?task={story.bug}")
    assert story.browser.run("return document.querySelector('.composer textarea').value") == "not lost"


# --- work ---

def test_mail_that_arrives_when_everything_is_read_is_counted(page):
    bead = page.repo.create("the one")
    page.enter()
    # the first answer is held back until the mail was told of
    page.browser.run("const real = fetch;"
                     "window.fetch = (...args) => real(...args).then(r => args[0].includes('mail=true') && !window.letGo ?"
                     " new Promise(done => { window.letGo = () => done(r); }) : r);"
                     "import('/store.js').then(m => m.again())")
    page.browser.until(lambda: page.browser.run("return Boolean(window.letGo)"))
    before = page.browser.run("return window.abacus.store.version")
    page.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", bead, "--category", "INFO", "--subject", "s", "--body", "b")
    page.browser.until(lambda: page.browser.run("return window.abacus.store.version") > before)
    page.browser.run("window.letGo()")
    page.sees(".card", "1 unread")


def test_simultaneous_acts_are_in_the_thread_once(story):
    made = {"task_id": story.bug, "event": {"kind": "progress", "message": "m"}, "artifacts": [{"file_path": f} for f in ("a.c", "b.c")]}
    story.run("push", "--agent", "amber-otter", "--request-id", "r1", "--json", json.dumps(made), program="vybe")
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".item.artifact", "b.c")
    for note in ("one", "two"):
        story.run("comment", story.bug, note)
        story.soon(".item.note", note)
    assert story.browser.run("return [...document.querySelectorAll('.item.artifact code')].map(c => c.textContent)") == ["a.c", "b.c"]


def test_the_focus_stays_where_it_is(story):
    story.enter()
    story.sees(".card", "Parser fails")
    story.browser.run("document.querySelector('.card [data-card]').focus()")
    story.run("update", story.bug, "--title", "Parser fails still")
    story.soon(".card", "Parser fails still")
    assert story.browser.run("return document.activeElement.textContent") == "Parser fails still"
    story.go("#/work/board")
    story.sees(".tabs", "Graph")
    story.browser.run("document.querySelectorAll('.tabs a')[3].focus()")
    story.run("update", story.bug, "--title", "Parser fails no more")
    story.soon(".card", "Parser fails no more")
    assert story.browser.run("return document.activeElement.textContent") == "Graph"


def test_mail_that_arrives_with_its_bead_is_counted(page):
    page.enter()
    blocker = page.repo.create("first")
    bead = page.repo.create("second", "--deps", f"blocks:{blocker}")
    page.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", bead, "--category", "DECISION", "--subject", "s", "--body", "b")
    page.sees(".card", "1 unread")
    page.run("close", blocker)  # and the last act stays what it was
    page.browser.until(lambda: page.browser.run("return abacus.store.tasks.get(arguments[0]).blockers === 0", bead))
    page.sees(".card", "amber-otter decided")
    page.sees(".card", "1 unread")


def test_the_board_the_queue_and_filters_in_the_address(story):
    story.enter()
    story.go("#/work")
    story.sees("[aria-label=Blocked]", "Write the release notes")
    story.sees("[aria-label='In progress']", "Parser fails on empty input")
    story.go("#/work?q=release")
    story.browser.until(lambda: "Parser" not in story.browser.text(".columns"))
    story.go("#/work?q=stumbles")  # only in its description: the store finds it
    story.sees(".columns", "Parser fails on empty input")
    story.go("#/work?type=bug")
    story.browser.until(lambda: "release notes" not in story.browser.text(".columns"))
    assert story.browser.run("return document.querySelector('select[data-key=type]').value") == "bug"
    story.go("#/work/ready")
    story.browser.until(lambda: "Write the release notes" not in story.browser.text(".columns"))
    story.run("close", story.bug, "--force")
    story.soon(".columns", "Write the release notes")


def test_the_queue_is_that_of_the_command_line(story):
    """The beads that would be handed out, in the same order, with expired claims and without containers."""
    left = story.repo.create("Left behind", "-p", "0")
    story.run("claim", left, env={"BD_ACTOR": "silver-heron", "ABACUS_NOW": ago(180)})
    story.enter()
    story.go("#/work/ready")
    story.sees(".column", "Left behind")
    shown = story.browser.run("return [...document.querySelectorAll('.column .card code')].map(e => e.textContent)")
    assert shown == [b["id"] for b in story.run("ready", "--json").json if not b.get("container")]
    assert left in shown and story.epic not in shown
    story.run("close", story.bug, story.notes, "--force")
    story.soon(".column", "Release 1.2")


def test_dependencies_are_drawn(story):
    story.enter()
    story.go("#/work/graph")
    story.sees("svg .node", "Parser fails")
    assert story.browser.run("return document.querySelectorAll('svg .node').length") == 2
    assert story.browser.run("return document.querySelectorAll('svg .edges path').length") == 1
    left = story.browser.run("return [...document.querySelectorAll('svg .node')].map(n => [n.dataset.title, n.getBoundingClientRect().left])")
    at = dict(left)
    assert at["Parser fails on empty input"] < at["Write the release notes"]
    other = story.repo.create("One more")
    story.run("dep", "add", other, story.notes)
    story.browser.until(lambda: story.browser.run("return document.querySelectorAll('svg .node').length") == 3, SOON)


def test_the_past_has_a_slider(story):
    story.run("sync", "--no-push")
    story.run("close", story.bug, "--force")
    story.run("sync", "--no-push")
    story.enter()
    story.go("#/work/history")
    story.sees(".past .when", "2 of 2")
    story.sees(".past [aria-label=Closed]", "Parser fails")
    story.sees(".changes", "closed")
    story.browser.run("const s = document.querySelector('.past input'); s.value = 0; s.dispatchEvent(new Event('input'))")
    story.sees(".past .when", "1 of 2")
    story.browser.until(lambda: "Parser fails" in story.browser.text(".past [aria-label='In progress']"))
    assert "at=" in story.browser.run("return location.hash")


def test_files_show_the_owner_and_end_of_each_reservation(story):
    story.enter()
    story.go("#/files")
    story.sees(".tree", "src/parser")
    story.sees(".tree", "lexer.c")
    story.sees(".tree .hold.stale", "silver-heron")
    story.sees(".tree time", "in 1 h")
    story.agent("release", "--agent", "cobalt-harbor", "--scope", "src/parser/lexer.c")
    story.browser.until(lambda: "lexer.c" not in story.browser.text(".tree"), SOON)


# --- for everybody ---

def test_text_is_only_ever_text(page):
    evil = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
    bead = page.repo.create(evil, "-d", evil)
    page.run("comment", bead, evil)
    page.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", bead, "--category", "BLOCKED",
               "--subject", evil, "--body", evil)
    page.agent("reserve", "--agent", "amber-otter", "--scope", "src/<b>x", "--bead", bead)
    page.enter()
    page.sees(".card", "<script>")
    page.go(f"#/sessions?task={bead}")
    page.sees(".item.note", "<img src=x")
    page.go("#/files")
    page.sees(".tree", "<b>x")
    assert page.browser.run("return window.pwned ?? null") is None
    assert page.browser.run("return document.querySelectorAll('main img, aside img, main script').length") == 0


def test_the_keyboard_is_enough(story):
    story.enter()
    browser = story.browser
    browser.run("document.activeElement.blur()")
    browser.press("4")
    story.sees(".tabs", "Board")
    browser.press("/")
    assert browser.run("return document.activeElement.type") == "search"
    browser.run("document.activeElement.blur()")
    browser.press("2")
    story.sees(".card", "Parser")
    browser.press("j")
    browser.press("j")
    browser.press(ENTER)
    story.sees(".about h2", "")
    browser.until(lambda: browser.run("return !document.querySelector('#drawer').hidden"))
    browser.press(ESCAPE)
    browser.until(lambda: browser.run("return document.querySelector('#drawer').hidden"))


def test_skipping_to_the_content_stays_on_the_view(story):
    story.enter()
    story.go("#/work/graph?type=bug")
    story.sees(".tabs", "Board")
    story.browser.run("document.querySelector('.skip').click()")
    assert story.browser.run("return [location.hash, document.activeElement.id]") == ["#/work/graph?type=bug", "main"]


def test_everything_has_a_name_for_a_screen_reader(story):
    story.enter()
    nameless = """
        const name = e => (e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent || '').trim();
        return [...document.querySelectorAll('a, button, input, select, textarea, [role=feed], [role=tree], progress, section, nav')]
            .filter(e => e.offsetParent && !(name(e) || e.closest('[aria-label]') !== e && e.getAttribute('role') === 'feed'))
            .map(e => e.outerHTML.slice(0, 120))"""
    for where, sign in (("#/sessions", ".card"), (f"#/sessions?task={story.bug}", ".item"), ("#/work", ".column .card"),
                        ("#/work/graph", ".node"), ("#/work/history", ".past"), ("#/files", ".tree .file-row")):
        story.go(where)
        story.browser.find(sign)
        assert story.browser.run(nameless) == [], where
    assert story.browser.run("return [document.documentElement.lang, document.querySelectorAll('main').length, document.querySelectorAll('h1').length]") == ["en", 1, 1]


@pytest.mark.parametrize("width,height", [(390, 844), (768, 1024), (1440, 900)])
def test_the_page_fits_every_screen(story, width, height):
    """Nothing overflows at any of these sizes; a screenshot of each is taken for review."""
    story.enter()
    SHOTS.mkdir(parents=True, exist_ok=True)
    try:
        story.browser.size(width, height)
        for name, where, sign in (("sessions", "#/sessions", ".card"), ("thread", f"#/sessions?task={story.bug}", ".item.resume"),
                                  ("work", "#/work", ".card"), ("files", "#/files", ".tree .file-row")):
            story.go(where)
            story.browser.find(sign)
            wide = story.browser.run("return [document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1], (name, wide)
            story.browser.until(lambda: story.browser.run("return document.querySelector(arguments[0])?.offsetParent != null", sign))
            story.browser.shot(SHOTS / f"page-{name}-{width}.png")
    finally:
        story.browser.size(1440, 900)


@pytest.mark.parametrize("width,height", [(390, 844), (768, 1024), (1440, 900)])
def test_filters_and_counts_are_never_cut_off(story, width, height):
    """Filters and the counts on cards and agents are inside of their boxes, even with a long label."""
    story.run("label", "add", story.notes, "a-label-" + "that-goes-on-" * 8)
    story.run("update", story.notes, "--priority", "0")
    for to in ("cobalt-harbor", "amber-otter"):
        story.agent("send", "--from", "silver-heron", "--to", to, "--bead", story.notes, "--category", "HANDOFF", "--subject", "a", "--body", "b")
    cut = """
        const out = (e, from) => ['right', 'bottom'].some(edge => e.getBoundingClientRect()[edge] > from.getBoundingClientRect()[edge] + 1);
        return [...document.querySelectorAll('.bar > *, .count.unread, .count.unacked')].filter(e => e.offsetParent)
            .filter(e => out(e, e.closest('p') ?? e.closest('main'))).map(e => e.outerHTML.slice(0, 90))"""
    story.enter()
    try:
        story.browser.size(width, height)
        for where in ("#/sessions", "#/work", "#/work/ready", "#/work/graph"):
            story.go(where)
            story.browser.until(lambda: story.browser.run("return document.querySelector('.bar > *')?.offsetParent != null"))
            story.browser.until(lambda: story.browser.run(cut) == [], 2)
    finally:
        story.browser.size(1440, 900)


def test_right_to_left_text_is_shown_correctly(story):
    epic = story.repo.create("שלום", "-t", "epic")
    task = story.repo.create("תקן את parser.c (דחוף!)", "--parent", epic)
    story.run("comment", task, "מימין לשמאל")
    story.enter()
    story.go(f"#/sessions?task={task}")
    story.sees(".item.note .text", "מימין")
    ways = "return arguments[0].map(s => getComputedStyle(document.querySelector(s)).direction)"
    assert story.browser.run(ways, [f".card a[href*='{task}']", f".epic h2:has(a[href*='{epic}'])", ".about h2", ".item.note .text"]) == ["rtl"] * 4
    assert story.browser.run(ways, [f".card a[href*='{story.bug}']"]) == ["ltr"]


def test_dark_and_light(story):
    story.enter()
    ground = "return getComputedStyle(document.body).backgroundColor"
    story.browser.scheme("light")
    light = story.browser.run(ground)
    story.browser.scheme("dark")
    assert story.browser.run(ground) != light
    story.browser.shot(SHOTS / "page-sessions-dark.png")
    story.browser.scheme("light")
