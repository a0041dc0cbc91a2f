"""bd validate, bd doctor: canonical files, and the store"""
import hashlib
import json
import sqlite3

import pytest

from beads import append, canonical, clock, is_error, ms, wipe_cache
from conftest import git
from remotes import REF, at, commit, published, summed

T = 1767225600000


def bead(name, n=1, **fields):
    return {"_at": [T, n], "_by": "zoe", "created_at": [T, n], "created_by": "zoe", "id": name, "priority": 2,
            "status": "open", "title": name, "type": "task", **fields}


def stone(name, n=5, **fields):
    return {"deleted_at": [T, n], "deleted_by": "zoe", "id": name, **fields}


def dep(x, y, kind="blocks", n=3, **fields):
    return {"_at": [T, n], "_by": "zoe", "created_at": [T, n], "created_by": "zoe", "from": x, "kind": kind, "to": y,
            **fields}


def lines(values):
    return "".join(v if isinstance(v, str) else canonical(v) + "\n" for v in values)


class Files:
    def __init__(self, repo, path):
        self.repo, self.path = repo, path
        path.mkdir()
        self.write()

    def write(self, state=None, tombstones=None, deps=None, meta=None, **raw):
        text = {"state.jsonl": lines(state if state is not None else [bead("bd-a"), bead("bd-b", 2)]),
                "tombstones.jsonl": lines(tombstones if tombstones is not None else []),
                "deps.jsonl": lines(deps if deps is not None else [])}
        about = {"format_version": 1, "prefix": "bd", "prefix_at": [T, 0], "prefix_by": "zoe",
                 "checksums": {k: hashlib.sha256(v.encode()).hexdigest() for k, v in text.items()}}
        for name, content in text.items():
            (self.path / name).write_bytes(content.encode())
        self.meta = about
        (self.path / "meta.json").write_text(canonical(meta or about) + "\n")

    def check(self):
        return self.repo.bd("validate", "--files", str(self.path), "--json")


@pytest.fixture
def files(repo, tmp_path):
    return Files(repo, tmp_path / "files")


def findings(files):
    """All findings as (code, severity, file, line, id), without those about meta.json."""
    done = files.check()
    reply = done.json
    assert sorted(reply) == ["errors", "findings", "ok", "warnings"]
    for f in reply["findings"]:
        assert sorted(f) == ["code", "file", "id", "line", "message", "severity"]
        assert f["message"]
    assert reply["errors"] == sum(f["severity"] == "error" for f in reply["findings"])
    assert reply["warnings"] == sum(f["severity"] == "warning" for f in reply["findings"])
    assert reply["ok"] == (reply["errors"] == 0)
    assert done.code == (0 if reply["ok"] else 1)
    return [(f["code"], f["severity"], f["file"], f["line"], f["id"]) for f in reply["findings"]
            if f["file"] != "meta.json"]


def test_sound_files_have_no_findings(files):
    files.write([bead("bd-a"), bead("bd-b", 2, labels=["x", "y"])], [stone("bd-c")], [dep("bd-a", "bd-b")])
    assert findings(files) == []


@pytest.mark.parametrize("state, want", [
    ([bead("bd-b"), bead("bd-a")], ("unsorted", "error", "state.jsonl", 2, "bd-a")),
    ([bead("bd-a"), bead("bd-a")], ("duplicate_id", "error", "state.jsonl", 2, "bd-a")),
    ([bead("bd-a", status="wip")], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", priority=5)], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", priority=-1)], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", priority="1")], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", priority=1.5)], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", type="story")], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", title=7)], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", labels="x")], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", labels=[1])], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", assignee=3)], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", description=[])], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", notes=[{"id": "n"}])], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", _at=[1])], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", _by="")], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a", created_at="2026-01-01")], ("invalid_field", "error", "state.jsonl", 1, "bd-a")),
    ([bead("bd-a"), bead("bd-b", status="wip")], ("invalid_field", "error", "state.jsonl", 2, "bd-b")),
    ([canonical(bead("bd-a")).replace(",", ", ") + "\n"], ("not_canonical", "error", "state.jsonl", 1, "bd-a")),
    ([canonical(bead("bd-a")).replace("bd-a", "bd-\\u0061") + "\n"],
     ("not_canonical", "error", "state.jsonl", 1, "bd-a")),
    ([canonical(bead("bd-a", labels=["b", "a"])) + "\n"], ("not_canonical", "error", "state.jsonl", 1, "bd-a")),
    ([canonical(bead("bd-a", design=None)) + "\n"], ("not_canonical", "error", "state.jsonl", 1, "bd-a")),
], ids=lambda v: v[0] if isinstance(v, tuple) else "")
def test_each_error_in_state_is_found(files, state, want):
    files.write(state)
    assert want in findings(files)


def test_members_in_another_order_are_not_canonical(files):
    value = bead("bd-a")
    text = "{" + ",".join(f"{canonical(k)}:{canonical(value[k])}" for k in reversed(sorted(value))) + "}\n"
    files.write([text])
    assert ("not_canonical", "error", "state.jsonl", 1, "bd-a") in findings(files)


@pytest.mark.parametrize("text", ["{\n", "not json\n", "[]\n", "7\n", '{"id":"bd-a"\n', '{"a":1,"a":2}\n', "\n", "\ufeff{}\n"])
def test_a_line_that_is_not_a_record_is_an_error_with_its_number(files, text):
    files.write([bead("bd-0"), text])
    got = [f for f in findings(files) if f[1] == "error"]
    assert ("state.jsonl", 2) in [(f[2], f[3]) for f in got]


def test_invalid_utf8_is_an_error_with_its_line_number(files):
    files.write()
    path = files.path / "state.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id":"bd-\xff"}\n')
    assert ("state.jsonl", 3) in [(f[2], f[3]) for f in findings(files) if f[1] == "error"]


def test_a_missing_last_line_end_is_not_canonical(files):
    files.write([canonical(bead("bd-a"))])
    assert ("state.jsonl", 1) in [(f[2], f[3]) for f in findings(files) if f[1] == "error"]


@pytest.mark.parametrize("stones, want", [
    ([stone("bd-y"), stone("bd-x")], ("unsorted", "error", "tombstones.jsonl", 2, "bd-x")),
    ([stone("bd-x"), stone("bd-x")], ("duplicate_id", "error", "tombstones.jsonl", 2, "bd-x")),
    ([stone("bd-x", deleted_by="")], ("invalid_field", "error", "tombstones.jsonl", 1, "bd-x")),
    ([stone("bd-x", deleted_at="now")], ("invalid_field", "error", "tombstones.jsonl", 1, "bd-x")),
    ([stone("bd-x", reason=7)], ("invalid_field", "error", "tombstones.jsonl", 1, "bd-x")),
], ids=lambda v: v[0] if isinstance(v, tuple) else "")
def test_each_error_in_tombstones_is_found(files, stones, want):
    files.write(tombstones=stones)
    assert want in findings(files)


@pytest.mark.parametrize("deps, code, severity, line", [
    ([dep("bd-b", "bd-a"), dep("bd-a", "bd-b", "related")], "unsorted", "error", 2),
    ([dep("bd-a", "bd-b", "related"), dep("bd-a", "bd-b", "blocks")], "unsorted", "error", 2),
    ([dep("bd-a", "bd-b"), dep("bd-a", "bd-b")], "duplicate", "error", 2),
    ([dep("bd-a", "bd-none")], "dangling_dependency", "warning", 1),
    ([dep("bd-none", "bd-a")], "dangling_dependency", "warning", 1),
    ([dep("bd-a", "bd-x")], "orphaned_dependency", "warning", 1),
    ([dep("bd-x", "bd-a")], "orphaned_dependency", "warning", 1),
    ([dep("bd-a", "bd-b", "related", created_by="")], "invalid_field", "error", 1),
    ([dep("bd-a", "bd-b", created_at=7)], "invalid_field", "error", 1),
    ([canonical(dep("bd-a", "bd-b")).replace(":", ": ") + "\n"], "not_canonical", "error", 1),
], ids=lambda v: str(v) if isinstance(v, str) else "")
def test_each_error_in_dependencies_is_found(files, deps, code, severity, line):
    files.write(tombstones=[stone("bd-x")], deps=deps)
    got = [(f[0], f[1], f[2], f[3]) for f in findings(files)]
    assert any(f[0].startswith(code) and f[1:] == (severity, "deps.jsonl", line) for f in got), got


def test_dangling_and_orphaned_edges_are_not_errors(files):
    files.write(tombstones=[stone("bd-x")], deps=[dep("bd-a", "bd-none"), dep("bd-a", "bd-x")])
    assert [f[1] for f in findings(files)] == ["warning", "warning"]


def test_deleted_edges_neither_dangle_nor_form_cycles(files):
    gone = {"deleted_at": [T, 9], "deleted_by": "zoe", "_at": [T, 9]}
    files.write(deps=[dep("bd-a", "bd-b"), dep("bd-b", "bd-a", **gone)])
    assert findings(files) == []


def test_cycles_are_reported(files):
    files.write(deps=[dep("bd-a", "bd-b"), dep("bd-b", "bd-a")])
    got = [f for f in findings(files) if f[0] == "dependency_cycle"]
    assert got and {f[2] for f in got} == {"deps.jsonl"}


def test_a_wrong_checksum_is_reported(files):
    files.write()
    good = (files.path / "meta.json").read_text()
    done = files.check()
    if any(f["file"] == "meta.json" for f in done.json["findings"]):
        pytest.fail(f"meta.json as this test writes it is refused: {done.out}")
    digest = files.meta["checksums"]["state.jsonl"]
    (files.path / "meta.json").write_text(good.replace(digest, "0" * 64))
    assert "checksum" in [f["code"] for f in files.check().json["findings"]]


@pytest.mark.parametrize("name", ["state.jsonl", "tombstones.jsonl", "deps.jsonl", "meta.json"])
def test_a_missing_file_is_an_error(files, name):
    files.write()
    (files.path / name).unlink()
    done = files.check()
    assert done.code == 1
    assert name in [f["file"] for f in done.json["findings"] if f["severity"] == "error"]


def test_meta_has_to_be_an_object_with_a_format_version(files):
    for text in ("{}\n", "[]\n", "x\n", '{"format_version":"1"}\n'):
        (files.path / "meta.json").write_text(text)
        done = files.check()
        assert done.code == 1
        assert "meta.json" in [f["file"] for f in done.json["findings"] if f["severity"] == "error"], text


def test_findings_for_people_say_file_line_and_code(files):
    files.write([bead("bd-b"), bead("bd-a")])
    done = files.repo.bd("validate", "--files", str(files.path))
    assert done.code == 1
    assert "state.jsonl" in done.out and "unsorted" in done.out and "2" in done.out


def test_a_missing_folder_is_an_error(repo):
    is_error(repo.bd("--json", "validate", "--files", repo.path / "absent"), "invalid_argument", 1)


def test_validating_changes_no_file(files):
    files.write([bead("bd-b"), bead("bd-a", status="wip")])
    before = {p.name: p.read_bytes() for p in files.path.iterdir()}
    files.check()
    assert {p.name: p.read_bytes() for p in files.path.iterdir()} == before


# the store

def test_a_sound_store(repo):
    a = repo.create("a")
    repo.create("b", "--deps", a)
    assert repo.json("validate") == {"ok": True, "errors": 0, "warnings": 0, "findings": []}
    assert repo.bd("validate").ok().out == "0 errors, 0 warnings\n"
    got = repo.json("doctor")
    assert got["ok"] is True and all(c["status"] == "ok" for c in got["checks"])


def test_an_edge_to_a_deleted_bead_is_orphaned(repo):
    a = repo.create("a")
    b = repo.create("b", "--deps", a)
    repo.bd("delete", a, "--yes").ok()
    got = repo.json("validate")
    assert (got["ok"], got["errors"], got["warnings"]) == (True, 0, 1)
    assert [(f["code"], f["severity"]) for f in got["findings"]] == [("orphaned_dependency", "warning")]
    assert a in str(got["findings"]) and b in str(got["findings"])


def test_an_edge_to_an_unknown_bead_is_dangling(repo):
    clock(repo)
    a = repo.create("a")
    append(repo, {"deps": [dep(a, "bd-never", n=90)]})
    got = repo.json("validate")
    assert [(f["code"], f["severity"]) for f in got["findings"]] == [("dangling_dependency", "warning")]
    assert repo.bd("validate").ok().out.count("dangling_dependency") == 1


def test_a_stamp_more_than_a_day_ahead_is_reported(repo):
    clock(repo)
    append(repo, {"beads": [bead("bd-far", _at=[ms(d=2), 0], created_at=[ms(d=2), 0])]})
    got = repo.json("validate")
    assert got["errors"] == 0 and "bd-far" in str(got["findings"])
    assert repo.json("status")["clock_ahead_ms"] == 2 * 86400000


def test_a_wrong_cache_is_found(repo):
    repo.create("a", "--id", "bd-a")
    with sqlite3.connect(repo.cache) as db:
        names = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = next(n for n in names if n in ("beads", "bead"))
        db.execute(f"UPDATE {table} SET priority = 0")
    db.close()
    done = repo.bd("doctor", "--json")
    assert (done.code, done.json["ok"]) == (1, False)
    assert [c["code"] for c in done.json["checks"] if c["status"] != "ok"] == ["cache"]
    wipe_cache(repo)
    assert repo.json("doctor")["ok"] is True


# what is published, byte for byte

def rows(name, change):
    """The files with changed lines in one of them, and matching checksums."""
    return lambda files: summed({**files, name: b"".join(change(files[name].splitlines(keepends=True)))})


def row(name, number, change):
    def edit(n):
        value = json.loads(n[number])
        change(value)
        return [*n[:number], canonical(value).encode() + b"\n", *n[number + 1:]]
    return rows(name, edit)


def text(name, number, old, new):
    return rows(name, lambda n: [*n[:number], n[number].replace(old, new, 1), *n[number + 1:]])


def more(name, value):
    return rows(name, lambda n: sorted([*n, canonical(value).encode() + b"\n"]))


def about(change):
    """Another meta.json."""
    def edit(files):
        meta = json.loads(files["meta.json"])
        return {**files, "meta.json": change(meta) or canonical(meta).encode() + b"\n"}
    return edit


def left_out(name):
    return lambda files: {key: data for key, data in files.items() if key != name}


STATE, STONES, DEPS, META = "state.jsonl", "tombstones.jsonl", "deps.jsonl", "meta.json"
PLANTED = {  # how the files were changed, and the finding: its code, severity, file and line
    "lines in another order": (rows(STATE, lambda n: [n[1], n[0], n[2]]), "unsorted", "error", STATE, 2),
    "one id twice": (rows(STATE, lambda n: [n[0], n[0], *n[1:]]), "duplicate_id", "error", STATE, 2),
    "one tombstone twice": (rows(STONES, lambda n: [n[0], n[0]]), "duplicate_id", "error", STONES, 2),
    "one edge twice": (rows(DEPS, lambda n: [n[0], n[0], *n[1:]]), "duplicate_id", "error", DEPS, 2),
    "edges in another order": (rows(DEPS, lambda n: [n[1], n[0]]), "unsorted", "error", DEPS, 2),
    "a space": (text(STATE, 1, b'":', b'": '), "not_canonical", "error", STATE, 2),
    "an escape that is not needed": (text(STATE, 0, b'"title":"', b'"title":"\\u0061'), "not_canonical", "error", STATE, 1),
    "CRLF": (text(STATE, 2, b"\n", b"\r\n"), "not_canonical", "error", STATE, 3),
    "a space in a tombstone": (text(STONES, 0, b'":', b'": '), "not_canonical", "error", STONES, 1),
    "a space in an edge": (text(DEPS, 0, b'":', b'": '), "not_canonical", "error", DEPS, 1),
    "a space in meta.json": (about(lambda meta: json.dumps(meta, sort_keys=True).encode() + b"\n"),
                             "not_canonical", "error", META, 1),
    "no final newline": (rows(STATE, lambda n: [*n[:2], n[2][:-1]]), "not_canonical", "error", STATE, 3),
    "an empty line": (rows(STATE, lambda n: [n[0], b"\n", *n[1:]]), "invalid_json", "error", STATE, 2),
    "no UTF-8": (text(STATE, 1, b'"title":"', b'"title":"\xff'), "invalid_json", "error", STATE, 2),
    "a line that is cut off": (rows(STATE, lambda n: [n[0], n[1][:-9] + b"\n", n[2]]), "invalid_json", "error", STATE, 2),
    "a file that is cut off": (rows(STATE, lambda n: [*n[:2], n[2][:40]]), "invalid_json", "error", STATE, 3),
    "an edge that is cut off": (rows(DEPS, lambda n: [n[0][:30] + b"\n", n[1]]), "invalid_json", "error", DEPS, 1),
    "a member twice": (text(STATE, 0, b'{"', b'{"priority":1,"'), "invalid_json", "error", STATE, 1),
    "no status of ours": (row(STATE, 0, lambda n: n.update(status="wip")), "invalid_field", "error", STATE, 1),
    "a priority out of range": (row(STATE, 1, lambda n: n.update(priority=9)), "invalid_field", "error", STATE, 2),
    "no type of ours": (row(STATE, 1, lambda n: n.update(type="story")), "invalid_field", "error", STATE, 2),
    "a title that is no text": (row(STATE, 1, lambda n: n.update(title=[])), "invalid_field", "error", STATE, 2),
    "no title": (row(STATE, 1, lambda n: n.pop("title")), "invalid_field", "error", STATE, 2),
    "no created_at": (row(STATE, 1, lambda n: n.pop("created_at")), "invalid_field", "error", STATE, 2),
    "no _at": (row(STATE, 1, lambda n: n.pop("_at")), "invalid_field", "error", STATE, 2),
    "a kind of edge that is not known": (row(DEPS, 0, lambda n: n.update(kind="likes")), "invalid_field", "error", DEPS, 1),
    "a deletion by nobody": (row(STONES, 0, lambda n: n.update(deleted_by="")), "invalid_field", "error", STONES, 1),
    "a live bead in a tombstone": (row(STONES, 0, lambda n: n.update(deleted_at=[1, 0])), "invalid_field", "error", STONES, 1),
    "a tombstone of a live bead": (
        rows(STONES, lambda n: [canonical(stone("bd-a", deleted_at=[T * 2, 0])).encode() + b"\n", *n]),
        "duplicate_id", "error", STONES, 1),
    "a bead that is deleted too": (
        lambda files: rows(STATE, lambda n: sorted([*n, canonical(json.loads(files[STONES])["bead"]).encode() + b"\n"]))(files),
        "duplicate_id", "error", STONES, 1),
    "a checksum that is wrong": (about(lambda meta: meta["checksums"].update({DEPS: "0" * 64})), "checksum", "error", META, 1),
    "another file than the checksum is of": (lambda files: {**files, STATE: files[STATE].replace(b"open", b"closed", 1)},
                                             "checksum", "error", META, 1),
    "a checksum that is missing": (about(lambda meta: meta["checksums"].pop(STATE) and None), "checksum", "error", META, 1),
    "another format": (about(lambda meta: meta.update(format_version=2)), "invalid_field", "error", META, 1),
    "no format": (about(lambda meta: meta.pop("format_version") and None), "invalid_field", "error", META, 1),
    "a prefix that is none": (about(lambda meta: meta["prefix"].update(value="..")), "invalid_field", "error", META, 1),
    "meta.json that is no JSON": (about(lambda meta: b"{\n"), "invalid_json", "error", META, 1),
    "meta.json that is empty": (about(lambda meta: b"{}\n"), "invalid_field", "error", META, 1),
    **{f"no {name}": (left_out(name), "missing_file", "error", name, 0) for name in (STATE, STONES, DEPS, META)},
    "an edge to nothing": (more(DEPS, dep("bd-a", "bd-none")), "dangling_dependency", "warning", DEPS, 1),
    "an edge to a deleted bead": (more(DEPS, dep("bd-a", "bd-x")), "orphaned_dependency", "warning", DEPS, 1),
    "a circle": (more(DEPS, dep("bd-a", "bd-b")), "dependency_cycle", "warning", DEPS, 0),
    "a bead that waits for itself": (more(DEPS, dep("bd-a", "bd-a")), "dependency_cycle", "warning", DEPS, 0),
    "marks that are not in their normal form": (row(STATE, 0, lambda n: n.update(_v={"title": [[T * 2, 0], "zoe"]})),
                                                "not_normalized", "warning", STATE, 1),
    "labels in another order": (row(STATE, 0, lambda n: n.update(labels=["b", "a"])), "not_canonical", "error", STATE, 1),
    "a time in the future": (row(STATE, 0, lambda n: n.update(_at=[T * 2, 0])), "clock_skew", "warning", STATE, 1),
}


@pytest.fixture
def synced(repo):
    """Three beads, a tombstone and two edges, published to a ref of this repository."""
    for name in "abcx":
        repo.create(name, "--id", f"bd-{name}")
    repo.bd("dep", "add", "bd-b", "bd-a").ok()
    repo.bd("dep", "add", "bd-c", "bd-a", "--type", "related").ok()
    repo.bd("delete", "bd-x", "--yes").ok()
    repo.json("sync")
    return repo


def found(repo, *args):
    done = repo.bd("validate", "--json", *args)
    reply = done.json
    assert done.code == (0 if reply["ok"] else 1) and reply["ok"] == (reply["errors"] == 0), reply
    return [(f["code"], f["severity"], f["file"], f["line"]) for f in reply["findings"]]


@pytest.mark.parametrize("journal", ["all of it is published", "a bead is not published"])
@pytest.mark.parametrize("how", PLANTED)
def test_errors_on_the_ref_are_found(synced, how, journal):
    """The plain command and --at read the same bytes; neither encodes the store again."""
    change, *want = PLANTED[how]
    files = change(published(synced.path))
    assert files != published(synced.path) and found(synced) == []
    if journal == "a bead is not published":
        synced.create("later")
    git(synced.path, "update-ref", REF, commit(synced.path, files, at(synced.path)))
    assert tuple(want) in found(synced), synced.json("validate")
    assert tuple(want) in found(synced, "--at", "@")
    assert want[1] == "warning" or not synced.bd("doctor", "--json").json["ok"]
    assert synced.ids("list", "--all")[:3] == ["bd-a", "bd-b", "bd-c"]


@pytest.mark.parametrize("how, stops", [("no status of ours", True), ("a line that is cut off", True),
                                        ("a checksum that is wrong", True), ("a kind of edge that is not known", False)])
def test_doctor_says_that_damage_stops_a_sync_and_what_repairs_it(synced, how, stops):
    files = PLANTED[how][0](published(synced.path))
    git(synced.path, "update-ref", REF, commit(synced.path, files, at(synced.path)))
    for _ in range(2):  # before a sync, and after one that failed
        told = {check["code"]: check for check in synced.bd("doctor", "--json").json["checks"]}
        assert (told["sync"]["status"], told["sync"]["fix"]) == (("error", "bd repair") if stops else ("ok", None)), told
        assert told["contents"]["message"] == "1 error and 0 warnings"
        synced.create("later")
        done = synced.bd("sync", "--json")
        assert (done.code, done.json.get("error", {}).get("code")) == ((4, "corrupt") if stops else (0, None)), done.out
        if not stops:
            return
        assert done.json["error"]["message"].endswith(told["sync"]["message"].partition(": ")[2]) or "cut off" in how
    synced.bd("repair", "--apply").ok()
    synced.bd("sync").ok()
    assert {check["status"] for check in synced.bd("doctor", "--json").json["checks"]} == {"ok"}


@pytest.mark.parametrize("name, where", [("bd-a", {"state": [bead("bd-a", status="wip"), bead("bd-b", 2)]}),
                                         ("bd-x", {"tombstones": [stone("bd-x", deleted_by="")]})])
def test_a_dependency_on_an_invalid_line_does_not_dangle(files, name, where):
    files.write(deps=[dep("bd-b", name)], **where)
    assert [f[0] for f in findings(files)] == ["invalid_field"] + ["orphaned_dependency"] * (name == "bd-x")


def test_a_sound_ref_of_another_history_is_sound(synced):
    git(synced.path, "update-ref", REF, commit(synced.path, published(synced.path)))
    assert found(synced) == []


def test_errors_that_the_journal_corrects_are_not_reported(synced):
    files = PLANTED["a circle"][0](published(synced.path))
    git(synced.path, "update-ref", REF, commit(synced.path, files, at(synced.path)))
    synced.json("sync")
    assert [f[0] for f in found(synced)] == ["dependency_cycle"]
    synced.bd("dep", "remove", "bd-b", "bd-a").ok()
    assert found(synced) == [] and [f[0] for f in found(synced, "--at", "@")] == ["dependency_cycle"]


@pytest.mark.parametrize("content", ["garbage\n", "1" * 40 + "\n", ""])
def test_a_ref_that_cannot_be_read_is_a_finding(synced, content):
    (synced.path / ".git" / REF).write_text(content)
    assert found(synced) == [("unreadable", "error", REF, 0)]


@pytest.mark.parametrize("cache", ["kept", "lost"])
@pytest.mark.parametrize("name", ["", "deps.jsonl", "state.jsonl"])
def test_a_commit_that_has_lost_an_object_is_a_finding(synced, name, cache):
    """The repository no longer has the tree, or a file, of the commit that the ref points to."""
    lost = git(synced.path, "rev-parse", f"{REF}:{name}").strip()
    (synced.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    if cache == "lost":
        wipe_cache(synced)
    assert found(synced) == [("unreadable", "error", REF, 0)]
    checks = synced.bd("doctor", "--json").json
    assert not checks["ok"] and lost in str(checks), checks
