// The audit log and the policy as views of VS Code: decisions, a filter, opening the rule (LSP-11); a problem's quick fix (LSP-10).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { actions, ask, palette, quickOpen, soon, until } from './workbench.mjs';

const home = openHome('views', 'secret');
const { workspace, config } = home;
fs.writeFileSync(path.join(workspace, 'notes.txt'), 'notes\n');
fs.writeFileSync(path.join(workspace, 'secret', 'key.txt'), 'key\n');
fs.writeFileSync(path.join(workspace, 'broken.json'), '{ "a": 1,, }\n');
fs.writeFileSync(path.join(config, 'policy.yaml'), [
  'version: 1', 'capabilities:',
  '  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }',
  '  - { name: keep-out, match: { syscall: fs.read, path_glob: ["secret/**"] }, action: deny, reason: "keys stay here" }', '',
].join('\n'));
const read = (file) => ({ name: 'read_file', arguments: { path: file } });
const model = home.script('reads.json', [
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'READ_FILE' } }, read('notes.txt'), read('secret/key.txt')] },
  { text: 'One of the two I may not read.' },
  { text: 'There is a comma too many.\n\n```json\n{ "a": 1 }\n```\n' },
]);

await tell(home, { model }, async ({ page, open, list, look, picture }) => {
  const chat = await open();
  const row = (words) => page.locator('.monaco-list-row', { hasText: words });

  await ask(chat, 'read both');
  await chat.getByText('One of the two I may not read.').first().waitFor({ timeout: TURN_MS });
  await page.locator('.pane-header', { hasText: 'Audit Log' }).click();
  await row('read_file secret/key.txt').waitFor();
  await row('read_file notes.txt').waitFor();
  await page.locator('.pane-header', { hasText: 'Policy' }).click();
  await page.locator('.pane', { hasText: 'Policy' }).locator('.monaco-list-row').first().waitFor();
  await look(chat, '1-views');

  await palette(page, 'Remit: Filter the Audit Log');
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Denied' }).first().click();
  await until('only what was denied is listed', 30_000, async () => await row('read_file notes.txt').count() === 0);
  await row('read_file secret/key.txt').click();
  await page.locator('.tab.active[data-resource-name="policy.yaml"]').waitFor();
  await until('the rule is shown', 30_000, async () => (await page.locator('.statusbar-item', { hasText: /^Ln 4/ }).count()) === 1);
  await picture(chat, 'rule');
  await row('read_file secret/key.txt').hover();
  await row('read_file secret/key.txt').getByRole('button', { name: 'Open the File of This Call' }).click();
  await page.locator('.tab.active[data-resource-name="key.txt"]').waitFor();
  await look(chat, '2-file');

  // A real problem from a real language server: VS Code's own for JSON.
  await quickOpen(page, 'broken.json');
  await page.locator('.tab.active[data-resource-name="broken.json"]').waitFor();
  await page.locator('.squiggly-error').first().waitFor({ timeout: 60_000 });
  await page.keyboard.press('F8');
  await list('3-quick-fix', () => actions(page, 'Explain with Remit'));
  const fix = page.locator('.action-widget').getByText('Explain with Remit').first();
  await until('the quick fix is taken', 60_000, async () => {
    await actions(page, 'Explain with Remit');
    return fix.click({ timeout: 5_000 }).then(() => true, () => false);
  });
  await chat.getByText('There is a comma too many.').first().waitFor({ timeout: TURN_MS });
  const asked = await chat.locator('.asked').last().innerText();
  assert.match(asked, /explain what the editor shows at line 1 of broken\.json @diagnostics:broken\.json/);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await chat.getByRole('button', { name: 'Copy' }).click();
  await chat.getByRole('button', { name: 'Copied' }).waitFor();
  await picture(chat, 'explained');
  const input = chat.locator('#input');
  await input.press('ArrowUp');
  await soon(async () => assert.match(await input.inputValue(), /^explain what the editor shows/));
  await input.press('ArrowUp');
  await soon(async () => assert.equal(await input.inputValue(), 'read both'));
  // Both keys come before the page is drawn again: the second one must see the effect of the first.
  await input.evaluate((element) => {
    for (const key of ['ArrowDown', 'ArrowDown']) element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  });
  await soon(async () => assert.equal(await input.inputValue(), ''));
});
