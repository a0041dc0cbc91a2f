"""Shared by the tests of continuity."""
import itertools
import json

import pytest

from conftest import Repo

counter = itertools.count()


class Vybe(Repo):
    """A repository with `vybe` commands. BD_ACTOR is unset for them, so that it does not name their agent."""

    def run(self, *args, program="bd", env=None, **kw):
        if program == "vybe":
            env = {"BD_ACTOR": "", **(env or {})}
        return super().run(*args, program=program, env=env, **kw)

    def vybe(self, *args, agent="w-1", request=None, **kw):
        """The reply of a command, successful or not. Each call gets a new request id by default."""
        who = ["--agent", agent] if agent else []
        id = ["--request-id", request or f"r{next(counter)}"] if request is not False else []
        done = self.run(*args, *who, *id, program="vybe", **kw)
        assert done.out.count("\n") == 1, done.out + done.err
        reply = json.loads(done.out)
        assert reply["schema_version"] == "v1" and reply["success"] == (done.code == 0) and done.code in (0, 1)
        for line in done.err.splitlines():
            json.loads(line)
        return reply

    def ok(self, *args, **kw):
        reply = self.vybe(*args, **kw)
        assert reply["success"], reply
        assert list(reply) in (["schema_version", "success", "data"], ["schema_version", "success", "data", "replayed"])
        return reply["data"]

    def refused(self, *args, **kw):
        reply = self.vybe(*args, **kw)
        assert list(reply) == ["schema_version", "success", "error", "error_code", "error_context", "suggested_action"]
        assert reply["error"] and reply["suggested_action"]
        return reply["error_code"]

    def task(self, title="a task", *args, **kw):
        return self.ok("task", "create", "--title", title, *args, **kw)["task"]

    def get(self, id):
        return self.ok("task", "get", "--id", id, agent=None, request=False)

    def push(self, **content):
        kw = {k: content.pop(k) for k in ("agent", "request") if k in content}
        return self.ok("push", "--json", json.dumps(content), **kw)

    def resume(self, *args, **kw):
        return self.ok("resume", *args, **kw)


@pytest.fixture
def vybe(plain_repo):
    plain_repo.__class__ = Vybe
    return plain_repo
