// At the cursor in VS Code: the model completes once the person has turned that on (LSP-12), and edits the lines that it is asked about (LSP-13).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { actions, palette, quickOpen, readAll, until } from './workbench.mjs';

const home = openHome('inline', '.vscode');
const { workspace } = home;
const file = path.join(workspace, 'cart.py');
fs.writeFileSync(file, 'def total(prices):\n    return \n\n\ndef greet():\n    print("hello")\n');
fs.writeFileSync(path.join(workspace, '.env'), 'KEY=\n');
// The setting has no effect in a workspace.
fs.writeFileSync(path.join(workspace, '.vscode/settings.json'), JSON.stringify({ 'remit.inlineCompletion': true }));
const traffic = path.join(home.home, 'traffic.jsonl');
const model = home.script('inline.json', [
  { at_cursor: true, text: 'sum(prices)\n\nand no more' },
  { calls: [
    { name: 'select_active_intent', arguments: { intent: 'CODE' } },
    { name: 'edit_file', arguments: { path: 'cart.py', old_text: 'print("hello")', new_text: 'print("HELLO")' } },
  ] },
  { text: 'It is louder now.' },
]);

const settings = { 'editor.inlineSuggest.enabled': true, 'editor.quickSuggestions': { other: 'off' }, 'editor.wordBasedSuggestions': 'off' };
await tell(home, { model, settings, env: { ...home.env, REMIT_RECORD: traffic } }, async ({ page, open, shot, list, look }) => {
  const chat = await open();
  const ghost = page.locator('.ghost-text, .ghost-text-decoration, .ghost-text-decoration-preview');
  const lines = page.locator('.monaco-editor .view-lines').first();
  const text = async () => (await lines.innerText()).replaceAll('\u00a0', ' ');
  const status = (words) => page.locator('.statusbar-item', { hasText: words });
  const at = async (line) => {
    await page.keyboard.press('Control+G');
    await page.locator('.quick-input-widget .quick-input-box input').fill(`:${line}`);
    await page.keyboard.press('Enter');
    await page.keyboard.press('End');
  };

  await quickOpen(page, 'cart.py');
  await page.locator('.tab.active[data-resource-name="cart.py"]').waitFor();
  await status('Remit: script').waitFor({ timeout: 60_000 });
  await at(2);
  await page.keyboard.type('s');
  await page.waitForTimeout(2_000);
  assert.equal(await ghost.count(), 0, 'it is off, whatever the workspace sets');
  assert.ok(!fs.existsSync(traffic) || !fs.readFileSync(traffic, 'utf8').includes('"gap"'), 'nothing was asked');
  await page.keyboard.press('Backspace');

  await palette(page, 'Remit: Turn Completion at the Cursor On or Off');
  await status('completion at the cursor is on').waitFor();
  /** Types until a completion is offered, because resizing or recolouring the window removes an earlier one. */
  const offered = async () => {
    if (await ghost.count() > 0) return true;
    await at(2);
    await page.keyboard.type(' ');
    await page.keyboard.press('Backspace');
    await page.waitForTimeout(1_000);
    return await ghost.count() > 0;
  };
  await until('the server knows', 60_000, offered);
  assert.ok((await text()).includes('return sum(prices)'), await text());
  await shot('1-ghost');
  await until('it is offered again', 30_000, offered);
  await page.keyboard.press('Tab');
  await until('it is in the text', 30_000, async () => {
    // The script offers the same again behind what was taken; Escape leaves only what is in the text.
    if (await ghost.count() > 0) await page.keyboard.press('Escape');
    return await ghost.count() === 0 && (await text()).includes('return sum(prices)');
  });
  assert.ok(!(await text()).includes('no more'));

  // A file that policy hides is not completed.
  await quickOpen(page, '.env');
  await page.locator('.tab.active[data-resource-name=".env"]').waitFor();
  const before = fs.readFileSync(traffic, 'utf8').split('"gap"').length;
  await page.keyboard.press('Control+End');
  await page.keyboard.type('K');
  await page.waitForTimeout(2_000);
  assert.equal(await ghost.count(), 0);
  assert.equal(fs.readFileSync(traffic, 'utf8').split('"gap"').length, before);
  await page.keyboard.press('Backspace');

  // An edit of the line with the cursor.
  await page.locator('.tab[data-resource-name="cart.py"]').click();
  await page.locator('.tab.active[data-resource-name="cart.py"]').waitFor();
  await at(6);
  await page.keyboard.press('Control+Alt+R');
  const box = page.locator('.quick-input-widget .quick-input-box input');
  await page.locator('.quick-input-widget', { hasText: 'What should Remit do with line 6 of cart.py?' }).waitFor();
  await shot('2-asked-for');
  await box.fill('make it louder');
  await page.keyboard.press('Enter');
  await page.locator('.codelens-decoration a', { hasText: 'Remit asks' }).waitFor({ timeout: TURN_MS });
  await page.locator('.notification-toast', { hasText: 'Remit: make it louder' }).waitFor();
  await page.locator('.notification-toast', { hasText: 'waits for your answer' }).waitFor();
  await look(chat, '3-waits');
  assert.ok((await text()).includes('print("hello")'), 'nothing happens before the answer');
  await readAll(chat);
  await chat.getByRole('button', { name: 'Allow once' }).click();
  await until('the editor shows it', 30_000, async () => (await text()).includes('print("HELLO")'));
  await until('the progress goes', 30_000, async () => await page.locator('.notification-toast', { hasText: 'make it louder' }).count() === 0);
  const said = fs.readFileSync(traffic, 'utf8');
  assert.ok(said.includes('Selected in cart.py, lines 6-6 (data, not a request)'), 'the line went along');

  // The same action in the lightbulb, for selected lines.
  await at(5);
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+ArrowDown');
  await list('4-lightbulb', () => actions(page, 'Edit with Remit…'));
});
