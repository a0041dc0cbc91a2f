#!/usr/bin/env python3
"""Takes screenshots of every view of the page, of the project that demo.py makes, and of a project without beads.

    test/web/shots.py FOLDER [view …] [width …] [light|dark]
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent), str(HERE.parent / "helpers")]

from browser import Browser  # noqa: E402
from demo import BUILD, Demo  # noqa: E402

SIZES = {390: 844, 768: 1024, 1440: 900, 2560: 1440}
SMALL = {1260: 700}  # for the documentation
CLICK = "document.querySelector(arguments[0]).click()"


def views(demo):
    """By name: the address, a sign that the view is drawn, and what is clicked then."""
    bead, agent = demo.todo[0], "amber-otter"
    return {
        "now": ("#/now", ".rows .row"),
        "sessions": ("#/sessions", ".card"),
        "bead": (f"#/now?task={bead}", ".item"),
        "thread": (f"#/now?task={bead}", ".item", ".to-timeline"),
        "message": (f"#/now?task={bead}", ".item", ".composer input[value=mail]"),
        "activity": ("#/activity", ".acts .act"),
        "agent": (f"#/now?agent={agent}", ".acts .act"),
        "board": ("#/work", ".card"),
        "groups": ("#/work?group=epic", ".card-group"),
        "table": ("#/work/table", ".table [role=row]"),
        "ready": ("#/work/ready", ".column .card"),
        "graph": ("#/work/graph", ".node"),
        "selection": (f"#/work/graph?task={demo.tasks[186]}", ".node.chosen"),
        "history": ("#/work/history", ".changes li"),
        "charts": ("#/work/charts", ".chart .line-ready"),
        "files": ("#/files", ".tree .file-row"),
        "past": ("#/now?past=last", ".travel output:not(:empty)"),
        "palette": ("#/now", ".rows .row", "#find"),
        "keys": ("#/now", ".rows .row", "#help"),
        "settings": ("#/now", ".rows .row", "#settings"),
        "create": ("#/now", ".rows .row", "#create"),
    }


def empty(path):
    """Of a project in which nothing has happened."""
    demo = Demo(path)
    demo.path.mkdir()
    demo.git("init", "-q", "-b", "main")
    demo.git("config", "user.name", "ada")
    demo.git("config", "user.email", "ada@example.com")
    subprocess.run([demo.program, "init", "--as", "ada"], cwd=path, check=True, capture_output=True, env=demo.env)
    places = {"now": "now", "sessions": "sessions", "activity": "activity", "board": "work", "table": "work/table", "ready": "work/ready", "graph": "work/graph",
              "charts": "work/charts", "history": "work/history", "files": "files"}
    return demo, {f"empty-{name}": (f"#/{place}", "main .quiet, main .summary:not(:empty)") for name, place in places.items()}


def take(browser, out, name, view):
    address, sign, *click = view
    browser.run("document.querySelector('dialog')?.close(); document.querySelector('#toast').hidden = true; location.hash = '#/now'")
    browser.until(lambda: browser.run("return document.querySelector('#drawer').hidden && !document.querySelector('.travel')"))
    browser.run("location.hash = arguments[0]", address)
    try:
        browser.find(sign, 3)
    except AssertionError:
        print(f"{name}: no {sign}")
    browser.run("document.activeElement.blur()")
    for selector in click:
        browser.run(CLICK, selector)
    browser.run("return new Promise(done => setTimeout(done, 150))")
    browser.shot(out / f"{name}.png")


def project(demo, all_views, out, wanted):
    """Every view that is wanted, at every width and in both schemes."""
    names = [w for w in wanted if w in all_views] or ([] if any(not w.isdigit() and w not in ("light", "dark") for w in wanted) else list(all_views))
    sizes = [int(w) for w in wanted if w.isdigit()] or list(SIZES)
    if not names:
        return
    run = lambda *args: subprocess.run([str(BUILD / "bin/abacus"), *args], cwd=demo.path, env=demo.env, check=True, capture_output=True, text=True)
    browser = Browser()
    try:
        browser.open(run("open", "--print").stdout.strip())
        browser.until(lambda: browser.run("return window.abacus?.store.loaded"))
        for scheme in [w for w in wanted if w in ("light", "dark")] or ["light", "dark"]:
            browser.scheme(scheme)
            for width in sizes:
                browser.size(width, {**SIZES, **SMALL}[width])
                for name in names:
                    take(browser, out, f"{name}-{width}-{scheme}", all_views[name])
        for line in browser.log():
            print(line["message"])
    finally:
        browser.close()
        run("serve", "--stop")


def main(folder, *wanted):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        demo = Demo(pathlib.Path(temporary) / "shop").make()
        project(demo, views(demo), out, wanted)
        project(*empty(pathlib.Path(temporary) / "new"), out, wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
