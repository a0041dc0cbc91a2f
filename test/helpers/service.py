"""A client of the local service: starts it in a project, sends requests over both sockets, and stops it."""
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import re
import resource
import secrets
import select
import signal
import socket
import subprocess
import time
import uuid

import pytest

from conftest import BIN, BUILD, Repo, environment, git
from harness import patience, wait_until

AGENTS = ("amber-otter", "cobalt-harbor")
SANITIZED = b"__asan_init" in (BUILD / "libexec" / "abacus-serve").read_bytes()
SOON = 3 if SANITIZED else 1  # seconds, on a quiet machine


class Answer:
    """An HTTP response: status, headers (names in lower case), body."""

    def __init__(self, raw):
        head, _, body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def data(self):
        assert self.status == 200, (self.status, self.body)
        return self.json["data"]

    @property
    def error(self):
        """The error, which must have a code, a message, a hint, and the status of the response."""
        error = self.json["error"]
        assert error["code"] and error["message"] and error["hint"], error
        assert error["status"] == self.status, error
        return error


def receive(sock):
    """Receives until the other side closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := sock.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def head_of(method, path, host="localhost", headers=None, body=None):
    lines = [f"{method} {path} HTTP/1.1"]
    given = {"Host": host, "Connection": "close", **(headers or {})}
    if body is not None:
        given.setdefault("Content-Length", str(len(body)))
        given.setdefault("Content-Type", "application/json")
    lines += [f"{k}: {v}" for k, v in given.items() if v is not None]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Key:
    """The secret that a page shares with the service: signs requests, and verifies signatures of responses."""

    def __init__(self, digits):
        self.digits = digits

    @classmethod
    def of(cls, page):
        """The key in the page that an invitation opens."""
        return cls(re.search(rb"data-key=([0-9a-f]{64})", page.body)[1].decode())

    def mac(self, *lines):
        return hmac.new(self.digits.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()

    def sign(self, method, path, body=b"", nonce=None):
        nonce, digest = nonce or secrets.token_hex(16), hashlib.sha256(body).hexdigest()
        return f"Abacus {nonce}:{digest}:{self.mac('abacus ask', method, path, nonce, digest)}"

    def proves(self, authorization, answer, digest=None):
        nonce = authorization.split()[1].split(":")[0]
        digest = digest or hashlib.sha256(answer.body).hexdigest()
        return answer.headers.get("x-abacus-proof") == self.mac("abacus answer", nonce, str(answer.status), digest)


class Service:
    """`abacus serve` in a repository. All its processes have a mark in their environment, so that close() finds them."""

    def __init__(self, repo, **env):
        self.repo = repo
        self.mark = f"ABACUS_TEST_MARK={uuid.uuid4().hex}"
        # some operations write to files in HOME, which must be the test's
        self.env = {**repo.env, "HOME": str(repo.path.parent), **env}
        self.process = None
        self.args = ()

    # --- processes ---

    def start(self, *args, limits=None):
        """`limits`: of resources, as for resource.setrlimit()."""
        name, value = self.mark.split("=")
        self.args = args
        self.process = subprocess.Popen(
            [str(BIN / "abacus"), "serve", *args], cwd=self.repo.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment(**{**self.env, name: value}),
            preexec_fn=limits and (lambda: [resource.setrlimit(*limit) for limit in limits.items()]))
        wait_until(self.has_begun, "it tells where it is", 20)
        assert not self.ended(), self.process.communicate()
        return self

    def has_begun(self):
        """Compares process ids, because the address file may be left from an earlier service."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return self.ended() or self.address["pid"] == self.process.pid
        return self.ended()

    def ended(self):
        return self.process.poll() is not None

    def signal(self, number, seconds):
        """Sends a signal, and returns how long the service took to exit."""
        begun = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=seconds)
        return time.monotonic() - begun

    def terminate(self, seconds=10):
        return self.signal(signal.SIGTERM, seconds)

    def kill(self):
        return self.signal(signal.SIGKILL, 10)

    def again(self):
        return self.start(*self.args)

    def processes(self):
        """The command lines of all running processes with the mark, by process id."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().decode().split("\0")[:-1]
        return found

    def workers(self):
        return [pid for pid, words in self.processes().items() if words[-1:] == ["pipe"]]

    def close(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process:
            self.process.communicate()

    # --- addresses ---

    @property
    def folder(self):
        return self.repo.path / ".git" / "abacus" / "serve"

    @property
    def address(self):
        return json.loads((self.folder / "address.json").read_text())

    @property
    def token(self):
        return self.address["token"]

    @property
    def port(self):
        return int(self.address["url"].rstrip("/").rsplit(":", 1)[1])

    # --- requests ---

    def connect(self, loopback=False, timeout=10, small=0):
        sock = socket.socket(socket.AF_INET if loopback else socket.AF_UNIX)
        if small:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, small)
        # Without a timeout, a connection to the Unix socket waits while its queue is full.
        sock.connect(("127.0.0.1", self.port) if loopback else self.address["socket"])
        sock.settimeout(timeout)
        return sock

    def raw(self, data, loopback=False, timeout=10):
        """Sends bytes, and returns those received until the service closes the connection."""
        with self.connect(loopback, timeout) as sock:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(data)
            return receive(sock)

    def ask(self, method, path, body=None, headers=None, loopback=False, timeout=10):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        host = f"127.0.0.1:{self.port}" if loopback else "localhost"
        return Answer(self.raw(head_of(method, path, host, headers, body) + (body or b""), loopback, timeout))

    def get(self, path, **kw):
        return self.ask("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.ask("POST", path, {} if body is None else body, **kw)

    def page(self, method, path, headers=None, body=None, **kw):
        """Sends a request over TCP, with the token unless the headers override it."""
        given = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return self.ask(method, path, body, given, loopback=True, **kw)

    def begin(self, path, body):
        """Sends a request without waiting for the response. Returns the socket."""
        sock = self.connect()
        text = json.dumps(body).encode()
        sock.sendall(head_of("POST", path, body=text) + text)
        return sock

    def answers_soon(self, seconds=SOON):
        """A normal request is answered within the time limit."""
        begun = time.monotonic()
        assert self.get("/api/bead/list").status == 200
        took = time.monotonic() - begun
        assert took < patience(seconds), f"it took {took:.2f} s"


class Stream:
    """A client of the event stream."""

    def __init__(self, service, after=None, loopback=False, small=0, headers=None):
        given = {"Last-Event-ID": after, **(headers or {})}
        if loopback:
            given["Authorization"] = f"Bearer {service.token}"
        host = f"127.0.0.1:{service.port}" if loopback else "localhost"
        self.sock = service.connect(loopback, small=small)
        self.sock.sendall(head_of("GET", "/api/events", host, given))
        self.raw = b""
        self.text = b""
        self.status = None
        self.open = True
        self.events = []  # (id, event, data)

    def fileno(self):
        return self.sock.fileno()

    def close(self):
        self.sock.close()

    def take(self):
        """Receives once, and parses the complete events."""
        try:
            part = self.sock.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            part = b""
        self.open = self.open and bool(part)
        self.raw += part
        if self.status is None and b"\r\n\r\n" in self.raw:
            head, self.raw = self.raw.split(b"\r\n\r\n", 1)
            self.status = int(head.split()[1])
        if self.status is not None:
            self.unchunk()

    def unchunk(self):
        while b"\r\n" in self.raw:
            size, rest = self.raw.split(b"\r\n", 1)
            n = int(size, 16)
            if len(rest) < n + 2:
                break
            self.text += rest[:n]
            self.raw = rest[n + 2:]
            if not n:
                self.open = False
        while b"\n\n" in self.text:
            event, self.text = self.text.split(b"\n\n", 1)
            self.add(event.decode())

    def add(self, text):
        fields = dict(line.split(": ", 1) for line in text.split("\n") if not line.startswith(":"))
        if fields:
            self.events.append((fields["id"], fields["event"], json.loads(fields["data"])))

    def until(self, true, seconds=10, what="what the stream should bring"):
        """Reads until the condition holds."""
        end = time.monotonic() + patience(seconds)
        while not true(self):
            left = end - time.monotonic()
            assert left > 0, f"never came: {what}; last {self.events[-3:]}"
            assert self.open, f"ended before: {what}; last {self.events[-3:]}"
            if select.select([self], [], [], left)[0]:
                self.take()
        return self

    def read_for(self, seconds):
        """Reads what arrives in this time, which does not depend on the load."""
        end = time.monotonic() + seconds
        while self.open and (left := end - time.monotonic()) > 0:
            if select.select([self], [], [], left)[0]:
                self.take()
        return self

    def begun(self):
        """Waits for the first event: later changes will be in the stream."""
        return self.until(lambda s: s.events, what="a first event")

    def of(self, event):
        return [data for _, name, data in self.events if name == event]

    def beads(self):
        """The bead ids in the events, in their order."""
        return [bead for data in self.of("bead") for bead in data["ids"]]

    @property
    def last(self):
        return self.events[-1][0]


def read_all(streams, true, seconds=30, what="what all streams should bring"):
    """Reads many streams at once until the condition holds for each."""
    end = time.monotonic() + patience(seconds)
    left = {s.fileno(): s for s in streams if not true(s)}
    poll = select.poll()
    for fd in left:
        poll.register(fd, select.POLLIN)
    while left:
        now = time.monotonic()
        assert now < end, f"{len(left)} of {len(streams)} never got {what}"
        for fd, _ in poll.poll((end - now) * 1000):
            left[fd].take()
            assert left[fd].open, "a stream ended"
            if true(left[fd]):
                poll.unregister(fd)
                del left[fd]


@pytest.fixture
def served(repo):
    """A running service with both sockets, in a repository with beads."""
    service = Service(repo)
    try:
        yield service.start("--port", "0")
    finally:
        service.close()


@pytest.fixture
def services():
    """Makes services, and stops all of them after the test."""
    made = []

    def make(repo, **env):
        made.append(Service(repo, **env))
        return made[-1]

    yield make
    for service in made:
        service.close()


def set_up(repo):
    """Sets up a board and the agents."""
    repo.run("init", program="bb").ok()
    for name in AGENTS:
        repo.run("agent", "register", "--name", name, "--role", "ui", program="bb").ok()
    return repo


def project_at(path):
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    repo = Repo(path)
    repo.bd("init", "--prefix", "bd").ok()
    return repo
