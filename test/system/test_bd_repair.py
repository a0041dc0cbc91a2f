"""`bd repair` on a damaged journal: the damaged files are kept, every record with a valid checksum is saved, even
after the damage, and each lost record is reported."""
import pytest

from bead_harness import NOW, Store, assert_sound, drop_cache, faulty  # noqa: F401
from harness import crash_steps
from remotes import bare, clone, sync
from test_bd_crash import killed, run
from test_bd_journal import read_on, records, refused, segmented, large_store, part  # noqa: F401


@pytest.fixture
def store(plain_repo):
    """A journal of six records: the prefix, and five beads."""
    repo = plain_repo
    repo.env["ABACUS_NOW"] = NOW
    repo.bd("init", "--prefix", "b").ok()
    for n in range(5):
        repo.create(f"bead {n}", "--id", f"b-{n}", "--request-id", f"r{n}")
    return repo


def repaired(repo, *args):
    """The report about the journal of a repair with --apply."""
    done = repo.bd("--json", "repair", "--apply", *args).ok().json
    journal = done["journal"]
    assert done["applied"] and journal["applied"] and journal["kept_as"].startswith("journal.*.damaged_"), done
    return journal


def actions(journal):
    return [(r["offset"], r["action"]) for r in journal["records"]]


def titles(repo):
    return [b["title"] for b in repo.json("list", "--all", "-n", "0")]


def kept_files(repo):
    return {p.name.split(".damaged_")[0]: p.read_bytes() for p in repo.home.glob("journal.*.damaged_*")}


def goes_on(repo):
    """No damage is left: journal and cache agree, and writes work."""
    before = titles(repo)
    drop_cache(repo)
    assert titles(repo) == before
    assert_sound(repo)
    repo.create("afterwards", "--id", "b-after")
    assert titles(repo) == before + ["afterwards"]
    assert "journal" not in repo.bd("--json", "repair").ok().json


def flips(whole):
    """One position of every kind in each record: the start of the record, the position, and its kind."""
    starts = records(whole)
    for n, (start, end) in enumerate(zip(starts, starts[1:])):
        for at in (start, start + 3, start + 7):
            yield n, at, "checksum"
        yield n, start + 8, "blank"
        for at in (start + 9, (start + end) // 2, end - 2):
            yield n, at, "text"
        yield n, end - 1, "end"


def test_a_flip_in_every_kind_of_place(store):
    """A damaged checksum or line end loses nothing; damaged text loses that one record, which is reported."""
    repo, kept = store, Store(store)
    drop_cache(repo)
    whole, before = repo.journal.read_bytes(), kept.keep()
    starts, all_titles = records(whole), [f"bead {n}" for n in range(5)]
    for n, at, kind in flips(whole):
        for mask in (1, 0x80):
            kept.put_back(before)
            damaged = whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1:]
            repo.journal.write_bytes(damaged)
            journal = repaired(repo)
            assert kept_files(repo) == {"journal.1": damaged}, (n, at)
            lost = kind == "text"
            expected = [t for i, t in enumerate(all_titles, 1) if not (lost and i == n)]
            assert titles(repo) == expected, (n, at, kind, journal)
            assert journal["lost"] == int(lost) and journal["salvaged"] == 6 - lost, (n, at, kind, journal)
            assert (starts[n], "set_aside" if lost else "kept") in actions(journal), (n, at, kind, journal)
        goes_on(repo)


def test_without_apply_nothing_is_changed(store):
    repo, whole = store, store.journal.read_bytes()
    starts = records(whole)
    damaged = whole.replace(b"bead 2", b"bead X")
    repo.journal.write_bytes(damaged)
    drop_cache(repo)
    report = repo.bd("--json", "repair").ok().json
    assert not report["applied"] and not report["journal"]["applied"] and report["journal"]["kept_as"] is None
    assert actions(report["journal"]) == [(starts[3], "set_aside")]
    assert "bead X" in report["journal"]["records"][0]["text"]
    assert repo.journal.read_bytes() == damaged and not kept_files(repo)
    said = repo.bd("repair").ok().out
    assert f"journal.1, byte {starts[3]}: set aside" in said and "5 records saved, 1 lost" in said, said
    read_on(repo, starts[3], ["bead 0", "bead 1"])
    refused(repo, starts[3], command=("create", "x"))


def test_the_doctor_repairs_with_fix(store):
    repo, whole = store, store.journal.read_bytes()
    repo.journal.write_bytes(whole.replace(b"bead 2", b"bead X"))
    drop_cache(repo)
    assert repo.run("doctor", "--json").json["ok"] is False
    done = repo.run("doctor", "--fix", "--json")
    assert done.code == 0 and done.json["ok"] is True, done
    assert list(kept_files(repo)) == ["journal.1"] and titles(repo) == ["bead 0", "bead 1", "bead 3", "bead 4"]
    goes_on(repo)


def test_several_damaged_places(store):
    repo, whole = store, store.journal.read_bytes()
    starts = records(whole)
    damaged = whole.replace(b"bead 0", b"bead X").replace(b"bead 3", b"bead Y")
    repo.journal.write_bytes(damaged)
    drop_cache(repo)
    read_on(repo, starts[1], [])
    journal = repaired(repo)
    assert actions(journal) == [(starts[1], "set_aside"), (starts[4], "set_aside")]
    assert titles(repo) == ["bead 1", "bead 2", "bead 4"]
    goes_on(repo)


@pytest.mark.parametrize("filler", [b"\0", b"X", b"\xff", b"\n"])
def test_a_damaged_region_across_the_end_of_a_record(store, filler):
    """The destroyed record is lost. The record after it can no longer be checked: it is kept, and reported."""
    repo, whole = store, store.journal.read_bytes()
    starts = records(whole)
    a, b = starts[3] - 40, starts[3] + 60
    repo.journal.write_bytes(whole[:a] + filler * (b - a) + whole[b:])
    drop_cache(repo)
    journal = repaired(repo)
    assert titles(repo) == ["bead 0", "bead 3", "bead 4"]
    assert (starts[2], "set_aside") in actions(journal) and (starts[4], "unverified") in actions(journal)
    goes_on(repo)


def test_cut_at_every_place_of_a_sealed_file(segmented):  # noqa: F811
    """A file that others follow ends with a whole record; a missing end is reported."""
    repo, kept = segmented, Store(segmented)
    whole = part(repo, 2).read_bytes()
    starts, everything = records(whole), {b["id"] for b in repo.json("list", "--all", "-n", "0", "--fields", "id")}
    drop_cache(repo)
    before = kept.keep()
    for cut, said in ((starts[-2] + 50, "set_aside"), (starts[-2], "missing"), (0, "missing")):
        kept.put_back(before)
        part(repo, 2).write_bytes(whole[:cut])
        journal = repaired(repo)
        assert said in [a for _, a in actions(journal)] or cut == 0, journal
        assert kept_files(repo)["journal.2"] == whole[:cut] and set(kept_files(repo)) == {"journal.1", "journal.2",
                                                                                        "journal.3"}
        assert "b-last" in {b["id"] for b in repo.json("list", "--all", "-n", "0", "--fields", "id")} <= everything
    goes_on(repo)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_damage_in_sealed_and_active_files(segmented, n):  # noqa: F811
    repo, whole = segmented, part(segmented, n).read_bytes()
    everything = repo.json("list", "--all", "-n", "0", "--fields", "id,title")
    at = whole.index(b'"title":"') + 9
    lost = whole[at:whole.index(b'"', at)].decode()
    part(repo, n).write_bytes(whole[:at] + b"~" + whole[at + 1:])
    drop_cache(repo)
    assert "bd repair" in repo.bd("list").ok().err
    journal = repaired(repo)
    assert journal["lost"] == 1, actions(journal)
    left = repo.json("list", "--all", "-n", "0", "--fields", "id,title")
    gone = [b for b in everything if b not in left]
    assert [b["title"] for b in gone] == [lost], gone
    completed = [r["text"] for r in journal["records"] if r["action"] == "completed"]
    assert completed in ([], [gone[0]["id"]]), "a bead of which something is left gets a title anew"
    goes_on(repo)


def test_a_missing_file_is_reported(segmented):  # noqa: F811
    repo = segmented
    part(repo, 2).unlink()
    drop_cache(repo)
    journal = repaired(repo)
    assert [(r["file"], r["action"]) for r in journal["records"]][:1] == [("journal.2", "missing")], journal
    assert titles(repo)[-1:] == ["last"]
    goes_on(repo)


def test_changes_of_a_bead_whose_first_record_is_lost_are_kept(store):
    repo = store
    repo.bd("update", "b-1", "-d", "described").ok()
    repo.bd("comment", "b-1", "noted").ok()
    repo.bd("dep", "add", "b-2", "b-1").ok()
    repo.bd("delete", "b-3", "--yes").ok()
    repo.bd("dep", "add", "b-0", "b-4").ok()
    whole = repo.journal.read_bytes()
    damaged = whole
    for n in (1, 3, 4):
        damaged = damaged.replace(f'"title":"bead {n}"'.encode(), f'"title":"BEAD {n}"'.encode(), 1)
    repo.journal.write_bytes(damaged)
    drop_cache(repo)
    journal = repaired(repo)
    assert [r["text"] for r in journal["records"] if r["action"] == "completed"] == ["b-1"], journal
    bead = repo.show("b-1")
    assert (bead["description"], bead["notes"][0]["content"], bead["status"]) == ("described", "noted", "open")
    assert "lost" in bead["title"] and repo.show("b-2")["dependency_count"] == 1
    assert repo.fails("show", "b-3")["code"] in ("deleted", "not_found")
    repo.bd("--json", "sync").ok()
    drop_cache(repo)
    assert repo.show("b-1")["description"] == "described"


def test_requests_are_still_recognised(store):
    repo = store
    repo.journal.write_bytes(repo.journal.read_bytes().replace(b'"title":"bead 1"', b'"title":"bead X"'))
    drop_cache(repo)
    repaired(repo)
    again = repo.create("bead 3", "--id", "b-3", "--request-id", "r3")
    assert again == "b-3" and titles(repo).count("bead 3") == 1


@pytest.fixture
def shared(tmp_path):
    """A clone that has published two beads, pulled one of another clone, and written one more."""
    remote = bare(tmp_path / "beads.git")
    anna, ben = clone(tmp_path / "anna", remote), clone(tmp_path / "ben", remote)
    anna.create("one", "--id", "b-1")
    anna.create("two", "--id", "b-2")
    sync(anna)
    ben.create("theirs", "--id", "b-3")
    sync(ben)
    sync(anna)
    anna.create("own", "--id", "b-4")
    return anna


def test_damage_to_published_records_loses_nothing(shared):
    repo, everything = shared, titles(shared)
    assert sorted(everything) == ["one", "own", "theirs", "two"]
    whole = repo.journal.read_bytes()
    repo.journal.write_bytes(whole.replace(b'"title":"one"', b'"title":"oXe"', 1))
    drop_cache(repo)
    done = repo.bd("--json", "list", "--all").ok()
    assert {b["title"] for b in done.json} >= {"one", "two", "theirs"} and "bd repair" in done.err
    journal = repaired(repo)
    assert journal["lost"] == 0 and "published" in [a for _, a in actions(journal)], journal
    assert titles(repo) == everything
    sync(repo)
    goes_on(repo)


def test_the_record_of_the_published_commit_damaged(shared):
    """The ref then says which commit contains everything before it."""
    repo, everything = shared, titles(shared)
    whole = repo.journal.read_bytes()
    assert whole.count(b'{"base":{"commit"') >= 2
    repo.journal.write_bytes(whole.replace(b'{"base":{"commit"', b'{"base":{"cOmmit"'))
    drop_cache(repo)
    journal = repaired(repo)
    assert journal["lost"] == 0, journal
    assert titles(repo) == everything
    sync(repo)
    goes_on(repo)


def test_a_missing_journal_of_a_published_store(shared):
    repo = shared
    for n in repo.home.glob("journal.*"):
        n.unlink()
    done = repo.bd("--json", "list", "--all").ok()
    assert {b["title"] for b in done.json} == {"one", "two", "theirs"} and done.err
    journal = repo.bd("--json", "repair", "--apply").ok().json.get("journal")
    assert journal and [r["action"] for r in journal["records"]] == ["missing"], journal
    assert sorted(titles(repo)) == ["one", "theirs", "two"]
    goes_on(repo)


def test_a_repair_killed_at_any_step_can_be_repeated(store, faulty, tmp_path):  # noqa: F811
    """Nothing more is lost, and the run that completes reports all losses."""
    repo, kept = store, Store(store)
    whole = repo.journal.read_bytes()
    starts = records(whole)
    repo.journal.write_bytes(whole.replace(b"bead 2", b"bead X"))
    drop_cache(repo)
    before, counted = kept.keep(), tmp_path / "counted"
    run(repo, faulty, "--json", "repair", "--apply", ABACUS_FAULT_COUNT=counted).ok()
    steps = int(counted.read_text())
    assert steps > 3
    for n in crash_steps(steps):
        kept.put_back(before)
        done = run(repo, faulty, "--json", "repair", "--apply", ABACUS_FAULT_AT=n)
        if not killed(done):
            assert n == steps
            continue
        again = repo.bd("--json", "repair", "--apply").ok().json
        if "journal" in again:
            assert (starts[3], "set_aside") in actions(again["journal"]), (n, again)
            assert again["journal"]["lost"] == 1, (n, again)
        assert titles(repo) == ["bead 0", "bead 1", "bead 3", "bead 4"], n
        assert any(b"bead X" in text for text in kept_files(repo).values()), n
        goes_on(repo)
