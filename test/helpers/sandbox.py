"""Runs commands where some folders cannot be written, as in the sandboxes of agents' hosts."""
import shutil
import subprocess

import pytest

from conftest import BIN, Result, environment

MOUNTS = ('n=$1; shift; while [ "$n" -gt 0 ]; do mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99; '
          'shift; n=$((n-1)); done; exec "$@"')


def inside(folders, *command, mount=MOUNTS, flags="-rm"):
    """The command, in a mount namespace of its own in which the folders are read-only."""
    return ["unshare", flags, "sh", "-c", mount, "sh", str(len(folders)), *map(str, folders), *command]


def sandboxes_work():
    if not shutil.which("unshare"):
        return False
    return subprocess.run(inside(["/etc"], "true"), capture_output=True).returncode == 0


needs_sandbox = pytest.mark.skipif(not sandboxes_work(), reason="this user may not make mount namespaces")


class Sandbox:
    """The commands of a repository, with folders that they cannot write to."""

    def __init__(self, repo, *folders, cwd=None, mount=MOUNTS, flags="-rm"):
        self.repo, self.folders, self.cwd, self.mount, self.flags = repo, folders, cwd or repo.path, mount, flags

    def argv(self, program, *args):
        return inside(self.folders, str(BIN / program), *args, mount=self.mount, flags=self.flags)

    def run(self, *args, program="bd", env=None, stdin=b""):
        return Result(subprocess.run(self.argv(program, *args), input=stdin, capture_output=True, timeout=60,
                                     cwd=self.cwd, env=environment(**{**self.repo.env, **(env or {})})))

    def json(self, *args, **kw):
        return self.run("--json", *args, **kw).ok().json

    def fails(self, *args, **kw):
        done = self.run("--json", *args, **kw)
        assert done.code != 0, done.out
        return done.error

    def shell(self, script, **env):
        """A script, in one sandbox; its last line of output is not interpreted."""
        path = {"PATH": f"{BIN}:{environment()['PATH']}"}
        return Result(subprocess.run(inside(self.folders, "sh", "-ec", script, mount=self.mount, flags=self.flags), stdin=subprocess.DEVNULL,
                                     capture_output=True, timeout=60, cwd=self.cwd,
                                     env=environment(**{**self.repo.env, **path, **env})))
