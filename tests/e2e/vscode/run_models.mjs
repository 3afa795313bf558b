// A model is connected in VS Code (EDI-06, MOD-26, MOD-27): the list says where messages are sent, one step is tried, and the model is kept.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, palette, until } from './workbench.mjs';

/** The steps of a server that answers like llama.cpp's: each is one tool of the request's schema, or an answer. The trial takes the first. */
const STEPS = [
  { read_file: 'READ_FILE', path: 'src/cart.py' },
  { edit_file: 'CODE', path: 'src/cart.py', old_text: 'prices = []', new_text: 'prices = [1]' },
  { answer: 'The cart has a first price.' },
  { answer: 'The cart sums its prices.' },
];
const asked = [];
const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (data) => { body += data; });
  request.on('end', () => {
    if (request.url === '/v1/models') return json(response, { data: [{ id: 'small', object: 'model', owned_by: 'llamacpp', meta: { n_params: 500_000_000, size: 400_000_000 } }] });
    if (request.url === '/props') return json(response, { default_generation_settings: { n_ctx: 8192 }, chat_template_caps: { supports_tools: true } });
    if (request.url !== '/v1/chat/completions') return json(response, {}, 404);
    asked.push(JSON.parse(body));
    const step = STEPS[asked.length - 1] ?? { answer: 'There is nothing left to do.' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const delta of [{ content: JSON.stringify(step) }]) response.write(event({ delta }));
    response.end(`${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`);
    return undefined;
  });
});
const event = (choice) => `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'small', choices: [{ index: 0, ...choice }] })}\n\n`;
function json(response, value, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
const address = `http://127.0.0.1:${server.address().port}/v1`;

const home = openHome('models', 'src');
fs.writeFileSync(path.join(home.workspace, 'src', 'cart.py'), 'prices = []\n');

await tell(home, {}, async ({ page, open, list, shot, picture }) => {
  const chat = await open();
  await page.locator('.statusbar-item', { hasText: 'Remit: built-in' }).waitFor({ timeout: 60_000 });
  const rows = page.locator('.quick-input-list .monaco-list-row');
  const box = page.locator('.quick-input-widget .quick-input-box input');
  await picture(chat, 'welcome');

  await list('2-list', async () => {
    await palette(page, 'Remit: Connect a Model');
    await rows.filter({ hasText: 'stays on this machine' }).first().waitFor();
  });
  // From here to the first accepted change, clicks and confirming Enter keys are counted.
  const begun = Date.now();
  await chat.getByRole('button', { name: 'Connect a model' }).click(); // 1
  await rows.filter({ hasText: 'Enter an address' }).click(); // 2
  await box.fill(address);
  await box.press('Enter'); // 3
  await page.locator('.quick-input-widget', { hasText: 'Which model?' }).waitFor();
  await box.fill('small');
  await box.press('Enter'); // 4
  await page.locator('.notifications-toasts').getByText('held by a schema').waitFor({ timeout: TURN_MS });
  await picture(chat, 'connected');
  await page.locator('.statusbar-item', { hasText: 'Remit: small' }).or(page.locator('.statusbar-item', { hasText: 'openai:small' })).first().waitFor({ timeout: 60_000 });
  assert.match(fs.readFileSync(path.join(home.config, 'config.yaml'), 'utf8'), /openai:small@http:\/\/127\.0\.0\.1/);

  await ask(chat, 'give the cart a first price'); // 5
  await chat.getByRole('button', { name: 'Allow once' }).click({ timeout: TURN_MS }); // 6
  await chat.getByText('The cart has a first price.').first().waitFor({ timeout: TURN_MS });
  console.log(`six clicks, ${(Date.now() - begun) / 1000} s`);
  await until('it is in the file', 30_000, () => fs.readFileSync(path.join(home.workspace, 'src', 'cart.py'), 'utf8') === 'prices = [1]\n');
  await shot('5-changed');

  await ask(chat, 'what does the cart do?');
  await chat.getByText('The cart sums its prices.').first().waitFor({ timeout: TURN_MS });

  // A model that cannot be reached is not kept, and another one can be chosen at once.
  await palette(page, 'Remit: Connect a Model');
  await rows.filter({ hasText: 'Enter a name' }).click();
  await box.fill('openai:gone@http://127.0.0.1:1/v1');
  await box.press('Enter');
  await page.locator('.notifications-toasts').getByText('cannot be reached').waitFor({ timeout: TURN_MS });
  await page.locator('.notifications-toasts').getByRole('button', { name: 'Choose Another' }).waitFor();
  await shot('4-not-kept');
  await until('the model is still the one that works', 5_000, async () => fs.readFileSync(path.join(home.config, 'config.yaml'), 'utf8').includes('openai:small'));
});
server.close();
