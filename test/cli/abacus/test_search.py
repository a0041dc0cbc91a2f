"""abacus search: one search over all stores."""


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
        ("bead", other, "Something else"), ("bead", bead, "Store the mandate"), ("mail", bead, "Done"), ("post", None, "A mandate is missing"), ("memory", None, "keep ten years")]
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
