"""bd sync with every kind of remote, without a `git` program."""
import getpass
import json
import os
import subprocess

import pytest

from conftest import git
from remotes import (NO_GIT, REF, Ssh, at, bare, clone, hook, history, http_remote, is_sync_error, point, published,
                     same_everywhere, ssh_remote, sshd_at_hand, sync, titles)


@pytest.fixture
def remote(tmp_path):
    return bare(tmp_path / "srv" / "beads.git")


@pytest.fixture
def server(tmp_path, remote):
    with http_remote(remote.parent) as server:
        yield server


def exchange(tmp_path, remote, url, **env):
    """Two clones, both directions: new beads, edits of one bead on both sides, edges, a delete."""
    anna, ben = (clone(tmp_path / name, url, **env) for name in ("anna", "ben"))
    one = anna.create("one", "-p", "1")
    first = sync(anna)
    assert (first["pushed"], first["durability"], first["attempts"]) == (1, "remote", 1)
    assert at(remote) == first["commit"] == at(anna.path)
    two = ben.create("two")
    gone = ben.create("gone")
    second = sync(ben)
    assert (second["pulled"], second["durability"]) == (1, "remote")
    assert first["commit"] in history(remote)
    anna.bd("update", one, "--priority", "0").ok()
    ben.bd("dep", "add", two, one).ok()
    ben.bd("delete", gone, "--yes").ok()
    ben.bd("update", one, "--title", "one, by ben").ok()
    sync(ben)
    assert sync(anna)["durability"] == "remote"
    assert sync(ben)["pushed"] == 0
    same_everywhere(remote, anna, ben)
    assert titles(anna) == ["one, by ben", "two"]
    assert anna.show(one)["priority"] == 0
    assert anna.ids("ready") == [one]
    before = at(remote)
    assert sync(anna)["commit"] == before == at(remote)
    return anna, ben


# --- folders ---

def test_path(tmp_path, remote):
    exchange(tmp_path, remote, remote)


def test_file_url(tmp_path, remote):
    exchange(tmp_path, remote, f"file://{remote}")


@pytest.mark.parametrize("host", ["", "localhost"])
def test_file_url_with_escapes(tmp_path, host):
    """A name with a space is the same folder for fetching and for pushing."""
    remote = bare(tmp_path / "a b%c.git")
    anna = clone(tmp_path / "anna", f"file://{host}{str(remote).replace('%', '%25').replace(' ', '%20')}")
    anna.create("one")
    assert sync(anna)["commit"] == at(remote)


def test_push_to_an_escaped_url_is_a_compare_and_swap(tmp_path):
    """Nothing is overwritten: two clones that never saw each other both arrive."""
    remote = bare(tmp_path / "a b.git")
    repos = [clone(tmp_path / f"c{i}", f"file://{tmp_path}/a%20b.git") for i in range(3)]
    for turn in range(4):
        for i, repo in enumerate(repos):
            repo.create(f"{turn} {i}")
        running = [repo.spawn("sync", "--json", stdout=subprocess.PIPE) for repo in repos]
        assert [p.wait() for p in running] == [0, 0, 0], [p.stdout.read() for p in running]
        for p in running:
            p.stdout.close()
    for repo in repos:
        sync(repo)
    same_everywhere(remote, *repos)
    assert len(titles(repos[0])) == 12


def test_not_bare(tmp_path):
    """A colleague's working copy; neither its branch nor its files change."""
    there = tmp_path / "theirs"
    there.mkdir()
    git(there, "init", "-q", "-b", "main")
    (there / "file").write_text("x")
    git(there, "add", "file")
    git(there, "commit", "-qm", "x")
    head = git(there, "rev-parse", "HEAD")
    exchange(tmp_path, there, there)
    assert (git(there, "rev-parse", "HEAD"), git(there, "status", "--porcelain")) == (head, "")


def test_not_bare_linked_worktree(tmp_path):
    there = tmp_path / "theirs"
    there.mkdir()
    git(there, "init", "-q", "-b", "main")
    git(there, "commit", "-q", "--allow-empty", "-m", "x")
    git(there, "worktree", "add", "-q", "../linked")
    anna = clone(tmp_path / "anna", tmp_path / "linked")
    anna.create("one")
    assert sync(anna)["commit"] == at(there)


def test_relative_path_from_everywhere(tmp_path, remote):
    """A remote "../srv/beads.git" is the same one from a subfolder, from elsewhere, and from a linked worktree."""
    anna = clone(tmp_path / "anna", "../srv/beads.git")
    git(anna.path, "commit", "-q", "--allow-empty", "-m", "x")
    git(anna.path, "worktree", "add", "-q", "../far/away/linked")
    below = anna.path / "a" / "b"
    below.mkdir(parents=True)
    for cwd, args in ((anna.path, ()), (below, ()), ("/", ("-C", str(anna.path))),
                      (tmp_path / "far/away/linked", ())):
        anna.create(f"from {cwd}")
        reply = sync(anna, *args, cwd=cwd)
        assert (reply["durability"], reply["commit"]) == ("remote", at(remote))


def test_no_remote_at_all(tmp_path):
    anna = clone(tmp_path / "anna", None)
    anna.create("one")
    reply = sync(anna)
    assert (reply["remote"], reply["durability"], reply["pushed"]) == (None, "local", 1)
    assert at(anna.path) == reply["commit"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_missing_folder(tmp_path, scheme):
    anna = clone(tmp_path / "anna", None)
    point(anna, f"{scheme}{tmp_path}/nowhere.git")
    anna.create("one")
    error = is_sync_error(anna.run("sync", "--json"), "sync_failed")
    assert f"{tmp_path}/nowhere.git" in error["message"] and error["retryable"]
    assert "no such" in error["message"].lower()
    assert titles(anna) == ["one"]
    remote = bare(tmp_path / "nowhere.git")
    assert sync(anna)["commit"] == at(remote)


def test_folder_without_a_repository(tmp_path):
    anna = clone(tmp_path / "anna", None)
    (tmp_path / "plain").mkdir()
    point(anna, tmp_path / "plain")
    is_sync_error(anna.run("sync", "--json"), "sync_failed")
    assert list((tmp_path / "plain").iterdir()) == []


def test_failed_push_of_a_first_sync_is_a_failure(tmp_path, remote):
    """The fetch works, the push does not: no success is reported, even the first time."""
    anna = clone(tmp_path / "anna", remote)
    git(anna.path, "remote", "set-url", "--push", "origin", "http://u:secret@127.0.0.1:1/x.git")
    anna.create("one")
    done = anna.run("sync", "--json")
    is_sync_error(done, "sync_failed")
    assert "secret" not in done.out + done.err
    assert at(remote) is None
    git(anna.path, "remote", "set-url", "--delete", "--push", "origin", ".*")
    assert sync(anna)["commit"] == at(remote)


# --- HTTP ---

def test_http(tmp_path, remote, server):
    exchange(tmp_path, remote, f"{server.url}/beads.git")
    assert server.chunked, "the pushes should have come in chunks"


def test_http_with_a_password(tmp_path, remote):
    with http_remote(remote.parent, user=("anna", "se:cret")) as server:
        exchange(tmp_path, remote, f"http://anna:se%3Acret@127.0.0.1:{server.port}/beads.git")


def test_http_wrong_password(tmp_path, remote):
    with http_remote(remote.parent, user=("anna", "right")) as server:
        anna = clone(tmp_path / "anna", None)
        anna.create("one")
        for url in (f"http://anna:hunter2@127.0.0.1:{server.port}/beads.git", f"{server.url}/beads.git"):
            point(anna, url)
            done = anna.run("sync", "--json")
            error = is_sync_error(done, "auth_failed")
            assert "hunter2" not in done.out + done.err
            assert "password" in error["message"] and "gitconfig" not in error["message"]
            assert anna.json("sync", "--status")["last_error"] == error["message"]
        assert at(remote) is None
        point(anna, f"http://anna:right@127.0.0.1:{server.port}/beads.git")
        assert sync(anna)["durability"] == "remote"
        assert titles(anna) == ["one"]


def test_the_credential_helper_of_the_user_is_run_if_git_is_installed(tmp_path, remote):
    """There is no question on a terminal; without `git` there is no helper."""
    with http_remote(remote.parent, user=("anna", "se cret")) as server:
        anna = clone(tmp_path / "anna", f"{server.url}/beads.git")
        git(anna.path, "config", "credential.helper", "!f() { echo username=anna; echo 'password=se cret'; }; f")
        anna.create("one")
        is_sync_error(anna.run("sync", "--json"), "auth_failed")
        anna.env["PATH"] = os.environ["PATH"]
        assert sync(anna, cwd="/", env={"BEADS_DIR": str(anna.path)})["durability"] == "remote"
        git(anna.path, "config", "credential.helper", "!f() { echo username=anna; echo password=wrong; }; f")
        anna.create("two")
        is_sync_error(anna.run("sync", "--json"), "auth_failed")


@pytest.mark.parametrize("url", [
    "http://anna:hunter2@127.0.0.1:1/x.git", "http://anna:hunter2@127.0.0.1:99999/x.git",
    "http://anna:hunter2@[::1:80/x.git", "gopher://anna:hunter2@127.0.0.1/x.git", "http://anna:x@hunter2@127.0.0.1:1/x.git",
    "https://anna:hunter2@127.0.0.1:1/x.git", "git://anna:hunter2@127.0.0.1:1/x.git", "http://hunter2@127.0.0.1:1",
])
def test_no_password_in_any_message(tmp_path, url):
    anna = clone(tmp_path / "anna", None)
    point(anna, url)
    anna.create("one")
    for args in (("sync", "--json"), ("sync",), ("sync", "--status"), ("status",), ("sync", "--status", "--json")):
        done = anna.run(*args)
        assert done.code in (0, 4), done.out + done.err
        assert "hunter2" not in done.out + done.err
    assert b"hunter2" not in (anna.home / "sync.json").read_bytes()


@pytest.mark.parametrize("status,code", [(403, "auth_failed"), (404, "sync_failed"), (500, "sync_failed"),
                                         (503, "sync_failed")])
def test_http_errors(tmp_path, remote, server, status, code):
    anna = clone(tmp_path / "anna", f"{server.url}/beads.git")
    anna.create("one")
    server.status = status
    assert str(status) in is_sync_error(anna.run("sync", "--json"), code)["message"]
    server.status = None
    assert sync(anna)["commit"] == at(remote)


@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_refused_by_a_hook(tmp_path, remote, server, name):
    """All output of the hook is shown, and the push is not repeated."""
    anna = clone(tmp_path / "anna", f"{server.url}/beads.git")
    anna.create("one")
    hook(remote, name, "echo 'no beads on Fridays' >&2\nsleep 0.05\necho 'ask Carol' >&2\nexit 1\n")
    error = is_sync_error(anna.run("sync", "--json"), "remote_rejected")
    assert "no beads on Fridays" in error["message"] and "ask Carol" in error["message"]
    assert "hook declined" in error["message"]
    assert len([line for line in server.seen if line.startswith("POST")]) == 1
    assert at(remote) is None and titles(anna) == ["one"]
    (remote / "hooks" / name).unlink()
    anna.create("two")
    sync(anna)
    assert len(published(remote)["state.jsonl"].splitlines()) == 2


def test_ref_that_may_not_be_written(tmp_path, remote, server):
    git(remote, "config", "receive.hideRefs", "refs/beads")
    anna = clone(tmp_path / "anna", f"{server.url}/beads.git")
    anna.create("one")
    is_sync_error(anna.run("sync", "--json"), "remote_rejected")


MOVE = """[ $(cat count) -ge {times} ] && exit 0
echo $(($(cat count) + 1)) >count
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
old=$(git rev-parse refs/beads/store)
new=$(git -c user.name=h -c user.email=h@h commit-tree -p $old -m moved $old^{{tree}})
git update-ref refs/beads/store $new $old
"""


def test_ref_moves_between_fetch_and_push(tmp_path, remote, server):
    """Ten times in a row another clone is faster; all published data stays in the history."""
    anna = clone(tmp_path / "anna", f"{server.url}/beads.git")
    anna.create("one")
    first = sync(anna)["commit"]
    anna.create("two")
    (remote / "count").write_text("0\n")
    hook(remote, "pre-receive", MOVE.format(times=10))
    reply = sync(anna)
    assert (reply["attempts"], reply["durability"], reply["warning"]) == (11, "remote", None)
    assert at(remote) == reply["commit"]
    assert len(history(remote)) == 12 and history(remote)[-1] == first
    assert titles(anna) == ["one", "two"]
    same_everywhere(remote, anna)


def test_ref_moves_in_the_last_moment(tmp_path, remote, server):
    """After the objects were received, while the ref is updated."""
    anna = clone(tmp_path / "anna", f"{server.url}/beads.git")
    anna.create("one")
    sync(anna)
    anna.create("two")
    (remote / "count").write_text("0\n")
    hook(remote, "update", MOVE.format(times=2))
    reply = sync(anna)
    assert reply["attempts"] == 3 and reply["commit"] == at(remote)
    same_everywhere(remote, anna)


def race(tmp_path, remote, url):
    """Processes that publish at once, until one has lost a race: none overwrites another."""
    repos = [clone(tmp_path / f"c{i}", url) for i in range(3)]
    commits, attempts, turn = [], 1, 0
    while attempts == 1 and turn < 40:
        turn += 1
        for i, repo in enumerate(repos):
            repo.create(f"{turn} {i}")
        running = [repo.spawn("sync", "--json", stdout=subprocess.PIPE) for repo in repos]
        for p in running:
            out, _ = p.communicate(timeout=60)
            assert p.returncode == 0, out
            reply = json.loads(out)
            assert reply["durability"] == "remote"
            commits.append(reply["commit"])
            attempts = max(attempts, reply["attempts"])
    assert attempts > 1, "nobody has met anybody"
    for repo in repos:
        sync(repo)
    same_everywhere(remote, *repos)
    assert len(titles(repos[0])) == 3 * turn
    assert set(commits) <= set(history(remote))
    assert not git(remote, "rev-list", "--merges", REF)


def test_race_at_a_path(tmp_path, remote):
    race(tmp_path, remote, remote)


def test_race_over_http(tmp_path, remote, server):
    race(tmp_path, remote, f"{server.url}/beads.git")


def test_no_pull_after_another_clone_has_pushed(tmp_path, remote):
    """It cannot push without a fetch, and reports that at once instead of retrying until the deadline."""
    anna, ben = (clone(tmp_path / name, remote) for name in ("anna", "ben"))
    sync(anna)
    sync(ben)
    anna.create("one")
    sync(anna)
    ben.create("two")
    is_sync_error(ben.run("sync", "--no-pull", "--json", timeout=10), "sync_failed")
    sync(ben)
    assert titles(ben) == ["one", "two"]


# --- ssh ---

@pytest.fixture(scope="module")
def ssh(tmp_path_factory):
    if not sshd_at_hand():
        pytest.skip("there is no sshd to talk to")
    with ssh_remote(tmp_path_factory.mktemp("ssh") / "d") as ssh:
        yield ssh


def test_ssh(tmp_path, remote, ssh):
    anna, ben = (clone(tmp_path / name, None, GIT_SSH_COMMAND=ssh.command()) for name in ("anna", "ben"))
    for repo in (anna, ben):
        point(repo, f"{ssh.base}{remote}")
        repo.create(f"of {repo.path.name}")
        assert sync(repo)["durability"] == "remote"
    assert sync(anna)["pulled"] == 1
    same_everywhere(remote, anna, ben)
    assert titles(anna) == ["of anna", "of ben"]


def test_ssh_as_scp_writes_it(tmp_path, ssh):
    """host:path, with a name that a shell would split."""
    remote = bare(tmp_path / "it's; $HOME.git")
    anna = clone(tmp_path / "anna", None, GIT_SSH_COMMAND=f"{ssh.command()} -p {ssh.port}")
    point(anna, f"{getpass.getuser()}@127.0.0.1:{remote}")
    anna.create("one")
    assert sync(anna)["commit"] == at(remote)


def test_ssh_fails(tmp_path, remote, ssh: Ssh):
    anna = clone(tmp_path / "anna", None)
    point(anna, f"{ssh.base}{remote}")
    anna.create("one")
    if not (ssh.folder / "other").exists():
        ssh.key(ssh.folder / "other")

    def fails(code, **env):
        return is_sync_error(anna.run("sync", "--json", env=env), code)["message"]

    assert "Permission denied" in fails("auth_failed", GIT_SSH_COMMAND=ssh.command("other"))
    assert "Host key" in fails("auth_failed", GIT_SSH_COMMAND=ssh.command(config="/dev/null"))
    assert "ssh" in fails("sync_failed", GIT_SSH="/nonexistent/ssh")
    hook(remote, "pre-receive", "echo 'not over ssh'\nexit 1\n")
    assert "not over ssh" in fails("remote_rejected", GIT_SSH_COMMAND=ssh.command())
    point(anna, f"{ssh.base}{tmp_path}/nowhere.git")
    assert "nowhere.git" in fails("sync_failed", GIT_SSH_COMMAND=ssh.command())
