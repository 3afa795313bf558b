// A session that is begun in VS Code, forked and undone in the terminal, then loaded in VS Code, redone and undone there (SES-02, SES-05).
// After a reload of the window, and in a session that is taken up again, the last turn shows what it changed and takes it back.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, endedTurns, palette, soon, until } from './workbench.mjs';

const home = openHome('sessions');
const { workspace, remit } = home;
const notes = path.join(workspace, 'notes.txt');
const model = home.script('sessions.json', [
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'notes.txt', content: 'mine\n' } }] },
  { text: 'I wrote the notes.' },
]);

await tell(home, { model }, async ({ page, open, shot, look, picture }) => {
  const chat = await open();
  await page.locator('.statusbar-item', { hasText: 'Remit: script:sessions.json' }).waitFor({ timeout: 60_000 });
  await ask(chat, 'write the notes');
  await chat.getByRole('button', { name: 'Allow once', disabled: false }).click({ timeout: TURN_MS });
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 1);
  assert.equal(fs.readFileSync(notes, 'utf8'), 'mine\n');
  const changes = chat.getByTestId('changes').last();
  const shown = await chat.locator('main').innerText();
  assert.match(shown, /Allowed once by you[^]*notes\.txt[^]*Undo/);
  await page.reload({ waitUntil: 'domcontentloaded' });
  await chat.locator('#input').waitFor({ timeout: 60_000 });
  await until('the turn is there again', 30_000, async () => await endedTurns(chat) === 1);
  const timeless = (text) => text.replace(/\d[\d.]* (ms|s)\b/g, '…');
  await soon(async () => assert.equal(timeless(await chat.locator('main').innerText()), timeless(shown), 'it is as it was'));
  await look(chat, '0-reloaded');

  const [{ session_id }] = remit('session', 'list', '--json').trim().split('\n').map((line) => JSON.parse(line));
  remit('session', 'fork', session_id, '--name', 'copy');
  remit('session', 'undo', session_id);
  assert.ok(!fs.existsSync(notes), 'undone in the terminal');

  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  const rows = page.locator('.quick-input-list .monaco-list-row');
  // A new chat takes the keyboard focus a moment later and may so close a list that is already open, so the list is opened again.
  await until('both sessions are listed', 60_000, async () => {
    await palette(page, 'Remit: Sessions');
    return rows.filter({ hasText: 'copy' }).waitFor({ timeout: 5_000 }).then(() => true, () => false);
  });
  await soon(async () => assert.equal(await rows.count(), 2));
  await rows.first().hover();
  await shot('1-list');
  await rows.filter({ hasText: 'write the notes' }).filter({ hasNotText: 'copy' }).click();
  await chat.getByText('I wrote the notes.').waitFor();
  await chat.locator('.asked', { hasText: '/undo' }).waitFor();
  await until('two turns are shown', 30_000, async () => await endedTurns(chat) === 2);
  await picture(chat, 'session');

  await changes.getByRole('button', { name: 'Redo' }).click();
  await until('the notes are back', 30_000, () => fs.existsSync(notes) && fs.readFileSync(notes, 'utf8') === 'mine\n');
  await page.locator('.notifications-toasts').getByText('redone: notes.txt').waitFor();
  await shot('3-redone');
  // What changed since stays, and Remit says so.
  fs.writeFileSync(notes, 'ours\n');
  await changes.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.notifications-toasts').getByText('notes.txt').last().waitFor();
  await look(chat, '4-not-undone');
  assert.equal(fs.readFileSync(notes, 'utf8'), 'ours\n');
  fs.writeFileSync(notes, 'mine\n');
  await palette(page, 'Remit: Undo the Last Turn');
  await until('the notes are gone', 30_000, () => !fs.existsSync(notes));
  await ask(chat, 'go on');
  await until('the session goes on', TURN_MS, async () => await endedTurns(chat) >= 5 || await chat.getByRole('button', { name: 'Allow once', disabled: false }).count() === 1);
  await look(chat, '4-goes-on');
  assert.equal(remit('session', 'list', '--json').trim().split('\n').length, 2, 'it is the same session');
});
