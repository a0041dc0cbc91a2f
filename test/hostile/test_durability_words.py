"""Error messages tell the truth about the disk: each system call of a write fails in turn, and a new reader checks
the store."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BIN, Result, environment, git
from harness import STRACE, needs_root, needs_strace

LETTER = ["--bead", "bd-1", "--subject", "s", "--body", "b"]
WRITES = {
    "bead": ["bd", "create", "new", "--json"],
    "first bead": ["bd", "create", "new", "--json"],
    "config": ["bd", "config", "set", "sync.remote", "new", "--json"],
    "post": ["bb", "--as", "a", "--json", "post", "new"],
    "register": ["bb", "agent", "register", "--name", "new-one", "--role", "ui", "--json"],
    "broadcast": ["bb", "agent", "send", "--from", "amber-otter", "--to", "broadcast", "--category", "BLOCKED", *LETTER,
                  "--json"],
    "takeover": ["bb", "agent", "reserve", "--agent", "blue-fox", "--scope", "src", "--bead", "bd-1", "--takeover-stale",
                 "--json"],
    "memory": ["vybe", "memory", "set", "--agent", "a", "--request-id", "r", "--key", "new", "--value", "v"],
    "task": ["vybe", "task", "create", "--agent", "a", "--request-id", "r", "--title", "new"],
    "hooks": ["bb", "agent", "guard", "install", "--json"],
    "move": ["abacus", "move-store", "workspace", "--json"],
    "import": ["bd", "import", "in.jsonl", "--json"],
}
BATCH = 400  # lines that an import stores at once, as in src/beads/exchange/import_take.c
FAULTS = ["openat:error=EMFILE", "openat:error=EACCES", "fsync:error=EIO", "fdatasync:error=EIO", "rename:error=EIO",
          "ftruncate:error=EIO", "write:error=ENOSPC", "pwrite64:error=ENOSPC",
          "newfstatat:error=EIO", "getdents64:error=EIO",
          # what was written can neither be finished nor undone
          "fdatasync,ftruncate:error=EIO", "fdatasync,fsync,rename:error=EIO"]
MANY = ("openat", "newfstatat", "pwrite64")  # of these, a part is tried, unless there is time
THOROUGH = os.environ.get("ABACUS_THOROUGH") == "1"
LATER = {"ABACUS_NOW": "2026-01-01T01:00:00Z"}


def test_a_refused_first_write_says_that_nothing_was_changed(plain_repo):
    """The new database exists, but has none of the data that the command was to store."""
    done = plain_repo.run("memory", "set", "--agent", "a", "--request-id", "r", "--key", "two\nlines", "--value", "v",
                          program="vybe")
    assert done.code == 1 and "stored" not in done.json["suggested_action"], done.out
    assert plain_repo.run("status", program="vybe").json["data"]["counts"]["memory"] == 0


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """A repository that uses every store; made once, and copied."""
    path = tmp_path_factory.mktemp("stores") / "proj"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    for command in (["bd", "init", "--prefix", "bd"], ["bd", "create", "old", "--id", "bd-1"], ["bb", "init"],
                    ["bb", "--as", "a", "post", "old"],
                    *(["bb", "agent", "register", "--name", n, "--role", "ui"] for n in ("amber-otter", "blue-fox", "red-fox")),
                    ["bb", "agent", "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bd-1"],
                    ["vybe", "memory", "set", "--agent", "a", "--request-id", "q", "--key", "old", "--value", "v"]):
        run(path, command, ABACUS_NOW="2026-01-01T00:00:00Z").ok()
    return path


def run(path, command, *before, **env):
    done = subprocess.run([*before, str(BIN / command[0]), *command[1:]], cwd=path, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, env=environment(BD_ACTOR="alice", **env))
    return Result(done)


def put_back(path, stores, name):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(stores, path)
    if name == "first bead":  # a journal that has no file yet for what comes next
        shutil.rmtree(path / ".git/abacus")
        run(path, ["bd", "init", "--prefix", "bd"]).ok()
    if name == "import":
        (path / "in.jsonl").write_text("".join(f'{{"id":"bd-n{i}","title":"new","created_at":"2026-01-01T00:00:00Z"}}\n'
                                               for i in range(BATCH + 1)))


LOOKS = {
    "bead": [["bd", "list", "--limit", "0", "--json"]],
    "config": [["bd", "config", "get", "sync.remote"]],
    "post": [["bb", "--as", "zed", "--json", "log"]],
    "agent": [["bb", "agent", "list", "--json"], ["bb", "agent", "inbox", "--agent", "red-fox", "--json"],
              ["bb", "agent", "inbox", "--agent", "blue-fox", "--json"], ["bb", "agent", "events", "--json"],
              ["bb", "agent", "status", "--json"]],
    "memory": [["vybe", "memory", "list", "--agent", "a"]],
    "task": [["vybe", "task", "list"], ["bd", "list", "--json"]],
}
KIND = {"first bead": "bead", "import": "bead", "register": "agent", "broadcast": "agent", "takeover": "agent"}


def look(path, name):
    """The state as a new process sees it, without the cache, which might hide the record."""
    if name == "hooks":
        return [p.exists() for p in (path / ".git/hooks/pre-commit", path / ".git/hooks/pre-push")]
    if name == "move":
        return (path / ".git/abacus").exists()
    for part in ("", "-wal", "-shm"):
        (path / f".git/abacus/cache.db{part}").unlink(missing_ok=True)
    found = []
    for command in LOOKS[KIND.get(name, name)]:
        text = run(path, command, **LATER).ok().out
        found.append([len(re.findall(word, text)) for word in (r'"new', "new-one", "blue-fox", "message_id", "INCURSION",
                                                                "BLOCKED", "takeover", '"old')] + [text.count("new")])
    return found


def hint_of(done):
    """The next step, in the place where the family of commands puts it."""
    [hint] = re.findall(r'"(?:hint|next_step|suggested_action)":"((?:[^"\\\\]|\\\\.)*)"', done.out)
    return hint


@needs_strace
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", WRITES)
def test_each_call_fails_in_turn(stores, tmp_path, name, fault):
    path, log = tmp_path / "proj", tmp_path / "log"
    calls, error = fault.split(":")
    put_back(path, stores, name)
    before = look(path, name)
    run(path, WRITES[name], **LATER).ok()
    after = look(path, name)
    assert before != after
    said = []
    for n in range(1, 1000, 1 if THOROUGH or calls not in MANY else 6):
        put_back(path, stores, name)
        inject = [f"inject={call}:{error}:when={n}{'+' if ',' in calls else ''}" for call in calls.split(",")]
        done = run(path, WRITES[name], STRACE, "-qq", "-o", str(log), "-e", f"trace={calls}",
                   *(word for i in inject for word in ("-e", i)), **LATER)
        if "INJECTED" not in log.read_text():
            break
        if not done.out:  # the program never began, or standard output was what failed
            continue
        found, hint = look(path, name), "" if done.code == 0 else hint_of(done)
        said.append(hint)
        where = f"call {n}: {done.out}{done.err}"
        if done.code == 0:
            assert found == after, where
        elif "Nothing was changed" in hint:
            assert found == before, where
        elif found != before:
            assert "It is not known whether this was stored" in hint or "Only part of it was stored" in hint, where
    else:
        pytest.fail("it never came to an end")
    if fault in ("write:error=ENOSPC", "pwrite64:error=ENOSPC"):
        assert not any("not known" in hint for hint in said), said


@needs_strace
def test_a_rule_whose_removal_fails_half_way_is_not_unchanged(stores, tmp_path):
    path = tmp_path / "proj"
    put_back(path, stores, "bead")
    state = {"XDG_STATE_HOME": str(tmp_path)}
    for n in (1, 2):
        run(path, ["abacus", "on", "bead.closed", "--", "true"], **state).ok()
        done = run(path, ["abacus", "on", "--remove", "1", "--json"], STRACE, "-qq", "-o", os.devnull, "-e",
                   f"inject=unlink:error=EACCES:when={n}", **state)
        assert done.code and ("Nothing was changed" in hint_of(done)) == (n == 1), done.out
        run(path, ["abacus", "on", "--remove", "1"], **state).ok()
        assert run(path, ["abacus", "on", "--json"], **state).json == []


@needs_strace
def test_an_open_folder_that_cannot_be_synced_leaves_no_line(stores, tmp_path):
    """Before the first line of a new record, the folder is synced, so that nothing has to be undone."""
    path = tmp_path / "proj"
    put_back(path, stores, "post")
    shutil.rmtree(path / ".beadboard")
    for n in range(1, 40):
        shutil.rmtree(path / ".beadboard", ignore_errors=True)
        done = run(path, WRITES["register"], STRACE, "-qq", "-o", str(tmp_path / "log"), "-e", "trace=fsync", "-e",
                   f"inject=fsync:error=EACCES:when={n}")
        if done.code == 0:
            break
        assert "Nothing was changed. Check the permissions there, then run" in hint_of(done), done.out
        assert run(path, ["bb", "agent", "list", "--json"]).ok().json["data"] == []
    assert n > 1


def test_with_a_request_id_the_same_one_is_named(stores, tmp_path):
    """Without a request id, the hint does not mention 'same --request-id'."""
    if not STRACE:
        pytest.skip("strace is not at hand")
    path = tmp_path / "proj"
    for extra, expected in (([], "Check whether it is there before running the command again."),
                            (["--request-id", "r"], "Run the command again with the same --request-id: it is stored once.")):
        put_back(path, stores, "bead")
        done = run(path, [*WRITES["bead"], *extra], STRACE, "-qq", "-o", os.devnull, "-e", "inject=fdatasync:error=EIO")
        assert hint_of(done).startswith("It is not known whether this was stored.") and hint_of(done).endswith(expected)


@needs_strace
@pytest.mark.parametrize("error", ["EMFILE", "EIO"])
def test_no_line_is_glued_to_an_unfinished_one(stores, tmp_path, error):
    """If it is unknown whether the last line is complete, nothing is appended to it."""
    path, log = tmp_path / "proj", tmp_path / "log"
    for n in range(1, 40):
        put_back(path, stores, "register")
        with (path / ".beadboard/agent/agents/history.jsonl").open("a") as file:
            file.write('{"agent_id":"torn')
        done = run(path, WRITES["register"], STRACE, "-qq", "-o", str(log), "-e", "trace=openat,lseek,pread64", "-e",
                   f"inject=openat,lseek,pread64:error={error}:when={n}", **LATER)
        if "INJECTED" not in log.read_text():
            break
        names = {a["agent_id"] for a in run(path, ["bb", "agent", "list", "--json"], **LATER).ok().json["data"]}
        assert ("new-one" in names) == (done.code == 0) or not done.out, done.out
    else:
        pytest.fail("it never came to an end")


# --- a look that fails is not a "no"


@needs_strace
@pytest.mark.parametrize("error", ["EACCES", "EIO", "ELOOP", "ENAMETOOLONG", "EPERM"])
@pytest.mark.parametrize("command", [WRITES["memory"], WRITES["task"], ["vybe", "memory", "list", "--agent", "a"],
                                     ["vybe", "resume", "--agent", "a", "--request-id", "r"]])
def test_vybe_never_uses_another_store_because_a_check_failed(stores, tmp_path, command, error):
    """It neither writes to the user's own store, nor does a reader report an empty one."""
    path, home = tmp_path / "proj", tmp_path / "home"
    put_back(path, stores, "memory")
    dot_git = [path / ".git", path / ".git/HEAD"]
    for target in dot_git:
        for call in ("newfstatat", "stat", "lstat", "statx"):
            log = tmp_path / "log"
            done = run(path, command, STRACE, "-qq", "-o", str(log), "-e", f"trace=?{call}", "-P", str(target), "-e",
                       f"inject=?{call}:error={error}", HOME=home, XDG_DATA_HOME=home / "data", **LATER)
            assert not home.exists(), f"{target}: {done.out}"
            if log.exists() and "INJECTED" in log.read_text():
                assert done.code != 0 and str(target) in done.out, done.out


@needs_root
@pytest.mark.parametrize("command", [["vybe", "memory", "list", "--agent", "a"], ["bb", "agent", "list", "--json"],
                                     ["bb", "agent", "guard", "src/x", "--json"], ["bd", "list", "--json"],
                                     ["bb", "--json", "log"], WRITES["memory"]])
@pytest.mark.parametrize("folder", [".git", ".git/abacus", ".beadboard", ".beadboard/agent", ".bb"])
def test_a_folder_that_may_not_be_entered_is_not_empty(stores, tmp_path, command, folder):
    """Another user may read the project, but not enter one of its folders."""
    path = tmp_path / "proj"
    put_back(path, stores, "memory")
    for parent in [path, *path.parents]:
        if parent.stat().st_uid == 0 and parent != pathlib.Path("/"):
            parent.chmod(parent.stat().st_mode | 0o755)
    subprocess.run(["chown", "-R", "65534:65534", str(path)], check=True)
    before = run_as_nobody(path, command)
    (path / folder).chmod(0)
    done = run_as_nobody(path, command)
    (path / folder).chmod(0o700)
    same = done.code == before.code and done.out.replace(',"replayed":true', "") == before.out
    assert same or (done.code and ("Permission denied" in done.out or "unable to open" in done.out)), done.out


def run_as_nobody(path, command):
    def become():
        os.setgid(65534)
        os.setuid(65534)

    done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=path, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, preexec_fn=become, env=environment(BD_ACTOR="" if command[0] == "bb" else "alice", **LATER))
    return Result(done)
