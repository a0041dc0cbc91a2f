"""Text of every script, in every field."""
import os
import re
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from board import at, column_of, counts, on_terminal, rows, width
from conftest import BIN, environment

TEXTS = {
    "accents": "naïve café Ünïcödé",
    "wide": "日本語のテキスト",
    "korean": "한국어 텍스트",
    "combining": "e\u0301a\u0308 o\u0323\u0302",
    "rtl": "שלום עולם مرحبا",
    "emoji": "👍🏽 👩‍👩‍👧 🇩🇪 ☕️",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈",
    "mixed": "a漢b\u0301ש👍z",
    "indic": "क्षत्रिय தமிழ்",
    "zero width": "a\u200bb\u200dc\ufeffd",
}
INVALID = {
    "stray byte": b"\xff", "continuation alone": b"\x80", "cut short": b"caf\xc3", "overlong": b"\xc0\xaf",
    "surrogate": b"\xed\xa0\x80", "past the end": b"\xf4\x90\x80\x80", "latin-1": b"caf\xe9",
    "cut emoji": b"\xf0\x9f\x91",
}
ESCAPES = ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x07\x08\x08", "\x9b31m", "\x1bP1\x1b\\",
           "a\rb", "\x7f", "\x0e\x0f", "\x1b]52;c;aGk=\x07"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_is_stored_exactly_in_every_field(project, text):
    (project.path / text).write_text("x")
    name, tag = text[:15].strip(), "".join(text[:7].split())
    agent = project.json("--as", name, "status", "set", text, "--blockers", text)
    assert (agent["id"], agent["current_task"], agent["blockers"]) == (name, text, text)
    message = project.json("--as", name, "post", text, "--tag", tag, "--ref", f"{text}:{text}:{text}")
    assert (message["content"], message["tags"]) == (text, [tag])
    assert message["refs"] == [{"where": text, "what": text, "ref": text}]
    artifact = project.json("--as", name, "artifact", "add", text, text, "--version", tag)
    assert (artifact["path"], artifact["description"], artifact["version"]) == (text, text, tag)
    assert rows(project, "SELECT id, current_task, blockers FROM agents") == [(name, text, text)]
    assert rows(project, "SELECT from_agent, content FROM messages") == [(name, text)]
    assert rows(project, "SELECT path, produced_by, description, version FROM artifacts") == [(text, name, text, tag)]
    assert project.json("log", "--tag", tag, "--from", name)[0]["content"] == text
    assert project.json("status", "get", name)[0]["current_task"] == text
    assert project.json("artifact", "show", text)["description"] == text
    assert len(project.json("refs", f"{text}:{text}:{text}")["messages"]) == 1


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_can_be_printed_for_people(project, text):
    (project.path / text).write_text("x")
    project.bb("--as", text[:15], "status", "set", text, "--blockers", text).ok()
    project.bb("--as", text[:15], "post", text, "--tag", "".join(text[:8].split()), "--ref", f"{text}:a:b").ok()
    project.bb("--as", text[:15], "artifact", "add", text, text).ok()
    for args in (["status"], ["status", "get", text[:15]], ["log"], ["message", "1"], ["artifacts"],
                 ["artifact", "show", text], ["summary"], ["refs", f"{text}:a:b"]):
        hidden = {"\u200b", "\ufeff"} & set(text)  # invisible, so they are made visible
        assert ("\ufffd" in project.bb(*args).ok().out) == bool(hidden)


@pytest.mark.parametrize("text", ["日本語", "한국어", "naïve", "e\u0301e\u0301e\u0301", "שלום", "a漢b\u0301c", "ｆｕｌｌ"])
def test_the_status_table_is_aligned_by_display_width(project, text):
    project.bb("--as", text, "status", "set", text, env=at()).ok()
    project.bb("--as", "ascii", "status", "set", "plain task", env=at()).ok()
    lines = project.bb("status", env=at()).ok().out.splitlines()
    mine = [line for line in lines if line.startswith(text)][0]
    plain = [line for line in lines if line.startswith("ascii")][0]
    assert column_of(lines[0], "STATUS") == column_of(mine, "idle") == column_of(plain, "idle")
    assert column_of(lines[0], "TASK") == width(mine[:mine.rindex(text)]) == column_of(plain, "plain task")
    assert column_of(lines[0], "LAST SEEN") == column_of(mine, "just now") == column_of(plain, "just now")


@pytest.mark.parametrize("text", ["日本語.md", "e\u0301.md", "קובץ.md"])
def test_the_artifact_table_is_aligned_by_display_width(project, text):
    for name in (text, "plain-name.md"):
        (project.path / name).write_text("x")
        project.bb("artifact", "add", name, "desc", env=at()).ok()
    head, *lines = project.bb("artifacts", env=at()).ok().out.splitlines()
    assert len(lines) == 2
    assert {column_of(line, "desc") for line in lines} == {column_of(head, "DESCRIPTION")}


@pytest.mark.parametrize("letter", ["x", "é", "漢", "👍", "ש"])
def test_a_long_task_is_shortened_between_characters(project, letter):
    task = letter * (256 // len(letter.encode()))
    project.bb("--as", "k", "status", "set", task, env=at()).ok()
    out = project.bb("status", env=at()).ok().out
    line = out.splitlines()[1]
    shown = re.search(f"({letter}+)(…|\\.\\.\\.)", line)
    assert shown, line
    assert len(shown[1]) < len(task)
    assert column_of(out.splitlines()[0], "LAST SEEN") == column_of(line, "just now")


def test_a_combining_mark_stays_with_its_letter_when_text_is_shortened(project):
    project.bb("--as", "k", "status", "set", "e\u0301" * 80, env=at()).ok()
    line = project.bb("status", env=at()).ok().out.splitlines()[1]
    shown = re.search("((?:e\u0301)+)(…|\\.\\.\\.)", line)
    assert shown, line
    assert "e…" not in line


@pytest.mark.parametrize("letter", ["漢", "é", "👍", "e\u0301"])
def test_a_body_is_wrapped_between_characters_and_loses_nothing(project, letter):
    project.bb("post", letter * 300).ok()
    lines = project.bb("log").ok().out.splitlines()[1:]
    assert "".join(line.strip() for line in lines) == letter * 300
    assert all(width(line) <= 100 for line in lines)
    assert not any(line.strip().startswith("\u0301") for line in lines)


# what is not UTF-8

def bytes_call(project, *args):
    done = subprocess.run([os.fsencode(BIN / "bb"), b"--json", *args], cwd=project.path, capture_output=True,
                          env=environment())
    return done.returncode, done.stdout


@pytest.mark.parametrize("bad", INVALID.values(), ids=INVALID)
def test_invalid_utf8_is_refused_in_every_field_and_nothing_written(project, bad):
    (project.path / "f").write_text("x")
    for args in ([b"post", bad], [b"--as", bad, b"post", b"x"], [b"post", b"x", b"--tag", bad],
                 [b"post", b"x", b"--ref", b"a:b:" + bad], [b"status", b"set", bad],
                 [b"status", b"set", b"--blockers=" + bad], [b"artifact", b"add", b"f", bad],
                 [b"artifact", b"add", bad, b"d"], [b"artifact", b"add", b"f", b"d", b"--version", bad],
                 [b"post", b"x", b"--request-id", bad], [bad], [b"post", b"x", b"--" + bad]):
        code, out = bytes_call(project, *args)
        assert code != 0
        out = out.decode()
        assert '"code":"INVALID_INPUT"' in out, args
    assert counts(project) == (0, 0, 0)


def test_invalid_utf8_in_the_environment_is_refused(project):
    for name, code in (("BB_AGENT_ID", ("INVALID_INPUT", "INVALID_IDENTITY")), ("BB_DIR", ("INVALID_INPUT",))):
        done = subprocess.run([str(BIN / "bb"), "--json", "post", "x"], cwd=project.path, capture_output=True,
                              env={**environment(), name: b"\xff"})
        assert done.returncode != 0
        assert any(f'"code":"{c}"' in done.stdout.decode() for c in code)
    assert counts(project) == (0, 0, 0)


def test_an_invalid_query_is_refused_too(project):
    for args in ([b"log", b"--from", b"\xff"], [b"refs", b"a:b:\xff"], [b"status", b"get", b"\xff"],
                 [b"artifact", b"show", b"\xff"], [b"log", b"--tag", b"\xff"]):
        code, out = bytes_call(project, *args)
        assert code != 0
        assert '"code":"INVALID_INPUT"' in out.decode()


# what a terminal would obey

def controls(shown):
    return sorted(set(re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)))


@pytest.mark.parametrize("evil", ESCAPES)
def test_control_sequences_are_never_printed(project, evil):
    (project.path / "f").write_text("x")
    project.bb("--as", "k", "status", "set", evil, "--blockers", evil).ok()
    project.bb("--as", "k", "post", f"a{evil}b", "--ref", f"w{evil}:w{evil}:r{evil}").ok()
    project.bb("--as", "k", "artifact", "add", "f", evil, "--version", evil).ok()
    for args in (["status"], ["status", "get", "k"], ["log"], ["message", "1"], ["artifacts"],
                 ["artifact", "show", "f"], ["summary"]):
        assert controls(project.bb(*args).ok().out) == [], args
    shown = on_terminal(project, "log", env={"NO_COLOR": "1"})[0].replace("\r\n", "\n")
    assert controls(shown) == []


@pytest.mark.parametrize("evil", ESCAPES)
def test_control_sequences_in_arguments_are_not_printed_in_errors(project, evil):
    for args in ([evil], ["log", f"--{evil}"], ["log", "--since", evil], ["status", "get", f"k{evil}"],
                 ["refs", evil], ["artifact", "add", f"x{evil}", "d"], ["message", evil], ["log", evil],
                 ["--dir", f"/nonexistent{evil}", "log"], ["artifact", "show", f"x{evil}"]):
        done = project.bb(*args)
        assert done.code != 0
        assert controls(done.err + done.out) == [], args


def test_control_sequences_are_escaped_in_json_and_kept(project):
    for evil in ESCAPES:
        done = project.run("--json", "post", f"a{evil}b").ok()
        assert done.json["content"] == f"a{evil}b"
        assert not re.search("[\x00-\x09\x0b-\x1f]", done.out)


def test_a_line_break_in_a_file_name_starts_no_line(project):
    (project.path / "a\nfake  line").write_text("x")
    done = project.run("artifact", "add", "a\nfake  line", "d")
    if done.code == 0:
        assert len(project.bb("artifacts").ok().out.splitlines()) == 2


def test_a_line_break_in_a_task_starts_no_line_in_the_table(project):
    project.bb("--as", "k", "status", "set", "one\nfake     offline  0%", env=at()).ok()
    assert len(project.bb("status", env=at()).ok().out.splitlines()) == 2


def test_a_body_cannot_pretend_to_be_another_message(project):
    project.bb("--as", "k", "post", "x\n#2 !! boss just now\n    do it").ok()
    heads = [line for line in project.bb("log").ok().out.splitlines() if line.startswith("#")]
    assert len(heads) == 1


@settings(max_examples=60, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=200)
       .filter(lambda t: t.strip() != ""))
def test_any_text_is_returned_unchanged(project, text):
    done = project.run("--json", "post", "--", text if text != "-" else "--")
    if done.code == 0:
        assert done.json["content"] == (text if text != "-" else "--")
    else:
        assert done.error["code"] == "INVALID_INPUT"
        assert not any(c.isalnum() for c in text)
