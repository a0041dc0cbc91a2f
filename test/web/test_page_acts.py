"""Every act on the page, twice: with the mouse, by its real events, and with the keyboard alone."""
import pytest

from browser import available
from test_page import ENTER, ESCAPE
from test_page_views import CONTROL, chord, choose_with_keys, fresh, keys, open_bead, page, shop  # noqa: F401: two are fixtures

pytestmark = pytest.mark.skipif(not available(), reason="chromium and chromedriver are not at hand")
TAB, SPACE, END, HOME, LEFT, RIGHT, DOWN = "\ue004", "\ue00d", "\ue010", "\ue011", "\ue012", "\ue014", "\ue015"
VIEWS = (("now", ".agents .row"), ("sessions", ".feed .card"), ("activity", ".act"), ("work", ".board .card"), ("files", ".file-row"))
CHANGES = (("status", "in_progress", "In"), ("priority", "0", "P0"), ("type", "bug", "bug"), ("assignee", "coral-kite", "coral"), ("parent", None, "Release"))


def marked(page, selector, text):
    """The first of these elements with the text; it can be found by this selector from now on."""
    page.browser.until(lambda: page.browser.run("""
        document.querySelector('[data-marked]')?.removeAttribute('data-marked');
        const el = [...document.querySelectorAll(arguments[0])].find(e => e.textContent.includes(arguments[1]));
        if (el) el.dataset.marked = '';
        return Boolean(el)""", selector, text))
    return "[data-marked]"


def reach(browser, selector, most=150):
    """Presses the tab key until the element has the focus: from where it is, or from the content that the skip link leads to."""
    browser.run("if (document.activeElement === document.body) document.querySelector('#main').focus()")
    for _ in range(most):
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return
        browser.press(TAB)
    raise AssertionError(f"the tab key does not reach {selector}")


def is_shut(page):
    page.browser.until(lambda: page.browser.run("return document.querySelector('#drawer').hidden"))


def choose(browser, selector, value):
    browser.hit(selector)
    browser.click(f"{selector} option[value='{value}']")  # the list of a select is a window of its own
    browser.run("document.activeElement.blur()")


def stale_claim(page, title):
    """A claim that has expired, which Now shows with its cure."""
    bead = fresh(page, title)
    page.demo.at(90, ("bead claim", {"ids": [bead], "agent": "copper-wren", "lease": "10m"}))
    page.browser.run("[...document.querySelectorAll('.attention-sheet .more')].forEach(m => m.click())")
    page.sees(".alert.holder", bead)
    return bead


# --- views and panels ---

def test_the_mouse_opens_views_and_panels_and_closes_them(page):
    browser = page.browser
    for view, sign in (*VIEWS[1:], VIEWS[0]):
        browser.hit(f"nav [data-view={view}]")
        browser.find(f"main {sign}")
    for opener, title in ((".agent-row [data-card='agent:teal-finch']", "teal-finch"), (".progress .title", "")):
        browser.hit(opener)
        page.sees(".about h2", title)
        browser.hit("#drawer .shut")
        is_shut(page)
        assert browser.run("return !location.hash.includes('task=') && !location.hash.includes('agent=')")


def test_the_keyboard_opens_views_and_panels_and_closes_them(page):
    browser = page.browser
    for i in (1, 2, 3, 4, 0):
        browser.press(str(i + 1))
        browser.find(f"main {VIEWS[i][1]}")
    browser.press("j")
    browser.press(ENTER)
    page.sees(".about h2", "")
    reach(browser, "#drawer .shut")
    browser.press(ENTER)
    is_shut(page)
    browser.press(ENTER)  # the focus is where it was
    page.sees(".about h2", "")
    browser.press(ESCAPE)
    is_shut(page)


@pytest.mark.parametrize("width", [390, 768, 1440, 2560])
def test_nothing_is_under_the_button_that_closes_the_panel(page, width):
    """Who misses it closes no task; and what scrolls does not pass below it."""
    browser = page.browser
    try:
        browser.size(width, 900)
        open_bead(page, page.demo.todo[0])
        page.sees(".thread", "commented")
        shut, close = browser.run("return ['.shut', 'button.close'].map(s => { const b = document.querySelector(s).getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; })")
        assert close[1] < shut[0] and close[2] > shut[3]
        browser.hit(".to-timeline")
        over = "const b = document.querySelector('.shut').getBoundingClientRect(), s = document.querySelector('#drawer > .scroll').getBoundingClientRect(); return b.bottom <= s.top"
        assert browser.run(over)
        browser.hit(".shut")
        is_shut(page)
    finally:
        browser.size(1440, 900)


# --- what needs attention ---

def test_the_mouse_cures_what_needs_attention(page):
    bead = stale_claim(page, "Left by somebody")
    row = marked(page, ".alert.holder", bead)
    page.browser.hit(f"{row} button.primary")
    page.browser.until(lambda: page.repo.show(bead)["status"] == "open")


def test_the_keyboard_cures_what_needs_attention(page):
    bead = stale_claim(page, "Left by somebody else")
    row = marked(page, ".alert.holder", bead)
    reach(page.browser, f"{row} button.primary")
    page.browser.press(ENTER)
    page.browser.until(lambda: page.repo.show(bead)["status"] == "open")


# --- activity ---

def all_of(kind):
    return f"const acts = [...document.querySelectorAll('.moments .act')]; return acts.length > 0 && acts.every(a => a.classList.contains('k-{kind}'))"


def test_the_mouse_filters_the_activity_and_scrolls_back(page):
    browser = page.browser
    browser.hit("nav [data-view=activity]")
    choose(browser, "[data-key=kind]", "mail")
    browser.until(lambda: browser.run(all_of("mail")))
    choose(browser, "[data-key=kind]", "")
    browser.find(".act.k-bead")
    count = "return document.querySelectorAll('.moments .act').length"
    before = browser.run(count)
    x, y = browser.place(".activity > .scroll")
    browser.until(lambda: browser.mouse("Wheel", x, y, deltaX=0, deltaY=20000) or browser.run(count) > before)
    browser.hit(".moments .act .what")
    page.sees(".crumbs code", "shop-")


def test_the_keyboard_filters_the_activity_and_scrolls_back(page):
    browser = page.browser
    browser.press("3")
    browser.find(".moments .act")
    reach(browser, "[data-key=kind]")
    choose_with_keys(browser, "Ma", lambda: browser.run(all_of("mail")))
    browser.press(HOME)
    browser.find(".act.k-bead")
    count = "return document.querySelectorAll('.moments .act').length"
    before = browser.run(count)
    reach(browser, ".activity > .scroll")
    browser.until(lambda: browser.press(END) or browser.run(count) > before)


# --- a bead ---

def test_the_mouse_changes_every_field_of_a_bead(page):
    browser, other = page.browser, fresh(page, "It waits for this")
    bead = fresh(page, "Changed with the mouse", labels=["infra"], deps=[other])
    open_bead(page, bead)
    page.sees("[aria-label='Blocked by']", "It waits for this")
    for field, value, _ in CHANGES:
        value = value or page.demo.epics[3]
        choose(browser, f"[data-field={field}]", value)
        browser.until(lambda: str(page.repo.show(bead)[{"type": "issue_type"}.get(field, field)]) == value, 5)
        browser.until(lambda: browser.run("return document.querySelector(`[data-field=${arguments[0]}]`).value === arguments[1]", field, value))
    browser.hit("[aria-label='Remove the label infra']")
    browser.until(lambda: not page.repo.show(bead).get("labels"))
    browser.hit("[aria-label='Remove the dependency on It waits for this']")
    browser.until(lambda: "It waits for this" not in browser.text("[aria-label='Blocked by']"))
    browser.hit("#toast .undo")
    page.sees("[aria-label='Blocked by']", "It waits for this")


def test_the_keyboard_changes_every_field_of_a_bead(page):
    browser, other = page.browser, fresh(page, "It waits for that")
    bead = fresh(page, "Changed with the keyboard", labels=["infra"])
    open_bead(page, bead)
    for field, value, words in CHANGES:
        value = value or page.demo.epics[3]
        reach(browser, f"[data-field={field}]")
        choose_with_keys(browser, f"{SPACE}{words}{ENTER}",  # the list opens, and is changed once
                         lambda: str(page.repo.show(bead)[{"type": "issue_type"}.get(field, field)]) == value)
    reach(browser, "[aria-label='Remove the label infra']")
    browser.press(ENTER)
    browser.until(lambda: not page.repo.show(bead).get("labels"))
    reach(browser, ".add-label")
    keys(browser, f"urgent{ENTER}")
    browser.until(lambda: page.repo.show(bead)["labels"] == ["urgent"])
    reach(browser, ".add-blocker")
    keys(browser, f"{other}{ENTER}")
    page.sees("[aria-label='Blocked by'] .links", "It waits for that")
    reach(browser, "[aria-label='Remove the dependency on It waits for that']")
    browser.press(ENTER)
    browser.until(lambda: "It waits for that" not in browser.text("[aria-label='Blocked by']"))
    page.sees("#toast", "Removed the dependency.")
    browser.press("u")
    page.sees("[aria-label='Blocked by'] .links", "It waits for that")


def test_the_mouse_edits_texts_and_closes_the_task(page):
    browser, bead = page.browser, fresh(page, "Words by mouse")
    open_bead(page, bead)
    browser.hit("button.edit-title")
    keys(browser, f"Other words{ENTER}")
    page.sees(".about h2", "Other words")
    browser.hit("[data-field=edit-description]")
    keys(browser, "Because")
    browser.hit(".part.description button.save")
    page.sees(".part.description", "Because")
    browser.hit(".composer textarea")
    keys(browser, "It is done")
    browser.hit("button.close")
    page.sees("[aria-label=Evidence]", "It is done")
    browser.hit("button.reopen")
    browser.until(lambda: page.repo.show(bead)["status"] == "open")


def test_the_keyboard_edits_texts_and_closes_the_task(page):
    browser, bead = page.browser, fresh(page, "Words by keyboard")
    open_bead(page, bead)
    browser.press("e")
    keys(browser, f"More words{ENTER}")
    page.sees(".about h2", "More words")
    reach(browser, "[data-field=edit-description]")
    browser.press(ENTER)
    keys(browser, "Because of that")
    chord(browser, CONTROL, ENTER)
    page.sees(".part.description .md", "Because of that")
    reach(browser, "button.close")
    browser.press(ENTER)
    browser.until(lambda: page.repo.show(bead)["status"] == "closed")
    page.sees("#toast", "Closed the bead.")
    browser.run("document.activeElement.blur()")
    browser.press("u")
    browser.until(lambda: page.repo.show(bead)["status"] == "open")


def test_id_and_link_are_copied_with_mouse_and_keyboard(page):
    browser, bead = page.browser, fresh(page, "To be copied")
    browser.ask("POST", "/goog/cdp/execute", {"cmd": "Browser.grantPermissions", "params": {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}})
    open_bead(page, bead)
    browser.hit(".copy-link")
    page.sees("#toast", "Copied the link.")
    browser.hit(".copy-id")
    page.sees("#toast", f"Copied {bead}.")
    browser.run("document.querySelector('#toast').hidden = true")
    browser.press("y")
    page.sees("#toast", f"Copied {bead}.")


def test_the_timeline_is_one_click_or_key_away(page):
    browser = page.browser
    browser.size(1440, 600)
    try:
        for go in (lambda: browser.hit(".to-timeline"), lambda: browser.press("t")):
            open_bead(page, page.demo.todo[0])
            page.sees("[aria-label=Commits]", "fix the limits")
            go()
            browser.until(lambda: browser.run("const i = [...document.querySelectorAll('.item')].at(-1).getBoundingClientRect(); return i.top < innerHeight - 100"))
            page.go("#/now")
            is_shut(page)
    finally:
        browser.size(1440, 900)


def test_all_beads_that_may_collide_can_be_shown(page):
    """By mouse and by keyboard."""
    for act in (lambda: page.browser.hit("[data-field=all-clashes]"), lambda: (reach(page.browser, "[data-field=all-clashes]"), page.browser.press(ENTER))):
        open_bead(page, page.demo.todo[0])
        page.sees("[aria-label='May collide with']", "more")
        act()
        count = int(page.browser.text("[aria-label='May collide with'] .tally"))
        assert count > 5
        page.browser.until(lambda: page.browser.run("return document.querySelectorAll(\"[aria-label='May collide with'] li\").length") == count)
        page.go("#/now")
        is_shut(page)


# --- an agent ---

@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_a_message_to_an_agent_is_written_and_accepted(page, how):
    browser, words = page.browser, f"Written with the {how}"
    page.demo.at(0, ("agent send", {"from": "jade-falcon", "to": "silver-heron", "bead": page.demo.todo[2], "category": "HANDOFF", "subject": f"Take it, {how}", "body": "b", "next_action": "n"}))
    inbox = lambda: {m["subject"]: m["state"] for m in page.agent("inbox", "--agent", "silver-heron")}
    opener = ".agent-row [data-card='agent:silver-heron']"
    if how == "mouse":
        browser.hit(opener)
        browser.hit(f"{marked(page, '#drawer .lines li', f'Take it, {how}')} button.ack")
        browser.until(lambda: inbox()[f"Take it, {how}"] == "acked")
        browser.hit(".composer textarea")
        keys(browser, words)
        browser.hit(".composer button[type=submit]")
    else:
        reach(browser, opener)
        browser.press(ENTER)
        reach(browser, f"{marked(page, '#drawer .lines li', f'Take it, {how}')} button.ack")
        browser.press(ENTER)
        browser.until(lambda: inbox()[f"Take it, {how}"] == "acked")
        browser.press("c")
        keys(browser, words)
        chord(browser, CONTROL, ENTER)
    browser.until(lambda: inbox().get(words) == "unread")


# --- work ---

def test_a_card_is_dragged_to_another_column_and_to_another_priority(page):
    browser = page.browser
    one, two, high = fresh(page, "Drag this one", priority=2), fresh(page, "Drag this two", priority=3), fresh(page, "Drag this three", priority=0)
    page.go("#/work?q=Drag%20this")
    page.sees("[aria-label=Ready]", "Drag this two")
    card = lambda id: browser.place(f"[data-id='{id}'] .card", .5, .8)
    browser.drag(card(one), browser.place("[aria-label='In progress'] .scroll", .5, .4))
    page.sees("[aria-label='In progress']", "Drag this one")
    assert page.repo.show(one)["status"] == "in_progress"
    browser.hit("#toast .undo")
    page.sees("[aria-label=Ready]", "Drag this one")
    browser.drag(card(two), card(high))
    browser.until(lambda: page.repo.show(two)["priority"] == 0)


def test_the_work_is_grouped_and_filtered_by_keyboard(page):
    browser = page.browser
    browser.press("4")
    browser.find(".board .card")
    reach(browser, "[aria-label='Group by']")
    keys(browser, "by e")
    page.sees(".card-group", "Accessible forms")
    browser.press(HOME)
    browser.until(lambda: "group" not in browser.run("return location.hash"))
    browser.run("document.activeElement.blur()")
    browser.press("/")
    keys(browser, "mandate")
    browser.until(lambda: "q=mandate" in browser.run("return location.hash"))


def test_the_table_is_sorted_and_its_columns_chosen_by_keyboard(page):
    browser = page.browser
    page.go("#/work/table?label=payments")
    page.sees(".table", "Store the mandate")
    reach(browser, ".menu summary")
    browser.press(ENTER)
    reach(browser, ".menu input[value=labels]")
    browser.press(SPACE)
    browser.until(lambda: "hide=labels" in browser.run("return location.hash"))
    reach(browser, "[data-sort=title]")
    browser.press(ENTER)
    browser.until(lambda: "sort=title" in browser.run("return location.hash"))


def lit(page, bead):
    """The bead is selected, in view, and what it waits for is lit; nothing else is."""
    page.sees(".crumbs code", bead)
    page.browser.until(lambda: page.browser.run("""
        const chosen = document.querySelector('.node.chosen'), box = chosen?.getBoundingClientRect(), frame = document.querySelector('.graph').getBoundingClientRect();
        return chosen?.dataset.id === arguments[0] && box.right <= frame.right + 1 && box.left >= frame.left - 1""", bead))
    on = page.browser.run("return [...document.querySelectorAll('.node.on')].map(n => n.dataset.id)")
    blockers = [b["id"] for b in page.repo.show(bead)["dependencies"] if b["dependency_type"] == "blocks"]
    assert blockers and {bead, *blockers} <= set(on)
    assert page.browser.run("return document.querySelectorAll('.node:not(.on)').length") > 0


def test_the_mouse_selects_a_bead_of_the_graph_moves_and_zooms_it(page):
    browser, bead = page.browser, page.demo.tasks[186]
    page.go("#/work/graph")
    browser.hit(f".node[data-id='{bead}']")
    lit(page, bead)
    browser.hit("#drawer .shut")
    is_shut(page)
    browser.until(lambda: not browser.run("return document.querySelector('svg.lit, .node.chosen')"))
    wide = "return document.querySelector('.graph svg').getBoundingClientRect().width"
    before = browser.run(wide)
    browser.hit("[aria-label='Zoom in']")
    assert browser.run(wide) > before
    x, y = browser.place(".graph", .5, .5)
    browser.mouse("Wheel", x, y, deltaX=0, deltaY=-120, modifiers=2)  # control
    browser.until(lambda: browser.run(wide) > before * 1.3)
    at = "const g = document.querySelector('.graph'); return [g.scrollLeft, g.scrollTop]"
    browser.run("document.querySelector('.graph').scrollTo(0, 0)")
    ground = browser.run("""
        const box = document.querySelector('.graph').getBoundingClientRect();
        for (let y = box.bottom - 20; y > box.top + 150; y -= 6) for (let x = box.left + 150; x < box.right - 20; x += 6)
            if (!document.elementFromPoint(x, y)?.closest('a')) return [x, y];""")
    browser.drag(ground, (ground[0] - 80, ground[1] - 60))
    browser.until(lambda: browser.run(at) == [80, 60])
    browser.hit("[aria-label='Fit the graph into the view']")
    browser.until(lambda: browser.run(wide) <= browser.run("return document.querySelector('.graph').clientWidth"))


def test_the_keyboard_selects_a_bead_of_the_graph_and_zooms_it(page):
    browser, bead = page.browser, page.demo.tasks[186]
    page.go("#/work/graph")
    browser.find(".node")
    wide = "return document.querySelector('.graph svg').getBoundingClientRect().width"
    before = browser.run(wide)
    reach(browser, ".graph")
    browser.press("+")
    assert browser.run(wide) > before
    browser.press("-")
    browser.press(RIGHT)
    browser.until(lambda: browser.run("return document.querySelector('.graph').scrollLeft") > 0)
    reach(browser, f".node[data-id='{bead}']")
    browser.press(ENTER)
    lit(page, bead)
    browser.press(ESCAPE)
    is_shut(page)


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_the_numbers_of_a_chart_are_opened(page, how):
    page.go("#/work/charts")
    summary = "[aria-label=Throughput] summary"
    page.browser.find(summary)
    if how == "mouse":
        page.browser.hit(summary)
    else:
        reach(page.browser, summary)
        page.browser.press(ENTER)
    page.browser.until(lambda: page.browser.run("return document.querySelector('[aria-label=Throughput] table').offsetParent != null"))


@pytest.mark.parametrize("width", [390, 1440, 2560])
def test_the_words_of_a_chart_are_as_large_as_others(page, width):
    try:
        page.browser.size(width, 900)
        page.go("#/work/charts")
        page.browser.find(".chart .line-ready")
        small = "return Math.min(...[...document.querySelectorAll('.chart svg')].map(s => 12 * s.getBoundingClientRect().width / s.viewBox.baseVal.width))"
        page.browser.until(lambda: page.browser.run(small) > 11.5)
        right = "return [...document.querySelectorAll('.chart')].map(c => c.getBoundingClientRect().right)"
        assert max(page.browser.run(right)) - page.browser.run(right)[-1] < 2, "the last row is full"
    finally:
        page.browser.size(1440, 900)


# --- files ---

def test_the_mouse_opens_and_closes_a_folder_and_a_holder(page):
    browser = page.browser
    browser.hit("nav [data-view=files]")
    folder = ".file-row[data-path='src/payments']"
    browser.hit(f"{folder} .name")
    browser.until(lambda: not browser.run("return document.querySelector(\".file-row[data-path='src/payments/main.c']\")"))
    browser.hit(f"{folder} .name")
    browser.hit(".file-row[data-path='src/payments/main.c'] .hold a")
    page.sees(".about h2", "amber-otter")


# --- the palette, settings ---

def test_the_mouse_uses_the_palette_and_creates_a_bead(page):
    browser = page.browser
    browser.hit("#find")
    keys(browser, "work: charts")
    page.sees(".palette [aria-selected=true]", "Work: charts")
    browser.hit(".palette li")
    browser.find(".chart")
    browser.hit("#create")
    keys(browser, "Made with the mouse")
    browser.hit("dialog button[type=submit]")
    page.sees(".about h2", "Made with the mouse")


def test_a_click_on_a_result_counts_although_more_results_arrive(page):
    """The results of the service follow those of the page, while the button may be down."""
    browser, bead = page.browser, page.demo.todo[13]
    page.demo.at(0, ("bead comment", {"id": bead, "agent": "ada", "text": "As the charts show"}))
    browser.hit("#find")
    keys(browser, "charts")
    page.sees(".palette [aria-selected=true]", "Work: charts")
    place = browser.place(".palette li")
    browser.mouse("Moved", *place)
    browser.mouse("Pressed", *place)
    title = page.repo.show(bead)["title"]
    browser.until(lambda: browser.run(
        "return [...document.querySelectorAll('.palette li')].some(l => l.textContent.includes(arguments[0]))", title))
    browser.mouse("Released", *place)
    browser.find(".chart")


def test_the_keyboard_changes_the_settings(page):
    browser = page.browser
    density = "return document.documentElement.dataset.density"
    for word in ("compact", "comfortable"):
        chord(browser, CONTROL, "k")
        keys(browser, f"density: {word}")
        page.sees(".palette [aria-selected=true]", f"Density: {word}")
        browser.press(ENTER)
        browser.until(lambda: browser.run(density) == word)


# --- the past ---

def test_the_mouse_moves_in_the_past(page):
    browser = page.browser
    total = len(page.demo.at(0, ("bead commits", {"limit": 0}))[0])
    browser.hit("#past")
    page.sees(".travel .when", f"{total} of {total}")
    browser.drag(browser.place(".travel input", .99), browser.place(".travel input", .5), browser.place(".travel input", .01))
    page.sees(".travel .when", f"1 of {total}")
    page.sees(".progress .quiet", "Nothing was in progress.")
    first = browser.run("return location.hash.match(/past=(\\w+)/)[1]")
    browser.hit(".travel [aria-label=Later]")
    page.sees(".travel .when", f"2 of {total}")
    browser.until(lambda: browser.run("return location.hash.match(/past=(\\w+)/)[1]") != first)
    browser.hit(".travel input", .99)
    page.sees(".travel .when", f"{total} of {total}")
    browser.hit(".travel .primary")
    browser.until(lambda: browser.run("return !document.querySelector('.travel')"))


def test_the_keyboard_moves_in_the_past(page):
    browser = page.browser
    total = len(page.demo.at(0, ("bead commits", {"limit": 0}))[0])
    browser.press("h")
    page.sees(".travel .when", f"{total} of {total}")
    browser.until(lambda: browser.run("return document.activeElement.matches('.travel input')"))
    browser.press(LEFT)
    page.sees(".travel .when", f"{total - 1} of {total}")
    browser.press(HOME)
    page.sees(".progress .quiet", "Nothing was in progress.")
    reach(browser, ".travel .primary")
    browser.press(ENTER)
    browser.until(lambda: browser.run("return !document.querySelector('.travel')"))


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_the_history_is_moved_through(page, how):
    browser = page.browser
    page.go("#/work/history")
    page.sees(".past .when", "of")
    browser.until(lambda: not browser.text(".past .when").startswith("1 of"))
    if how == "mouse":
        browser.drag(browser.place(".past .bar input", .99), browser.place(".past .bar input", .01))
    else:
        reach(browser, ".past .bar input")
        browser.press(HOME)
    page.sees(".past .when", "· 1 of")
    page.sees(".changes", "This is the first commit.")


# --- what is counted ---

def test_now_and_work_count_the_same_ready_beads(page):
    tally = "return document.querySelector(arguments[0])?.textContent"
    page.browser.until(lambda: page.browser.run("return window.abacus.store.loaded"))
    claimable = [b for b in page.run("ready", "-n", "0", "--json").json if not b.get("container")]
    page.browser.until(lambda: page.browser.run(tally, ".sheet.ready .tally") == str(len(claimable)), 5)
    page.go("#/work/ready")
    page.browser.until(lambda: page.browser.run(tally, ".column .tally").strip() == str(len(claimable)))


def test_agents_that_now_leaves_out_are_counted(page):
    """Evicted agents that hold nothing: they are in Sessions."""
    status = page.run("status", "--limit", "500", "--json", program="abacus").json
    left = status["agents_total"] - len(status["agents"])
    assert left > 0
    page.sees(".sheet.agents .gone", f"{left} more are not active and hold nothing")
    page.browser.hit(".sheet.agents .gone")
    page.sees(".agent", "slate-marten")


def test_a_reservation_is_told_in_a_sentence(page):
    page.go("#/activity?kind=reservation")
    page.sees(".moments", "reserved src/payments/*, which overlaps the reservation of amber-otter, for Respect reduced motion, part 2")
    page.sees(".moments", "amber-otter reserved src/payments/main.c for Replace cron by the scheduler, part 2")


def test_a_button_that_is_pressed_while_its_bead_changes_gets_the_click(page):
    """The panel is drawn again after the release, not between the two."""
    browser, bead = page.browser, fresh(page, "Pressed")
    open_bead(page, bead)
    at = browser.place("[data-field=edit-description]")
    browser.mouse("Moved", *at)
    browser.mouse("Pressed", *at)
    page.repo.bd("update", bead, "--title", "Changed meanwhile").ok()
    browser.until(lambda: browser.run("return [...document.querySelectorAll('main *')].some((el) => el.textContent === 'Changed meanwhile')"))
    assert browser.run("return document.querySelector('.about h2').textContent") == "Pressed"
    browser.mouse("Released", *at)
    browser.until(lambda: browser.run("return document.querySelector('.part.description button.save') !== null"))
    browser.press(ESCAPE)
    page.sees(".about h2", "Changed meanwhile")
