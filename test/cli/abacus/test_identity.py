"""One identity on every face: options, environment variables, and their order."""
import json

import pytest

OPTIONS = ["--as", "--actor", "--agent"]
VARIABLES = ["ABACUS_AGENT", "BD_ACTOR", "BEADS_ACTOR", "BB_AGENT_ID", "VYBE_AGENT"]
OWN_FIRST = {
    "bd": ["BD_ACTOR", "BEADS_ACTOR", "ABACUS_AGENT", "BB_AGENT_ID", "VYBE_AGENT"],
    "bb": ["BB_AGENT_ID", "ABACUS_AGENT", "BD_ACTOR", "BEADS_ACTOR", "VYBE_AGENT"],
    "vybe": ["VYBE_AGENT", "ABACUS_AGENT", "BD_ACTOR", "BEADS_ACTOR", "BB_AGENT_ID"],
    "abacus": ["ABACUS_AGENT", "BD_ACTOR", "BEADS_ACTOR", "BB_AGENT_ID", "VYBE_AGENT"],
}


@pytest.fixture
def crowd(repo):
    repo.env = {}
    repo.bd("init", program="bb").ok()
    return repo


def actor_of(crowd, program, *options, env=None):
    """The actor that a write of this program is recorded under."""
    if program == "bd":
        return crowd.bd("create", "x", "--json", *options, env=env).ok().json["created_by"]
    if program == "bb":
        return crowd.bd("post", "x", "--json", *options, program="bb", env=env).ok().json["from_agent"]
    if program == "vybe":
        done = crowd.bd("memory", "set", "--key", "k", "--value", "v", "--request-id", "r", *options,
                        program="vybe", env=env).ok()
        events = crowd.bd("events", "list", *options, program="vybe", env=env).ok().json["data"]["events"]
        assert done.json["success"]
        return events[-1]["agent_name"]
    return crowd.bd("whoami", "--json", *options, program="abacus", env=env).ok().json["actor"]


@pytest.mark.parametrize("program", OWN_FIRST)
@pytest.mark.parametrize("option", OPTIONS)
def test_every_face_takes_the_actor_by_every_option(crowd, program, option):
    assert actor_of(crowd, program, option, "zed", env={"ABACUS_AGENT": "other"}) == "zed"


@pytest.mark.parametrize("program", OWN_FIRST)
@pytest.mark.parametrize("variable", VARIABLES)
def test_every_face_takes_the_actor_from_every_variable(crowd, program, variable):
    assert actor_of(crowd, program, env={variable: "zed"}) == "zed"


@pytest.mark.parametrize("program", OWN_FIRST)
def test_the_own_variables_of_a_face_come_first(crowd, program):
    order = OWN_FIRST[program]
    for i in range(len(order)):
        env = {variable: f"from-{k}" for k, variable in enumerate(order) if k >= i}
        assert actor_of(crowd, program, env=env) == f"from-{i}", order[i]
        if program == "vybe":
            crowd.bd("memory", "delete", "--key", "k", "--request-id", f"d{i}", program="vybe", env=env)


def test_an_empty_variable_names_no_actor(crowd):
    assert actor_of(crowd, "bb", env={"BB_AGENT_ID": "", "BD_ACTOR": "zed"}) == "zed"


def test_the_board_posts_as_human_only_without_a_named_actor(crowd):
    assert actor_of(crowd, "bb") == "human"


@pytest.mark.parametrize("env, args, source", [
    ({}, ["--as", "zed"], "--as"),
    ({"BB_AGENT_ID": "zed"}, [], "BB_AGENT_ID"),
    ({"ABACUS_AGENT": "zed", "BB_AGENT_ID": "other"}, [], "ABACUS_AGENT"),
    ({"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "zed"}, [],
     "git config user.name"),
    ({"USER": "zed"}, [], "login"),
])
def test_whoami_says_where_the_name_came_from(crowd, env, args, source):
    got = crowd.bd("whoami", "--json", *args, program="abacus", env=env).ok().json
    assert got["source"] == source


def test_whoami_names_the_git_user(crowd):
    (crowd.path / ".git" / "config").open("a").write("[user]\n\tname = Jane Doe\n")
    got = crowd.bd("whoami", "--json", program="abacus").ok().json
    assert (got["actor"], got["source"]) == ("Jane Doe", "git config user.name")
    assert crowd.bd("whoami", program="abacus").ok().out.startswith("Jane Doe (from git config user.name), ")


def test_whoami_lists_claims_reservations_and_mail(crowd):
    env = {"ABACUS_AGENT": "amber-otter"}
    for name in ("amber-otter", "cobalt-harbor"):
        crowd.bd("agent", "register", "--name", name, "--role", "backend", program="bb").ok()
    bead = crowd.create("Write the parser", env=env)
    crowd.bd("claim", bead, env=env).ok()
    crowd.bd("agent", "reserve", "--scope", "src/*", "--bead", bead, program="bb", env=env).ok()
    crowd.bd("agent", "send", "--from", "cobalt-harbor", "--to", "amber-otter", "--bead", bead, "--category",
             "HANDOFF", "--subject", "s", "--body", "b", program="bb").ok()
    crowd.bd("post", "hello", program="bb").ok()
    got = crowd.bd("whoami", "--json", program="abacus", env=env).ok().json
    assert got["registered"] is True and got["role"] == "backend" and got["liveness"] == "active"
    assert [(c["id"], c["title"]) for c in got["claims"]] == [(bead, "Write the parser")]
    assert [(r["scope"], r["bead_id"]) for r in got["reservations"]] == [("src/*", bead)]
    assert (got["unread_mail"], got["mail_to_accept"], got["unread_posts"]) == (1, 1, 1)
    text = crowd.bd("whoami", program="abacus", env=env).ok().out
    assert text.startswith("amber-otter (from ABACUS_AGENT), registered as backend, active\n")
    assert bead in text and "src/*" in text and "1 unread message" in text


def test_whoami_works_without_any_store(empty):
    got = empty.run("whoami", "--json", "--as", "zed", program="abacus").ok().json
    assert got == {"actor": "zed", "source": "--as", "renamed_from": None, "registered": False, "role": None,
                   "liveness": None, "claims": [], "reservations": [], "unread_mail": 0, "mail_to_accept": 0, "unread_posts": 0}


def test_an_mcp_server_takes_the_actor_from_every_variable(crowd):
    for server in ("bb", "abacus"):
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                     "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
                 {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                  "params": {"name": "bb_post_message", "arguments": {"content": "x"}}}]
        crowd.bd("mcp", program=server, env={"ABACUS_AGENT": f"from-{server}"},
                 stdin="".join(json.dumps(line) + "\n" for line in lines).encode()).ok()
        assert crowd.bd("log", "--json", program="bb").ok().json[0]["from_agent"] == f"from-{server}"
