// Folded stacks and perf's text opened by speedscope's own importer, in headless Chromium
// as its command line does it: a script with the file as base64 (speedscope's bin/cli.js).
//
// usage: node speedscope.js FOLDER     with small.folded, small.perf
'use strict';
const { fs, path, ok, inBrowser, open, pathToFileURL } = require('./common.js');
const folder = process.argv[2];
const release = path.join(process.env.NPM, 'node_modules', 'speedscope', 'dist', 'release', 'index.html');

async function load(browser, name, title, want) {
	const data = fs.readFileSync(path.join(folder, name)).toString('base64');
	const script = path.join(folder, name + '.js');
	fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ${JSON.stringify(data)})`);
	const page = await open(browser, pathToFileURL(release).href + '#localProfilePath=' + script);
	await page.waitForFunction(() => document.title !== 'speedscope', null, { timeout: 10000 }).catch(() => {});
	await page.waitForTimeout(500);
	const text = await page.evaluate(() => document.body.innerText + ' ' + document.title);
	ok(text.includes(title), 'speedscope/' + name, text.slice(0, 300));
	await page.getByText('Sandwich').click();	// its table of functions
	await page.waitForTimeout(300);
	const table = await page.evaluate(() => document.body.innerText);
	for (const function_ of want)
		ok(table.includes(function_), `speedscope/${name}/${function_}`, table.slice(0, 600));
	await page.screenshot({ path: path.join(folder, name + '.png') });
	await page.close();
}

inBrowser(async browser => {
	await load(browser, 'small.folded', 'small.folded', ['main', 'work', 'fast', '[libc.so.6]', 'do_fault']);
	if (fs.existsSync(path.join(folder, 'real.folded'))) {
		await load(browser, 'real.folded', 'real.folded', ['work(int)', 'round_shape<1>::area(int) const']);
		await load(browser, 'real.perf', 'work tid: ', []);	// a profile a thread, main()'s first
	}
	for (const name of (process.env.REAL || '').split(' ').filter(n => n.startsWith('recording-')))
		await load(browser, name + '.folded', name + '.folded', []);
	await load(browser, 'small.perf', 'app tid: 101', ['main', 'work', 'fast', 'do_fault']);
});
