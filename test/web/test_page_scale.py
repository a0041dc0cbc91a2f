"""10,000 beads, 200 agents on 12 machines, 50,000 events: the page is drawn within a second, and stays small."""
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

from browser import Browser, available
from conftest import BIN, environment, git
from harness import patience
from machines import Machine, machine
from remotes import bare

pytestmark = pytest.mark.skipif(not available(), reason="chromium and chromedriver are not at hand")
BEADS, EPICS, AGENTS, EVENTS, MACHINES = 10_000, 200, 200, 50_000, 12


def pipe(repo, lines):
    """Many operations in one process."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([str(BIN / "abacus"), "pipe"], input=text.encode(), capture_output=True, cwd=repo.path,
                          env=environment(**repo.env), check=True)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert all("data" in r for r in replies), next(r for r in replies if "data" not in r)
    return [r["data"] for r in replies]


def moment(i):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1790000000 + i)) + ".000Z"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    path = tmp_path_factory.mktemp("scale") / "proj"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    repo = Machine(path)
    repo.run("init", "--prefix", "bd").ok()
    epics = [b["id"] for b in pipe(repo, ({"op": "bead create", "params": {"title": f"Epic {i}", "type": "epic"}} for i in range(EPICS)))]
    pipe(repo, ({"op": "bead create", "params": {"title": f"Task number {i} of the crowd", "priority": i % 5, "parent": epics[i % EPICS]}}
                for i in range(BEADS - EPICS)))
    beads = repo.ids("list", "--all", "-n", "0", "--brief")
    agents = [f"agent-{i:03}" for i in range(AGENTS)]
    share(repo, agents)
    pipe(repo, ({"op": "agent reserve", "params": {"agent": a, "scope": f"src/{a}/*", "bead": beads[0]}} for a in agents[:100]))
    fill(path / ".beadboard/agent", agents, beads)
    # the first message that this program writes to a mailbox makes the box's snapshot
    repo.run("agent", "send", "--from", agents[0], "--to", "broadcast", "--bead", beads[0], "--category", "INFO", "--subject", "Welcome", "--body", "b", program="bb").ok()
    return repo


def share(repo, agents):
    """Every twelfth agent is on this machine, the others on eleven machines that share with it."""
    remote = bare(repo.path.parent / "remote")
    git(repo.path, "remote", "add", "origin", str(remote))
    repo.bb("init")
    repo.share("machine-00")
    others = [machine(repo.path.parent / f"m{i:02}", remote, f"machine-{i:02}") for i in range(1, MACHINES)]
    for i, one in enumerate([repo, *others]):
        pipe(one, ({"op": "agent register", "params": {"name": a, "role": "worker"}} for a in agents[i::MACHINES]))
    for one in [*others, repo]:
        one.exchange()


def fill(home, agents, beads):
    """Mail and protocol events, in the format of the contract."""
    boxes = {a: [] for a in agents}
    events = []
    for i in range(EVENTS // 2):
        sender, to, bead = agents[i % AGENTS], agents[(i * 7 + 1) % AGENTS], beads[(i * 13) % len(beads)]
        boxes[to].append(json.dumps({
            "message_id": f"msg_20260921_000000_{i:016x}", "thread_id": f"bead:{bead}", "bead_id": bead, "from_agent": sender,
            "to_agent": to, "category": "INFO", "subject": f"About number {i}", "body": "Some words. " * 8, "state": "unread",
            "requires_ack": False, "created_at": moment(i), "read_at": None, "acked_at": None}, separators=(",", ":")))
        events.append(json.dumps({
            "id": f"proto_20260921_000000_{i:016x}", "version": "v1", "event_type": "HANDOFF", "project_root": "/p", "bead_id": bead,
            "from_agent": sender, "to_agent": to, "scope": None, "created_at": moment(i),
            "payload": {"subject": "s", "summary": "words " * 10, "next_action": "n", "requires_ack": True}}, separators=(",", ":")))
    (home / "messages").mkdir(exist_ok=True)
    for agent, lines in boxes.items():
        (home / f"messages/{agent}.jsonl").write_text("".join(line + "\n" for line in lines))
    with open(home / "events.jsonl", "a") as f:
        f.write("".join(line + "\n" for line in events))


def memory(pid):
    """The memory of the service and its workers in MB, with shared pages counted once."""
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    total = 0
    for one in [str(pid), *children]:
        found = re.search(r"^Pss:\s+(\d+) kB", pathlib.Path(f"/proc/{one}/smaps_rollup").read_text(), re.M)
        total += int(found[1])
    return total / 1024


@pytest.fixture
def window(crowd):
    browser = Browser()
    yield browser
    browser.open("about:blank")
    crowd.run("serve", "--stop", program="abacus")
    browser.close()


VIEWS = (("#/activity", ".activity .act"), ("#/sessions", ".sessions .card"), ("#/work", ".work .card"), ("#/now", ".now .row"),
         ("#/files", ".tree .hold"), ("#/work/table", ".table .c-title a"), ("#/work/graph", ".graph-view .summary:not(:empty)"), ("#/work/charts", ".chart"),
         ("#/now?agent=agent-001", ".about .live"), ("#/now?agent=agent-150", ".about .live"))


def test_the_page_is_drawn_within_a_second_and_stays_small(crowd, window):
    url = crowd.run("open", "--print", program="abacus").ok().out.strip()
    window.open(url)
    window.until(lambda: window.run("return document.querySelectorAll('.row').length > 3"), 10)
    paints, firsts, wholes = [], [], []
    for i in range(5):  # the browser's own start is not what is measured, nor what else this machine does
        window.open(f"{window.run('return location.origin')}/?{i}")
        window.until(lambda: window.run("return document.querySelectorAll('.row').length > 3 && performance.getEntriesByName('loaded').length"), 10)
        firsts.append(window.run("return performance.getEntriesByName('now')[0].startTime"))
        paints.append(window.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        wholes.append(window.run("return performance.getEntriesByName('loaded')[0]?.startTime ?? 0"))
    print(f"first paint after {min(paints):.0f} ms, Now after {min(firsts):.0f} ms, all of it after {min(wholes):.0f} ms")
    assert min(paints) < 200 * patience(1) and min(firsts) < 1000 * patience(1), (paints, firsts)
    assert window.run("return window.abacus.store.tasks.size") == BEADS
    assert window.run("return new Set([...window.abacus.store.agents.values()].map(a => a.machine ?? '')).size") == MACHINES

    # the first view asks for what it shows, and the beads come in pages
    sizes = window.run("return Object.fromEntries(performance.getEntriesByType('resource').filter(r => r.name.includes('/api/')).map(r => [r.name.split('/api/')[1], r.decodedBodySize]))")
    assert sizes["status?limit=40"] < 60_000 and max(sizes.values()) < 1_500_000, sizes

    # every view is there within a second
    for address, sign in VIEWS:
        took = window.ask("POST", "/execute/async", {"args": [address, sign], "script": """
            const [address, sign, done] = arguments, from = performance.now();
            location.hash = address;
            const look = () => (document.querySelector(sign) ? done(performance.now() - from) : setTimeout(look, 5));
            look();"""})
        print(f"{address} after {took:.0f} ms")
        assert took < 1000 * patience(1), address
    window.run("location.hash = '#/sessions'")
    window.find(".feed .card")

    # only what can be seen is in the document, wherever one scrolls
    count = "return [document.querySelectorAll('*').length, document.querySelectorAll('.card').length]"
    for part in (0, 0.3, 0.77, 1):
        window.run("const f = document.querySelector('.feed'); f.scrollTop = f.scrollHeight * arguments[0]", part)
        window.until(lambda: window.run("return document.querySelectorAll('.card').length > 3"))
        elements, cards = window.run(count)
        assert elements < 1500 and cards < 80, (part, elements, cards)

    # a change is still there within a second
    bead = crowd.create("Fresh among ten thousand", "-p", "0")
    window.run("document.querySelector('.feed').scrollTop = 0; location.hash = '#/sessions?q=fresh'")
    window.wait_text(".card", "Fresh among ten thousand", 2)
    assert bead

    pid = json.loads((crowd.home / "serve/address.json").read_text())["pid"]
    if os.path.exists(f"/proc/{pid}/smaps_rollup"):  # once the last answer is sent
        window.until(lambda: memory(pid) <= 64)


def test_every_view_is_drawn_within_a_second_as_the_first_view(crowd, window):
    window.open(crowd.run("open", "--print", program="abacus").ok().out.strip())
    window.find(".row", 10)
    origin = window.run("return location.origin")
    for i, (address, sign) in enumerate(VIEWS):
        took = []
        for attempt in range(3):
            window.open(f"{origin}/?{i}{attempt}{address}")
            window.find(sign, 10)
            took.append(window.run("return performance.now()"))
        print(f"{address} first: {min(took):.0f} ms")
        assert min(took) < 1000 * patience(1), address


LISTS = (("#/sessions", ".feed"), ("#/work", ".column:nth-child(2) .scroll"), ("#/work/table?closed=1", ".table .scroll"), ("#/activity", ".activity .scroll"))


# Runs a step in each of 90 frames; the result is the time from each frame to the next.
FRAMES = """
    const done = arguments[arguments.length - 1], times = [];
    let last = performance.now();
    const frame = (now) => {
        times.push(now - last); last = now;
        if (times.length > 90) return done(times.slice(1));
        step(times.length);
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);"""
SCROLL = "const f = document.querySelector(arguments[0]); f.scrollTop = 0; const step = () => { f.scrollTop += f.clientHeight / 3; };" + FRAMES
# What a frame is compared with: it lays out 60 new lines of eight words.
PLAIN = """
    const box = document.body.appendChild(document.createElement("div"));
    box.style = "position: fixed; inset: 0; background: white; z-index: 99";
    const step = (n) => {
        const lines = Array.from({length: 60}, (_, i) => {
            const line = document.createElement("p");
            for (let j = 0; j < 8; j++) {
                const word = line.appendChild(document.createElement("span"));
                word.style.padding = "2px";
                word.textContent = `word ${n * i + j}`;
            }
            return line;
        });
        box.replaceChildren(...lines);
        if (n === 90) box.remove();
    };""" + FRAMES


def test_the_longest_lists_scroll_smoothly(crowd, window):
    """A third of a screen per frame. Only the work of the page's thread counts, compared with that of a plain page, because
    processors differ, and are slower with other work."""
    window.open(crowd.run("open", "--print", program="abacus").ok().out.strip())
    window.until(lambda: window.run("return window.abacus?.store.loaded"), 20)
    cdp = lambda cmd, **params: window.ask("POST", "/goog/cdp/execute", {"cmd": cmd, "params": params})
    cdp("Performance.enable", timeDomain="threadTicks")
    spent = lambda: next(m["value"] for m in cdp("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")

    def work_of(script, *args):
        before = spent()
        frames = sorted(window.ask("POST", "/execute/async", {"args": args, "script": script}))
        work = 1000 * (spent() - before) / len(frames)
        print(f"{work:.1f} ms of work for a frame; frames: median {frames[45]:.0f} ms, 95 % below {frames[85]:.0f} ms, worst {frames[-1]:.0f} ms; {args}")
        return work

    for address, list_ in LISTS:
        window.run("location.hash = arguments[0]", address)
        window.until(lambda: window.run("const l = document.querySelector(arguments[0]); return l && l.scrollHeight > 3 * l.clientHeight", list_))
        assert any(work_of(SCROLL, list_) < 3 * work_of(PLAIN) for _ in range(3)), address


def test_the_board_and_the_thread_stay_small(crowd, window):
    window.open(crowd.run("open", "--print", program="abacus").ok().out.strip())
    window.until(lambda: window.run("return window.abacus?.store.loaded"), 10)
    window.run("location.hash = '#/work'")
    window.wait_text(".column h2", "Ready 9", 5)
    heap, whole = tab_memory(window)
    print(f"the tab has {heap:.0f} MB of objects, {whole:.0f} MB in all")
    assert heap < 150 and whole < 150
    assert window.run("return document.querySelectorAll('*').length") < 1500
    window.run("location.hash = '#/work/graph'")
    window.wait_text(".graph-view .summary", "No dependencies to show", 5)
    window.run("location.hash = '#/sessions?task=' + [...window.abacus.store.tasks.keys()][5]")
    window.find(".item", 5)


def tab_memory(window):
    """The memory of the page's process in MB, after a garbage collection."""
    cdp = lambda cmd: window.ask("POST", "/goog/cdp/execute", {"cmd": cmd, "params": {}})
    cdp("HeapProfiler.enable")
    cdp("HeapProfiler.collectGarbage")
    heap = window.run("return performance.memory.usedJSHeapSize") / 1e6
    largest = 0
    for pid in subprocess.run(["pgrep", "-f", window.profile], capture_output=True, text=True).stdout.split():
        try:
            if "--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_text():
                largest = max(largest, int(re.search(r"^Pss:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1]) / 1024)
        except OSError:
            pass
    return heap, largest


@pytest.mark.skipif(not os.environ.get("ABACUS_THOROUGH"), reason="takes minutes; ABACUS_THOROUGH=1 runs it")
def test_an_hour_of_events_leaves_the_tab_small(crowd, window):
    """36,000 events, as 10 per second for an hour, as fast as they can be written."""
    window.open(crowd.run("open", "--print", program="abacus").ok().out.strip())
    window.until(lambda: window.run("return window.abacus?.store.loaded"), 20)
    heap, whole = tab_memory(window)
    print(f"the tab begins with {heap:.0f} MB of objects, {whole:.0f} MB in all")
    agents, beads = [f"agent-{i:03}" for i in range(AGENTS)], crowd.ids("list", "--all", "-n", "0", "--brief")
    started, views = time.monotonic(), ("#/now", "#/activity", "#/work", "#/sessions", "#/files")
    for part in range(36):
        window.run("location.hash = arguments[0]", views[part % len(views)])
        pipe(crowd, ({"op": "agent heartbeat", "params": {"agent": agents[i % AGENTS]}} if i % 4 else
                     {"op": "bead comment", "params": {"id": beads[(part * 1000 + i) % len(beads)], "text": f"Progress {part} {i}", "agent": agents[i % AGENTS]}} for i in range(1000)))
    window.run("location.hash = '#/now'")
    window.wait_text(".rail .act", "Progress 35 996", 60)
    heap, whole = tab_memory(window)
    print(f"36,000 events in {time.monotonic() - started:.0f} s; then the tab has {heap:.0f} MB of objects, {whole:.0f} MB in all")
    assert heap < 150 and whole < 150
