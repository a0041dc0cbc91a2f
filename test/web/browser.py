"""A real browser: Chromium, controlled over the WebDriver protocol."""
import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from harness import patience

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--hide-scrollbars"]


def available():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    """One window. Every query is repeated until it succeeds or a deadline is over."""

    def __init__(self, width=1440, height=900, dark=False):
        self.port = free_port()
        self.profile = tempfile.mkdtemp(prefix="abacus-browser-")
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{self.port}"
        self.session = None
        flags = FLAGS + [f"--user-data-dir={self.profile}", f"--window-size={width},{height}"]
        if dark:
            flags.append("--force-dark-mode")
        options = {"binary": shutil.which("chromium"), "args": flags}
        self.until(lambda: self._ask("GET", "/status")["ready"], 20)
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = made["sessionId"]
        self.size(width, height)

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(json.load(e)["value"]["message"]) from None

    def ask(self, method, path, body=None):
        return self._ask(method, f"/session/{self.session}{path}", body)

    @staticmethod
    def until(question, seconds=10):
        """The first result that is not empty."""
        end = time.monotonic() + patience(seconds)
        last = None
        while time.monotonic() < end:
            try:
                answer = question()
                if answer:
                    return answer
            except (RuntimeError, OSError, KeyError) as e:
                last = e
            time.sleep(0.03)
        raise AssertionError(f"not within {seconds} s" + (f": {last}" if last else ""))

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def size(self, width, height):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def scheme(self, name):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": name}]}})

    def run(self, script, *args):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def find(self, selector, seconds=10):
        return self.until(lambda: self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT], seconds)

    def text(self, selector="body", seconds=10):
        self.find(selector, seconds)
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def wait_text(self, selector, part, seconds=10):
        """Waits for an element with this text; an empty text is in every element."""
        return self.until(lambda: self.run(
            "return [...document.querySelectorAll(arguments[0])].some(e => (e.innerText ?? e.textContent).includes(arguments[1]))",
            selector, part), seconds)

    def on(self, selector, path, body):
        """Does something to an element; the page may replace the element meanwhile."""
        def attempt():
            self.ask("POST", f"/element/{self.find(selector)}/{path}", body)
            return True
        self.until(attempt)

    def click(self, selector):
        """Clicks once the element stands still: rows that arrive above it could move it away from the mouse."""
        box = "const b = document.querySelector(arguments[0])?.getBoundingClientRect(); return b && [b.x, b.y, b.width, b.height]"

        def still():
            first = self.run(box, selector)
            time.sleep(0.05)
            return first and self.run(box, selector) == first
        self.until(still)
        self.on(selector, "click", {})

    def type(self, selector, words):
        self.on(selector, "value", {"text": words})

    # --- the mouse ---

    def place(self, selector, across=.5, down=.5):
        """Where the element is: so far across and down it. It stands still and can be hit there: nothing covers it."""
        look = lambda: self.run("""
            const el = document.querySelector(arguments[0]);
            el?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
            const box = el?.getBoundingClientRect();
            if (!box?.width) return null;
            const x = box.left + box.width * arguments[1], y = box.top + box.height * arguments[2], hit = document.elementFromPoint(x, y);
            return el.contains(hit) || hit?.closest('label')?.contains(el) ? [x, y] : null;""", selector, across, down)

        def still():
            first = look()
            time.sleep(0.05)
            return first if first and look() == first else None
        return tuple(self.until(still))

    def mouse(self, kind, x, y, **more):
        """One event of the mouse: Moved, Pressed, Released or Wheel."""
        held = {"button": "left", "buttons": 1, "clickCount": 1} if kind in ("Pressed", "Released") else {}
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Input.dispatchMouseEvent", "params": {"type": f"mouse{kind}", "x": x, "y": y, **held, **more}})

    def hit(self, selector, across=.5, down=.5, **more):
        """Moves the mouse to the element and clicks."""
        x, y = self.place(selector, across, down)
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y, **more)
        self.mouse("Released", x, y, **more)

    def drag(self, *way):
        """Presses the button at the first place, moves over the others and lets go at the last."""
        self.mouse("Moved", *way[0])
        self.mouse("Pressed", *way[0])
        for (x1, y1), (x2, y2) in zip(way, way[1:]):
            for step in range(1, 6):
                self.mouse("Moved", x1 + (x2 - x1) * step / 5, y1 + (y2 - y1) * step / 5, button="left", buttons=1)
        for _ in range(2):  # a hand rests before it lets go: the browser asks the element below once more
            self.mouse("Moved", *way[-1], button="left", buttons=1)
        self.mouse("Released", *way[-1])

    def press(self, key):
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def shot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def log(self):
        """The errors that the page logged."""
        return [e for e in self.ask("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(10)
            shutil.rmtree(self.profile, ignore_errors=True)
