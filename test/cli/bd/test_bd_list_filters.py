"""bd list, bd search, bd show: filters, order and output"""
import pytest

from beads import PUBLIC, append, at, clock, is_error, ms, prepared, stamp, wipe_cache
from board import width


def five(repo):
    clock(repo)
    repo.create("epic", "--id", "bd-e", "-t", "epic", "-p", "4")
    clock(repo, d=1)
    repo.create("Alpha one", "--id", "bd-a", "-p", "0", "-t", "bug", "-l", "x,y", "-a", "bob", "-d", "Deep Water")
    clock(repo, d=2)
    repo.create("beta", "--id", "bd-b", "-p", "1", "-l", "x", "--parent", "bd-e")
    clock(repo, d=3)
    repo.create("gamma", "--id", "bd-c", "-p", "2", "-l", "z", "-t", "chore")
    clock(repo, d=4)
    repo.create("delta", "--id", "bd-d", "-p", "3", "-t", "feature", "-l", "y,z")
    clock(repo, d=5)
    repo.bd("close", "bd-d", "-r", "done").ok()
    clock(repo, d=6)
    repo.bd("claim", "bd-c").ok()


@pytest.fixture
def store(repo):
    prepared(repo, five)
    return repo


ROWS = [
    ([], "abce"), (["--all"], "abcde"), (["-s", "open"], "abe"), (["-s", "closed"], "d"),
    (["-s", "in_progress,closed"], "cd"), (["--status", "open", "--status", "closed"], "abde"),
    (["-t", "bug"], "a"), (["-t", "bug,chore"], "ac"), (["-t", "feat", "--all"], "d"),
    (["-p", "0"], "a"), (["-p", "P0,4"], "ae"), (["--priority-min", "2"], "ce"), (["--priority-max", "1"], "ab"),
    (["--priority-min", "1", "--priority-max", "2"], "bc"),
    (["-a", "bob"], "a"), (["-a", "alice"], "c"), (["-a", "nobody"], ""), (["--no-assignee"], "be"), (["-u"], "be"),
    (["-l", "x"], "ab"), (["-l", "x,y"], "a"), (["-l", "x", "-l", "y"], "a"), (["--label-any", "y,z"], "ac"),
    (["--label-any", "y", "--label-any", "z", "--all"], "acd"), (["-l", "y", "--label-any", "z", "--all"], "d"),
    (["--id", "bd-a,bd-c"], "ac"), (["--id", "bd-a", "--id", "bd-d", "--all"], "ad"),
    (["--parent", "bd-e"], "b"),
    (["--title-contains", "alpha"], "a"), (["--title-contains", "ALPHA ONE"], "a"), (["--title-contains", "%"], ""),
    (["--title-contains", "_"], ""), (["--desc-contains", "deep w"], "a"), (["--desc-contains", "alpha"], ""),
    (["--created-after", stamp(d=2)], "bc"), (["--created-before", stamp(d=2)], "ae"),
    (["--created-after", "2026-01-03", "--created-before", "2026-01-04"], "b"),
    (["--updated-after", stamp(d=6)], "c"), (["--updated-before", stamp(d=1)], "e"),
    (["--closed-after", stamp(d=5), "--all"], "d"), (["--closed-after", stamp(d=5, ms=1), "--all"], ""),
    (["--closed-before", stamp(d=6), "--all"], "d"), (["--closed-before", stamp(d=5), "--all"], ""),
    (["-t", "bug", "-s", "closed"], ""),
]


@pytest.mark.parametrize("words, want", ROWS, ids=lambda v: v if isinstance(v, str) else " ".join(v))
def test_filters(store, words, want):
    assert store.ids("list", *words) == [f"bd-{c}" for c in sorted(want, key="abcde".index)]


SORTS = [("priority", "abcde"), ("created", "eabcd"), ("id", "abcde"), ("title", "abdec"),
         ("updated", "eabdc"), ("status", None), ("type", None), ("closed", None), ("assignee", None)]


@pytest.mark.parametrize("word, want", SORTS)
def test_sorting_and_its_reverse(store, word, want):
    got = "".join(x[3:] for x in store.ids("list", "--all", "--sort", word))
    back = "".join(x[3:] for x in store.ids("list", "--all", "--sort", word, "--reverse"))
    assert sorted(got) == list("abcde") == sorted(back)
    if want:
        assert want in (got, back)
        assert got == back[::-1]
    else:
        key = {"closed": "closed_at"}.get(word, word)
        beads = {b["id"][3:]: b for b in store.json("list", "--all")}
        runs = [beads[c][key] for c in got]
        assert len([1 for i, v in enumerate(runs) if i == 0 or runs[i - 1] != v]) == len(set(runs))


def test_limit(repo):
    plan = repo.path / "plan.md"
    plan.write_text("".join(f"## t{i:02}\n\n" for i in range(60)))
    made = [b["id"] for b in repo.json("create", "-f", str(plan))]
    every = repo.ids("list", "-n", "0")
    assert sorted(every) == sorted(made)
    assert repo.ids("list") == every[:50]
    assert repo.ids("list", "-n", "3") == every[:3]
    assert repo.ids("ls", "--limit=60") == every
    for n in ("-1", "x", "1.5", ""):
        is_error(repo.bd("--json", "list", f"--limit={n}"), "invalid_argument", 1)


@pytest.mark.parametrize("words", [["-s", "wip"], ["-t", "story"], ["-p", "5"], ["--priority-min", "9"],
                                   ["--sort", "colour"], ["--created-after", "soon"], ["--format", "xml"]])
def test_a_wrong_value_is_refused(store, words):
    is_error(store.bd("--json", "list", *words), "invalid_argument", 1)


def test_an_unknown_parent_or_id_is_an_error(store):
    is_error(store.bd("--json", "list", "--parent", "bd-none"), "not_found", 1)


def test_fields_and_brief(store):
    assert store.json("list", "--id", "bd-a", "--fields", "id,title") == [{"id": "bd-a", "title": "Alpha one"}]
    assert store.json("list", "--id", "bd-a", "--fields", "id", "--fields", "labels") == [
        {"id": "bd-a", "labels": ["x", "y"]}]
    assert store.json("list", "--id", "bd-a", "--brief") == [
        {"id": "bd-a", "title": "Alpha one", "status": "open", "priority": 0, "type": "bug", "labels": ["x", "y"],
         "assignee": "bob"}]
    assert store.json("show", "bd-b", "--fields", "id,title") == [{"id": "bd-b", "title": "beta"}]
    assert len(store.bd("list", "--json", "--brief").ok().out) * 4 < len(store.bd("list", "--json").ok().out)


# for people

def test_the_table(store):
    lines = store.bd("list", "--all").ok().out.splitlines()
    assert lines[0].split() == ["ID", "P", "TYPE", "STATUS", "AGE", "ASSIGNEE", "TITLE"]
    row = lines[1].split()
    assert row[:4] + row[5:] == ["bd-a", "P0", "bug", "open", "bob", "Alpha", "one", "[x,", "y]"]
    assert [line.split()[0] for line in lines[1:-1]] == ["bd-a", "bd-b", "bd-c", "bd-d", "bd-e"]
    assert lines[-1].startswith("5 beads: ")
    assert all(line == line.rstrip() for line in lines)


def test_other_forms(store):
    assert store.bd("list", "--format", "ids").ok().out == "bd-a\nbd-b\nbd-c\nbd-e\n"
    assert store.bd("list", "--silent").ok().out == "bd-a\nbd-b\nbd-c\nbd-e\n"
    assert store.bd("list", "--format", "lines", "--id", "bd-a").ok().out == "bd-a [P0] [bug] open - Alpha one\n"
    out = store.bd("list", "--long").ok().out
    assert "Deep Water" in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_the_tree_puts_children_below_their_parents(store):
    lines = store.bd("list", "--tree").ok().out.splitlines()
    rows = [line for line in lines if "bd-" in line]
    assert len(rows) == 4
    at_e = next(i for i, line in enumerate(rows) if "bd-e" in line)
    assert "bd-b" in rows[at_e + 1]
    assert rows[at_e + 1].index("bd-b") > rows[at_e].index("bd-e") or "└" in rows[at_e + 1]


def test_the_tree_leaves_out_no_bead(repo):
    clock(repo)
    for name in "abc":
        repo.create(name, "--id", f"bd-{name}")
    append(repo, {"deps": [{"_at": [ms(), 90], "_by": "zoe", "created_at": [ms(), 90], "created_by": "zoe",
                            "from": x, "kind": "parent", "to": y} for x, y in [("bd-a", "bd-b"), ("bd-b", "bd-a")]]})
    out = repo.bd("list", "--tree").ok().out
    assert [out.count(f"bd-{name}") for name in "abc"] == [1, 1, 1]


def test_a_child_whose_parent_is_not_in_the_list_is_in_the_tree(store):
    store.bd("close", "bd-e", "--force").ok()
    assert "bd-b" in store.bd("list", "--tree").ok().out


def test_an_empty_result_is_reported(repo):
    assert repo.bd("list").ok().out == "No beads found.\n"
    assert repo.bd("search", "x").ok().out.strip()
    assert repo.bd("search", "x", "--json").ok().out == "[]\n"


WIDE = ["日本語のとても長い題名です" * 8, "👩‍👩‍👧‍👦" * 30, "🎉" * 70, "e\u0301" * 100, "ｗｉ ｄｅ" * 20]


@pytest.mark.parametrize("title", WIDE)
def test_wide_text_is_cut_between_characters_and_columns_stay_aligned(repo, title):
    repo.create(title, "-a", "ゆう", "--id", "bd-w")
    repo.create("plain", "-a", "bob", "--id", "bd-p")
    done = repo.bd("list").ok()
    head, *lines = done.bytes.decode("utf-8").splitlines()
    start = width(head[:head.index("TITLE")])
    assert lines.pop() == "2 beads open"
    for line in lines:
        mark = "plain" if line.startswith("bd-p") else title[:3]
        assert width(line[:line.index(mark)]) == start
    assert "\ufffd" not in done.out
    assert repo.show("bd-w")["title"] == title
    assert title in repo.bd("show", "bd-w").ok().out


@pytest.mark.parametrize("text", ["\x1b[31mred", "\x07bell", "\x9b31m"])
def test_control_characters_do_not_reach_the_terminal(repo, text):
    repo.create("x", "--id", "bd-x", "-d", text)
    repo.bd("comment", "bd-x", text).ok()
    repo.bd("close", "bd-x", "-r", text).ok()
    assert repo.show("bd-x")["description"] == text
    for words in (["show", "bd-x"], ["comments", "bd-x"], ["list", "--all", "--long"]):
        assert text[0] not in repo.bd(*words).ok().out, words


# search

def test_search_covers_all_texts(repo):
    where = {"t": ["--id", "bd-t"], "d": ["-d", "needle"], "g": ["--design", "needle"], "c": ["--acceptance", "needle"]}
    for name, words in where.items():
        repo.create("needle" if name == "t" else name, *(words if name == "t" else ["--id", f"bd-{name}", *words]))
    repo.create("n", "--id", "bd-n")
    repo.bd("comment", "bd-n", "a needle here").ok()
    repo.bd("close", "bd-d").ok()
    got = repo.ids("search", "needle")
    assert sorted(got) == ["bd-c", "bd-d", "bd-g", "bd-n", "bd-t"]
    assert got[0] == "bd-t"
    assert sorted(repo.ids("search", "needle", "-s", "open")) == ["bd-c", "bd-g", "bd-n", "bd-t"]
    assert repo.ids("search", "bd-n") == ["bd-n"]
    assert sorted(repo.ids("search", "NEED")) == sorted(got)
    assert repo.ids("search", "needle here") == ["bd-n"]
    assert repo.json("search", "haystack") == []


@pytest.mark.parametrize("words", ['"', "'", "a OR b", "NEAR(", "*", "x*y", "(", "-", "a:b", "^", "%", "\\", "🎉", "日本"])
def test_any_words_are_safe_to_search_for(repo, words):
    repo.create("title")
    assert repo.json("search", "--", words) == []


@pytest.mark.parametrize("words", ["src/main.c", "main.c", "don't", "log-in", "foo::bar", "v1.2", "a@b", "gh-42",
                                   "bd-me", "log-in main"])
def test_words_with_punctuation_are_found(repo, words):
    repo.create("In src/main.c don't log-in: foo::bar v1.2 a@b gh-42", "--id", "bd-me")
    repo.create("something else", "--id", "bd-no")
    assert repo.ids("search", words) == ["bd-me"]


def test_search_is_up_to_date_after_every_change(repo):
    bead = repo.create("before")
    repo.bd("update", bead, "--title", "after").ok()
    assert (repo.ids("search", "before"), repo.ids("search", "after")) == ([], [bead])
    repo.bd("delete", bead, "--yes").ok()
    assert repo.ids("search", "after") == []
    repo.bd("undelete", bead).ok()
    assert repo.ids("search", "after") == [bead]
    wipe_cache(repo)
    assert repo.ids("search", "after") == [bead]


def test_search_finds_text_in_other_scripts(repo):
    a, b, c = repo.create("Ärger mit Öl"), repo.create("日本語 テスト"), repo.create("Привет мир")
    assert repo.ids("search", "ärger") == [a]
    assert repo.ids("search", "日本語") == [b]
    assert repo.ids("search", "привет") == [c]


def test_search_needs_words(repo):
    is_error(repo.bd("--json", "search"), "invalid_argument", 2)


# show

def test_show_prints_several_beads_in_the_given_order(store):
    assert store.ids("show", "bd-c", "bd-a") == ["bd-c", "bd-a"]
    assert store.ids("view", "bd-d") == ["bd-d"]
    is_error(store.bd("--json", "show"), "invalid_argument", 2)


def test_show_has_every_public_member_also_of_closed_beads(store):
    for bead in store.json("show", "bd-a", "bd-c", "bd-d"):
        assert set(PUBLIC) <= set(bead)


def test_show_for_people(store):
    store.bd("comment", "bd-a", "a note").ok()
    out = store.bd("show", "bd-a").ok().out
    for text in ("bd-a", "Alpha one", "open", "P0", "bug", "bob", "x", "y", "Deep Water", "a note"):
        assert text in out
    assert store.show("bd-a")["content_hash"] not in out
    assert store.show("bd-a")["content_hash"] in store.bd("show", "bd-a", "--long").ok().out


@pytest.mark.parametrize("word", ["bd-a1b", "bd-a1", "a1b2", "a1"])
def test_a_unique_prefix_of_an_id_is_enough(repo, word):
    repo.create("x", "--id", "bd-a1b2")
    repo.create("y", "--id", "bd-c3d4")
    assert repo.ids("show", word) == ["bd-a1b2"]


def test_a_start_of_several_ids_is_ambiguous(repo):
    for name in ("bd-ab1", "bd-ab2", "bd-cd"):
        repo.create("x", "--id", name)
    error = is_error(repo.bd("--json", "show", "bd-ab"), "ambiguous_id", 1)
    assert sorted(error["details"]["matches"]) == ["bd-ab1", "bd-ab2"]
    is_error(repo.bd("--json", "close", "ab"), "ambiguous_id", 1)
    assert repo.ids("list", "-s", "closed") == []


@pytest.mark.parametrize("word", ["bd-", "bd-e.", "bd-e_", "e."])
def test_a_start_of_an_id_may_end_with_a_separator(repo, word):
    ids = ["bd-e.1", "bd-e_1"] if word == "bd-" else [word.removeprefix("bd-").join(("bd-", end)) for end in "12"]
    repo.create("x", "--id", ids[0])
    assert repo.ids("show", word) == ids[:1]
    repo.create("y", "--id", ids[1])
    error = is_error(repo.bd("--json", "show", word), "ambiguous_id", 1)
    assert error["details"]["matches"] == ids
    is_error(repo.bd("--json", "create", "z", "--deps", word), "ambiguous_id", 1)
    is_error(repo.bd("--json", "create", "z", "--id", word), "invalid_argument", 1)


def test_a_whole_id_is_preferred_to_a_longer_one(repo):
    repo.create("x", "--id", "bd-ab")
    repo.create("y", "--id", "bd-abc")
    assert repo.ids("show", "bd-ab") == ["bd-ab"]


@pytest.mark.parametrize("word", ["bd-zz", "", "%", "_", "bd-a*", "'", "bd-\n"])
def test_other_words_are_not_ids(repo, word):
    repo.create("x", "--id", "bd-a1")
    done = repo.bd("--json", "show", "--", word)
    assert (done.code, done.error["code"]) in [(1, "not_found"), (1, "invalid_argument")]


def test_ids_are_matched_without_regard_to_ambient_time(repo):
    repo.create("x", "--id", "bd-a1", env=at(d=400))
    assert repo.ids("show", "a1", env=at()) == ["bd-a1"]


@pytest.mark.parametrize("command, closed", [(["list"], 0), (["search", "alpha"], 1), (["count"], 1)])
def test_the_help_of_all_says_whether_closed_beads_are_shown_without_it(repo, command, closed):
    repo.bd("close", repo.create("alpha")).ok()
    reply = repo.json(*command)
    assert (len(reply) if isinstance(reply, list) else reply["count"]) == closed
    [line] = [one for one in repo.bd(command[0], "--help").ok().out.splitlines() if one.startswith("  --all ")]
    assert line.split(None, 1)[1] == ("include every status (default)" if closed else "show closed beads too")


def many(repo):
    """60 beads of every status, priority, type and assignee, with up to three labels each."""
    for i in range(60):
        clock(repo, m=i)
        words = ["--id", f"bd-{i * 37 % 60:02}", "-p", str(i * 7 % 5), "-t", ("task", "bug", "chore")[i % 3]]
        words += ["-l", ",".join(label for k, label in enumerate("xyz") if i >> k & 1)] if i % 8 else []
        repo.create(f"{'Ab'[i % 2]}{i * 11 % 60} title", *words, *(["-a", ("bob", "eve")[i % 2]] if i % 4 else []))
    clock(repo, h=2)
    repo.bd("close", *(f"bd-{i:02}" for i in range(0, 60, 4))).ok()
    repo.bd("claim", *(f"bd-{i:02}" for i in range(1, 60, 12))).ok()


STATUSES, TYPES = ["open", "in_progress", "closed"], ["bug", "feature", "task", "epic", "chore"]
KEYS = {
    "priority": lambda b: (), "created": lambda b: (b["created_at"], b["id"]), "id": lambda b: (b["id"],),
    "updated": lambda b: (b["updated_at"], b["id"]), "title": lambda b: (b["title"].lower(), b["id"]),
    "status": lambda b: (STATUSES.index(b["status"]),), "type": lambda b: (TYPES.index(b["type"]),),
    "assignee": lambda b: (b["assignee"] or "",), "closed": lambda b: (b["closed_at"] or "", b["id"]),
}
NEWEST_FIRST = ("created", "updated", "closed")


def test_every_order_is_the_same_with_and_without_a_limit(repo):
    """A list with a limit reads one index or merges several; its rows are the first ones of the whole list."""
    prepared(repo, many)
    usual = lambda b: (b["priority"], b["created_at"], b["id"])
    beads = sorted(repo.json("list", "--all", "-n", "0"), key=usual)
    for words, fits in ((["--all"], lambda b: True), ([], lambda b: b["status"] != "closed"),
                        (["-l", "x"], lambda b: b["status"] != "closed" and "x" in b["labels"]),
                        (["-l", "x,z", "--all"], lambda b: {"x", "z"} <= set(b["labels"])),
                        (["--label-any", "x,z", "--all"], lambda b: {"x", "z"} & set(b["labels"])),
                        (["-s", "closed"], lambda b: b["status"] == "closed")):
        for sort, key in KEYS.items():
            for back in (False, True):
                want = list(filter(fits, beads))
                if sort == "priority":
                    want = want[::-1] if back else want
                else:
                    want.sort(key=key, reverse=back != (sort in NEWEST_FIRST))
                if sort in ("assignee", "closed"):
                    want.sort(key=lambda b: not b["assignee" if sort == "assignee" else "closed_at"])
                want = [b["id"] for b in want]
                asked = ["list", *words, "--sort", sort, *(["--reverse"] if back else [])]
                assert repo.ids(*asked, "-n", "0") == want, asked
                assert repo.ids(*asked, "-n", "7") == want[:7], asked


def test_labels_are_counted_through_every_change(store):
    count = lambda: {row["label"]: row["count"] for row in store.json("label", "list-all")}
    assert count() == {"x": 2, "y": 2, "z": 2}
    store.bd("label", "add", "bd-e", "x,new").ok()
    store.bd("label", "remove", "bd-c", "z").ok()
    store.bd("update", "bd-b", "-p", "4").ok()
    store.bd("reopen", "bd-d").ok()
    store.bd("delete", "bd-a", "--force").ok()
    want = {"new": 1, "x": 2, "y": 1, "z": 1}
    assert count() == want and store.ids("list", "-l", "x") == ["bd-e", "bd-b"]
    wipe_cache(store)
    assert count() == want and store.ids("list", "-l", "x") == ["bd-e", "bd-b"]


def test_a_search_lists_a_bead_once(store):
    store.create("water", "--id", "bd-w", "-d", "water")
    assert store.ids("search", "water") == ["bd-w", "bd-a"]
    assert store.ids("search", "water", "-n", "1") == ["bd-w"]
