"""The page, after another user's server has taken the port of the service."""
import json
import os
import subprocess
import sys

import pytest

from browser import available
from test_page import Page, kill, page, story, window  # noqa: F401

pytestmark = pytest.mark.skipif(not available(), reason="chromium and chromedriver are not at hand")

# Another user's, if the test may choose. Answers every request with data of its own, signed as well as it can: with what the request was signed with. It tells
# on its output what it was sent.
IMPOSTOR = r"""
import encodings.idna, http.server, json, os, socket, sys, threading, traceback

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        print(json.dumps([self.requestline, "".join(f"{k}: {v}\n" for k, v in self.headers.items()), body.decode()]), flush=True)
        data = {"sessions": [], "agents": [], "reservations": [], "incursions": [], "tasks": [], "id": "bd-evil", "items": [],
                "bead": {"id": "bd-evil", "title": "FORGED", "status": "open", "priority": 0, "type": "task"}}
        data["sessions"] = [{"id": "bd-evil", "title": "FORGED", "type": "epic", "status": "open", "priority": 0, "tasks": [],
                             "total": 0, "closed": 0, "last_act": {"at": "2026-01-01T00:00:00.000Z"}}]
        text = json.dumps({"data": data}).encode()
        kind = "application/json"
        if self.path.startswith("/api/events"):
            text, kind = b'id: 1\nevent: bead\ndata: {"all":true,"ids":[],"by":"FORGED"}\n\n', "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-Abacus-Proof", self.headers.get("Authorization", "").split(":")[-1])
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    pass

class Server6(Server):
    address_family = socket.AF_INET6

port = int(sys.argv[1])
servers = [Server(("127.0.0.1", port), Handler)]
try:
    servers.append(Server6(("::1", port), Handler))
except OSError:
    pass  # no IPv6 here
print("ready", flush=True)  # before the first request: the servers listen already
for one in servers[1:]:
    threading.Thread(target=one.serve_forever, daemon=True).start()
servers[0].serve_forever()
"""


class Impostor:
    def __init__(self, port):
        self.process = subprocess.Popen([sys.executable, "-c", IMPOSTOR, str(port)], cwd="/", text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        """Stops it; returns everything that was sent to it."""
        self.process.kill()
        return [json.loads(line) for line in self.process.communicate()[0].splitlines()]


@pytest.fixture
def impostor():
    made = []

    def take(port):
        made.append(Impostor(port))
        return made[-1]

    yield take
    for one in made:
        one.process.kill()
        one.process.wait()


def test_an_impostor_gets_no_secret_and_can_show_nothing(story, impostor):
    """Neither while the page waits, nor when a person sends a message."""
    story.enter()
    story.go(f"#/sessions?task={story.bug}")
    story.sees(".about h2", "Parser fails")
    story.browser.type(".composer textarea", "typed in confidence")
    key = story.browser.run("return localStorage.getItem('abacus-key')")
    address = json.loads((story.repo.home / "serve/address.json").read_text())
    assert len(key) == 64 and key != address["token"]
    kill(story)
    story.sees("#state", "Connection lost")
    server = impostor(int(address["url"].rstrip("/").rsplit(":", 1)[1]))
    story.sees("#state", "The service has stopped or was restarted. Run 'abacus open'", 10)
    story.browser.click(".composer button[type=submit]")
    story.sees("#toast", "The service has stopped or was restarted. Run 'abacus open' to open the page again.")
    story.go("#/work")
    sent = server.end()
    assert sent and {line.split()[1] for line, _, _ in sent} == {"/api/proof"}, "it asked an impostor for more than a proof"
    told = json.dumps(sent)
    for secret in (key, address["token"], "typed in confidence", story.bug):
        assert secret not in told
    assert "FORGED" not in story.browser.run("return document.documentElement.outerHTML")
    story.go(f"#/work?task={story.bug}")
    assert story.browser.run("return document.querySelector('.composer textarea').value") == "typed in confidence"
    assert story.browser.run("return localStorage.getItem('abacus-key')") is None, "a key that opens nothing is kept"


def test_data_sent_to_an_impostor_does_not_open_the_next_service(page, impostor):
    """Even on the same port."""
    page.enter()
    port = int(json.loads((page.repo.home / "serve/address.json").read_text())["url"].rstrip("/").rsplit(":", 1)[1])
    kill(page)
    page.sees("#state", "Connection lost")
    server = impostor(port)
    page.sees("#state", "The service has stopped", 10)
    [(_, headers, _), *_] = server.end()
    given = next(line for line in headers.splitlines() if line.startswith("Authorization: Abacus "))
    service = page.repo.spawn("serve", "--port", str(port), program="abacus", stdout=subprocess.PIPE)
    try:
        assert b"Serving" in service.stdout.readline()
        for host in (page.origin.removeprefix("http://"), f"127.0.0.1:{port}"):
            done = subprocess.run(["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "-H", given, "-H", f"Host: {host}",
                                   f"http://127.0.0.1:{port}/api/proof"], capture_output=True, text=True)
            assert done.stdout in ("401", "421")
    finally:
        service.terminate()
        service.communicate()


def test_a_restarted_service_is_noticed(page):
    """On the same port: the open page reports it, and is otherwise unchanged."""
    page.repo.create("Shown before")
    page.enter()
    page.sees(".card", "Shown before")
    port = page.origin.rsplit(":", 1)[1]
    kill(page)
    page.sees("#state", "Connection lost")
    service = page.repo.spawn("serve", "--port", port, program="abacus", stdout=subprocess.PIPE)
    try:
        page.sees("#state", "The service has stopped or was restarted. Run 'abacus open' to open the page again.", 10)
        page.sees(".card", "Shown before")
        assert page.browser.run("return window.untouched"), "the page was loaded again"
        page.browser.log()  # the browser itself complains of every 421
        page.enter()
        page.sees(".card", "Shown before")
    finally:
        service.terminate()
        service.communicate()


def test_a_page_without_a_key_asks_to_be_opened(page):
    page.enter()
    page.browser.run("localStorage.removeItem('abacus-key')")
    page.browser.open(page.origin + "/?again")
    page.sees("#state", "Run 'abacus open' in the project to open this page.")


def test_a_second_tab_shares_the_key(page):
    """A link that is opened in a new tab needs no invitation."""
    page.repo.create("In two tabs")
    page.enter()
    before = page.browser.ask("GET", "/window")
    page.browser.ask("POST", "/window", {"handle": page.browser.ask("POST", "/window/new", {"type": "tab"})["handle"]})
    try:
        page.browser.open(page.origin + "/#/work")
        page.sees(".card", "In two tabs")
    finally:
        page.browser.ask("DELETE", "/window")
        page.browser.ask("POST", "/window", {"handle": before})


def test_the_page_uses_no_cookie(page):
    """A cookie would be sent to every port of the machine."""
    page.enter()
    assert page.browser.run("return document.cookie") == ""
    assert page.browser.ask("GET", "/cookie") == []
