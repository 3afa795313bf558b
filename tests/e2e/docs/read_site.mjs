// Reads the documentation's site from the disk, as without a network: searches for a word and opens a page that was found.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openBrowser, until } from '../vscode/workbench.mjs';

const { REMIT_CHROMIUM: chromium, REMIT_SITE: site, REMIT_SHOTS: shots } = process.env;
const browser = await openBrowser(chromium);
try {
  const { page, problems, outside } = browser;
  const asked = [];
  await page.emulateMedia({ colorScheme: 'light' });
  page.context().on('request', (request) => { if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) asked.push(request.url()); });
  await page.goto(pathToFileURL(path.join(site, 'index.html')).href);
  await page.locator('.md-search__input').fill('approval');
  const found = page.locator('.md-search-result__item a');
  await found.first().waitFor();
  await page.screenshot({ path: path.join(shots, 'docs-search.png') });
  const there = await found.first().getAttribute('href');
  await found.first().click();
  await until('the page that was found is open', 10_000, () => page.url().startsWith(there.split('?')[0]));
  await page.goto(pathToFileURL(path.join(site, 'docs/editors/vscode.html')).href);
  await page.screenshot({ path: path.join(shots, 'docs-page.png') });
  await page.locator('label[title="Dark"]').click();
  await page.locator('body[data-md-color-scheme="slate"]').waitFor();
  await page.screenshot({ path: path.join(shots, 'docs-page-dark.png') });
  if (asked.length + outside.length + problems.length) throw new Error([...asked, ...outside, ...problems].join('\n'));
} finally {
  await browser.close();
}
