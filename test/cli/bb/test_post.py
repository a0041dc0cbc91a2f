"""bb post"""
import pytest

from board import agent, at, counts, ids, rows, stamp


def test_post_prints_the_new_message(project):
    project.bb("post", "first").ok()
    assert project.json("--as", "k", "post", "hello", "--tag", "plan", "--tag", "info", "--priority", "high",
                        "--reply-to", "1", "--ref", "tt:issue:13", "--ref", "gh:pr:x", env=at()) == {
        "id": 2, "from_agent": "k", "content": "hello", "tags": ["plan", "info"], "priority": "high",
        "in_reply_to": 1, "refs": [{"where": "tt", "what": "issue", "ref": 13},
                                   {"where": "gh", "what": "pr", "ref": "x"}], "created_at": stamp()}


def test_what_is_not_given_has_its_default(project):
    assert project.json("post", "x", env=at()) == {
        "id": 1, "from_agent": "human", "content": "x", "tags": [], "priority": "normal", "in_reply_to": None,
        "refs": [], "created_at": stamp()}


def test_post_prints_number_and_author(project):
    assert project.bb("post", "x").ok().out == "Posted message #1 from human\n"
    assert project.bb("--as", "k", "post", "x").ok().out == "Posted message #2 from k\n"


def test_posting_registers_the_agent(project):
    project.bb("--as", "k", "post", "x", env=at()).ok()
    got = agent(project, "k", env=at())
    assert (got["status"], got["current_task"], got["progress"], got["last_seen"]) == ("idle", "", 0, stamp())


def test_posting_keeps_the_agents_status(project):
    project.bb("--as", "k", "status", "set", "T", "--status", "coding", "--progress", "5").ok()
    project.bb("--as", "k", "post", "x").ok()
    got = agent(project, "k")
    assert (got["status"], got["current_task"], got["progress"]) == ("coding", "T", 5)


# identity

def test_as_overrides_the_environment_which_overrides_human(project):
    env = {"BB_AGENT_ID": "env"}
    assert project.json("--as", "flag", "post", "x", env=env)["from_agent"] == "flag"
    assert project.json("post", "x", env=env)["from_agent"] == "env"
    assert project.json("post", "x")["from_agent"] == "human"


def test_names_are_trimmed(project):
    assert project.json("--as", "  k 1\t", "post", "x")["from_agent"] == "k 1"
    assert project.json("post", "x", env={"BB_AGENT_ID": " e "})["from_agent"] == "e"
    assert [r[0] for r in rows(project, "SELECT id FROM agents ORDER BY id")] == ["e", "k 1"]


@pytest.mark.parametrize("name", ["", " ", "\t\n", "a\nb", "a\x1bb", "a\x7fb", "a\u0085b", "a\u009bb"])
def test_a_name_that_is_empty_or_has_control_characters_is_invalid(project, name):
    assert project.fails("--as", name, "post", "x")["code"] == "INVALID_IDENTITY"
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("name", [" ", "a\nb"])
def test_a_bad_name_in_the_environment_is_invalid_too(project, name):
    assert project.fails("post", "x", env={"BB_AGENT_ID": name})["code"] == "INVALID_IDENTITY"
    assert counts(project) == (0, 0, 0)


def test_an_empty_environment_name_is_no_name(project):
    assert project.json("post", "x", env={"BB_AGENT_ID": ""})["from_agent"] == "human"


# content

def test_a_dash_reads_standard_input(project):
    assert project.json("post", "-", stdin=b"from\na pipe\n")["content"] == "from\na pipe"


def test_standard_input_is_not_read_otherwise(project):
    assert project.json("post", "x", stdin=b"other")["content"] == "x"


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_empty_content_is_refused(project, text):
    assert project.fails("post", text)["code"] == "INVALID_INPUT"
    assert project.fails("post", "-", stdin=text.encode())["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("stdin", [b"a\xffb", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"a\0b"])
def test_standard_input_has_to_be_utf8_text(project, stdin):
    assert project.fails("post", "-", stdin=stdin)["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("text", ["'; DROP TABLE messages; --", '{"a":1}', "%s%n%d", "\\n", "  x  y  ", "a\tb\nc\r\n",
                                  '"quoted"', "$(id) `id`", "\x01\x1b[31m", "\u2028\ufeff", "-5", "--"])
def test_content_is_stored_unchanged(project, text):
    assert project.json("post", "--", text)["content"] == text
    assert rows(project, "SELECT content FROM messages") == [(text,)]


def test_a_post_without_content_is_a_usage_error(project):
    done = project.run("--json", "post")
    assert (done.code, done.error["code"]) == (2, "INVALID_INPUT")


def test_words_without_quotes_are_a_usage_error(project):
    assert project.bb("post", "two", "words").code == 2
    assert counts(project) == (0, 0, 0)


# replies

def test_a_reply_to_an_unknown_message_is_not_found(project):
    error = project.fails("post", "x", "--reply-to", "7")
    assert error["code"] == "NOT_FOUND"
    assert "7" in error["message"]
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("value", ["x", "", "0", "-1", "1.0", "99999999999999999999"])
def test_a_reply_needs_a_positive_number(project, value):
    project.bb("post", "x").ok()
    assert project.fails("post", "x", f"--reply-to={value}")["code"] in ("INVALID_INPUT", "NOT_FOUND")
    assert counts(project) == (1, 1, 0)


def test_a_message_cannot_answer_itself(project):
    assert project.fails("post", "x", "--reply-to", "1")["code"] == "NOT_FOUND"


# tags, priority, refs

def test_a_tag_is_not_split(project):
    assert project.json("post", "x", "--tag", "a,b")["tags"] == ["a,b"]


@pytest.mark.parametrize("tag", ["a b", " a", "a ", "a\tb", "a\nb", "a\x1b", "a\x7f", " "])
def test_a_tag_is_one_word(project, tag):
    assert project.fails("post", "x", f"--tag={tag}")["code"] == "INVALID_INPUT"


def test_an_empty_tag_is_refused(project):
    assert project.fails("post", "x", "--tag", "")["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("word", ["low", "normal", "high", "critical"])
def test_the_four_priorities_are_taken(project, word):
    assert project.json("post", "x", "--priority", word)["priority"] == word


@pytest.mark.parametrize("word", ["urgent", "", "High", "3"])
def test_another_priority_is_refused(project, word):
    assert project.fails("post", "x", f"--priority={word}")["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


@pytest.mark.parametrize("text, value", [
    ("13", 13), ("0", 0), ("9007199254740993", 9007199254740993), ("9223372036854775807", 9223372036854775807),
    ("abc", "abc"), ("1a", "1a"), ("-1", "-1"), ("1.5", "1.5"), ("+1", "+1"), ("1e3", "1e3"), (" 1", " 1"),
    ("١٢", "١٢"), ("true", "true"), ("a/b#c?d", "a/b#c?d")])
def test_a_ref_of_digits_only_is_a_number_and_others_are_text(project, text, value):
    got = project.json("post", "x", "--ref", f"tt:issue:{text}")["refs"]
    assert got == [{"where": "tt", "what": "issue", "ref": value}]
    assert type(got[0]["ref"]) is type(value)


def test_a_number_past_64_bits_is_exact(project):
    done = project.run("--json", "post", "x", "--ref", "tt:issue:123456789012345678901234567890").ok()
    assert '"ref":123456789012345678901234567890' in done.out


@pytest.mark.parametrize("text", ["", "a", "a:b", "a:b:c:d", ":b:c", "a::c", "a:b:", "::", "a b c", "http://x:1:2"])
def test_a_ref_has_exactly_three_parts(project, text):
    error = project.fails("post", "x", f"--ref={text}")
    assert error["code"] == "INVALID_REF_FORMAT"
    assert counts(project) == (0, 0, 0)


# append only

def test_ids_grow_without_a_gap_and_are_never_used_again(project):
    assert [project.json("post", "x", env=at())["id"] for _ in range(3)] == [1, 2, 3]
    project.fails("post", "x", "--reply-to", "99")
    project.bb("clear", "--messages-before", "1s", "--confirm", env=at(h=1)).ok()
    assert project.json("post", "x")["id"] == 4


# request ids

def test_the_same_request_has_one_effect_and_the_same_reply(project):
    first = project.run("--json", "post", "x", "--tag", "a", "--request-id", "r", env=at()).ok()
    again = project.run("--json", "post", "x", "--tag", "a", "--request-id", "r", env=at(m=5)).ok()
    assert again.bytes == first.bytes
    assert counts(project) == (1, 1, 0)


def test_order_and_form_of_options_do_not_make_another_request(project):
    project.bb("post", "x", "--tag", "a", "-p", "high", "--request-id", "r").ok()
    project.bb("--request-id=r", "post", "--priority=high", "-t", "a", "x").ok()
    assert counts(project) == (1, 1, 0)


@pytest.mark.parametrize("args", [["post", "y"], ["post", "x", "--tag", "a"], ["post", "x", "--priority", "high"],
                                  ["status", "set", "x"], ["post", "x", "--ref", "a:b:1"]])
def test_the_same_id_with_another_request_is_a_mismatch(project, args):
    project.bb("post", "x", "--request-id", "r").ok()
    error = project.fails(*args, "--request-id", "r")
    assert error["code"] == "REQUEST_MISMATCH"
    assert counts(project) == (1, 1, 0)


def test_the_same_id_of_another_agent_is_another_request(project):
    project.bb("--as", "a", "post", "x", "--request-id", "r").ok()
    assert project.json("--as", "b", "post", "y", "--request-id", "r")["from_agent"] == "b"


def test_a_request_that_failed_may_be_repeated_corrected(project):
    project.fails("post", "x", "--reply-to", "9", "--request-id", "r")
    assert project.json("post", "x", "--request-id", "r")["id"] == 1


def test_a_repeated_request_prints_the_same_text(project):
    first = project.bb("post", "x", "--request-id", "r").ok()
    assert project.bb("post", "x", "--request-id", "r").ok().out == first.out


@pytest.mark.parametrize("args", [["status", "set", "T", "--progress", "4"], ["status", "clear"],
                                  ["artifact", "add", "f", "d"]])
def test_every_write_takes_a_request_id(project, args):
    (project.path / "f").write_text("x")
    first = project.run("--json", "--request-id", "r", *args, env=at()).ok()
    project.bb("post", "between", env=at(s=1)).ok()
    again = project.run("--json", "--request-id", "r", *args, env=at(m=5)).ok()
    assert again.bytes == first.bytes


def test_a_repeated_status_does_not_undo_a_later_one(project):
    project.bb("status", "set", "one", "--request-id", "r").ok()
    project.bb("status", "set", "two").ok()
    project.bb("status", "set", "one", "--request-id", "r").ok()
    assert agent(project, "human")["current_task"] == "two"


def test_a_repeated_clear_deletes_nothing_new_and_returns_the_same_reply(project):
    (project.path / "f").write_text("x")
    project.bb("artifact", "add", "f", "d").ok()
    first = project.run("--json", "clear", "--artifacts", "--confirm", "--request-id", "r").ok()
    project.bb("artifact", "add", "f", "d").ok()
    again = project.run("--json", "clear", "--artifacts", "--confirm", "--request-id", "r").ok()
    assert again.bytes == first.bytes
    assert counts(project)[2] == 1


@pytest.mark.parametrize("value", ["", "a\nb", "x" * 257])
def test_a_request_id_is_short_plain_text(project, value):
    assert project.fails("post", "x", f"--request-id={value}")["code"] == "INVALID_INPUT"
    assert counts(project) == (0, 0, 0)


def test_replying_in_a_thread_keeps_each_parent(project):
    project.bb("post", "1").ok()
    project.bb("post", "2", "-r", "1").ok()
    project.bb("post", "3", "-r", "2").ok()
    assert [m["in_reply_to"] for m in project.json("log")] == [2, 1, None]
    assert ids(project.json("log")) == [3, 2, 1]
