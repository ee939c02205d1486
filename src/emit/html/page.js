'use strict';
/* The timeline of a report page. Names reach the page as text only. */
(() => {
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($('meta').textContent);
const canvas = $('lanes'), view = $('view'), told = $('told'), search = $('search');
const paint = canvas.getContext('2d', {alpha: false});
const ROW = 18, LEFT = 132, RULER = 22, CLASSES = meta.classes;
/* A class is told by its letter and its stripes as well as by its colour. */
const LETTERS = ['K', 'N', 'C', 'R', 'L', 'W', 'A'], STRIPED = [1, 2, 5];
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const STEADY = 3, SLOW = 5, IDLE = CLASSES.length;
const texts = meta.names.map((name) => name[0]), classes = meta.names.map((name) => name[1]);
const colours = {};
let lanes = [], rows = [], width = 0, height = 0, scale = 1, from = 0, to = meta.length;
let picked = null, selected = null, current = -1, queued = false, untold = false, found = null;

/* Numbers ------------------------------------------------------------------- */
const three = (x) => String(+x.toPrecision(x >= 100 ? Math.floor(Math.log10(x)) + 1 : 3));
function time(ns) {
	const a = Math.abs(ns);
	if (a < 1e3) return ns.toFixed(0) + ' ns';
	if (a < 1e6) return three(ns / 1e3) + ' µs';
	if (a < 1e9) return three(ns / 1e6) + ' ms';
	return three(ns / 1e9) + ' s';
}
/* An instant in seconds of the trace's own clock, as Nsight Systems shows it. */
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
/* A lane: events in order of their start. sums: by class, the time of the events before each one.
 * until: the latest end of the events up to each one, because events may overlap.
 */
function makeLane(lane, start, length, name) {
	const n = start.length, sums = [];
	let until = null;
	for (let i = 0; i < n; i++) {
		const cls = classes[name[i]], end = start[i] + length[i];
		if (!sums[cls]) sums[cls] = new Float64Array(n + 1);
		sums[cls][i + 1] = length[i];
		if (i && !until && start[i] < start[i - 1] + length[i - 1]) until = start.map((t, k) => t + length[k]);
		if (until && i) until[i] = Math.max(until[i - 1], end);
	}
	for (const sum of sums) for (let i = 0; sum && i < n; i++) sum[i + 1] += sum[i];
	return {...lane, n, start, length, name, sums, until};
}
function unpackLane(data, lane) {
	const [start, length, name] = lane.at.map((at) => numbers(data, at, lane.n));
	for (let i = 1; i < lane.n; i++) start[i] += start[i - 1];
	return makeLane(lane, start, length, Uint32Array.from(name));
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

/* First index from lo on whose value is at least x. */
function lower(values, x, lo = 0, hi = values.length) {
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (values[mid] < x) lo = mid + 1; else hi = mid;
	}
	return lo;
}
const endOf = (lane, i) => lane.start[i] + lane.length[i];
const lastEnd = (lane, i) => (lane.until ? lane.until[i] : endOf(lane, i));
/* Events of a lane that overlap [a, b), beginning with the first. Where events overlap, some that
 * follow may end before a.
 */
function touching(lane, a, b) {
	let i = lower(lane.start, a);
	while (i > 0 && lastEnd(lane, i - 1) > a) i--;
	return [i, lower(lane.start, b)];
}

/* Rows ---------------------------------------------------------------------- */
function makeRows() {
	const steps = meta.iterations.map(iterationLane);
	if (meta.findings.some((f) => f.windows.length)) rows.push({label: 'findings', draw: drawFindings});
	[...meta.gpus, null].forEach((gpu, i) => {
		const bins = gpu && bytes(gpu.overview), mine = (v) => v.gpu === (gpu ? i : -1);
		if (gpu && gpu.overview) rows.push({label: gpu.label, draw: drawStrip, n: meta.bins, paint: (g) => paintShares(g, bins)});
		for (const lane of steps.filter(mine)) rows.push({label: lane.label, draw: drawLane, lane});
		for (const c of meta.curves.filter(mine)) {
			const curve = {...c, at: bytes(c.at)};
			rows.push({label: c.label, draw: drawStrip, n: curve.at.length, paint: (g) => paintCurve(g, curve), curve});
		}
		for (const lane of lanes.filter(mine)) rows.push({label: lane.label, draw: drawLane, lane});
	});
}
function iterationLane(its) {
	const name = its.at.map((it, i) => classes.push(it[3] ? SLOW : it[2] ? STEADY : IDLE) && texts.push(String(i)) - 1);
	return makeLane({...its, plain: true}, its.at.map((it) => it[0]), its.at.map((it) => it[1] - it[0]), name);
}
const x = (ns) => LEFT + (ns - from) * (width - LEFT) / (to - from);
const at = (px) => from + (px - LEFT) * (to - from) / (width - LEFT);

/* Writes as much of a text as has room. Each character is measured once. */
const widths = new Map();
function write(text, a, room, y) {
	let n = 0;
	for (const c of text) {
		if (!widths.has(c)) widths.set(c, paint.measureText(c).width);
		if ((room -= widths.get(c)) < 0) break;
		n += c.length;
	}
	paint.fillText(text.slice(0, n), a, y + 13);
}
function drawFindings(y) {
	for (let i = meta.findings.length; i-- > 0;) for (const w of meta.findings[i].windows) { /* the first is seen best */
		if (w[1] <= from || w[0] >= to) continue;
		const a = Math.max(LEFT, x(w[0])), b = Math.min(width, Math.max(a + 3, x(w[1])));
		paint.fillStyle = colours.paper;
		paint.fillRect(a - 1, y + 3, b - a + 2, ROW - 6);
		paint.fillStyle = colours.mark;
		paint.fillRect(a, y + 3, b - a, ROW - 6);
		paint.fillStyle = colours.paper;
		if (b - a > 12) write(String(i + 1), a + 3, b - a, y);
	}
}
/* The class with most time of events [i, n), which fill a pixel. */
function kindOf(lane, i, n) {
	let best = classes[lane.name[i]], most = 0;
	if (n > i + 1) lane.sums.forEach((sum, cls) => { if (sum[n] - sum[i] > most) { most = sum[n] - sum[i]; best = cls; } });
	return 2 * best + (lane.found && lane.found[n] === lane.found[i] ? 1 : 0);
}
/* Draws a lane. Events shorter than a pixel are drawn together with all that begin in theirs, and
 * neighbours of a class join.
 */
function drawLane(y, {lane}) {
	const [first, last] = touching(lane, from, to), snap = (ns) => Math.round(x(ns) * scale) / scale, pixel = 1 / scale;
	let kind = -1, left = 0, right = 0;
	const box = () => {
		paint.fillStyle = colours.fills[kind >> 1];
		paint.globalAlpha = kind & 1 ? .2 : 1;
		if (kind >= 0) paint.fillRect(left, y + 2, right - left, ROW - 4);
		paint.globalAlpha = 1;
		kind = -1;
	};
	for (let i = first, n; i < last; i = n) {
		const end = endOf(lane, i), a = Math.max(LEFT, snap(lane.start[i]));
		let b = Math.min(width, snap(end)), room = 0;
		n = i + 1;
		if (end <= from && lane.start[i] < from) continue;
		if (b - a < pixel) {
			b = a + pixel;
			n = lower(lane.start, at(b - pixel / 2), n, last);
			if (n > i + 1 && snap(endOf(lane, n - 1)) > b) n--;
		} else if (b - a > 3) {
			room = (n < last ? Math.min(b, x(lane.start[n])) : b) - a;
			b--;
		}
		const k = kindOf(lane, i, n), text = texts[lane.name[i]], short = lane.plain ? text : LETTERS[k >> 1];
		if (k !== kind || a > right) { box(); kind = k; left = a; right = b; }
		right = Math.max(right, b);
		if (room > 13) {
			box();
			paint.fillStyle = colours.paper;
			write(room > 40 && !lane.plain ? short + ' ' + text : short, a + 3, room - 5, y);
		}
	}
	box();
	if (!picked || picked.lane !== lane) return;
	const a = Math.max(LEFT, x(lane.start[picked.i])), b = Math.min(width, x(endOf(lane, picked.i)));
	paint.strokeStyle = colours.ink;
	if (b >= LEFT && a <= width) paint.strokeRect(a + .5, y + 1.5, Math.max(2, b - a - 1), ROW - 3);
}
/* Draws a row of bins from a picture, which is made once at its width and at halves of it. */
function drawStrip(y, row) {
	if (!row.levels) {
		const levels = row.levels = [sheet(row.n, ROW)];
		row.paint(levels[0].getContext('2d'));
		for (let n = row.n / 2; n > 100; n /= 2) {
			const half = sheet(n, ROW);
			half.getContext('2d').drawImage(levels.at(-1), 0, 0, n, ROW);
			levels.push(half);
		}
	}
	const part = (to - from) / meta.length, level = row.levels.find((c) => c.width * part <= (width - LEFT) * scale) || row.levels.at(-1);
	const n = Math.max(1 / 64, level.width * part), a = Math.min(level.width - n, level.width * from / meta.length);
	paint.drawImage(level, a, 0, n, ROW, LEFT, y, width - LEFT, ROW);
}
function sheet(w, h) {
	const c = document.createElement('canvas');
	c.width = w;
	c.height = h;
	return c;
}
/* Shares of the time by class, stacked; the last class is idle. */
function paintShares(g, shares) {
	const n = meta.parts;
	for (let i = 0; i < meta.bins; i++) {
		const bin = shares.subarray(i * n, i * n + n), all = bin.reduce((p, q) => p + q, 0);
		let base = ROW - 2;
		bin.forEach((share, k) => {
			const h = share / all * (ROW - 3);
			g.fillStyle = colours.parts[k];
			if (share) g.fillRect(i, base - h, 1, h);
			base -= h;
		});
		if (bin[n - 1] && bin[n - 1] * 50 < all) { /* a gap too short to be seen is a tick */
			g.fillStyle = colours.ink;
			g.fillRect(i, 0, 1, 2);
		}
	}
}
function paintCurve(g, curve) {
	g.fillStyle = colours.fills[3];
	curve.at.forEach((v, i) => g.fillRect(i, ROW - 2, 1, -(Math.max(1, v) - 1) / 254 * (ROW - 4)));
}
function tellCurve(curve, ns) {
	const n = curve.at.length, v = curve.at[Math.max(0, Math.min(n - 1, Math.floor(ns / meta.length * n)))], x = (v - 1) / 254 * curve.full;
	told.textContent = curve.label + ' at ' + instant(ns) + ': ' + (!v ? 'not sampled' : curve.unit === 'B' ? three(x / 1e9) + ' GB' : three(x) + ' ' + curve.unit) + '.';
}
function drawRuler(g) {
	const step = 10 ** Math.max(0, Math.floor(Math.log10((to - from) / 4))), skew = Number(BigInt(meta.origin) % BigInt(step));
	g.fillStyle = colours.paper;
	g.fillRect(0, 0, width, RULER);
	g.fillStyle = colours.soft;
	for (let t = Math.ceil((from + skew) / step) * step - skew, n = 0; t < to && n < 60; t += step, n++) {
		g.fillRect(x(t), 0, 1, 5);
		if (n % Math.ceil((to - from) / step / 5) === 0 && x(t) < width - 40) g.fillText(instant(t).replace(/\.?0+s$/, 's'), x(t) + 2, 16);
	}
	g.fillStyle = colours.mark;
	for (const w of meta.detail) {
		const a = Math.max(LEFT, x(w[0])), b = Math.min(width, x(w[1]));
		if (b > a) g.fillRect(a, RULER - 3, b - a, 2);
	}
}
/* The canvas is only as large as its visible part; the rows below make the view scroll. */
function resize() {
	const all = RULER + rows.length * ROW + 2;
	width = view.clientWidth;
	scale = window.devicePixelRatio || 1;
	height = Math.min(all, parseFloat(getComputedStyle(view).maxHeight));
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	canvas.style.height = height + 'px';
	$('below').style.height = all - height + 'px';
	redraw();
}
function draw() {
	const g = paint, top = RULER - view.scrollTop;
	queued = false;
	g.setTransform(scale, 0, 0, scale, 0, 0);
	g.font = '12px system-ui, sans-serif';
	g.imageSmoothingEnabled = false;
	g.fillStyle = colours.paper;
	g.fillRect(0, 0, width, height);
	rows.forEach((row, i) => {
		const y = top + i * ROW;
		if (y <= RULER - ROW || y > height) return;
		g.fillStyle = colours.line;
		g.fillRect(0, y + ROW - 1, width, 1);
		row.draw(y, row);
		g.fillStyle = colours.ink;
		g.fillText(row.label, 2, y + 13, LEFT - 8);
	});
	if (selected) {
		const a = Math.max(LEFT, x(selected[0]));
		g.globalAlpha = .2;
		g.fillStyle = colours.mark;
		g.fillRect(a, 0, Math.max(0, x(selected[1]) - a), height);
		g.globalAlpha = 1;
	}
	drawRuler(g);
}
function redraw() {
	if (!queued) { queued = true; requestAnimationFrame(draw); }
}
function striped(name, kind) {
	const c = sheet(6, 6), g = c.getContext('2d');
	g.fillStyle = name;
	g.fillRect(0, 0, 6, 6);
	g.fillStyle = colour('--paper');
	g.globalAlpha = .45;
	for (let i = 0; i < 6; i++) g.fillRect(kind === 2 ? 0 : i, kind === 1 ? 5 - i : i, 1, 1);
	return paint.createPattern(c, 'repeat');
}
function readColours() {
	colours.fills = CLASSES.map((_, i) => (STRIPED.includes(i) ? striped(colour('--c' + i), i) : colour('--c' + i))).concat(colour('--idle'));
	colours.parts = [0, 3, 4, 1, 2].map((i) => colour('--c' + i)).concat(colour('--idle'));
	for (const name of ['ink', 'soft', 'line', 'paper', 'mark']) colours[name] = colour('--' + name);
	for (const row of rows) row.levels = null;
}

/* Moving -------------------------------------------------------------------- */
function show(a, b, silent) {
	const least = 200, n = Math.max(least, Math.min(meta.length, b - a));
	from = Math.max(0, Math.min(meta.length - n, a));
	to = Math.max(from + least, Math.min(meta.length, from + n));
	redraw();
	untold = silent;
	if (!silent) tell();
	link();
}
/* The address of the page keeps what is visible once nothing moves: the time, the first row, and
 * the finding that led here.
 */
let waiting = 0;
function link() {
	clearTimeout(waiting);
	waiting = setTimeout(() => {
		history.replaceState(null, '', '#w=' + Math.round(from) + '..' + Math.round(to) + '&r=' + Math.floor(view.scrollTop / ROW) +
			(current < 0 ? '' : '&f=' + encodeURIComponent(meta.findings[current].key)));
		if (untold) tell();
	}, 100);
}
const range = () => selected || [from, to];
const move = (part, silent) => show(from + (to - from) * part, to + (to - from) * part, silent);
function zoom(factor, centre = (from + to) / 2, silent = false) {
	show(centre - (centre - from) * factor, centre + (to - centre) * factor, silent);
}
/* Sums the time by class of what is selected or, without a selection, of what is visible. Whole
 * events are summed; then the parts that lie outside are subtracted.
 */
function sums() {
	const [a, b] = range(), sum = new Float64Array(CLASSES.length);
	for (const lane of lanes) {
		const [first, last] = touching(lane, a, b);
		lane.sums.forEach((before, cls) => { sum[cls] += before[last] - before[first]; });
		for (let i = first; i < last && lane.start[i] < a; i++) sum[classes[lane.name[i]]] -= Math.min(lane.length[i], a - lane.start[i]);
		for (let i = last; i-- > first && lastEnd(lane, i) > b;) sum[classes[lane.name[i]]] -= Math.max(0, endOf(lane, i) - b);
	}
	return sum;
}
function tell() {
	const [a, b] = range(), sum = sums(), seen = CLASSES.map((_, i) => i).filter((i) => sum[i] >= .5).sort((i, k) => sum[k] - sum[i]);
	untold = false;
	told.textContent = (selected ? 'Selected: ' : 'Shown: ') + instant(a) + ' to ' + instant(b) + ', ' + time(b - a) +
		(seen.length ? '. ' + seen.map((i) => CLASSES[i] + ' ' + time(sum[i])).join(', ') : '') + '.' +
		(meta.detail.length && !meta.detail.some((w) => w[0] < b && w[1] > a) ? ' Events of this part are not in the page; for them: ' + command(a, b) : '');
}
function command(a, b) {
	return meta.command + ' --window ' + instant(a) + '..' + instant(b + 1000);
}
function table() {
	const [a, b] = range(), byName = new Map(), body = $('seen').tBodies[0];
	for (const lane of lanes) for (let [i, last] = touching(lane, a, b); i < last; i++) {
		const d = Math.min(b, endOf(lane, i)) - Math.max(a, lane.start[i]), n = byName.get(lane.name[i]) || [0, 0];
		if (d >= 0) byName.set(lane.name[i], [n[0] + d, n[1] + 1]);
	}
	body.replaceChildren();
	[...byName].sort((p, q) => q[1][0] - p[1][0]).slice(0, 30).forEach(([i, [ns, n]]) => {
		const tr = body.insertRow();
		[texts[i], CLASSES[classes[i]], String(n), time(ns), ((ns / (b - a)) * 100).toFixed(1) + ' %'].forEach((text, k) => {
			const td = tr.insertCell();
			td.textContent = text;
			if (k > 1) td.className = 'r';
		});
	});
	$('seen').hidden = false;
}
function pick(lane, i) {
	const name = lane.name[i], what = lane.plain ? 'Iteration ' + texts[name] : texts[name] + ' (' + CLASSES[classes[name]] + ')';
	picked = {lane, i};
	untold = false;
	told.textContent = what + ': ' + time(lane.length[i]) + ' at ' + instant(lane.start[i]) + ', ' + lane.label + '.';
	redraw();
}
/* Finds the names searched for; counts, by lane, the events before each one that have them. */
function seek() {
	const wanted = search.value.toLowerCase();
	found = wanted ? texts.map((text) => text.toLowerCase().includes(wanted)) : null;
	for (const lane of lanes) {
		lane.found = found && new Uint32Array(lane.n + 1);
		for (let i = 0; found && i < lane.n; i++) lane.found[i + 1] = lane.found[i] + found[lane.name[i]];
	}
	redraw();
}
function step(direction) {
	const lane = picked ? picked.lane : lanes.find((l) => l.n);
	if (!lane) return;
	let i = picked ? picked.i + direction : lower(lane.start, from);
	while (i >= 0 && i < lane.n && found && !found[lane.name[i]]) i += direction;
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
	const box = canvas.getBoundingClientRect(), y = event.clientY - box.top - RULER;
	return [event.clientX - box.left, y < 0 ? null : rows[Math.floor((y + view.scrollTop) / ROW)]];
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
			if (row.lane.start[i] <= t + slack && endOf(row.lane, i) >= t - slack) return pick(row.lane, i);
	}
	picked = null;
	if (row && row.curve) tellCurve(row.curve, at(px));
	else tell();
	redraw();
});
canvas.addEventListener('wheel', (event) => {
	const zooms = event.ctrlKey || event.metaKey || event.altKey;
	if (!zooms && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
	event.preventDefault();
	if (zooms) zoom(event.deltaY > 0 ? 1.25 : .8, at(hit(event)[0]), true);
	else move(event.deltaX / width, true);
}, {passive: false});
const keys = {
	ArrowLeft: () => move(-.2),
	ArrowRight: () => move(.2),
	'+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2),
	Home: () => show(0, meta.length), n: () => step(1), p: () => step(-1), f: nextFinding,
	'/': () => search.focus(),
	Escape: () => { selected = picked = null; current = -1; search.value = ''; seek(); canvas.focus(); tell(); },
};
document.addEventListener('keydown', (event) => {
	const typing = event.target.matches('input, textarea, select'), key = keys[event.key];
	if (!key || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape')) return;
	if (event.key.startsWith('Arrow') && event.target !== canvas) return;
	event.preventDefault();
	key();
});
search.addEventListener('input', seek);
search.addEventListener('keydown', (event) => { if (event.key === 'Enter') { step(1); event.preventDefault(); } });
view.addEventListener('scroll', () => { redraw(); link(); });
window.addEventListener('resize', resize);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); redraw(); });

/* Buttons ------------------------------------------------------------------- */
const actions = {
	out: () => zoom(2), in: () => zoom(.5), all: keys.Home, next: nextFinding, table,
	judged: () => show(meta.judged[0], meta.judged[1]),
	show: (button) => showFinding(+button.dataset.finding),
	json: (button) => navigator.clipboard.writeText(JSON.stringify(meta.findings[+button.dataset.finding], null, 2)),
	line: (button) => { button.textContent = command(...meta.findings[+button.dataset.finding].windows[0]); navigator.clipboard.writeText(button.textContent); },
	command: () => { told.textContent = command(...range()); },
};
document.addEventListener('click', (event) => {
	const button = event.target.closest('button[data-do]');
	if (button) actions[button.dataset.do](button);
	const link = event.target.closest('a[href^="#"]');
	for (let e = link && $(link.hash.slice(1)); e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
});

/* Tables: a click on a heading sorts the rows, by number if all cells have one. */
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
	resize();
	draw();
	fromHash();
	canvas.dataset.ready = 'yes';
}
begin();
})();
