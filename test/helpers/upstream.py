"""The files that upstream's bd leaves in a repository and in the settings of hosts: hooks, a merge driver, JSONL."""
import json
import os
import pathlib
import subprocess

from conftest import BIN, environment, git

HOOKS = ["pre-commit", "post-merge", "pre-push", "post-checkout", "prepare-commit-msg"]


def shim(command):
    """A hook of 0.4x: a few lines that hand over to bd."""
    return lambda name: f"""#!/usr/bin/env sh
# bd-shim v1
# bd-hooks-version: 0.49.3
if ! command -v bd >/dev/null 2>&1; then
    echo "Warning: bd command not found in PATH, skipping {name} hook" >&2
    exit 0
fi
exec {command} {name} "$@"
"""


def section(name):
    """A hook of 1.x: the user's own lines, and a section between markers."""
    return f"""#!/usr/bin/env sh
# --- BEGIN BEADS INTEGRATION v1.0.5 ---
# This section is managed by beads. Do not remove these markers.
if command -v bd >/dev/null 2>&1; then
  export BD_GIT_HOOK=1
  _bd_timeout=${{BEADS_HOOK_TIMEOUT:-300}}
  if command -v timeout >/dev/null 2>&1; then
    timeout "$_bd_timeout" bd hooks run {name} "$@"
    _bd_exit=$?
    if [ $_bd_exit -eq 124 ]; then
      echo >&2 "beads: hook '{name}' timed out after ${{_bd_timeout}}s"
      _bd_exit=0
    fi
  else
    bd hooks run {name} "$@"
    _bd_exit=$?
  fi
  if [ $_bd_exit -eq 3 ]; then
    echo >&2 "beads: database not initialized, skipping hook '{name}'"
    _bd_exit=0
  fi
  if [ $_bd_exit -ne 0 ]; then exit $_bd_exit; fi
fi
# --- END BEADS INTEGRATION v1.0.5 ---
"""


def inline(name):
    """A hook of 0.2x: it calls the commands of bd itself, and stops Git if they fail."""
    calls = {"pre-commit": "bd sync --flush-only >/dev/null 2>&1 || { echo 'Error: Failed to flush' >&2; exit 1; }",
             "post-merge": "bd sync --import-only >/dev/null 2>&1 || echo 'Warning: Failed to sync' >&2",
             "pre-push": "bd sync --flush-only || { echo 'Error: Failed to flush' >&2; exit 1; }"}
    return f"#!/bin/sh\n# bd-hooks-version: 0.24.0\n# bd (beads) {name} hook\n{calls.get(name, ':')}\nexit 0\n"


STYLES = {"0.24": inline, "0.49 hook": shim("bd hook"), "0.49 hooks run": shim("bd hooks run"), "1.x": section}


def issue(id, title="title", updated="2026-01-02T03:04:05Z", **more):
    """A line of issues.jsonl."""
    return {"id": id, "title": title, "status": "open", "priority": 2, "issue_type": "task",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": updated, **more}


def lines(*issues):
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in issues)


class Workspace:
    """A repository that upstream's bd has set up, with our bd first in PATH."""

    def __init__(self, path, style, hooks_path=None):
        self.path = pathlib.Path(path)
        self.path.mkdir()
        self.file = self.path / ".beads" / "issues.jsonl"
        git(self.path, "init", "-q", "-b", "main")
        self.file.parent.mkdir()
        self.file.write_text(lines(issue("proj-a")))
        (self.path / ".gitattributes").write_text(".beads/issues.jsonl merge=beads\n")
        git(self.path, "config", "merge.beads.driver", "bd merge %A %O %A %B")
        git(self.path, "config", "merge.beads.name", "bd JSONL merge driver")
        self.hooks = self.path / (hooks_path or ".git/hooks")
        self.hooks.mkdir(parents=True, exist_ok=True)
        if hooks_path:
            git(self.path, "config", "core.hooksPath", hooks_path)
        for name in HOOKS:
            self.hook(name, STYLES[style](name))

    def hook(self, name, text):
        file = self.hooks / name
        file.write_text(text)
        file.chmod(0o755)

    def run(self, *words, code=0, **env):
        done = subprocess.run(words, cwd=self.path, capture_output=True, text=True, timeout=60, env=environment(
            GIT_AUTHOR_NAME="ann", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="ann", GIT_COMMITTER_EMAIL="a@b",
            GIT_CONFIG_NOSYSTEM="1", GIT_EDITOR="true", **env) | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"})
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def quiet(self, *words):
        """Runs a command that succeeds and prints no error."""
        done = self.run(*words)
        for word in ("error", "warning", "fatal", "unknown", "beads:", "traceback"):
            assert word not in (done.stdout + done.stderr).lower(), done.stdout + done.stderr
        return done

    def issues(self):
        return {one["id"]: one for one in map(json.loads, self.file.read_text().splitlines())}

    def write(self, *issues):
        self.file.write_text(lines(*issues))
        self.quiet("git", "commit", "-qam", "issues")
