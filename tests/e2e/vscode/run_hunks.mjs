// A change of three hunks in VS Code: a lens leaves one out with a comment for the model, the card allows the rest (APP-09). Another change
// is allowed in the file itself (EDI-13).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, clearToasts, endedTurns, quickOpen, soon, until } from './workbench.mjs';

const home = openHome('hunks', '.remit');
const { workspace, config } = home;
const file = path.join(workspace, 'prices.py');
fs.writeFileSync(path.join(workspace, '.remit', 'policy.yaml'), 'version: 1\n');
const text = (...changed) => Array.from({ length: 40 }, (_, n) => `price_${n} = ${changed.includes(n) ? `Decimal("${n}")` : n}\n`).join('');
fs.writeFileSync(file, text());
fs.writeFileSync(path.join(config, 'policy.yaml'), [
  'version: 1', 'capabilities:',
  '  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }',
  '  - { name: writes-are-looked-at, match: { syscall: fs.write }, action: require_review, reason: "you look at each change" }', '',
].join('\n'));
const traffic = path.join(home.home, 'traffic.jsonl');
const model = home.script('prices.json', [
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'prices.py', content: text(3, 18, 36) } }] },
  { text: 'Two prices are exact now; the eighteenth stays as it was.' },
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'prices.py', content: text(3, 30, 36) } }] },
  { text: 'The thirtieth is exact too.' },
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'prices.py', content: text(3, 30, 33, 36) } }] },
  { text: 'The thirty-third follows.' },
  { calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'write_file', arguments: { path: 'prices.py', content: text(3, 30, 33, 36, 39) } }] },
  { text: 'Nobody answered, so the last price stays as it was.' },
]);

await tell(home, { model, env: { ...home.env, REMIT_RECORD: traffic } }, async ({ page, open, shot, look, picture }) => {
  const chat = await open();
  /** Shows a line of the file, however slowly the workbench reacts to keys. */
  const goTo = async (line) => {
    const active = page.locator('.tab.active[data-resource-name="prices.py"]').filter({ hasNotText: 'proposed' });
    await quickOpen(page, 'prices.py');
    await active.waitFor();
    const input = page.locator('.quick-input-widget .quick-input-box input');
    await input.waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+G');
    await input.waitFor();
    await page.keyboard.type(`${line}`);
    await page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden' });
    // A comparison takes the focus when it has loaded, also from a file that was opened meanwhile.
    if (await active.count() === 0) await goTo(line);
  };
  const lens = (words) => page.locator('.codelens-decoration a', { hasText: words });

  await quickOpen(page, 'prices.py');
  await page.locator('.tab.active[data-resource-name="prices.py"]').waitFor();
  assert.equal(await lens('Remit').count(), 0, 'no lens where nothing waits');

  await ask(chat, 'make the prices exact');
  // A question opens nothing and leaves the keyboard focus where it is, so that the person can go on writing code.
  await page.locator('.monaco-editor .view-lines').first().click();
  await chat.getByRole('button', { name: 'Allow once' }).waitFor({ timeout: TURN_MS });
  await lens('Remit asks').waitFor();
  // The proposed lines are drawn in the file, in boxes with the answers (EDI-13).
  const box = (words) => page.locator('.review-widget', { hasText: words });
  await box('Proposed +1 −1 (1 of 3)').getByText('Decimal("3")').first().waitFor();
  await soon(async () => assert.ok(await page.evaluate(() => document.activeElement.closest('.monaco-editor') !== null), 'the focus stays in the file'));
  assert.equal(await page.locator('.tab').count(), 1, 'nothing is opened unasked');
  assert.equal(await page.locator('.part.panel .comments-panel').count(), 0, 'nor is a panel');
  await look(chat, '1-asked');
  await lens('Allow once').click();
  await page.locator('.tab.active', { hasText: 'now ↔ proposed' }).waitFor();
  assert.equal(fs.readFileSync(file, 'utf8'), text(), 'what was not in sight is not allowed: the lens opens the rest');
  await goTo(19);
  await page.locator('.codelens-decoration', { hasText: '(2 of 3)' }).locator('a', { hasText: 'with a comment' }).click();
  await page.locator('.quick-input-widget .quick-input-box input').fill('the eighteenth is an id, no price');
  await page.keyboard.press('Enter');
  await chat.getByRole('button', { name: 'Allow 2 of 3 once' }).waitFor();
  await lens('(2 of 3): take it').waitFor();
  await soon(async () => assert.equal(await chat.locator('tbody.left-out').count(), 1));
  await soon(async () => assert.equal(await chat.locator('tbody input.why').inputValue(), 'the eighteenth is an id, no price'));
  const once = chat.getByRole('button', { name: 'Allow 2 of 3 once' });
  assert.ok(await once.isDisabled(), 'nothing is allowed before its end was seen');
  await shot('2-not-read');
  await chat.getByText('More answers').click();
  await chat.getByText('writes-are-looked-at').waitFor();
  // Escape closes what is open on the card, and does not answer yet.
  await page.keyboard.press('Escape');
  await chat.getByText('writes-are-looked-at').waitFor({ state: 'hidden' });
  await chat.getByRole('textbox', { name: 'Your comment for the model' }).click();
  await page.keyboard.press('Escape');
  assert.equal(await chat.getByTestId('outcome').count(), 0, 'it was no answer');
  await chat.getByText('More answers').click();
  await chat.getByRole('button', { name: 'Show all of it' }).click();
  await soon(async () => assert.ok(await once.isEnabled()));
  await soon(async () => assert.ok(await chat.getByRole('button', { name: 'Allow for session' }).isDisabled(), 'with hunks left out, it can only be allowed once'));
  await clearToasts(page);
  await picture(chat, 'review', chat.locator('tbody.left-out'));

  await chat.getByRole('button', { name: 'Allow 2 of 3 once' }).click();
  await chat.getByText('the eighteenth stays as it was').first().waitFor({ timeout: TURN_MS });
  const lines = page.locator('.monaco-editor .view-lines').first();
  await goTo(1);
  await until('the editor shows what was taken', 30_000, async () => (await lines.innerText()).replaceAll('\u00a0', ' ').includes('price_3 = Decimal("3")'));
  await lines.click();
  await page.keyboard.press('Control+S');
  await until('exactly that is in the file', 30_000, () => fs.readFileSync(file, 'utf8') === text(3, 36));
  const said = fs.readFileSync(traffic, 'utf8');
  assert.ok(said.includes('the eighteenth is an id, no price'), 'the model was told why');
  await until('the lenses go', 30_000, async () => await lens('Remit').count() === 0);
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 1);
  await picture(chat, 'taken');

  // At the cursor: the box below the line takes the answer once its change was visible.
  await ask(chat, 'the thirtieth as well');
  await chat.getByRole('button', { name: 'Allow once' }).waitFor({ timeout: TURN_MS });
  await goTo(31);
  await box('Proposed +1 −1 (1 of 1)').getByText('Decimal("30")').first().waitFor();
  await picture(chat, 'drawn');
  await page.waitForTimeout(1_000);
  await box('(1 of 1)').locator('.action-label[aria-label^="Allow Once"]').click();
  await chat.getByText('The thirtieth is exact too.').first().waitFor({ timeout: TURN_MS });
  await page.keyboard.press('Control+S');
  await until('it is in the file', 30_000, () => fs.readFileSync(file, 'utf8') === text(3, 30, 36));
  await until('the box goes', 30_000, async () => await box('(1 of 1)').count() === 0);

  // One answer allows all edits of the session; the button below the input takes that back (APP-15).
  await ask(chat, 'and the thirty-third');
  await chat.getByRole('button', { name: 'Allow all edits this session' }).click({ timeout: TURN_MS });
  await chat.getByText('The thirty-third follows.').first().waitFor({ timeout: TURN_MS });
  await chat.getByTestId('edits-allowed').click({ timeout: 30_000 });
  await chat.getByText('You are asked before each edit.').first().waitFor({ timeout: TURN_MS });
  await until('edits are asked about again', 30_000, async () => await chat.getByTestId('edits-allowed').count() === 0);
  await soon(async () => assert.ok(await chat.getByTestId('changes').last().getByRole('button', { name: 'prices.py' }).isVisible(), 'a turn ends with its files'));
  await page.keyboard.press('Control+S');
  await until('it is in the file as well', 30_000, () => fs.readFileSync(file, 'utf8') === text(3, 30, 33, 36));

  // A question that nobody answers in time is denied, and nothing is written (APP-02). The new limit applies from the next turn on.
  // The time may be over before this test looks, so it checks what stays in the chat: the question and how it ended.
  fs.writeFileSync(path.join(config, 'config.yaml'), 'limits: { approval_timeout_s: 5 }\n');
  await ask(chat, 'and the last one');
  await chat.getByTestId('outcome').filter({ hasText: 'Denied: nobody answered in time' }).waitFor({ timeout: TURN_MS });
  await until('the question is gone', 30_000, async () => await chat.getByRole('button', { name: 'Allow once' }).count() === 0);
  assert.equal(fs.readFileSync(file, 'utf8'), text(3, 30, 33, 36), 'nothing is written');
  await until('the lenses go again', 30_000, async () => await lens('Remit').count() === 0);
  await look(chat, '3-expired');

  // Completion works in a policy file (POL-14).
  await quickOpen(page, 'policy.yaml');
  await page.locator('.tab.active[data-resource-name="policy.yaml"]').waitFor();
  await page.locator('.monaco-editor.focused').waitFor();
  await page.keyboard.press('Control+End');
  await page.keyboard.press('Control+Space');
  await page.locator('.suggest-widget .monaco-list-row', { hasText: 'capabilities' }).waitFor({ timeout: 30_000 });
  await shot('4-policy-completed');
});
