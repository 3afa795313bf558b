// The chat's commands in VS Code: completed, answered, run, refused with words (CLI-09); a configuration file is checked (CFG-04).
// Exits 0 when all of it held. The environment is that of run.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endedTurns, openBrowser, openChat, palette, startCodeServer, until } from './workbench.mjs';

const TURN_MS = 120_000;
const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-e2e-commands-'));
const workspace = path.join(home, 'shop');
for (const folder of [path.join(workspace, '.remit'), path.join(home, 'config'), shots]) fs.mkdirSync(folder, { recursive: true });
const notes = path.join(workspace, 'notes.txt');
fs.writeFileSync(path.join(home, 'config', 'policy.yaml'), [
  'version: 1', 'capabilities:', '  - { name: w, match: { syscall: [fs.read, fs.write], path_glob: ["**"] }, action: allow }', '',
].join('\n'));
fs.writeFileSync(path.join(workspace, '.remit', 'config.yaml'), 'model:\n  sed: 7\n');
const script = path.join(home, 'words.json');
fs.writeFileSync(script, JSON.stringify([
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'notes.txt', content: 'mine\n' } }] },
  { text: 'I wrote the notes.' },
]));

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'),
  vsix: need('REMIT_VSIX'),
  workspace,
  settings: { 'workbench.colorTheme': 'Default Dark Modern' },
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER'), 'remit.model': `script:${script}` },
  env: { REMIT_STATE_DIR: path.join(home, 'state'), REMIT_CONFIG_DIR: path.join(home, 'config') },
  log: path.join(shots, 'code-server-commands.log'),
});
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'));
  const { page } = browser;
  const chat = await openChat(page, editor.url, workspace);
  const shot = (name) => page.screenshot({ path: path.join(shots, `commands-${name}.png`) });
  const input = chat.locator('#input');
  const options = chat.getByRole('option');

  // A configuration that cannot be used is named; what is wrong in it is marked, and mending it is enough.
  await chat.getByText('unknown key').first().waitFor({ timeout: 60_000 });
  await shot('1-config');
  await chat.getByRole('button', { name: 'Open File' }).click();
  await page.locator('.tab.active[data-resource-name="config.yaml"]').waitFor();
  await page.locator('.squiggly-error').first().waitFor();
  await shot('1-config-open');
  fs.writeFileSync(path.join(workspace, '.remit', 'config.yaml'), 'model:\n  seed: 7\n');
  await palette(page, 'Remit: Restart');
  await page.locator('.statusbar-item', { hasText: 'Remit: script:words.json' }).waitFor({ timeout: 60_000 });

  await input.pressSequentially('/sta');
  await until('commands are proposed', 30_000, async () => (await options.allTextContents()).length === 2);
  await shot('2-proposals');
  await input.press('ArrowDown');
  await input.press('Tab');
  assert.equal(await input.inputValue(), '/status ');
  await input.press('Enter');
  await chat.getByText('it stays on this machine').first().waitFor();

  await input.fill('write the notes');
  await input.press('Enter');
  await until('the notes are there', TURN_MS, () => fs.existsSync(notes));
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 2);
  await input.pressSequentially('look at @no');
  await until('the file is proposed', 30_000, async () => (await options.allTextContents()).join() === 'notes.txt ');
  await input.press('Escape');
  assert.equal(await options.count(), 0);

  await input.fill('/undo');
  await input.press('Enter');
  await until('the notes are gone', TURN_MS, () => !fs.existsSync(notes));
  await input.fill('/stat');
  await input.press('Enter');
  await chat.getByText('the nearest is `/stats`').or(chat.getByText('the nearest is /stats')).first().waitFor();
  await shot('3-said');
  await input.fill('/new');
  await input.press('Enter');
  await chat.getByText('What should be done?').waitFor();
  await input.fill('/load 1');
  await input.press('Enter');
  await chat.getByText('I wrote the notes.').first().waitFor();
} catch (error) {
  await browser?.page.screenshot({ path: path.join(shots, 'commands-failed.png') });
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await editor.stop();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
