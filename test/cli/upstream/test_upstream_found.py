"""Issues of another tracker are mentioned, with the command that imports them, until there are beads."""
import pytest

from conftest import git
from upstream import issue, lines


@pytest.fixture
def found(empty):
    git(empty.path, "init", "-q")
    (empty.path / ".beads").mkdir()
    (empty.path / ".beads" / "issues.jsonl").write_text(lines(issue("proj-a"), issue("proj-b")))
    return empty


@pytest.mark.parametrize("program", ["bd", "abacus"])
def test_init_mentions_other_issues_and_the_command_that_imports_them(found, program):
    assert "in .beads/issues.jsonl; 'bd import'" in found.run("init", program=program).ok().err
    found.run("import", program="bd").ok()
    assert "bd import" not in found.run("init", program=program).ok().err


def test_ready_and_doctor_mention_issues_that_were_not_imported(found):
    found.run("init", "-q", program="bd").ok()
    assert "'bd import'" in found.run("ready", program="bd").ok().err
    checks = {c["code"]: c for c in found.run("doctor", "--json", program="bd").ok().json["checks"]}
    assert checks["import"]["fix"] == "bd import" and "'.beads/issues.jsonl'" in checks["import"]["message"]
    assert found.run("ready", "--json", program="bd").ok().out == "[]\n"
    found.run("import", program="bd").ok()
    assert found.run("ready", program="bd").ok().err == ""
    assert "import" not in [c["code"] for c in found.run("doctor", "--json", program="bd").ok().json["checks"]]


def test_import_chooses_upstreams_dialect_and_says_so_once(found):
    assert "json.dialect" in found.run("import", program="bd").ok().err  # it sets up the store
    assert "json.dialect" not in found.run("import", program="bd").ok().err
    found.run("config", "set", "json.dialect", "specification", program="bd").ok()
    found.run("import", program="bd").ok()
    assert found.run("config", "get", "json.dialect", "--json", program="bd").json["value"] == "specification"
    found.run("config", "unset", "json.dialect", program="bd").ok()
    assert "json.dialect" in found.run("import", program="bd").ok().err


def test_a_dolt_database_is_mentioned_as_one_that_only_upstream_reads(empty):
    git(empty.path, "init", "-q")
    (empty.path / ".beads" / "dolt" / ".dolt").mkdir(parents=True)
    assert "Dolt" in empty.run("init", "-q", program="bd").ok().err
