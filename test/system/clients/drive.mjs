// What a client does with a server, whichever library it comes from. It judges
// nothing: what came back goes to standard output as one JSON object.
import { Ajv2020 } from "ajv/dist/2020.js";

const [, , command, cwd, calls] = process.argv;

export const server = { command, args: ["mcp"], cwd, env: { PATH: process.env.PATH }, stderr: "pipe" };

/** Each schema compiles, and each default and result can be checked with it. */
function compile(tools) {
	const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
	return Object.fromEntries(tools.map((t) => [t.name, {
		input: ajv.compile(t.inputSchema),
		output: ajv.compile(t.outputSchema),
	}]));
}

async function call(client, schemas, { name, arguments: given }) {
	try {
		const result = await client.callTool({ name, arguments: given });
		return {
			name, result,
			input: schemas[name].input(given) || schemas[name].input.errors,
			output: schemas[name].output(result.structuredContent) || schemas[name].output.errors,
		};
	} catch (error) {
		return { name, code: error.code, message: error.message };
	}
}

async function refused(ask) {
	try {
		return { result: await ask };
	} catch (error) {
		return { code: error.code, message: error.message };
	}
}

export async function drive(client, more = {}) {
	const { tools } = await client.listTools();
	const schemas = compile(tools);
	const answers = [];
	for (const c of JSON.parse(calls))
		answers.push(await call(client, schemas, c));
	const { resources } = await client.listResources();
	const { resourceTemplates } = await client.listResourceTemplates();
	const { prompts } = await client.listPrompts();
	const said = {
		...more,
		server: client.getServerVersion(),
		capabilities: client.getServerCapabilities(),
		instructions: client.getInstructions(),
		tools, answers, resources, resourceTemplates, prompts,
		contents: await client.readResource({ uri: "bb://message/1" }),
		summary: await client.readResource({ uri: resources[0].uri }),
		missing: await refused(client.readResource({ uri: "bb://message/99" })),
		prompt: await client.getPrompt({ name: prompts[0].name }),
		completion: await client.complete({
			ref: { type: "ref/resource", uri: "bb://artifact/{path}" },
			argument: { name: "path", value: "fi" },
		}),
		unknown: await refused(client.callTool({ name: "no_such", arguments: {} })),
	};
	const began = Date.now();
	await client.close();
	console.log(JSON.stringify({ ...said, closing: Date.now() - began }));
}
