"""bb agent send, read and ack in their short forms: short ids and defaults."""
import json

import pytest

from board import at
from conftest import Project
from test_agent_identity import agent, data, register
from test_agent_mail import files, inbox

ME = {"BB_AGENT_ID": "amber-otter"}
YOU = {"BB_AGENT_ID": "cobalt-harbor"}


@pytest.fixture
def team(repo):
    """Two agents in a repository with three beads, bd-aaa1, bd-aaa2 and bd-bbb1."""
    project = Project(repo.path)
    for name in ("amber-otter", "cobalt-harbor"):
        register(project, name)
    for bead in ("bd-aaa1", "bd-aaa2", "bd-bbb1"):
        bd(project, "create", f"bead {bead}", "--id", bead)
    return project


def bd(project, *args):
    project.run(*args, program="bd", env=ME).ok()


def short(project, *args, env=None):
    return data(project, "send", "cobalt-harbor", *args, env={**ME, **(env or {})})["messages"][0]


def error(project, *args, env=None):
    """The error of a mail command, which must not write anything."""
    before = files(project)
    reply = agent(project, *args, env=env or ME)
    assert not reply["ok"], reply
    assert files(project) == before
    return reply["error"]


def test_send_takes_the_current_bead_and_info_and_the_subject_as_the_body(team):
    bd(team, "claim", "bd-bbb1")
    sent = short(team, "The parser is ready")
    assert (sent["bead_id"], sent["category"], sent["thread_id"]) == ("bd-bbb1", "INFO", "bead:bd-bbb1")
    assert sent["subject"] == sent["body"] == "The parser is ready"
    assert sent["from_agent"] == "amber-otter"


def test_send_says_about_which_bead(team):
    bd(team, "claim", "bd-bbb1")
    done = team.bb("agent", "send", "cobalt-harbor", "hello", env=ME).ok()
    assert done.out.startswith("Sent to cobalt-harbor about bd-bbb1: msg_")


def test_options_override_the_defaults_of_the_short_form(team):
    sent = short(team, "Take over", "-m", "All is pushed.", "--bead", "bd-aaa1", "--category", "HANDOFF")
    assert (sent["body"], sent["bead_id"], sent["category"]) == ("All is pushed.", "bd-aaa1", "HANDOFF")
    assert short(team, "--subject", "again", "--bead", "bd-aaa1")["subject"] == "again"


def test_without_a_current_bead_nothing_is_sent(team):
    found = error(team, "send", "cobalt-harbor", "hello")
    assert found["code"] == "MISSING_BEAD_ID" and "works on no bead" in found["message"]
    assert "--bead ID" in found["hint"]


def test_with_two_current_beads_the_error_lists_them(team):
    for bead in ("bd-aaa1", "bd-bbb1"):
        bd(team, "claim", bead)
    found = error(team, "send", "cobalt-harbor", "hello")
    assert found["code"] == "MISSING_BEAD_ID"
    assert "bd-aaa1, bd-bbb1" in found["message"] and "more than one bead" in found["message"]


@pytest.mark.parametrize("bead, whole", [("bbb1", "bd-bbb1"), ("bd-b", "bd-bbb1"), ("aaa1", "bd-aaa1")])
def test_a_short_bead_id_is_resolved(team, bead, whole):
    assert short(team, "hello", "--bead", bead)["bead_id"] == whole
    assert [m["bead_id"] for m in inbox(team, "--bead", bead)] == [whole]


def test_the_bead_of_the_long_form_is_resolved_too(team):
    reply = data(team, "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", "bbb1", "--category",
                 "INFO", "--subject", "s", "--body", "b")
    assert reply["bead_id"] == "bd-bbb1"


@pytest.mark.parametrize("bead, reason, listed", [
    ("nope", "NOT_FOUND", "there is no bead 'nope'"), ("aaa", "AMBIGUOUS_ID", "bd-aaa1, bd-aaa2")])
def test_a_wrong_or_ambiguous_bead_is_refused(team, bead, reason, listed):
    found = error(team, "send", "cobalt-harbor", "hello", "--bead", bead)
    assert found["reason"] == reason and listed in found["message"]


@pytest.mark.parametrize("bead, warning", [
    ("bb-dcv.6", "there is no bead 'bb-dcv.6'"), ("aaa", "bd-aaa1, bd-aaa2"), ("bd-ccc1", "was deleted")])
def test_the_long_form_takes_every_bead_id_with_a_warning(team, bead, warning):
    """By the contract, the bead of a message is any text that is not empty."""
    bd(team, "create", "c", "--id", "bd-ccc1")
    bd(team, "delete", "bd-ccc1", "--force")
    done = team.run("agent", "send", "--from", "amber-otter", "--to", "cobalt-harbor", "--bead", f" {bead} ",
                    "--category", "INFO", "--subject", "s", "--body", "b", "--json").ok()
    assert json.loads(done.out)["data"]["bead_id"] == bead and warning in done.err
    assert [m["bead_id"] for m in data(team, "inbox", "--agent", "cobalt-harbor")] == [bead]


def test_a_deleted_bead_is_refused_but_its_messages_are_listed(team):
    sent = short(team, "hello", "--bead", "bd-bbb1")
    bd(team, "delete", "bd-bbb1", "--force")
    assert error(team, "send", "cobalt-harbor", "more", "--bead", "bd-bbb1")["reason"] == "DELETED"
    assert [m["message_id"] for m in inbox(team, "--bead", "bd-bbb1")] == [sent["message_id"]]


def test_without_beads_every_bead_id_is_accepted(empty):
    for name in ("amber-otter", "cobalt-harbor"):
        register(empty, name)
    assert short(empty, "hello", "--bead", "anything-1")["bead_id"] == "anything-1"
    assert error(empty, "send", "cobalt-harbor", "hello")["code"] == "MISSING_BEAD_ID"


def test_unreadable_beads_do_not_stop_mail(team):
    home = team.path / ".git" / "abacus"
    for name in ("cache.db", "journal.1"):
        (home / name).unlink()
    (home / "journal.1").mkdir()
    args = ["send", "cobalt-harbor", "the beads are damaged", "--bead", "bd-bbb1"]
    done = team.bb("agent", *args, "--json", env=ME).ok()
    assert done.json["data"]["bead_id"] == "bd-bbb1"
    assert "'bd-bbb1' was not checked" in done.err


def test_an_unknown_recipient_is_refused_with_the_registered_agents(team):
    found = error(team, "send", "cobalt", "hello", "--bead", "bbb1")
    assert found["code"] == "UNKNOWN_RECIPIENT" and "registered: amber-otter, cobalt-harbor" in found["message"]


@pytest.mark.parametrize("args, message", [
    (["cobalt-harbor"], "SUBJECT is missing"), ([], "--to is missing"),
    (["cobalt-harbor", "a", "b"], "unexpected argument 'b'"),
    (["cobalt-harbor", "a", "--to", "x"], "--to can't be combined with TO"),
    (["cobalt-harbor", "a", "--subject", "x"], "--subject can't be combined with SUBJECT")])
def test_a_short_form_that_is_not_complete_is_refused(team, args, message):
    found = error(team, "send", *args)
    assert found["code"] == "INVALID_ARGS" and message in found["message"]


@pytest.mark.parametrize("missing", ["--to", "--category", "--subject", "--body"])
def test_the_long_form_has_no_defaults(team, missing):
    bd(team, "claim", "bd-bbb1")
    args = ["--to", "cobalt-harbor", "--bead", "bd-bbb1", "--category", "INFO", "--subject", "s", "--body", "b"]
    at_flag = args.index(missing)
    found = error(team, "send", *args[:at_flag], *args[at_flag + 2:])
    assert (found["code"], found["message"]) == ("INVALID_ARGS", f"{missing} is missing")


def test_the_long_form_requires_a_bead_although_one_is_claimed(team):
    bd(team, "claim", "bd-bbb1")
    found = error(team, "send", "--to", "cobalt-harbor", "--category", "INFO", "--subject", "s", "--body", "b")
    assert found["code"] == "MISSING_BEAD_ID"


# --- read and ack ---

@pytest.fixture
def mail(team):
    """Four messages to cobalt-harbor, a minute apart: INFO, HANDOFF, HANDOFF, INFO."""
    kinds = ["INFO", "HANDOFF", "HANDOFF", "INFO"]
    sent = [short(team, f"subject {i}", "--bead", "bbb1", "--category", kind, env=at(m=i))
            for i, kind in enumerate(kinds)]
    return team, [m["message_id"] for m in sent]


def test_read_takes_the_newest_unread_message(mail):
    team, ids = mail
    for expected in reversed(ids):
        assert data(team, "read", env=YOU)["message_id"] == expected
    found = error(team, "read", env=YOU)
    assert found["code"] == "MESSAGE_NOT_FOUND" and found["message"] == "'cobalt-harbor' has no unread message"


def test_ack_takes_the_newest_message_that_needs_it(mail):
    team, ids = mail
    assert data(team, "ack", env=YOU)["message_id"] == ids[2]
    assert data(team, "ack", "--agent", "cobalt-harbor")["message_id"] == ids[1]
    found = error(team, "ack", env=YOU)
    assert found["code"] == "MESSAGE_NOT_FOUND"
    assert found["message"] == "'cobalt-harbor' has no message that has to be acknowledged"
    assert [m["state"] for m in inbox(team)] == ["unread", "acked", "acked", "unread"]


def test_the_chosen_message_is_printed(mail):
    team, ids = mail
    done = team.bb("agent", "read", env=YOU).ok()
    assert done.out.startswith("The newest unread message:\n") and ids[3] in done.out
    done = team.bb("agent", "ack", env=YOU).ok()
    assert done.out.startswith("The newest message that had to be acknowledged:\n") and ids[2] in done.out
    assert "newest" not in team.bb("agent", "read", ids[0], env=YOU).ok().out


@pytest.mark.parametrize("command", ["read", "ack"])
@pytest.mark.parametrize("part", [
    lambda i: i, lambda i: i[:-1], lambda i: i[len("msg_"):-1], lambda i: i.rsplit("_", 1)[1],
    lambda i: i.rsplit("_", 1)[1][:12]])
def test_a_unique_part_of_the_id_is_enough(mail, command, part):
    team, ids = mail
    assert data(team, command, part(ids[0]), env=YOU)["message_id"] == ids[0]
    assert data(team, command, "--message", part(ids[1]), env=YOU)["message_id"] == ids[1]


@pytest.mark.parametrize("command", ["read", "ack"])
def test_an_ambiguous_part_lists_the_messages(mail, command):
    team, ids = mail
    found = error(team, command, "msg_2026", env=YOU)
    assert found["reason"] == "AMBIGUOUS_ID"
    assert found["details"]["matches"] == list(reversed(ids))
    assert all(i in found["message"] for i in ids)


@pytest.mark.parametrize("command", ["read", "ack"])
def test_an_unknown_message_lists_the_newest(mail, command):
    team, ids = mail
    found = error(team, command, "zzz", env=YOU)
    assert found["code"] == "MESSAGE_NOT_FOUND" and ", ".join(reversed(ids)) in found["message"]
    assert error(team, command, "zzz", env=ME)["message"] == "'amber-otter' has no message 'zzz', and no other messages"


@pytest.mark.parametrize("command, code", [("read", "READ_FORBIDDEN"), ("ack", "ACK_FORBIDDEN")])
def test_a_message_of_another_agent_is_found_by_its_whole_id_only(mail, command, code):
    team, ids = mail
    assert error(team, command, ids[0], env=ME)["code"] == code
    assert error(team, command, ids[0][:-1], env=ME)["code"] == "MESSAGE_NOT_FOUND"


def test_a_message_is_named_once(mail):
    team, ids = mail
    found = error(team, "read", ids[0], "--message", ids[1], env=YOU)
    assert found["message"] == "--message can't be combined with MESSAGE"


def test_over_json_the_message_is_required(mail):
    schema = mail[0].bb("schema", program="abacus").ok().json
    for name, required in (("agent read", ["message"]), ("agent ack", ["message"]),
                           ("agent send", ["to", "bead", "category", "subject", "body"])):
        [operation] = [o for o in schema if o["name"] == name]
        assert operation["input"]["required"] == required
        assert not {"which", "recipient", "title"} & set(operation["input"]["properties"])
