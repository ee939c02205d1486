// duckdb.mjs - DuckDB reads each table of a report as Parquet and as CSV, and both have the same
// columns and cells in the same order. An apostrophe that CSV puts before a text is taken off.
// usage: node duckdb.mjs NODE_MODULES TABLES
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, tables] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(modules + '/')('@duckdb/node-api');
const db = await (await DuckDBInstance.create(':memory:')).connect();
const rows = async (sql) => (await db.run(sql)).getRows();
const quoted = (name) => '"' + name.replaceAll('"', '""') + '"';
let read = 0;
for (const file of readdirSync(tables).filter((name) => name.endsWith('.csv'))) {
	const parquet = `'${tables}/${file.replace('.csv', '.parquet')}'`;
	const columns = await rows(`DESCRIBE FROM ${parquet}`);
	const cells = columns.map(([name, type]) => type === 'VARCHAR'
		? `coalesce(regexp_replace(${quoted(name)}, '^''', ''), '')` : quoted(name));
	const types = columns.map(([name, type]) => `'${name.replaceAll("'", "''")}': '${type}'`);
	const csv = `read_csv('${tables}/${file}', header = true, quote = '"', escape = '"', ` +
		`parallel = false, columns = {${types}})`;
	const plain = columns.map(([name, type]) => type === 'VARCHAR' ? `coalesce(${quoted(name)}, '')` : quoted(name));
	const a = JSON.stringify((await rows(`SELECT ${plain} FROM ${parquet}`)).map(String));
	const b = JSON.stringify((await rows(`SELECT ${cells} FROM ${csv}`)).map(String));
	if (a !== b) {
		console.log(`${file}: ${a.slice(0, 2000)}\nas CSV: ${b.slice(0, 2000)}`);
		process.exitCode = 1;
	}
	read++;
}
if (!read)
	process.exitCode = 1;
