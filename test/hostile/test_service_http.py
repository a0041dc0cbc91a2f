"""The service refuses requests that two HTTP parsers could read in two ways."""

import pytest

from service import Answer, Service, project_at

CREATE = "/api/bead/create"
BODY = b'{"title":"x"}'
CHUNKS = b"d\r\n" + BODY + b"\r\n0\r\n\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    service = Service(project_at(tmp_path_factory.mktemp("http") / "proj"))
    try:
        yield service.start("--port", "0")
    finally:
        service.close()


class Request:
    """A request that is valid until a test changes it; it would create a bead."""

    def __init__(self, service, loopback):
        host = f"127.0.0.1:{service.port}" if loopback else "localhost"
        self.line = f"POST {CREATE} HTTP/1.1"
        self.headers = [f"Host: {host}", f"Authorization: Bearer {service.token}", "Content-Type: application/json"]
        self.length = [f"Content-Length: {len(BODY)}"]
        self.body = BODY

    def bytes(self):
        return "\r\n".join([self.line, *self.headers, *self.length, "", ""]).encode("latin-1") + self.body


def chunked(*length):
    def change(request):
        request.length, request.body = list(length), CHUNKS
    return change


def trailer(text):
    """A header after the body."""
    def change(request):
        request.length, request.body = ["Transfer-Encoding: chunked"], CHUNKS[:-2] + text.encode("latin-1") + b"\r\n"
    return change


def add(*headers):
    return lambda request: request.headers.extend(headers)


def first(*headers):
    def change(request):
        request.headers[:0] = headers
    return change


def line(text):
    def change(request):
        request.line = text
    return change


def repeat(name):
    """The same header, with the same value, once more."""
    def change(request):
        request.headers += [h for h in request.headers + request.length if h.startswith(name)]
    return change


AMBIGUOUS = {
    "two equal Host headers": repeat("Host"),
    "a second Host header": add("Host: evil.example"),
    "a second Host header in another case": add("hOST: evil.example"),
    "an earlier Host header": first("Host: evil.example"),
    "two equal Content-Length headers": repeat("Content-Length"),
    "two Content-Length headers": add("Content-Length: 2"),
    "a list as Content-Length": lambda r: r.length.__setitem__(0, f"Content-Length: {len(BODY)}, {len(BODY)}"),
    "a signed Content-Length": lambda r: r.length.__setitem__(0, f"Content-Length: +{len(BODY)}"),
    "Content-Length and Transfer-Encoding": chunked("Content-Length: 2", "Transfer-Encoding: chunked"),
    "Transfer-Encoding and Content-Length": chunked("Transfer-Encoding: chunked", f"Content-Length: {len(CHUNKS)}"),
    "no Host header": lambda r: r.headers.pop(0),
    "two Transfer-Encoding headers": chunked("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "Transfer-Encoding that is not chunked alone": chunked("Transfer-Encoding: gzip, chunked"),
    "Transfer-Encoding with an unknown word": chunked("Transfer-Encoding: xchunked"),
    "a space before the colon of Host": lambda r: r.headers.__setitem__(0, r.headers[0].replace(":", " :", 1)),
    "a space before a colon": add("X-A : b"),
    "a space in a name": add("X A: b"),
    "a header without a name": add(": b"),
    "a header without a colon": add("X-A"),
    "a value that goes on in the next line": add("X-A: b", " c"),
    "a value that goes on after a tab": add("X-A: b", "\tc"),
    "a Host header that goes on in the next line": lambda r: r.headers.__setitem__(0, "Host:\r\n " + r.headers[0][6:]),
    "a first header that begins with a space": first(" X-A: b"),
    "a bare CR in a value": add("X-A: b\rX-B: c"),
    "a NUL in a value": add("X-A: b\0c"),
    "a control character in a value": add("X-A: b\x01c"),
    "a second Authorization header": repeat("Authorization"),
    "a second Content-Type header": add("Content-Type: text/plain"),
    "two Origin headers": add("Origin: http://evil.example", "Origin: http://evil.example"),
    "an absolute target": line(f"POST http://evil.example{CREATE} HTTP/1.1"),
    "an absolute target without a path": line("POST http://evil.example HTTP/1.1"),
    "an asterisk as target": line("POST * HTTP/1.1"),
    "an authority as target": line("POST evil.example:80 HTTP/1.1"),
    "a target without a slash": line("POST api/bead/create HTTP/1.1"),
    "a target with a fragment": line(f"POST {CREATE}#x HTTP/1.1"),
    "a target with an encoded NUL": line(f"POST {CREATE}%00x HTTP/1.1"),
    "a target with a space": line(f"POST {CREATE} x HTTP/1.1"),
    "LF alone after a header": add("X-A: b\nX-B: c"),
    "LF alone after a header that ends with a space": add("X-A: b \nX-B: c"),
    "LF alone after a header without a value": add("X-A:\nX-B: c"),
    "LF alone after the request line": lambda r: line(r.line + "\n" + r.headers.pop(0))(r),
    "LF alone before the empty line": lambda r: r.length.__setitem__(0, r.length[0] + "\n"),
    "an empty line that is LF alone": lambda r: setattr(r, "body", b"") or r.length.__setitem__(
        0, "Content-Length: 0\r\n\nX-A: b"),
    "a CR before the method": line(f"\rPOST {CREATE} HTTP/1.1"),
    "a method that is not a word": line(f"PO\x01ST {CREATE} HTTP/1.1"),
    "an unknown version": line(f"POST {CREATE} HTTP/1.2"),
    **{f"a trailer {text!r}": trailer(text) for text in (
        "X-A: b\r\n", "X : y\r\n", "X: y\r\n fold\r\n", "X: a\x01b\r\n", "X\x01: y\r\n", "X: y\n", "Host: evil.example\r\n",
        "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Authorization: Bearer x\r\n")},
    "chunks in HTTP/1.0": lambda r: (line(f"POST {CREATE} HTTP/1.0")(r), chunked("Transfer-Encoding: chunked")(r)),
}


@pytest.mark.parametrize("loopback", [False, True], ids=["socket", "loopback"])
@pytest.mark.parametrize("change", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_an_ambiguous_request_is_refused_and_closes_the_connection(running, change, loopback):
    """A second request after it, which a more lenient parser would find, is not answered."""
    request = Request(running, loopback)
    change(request)
    second = b"GET /api/bead/list HTTP/1.1\r\n" + "\r\n".join(Request(running, loopback).headers).encode() + b"\r\n\r\n"
    answer = running.raw(request.bytes() + second, loopback)  # returns when the service closes the connection
    assert b" 200 OK" not in answer, answer
    assert not answer or Answer(answer).status in (400, 505), answer
    assert running.get("/api/bead/list").data == []


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&li%6Dit=2", "agent=anna&agent=ben", "limit=1&x&limit=1"])
def test_a_parameter_that_is_given_twice_is_refused(running, query):
    answer = running.ask("GET", f"/api/bead/ready?{query}")
    assert answer.status == 400 and answer.error["message"], answer.body


def test_a_place_in_the_events_that_is_given_twice_is_refused(running):
    answer = running.ask("GET", "/api/events?after=1&after=2", headers={"Connection": "close"})
    assert answer.status == 400, answer.body


def test_a_list_may_be_given_as_several_parameters(running):
    assert running.get("/api/bead/list?type=bug&type=task").data == []


PLAIN = {
    "chunks": chunked("Transfer-Encoding: chunked"),
    "no space after the colon": add("X-A:b"),
    "an empty value": add("X-A:", "X-B: "),
    "a header that may be repeated": add("X-A: b", "X-A: c"),
    "bytes that are not ASCII": add("X-A: \xe4"),
    "HTTP/1.0": line(f"POST {CREATE} HTTP/1.0"),
    "nothing unusual": lambda request: None,
}


@pytest.mark.parametrize("loopback", [False, True], ids=["socket", "loopback"])
@pytest.mark.parametrize("change", PLAIN.values(), ids=PLAIN)
def test_an_ordinary_request_is_answered(running, change, loopback):
    request = Request(running, loopback)
    request.line = request.line.replace("create", "list")
    request.body, request.length = b"{}", ["Content-Length: 2"]
    change(request)
    request.line = request.line.replace("create", "list")
    if request.body == CHUNKS:
        request.body = b"2\r\n{}\r\n0\r\n\r\n"
    request.headers.append("Connection: close")
    assert Answer(running.raw(request.bytes(), loopback)).data == []


@pytest.mark.parametrize("path", ["/", "/app.js", "/unknown", "/enter/x"])
@pytest.mark.parametrize("length", ["Content-Length: 4194304", "Transfer-Encoding: chunked"])
def test_a_request_without_a_key_has_no_body(running, path, length):
    """Otherwise any user of the machine could make the service keep gigabytes."""
    answer = Answer(running.raw(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n{length}\r\n\r\n".encode(), True))
    assert (answer.status, answer.json["error"]["message"]) == (400, "a request for a file of the page has a body")


def test_the_page_is_sent_to_a_request_that_says_it_has_no_body(running):
    head = f"Host: 127.0.0.1:{running.port}\r\nContent-Length: 0\r\nConnection: close"
    assert Answer(running.raw(f"GET / HTTP/1.1\r\n{head}\r\n\r\n".encode(), True)).status == 200
