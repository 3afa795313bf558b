// The audit log and the policy as views of VS Code: what was decided, narrowed, with the way to the rule (LSP-11); a problem's quick fix (LSP-10).
// Exits 0 when all of it held. The environment is that of run.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openBrowser, openChat, palette, picture, quickOpen, startCodeServer, until } from './workbench.mjs';

const TURN_MS = 120_000;
const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-e2e-views-'));
const workspace = path.join(home, 'shop');
for (const folder of [path.join(workspace, 'secret'), path.join(home, 'config'), shots]) fs.mkdirSync(folder, { recursive: true });
fs.writeFileSync(path.join(workspace, 'notes.txt'), 'notes\n');
fs.writeFileSync(path.join(workspace, 'secret', 'key.txt'), 'key\n');
fs.writeFileSync(path.join(workspace, 'broken.json'), '{ "a": 1,, }\n');
fs.writeFileSync(path.join(home, 'config', 'policy.yaml'), [
  'version: 1', 'capabilities:',
  '  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }',
  '  - { name: keep-out, match: { syscall: fs.read, path_glob: ["secret/**"] }, action: deny, reason: "keys stay here" }', '',
].join('\n'));
const script = path.join(home, 'reads.json');
const read = (file) => ({ name: 'read_file', arguments: { path: file } });
fs.writeFileSync(script, JSON.stringify([
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'READ_FILE' } }, read('notes.txt'), read('secret/key.txt')] },
  { text: 'One of the two I may not read.' },
  { text: 'There is a comma too many.\n\n```json\n{ "a": 1 }\n```\n' },
]));

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'),
  vsix: need('REMIT_VSIX'),
  workspace,
  settings: { 'window.autoDetectColorScheme': true },
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER'), 'remit.model': `script:${script}` },
  env: { REMIT_STATE_DIR: path.join(home, 'state'), REMIT_CONFIG_DIR: path.join(home, 'config') },
  log: path.join(shots, 'code-server-views.log'),
});
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'));
  const { page } = browser;
  const chat = await openChat(page, editor.url, workspace);
  const shot = (name) => page.screenshot({ path: path.join(shots, `views-${name}.png`) });
  const row = (words) => page.locator('.monaco-list-row', { hasText: words });

  await chat.locator('#input').fill('read both');
  await chat.locator('#input').press('Enter');
  await chat.getByText('One of the two I may not read.').first().waitFor({ timeout: TURN_MS });
  await page.locator('.pane-header', { hasText: 'Audit Log' }).click();
  await row('read_file secret/key.txt').waitFor();
  await row('read_file notes.txt').waitFor();
  await page.locator('.pane-header', { hasText: 'Policy' }).click();
  await page.locator('.pane', { hasText: 'Policy' }).locator('.monaco-list-row').first().waitFor();
  await shot('1-views');

  await palette(page, 'Remit: Filter the Audit Log');
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Denied' }).first().click();
  await until('only what was denied is listed', 30_000, async () => await row('read_file notes.txt').count() === 0);
  await row('read_file secret/key.txt').click();
  await page.locator('.tab.active[data-resource-name="policy.yaml"]').waitFor();
  await until('the rule is shown', 30_000, async () => (await page.locator('.statusbar-item', { hasText: /^Ln 4/ }).count()) === 1);
  await picture(page, chat, shots, 'rule');

  // A real problem of a real language server: VS Code's own for JSON.
  await quickOpen(page, 'broken.json');
  await page.locator('.tab.active[data-resource-name="broken.json"]').waitFor();
  await page.locator('.squiggly-error').first().waitFor({ timeout: 60_000 });
  await page.keyboard.press('F8');
  await page.keyboard.press('Control+.');
  await page.locator('.action-widget').getByText('Explain with Remit').first().waitFor({ timeout: 30_000 });
  await shot('3-quick-fix');
  await page.locator('.action-widget').getByText('Explain with Remit').first().click();
  await chat.getByText('There is a comma too many.').first().waitFor({ timeout: TURN_MS });
  const asked = await chat.locator('.asked').last().innerText();
  assert.match(asked, /explain what the editor shows at line 1 of broken\.json @diagnostics:broken\.json/);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await chat.getByRole('button', { name: 'Copy' }).click();
  await chat.getByRole('button', { name: 'Copied' }).waitFor();
  await picture(page, chat, shots, 'explained');
  const input = chat.locator('#input');
  await input.press('ArrowUp');
  assert.match(await input.inputValue(), /^explain what the editor shows/);
  await input.press('ArrowUp');
  assert.equal(await input.inputValue(), 'read both');
  await input.press('ArrowDown');
  await input.press('ArrowDown');
  assert.equal(await input.inputValue(), '');
} catch (error) {
  await browser?.page.screenshot({ path: path.join(shots, 'views-failed.png') });
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await editor.stop();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
