// What the checks in a browser share: TAP, headless Chromium, a page of a file.
'use strict';
const fs = require('fs'), path = require('path'), { pathToFileURL } = require('url');
const { chromium } = require(path.join(process.env.NPM, 'node_modules', 'playwright-core'));

let tests = 0, failed = 0;

function ok(good, name, detail) {
	tests++;
	if (!good)
		failed++;
	console.log((good ? 'ok' : 'not ok') + ' - consumers/' + name);
	if (!good && detail !== undefined)
		console.log('# ' + JSON.stringify(detail));
}

function equal(got, want, name) {
	ok(JSON.stringify(got) === JSON.stringify(want), name, { got, want });
}

/** Run @p each(browser); the exit status says whether all was well. */
async function inBrowser(each) {
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
	try {
		await each(browser);
	} catch (error) {
		ok(false, 'exception', String(error && error.stack));
	}
	await browser.close();
	console.log('1..' + tests);
	process.exitCode = failed ? 1 : 0;
}

/** A page of a local file, which may ask the network for nothing; errors go to page.faults. */
async function open(browser, file, options = {}) {
	const page = await browser.newPage({ viewport: { width: 1200, height: 700 }, ...options });
	page.faults = [];
	page.on('pageerror', e => page.faults.push(e.message));
	page.on('console', m => m.type() === 'error' && page.faults.push(m.text()));
	page.on('request', r => /^(file|data|blob):/.test(r.url()) || page.faults.push('asked for ' + r.url()));
	await page.goto(file.includes('://') ? file : pathToFileURL(file).href);
	return page;
}

module.exports = { fs, path, ok, equal, inBrowser, open, pathToFileURL };
