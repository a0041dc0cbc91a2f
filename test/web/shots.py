#!/usr/bin/env python3
"""Takes screenshots of every view of the page, of the project that demo.py makes.

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


def views(demo):
    """By name: the address, and a sign that the view is drawn."""
    bead, agent = demo.todo[0], "amber-otter"
    return {
        "now": ("#/now", ".rows .row"),
        "sessions": ("#/sessions", ".card"),
        "bead": (f"#/now?task={bead}", ".item"),
        "activity": ("#/activity", ".acts .act"),
        "agent": (f"#/now?agent={agent}", ".acts .act"),
        "board": ("#/work", ".card"),
        "table": ("#/work/table", ".table [role=row]"),
        "graph": ("#/work/graph", ".node"),
        "history": ("#/work/history", ".changes li"),
        "charts": ("#/work/charts", ".chart .line-ready"),
        "files": ("#/files", ".tree .file-row"),
    }


def main(folder, *wanted):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    sizes = [int(w) for w in wanted if w.isdigit()] or list(SIZES)
    schemes = [w for w in wanted if w in ("light", "dark")] or ["light", "dark"]
    with tempfile.TemporaryDirectory() as temporary:
        demo = Demo(pathlib.Path(temporary) / "shop").make()
        run = lambda *args: subprocess.run([str(BUILD / "bin/abacus"), *args], cwd=demo.path, env=demo.env, check=True, capture_output=True, text=True)
        all_views = views(demo)
        names = [w for w in wanted if w in all_views] or list(all_views)
        browser = Browser()
        try:
            browser.open(run("open", "--print").stdout.strip())
            browser.until(lambda: browser.run("return window.abacus?.store.loaded"))
            for scheme in schemes:
                browser.scheme(scheme)
                for width in sizes:
                    browser.size(width, {**SIZES, **SMALL}[width])
                    for name in names:
                        address, sign = all_views[name]
                        browser.run("location.hash = arguments[0]", address)
                        try:
                            browser.find(sign, 3)
                        except AssertionError:
                            print(f"{name}: no {sign}")
                        browser.run("document.activeElement.blur(); return new Promise(done => setTimeout(done, 150))")
                        browser.shot(out / f"{name}-{width}-{scheme}.png")
            for line in browser.log():
                print(line["message"])
        finally:
            browser.close()
            run("serve", "--stop")


if __name__ == "__main__":
    main(*sys.argv[1:])
