"""Time, hashes, journal records and canonical files, for the tests of bd."""
import hashlib
import json

from board import at, ms, stamp  # noqa: F401  (for the tests)

PUBLIC = ["id", "title", "description", "status", "priority", "type", "labels", "assignee", "assignee_at",
          "assignee_expires", "created_at", "created_by", "created_on_branch", "updated_at", "updated_by", "closed_at",
          "closed_by", "closed_reason", "closed_on_branch", "design", "acceptance_criteria", "external_ref",
          "source_repo", "notes", "content_hash"]
ECOSYSTEM = ["issue_type", "close_reason", "comments", "dependency_count", "dependent_count", "comment_count",
             "parent"]
HASHED = ["id", "title", "description", "status", "priority", "type", "labels", "assignee", "assignee_expires",
          "design", "acceptance_criteria", "notes", "created_at", "created_by", "created_on_branch", "closed_at",
          "closed_by", "closed_reason", "closed_on_branch", "external_ref", "source_repo"]


def clock(repo, **ago):
    """Sets the time of all further commands, as an offset from T0."""
    repo.env = {**repo.env, **at(**ago)}


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def other_id(old, created_at, created_by):
    """The new id of a bead that loses an id conflict."""
    digest = hashlib.sha256(canonical([old, created_at, created_by]).encode()).digest()
    value, digits = int.from_bytes(digest, "big"), ""
    while len(digits) < 50:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    if len(old) + 5 > 200:  # it cannot get longer
        return f"{old[:149]}-{digits}"
    prefix, _, suffix = old.rpartition("-")
    return f"{prefix}-{(digits * 5)[:len(suffix) + 4]}"


def content_hash(bead):
    """The hash of a bead as section 8.5.1 of the specification defines it."""
    public = {key: bead[key] for key in HASHED}
    public["labels"] = sorted(bead["labels"])
    public["notes"] = sorted(({k: n[k] for k in ("id", "content", "author", "at")} for n in bead["notes"]),
                             key=lambda note: note["id"])
    return hashlib.sha256(canonical(public).encode()).hexdigest()


def crc32c(data, seed=0):
    crc = seed ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def record(value, before=0):
    """A line of the journal; its checksum continues that of the line before."""
    text = canonical(value).encode()
    return b"%08x %s\n" % (crc32c(text, before), text)


def append(repo, value):
    """Appends a record to the journal, as another process would."""
    last = repo.journal.read_bytes().splitlines()[-1]
    with repo.journal.open("ab") as journal:
        journal.write(record(value, int(last[:8], 16)))


def snapshot(path):
    """The content of every file below a folder, by path."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


STORES = {}


def prepared(repo, build):
    """A store made by `build`. It is made once and then copied, because starting programs takes most of the time."""
    if build not in STORES:
        reply = build(repo)
        STORES[build] = snapshot(repo.home), repo.env, reply
        return reply
    files, repo.env, reply = STORES[build]
    for file in repo.home.iterdir():
        file.unlink()
    for name, data in files.items():
        if not name.endswith("-shm"):
            (repo.home / name).write_bytes(data)
            (repo.home / name).chmod(0o600)
    return reply


def wipe_cache(repo):
    for file in repo.home.glob("cache.db*"):
        file.unlink()


def is_error(done, code, status):
    """With --json, the command printed one error object on stdout, with this code and exit status."""
    assert done.code == status, f"exit {done.code}, not {status}\n{done.out}{done.err}"
    reply = done.json
    assert list(reply) == ["error"]
    assert sorted(reply["error"]) == ["code", "details", "hint", "message", "retryable"]
    error = reply["error"]
    assert error["code"] == code, error
    assert done.out.count("\n") == 1 and done.out.endswith("\n")
    assert isinstance(error["message"], str) and error["message"]
    assert isinstance(error["hint"], str) and error["hint"]
    assert isinstance(error["details"], dict)
    assert isinstance(error["retryable"], bool)
    return error
