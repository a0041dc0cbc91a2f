"""abacus search: one search over all stores."""
import contextlib
import json
import sqlite3
import subprocess

import pytest


def test_search_finds_beads_comments_mail_posts_and_memory(repo):
    for name in ("amber-otter", "cobalt-harbor"):
        repo.run("agent", "register", "--name", name, "--role", "ui", program="bb").ok()
    bead = repo.create("Store the mandate")
    other = repo.create("Something else")
    repo.run("comment", other, "see the Mandate").ok()
    repo.run("agent", "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", bead, "--category", "INFO", "--subject", "Done", "--body",
             "The MANDATE is stored", program="bb").ok()
    repo.run("init", program="bb").ok()
    repo.run("--as", "amber-otter", "post", "A mandate is missing", program="bb").ok()
    repo.run("memory", "set", "--agent", "amber-otter", "--request-id", "r1", "--key", "mandate", "--value", "keep ten years", program="vybe").ok()
    found = repo.json("search", "mandate", program="abacus")
    assert [(f["kind"], f["bead_id"], f["text"]) for f in found] == [
        ("bead", bead, "Store the mandate"), ("bead", other, "Something else"), ("mail", bead, "Done"), ("post", None, "A mandate is missing"), ("memory", None, "keep ten years")]
    assert [f["kind"] for f in repo.json("search", "mandate stored", program="abacus")] == ["mail"]
    assert repo.json("search", "xyzzy", program="abacus") == []
    assert repo.run("search", "ten", program="abacus").ok().out == "memory  mandate  keep ten years\n"


def test_search_gives_the_newest_messages_of_all_mailboxes(repo):
    names = ("amber-otter", "cobalt-harbor", "silver-heron")
    for name in names:
        repo.run("agent", "register", "--name", name, "--role", "ui", program="bb").ok()
    bead = repo.create("A bead")
    for i in range(9):
        repo.run("agent", "send", "--from", names[i % 3], "--to", names[(i + 1) % 3], "--bead", bead, "--category", "INFO", "--subject", f"Quokka {i}",
                 "--body", "words " * 500, program="bb", env={"ABACUS_NOW": 1_800_000_000_000 + i}).ok()
    assert [f["text"] for f in repo.json("search", "quokka", "-n", "5", program="abacus")] == [f"Quokka {i}" for i in (8, 7, 6, 5, 4)]


def test_search_without_any_store(plain_repo):
    assert plain_repo.json("search", "word", program="abacus") == []
    assert plain_repo.run("search", "word", program="abacus").ok().out == "Nothing found.\n"


@pytest.fixture
def said(repo):
    """A project in which a message, a post and a note have the word 'quokka'."""
    for name in ("amber-otter", "cobalt-harbor"):
        repo.run("agent", "register", "--name", name, "--role", "ui", program="bb").ok()
    repo.bead = repo.create("A bead")
    repo.run("init", program="bb").ok()
    say(repo, "quokka", 1)
    return repo


def say(repo, word, number):
    """Sends a message, posts a post and pushes a note with the word."""
    repo.run("agent", "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", repo.bead, "--category", "INFO",
             "--subject", f"mail {number}", "--body", f"a {word} was seen", program="bb").ok()
    repo.run("--as", "amber-otter", "post", f"post {number} about a {word}", program="bb").ok()
    repo.run("push", "--agent", "amber-otter", "--request-id", f"note-{number}", "--json",
             f'{{"event":{{"kind":"progress","message":"note {number} on the {word}"}}}}', program="vybe").ok()


def found(repo, *args):
    return [f["text"] for f in repo.json("search", *args, program="abacus")]


def indexes(repo):
    return [repo.path / name / "texts.db" for name in (".beadboard/agent", ".bb", ".git/abacus")]


ONE = ["mail 1", "post 1 about a quokka", "note 1 on the quokka"]
TWO = ["mail 2", "mail 1", "post 2 about a quokka", "post 1 about a quokka", "note 2 on the quokka", "note 1 on the quokka"]


def test_search_finds_what_was_written_after_the_last_search(said):
    assert found(said, "quokka") == ONE
    say(said, "quokka", 2)
    assert found(said, "QUOK") == TWO
    assert found(said, "quokka", "-n", "1") == [TWO[0], TWO[2], TWO[4]]
    assert found(said, "okka") == []  # a word has to begin so


@pytest.mark.parametrize("harm", ["delete", "empty", "garbage", "other schema", "cut"])
def test_the_index_of_texts_is_only_a_cache(said, harm):
    assert found(said, "quokka") == ONE
    for path in indexes(said):
        data = path.read_bytes()
        for log in path.parent.glob("texts.db-*"):
            log.unlink()
        path.unlink()
        if harm == "other schema":
            with contextlib.closing(sqlite3.connect(path)) as db:
                db.execute("CREATE TABLE places (a)")
        elif harm != "delete":
            path.write_bytes({"empty": b"", "garbage": b"x" * 9000, "cut": data[:5000]}[harm])
    say(said, "quokka", 2)
    assert found(said, "quokka") == TWO
    assert found(said, "quokka") == TWO


@pytest.mark.parametrize("sql", ["UPDATE words_config SET v = 5", "DELETE FROM words_data", "DROP TABLE words", "DROP TABLE texts"])
def test_an_index_that_cannot_be_used_is_made_anew(said, sql):
    assert found(said, "quokka") == ONE
    for path in indexes(said):
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(sql)
            db.commit()
    for _ in indexes(said):  # damage that only the query finds is named, once for each index
        done = said.run("search", "quokka", program="abacus")
        assert done.code == 0 or "Run the command again: this file is only a cache, and is rebuilt." in done.err
    assert found(said, "quokka") == ONE


def test_a_message_that_an_index_repeats_is_shown_once(said):
    assert found(said, "quokka") == ONE
    with contextlib.closing(sqlite3.connect(indexes(said)[0])) as db:
        db.execute("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000)"
                   " INSERT INTO texts SELECT x, 'cobalt-harbor', (SELECT key FROM texts LIMIT 1), ? FROM c", (said.bead,))
        db.commit()
    items = said.json("conversation", said.bead, program="abacus")["items"]
    assert [item["subject"] for item in items if item["kind"] == "mail"] == ["mail 1"]


def test_an_index_is_no_stored_change(said):
    (said.path / ".bb" / "blackboard.db").write_bytes(b"x" * 9000)
    error = said.run("search", "quokka", program="abacus")
    assert error.code and "Nothing was changed." in error.err


def test_a_search_does_not_find_posts_that_were_cleared(said):
    assert found(said, "quokka") == ONE
    said.run("clear", "--messages-before", "1s", "--confirm", program="bb", env={"ABACUS_NOW": "2099-01-01T00:00:00Z"}).ok()
    assert found(said, "quokka") == [ONE[0], ONE[2]]
    said.run("--as", "amber-otter", "post", "post 3 about a quokka", program="bb").ok()
    assert found(said, "quokka") == [ONE[0], "post 3 about a quokka", ONE[2]]


def test_a_search_notices_that_the_board_is_another_one(said):
    assert found(said, "quokka") == ONE
    index = indexes(said)[1].read_bytes()
    said.run("destroy", "--confirm", program="bb").ok()
    said.run("init", program="bb").ok()
    for number in (4, 5):
        said.run("--as", "amber-otter", "post", f"post {number} about a quokka", program="bb").ok()
    indexes(said)[1].write_bytes(index)  # the index of the old board, which had one post
    assert found(said, "quokka") == [ONE[0], "post 5 about a quokka", "post 4 about a quokka", ONE[2]]


def test_a_search_notices_that_a_mailbox_was_replaced(said):
    assert found(said, "quokka") == ONE
    box = said.path / ".beadboard/agent/messages/cobalt-harbor.jsonl"
    box.write_text(box.read_text().replace("a quokka was seen", "a wombat was seen"))
    assert found(said, "wombat") == ["mail 1"]
    assert found(said, "quokka") == ONE[1:]


def test_a_search_without_permission_to_write_finds_the_same(said):
    for path in indexes(said):
        path.mkdir()  # where the file would be
    assert found(said, "quokka") == ONE
    assert [path.is_dir() for path in indexes(said)] == [True] * 3


def test_many_searches_at_once_build_one_index(said):
    for number in range(2, 6):
        say(said, "quokka", number)
    searches = [said.spawn("search", "quokka", "-n", "1", "--json", program="abacus", stdout=subprocess.PIPE) for _ in range(8)]
    texts = [[f["text"] for f in json.loads(search.communicate()[0])] for search in searches]
    assert texts == [["mail 5", "post 5 about a quokka", "note 5 on the quokka"]] * 8


def test_a_conversation_has_mail_and_posts_that_came_after_the_last_one(said):
    say(said, said.bead, 2)
    items = said.json("conversation", said.bead, program="abacus")["items"]
    assert [item["subject"] for item in items if item["kind"] == "mail"] == ["mail 1", "mail 2"]
    assert [item["post"]["content"] for item in items if item["kind"] == "post"] == [f"post 2 about a {said.bead}"]
    say(said, said.bead + "x", 3)  # another bead
    items = said.json("conversation", said.bead, program="abacus")["items"]
    assert len([item for item in items if item["kind"] == "mail"]) == 3
    assert len([item for item in items if item["kind"] == "post"]) == 1


def test_equal_messages_are_items_of_their_own(said):
    """Only the messages of one broadcast belong together; those that were sent earlier are not compared."""
    for now in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"):
        said.run("agent", "send", "--from", "amber-otter", "--to", "broadcast", "--bead", said.bead, "--category", "INFO", "--subject", "again",
                 "--body", "the same", program="bb", env={"ABACUS_NOW": now}).ok()
    items = [item for item in said.json("conversation", said.bead, program="abacus")["items"] if item.get("subject") == "again"]
    assert [[r["agent"] for r in item["recipients"]] for item in items] == [["cobalt-harbor"]] * 3


def test_a_project_without_beads_is_an_error_of_two_lines(plain_repo):
    said = plain_repo.run("on", program="abacus")
    assert said.code == 1 and said.err.startswith("error: there are no beads in ") and "\nRun 'bd init' to set them up" in said.err
