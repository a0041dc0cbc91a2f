"""A ref that is not at a commit is reported at once, at the remote and locally, and nothing is lost."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from conftest import BUILD, Repo, environment, git
from harness import STRACE, needs_strace
from hints import command_of, run_command
from remotes import (REF, at, backups, bare, clone, http_remote, is_sync_error, point, same_everywhere, sync,
                     tcp_server, titles)

TRACKING = "refs/beads/remote/origin"
SYNC = str(BUILD / "libexec" / "abacus-sync")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("refs")
    remote = bare(path / "beads.git")
    anna = clone(path / "anna", remote)
    anna.create("published")
    sync(anna)
    tip = at(remote)
    git(remote, "tag", "-am", "x", "x", tip)
    return path


class World:
    def __init__(self, path):
        self.path, self.remote, self.anna = path, path / "beads.git", Repo(path / "anna")
        self.anna.env = {"BD_ACTOR": "anna"}
        point(self.anna, self.remote)
        self.anna.create("waiting")

    def content(self, what):
        tip = at(self.remote)
        return {"text": "<html>\n", "nothing": "", "half": tip[:20] + "\n", "zeros": "\0" * 41, "endless": "a" * 100000,
                "missing": "1" * 40 + "\n", "nowhere": "ref: refs/heads/none\n", "outside": "ref: ../../HEAD\n",
                "itself": f"ref: {REF}\n", "tree": git(self.remote, "rev-parse", f"{tip}^{{tree}}"),
                "blob": git(self.remote, "rev-parse", f"{tip}:meta.json"),
                "tag": git(self.remote, "rev-parse", "refs/tags/x"),
                "unsigned": self.commit("author bad\ncommitter bad\n"), "headless": self.commit(""),
                "dated": self.commit(signed(-5)), "long": self.commit(signed(1), self.tree_with(b"100644", b"n" * 70000)),
                }[what]

    def object(self, kind, content):
        """Any bytes as an object of the remote."""
        (self.path / "object").write_bytes(content)
        return git(self.remote, "hash-object", "-t", kind, "-w", "--literally", self.path / "object").strip()

    def commit(self, signatures, tree=None, parents=None, message="x"):
        """A commit that Git accepts and passes on, although its author may be invalid."""
        parents = [at(self.remote)] if parents is None else parents
        tree = tree or git(self.remote, "rev-parse", REF + "^{tree}").strip()
        return self.object("commit", (f"tree {tree}\n" + "".join(f"parent {parent}\n" for parent in parents) +
                                      f"{signatures}\n{message}\n").encode())

    def tree_with(self, mode, name, entry=None):
        """The tree of the remote's commit with one more entry, by default its meta.json."""
        entry = entry or git(self.remote, "rev-parse", f"{REF}:meta.json").strip()
        old = subprocess.run(["git", "cat-file", "tree", REF], cwd=self.remote, check=True, capture_output=True,
                             env=environment()).stdout
        return self.object("tree", old + mode + b" " + name + b"\0" + bytes.fromhex(entry))


def signed(seconds):
    """The signatures of a commit that was made then."""
    return "".join(f"{who} m <m@example.com> {seconds} +0000\n" for who in ("author", "committer"))


@pytest.fixture
def world(tmp_path, made):
    shutil.copytree(made, tmp_path / "w")
    return World(tmp_path / "w")


WORDS = {"text": "cannot be read", "nothing": "cannot be read", "half": "cannot be read", "zeros": "cannot be read",
         "endless": "cannot be read", "missing": "is at 1111111111111111111111111111111111111111, which does not exist",
         "nowhere": "is a symbolic ref to 'refs/heads/none', which does not exist",
         "outside": "is a symbolic ref to '../../HEAD', which does not exist", "itself": "cannot be read",
         "tree": "is at the tree", "blob": "is at the blob", "tag": "is at the tag"}
UNREADABLE = {"unsigned": "is at [0-9a-f]{40}, which cannot be read", "headless": "is at [0-9a-f]{40}, which cannot be read",
              "dated": "has a date that Git cannot represent", "long": "the tree [0-9a-f]{40} of commit [0-9a-f]{40} cannot be read"}
PUSHED = {what: WORDS[what] for what in ("tree", "blob", "tag")} | UNREADABLE


@pytest.mark.parametrize("what", WORDS)
def test_a_bad_ref_of_a_folder_is_reported(world, what):
    tip = at(world.remote)
    (world.remote / REF).write_text(world.content(what))
    error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "corrupt")
    assert f"the ref '{REF}' at 'origin' ({world.remote}) {WORDS[what]}" in error["message"], error
    assert not error["retryable"], error
    assert titles(world.anna) == ["published", "waiting"] and at(world.anna.path) == tip
    (world.remote / REF).write_text(f"{tip}\n")
    assert sync(world.anna)["durability"] == "remote"


@pytest.mark.parametrize("what", ["text", "missing", "tree", "blob", "tag"])
def test_a_bad_ref_of_a_server_is_reported(world, what):
    tip = at(world.remote)
    (world.remote / REF).write_text(world.content(what))
    with http_remote(world.path) as server:
        point(world.anna, f"{server.url}/beads.git")
        code = "sync_failed" if what == "missing" else "corrupt"  # the server ends without a word
        error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), code)
        assert f"'{REF}'" in error["message"] and "'origin'" in error["message"] and server.url in error["message"], error
        assert re.search(WORDS[what] if what != "missing" else r"\(1111111111…\)", error["message"]), error
        (world.remote / REF).write_text(f"{tip}\n")
        assert sync(world.anna)["durability"] == "remote"


@pytest.mark.parametrize("over", ["folder", "http"])
@pytest.mark.parametrize("what", PUSHED)
def test_the_named_next_step_repairs_a_pushed_ref(world, what, over):
    tip, wrong = at(world.remote), world.content(what)
    git(world.remote, "update-ref", "-d", "refs/tags/x")
    with http_remote(world.path) as server:
        if over == "http":
            point(world.anna, f"{server.url}/beads.git")
        (world.remote / REF).write_text(wrong)
        error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "corrupt")
        assert re.search(PUSHED[what], error["message"]) and not error["retryable"], error
        told = world.anna.json("repair")
        assert told["damaged"] == 1 and not told["applied"] and told["commits"][0]["where"] == "remote", told
        assert re.search(PUSHED[what].replace("is at [0-9a-f]{40}, which ", ""), told["commits"][0]["why"]), told
        assert titles(world.anna) == ["published", "waiting"] and at(world.anna.path) == tip
        assert (world.remote / REF).read_text() == wrong
        follow(world, error["hint"])
        assert at(world.remote) == tip
        assert sync(world.anna)["durability"] == "remote"
        assert titles(world.anna) == ["published", "waiting"]


@pytest.mark.parametrize("over", ["folder", "http"])
@pytest.mark.parametrize("what", PUSHED)
def test_a_new_clone_can_publish_although_the_ref_is_unusable(world, what, over):
    """It has never synced: all usable published data is kept, and its own bead is added."""
    (world.remote / REF).write_text(world.content(what))
    git(world.remote, "update-ref", "-d", "refs/tags/x")
    with http_remote(world.path) as server:
        ben = clone(world.path / "ben", f"{server.url}/beads.git" if over == "http" else world.remote)
        ben.create("of ben")
        error = is_sync_error(ben.run("sync", "--json", "--timeout", "60s"), "corrupt")
        assert at(ben.path), "there is a ref to push"
        obey(ben, re.search(r"'(bd repair [^']+)'", error["hint"])[1])
        assert sync(ben)["durability"] == "remote"
        assert titles(ben) == (["of ben"] if what in ("tree", "blob") else ["of ben", "published"])
        sync(world.anna)
        sync(ben)
        assert titles(ben) == ["of ben", "published", "waiting"]
    same_everywhere(world.remote, world.anna, ben)


def test_a_new_clone_can_push_its_ref_with_force_too(world):
    (world.remote / REF).write_text(world.content("blob"))
    ben = clone(world.path / "ben", world.remote)
    ben.create("of ben")
    is_sync_error(ben.run("sync", "--json", "--timeout", "60s"), "corrupt")
    git(ben.path, "push", "-q", "--force", "origin", REF)
    sync(world.anna)
    sync(ben)
    assert titles(ben) == ["of ben", "published", "waiting"]


@pytest.mark.parametrize("over", ["folder", "http"])
def test_an_object_that_the_server_has_lost_is_named_with_a_command_that_works(world, over):
    tip = at(world.remote)
    (world.remote / REF).write_text(world.commit(signed(1800000000), world.tree_with(b"100644", b"zz", "2" * 40)) + "\n")
    with reached(world, over):
        done = world.anna.run("sync", "--json", "--timeout", "60s")
        assert done.code == 4, done.out
        follow(world, done.error["hint"])
        assert at(world.remote) == tip and sync(world.anna)["durability"] == "remote"


@pytest.mark.parametrize("over", ["folder", "http"])
@pytest.mark.parametrize("there", [True, False], ids=["at a branch", "at a new branch"])
def test_a_repair_does_not_write_through_a_symbolic_ref(world, over, there):
    """Over the network it is unknown that the ref is symbolic; that it points to the same commit as a branch has to
    be enough."""
    main = git(world.remote, "commit-tree", "-m", "x", git(world.remote, "mktree").strip()).strip()
    git(world.remote, "update-ref", "refs/heads/main", main)
    git(world.remote, "symbolic-ref", REF, "refs/heads/main") if there else (world.remote / REF).write_text(main + "\n")
    with reached(world, over):
        is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "corrupt")
        if there or over == "http":
            error = is_sync_error(world.anna.run("repair", "--apply", "--json"), "corrupt")
            assert "refs/heads/main" in error["message"], error
        assert at(world.remote, "refs/heads/main") == main
        if there and over == "http":  # the command looks first, and does not push
            done = run_command(world.anna, command_of(error["hint"], "refs="))
            assert done.code == 1 and done.out.startswith("ref: refs/heads/main\t"), done.out + done.err
        if not there:
            follow(world, error["hint"] if over == "http" else "'bd repair --apply'")
            assert sync(world.anna)["durability"] == "remote"
        assert at(world.remote, "refs/heads/main") == main


def test_a_server_that_always_reports_a_race_is_not_retried_until_the_deadline(world):
    """A dead program left a lock at the server: the ref never moves, and yet the push is refused."""
    (world.remote / f"{REF}.lock").touch()
    with http_remote(world.path) as server:
        point(world.anna, f"{server.url}/beads.git")
        error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "10m", timeout=120), "remote_rejected")
        assert f"does not move the ref '{REF}'" in error["message"] and "lock" in error["message"], error
        (world.remote / f"{REF}.lock").unlink()
        assert sync(world.anna)["durability"] == "remote"


@pytest.mark.parametrize("name", [REF, "packed-refs", "objects/info/alternates", "objects/pack/multi-pack-index",
                                  "HEAD", "config"])
def test_a_fifo_in_a_folder_is_not_waited_for(world, name):
    aside, file = world.path / "aside", world.remote / name
    if file.exists():
        file.rename(aside)
    os.mkfifo(file)
    told = world.anna.run("doctor", "--json", timeout=30)
    assert f"'{file}' of 'origin' is not a file" in told.out, told.out
    error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s", timeout=30), "corrupt")
    assert f"'{file}' of 'origin' is not a file" in error["message"] and not error["retryable"], error
    file.unlink()
    if aside.exists():
        aside.rename(file)
    assert sync(world.anna)["durability"] == "remote"


def test_a_crashed_git_process_is_not_reported_as_missing(world):
    """libgit2 reads beyond the end of a damaged pack index; versions that do not crash pass as well."""
    pack = world.remote / "objects/pack" / ("pack-" + "a" * 40)
    pack.with_suffix(".idx").write_bytes(b"\xfftOc\0\0\0\2" + b"\xff" * 2000)
    pack.with_suffix(".pack").write_bytes(b"PACK\0\0\0\2" + b"\xff" * 2000)
    git(world.remote, "update-ref", REF, git(world.remote, "commit-tree", "-p", REF, "-m", "x", f"{REF}^{{tree}}").strip())
    done = world.anna.run("sync", "--json")
    if done.code:
        assert "install" not in done.error["hint"], done.out
        assert "git process died while fetching from 'origin'" in done.error["message"] or "pack" in done.error["message"]
    for suffix in (".idx", ".pack"):
        pack.with_suffix(suffix).unlink()
    assert sync(world.anna)["durability"] == "remote"


def test_a_symbolic_ref_is_not_written_to(world):
    git(world.remote, "update-ref", "refs/heads/main", REF)
    git(world.remote, "symbolic-ref", REF, "refs/heads/main")
    tip = at(world.remote)
    error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "corrupt")
    assert "is a symbolic ref to 'refs/heads/main'" in error["message"], error
    assert at(world.remote, "refs/heads/main") == tip


# --- the history behind the ref ---

ANCESTORS = {"no author": lambda w: w.commit(""), "no name": lambda w: w.commit("author bad\ncommitter bad\n"),
             "date before all": lambda w: w.commit(signed("-" + "9" * 20)), "date of 1969": lambda w: w.commit(signed(-5)),
             "date after all": lambda w: w.commit(signed("9" * 20)), "date of 35 bits": lambda w: w.commit(signed(2 ** 34)),
             "date with a sign": lambda w: w.commit(signed("+" + "9" * 20)),
             "two dates": lambda w: w.commit("author m <m@example.com> 1 +0000\ncommitter m <m> -5 > 1 +0000\n"),
             "long name": lambda w: w.commit(signed(1), w.tree_with(b"100644", b"n" * 70000)),
             "odd mode": lambda w: w.commit(signed(1), w.tree_with(b"100777777777777", b"n")),
             "deep folders": lambda w: w.commit(signed(1), w.tree_with(b"40000", b"n", nested_folders(w, 200)))}
SOME = ("no author", "date of 1969", "long name")


def nested_folders(world, depth):
    tree = world.object("tree", b"")
    for _ in range(depth):
        tree = world.object("tree", b"40000 d\0" + bytes.fromhex(tree))
    return tree


def poison(world, what):
    """A valid commit on top of an unreadable one, pushed to the remote; returns the unreadable one."""
    wrong = ANCESTORS[what](world)
    git(world.remote, "update-ref", REF, world.commit(signed(1800000000), parents=[wrong]))
    return wrong


def git_works(repo):
    for command in ("log --all --oneline", "gc -q --prune=now", "commit-graph write --reachable"):
        subprocess.run(["git", *command.split()], cwd=repo.path, check=True, capture_output=True, env=environment(), timeout=60)


def past_works(repo):
    """The warnings of the commands that read the history."""
    bead = repo.ids("list", "--all")[0]
    said = [repo.run(*command.split()) for command in ("commits", f"history {bead}", f"blame {bead}", "diff 2000-01-01")]
    assert [done.code for done in said[:3]] == [0, 0, 0], [done.err for done in said]
    return "".join(done.err for done in said)


@contextlib.contextmanager
def reached(world, over):
    """The remote as a folder, or through a server."""
    if over == "folder":
        yield
        return
    with http_remote(world.path) as server:
        point(world.anna, f"{server.url}/beads.git")
        yield


def mends(world, *others):
    """Repair makes the store usable again for all clones."""
    told = world.anna.json("repair", "--apply")
    assert told["applied"] and told["damaged"], told
    assert world.anna.json("repair")["damaged"] == 0
    for repo in (world.anna, *others, world.anna):
        assert sync(repo)["durability"] == "remote"
    same_everywhere(world.remote, world.anna, *others)
    git(world.remote, "fsck", "--connectivity-only", REF)
    for repo in (world.anna, *others):
        assert past_works(repo).count("warning") == 0
        git_works(repo)


@pytest.mark.parametrize("what, over", [*((what, "folder") for what in ANCESTORS), *((what, "http") for what in SOME)])
def test_an_unreadable_history_is_not_joined(world, what, over):
    before = git(world.anna.path, "for-each-ref")
    wrong = poison(world, what)
    with reached(world, over):
        error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "corrupt")
        assert wrong in error["message"] and "bd repair --apply" in error["hint"] and not error["retryable"], error
        assert git(world.anna.path, "for-each-ref") == before
        assert titles(world.anna) == ["published", "waiting"] and past_works(world.anna).count("warning") == 0
        git_works(world.anna)
        mends(world)
        assert titles(world.anna) == ["published", "waiting"]


@pytest.mark.parametrize("over", ["folder", "http"])
@pytest.mark.parametrize("what", SOME)
def test_a_clone_with_an_unreadable_history_can_be_repaired(world, what, over):
    """Earlier versions joined it; here the user's own Git fetched it."""
    ben = clone(world.path / "ben", world.remote)
    ben.create("of ben")
    sync(ben)
    wrong = poison(world, what)
    for ref in (REF, TRACKING):
        git(world.anna.path, "fetch", "-q", world.remote, f"+{REF}:{ref}")
    with reached(world, over):
        world.anna.run("sync", "--json")
        assert sorted({"of ben", "published", "waiting"} - set(titles(world.anna))) == []
        said = past_works(world.anna)
        assert what == "date of 1969" or wrong in said, said
        told = world.anna.json("repair")
        assert wrong in [commit["commit"] for commit in told["commits"]] and not told["applied"], told
        mends(world, ben)
        assert titles(ben) == ["of ben", "published", "waiting"]
        assert not any(wrong in git(repo.path, "rev-list", "--all") for repo in (world.anna, ben))


def test_a_commit_dated_far_ahead_is_accepted(world):
    git(world.remote, "update-ref", REF, world.commit(signed(1800000000), parents=[world.commit(signed(2 ** 34 - 1))]))
    assert sync(world.anna)["durability"] == "remote"
    assert not past_works(world.anna).count("warning")
    git_works(world.anna)


def test_a_local_ref_moved_to_an_unreadable_history_is_not_followed(world):
    wrong = poison(world, "no author")
    git(world.anna.path, "fetch", "-q", world.remote, f"+{REF}:{REF}")
    git(world.remote, "update-ref", REF, at(world.anna.path, TRACKING))
    done = world.anna.run("sync", "--json")
    assert done.code == 3 and done.error["code"] == "corrupt" and wrong in done.error["message"], done.out
    assert "bd repair --apply" in done.error["hint"], done.out
    mends(world)


def test_a_backup_that_cannot_be_read_is_removed(world):
    wrong = poison(world, "date of 1969")
    git(world.anna.path, "fetch", "-q", world.remote, f"+{REF}:refs/beads/backup/{at(world.remote)}")
    git(world.remote, "update-ref", REF, at(world.anna.path, TRACKING))
    told = world.anna.json("repair", "--apply")
    assert [commit["commit"] for commit in told["commits"]] == [wrong] and told["applied"], told
    assert not backups(world.anna.path)
    git_works(world.anna)


@pytest.mark.parametrize("over", ["folder", "http"])
def test_a_branch_with_a_commit_that_cannot_be_read_does_not_stop_the_sync(world, over):
    """Branches do not concern beads, neither those of the remote nor those that were fetched."""
    ben = clone(world.path / "ben", world.remote)
    tip, wrong = at(world.remote), ANCESTORS["no author"](world)
    for name, commit in (("evil", world.commit(signed(1), parents=[wrong])), ("worse", wrong)):
        (world.remote / "refs/heads" / name).write_text(f"{commit}\n")
    git(world.anna.path, "fetch", "-q", world.remote, "+refs/heads/*:refs/remotes/origin/*")
    with reached(world, over):
        assert sync(world.anna)["durability"] == "remote" and at(world.remote) != tip
        ben.create("of ben")
        sync(ben)
        sync(world.anna)
    same_everywhere(world.remote, world.anna, ben)


def test_many_names_for_the_same_folder_cost_little(world):
    """Ten names for the same folder, nine levels deep: a thousand million paths, and ten objects."""
    tree = world.object("tree", b"")
    for _ in range(9):
        tree = world.object("tree", b"".join(b"40000 %d\0" % i + bytes.fromhex(tree) for i in range(10)))
    git(world.remote, "update-ref", REF, world.commit(signed(1800000000), world.tree_with(b"40000", b"zz", tree)))
    other = bare(world.path / "other.git")
    sync(world.anna, timeout=20)
    point(world.anna, other)
    sync(world.anna, timeout=20)
    assert git(other, "rev-parse", f"{REF}:zz").strip() == tree


# --- what Git's own check refuses ---


def person(who, name="m <m@example.com>", date="1800000000 +0000"):
    return f"{who} {name} {date}\n"


def by(**author):
    """The signatures of a commit whose author is not valid for Git."""
    return person("author", **author) + person("committer")


def tree_of(world, *entries):
    """The tree of the remote's commit with more entries, in the order of Git."""
    old = subprocess.run(["git", "ls-tree", REF], cwd=world.remote, check=True, capture_output=True, env=environment()).stdout
    known = [(mode, name, id) for mode, _, id, name in (line.split(None, 3) for line in old.splitlines())]
    listed = sorted([*known, *((mode, name, id.encode()) for mode, name, id in entries)],
                    key=lambda e: e[1] + b"/" * (e[0] == b"40000"))
    return world.object("tree", b"".join(b"%s %s\0" % (mode, name) + bytes.fromhex(id.decode()) for mode, name, id in listed))


def with_files(*files):
    """A commit with files of these modes, names and contents; bytes that are None are a folder."""
    def make(world):
        entries = [(mode, name, world.object("blob", data) if data is not None else world.object("tree", b""))
                   for mode, name, data in files]
        return world.commit(signed(1800000000), tree_of(world, *entries))
    return make


MALFORMED = {
    "two authors": lambda w: w.commit(person("author") + by()),
    "time zone": lambda w: w.commit(by(date="1800000000 0000")), "no time zone": lambda w: w.commit(by(date="1800000000")),
    "padded date": lambda w: w.commit(by(date="01800000000 +0000")),
    "bracket in a name": lambda w: w.commit(by(name="m < <m@example.com>")), "no name": lambda w: w.commit(by(name="<m@example.com>")),
    "no space": lambda w: w.commit(by(name="m<m@example.com>")), "zero byte": lambda w: w.commit(by(), message="a\0b"),
    "duplicate entries": with_files((b"100644", b"zz", b"1"), (b"100644", b"zz", b"2")),
    "file and folder": with_files((b"100644", b"zz", b"1"), (b"100644", b"zz.c", b"2"), (b"40000", b"zz", None)),
    "unsorted entries": lambda w: w.commit(by(), w.tree_with(b"100644", b"a")),
    "empty entry name": lambda w: w.commit(by(), w.tree_with(b"100644", b"")),
    "submodules": with_files((b"100644", b".gitmodules", b"[submodule \"../x\"]\n\tpath = x\n\turl = -x\n")),
    "submodules of HFS": with_files((b"100644", ".git\u200cmodules".encode(), b"[submodule \"../x\"]\n\turl = -x\n")),
    "attributes": with_files((b"100644", b".gitattributes", b"x" * 4000)),
    "attributes that are a folder": with_files((b"40000", b".gitattributes", None)),
    "file that is a folder": with_files((b"100644", b"zz", None)), "folder that is a file": with_files((b"40000", b"zz", b"x")),
    "parent that is a tree": lambda w: w.commit(by(), parents=[git(w.remote, "rev-parse", REF + "^{tree}").strip()]),
}
SENT = ("two authors", "unsorted entries", "submodules")  # by Git's own server, too


def objects(repo):
    return git(repo.path, "cat-file", "--batch-all-objects", "--batch-check")


def is_clean(repo):
    """Git itself finds no error, and a fetch has left no files."""
    git(repo.path, "fsck", "--no-dangling")
    git_works(repo)
    assert not [file for file in (repo.path / ".git/objects").rglob("*") if "git2" in file.name or "tmp" in file.name]


@pytest.mark.parametrize("what, over", [*((what, "folder") for what in MALFORMED), *((what, "http") for what in SENT)])
def test_objects_that_git_fsck_refuses_never_get_into_the_clone(world, what, over):
    wrong, before = MALFORMED[what](world), objects(world.anna)
    (world.remote / REF).write_text(wrong + "\n")
    with reached(world, over):
        for command in ("sync --timeout 60s", "repair"):
            done = world.anna.run(*command.split(), "--json")
            assert done.json["damaged"] == 1 if command == "repair" else is_sync_error(done, "corrupt"), done.out
            assert objects(world.anna) == before
        is_clean(world.anna)
        world.anna.json("repair", "--apply")
        assert wrong not in git(world.remote, "rev-list", REF)
        assert sync(world.anna)["durability"] == "remote" and titles(world.anna) == ["published", "waiting"]
        is_clean(world.anna)


@pytest.mark.parametrize("over", ["folder", "http"])
def test_the_last_sound_commit_is_kept_of_a_history_that_git_fsck_refuses(world, over):
    """After a valid commit, a malformed one was pushed."""
    ben = clone(world.path / "ben", world.remote)
    ben.create("of ben")
    sync(ben)
    sound = at(world.remote)
    (world.remote / REF).write_text(world.commit(signed(1800000001), parents=[MALFORMED["two authors"](world)]) + "\n")
    with reached(world, over):
        is_sync_error(world.anna.run("sync", "--json"), "corrupt")
        mends(world, ben)
        is_clean(world.anna)
    assert sound in git(world.remote, "rev-list", REF) and titles(world.anna) == ["of ben", "published", "waiting"]


def test_a_clone_with_a_commit_that_fsck_refuses_can_be_repaired(world):
    """Earlier versions joined it; a server that checks objects then refused the history."""
    wrong = MALFORMED["two authors"](world)
    (world.remote / REF).write_text(wrong + "\n")
    for ref in (REF, TRACKING):
        git(world.anna.path, "fetch", "-q", world.remote, f"+{REF}:{ref}")
    told = world.anna.json("repair", "--apply")
    assert told["applied"] and wrong in [commit["commit"] for commit in told["commits"]], told
    assert sync(world.anna)["durability"] == "remote" and wrong not in git(world.anna.path, "rev-list", "--all")
    git(world.remote, "fsck", "--connectivity-only", REF)


def test_other_files_beside_a_store_are_accepted(world):
    """Folders, attributes and names that sort in surprising ways are no reason to refuse a commit."""
    make = with_files((b"100644", b".gitattributes", b"* -text\n"), (b"100644", b"a", b"1"), (b"100644", b"a-b", b"2"),
                      (b"40000", b"a.d", None), (b"100644", b"a0", b"3"), (b"120000", b"link", b"../x"))
    git(world.remote, "update-ref", REF, make(world))
    assert sync(world.anna)["durability"] == "remote"
    assert "a.d" in git(world.remote, "ls-tree", "--name-only", REF).split()
    is_clean(world.anna)


@pytest.mark.parametrize("name, email", [("A <B>", "b@x"), ("A\\nB", "b\\n@x"), ("<>", "<>")])
def test_our_commits_are_valid_for_any_user_name(world, name, email):
    with open(world.anna.path / ".git/config", "a") as config:
        config.write(f'[user]\n\tname = "{name}"\n\temail = "{email}"\n')
    assert sync(world.anna)["durability"] == "remote"
    is_clean(world.anna)


# --- a server that leaves something out ---

MISSING = "f" * 39 + "e"


class Incomplete:
    """Speaks Git's protocol, and sends the given objects, even if they need others."""

    def __init__(self, world, what):
        self.world, self.repo, head = world, world.remote, at(world.remote)
        state, known = git(self.repo, "rev-parse", f"{REF}:state.jsonl").strip(), set(self.all(head))
        middle = None
        if what in ("blob", "folder"):
            tree = world.tree_with(*{"blob": (b"100644", b"zz"), "folder": (b"40000", b"zz")}[what], MISSING)
            self.tip = world.commit(signed(1800000000), tree)
        elif what in ("parent", "parent is a blob"):
            self.tip = world.commit(signed(1800000000), parents=[MISSING if what == "parent" else state])
        else:
            middle = world.commit(signed(1800000000), parents=[head, MISSING if what == "ancestor" else state])
            self.tip = world.commit(signed(1800000001), parents=[middle])
        sent = [self.tip, git(self.repo, "rev-parse", f"{self.tip}^{{tree}}").strip(), *([middle] if middle else []), *known]
        self.pack = subprocess.run(["git", "pack-objects", "--stdout", "-q"], input="\n".join(sent).encode(), cwd=self.repo,
                                   check=True, capture_output=True, env=environment()).stdout

    def all(self, commit):
        return [line.split()[0] for line in git(self.repo, "rev-list", "--objects", commit).splitlines()]

    def talk(self, connection, stop):
        def line(text):
            return f"{len(text) + 4:04x}".encode() + text

        stream = connection.makefile("rwb")
        stream.read(int(stream.read(4), 16) - 4)
        stream.write(line(f"{self.tip} HEAD\0ofs-delta\n".encode()) + line(f"{self.tip} {REF}\n".encode()) + b"0000")
        stream.flush()
        had = False
        while size := stream.read(4):
            text = stream.read(int(size, 16) - 4) if int(size, 16) else b""
            had = had or text.startswith(b"have")
            if text.startswith(b"done") or (not text and had):
                stream.write(line(b"NAK\n"))
                had = False
            if text.startswith(b"done"):
                stream.write(self.pack)
            stream.flush()
            if text.startswith(b"done"):
                return


class Generous(Incomplete):
    """Sends a valid commit, and objects that were not requested."""

    def __init__(self, world):
        self.world, self.repo = world, world.remote
        self.tip, self.junk = world.commit(signed(1800000000)), world.object("tree", b"100644 b\0" + b"1" * 20 + b"100644 a\0" + b"1" * 20)
        self.pack = subprocess.run(["git", "pack-objects", "--stdout", "-q"], input="\n".join([*self.all(self.tip), self.junk]).encode(),
                                   cwd=self.repo, check=True, capture_output=True, env=environment()).stdout


def test_objects_that_belong_to_no_commit_are_not_kept(world):
    server = Generous(world)
    with tcp_server(server.talk) as port:
        point(world.anna, f"git://127.0.0.1:{port}/beads.git")
        sync(world.anna, "--no-push")
    assert server.tip in objects(world.anna) and server.junk not in objects(world.anna)
    is_clean(world.anna)


@pytest.mark.parametrize("over", ["folder", "http"])
def test_a_shallow_clone_continues_from_the_end_of_its_history(world, over):
    """'git fetch --depth' has left out the parents; the remote continues from the first commit that is here, not the
    last."""
    sync(world.anna)
    first = at(world.remote)
    with http_remote(world.path) as server:
        ben = clone(world.path / "ben", f"{server.url}/beads.git")
        shutil.rmtree(ben.home)
        git(ben.path, "fetch", "-q", "--depth", "1", "origin", f"{REF}:{REF}")
        ben.bd("init").ok()
        ben.create("of ben")
        sync(ben)
        git(world.remote, "update-ref", REF, world.commit(signed(1800000000), parents=[first]))
        if over == "folder":
            point(ben, world.remote)
        assert sync(ben)["durability"] == "remote"
    assert titles(ben) == ["of ben", "published", "waiting"]


class Stalling(Incomplete):
    """Sends half of a pack, and then nothing."""

    def __init__(self, world):
        self.repo, self.tip = world.remote, "a" * 40
        blob = world.object("blob", os.urandom(1 << 20))
        self.pack = subprocess.run(["git", "pack-objects", "--stdout", "-q"], input=blob.encode(), cwd=self.repo, check=True,
                                   capture_output=True, env=environment()).stdout[:1 << 19]

    def talk(self, connection, stop):
        super().talk(connection, stop)
        stop.wait(60)


def test_interrupted_fetches_leave_at_most_one_partial_pack(world):
    before = objects(world.anna)
    with tcp_server(Stalling(world).talk) as port:
        point(world.anna, f"git://127.0.0.1:{port}/beads.git")
        for _ in range(3):
            is_sync_error(world.anna.run("sync", "--json", "--timeout", "1s"), "sync_timeout")
    left = [file for file in (world.anna.path / ".git/objects").rglob("*git2*")]
    assert len(left) <= 1 and not list((world.anna.path / ".git/objects/pack").glob("*git2*")), left
    assert objects(world.anna) == before
    point(world.anna, world.remote)
    assert sync(world.anna)["durability"] == "remote"
    is_clean(world.anna)


@pytest.mark.parametrize("over", ["folder", "http"])
def test_a_disk_that_is_full_here_is_not_called_damage_there(world, over):
    """Nobody who follows the advice may set the ref of the remote back."""
    ben = clone(world.path / "ben", world.remote)
    sync(ben)
    for n in range(8):
        ben.create(f"large {n}", "-d", os.urandom(40000).hex())
    sync(ben)
    with http_remote(world.path) if over == "http" else contextlib.nullcontext() as server:
        point(world.anna, f"{server.url}/beads.git" if server else world.remote)
        done = subprocess.run(["sh", "-c", f"ulimit -f 200; exec '{BUILD}/bin/bd' sync --json"], cwd=world.anna.path,
                              env=environment(**world.anna.env), capture_output=True, timeout=60)
        assert done.returncode and b"git push" not in done.stdout and b"Allow larger files" in done.stdout, done
        assert len(titles(world.anna)) == 2
        assert sync(world.anna)["pulled"] == 8


def test_messages_of_ssh_without_end_do_not_fill_the_disk(world, tmp_path):
    """They go to a file: its limit ends ssh, and not the deadline of the sync."""
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nexec yes endless >&2\n")
    ssh.chmod(0o755)
    point(world.anna, "ssh://host.invalid/beads.git")
    error = is_sync_error(world.anna.run("sync", "--json", env={"GIT_SSH_COMMAND": str(ssh)}), "sync_failed")
    assert "endless" in error["message"]


@pytest.mark.parametrize("what", ["blob", "folder", "parent", "parent is a blob", "ancestor", "ancestor is a blob"])
def test_no_ref_of_ours_is_at_objects_that_the_server_left_out(world, what):
    honest, before = world.remote, git(world.anna.path, "for-each-ref")
    head, server = at(honest), Incomplete(world, what)
    with tcp_server(server.talk) as port:
        point(world.anna, f"git://127.0.0.1:{port}/beads.git")
        for command in ("sync --no-push", "sync --no-push", "repair"):
            done = world.anna.run(*command.split(), "--json")
            if command == "repair" and done.code == 0:
                assert done.json["damaged"] == 1, done.out
                continue
            error = is_sync_error(done, "corrupt")
            assert MISSING in error["message"] or "is a blob" in error["message"], error
        assert git(world.anna.path, "for-each-ref") == before
        assert titles(world.anna) == ["published", "waiting"] and not past_works(world.anna).count("warning")
        git_works(world.anna)
    point(world.anna, honest)
    assert at(honest) == head and sync(world.anna)["durability"] == "remote"
    same_everywhere(honest, world.anna)


# --- here ---


def mend_here(world, hint):
    """Runs the steps of the hint about a ref of this clone."""
    file = re.search(r"Move the file '([^']+)' aside", hint)
    if file:
        pathlib.Path(file[1]).rename(world.path / "aside")
    else:
        follow(world, hint)


def follow(world, hint):
    """Runs the command that the hint names."""
    repair = re.search(r"'(bd repair [^']+)'", hint)
    obey(world.anna, repair[1] if repair else re.search(r": ((?:git|refs=).*)$", hint)[1])


@pytest.mark.parametrize("ref", [REF, TRACKING])
@pytest.mark.parametrize("what", WORDS)
def test_a_bad_local_ref_is_reported_and_repaired(world, what, ref):
    """The named next step restores everything."""
    file = world.anna.path / ".git" / ref
    file.write_text(world.content(what))
    done = world.anna.run("sync", "--json", "--timeout", "60s")
    assert done.code == 3 and done.error["code"] == "corrupt", done.out
    assert f"the ref '{ref}' of '{world.anna.path}/.git/' " in done.error["message"], done.out
    assert file.read_text() == world.content(what), "the damage is still there to be looked at"
    assert "waiting" in titles(world.anna)
    mend_here(world, done.error["hint"])
    assert sync(world.anna)["durability"] == "remote"
    assert titles(world.anna) == ["published", "waiting"]
    assert at(world.anna.path) == at(world.anna.path, TRACKING) == at(world.remote)


def test_a_bad_local_ref_without_a_remote(world):
    git(world.anna.path, "remote", "remove", "origin")
    sync(world.anna)
    world.anna.create("later")
    (world.anna.path / ".git" / REF).write_text("garbage\n")
    done = world.anna.run("sync", "--json")
    assert done.code == 3 and done.error["code"] == "corrupt", done.out
    mend_here(world, done.error["hint"])
    sync(world.anna)
    assert titles(world.anna) == ["later", "published", "waiting"]
    assert world.anna.json("validate")["ok"]


@pytest.mark.parametrize("remote", ["origin", "none"])
@pytest.mark.parametrize("what", WORDS)
def test_no_store_is_created_beside_an_unreadable_ref(world, what, remote):
    """The beads are on that ref: an empty store would look as if they were lost."""
    anna, file = world.anna, world.anna.path / ".git" / REF
    content = world.content(what)
    shutil.rmtree(anna.home)
    if remote == "none":
        git(anna.path, "remote", "remove", "origin")
    file.write_text(content)
    for command in (["init"], ["list"], ["init", "--prefix", "x"], ["ready"], ["create", "x"], ["list"]):
        done = anna.run(*command, "--json")
        assert done.code == 3 and done.error["code"] == "corrupt", (command, done.out)
        assert f"the ref '{REF}' of '{anna.path}/.git/' " in done.error["message"], done.out
    assert anna.run("doctor", "--json").code != 0
    assert file.read_text() == content
    assert "'bd init'" in done.error["hint"], done.error
    mend_here(world, done.error["hint"])
    anna.bd("init").ok()
    assert titles(anna) == ["published"]  # from the remote, or from where it was last seen


def test_no_store_is_created_if_the_commit_of_the_ref_has_lost_its_files(world):
    anna = world.anna
    git(anna.path, "remote", "remove", "origin")
    tree = git(anna.path, "rev-parse", f"{REF}^{{tree}}").strip()
    (anna.path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    shutil.rmtree(anna.home)
    for command in (["init"], ["list"], ["create", "x"]):
        done = anna.run(*command, "--json")
        assert done.code == 3 and tree in done.error["message"], (command, done.out)


def test_init_uses_the_local_ref_if_the_remote_is_unreachable(world):
    shutil.rmtree(world.anna.home)
    point(world.anna, "http://127.0.0.1:1/x.git")
    done = world.anna.bd("init").ok()
    assert "127.0.0.1" in done.err and titles(world.anna) == ["published"]


@pytest.mark.parametrize("over", ["folder", "http"])
def test_refs_at_the_remote_that_conflict_with_the_name_of_ours(world, over):
    """Git allows no ref below another one; that is not a race."""
    with reached(world, over):
        makes_room(world)


def makes_room(world):
    tip = at(world.remote)
    git(world.remote, "update-ref", "-d", REF)
    git(world.remote, "update-ref", f"{REF}/below", tip)
    git(world.remote, "pack-refs", "--all")
    error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "corrupt")
    assert f"cannot be made beside the ref '{REF}/below'" in error["message"], error
    failed, = [check for check in world.anna.json("doctor")["checks"] if check["code"] == "sync"]
    assert (failed["status"], failed["message"], failed["fix"]) == ("warning", f"the last sync failed: {error['message']}", error["hint"])
    follow(world, failed["fix"])
    assert sync(world.anna)["durability"] == "remote" and titles(world.anna) == ["published", "waiting"]
    healthy, = [check for check in world.anna.json("doctor")["checks"] if check["code"] == "sync"]
    assert (healthy["status"], healthy["fix"]) == ("ok", None)


def test_a_local_ref_that_conflicts_with_the_name_of_ours(world):
    git(world.anna.path, "update-ref", "-d", REF)
    git(world.anna.path, "update-ref", f"{REF}/below", at(world.remote))
    done = world.anna.run("sync", "--json", "--timeout", "60s")
    assert done.code == 3 and f"cannot be made beside the ref '{REF}/below'" in done.error["message"], done.out
    follow(world, done.error["hint"])
    assert sync(world.anna)["durability"] == "remote" and titles(world.anna) == ["published", "waiting"]


@needs_strace
def test_a_commit_that_cannot_be_read_here_is_not_published(world):
    """A push to a folder that fails to open its own commit must not move the ref to it."""
    kept = world.path.parent / "kept"
    shutil.copytree(world.path, kept)
    world.anna.env["ABACUS_NOW"] = "2100-01-01T00:00:00Z"  # the commit is the same each time
    new = sync(world.anna)["commit"]
    file = world.anna.path / ".git/objects" / new[:2] / new[2:]
    outcomes = set()
    for n in range(1, 9):
        shutil.rmtree(world.path)
        shutil.copytree(kept, world.path)
        done = subprocess.run([STRACE, "-f", "-qq", "-o", os.devnull, "-P", str(file), "-e",
                               f"inject=open,openat:error=EMFILE:when={n}", SYNC, "sync", str(world.anna.path / ".git")],
                              capture_output=True, timeout=60, env=environment(**world.anna.env))
        outcomes.add((done.returncode, at(world.remote) == new))
        assert git(world.remote, "cat-file", "-t", (world.remote / REF).read_text().strip()) == "commit\n"
    assert (1, False) in outcomes, "no failure was ever met"
    assert sync(world.anna)["durability"] == "remote" and at(world.remote) == new


# --- a ref that came through Git itself ---


def mirror(world, how):
    """A clone to which Git has brought the remote's ref."""
    path = world.path / "ben"
    if how == "mirror":
        git(world.path, "clone", "-q", "--mirror", world.remote, path)
    else:
        git(world.path, "clone", "-q", world.remote, path)
        git(path, "fetch", "-q", "origin", "refs/beads/*:refs/beads/*")
    ben = Repo(path)
    ben.env = {"BD_ACTOR": "ben"}
    return ben


@pytest.mark.parametrize("how", ["mirror", "fetch"])
@pytest.mark.parametrize("what", ["tree", "blob", "tag", "unsigned", "dated", "code"])
def test_a_clone_whose_ref_is_not_a_store_can_be_repaired(world, what, how):
    """'code' is the history of a program, which has nothing to do with beads."""
    code = git(world.remote, "commit-tree", "-m", "x", git(world.remote, "mktree").strip())
    content = code if what == "code" else world.content(what)
    (world.remote / REF).write_text(content)
    ben = mirror(world, how)
    done = ben.run("init", "--json")
    if done.code:
        assert done.code in (3, 4) and done.error["code"] == "corrupt" and "bd repair" in done.error["hint"], done.out
        assert ben.json("repair")["damaged"] and content.strip() in git(ben.path, "rev-parse", REF)
        beads, = [check for check in ben.run("doctor", "--json", program="abacus").json["checks"] if check["store"] == "beads"]
        assert beads["status"] == "error" and beads["fix"] == "bd repair --apply", beads
        assert ben.json("repair", "--apply")["applied"]
        ben.bd("init").ok()
    ben.create("of ben")
    if ben.run("sync", "--json", "--timeout", "60s").code:
        assert ben.json("repair", "--apply")["applied"]
    assert sync(ben)["durability"] == "remote" and ben.json("repair")["damaged"] == 0
    sync(world.anna)
    sync(ben)
    assert titles(ben) == ["of ben", "published", "waiting"]
    same_everywhere(world.remote, world.anna, ben)
    git_works(ben)


def test_the_named_command_works_in_a_mirror_clone_too(world):
    """By default, 'git push' accepts no refs for the remote of such a clone."""
    git(world.anna.path, "config", "remote.origin.mirror", "true")
    tip = at(world.remote)
    (world.remote / REF).write_text(world.commit(signed(1800000000), world.tree_with(b"100644", b"zz", "2" * 40)) + "\n")
    with http_remote(world.path) as server:
        git(world.anna.path, "config", "remote.origin.url", f"{server.url}/beads.git")
        error = is_sync_error(world.anna.run("sync", "--json", "--timeout", "60s"), "sync_failed")
        follow(world, error["hint"])
        assert at(world.remote) == tip and sync(world.anna)["durability"] == "remote"


# --- doctor ---


def problems(repo):
    """The problems that bd doctor reports: code, message and the command that repairs it."""
    done = repo.bd("doctor", "--json")
    assert done.code == (0 if done.json["ok"] else 1), done.out
    return [(check["code"], check["message"], check["fix"]) for check in done.json["checks"] if check["status"] == "error"]


def obey(repo, command):
    """Runs the command in a shell, with `bd` on its path."""
    run_command(repo, command).ok()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
@pytest.mark.parametrize("place,ref", [("anna/.git", REF), ("anna/.git", TRACKING), ("beads.git", REF)])
def test_doctor_reports_a_stale_lock_and_the_command_that_removes_it(world, place, ref, kind):
    lock = world.path / place / f"{ref}.lock"
    {"file": lock.touch, "folder": lock.mkdir, "link": lambda: lock.symlink_to("nowhere")}[kind]()
    if kind == "file":
        assert problems(world.anna) == [], "a Git program may have made it a moment ago"
        young, = [check for check in world.anna.json("doctor")["checks"] if check["code"] == "lock"]
        assert young["status"] == "warning" and f"'{lock}'" in young["message"] and young["fix"] == f"rm {lock}", young
        os.utime(lock, (time.time() - 600,) * 2)
    (code, message, fix), = problems(world.anna)
    assert code == "lock" and f"'{lock}'" in message and ref in message, message
    if kind == "file" and ref == TRACKING:
        return  # the sync below would take as long as the one of the other refs
    obey(world.anna, fix)
    assert sync(world.anna)["durability"] == "remote" and problems(world.anna) == []


def test_a_sync_that_waits_for_such_a_lock_names_the_command_too(world):
    lock = world.anna.path / ".git" / f"{REF}.lock"
    lock.mkdir()
    error = is_sync_error(world.anna.run("sync", "--json"), "sync_failed")
    assert str(lock) in error["message"]
    obey(world.anna, command_of(error["hint"], "rmdir "))
    assert sync(world.anna)["durability"] == "remote"


@pytest.mark.parametrize("ref", [REF, TRACKING])
@pytest.mark.parametrize("what", WORDS)
def test_doctor_reports_an_unreadable_local_ref(world, what, ref):
    file = world.anna.path / ".git" / ref
    file.write_text(world.content(what))
    told = [(message, fix) for code, message, fix in problems(world.anna) if code == "ref"]
    assert len(told) == 1 and f"the ref '{ref}' of '{world.anna.path}/.git/' " in told[0][0], told
    mend_here(world, told[0][1])
    sync(world.anna)
    assert problems(world.anna) == [] and titles(world.anna) == ["published", "waiting"]


@pytest.mark.parametrize("what", WORDS)
def test_doctor_reports_an_unreadable_ref_of_a_folder(world, what):
    (world.remote / REF).write_text(world.content(what))
    (code, message, fix), = problems(world.anna)
    assert code == "remote" and f"the ref '{REF}' at 'origin'" in message and WORDS[what] in message and fix, message


def test_doctor_reports_a_missing_remote(world):
    shutil.rmtree(world.remote)
    (code, message, fix), = problems(world.anna)
    assert code == "remote" and str(world.remote) in message and fix, message


def test_doctor_reports_missing_objects_and_the_command_that_fetches_them(world):
    sync(world.anna)
    blob = git(world.anna.path, "rev-parse", f"{REF}:state.jsonl").strip()
    (world.anna.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    told = {code: (message, fix) for code, message, fix in problems(world.anna)}
    assert blob in told["ref"][0], told
    obey(world.anna, told["ref"][1])
    assert problems(world.anna) == [] and sync(world.anna)["durability"] == "remote"


def test_doctor_reports_the_result_of_the_last_sync(world):
    point(world.anna, "http://127.0.0.1:1/x.git")
    is_sync_error(world.anna.run("sync", "--json"), "sync_failed")
    check = next(check for check in world.anna.json("doctor")["checks"] if check["code"] == "sync")
    assert check["status"] == "warning" and "127.0.0.1" in check["message"] and check["fix"] == "bd sync"
    point(world.anna, world.remote)
    sync(world.anna)
    assert all(check["status"] == "ok" for check in world.anna.json("doctor")["checks"])
