'use strict';
/* The timeline of a report page. Names reach the page as text only. */
(() => {
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($('meta').textContent);
const canvas = $('lanes'), view = $('view'), told = $('told'), search = $('search');
const ROW = 18, LEFT = 132, RULER = 22, CLASSES = meta.classes;
/* A class is told by its letter and its stripes as well as by its colour. */
const LETTERS = ['K', 'N', 'C', 'R', 'L', 'W', 'A'], STRIPED = [1, 2, 5];
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
let colours = {}, lanes = [], rows = [], width = 0, from = 0, to = meta.length, picked = null, selected = null, current = -1, queued = false;

/* Numbers ------------------------------------------------------------------- */
const three = (x) => String(+x.toPrecision(x >= 100 ? Math.floor(Math.log10(x)) + 1 : 3));
function time(ns) {
	const a = Math.abs(ns);
	if (a < 1e3) return ns.toFixed(0) + ' ns';
	if (a < 1e6) return three(ns / 1e3) + ' µs';
	if (a < 1e9) return three(ns / 1e6) + ' ms';
	return three(ns / 1e9) + ' s';
}
/* As Nsight Systems shows it: seconds of the trace's own clock. */
function instant(ns) {
	const at = BigInt(meta.origin) + BigInt(Math.round(ns)), minus = at < 0n, a = minus ? -at : at;
	return (minus ? '-' : '') + a / 1000000000n + '.' + String(a % 1000000000n).padStart(9, '0').slice(0, 6) + 's';
}

/* Data ---------------------------------------------------------------------- */
function bytes(base64) {
	const text = atob(base64), out = new Uint8Array(text.length);
	for (let i = 0; i < out.length; i++) out[i] = text.charCodeAt(i);
	return out;
}
function numbers(data, at, n) {
	const out = new Float64Array(n);
	for (let i = 0, p = at; i < n; i++) {
		let value = 0, scale = 1, b;
		do { b = data[p++]; value += (b & 127) * scale; scale *= 128; } while (b > 127);
		out[i] = value;
	}
	return out;
}
function unpackLane(data, lane) {
	const start = numbers(data, lane.at[0], lane.n), length = numbers(data, lane.at[1], lane.n);
	const name = Uint32Array.from(numbers(data, lane.at[2], lane.n)), sums = {};
	for (let i = 1; i < lane.n; i++) start[i] += start[i - 1];
	for (let i = 0; i < lane.n; i++) {
		const cls = meta.names[name[i]][1];
		if (!sums[cls]) sums[cls] = new Float64Array(lane.n + 1);
	}
	for (const cls of Object.keys(sums))
		for (let i = 0; i < lane.n; i++)
			sums[cls][i + 1] = sums[cls][i] + (meta.names[name[i]][1] === +cls ? length[i] : 0);
	return {...lane, start, length, name, sums};
}
async function unpack() {
	const text = $('events').textContent.trim();
	if (!text) return;
	if (typeof DecompressionStream === 'undefined') {
		$('detail').textContent += ' This browser cannot unpack the events; the overview is complete.';
		return;
	}
	const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream('deflate'));
	const data = new Uint8Array(await new Response(stream).arrayBuffer());
	lanes = meta.lanes.map((lane) => unpackLane(data, lane));
}

/* First index whose value is at least x. */
function lower(values, x) {
	let lo = 0, hi = values.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (values[mid] < x) lo = mid + 1; else hi = mid;
	}
	return lo;
}
/* Events of a lane that touch [a, b): one that began earlier may reach in. */
function touching(lane, a, b) {
	let i = lower(lane.start, a);
	for (let k = 0; k < 16 && i > 0 && lane.start[i - 1] + lane.length[i - 1] > a; k++) i--;
	return [i, lower(lane.start, b)];
}

/* Rows ---------------------------------------------------------------------- */
function makeRows() {
	rows = [];
	if (meta.findings.some((f) => f.windows.length)) rows.push({label: 'findings', draw: drawFindings});
	if (meta.iterations.length) rows.push({label: 'iterations', draw: drawIterations});
	meta.gpus.forEach((gpu, i) => {
		const over = bytes(gpu.overview);
		rows.push({label: gpu.label, gpu: i, over, draw: drawOverview});
		addCurves(i);
		for (const lane of lanes) if (lane.gpu === i) rows.push({label: lane.label, lane, draw: drawLane});
	});
	for (const lane of lanes) if (lane.gpu < 0) rows.push({label: lane.label, lane, draw: drawLane});
	addCurves(-1);
}
function addCurves(gpu) {
	for (const curve of meta.curves) if (curve.gpu === gpu) rows.push({label: curve.label, curve: {...curve, at: bytes(curve.at)}, draw: drawCurve});
}
const x = (ns) => LEFT + (ns - from) * (width - LEFT) / (to - from);
const at = (px) => from + (px - LEFT) * (to - from) / (width - LEFT);

function drawFindings(g, y) {
	g.fillStyle = colours.mark;
	for (let i = meta.findings.length; i-- > 0;) for (const w of meta.findings[i].windows) { /* the first is seen best */
		if (w[1] <= from || w[0] >= to) continue;
		const a = Math.max(LEFT, x(w[0])), b = Math.min(width, Math.max(a + 3, x(w[1])));
		g.clearRect(a - 1, y + 3, b - a + 2, ROW - 6);
		g.fillStyle = colours.mark;
		g.fillRect(a, y + 3, b - a, ROW - 6);
		if (b - a > 12) label(g, String(i + 1), a, b, y);
	}
}
function drawIterations(g, y) {
	meta.iterations.forEach((it, i) => {
		if (it[1] <= from || it[0] >= to) return;
		const a = Math.max(LEFT, x(it[0])), b = Math.min(width, x(it[1]));
		g.fillStyle = it[3] ? colours.classes[5] : it[2] ? colours.classes[3] : colours.idle;
		g.fillRect(a, y + 4, Math.max(1, b - a - 1), ROW - 8);
		if (b - a > 40) label(g, String(i), a, b, y);
	});
}
/* Shares of the time by class, stacked; the last class is idle. */
function drawOverview(g, y, row) {
	const bins = meta.bins, n = meta.parts;
	for (let px = LEFT; px < width; px++) {
		const a = Math.max(0, Math.floor(at(px) / meta.length * bins)), b = Math.min(bins - 1, Math.floor(at(px + 1) / meta.length * bins));
		const sum = new Array(n).fill(0);
		for (let i = a; i <= b; i++) for (let k = 0; k < n; k++) sum[k] += row.over[i * n + k];
		let base = y + ROW - 2, all = sum.reduce((p, q) => p + q, 0);
		for (let k = 0; k < n && all; k++) {
			const h = sum[k] / all * (ROW - 3);
			g.fillStyle = colours.parts[k];
			g.fillRect(px, base - h, 1, h);
			base -= h;
		}
		if (sum[n - 1] && sum[n - 1] * 50 < all) { /* a gap too short to be seen is a tick */
			g.fillStyle = colours.ink;
			g.fillRect(px, y, 1, 2);
		}
	}
}
const part = (curve, ns) => Math.max(0, Math.min(curve.at.length - 1, Math.floor(ns / meta.length * curve.at.length)));
function drawCurve(g, y, row) {
	const {at: values} = row.curve;
	g.fillStyle = colours.classes[3];
	for (let px = LEFT; px < width; px++) {
		let most = 0;
		for (let i = part(row.curve, at(px)); i <= part(row.curve, at(px + 1)); i++) most = Math.max(most, values[i] - 1);
		g.fillRect(px, y + ROW - 2, 1, -most / 254 * (ROW - 4));
	}
}
function tellCurve(curve, ns) {
	const v = curve.at[part(curve, ns)], x = (v - 1) / 254 * curve.full;
	told.textContent = curve.label + ' at ' + instant(ns) + ': ' + (!v ? 'not sampled' : curve.unit === 'B' ? three(x / 1e9) + ' GB' : three(x) + ' ' + curve.unit) + '.';
}
function drawLane(g, y, row) {
	const lane = row.lane, [first, last] = touching(lane, from, to);
	if (last - first < 4000) {
		for (let i = first; i < last; i++) drawEvent(g, y, lane, i);
		return;
	}
	for (let px = LEFT; px < width; px++) { /* the class with most time in the column */
		const a = lower(lane.start, at(px)), b = lower(lane.start, at(px + 1));
		let best = -1, most = 0;
		for (const cls of Object.keys(lane.sums)) {
			const sum = lane.sums[cls][b] - lane.sums[cls][a];
			if (sum > most) { most = sum; best = +cls; }
		}
		const i = a - 1;
		if (best < 0 && i >= 0 && lane.start[i] + lane.length[i] > at(px)) best = meta.names[lane.name[i]][1];
		if (best < 0) continue;
		g.fillStyle = colours.fills[best];
		g.fillRect(px, y + 2, 1, ROW - 4);
	}
}
function drawEvent(g, y, lane, i) {
	const a = Math.max(LEFT, x(lane.start[i])), b = Math.min(width, x(lane.start[i] + lane.length[i]));
	const name = meta.names[lane.name[i]];
	if (b < LEFT || a > width) return;
	g.globalAlpha = search.value && !name[0].toLowerCase().includes(search.value.toLowerCase()) ? .2 : 1;
	g.fillStyle = colours.fills[name[1]];
	g.fillRect(a, y + 2, Math.max(1, b - a - (b - a > 3 ? 1 : 0)), ROW - 4);
	g.globalAlpha = 1;
	if (picked && picked.lane === lane && picked.i === i) {
		g.strokeStyle = colours.ink;
		g.strokeRect(a + .5, y + 1.5, Math.max(2, b - a - 1), ROW - 3);
	}
	if (b - a > 40) label(g, LETTERS[name[1]] + ' ' + name[0], a, b, y);
	else if (b - a > 13) label(g, LETTERS[name[1]], a, b, y);
}
function label(g, text, a, b, y) {
	g.save();
	g.beginPath();
	g.rect(a, y, b - a - 2, ROW);
	g.clip();
	g.fillStyle = colours.paper;
	g.fillText(text, a + 3, y + 13);
	g.restore();
}
function drawRuler(g) {
	const step = 10 ** Math.max(0, Math.floor(Math.log10((to - from) / 4))), skew = Number(BigInt(meta.origin) % BigInt(step));
	g.fillStyle = colours.soft;
	for (let t = Math.ceil((from + skew) / step) * step - skew, n = 0; t < to && n < 60; t += step, n++) {
		g.fillRect(x(t), 0, 1, 5);
		if (n % Math.ceil((to - from) / step / 5) === 0) g.fillText(instant(t).replace(/\.?0+s$/, 's'), x(t) + 2, 16);
	}
	g.fillStyle = colours.mark;
	for (const w of meta.detail) {
		const a = Math.max(LEFT, x(w[0])), b = Math.min(width, x(w[1]));
		if (b > a) g.fillRect(a, RULER - 3, b - a, 2);
	}
}
function draw() {
	queued = false;
	const scale = window.devicePixelRatio || 1, height = RULER + rows.length * ROW + 2;
	width = view.clientWidth;
	canvas.width = width * scale;
	canvas.height = height * scale;
	canvas.style.setProperty('height', height + 'px');
	const g = canvas.getContext('2d');
	g.scale(scale, scale);
	g.font = '12px system-ui, sans-serif';
	const top = view.scrollTop - ROW, bottom = view.scrollTop + view.clientHeight;
	rows.forEach((row, i) => {
		const y = RULER + i * ROW;
		if (y < top || y > bottom) return;
		g.fillStyle = colours.line;
		g.fillRect(0, y + ROW - 1, width, 1);
		row.draw(g, y, row);
	});
	g.fillStyle = colours.paper;
	g.fillRect(0, 0, LEFT - 2, height);
	g.fillStyle = colours.ink;
	rows.forEach((row, i) => g.fillText(row.label, 2, RULER + i * ROW + 13, LEFT - 8));
	if (selected) {
		g.globalAlpha = .2;
		g.fillStyle = colours.mark;
		g.fillRect(x(selected[0]), 0, x(selected[1]) - x(selected[0]), height);
		g.globalAlpha = 1;
	}
	drawRuler(g);
}
function redraw() {
	if (!queued) { queued = true; requestAnimationFrame(draw); }
}
function striped(name, kind) {
	const c = document.createElement('canvas'), g = c.getContext('2d');
	c.width = c.height = 6;
	g.fillStyle = name;
	g.fillRect(0, 0, 6, 6);
	g.fillStyle = colour('--paper');
	g.globalAlpha = .45;
	for (let i = 0; i < 6; i++) g.fillRect(kind === 2 ? 0 : i, kind === 1 ? 5 - i : i, 1, 1);
	return canvas.getContext('2d').createPattern(c, 'repeat');
}
function readColours() {
	colours = {
		ink: colour('--ink'), soft: colour('--soft'), line: colour('--line'), paper: colour('--paper'), mark: colour('--mark'), idle: colour('--idle'),
		classes: CLASSES.map((_, i) => colour('--c' + i)),
		fills: CLASSES.map((_, i) => (STRIPED.includes(i) ? striped(colour('--c' + i), i) : colour('--c' + i))),
		parts: [0, 3, 4, 1, 2].map((i) => colour('--c' + i)).concat(colour('--idle')),
	};
}

/* Moving -------------------------------------------------------------------- */
function show(a, b, silent) {
	const least = 200, n = Math.max(least, Math.min(meta.length, b - a));
	from = Math.max(0, Math.min(meta.length - n, a));
	to = Math.max(from + least, Math.min(meta.length, from + n));
	redraw();
	if (!silent) tell();
	link();
}
/* What is seen, from which row on, and the finding that led here. */
let waiting = 0;
function link() {
	clearTimeout(waiting);
	waiting = setTimeout(() => history.replaceState(null, '', '#w=' + Math.round(from) + '..' + Math.round(to) + '&r=' + Math.floor(view.scrollTop / ROW) +
		(current < 0 ? '' : '&f=' + encodeURIComponent(meta.findings[current].key))), 100);
}
function zoom(factor, centre) {
	const c = centre === undefined ? (from + to) / 2 : centre;
	show(c - (c - from) * factor, c + (to - c) * factor);
}
/* Sums by class and by name of what is selected, else of what is seen. */
function sums() {
	const [a, b] = selected || [from, to], byClass = new Map(), byName = new Map();
	for (const lane of lanes) {
		const [first, last] = touching(lane, a, b);
		for (let i = first; i < last; i++) {
			const d = Math.min(b, lane.start[i] + lane.length[i]) - Math.max(a, lane.start[i]), name = meta.names[lane.name[i]];
			if (d < 0) continue;
			const cls = CLASSES[name[1]], n = byName.get(lane.name[i]) || [0, 0];
			byClass.set(cls, (byClass.get(cls) || 0) + d);
			byName.set(lane.name[i], [n[0] + d, n[1] + 1]);
		}
	}
	return [a, b, byClass, byName];
}
function tell() {
	const [a, b, byClass] = sums();
	const parts = [...byClass].sort((p, q) => q[1] - p[1]).map(([cls, ns]) => cls + ' ' + time(ns));
	told.textContent = (selected ? 'Selected: ' : 'Shown: ') + instant(a) + ' to ' + instant(b) + ', ' + time(b - a) +
		(parts.length ? '. ' + parts.join(', ') + '.' : '.') +
		(meta.detail.length && !meta.detail.some((w) => w[0] < b && w[1] > a) ? ' Events of this part are not in the page; for them: ' + command(a, b) : '');
}
function command(a, b) {
	return meta.command + ' --window ' + instant(a) + '..' + instant(b + 1000);
}
function table() {
	const [a, b, , byName] = sums(), body = $('seen').tBodies[0];
	body.replaceChildren();
	[...byName].sort((p, q) => q[1][0] - p[1][0]).slice(0, 30).forEach(([i, [ns, n]]) => {
		const tr = body.insertRow();
		[meta.names[i][0], CLASSES[meta.names[i][1]], String(n), time(ns), ((ns / (b - a)) * 100).toFixed(1) + ' %'].forEach((text, k) => {
			const td = tr.insertCell();
			td.textContent = text;
			if (k > 1) td.className = 'r';
		});
	});
	$('seen').hidden = false;
}
function pick(lane, i) {
	picked = {lane, i};
	const name = meta.names[lane.name[i]];
	told.textContent = name[0] + ' (' + CLASSES[name[1]] + '): ' + time(lane.length[i]) + ' at ' + instant(lane.start[i]) + ', ' + lane.label + '.';
	redraw();
}
function step(direction) {
	const lane = picked ? picked.lane : lanes.find((l) => l.n);
	if (!lane) return;
	const wanted = search.value.toLowerCase();
	let i = picked ? picked.i + direction : lower(lane.start, from);
	while (i >= 0 && i < lane.n && wanted && !meta.names[lane.name[i]][0].toLowerCase().includes(wanted)) i += direction;
	if (i < 0 || i >= lane.n) return;
	const a = lane.start[i], n = to - from;
	if (a < from || a + lane.length[i] > to) show(a - n / 3, a - n / 3 + Math.max(n, lane.length[i] * 2), true);
	pick(lane, i);
}
function showFinding(k) {
	const f = meta.findings[k];
	if (!f || !f.windows.length) return;
	const [a, b] = f.windows[0], margin = Math.max(1000, (b - a) / 4);
	current = k;
	selected = [a, b];
	show(a - margin, b + margin);
	told.textContent = 'Finding ' + (k + 1) + ': ' + f.title + '. ' + told.textContent;
	view.scrollIntoView({block: 'nearest'});
}
function nextFinding() {
	for (let n = 1; n <= meta.findings.length; n++) {
		const k = (current + n) % meta.findings.length;
		if (meta.findings[k].windows.length) return showFinding(k);
	}
}

/* Hands --------------------------------------------------------------------- */
function hit(event) {
	const box = canvas.getBoundingClientRect(), row = rows[Math.floor((event.clientY - box.top - RULER) / ROW)];
	return [event.clientX - box.left, row];
}
let drag = null, pinch = null;
const fingers = new Map();
const spread = () => { const [a, b] = [...fingers.values()]; return [(a + b) / 2, Math.max(10, Math.abs(a - b))]; };
canvas.addEventListener('pointerdown', (event) => {
	const [px] = hit(event);
	fingers.set(event.pointerId, px);
	drag = fingers.size === 1 ? {px, from, to, moved: false, select: event.shiftKey} : null;
	if (fingers.size === 2) { const [middle, apart] = spread(); pinch = {at: at(middle), apart, span: to - from}; }
	canvas.setPointerCapture(event.pointerId);
});
function lift(event) {
	fingers.delete(event.pointerId);
	if (pinch && fingers.size < 2) { pinch = null; tell(); }
}
canvas.addEventListener('pointercancel', (event) => { lift(event); drag = null; });
canvas.addEventListener('pointermove', (event) => {
	const [px] = hit(event);
	if (fingers.has(event.pointerId)) fingers.set(event.pointerId, px);
	if (pinch) {
		const [middle, apart] = spread(), n = pinch.span * pinch.apart / apart, a = pinch.at - n * (middle - LEFT) / (width - LEFT);
		show(a, a + n, true);
	}
	if (!drag) return;
	if (Math.abs(px - drag.px) > 3) drag.moved = true;
	if (!drag.moved) return;
	if (drag.select) {
		const a = at(Math.min(px, drag.px)), b = at(Math.max(px, drag.px));
		selected = [Math.max(0, a), Math.min(meta.length, b)];
		redraw();
	} else {
		const d = (drag.px - px) * (drag.to - drag.from) / (width - LEFT);
		show(drag.from + d, drag.to + d, true);
	}
});
canvas.addEventListener('pointerup', (event) => {
	const [px, row] = hit(event), was = drag;
	lift(event);
	drag = null;
	if (!was) return;
	if (was.moved) { tell(); return; }
	selected = null;
	if (row && row.lane) {
		const t = at(px), slack = (to - from) / (width - LEFT) * 2, [a, b] = touching(row.lane, t - slack, t + slack);
		for (let i = b - 1; i >= a; i--)
			if (row.lane.start[i] <= t + slack && row.lane.start[i] + row.lane.length[i] >= t - slack) return pick(row.lane, i);
	}
	picked = null;
	if (row && row.curve) tellCurve(row.curve, at(px));
	else tell();
	redraw();
});
canvas.addEventListener('wheel', (event) => {
	if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY) && !event.altKey) return;
	event.preventDefault();
	if (event.ctrlKey || event.metaKey || event.altKey) zoom(event.deltaY > 0 ? 1.25 : .8, at(hit(event)[0]));
	else show(from + event.deltaX * (to - from) / width, to + event.deltaX * (to - from) / width);
}, {passive: false});
const keys = {
	ArrowLeft: () => show(from - (to - from) / 5, to - (to - from) / 5),
	ArrowRight: () => show(from + (to - from) / 5, to + (to - from) / 5),
	'+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2),
	Home: () => show(0, meta.length), n: () => step(1), p: () => step(-1), f: nextFinding,
	'/': () => search.focus(),
	Escape: () => { selected = picked = null; current = -1; search.value = ''; canvas.focus(); tell(); redraw(); },
};
document.addEventListener('keydown', (event) => {
	const typing = event.target.matches('input, textarea, select'), key = keys[event.key];
	if (!key || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape')) return;
	if (event.key.startsWith('Arrow') && event.target !== canvas) return;
	event.preventDefault();
	key();
});
search.addEventListener('input', redraw);
search.addEventListener('keydown', (event) => { if (event.key === 'Enter') { step(1); event.preventDefault(); } });
view.addEventListener('scroll', () => { redraw(); link(); });
window.addEventListener('resize', redraw);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); redraw(); });

/* Buttons ------------------------------------------------------------------- */
const actions = {
	out: () => zoom(2), in: () => zoom(.5), all: keys.Home, next: nextFinding, table,
	judged: () => show(meta.judged[0], meta.judged[1]),
	show: (button) => showFinding(+button.dataset.finding),
	json: (button) => navigator.clipboard.writeText(JSON.stringify(meta.findings[+button.dataset.finding], null, 2)),
	line: (button) => { const [a, b] = meta.findings[+button.dataset.finding].windows[0]; navigator.clipboard.writeText(command(a, b)); button.textContent = command(a, b); },
	command: () => { const [a, b] = selected || [from, to]; told.textContent = command(a, b); },
};
document.addEventListener('click', (event) => {
	const button = event.target.closest('button[data-do]');
	if (button) actions[button.dataset.do](button);
	const link = event.target.closest('a[href^="#"]');
	for (let e = link && $(link.hash.slice(1)); e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
});

/* Tables: a click on a heading sorts, by number where all cells have one. */
const valueOf = (cell) => (cell.dataset.v === undefined ? cell.textContent : +cell.dataset.v);
function sortBy(th) {
	const body = th.closest('table').tBodies[0], k = th.cellIndex, down = th.ariaSort !== 'descending';
	const sorted = [...body.rows].sort((a, b) => {
		const p = valueOf(a.cells[k]), q = valueOf(b.cells[k]);
		return (p < q ? -1 : p > q ? 1 : 0) * (down ? -1 : 1);
	});
	for (const other of th.parentNode.cells) other.removeAttribute('aria-sort');
	th.ariaSort = down ? 'descending' : 'ascending';
	body.append(...sorted);
}
for (const th of document.querySelectorAll('table.sorts th')) {
	const button = document.createElement('button');
	button.textContent = th.textContent;
	button.addEventListener('click', () => sortBy(th));
	th.replaceChildren(button);
}

function fromHash() {
	const field = (name) => (new RegExp('[#&]' + name + '=([^&]*)').exec(location.hash) || [])[1];
	const w = /^(\d+)\.\.(\d+)$/.exec(field('w')), f = field('f'), r = +field('r');
	if (f) showFinding(meta.findings.findIndex((g) => encodeURIComponent(g.key) === f));
	if (w) show(+w[1], +w[2]);
	else if (!f) { [from, to] = meta.judged; redraw(); tell(); }
	if (r > 0) view.scrollTop = r * ROW;
}
async function begin() {
	readColours();
	for (const e of document.querySelectorAll('.needs-js')) e.hidden = false;
	if (!meta.gpus.length && !meta.lanes.length) return;
	$('timeline').hidden = false;
	$('detail').append(' Letters: ' + CLASSES.map((name, i) => LETTERS[i] + ' ' + name).join(', ') + '.');
	await unpack();
	makeRows();
	draw();
	fromHash();
	canvas.dataset.ready = 'yes';
}
begin();
})();
