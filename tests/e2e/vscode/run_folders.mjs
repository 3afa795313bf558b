// One window with two folders: a turn works in the folder of the active file, names that folder, and makes a new file there.
// It has an editor, settings and a script of its own, written before the window opens, so that nothing changes while it loads.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, endedTurns, quickOpen, soon, until } from './workbench.mjs';

const home = openHome('folders', 'first', 'second');
const folders = ['first', 'second'].map((name) => path.join(home.workspace, name));
const [first, second] = folders;
const file = (folder, name) => path.join(folder, name);
fs.writeFileSync(file(first, 'notes.txt'), 'of the first\n');
fs.writeFileSync(file(second, 'notes.txt'), 'of the second\n');
fs.writeFileSync(file(second, 'only.txt'), 'only here\n');
const workspace = path.join(home.home, 'both.code-workspace');
fs.writeFileSync(workspace, JSON.stringify({ folders: folders.map((folder) => ({ path: folder })) }));
const write = (name, content) => ({
  calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: name, content } }],
});
const model = home.script('folders.json', [write('notes.txt', 'changed\n'), { text: 'Changed.' }, write('fresh.txt', 'new\n'), { text: 'Made.' }]);

await tell(home, { model, workspace }, async ({ page, open, look }) => {
  const chat = await open();
  const allow = chat.getByRole('button', { name: 'Allow once', disabled: false });
  const turn = async (text, number) => {
    await ask(chat, text);
    await until('a question', TURN_MS, async () => {
      assert.equal(await endedTurns(chat), number - 1, `the turn ended without a question:\n${await chat.locator('main').innerText()}`);
      return await allow.count() === 1;
    });
    await look(chat, `${number}`);
    await allow.click();
    await until(`turn ${number} ends`, TURN_MS, async () => await endedTurns(chat) === number);
  };
  await page.locator('.statusbar-item', { hasText: 'Remit: script:folders.json' }).waitFor({ timeout: 60_000 });
  await quickOpen(page, 'only.txt');
  await page.locator('.tab', { hasText: 'only.txt' }).waitFor();

  await turn('change the notes', 1);
  await until('the second folder has the change', 30_000, () => fs.readFileSync(file(second, 'notes.txt'), 'utf8') === 'changed\n');
  assert.equal(fs.readFileSync(file(first, 'notes.txt'), 'utf8'), 'of the first\n');
  await soon(async () => assert.equal(await chat.getByTestId('folder').innerText(), 'in the folder second'));

  await turn('make a new file', 2);
  await until('the new file is there', 30_000, () => fs.existsSync(file(second, 'fresh.txt')));
  assert.equal(fs.readFileSync(file(second, 'fresh.txt'), 'utf8'), 'new\n');
  assert.ok(!fs.existsSync(file(first, 'fresh.txt')));
  await look(chat, '3');
});
