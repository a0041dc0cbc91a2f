"""bb log"""
import pytest

from board import at, ids, stamp

PRIORITIES = ["low", "normal", "high", "critical"]


def fill(project, many):
    for i in range(many):
        project.bb("post", f"m{i + 1}", env=at(s=i)).ok()


def test_an_empty_board_has_no_messages(project):
    assert project.bb("log").ok().out == "No messages found.\n"
    assert project.json("log") == []


def test_json_is_newest_first_and_text_is_oldest_first(project):
    fill(project, 3)
    assert ids(project.json("log", env=at(s=3))) == [3, 2, 1]
    out = project.bb("log", env=at(s=3)).ok().out
    assert out.index("m1") < out.index("m2") < out.index("m3")


def test_messages_with_the_same_time_are_ordered_by_id(project):
    for i in range(5):
        project.bb("post", str(i), env=at()).ok()
    assert ids(project.json("log", env=at())) == [5, 4, 3, 2, 1]


def test_20_messages_by_default_and_never_more_than_100(project):
    fill(project, 102)
    assert ids(project.json("log")) == list(range(102, 82, -1))
    assert ids(project.json("log", "--limit", "3")) == [102, 101, 100]
    assert ids(project.json("log", "-n", "100")) == list(range(102, 2, -1))
    assert ids(project.json("log", "--limit", "101")) == list(range(102, 2, -1))
    assert ids(project.json("log", "--limit", "5000000000")) == list(range(102, 2, -1))


@pytest.mark.parametrize("limit", ["0", "-1", "x", "", "1.5", "99999999999999999999999x"])
def test_a_limit_must_be_a_positive_number(project, limit):
    assert project.fails("log", f"--limit={limit}")["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("least", PRIORITIES)
def test_priority_is_a_minimum(project, least):
    for word in PRIORITIES:
        project.bb("post", word, "--priority", word).ok()
    wanted = PRIORITIES[PRIORITIES.index(least):]
    assert [m["priority"] for m in reversed(project.json("log", "--priority", least))] == wanted


@pytest.mark.parametrize("word", ["urgent", "", "HIGH", "2"])
def test_an_unknown_priority_is_refused(project, word):
    assert project.fails("log", f"--priority={word}")["code"] == "INVALID_INPUT"


def test_tags_are_alternatives(project):
    project.bb("post", "1", "--tag", "plan").ok()
    project.bb("post", "2", "--tag", "info", "--tag", "plan").ok()
    project.bb("post", "3", "--tag", "review").ok()
    project.bb("post", "4").ok()
    assert ids(project.json("log", "--tag", "plan")) == [2, 1]
    assert ids(project.json("log", "--tag", "plan", "--tag", "review")) == [3, 2, 1]
    assert ids(project.json("log", "--tag", "info", "--tag", "plan")) == [2, 1]
    assert project.json("log", "--tag", "none") == []


@pytest.mark.parametrize("tag", ["pla", "plan\"", "%", "_lan", "[", "plan,info", "Plan"])
def test_a_tag_is_matched_exactly_and_not_as_a_pattern(project, tag):
    project.bb("post", "1", "--tag", "plan", "--tag", "info").ok()
    assert project.json("log", "--tag", tag) == []


def test_from_is_an_exact_author(project):
    project.bb("--as", "kimi", "post", "1").ok()
    project.bb("--as", "kimi-01", "post", "2").ok()
    assert ids(project.json("log", "--from", "kimi")) == [1]
    assert project.json("log", "--from", "kim") == []
    assert project.json("log", "--from", "%") == []


def test_a_ref_is_all_three_parts(project):
    project.bb("post", "1", "--ref", "tt:issue:13").ok()
    project.bb("post", "2", "--ref", "tt:issue:131", "--ref", "gh:pr:x1").ok()
    project.bb("post", "3", "--ref", "gh:issue:13").ok()
    project.bb("post", "4 tt:issue:13").ok()
    assert ids(project.json("log", "--ref", "tt:issue:13")) == [1]
    assert ids(project.json("log", "--ref", "gh:pr:x1")) == [2]
    assert project.json("log", "--ref", "tt:pr:13") == []
    assert project.json("log", "--ref", "gh:pr:x") == []


def test_filters_narrow_each_other(project):
    project.bb("--as", "k", "post", "1", "--tag", "a", "--priority", "high", env=at()).ok()
    project.bb("--as", "k", "post", "2", "--tag", "a", env=at(m=9)).ok()
    project.bb("--as", "j", "post", "3", "--tag", "a", "--priority", "high", env=at(m=9)).ok()
    project.bb("--as", "k", "post", "4", "--tag", "a", "--priority", "high", env=at(m=9)).ok()
    project.bb("--as", "k", "post", "5", "--tag", "b", "--priority", "high", env=at(m=9)).ok()
    assert ids(project.json("log", "--from", "k", "--tag", "a", "--priority", "high", "--since", "5m",
                            env=at(m=10))) == [4]


def test_the_limit_counts_after_the_filters(project):
    project.bb("post", "1", "--tag", "a").ok()
    for i in range(3):
        project.bb("post", "x").ok()
    assert ids(project.json("log", "--tag", "a", "--limit", "1")) == [1]


@pytest.mark.parametrize("text, seconds", [("30s", 30), ("10m", 600), ("1h", 3600), ("2d", 172800), ("1w", 604800)])
def test_since_is_exact(project, text, seconds):
    project.bb("post", "1", env=at()).ok()
    assert ids(project.json("log", "--since", text, env=at(s=seconds))) == [1]
    assert project.json("log", "--since", text, env=at(s=seconds, ms=1)) == []


@pytest.mark.parametrize("text", ["", "5", "m", "5x", "-5m", "+5m", "1.5h", "5 m", "5M", "30m1h", "1h30",
                                  "５m", "9999999999999999999999h", "9223372036854775807w", "5min", "0x5m"])
def test_a_duration_is_strict(project, text):
    assert project.fails("log", f"--since={text}")["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("text", [" 5m ", "5m ", "\t5m", "300s"])
def test_blanks_around_a_duration_do_not_matter(project, text):
    project.bb("post", "old", env=at(m=0)).ok()
    project.bb("post", "new", env=at(m=6)).ok()
    assert [m["content"] for m in project.json("log", f"--since={text}", env=at(m=10))] == ["new"]


def test_since_0_shows_only_messages_of_the_same_millisecond(project):
    project.bb("post", "1", env=at()).ok()
    assert project.json("log", "--since", "0s", env=at(ms=1)) == []


def test_a_very_long_since_shows_all(project):
    project.bb("post", "1", env=at()).ok()
    assert ids(project.json("log", "--since", "5000w", env=at(d=1))) == [1]


def test_the_text_has_id_author_tags_age_body_and_refs(project):
    project.bb("--as", "k", "post", "the body", "--tag", "plan", "--tag", "info", "--ref", "tt:issue:13",
               env=at()).ok()
    head, body, refs = project.bb("log", env=at(m=5)).ok().out.splitlines()
    assert head.startswith("#1 ")
    for part in ("k", "[plan]", "[info]", "5m ago"):
        assert part in head
    assert body.strip() == "the body"
    assert refs.strip() == "refs: tt:issue:13"


def test_high_and_critical_have_a_mark_and_others_none(project):
    for word in PRIORITIES:
        project.bb("post", word, "--priority", word, env=at()).ok()
    heads = [line for line in project.bb("log", env=at()).ok().out.splitlines() if line.startswith("#")]
    assert ["!" in h for h in heads] == [False, False, True, True]
    assert heads[2] != heads[3].replace("#4", "#3")


def test_a_long_body_is_wrapped_without_loss(project):
    words = " ".join(f"word{i}" for i in range(100))
    project.bb("post", words).ok()
    lines = project.bb("log").ok().out.splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert " ".join(" ".join(lines[1:]).split()) == words


def test_a_body_without_spaces_loses_nothing(project):
    project.bb("post", "x" * 1000).ok()
    lines = project.bb("log").ok().out.splitlines()
    assert "".join(line.strip() for line in lines[1:]) == "x" * 1000


def test_lines_of_a_body_stay_lines(project):
    project.bb("post", "one\n\n  two").ok()
    body = project.bb("log").ok().out.splitlines()[1:]
    assert [line.strip() for line in body] == ["one", "", "two"]


def test_a_filter_without_results_says_so(project):
    fill(project, 1)
    assert project.bb("log", "--from", "nobody").ok().out == "No messages found.\n"


def test_each_message_is_complete(project):
    project.bb("--as", "k", "post", "c", "--tag", "t", "--priority", "low", "--ref", "a:b:c", env=at()).ok()
    assert project.json("log", env=at()) == [{
        "id": 1, "from_agent": "k", "content": "c", "tags": ["t"], "priority": "low", "in_reply_to": None,
        "refs": [{"where": "a", "what": "b", "ref": "c"}], "created_at": stamp()}]
