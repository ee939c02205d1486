/* Takes the README's picture of a page: what a reader sees first. */
// usage: node picture.mjs NODE_MODULES PAGE PICTURE.png
import {createRequire} from 'node:module';
import path from 'node:path';

const [modules, file, picture] = process.argv.slice(2);
const {chromium} = createRequire(path.join(path.resolve(modules), 'x.js'))('playwright-core');
const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text']});
const page = await browser.newPage({viewport: {width: 1000, height: 900}});
await page.goto('file://' + path.resolve(file));
await page.waitForSelector('#lanes[data-ready]', {state: 'attached'});
const {y, height} = await page.locator('#timeline').boundingBox();
await page.screenshot({path: picture, fullPage: true, clip: {x: 0, y: 0, width: 1000, height: y + height}});
await browser.close();
