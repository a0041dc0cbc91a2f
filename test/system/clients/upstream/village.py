"""beads-village: its tools that run bd."""
import asyncio
import json
import sys

from beads_village.tools import issues, lifecycle, maintenance


async def call(tool, **args):
    got = json.loads(await tool(args))
    assert not (isinstance(got, dict) and got.get("error")), (tool.__name__, got)
    return got


async def drive(folder):
    await call(lifecycle.tool_init, ws=folder, role="be", leader=True)
    a = (await call(issues.tool_add, title="a", typ="bug", pri=1, desc="d", tags=["be"]))["id"]
    b = (await call(issues.tool_add, title="b", deps=[f"blocks:{a}"]))["id"]
    c = (await call(issues.tool_add, title="c", pri=3, parent=a))["id"]
    assert [i["id"] for i in (await call(issues.tool_ls, status="ready"))["items"]] == [a, c]
    assert (await call(issues.tool_ls, status="open"))["total"] == 3
    shown = await call(issues.tool_show, id=b)
    assert [(d["id"], d["dependency_type"]) for d in shown[0]["dependencies"]] == [(a, "blocks")]
    await call(issues.tool_assign, id=c, role="fe", notify=False)
    assert (await call(lifecycle.tool_claim))["id"] == a
    assert (await call(issues.tool_ls, status="in_progress"))["items"][0]["id"] == a
    await call(lifecycle.tool_done, id=a, msg="finished")
    assert [i["id"] for i in (await call(issues.tool_ls, status="closed"))["items"]] == [a]
    assert (await call(maintenance.tool_cleanup, days=2))["ok"] == 1
    await call(maintenance.tool_doctor)


asyncio.run(drive(sys.argv[1]))
print("done")
