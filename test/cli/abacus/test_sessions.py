"""abacus sessions and conversation; bd commits."""
import pytest

NOW = 1_800_000_000_000
MINUTE = 60_000


@pytest.fixture
def crowd(repo):
    """Two agents, one of them evicted; an epic with a task that both write about."""
    def agent(*args, at=NOW):
        return repo.run("agent", *args, "--json", program="bb", env={"ABACUS_NOW": at}).ok().json["data"]

    repo.agent = agent
    repo.env["ABACUS_NOW"] = NOW
    agent("register", "--name", "amber-otter", "--role", "backend")
    agent("register", "--name", "cobalt-harbor", "--role", "ui")
    agent("register", "--name", "silver-heron", "--role", "docs", at=NOW - 40 * MINUTE)
    repo.epic = repo.create("Release", "-t", "epic", "-p", "1")
    repo.task = repo.create("Parser", "-t", "bug", "-p", "0", "--parent", repo.epic)
    repo.inner = repo.create("A part of it", "--parent", repo.task)
    repo.loose = repo.create("Alone")
    return repo


def sessions(repo, *args):
    return repo.json("sessions", *args, program="abacus")


def by_id(found):
    return {s["id"]: s for s in found["sessions"]}


def test_epics_have_their_tasks_however_deep(crowd):
    found = by_id(sessions(crowd))
    assert [t["id"] for t in found[crowd.epic]["tasks"]] == [crowd.task, crowd.inner]
    assert [t["id"] for t in found[None]["tasks"]] == [crowd.loose]
    assert (found[crowd.epic]["total"], found[crowd.epic]["closed"]) == (2, 0)


def test_closed_tasks_are_counted_and_shown_in_open_epics_or_on_request(crowd):
    crowd.run("close", crowd.inner, crowd.loose).ok()
    found = by_id(sessions(crowd))
    assert found[crowd.epic]["closed"] == 1 and len(found[crowd.epic]["tasks"]) == 2
    assert None not in found
    crowd.run("close", crowd.task, crowd.epic, "--force").ok()
    assert by_id(sessions(crowd)) == {}
    assert len(by_id(sessions(crowd, "--all"))) == 2


def counted(repo):
    """Tasks and closed ones by epic, as the parents of all beads tell them."""
    beads = {t["id"]: t for t in sessions(repo, "--limit", "5000")["tasks"]}
    found = {}
    for bead in beads.values():
        above = beads.get(bead["parent"])
        while above and above["type"] != "epic":
            above = beads.get(above["parent"])
        if bead["type"] == "epic":
            found.setdefault(bead["id"], [])
        if above or bead["type"] != "epic":
            found.setdefault(above and above["id"], []).append(bead)
    return {epic: (len(tasks), sum(t["status"] == "closed" for t in tasks)) for epic, tasks in found.items()}


def test_the_tasks_of_epics_are_counted_after_every_kind_of_change(crowd):
    inner_epic = crowd.create("Epic in a task", "-t", "epic", "--parent", crowd.inner)
    deep = crowd.create("Below", "--parent", inner_epic)
    other = crowd.create("Another release", "-t", "epic")
    crowd.run("close", deep).ok()
    for change in (["update", crowd.inner, "--parent", other], ["undo"], ["update", crowd.task, "--parent", other],
                   ["update", crowd.task, "-t", "epic"], ["update", other, "-t", "task"], ["undo"],
                   ["delete", crowd.inner, "--force"], ["undelete", crowd.inner], ["close", crowd.task, "--force"],
                   ["reopen", crowd.task], ["update", inner_epic, "-t", "task"], ["delete", other, "--force"],
                   ["update", crowd.loose, "--parent", crowd.inner], ["update", crowd.loose, "-p", "0"]):
        crowd.run(*change).ok()
        found = {s["id"]: (s["total"], s["closed"]) for s in sessions(crowd, "--all")["sessions"]}
        assert found == counted(crowd), change


def test_a_task_has_its_owner_last_act_and_mail(crowd):
    crowd.run("claim", crowd.task, env={"BD_ACTOR": "amber-otter", "ABACUS_NOW": NOW + 1}).ok()
    [task] = [t for t in by_id(sessions(crowd))[crowd.epic]["tasks"] if t["id"] == crowd.task]
    assert (task["assignee"], task["owner_liveness"], task["status"]) == ("amber-otter", "active", "in_progress")
    assert (task["last_act"]["by"], task["last_act"]["what"]) == ("amber-otter", "claimed")
    crowd.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", crowd.task, "--category", "HANDOFF",
                "--subject", "s", "--body", "b", at=NOW + 2)
    short = crowd.task.split("-", 1)[1]  # whoever writes may leave the prefix out
    crowd.agent("send", "--from", "amber-otter", "--to", "silver-heron", "--bead", short, "--category", "INFO", "--subject", "s", "--body", "b", at=NOW + 3)
    [task] = [t for t in by_id(sessions(crowd))[crowd.epic]["tasks"] if t["id"] == crowd.task]
    assert (task["unread"], task["to_accept"]) == (2, 1)
    assert task["last_act"]["what"] == "wrote"
    message = crowd.agent("inbox", "--agent", "cobalt-harbor")[0]["message_id"]
    crowd.agent("ack", "--agent", "cobalt-harbor", "--message", message)
    agents = {a["agent_id"]: a for a in sessions(crowd, "--brief")["agents"]}
    assert (agents["cobalt-harbor"]["unread"], agents["cobalt-harbor"]["to_accept"]) == (0, 0)
    assert agents["silver-heron"]["unread"] == 1


def test_the_mail_of_a_task_is_what_the_records_say(crowd):
    """The counts come from an index that is brought up to date; '--mail' reads the records."""
    def check():
        tasks = {t["id"]: t for s in sessions(crowd)["sessions"] for t in (*s["tasks"], s) if t["id"]}
        mail = {m["bead_id"]: m for m in sessions(crowd, "--mail")["mail"]}
        assert mail, "there is something to compare"
        for bead, task in tasks.items():
            told = mail.get(bead, {"unread": 0, "to_accept": 0})
            assert (task["unread"], task["to_accept"]) == (told["unread"], told["to_accept"])
            if bead in mail:
                assert task["last_act"] == told["last_act"]
    sent = []
    for n in range(6):
        sent.append(crowd.agent("send", "--from", "silver-heron" if n % 2 else "amber-otter", "--to", "cobalt-harbor", "--bead",
                                (crowd.task, crowd.epic)[n // 4], "--category", ("INFO", "HANDOFF", "BLOCKED")[n % 3],
                                "--subject", f"s{n}", "--body", "b", at=NOW + 9 + n // 2)["messages"][0]["message_id"])
        check()
    crowd.agent("read", "--agent", "cobalt-harbor", "--message", sent[1], at=NOW + 20)
    crowd.agent("ack", "--agent", "cobalt-harbor", "--message", sent[1], at=NOW + 20)
    check()
    messages = crowd.path / ".beadboard" / "agent" / "messages"
    (messages / "cobalt-harbor.jsonl").rename(messages / "silver-heron.jsonl")
    check()
    (messages.parent / "texts.db").unlink()
    check()
    (messages / "silver-heron.jsonl").write_bytes((messages / "silver-heron.jsonl").read_bytes().splitlines(True)[0])
    check()


def test_a_prefix_may_have_dashes(plain_repo):
    repo = plain_repo
    repo.run("init", "--prefix", "my-app").ok()
    bead = repo.create("Parser")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.run("agent", "register", "--name", name, "--role", "r", program="bb").ok()
    repo.run("agent", "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", bead.removeprefix("my-app-"),
             "--category", "INFO", "--subject", "s", "--body", "b", program="bb").ok()
    [task] = by_id(sessions(repo))[None]["tasks"]
    assert task["unread"] == 1
    assert "mail" in [i["kind"] for i in repo.json("conversation", bead, program="abacus")["items"]]


def test_agents_reservations_and_incursions(crowd):
    crowd.agent("reserve", "--agent", "silver-heron", "--scope", "docs/*", "--bead", "b", at=NOW - 40 * MINUTE)
    crowd.agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", "b")
    crowd.agent("reserve", "--agent", "cobalt-harbor", "--scope", "src/a.c", "--bead", "b")
    found = sessions(crowd, "--brief")
    assert "sessions" not in found
    assert {a["agent_id"]: a["liveness"] for a in found["agents"]} == {
        "amber-otter": "active", "cobalt-harbor": "active", "silver-heron": "evicted"}
    assert {r["scope"]: r["stale"] for r in found["reservations"]} == {"docs/*": True, "src/*": False, "src/a.c": False}
    [incursion] = found["incursions"]
    assert incursion["payload"]["incursion_kind"] == "partial" and incursion["scope"] == "src/a.c"


def test_selected_tasks_come_with_their_parents_and_dependents(crowd):
    crowd.run("dep", "add", crowd.loose, crowd.inner).ok()
    found = sessions(crowd, "--ids", crowd.inner)
    assert sorted(t["id"] for t in found["tasks"]) == sorted([crowd.inner, crowd.task, crowd.loose])
    assert sessions(crowd, "--ids", "nope")["tasks"] == []
    assert sessions(crowd, "--ids", "")["tasks"] == []


def test_the_parents_of_a_changed_child_are_included(crowd):
    """The page requests only the beads that an event names, and the number of open children of their parents changes
    too."""
    crowd.run("close", crowd.inner).ok()
    found = {t["id"]: t for t in sessions(crowd, "--ids", crowd.inner)["tasks"]}
    assert sorted(found) == sorted([crowd.inner, crowd.task])
    assert (found[crowd.task]["open_children"], found[crowd.task]["free_from"][:4]) == (0, "1970")


def test_a_bead_has_the_time_from_which_it_is_free(crowd):
    """The page's ready queue uses the rule of 'bd ready --claim', as the time from which a bead is free."""
    crowd.run("claim", crowd.loose, "--lease", "10m", env={"BD_ACTOR": "amber-otter"}).ok()
    crowd.run("dep", "add", crowd.inner, crowd.loose).ok()
    free = lambda: {t["id"]: t["free_from"] for s in sessions(crowd)["sessions"] for t in [*s["tasks"], s] if t["id"]}
    assert free() == {crowd.epic: None, crowd.task: None, crowd.inner: None, crowd.loose: "2027-01-15T08:10:00.000Z"}
    crowd.run("dep", "remove", crowd.inner, crowd.loose).ok()
    assert free()[crowd.inner] == "1970-01-01T00:00:00.000Z"


def test_sessions_are_empty_without_stores(plain_repo):
    assert sessions(plain_repo)["sessions"] == [] and sessions(plain_repo)["agents"] == []
    assert "No tasks" in plain_repo.run("sessions", program="abacus").ok().out


def test_a_conversation_has_everything_in_one_thread(crowd):
    crowd.run("claim", crowd.task, env={"BD_ACTOR": "amber-otter", "ABACUS_NOW": NOW + 1}).ok()
    crowd.agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", crowd.task, at=NOW + 2)
    crowd.agent("reserve", "--agent", "cobalt-harbor", "--scope", "src/a.c", "--bead", crowd.task, at=NOW + 3)
    crowd.agent("send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", crowd.task, "--category", "HANDOFF",
                "--subject", "done", "--body", "words", "--next-action", "go on", at=NOW + 4)
    crowd.run("comment", crowd.task, "a note", env={"ABACUS_NOW": NOW + 5}).ok()
    crowd.run("init", program="bb").ok()
    crowd.run("--as", "kimi-01", "post", f"about {crowd.task}", program="bb", env={"ABACUS_NOW": NOW + 6}).ok()
    (crowd.path / "notes.md").write_text("x")
    crowd.run("--as", "kimi-01", "artifact", "add", "notes.md", f"for {crowd.task}", program="bb", env={"ABACUS_NOW": NOW + 7}).ok()
    crowd.run("push", "--agent", "amber-otter", "--request-id", "r1", "--json",
              f'{{"task_id":"{crowd.task}","event":{{"kind":"progress","message":"half"}}}}', program="vybe", env={"ABACUS_NOW": NOW + 8}).ok()
    crowd.run("close", crowd.task, "--force", "--reason", "done", env={"BD_ACTOR": "amber-otter", "ABACUS_NOW": NOW + 9}).ok()
    found = crowd.json("conversation", crowd.task, program="abacus")
    assert found["bead"]["id"] == crowd.task
    kinds = [(i["kind"], i.get("what") or i.get("label")) for i in found["items"]]
    assert kinds == [("change", "created"), ("change", "claimed"), ("protocol", "Incursion"), ("mail", "Passed to"), ("note", None),
                     ("post", None), ("artifact", None), ("event", None), ("change", "closed")]
    [mail] = [i for i in found["items"] if i["kind"] == "mail"]  # and its event is not told twice
    assert mail["event"]["payload"]["next_action"] == "go on"
    assert [r["agent"] for r in mail["recipients"]] == ["cobalt-harbor"]
    text = crowd.run("conversation", crowd.task, program="abacus").ok().out
    for words in ("Passed to cobalt-harbor: done", "a note", f"about {crowd.task}", "half", "notes.md", "Incursion"):
        assert words in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_an_incursion_in_a_conversation_says_where(crowd):
    crowd.agent("reserve", "--agent", "amber-otter", "--scope", "src/*", "--bead", crowd.loose)
    crowd.agent("reserve", "--agent", "cobalt-harbor", "--scope", "src/a.c", "--bead", crowd.task)
    text = crowd.run("conversation", crowd.task, program="abacus").ok().out
    assert "cobalt-harbor  Incursion into src/a.c of amber-otter (partial)\n" in text


def test_a_post_about_a_longer_id_is_not_about_this_one(crowd):
    crowd.run("init", program="bb").ok()
    for words in (f"{crowd.loose}x is another", f"a{crowd.loose} too", f"{crowd.loose}.", f"({crowd.loose})", f"{crowd.loose}"):
        crowd.run("--as", "kimi-01", "post", words, program="bb").ok()
    said = [i["post"]["content"] for i in crowd.json("conversation", crowd.loose, program="abacus")["items"] if i["kind"] == "post"]
    assert sorted(said) == sorted([f"{crowd.loose}.", f"({crowd.loose})", f"{crowd.loose}"])


def test_every_step_is_listed_although_the_bead_has_only_the_last(crowd):
    for i, status in enumerate(("in_progress", "open", "in_progress")):
        crowd.run("update", crowd.loose, "--status", status, env={"ABACUS_NOW": NOW + i + 1}).ok()
    items = crowd.json("conversation", crowd.loose, program="abacus")["items"]
    assert [i["values"]["status"] for i in items] == ["open", "in_progress", "open", "in_progress"]


def test_acts_at_the_same_time_keep_their_order(crowd):
    """After the clock was set back, stamps continue in the last known millisecond."""
    crowd.run("claim", crowd.loose).ok()
    crowd.run("comment", crowd.loose, "first").ok()
    crowd.run("update", crowd.loose, "-p", "0").ok()
    crowd.run("comment", crowd.loose, "second").ok()
    crowd.run("close", crowd.loose).ok()
    items = crowd.json("conversation", crowd.loose, program="abacus")["items"]
    assert [i.get("what") or i.get("text") for i in items] == ["created", "claimed", "first", "changed", "second", "closed"]


def test_posts_at_the_same_time_keep_their_order(crowd):
    crowd.run("init", program="bb").ok()
    for text in ("first", "second", "third"):
        crowd.run("--as", "amber-otter", "post", f"{text} of {crowd.loose}", program="bb").ok()
    items = crowd.json("conversation", crowd.loose, program="abacus")["items"]
    assert [i["post"]["content"].split()[0] for i in items if i["kind"] == "post"] == ["first", "second", "third"]


def test_a_broadcast_is_one_item_with_many_recipients(crowd):
    crowd.agent("send", "--from", "amber-otter", "--to", "broadcast", "--bead", crowd.loose, "--category", "INFO", "--subject", "s", "--body", "b")
    items = [i for i in crowd.json("conversation", crowd.loose, program="abacus")["items"] if i["kind"] == "mail"]
    assert len(items) == 1 and sorted(r["agent"] for r in items[0]["recipients"]) == ["cobalt-harbor", "silver-heron"]


def write(crowd, body, to="cobalt-harbor", category="HANDOFF", subject="s", at=NOW, **kw):
    crowd.agent("send", "--from", "amber-otter", "--to", to, "--bead", crowd.loose, "--category", category, "--subject", subject,
                "--body", body, at=at, **kw)


def mail_of(crowd):
    """The messages of the thread, each with its recipients. Their protocol events are not listed beside them."""
    items = crowd.json("conversation", crowd.loose, program="abacus")["items"]
    assert "protocol" not in [i["kind"] for i in items]
    mail = [i for i in items if i["kind"] == "mail"]
    for item in mail:
        assert (item["event"] is None) == (item["category"] in ("INFO", "DECISION"))
        if item["event"]:
            payload = item["event"]["payload"]
            assert (payload["subject"], payload.get("summary", payload.get("blocker"))) == (item["subject"], item["text"])
    ids = [r["message_id"] for i in mail for r in i["recipients"]]
    assert len(set(ids)) == len(ids)
    return [(i["text"], sorted(r["agent"] for r in i["recipients"])) for i in mail]


@pytest.mark.parametrize("category", ["INFO", "DECISION", "HANDOFF", "BLOCKED"])
def test_messages_with_the_same_time_and_subject_are_all_listed(crowd, category):
    for body in ("one", "two", "three"):
        write(crowd, body, category=category)
    write(crowd, "four", to="silver-heron", category=category)
    assert mail_of(crowd) == [("one", ["cobalt-harbor"]), ("two", ["cobalt-harbor"]), ("three", ["cobalt-harbor"]),
                              ("four", ["silver-heron"])]


@pytest.mark.parametrize("category", ["INFO", "HANDOFF"])
def test_a_message_that_was_sent_twice_is_listed_twice(crowd, category):
    for _ in "12":
        write(crowd, "again", category=category)
    assert mail_of(crowd) == [("again", ["cobalt-harbor"])] * 2


def test_a_category_is_part_of_a_message(crowd):
    write(crowd, "b", category="INFO")
    write(crowd, "b", category="BLOCKED")
    assert mail_of(crowd) == [("b", ["cobalt-harbor"])] * 2


@pytest.mark.parametrize("category", ["INFO", "HANDOFF"])
def test_two_broadcasts_at_the_same_time_are_two_items(crowd, category):
    all_but_me = ["cobalt-harbor", "silver-heron"]
    for body in ("one", "two", "two"):
        write(crowd, body, to="broadcast", category=category)
    assert mail_of(crowd) == [("one", all_but_me), ("two", all_but_me), ("two", all_but_me)]


def test_messages_sent_after_the_clock_was_set_back_are_listed(crowd):
    """They get the time of the last message before them, so all have the same time."""
    write(crowd, "first", at=NOW + 60_000)
    for i, body in enumerate(("second", "third", "second")):
        write(crowd, body, at=NOW + i)
    assert mail_of(crowd) == [(body, ["cobalt-harbor"]) for body in ("first", "second", "third", "second")]


def test_a_message_keeps_its_item_when_it_is_read_and_accepted(crowd):
    write(crowd, "one")
    write(crowd, "two")
    found = crowd.json("conversation", crowd.loose, program="abacus")["items"]
    [message] = [i["recipients"][0]["message_id"] for i in found if i.get("text") == "two"]
    crowd.agent("ack", "--agent", "cobalt-harbor", "--message", message)
    items = [i for i in crowd.json("conversation", crowd.loose, program="abacus")["items"] if i["kind"] == "mail"]
    assert [(i["text"], i["recipients"][0]["state"]) for i in items] == [("one", "unread"), ("two", "acked")]


def test_a_conversation_about_an_unknown_bead(crowd):
    assert crowd.fails("conversation", "nope", program="abacus")["code"] in ("not_found", "NOT_FOUND")


def test_commits_lists_the_published_states(crowd):
    assert crowd.json("commits") == []
    crowd.run("sync", "--no-push").ok()
    crowd.create("more")
    crowd.run("sync", "--no-push").ok()
    found = crowd.json("commits")
    assert len(found) == 2 and all(len(c["commit"]) == 40 and c["committed_at"] for c in found)
    assert len(crowd.json("list", "--at", found[1]["commit"], "-n", "0")) + 1 == len(crowd.json("list", "--at", found[0]["commit"], "-n", "0"))
    assert len(crowd.json("commits", "-n", "1")) == 1


# --- pages, for clients that show many beads ---

def pages(repo, limit, between=lambda: None):
    after, found = [], []
    while True:
        page = sessions(repo, "--limit", str(limit), *after)
        assert len(page["tasks"]) <= limit
        found += page["tasks"]
        if not page["next"]:
            return found
        after = ["--after", page["next"]]
        between()


def test_pages_have_every_bead_once_in_progress_first_and_closed_last(crowd):
    urgent, second = crowd.create("Urgent", "-p", "0"), crowd.create("Second", "-p", "1")
    crowd.run("claim", crowd.loose).ok()
    crowd.run("close", urgent).ok()
    order = [crowd.loose, crowd.task, crowd.epic, second, crowd.inner, urgent]
    for limit in (1, 2, 3, 5, 6, 50):
        assert [t["id"] for t in pages(crowd, limit)] == order, limit
    assert pages(crowd, 50)[1]["blockers"] == 0 and "sessions" not in sessions(crowd, "--limit", "1")


def test_a_bead_deleted_between_two_pages_hides_no_other(crowd):
    gone = []

    def delete():
        if not gone:
            gone.append(crowd.task)
            crowd.run("delete", crowd.task, "--yes").ok()

    assert [t["id"] for t in pages(crowd, 1, delete)] == [crowd.task, crowd.epic, crowd.inner, crowd.loose]


@pytest.mark.parametrize("place", ["", "x", "0,1", "7,0,0,0,bd-1", "0,1,2,3,", "-1,0,0,0,bd-1"])
def test_an_invalid_place_is_refused(crowd, place):
    refused = crowd.run("sessions", "--limit", "2", "--after", place, "--json", program="abacus")
    assert refused.code != 0
    if place:
        assert "is not the end of a page" in refused.json["error"]["message"]


def test_mail_is_counted_for_all_beads_at_once(crowd):
    assert sessions(crowd, "--mail")["mail"] == []
    for i, (to, category) in enumerate((("cobalt-harbor", "HANDOFF"), ("cobalt-harbor", "INFO"), ("silver-heron", "INFO"))):
        crowd.agent("send", "--from", "amber-otter", "--to", to, "--bead", crowd.task, "--category", category, "--subject", "s", "--body", "b", at=NOW + i)
    [one] = sessions(crowd, "--mail")["mail"]
    assert (one["bead_id"], one["unread"], one["to_accept"]) == (crowd.task, 3, 1)
    assert (one["last_act"]["by"], one["last_act"]["what"]) == ("amber-otter", "wrote")


def test_at_most_50_tasks_of_an_epic_are_shown(repo):
    epic = repo.create("Epic", "-t", "epic")
    for n in range(53):
        repo.create(f"Inside {n}", "--parent", epic)
        repo.create(f"Outside {n}")
    for args, shown in (([], 50), (["--tasks", "3"], 3), (["--tasks", "0"], 53)):
        for session in repo.run("sessions", "--json", *args, program="abacus").ok().json["sessions"]:
            assert (len(session["tasks"]), session["more"], session["total"]) == (shown, 53 - shown, 53)
    lines = repo.run("sessions", program="abacus").ok().out.splitlines()
    assert sum("… 3 more: abacus sessions --tasks 0" in line for line in lines) == 2
