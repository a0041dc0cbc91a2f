"""abacus schema: its declarations, and that replies match them."""
import json

import pytest

from board import at
from conftest import Project

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None),
         "number": (int, float)}


def violations(schema, value, path="$"):
    """The places where a value violates the schema, for the keywords that we use."""
    known = {"type", "properties", "required", "items", "enum", "description", "minimum", "maximum", "default",
             "maxLength", "minLength", "maxItems", "additionalProperties", "pattern", "title", "format", "minItems"}
    found = [f"{path}: keyword {k}" for k in schema if k not in known]
    if "type" in schema:
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(isinstance(value, TYPES[t]) and not (isinstance(value, bool) and t in ("integer", "number"))
                   for t in wanted):
            return found + [f"{path}: {value!r} is not {wanted}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not in {schema['enum']}")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{path}: {k} is missing" for k in schema.get("required", []) if k not in value]
        found += [f"{path}: {k} is not declared" for k in value if properties and k not in properties]
        for k in value.keys() & properties.keys():
            found += violations(properties[k], value[k], f"{path}.{k}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += violations(schema["items"], item, f"{path}[{i}]")
    return found


@pytest.fixture(scope="module")
def schemas(tmp_path_factory):
    place = Project(tmp_path_factory.mktemp("schema"))
    return {s["name"]: s for s in place.run("schema", program="abacus").ok().json}


REPLIES = [
    ("board init", ["init"]), ("board install", ["install"]), ("board install", ["install", "claude", "--write"]),
    ("board install", ["install", "codex", "--user"]), ("board install", ["install", "vscode", "--user"]),
    ("board status", ["status"]), ("board status", ["--as", "k", "status"]),
    ("board status set", ["--as", "k", "status", "set", "T", "--blockers", "b"]),
    ("board status get", ["status", "get", "k"]), ("board status get", ["--as", "k", "status", "get", "k"]),
    ("board status clear", ["status", "clear"]), ("board log", ["log"]), ("board log", ["--as", "j", "log"]),
    ("board log", ["--as", "i", "log", "--unread"]),
    ("board post", ["post", "x", "--tag", "t", "--ref", "a:b:1", "--ref", "a:b:c", "--reply-to", "1"]),
    ("board message", ["message", "1"]), ("board message", ["--as", "h", "message", "1"]),
    ("board artifacts", ["artifacts"]),
    ("board artifact add", ["artifact", "add", "f", "d", "--version", "1", "--ref", "a:b:1"]),
    ("board artifact show", ["artifact", "show", "f"]), ("board refs", ["refs", "a:b:1"]),
    ("board clear", ["clear", "--reset-offline", "--artifacts", "--confirm"]), ("board export", ["export"]),
    ("board summary", ["summary"]), ("board summary", ["--as", "k", "summary"]),
    ("board destroy", ["destroy", "--confirm"]),
]


@pytest.fixture
def busy(project):
    (project.path / "f").write_text("x")
    project.bb("--as", "k", "status", "set", "T", "--blockers", "b", env=at()).ok()
    project.bb("--as", "k", "post", "x", "--tag", "t", "--ref", "a:b:1", "-p", "high", env=at()).ok()
    project.bb("--as", "k", "post", "y", "--reply-to", "1", env=at()).ok()
    project.bb("--as", "k", "artifact", "add", "f", "d", "--ref", "a:b:c", env=at()).ok()
    project.env = at(m=1)
    return project


@pytest.mark.parametrize("name, args", REPLIES, ids=[" ".join(r[1])[:40] for r in REPLIES])
def test_a_reply_matches_its_schema(busy, schemas, name, args):
    assert violations(schemas[name]["output"], busy.json(*args)) == []


def test_an_empty_board_matches_the_schemas(project, schemas):
    for name, args in (("board status", ["status"]), ("board log", ["log"]), ("board artifacts", ["artifacts"]),
                       ("board refs", ["refs", "a:b:1"]), ("board summary", ["summary"]), ("board export", ["export"])):
        assert violations(schemas[name]["output"], project.json(*args)) == []


def test_every_command_has_a_schema_and_a_reply_that_was_checked(schemas):
    checked = {name for name, _ in REPLIES}
    assert {n for n in schemas if n.startswith("board ")} - checked <= {"board read", "board identify"}


def test_the_validator_finds_violations(schemas):
    message = {"id": 1, "from_agent": "k", "content": "x", "tags": [], "priority": "normal", "in_reply_to": None,
               "refs": [], "created_at": "t"}
    schema = schemas["board post"]["output"]
    assert violations(schema, message) == []
    for key, value in (("id", "1"), ("id", True), ("tags", None), ("tags", [1]), ("in_reply_to", "1"), ("refs", [{}])):
        assert violations(schema, {**message, key: value})
    assert violations(schema, {k: v for k, v in message.items() if k != "refs"})
    assert violations(schema, {**message, "more": 1})


def walk(schema):
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from walk(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from walk(value)


def test_input_schemas_are_plain(schemas):
    for name, schema in schemas.items():
        assert schema["input"]["type"] == "object", name
        for part in walk(schema["input"]):
            for keyword in ("$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if"):
                assert keyword not in part, name
            if isinstance(part.get("type"), (str, list)) and "properties" not in part:
                assert isinstance(part["type"], str), name


def test_required_fields_are_declared(schemas):
    for name, schema in schemas.items():
        for part in walk(schema["input"]):
            if isinstance(part.get("required"), list):
                assert set(part["required"]) <= set(part["properties"]), name


def test_every_input_field_is_described(schemas):
    for name, schema in schemas.items():
        for field, part in schema["input"].get("properties", {}).items():
            assert part.get("description"), (name, field)


def test_the_words_of_a_set_are_declared(schemas):
    assert schemas["board post"]["input"]["properties"]["priority"]["enum"] == ["low", "normal", "high", "critical"]
    assert schemas["board status set"]["input"]["properties"]["status"]["enum"] == [
        "idle", "planning", "coding", "testing", "reviewing", "blocked"]
    progress = schemas["board status set"]["input"]["properties"]["progress"]
    assert (progress["minimum"], progress["maximum"]) == (0, 100)


def test_reads_and_writes_are_distinguished(schemas):
    writes = {"init", "install", "destroy", "status set", "status clear", "post", "artifact add", "clear"}
    board = {n.removeprefix("board "): s for n, s in schemas.items() if n.startswith("board ")}
    assert {n for n, s in board.items() if s["mutates"]} == writes
    beads = {n.removeprefix("bead ") for n, s in schemas.items() if n.startswith("bead ") and not s["mutates"]}
    assert beads == {
        "show", "list", "search", "why", "touches", "conflicts", "deleted", "dep list", "dep tree", "dep cycles", "blocked",
        "children", "comments", "label list", "label list-all", "status", "history", "commits", "blame", "diff", "count", "export", "stale", "epic status",
        "graph", "trend", "validate", "where", "info", "version", "config get", "config list"}
    assert {n for n, s in schemas.items() if s["destructive"]} == {"board destroy", "board clear"}


def test_every_write_to_the_board_declares_a_request_id(schemas):
    for name in ("post", "status set", "status clear", "artifact add", "clear"):
        assert "request_id" in schemas[f"board {name}"]["input"]["properties"], name


def test_the_schema_of_one_operation_can_be_printed(empty, schemas):
    got = empty.run("schema", "board", "post", program="abacus").ok().json
    assert got == [schemas["board post"]]
    assert empty.run("--json", "schema", "nope", program="abacus").error["code"] == "NOT_FOUND"


def test_an_error_has_one_shape(project):
    error = json.loads(project.run("--json", "message", "9").out)
    assert violations({"type": "object", "required": ["error"], "properties": {"error": {
        "type": "object", "required": ["code", "message", "details"],
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "details": {"type": "object"}}}}},
        error) == []
