"""The guard at the edit: a host's tool that writes a file which another agent has reserved is refused."""
import json
import time

import pytest

from conftest import git
from harness import patience
from vybe import vybe  # noqa: F401 (a fixture)
from test_vybe_hooks import handle

EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "copilot": "PreToolUse", "vscode": "PreToolUse",
          "gemini": "BeforeTool", "cursor": "preToolUse", "kimi": "PreToolUse", "opencode": "PreToolUse",
          "kilo": "PreToolUse"}


def refusal(host, answer):
    """The reason in the host's own format; None: the tool may run."""
    if not answer or host in ("opencode", "kilo"):
        return answer.rstrip("\n") or None
    said = json.loads(answer)
    if host == "cursor":
        return said["agent_message"] if said.get("permission") == "deny" else None
    if host == "gemini":
        return said["reason"] if said["decision"] == "deny" else None
    inner = said["hookSpecificOutput"]
    assert inner["permissionDecision"] == "deny" and inner["hookEventName"] == "PreToolUse"
    assert host not in ("copilot", "vscode") or said["permissionDecision"] == "deny"
    return inner["permissionDecisionReason"]


def asks(vybe, tool, host="claude", agent="cobalt-harbor", **given):
    return refusal(host, handle(vybe, host=host, agent=agent, hook_event_name=EVENTS[host], session_id="s1",
                                cwd=str(vybe.path), tool_name=tool, tool_input=given))


@pytest.fixture
def reserved(vybe):
    git(vybe.path, "init", "-q", "-b", "main")
    vybe.run("init", program="abacus").ok()
    for args in (("register", "--name", "amber-otter", "--role", "dev"), ("reserve", "--scope", "src/lex/*", "--bead", "b1")):
        vybe.run("agent", *args, program="bb", env={"BB_AGENT_ID": "amber-otter"}).ok()
    return vybe


@pytest.mark.parametrize("host", EVENTS)
def test_every_host_gets_a_refusal_with_owner_end_and_next_step(reserved, host):
    reason = asks(reserved, "Write", host=host, file_path=str(reserved.path / "src/lex/a.c"))
    assert reason.startswith("src/lex/a.c is reserved by agent amber-otter for b1 until 20")
    assert reason.endswith("ask for it: bb agent send amber-otter 'May I change src/lex/a.c?'; "
                           "or wait until it is free: bb agent wait --freed 'src/lex/*'")
    assert asks(reserved, "Write", host=host, file_path=str(reserved.path / "src/other.c")) is None


def test_a_session_is_told_that_the_agents_folder_was_refused(reserved):
    def told(event, **given):
        answer = handle(reserved, host="claude", agent="cobalt-harbor", hook_event_name=event, session_id="s1",
                        cwd=str(reserved.path), **given)
        return "no reservation is checked" in answer

    begin, prompt = ("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": "go on"})
    assert not told(begin[0], **begin[1]) and not told(prompt[0], **prompt[1])
    (reserved.path / ".beadboard/x").write_text("x")
    git(reserved.path, "add", "-f", ".beadboard/x")
    assert told(begin[0], **begin[1]) and told(prompt[0], **prompt[1])
    assert asks(reserved, "Write", file_path=str(reserved.path / "src/lex/a.c")) is None
    git(reserved.path, "rm", "-qf", ".beadboard/x")
    assert not told(prompt[0], **prompt[1])


def test_the_owner_may_write_and_reading_is_never_refused(reserved):
    path = str(reserved.path / "src/lex/a.c")
    assert asks(reserved, "Edit", agent="amber-otter", file_path=path) is None
    assert asks(reserved, "Read", file_path=path) is None
    assert asks(reserved, "Edit", file_path=path)


MANY = " ".join(f"w{i}" for i in range(300))


HARDER = [
    ("cat <<EOF\nx\nEOF\nrm src/lex/a.c", True), ("echo '1 << 2'\nrm src/lex/a.c", True),
    ("cat <<-'A B' <<B\nrm src/lex/a.c\nB\n", False), ("cat <<<x; rm src/lex/a.c", True),
    ("echo $((1<<2)); rm src/lex/a.c", True), (f"rm {MANY} src/lex/a.c", True), (f"echo {MANY} > src/lex/a.c", True),
    ("(cd doc && make); rm src/lex/a.c", True), ("(cd src; rm a.c); rm lex/a.c", False),
    ("rm \\\nsrc/lex/a.c", True), ("make >&src/lex/log", True), ("make &>src/lex/log", True),
    ("make 10>src/lex/log", True), ("make 2>&1 | tee log", False), ("make # > src/lex/a.c", False),
    ("if rm src/lex/a.c; then true; fi", True), ("for i in 1; do rm src/lex/a.c; done", True),
    ("sudo -n rm src/lex/a.c", True), ("env A=1 rm src/lex/a.c", True), ("sed -Ei s/a/b/ src/lex/a.c", True),
    ("sed --in-place s/a/b/ src/lex/a.c", True), ("sed -n p src/lex/a.c", False),
    ("dd if=x of=src/lex/a.c", True), ("truncate -s 0 src/lex/a.c", True), ("ln -sf x src/lex/a.c", True),
    ("bash -c 'cd src && rm lex/a.c'", True), ("sh -ec \"echo 'x' > src/lex/a.c\"", True),
]
HUGE = ["cd a;" * 200_000, "(" * 1_000_000, "<<a " * 200_000, "rm " + "a " * 300_000,
                                     "sh -c '" * 100_000, "\"" * 500_001, ">&" * 500_000, "rm " + "a/" * 200_000 + "x"]


def test_here_documents_groups_quotes_and_many_words_hide_no_write(reserved):
    found = [(command, bool(asks(reserved, "Bash", command=command))) for command, _ in HARDER]
    assert found == HARDER


def test_a_huge_command_is_checked_at_once(reserved):
    for command in HUGE:
        start = time.monotonic()
        assert asks(reserved, "Bash", command=command) is None
        assert time.monotonic() - start < patience(5), command[:20]


def test_a_path_of_many_names_is_answered_at_once(reserved):
    start = time.monotonic()
    assert asks(reserved, "Write", file_path=str(reserved.path / ("a/" * 200_000))) is None
    assert time.monotonic() - start < patience(5)


@pytest.mark.parametrize("command, refused", [
    ("echo x > src/lex/a.c", True), ("echo x >>src/lex/a.c", True), ("make 2>src/lex/log", True),
    ("cat <<EOF >src/lex/a.c\nhello > there\nEOF", True), ("cd src && rm lex/a.c", True),
    ("mv src/lex/a.c src/b.c", True), ("mv a.c src/lex", True), ("cp a.c 'src/lex/b c.c'", True),
    ("sed -i s/a/b/ src/lex/a.c", True), ("sed -i -e s/a/b/ src/lex/a.c", True), ("x | tee src/lex/a.c", True),
    ("git checkout -- src/lex/a.c", True), ("git checkout HEAD~1 -- src/lex/a.c", True), ("git rm src/lex/a.c", True),
    ("git restore src/lex/a.c", True), ("git mv src/lex/a.c b.c", True), ("git restore -SW src/lex/a.c", True),
    ("git checkout src/lex", False), ("git restore --staged src/lex/a.c", False), ("git add src/lex/a.c", False),
    ("git", False), ("git checkout --", False),
    ("true; rm -rf -- src", True), ("FOO=1 touch src/lex/new", True),
    ("cat src/lex/a.c", False), ("cp src/lex/a.c b.c", False), ("sed s/a/b/ src/lex/a.c", False),
    ("make 2>&1 | grep src/lex/a.c", False), ("rm \"$DIR\"/a.c", False), ("echo 'x > src/lex/a.c'", False),
    ("cd \"$X\" && rm src/lex/a.c", False), ("", False)])
def test_a_shell_command_is_refused_if_it_plainly_writes(reserved, command, refused):
    assert bool(asks(reserved, "Bash", command=command)) == refused


def test_a_patch_is_refused_by_the_files_that_it_names(reserved):
    patch = "*** Begin Patch\n*** Update File: src/lex/a.c\n@@\n-a\n+b\n*** End Patch"
    assert asks(reserved, "apply_patch", host="codex", command=["apply_patch", patch])
    assert not asks(reserved, "apply_patch", host="codex", command=["apply_patch", patch.replace("lex", "other")])


def test_a_damaged_store_lets_the_write_through(reserved):
    folder = reserved.path / ".beadboard/agent/reservations"
    (folder / "active.json").write_text("{")
    (folder / "history.jsonl").write_text("damaged\n")
    assert asks(reserved, "Write", file_path=str(reserved.path / "src/lex/a.c")) is None
    assert handle(reserved, stdin=b'{"hook_event_name":"PreToolUse","tool_name":5,"tool_input":[]}') == ""


def test_with_guard_auto_a_free_file_is_reserved_for_the_current_bead(reserved):
    env = {"ABACUS_AGENT": "cobalt-harbor"}
    bead = json.loads(reserved.run("create", "One", "--json", program="bd", env=env).ok().out)["id"]
    path = str(reserved.path / "doc/a.md")
    reserved.run("work", bead, program="abacus", env=env).ok()

    def held():
        reply = json.loads(reserved.run("--json", "agent", "status", program="bb").ok().out)
        return [(one["scope"], one["bead_id"]) for one in reply["data"]["reservations"]
                if one["agent_id"] == "cobalt-harbor"]

    assert asks(reserved, "Write", file_path=path) is None and held() == []
    reserved.run("config", "set", "guard.auto", "true", program="bd", env=env).ok()
    assert asks(reserved, "Write", file_path=path) is None and held() == [("doc/a.md", bead)]
    assert asks(reserved, "Write", file_path=path) is None and held() == [("doc/a.md", bead)]
    assert "cobalt-harbor" in asks(reserved, "Write", agent="jade-finch", file_path=path)
