// A dev server in the background in VS Code: a model starts it, asks it, edits its files, starts it again and ends it; the chat shows this (BG-06).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, until } from './workbench.mjs';

const home = openHome('background');
const { workspace, config } = home;
const page_ = path.join(workspace, 'index.html');
fs.writeFileSync(page_, 'the first page\n');
fs.writeFileSync(path.join(config, 'policy.yaml'), [
  'version: 1', 'capabilities:',
  '  - { name: all, match: { syscall: [fs.read, fs.write, process.exec, process.read, process.end] }, action: allow }', '',
].join('\n'));
const calls = (intent, ...made) => ({
  calls: [{ name: 'select_active_intent', arguments: { intent } }, ...made.map(([name, given]) => ({ name, arguments: given }))],
});
const serve = ['start_process', { command: 'python3 -m http.server 8000', port: 8000 }];
const look_at = (process) => ['run_command', { command: 'curl -s http://127.0.0.1:8000/', near: process }];
const model = home.script('serve.json', [
  calls('EXECUTE', serve, look_at('p1')),
  calls('CODE', ['write_file', { path: 'index.html', content: 'the second page\n' }]),
  calls('EXECUTE', look_at('p1'), ['stop_process', { process: 'p1' }], serve, look_at('p2'), ['stop_process', { process: 'p2' }]),
  { text: 'Both pages were served.' },
  calls('EXECUTE', serve),
  { text: 'It goes on.' },
]);
const traffic = path.join(home.home, 'traffic.jsonl');

await tell(home, { model, env: { ...home.env, REMIT_RECORD: traffic } }, async ({ open, look }) => {
  const chat = await open();
  await ask(chat, 'does it serve what I edit?');
  await chat.getByText('Both pages were served.').first().waitFor({ timeout: TURN_MS });
  for (const process of ['p1', 'p2']) {
    for (const words of ['runs in the background', 'is ready', 'has ended: it was stopped']) {
      assert.ok(await chat.getByText(`${process} ${words}`).count() > 0, `the chat says that ${process} ${words}`);
    }
  }
  const said = fs.readFileSync(traffic, 'utf8');
  assert.ok(said.includes('the first page') && said.includes('the second page'), 'both answers of the server reached the model');
  await look(chat, '1-served');

  // The person lists the running process and ends it.
  await ask(chat, 'start it again');
  await chat.getByText('It goes on.').first().waitFor({ timeout: TURN_MS });
  await ask(chat, '/processes');
  await chat.getByText('python3 -m http.server 8000').last().waitFor();
  await look(chat, '2-listed');
  await ask(chat, '/processes stop p3');
  await until('nothing of it runs', 30_000, () => !running('http.server 8000'));
  await look(chat, '3-ended');
});

/** Whether a process of this machine has these words in its command line. */
function running(words) {
  return fs.readdirSync('/proc').filter((each) => /^\d+$/.test(each)).some((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(words);
    } catch {
      return false;
    }
  });
}
