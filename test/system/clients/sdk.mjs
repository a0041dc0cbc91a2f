// The library of the `initialize` revisions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { drive, server } from "./drive.mjs";

const client = new Client({ name: "test", version: "1" });

await client.connect(new StdioClientTransport(server));
await drive(client, { pong: await client.ping() });
