"""Clients of upstream's bd, from the npm registry and from PyPI, driven with our bd in upstream's dialect."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, BUILD, environment, git
from test_mcp_clients import PATIENCE, new_enough, npm

HERE = pathlib.Path(__file__).resolve().parent / "clients" / "upstream"
CACHE = pathlib.Path(os.environ.get("ABACUS_NPM", BUILD / "npm")).resolve().parent / "upstream-clients"
MODULES = CACHE / "node_modules"
PYTHON = CACHE / "python"
PACKAGES = ["beads-mcp==1.3.2", "pydantic-settings"]


def fresh(mark, wanted):
    return mark.exists() and mark.read_text() == wanted


@pytest.fixture(scope="session")
def npm_clients():
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_text()
    mark = CACHE / "npm.installed"
    if not fresh(mark, wanted):
        (CACHE / "package.json").write_text(wanted)
        npm(cache=CACHE)
        mark.write_text(wanted)
    for script in HERE.iterdir():
        shutil.copy(script, CACHE / script.name)
    return CACHE


@pytest.fixture(scope="session")
def node(npm_clients):
    program = shutil.which("node")
    if not program or not new_enough(program, 18):
        pytest.skip("there is no Node 18 or newer")
    return program


@pytest.fixture(scope="session")
def mcp_client():
    """beads-mcp and the imports of its client, without the framework of its server."""
    PYTHON.mkdir(parents=True, exist_ok=True)
    mark = CACHE / "python.installed"
    wanted = " ".join([sys.version, *PACKAGES])
    if fresh(mark, wanted):
        return PYTHON
    for words in (["--no-deps", PACKAGES[0]], PACKAGES[1:]):
        try:
            done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", str(PYTHON), *words],
                                  capture_output=True, text=True, timeout=PATIENCE)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"PyPI is not at hand: {error}")
        if done.returncode:
            pytest.skip(f"PyPI is not at hand: {(done.stderr.splitlines() or ['pip failed'])[-1]}")
    mark.write_text(wanted)
    return PYTHON


@pytest.fixture
def drive(tmp_path):
    folder = tmp_path / "proj"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "ann")

    def run(*words, init=True, **env):
        path = os.pathsep.join([str(BIN), os.environ["PATH"]])
        env = environment(NO_COLOR=1, BD_JSON_DIALECT="upstream", BEADS_BACKEND="bd", **env) | {"HOME": str(tmp_path), "PATH": path}
        if init:
            subprocess.run([str(BIN / "bd"), "init", "-q", "--prefix", "bd"], cwd=folder, env=env, check=True, capture_output=True)
        done = subprocess.run([*map(str, words), str(folder)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr

    return run


def test_beads_sdk(node, npm_clients, drive):
    drive(node, npm_clients / "sdk.mjs")


def test_beads_ui(node, npm_clients, drive):
    drive(node, npm_clients / "ui.mjs")


def test_beads_village(npm_clients, drive):
    drive(sys.executable, npm_clients / "village.py", init=False, PYTHONPATH=MODULES / "beads-village")


def test_beads_mcp(mcp_client, drive):
    drive(sys.executable, HERE / "mcp.py", init=False, PYTHONPATH=mcp_client)
