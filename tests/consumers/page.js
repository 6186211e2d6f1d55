// The flame graph page driven in headless Chromium: click, search, zoom, keys, both themes,
// hostile names. Pictures to look at go to the folder of the pages.
//
// usage: node page.js FOLDER     with small.html hostile.html deep.html large.html diff.html
'use strict';
const { fs, path, ok, equal, inBrowser, open } = require('./common.js');
const folder = process.argv[2];
const file = name => path.join(folder, name + '.html');
const state = page => page.evaluate('flame.state()');
const find = async (page, name) => (await page.evaluate(n => window.flame.find(n), name))[0];
const text = (page, id) => page.textContent('#' + id);

async function clickFrame(page, name) {
	const at = await find(page, name);
	await page.mouse.click(at.x, at.y);
}

async function small(browser) {
	const page = await open(browser, file('small'));
	equal(await page.title(), 'perf.data', 'page/title');
	equal(await text(page, 'facts'), '6 samples of cpu-clock in 0.005 s', 'page/facts');
	equal((await state(page)).frames, 7, 'page/frames');	// all app main work fast libc do_fault
	const width = (await state(page)).width;
	ok(Math.abs((await find(page, 'fast')).w - width / 2) < 1, 'page/width-is-share');
	const at = await find(page, 'do_fault');
	await page.mouse.move(at.x, at.y);
	equal(await text(page, 'name'), 'do_fault', 'page/hover-name');
	equal(await text(page, 'numbers'), '1 samples (16.67 %)self 1 (16.67 %)[kernel.kallsyms]kernel', 'page/hover-numbers');
	ok(await page.isVisible('#tip'), 'page/tooltip');
	await clickFrame(page, 'work');
	equal((await state(page)).zoom, 'work', 'page/click-zooms');
	ok(Math.abs((await find(page, 'fast')).w - width) < 1, 'page/zoomed-width');
	await clickFrame(page, 'main');
	equal((await state(page)).zoom, 'main', 'page/click-above-zooms-out');
	await page.click('#reset');
	equal((await state(page)).zoom, 'all', 'page/reset');
	await page.keyboard.press('/');
	await page.keyboard.type('^fast|do_');
	equal(await text(page, 'matched'), 'matched 66.67 %, 2 functions', 'page/search');
	await page.fill('#search', 'work');
	equal(await text(page, 'matched'), 'matched 50.00 %, 1 function', 'page/search-one');
	await page.fill('#search', 'ma(');
	ok(await page.evaluate(() => document.querySelector('#search').classList.contains('bad')), 'page/search-bad-regex');
	await page.keyboard.press('Escape');
	equal(await text(page, 'matched'), '', 'page/escape-clears-search');
	await small_keys(page);
	equal(page.faults, [], 'page/no-faults');
	await page.close();
}

async function small_keys(page) {
	await page.focus('#scroll');
	for (const [key, cursor] of [['ArrowDown', 'app-100/101'], ['ArrowDown', 'main'], ['ArrowDown', '[libc.so.6]'],
		['ArrowRight', 'work'], ['ArrowDown', 'fast'], ['ArrowUp', 'work'], ['ArrowLeft', '[libc.so.6]']]) {
		await page.keyboard.press(key);
		equal((await state(page)).cursor, cursor, 'page/key-' + key + '-' + cursor);
	}
	await page.keyboard.press('Enter');
	equal((await state(page)).zoom, '[libc.so.6]', 'page/key-enter');
	ok((await text(page, 'said')).startsWith('[libc.so.6], 3 samples (50.00 %)'), 'page/said-aloud');
	await page.keyboard.press('Backspace');
	equal((await state(page)).zoom, 'main', 'page/key-backspace');
	await page.keyboard.press('Escape');
	equal((await state(page)).zoom, 'all', 'page/key-escape');
	await page.keyboard.press('i');
	equal((await page.evaluate(() => window.flame.find('do_fault')))[0].row, 1, 'page/inverted-leaf-first');
	equal((await page.evaluate(() => window.flame.find('main'))).length, 3, 'page/inverted-callers');
	await page.keyboard.press('i');
	await page.keyboard.press('f');
	equal(await page.$$eval('#rows tr', rows => rows.map(r => r.textContent)),
		['50.00 %50.00 %fast', '33.33 %50.00 %[libc.so.6]', '16.67 %16.67 %do_fault', '0.00 %100.00 %main', '0.00 %50.00 %work'],
		'page/table');
	await page.click('#rows tr:nth-child(2) button');
	equal(await text(page, 'matched'), 'matched 50.00 %, 1 function', 'page/table-searches');
	await page.keyboard.press('Escape');
	await page.keyboard.press('?');
	ok(await page.isVisible('#keys'), 'page/help');
	await page.keyboard.press('Escape');
	ok(!await page.isVisible('#keys'), 'page/help-closes');
}

async function hostile(browser) {
	const page = await open(browser, file('hostile'));
	equal((await state(page)).frames, 24, 'page/hostile-frames');
	equal(await page.evaluate(() => typeof window.hostile), 'undefined', 'page/hostile-runs-nothing');
	equal(await page.$$eval('script', s => s.length), 2, 'page/hostile-adds-no-script');
	ok(await find(page, '</script><script>window.hostile = 1</script>'), 'page/hostile-shown-as-text');
	ok(await find(page, 'esc\\x1b[31m'), 'page/hostile-control');
	ok(await find(page, '\\xe2\\x80\\xaeesrever'), 'page/hostile-direction');
	ok(await find(page, '__proto__'), 'page/hostile-proto');
	await page.keyboard.press('f');
	equal(await page.$$eval('b, title', e => e.length > 4), false, 'page/hostile-table');
	equal(page.faults, [], 'page/hostile-no-faults');
	await page.screenshot({ path: path.join(folder, 'hostile.png') });
	await page.close();
}

async function large(browser) {
	const start = Date.now(), page = await open(browser, file('large'));
	const s = await state(page), loaded = Date.now() - start;
	ok(s.nodes > 50000, 'page/large-nodes', s);
	ok(loaded < 5000, 'page/large-loads', loaded);
	console.log(`# ${s.nodes} nodes, ${s.frames} drawn, loaded in ${loaded} ms`);
	for (const [name, action] of [['search', () => page.evaluate(() => {
		const input = document.querySelector('#search');
		input.value = 'method_1.*0';
		input.dispatchEvent(new Event('input'));
	})], ['invert', () => page.click('#invert')], ['functions', () => page.click('#list')]]) {
		const t = Date.now();
		await action();
		await page.evaluate(() => new Promise(requestAnimationFrame));
		ok(Date.now() - t < 3000, 'page/large-' + name, Date.now() - t);
		console.log(`# ${name}: ${Date.now() - t} ms`);
		await page.screenshot({ path: path.join(folder, 'large-' + name + '.png') });
	}
	equal(page.faults, [], 'page/large-no-faults');
	await page.close();
}

async function deep(browser) {
	const page = await open(browser, file('deep'));
	equal((await state(page)).rows, 402, 'page/deep-rows');
	await page.focus('#scroll');
	for (let i = 0; i < 60; i++)
		await page.keyboard.press('ArrowDown');
	ok(await page.evaluate(() => document.querySelector('#scroll').scrollTop) > 0, 'page/deep-scrolls');
	equal(page.faults, [], 'page/deep-no-faults');
	await page.close();
}

async function difference(browser) {
	const page = await open(browser, file('diff'), { colorScheme: 'dark' });
	equal(await page.title(), 'before.data → perf.data', 'page/diff-title');
	ok(await page.isVisible('#before'), 'page/diff-button');
	const at = await find(page, 'fast');
	await page.mouse.move(at.x, at.y);
	ok(/^before \d+ \(.* %\)after 3 \(50.00 %\)change [+−]\d/.test(await text(page, 'numbers')), 'page/diff-numbers', await text(page, 'numbers'));
	await page.screenshot({ path: path.join(folder, 'diff-dark.png') });
	await page.keyboard.press('b');
	equal(await find(page, 'fast') === undefined, true, 'page/diff-widths-before');
	equal(page.faults, [], 'page/diff-no-faults');
	await page.close();
}

/** Towers of events side by side; everything that has a colour of its own. */
async function events(browser) {
	const page = await open(browser, file('events'));
	equal((await find(page, '[page-faults:u]')).row, 1, 'page/events-first');
	equal((await find(page, 'pool')).row, 2, 'page/events-then-threads');
	equal((await find(page, '[truncated]')).row, 3, 'page/events-truncated');
	ok(/function.*inlined.*kernel.*JIT.*cut off/.test(await text(page, 'legend')), 'page/legend', await text(page, 'legend'));
	equal(page.faults, [], 'page/events-no-faults');
	await page.screenshot({ path: path.join(folder, 'events.png') });
	await page.close();
}

/** An unwound recording: two threads, half of the samples each. */
async function real(browser) {
	if (!fs.existsSync(file('real')))
		return;
	const page = await open(browser, file('real'));
	const s = await state(page), width = s.width;
	ok(/^\d+ samples of cpu-clock:ppp in \d/.test(await text(page, 'facts')), 'page/real-facts', await text(page, 'facts'));
	await page.screenshot({ path: path.join(folder, 'real.png') });
	ok((await find(page, 'work(int)')).w > width * 0.8, 'page/real-work-is-wide');
	equal((await find(page, 'start_thread')).row < (await find(page, 'work(int)')).row, true, 'page/real-root-below');
	await clickFrame(page, 'work(int)');
	equal((await state(page)).zoom, 'work(int)', 'page/real-click-zooms');
	ok(Math.abs((await find(page, 'work(int)')).w - width) < 1, 'page/real-zoomed-width');
	await page.fill('#search', 'area');
	ok(/^matched \d+\.\d\d %, \d+ functions?$/.test(await text(page, 'matched')), 'page/real-search', await text(page, 'matched'));
	await page.screenshot({ path: path.join(folder, 'real-zoomed.png') });
	equal(page.faults, [], 'page/real-no-faults');
	await page.close();
}

/** Any recording's page: its widest functions, keys, the inverted view, the table. */
async function recording(browser, name) {
	const page = await open(browser, file(name));
	const s = await state(page), label = 'page/' + name;
	ok(/^\d+ samples of /.test(await text(page, 'facts')), label + '-facts', await text(page, 'facts'));
	await page.screenshot({ path: path.join(folder, name + '.png') });
	await page.keyboard.press('f');
	const rows = await page.$$eval('#rows tr', r => r.map(x => x.querySelector('button').textContent));
	ok(rows.length > 0, label + '-table');
	await page.keyboard.press('f');
	const function_ = rows[0];
	await page.fill('#search', '^' + function_.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&') + '$');
	ok(/^matched \d+\.\d\d %, 1 function$/.test(await text(page, 'matched')), label + '-search', await text(page, 'matched'));
	await page.keyboard.press('Escape');
	await page.focus('#scroll');
	for (let i = 0; i < 5; i++)
		await page.keyboard.press('ArrowDown');
	const cursor = (await state(page)).cursor;
	await page.keyboard.press('Enter');
	equal((await state(page)).zoom, cursor, label + '-zoom');
	await page.screenshot({ path: path.join(folder, name + '-zoomed.png') });
	await page.keyboard.press('Escape');
	equal((await state(page)).zoom, 'all', label + '-escape');
	await page.keyboard.press('i');
	const leaf = await find(page, function_);
	ok(leaf && leaf.row === 1, label + '-inverted-self-first', leaf);	// the table is by self
	await page.screenshot({ path: path.join(folder, name + '-inverted.png') });
	console.log(`# ${name}: ${s.nodes} nodes, ${s.frames} drawn`);
	equal(page.faults, [], label + '-no-faults');
	await page.close();
}

async function recordedDifference(browser, name) {
	const page = await open(browser, file(name));
	const label = 'page/' + name;
	ok(await page.isVisible('#before'), label + '-button');
	await page.screenshot({ path: path.join(folder, name + '.png') });
	await page.keyboard.press('b');
	await page.screenshot({ path: path.join(folder, name + '-before.png') });
	equal(page.faults, [], label + '-no-faults');
	await page.close();
}

const named = variable => (process.env[variable] || '').split(' ').filter(name => name);

inBrowser(async browser => {
	for (const each of [small, events, hostile, large, deep, difference, real])
		await each(browser);
	for (const name of named('REAL'))
		await recording(browser, name);
	for (const name of named('DIFFS'))
		await recordedDifference(browser, name);
});
