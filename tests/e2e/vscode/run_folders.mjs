// One window with two folders: a turn works in the folder of the file that is shown, says so, and makes a new file there.
// An editor, settings and a script of its own, written before the window opens: nothing changes while it loads.
// Exits 0 when all of it held. The environment is that of run.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endedTurns, openBrowser, openChat, quickOpen, startCodeServer, until } from './workbench.mjs';

const TURN_MS = 120_000;
const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-e2e-folders-'));
const folders = ['first', 'second'].map((name) => path.join(home, name));
for (const folder of [...folders, path.join(home, 'config'), shots]) fs.mkdirSync(folder, { recursive: true });
const [first, second] = folders;
const file = (folder, name) => path.join(folder, name);
fs.writeFileSync(file(first, 'notes.txt'), 'of the first\n');
fs.writeFileSync(file(second, 'notes.txt'), 'of the second\n');
fs.writeFileSync(file(second, 'only.txt'), 'only here\n');
const workspace = path.join(home, 'both.code-workspace');
fs.writeFileSync(workspace, JSON.stringify({ folders: folders.map((folder) => ({ path: folder })) }));
const script = path.join(home, 'folders.json');
const write = (name, content) => ({
  calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: name, content } }],
});
fs.writeFileSync(script, JSON.stringify([write('notes.txt', 'changed\n'), { text: 'Changed.' }, write('fresh.txt', 'new\n'), { text: 'Made.' }]));

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'),
  vsix: need('REMIT_VSIX'),
  workspace,
  settings: { 'workbench.colorTheme': 'Default Dark Modern' },
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER'), 'remit.model': `script:${script}` },
  env: { REMIT_STATE_DIR: path.join(home, 'state'), REMIT_CONFIG_DIR: path.join(home, 'config') },
  log: path.join(shots, 'code-server-folders.log'),
});
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'));
  const { page } = browser;
  const chat = await openChat(page, editor.url, workspace);
  const allow = chat.getByRole('button', { name: 'Allow once', disabled: false });
  const turn = async (text, number) => {
    await chat.locator('#input').fill(text);
    await chat.locator('#input').press('Enter');
    await until('a question', TURN_MS, async () => {
      assert.equal(await endedTurns(chat), number - 1, `the turn ended without a question:\n${await chat.locator('main').innerText()}`);
      return await allow.count() === 1;
    });
    await page.screenshot({ path: path.join(shots, `folders-${number}.png`) });
    await allow.click();
    await until(`turn ${number} ends`, TURN_MS, async () => await endedTurns(chat) === number);
  };
  await page.locator('.statusbar-item', { hasText: 'Remit: script:folders.json' }).waitFor({ timeout: 60_000 });
  await quickOpen(page, 'only.txt');
  await page.locator('.tab', { hasText: 'only.txt' }).waitFor();

  await turn('change the notes', 1);
  await until('the second folder has the change', 30_000, () => fs.readFileSync(file(second, 'notes.txt'), 'utf8') === 'changed\n');
  assert.equal(fs.readFileSync(file(first, 'notes.txt'), 'utf8'), 'of the first\n');
  assert.equal(await chat.getByTestId('folder').innerText(), 'in the folder second');

  await turn('make a new file', 2);
  await until('the new file is there', 30_000, () => fs.existsSync(file(second, 'fresh.txt')));
  assert.equal(fs.readFileSync(file(second, 'fresh.txt'), 'utf8'), 'new\n');
  assert.ok(!fs.existsSync(file(first, 'fresh.txt')));
  await page.screenshot({ path: path.join(shots, 'folders-3.png') });
} catch (error) {
  await browser?.page.screenshot({ path: path.join(shots, 'folders-failed.png') });
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await editor.stop();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
