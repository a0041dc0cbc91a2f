"""A program in a sandbox that may write only to the store: its effect on later commands outside of the sandbox."""
import hashlib
import json

import pytest

from conftest import git
from harness import wait_until
from remotes import bare
from test_bd_import import issue

PACK_AFTER = 64  # commits
AMBER = {"ABACUS_AGENT": "amber-otter"}


@pytest.mark.parametrize("line", ["sync.ref = refs/heads/main", "sync.ref = refs/replace/{head}",
                                  "sync.ref = refs/HEADS/main", "sync.ref = refs/beads/../heads/main",
                                  "sync.remote = {evil}", "sync.remote = ext::sh -c touch% pwned",
                                  "sync.remote = --upload-pack=x", "sync.remote = ../evil.git"])
def test_settings_can_name_only_our_refs_and_remotes_known_to_git(repo, tmp_path, line):
    remote, evil = bare(tmp_path / "hub.git"), bare(tmp_path / "evil.git")
    git(repo.path, "remote", "add", "origin", str(remote))
    git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "one")
    head = git(repo.path, "rev-parse", "HEAD").strip()
    repo.create("One")
    with open(repo.home / "config", "a") as config:
        config.write(line.format(head=head, evil=evil) + "\n")
    repo.bd("sync")
    assert git(repo.path, "rev-parse", "HEAD").strip() == head
    assert git(evil, "for-each-ref") == "" and git(repo.path, "for-each-ref", "refs/replace") == ""
    assert all(ref.startswith("refs/beads/") for ref in git(remote, "for-each-ref", "--format=%(refname)").split())
    assert not list(tmp_path.rglob("pwned"))


def test_the_current_bead_adds_one_line_to_commit_messages(repo):
    bead = json.loads(repo.bd("create", "One", "--json", env=AMBER).ok().out)["id"]
    repo.bd("config", "set", "commit.trailer", "true", env=AMBER).ok()
    git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "one")
    repo.run("work", bead, program="abacus", env=AMBER).ok()
    (file,) = (repo.home / "work").glob("*.json")
    now = json.loads(file.read_text())
    for text in (f"{bead}\nSigned-off-by: boss <b@b>", f"{bead} [skip ci]", "x" * 5000, ""):
        file.write_text(json.dumps({**now, "bead": text}))
        message = repo.path / "message"
        message.write_text("lexer: fix\n")
        git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-F", "message")
        assert git(repo.path, "log", "-1", "--format=%B").strip() == "lexer: fix"


def outside(tmp_path):
    """A folder of the user that no command may change."""
    folder = tmp_path / "outside"
    (folder / "objects" / "pack").mkdir(parents=True)
    for name in ("key", "on", "machines.db", "objects/pack/pack-1.pack"):
        (folder / name).write_text("mine\n")
    return folder


def contents(folder):
    return {str(file.relative_to(folder)): file.is_file() and file.read_bytes() for file in folder.rglob("*")}


@pytest.mark.parametrize("name", ["machines", "machines/objects", "machines/objects/pack", "machines/leases", "work"])
def test_a_folder_of_the_store_that_leads_elsewhere_is_not_used(repo, tmp_path, name):
    """Otherwise commands outside of the sandbox would write there, and remove files as their own packs."""
    git(repo.path, "remote", "add", "origin", str(bare(tmp_path / "hub.git")))
    git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "one")
    bead = repo.create("One")
    repo.run("share", "on", program="abacus", env=AMBER).ok()
    folder, before = outside(tmp_path), contents(outside(tmp_path / "copy"))
    if (repo.home / name).exists():
        (repo.home / name).rename(repo.home / "away")
    (repo.home / name).symlink_to(folder / "objects" if name == "machines/objects" else folder)
    for words in (["bb", "agent", "register", "--name", "amber-otter", "--role", "x"], ["bd", "sync"], ["abacus", "machines"],
                  ["abacus", "machines", "rename", "box"], ["abacus", "work", bead], ["abacus", "share", "off"],
                  ["abacus", "doctor", "--fix"], ["abacus", "move-store", "workspace"], ["abacus", "move-store", "git"],
                  ["bb", "agent", "reserve", "--scope", "src", "--bead", bead, "--exclusive"], ["abacus", "share", "on"]):
        done = repo.run(*words[1:], program=words[0], env=AMBER)
        assert done.code in (0, 1, 3, 4), done
        assert contents(folder) == before, words


def test_only_packs_whose_objects_are_in_the_new_pack_are_removed(repo):
    """Which packs a sync has written stands in the store; the user's own packs must not be named there."""
    git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "mine")
    git(repo.path, "repack", "-q", "-a", "-d")
    packs = repo.path / ".git/objects/pack"
    (mine,) = (file.stem[len("pack-"):] for file in packs.glob("*.pack"))
    for n in range(PACK_AFTER + 1):
        repo.create(f"Bead {n}")
        repo.bd("sync").ok()
    file = repo.home / "sync.json"
    wait_until(lambda: json.loads(file.read_text()).get("packed"), "the first pack")
    (first,) = git(repo.path, "rev-list", "--max-parents=0", "refs/beads/store").split()
    names = [mine, f"x/../pack-{mine}", "../../config"]
    file.write_text(json.dumps({**json.loads(file.read_text()), "packed": first, "packs": " ".join(names), "packed_commits": 1}))
    repo.create("One more")
    repo.bd("sync").ok()
    wait_until(lambda: json.loads(file.read_text())["packed"] != first, "the next pack")
    git(repo.path, "fsck", "--no-dangling")
    assert (packs / f"pack-{mine}.pack").exists()


def test_no_object_is_written_to_a_folder_that_a_link_of_the_store_leads_to(repo, tmp_path):
    git(repo.path, "remote", "add", "origin", str(bare(tmp_path / "hub.git")))
    git(repo.path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "one")
    repo.create("One")
    repo.run("share", "on", program="abacus", env=AMBER).ok()
    repo.bd("sync").ok()
    away = tmp_path / "away"
    away.mkdir()
    for number in range(256):
        folder = repo.home / "machines/objects" / f"{number:02x}"
        if folder.exists():
            folder.rename(folder.with_name(f"old-{number}"))
        folder.symlink_to(away)
    repo.run("agent", "register", "--name", "amber-otter", "--role", "x", program="bb", env=AMBER).ok()
    repo.bd("sync")
    assert not list(away.iterdir())


@pytest.mark.parametrize("name", ["address.json", "feed.1", "open", "socket"])
def test_the_service_writes_to_no_file_through_a_link(repo, tmp_path, name):
    """address.json has the key of the service."""
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    (repo.home / "serve").mkdir(mode=0o700)
    (repo.home / "serve" / name).symlink_to(mine)
    repo.run("open", "--print", program="abacus")
    repo.run("serve", "--stop", program="abacus").ok()
    assert mine.read_text() == "mine\n"


@pytest.mark.parametrize("lines,kept", [([issue("mine-1", title="only here")], False),
                                        ([issue("mine-1", title="only here"), "<<<<<<< HEAD"], True),
                                        (["my own notes"], True)])
def test_a_mirror_that_the_user_did_not_turn_on_imports_the_file_before_it_replaces_it(repo, lines, kept):
    """The setting and the hash that says that the mirror wrote the file are in the store."""
    repo.create("One")
    file = repo.path / ".beads" / "issues.jsonl"
    file.parent.mkdir()
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    file.write_text(text)
    with open(repo.home / "config", "a") as config:
        config.write("mirror.beads = true\n")
    state = repo.home / "mirror.json"
    state.write_text(json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}))
    state.chmod(0o600)
    repo.bd("hooks", "run", "pre-push").ok()  # waits for the mirror, and imports nothing itself
    assert (file.read_text() == text) == kept
    if kept:
        assert "lines of" in repo.bd("doctor").out
    else:
        assert sorted(bead["title"] for bead in repo.json("list")) == ["One", "only here"]
        assert repo.show("mine-1")["title"] == "only here" and "only here" in file.read_text()
