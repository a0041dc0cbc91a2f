"""The secrets of the service and its page are useless to other users and after a restart."""
import contextlib
import re
import socket

import pytest

from service import Answer, Key, head_of, served, services  # noqa: F401

LIST = "/api/bead/list"
CREATE = "/api/bead/create"


def invitation(service):
    """The target of 'abacus open': the name of the host, and the code."""
    url = service.repo.run("open", "--print", program="abacus").ok().out.strip()
    found = re.fullmatch(r"http://(abacus-[0-9a-f]{16}\.localhost):(\d+)/enter\?code=([0-9a-f]{64})", url)
    assert found and int(found[2]) == service.port, url
    return found[1], found[3]


def key_of(service):
    return Key.of(service.page("GET", f"/enter?code={invitation(service)[1]}", {"Authorization": None}))


def ask(service, authorization, method="GET", path=LIST, body=None, **headers):
    return service.page(method, path, {"Authorization": authorization, **headers}, body)


# --- one start ---

def test_each_start_has_its_own_secrets(repo, services):
    """Even if the previous service was killed and left its files, and if the user has chosen the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    service = services(repo)
    seen = set()
    for end in (service.kill, service.terminate, service.kill):
        service.start("--port", str(port))
        now = {service.token, key_of(service).digits, invitation(service)[0]}
        assert len(now) == 3 and not now & seen
        kept = b"".join(file.read_bytes() for file in service.folder.iterdir() if file.is_file())
        assert not [one for one in seen if one.encode() in kept], "a file still has a secret of an earlier start"
        seen |= now
        end()


def test_secrets_of_an_earlier_start_are_refused(repo, services):
    service = services(repo).start("--port", "0")
    token, key, (name, code), port = service.token, key_of(service), invitation(service), service.port
    service.kill()
    service.start("--port", str(port))
    for authorization in (f"Bearer {token}", key.sign("GET", LIST)):
        answer = ask(service, authorization)
        assert answer.status == 401 and "x-abacus-proof" not in answer.headers
    assert service.page("GET", f"/enter?code={code}", {"Authorization": None}).status == 401
    for path in (LIST, "/", "/app.js"):
        answer = service.page("GET", path, {"Host": f"{name}:{port}"})
        assert answer.status == 421, "the name of an earlier start still leads here"
    assert b"Run <code>abacus open</code>" in service.page("GET", "/", {"Host": f"{name}:{port}"}).body


def test_a_file_in_which_earlier_versions_kept_a_token_is_removed(repo, services):
    folder = repo.home / "serve"
    folder.mkdir(mode=0o700)
    (folder / "door").write_text("0" * 64 + " 40000\n")
    service = services(repo).start("--port", "0")
    assert not (folder / "door").exists()
    assert ask(service, "Bearer " + "0" * 64).status == 401


# --- signatures ---

def test_a_signature_is_for_one_request(served):
    key, body = key_of(served), b'{"title":"x"}'
    good = key.sign("POST", CREATE, body)
    nonce, digest, mac = good.split()[1].split(":")
    for method, path, sent, authorization in (
            ("GET", CREATE, None, good),
            ("POST", LIST, body, good),
            ("POST", CREATE + "?a=b", body, good),
            ("POST", CREATE.replace("c", "%63", 1), body, good),
            ("POST", CREATE, body, f"Abacus {nonce[::-1]}:{digest}:{mac}"),
            ("POST", CREATE, body, f"Abacus {nonce}:{digest[::-1]}:{mac}"),
            ("POST", CREATE, body, f"Abacus {nonce}:{digest}:{mac[::-1]}"),
            ("POST", CREATE, body, f"Abacus {nonce}:{digest}:"),
            ("POST", CREATE, body, f"Abacus {nonce}:{digest}"),
            ("POST", CREATE, body, f"Abacus {nonce}{digest}{mac}"),
            ("POST", CREATE, body, f"Abacus {mac}"),
            ("POST", CREATE, body, "Abacus "),
            ("POST", CREATE, body, f"Bearer {key.digits}"),
            ("POST", CREATE, body, Key(served.token).sign("POST", CREATE, body)),
            ("POST", CREATE, body, Key("0" * 64).sign("POST", CREATE, body))):
        answer = ask(served, authorization, method, path, sent)
        assert answer.status == 401 and "x-abacus-proof" not in answer.headers, (method, path, authorization)
    other = ask(served, good, "POST", CREATE, b'{"title":"y"}')
    assert other.status == 400 and "not the one that was signed" in other.error["message"]
    assert served.get(LIST).data == []
    assert ask(served, good, "POST", CREATE, body).status == 200


def test_a_signature_is_refused_from_another_site(served):
    key = key_of(served)
    for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
                            ({"Sec-Fetch-Site": "same-site"}, 403), ({"Host": f"evil.localhost:{served.port}"}, 421)):
        assert ask(served, key.sign("GET", LIST), **headers).status == status


@pytest.mark.parametrize("method, path, body, status", [
    ("GET", "/api/proof", None, 200),
    ("GET", LIST, None, 200),
    ("GET", LIST + "?limit=%33&assignee=a", None, 200),
    ("GET", "/api/openapi.json", None, 200),
    ("GET", "/api/no/such", None, 404),
    ("POST", CREATE, b'{"title":"x"}', 200),
    ("POST", CREATE, b"{}", 400),
    ("POST", CREATE, b"{", 400),
    ("GET", CREATE, None, 405),
])
def test_every_answer_to_the_page_is_signed(served, method, path, body, status):
    key = key_of(served)
    authorization = key.sign(method, path, body or b"")
    answer = ask(served, authorization, method, path, body)
    assert answer.status == status and key.proves(authorization, answer)
    assert not key.proves(key.sign(method, path, body or b""), answer), "it proves an answer to another request"
    answer.status += 1
    assert not key.proves(authorization, answer), "it proves another status"


def test_the_events_begin_with_a_proof(served):
    key = key_of(served)
    authorization = key.sign("GET", "/api/events")
    with served.connect(loopback=True) as sock:
        sock.sendall(head_of("GET", "/api/events", f"127.0.0.1:{served.port}", {"Authorization": authorization}))
        head = b""
        while b"\r\n\r\n" not in head:
            head += sock.recv(1 << 16)
    answer = Answer(head)
    assert answer.status == 200 and key.proves(authorization, answer, "stream")


def test_no_client_gets_a_proof_without_the_key(served):
    for authorization in (None, f"Bearer {served.token}", Key("0" * 64).sign("GET", "/api/proof")):
        assert "x-abacus-proof" not in ask(served, authorization, path="/api/proof").headers
    assert "x-abacus-proof" not in served.get("/api/proof").headers


# --- the port ---

def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as sock:
        sock.bind(("::1", 0))
        return True
    return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")


@needs_ipv6
def test_the_service_has_its_port_on_both_loopback_addresses(served):
    """Browsers try ::1 first for the name of the page's host."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError):
                sock.bind((address, served.port))
                sock.listen()
        with socket.socket(family) as sock:
            sock.settimeout(10)
            sock.connect((address, served.port))
            sock.sendall(head_of("GET", LIST, f"{invitation(served)[0]}:{served.port}", {"Authorization": f"Bearer {served.token}"}))
            assert sock.recv(1 << 16).startswith(b"HTTP/1.1 200")


@needs_ipv6
def test_a_port_that_another_process_has_on_ipv6_is_not_used(repo):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        done = repo.run("serve", "--port", str(taken.getsockname()[1]), program="abacus", timeout=10)
    assert done.code == 1 and "Address already in use" in done.err
