"""A program in a sandbox that may write to the store, and to nothing else: what later commands outside of the sandbox make
of it."""
import json

import pytest

from conftest import git
from remotes import bare

AMBER = {"ABACUS_AGENT": "amber-otter"}


@pytest.mark.parametrize("line", ["sync.ref = refs/heads/main", "sync.ref = refs/replace/{head}",
                                  "sync.ref = refs/HEADS/main", "sync.ref = refs/beads/../heads/main",
                                  "sync.remote = {evil}", "sync.remote = ext::sh -c touch% pwned",
                                  "sync.remote = --upload-pack=x", "sync.remote = ../evil.git"])
def test_settings_lead_to_no_ref_of_the_user_and_to_no_remote_that_git_does_not_know(repo, tmp_path, line):
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


def test_the_current_bead_puts_one_line_into_commit_messages(repo):
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
