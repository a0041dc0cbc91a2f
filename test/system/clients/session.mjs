// A whole session through the default profile of `abacus mcp`, with the library that is named: resume, claim, reserve,
// comment, close. It judges nothing: the answers go to standard output as one JSON object.
const [, , command, cwd, library, agent] = process.argv;
const sdk = library === "sdk";
const { Client } = await import(sdk ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StdioClientTransport } = await import(sdk ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
const options = sdk ? {} : { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const client = new Client({ name: "test", version: "1" }, options);

await client.connect(new StdioClientTransport({ command, args: ["mcp"], cwd, env: { PATH: process.env.PATH }, stderr: "pipe" }));
const { tools } = await client.listTools();
const call = async (name, given) => {
	const { structuredContent } = await client.callTool({ name, arguments: { ...given, agent } });
	return structuredContent;
};
const resumed = await call("vybe_resume", { request_id: "r1" });
const claimed = await call("bd_ready", { claim: true });
const bead = claimed.data[0].id;
const reserved = await call("agent_files", { action: "reserve", scope: "src/*", bead });
const noted = await call("bd_comment", { id: bead, text: "half done" });
const released = await call("agent_files", { action: "release", scope: "src/*" });
const closed = await call("bd_close", { ids: [bead], reason: "done" });
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name), steps: { resumed, claimed, reserved, noted, released, closed } }));
