"""Which repository is used: files of a checkout never choose it, nor add settings that run programs."""
import contextlib
import http.server
import os
import pathlib
import select
import signal
import subprocess
import sys
import threading

import pytest

from conftest import BIN, Project, Repo, environment, git
from service import SANITIZED


class Refusing(http.server.BaseHTTPRequestHandler):
    """Requires a password for everything, and records the requests."""

    def do_GET(self):
        self.server.seen.append(self.path)
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def listener():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.daemon_threads, server.seen = True, []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plant(folder, marker, url="http://127.0.0.1:1/x.git"):
    """A bare repository made of plain files, as a commit can contain them, with settings that run programs."""
    for name in ("objects/info", "refs/heads", "hooks"):
        (folder / name).mkdir(parents=True)
        (folder / name / "keep").write_text("")
    run = f"touch {marker}"
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(f"""[core]
\trepositoryformatversion = 0
\tbare = true
\tsshCommand = {run}; false
\tfsmonitor = {run}; false
\thooksPath = hooks
[remote "origin"]
\turl = {url}
\tfetch = +refs/heads/*:refs/remotes/origin/*
[credential]
\thelper = "!{run}; false"
""")
    hook = folder / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\n{run}\n")
    hook.chmod(0o755)
    return folder


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "ran"


@pytest.fixture
def real(repo):
    """`git` is on PATH, so that everything it would run can run."""
    repo.env["PATH"] = os.environ["PATH"]
    return repo


COMMANDS = [["init"], ["list"], ["create", "x"], ["where"], ["sync"], ["history", "bd-none"], ["repair"], ["validate"],
            ["info"], ["doctor"]]


def test_the_worktree_around_a_planted_repository_is_used(real, marker):
    docs = plant(real.path / "docs", marker)
    bead = real.create("x", cwd=docs)
    assert real.ids("list") == real.ids("list", cwd=docs / "refs" / "heads") == [bead]
    where = real.json("where", cwd=docs)
    assert (where["store"], where["repository"]) == (str(real.home), str(real.path))
    assert not (docs / "abacus").exists()


def test_no_setting_of_a_planted_repository_is_used(real, marker):
    with listener() as server:
        docs = plant(real.path / "docs", marker, f"http://127.0.0.1:{server.server_port}/x.git")
        for words in COMMANDS:
            real.bd(*words, cwd=docs)
            real.bd(*words, "-C", str(docs), cwd="/")
            real.bd(*words, cwd="/", env={"BEADS_DIR": docs})
        assert server.seen == []
    assert not marker.exists()
    assert not (docs / "abacus").exists()


def test_agents_and_continuity_use_the_worktree_around_it_too(real, marker):
    docs = plant(real.path / "docs", marker)
    project = Project(docs)
    project.env = dict(real.env, HOME=real.path.parent)
    project.run("init", program="abacus").ok()
    assert (real.path / ".bb").is_dir() and (real.path / ".beadboard").is_dir()
    project.bb("agent", "register", "--name", "ann", "--role", "x")
    for words in (["agent", "guard", "--staged"], ["agent", "guard", "install"], ["agent", "guard", "uninstall"],
                  ["agent", "init"], ["summary"]):
        project.bb(*words, stdin=b"")
    project.run("task", "create", "--title", "x", "--agent", "a", "--request-id", "1", program="vybe").ok()
    assert not marker.exists()
    assert {p.name for p in docs.iterdir()} == {"HEAD", "config", "hooks", "objects", "refs"}


def test_the_password_helper_is_the_one_of_the_repository_that_was_chosen(real, marker, tmp_path):
    """Even if the current folder is in a planted repository."""
    asked = tmp_path / "asked"
    with listener() as server:
        git(real.path, "remote", "add", "origin", f"http://127.0.0.1:{server.server_port}/mine.git")
        git(real.path, "config", "credential.helper", f"!touch {asked}; false")
        docs = plant(real.path / "docs", marker, f"http://127.0.0.1:{server.server_port}/theirs.git")
        real.create("x")
        real.bd("sync", cwd=docs)
        assert server.seen and all(path.startswith("/mine.git/") for path in server.seen)
    assert asked.exists() and not marker.exists()


def test_a_linked_worktree_around_it_is_used(real, marker, tmp_path):
    git(real.path, "commit", "-q", "--allow-empty", "-m", "first")
    git(real.path, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    docs = plant(tmp_path / "tree" / "docs", marker)
    bead = real.create("x", cwd=docs)
    assert real.ids("list") == [bead]
    assert real.json("where", cwd=docs)["worktree"] == str(tmp_path / "tree")


def test_a_link_to_a_planted_repository_leads_to_the_worktree_around_it(real, marker, tmp_path):
    docs = plant(real.path / "docs", marker)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(docs)
    with listener() as server:
        (docs / "config").write_text((docs / "config").read_text().replace("127.0.0.1:1", f"127.0.0.1:{server.server_port}"))
        for words in COMMANDS:
            real.bd(*words, "-C", str(link), cwd="/")
        assert real.json("where", "-C", str(link), cwd="/")["store"] == str(real.home)
        Project(link).run("agent", "guard", "--staged", "--dir", str(link), env=real.env)
        assert server.seen == []
    assert not marker.exists() and not (docs / "abacus").exists()


@pytest.mark.parametrize("broken", ["gitdir: /nonexistent\n", "", None])
def test_a_damaged_repository_is_not_replaced_by_a_planted_one(real, marker, broken):
    docs = plant(real.path / "docs", marker)
    if broken is None:
        (real.path / ".git" / "HEAD").unlink()
    else:
        (real.path / ".git").rename(real.path.parent / "moved")
        (real.path / ".git").write_text(broken)
    error = real.bd("list", "--json", cwd=docs).error
    assert error["code"] == "not_a_repository" and str(docs) in error["message"]
    for words in COMMANDS:
        real.bd(*words, cwd=docs)
    assert not marker.exists() and not (docs / "abacus").exists()


# --- bare repositories of the user's ---


@pytest.fixture
def bare(tmp_path):
    path = tmp_path / "hub.git"
    path.mkdir()
    git(path, "init", "-q", "--bare", "-b", "main")
    return Repo(path)


def settings(path, text):
    path.write_text(text)
    return {"GIT_CONFIG_GLOBAL": path}


def test_a_bare_repository_outside_of_a_worktree_is_used(bare):
    bare.bd("init", "--prefix", "bd").ok()
    bead = bare.create("x")
    assert bare.ids("list", cwd=bare.path / "refs") == [bead]
    assert bare.json("where")["store"] == str(bare.path / "abacus")


@pytest.mark.parametrize("value,allowed", [("all", True), ("explicit", False), ("other", True)])
def test_safe_bare_repository_is_respected(bare, tmp_path, value, allowed):
    env = settings(tmp_path / "gitconfig", f"[safe]\n\tbareRepository = {value}\n")
    done = bare.bd("init", "--prefix", "bd", "--json", env=env)
    assert (done.code == 0) == allowed
    if not allowed:
        assert done.error["code"] == "not_a_repository"
        assert "safe.bareRepository" in done.error["message"] and str(bare.path) in done.error["message"]
        assert not (bare.path / "abacus").exists()
        bare.bd("init", "--prefix", "bd", env={**env, "GIT_DIR": bare.path}).ok()


def test_no_repository_sets_safe_bare_repository(bare, tmp_path):
    """Git reads it from the system's and the user's files, and from the environment."""
    git(bare.path, "config", "safe.bareRepository", "all")
    env = {"GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": "Safe.BareRepository", "GIT_CONFIG_VALUE_0": "explicit"}
    assert bare.bd("list", "--json", env=env).error["code"] == "not_a_repository"
    (tmp_path / "part").write_text("[safe] bareRepository = explicit\n")
    env = settings(tmp_path / "gitconfig", "[include]\n\tpath = part\n")
    assert bare.bd("list", "--json", env=env).error["code"] == "not_a_repository"


def test_inside_of_a_git_directory_the_same_repository_is_used(real, tmp_path):
    env = settings(tmp_path / "gitconfig", "[safe]\n\tbareRepository = explicit\n")
    bead = real.create("x")
    for folder in (".git", ".git/refs", ".git/objects"):
        assert real.ids("list", cwd=real.path / folder, env=env) == [bead]


def test_stores_of_continuity_inside_a_worktree_are_used(real, tmp_path):
    """The user's store outside of repositories, and one named by --db-path, are not part of that repository."""
    env = {"XDG_DATA_HOME": real.path / "data", "GIT_CONFIG_GLOBAL": tmp_path / "gitconfig"}
    settings(tmp_path / "gitconfig", "[safe]\n\tbareRepository = explicit\n")
    out = tmp_path / "out"
    out.mkdir()
    vybe = Project(out)
    vybe.env = dict(real.env)
    for n, db in enumerate([[], ["--db-path", str(real.path / "own.db")]]):
        make = ["task", "create", "--title", f"t{n}", "--agent", "a", "--request-id", f"r{n}"]
        vybe.run(*make, *db, program="vybe", env=env).ok()
        assert vybe.run("task", "list", *db, program="vybe", env=env).ok().json["data"]["count"] == 1
    assert (real.path / "data" / "abacus" / "user.git" / "abacus" / "journal.1").exists()
    assert (real.path / "own.db.git" / "abacus" / "journal.1").exists()
    assert real.ids("list") == []


# --- GIT_DIR ---


def test_git_dir_names_the_repository(real, bare, marker):
    docs = plant(real.path / "docs", marker)
    bare.bd("init", "--prefix", "hub").ok()
    bead = bare.create("x")
    assert real.ids("list", cwd=docs, env={"GIT_DIR": bare.path}) == [bead]
    assert real.ids("list", cwd=docs, env={"GIT_DIR": "../../hub.git"}) == [bead]
    assert real.ids("list", "-C", str(real.path), cwd="/", env={"GIT_DIR": bare.path}) == []
    error = real.bd("list", "--json", env={"GIT_DIR": real.path / "none"}).error
    assert error["code"] == "not_a_repository" and str(real.path / "none") in error["message"]


def test_git_dir_of_a_linked_worktree_and_of_a_submodule(real, tmp_path):
    """As in the environment of Git hooks."""
    git(real.path, "commit", "-q", "--allow-empty", "-m", "first")
    tree = tmp_path / "tree"
    git(real.path, "worktree", "add", "-q", str(tree), "-b", "topic")
    where = real.json("where", cwd=tree, env={"GIT_DIR": real.path / ".git" / "worktrees" / "tree"})
    assert (where["store"], where["worktree"], where["repository"]) == (str(real.home), str(tree), str(real.path))
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "apart"), str(tmp_path / "sub"))
    where = real.json("where", cwd=tmp_path / "sub", env={"GIT_DIR": tmp_path / "apart"})
    assert (where["store"], where["worktree"]) == (str(tmp_path / "apart" / "abacus"), str(tmp_path / "sub"))


# --- files named .git, which no commit carries but an archive can ---


@pytest.mark.parametrize("text", ["", "gitdir: ", "gitdir: /nonexistent\n", "garbage\n", "gitdir: .\n", "gitdir: ../..\n"])
def test_a_broken_git_file_is_passed_over(real, text):
    folder = real.path / "docs"
    folder.mkdir()
    (folder / ".git").write_text(text)
    bead = real.create("x", cwd=folder)
    assert real.ids("list") == [bead]


def test_a_git_file_that_is_a_pipe_does_not_block(real):
    folder = real.path / "docs"
    folder.mkdir()
    os.mkfifo(folder / ".git")
    assert real.ids("list", cwd=folder, timeout=20) == []
    assert Project(folder).run("init", timeout=20).code in (0, 1)


def test_the_git_process_opens_exactly_the_repository_that_was_chosen(real, bare, tmp_path):
    """Its store, its remote and its refs, regardless of variables and of the current folder."""
    git(real.path, "remote", "add", "origin", str(bare.path))
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    real.create("x")
    env = {"GIT_DIR": other / ".git", "GIT_WORK_TREE": other}
    assert real.json("sync", "-C", str(real.path), cwd=other, env=env)["durability"] == "remote"
    assert "refs/beads/store" in git(bare.path, "for-each-ref")
    assert not pathlib.Path(other / ".git" / "abacus").exists()


# --- a Git that does not end ---


def agents_of(repo):
    repo.run("agent", "register", "--name", "amber-otter", "--role", "x", program="bb").ok()
    repo.run("agent", "reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "b-1", program="bb").ok()


def test_an_endless_search_for_changed_files_is_aborted(real):
    agents_of(real)
    os.mkfifo(real.path / ".gitignore")  # nobody writes to it, so Git waits
    done = real.run(program="bb-init", timeout=60)
    assert "changed files were not considered: 'git status' did not end within 5 s" in done.out + done.err
    assert done.code == 0 and done.json["data"]["recommendation"]


@pytest.fixture
def endless(tmp_path):
    """A folder for PATH with a 'git' that reports in this pipe that it runs, and never ends."""
    folder = tmp_path / "endless"
    folder.mkdir()
    tell, hold = os.pipe()
    (folder / "git").write_text(f"#!/bin/sh\nsleep 1000 &\necho running >/dev/fd/{hold}\nwait\n")
    (folder / "git").chmod(0o755)
    yield folder, tell, hold
    os.close(tell)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_running_git_is_killed_with_the_command_that_started_it(real, endless, end):
    agents_of(real)
    folder, tell, hold = endless
    with real.spawn("agent", "init", program="bb", env={"PATH": f"{folder}:{os.environ['PATH']}"}, pass_fds=[hold],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as asked:
        os.close(hold)
        assert os.read(tell, 100) == b"running\n"
        asked.send_signal(end)
    assert select.select([tell], [], [], 30)[0], "something still has the pipe open"
    assert os.read(tell, 100) == b""


# --- the history of the files ---

def git_object(repo, kind, content):
    return subprocess.run(["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"], cwd=repo.path, input=content,
                          capture_output=True, check=True).stdout.decode().strip()


def entry(mode, name, oid):
    return f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid)


def commit_trees(repo, *trees):
    tip = None
    for tree in trees:
        tip = git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, "-m", "x", *(["-p", tip] if tip else [])).strip()
    git(repo.path, "update-ref", "HEAD", tip)


def peak_of(repo, *words):
    """The most memory that the command or one of its children needed, in MB."""
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)\n")
    done = subprocess.run([sys.executable, "-c", script, str(BIN / words[0]), *words[1:]], cwd=repo.path, capture_output=True,
                          env=environment(**repo.env), check=True, timeout=120)
    return int(done.stdout)


def test_a_commit_of_a_million_empty_folders_counts_as_one_without_files(repo):
    file = git_object(repo, "blob", b"x\n")
    folder = git_object(repo, "tree", b"")
    for _ in range(8):
        folder = git_object(repo, "tree", b"".join(entry("40000", f"d{i}", folder) for i in range(10)))
    small = git_object(repo, "tree", entry("100644", "a", file))
    commit_trees(repo, small, git_object(repo, "tree", entry("100644", "a", file) + entry("40000", "b", folder)), small)
    bead = repo.create("one", "--touches", "a")
    for words in (["bd", "conflicts"], ["bd", "touches", bead], ["abacus", "files"]):
        assert SANITIZED or peak_of(repo, *words) < 60, words


def test_names_of_a_megabyte_are_not_kept_in_the_history(repo):
    file = git_object(repo, "blob", b"x\n")
    small = git_object(repo, "tree", entry("100644", "a", file))
    large = git_object(repo, "tree", entry("100644", "a", file) +
                       b"".join(entry("100644", f"b{i:02}" + "x" * 1000000, file) for i in range(40)))
    commit_trees(repo, small, large, small)
    repo.create("one", "--touches", "a")
    repo.create("two", "--touches", "a")
    assert "both declare a" in repo.bd("conflicts").ok().out
    assert (repo.home / "history.db").stat().st_size < 1 << 20
