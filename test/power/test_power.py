"""Power losses in the middle of commands: a fixed sample. `test/power/power.py` tries all of them."""
import json
import pathlib
import subprocess

import pytest

import crash_disk
import crash_scenes
import planted
import power
import recording
from conftest import BUILD, ROOT
from harness import needs_strace

FAULTS = next((b for b in (BUILD, ROOT / "build/faulty", ROOT / "build/faults")
               if (b / "bin/abacus").exists() and b"ABACUS_FAULT_BOOT" in (b / "bin/abacus").read_bytes()), None)
# The number of states of each: more where they are cheap.
SAMPLE = {"bd-create": 30, "bd-claims": 30, "bd-init": 30, "sync-push": 24, "move-store": 24, "board-posts": 60, "board-destroy": 40,
          "agent-mail": 120, "agent-reserve": 60, "vybe-tasks": 30, "share-on": 30, "abacus-on": 40, "installers": 40, "abacus-work": 30,
          "host-hooks": 30}
needs_faults = pytest.mark.skipif(not FAULTS, reason="no programs that were built with FAULTS=1")


@needs_strace
@needs_faults
@pytest.mark.parametrize("scene", SAMPLE)
def test_nothing_is_lost(scene):
    _, tried, wrong, _ = power.try_scene((scene, FAULTS, SAMPLE[scene], "check", 1, 12))
    assert not wrong, wrong[0]
    assert tried > 5


def test_every_operation_that_writes_is_in_a_scene(tmp_path):
    schema = json.loads(subprocess.run([BUILD / "bin/abacus", "schema"], capture_output=True, check=True).stdout)
    writing = {operation["name"] for operation in schema if operation["mutates"]}
    assert writing - crash_scenes.covered(tmp_path, writing) == set()


@pytest.mark.parametrize("name", planted.BUGS)
def test_a_bug_can_be_planted(name):
    """planted.py takes minutes; this checks that its edits still apply to the source."""
    file, old, _, _ = planted.BUGS[name]
    assert (ROOT / file).read_text().count(old) == 1


# --- the models themselves, on a recording by hand ---

def recorded(*events):
    """A disk with one empty folder, inode 0, on which these events happen."""
    class Recording:
        base = {0: recording.File(), 1: recording.File(b""), 2: recording.File(b"")}
    Recording.events = list(events)
    return crash_disk.Disk(Recording)


def contents(made, upto, some, torn=None):
    names, data, _ = made.build(upto, some, torn or {})
    return {name: data[n] for name, n in names[0].items()}


def every(made, model, upto, count=200):
    import random
    choices = getattr(made, model)(upto, random.Random(1))
    return {tuple(sorted(contents(made, upto, *next(choices)).items())) for _ in range(count)}


WRITE = [("entry", 0, "a", 1), ("data", 1, 0, b"x"), ("sync", 1, 2)]


def test_a_synced_file_may_have_no_name_until_its_folder_is_synced():
    made = recorded(*WRITE)
    assert every(made, "strict", 3, 6) == {(), (("a", b"x"),)}
    assert every(recorded(*WRITE, ("sync", 0, 3)), "strict", 4, 6) == {(("a", b"x"),)}
    assert every(made, "ext4", 3) == {(("a", b"x"),)}, "ext4 commits all names with any sync"


def test_a_rename_may_be_durable_before_the_data():
    made = recorded(("entry", 0, "t", 1), ("sync", 0, 1), ("data", 1, 0, b"x"), ("move", 0, "t", 0, "a", 1))
    for model in ("strict", "ext4"):
        assert every(made, model, 4) == {(("t", b""),), (("t", b"x"),), (("a", b""),), (("a", b"x"),)}, model


def test_a_write_is_torn_at_sectors():
    made = recorded(("entry", 0, "a", 1), ("sync", 0, 1), ("data", 1, 0, b"x" * 1024 + b"y" * 512))
    found = {dict(state)["a"] for state in every(made, "strict", 3, 400)}
    assert bytes(512) + b"x" * 512 + b"y" * 512 in found and bytes(1024) + b"y" * 512 in found
    assert all(set(s[i:i + 512]) in ({0}, {120}, {121}) for s in found for i in range(0, len(s), 512))


@needs_strace
def test_a_recording_has_what_the_folder_has(tmp_path):
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "old").write_text("old")
    made = recording.Recording(folder)
    made.run(["sh", "-c", "echo one >$0/a; echo two >>$0/a; ln $0/a $0/b; mkdir $0/d; mv $0/a $0/d/c; rm $0/old; echo done",
              str(folder)], folder, None, tmp_path / "out")
    assert made.differences() == []
    assert [e[0] for e in made.events if e[0] not in ("data", "size")] == \
        ["begin", "entry", "entry", "entry", "move", "gone", "reply", "end"]
    assert pathlib.Path(folder / "d/c").read_text() == "one\ntwo\n"
