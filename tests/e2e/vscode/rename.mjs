// The main job with the built-in model: ask for a rename in the chat, see intent and diff, allow it, and find the file changed;
// then deny a rename, change a closed file by keyboard alone, and verify the audit log.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { palette, quickOpen, soon, until } from './workbench.mjs';

const CART = `"""A shopping cart."""


def price(items):
    total = 0
    for item in items:
        total += item.price
    return total
`;
const INVOICE = 'def lines(order):\n    count = len(order)\n    return count\n';

export async function rename({ page, chat, workspace, look, ask, asked, ended }) {
  const cart = path.join(workspace, 'src/cart.py');
  const invoice = path.join(workspace, 'src/invoice.py');
  fs.writeFileSync(cart, CART);
  fs.writeFileSync(invoice, INVOICE);
  const code = page.locator('.monaco-editor .view-lines');

  await chat.getByText('What should Remit do?').waitFor();
  await look('01-welcome');

  // An open file: the change is made in the buffer, and the person saves it.
  await quickOpen(page, 'src/cart.py');
  await code.getByText('A shopping cart').waitFor();
  await ask('rename total to subtotal in src/cart.py');
  await asked();
  await soon(async () => assert.match(await chat.getByTestId('approval').innerText(), /subtotal/));
  await soon(async () => assert.equal(await chat.locator('tr.add').count(), 3));
  await soon(async () => assert.ok(await chat.getByTestId('intent').count() >= 1, 'every step shows its intent'));
  await look('02-approval');
  await chat.getByRole('button', { name: 'Open diff' }).click();
  await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
  await look('03-diff');
  assert.equal(fs.readFileSync(cart, 'utf8'), CART, 'nothing is written before the answer');
  await chat.getByRole('button', { name: 'Allow once' }).click();
  assert.match(await ended(1), /^\s*Done/);
  await soon(async () => assert.match(await chat.getByTestId('outcome').innerText(), /Allowed once by you/));
  await page.locator('.monaco-diff-editor').waitFor({ state: 'detached' });
  await code.getByText('subtotal += item.price').waitFor();
  assert.equal(fs.readFileSync(cart, 'utf8'), CART, 'an open file is changed in its buffer');
  await look('04-applied');
  await code.getByText('subtotal += item.price').click();
  await page.keyboard.press('Control+S');
  const renamed = CART.replaceAll('total', 'subtotal');
  await until('the file is saved', 30_000, () => fs.readFileSync(cart, 'utf8') === renamed);

  // A denial changes nothing. From here on by keyboard alone, because the focus is on the card.
  await ask('rename subtotal to amount in src/cart.py');
  await asked();
  await look('05-approval');
  await page.keyboard.press('Escape');
  assert.match(await ended(2), /^\s*Denied · \d/);
  await soon(async () => assert.match(await chat.getByTestId('outcome').last().innerText(), /Denied by you/));
  assert.equal(fs.readFileSync(cart, 'utf8'), renamed);
  await look('06-denied');

  // A closed file is changed on disk.
  await ask('rename count to size in src/invoice.py');
  await asked();
  await page.keyboard.press('Control+Enter');
  assert.match(await ended(3), /^\s*Done/);
  assert.equal(fs.readFileSync(invoice, 'utf8'), INVOICE.replaceAll('count', 'size'));

  // A request that the built-in model cannot do is shown as not done.
  await ask('explain src/invoice.py');
  assert.match(await ended(4), /^\s*Not done · the model could not do this/);
  await look('07-not-done');

  await palette(page, 'Remit: Verify the Audit Log');
  await page.locator('.notifications-toasts').getByText(/\d+ records verified/).waitFor();
  await look('08-audit');
  await palette(page, 'Notifications: Clear All Notifications');
}
