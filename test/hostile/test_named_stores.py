"""A store that --db-path names: files that others have put beside it are not used."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

import pytest

from conftest import BIN, Project, environment, git
from harness import needs_strace
from race import run_with_change, run_with_each_change
from test_links import clone_of

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
READ = ["task", "list"]
WRITE = ["--agent", "me", "--request-id", "r", "task", "create", "--title", "a private task"]


def vybe(project, *words, **kw):
    return project.run("--db-path", "./v.db", *words, program="vybe", **kw)


def is_refused(project, *words, code="UNSAFE_PATH"):
    """The error names a path; nothing is created."""
    before = {p: p.lstat().st_mtime_ns for p in project.path.rglob("*") if ".git/" not in str(p)}
    done = vybe(project, *words)
    assert done.code == 1 and done.json["error_code"] == code, done.out
    assert {p: p.lstat().st_mtime_ns for p in project.path.rglob("*") if ".git/" not in str(p)} == before
    return done.json


def bare_repository(path, more=""):
    for name in ("objects", "refs/heads"):
        (path / name).mkdir(parents=True)
        (path / name / ".keep").touch()
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    (path / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n" + more)


def helper(path):
    """Settings that contact an address and start a program."""
    return f'[remote "origin"]\n\turl = {path}\n[credential]\n\thelper = "!touch {path}.ran"\n'


@pytest.mark.parametrize("words", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_repository_that_git_tracks_is_refused(tmp_path, words, mask):
    before = os.umask(mask)
    try:
        project = clone_of(tmp_path, lambda path: bare_repository(path / "v.db.git"))
    finally:
        os.umask(before)
    reply = is_refused(project, *words)
    assert f"'{project.path / 'v.db.git'}' comes from the repository" in reply["error"]


@pytest.mark.parametrize("words", [READ, WRITE], ids=["read", "write"])
def test_a_link_to_a_repository_is_not_followed(tmp_path, words):
    mine = tmp_path / "mine"
    mine.mkdir()
    git(mine, "init", "-q")
    Project(mine).run("init", program="bd", env={"BD_ACTOR": "me"}).ok()
    project = clone_of(tmp_path, lambda path: (path / "v.db.git").symlink_to("../mine/.git"))
    reply = is_refused(project, *words)
    assert f"'{project.path / 'v.db.git'}' is a symbolic link" in reply["error"]
    assert not Project(mine).run("list", "--json", program="bd").json


def unpacked(tmp_path, more="", mode=0o700):
    """The files of an archive, outside of any repository."""
    project = Project(tmp_path / "unpacked")
    bare_repository(project.path / "v.db.git", more)
    (project.path / "v.db.git").chmod(mode)
    return project


@pytest.mark.parametrize("words", [READ, WRITE], ids=["read", "write"])
def test_settings_of_a_repository_beside_the_file_are_not_used(tmp_path, words):
    remote = tmp_path / "remote"
    project = unpacked(tmp_path, helper(remote))
    assert "has settings that this program did not write" in is_refused(project, *words)["error"]
    assert not pathlib.Path(f"{remote}.ran").exists()


def test_a_folder_that_this_program_did_not_make_is_refused(tmp_path):
    project = unpacked(tmp_path, mode=0o755)
    assert "is not a folder that this program made" in is_refused(project, *WRITE)["error"]
    (project.path / "v.db.git").chmod(0o700)
    (project.path / "v.db.git" / "commondir").write_text("../../mine/.git\n")
    assert "leads to another repository" in is_refused(project, *WRITE)["error"]
    (project.path / "v.db.git" / "commondir").unlink()
    shutil.rmtree(project.path / "v.db.git" / "refs")
    (project.path / "v.db.git" / "refs").symlink_to(tmp_path)
    assert "is a symbolic link" in is_refused(project, *WRITE)["error"]


def test_the_command_of_the_hint_works(tmp_path):
    project = unpacked(tmp_path, helper(tmp_path / "remote"))
    command = is_refused(project, *WRITE)["suggested_action"].split(": ", 1)[1]
    subprocess.run(["sh", "-c", command], check=True, cwd="/")
    vybe(project, *WRITE).ok()
    assert [t["title"] for t in vybe(project, *READ).json["data"]["tasks"]] == ["a private task"]


def test_a_named_store_is_used_again_and_never_synced(tmp_path):
    """It has no remote, so neither is a remote contacted nor autosync started."""
    project = Project(tmp_path)
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[remote "origin"]\n\turl = {tmp_path / "missing"}\n')
    for n in range(2):
        vybe(project, "--agent", "me", "--request-id", f"r{n}", "task", "create", "--title", f"t{n}",
             env={"ABACUS_AUTOSYNC": "1", "GIT_CONFIG_GLOBAL": settings}).ok()
    assert len(vybe(project, *READ).json["data"]["tasks"]) == 2
    store = tmp_path / "v.db.git" / "abacus"
    assert (store / "journal.1").exists() and not (store / "courier.lock").exists()
    state = json.loads((store / "sync.json").read_text())
    assert state["failures"] == 0 and "missing" not in str(state), state
    assert {p.stat().st_mode & 0o077 for p in [*tmp_path.glob("v.db*")]} == {0}


@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal", ".lock"])
def test_a_file_beside_it_that_git_tracks_is_refused(tmp_path, side):
    """SQLite would apply a planted log to the user's database."""
    project = clone_of(tmp_path, lambda path: (path / f"v.db{side}").write_text("x"))
    for words in (READ, WRITE):
        assert f"v.db{side}' comes from the repository" in is_refused(project, *words)["error"]


@pytest.mark.parametrize("side", [".git", "-wal"])
def test_a_tracked_link_does_not_hide_that_git_tracks_the_files(tmp_path, side):
    def make(path):
        (path / "data").mkdir()
        (path / "link").symlink_to("data")
        vybe(Project(path), "--db-path", "data/x.db", *WRITE).ok()
        for beside in [p for p in (path / "data").iterdir() if p.name not in ("x.db", "x.db.git")]:
            beside.unlink()
        if side == "-wal":
            shutil.rmtree(path / "data" / "x.db.git")
            (path / "data" / "x.db-wal").write_bytes(b"of the repository")

    before = os.umask(0o077)
    try:
        project = clone_of(tmp_path, make)
    finally:
        os.umask(before)
    for folder in ("data", "link"):
        done = project.run("--db-path", f"{folder}/x.db", *READ, program="vybe")
        assert done.json["error_code"] == "UNSAFE_PATH" and f"/data/x.db{side}' comes from the repository" in done.json["error"]


@needs_root
@pytest.mark.parametrize("name", ["v.db", "v.db-wal", "v.db-shm", "v.db-journal", "v.db.lock", "v.db.git"])
def test_files_of_another_user_are_refused(tmp_path, name):
    """In a folder like /tmp, where everybody may create files."""
    project = Project(tmp_path / "shared")
    project.path.mkdir()
    path = project.path / name
    if name.endswith(".git"):
        bare_repository(path)
        path.chmod(0o700)
    else:
        path.touch(mode=0o666)
    os.chown(path, NOBODY, NOBODY)
    for words in (READ, WRITE):
        assert f"'{path}' belongs to another user" in is_refused(project, *words, code="DUBIOUS_OWNERSHIP")["error"]


@pytest.mark.parametrize("name", ["v.db", "v.db-wal", "v.db-shm", "v.db.lock"])
def test_a_file_that_others_may_write_to_is_refused(tmp_path, name):
    project = Project(tmp_path / "shared")
    project.path.mkdir()
    path = project.path / name
    path.touch()
    path.chmod(0o666)
    reply = is_refused(project, *WRITE)
    assert reply["error"] == f"other users may write to '{path}'"
    subprocess.run(["sh", "-c", reply["suggested_action"].split(": ", 1)[1]], check=True, cwd="/")
    vybe(project, *WRITE).ok()


@pytest.mark.parametrize("kind", ["folder", "text", "database", "fifo"])
def test_nothing_is_created_beside_a_refused_file(tmp_path, kind):
    """Neither a repository nor a lock is created beside it."""
    project = Project(tmp_path / "other")
    project.path.mkdir()
    path = project.path / "v.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path, 0o600)
    elif kind == "text":
        path.write_text("a letter\n" * 1000)
    else:
        sqlite3.connect(path).execute("CREATE TABLE mine (x)").connection.close()
    path.chmod(0o700)
    done = vybe(project, *WRITE)
    assert done.code == 1 and "v.db" in done.json["error"]
    assert os.listdir(project.path) == ["v.db"]


def test_a_log_that_is_left_without_its_database_is_kept_and_not_used(tmp_path):
    project = Project(tmp_path)
    vybe(project, "--agent", "me", "--request-id", "1", "memory", "set", "-k", "old", "-v", "v").ok()
    log = (tmp_path / "v.db-wal").read_bytes()
    assert log
    (tmp_path / "v.db").unlink()
    vybe(project, "--agent", "me", "--request-id", "2", "memory", "set", "-k", "new", "-v", "v").ok()
    assert [m["key"] for m in vybe(project, "memory", "list").json["data"]["memories"]] == ["new"]
    assert [p.read_bytes() for p in tmp_path.glob("v.db-wal.left-*")] == [log]


# --- files that another user creates while a command runs, after their paths were checked ---

SECRET = "a private task"
RECALL = ["--agent", "me", "memory", "list"]


def plant(path):
    path.touch()
    path.chmod(0o666)
    os.chown(path, NOBODY, NOBODY)


def shared_folders(tmp_path, words):
    """Two equal folders in which another user may create files. A reader needs a store, whose log is complete."""
    folders = [tmp_path / name for name in ("shared", "rehearsal")]
    for folder in folders:
        folder.mkdir()
        if words == RECALL:
            vybe(Project(folder), *WRITE).ok()
            with sqlite3.connect(folder / "v.db") as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
            for side in ("-wal", "-shm"):
                (folder / f"v.db{side}").unlink(missing_ok=True)
    return folders


@needs_root
@needs_strace
@pytest.mark.parametrize("words,side", [(WRITE, "-wal"), (WRITE, "-shm"), (WRITE, ".lock"), (RECALL, "-wal"),
                                        (RECALL, "-shm")],
                         ids=lambda v: v if isinstance(v, str) else v[-1])
def test_a_file_that_appears_after_the_check_is_refused(tmp_path, words, side):
    """Right before it is opened. Nothing of the user is written to it, and nothing is acknowledged."""
    shared, rehearsal = shared_folders(tmp_path, words)
    path = shared / f"v.db{side}"
    done = run_with_change(["vybe", "--db-path", "./v.db", *words], rf'openat\(.*/v\.db{side}", O_RDWR', lambda: plant(path),
                           cwd=shared, rehearsal=rehearsal)
    assert done.code == 1 and done.json["error_code"] == "DUBIOUS_OWNERSHIP", done.out
    assert f"'{path}' belongs to another user" in done.json["error"]
    assert done.json["suggested_action"].endswith("give --db-path a file in a folder of your own.")
    assert path.stat().st_uid == NOBODY and SECRET.encode() not in path.read_bytes()


@needs_root
@needs_strace
def test_a_database_that_appears_after_the_check_is_refused(tmp_path):
    """It would hold what another user wants the agent to remember."""
    shared, rehearsal = shared_folders(tmp_path, RECALL)
    path, theirs = shared / "v.db", tmp_path / "theirs"
    (rehearsal / "v.db").unlink()
    path.rename(theirs)
    os.chown(theirs, NOBODY, NOBODY)
    done = run_with_change(["vybe", "--db-path", "./v.db", *WRITE], r'openat\(.*/v\.db\.lock", O_RDWR',
                           lambda: theirs.rename(path), cwd=shared, rehearsal=rehearsal)
    assert done.code == 1 and done.json["error_code"] == "DUBIOUS_OWNERSHIP", done.out


@needs_root
@needs_strace
def test_a_repository_that_appears_after_the_check_is_refused(tmp_path):
    shared, rehearsal = shared_folders(tmp_path, WRITE)
    path = shared / "v.db.git"

    def change():
        path.mkdir()
        path.chmod(0o777)
        os.chown(path, NOBODY, NOBODY)

    done = run_with_change(["vybe", "--db-path", "./v.db", *WRITE], r'mkdir(at)?\(.*/v\.db\.git"', change, cwd=shared,
                           rehearsal=rehearsal)
    assert done.code == 1 and done.json["error_code"] == "DUBIOUS_OWNERSHIP", done.out
    assert os.listdir(path) == [] and os.listdir(shared) == ["v.db.git"]


@needs_root
@needs_strace
@pytest.mark.parametrize("kind", ["repository", "link"])
def test_a_whole_repository_that_appears_after_the_check_is_not_used(tmp_path, kind):
    """A writer refuses it, also a link of another user to a repository of the user. For a reader there is none."""
    shared, rehearsal = shared_folders(tmp_path, WRITE)
    path, theirs = shared / "v.db.git", tmp_path / "theirs.db.git"
    Project(tmp_path).run("--db-path", "./theirs.db", *WRITE, program="vybe").ok()

    def change():
        if kind == "link":
            path.symlink_to(theirs)
        else:
            shutil.copytree(theirs, path)
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def run(words):
        return run_with_change(["vybe", "--db-path", "./v.db", *words], r'\(.*/v\.db\.git/HEAD"', change, cwd=shared,
                               rehearsal=rehearsal)

    assert run(READ).json["data"]["tasks"] == []
    path.unlink() if kind == "link" else shutil.rmtree(path)
    before = {p: p.stat().st_mtime_ns for p in theirs.rglob("*")}
    done = run(WRITE)
    assert done.code == 1 and str(path) in done.json["error"], done.out
    assert {p: p.stat().st_mtime_ns for p in theirs.rglob("*")} == before and os.listdir(shared) == ["v.db.git"]


@pytest.mark.parametrize("side", ["", "-wal", "-shm", ".lock"])
def test_a_hard_link_to_another_file_of_the_user_is_refused(tmp_path, side):
    """Any user may create one in a folder like /tmp; SQLite would overwrite the file."""
    project = Project(tmp_path / "shared")
    project.path.mkdir()
    vybe(project, *WRITE).ok()
    path, mine = project.path / f"v.db{side}", tmp_path / "mine"
    os.link(path, mine)
    for words in (READ, WRITE):
        reply = is_refused(project, *words)
        assert reply["error"] == f"'{path}' is a hard link: the file has another name"
    subprocess.run(["sh", "-c", reply["suggested_action"].split(": ", 1)[1]], check=True, cwd="/")
    assert [t["title"] for t in vybe(project, *READ).json["data"]["tasks"]] == [SECRET]


# --- folders of the path ---

@pytest.fixture
def shared(tmp_path):
    """A folder like /tmp."""
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o1777)
    return path


def named(file, *words):
    return ["vybe", "--db-path", str(file), *words]


def recalled(project, file):
    return [m["key"] for m in project.run(*named(file, *RECALL)[1:], program="vybe").ok().json["data"]["memories"]]


def remember(key, request):
    return ["--agent", "me", "--request-id", request, "memory", "set", "-k", key, "-v", "v"]


@needs_root
@pytest.mark.parametrize("words", [READ, WRITE], ids=["read", "write"])
def test_a_folder_of_another_user_in_the_path_is_refused(tmp_path, shared, words):
    """That user can replace it by a link to another store of the user, after any check."""
    folder = shared / "theirs"
    (folder / "mine").mkdir(parents=True)
    os.chown(folder, NOBODY, NOBODY)
    reply = Project(tmp_path).run(*named(folder / "mine/v.db", *words)[1:], program="vybe").json
    assert reply["error_code"] == "DUBIOUS_OWNERSHIP" and f"'{folder}' belongs to another user" in reply["error"]
    assert reply["suggested_action"].endswith("choose a path in a folder of your own.")
    assert os.listdir(folder / "mine") == []


@pytest.mark.parametrize("words", [READ, WRITE], ids=["read", "write"])
def test_a_folder_in_the_path_in_which_everybody_can_replace_files_is_refused(tmp_path, words):
    open_to_all = tmp_path / "open"
    (open_to_all / "mine").mkdir(parents=True)
    open_to_all.chmod(0o777)
    run = named(open_to_all / "mine/v.db", *words)[1:]
    reply = Project(tmp_path).run(*run, program="vybe").json
    assert reply["error_code"] == "UNSAFE_PATH" and reply["error"] == f"every user may write to '{open_to_all}'"
    assert os.listdir(open_to_all / "mine") == []
    subprocess.run(["sh", "-c", reply["suggested_action"].split(": ", 1)[1]], check=True, cwd="/")
    Project(tmp_path).run(*run, program="vybe").ok()


def test_a_named_store_in_a_folder_like_tmp_is_used(tmp_path, shared):
    (tmp_path / "link").symlink_to(shared)
    for n, file in enumerate((shared / "v.db", shared / "new/deep/v.db", tmp_path / "link/other.db")):
        Project(tmp_path).run(*named(file, *remember("k", str(n)))[1:], program="vybe").ok()
        assert recalled(Project(tmp_path), file) == ["k"]
    assert (shared / "new").stat().st_mode & 0o777 == 0o700


@needs_root
@needs_strace
@pytest.mark.parametrize("kind", ["a folder of theirs", "a folder that is missing"])
def test_another_user_cannot_lead_a_named_store_to_another_one_at_any_moment(tmp_path, shared, kind):
    """Neither by replacing a folder of theirs, nor by creating one that the command is about to create."""
    mine, sub, project = tmp_path / "mine", shared / "sub", Project(tmp_path)
    project.run(*named(mine / "v.db", *remember("mine", "m"))[1:], program="vybe").ok()

    def prepare():
        shutil.rmtree(sub) if sub.is_dir() and not sub.is_symlink() else sub.unlink(missing_ok=True)
        if kind == "a folder of theirs":
            sub.mkdir()
            os.chown(sub, NOBODY, NOBODY)

    def change():
        if sub.exists() and sub.stat().st_uid != NOBODY:
            return  # nobody else can rename it where there is a sticky bit
        prepare()
        shutil.rmtree(sub, ignore_errors=True)
        sub.symlink_to(mine)
        os.lchown(sub, NOBODY, NOBODY)

    before, moments = sorted(os.listdir(mine)), 0
    for done in run_with_each_change(named(sub / "v.db", *remember("other", "o")), r'[/"]sub[/"]', prepare, change, cwd=tmp_path):
        assert recalled(project, mine / "v.db") == ["mine"] and sorted(os.listdir(mine)) == before
        moments += 1
    assert moments >= 1


@needs_root
@pytest.mark.skipif(not shutil.which("unshare") or not shutil.which("setpriv"), reason="needs unshare and setpriv")
def test_a_sandbox_in_which_root_has_no_number_uses_a_named_store():
    """There, folders of root such as / and /tmp seem to belong to the user 65534."""
    user = "54321"
    box = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "unshare", "--user", "--map-current-user"]
    if subprocess.run([*box, "test", "-x", str(BIN / "vybe")], capture_output=True).returncode:
        pytest.skip("the user cannot make a namespace, or reach the program")
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chown(home, int(user), int(user))
        done = subprocess.run([*box, str(BIN / "vybe"), *named(f"{home}/v.db", *remember("k", "r"))[1:]], cwd=home,
                              env=environment(HOME=home), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
