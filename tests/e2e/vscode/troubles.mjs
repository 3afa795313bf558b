// Troubles are reported with what helps: a refusal by policy and one by the gate, a stop, a server that dies, a broken
// policy, a missing server, a reload of the window. The model is scripted and misbehaves on purpose.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { palette, processes, soon, until } from './workbench.mjs';

const intent = (name) => ({ name: 'select_active_intent', arguments: { intent: name } });
const call = (name, given) => ({ name, arguments: given });
const WRITE = call('write_file', { path: 'notes.txt', content: 'hello\n' });
const SCRIPT = [
  { calls: [intent('READ_FILE'), call('read_file', { path: '.env' })] },
  { calls: [intent('READ_FILE'), WRITE] },
  { text: 'Neither was allowed.' },
  { text: 'Thinking …', hang: true },
  { calls: [intent('CODE'), WRITE] },
];
const BROKEN_POLICY = 'version: 1\ncapabilities:\n  - nam: x\n';

export async function troubles(stage) {
  const { page, chat, editor, home, workspace, config, server } = stage;
  fs.writeFileSync(path.join(workspace, '.env'), 'KEY=secret\n');
  const script = path.join(home, 'script.json');
  fs.writeFileSync(script, JSON.stringify(SCRIPT));
  const settings = { 'remit.serverPath': server, 'remit.model': `script:${script}` };
  const status = (text) => page.locator('.statusbar-item', { hasText: text }).waitFor();

  // A setting takes effect at once.
  editor.setMachine(settings);
  await status('Remit: script:script.json');
  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  await refusals(stage);
  await crash(stage);

  fs.writeFileSync(path.join(config, 'policy.yaml'), BROKEN_POLICY);
  await palette(page, 'Remit: Restart the Server');
  await status('Remit: policy is broken');
  await chat.getByRole('button', { name: 'Open Policy' }).click();
  await page.locator('.tab.active[data-resource-name="policy.yaml"]').waitFor();
  await stage.look('11-broken-policy');
  fs.rmSync(path.join(config, 'policy.yaml'));
  await chat.getByRole('button', { name: 'Try Again' }).click();
  await status('Remit: script:script.json');

  editor.setMachine({ ...settings, 'remit.serverPath': path.join(home, 'no-such-server') });
  await status('Remit: server not found');
  await soon(async () => assert.match(await chat.getByTestId('note-error').last().innerText(), /no-such-server, which is not a program/));
  await chat.getByRole('button', { name: 'Set Server Path' }).waitFor();
  await stage.look('12-no-server');
  editor.setMachine(settings);
  await status('Remit: script:script.json');
}

async function refusals({ page, chat, workspace, look, ask, ended }) {
  await ask('read the secrets, then write');
  await ended(1);
  const lines = await chat.getByTestId('tool').allInnerTexts();
  assert.equal(lines.length, 2);
  assert.match(lines[0], /denied by no-secrets/);
  assert.match(lines[1], /write_file does not belong to intent READ_FILE/);
  assert.equal(fs.existsSync(path.join(workspace, 'notes.txt')), false);
  await look('08-refused');

  await ask('think');
  await chat.getByText('Thinking').waitFor();
  await ask('and something else'); // the text waits in the input, because only one turn runs at a time
  await soon(async () => assert.equal(await chat.locator('#input').inputValue(), 'and something else'));
  await soon(async () => assert.match(await chat.locator('#hint').innerText(), /Still working/));
  await page.keyboard.press('Escape');
  assert.match(await ended(2), /^\s*Stopped/);
  assert.equal(await chat.getByTestId('note-error').count(), 0, 'a stop is no error');
}

/** The server is killed while a question is open: nothing is allowed, and the next request starts a server again. */
async function crash({ page, chat, state, workspace, look, ask, asked, ended }) {
  await ask('write a note');
  await asked();
  const before = processes(state, 'serve');
  assert.equal(before.length, 1, 'one server runs');
  process.kill(before[0], 'SIGKILL');
  assert.match(await ended(3), /^\s*Failed/);
  await soon(async () => assert.match(await chat.getByTestId('outcome').last().innerText(), /Denied: the connection was lost/));
  await look('09-crashed');
  await until('another server runs', 60_000, () => processes(state, 'serve').some((pid) => pid !== before[0]));
  await chat.getByRole('button', { name: 'Ask Again', exact: true }).click();
  await ended(4);
  assert.equal(fs.existsSync(path.join(workspace, 'notes.txt')), false);

  // After a reload of the window, the chat continues its session, with one server.
  await page.reload({ waitUntil: 'domcontentloaded' });
  await chat.locator('main').waitFor({ timeout: 60_000 });
  await ended(4);
  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  await ask('read the secrets, then write');
  await ended(1);
  await until('the old server is gone', 60_000, () => processes(state, 'serve').length === 1);
  await look('10-reloaded');
}
