"""'abacus open' shows its invitation only to the user: every user can read a browser's arguments."""
import fcntl
import json
import os
import pathlib
import re
import socket
import stat
import subprocess

import pytest

from harness import needs_root, open_up, patience, wait_until
from service import served, services  # noqa: F401
from test_serve_guard import later  # noqa: F401

NOBODY = 65534
ADDRESS = r"http://abacus-[0-9a-f]{16}\.localhost:[0-9]+/enter\?code=([0-9a-f]{64})"


@pytest.fixture
def browser(tmp_path):
    """A program that writes its arguments, as other users see them, to a file."""
    script, kept = tmp_path / "browser", tmp_path / "arguments"
    script.write_text(f"#!/bin/sh\ntr '\\0' '\\n' </proc/$$/cmdline >{kept}.new && mv {kept}.new {kept}\n")
    script.chmod(0o755)

    class Browser:
        env = {"BROWSER": script}

        @staticmethod
        def arguments():
            wait_until(kept.exists, "the browser was started")
            return kept.read_text().splitlines()

    return Browser


def page_folder(service):
    return pathlib.Path(service.env["HOME"]) / ".local" / "state" / "abacus" / "open"


def page_files(service, home=None):
    return sorted(home.glob("abacus-open-*.html") if home else page_folder(service).glob("*.html"))


def open_page(service, **env):
    """The output of the command: the address."""
    out = service.repo.run("open", program="abacus", env={**service.env, **env}).ok().out
    return re.search(f"^{ADDRESS}$", out, re.M)


def enter(service, code):
    return service.page("GET", f"/enter?code={code}", {"Authorization": None}).status


def test_a_browser_is_given_a_file_and_not_the_address(served, browser):
    printed = open_page(served, **browser.env)
    [file] = page_files(served)
    said = browser.arguments()
    assert said[-1] == str(file)
    for secret in (printed[1], served.token, "enter", "localhost", str(served.port)):
        assert secret not in "\n".join(said)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert printed[1] in file.read_text(), "the file leads to another address"
    assert 'name=referrer content=no-referrer' in file.read_text()


def test_the_file_is_removed_when_the_invitation_was_used(served, browser):
    first, second = open_page(served, **browser.env), open_page(served, **browser.env)
    assert len(page_files(served)) == 2
    assert enter(served, first[1]) == 200
    [left] = page_files(served)
    assert second[1] in left.read_text()
    assert enter(served, second[1]) == 200 and page_files(served) == []


def test_the_file_is_removed_after_a_minute(repo, services, browser, later, tmp_path):
    service = services(repo, **later, LATER_S=61).start("--port", "0")
    open_page(service, **browser.env)
    assert page_files(service)
    (tmp_path / "later").touch()
    wait_until(lambda: not page_files(service), "the file is removed")


def test_the_files_are_removed_with_the_service(served, browser):
    for end in (served.terminate, served.kill):
        open_page(served, **browser.env)
        assert page_files(served)
        end()
        served.again()
        assert page_files(served) == []


def test_there_are_only_a_few_files(served, browser):
    for _ in range(12):
        open_page(served, **browser.env)
    assert len(page_files(served)) == 8


def test_without_a_browser_there_is_an_address_and_no_file(served):
    out = served.repo.run("open", "--print", program="abacus").ok().out
    assert re.fullmatch(ADDRESS + r"\n", out)
    assert page_files(served) == []
    assert served.repo.json("open", "--print", program="abacus")["opened"] is False


def test_for_a_browser_from_snap_the_file_is_in_a_readable_folder(repo, services, browser):
    """Such browsers see nothing below '.git', and nothing in /tmp."""
    home = repo.path.parent / "home"
    (home / "snap").mkdir(parents=True)
    home.chmod(0o755)
    service = services(repo, HOME=home).start("--port", "0")
    printed = open_page(service, **browser.env)
    [file] = page_files(service, home)
    assert browser.arguments()[-1] == str(file) and page_files(service) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and printed[1] in file.read_text()
    assert enter(service, printed[1]) == 200 and page_files(service, home) == []


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_home_folder_that_others_may_write_to_is_not_used(repo, services, browser, mode):
    home = repo.path.parent / "home"
    (home / "snap").mkdir(parents=True)
    home.chmod(mode)
    service = services(repo, HOME=home).start("--port", "0")
    open_page(service, **browser.env)
    assert page_files(service) and page_files(service, home) == []


@needs_root
def test_another_user_cannot_read_the_file(served, browser):
    open_page(served, **browser.env)
    [file] = page_files(served)
    open_up(file.parent)
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            file.read_text()
        except PermissionError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_link_in_the_place_of_the_file_is_not_followed(served, browser, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    open_page(served, **browser.env)
    [file] = page_files(served)
    for i in range(8):
        file.with_name(file.name.replace("-0.html", f"-{i}.html")).unlink(missing_ok=True)
        file.with_name(file.name.replace("-0.html", f"-{i}.html")).symlink_to(victim)
    printed = open_page(served, **browser.env)
    assert victim.read_text() == "mine"
    assert [f for f in page_files(served) if not f.is_symlink() and printed[1] in f.read_text()]


def test_a_program_that_may_write_to_the_store_cannot_replace_the_file(served, browser):
    open_page(served, **browser.env)
    [file] = page_files(served)
    assert browser.arguments()[-1] == str(file) and served.repo.home not in file.parents


@pytest.mark.parametrize("home", ["not-absolute", "/dev/null"])
def test_without_a_folder_of_the_user_there_is_an_address_and_no_file(repo, services, browser, home):
    service = services(repo, HOME=home).start("--port", "0")
    out = repo.run("open", "--json", program="abacus", env={**service.env, **browser.env}).ok().json
    assert re.fullmatch(ADDRESS, out["url"]) and out["opened"] is False
    assert list(repo.path.parent.rglob("*.html")) == []


# --- a program in a sandbox that may write to the store can listen on the socket there ---
# The names of these tests are short, because they are a part of the path of the socket.

PAGE = "http://abacus-0123456789abcdef.localhost:80/enter?code=" + "0" * 64


def falsely_answered(repo, answer, env):
    """What 'abacus open' says if another program answers in place of the service."""
    folder = repo.home / "serve"
    folder.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as at, open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        at.bind(str(folder / "socket"))
        at.listen()
        at.settimeout(patience(10))
        command = repo.spawn("open", "--json", program="abacus", env=env, stdout=subprocess.PIPE)
        talk, _ = at.accept()
        asked, answer = b"", json.dumps(answer).encode()
        while not asked.endswith(b"{}"):
            asked += talk.recv(1 << 16)
        talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(answer) + answer)
        talk.close()
        out = command.communicate()[0]
    (folder / "socket").unlink()
    return json.loads(out)


def test_false_file(repo, tmp_path, browser):
    """No file that it names is opened, also none that it wrote as the service once did."""
    folder = repo.home / "serve"
    for file in (tmp_path / "evil.desktop", folder / "open-1.html/../../evil.desktop", folder / "open-1.desktop",
                 folder / "open-1.html"):
        said = falsely_answered(repo, {"url": PAGE, "file": str(file)}, {**browser.env, "HOME": tmp_path})
        assert said["opened"] is False, (file, said)


@pytest.mark.parametrize("url", ["http://evil.example/", "http://evil.example/" + PAGE, PAGE + "@evil.example/",
                                 PAGE.replace("http", "https"), PAGE.replace(":80/", ":80@evil.example/"),
                                 PAGE.replace("localhost", "localhost.evil.example"), PAGE.replace("0123", "A123"),
                                 PAGE.replace("?code", "\0?code"), PAGE + "0", ""])
def test_false_url(repo, browser, url):
    """Only an address of the page is shown."""
    said = falsely_answered(repo, {"url": url}, browser.env)["error"]
    assert said["message"] == "the service replied with an address that is not of its page"


def test_false_hint(repo, browser):
    said = falsely_answered(repo, {"error": {"message": "no", "hint": "Run 'sh evil'."}}, browser.env)["error"]
    assert "evil" not in json.dumps(said) and said["message"] == "the service replied: no"
