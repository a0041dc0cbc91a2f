"""A password in a remote's URL is in no argument list, no file of the store, and no output."""
import os
import pathlib
import shlex
import sys

import pytest

from conftest import git
from remotes import at, bare, clone, http_remote, is_sync_error, point, sync

SECRET = "hunter2swordfish"
COMMANDS = [("bd", *words) for words in (
    ("sync",), ("sync", "--json"), ("sync", "--status"), ("sync", "--status", "--json"), ("sync", "--dry-run"),
    ("status",), ("status", "--json"), ("where",), ("where", "--json"), ("info",), ("info", "--json"), ("doctor",),
    ("doctor", "--json"), ("config", "list", "--json"), ("repair",), ("repair", "--json"), ("validate", "--json"),
    ("history", "bd-one", "--json"))] + [
    ("abacus", "where"), ("abacus", "where", "--json"), ("vybe", "status"), ("vybe", "resume", "--json"),
    ("vybe", "events", "list", "--json")]
needs_proc = pytest.mark.skipif(not pathlib.Path("/proc/self/cmdline").exists(), reason="no /proc to look into")


def running():
    """The arguments of every process of this machine."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes())
        except OSError:
            pass  # it has ended
    return found


def said_nowhere(repo, *commands, secret=SECRET):
    """No output and no file of ours contains it; Git's own configuration belongs to the user."""
    for program, *words in commands:
        done = repo.run(*words, program=program, timeout=120)
        assert secret not in done.out + done.err, (program, words, done.out, done.err)
    for file in repo.home.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


@pytest.fixture
def remote(tmp_path):
    return bare(tmp_path / "srv" / "beads.git")


@pytest.fixture
def anna(tmp_path):
    repo = clone(tmp_path / "anna", None)
    repo.env["PATH"] = os.environ["PATH"]
    repo.create("one", "--id", "bd-one")
    return repo


def point_by(repo, how, url):
    """Git takes the address from one of three places."""
    if how == "url":
        point(repo, url)
    elif how == "pushurl":
        point(repo, url.replace(f"anna:{SECRET}@", ""))
        git(repo.path, "remote", "set-url", "--push", "origin", url)
    else:
        point(repo, "short:beads.git")
        git(repo.path, "config", f"url.{url.removesuffix('beads.git')}.insteadOf", "short:")


@needs_proc
@pytest.mark.parametrize("how", ["url", "insteadOf"])
def test_no_argument_list_has_the_password_while_a_server_is_slow(anna, remote, how):
    """The server checks all processes at every request."""
    seen = []
    with http_remote(remote.parent, user=("anna", SECRET)) as server:
        answer = server.RequestHandlerClass.do_GET

        class Looking(server.RequestHandlerClass):
            def do_GET(self):
                seen.extend(running())
                return answer(self)

            do_POST = do_GET

        server.RequestHandlerClass = Looking
        point_by(anna, how, f"http://anna:{SECRET}@127.0.0.1:{server.port}/beads.git")
        assert sync(anna)["durability"] == "remote"
        said_nowhere(anna, *COMMANDS)
    assert any(b"abacus-sync\0sync\0" in words for words in seen), "the sync was never seen"
    assert not [words for words in seen if SECRET.encode() in words]


@needs_proc
@pytest.mark.parametrize("user", [f"anna:{SECRET}", SECRET], ids=["password", "token"])
def test_no_argument_list_has_the_password_while_a_credential_helper_runs(anna, remote, tmp_path, user):
    """The password of the URL is refused, so Git runs its helper, which checks all processes."""
    look = tmp_path / "helper"
    look.write_text(f"#!{sys.executable}\n"
                    "import pathlib, sys\n"
                    f"out = open({str(tmp_path / 'seen')!r}, 'ab')\n"
                    "for f in pathlib.Path('/proc').glob('[0-9]*/cmdline'):\n"
                    "    try: out.write(f.read_bytes() + b'\\n')\n"
                    "    except OSError: pass\n"
                    "print('username=anna\\npassword=right')\n")
    look.chmod(0o755)
    git(anna.path, "config", "credential.helper", str(look))
    with http_remote(remote.parent, user=("anna", "right")) as server:
        point(anna, f"http://{user}@127.0.0.1:{server.port}/beads.git")
        sync(anna)
        said_nowhere(anna, *COMMANDS)
    seen = (tmp_path / "seen").read_bytes()
    assert b"credential\0fill" in seen and SECRET.encode() not in seen


@needs_proc
def test_no_argument_list_has_the_password_while_ssh_runs(anna, remote, tmp_path):
    """ssh takes no password; the user, the host and the port still reach it."""
    fake = tmp_path / "fake-ssh"
    fake.write_text(f"#!/bin/sh\necho \"$@\" >>{shlex.quote(str(tmp_path / 'words'))}\n"
                    f"cat /proc/[0-9]*/cmdline >>{shlex.quote(str(tmp_path / 'seen'))} 2>/dev/null\n"
                    "for last; do :; done\neval \"$last\"\n")
    fake.chmod(0o755)
    anna.env["GIT_SSH_COMMAND"] = str(fake)
    point(anna, f"ssh://anna:{SECRET}@example.invalid:2222{remote}")
    assert sync(anna)["durability"] == "remote" and at(remote)
    words = (tmp_path / "words").read_text()
    assert "-p 2222 anna@example.invalid git-upload-pack" in words, words
    assert SECRET not in words and SECRET.encode() not in (tmp_path / "seen").read_bytes()
    said_nowhere(anna, *COMMANDS)


@pytest.mark.parametrize("how", ["url", "pushurl", "insteadOf"])
@pytest.mark.parametrize("status", [None, 401, 403, 404, 500])
def test_no_error_contains_the_password(anna, remote, how, status):
    with http_remote(remote.parent, user=("anna", "other") if status == 401 else None) as server:
        server.status = None if status == 401 else status
        port = server.port if status else 1  # nobody is at port 1
        point_by(anna, how, f"http://anna:{SECRET}@127.0.0.1:{port}/beads.git")
        done = anna.run("sync", "--json")
        assert done.code == 4 and SECRET not in done.out + done.err, done.out
        said_nowhere(anna, *COMMANDS)


@pytest.mark.parametrize("url", [
    "http://anna:{}@127.0.0.1:99999/x.git", "http://anna:{}@[::1:80/x.git", "gopher://anna:{}@127.0.0.1/x.git",
    "http://anna:x@{}@127.0.0.1:1/x.git", "http://anna:{}/y@127.0.0.1:1/x.git", "https://{}@127.0.0.1:1/x.git",
    "git://anna:{}@127.0.0.1:1/x.git", "http://127.0.0.1:1/x.git?private_token={}", "ssh://anna:{}@127.0.0.1:1/x.git",
    "http://anna:{}%@127.0.0.1:1/x.git", "file://anna:{}@localhost/nonexistent", "http:/anna:{}@127.0.0.1/x.git",
    "http:\\\\anna:{}@127.0.0.1/x.git", "anna:{}@127.0.0.1:x.git", "anna:{}@127.0.0.1/x.git",
    "anna@example.com:{}@127.0.0.1:x.git", "ssh:/anna:{}@127.0.0.1/x.git", "ssh://anna:{}/y@127.0.0.1/x.git",
    "anna:{}@127.0.0.1://x.git", "http:/127.0.0.1/x.git?private_token={}", "http://anna:a b{}@127.0.0.1:1/x.git",
    "https:///anna:{}@127.0.0.1/x.git", "http:////anna:{}@127.0.0.1/x.git", "ssh:///anna:{}@127.0.0.1/x.git",
    "git:///anna:{}@127.0.0.1/x.git", "https:///{}@127.0.0.1/x.git", "http://anna:{}%40127.0.0.1:1/x.git",
    "ssh://anna:{}%40127.0.0.1/x.git", "http://127.0.0.1:1/http://anna:{}@127.0.0.1/x.git",
    "[anna:{}@127.0.0.1]:x.git", "[anna:{}@127.0.0.1:22]:x.git", "[anna:{}]@127.0.0.1:x.git",
    "[[anna:{}@127.0.0.1]]:x.git", "[anna:{}@127.0.0.1:x.git", "[anna:{}]@127.0.0.1", "[anna:{}%40127.0.0.1]:x.git",
    "anna%3a{}@127.0.0.1:x.git", "anna:{}%40127.0.0.1:x.git", "ssh://anna%3A{}@127.0.0.1/x.git",
    "ssh://anna%3a{}%40127.0.0.1/x.git", "ssh://[anna:{}%40127.0.0.1]/x.git", "ssh://[anna:{}@127.0.0.1]/x.git",
    "anna@example.com:bea:{}@127.0.0.1/x.git"])
def test_no_error_about_an_unusable_address_contains_the_password(anna, tmp_path, url):
    """Neither does the argument list of the ssh that would be started for it."""
    fake, words = tmp_path / "fake-ssh", tmp_path / "words"
    fake.write_text(f"#!/bin/sh\necho \"$@\" >>{shlex.quote(str(words))}\nexit 255\n")
    fake.chmod(0o755)
    anna.env["GIT_SSH_COMMAND"] = str(fake)
    point(anna, url.format(SECRET))
    done = anna.run("sync", "--json")
    assert done.code == 4 and SECRET not in done.out + done.err, done.out
    assert not words.exists() or SECRET not in words.read_text()
    said_nowhere(anna, ("bd", "sync"), ("bd", "sync", "--status", "--json"), ("bd", "status"), ("bd", "doctor"))


def test_an_address_of_ssh_may_have_an_at_sign_in_its_path(anna, remote, tmp_path):
    """If the address names a user, nothing in its path can be a password."""
    fake = tmp_path / "fake-ssh"
    fake.write_text("#!/bin/sh\nfor last; do :; done\neval \"$last\"\n")
    fake.chmod(0o755)
    anna.env["GIT_SSH_COMMAND"] = str(fake)
    remote.rename(remote.parent / "beads@v1.git")
    point(anna, f"anna@example.invalid:{remote.parent}/beads@v1.git")
    assert sync(anna)["durability"] == "remote"


def test_a_server_reply_with_the_password_is_not_quoted(anna, remote):
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\necho 'you are http://anna:{SECRET}@here, with {SECRET}'\nexit 1\n")
    hook.chmod(0o755)
    with http_remote(remote.parent, user=("anna", SECRET)) as server:
        point(anna, f"http://anna:{SECRET}@127.0.0.1:{server.port}/beads.git")
        error = is_sync_error(anna.run("sync", "--json"), "remote_rejected")
        assert "you are http://***@here, with ***" in error["message"], error
        said_nowhere(anna, *COMMANDS)


def test_an_address_is_not_taken_for_the_name_of_a_remote(anna):
    """Otherwise it would be stored in the store's settings."""
    url = f"https://anna:{SECRET}@example.invalid/x.git"
    done = anna.run("--json", "config", "set", "sync.remote", url)
    assert done.code == 1 and done.error["code"] == "invalid_argument" and SECRET not in done.out + done.err, done.out
    said_nowhere(anna, ("bd", "config", "list"))


def test_insteadof_is_applied_once(tmp_path, anna, remote):
    """As Git does; twice would be another address."""
    point(anna, f"{tmp_path}/srv/beads.git")
    (tmp_path / "srv" / "deeper").mkdir()
    remote.rename(tmp_path / "srv" / "deeper" / "beads.git")
    git(anna.path, "config", f"url.{tmp_path}/srv/deeper/.insteadOf", f"{tmp_path}/srv/")
    assert sync(anna)["durability"] == "remote"
