"""The views of the page, in a browser, on a busy project: by mouse and by keyboard."""
import json
import pathlib
import re

import pytest

from browser import Browser, available
from conftest import Repo
from demo import Demo
from test_page import ENTER, ESCAPE, Page

pytestmark = pytest.mark.skipif(not available(), reason="chromium and chromedriver are not at hand")
CONTROL = "\ue009"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """One project and one window for all tests of this file; each test uses its own beads."""
    demo = Demo(tmp_path_factory.mktemp("demo") / "shop").make()
    page = Page(Repo(demo.path), Browser())
    page.demo = demo
    page.enter("#/now")
    yield page
    complaints = [e["message"] for e in page.browser.log()]
    page.repo.run("serve", "--stop", program="abacus")
    page.browser.close()
    assert not [m for m in complaints if "status of 4" not in m and "ERR_" not in m], complaints


@pytest.fixture
def page(shop):
    shop.browser.run("document.querySelector('dialog')?.close()")
    shop.go("#/now")
    shop.browser.until(lambda: shop.browser.run("return document.querySelector('#drawer').hidden && !document.querySelector('dialog')"))
    shop.browser.run("document.activeElement.blur(); document.querySelector('#toast').hidden = true")
    return shop


def fresh(page, title="A bead to change", **more):
    return page.demo.at(0, ("bead create", {"title": title, "agent": "ada", **more}))[0]["id"]


def open_bead(page, bead):
    page.go(f"#/now?task={bead}")
    page.sees(".crumbs code", bead)


def chord(browser, modifier, key):
    browser.ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": [
        {"type": "keyDown", "value": modifier}, {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}, {"type": "keyUp", "value": modifier}]}]})


def keys(browser, text):
    """Types into the focused element."""
    browser.ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": [
        step for ch in text for step in ({"type": "keyDown", "value": ch}, {"type": "keyUp", "value": ch})]}]})


def choose_with_keys(browser, text, chosen):
    """A browser forgets the beginning of a typed word after a second: on a busy machine it has to be typed again."""
    for _ in range(9):
        keys(browser, text)
        try:
            return browser.until(chosen, 2)
        except AssertionError:
            pass
    keys(browser, text)
    return browser.until(chosen)


# --- now ---

def test_now_shows_the_work_of_every_agent(page):
    row = ".agent-row:has(a[data-card='agent:teal-finch'])"
    page.sees(row, "Migrate the session table")
    page.sees(row, "…/release/main.c")
    page.sees(row, "waits for a newer copy of staging")
    page.sees(".progress .rows", "ends in")
    page.sees(".ready .rows", "P0")
    page.sees(".rail .act", "Staging is down until noon")  # a post without a bead
    page.sees(".rail .act", "commented on")


def test_entries_that_need_attention_have_a_remedy(page):
    page.sees(".alert.input", "teal-finch needs input from indigo-lynx")
    expired = page.demo.todo[7]
    page.sees(".alert.holder", f"on {expired} has expired")
    page.browser.run("const a = [...document.querySelectorAll('.alert.holder')].find(e => e.textContent.includes(arguments[0]));"
                     "a.querySelector('button.primary').click()", expired)
    page.browser.until(lambda: page.repo.show(expired)["status"] == "open")
    page.browser.until(lambda: expired not in page.browser.text(".attention-sheet"))
    assert page.repo.show(expired)["assignee"] is None


def test_a_message_is_accepted_where_it_is_shown(page):
    """In the attention list and in the panel of the recipient; both act for the recipient, as in the thread."""
    send = lambda subject: page.demo.at(0, ("agent send", {"from": "jade-falcon", "to": "coral-kite", "bead": page.demo.todo[2], "category": "HANDOFF", "subject": subject, "body": "b", "next_action": "n"}))
    state = lambda subject: next(m["state"] for m in page.agent("inbox", "--agent", "coral-kite") if m["subject"] == subject)
    send("Take the first part")
    page.browser.run("[...document.querySelectorAll('.more')].forEach(m => m.click())")
    page.sees(".alert.mail", "Take the first part")
    page.browser.run("[...document.querySelectorAll('.alert.mail')].find(a => a.textContent.includes('Take the first part')).querySelector('button.ack').click()")
    page.browser.until(lambda: state("Take the first part") == "acked")
    page.browser.until(lambda: "Take the first part" not in page.browser.text(".attention-sheet"))
    send("Take the second part")
    page.go("#/now?agent=coral-kite")
    page.sees("#drawer [aria-label='Messages to read or accept']", "Take the second part")
    buttons = "return [...document.querySelectorAll(\"[aria-label='Messages to read or accept'] li\")].find(l => l.textContent.includes('second part')).innerText"
    assert "Seen" in page.browser.run(buttons) and "Accepted" in page.browser.run(buttons)
    page.browser.click("[aria-label='Messages to read or accept'] button.read")
    page.browser.until(lambda: state("Take the second part") == "read")
    page.browser.click("[aria-label='Messages to read or accept'] button.ack")
    page.browser.until(lambda: state("Take the second part") == "acked")
    page.sees("#drawer [aria-label='Messages to read or accept']", "No messages are waiting")


def test_rows_of_agents_keep_their_places(page):
    names = "return [...document.querySelectorAll('.agent-row .who a')].map(a => a.textContent)"
    page.demo.at(0, ("agent heartbeat", {"agent": "jade-falcon"}))
    page.browser.until(lambda: page.browser.run(names))
    before = page.browser.run(names)
    page.demo.at(0, ("agent heartbeat", {"agent": "teal-finch"}), ("bead comment", {"id": page.demo.todo[3], "agent": "teal-finch", "text": "Still here"}))
    page.sees(".rail .act", "Still here")
    assert page.browser.run(names) == before and before.index("amber-otter") < before.index("jade-falcon") < before.index("teal-finch")


def test_the_activity_names_the_field_and_the_bead(page):
    bead = fresh(page, "A bead whose type changes")
    page.demo.at(0, ("bead update", {"ids": [bead], "type": "bug", "agent": "ada"}))
    page.sees(".rail .act", "ada changed type of A bead whose type changes")


def test_beads_in_progress_come_first(page):
    page.go("#/work")
    page.sees(".column", "In progress")
    assert page.browser.run("return [...document.querySelectorAll('.board > .column')].map(c => c.getAttribute('aria-label'))") == ["In progress", "Ready", "Blocked", "Closed"]
    page.go("#/sessions")
    page.sees(".feed .card", "")
    order = page.browser.run("""
        const { store } = window.abacus, groups = new Map();
        const tasks = [...document.querySelectorAll('.feed .card .title')].map(a => store.tasks.get(a.dataset.card));
        for (const t of tasks) groups.set(t.parent, [...(groups.get(t.parent) ?? []), t.status]);
        return [...groups.values()]""")
    assert order and all(statuses == sorted(statuses, key=["in_progress", "open"].index) for statuses in order)


def test_all_modules_are_fetched_at_once(page):
    """Without the list in index.html, the browser would find the modules one import after the other."""
    web = pathlib.Path(__file__).resolve().parents[2] / "web"
    listed = re.findall(r'(?:modulepreload" href|script type="module" src)="/(.*?)"', (web / "index.html").read_text())
    assert sorted(listed) == sorted(f.name for f in web.glob("*.js") if f.name != "enter.js")


def test_the_tab_carries_the_count(page):
    count = page.run("status", "--json", program="abacus").json["attention_total"]
    page.browser.until(lambda: page.browser.run("return document.title").startswith(f"({count}) Now"))
    sign = f"n{count}" if count < 10 else "more"
    assert page.browser.run("return document.querySelector('link[rel=icon]').href").endswith(f"/icon.svg#{sign}")
    assert page.browser.text("#attention") == str(count)


def test_now_follows_within_a_second(page):
    bead = fresh(page, "Work that begins now", priority=0)
    page.sees(".ready .rows", "Work that begins now", 2)
    page.run("claim", bead, env={"BD_ACTOR": "coral-kite"})
    page.soon(".agent-row:has(a[data-card='agent:coral-kite'])", "Work that begins now")
    page.bb("post", "Nobody's bead", env={"ABACUS_AGENT": "coral-kite"})
    page.soon(".rail .act", "Nobody's bead")


# --- the palette, keys, settings ---

def test_the_palette_goes_acts_and_creates_by_keyboard(page):
    browser = page.browser
    chord(browser, CONTROL, "k")
    browser.find("dialog.palette input")
    keys(browser, "work: table")
    page.sees(".palette [aria-selected=true]", "Work: table")
    browser.press(ENTER)
    browser.until(lambda: browser.run("return location.hash") == "#/work/table")
    chord(browser, CONTROL, "k")
    keys(browser, "A bead from the palette")
    page.sees(".palette li:last-child", "New bead “A bead from the palette”")
    browser.run("const all = document.querySelectorAll('.palette li'); for (let i = 1; i < all.length; i++)"
                " document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))")
    browser.press(ENTER)
    browser.find("dialog form")
    browser.press(ENTER)
    page.sees(".about h2", "A bead from the palette")


def test_the_palette_finds_mail_posts_notes_and_memory(page):
    note = page.demo.todo[12]
    page.demo.at(0, ("bead comment", {"id": note, "agent": "ada", "text": "Remember the quokka"}))
    for words, kind, text in (("week old", "Mail", "Which database"), ("noon", "Post", "Staging is down"), ("cents", "Memory", "Money is an integer"),
                              ("quokka", "Bead", page.repo.show(note)["title"])):
        page.browser.click("#find")
        page.browser.type("dialog.palette input", words)
        page.browser.until(lambda: page.browser.run(
            "return [...document.querySelectorAll('.palette li')].some(l => l.textContent.startsWith(arguments[0]) && l.textContent.includes(arguments[1]))", kind, text))
        page.browser.press(ESCAPE)
        page.browser.until(lambda: page.browser.run("return !document.querySelector('dialog')"))


def test_question_mark_shows_the_keys_and_settings_change_the_look(page):
    browser = page.browser
    browser.press("?")
    page.sees("dialog .keys", "new bead")
    browser.press(ESCAPE)
    browser.until(lambda: browser.run("return !document.querySelector('dialog')"))
    size = browser.run("return getComputedStyle(document.querySelector('.row')).paddingTop")
    browser.click("#settings")
    browser.click("dialog input[value=compact]")
    browser.click("dialog input[value=dark]")
    assert browser.run("return getComputedStyle(document.querySelector('.row')).paddingTop") != size
    assert browser.run("return getComputedStyle(document.documentElement).colorScheme") == "dark"
    browser.click("dialog input[value=comfortable]")
    browser.click("dialog input[value=auto]")
    browser.press(ESCAPE)


# --- a bead ---

def test_a_bead_is_edited_in_place_and_the_change_can_be_undone(page):
    bead, browser = fresh(page, "Old title", labels=["infra"]), page.browser
    open_bead(page, bead)
    browser.run("document.activeElement.blur()")
    browser.press("e")
    browser.find("input.title-input")
    keys(browser, "New title")
    browser.press(ENTER)
    page.sees(".about h2", "New title")
    assert page.repo.show(bead)["title"] == "New title"
    browser.click("#toast .undo")
    page.sees(".about h2", "Old title")
    browser.run("const s = document.querySelector('[data-field=priority]'); s.value = '0'; s.dispatchEvent(new Event('change'))")
    browser.until(lambda: page.repo.show(bead)["priority"] == 0)
    browser.until(lambda: browser.run("return document.querySelector('[data-field=priority]').value === '0'"))
    browser.type(".add-label", f"urgent{ENTER}")
    browser.until(lambda: page.repo.show(bead)["labels"] == ["infra", "urgent"])
    page.sees(".label-chip", "urgent")
    browser.click("[aria-label='Remove the label infra']")
    browser.until(lambda: page.repo.show(bead)["labels"] == ["urgent"])
    browser.click("[data-field=edit-description]")
    browser.type(".part.description textarea", "Some **words**")
    browser.click(".part.description button.save")
    page.sees(".part.description strong", "words")


def test_a_bead_shows_its_blockers_and_its_children(page):
    epic = fresh(page, "An epic of its own", type="epic")
    blocker = fresh(page, "The blocker", parent=epic)
    bead = fresh(page, "The blocked one", parent=epic)
    open_bead(page, bead)
    page.browser.type(".add-blocker", f"{blocker}{ENTER}")
    page.sees("[aria-label='Blocked by'] .links", "The blocker")
    page.sees(".readiness.no", f"it is blocked by {blocker}")
    page.run("close", blocker)
    page.soon(".readiness.yes", "Ready.")
    page.browser.click("[aria-label='Remove the dependency on The blocker']")
    page.browser.until(lambda: [d["id"] for d in page.repo.show(bead)["dependencies"]] == [epic])
    open_bead(page, epic)
    page.sees("[aria-label=Children]", "1 of 2 closed")


def test_a_bead_shows_claims_files_commits_and_evidence(page):
    bead = page.demo.todo[0]
    open_bead(page, bead)
    page.sees("[aria-label=Claims]", "amber-otter")
    page.sees("[aria-label=Claims]", "epoch")
    page.sees("[aria-label=Touches]", "src/payments/main.c reserved by amber-otter")
    page.sees("[aria-label=Touches]", "declared")
    page.sees("[aria-label='May collide with']", "%")
    page.sees("[aria-label=Commits]", "fix the limits")
    page.browser.type(".add-touch", f"doc/new.md{ENTER}")
    page.sees("[aria-label=Touches]", "doc/new.md declared")
    page.browser.click("[aria-label='Remove doc/new.md from the declared files']")
    page.browser.until(lambda: "doc/new.md" not in page.browser.text("[aria-label=Touches]"))
    done = fresh(page, "A bead that is done")
    page.run("close", done, "--reason", "It works now")
    open_bead(page, done)
    page.sees("[aria-label=Evidence]", "It works now")


def test_two_browsers_edit_one_bead_and_no_change_is_lost(page):
    bead = fresh(page, "Seen by two")
    other = Page(page.repo, Browser())
    try:
        other.enter(f"#/now?task={bead}")
        open_bead(page, bead)
        other.sees(".about h2", "Seen by two")
        for window in (page, other):
            window.browser.run("document.querySelector('.edit-title').click()")
        page.browser.type(".title-input", f" by one{ENTER}")
        page.sees(".about h2", "by one")
        other.browser.type(".title-input", f"by the other{ENTER}")
        other.sees(".clash", "This bead was changed while you edited it")
        other.sees(".clash", "by one")
        assert "by one" in page.repo.show(bead)["title"]
        other.browser.click(".clash button.primary")
        page.soon(".about h2", "by the other")
    finally:
        other.browser.close()


def test_text_of_others_is_only_ever_text_in_every_view(page):
    evil = '<img src=x onerror="window.pwned=1"> [x](javascript:window.pwned=1) **bold**'
    bead = fresh(page, evil, description=evil, labels=["<b>label"], priority=0)
    page.demo.at(0, ("bead comment", {"id": bead, "agent": "<i>agent", "text": evil}), ("board post", {"content": evil, "agent": "teal-finch"}),
                 ("bead claim", {"ids": [bead], "agent": "<i>agent"}))
    open_bead(page, bead)
    page.sees(".about h2", evil)
    page.sees(".item.note", "<img src=x")
    page.sees(".item.note strong", "bold")
    for view in ("#/now", "#/activity", "#/sessions?q=onerror", "#/work?q=onerror", "#/work/table?q=onerror", f"#/now?agent={'<i>agent'}"):
        page.go(view)
        page.sees("main", "<img src=x")
    assert page.browser.run("return window.pwned ?? null") is None
    assert page.browser.run("return document.querySelectorAll('main img, aside img, a[href^=javascript]').length") == 0


def test_a_hostile_commit_message_and_file_name_are_text(page):
    evil = '<img src=x onerror="window.pwned=2">'
    (page.demo.path / "src/<b>x.c").write_text("1")
    page.demo.git("add", ".")
    bead = fresh(page, "Named by a commit")
    page.demo.commit(0, "<i>mallory", f"{evil}\n\nBead: {bead}")
    page.go("#/files?q=x.c")
    page.sees(".file-row", "<b>x.c")
    page.sees(".file-row .edit", "onerror")
    open_bead(page, bead)
    page.sees("[aria-label=Commits]", evil)
    assert page.browser.run("return window.pwned ?? null") is None


# --- files, the past ---

def test_files_have_reservations_edits_and_conflicts(page):
    browser = page.browser
    page.go("#/files")
    row = ".file-row[data-path='src/payments/main.c']"
    page.sees(row, "amber-otter")
    page.sees(".file-row[data-path='src/payments'] .hold", "cobalt-harbor")
    page.sees(f"{row} .edit", "payments:")
    page.sees("[aria-label='Forecast conflicts']", "both declare")
    browser.run("document.querySelector('.file-row').focus()")
    first = browser.run("return document.activeElement.dataset.path")
    browser.press("\ue012")  # left: the folder closes
    browser.until(lambda: browser.run("return document.activeElement.getAttribute('aria-expanded')") == "false")
    browser.press("\ue014")  # right: it opens again
    browser.until(lambda: browser.run("return document.activeElement.getAttribute('aria-expanded')") == "true")
    browser.press("\ue015")  # down
    assert browser.run("return document.activeElement.dataset.path") not in (first, None)


def test_the_past_is_on_every_view_and_cannot_be_changed(page):
    browser = page.browser
    commits = page.demo.at(0, ("bead commits", {"limit": 0}))[0]
    then = page.run("list", "--at", commits[2]["commit"], "--all", "-n", "0", "--json").json
    closed = sum(b["status"] == "closed" for b in then)
    page.go("#/work")
    browser.run("document.activeElement.blur()")
    browser.press("h")
    page.sees(".travel .when", f"{len(commits)} of {len(commits)}")
    browser.run("const s = document.querySelector('.travel input'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", len(commits) - 3)
    page.sees("[aria-label=Closed] h2", f"Closed {closed}")
    at = browser.run("return location.hash.match(/past=(\\w+)/)[1]")
    assert at == commits[2]["commit"]
    for view, sign in (("#/now", ".ready .row"), ("#/sessions", ".card"), ("#/activity", ".act"), ("#/work/table", ".table-row"), ("#/work/graph", ".node"), ("#/work/charts", ".chart .line-ready"), ("#/files", ".file-row")):
        page.go(f"{view}?past={at}")
        browser.find(sign)
        page.sees(".travel .when", f"{len(commits) - 2} of {len(commits)}")
    bead = next(b["id"] for b in then if b["status"] == "open")
    page.go(f"#/now?past={at}&task={bead}")
    page.sees(".crumbs code", bead)
    browser.run("const s = document.querySelector('[data-field=priority]'); s.value = '4'; s.dispatchEvent(new Event('change'))")
    page.sees("#toast", "The page shows the past")
    browser.click(".travel .primary")
    browser.until(lambda: browser.run("return !document.querySelector('.travel') && !location.hash.includes('past')"))
    page.sees(".agents .row", "teal-finch")


# --- work ---

def test_a_card_is_moved_by_keyboard_and_by_dragging(page):
    browser, bead, other = page.browser, fresh(page, "Card to move", priority=0), fresh(page, "Card to drag", priority=0)
    page.go("#/work?q=Card%20to")
    page.sees("[aria-label=Ready]", "Card to move")
    browser.run("document.querySelector(`[data-card='${arguments[0]}']`).focus()", bead)
    browser.press("]")
    page.sees("[aria-label='In progress']", "Card to move")
    browser.run("document.querySelector(`[data-card='${arguments[0]}']`).focus()", bead)
    browser.press("-")
    browser.until(lambda: page.repo.show(bead)["priority"] == 1)
    browser.drag(browser.place(f"[data-id='{other}'] .card", .5, .8), browser.place("[aria-label=Closed] .scroll", .5, .4))
    page.sees("[aria-label=Closed]", "Card to drag")
    assert page.repo.show(other)["status"] == "closed"
    browser.click("#toast .undo")
    page.sees("[aria-label=Ready]", "Card to drag")
    page.go("#/work?group=epic")
    page.sees("[aria-label='In progress'] .card-group", "Nightly jobs never overlap")


def test_the_table_sorts_and_groups_and_the_url_has_the_state(page):
    browser = page.browser
    page.go("#/work/table?label=payments")
    page.sees(".table", "Store the mandate")
    titles = "return [...document.querySelectorAll('.table .c-title a')].map(a => a.textContent)"
    browser.click("[data-sort=title]")
    browser.until(lambda: browser.run(titles) == sorted(browser.run(titles), key=str.lower) != [])
    browser.click("[data-sort=title]")
    browser.until(lambda: browser.run(titles) == sorted(browser.run(titles), key=str.lower, reverse=True) != [])
    assert "sort=-title" in browser.run("return location.hash")
    browser.run("const s = document.querySelector('[aria-label=\"Group by\"]'); s.value = 'assignee'; s.dispatchEvent(new Event('change'))")
    page.sees(".group-row", "Unassigned")
    browser.click(".menu summary")
    browser.click(".menu input[value=labels]")
    browser.until(lambda: browser.run("return location.hash").endswith("hide=labels"))
    assert browser.run("return getComputedStyle(document.querySelector('.table-row:not(.head) .c-labels')).display") == "none"


def test_charts_have_their_numbers_as_tables(page):
    page.go("#/work/charts")
    page.sees(".chart", "Throughput")
    total = len([b for b in page.repo.json("list", "--all", "-n", "0") if b["status"] == "closed"])
    page.browser.until(lambda: page.browser.run(
        "return [...document.querySelectorAll('[aria-label=Throughput] tbody tr')].reduce((n, r) => n + Number(r.cells[2].textContent), 0)") == total)
    assert page.browser.run("return document.querySelectorAll('.chart svg rect.closed').length") > 0
    now = page.run("status", "--json", program="bd").json
    row = "return [...document.querySelector('[aria-label=\"Open, ready and blocked\"] tbody tr').cells].slice(1).map(c => Number(c.textContent))"
    page.run("sync", "--no-push")
    page.go("#/work/board")
    page.go("#/work/charts")
    page.browser.until(lambda: page.browser.run(row) == [now["open_issues"], now["ready_issues"], now["blocked_issues"], now["in_progress_issues"], now["closed_issues"]])
    for chart in ("Cycle time", "Time blocked, by blocker", "Work of each agent"):
        assert page.browser.run("return document.querySelectorAll(`[aria-label='${arguments[0]}'] tbody tr`).length", chart) > 3, chart


# --- activity, agents ---

def test_activity_is_filtered_and_reaches_the_beginning(page):
    browser = page.browser
    page.go("#/activity")
    page.sees(".moments", "posted on the board")
    browser.run("const s = document.querySelector('[data-key=kind]'); s.value = 'post'; s.dispatchEvent(new Event('change'))")
    browser.until(lambda: browser.run("return document.querySelectorAll('.act').length > 0 && [...document.querySelectorAll('.act')].every(a => a.classList.contains('k-post'))"))
    assert "kind=post" in browser.run("return location.hash")
    page.go("#/activity?by=silver-heron")
    browser.until(lambda: browser.run("return document.querySelectorAll('.act').length > 3 && [...document.querySelectorAll('.act')].every(a => a.textContent.includes('silver-heron'))"))
    page.go(f"#/activity?bead={page.demo.todo[0]}")
    page.sees(".moments", "passed work to")
    page.go("#/activity")
    browser.until(lambda: browser.run("const s = document.querySelector('.activity .scroll'); s.scrollTop = s.scrollHeight;"
                                      "return s.textContent.includes('This is where it began.')"), 20)
    everything = page.run("log", "-n", "10000", "--json", program="abacus").json
    assert browser.run("return document.querySelectorAll('.act').length") == len(everything)


def test_an_agent_has_a_panel_and_gets_mail_from_the_person(page):
    browser = page.browser
    browser.click("a[data-card='agent:amber-otter']")
    page.sees(".about h2", "amber-otter")
    page.sees("[aria-label=Beads]", "Replace cron")
    page.sees("#drawer [aria-label=Reservations]", "src/payments/main.c")
    page.sees("#drawer [aria-label=Timeline]", "passed work to")
    browser.type(".composer textarea", "Please look at the log")
    browser.click(".composer button[type=submit]")
    page.sees("#drawer [aria-label='Messages to read or accept']", "Please look at the log")
    [mail] = [m for m in page.agent("inbox", "--agent", "amber-otter") if m["subject"] == "Please look at the log"]
    assert mail["from_agent"] == "ada" and mail["bead_id"] == page.demo.todo[0]
    browser.press(ESCAPE)
    browser.until(lambda: browser.run("return document.activeElement.dataset.card") == "agent:amber-otter")


# --- for everybody ---

def media(browser, **features):
    browser.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
        "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]}})


def test_contrast_and_motion_follow_the_system(page):
    browser, line = page.browser, "return getComputedStyle(document.querySelector('.rows')).borderTopColor"
    plain = browser.run(line)
    try:
        media(browser, prefers_contrast="more", prefers_color_scheme="light")
        assert browser.run(line) != plain
        assert browser.run("return getComputedStyle(document.querySelector('.small')).color === getComputedStyle(document.body).color")
        media(browser, prefers_reduced_motion="reduce", prefers_color_scheme="light")
        assert browser.run("return getComputedStyle(document.querySelector('button')).transitionDuration") == "0s"
    finally:
        media(browser, prefers_color_scheme="light")


def test_a_page_in_the_background_notifies_of_new_entries(page):
    browser = page.browser
    browser.run("""
        window.told = []; window.realNotification = window.Notification;
        window.Notification = class { constructor(title, more) { window.told.push(`${title}: ${more.body}`); } static permission = 'granted'; static requestPermission = async () => 'granted'; };
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });""")
    try:
        browser.click("#settings")
        browser.click("dialog input[name=notify][value=on]")
        browser.until(lambda: browser.run("return localStorage.getItem('abacus-notify')") == "on")
        browser.press(ESCAPE)
        page.demo.at(0, ("agent send", {"from": "jade-falcon", "to": "coral-kite", "bead": page.demo.todo[2], "category": "BLOCKED", "subject": "Which port?", "body": "b", "next_action": "n"}))
        browser.until(lambda: any("Which port?" in t for t in browser.run("return window.told")))
    finally:
        browser.run("delete document.hidden; window.Notification = window.realNotification; localStorage.removeItem('abacus-notify')")


def test_all_work_can_be_done_by_keyboard(page):
    browser = page.browser
    browser.press("n")
    browser.find("dialog form")
    keys(browser, "Made without a mouse")
    browser.press(ENTER)
    page.sees(".about h2", "Made without a mouse")
    browser.run("document.activeElement.blur()")
    browser.press("c")
    browser.until(lambda: browser.run("return document.activeElement.matches('.composer textarea')"))
    keys(browser, "A word")
    chord(browser, CONTROL, ENTER)
    page.sees(".item.note", "A word")
    browser.press(ESCAPE)
    browser.until(lambda: browser.run("return document.querySelector('#drawer').hidden"))
    browser.run("document.activeElement.blur()")
    browser.press("4")
    browser.find(".board .card")
    browser.press("j")
    browser.until(lambda: browser.run("return Boolean(document.activeElement.dataset.card)"))
    browser.press(ENTER)
    browser.until(lambda: browser.run("return !document.querySelector('#drawer').hidden"))


AXE = """
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(found => done(found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
        .map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`)));"""


def test_axe_finds_no_serious_violation_in_light_and_dark(page):
    from test_mcp_clients import CACHE, npm
    cache = CACHE.with_name("npm-axe")  # of its own: other tests install into theirs at the same time
    script = cache / "node_modules/axe-core/axe.min.js"
    if not script.exists():
        cache.mkdir(parents=True, exist_ok=True)
        npm("axe-core@4", cache=cache)
    browser, found = page.browser, {}
    browser.run(script.read_text() + "; window.axe = axe")
    try:
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            for view, sign in (("#/now", ".row"), (f"#/now?task={page.demo.todo[0]}", ".item"), ("#/now?agent=amber-otter", ".moment"), ("#/activity", ".moment"),
                               ("#/sessions", ".card"), ("#/work", ".column .card"), ("#/work/table", ".table-row"), ("#/work/graph", ".node"), ("#/work/charts", ".chart"), ("#/files", ".tree .file-row")):
                page.go(view)
                browser.find(f"main {sign}, #drawer {sign}")
                for one in browser.ask("POST", "/execute/async", {"args": [], "script": AXE}):
                    found.setdefault(one, []).append(f"{view} {scheme}")
            browser.run("document.querySelector('#find').click()")
            for one in browser.ask("POST", "/execute/async", {"args": [], "script": AXE}):
                found.setdefault(one, []).append(f"palette {scheme}")
            browser.press(ESCAPE)
    finally:
        browser.scheme("light")
    assert not found, json.dumps(found, indent=1)
