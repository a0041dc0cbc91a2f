"""Who may use the service, with which requests, and how it starts and ends."""
import contextlib
import errno
import fcntl
import json
import os
import pathlib
import resource
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import time

import pytest

from conftest import git
from harness import needs_root, open_up, patience, wait_until
from service import AGENTS, SANITIZED, Key, SOON, Answer, Service, Stream, head_of, project_at, receive, served, services, set_up

NOBODY = 65534
LIST = "/api/bead/list"


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


# --- other users ---

def as_nobody(work):
    """Runs it in a child process of another user; returns its result, or the errno."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = work()
        except OSError as e:
            said = errno.errorcode[e.errno]
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    os.waitpid(child, 0)
    return json.loads(said)


def ask_socket(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(path)
        sock.sendall(head_of("GET", LIST))
        return receive(sock).split()[1].decode()


def test_the_files_of_the_service_are_private(served):
    assert mode(served.folder) == 0o700
    assert mode(served.address["socket"]) == 0o600
    assert mode(served.folder / "address.json") == 0o600
    assert {mode(f) & 0o077 for f in served.folder.iterdir()} == {0}


@needs_root
def test_another_user_is_kept_out(served):
    path = served.address["socket"]
    open_up(served.folder.parent)
    assert as_nobody(lambda: ask_socket(path)) == "EACCES"
    assert as_nobody(lambda: open(served.folder / "address.json").read()) == "EACCES"
    open_up(served.folder)  # the socket keeps its own
    assert as_nobody(lambda: ask_socket(path)) == "EACCES"
    os.chmod(path, 0o777)  # and if even that is open, the kernel tells who it is
    assert as_nobody(lambda: ask_socket(path)) == "403"
    for folder in (served.folder.parent, served.folder.parent.parent):  # a store that others may write to is not used at all
        os.chmod(folder, 0o700)
    assert served.get(LIST).status == 200


@pytest.fixture
def run_dir():
    """As short as the runtime folders of real systems."""
    path = pathlib.Path(tempfile.mkdtemp())
    yield path
    shutil.rmtree(path)


def test_a_folder_that_others_may_enter_is_not_used(repo, services):
    folder = repo.home / "serve"
    folder.mkdir(mode=0o700)
    folder.chmod(0o755)
    done = repo.run("serve", program="abacus", timeout=10)
    assert done.code == 1 and "is a folder that other users can change" in done.err
    folder.chmod(0o700)
    services(repo).start().answers_soon()


@needs_root
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_folder_that_another_user_made_in_its_place_is_not_used(tmp_path, run_dir, kind):
    """The short path of a socket is in a folder where all users may create folders."""
    repo = project_at(tmp_path / ("d" * 60) / ("e" * 60))
    trap = run_dir / "abacus"
    if kind == "folder":
        trap.mkdir(mode=0o700)
    elif kind == "file":
        trap.write_text("")
    else:
        trap.symlink_to(tmp_path)
    os.chown(trap, NOBODY, NOBODY, follow_symlinks=False)
    for words in (["serve"], ["open", "--print"]):
        done = repo.run(*words, program="abacus", env={"XDG_RUNTIME_DIR": run_dir}, timeout=10)
        assert done.code == 1 and "is a folder that other users can change" in done.err, done.err
        assert "Set XDG_RUNTIME_DIR" in done.err, done.err


@pytest.mark.parametrize("runtime", [True, False])
def test_a_deep_path_has_a_short_socket(tmp_path, run_dir, services, runtime):
    repo = project_at(tmp_path / ("d" * 80) / ("e" * 80))
    if runtime:
        repo.env["XDG_RUNTIME_DIR"] = run_dir
    service = services(repo).start()
    path = service.address["socket"]
    try:
        assert len(path) <= 100 and mode(path) == 0o600 and mode(os.path.dirname(path)) == 0o700
        assert path.startswith(str(run_dir) if runtime else "/tmp/abacus-")
        service.answers_soon()
        assert "has stopped" in repo.run("serve", "--stop", program="abacus").ok().out
        assert not os.path.lexists(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


# --- other sites ---

def refused(answer, status):
    assert answer.status == status, (answer.status, answer.body)
    return answer.error


def test_the_token_is_required(served):
    wrong = "0" * 64
    for headers in ({"Authorization": None}, {"Authorization": ""}, {"Authorization": "Bearer "},
                    {"Authorization": f"Bearer {wrong}"}, {"Authorization": f"Bearer {served.token[:-1]}"},
                    {"Authorization": f"Bearer {served.token}0"}, {"Authorization": f"Basic {served.token}"},
                    {"Authorization": None, "Cookie": f"abacus-{served.port}={served.token}"},
                    {"Authorization": None, "X-Abacus-Key": served.token}):
        for path in (LIST, "/api/events", "/api/openapi.json", "/api/proof"):
            assert refused(served.page("GET", path, headers), 401)["code"] == "UNAUTHORIZED", (headers, path)
    for path in (f"{LIST}?token={served.token}", f"{LIST}?code={served.token}", f"{LIST}?key={served.token}"):
        refused(served.page("GET", path, {"Authorization": None}), 401)
    assert served.page("GET", LIST).status == 200


def test_the_files_of_the_page_need_no_token(served):
    """They are part of the program, the same for all, and reveal nothing about the project."""
    for path in ("/", "/app.js", "/icon.svg"):
        answer = served.page("GET", path, {"Authorization": None})
        assert answer.status == 200 and "set-cookie" not in answer.headers
        assert served.token.encode() not in answer.body and b"data-key" not in answer.body


@pytest.mark.parametrize("headers, status", [
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "https://127.0.0.1:{port}"}, 403),
    ({"Origin": "http://127.0.0.1:1"}, 403),
    ({"Origin": "http://127.0.0.1:{port}.evil.example"}, 403),
    ({"Origin": ""}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Sec-Fetch-Site": "something-new"}, 403),
    ({"Host": "evil.example:{port}"}, 421),
    ({"Host": "evil.example"}, 421),
    ({"Host": "127.0.0.1"}, 421),
    ({"Host": "127.0.0.1:1"}, 421),
    ({"Host": "127.0.0.1:{port}.evil.example"}, 421),
    ({"Host": "localhost.evil.example:{port}"}, 421),
    ({"Host": "0.0.0.0:{port}"}, 421),
    ({"Origin": "http://127.0.0.1:{port}"}, 200),
    ({"Origin": "http://localhost:{port}", "Host": "localhost:{port}"}, 200),
    ({"Sec-Fetch-Site": "same-origin"}, 200),
    ({"Sec-Fetch-Site": "none"}, 200),
])
def test_other_sites_are_refused(served, headers, status):
    """Even with the token: a browser adds the cookie automatically."""
    headers = {k: v.format(port=served.port) for k, v in headers.items()}
    for method, path, body in (("GET", LIST, None), ("POST", "/api/bead/create", {"title": "x"})):
        answer = served.page(method, path, headers, body)
        assert answer.status == status, (method, answer.body)
        assert status == 200 or answer.error
    assert len(served.get(LIST).data) == (status == 200)


def test_no_page_can_use_the_socket(served):
    for origin in ("http://evil.example", f"http://127.0.0.1:{served.port}", "null"):
        refused(served.get(LIST, headers={"Origin": origin}), 403)


def test_a_request_without_a_host_is_refused(served):
    for version in ("1.0", "1.1"):
        head = f"GET {LIST} HTTP/{version}\r\nConnection: close\r\nAuthorization: Bearer {served.token}\r\n\r\n"
        assert Answer(served.raw(head.encode(), loopback=True)).status in (400, 421)


def test_a_post_must_be_declared_as_json(served):
    """A form or a script of another site can send other types without a preflight."""
    for kind in (None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "text/plain; application/json"):
        for ask in (served.post, lambda *a, **kw: served.page("POST", a[0], kw["headers"], a[1])):
            refused(ask("/api/bead/create", {"title": "x"}, headers={"Content-Type": kind}), 415)
    assert served.get(LIST).data == []
    served.post("/api/bead/create", {"title": "x"}, headers={"Content-Type": "application/json; charset=utf-8"}).data


def test_other_methods_are_refused(served):
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
        for ask in (served.ask, lambda m, p: served.page(m, p)):
            answer = ask(method, "/api/bead/create")
            assert answer.status in (405, 501), (method, answer.status)
            assert "access-control-allow-origin" not in answer.headers
    assert served.page("OPTIONS", LIST, {"Origin": "http://evil.example", "Authorization": None}).status in (401, 403, 405)
    assert served.get(LIST).data == []


PATHS = ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/.%00/../etc/passwd", "//etc/passwd",
         "/api/../../../etc/passwd", "/api/%2e%2e/%2e%2e/etc/passwd", "/index.html/../../../etc/passwd", "/..\\..\\etc\\passwd",
         "/%c0%ae%c0%ae/etc/passwd", "/address.json", "/.git/config", "/feed.1", "/api/", "/api/%ff%fe", "/api/bead",
         "/api/sessions/..%2f..%2f..%2fetc%2fpasswd/conversation", "/api/sessions//conversation", "/service/stop", "/" + "a" * 8000]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p[:40])
def test_no_path_leads_to_a_file(served, path):
    for answer in (served.page("GET", path), served.get(path)):
        assert 400 <= answer.status < 500, (answer.status, answer.body)
        assert answer.error and b"root:" not in answer.body
    served.answers_soon()


# --- the way in ---

def code_of(url):
    return url.strip().rsplit("code=", 1)[1]


def invite(service):
    return code_of(service.repo.run("open", "--print", program="abacus").ok().out)


def enter(service, code, **headers):
    return service.page("GET", f"/enter?code={code}", {"Authorization": None, **headers})


def test_an_invitation_works_once(served):
    code = invite(served)
    answer = enter(served, code, **{"Sec-Fetch-Site": "cross-site"})  # from a terminal that is a page
    assert answer.status == 200 and "no-store" in answer.headers["cache-control"] and "set-cookie" not in answer.headers
    authorization = Key.of(answer).sign("GET", LIST)
    assert served.page("GET", LIST, {"Authorization": authorization}).status == 200
    assert served.token.encode() not in answer.body
    for wrong in (code, "", "0" * 64, code[:-1], served.token, code + "0"):
        answer = enter(served, wrong)
        assert answer.status == 401 and b"data-key" not in answer.body, wrong
    assert served.page("GET", "/enter", {"Authorization": None}).status == 401


def test_only_a_get_redeems_an_invitation(served):
    code = invite(served)
    for method in ("HEAD", "POST", "PUT", "DELETE"):
        assert served.page(method, f"/enter?code={code}", {"Authorization": None}).status == 405
    assert enter(served, code).status == 200


def test_an_invitation_is_not_for_another_site(served):
    code = invite(served)
    assert enter(served, code, Host=f"evil.example:{served.port}").status == 421
    assert enter(served, code, Origin="http://evil.example").status == 403
    assert enter(served, code).status == 200  # and they did not use it up


def test_many_use_one_invitation_at_once(served):
    for _ in range(5):
        code, got = invite(served), []
        crowd = [threading.Thread(target=lambda: got.append(enter(served, code).status)) for _ in range(16)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        assert sorted(got) == [200] + [401] * 15


def test_only_a_few_invitations_are_open(served):
    codes = [invite(served) for _ in range(10)]
    assert [enter(served, code).status for code in codes] == [401, 401] + [200] * 8


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
	int failed = (int)syscall(SYS_clock_gettime, id, t);
	if (!failed && id == CLOCK_MONOTONIC && !access(getenv("LATER"), F_OK))
		t->tv_sec += atoi(getenv("LATER_S"));
	return failed;
}
"""


@pytest.fixture
def later(tmp_path):
    """For a service whose clock jumps by that much once a file exists."""
    if SANITIZED:
        pytest.skip("a sanitizer wants to be loaded first")
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    (tmp_path / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "clock.so", tmp_path / "clock.c"], check=True)
    return {"LD_PRELOAD": tmp_path / "clock.so", "LATER": tmp_path / "later"}


def test_an_invitation_ends_after_a_minute(repo, services, later, tmp_path):
    for seconds, status in ((50, 200), (61, 401)):
        service = services(repo, **later, LATER_S=seconds).start("--port", "0")
        code = code_of(service.process.stdout.readline().decode() + service.process.stdout.readline().decode())
        (tmp_path / "later").touch()
        assert enter(service, code).status == status
        (tmp_path / "later").unlink()
        service.terminate()


def test_headers_that_keep_a_page_safe(served):
    answers = [served.page("GET", "/"), served.page("GET", LIST), served.page("GET", "/nothing"), served.get(LIST),
               served.page("GET", "/", {"Authorization": None}), enter(served, invite(served)), enter(served, "no"),
               served.page("POST", "/api/bead/create", body={}), served.page("GET", LIST, {"Host": "evil.example"})]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy and "unsafe-eval" not in policy and "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert not [name for name in answer.headers if name.startswith("access-control-")]


# --- too much ---

def memory(service):
    for line in open(f"/proc/{service.process.pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024


def test_a_body_that_is_announced_as_too_large(served):
    """The service does not wait for any byte of it."""
    for size in (str((4 << 20) + 1), str(1 << 30), "9" * 30):
        for loopback in (False, True):
            host = f"127.0.0.1:{served.port}" if loopback else "localhost"
            head = head_of("POST", "/api/bead/create", host, {
                "Content-Length": size, "Content-Type": "application/json", "Authorization": f"Bearer {served.token}"})
            begun = time.monotonic()
            assert Answer(served.raw(head, loopback)).status == 413
            assert time.monotonic() - begun < patience(1)
    served.answers_soon()


def test_a_body_in_chunks_that_is_too_large(served):
    """It may be read for a while, but is not stored."""
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    sent, before, answer = 0, memory(served), b""
    with served.connect() as sock:
        sock.sendall(head_of("POST", "/api/bead/create", headers={
            "Transfer-Encoding": "chunked", "Content-Type": "application/json"}))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while sent < 1 << 30:
                sock.sendall(chunk)
                sent += 1 << 20
            sock.sendall(b"0\r\n\r\n")
        answer = receive(sock)
    assert not answer or Answer(answer).status == 413
    assert sent < 1 << 28, f"{sent >> 20} MB of it were read"
    assert SANITIZED or memory(served) - before < 64
    served.answers_soon()


def test_a_request_without_a_token_is_refused_before_its_body(served):
    """Otherwise every user of this machine could make it hold 4 MiB per connection."""
    for headers in ({}, {"Origin": "http://evil.example", "Authorization": f"Bearer {served.token}"}):
        head = head_of("POST", "/api/bead/create", f"127.0.0.1:{served.port}", {
            "Content-Length": str(4 << 20), "Content-Type": "application/json", **headers})
        begun = time.monotonic()
        assert Answer(served.raw(head, loopback=True)).status in (401, 403)
        assert time.monotonic() - begun < patience(1)


def test_a_body_of_4_mib_is_taken(served):
    text = "x" * ((4 << 20) - 64)
    answer = served.post("/api/bead/create", {"title": text})
    assert answer.status in (400, 413) and answer.error
    served.answers_soon()


def test_headers_of_a_megabyte(served):
    for head in (b"X-Long: " + b"a" * (1 << 20), b"\r\n".join(b"X-%d: a" % i for i in range(100000)),
                 b"Cookie: " + b"a=b; " * 200000):
        answer = served.raw(f"GET {LIST} HTTP/1.1\r\nHost: localhost\r\n".encode() + head + b"\r\n\r\n")
        assert not answer or Answer(answer).status in (400, 413, 431), answer[:100]
        assert served.raw(b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n")[:13] in (b"", b"HTTP/1.1 414 ", b"HTTP/1.1 431 ")
        served.answers_soon()


@pytest.mark.parametrize("path", [LIST, "/api/events", "/enter?code=x", "/", "/nothing"])
def test_headers_that_leave_little_room(served, path):
    """The response has to fit beside the request."""
    for size in [*range(16000, 24576, 512), *range(23500, 24576, 32)]:
        with served.connect() as sock:
            sock.sendall(head_of("GET", path, headers={"X-Long": "a" * size}))
            answer = sock.recv(1 << 16)
        assert not answer or 200 <= int(answer.split()[1]) < 505, answer[:100]
    assert not served.ended()
    served.answers_soon()


def test_invalid_requests_are_refused(served):
    for text in (b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                 b"POST /api/bead/create HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n",
                 b"POST /api/bead/create HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
        answer = served.raw(text)
        assert not answer or Answer(answer).status >= 400, answer[:100]
    for body in (b"{", b"[]", b"3", b"null", b"\xff", b'{"title":"a","title":"b"}', b"[" * 100000, b'{"title":' * 50000):
        assert served.post("/api/bead/create", body).error, body[:20]
    served.answers_soon()


# --- too slow, too many ---

def test_slow_connections_are_closed(served):
    """Headers, bodies, and the pause between requests each have a limit of ten seconds."""
    slow = {"headers": head_of("GET", LIST)[:-2] + b"X-Slow: ",
            "body": head_of("POST", "/api/bead/create", headers={"Content-Length": "1000", "Content-Type": "application/json"}),
            "chunks": head_of("POST", "/api/bead/create", headers={"Transfer-Encoding": "chunked", "Content-Type": "application/json"})}
    open_ones = {name: served.connect() for name in slow}
    for sock in open_ones.values():
        sock.setblocking(False)
    begun = time.monotonic()
    for name, sock in open_ones.items():
        sock.sendall(slow[name])
    waiting = [served.connect(timeout=20) for _ in range(4)]  # what may still become a request
    for sock, text in zip(waiting, (b"\0" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"", b"GE")):
        sock.sendall(text)
    waiting[0].shutdown(socket.SHUT_WR)
    silent = served.connect(timeout=20)
    silent.sendall(head_of("GET", LIST, headers={"Connection": "keep-alive"}))
    while time.monotonic() - begun < 15 and open_ones:
        for name, sock in list(open_ones.items()):
            with contextlib.suppress(BlockingIOError):
                try:
                    sock.send(b"1\r\n \r\n" if name == "chunks" else b" ")
                    sock.recv(1)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                open_ones.pop(name).close()
        served.answers_soon()
        time.sleep(0.5)
    assert not open_ones, f"still open: {list(open_ones)}"
    assert time.monotonic() - begun > 5
    assert receive(silent).count(b"HTTP/1.1 200") == 1
    assert [receive(sock)[:12] for sock in waiting] == [b""] * 4
    assert time.monotonic() - begun < patience(15)


def crowd_of(service, count, loopback):
    """As many connections as possible, none of which sends anything."""
    crowd = []
    for _ in range(count):
        sock = socket.socket(socket.AF_INET if loopback else socket.AF_UNIX)
        sock.setblocking(False)
        crowd.append(sock)
        try:
            sock.connect(("127.0.0.1", service.port) if loopback else service.address["socket"])
        except BlockingIOError as e:
            if e.errno == errno.EAGAIN:  # its queue is full
                break
    return crowd


@pytest.fixture
def many_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = min(12000, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(want, before[0]), before[1]))
    yield max(want, before[0])
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_ten_thousand_silent_connections(served, many_files):
    """On the loopback they block neither the socket, nor the loopback once they are closed."""
    crowd = crowd_of(served, min(10000, many_files - 500), loopback=True)
    try:
        served.answers_soon()
        bead = served.post("/api/bead/create", {"title": "x"}).data["id"]
        assert bead in served.repo.ids("list")
    finally:
        for sock in crowd:
            sock.close()
    begun = time.monotonic()
    assert served.page("GET", LIST).status == 200
    assert time.monotonic() - begun < patience(1)
    assert not served.ended() and (SANITIZED or memory(served) < 200)


def test_silent_connections_on_both_sockets(served, many_files):
    """More descriptors than a set of select() holds, and event streams still work."""
    stream = Stream(served).begun()
    crowd = []
    try:
        for i in range(36):
            crowd += crowd_of(served, 50, loopback=i % 2)
            served.repo.create(f"so that it looks again, {i}")
        served.answers_soon()
        files = f"/proc/{served.process.pid}/fd"
        wait_until(lambda: len(os.listdir(files)) > 1100, "they are connected", 5)
        bead = served.repo.create("one more")
        stream.until(lambda s: bead in s.beads(), 3)
        assert len(stream.beads()) == 37
        assert not served.ended()
        served.answers_soon()
    finally:
        for sock in crowd:
            sock.close()


def test_closed_streams_make_room(served):
    """A page that is reloaded again and again does not lock itself out."""
    for _ in range(6):
        streams = [Stream(served) for _ in range(100)]
        for stream in streams:
            stream.until(lambda s: s.status)
        for stream in streams:
            stream.close()
    wait_until(lambda: Stream(served).until(lambda s: s.status, 5).status == 200, "a stream is let in", 2)


def test_more_streams_than_the_maximum(served):
    streams = [Stream(served) for _ in range(530)]
    for stream in streams:
        stream.until(lambda s: s.status)
    assert sorted({s.status for s in streams}) == [200, 503]
    served.answers_soon()
    for stream in streams:
        stream.close()


# --- waiting ---

def waits(service, count, seconds=60):
    return [service.begin("/api/agent/wait", {"agent": AGENTS[0], "timeout": f"{seconds}s"}) for _ in range(count)]


def wait_for_workers(service, count):
    """Waits until the workers wait themselves: they watch files."""
    def watching():
        found = 0
        for pid in service.workers():
            with contextlib.suppress(OSError):
                fds = f"/proc/{pid}/fd"
                found += any("inotify" in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
        return found >= count
    wait_until(watching, f"{count} of them wait")


def test_waiting_requests_leave_room_for_others(repo, services):
    service = services(set_up(repo)).start()
    held = waits(service, 40)
    wait_for_workers(service, 8)
    service.answers_soon()
    assert service.post("/api/bead/create", {"title": "x"}, timeout=3).status == 200
    for sock in held:
        sock.close()


# --- its life ---

def test_sigterm_ends_the_service_with_open_connections(repo, services):
    service = services(set_up(repo)).start("--port", "0")
    streams = [Stream(service).begun() for _ in range(20)] + [Stream(service, loopback=True).begun()]
    held = waits(service, 4)
    idle = [service.connect() for _ in range(20)]
    half = service.connect()
    half.sendall(head_of("POST", "/api/bead/create", headers={"Content-Length": "10", "Content-Type": "application/json"}))
    wait_for_workers(service, 4)
    assert service.terminate() < patience(SOON)
    for stream in streams:
        receive(stream.sock)
    for sock in [*held, *idle, half]:
        receive(sock)
    assert not service.processes()
    assert not (service.folder / "socket").exists() and not (service.folder / "address.json").exists()


def test_sigterm_ends_the_service_with_queued_requests(repo, services):
    service = services(set_up(repo)).start()
    held = waits(service, 60)
    wait_for_workers(service, 8)
    assert service.terminate(patience(5)) < patience(SOON)
    assert not service.processes()
    for sock in held:
        sock.close()


def create_many(service, count, answered, begun):
    """One connection after another, each with a create; returns the titles that were acknowledged."""
    def work(name):
        for i in range(count):
            title = f"{name}-{i}"
            with contextlib.suppress(OSError, IndexError, ValueError):
                if service.post("/api/bead/create", {"title": title}).status == 200:
                    answered.append(title)
                    begun.set()
    crowd = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for one in crowd:
        one.start()
    return crowd


@pytest.mark.parametrize("end", [Service.terminate, Service.kill], ids=["term", "kill"])
@pytest.mark.parametrize("after", [1, 20, 60])
def test_acknowledged_writes_survive_a_kill(served, end, after):
    answered, begun = [], threading.Event()
    address = served.address  # the crowd asks for it again and again
    served.connect = lambda *a, **kw: connect_to(address["socket"])
    crowd = create_many(served, 40, answered, begun)
    wait_until(lambda: len(answered) >= after, "some were answered")
    took = end(served)
    for one in crowd:
        one.join()
    assert took < patience(SOON)
    del served.connect
    titles = [bead["title"] for bead in served.repo.json("list", "-n", "0")]
    assert len(titles) == len(set(titles)) and set(answered) <= set(titles)
    assert len(titles) - len(answered) <= 16  # at most what had begun
    wait_until(lambda: not served.processes(), "all of it has gone", 2)
    begun = time.monotonic()
    served.again()
    served.answers_soon()
    assert time.monotonic() - begun < patience(2)
    assert served.repo.json("validate")["ok"]


def connect_to(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(10)
    sock.connect(path)
    return sock


def sockets(pid):
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return {link for link in found if link.startswith("socket:")}


def test_a_killed_service_frees_its_port(served):
    """At once: none of its workers has the listening socket."""
    set_up(served.repo)
    for _ in range(4):
        port, held = served.port, waits(served, 4)
        wait_for_workers(served, 4)
        for pid in served.workers():
            assert not sockets(pid) & sockets(served.process.pid)
        served.kill()
        served.start("--port", str(port))
        served.answers_soon()
        assert served.port == port
        for sock in held:
            sock.close()


def test_no_worker_outlives_the_service(repo, services):
    service = services(set_up(repo)).start()
    for end in (service.terminate, service.kill):
        held = waits(service, 6)
        wait_for_workers(service, 6)
        end()
        wait_until(lambda: not service.processes(), "all of it has gone", 2)
        for sock in held:
            sock.close()
        service.again()
    assert "has stopped" in repo.run("serve", "--stop", program="abacus").ok().out
    assert service.process.wait(timeout=2) == 0
    wait_until(lambda: not service.processes(), "all of it has gone", 2)


class Silent:
    """A remote that accepts connections and never sends anything."""

    def __enter__(self):
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.sock.getsockname()[1]}/x.git"
        return self

    def __exit__(self, *_):
        self.sock.close()


@pytest.mark.parametrize("end", [Service.terminate, Service.kill], ids=["term", "kill"])
def test_no_sync_outlives_the_service(served, end):
    with Silent() as remote:
        git(served.repo.path, "remote", "add", "origin", remote.url)
        sock = served.begin("/api/bead/sync", {})
        wait_until(lambda: any("abacus-sync" in words[0] for words in served.processes().values()), "a sync has begun")
        assert end(served) < patience(SOON)
        wait_until(lambda: not served.processes(), "all of it has gone", 2)
        sock.close()


def test_a_check_for_a_service_does_not_keep_one_from_starting(repo, services):
    """A check whether one runs takes its lock for a moment."""
    service = services(repo)
    folder = repo.home / "serve"
    folder.mkdir(mode=0o700)
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    threading.Timer(0.2, os.close, [fd]).start()
    service.start()
    service.answers_soon()


def test_a_service_whose_folder_was_removed_does_not_disturb_the_next(repo, services):
    first = services(repo).start()
    shutil.rmtree(repo.home / "serve")
    second = services(repo).start()
    first.terminate()
    second.answers_soon()
    assert second.address["pid"] == second.process.pid


def test_a_second_service_is_refused(served):
    done = served.repo.run("serve", program="abacus")
    assert done.code == 1 and done.out == ""
    assert "a service runs for this project already" in done.err and "abacus serve --stop" in done.err
    served.answers_soon()
    assert served.repo.run("serve", "--port", str(served.port), program="abacus").code == 1
    served.answers_soon()


def test_a_port_in_use_is_reported(repo):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = repo.run("serve", "--port", str(taken.getsockname()[1]), program="abacus")
    assert done.code == 1 and "Address already in use" in done.err and "--port" in done.err
    assert not (repo.home / "serve" / "socket").exists()


def test_no_command_needs_the_service(repo, services):
    set_up(repo)
    assert "No service is running" in repo.run("serve", "--stop", program="abacus").ok().out
    service = services(repo)
    for step in (lambda: None, service.start, service.kill, service.again, service.terminate):
        step()
        bead = repo.create("x")
        assert bead in repo.ids("list")
        repo.run("--as", "kimi", "post", "hello", program="bb").ok()
        repo.run("agent", "inbox", "--agent", AGENTS[0], program="bb").ok()
        repo.run("status", program="vybe").ok()


def test_a_service_started_for_a_page_publishes_its_address(repo, services):
    """'abacus open' opens the loopback of a service that has none, and programs find it, too."""
    service = services(repo).start()
    assert service.address["url"] is None
    code = invite(service)
    assert service.address["url"], "the address does not tell of the loopback"
    assert enter(service, code).status == 200
    assert service.page("GET", LIST).status == 200


def test_an_idle_service_ends(repo, services):
    service = services(repo).start("--idle", "1s")
    stream = Stream(service).begun()
    service.answers_soon()
    assert stream.read_for(2).open, "it ended although somebody followed"
    stream.close()
    assert service.process.wait(timeout=8) == 0


def test_a_service_does_not_end_while_a_request_waits(repo, services):
    service = services(set_up(repo)).start("--idle", "1s")
    answer = service.post("/api/agent/wait", {"agent": AGENTS[0], "timeout": "3s"})
    assert answer.status in (200, 400) and answer.json.get("error", {}).get("code") != "INTERNAL_ERROR", answer.json
    assert service.process.wait(timeout=8) == 0


def cpu(service):
    fields = open(f"/proc/{service.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_requests_without_a_key_do_not_keep_a_service_alive(repo, services):
    service = services(repo).start("--port", "0", "--idle", "2s")
    port = service.port
    request = f"GET %s HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    end = time.monotonic() + patience(30)
    while not service.ended():
        assert time.monotonic() < end
        for path in ("/", "/api/bead/list"):
            try:
                service.raw((request % path).encode(), True)
            except OSError:  # it has ended
                pass
        time.sleep(0.2)



def test_an_idle_service_uses_no_cpu_time(served):
    set_up(served.repo)
    served.repo.run("--as", "kimi", "post", "hello", program="bb").ok()
    stream = Stream(served).begun()
    before, begun = cpu(served), time.monotonic()
    stream.read_for(2)
    assert (cpu(served) - before) / (time.monotonic() - begun) < 0.1
