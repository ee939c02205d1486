/* Moves in the timeline of pages as a reader does, and prints what a frame costs. */
// usage: [DPR=2] node frames.mjs NODE_MODULES PAGE...
// Prints, for each page and way of moving, milliseconds of 60 frames: the median, the 95th
// percentile and the maximum of the processor time of the script, of that of the page's thread
// (script, layout, rasterising of the canvas, painting), and of the wall time between frames,
// which says nothing about the page while others use the machine. Of the browser's other
// threads it prints the mean processor time.
import {createRequire} from 'node:module';
import path from 'node:path';

const [modules, ...pages] = process.argv.slice(2);
const {chromium} = createRequire(path.join(path.resolve(modules), 'x.js'))('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-frame-rate-limit', '--disable-gpu-vsync'],
});
const WARM = 6, FRAMES = 60;
/* how far each way of moving zooms in first */
const ways = {'zoom in': 0, 'zoom out': 60, drag: 8, pan: 20, 'pan far': 3, hover: 8, 'search, pan': 14};

/* Runs in the page: makes one event a frame, after some frames without events. */
function move([way, nearer, warm, frames]) {
  const canvas = document.getElementById('lanes'), search = document.getElementById('search');
  const box = document.getElementById('view').getBoundingClientRect();
  const at = (part) => ({clientX: box.left + 132 + (box.width - 132) * part, clientY: box.top + 200, bubbles: true, cancelable: true});
  const pointer = (type, part) => canvas.dispatchEvent(new PointerEvent(type, {...at(part), pointerId: 1}));
  const wheel = (deltaX, deltaY) => canvas.dispatchEvent(new WheelEvent('wheel', {...at(.37), deltaX, deltaY, ctrlKey: !deltaX}));
  const pan = () => wheel(20, 0), steps = {
    'zoom in': () => wheel(0, -1), 'zoom out': () => wheel(0, 1), pan, 'search, pan': pan,
    'pan far': (i) => wheel(i % 2 ? 300 : -300, 0),
    drag: (i) => pointer(i ? i === frames - 1 ? 'pointerup' : 'pointermove' : 'pointerdown', .8 - i * .01),
    hover: (i) => pointer('pointermove', i / frames),
  };
  canvas.setPointerCapture = () => {};
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true}));
  for (let i = 0; i < nearer; i++) wheel(0, -1);
  search.value = way === 'search, pan' ? 'gemm' : '';
  search.dispatchEvent(new Event('input', {bubbles: true}));
  return new Promise((done) => {
    let i = -warm;
    const tick = () => {
      performance.mark('frame');
      performance.mark('script');
      if (i >= 0 && i < frames) steps[way](i);
      performance.mark('rest');
      if (i++ <= frames) window.frame(tick); else done();
    };
    setTimeout(() => window.frame(tick), 300);
  });
}

/* Traces the browser, which shows the processor time of its marks and of its threads' tasks. */
async function traced(page, work) {
  const client = await browser.newBrowserCDPSession(), events = [];
  client.on('Tracing.dataCollected', ({value}) => events.push(...value));
  await client.send('Tracing.start', {traceConfig: {includedCategories: ['toplevel', 'blink.user_timing'], excludedCategories: ['*']}});
  await work();
  const ended = new Promise((done) => client.once('Tracing.tracingComplete', done));
  await client.send('Tracing.end');
  await ended;
  await client.detach();
  return events;
}
const told = (us) => [.5, .95, 1].map((p) => (us.sort((a, b) => a - b)[Math.min(us.length - 1, Math.floor(us.length * p))] / 1000).toFixed(1).padStart(6)).join('');

for (const file of pages) {
  const page = await browser.newPage({viewport: {width: 1280, height: 900}, deviceScaleFactor: +process.env.DPR || 1});
  await page.addInitScript(() => {
    window.frame = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (f) => window.frame((t) => { performance.mark('script'); f(t); performance.mark('rest'); });
  });
  await page.goto('file://' + path.resolve(file));
  await page.waitForSelector('#lanes[data-ready]', {state: 'attached', timeout: 60000});
  await page.locator('#timeline').scrollIntoViewIfNeeded();
  console.log(`${path.basename(file).padEnd(28)} script            | page's thread     | others | wall`);
  for (const [way, nearer] of Object.entries(ways)) {
    const events = await traced(page, () => page.evaluate(move, [way, nearer, WARM, FRAMES]));
    const marks = events.filter((e) => /user_timing/.test(e.cat) && ['frame', 'script', 'rest'].includes(e.name)).sort((a, b) => a.ts - b.ts);
    const frames = [], isPage = (e) => e.pid === marks[0].pid && e.tid === marks[0].tid;
    let since = 0;
    for (const m of marks) {
      if (m.name === 'frame') frames.push({...m, script: 0});
      else if (m.name === 'script') since = m.tts;
      else if (frames.length) frames.at(-1).script += m.tts - since;
    }
    const moved = frames.slice(WARM, WARM + FRAMES), next = frames.slice(WARM + 1);
    const others = events.filter((e) => /RunTask$/.test(e.name) && e.tdur && !isPage(e)).reduce((n, e) => n + e.tdur, 0);
    console.log(way.padEnd(27), told(moved.map((f) => f.script)), '|', told(moved.map((f, i) => next[i].tts - f.tts)), '|',
      (others / 1000 / moved.length).toFixed(1).padStart(6), '|', told(moved.map((f, i) => next[i].ts - f.ts)));
  }
  await page.close();
}
await browser.close();
