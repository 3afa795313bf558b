// The page of `remit http` in a real browser: what is asked, shown, answered, stopped and refused. REMIT_URL has the token behind `#`,
// REMIT_WORKSPACE is its folder, REMIT_CHROMIUM the browser, REMIT_SHOTS a folder for pictures.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openBrowser } from '../vscode/workbench.mjs';

const { REMIT_URL: url, REMIT_WORKSPACE: workspace, REMIT_CHROMIUM: chromium, REMIT_SHOTS: shots } = process.env;
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

  // What a file holds is text, and never markup.
  fs.writeFileSync(path.join(workspace, 'b.py'), 'title = "<img src=x onerror=alert(1)>"\n');
  await ask('rename title to label in b.py');
  await page.getByTestId('question').last().getByText('<img src=x onerror=alert(1)>').first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(3);
  assert.ok(fs.readFileSync(path.join(workspace, 'b.py'), 'utf8').startsWith('title'));
  await page.getByTestId('sessions').locator('li').first().waitFor();

  // Whoever opens the page without the token is told what is missing, and nothing else.
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
