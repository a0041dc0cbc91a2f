"""abacus files and bd trend: the data of the page's charts."""
from conftest import git


def commit(repo, name, text, message):
    path = repo.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git(repo.path, "add", name)
    git(repo.path, "commit", "-qm", message)


def test_files_lists_the_tree_and_the_last_commits(repo):
    commit(repo, "src/a.c", "1", "a: begin")
    commit(repo, "doc/x.md", "1", "doc: <b>hostile</b>\n\nmore words")
    commit(repo, "src/a.c", "2", "a: change")
    got = repo.run("files", "--json", program="abacus").ok().json
    assert got["files"] == ["doc/x.md", "src/a.c"]
    assert got["more"] is False
    assert [(c["summary"], c["files"]) for c in got["commits"]] == [
        ("a: change", ["src/a.c"]), ("doc: <b>hostile</b>", ["doc/x.md"]), ("a: begin", ["src/a.c"])]
    shown = repo.run("files", program="abacus").ok().out.splitlines()
    assert shown[:2] == ["doc/x.md", "src/a.c"]
    assert shown[2].endswith("a: change (1 file)")


def test_files_of_a_repository_without_a_commit(repo):
    assert repo.run("files", "--json", program="abacus").ok().json == {"files": [], "more": False, "commits": []}


def test_trend_counts_published_beads(repo):
    first, second = repo.create("First"), repo.create("Second")
    repo.run("dep", "add", second, first).ok()
    assert repo.run("trend", "--since", "1h").ok().out == "Nothing was published in this time. 'bd sync' publishes.\n"
    repo.run("sync", "--no-push").ok()
    repo.run("close", first).ok()
    last = repo.json("trend", "--since", "1h", "--points", "2")[-1]
    assert (last["open"], last["ready"], last["blocked"], last["in_progress"], last["closed"]) == (2, 1, 1, 0, 0)  # the close is not published yet
    repo.run("sync", "--no-push").ok()
    last = repo.json("trend", "--since", "1h", "--points", "2")[-1]
    assert (last["open"], last["ready"], last["blocked"], last["in_progress"], last["closed"]) == (1, 1, 0, 0, 1)
