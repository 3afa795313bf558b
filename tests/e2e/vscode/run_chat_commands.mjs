// The chat's commands in VS Code: completed, answered, run, refused with a reason (CLI-09); a configuration file is checked (CFG-04).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { need, openHome, tell, TURN_MS } from './story.mjs';
import { ask, endedTurns, palette, soon, until } from './workbench.mjs';

const home = openHome('chat_commands', '.remit');
const { workspace, config } = home;
const notes = path.join(workspace, 'notes.txt');
fs.writeFileSync(path.join(config, 'policy.yaml'), [
  'version: 1', 'capabilities:', '  - { name: w, match: { syscall: [fs.read, fs.write], path_glob: ["**"] }, action: allow }',
  '  - { name: tests-first-here, match: { syscall: session.set_mode, mode: explore }, action: deny, reason: "tests come first in this house" }', '',
].join('\n'));
fs.writeFileSync(path.join(workspace, '.remit', 'config.yaml'), 'model:\n  sed: 7\n');
const model = home.script('words.json', [
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'notes.txt', content: 'mine\n' } }] },
  { text: 'I wrote the notes.' },
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'PLAN' } }, { name: 'plan_complete', arguments: { plan: '1. a test in tests/test_cart.py\n2. the sum in src/cart.py' } }] },
  { text: 'Now for the test.' },
]);

await tell(home, { model }, async ({ editor, page, open, shot, look }) => {
  const chat = await open();
  const input = chat.locator('#input');
  const options = chat.getByRole('option');

  // An unusable configuration is named, its mistake is marked in the file, and correcting it is enough.
  await chat.getByText('unknown key').first().waitFor({ timeout: 60_000 });
  await look(chat, '1-config');
  await chat.getByRole('button', { name: 'Open File' }).click();
  await page.locator('.tab.active[data-resource-name="config.yaml"]').waitFor();
  await page.locator('.squiggly-error').first().waitFor();
  await look(chat, '1-config-open');
  fs.writeFileSync(path.join(workspace, '.remit', 'config.yaml'), 'model:\n  seed: 7\n');
  await palette(page, 'Remit: Restart');
  await page.locator('.statusbar-item', { hasText: 'Remit: script:words.json' }).waitFor({ timeout: 60_000 });

  await input.pressSequentially('/sta');
  await until('commands are proposed', 30_000, async () => (await options.allTextContents()).length === 2);
  await shot('2-proposals');
  await input.press('ArrowDown');
  await input.press('Tab');
  await soon(async () => assert.equal(await input.inputValue(), '/status '));
  await input.press('Enter');
  await chat.getByText('it stays on this machine').first().waitFor();

  await input.fill('write the notes');
  await input.press('Enter');
  await until('the notes are there', TURN_MS, () => fs.existsSync(notes));
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 2);
  await input.pressSequentially('look at @no');
  await until('the file is proposed', 30_000, async () => (await options.allTextContents()).join() === 'notes.txt ');
  await input.press('Escape');
  await soon(async () => assert.equal(await options.count(), 0));

  await input.fill('/undo');
  await input.press('Enter');
  await until('the notes are gone', TURN_MS, () => !fs.existsSync(notes));
  await input.fill('/stat');
  await input.press('Enter');
  await chat.getByText('the nearest is `/stats`').or(chat.getByText('the nearest is /stats')).first().waitFor();
  await look(chat, '3-said');
  await input.fill('/new');
  await input.press('Enter');
  await chat.getByText('What should Remit do?').waitFor();
  await input.fill('/load 1');
  await input.press('Enter');
  await chat.getByText('I wrote the notes.').first().waitFor();

  // The mode is chosen beside the model, a refused switch is explained, and the plan is shown (FLW-06, FLW-07).
  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  const mode = chat.getByTestId('mode');
  const choose = async (name) => {
    await mode.click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().waitFor();
    await shot(`4-modes-${name}`);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  };
  await until('a new chat begins as it is configured', 30_000, async () => await mode.innerText() === 'explore');
  await choose('strict');
  await until('the mode holds', TURN_MS, async () => await mode.innerText() === 'strict: idle');
  await choose('explore');
  await chat.getByText('tests come first in this house').first().waitFor({ timeout: TURN_MS });
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 2);
  await soon(async () => assert.equal(await mode.innerText(), 'strict: idle', 'the refused switch changed nothing'));
  await ask(chat, 'write the notes');
  await chat.getByTestId('ending').filter({ hasText: 'in this state of the workflow nothing is written' }).waitFor({ timeout: TURN_MS });
  await ask(chat, 'sum up the cart');
  await chat.getByTestId('plan').filter({ hasText: 'a test in tests/test_cart.py' }).waitFor({ timeout: TURN_MS });
  await until('tests come next', TURN_MS, async () => await mode.innerText() === 'strict: test_writing');
  await soon(async () => assert.match(await mode.getAttribute('title'), /Only tests may be written/i));
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 4);
  await look(chat, '5-plan');

  // What the built-in model asks is answered by a button, also after a reload, and not once anything else is sent (MOD-29).
  fs.writeFileSync(notes, '# FIXME: round\nkept\n');
  editor.setMachine({ 'remit.serverPath': need('REMIT_SERVER') });
  await page.locator('.statusbar-item', { hasText: 'Remit: built-in' }).waitFor({ timeout: 60_000 });
  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  const yes = chat.getByTestId('yes');
  await ask(chat, 'get rid of that FIXME in notes.txt');
  await yes.waitFor({ timeout: TURN_MS });
  await ask(chat, '/status');
  await soon(async () => assert.equal(await yes.count(), 0));
  await ask(chat, 'get rid of that FIXME in notes.txt');
  await yes.waitFor({ timeout: TURN_MS });
  await look(chat, '6-suggestion');
  const again = await open();
  const kept = again.getByTestId('yes');
  await kept.waitFor({ timeout: 60_000 });
  assert.equal(await kept.getAttribute('aria-label'), 'Yes: remove the line "# FIXME: round" from notes.txt');
  await again.locator('#input').focus();
  await until('the keys reach the button', 30_000, async () => {
    await page.keyboard.press('Shift+Tab');
    return kept.evaluate((each) => each === document.activeElement);
  });
  await page.keyboard.press('Enter');
  await until('the line is gone', TURN_MS, () => fs.readFileSync(notes, 'utf8') === 'kept\n');
  await soon(async () => assert.equal(await kept.count(), 0));
  await soon(async () => assert.equal(await again.locator('#input').evaluate((each) => each === document.activeElement), true));
  await until('the turn ends', TURN_MS, async () => await endedTurns(again) === 3);
  await look(again, '7-said-yes');
});
