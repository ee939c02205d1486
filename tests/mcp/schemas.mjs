/* Checks documents with ajv against the schemas that the program prints. */
// usage: node schemas.mjs NODE_MODULES PROGRAM FOLDER
// FOLDER has documents NAME.KIND, one JSON value each; of those named MUTATE-* every
// member is spoilt in turn, which the schema has to refuse. A schema allows keys that it does
// not name, as later versions may add some. Checked once more without that permission, the
// documents show that the schemas name every key of this version.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, program, folder] = process.argv.slice(2);
const Ajv = createRequire(modules + '/')('ajv/dist/2020').default;
let passed = 0, failed = 0;

function check(what, good) {
	if (good) passed++; else { failed++; console.log('FAIL json_schema:', what); }
}

const NEVER_NULL = ['severity', 'title', 'key', 'evidence', 'recommendation', 'is_part', 'count', 'calls'];
const OPTIONAL = ['notes', 'sql', 'reason', 'per_iteration', 'exposed_ms', 'blocking_ms', 'same_stream_comm_ms', 'metrics.gpu_idle.table',
	'metrics.capture_quality.recapture', 'metrics.capture_quality.preset'];
const print = (...a) => execFileSync(program, ['schema-json', ...a], { encoding: 'utf8', maxBuffer: 1 << 26 });
const schemas = {}, valid = {}, open = {};

/** The schema with all its objects closed. */
function closed(x) {
	if (!x || typeof x !== 'object') return x;
	if (Array.isArray(x)) return x.map(closed);
	const y = Object.fromEntries(Object.entries(x).map(([k, v]) => [k, closed(v)]));
	if ([x.type].flat().includes('object') && x.properties && !('additionalProperties' in x))
		y.additionalProperties = false;
	return y;
}

for (const name of print().trim().split('\n')) {
	schemas[name] = JSON.parse(print(name));
	try {
		open[name] = new Ajv({ strict: true }).compile(schemas[name]);
	} catch (e) {
		check(`${name} in strict mode: ${e.message}`, false);
	}
	valid[name] = new Ajv({ strict: false }).compile(closed(schemas[name]));
}

/** The schema of a member. */
function at(schema, path) {
	for (const k of path)
		schema = typeof k === 'number' ? schema?.items : schema?.properties?.[k] ?? schema?.additionalProperties;
	return schema;
}

function* members(x, path = []) { /* all objects of a document, of a list only the first row */
	for (const k of Array.isArray(x) ? [0].filter(() => x.length) : Object.keys(x)) {
		yield [x, k, [...path, k]];
		if (x[k] && typeof x[k] === 'object' && !['sql', 'capabilities', 'tables'].includes(k))
			yield* members(x[k], [...path, k]);
	}
}

function mutate(file, kind, d) {
	const refused = what => check(`${file}: ${what}`, !valid[kind](d));
	for (const [x, k, path] of [...members(d)]) {
		const was = x[k], where = path.join('.');
		x[k] = [[]];
		refused(`${where} may not be a list of lists`);
		if (typeof was === 'string' && at(schemas[kind], path)?.enum) {
			x[k] = 'no such word';
			refused(`${where} may not be another word`);
		}
		if (NEVER_NULL.includes(k)) {
			x[k] = null;
			refused(`${where} may not be null`);
		}
		x[k] = was;
	}
	for (const [x, path] of [[d, []], ...[...members(d)].map(([y, k, path]) => [y[k], path])].filter(([x]) => x?.constructor === Object)) {
		x['no such key'] = 1;
		refused(`no such key in {${Object.keys(x).slice(0, 4)}}`);
		/* otherwise it is a map, whose values have a type */
		if (!at(schemas[kind], path)?.additionalProperties)
			check(`${file}: another key in {${Object.keys(x).slice(0, 4)}} is not taken`, open[kind]?.(d));
		delete x['no such key'];
	}
	for (const [x, k, path] of [...members(d)].filter(([x]) => !Array.isArray(x))) {
		const was = x[k];
		delete x[k];
		if (x.present === true && ![k, path.join('.')].some(p => OPTIONAL.includes(p)) || typeof path.at(-2) === 'number')
			refused(`${path.join('.')} may not be missing`);
		x[k] = was;
	}
}

for (const file of readdirSync(folder).sort()) {
	const kind = file.split('.').pop();
	if (!(kind in valid)) continue;
	const text = readFileSync(`${folder}/${file}`, 'utf8');
	if (!text || text.startsWith('{\n  "error"')) continue;
	const d = JSON.parse(text);
	const good = valid[kind](d), e = valid[kind].errors?.[0];
	check(`${file}: ${e?.message} ${JSON.stringify(e?.params)} at ${e?.instancePath}`, good);
	if (kind === 'report') check(`${file}: findings`, valid.findings(d.findings ?? []));
	if (file.startsWith('MUTATE-') && good) mutate(file, kind, d);
}
console.log(`json_schema: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
