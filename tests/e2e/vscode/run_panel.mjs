// The chat panel in VS Code: attachments (EDI-06), places, forks (EDI-08), a long chat, a long answer, a reload (EDI-05),
// and axe-core with a question open, in dark, light and high contrast, at 200 % and in a narrow panel (EDI-07).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { framesOf, traced, watchFrames } from './frames.mjs';
import { atTwice, openHome, tell, TURN_MS } from './story.mjs';
import { ask, endedTurns, palette, soon, until } from './workbench.mjs';

const EVENTS = 5_000;
const home = openHome('panel', 'src');
const { workspace, state, remit } = home;
const lines = (n, line) => Array.from({ length: n }, (_, number) => line(number)).join('');
fs.writeFileSync(path.join(workspace, 'src', 'cart.py'), lines(60, (n) => `price_${n} = ${n}\n`));
fs.writeFileSync(path.join(workspace, '.env'), 'KEY=secret\n');
const LONG = lines(250, (n) => `Paragraph ${n} says ${'one word after the other '.repeat(3)}and ends.\n\n`) + `\`\`\`python\n${lines(60, (n) => `value_${n} = ${n}\n`)}\`\`\`\n`;
const write = (name) => ({ name: 'write_file', arguments: { path: name, content: `${name}\n` } });
const model = home.script('panel.json', [
  { text: 'The sum is made in `src/cart.py:41`, see also src/nowhere.py:3 and [home](https://a.example).' },
  { text: LONG, pace_s: 0.001 },
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, write('a.txt'), write('b.txt')] },
  { text: 'Neither was written.' },
]);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const old = home.script('old.json', [{ calls: [{ name: 'select_active_intent', arguments: { intent: 'READ_FILE' } }, { name: 'read_file', arguments: { path: 'src/cart.py' } }] }, { text: 'Read it.' }]);
remit('ask', '--model', old, 'look at the cart');
const TURNS = lengthen(EVENTS);

await tell(home, { model }, async ({ page, open, shot, still, look: lookAt }) => {
  const chat = await open();
  const look = (name) => lookAt(chat, name);
  const input = chat.locator('#input');
  const ended = (turns) => until(`turn ${turns} ends`, TURN_MS, async () => await endedTurns(chat) === turns);
  const frame = async () => (await chat.locator('#chat').elementHandle()).ownerFrame();
  const stage = { page, chat, shot, still, look, input, ask: (text) => ask(chat, text), ended, frame };
  await page.locator('.statusbar-item', { hasText: 'Remit: script:panel.json' }).waitFor({ timeout: 60_000 });

  await attachments(stage);
  await places(stage);
  await streamed(stage);
  await accessible(stage);
  await forked(stage);
  await reloaded(stage);
  await long(stage);
  await blank(stage);
});

async function attachments({ page, chat, look, input, ask, ended }) {
  const chips = chat.locator('.chip');
  const pick = async (...words) => {
    const before = await chips.count();
    await chat.getByRole('button', { name: 'Attach' }).press('Enter');
    for (const each of words) await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: each }).first().click();
    await until('it is attached', 30_000, async () => await chips.count() === before + 1);
  };
  await pick('File…', 'src/cart.py');
  await pick('File…', '.env');
  await pick('All Problems');
  await look('1-chips');
  await chips.nth(2).press('Delete');
  await soon(async () => assert.deepEqual(await chips.allInnerTexts(), ['src/cart.py', '.env']));
  await soon(async () => assert.ok(await input.evaluate((element) => element === document.activeElement), 'the keyboard is back in the input'));
  // An image is refused with a message; a file of the folder is attached, once.
  const drop = (kind, value) => input.evaluate((element, given) => {
    const dataTransfer = new DataTransfer();
    if (given.kind === 'image') dataTransfer.items.add(new File(['x'], given.value, { type: 'image/png' }));
    else dataTransfer.setData('text/uri-list', given.value);
    element.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, { kind, value });
  await drop('image', 'a.png');
  await chat.getByText('You can attach only text files in the open folder').waitFor();
  await drop('uris', `file://${path.join(workspace, 'src', 'cart.py')}`);
  await drop('uris', 'file:///etc/hostname');
  await page.locator('.notifications-toasts').getByText('You can attach only text files in the folder').waitFor();
  await soon(async () => assert.equal(await chips.count(), 2));
  await ask('where is the sum made?');
  await ended(1);
  await soon(async () => assert.equal(await chips.count(), 0));
  await soon(async () => assert.deepEqual(await chat.getByRole('list', { name: 'Attached' }).locator('li').allInnerTexts(), ['src/cart.py', '.env']));
  const calls = await chat.getByTestId('tool').allInnerTexts();
  assert.equal(calls.length, 2);
  assert.match(calls[1], /denied by no-secrets/, 'what may not be read is said');
  await look('2-answer');
}

async function places({ page, chat, look }) {
  await chat.getByRole('button', { name: 'src/cart.py:41' }).click();
  await page.locator('.tab.active[data-resource-name="cart.py"]').waitFor();
  await page.locator('.statusbar-item', { hasText: 'Ln 41, Col 1' }).waitFor();
  await chat.getByRole('button', { name: 'src/nowhere.py:3' }).click();
  await page.locator('.notifications-toasts').getByText('There is no file src/nowhere.py').waitFor();
  await soon(async () => assert.equal(await chat.locator('.answer a').count(), 1, 'a link stays a link'));
  await look('3-place');
}

async function streamed({ page, chat, still, input, ask, ended, frame }) {
  await watchFrames(await frame());
  const trace = await traced(page, async () => {
    await ask('tell me all of it');
    await ended(2);
  });
  console.log('stream', JSON.stringify({ ...await framesOf(await frame()), trace }));
  await soon(async () => assert.match(await chat.getByTestId('answer').last().innerText(), /Paragraph 0 says[^]*Paragraph 249 says[^]*value_59 = 59/, 'nothing of it is missing'));
  await soon(async () => assert.ok(await input.isEnabled()));
  await still('4-streamed');
}

async function accessible({ page, chat, still, ask, frame }) {
  await ask('write both');
  await chat.getByRole('button', { name: 'Allow once' }).waitFor({ timeout: TURN_MS });
  const themes = {
    'vscode-dark': () => page.emulateMedia({ colorScheme: 'dark' }),
    'vscode-light': () => page.emulateMedia({ colorScheme: 'light' }),
    'vscode-high-contrast': () => page.emulateMedia({ forcedColors: 'active' }),
  };
  for (const [kind, choose] of Object.entries(themes)) {
    await choose();
    await until(`the theme is ${kind}`, 30_000, async () => (await chat.locator('body').getAttribute('class')).split(' ').some((each) => each.startsWith(kind)));
    await still(`5-${kind}`);
    await soon(async () => assert.deepEqual(await violations(await frame()), [], `axe, ${kind}`));
  }
  await page.emulateMedia({ forcedColors: 'none', colorScheme: 'light' });
  await atTwice(page, async () => {
    await chat.getByRole('button', { name: 'Allow once' }).scrollIntoViewIfNeeded();
    await still('6-twice-the-size');
    await soon(async () => assert.ok(await chat.locator('body').evaluate((body) => body.scrollWidth <= body.clientWidth), 'nothing lies out of sight to the right'));
    await soon(async () => assert.deepEqual(await violations(await frame()), [], 'axe, at 200 %'));
  });
  const bar = await page.locator('.part.sidebar').boundingBox();
  await page.mouse.move(bar.x + bar.width + 2, 400);
  await page.mouse.down();
  await page.mouse.move(bar.x + 200, 400, { steps: 5 });
  await page.mouse.up();
  await until('the chat is narrow', 30_000, async () => await chat.locator('body').evaluate((body) => body.clientWidth) <= 200);
  await chat.getByRole('button', { name: 'Deny' }).first().scrollIntoViewIfNeeded();
  await still('6-narrow');
  await soon(async () => assert.ok(await chat.locator('body').evaluate((body) => body.scrollWidth <= body.clientWidth), 'nothing lies out of sight to the right'));
  await soon(async () => assert.deepEqual(await violations(await frame()), [], 'axe, narrow'));
  for (let denied = 1; denied <= 2; denied += 1) {
    await chat.getByRole('button', { name: 'Deny', disabled: false }).first().press('Enter');
    await until('the answer counts', 30_000, async () => await chat.getByTestId('outcome').count() === denied);
  }
}

/** Returns the serious and critical violations that axe-core finds; in a window that just changed its colours it may find some. */
async function violations(frame) {
  await frame.evaluate(axe);
  // The background behind the webview belongs to the workbench, which axe cannot see from inside.
  await frame.evaluate(() => { document.documentElement.style.background = 'var(--vscode-sideBar-background)'; });
  const found = await frame.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`).join(' | ')}`);
}

/** Editing a message and asking again continues in a copy without the later turns. */
async function forked({ page, chat, look, input, ended }) {
  await ended(3);
  await chat.getByRole('button', { name: 'Edit and ask again: write both' }).press('Enter');
  await until('two turns are left', 30_000, async () => await endedTurns(chat) === 2);
  await soon(async () => assert.equal(await input.inputValue(), 'write both'));
  await input.fill('write neither');
  await look('7-forked');
  await palette(page, 'Remit: Sessions');
  await until('the copy is a session of its own', 30_000, async () => await page.locator('.quick-input-list .monaco-list-row').count() === 3);
  await page.keyboard.press('Escape');
}

/** After a reload of the window, the chat is as it was, with the message that was not sent yet. */
async function reloaded({ page, chat, shot, input, ended }) {
  await page.waitForTimeout(1_000); // the window stores a draft a moment after it was typed
  await page.reload({ waitUntil: 'domcontentloaded' });
  await input.waitFor({ timeout: 60_000 });
  await ended(2);
  await soon(async () => assert.equal(await input.inputValue(), 'write neither'));
  await soon(async () => assert.match(await chat.getByTestId('answer').last().innerText(), /value_59/));
  await shot('8-reloaded');
}

/** Scrolls a long chat from its end to its beginning: every row appears, and only few are in the document at once. */
async function long({ page, chat, look, input, frame }) {
  await input.fill('');
  await palette(page, 'Remit: Sessions');
  await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'look at the cart' }).first().click();
  await chat.getByText(`look at the cart, number ${TURNS - 1}`).waitFor({ timeout: 60_000 });
  await watchFrames(await frame());
  const most = await chat.locator('main').evaluate(async (list) => {
    let rows = 0;
    const frames = () => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
    for (let last = -1; list.scrollTop !== last;) {
      last = list.scrollTop;
      list.scrollTop -= 2_000;
      await frames();
      rows = Math.max(rows, list.querySelectorAll('.row').length);
    }
    return rows;
  });
  console.log('scroll', JSON.stringify({ events: EVENTS, most_rows: most, ...await framesOf(await frame()) }));
  assert.ok(most < 200, `${most} rows at once`);
  await soon(async () => assert.match(await chat.locator('.asked').first().innerText(), /look at the cart$/, 'the first turn is there'));
  await look('9-long');
}

/** A webview that went blank is drawn again from the extension host's view. */
async function blank({ chat, shot, frame }) {
  await (await frame()).evaluate(() => document.getElementById('chat').remove());
  await chat.getByText(`look at the cart, number ${TURNS - 1}`).waitFor({ timeout: 60_000 });
  await shot('10-drawn-again');
}

/** Adds copies of its turn to the only session, at least this many records; returns the number of added turns. */
function lengthen(records) {
  const file = fs.readdirSync(state, { recursive: true }).map(String).find((each) => /session-.*\.jsonl$/.test(each));
  const kept = fs.readFileSync(path.join(state, file), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const turn = kept.filter((record) => record.turn_id);
  const turns = Math.ceil(records / turn.length);
  const more = Array.from({ length: turns }, (_, number) => turn.map((record) => ({
    ...record, turn_id: `old-${number}`, ...(record.type === 'user' ? { content: `look at the cart, number ${number}` } : {}),
  })));
  const all = [...kept.filter((record) => record.type !== 'session_end'), ...more.flat()];
  fs.writeFileSync(path.join(state, file), all.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return turns;
}
