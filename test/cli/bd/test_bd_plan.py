"""bd defer, bd undefer, and the extensions of a bead: --due, --defer, --estimate, --metadata, --notes, --spec-id"""
import pytest

from beads import PUBLIC, ECOSYSTEM, at, clock, content_hash, is_error, wipe_cache

LATER = "2099-12-01T00:00:00.000Z"


def test_extensions_are_in_replies_only_where_they_are_set(repo):
    plain = repo.json("create", "plain")
    assert sorted(plain) == sorted(PUBLIC + ECOSYSTEM)
    bead = repo.json("create", "x", "--due", "2099-12-01", "--defer", "2099-12-01T00:00:00Z", "--estimate", "90",
                     "--metadata", '{"team": "core", "a": 1}', "--notes", "so far\nso good", "--spec-id", "S-1")
    more = {key: bead[key] for key in bead if key not in PUBLIC + ECOSYSTEM}
    assert more == {"due_at": LATER, "defer_until": LATER, "estimated_minutes": 90, "spec_id": "S-1",
                    "metadata": {"team": "core", "a": 1}, "notes_text": "so far\nso good"}
    assert repo.json("show", bead["id"])[0]["due_at"] == LATER
    shown = repo.bd("show", bead["id"]).ok().out
    assert f"due        {LATER}" in shown or LATER in shown
    assert "90 minutes" in shown and "so far" in shown


def test_extensions_are_not_part_of_the_content_hash(repo):
    bead = repo.json("create", "x")
    after = repo.json("update", bead["id"], "--due", "2099-12-01", "--notes", "n")[0]
    assert after["content_hash"] == bead["content_hash"] == content_hash(after)


def test_update_sets_and_removes_extensions(repo):
    bead = repo.create("x")
    repo.json("update", bead, "--due", "2099-12-01", "--estimate", "5", "--metadata", "{}", "--notes", "n", "--spec-id", "s")
    after = repo.json("update", bead, "--due", "", "--metadata", "", "--notes", "", "--spec-id", "")[0]
    assert "due_at" not in after and "metadata" not in after and "notes_text" not in after
    assert after["estimated_minutes"] == 5
    wipe_cache(repo)
    assert "due_at" not in repo.show(bead)


def test_notes_replace_each_other_and_are_not_comments(repo):
    bead = repo.create("x")
    repo.json("update", bead, "--notes", "one")
    after = repo.json("update", bead, "--notes", "two", "--append-notes", "said")[0]
    assert after["notes_text"] == "two"
    assert [note["content"] for note in after["notes"]] == ["said"]
    assert repo.ids("search", "two") == [bead]


@pytest.mark.parametrize("flag, value", [("--metadata", "[]"), ("--metadata", "{"), ("--metadata", '{"a":1,"a":2}'),
                                         ("--due", "soon"), ("--defer", "-1h"), ("--estimate", "-1")])
def test_a_wrong_extension_is_refused(repo, flag, value):
    is_error(repo.bd("--json", "create", "x", f"{flag}={value}"), "invalid_argument", 1)
    assert repo.ids("list") == []


def test_a_deferred_bead_is_not_ready_before_its_time(repo):
    clock(repo)
    bead = repo.create("x")
    repo.json("defer", bead, "--until", "2h")
    assert repo.ids("ready") == []
    assert repo.json("ready", "--claim") == []
    assert repo.json("why", bead)["ready"] is False
    assert "deferred" in [reason["code"] for reason in repo.json("why", bead)["reasons"]]
    assert repo.ids("ready", env=at(h=2)) == [bead]
    wipe_cache(repo)
    assert repo.ids("ready") == []
    assert repo.ids("ready", env=at(h=2)) == [bead]


def test_a_bead_deferred_without_a_time_waits_for_undefer(repo):
    bead = repo.create("x")
    assert repo.json("defer", bead)[0]["original_status"] == "deferred"
    assert repo.ids("ready") == []
    after = repo.json("undefer", bead)[0]
    assert "original_status" not in after and "defer_until" not in after
    assert repo.ids("ready") == [bead]


def test_a_new_status_ends_the_original_one(repo):
    bead = repo.create("x")
    repo.json("defer", bead)
    assert "original_status" not in repo.json("update", bead, "--status", "open")[0]
    repo.json("defer", bead)
    assert "original_status" not in repo.json("claim", bead)[0]


def test_a_closed_bead_cannot_be_deferred(repo):
    bead = repo.create("x")
    repo.json("close", bead)
    is_error(repo.bd("--json", "defer", bead), "closed", 1)
