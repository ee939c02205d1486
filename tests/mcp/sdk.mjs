/* Uses every tool, resource and prompt through the official client, which checks each */
// answer against the schema that the tool gives.
// usage: node sdk.mjs NODE_MODULES PROGRAM ROOT CALLS.json
import { readFileSync } from 'node:fs';
const [modules, program, root, calls] = process.argv.slice(2);
const sdk = `${modules}/@modelcontextprotocol/sdk/dist/esm/client`;
const { Client } = await import(`${sdk}/index.js`);
const { StdioClientTransport } = await import(`${sdk}/stdio.js`);
let passed = 0, failed = 0;
const check = (what, holds, detail) => {
	if (holds) passed++;
	else { failed++; console.log(`FAIL mcp_clients: ${what}: ${JSON.stringify(detail)?.slice(0, 300)}`); }
};
const client = new Client({ name: 'test', version: '1' });
await client.connect(new StdioClientTransport({ command: program, args: ['mcp', '--root', root] }));
const tools = new Set((await client.listTools()).tools.map((t) => t.name));
for (const [name, args] of JSON.parse(readFileSync(calls))) {
	try {
		const r = await client.callTool({ name, arguments: args });
		check(`${name} ${JSON.stringify(args)}`, !r.isError && r.structuredContent && r.content[0].text, r);
	} catch (e) { check(`${name} ${JSON.stringify(args)}`, false, String(e)); }
	tools.delete(name);
}
check('every tool was called', tools.size === 0, [...tools]);
const wrong = await client.callTool({ name: 'nsys_explain', arguments: { trace: 'nothing.sqlite' } });
check('an error of a tool', wrong.isError && wrong.structuredContent.error.code === 'NO_SUCH_TRACE', wrong);
const { resources } = await client.listResources();
check('resources', resources.length > 0, resources);
for (const { uri } of resources) {
	const { contents } = await client.readResource({ uri });
	check(uri, contents[0].text?.length > 0, contents);
}
for (const p of (await client.listPrompts()).prompts) {
	const named = Object.fromEntries((p.arguments ?? []).map((a) => [a.name, 'synthetic.sqlite']));
	check(`prompt ${p.name}`, (await client.getPrompt({ name: p.name, arguments: named })).messages.length, p);
}
await client.close();
console.log(`${passed} ${failed}`);
