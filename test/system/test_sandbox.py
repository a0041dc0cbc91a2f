"""Sandboxes: a store in the workspace works if .git cannot be written, and there are never two stores."""
import json
import os
import signal
import subprocess

import pytest

from conftest import BIN, Repo, environment, git
from harness import STRACE, needs_root, needs_strace
from sandbox import Sandbox, needs_sandbox
from service import services  # noqa: F401

pytestmark = needs_sandbox

APART = ('n=$1; shift; while [ "$n" -gt 0 ]; do mount --bind "$1" "$1" || exit 99; shift; n=$((n-1)); done; exec "$@"')

SESSION = """
bb agent register --name amber-otter --role dev
bb agent register --name cobalt-harbor --role dev
id=$(bd create "one" --json | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
bd ready --claim --as amber-otter
bb agent reserve --agent amber-otter --scope 'src/*' --bead "$id"
bb agent send cobalt-harbor "subject" --from amber-otter --category INFO -m body --bead "$id"
vybe resume --agent amber-otter --request-id r1
vybe memory set --agent amber-otter --key k --value v --scope global --request-id r2
bd close "$id" --reason done --as amber-otter
bb agent release --agent amber-otter --scope 'src/*'
bb agent inbox --agent cobalt-harbor
vybe resume --agent cobalt-harbor --request-id r3
"""


def workspace(repo):
    return repo.path / ".abacus"


def stores(repo):
    """The folders of stores that exist."""
    return [path for path in (repo.home, workspace(repo)) if path.exists()]


def commit(repo):
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "one")


# --- a session ---

def test_a_whole_session_works_where_git_is_read_only(plain_repo):
    commit(plain_repo)
    box = Sandbox(plain_repo, ".git")
    box.shell("abacus init\n" + SESSION).ok()
    assert stores(plain_repo) == [workspace(plain_repo)]
    assert [bead["status"] for bead in plain_repo.json("list", "--all")] == ["closed"]
    assert git(plain_repo.path, "status", "--porcelain") == ""


def test_a_whole_session_works_in_a_linked_worktree(plain_repo, tmp_path):
    commit(plain_repo)
    plain_repo.run("init", "--store", "workspace", program="abacus").ok()
    git(plain_repo.path, "worktree", "add", "-q", str(tmp_path / "linked"))
    Sandbox(plain_repo, plain_repo.path / ".git", cwd=tmp_path / "linked").shell(SESSION).ok()
    assert stores(plain_repo) == [workspace(plain_repo)] and not (tmp_path / "linked" / ".abacus").exists()
    assert [bead["status"] for bead in plain_repo.json("list", "--all")] == ["closed"]


@pytest.mark.parametrize("name", [".git/abacus", ".abacus", ".bb", ".beadboard"])
def test_an_empty_folder_that_a_sandbox_mounts_on_is_not_a_repository(plain_repo, name):
    """Codex makes an empty .git in each of its writable roots while a command runs."""
    plain_repo.run("init", "--store", "workspace" if name == ".abacus" else "git", program="abacus").ok()
    (plain_repo.path / name / ".git").mkdir()
    plain_repo.create("one")
    plain_repo.run("post", "hello", program="bb").ok()
    plain_repo.run("agent", "register", "--name", "amber-otter", "--role", "dev", program="bb").ok()
    (plain_repo.path / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    places = plain_repo.json("where", program="abacus")
    assert "is a Git repository itself" in next(p["why"] for p in places if p["path"] == str(plain_repo.path / name))


def test_a_sync_reports_that_only_the_store_can_be_written(repo):
    """The store is a writable root of the sandbox, the rest of .git is not."""
    roots = ('mount --bind .git .git && mount --bind .git/abacus .git/abacus && mount -o remount,bind,ro .git || exit 99; '
             'shift 2; exec "$@"')
    box = Sandbox(repo, ".git", mount=roots)
    box.run("create", "one").ok()
    error = box.fails("sync")
    assert error["code"] == "read_only" and "outside of the sandbox" in error["hint"], error


def test_changes_in_a_sandbox_are_published_by_a_sync_outside_of_it(plain_repo, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(plain_repo.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    commit(plain_repo)
    box = Sandbox(plain_repo, ".git")
    box.run("init").ok()
    bead = box.json("create", "one", env={"ABACUS_AUTOSYNC": "1"})["id"]
    error = box.fails("sync")
    assert error["code"] == "read_only" and "outside of the sandbox" in error["hint"], error
    assert box.json("sync", "--status")["failures"] == 0  # nothing keeps the next sync from starting
    assert plain_repo.json("sync")["pushed"] == 1
    assert bead in git(tmp_path / "remote.git", "show", "refs/beads/store:state.jsonl")


# --- one store ---

def test_with_a_store_in_git_nothing_creates_one_in_the_workspace(repo):
    box = Sandbox(repo, ".git")
    for args in (["init"], ["create", "x"], ["init", "--store", "auto"]):
        assert box.fails(*args)["code"] == "read_only"
    assert repo.fails("init", "--store", "workspace")["code"] == "already_exists"
    assert stores(repo) == [repo.home]


def test_with_a_store_in_the_workspace_nothing_creates_one_in_git(plain_repo):
    plain_repo.run("init", "--store", "workspace").ok()
    commit(plain_repo)
    plain_repo.run("init").ok()
    assert plain_repo.fails("init", "--store", "git")["code"] == "already_exists"
    plain_repo.create("one")
    plain_repo.run("memory", "set", "--agent", "a", "--key", "k", "--value", "v", "--scope", "global", "--request-id", "1",
                   program="vybe").ok()
    plain_repo.run("sync").ok()
    plain_repo.run("open", "--print", program="abacus").ok()
    plain_repo.run("serve", "--stop", program="abacus").ok()
    for file in ("cache.db", "journal.1", "vybe.db", "serve"):
        assert (workspace(plain_repo) / file).exists()
    assert stores(plain_repo) == [workspace(plain_repo)]
    (place, *_) = plain_repo.json("where", program="abacus")
    assert place["path"] == str(workspace(plain_repo)) and "move-store git" in place["why"]


def test_where_reports_an_unused_folder(repo):
    workspace(repo).mkdir()
    (place, *_) = repo.json("where", program="abacus")
    assert place["path"] == str(repo.home) and "not used" in place["why"]
    moved = repo.run("move-store", "workspace", program="abacus").ok()
    assert "was there but not in use" in moved.err and stores(repo) == [workspace(repo)]


def test_a_folder_of_the_workspace_that_git_tracks_is_refused(plain_repo):
    workspace(plain_repo).mkdir()
    (workspace(plain_repo) / "journal.1").write_text("")
    git(plain_repo.path, "add", "-f", ".abacus")
    commit(plain_repo)
    assert plain_repo.fails("list")["code"] == "unsafe_path"
    assert plain_repo.fails("init", "--store", "workspace")["code"] == "unsafe_path"


def test_a_link_in_place_of_the_folder_is_refused(plain_repo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    workspace(plain_repo).symlink_to(tmp_path / "elsewhere")
    for args in (["list"], ["init"], ["create", "x"]):
        assert plain_repo.fails(*args)["code"] == "unsafe_path"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_git_directory_of_another_name_has_no_store_in_the_workspace(plain_repo, tmp_path):
    (plain_repo.path / ".git").rename(tmp_path / "elsewhere")
    (plain_repo.path / ".git").write_text(f"gitdir: {tmp_path / 'elsewhere'}\n")
    error = plain_repo.fails("init", "--store", "workspace")
    assert error["code"] == "invalid_argument" and "elsewhere" in error["message"]


# --- reads, and the error of a write ---

def test_reads_work_where_nothing_can_be_written(repo):
    bead = repo.create("one")
    for part in ("", "-wal", "-shm"):
        (repo.home / f"cache.db{part}").unlink(missing_ok=True)
    box = Sandbox(repo, ".")
    assert [one["id"] for one in box.json("list")] == [bead]
    assert box.json("show", bead)[0]["title"] == "one"
    assert box.run("resume", "--agent", "a", "--peek", program="vybe").ok().json["success"]


def test_reads_of_a_fetched_ref_work_where_nothing_can_be_written(plain_repo, tmp_path):
    other = Repo(tmp_path / "other")
    git(tmp_path, "init", "-q", "other")
    other.run("init").ok()
    bead = other.create("one")
    other.run("sync").ok()
    git(plain_repo.path, "fetch", "-q", str(other.path), "refs/beads/store:refs/beads/store")
    assert [one["id"] for one in Sandbox(plain_repo, ".").json("list")] == [bead]


def test_a_write_names_three_ways_to_make_the_store_writable(repo):
    error = Sandbox(repo, ".git").fails("create", "x")
    assert error["code"] == "read_only" and str(repo.home) in error["message"]
    for way in ("abacus move-store workspace", "abacus serve", "abacus install codex --sandbox --user --write"):
        assert way in error["hint"]


def test_the_settings_of_codex_get_the_folders_its_sandbox_may_write(repo, tmp_path):
    config, home = tmp_path / ".codex" / "config.toml", {"HOME": str(tmp_path)}
    config.parent.mkdir()
    before = '[sandbox_workspace_write]\nnetwork_access = false\nwritable_roots = [ "/x", # mine\n  "/y" ]\n\n[other]\na = 1\n'
    config.write_text(before)
    repo.run("install", "codex", "--sandbox", "--user", "--write", program="abacus", env=home).ok()
    assert f'writable_roots = ["{repo.home}",  "/x", # mine\n  "/y" ]\n' in config.read_text()
    again = repo.json("install", "codex", "--sandbox", "--user", "--write", program="abacus", env=home)
    assert again[0]["result"] == "unchanged"
    moved = repo.run("move-store", "workspace", program="abacus", env=home).ok()
    assert "writable_roots" in moved.err and str(repo.home) in moved.err
    repo.run("install", "codex", "--user", "--remove", program="abacus", env=home).ok()
    assert config.read_text() == before
    shown = repo.run("install", "codex", "--sandbox", "--user", program="abacus", env=home).ok()
    assert "writable_roots" not in shown.out and "in the workspace" in shown.err
    assert repo.fails("install", "codex", "--sandbox", program="abacus", env=home)["code"] == "INVALID_INPUT"


def test_the_settings_of_codex_get_the_folders_of_the_main_worktree(repo, tmp_path):
    commit(repo)
    repo.run("init", program="abacus").ok()
    git(repo.path, "worktree", "add", "-q", str(tmp_path / "linked"))
    (codex,) = repo.json("install", "codex", "--sandbox", "--user", program="abacus", cwd=tmp_path / "linked")
    for folder in (repo.home, repo.path / ".bb", repo.path / ".beadboard"):
        assert f'"{folder}"' in codex["snippet"]


@needs_root
def test_a_repository_of_another_user_is_trusted_without_writing_to_a_read_only_home(repo, tmp_path):
    bead, home = repo.create("one"), tmp_path / "home"
    home.mkdir()
    subprocess.run(["chown", "-R", "1000:1000", str(repo.path)], check=True)
    box = Sandbox(repo, home, flags="-m")  # in a user namespace, root could not read the files of others
    error = box.fails("list", env={"HOME": str(home)})
    assert error["code"] == "dubious_ownership"
    command = error["hint"].partition(": ")[2]
    assert command.startswith("export GIT_CONFIG_COUNT=1 ")
    done = box.shell(f"{command}; bd list --json", HOME=str(home)).ok()
    assert [one["id"] for one in done.json] == [bead]


def test_continuity_outside_of_a_repository_names_a_way_around_a_read_only_home(tmp_path):
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    set_it = ("memory", "set", "--agent", "a", "--key", "k", "--value", "v", "--scope", "global", "--request-id", "1")
    box = Sandbox(Repo(tmp_path / "work"), tmp_path / "home")
    failed = box.run(*set_it, program="vybe", env={"HOME": str(tmp_path / "home")}).json
    assert not failed["success"] and "--db-path" in failed["suggested_action"]
    box.run(*set_it, "--db-path", "k.db", program="vybe", env={"HOME": str(tmp_path / "home")}).ok()


# --- prompts ---

def test_a_prompt_recommends_no_command_that_fails_where_it_is_read(repo):
    repo.create("one")
    outside, inside = repo.run("prime").ok().out, Sandbox(repo, ".git").run("prime").ok().out
    assert "bd ready --claim" in outside and "sandbox" not in outside
    assert "--claim" not in inside and "bd create" not in inside and "abacus move-store workspace" in inside
    repo.run("move-store", "workspace", program="abacus").ok()
    assert "bd ready --claim" in Sandbox(repo, ".git").run("prime").ok().out


def test_the_brief_of_codex_says_what_its_sandbox_protects(repo, tmp_path):
    """The hook runs outside of the sandbox, the commands of the session inside."""
    repo.create("one")

    def begin(session):
        asked = json.dumps({"hook_event_name": "SessionStart", "session_id": session, "cwd": str(repo.path)})
        return repo.run("hook", "handle", "--host", "codex", program="vybe", stdin=asked.encode(),
                        env={"HOME": str(tmp_path)}).ok().out

    first = begin("a1")
    assert "commands that write to the store of this project fail" in first and str(repo.home) not in first
    repo.run("install", "codex", "--sandbox", "--user", "--write", program="abacus", env={"HOME": str(tmp_path)}).ok()
    second = begin("a2")
    assert "Your task" in second and "sandbox" not in second
    repo.run("install", "codex", "--user", "--remove", program="abacus", env={"HOME": str(tmp_path)}).ok()
    repo.run("move-store", "workspace", program="abacus").ok()
    third = begin("a3")
    assert "Your task" in third and "sandbox" not in third


# --- a service that writes for the sandbox ---

def test_a_service_of_the_user_writes_for_a_sandbox(repo, services, tmp_path):
    commit(repo)
    repo.run("init", program="abacus").ok()
    git(repo.path, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "linked"))
    services(repo).start()
    box = Sandbox(repo, ".")
    first = box.json("create", "one", "-p", "1", "--label", "a,b", "--due", "2030-01-01", "--as", "zed",
                     "--request-id", "r1")
    assert (first["created_by"], first["labels"], first["priority"]) == ("zed", ["a", "b"], 1)
    assert box.json("create", "one", "-p", "1", "--label", "a,b", "--due", "2030-01-01", "--as", "zed",
                    "--request-id", "r1")["id"] == first["id"]
    assert box.run("claim", first["id"], "--as", "zed").ok().out.startswith(f"Claimed {first['id']}")
    refused = box.run("--json", "claim", first["id"], "--as", "amy")
    same = repo.run("--json", "claim", first["id"], "--as", "amy")
    assert (refused.code, refused.json) == (same.code, same.json) and same.error["code"] == "already_claimed"
    box.shell(SESSION).ok()
    linked = Sandbox(repo, repo.path, tmp_path / "linked", cwd=tmp_path / "linked")
    assert linked.json("create", "two")["created_on_branch"] == "feature"
    assert linked.json("sync")["durability"] == "local"


def test_a_service_writes_for_an_mcp_server_in_a_sandbox(repo, services):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "bd_create", "arguments": {"title": "one"}}}
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    services(repo).start()
    lines = "".join(json.dumps(one) + "\n" for one in (begin, call)).encode()
    Sandbox(repo, ".").run("mcp", program="abacus", stdin=lines, env={"BD_ACTOR": "zed"}).ok()
    assert [bead["created_by"] for bead in repo.json("list")] == ["zed"]


def test_a_service_writes_nothing_for_another_project(repo, services, tmp_path):
    service = services(repo).start()
    git(tmp_path, "init", "-q", "other")
    Repo(tmp_path / "other").run("init").ok()
    request = {"op": "bead create", "dir": str(tmp_path / "other"), "params": {"title": "x"}}
    error = service.post("/service/run", request).error
    assert error["code"] == "invalid_argument" and "another project" in error["message"], error
    assert Repo(tmp_path / "other").ids("list") == []


def test_the_loopback_writes_nothing_for_a_sandbox(repo, services):
    service = services(repo).start("--port", "0")
    answer = service.page("POST", "/service/run", {"Content-Type": "application/json"},
                          {"op": "bead create", "dir": str(repo.path), "params": {"title": "x"}})
    assert answer.status == 400 and repo.ids("list") == []


# --- moving ---

def test_a_store_is_moved_in_both_directions_with_all_its_data(repo):
    bead = repo.create("one")
    repo.run("config", "set", "claim.lease", "2h").ok()
    assert repo.json("move-store", "workspace", program="abacus") == {
        "result": "moved", "from": str(repo.home), "store": str(workspace(repo))}
    assert stores(repo) == [workspace(repo)] and repo.ids("list") == [bead]
    assert repo.json("move-store", "workspace", program="abacus")["result"] == "unchanged"
    assert repo.json("config", "get", "claim.lease")["value"] == "2h"
    commit(repo)
    assert git(repo.path, "status", "--porcelain") == ""
    repo.run("move-store", "git", program="abacus").ok()
    assert stores(repo) == [repo.home] and repo.ids("list") == [bead]


def test_a_store_is_moved_between_file_systems(repo):
    bead = repo.create("one")
    box = Sandbox(repo, ".git", mount=APART)
    box.run("move-store", "workspace", program="abacus").ok()
    assert stores(repo) == [workspace(repo)] and repo.ids("list") == [bead]
    assert (workspace(repo) / ".gitignore").read_text() == "*\n"
    box.run("move-store", "git", program="abacus").ok()
    assert stores(repo) == [repo.home] and repo.ids("list") == [bead]
    assert sorted(path.name for path in repo.path.iterdir()) == [".git"]
    assert not list((repo.path / ".git").glob("abacus.*"))


def test_a_move_is_refused_without_a_store_or_with_a_running_service(plain_repo):
    assert plain_repo.fails("move-store", "workspace", program="abacus")["code"] == "NOT_INITIALIZED"
    plain_repo.run("init").ok()
    plain_repo.run("open", "--print", program="abacus").ok()
    try:
        error = plain_repo.fails("move-store", "workspace", program="abacus")
        assert error["code"] == "DATABASE_BUSY" and error["details"]["next_step"].endswith("abacus serve --stop")
    finally:
        plain_repo.run("serve", "--stop", program="abacus").ok()
    plain_repo.run("move-store", "workspace", program="abacus").ok()


def test_moves_lose_nothing_of_twenty_writers(repo):
    script = ('n=$1; i=0; while [ $i -lt 4 ]; do i=$((i+1)); bd create "w$n-$i" --json >"m$n" || { cat "m$n" >&2; exit 1; }; '
              'vybe memory set --agent "a$n" --key "k$i" --value v --scope agent --scope-id "a$n" --request-id "$n-$i" '
              '>"m$n" || { cat "m$n" >&2; exit 2; }; done')
    env = environment(**repo.env, PATH=f"{BIN}:{environment()['PATH']}")
    writers = [subprocess.Popen(["sh", "-c", script, "sh", str(n)], cwd=repo.path, env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) for n in range(20)]
    places = ["workspace", "git"]
    while any(writer.poll() is None for writer in writers):
        repo.run("move-store", places[0], program="abacus").ok()
        assert len(stores(repo)) == 1
        places.reverse()
    failed = [(writer.returncode, writer.stderr.read()) for writer in writers if writer.returncode]
    assert failed == []
    assert len(repo.ids("list", "-n", "0")) == 80
    got = repo.run("memory", "list", "--agent", "a7", "--scope", "agent", "--scope-id", "a7", program="vybe").ok().json
    assert sorted(one["key"] for one in got["data"]["memories"]) == ["k1", "k2", "k3", "k4"]


@needs_strace
@pytest.mark.parametrize("mount", [None, APART], ids=["renamed", "copied"])
def test_a_killed_move_leaves_one_complete_store(repo, mount):
    beads, kills = {repo.create("one")}, 0
    box = Sandbox(repo, ".git", mount=mount) if mount else None
    steps = [("openat", 10), ("openat", 25), *((call, when) for call in ("/^rename", "mkdir", "fsync", "/^unlink") for when in (1, 2, 3))]
    for call, when in steps:
        to = "git" if stores(repo) == [workspace(repo)] else "workspace"
        trace = [STRACE, "-qq", "-o", os.devnull, "-e", f"inject={call}:signal=SIGKILL:when={when}", str(BIN / "abacus"),
                 "move-store", to]
        done = subprocess.run(box.argv("true")[:-1] + trace if mount else trace, cwd=repo.path,
                              env=environment(**repo.env), capture_output=True, timeout=60)
        kills += done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        assert set(repo.ids("list", "-n", "0")) == beads, (call, when)
        beads.add(repo.create("more"))
    repo.run("validate").ok()
    assert kills >= (6 if mount else 3)
    (box or repo).run("move-store", "workspace", program="abacus").ok()
    (box or repo).run("move-store", "git", program="abacus").ok()
    assert set(repo.ids("list", "-n", "0")) == beads and stores(repo) == [repo.home]
