// duckdb.mjs - DuckDB makes a Parquet file of each table of a report, as examples/metrics says, and
// reads from it as many rows and columns as the CSV file has.
// usage: node duckdb.mjs NODE_MODULES TABLES COUNTS, where COUNTS has lines "FILE ROWS COLUMNS"
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, tables, counts] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(modules + '/')('@duckdb/node-api');
const db = await (await DuckDBInstance.create(':memory:')).connect();
const rows = async (sql) => (await db.run(sql)).getRows();
for (const line of readFileSync(counts, 'utf8').trim().split('\n')) {
	const [file, nrows, ncolumns] = line.split(' ');
	await db.run(`COPY (FROM read_csv('${tables}/${file}')) TO 'table.parquet'`);
	const n = (await rows("SELECT count(*) FROM 'table.parquet'"))[0][0];
	const c = (await rows("DESCRIBE FROM 'table.parquet'")).length;
	if (String(n) !== nrows || String(c) !== ncolumns) {
		console.log(`${file}: ${n} rows of ${c}, not ${nrows} of ${ncolumns}`);
		process.exitCode = 1;
	}
}
