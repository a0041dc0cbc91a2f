"""The journal truncated and damaged anywhere: a torn end is dropped; after other damage, reads use the records before
it, with a warning, and writes are refused; no loss goes unreported."""
import shutil

import pytest

from bead_harness import NOW, Store, assert_sound, drop_cache, state, storage_error, traced
from harness import needs_strace

SEGMENT = 8 * 1024 * 1024


@pytest.fixture
def small(plain_repo):
    """A journal of four short records."""
    plain_repo.env["ABACUS_NOW"] = NOW
    plain_repo.bd("init", "--prefix", "b").ok()
    for n in range(3):
        plain_repo.create(f"{n}", "--id", f"b-{n}")
    return plain_repo


def records(data):
    """The start of each record, and the end of the last one."""
    starts = [0]
    while starts[-1] < len(data):
        starts.append(data.index(b"\n", starts[-1]) + 1)
    return starts


def refused(repo, offset, path=None, command=("list", "--all")):
    """The error that names the file and the record."""
    error = storage_error(repo.bd("--json", *command))
    assert error["code"] == "corrupt", error
    assert f"'{path or repo.journal}'" in error["message"], error
    assert offset is None or f"byte {offset} " in error["message"], (offset, error)
    assert "rm " not in error["hint"] and "init" not in error["hint"], error
    return error


def read_on(repo, offset, expected):
    """A read has the records before the damage, and names the file, the record and the command that repairs it."""
    done = repo.bd("--json", "list", "--all").ok()
    assert [b["title"] for b in done.json] == expected, (offset, done.json)
    assert "journal." in done.err and "bd repair --apply" in done.err, done.err
    assert offset is None or f"byte {offset} " in done.err, (offset, done.err)


def titles(repo):
    return [b["title"] for b in repo.json("list", "--all")]


@pytest.mark.parametrize("cache", ["kept", "dropped"])
def test_cut_at_every_byte_of_the_last_record(small, cache):
    """Only the unfinished record is missing, and the next one takes its place."""
    repo, store = small, Store(small)
    whole = repo.journal.read_bytes()
    starts, kept = records(whole), store.keep()
    for cut in range(starts[-2] + 1, starts[-1]):
        store.put_back(kept)
        repo.journal.write_bytes(whole[:cut])
        if cache == "dropped":
            drop_cache(repo)
        if cut % 2:
            assert titles(repo) == ["0", "1"], cut
        if cut % 4 > 1 and cut < starts[-1] - 4:
            continue
        repo.create("new", "--id", "b-new")
        assert titles(repo) == ["0", "1", "new"], cut
        if cut % 8 == 0:
            drop_cache(repo)
            assert titles(repo) == ["0", "1", "new"], cut
            assert_sound(repo)
        assert len(records(repo.journal.read_bytes())) == len(starts)


@pytest.mark.parametrize("cache", ["kept", "dropped"])
def test_cut_between_records(small, cache):
    """Without the cache the loss cannot be known; with it, it is reported once, and the data of the cache is set
    aside."""
    repo, store = small, Store(small)
    whole = repo.journal.read_bytes()
    starts, kept = records(whole), store.keep()
    for n, cut in enumerate(starts[:-1]):
        store.put_back(kept)
        repo.journal.write_bytes(whole[:cut])
        if cache == "dropped":
            drop_cache(repo)
            if n:
                assert titles(repo) == ["0", "1", "2"][:n - 1]
            else:
                assert repo.fails("list")["code"] == "not_initialized"
                assert repo.fails("create", "x")["code"] == "not_initialized"
            continue
        if n == 0:
            for command in (("list", "--all"), ("create", "x"), ("validate",), ("init",)):
                refused(repo, None, command=command)
            repo.journal.write_bytes(whole)
            assert titles(repo) == ["0", "1", "2"], "the cache was thrown away, or did not come back"
            assert_sound(repo)
            continue
        done = repo.bd("--json", "list", "--all").ok()
        assert [b["title"] for b in done.json] == ["0", "1", "2"][:n - 1], n
        assert "records are missing" in done.err and f"byte {starts[-1]}" in done.err, done.err
        aside = list(repo.home.glob("cache_ahead_*.db"))
        assert len(aside) == 1 and str(aside[0]) in done.err, done.err
        assert not repo.bd("--json", "list", "--all").ok().err, "the cache was not made anew"
        repo.create("new", "--id", "b-new")
        assert titles(repo) == ["0", "1", "2"][:n - 1] + ["new"]
        assert_sound(repo)


def test_a_writer_rebuilds_a_cache_that_is_ahead(small):
    """The cache has one whole record more than the journal, which does not count."""
    repo, whole = small, small.journal.read_bytes()
    repo.journal.write_bytes(whole[:records(whole)[-2]])
    done = repo.bd("--json", "create", "new", "--id", "b-new").ok()
    assert "records are missing" in done.err, done.err
    assert titles(repo) == ["0", "1", "new"]
    assert_sound(repo)


def test_the_journal_removed(small):
    repo, whole = small, small.journal.read_bytes()
    repo.journal.unlink()
    for command in (("list",), ("create", "x"), ("ready",), ("show", "b-0"), ("init",), ("status",)):
        refused(repo, None, command=command)
        assert not repo.journal.exists()
    told = repo.bd("--json", "doctor").json
    assert not told["ok"], told
    repo.journal.write_bytes(whole)
    assert titles(repo) == ["0", "1", "2"]
    assert_sound(repo)


def damage(byte):
    """Other values of a byte: one bit flipped, zero, and the end of a record."""
    return sorted({byte ^ 1, byte ^ 0x80, 0, 0x0a} - {byte})


def test_one_byte_flipped_anywhere_without_a_cache(small):
    """The checksums cover every byte, including the end of the last record: only a truncated line counts as
    unfinished."""
    repo = small
    whole = repo.journal.read_bytes()
    starts = records(whole)
    drop_cache(repo)
    for at, byte in enumerate(whole):
        start = max(s for s in starts[:-1] if s <= at)
        for value in damage(byte)[at % 3:] if at >= starts[-2] else damage(byte)[at % 4:][:1]:
            repo.journal.write_bytes(whole[:at] + bytes([value]) + whole[at + 1:])
            if start:
                read_on(repo, start, ["0", "1", "2"][:starts.index(start) - 1])
            else:
                refused(repo, 0)
            if at % 3 == 0:
                refused(repo, start, command=("create", "x"))
            assert not repo.cache.exists()
    drop_cache(repo)
    repo.journal.write_bytes(whole)
    assert titles(repo) == ["0", "1", "2"]


def test_one_byte_flipped_anywhere_beside_a_cache(small):
    """Either all beads are there or there is an error; then a write succeeds and is found, or it is refused."""
    repo, store = small, Store(small)
    whole = repo.journal.read_bytes()
    starts, kept, good = records(whole), store.keep(), titles(small)
    for at in range(0, len(whole) - 1, 5):
        start = max(s for s in starts[:-1] if s <= at)
        store.put_back(kept)
        repo.journal.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        done = repo.bd("--json", "list", "--all")
        if done.code or done.err:
            read_on(repo, start, good[:starts.index(start) - 1]) if start else refused(repo, 0)
        else:
            assert [b["title"] for b in done.json] == good
        refused(repo, start, command=("validate",))
        told = repo.bd("--json", "doctor").json
        assert told["ok"] is False and [c["status"] for c in told["checks"] if c["code"] == "journal"] == ["error"]
        done = repo.bd("--json", "create", "more")
        if done.code:
            refused(repo, start, command=("create", "more"))
        drop_cache(repo)
        read_on(repo, start, good[:starts.index(start) - 1]) if start else refused(repo, 0)
        refused(repo, start, command=("create", "more"))


@pytest.mark.parametrize("cache", ["kept", "dropped"])
def test_records_removed_duplicated_or_swapped(small, cache):
    repo, store = small, Store(small)
    lines = repo.journal.read_bytes().splitlines(keepends=True)
    starts, kept = records(b"".join(lines)), store.keep()
    for n in range(len(lines) - 1):
        left = lines[:n] + lines[n + 1:]
        for wrong, offset in ((left, starts[n]),
                              (lines[:n + 1] + lines[n:], starts[n + 1]),
                              (lines[:n] + [lines[n + 1], lines[n]] + lines[n + 2:], starts[n])):
            store.put_back(kept)
            repo.journal.write_bytes(b"".join(wrong))
            if cache == "dropped":
                drop_cache(repo)
                refused(repo, offset, command=("create", "x"))
                read_on(repo, offset, ["0", "1", "2"][:starts.index(offset) - 1]) if offset else refused(repo, 0)
                continue
            done = repo.bd("--json", "list", "--all")
            if done.code == 0:
                assert [b["title"] for b in done.json] == ["0", "1", "2"] or "bd repair" in done.err
            else:
                refused(repo, None)
            refused(repo, None, command=("validate",))
    for extra in (b"x\n", b"\n", b"00000000 {}\n", b"\0\n"):
        store.put_back(kept)
        repo.journal.write_bytes(b"".join(lines) + extra)
        if cache == "dropped":
            drop_cache(repo)
        read_on(repo, starts[-1], ["0", "1", "2"])
        refused(repo, starts[-1], command=("create", "x"))
    for extra in (b"x", b"00000000 {}", b"\0" * 5000):
        store.put_back(kept)
        repo.journal.write_bytes(b"".join(lines) + extra)
        if cache == "dropped":
            drop_cache(repo)
        assert titles(repo) == ["0", "1", "2"]
        repo.create("new", "--id", "b-new")
        assert repo.journal.read_bytes()[starts[-1]:].count(b"\n") == 1
        drop_cache(repo)
        assert titles(repo) == ["0", "1", "2", "new"]
        assert_sound(repo)


def test_a_record_of_another_repository(small, tmp_path):
    """A valid line in the wrong place is noticed too: its checksum covers the record before it."""
    repo, whole = small, small.journal.read_bytes()
    other = whole.replace(b'"title":"0"', b'"title":"9"')
    assert other != whole
    starts = records(whole)
    repo.journal.write_bytes(whole[:starts[1]] + other[starts[1]:])
    drop_cache(repo)
    read_on(repo, starts[1], [])
    refused(repo, starts[1], command=("create", "x"))


# --- segments ---


@pytest.fixture(scope="module")
def large_store(tmp_path_factory):
    """The folder of a store with three segments."""
    return tmp_path_factory.mktemp("large")


def keep_from_cutting(repo):
    """If receipts cannot be moved, the journal is not cut, and continues in another file."""
    (repo.home / "receipts.db").mkdir()


@pytest.fixture
def segmented(plain_repo, large_store):
    repo = plain_repo
    repo.env["ABACUS_NOW"] = NOW
    kept = large_store / "store"
    if not kept.exists():
        body = repo.path.parent / "body"
        repo.bd("init", "--prefix", "b").ok()
        keep_from_cutting(repo)
        n = 0
        while not (repo.home / "journal.3").exists():
            body.write_text("word " * 100000 + str(n))
            repo.create(f"{n}", "--id", f"b-{n % 7}-{n}", "--body-file", str(body))
            if n:
                repo.bd("update", f"b-{n % 7}-{n}", "-d", "short").ok()
            n += 1
            assert n < 200
        repo.create("last", "--id", "b-last")
        shutil.copytree(repo.home, kept)
    else:
        shutil.copytree(kept, repo.home)
    return repo


def part(repo, n):
    return repo.home / f"journal.{n}"


@needs_strace
def test_a_segment_is_on_the_disk_before_the_next_one(plain_repo, tmp_path):
    """Its last record may belong to a process that has not synced it yet; without it the next segment is useless."""
    repo, body, log = plain_repo, tmp_path / "body", tmp_path / "calls"
    repo.bd("init", "--prefix", "b").ok()
    keep_from_cutting(repo)
    body.write_text("word " * 200000)
    while repo.journal.stat().st_size < SEGMENT:
        repo.create("large", "--body-file", str(body))
    assert not part(repo, 2).exists()
    traced(repo, None, "--json", "create", "next", calls="write,fdatasync,fsync", log=log, more=["-y"]).ok()
    calls = log.read_text().splitlines()
    wrote = [n for n, line in enumerate(calls) if "write(" in line and "journal.2>" in line]
    told = [n for n, line in enumerate(calls) if "write(1<" in line]
    synced = {name: [n for n, line in enumerate(calls) if "sync(" in line and f"{name}>" in line]
              for name in ("journal.1", "journal.2", "abacus")}
    assert len(wrote) == len(told) == 1, calls
    assert synced["journal.1"][0] < told[0] and wrote[0] < synced["journal.2"][0] < told[0], calls
    assert synced["abacus"][-1] < told[0], "the folder does not know the new file"


def test_segments_are_read_in_order(segmented):
    repo = segmented
    assert part(repo, 1).stat().st_size >= SEGMENT <= part(repo, 2).stat().st_size
    assert part(repo, 3).stat().st_size < SEGMENT and not part(repo, 4).exists()
    before = state(repo)
    assert len(before["beads"]) > 10
    assert_sound(repo)
    drop_cache(repo)
    assert state(repo) == before
    repo.create("more", "--id", "b-more")
    drop_cache(repo)
    assert titles(repo)[-1:] == ["more"] and len(titles(repo)) == len(before["beads"]) + 1


@pytest.mark.parametrize("cache", ["kept", "dropped"])
@pytest.mark.parametrize("n", [1, 2])
def test_a_missing_or_truncated_segment_in_the_middle(segmented, n, cache):
    repo, whole = segmented, part(segmented, n).read_bytes()
    starts = records(whole)
    good = [b["id"] for b in repo.json("list", "--all", "-n", "0", "--fields", "id")]
    for wrong in (None, b"", whole[:starts[-2]], whole[:starts[-2] + 50], whole[:-1], whole[:starts[1]],
                  whole[starts[1]:], whole + whole[starts[-2]:], whole[:-400] + b"\0" + whole[-399:]):
        if wrong is None:
            part(repo, n).unlink()
        else:
            part(repo, n).write_bytes(wrong)
        if cache == "dropped":
            drop_cache(repo)
            error = storage_error(repo.bd("--json", "create", "x"))
            assert error["code"] == "corrupt" and "journal." in error["message"], error
            done = repo.bd("--json", "list", "--all", "-n", "0", "--fields", "id")
            if done.code:
                assert n == 1 and done.error["code"] == "corrupt"
            else:
                assert {b["id"] for b in done.json} <= set(good) and "bd repair" in done.err
            assert not repo.cache.exists()
        else:
            done = repo.bd("--json", "list", "--all", "-n", "0", "--fields", "id")
            if done.code:
                assert done.error["code"] == "corrupt"
            else:
                assert [b["id"] for b in done.json] == good or "bd repair" in done.err
            assert storage_error(repo.bd("--json", "validate"))["code"] == "corrupt"
    part(repo, n).write_bytes(whole)
    assert [b["id"] for b in repo.json("list", "--all", "-n", "0", "--fields", "id")] == good


def test_a_missing_last_segment_with_a_cache(segmented):
    repo, whole = segmented, part(segmented, 3).read_bytes()
    part(repo, 3).unlink()
    for command in (("create", "x"), ("init",)):
        refused(repo, None, part(repo, 3), command)
    done = repo.bd("--json", "list", "--all").ok()
    assert "last" not in [b["title"] for b in done.json] and "bd repair" in done.err
    part(repo, 3).write_bytes(whole)
    assert titles(repo)[-1:] == ["last"]


def test_an_additional_segment(segmented):
    repo = segmented
    part(repo, 5).write_bytes(b"")
    drop_cache(repo)
    assert storage_error(repo.bd("--json", "create", "x"))["code"] == "corrupt"
    done = repo.bd("--json", "list", "--all").ok()
    assert [b["title"] for b in done.json][-1:] == ["last"] and "bd repair" in done.err
    part(repo, 5).unlink()
    part(repo, 4).write_bytes(b"")  # begun and not written: whoever did so died
    assert titles(repo)[-1:] == ["last"]
    repo.create("next", "--id", "b-next")
    drop_cache(repo)
    assert titles(repo)[-1:] == ["next"]
    assert_sound(repo)


def test_an_empty_segment_is_used_again(segmented):
    """The same, with a cache of the state before."""
    repo = segmented
    part(repo, 4).write_bytes(b"0123")
    assert titles(repo)[-1:] == ["last"]
    repo.create("next", "--id", "b-next")
    assert part(repo, 4).read_bytes().count(b"\n") == 2  # how the one before ended, and the record
    drop_cache(repo)
    assert titles(repo)[-1:] == ["next"]
    assert_sound(repo)


def test_sectors_lost_before_the_sync_end_the_journal(small):
    """A power failure may lose any sectors of an unsynced record: it counts as never written."""
    repo = small
    repo.create("long", "--id", "b-long", "-d", "x" * 3000)
    whole = repo.journal.read_bytes()
    start = records(whole)[-2]
    sectors = range(start // 512, len(whole) // 512)
    assert len(sectors) > 4
    for sector in sectors:
        low, high = max(start, sector * 512), (sector + 1) * 512
        repo.journal.write_bytes(whole[:low] + bytes(high - low) + whole[high:])
        drop_cache(repo)
        assert titles(repo) == ["0", "1", "2"], sector
        assert repo.json("validate")["ok"], sector
        repo.create("after", "--id", "b-after")
        assert titles(repo) == ["0", "1", "2", "after"], sector
        assert_sound(repo)


def test_sectors_lost_far_from_the_end_are_damage(small):
    """A power failure cannot have lost data before a later sync: nothing is dropped without a report."""
    repo = small
    start = records(repo.journal.read_bytes())[-1]
    for n in range(11):
        repo.create("large", "-d", "x" * 100000)
    whole = repo.journal.read_bytes()
    sector = -(-start // 512) * 512
    repo.journal.write_bytes(whole[:sector] + bytes(512) + whole[sector + 512:])
    drop_cache(repo)
    read_on(repo, start, ["0", "1", "2"])
    refused(repo, start, command=("create", "next"))
