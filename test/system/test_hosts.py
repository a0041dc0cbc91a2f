"""Real hosts, with a stand-in for their model on loopback; test/hosts/run does the same manually. Claude Code and
Gemini CLI are installed if npm is available, the others with ABACUS_THOROUGH=1."""
import os
import sys

import pytest

from conftest import BIN, ROOT
from test_mcp_clients import CACHE, absent

sys.path.insert(0, str(ROOT / "test/hosts"))
from hosts import HOSTS, Missing  # noqa: E402
from session import CHECKS, verify  # noqa: E402

USUAL = {"claude": ["first", "compacted", "listed", "guarded"], "gemini": ["first", "guarded"]}  # what ./check has time for


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_gets_the_start_prompt_and_mail_and_calls_our_tools(name, tmp_path):
    thorough = os.environ.get("ABACUS_THOROUGH")
    if name not in USUAL and not thorough:
        pytest.skip("driven with ABACUS_THOROUGH=1")
    host = HOSTS[name](CACHE / "hosts")
    try:
        host.install()
    except Missing as why:
        absent(why)
    verify(host, tmp_path, BIN, only=CHECKS if thorough else USUAL[name])
