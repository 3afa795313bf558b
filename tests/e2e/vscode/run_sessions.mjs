// A session begun in VS Code, forked and undone in the terminal, seen in VS Code again, redone and undone there (SES-02, SES-05).
// Exits 0 when all of it held. The environment is that of run.mjs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endedTurns, openBrowser, openChat, palette, picture, startCodeServer, until } from './workbench.mjs';

const TURN_MS = 120_000;
const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-e2e-sessions-'));
const workspace = path.join(home, 'shop');
for (const folder of [workspace, path.join(home, 'config'), shots]) fs.mkdirSync(folder, { recursive: true });
const notes = path.join(workspace, 'notes.txt');
const script = path.join(home, 'sessions.json');
fs.writeFileSync(script, JSON.stringify([
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'notes.txt', content: 'mine\n' } }] },
  { text: 'I wrote the notes.' },
]));
const env = { REMIT_STATE_DIR: path.join(home, 'state'), REMIT_CONFIG_DIR: path.join(home, 'config') };
const remit = (...words) => execFileSync(need('REMIT_SERVER'), words, { cwd: workspace, env: { ...process.env, ...env }, encoding: 'utf8' });

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'),
  vsix: need('REMIT_VSIX'),
  workspace,
  settings: { 'window.autoDetectColorScheme': true },
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER'), 'remit.model': `script:${script}` },
  env,
  log: path.join(shots, 'code-server-sessions.log'),
});
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'));
  const { page } = browser;
  const chat = await openChat(page, editor.url, workspace);
  const shot = (name) => page.screenshot({ path: path.join(shots, `sessions-${name}.png`) });
  await page.locator('.statusbar-item', { hasText: 'Remit: script:sessions.json' }).waitFor({ timeout: 60_000 });
  await chat.locator('#input').fill('write the notes');
  await chat.locator('#input').press('Enter');
  await chat.getByRole('button', { name: 'Allow once', disabled: false }).click({ timeout: TURN_MS });
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 1);
  assert.equal(fs.readFileSync(notes, 'utf8'), 'mine\n');

  const [{ session_id }] = remit('session', 'list', '--json').trim().split('\n').map((line) => JSON.parse(line));
  remit('session', 'fork', session_id, '--name', 'copy');
  remit('session', 'undo', session_id);
  assert.ok(!fs.existsSync(notes), 'undone in the terminal');

  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should be done?').waitFor();
  await palette(page, 'Remit: Sessions');
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await until('both sessions are listed', 30_000, async () => await rows.count() === 2);
  await rows.filter({ hasText: 'copy' }).waitFor();
  await rows.first().hover();
  await shot('1-list');
  await rows.filter({ hasText: 'write the notes' }).filter({ hasNotText: 'copy' }).click();
  await chat.getByText('I wrote the notes.').waitFor();
  await chat.getByText('!undo_changes').waitFor();
  await until('two turns are shown', 30_000, async () => await endedTurns(chat) === 2);
  await picture(page, chat, shots, 'session');

  await palette(page, 'Remit: Redo');
  await until('the notes are back', 30_000, () => fs.existsSync(notes) && fs.readFileSync(notes, 'utf8') === 'mine\n');
  await page.locator('.notifications-toasts').getByText('redone: notes.txt').waitFor();
  await shot('3-redone');
  await palette(page, 'Remit: Undo the Last Turn');
  await until('the notes are gone', 30_000, () => !fs.existsSync(notes));
  await chat.locator('#input').fill('go on');
  await chat.locator('#input').press('Enter');
  await until('the session goes on', TURN_MS, async () => await endedTurns(chat) >= 5 || await chat.getByRole('button', { name: 'Allow once', disabled: false }).count() === 1);
  await shot('4-goes-on');
  assert.equal(remit('session', 'list', '--json').trim().split('\n').length, 2, 'it is the same session');
} catch (error) {
  await browser?.page.screenshot({ path: path.join(shots, 'sessions-failed.png') });
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await editor.stop();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
