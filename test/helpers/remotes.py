"""Remotes to sync with: folders, `git http-backend` behind a local HTTP server, and a temporary sshd."""
import atexit
import base64
import contextlib
import copy
import functools
import getpass
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from conftest import Repo, environment, git

REF = "refs/beads/store"
FILES = ("state.jsonl", "tombstones.jsonl", "deps.jsonl", "meta.json")
NO_GIT = {"PATH": "/nonexistent"}


# --- repositories ---

def bare(path):
    """An empty repository to publish to."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main")
    return path


def clone(path, url, **env):
    """A repository with a store and this URL as `origin`. `git` is not on the PATH of `bd`."""
    if isinstance(url, pathlib.Path) and not env and not at(url):
        return copy_clone(first_clone(), path, url)
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    if url:
        git(path, "remote", "add", "origin", str(url))
    repo = Repo(path)
    repo.env = {"BD_ACTOR": path.name, **NO_GIT, **env}
    repo.bd("init", "--prefix", "bd", env={"ABACUS_NOW": "0"}).ok()
    return repo


def scratch():
    """A folder until the tests end."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="abacus-test-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def first_clone():
    """A clone of an empty remote. Made once, because starting programs takes most of the time."""
    path = scratch()
    clone(path / "clone", str(bare(path / "beads.git")))
    return path / "clone"


def copy_clone(source, path, remote):
    """A copy of a clone whose `origin` is another folder."""
    shutil.copytree(source, path)
    config = path / ".git" / "config"
    config.write_text(re.sub("url = .*", lambda _: f"url = {remote}", config.read_text()))
    repo = Repo(path)
    repo.env = {"BD_ACTOR": path.name, **NO_GIT}
    return repo


WORLDS = {}


def copy_world(kind, path):
    """A copy of `kind(folder)`, an object with a `remote` and its clones `anna` and `ben`; made once, too."""
    if kind not in WORLDS:
        WORLDS[kind] = kind(scratch())
    made = copy.copy(WORLDS[kind])
    shutil.copytree(made.remote, path / made.remote.name)
    made.remote = path / made.remote.name
    for name in ("anna", "ben"):
        old = getattr(made, name)
        new = copy_clone(old.path, path / name, made.remote)
        new.env = dict(old.env)
        setattr(made, name, new)
    return made


def at(path, ref=REF):
    """The commit of a ref, or None."""
    found = git(path, "for-each-ref", "--format=%(objectname)", ref).split()
    return found[0] if found else None


def published(path, commit=REF):
    """The files of a commit, as bytes."""
    return {name: subprocess.run(["git", "cat-file", "blob", f"{commit}:{name}"], cwd=path, check=True,
                                 capture_output=True, env=environment()).stdout for name in FILES}


def history(path, ref=REF):
    return git(path, "rev-list", ref).split()


def backups(path):
    """The commits that backup refs keep."""
    refs = git(path, "for-each-ref", "--format=%(refname) %(objectname)", "refs/beads/backup/").splitlines()
    found = dict(ref.split() for ref in refs)
    assert all(ref == f"refs/beads/backup/{commit}" for ref, commit in found.items()), found
    return set(found.values())


def sync(repo, *args, **kw):
    """Runs a sync that must succeed, and returns its reply."""
    return repo.json("sync", *args, **kw)


def is_sync_error(done, code):
    """The sync failed with this code, one JSON error object on stdout, and exit status 4."""
    assert done.code == 4, f"exit {done.code}\n{done.out}{done.err}"
    assert done.out.count("\n") == 1 and list(done.json) == ["error"], done.out
    error = done.error
    assert error["code"] == code, error
    assert error["message"] and error["hint"] and isinstance(error["details"], dict), error
    return error


def hook(remote, name, script):
    path = remote / "hooks" / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def point(repo, url):
    """Changes the URL of `origin`."""
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo.path, "remote", "remove", "origin")
    git(repo.path, "remote", "add", "origin", str(url))


def same_everywhere(remote, *repos):
    """All clones have the commit, files and beads of the remote, and every store is valid."""
    files = published(remote)
    for repo in repos:
        assert at(repo.path) == at(remote)
        assert published(repo.path) == files
        assert titles(repo) == titles(repos[0])
        assert repo.json("validate")["ok"]
        assert repo.json("list", "--all", "-n", "0") == repos[0].json("list", "--all", "-n", "0")


def titles(repo):
    return sorted(bead["title"] for bead in repo.json("list", "--all", "-n", "0"))


# --- commits by hand ---

def commit(remote, files, parent=None):
    """Makes a commit with these files, using plumbing commands."""
    def plumbing(*args, data):
        return subprocess.run(["git", *args], input=data, cwd=remote, check=True, capture_output=True,
                              env=environment()).stdout.decode().strip()

    tree = "".join(f"100644 blob {plumbing('hash-object', '-w', '--stdin', data=files[name])}\t{name}\n"
                   for name in sorted(files))
    return git(remote, "commit-tree", *(["-p", parent] if parent else []), "-m", "by hand",
               plumbing("mktree", data=tree.encode())).strip()


def summed(files):
    """The files with correct checksums in meta.json."""
    meta = json.loads(files["meta.json"])
    meta["checksums"] = {name: hashlib.sha256(files[name]).hexdigest() for name in FILES[:3]}
    return {**files, "meta.json": json.dumps(meta, sort_keys=True, separators=(",", ":")).encode() + b"\n"}


# --- HTTP ---

class Backend(http.server.BaseHTTPRequestHandler):
    """Passes requests to `git http-backend`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        self.server.chunked += 1
        return b"".join(parts)

    def reply(self, status, headers=(), data=b""):
        self.send_response(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self):
        user = self.server.user
        wanted = "Basic " + base64.b64encode(":".join(user).encode()).decode() if user else None
        return self.headers.get("Authorization") == wanted or not user

    def do_GET(self):
        body = self.body()
        self.server.seen.append(f"{self.command} {self.path}")
        if not self.allowed():
            return self.reply(401, [("WWW-Authenticate", 'Basic realm="beads"')])
        if self.server.status:
            return self.reply(self.server.status)
        if self.server.hold and self.server.hold in self.path and self.command == "POST":
            self.server.stopping.wait()
            self.close_connection = True
            return None
        path, _, query = self.path.partition("?")
        settings = {"http.receivepack": "true", "safe.directory": "*"}
        env = environment(
            GIT_PROJECT_ROOT=self.server.root, GIT_HTTP_EXPORT_ALL=1, PATH_INFO=path, QUERY_STRING=query,
            REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""), REMOTE_ADDR="127.0.0.1",
            CONTENT_LENGTH=len(body), HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
            GIT_PROTOCOL=self.headers.get("Git-Protocol", ""), GIT_CONFIG_COUNT=len(settings),
            **{f"GIT_CONFIG_KEY_{i}": key for i, key in enumerate(settings)},
            **{f"GIT_CONFIG_VALUE_{i}": value for i, value in enumerate(settings.values())})
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=env)
        if self.server.mute and self.server.mute in self.path and self.command == "POST":
            self.close_connection = True  # the push has happened, but the client gets no reply
            return None
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value.split()[0]) for key, value in headers if key == "Status"), 200)
        return self.reply(status, [h for h in headers if h[0] != "Status"], data)

    do_POST = do_GET


class Quiet(http.server.ThreadingHTTPServer):
    """An HTTP server that does not log aborted connections."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


@contextlib.contextmanager
def http_remote(root, user=None, port=0):
    """Serves all repositories below a folder over HTTP; `user` is a name and a password."""
    server = Quiet(("127.0.0.1", port), Backend)
    server.root, server.user, server.seen, server.chunked, server.status = root, user, [], 0, None
    server.hold = server.mute = None  # parts of paths: requests never answered; requests done but not answered
    server.stopping = threading.Event()
    server.port = server.server_address[1]
    server.url = f"http://127.0.0.1:{server.port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def tcp_server(talk, port=0):
    """Calls `talk(connection, stop)` in a new thread for each connection."""
    listening = socket.create_server(("127.0.0.1", port))
    stop, threads, open_ = threading.Event(), [], []

    def accept():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            open_.append(connection)
            threads.append(threading.Thread(target=quietly, args=(connection,), daemon=True))
            threads[-1].start()

    def quietly(connection):
        with contextlib.suppress(OSError):
            talk(connection, stop)
            connection.shutdown(socket.SHUT_RDWR)

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listening.getsockname()[1]
    finally:
        stop.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()
        for connection in open_:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in threads:
            thread.join()


# --- ssh ---

def sshd_at_hand():
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") if shutil.which("ssh") else None


class Ssh:
    """The configuration of a temporary sshd, and the ssh command that connects to it."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.base = f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}"
        self.key(folder / "host")
        self.key(folder / "client")
        shutil.copy(folder / "client.pub", folder / "authorized")
        host = (folder / "host.pub").read_text().split()[:2]
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {' '.join(host)}\n")
        (folder / "client_config").write_text(
            f"UserKnownHostsFile {folder}/known\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
            "IdentitiesOnly yes\nIdentityAgent none\n")
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
            f"StrictModes no\nAuthorizedKeysFile {folder}/authorized\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin yes\n")

    def key(self, path):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True,
                       stdin=subprocess.DEVNULL)

    def command(self, key="client", config="client_config"):
        return f"{shutil.which('ssh')} -F {self.folder / config} -i {self.folder / key}"

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as s:
            return s.recv(4) == b"SSH-"
        return False


@contextlib.contextmanager
def ssh_remote(folder):
    folder.mkdir()
    folder.chmod(0o700)
    ssh = Ssh(folder)
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen([sshd_at_hand(), "-D", "-e", "-f", str(folder / "sshd_config")], stdout=log,
                                  stderr=log, stdin=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 10
            while not ssh.answers():
                assert server.poll() is None and time.monotonic() < end, (folder / "log").read_text()
                time.sleep(0.02)
            yield ssh
        finally:
            server.terminate()
            server.wait()
