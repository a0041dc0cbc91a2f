"""The same session as session.mjs, with the official Python library. It checks nothing."""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

command, cwd, agent = sys.argv[1:]


async def main():
    async with stdio_client(StdioServerParameters(command=command, args=["mcp"], cwd=cwd)) as (reads, writes):
        async with ClientSession(reads, writes) as client:
            await client.initialize()
            tools = [tool.name for tool in (await client.list_tools()).tools]

            async def call(name, **given):
                result = await client.call_tool(name, {**given, "agent": agent})
                return json.loads(result.content[0].text)

            steps = {"resumed": await call("vybe_resume", request_id="r1"), "claimed": await call("bd_ready", claim=True)}
            bead = steps["claimed"]["data"][0]["id"]
            steps["reserved"] = await call("agent_files", action="reserve", scope="src/*", bead=bead)
            steps["noted"] = await call("bd_comment", id=bead, text="half done")
            steps["released"] = await call("agent_files", action="release", scope="src/*")
            steps["closed"] = await call("bd_close", ids=[bead], reason="done")
            print(json.dumps({"tools": tools, "steps": steps}))


asyncio.run(main())
