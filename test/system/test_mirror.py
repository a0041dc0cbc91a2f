"""mirror.beads: .beads/issues.jsonl follows the beads"""
import json
import time

import pytest

from hints import run_command
from test_bd_import import issue


def wait_until(true, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


@pytest.fixture
def mirror(repo):
    repo.bd("config", "set", "mirror.beads", "true").ok()
    repo.file = repo.path / ".beads" / "issues.jsonl"
    wait_until(repo.file.exists, "the file is made")
    return repo


def titles(repo):
    return sorted(json.loads(line)["title"] for line in repo.file.read_text().splitlines() if line.startswith("{"))


def flush(repo):
    """Waits until the file is up to date, as a Git hook does."""
    repo.bd("hooks", "run", "post-merge").ok()


def test_each_change_reaches_the_file(mirror):
    bead = mirror.create("one")
    wait_until(lambda: titles(mirror) == ["one"], "a new bead")
    mirror.json("update", bead, "--title", "two")
    wait_until(lambda: titles(mirror) == ["two"], "a new title")
    assert json.loads((mirror.path / ".beads" / "metadata.json").read_text())["jsonl_export"] == "issues.jsonl"


def test_the_file_is_the_export(mirror):
    for i in range(5):
        mirror.create(f"t{i}")
    flush(mirror)
    assert mirror.file.read_bytes() == mirror.bd("export").ok().bytes
    before = mirror.file.stat().st_mtime_ns
    flush(mirror)
    assert mirror.file.stat().st_mtime_ns == before


def test_what_others_changed_in_the_file_is_not_what_undo_undoes(mirror):
    """The lines may bear any name, also that of the user who pulls them."""
    alice = {"BD_ACTOR": "alice"}
    bead = mirror.create("ours", env=alice)
    mirror.json("update", bead, "-p", "0", env=alice)
    flush(mirror)
    with mirror.file.open("a") as file:
        file.write(json.dumps(issue("up-1", title="theirs", created_by="alice")) + "\n")
    mirror.bd("hooks", "run", "post-merge", env=alice).ok()
    assert titles(mirror) == ["ours", "theirs"] and mirror.show("up-1")["title"] == "theirs"
    assert [b["id"] for b in mirror.json("undo", env=alice)["beads"]] == [bead]


def test_changes_of_others_in_the_file_are_imported(mirror):
    mirror.create("ours")
    flush(mirror)
    with mirror.file.open("a") as file:
        file.write(json.dumps(issue("up-1", title="theirs")) + "\n")
    mirror.create("later")
    wait_until(lambda: titles(mirror) == ["later", "ours", "theirs"], "both sides")
    assert mirror.show("up-1")["title"] == "theirs"


def test_a_file_with_unreadable_lines_is_not_changed(mirror):
    mirror.create("ours")
    flush(mirror)
    text = mirror.file.read_text() + "<<<<<<< HEAD\n"
    mirror.file.write_text(text)
    mirror.create("more")
    flush(mirror)
    assert mirror.file.read_text() == text
    check = [check for check in mirror.json("doctor")["checks"] if check["code"] == "mirror"]
    assert "1 lines" in check[0]["message"]
    mirror.file.write_text(text.replace("<<<<<<< HEAD\n", ""))
    flush(mirror)
    assert titles(mirror) == ["more", "ours"]
    assert not [check for check in mirror.json("doctor")["checks"] if check["code"] == "mirror"]


@pytest.mark.parametrize("name, kind", [(".beads", "link"), (".beads", "file"), (".beads/issues.jsonl", "link"),
                                        (".beads/metadata.json", "link"), (".beads/metadata.json", "folder")])
def test_the_doctor_moves_away_what_is_in_the_place_of_the_file(mirror, name, kind):
    """A pull can bring each of them."""
    mirror.create("one")
    flush(mirror)
    path = mirror.path / name
    path.rename(mirror.path / "before")
    if kind == "link":
        path.symlink_to(mirror.path / "before")
    else:
        path.mkdir() if kind == "folder" else path.touch()
    mirror.create("two")
    flush(mirror)
    check = [check for check in mirror.json("doctor")["checks"] if check["code"] == "mirror"]
    assert str(path) in check[0]["message"], check
    run_command(mirror, check[0]["fix"]).ok()
    assert titles(mirror) == ["one", "two"] and not path.is_symlink()
    assert not [check for check in mirror.json("doctor")["checks"] if check["code"] == "mirror"]
    assert len(list(path.parent.glob(path.name.split(".json")[0] + "*theirs*"))) == 1


def test_what_the_file_still_has_is_not_taken_for_a_change_of_others(mirror):
    """Beads that were deleted, or undone, since the file was written."""
    gone, kept = mirror.create("gone"), mirror.create("kept")
    mirror.json("label", "add", kept, "x")
    flush(mirror)
    mirror.create("undone")
    flush(mirror)
    mirror.json("undo")
    mirror.json("delete", gone, "--force")
    mirror.json("label", "remove", kept, "x")
    flush(mirror)
    assert [bead["title"] for bead in mirror.json("list")] == ["kept"] and "x" not in mirror.show(kept).get("labels", [])
    assert mirror.file.read_bytes() == mirror.bd("export").ok().bytes


def test_the_file_can_be_deleted_or_damaged(mirror):
    mirror.create("one")
    flush(mirror)
    mirror.file.unlink()
    assert [bead["title"] for bead in mirror.json("list")] == ["one"]
    flush(mirror)
    assert titles(mirror) == ["one"]


def test_nothing_is_written_through_a_link(repo):
    elsewhere = repo.path.parent / "elsewhere"
    elsewhere.mkdir()
    (repo.path / ".beads").symlink_to(elsewhere)
    repo.bd("config", "set", "mirror.beads", "true").ok()
    repo.create("one")
    flush(repo)
    assert list(elsewhere.iterdir()) == []


def test_other_members_of_metadata_json_are_kept(repo):
    folder = repo.path / ".beads"
    folder.mkdir()
    (folder / "metadata.json").write_text('{"database":"x.db","last":1}')
    repo.bd("config", "set", "mirror.beads", "true").ok()
    flush(repo)
    assert json.loads((folder / "metadata.json").read_text()) == {"database": "x.db", "last": 1,
                                                                  "jsonl_export": "issues.jsonl"}


def test_without_the_setting_nothing_is_written(repo):
    repo.create("one")
    flush(repo)
    assert not (repo.path / ".beads").exists()


def test_memories_in_the_file_are_kept(mirror):
    mirror.create("ours")
    flush(mirror)
    with mirror.file.open("a") as file:
        file.write('{"_type":"memory","key":"k","value":"v"}\n')
    mirror.create("later")
    wait_until(lambda: '"key":"k"' in mirror.file.read_text() and titles_of_beads(mirror) == ["later", "ours"], "the memory")


def titles_of_beads(repo):
    return sorted(record["title"] for record in map(json.loads, repo.file.read_text().splitlines()) if "title" in record)
