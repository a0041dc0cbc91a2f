"""Operations over HTTP: the same replies as from the command line, helpful errors, and one effect however often a
request is sent."""
import contextlib
import json
import os
import pathlib
import signal
import threading
import urllib.parse

import pytest

from conftest import Project
from harness import wait_until
from service import AGENTS, Answer, Stream, head_of, served, services, set_up


@pytest.fixture
def busy(repo, services):
    """A project with some history, and its service."""
    set_up(repo)
    first = repo.create("Parser fails", "-t", "bug", "-p", "1", "-l", "parser", "-l", "urgent")
    second = repo.create("Release", "--deps", f"blocks:{first}", "-l", "parser")
    repo.run("comment", first, "seen it", program="bd").ok()
    repo.run("--as", "kimi", "post", "Which URL?", "--tag", "question", "--ref", f"bd:issue:{first}", program="bb").ok()
    repo.run("--as", "kimi", "status", "set", "at it", program="bb").ok()
    repo.run("agent", "send", "--from", AGENTS[0], "--to", AGENTS[1], "--bead", first, "--category", "HANDOFF", "--subject", "s",
             "--body", "b", program="bb").ok()
    repo.run("agent", "reserve", "--agent", AGENTS[0], "--scope", "src/*", "--bead", first, program="bb").ok()
    repo.run("push", "--agent", "w-1", "--request-id", "r1", "--json",
             json.dumps({"event": {"kind": "progress", "message": "half"}}), program="vybe").ok()
    repo.run("memory", "set", "--agent", "w-1", "--request-id", "r2", "--key", "k", "--value", "v", program="vybe").ok()
    service = services(repo).start("--port", "0")
    service.first, service.second = first, second
    return service


# --- the same answers ---

READS = [  # path with its question; program; words
    ("bead/list", "bd", ["list"]),
    ("bead/list?brief=true", "bd", ["list", "--brief"]),
    ("bead/list?status=open&labels=parser&labels=urgent", "bd", ["list", "--status", "open", "-l", "parser", "-l", "urgent"]),
    ("bead/list?fields=title&fields=status", "bd", ["list", "--fields", "title,status"]),
    ("bead/ready", "bd", ["ready"]),
    ("bead/blocked", "bd", ["blocked"]),
    ("bead/search?query=Parser", "bd", ["search", "Parser"]),
    ("bead/why?id={second}", "bd", ["why", "{second}"]),
    ("bead/comments?id={first}", "bd", ["comments", "{first}"]),
    ("bead/dep/tree?id={second}", "bd", ["dep", "tree", "{second}"]),
    ("bead/dep/cycles", "bd", ["dep", "cycles"]),
    ("bead/label/list/all", "bd", ["label", "list-all"]),
    ("bead/count", "bd", ["count"]),
    ("bead/graph?all=true", "bd", ["graph", "--all"]),
    ("bead/validate", "bd", ["validate"]),
    ("bead/where", "bd", ["where"]),
    ("bead/config/list", "bd", ["config", "list"]),
    ("board/status", "bb", ["status"]),
    ("board/log", "bb", ["log"]),
    ("board/message?id=1", "bb", ["message", "1"]),
    ("board/artifacts", "bb", ["artifacts"]),
    ("board/refs?where=bd&what=issue&ref={first}", "bb", ["refs", "bd:issue:{first}"]),
    ("agent/list", "bb", ["agent", "list"]),
    ("agent/show?agent=amber-otter", "bb", ["agent", "show", "--agent", "amber-otter"]),
    ("agent/inbox?agent=cobalt-harbor", "bb", ["agent", "inbox", "--agent", "cobalt-harbor"]),
    ("agent/status", "bb", ["agent", "status"]),
    ("agent/events", "bb", ["agent", "events"]),
    ("vybe/task/list", "vybe", ["task", "list"]),
    ("vybe/task/get?id={first}", "vybe", ["task", "get", "--id", "{first}"]),
    ("vybe/events/list", "vybe", ["events"]),
    ("vybe/memory/list", "vybe", ["memory", "list"]),
    ("vybe/memory/get?key=k", "vybe", ["memory", "get", "--key", "k"]),
    ("sessions", "abacus", ["sessions"]),
    ("sessions/{first}/conversation", "abacus", ["conversation", "{first}"]),
]


def printed(service, program, words):
    """The output of a command, without the envelope of its family."""
    done = service.repo.run(*(["--json"] if program != "vybe" else []), *words, program=program,
                            env={"BD_ACTOR": ""} if program in ("bb", "vybe") else None).ok().json
    if program == "vybe" or (isinstance(done, dict) and {"ok", "command", "data"} <= set(done)):
        return done["data"]
    return done


def without_times(value):
    """Without everything that depends on the time of the request."""
    if isinstance(value, dict):
        moving = ("at", "now", "generated_at", "age_seconds", "idle_seconds", "last_seen_at")
        return {k: without_times(v) for k, v in value.items() if k not in moving}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def test_reads_return_what_commands_print(busy):
    names = {"first": busy.first, "second": busy.second}
    for path, program, words in READS:
        told = printed(busy, program, [word.format(**names) for word in words])
        for answer in (busy.get(f"/api/{path.format(**names)}"), busy.page("GET", f"/api/{path.format(**names)}")):
            assert answer.status == 200, (path, answer.body)
            assert without_times(answer.data) == without_times(told), path


def test_a_post_equals_a_get_with_parameters(busy):
    for path, question in (("bead/list", {"full": True, "labels": ["parser", "urgent"]}), ("bead/count", {}),
                           ("bead/search", {"query": "Parser"}), ("board/log", {"limit": 1})):
        words = "&".join(f"{k}={str(one).lower() if one is True else one}" for k, v in question.items()
                         for one in (v if isinstance(v, list) else [v]))
        assert busy.post(f"/api/{path}", question).data == busy.get(f"/api/{path}?{words}").data


def test_text_of_every_script_is_returned_unchanged(served):
    for title in ("ä ö ü ß", "日本語", "🦫", 'quote " and \\ and / and <b>', "%41+&=?#", "x" * 400):
        bead = served.post("/api/bead/create", {"title": title}).data["id"]
        assert served.repo.show(bead)["title"] == title
        assert served.get(f"/api/bead/show?ids={bead}").data[0]["title"] == title
        found = served.get(f"/api/bead/search?query={urllib.parse.quote(title)}").data
        assert bead in [one["id"] for one in found]


def test_writes_are_visible_to_all_at_once(served):
    for n in range(10):
        bead = served.post("/api/bead/create", {"title": f"t{n}", "agent": "kimi"}).data["id"]
        assert served.repo.show(bead)["created_by"] == "kimi"
        served.repo.bd("close", bead, "--reason", "done").ok()
        assert bead not in [b["id"] for b in served.get("/api/bead/ready").data]


# --- errors ---

def test_a_claim_of_another_is_ended_only_by_force(served):
    for path, body in (("close", {}), ("update", {"status": "open"}), ("delete", {})):
        bead = served.repo.create(path)
        served.repo.bd("claim", bead, "--actor", "bob").ok()
        body = {"ids": [bead], "agent": "kimi", **body}
        refused = served.post(f"/api/bead/{path}", body)
        assert (refused.status, refused.error["code"]) == (409, "already_claimed"), refused.body
        assert served.repo.show(bead)["assignee"] == "bob"
        assert served.post(f"/api/bead/{path}", {**body, "force": True}).status == 200


def test_errors_have_a_hint(busy):
    cases = [
        ("POST", "bead/create", {}, 400),
        ("POST", "bead/create", {"title": ""}, 400),
        ("POST", "bead/create", {"title": 3}, 400),
        ("POST", "bead/create", {"title": "x", "nonsense": 1}, 400),
        ("POST", "bead/create", [], 400),
        ("POST", "bead/close", {"ids": ["bd-none"]}, 404),
        ("GET", "bead/comments?id=bd-none", None, 404),
        ("GET", "bead/list?nonsense=1", None, 400),
        ("GET", "bead/list?limit=many", None, 400),
        ("GET", "sessions/bd-none/conversation", None, 404),
        ("GET", "board/message?id=99", None, 404),
        ("GET", "agent/show?agent=nobody-here", None, 404),
        ("POST", "agent/reserve", {"agent": AGENTS[1], "scope": "src/*", "bead": "bd-1"}, 409),
        ("POST", "agent/send", {"from": AGENTS[0], "to": "nobody-here", "bead": "b", "category": "INFO", "subject": "s", "body": "b"}, 404),
        ("GET", "nonsense", None, 404),
        ("POST", "bead/nonsense", {}, 404),
        ("POST", "vybe/loop", {}, 404),
        ("POST", "bead", {}, 404),
    ]
    for method, path, body, status in cases:
        answer = busy.ask(method, f"/api/{path}", body)
        assert answer.status == status, (path, answer.status, answer.body)
        assert isinstance(answer.error["retryable"], bool) and isinstance(answer.error["details"], dict)


def test_a_write_by_get_is_refused(busy):
    """An image in a page of another site could send it, and so could a browser that prefetches."""
    before = busy.repo.json("list", "--all", "-n", "0")
    for path in ("bead/create?title=x", f"bead/close?ids={busy.first}", f"bead/delete?ids={busy.first}", "board/destroy?confirm=true",
                 "board/post?content=x&agent=kimi", "bead/ready?claim=true", "vybe/push?agent=a", f"bead/claim?ids={busy.first}"):
        answer = busy.get(f"/api/{path}")
        assert 400 <= answer.status < 500 and answer.error, (path, answer.status, answer.body)
    assert busy.repo.json("list", "--all", "-n", "0") == before
    assert len(busy.repo.json("log", program="bb")) == 1


def test_a_lost_claim_is_reported_with_its_status(busy):
    assert busy.post("/api/bead/claim", {"ids": [busy.first], "agent": "kimi"}).status == 200
    assert busy.post("/api/bead/claim", {"ids": [busy.first], "agent": "codex"}).status == 409
    assert busy.post("/api/bead/update", {"ids": [busy.first], "title": "x", "if_hash": "0" * 64, "agent": "kimi"}).status == 412
    assert busy.post("/api/bead/delete", {"ids": [busy.second], "force": True}).status == 200
    assert busy.get(f"/api/bead/comments?id={busy.second}").status == 410


def test_a_404_or_410_is_not_cacheable(busy):
    """A browser may cache a 404 and a 410 for as long as it likes, unless it is told not to."""
    busy.post("/api/bead/delete", {"ids": [busy.second], "force": True})
    for path, status in ((f"sessions/{busy.second}/conversation", 410), ("sessions/no-such/conversation", 404), ("bead/list?nonsense=1", 400)):
        answer = busy.get(f"/api/{path}")
        assert (answer.status, answer.headers.get("cache-control")) == (status, "no-store"), path


# --- once ---

def test_a_request_that_is_repeated_has_one_effect(busy):
    cases = [("bead/create", {"title": "once", "agent": "kimi", "request_id": "q1"}),
             ("board/post", {"content": "once", "agent": "kimi", "request_id": "q2"}),
             ("vybe/task/create", {"agent": "w-1", "request_id": "q3", "title": "once"})]
    for path, body in cases:
        answers = [busy.post(f"/api/{path}", body) for _ in range(3)]
        assert len({json.dumps(a.data) for a in answers}) == 1, path
    assert [b["title"] for b in busy.repo.json("list", "-n", "0")].count("once") == 2
    assert len([m for m in busy.repo.json("log", program="bb") if m["content"] == "once"]) == 1
    assert busy.post("/api/bead/create", {"title": "another", "agent": "kimi", "request_id": "q1"}).status == 409


def test_many_send_the_same_request_at_once(served):
    body, got = {"title": "once", "request_id": "same"}, []
    crowd = [threading.Thread(target=lambda: got.append(served.post("/api/bead/create", body))) for _ in range(24)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert len({a.data["id"] for a in got}) == 1 and len(got) == 24
    assert len(served.repo.json("list")) == 1


# --- what has not changed ---

def test_unchanged_data_is_not_sent_again(busy):
    for path in ("/api/bead/list", f"/api/sessions/{busy.first}/conversation", "/api/openapi.json"):
        first = busy.get(path)
        tag = first.headers["etag"]
        for given in (tag, f'"other", {tag}'):
            again = busy.get(path, headers={"If-None-Match": given})
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag), path
        assert busy.get(path, headers={"If-None-Match": '"other"'}).body == first.body
    tag = busy.get("/api/bead/list").headers["etag"]
    busy.repo.create("news")
    changed = busy.get("/api/bead/list", headers={"If-None-Match": tag})
    assert changed.status == 200 and changed.headers["etag"] != tag
    page = busy.page("GET", "/")
    assert busy.page("GET", "/", {"If-None-Match": page.headers["etag"]}).status == 304


def test_a_connection_is_used_again(served):
    with served.connect() as sock:
        for n in range(20):
            body = json.dumps({"title": f"t{n}"}).encode()
            sock.sendall(head_of("POST", "/api/bead/create", headers={"Connection": "keep-alive"}, body=body) + body)
            text = b""
            while b"}}" not in text:
                part = sock.recv(1 << 16)
                assert part
                text += part
            assert Answer(text).status == 200
    assert len(served.repo.json("list")) == 20


# --- all there is ---

def description(service):
    """At the address where programs look for it: the document itself, without an envelope."""
    return service.get("/api/openapi.json").json


def test_every_path_of_the_description_is_answered(busy):
    described = description(busy)
    assert described["openapi"].startswith("3.1")
    last = ("/api/board/destroy", "/api/board/clear")  # as they are asked here they remove nothing
    for path in sorted(described["paths"], key=lambda p: p in last):
        for method in described["paths"][path]:
            if path == "/api/events":
                assert Stream(busy).begun().status == 200
                continue
            body = {"timeout": "0s", "agent": AGENTS[0]} if path == "/api/agent/wait" else {}
            answer = busy.ask(method.upper(), path.replace("{bead}", busy.first), body if method == "post" else None)
            if path == "/api/bead/undo":  # nobody of that name has changed anything
                assert answer.status == 404 and b"there is no change by" in answer.body
                continue
            assert answer.status not in (404, 405, 501) and answer.status < 500, (method, path, answer.status, answer.body)
            assert answer.status == 200 or answer.error
    busy.answers_soon()


def test_operations_described_with_get_accept_get(busy):
    """They do not reply that POST is required."""
    for path, methods in description(busy)["paths"].items():
        assert "post" in methods or "get" in methods
        if "get" in methods and path not in ("/api/events",):
            answer = busy.get(path.replace("{bead}", busy.first))
            assert "requires POST" not in answer.body.decode(), path


# --- those who do the work ---

def watching(pid):
    with contextlib.suppress(OSError):
        fds = f"/proc/{pid}/fd"
        return any("inotify" in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
    return False


def dead(pid):
    """And its open descriptors are closed."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def test_a_worker_that_is_killed_at_work(busy):
    sock = busy.begin("/api/agent/wait", {"agent": AGENTS[0], "timeout": "60s"})
    wait_until(lambda: any(map(watching, busy.workers())), "it waits")
    pid = next(pid for pid in busy.workers() if watching(pid))
    os.kill(pid, signal.SIGKILL)
    parts = b""
    while part := sock.recv(1 << 16):
        parts += part
    answer = Answer(parts)
    assert answer.status == 500 and "request_id" in answer.error["hint"]
    busy.answers_soon()
    assert busy.post("/api/agent/wait", {"agent": AGENTS[0], "timeout": "0s"}).status == 200


def test_a_worker_that_is_killed_while_it_has_nothing_to_do(busy):
    """It has no request, so no client gets an error."""
    for n in range(5):
        busy.answers_soon()
        workers = busy.workers()
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(map(dead, workers)), "they are gone")
        made = busy.post("/api/bead/create", {"title": f"t{n}"})
        assert made.status == 200, made.body
    assert len(busy.repo.json("list")) == 7


def test_workers_are_killed_while_many_write(served):
    """Every acknowledged write is there; others may be there, once."""
    answered, failed, stop = [], [], threading.Event()

    def write(name):
        for n in range(25):
            title = f"{name}-{n}"
            answer = served.post("/api/bead/create", {"title": title, "request_id": title})
            (answered if answer.status == 200 else failed).append(title)
            assert answer.status == 200 or (answer.status == 500 and answer.error["hint"])
            if answer.status != 200:  # as the hint says
                assert served.post("/api/bead/create", {"title": title, "request_id": title}).status in (200, 500)

    def kill():
        while not stop.is_set():
            for pid in served.workers()[:2]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    crowd = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(6)]
    killer = threading.Thread(target=kill)
    for one in [*crowd, killer]:
        one.start()
    for one in crowd:
        one.join()
    stop.set()
    killer.join()
    titles = [bead["title"] for bead in served.repo.json("list", "-n", "0")]
    assert len(titles) == len(set(titles)) and set(answered) <= set(titles)
    assert served.repo.json("validate")["ok"]
    served.answers_soon()


def test_a_hundred_concurrent_requests_are_answered(served):
    got = []

    def work(n):
        got.append(served.post("/api/bead/create", {"title": f"t{n}"}, timeout=30).status)
        got.append(served.get("/api/bead/list", timeout=30).status)
    crowd = [threading.Thread(target=work, args=(n,)) for n in range(100)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert got == [200] * 200
    assert len(served.repo.json("list", "-n", "0")) == 100
    assert len(served.workers()) <= 16


@pytest.mark.parametrize("path, body", [("/nowhere", None), ("/api/nowhere", None), ("/api/bead/create", "not an object")])
def test_every_refusal_has_the_same_members(served, path, body):
    answer = served.post(path, body) if body else served.get(path)
    assert set(answer.json["error"]) == {"code", "reason", "message", "hint", "retryable", "status", "details"}


@pytest.mark.parametrize("method, path, body", [
    ("POST", "bead/create", {"title": "x", "agent": AGENTS[0]}), ("POST", "board/post", {"content": "x", "agent": AGENTS[0]}),
    ("POST", "vybe/resume", {"agent": AGENTS[0]}), ("GET", f"agent/inbox?agent={AGENTS[0]}", None),
    ("GET", f"agent/wait?agent={AGENTS[0]}&timeout=0s", None)])
def test_a_request_moves_the_time_of_its_agent(repo, services, method, path, body):
    repo.env["ABACUS_NOW"] = "2026-01-01T00:00:00Z"
    set_up(repo)
    del repo.env["ABACUS_NOW"]  # the service is of today
    service = services(repo).start("--port", "0")
    service.ask(method, f"/api/{path}", body).data
    seen = [json.loads((repo.path / f".beadboard/agent/agents/{who}.json").read_text())["last_seen_at"] for who in AGENTS]
    assert seen[0] > "2026-01-02" and seen[1] == "2026-01-01T00:00:00.000Z"


def test_open_outside_of_a_project_says_so(tmp_path):
    found = Project(tmp_path).run("open", "--print", "--json", program="abacus")
    assert found.code != 0 and found.error["message"] == f"'{tmp_path}' is not in a Git repository, and has no board"
    assert "abacus init" in found.error["details"]["next_step"]
