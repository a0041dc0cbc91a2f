// The library of the stateless revision, held to it: no falling back.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { drive, server } from "./drive.mjs";

const mode = process.argv[5] === "auto" ? "auto" : { pin: "2026-07-28" };
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });

await client.connect(new StdioClientTransport(server));
await drive(client, { version: client.getNegotiatedProtocolVersion?.() });
