// The main job in a real VS Code (editor.md): ask for a rename in the chat, see the diff, allow it, find the file changed;
// then deny one, change a closed file, and verify the audit. Exits 0 when all of it held and the page had no errors.
//
// REMIT_CODE_SERVER, REMIT_VSIX, REMIT_SERVER and REMIT_CHROMIUM name what is used, REMIT_SHOTS a folder for screenshots,
// REMIT_THEME a colour theme.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openBrowser, openChat, palette, quickOpen, startCodeServer, until } from './workbench.mjs';

const CART = `"""A shopping cart."""


def price(items):
    total = 0
    for item in items:
        total += item.price
    return total
`;
const INVOICE = 'def lines(order):\n    count = len(order)\n    return count\n';
const TURN_MS = 120_000;

const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-e2e-'));
const workspace = path.join(home, 'workspace');
const cart = path.join(workspace, 'src/cart.py');
const invoice = path.join(workspace, 'src/invoice.py');
fs.mkdirSync(path.dirname(cart), { recursive: true });
fs.mkdirSync(shots, { recursive: true });
fs.writeFileSync(cart, CART);
fs.writeFileSync(invoice, INVOICE);

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'),
  vsix: need('REMIT_VSIX'),
  workspace,
  settings: { 'workbench.colorTheme': process.env.REMIT_THEME ?? 'Default Dark Modern' },
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER') },
  env: { REMIT_STATE_DIR: path.join(home, 'state'), REMIT_CONFIG_DIR: path.join(home, 'config') },
  log: path.join(shots, 'code-server.log'),
});
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'));
  await story(browser.page);
  assert.deepEqual(ours(browser.problems), [], 'errors in the page');
  assert.deepEqual(browser.outside.filter((url) => !isWebviewResource(url)), [], 'requests to the outside');
  console.log('passed');
} catch (error) {
  await browser?.page.screenshot({ path: path.join(shots, 'failed.png') });
  keepLogs();
  console.error(error);
  console.error('in the page:', browser?.problems);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await editor.stop();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

async function story(page) {
  const shot = (name) => page.screenshot({ path: path.join(shots, `${name}.png`) });
  const chat = await openChat(page, editor.url, workspace);
  const ended = async (count) => {
    await until(`turn ${count} ends`, TURN_MS, async () => await chat.getByTestId('ending').count() === count);
    return chat.getByTestId('ending').last().innerText();
  };
  const ask = async (text) => {
    await chat.locator('#input').fill(text);
    await chat.locator('#input').press('Enter');
    await chat.getByTestId('approval').waitFor({ timeout: TURN_MS });
  };

  // An open file: the change arrives in the buffer, and is saved by the person.
  await quickOpen(page, 'src/cart.py');
  await page.locator('.monaco-editor .view-lines').getByText('A shopping cart').waitFor();
  await ask('rename total to subtotal in src/cart.py');
  assert.match(await chat.getByTestId('approval').innerText(), /subtotal/);
  assert.equal(await chat.locator('tr.add').count(), 3);
  assert.ok(await chat.getByTestId('intent').count() >= 1, 'every step shows its intent');
  await shot('1-approval');
  await chat.getByRole('button', { name: 'Open diff' }).click();
  await page.locator('.monaco-diff-editor').waitFor();
  await shot('2-diff');
  assert.equal(fs.readFileSync(cart, 'utf8'), CART, 'nothing is written before the answer');
  await chat.getByRole('button', { name: 'Allow once' }).click();
  assert.match(await ended(1), /^\s*Done/);
  await page.locator('.monaco-diff-editor').waitFor({ state: 'detached' });
  await page.locator('.monaco-editor .view-lines').getByText('subtotal += item.price').waitFor();
  assert.equal(fs.readFileSync(cart, 'utf8'), CART, 'an open file is changed in its buffer');
  await shot('3-applied');
  await page.locator('.monaco-editor .view-lines').getByText('subtotal += item.price').click();
  await page.keyboard.press('Control+S');
  const renamed = CART.replaceAll('total', 'subtotal');
  await until('the file is saved', 10_000, () => fs.readFileSync(cart, 'utf8') === renamed);

  // A denial changes nothing.
  await ask('rename subtotal to amount in src/cart.py');
  await chat.getByRole('button', { name: 'Deny' }).click();
  await ended(2);
  assert.match(await chat.getByTestId('outcome').last().innerText(), /Denied by you/);
  assert.equal(fs.readFileSync(cart, 'utf8'), renamed);

  // A closed file is changed on disk. By keyboard alone: the focus is on the card.
  await ask('rename count to size in src/invoice.py');
  await chat.getByRole('button', { name: 'Allow once', disabled: false }).waitFor();
  await page.keyboard.press('Control+Enter');
  assert.match(await ended(3), /^\s*Done/);
  assert.equal(fs.readFileSync(invoice, 'utf8'), INVOICE.replaceAll('count', 'size'));
  await shot('4-end');

  await palette(page, 'Remit: Verify the Audit Log');
  await page.locator('.notifications-toasts').getByText(/verif|record/i).first().waitFor();
  await shot('5-audit');
}

/** Errors of VS Code's own web build (a licence module that code-server leaves out, sign-in providers) are not ours. */
function ours(problems) {
  const foreign = /\/vsda\/|authentication provider/;
  return problems.filter((problem) => !foreign.test(problem));
}

/** A webview's files have such an address; its service worker answers them, nothing leaves the machine. */
function isWebviewResource(url) {
  return new URL(url).hostname.endsWith('.vscode-resource.vscode-cdn.net');
}

/** The extension's own log, which holds what the server wrote to stderr. */
function keepLogs() {
  for (const entry of fs.readdirSync(editor.data, { recursive: true })) {
    if (entry.endsWith('Remit.log')) fs.copyFileSync(path.join(editor.data, entry), path.join(shots, 'remit.log'));
  }
}
