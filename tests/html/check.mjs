// Opens pages of reports in headless Chromium and uses them as a reader would.
// usage: node check.mjs NODE_MODULES PAGE...
// Prints a line for each fault, and 'ok PAGE' where there is none; exit status 1 if
// there is one.
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const [modules, ...pages] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), 'x.js'));
const {chromium} = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
let bad = 0;
const fault = (page, what) => { bad++; console.log(`${path.basename(page)}: ${what}`); };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

async function read(file) {
  const url = 'file://' + path.resolve(file);
  const context = await browser.newContext({viewport: {width: 1200, height: 900}, hasTouch: true});
  const page = await context.newPage();
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) fault(file, `console: ${m.text()}`); });
  page.on('pageerror', (e) => fault(file, `script: ${e.message}`));
  page.on('request', (r) => { if (r.url().split('#')[0] !== url) fault(file, `request: ${r.url()}`); });
  page.on('dialog', (d) => { fault(file, `a name opened a dialog: ${d.message()}`); d.dismiss(); });
  await page.goto(url);
  const [gpus, lanes] = await page.evaluate(() => { const meta = document.getElementById('meta'), m = meta ? JSON.parse(meta.textContent) : {gpus: [], lanes: []}; return [m.gpus.length, m.lanes.length]; });
  const dead = await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id)));
  if (dead.length) fault(file, `links to nothing: ${dead}`);
  const evidence = page.locator('a[href^="#e-"]').first();
  if (await evidence.count()) {
    await page.locator('details', {has: evidence}).first().evaluate((d) => { d.open = true; });
    const cell = page.locator(await evidence.getAttribute('href'));
    await evidence.click();
    if (!(await cell.isVisible())) fault(file, 'an evidence link leads to nothing that is seen');
  }
  const [, sheets] = /\/Count (\d+)/.exec(await page.pdf({format: 'A4'}));
  if (sheets > 6) fault(file, `${sheets} pages when printed`);
  if (gpus + lanes) await use(page, file);
  await look(page, file);
  await context.close();

  // Without its script the page still has its findings and pictures.
  const plain = await browser.newContext({javaScriptEnabled: false});
  const still = await plain.newPage();
  await still.goto(url);
  if (!(await still.locator('h1').innerText()).trim()) fault(file, 'no heading without the script');
  if (gpus && !(await still.locator('svg').count())) fault(file, 'no picture without the script');
  if (await still.locator('#timeline').isVisible()) fault(file, 'an empty timeline is shown without the script');
  await plain.close();
}

async function use(page, file) {
  const told = () => page.locator('#told').innerText();
  await page.waitForSelector('#lanes[data-ready]', {timeout: 20000, state: 'attached'});
  await page.locator('button[data-do=all]').click();
  const all = await told();
  if (!/^Shown: .* to .*, /.test(all)) fault(file, `the whole trace is told as '${all}'`);
  await page.locator('#lanes').focus();
  await page.keyboard.press('+');
  if ((await told()) === all) fault(file, '+ does not zoom in');
  await page.waitForFunction(() => /^#w=\d+\.\.\d+&r=\d+/.test(location.hash), {timeout: 2000}).catch(() => fault(file, 'no link to the window'));
  await page.keyboard.press('Home');
  if ((await told()) !== all) fault(file, 'Home does not show all');
  const events = await page.evaluate(() => JSON.parse(document.getElementById('meta').textContent).lanes.reduce((n, l) => n + l.n, 0));
  if (events) {
    await page.keyboard.press('n');
    if (!/ at -?\d+\.\d{6}s, /.test(await told())) fault(file, `n tells '${await told()}'`);
    await page.locator('button[data-do=table]').click();
    if (!(await page.locator('#seen tbody tr').count())) fault(file, 'no sums by name');
    await sums(page, file, all);
  }
  await page.keyboard.press('Escape');
  await hands(page, file, told);
  await page.keyboard.press('Escape');
  const shows = page.locator('button[data-do=show]');
  if (await shows.count()) {
    await shows.first().click();
    if (!/^Finding \d+: /.test(await told())) fault(file, `show tells '${await told()}'`);
  }
  await page.keyboard.press('/');
  if (!(await page.locator('#search').evaluate((e) => e === document.activeElement))) fault(file, '/ does not search');
  const sortable = page.locator('details table.sorts th button').first();
  if (await sortable.count()) {
    await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    await sortable.click();
    if (!(await page.locator('th[aria-sort]').count())) fault(file, 'a heading does not sort');
  }
}

/* The sums by class equal those of the names, which are counted one event at a time. */
async function sums(page, file, all) {
  const ns = (text) => { const [, n, unit] = /([\d.]+) (ns|µs|ms|s)$/.exec(text); return n * {ns: 1, µs: 1e3, ms: 1e6, s: 1e9}[unit]; };
  const rows = await page.locator('#seen tbody tr').evaluateAll((trs) => trs.map((tr) => [...tr.cells].map((td) => td.textContent)));
  if (rows.length === 30) return;
  for (const [, cls, told] of all.matchAll(/[.,] ([a-z]+) ([\d.]+ [nµm]?s)(?=[,.])/g)) {
    const sum = rows.filter((row) => row[1] === cls).reduce((n, row) => n + ns(row[3]), 0);
    if (Math.abs(sum - ns(told)) > .01 * sum) fault(file, `${cls} is told as ${told}; by name it is ${sum} ns`);
  }
}

/* Dragging with shift selects; two fingers that move apart zoom in. */
async function hands(page, file, told) {
  await page.locator('#lanes').scrollIntoViewIfNeeded();
  const box = await page.locator('#lanes').boundingBox(), y = box.y + 30, at = (part) => Math.round(box.x + box.width * part);
  await page.keyboard.down('Shift');
  await page.mouse.move(at(.4), y);
  await page.mouse.down();
  await page.mouse.move(at(.6), y, {steps: 4});
  await page.mouse.up();
  await page.keyboard.up('Shift');
  if (!/^Selected: /.test(await told())) fault(file, `a selection is told as '${await told()}'`);
  await page.keyboard.press('Escape');
  const before = await told(), client = await page.context().newCDPSession(page);
  const touch = (type, ...x) => client.send('Input.dispatchTouchEvent', {type, touchPoints: x.map((part, id) => ({x: at(part), y, id}))});
  await touch('touchStart', .45, .55);
  await touch('touchMove', .4, .6);
  await touch('touchMove', .3, .7);
  await touch('touchEnd');
  if ((await told()) === before) fault(file, 'two fingers do not zoom');
}

async function look(page, file) {
  await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme: scheme});
    /* The page's own policy forbids scripts, so axe comes through the debugger. */
    const faults = await page.evaluate(async (source) => {
      if (!window.axe) (0, eval)(source);
      const r = await window.axe.run(document, {resultTypes: ['violations']});
      return r.violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 120)}`);
    }, axe).catch((e) => [`axe: ${e.message.slice(0, 200)}`]);
    for (const f of faults) fault(file, `${scheme}: ${f}`);
  }
  await page.emulateMedia({media: 'print'});
  if (await page.locator('#timeline').isVisible()) fault(file, 'an empty timeline is printed');
  const headless = await page.locator('table:visible').evaluateAll((tables) => tables.filter((t) => !t.tHead.innerText.trim()).length);
  if (headless) fault(file, `${headless} tables are printed without their headings`);
  await page.emulateMedia({media: 'screen'});
  await page.setViewportSize({width: 360, height: 700});
  const over = await page.evaluate(() => document.documentElement.scrollWidth - 360);
  if (over > 0) fault(file, `${over} pixels too wide for 360`);
}
for (const file of pages) {
  const before = bad;
  await read(file).catch((e) => fault(file, e.message.split('\n')[0]));
  if (bad === before) console.log(`ok ${path.basename(file)}`);
}
await browser.close();
process.exit(bad ? 1 : 0);
