// The output of a command stays below its call, with how it ended: short, long and failed output, and a question longer than the screen.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { palette, soon } from './workbench.mjs';

const run = (command) => ({
  calls: [{ name: 'select_active_intent', arguments: { intent: 'EXECUTE' } }, { name: 'run_command', arguments: { command } }],
});
const LONG = `cat <<'END'\n${Array.from({ length: 120 }, (_, n) => `text ${n}`).join('\n')}\nEND`;
const SCRIPT = [run('ls -la src'), { text: 'Listed.' }, run('seq 1 40; echo wrong >&2; exit 3'), { text: 'It failed.' }, run(LONG), { text: 'Shown.' }];

export async function commands({ page, chat, editor, home, workspace, server, look, ask, asked, ended }) {
  const script = path.join(home, 'commands.json');
  fs.writeFileSync(script, JSON.stringify(SCRIPT));
  await overtaken({ page, editor, home, server, model: `script:${script}` });
  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  const allow = chat.getByRole('button', { name: 'Allow once' });
  const last = (part) => chat.getByTestId(part).last();

  await ask('list the files');
  await asked();
  await allow.click();
  await ended(1);
  await soon(async () => assert.match(await last('printed').innerText(), /^total \d+/));
  await soon(async () => assert.match(await last('tool').innerText(), /exit code 0 · /));
  await soon(async () => assert.equal(await last('tool').locator('summary .codicon').first().getAttribute('aria-label'), 'done'));
  await look('14-command');

  await ask('count');
  await asked();
  await allow.click();
  await ended(2);
  await soon(async () => assert.equal(await last('tool').locator('summary .codicon').first().getAttribute('aria-label'), 'failed'));
  await soon(async () => assert.match(await last('failure').innerText(), /Exit code 3/));
  await soon(async () => assert.match(await last('printed').innerText(), /40/));
  assert.doesNotMatch(await last('printed').innerText(), /^1$/m);
  await look('15-command-failed');
  await chat.getByRole('button', { name: 'Show all 41 lines' }).click();
  await soon(async () => assert.match(await last('printed').innerText(), /^1\n2\n3\n/));
  await look('16-command-whole');

  await ask('show the text');
  await asked();
  const command = await last('approval').locator('pre').first().innerText();
  assert.ok(command.includes('text 119\nEND'), 'all of the command can be seen');
  await soon(async () => assert.match(await last('approval').innerText(), /Run a command/));
  await soon(async () => assert.match(await chat.getByTestId('length').innerText(), /^122 lines/));
  await look('17-long-question');
  await allow.click();
  await ended(3);
  await soon(async () => assert.match(await last('printed').innerText(), /text 119$/));
}

/** A newer setting must let a running start finish, because a server that ends during its start logs an error on the page's console. */
async function overtaken({ page, editor, home, server, model }) {
  const slow = path.join(home, 'slow-remit');
  fs.writeFileSync(slow, `#!/bin/sh\nsleep 1\nexec '${server}' "$@"\n`, { mode: 0o755 });
  editor.setMachine({ 'remit.serverPath': slow, 'remit.model': model });
  await page.locator('.statusbar-item', { hasText: 'Remit: starting' }).waitFor();
  editor.setMachine({ 'remit.serverPath': server, 'remit.model': model });
  await page.locator('.statusbar-item', { hasText: 'Remit: script:commands.json' }).waitFor();
}
