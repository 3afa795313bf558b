// The page of `remit http` in a real browser: requests, questions, answers, stops and refusals. REMIT_URL has the token after `#`,
// REMIT_WORKSPACE is its folder, REMIT_CHROMIUM the browser, REMIT_SHOTS a folder for pictures.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { openBrowser } from '../vscode/workbench.mjs';

const { REMIT_URL: url, REMIT_WORKSPACE: workspace, REMIT_CHROMIUM: chromium, REMIT_SHOTS: shots } = process.env;
const axe = createRequire(new URL('../vscode/', import.meta.url))('axe-core');
fs.mkdirSync(shots, { recursive: true });
const browser = await openBrowser(chromium);
const { page } = browser;
page.setDefaultTimeout(30_000);
try {
  await page.goto(url);
  await page.getByTestId('status').filter({ hasText: workspace }).waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the token is not left in the address');
  const ask = async (text) => {
    await page.getByTestId('input').fill(text);
    await page.keyboard.press('Enter');
  };
  const ended = (count) => page.getByTestId('ended').nth(count - 1).waitFor();

  await ask('rename total to subtotal in a.py');
  const question = page.getByTestId('question').last();
  await question.getByText('+subtotal = 1').waitFor();
  await page.screenshot({ path: path.join(shots, 'http-question.png') });
  assert.equal(fs.readFileSync(path.join(workspace, 'a.py'), 'utf8'), 'total = 1\n', 'nothing is written before the answer');
  await question.getByRole('button', { name: 'Deny' }).click();
  await ended(1);
  assert.equal(fs.readFileSync(path.join(workspace, 'a.py'), 'utf8'), 'total = 1\n');

  await ask('rename total to subtotal in a.py');
  await page.getByTestId('question').last().getByRole('button', { name: 'Allow once' }).click();
  await ended(2);
  assert.equal(fs.readFileSync(path.join(workspace, 'a.py'), 'utf8'), 'subtotal = 1\n');
  await page.screenshot({ path: path.join(shots, 'http-done.png') });

  // The content of a file is shown as text, never as markup.
  fs.writeFileSync(path.join(workspace, 'b.py'), 'title = "<img src=x onerror=alert(1)>"\n');
  await ask('rename title to label in b.py');
  await page.getByTestId('question').last().getByText('<img src=x onerror=alert(1)>').first().waitFor();
  // A request made meanwhile is not taken, says so, and keeps its text.
  await ask('what is in b.py?');
  await page.getByText('Your last request still runs.').waitFor();
  assert.equal(await page.getByTestId('input').inputValue(), 'what is in b.py?');
  assert.equal(await page.locator('main img').count(), 0);
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(3);
  assert.ok(fs.readFileSync(path.join(workspace, 'b.py'), 'utf8').startsWith('title'));
  await page.getByTestId('sessions').locator('li').first().waitFor();

  // Hunk by hunk: the first is allowed, the second left out with a comment.
  const lines = (first, last) => `${first}\n${'pass\n'.repeat(30)}${last}\n`;
  fs.writeFileSync(path.join(workspace, 'c.py'), lines('count = 1', 'print(count)'));
  await ask('rename count to number in c.py');
  const review = page.getByTestId('question').filter({ hasText: 'c.py' });
  await review.getByTestId('hunk').nth(1).getByText('+print(number)').waitFor();
  await review.getByRole('checkbox', { name: 'take c.py, line 32' }).focus();
  await page.keyboard.press('Space');
  await review.getByRole('textbox').last().fill('it is printed elsewhere, too');
  await page.screenshot({ path: path.join(shots, 'http-hunks.png') });
  await review.getByRole('button', { name: 'Allow 1 of 2 hunks' }).press('Enter');
  await ended(4);
  assert.equal(fs.readFileSync(path.join(workspace, 'c.py'), 'utf8'), lines('number = 1', 'print(count)'));

  // With every hunk left out there is nothing to allow.
  fs.writeFileSync(path.join(workspace, 'd.py'), lines('count = 1', 'print(count)'));
  await ask('rename count to number in d.py');
  const none = page.getByTestId('question').filter({ hasText: 'd.py' });
  await none.getByTestId('hunk').nth(1).waitFor();
  for (const box of await none.getByRole('checkbox').all()) await box.uncheck();
  assert.ok(await none.getByRole('button', { name: 'Allow 0 of 2 hunks' }).isDisabled());
  await none.getByRole('button', { name: 'Deny' }).click();
  await ended(5);

  // A question of another client's turn is shown here too, and can be answered here.
  fs.writeFileSync(path.join(workspace, 'e.py'), 'size = 1\n');
  await page.evaluate(() => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('token')}`, 'Content-Type': 'application/json' };
    const body = { session_id: 'other', turn_id: '1', input: { type: 'text', text: 'rename size to width in e.py' } };
    void fetch('/v1/runs', { method: 'POST', headers, body: JSON.stringify(body) });
  });
  const other = page.getByTestId('waiting').getByTestId('question');
  await other.getByText('+width = 1').waitFor();
  await other.getByRole('button', { name: 'Allow once' }).click();
  await page.getByText('No longer waiting: change e.py').waitFor();
  assert.equal(await other.count(), 0);
  assert.equal(fs.readFileSync(path.join(workspace, 'e.py'), 'utf8'), 'width = 1\n');

  // The audit log of all agents, by keyboard: the arrow keys switch between tabs.
  await page.getByRole('tab', { name: 'Chat' }).focus();
  await page.keyboard.press('ArrowRight');
  const calls = page.getByTestId('call');
  await calls.filter({ hasText: 'claude-code' }).first().waitFor();
  await calls.filter({ hasText: 'remit' }).first().waitFor();
  await page.screenshot({ path: path.join(shots, 'http-audit.png') });
  await page.getByTestId('decision').selectOption('denied');
  await page.waitForFunction(() => {
    const verdicts = [...document.querySelectorAll('[data-testid=call] td:nth-child(5)')].map((each) => each.textContent);
    return verdicts.length > 0 && verdicts.every((each) => each.includes('denied'));
  });
  await calls.filter({ hasText: 'no-secrets' }).first().getByRole('button').press('Enter');
  await page.getByTestId('why').filter({ hasText: 'denied by no-secrets' }).waitFor();
  await page.screenshot({ path: path.join(shots, 'http-why.png') });
  await page.getByTestId('decision').selectOption('');

  // The sessions of several agents side by side. Messages to an agent are shown as text, never as markup.
  await page.getByRole('tab', { name: 'Agents' }).click();
  const columns = page.getByTestId('column');
  await columns.filter({ hasText: 'claude-code' }).getByText('<img src=x onerror=alert(2)>').waitFor();
  await columns.filter({ hasText: 'codex' }).getByText('asked about').waitFor();
  await columns.filter({ has: page.getByRole('heading', { name: 'remit' }) }).first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.screenshot({ path: path.join(shots, 'http-agents.png') });
  const before = await columns.count();
  await page.getByTestId('choose').getByRole('checkbox', { name: /^codex/ }).uncheck();
  await columns.nth(before - 1).waitFor({ state: 'detached' });
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const tab of ['Chat', 'Audit', 'Agents']) {
      await page.getByRole('tab', { name: tab }).click();
      await page.waitForTimeout(300);
      await page.screenshot({ path: path.join(shots, `http-${tab.toLowerCase()}-${scheme}.png`) });
      const { violations } = await page.evaluate(`${axe.source}; axe.run()`);
      assert.deepEqual(violations.map((each) => `${tab}, ${scheme}: ${each.id} at ${each.nodes.map((node) => node.target).join(' and ')}`), []);
    }
  }

  // A script that gets into the page does not run, and nothing is fetched from elsewhere.
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
    document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran = true">');
    return new Promise((resolve) => setTimeout(() => resolve(window.ran ?? false), 300));
  });
  assert.equal(ran, false);
  const blocked = browser.problems.splice(0).filter((each) => !each.includes('Content Security Policy'));
  assert.deepEqual(blocked, []);

  // Without the token, the page says that it is missing, and shows nothing else.
  await page.evaluate(() => sessionStorage.clear());
  await page.goto(url.split('#')[0]);
  await page.getByTestId('status').filter({ hasText: 'no token' }).waitFor();
  assert.deepEqual(browser.outside ?? [], []);
  const told = browser.problems.filter((each) => !each.includes('401'));
  assert.deepEqual(told, []);
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path: path.join(shots, `http-no-token-${scheme}.png`) });
  }
} catch (error) {
  await page.screenshot({ path: path.join(shots, 'http-failed.png') });
  console.error(error, browser.problems);
  process.exitCode = 1;
} finally {
  await browser.close();
}
