// A command that the model waits for goes on in the background once the person says so (BG-08): its output is read, it ends, another is stopped.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, endedTurns, palette, soon, until } from './workbench.mjs';

const home = openHome('sent');
fs.writeFileSync(path.join(home.config, 'policy.yaml'), [
  'version: 1', 'capabilities:',
  '  - { name: all, match: { syscall: [fs.read, fs.write, process.exec, process.read, process.end] }, action: allow }', '',
].join('\n'));
const calls = (intent, ...made) => ({
  calls: [{ name: 'select_active_intent', arguments: { intent } }, ...made.map(([name, given]) => ({ name, arguments: given }))],
});
const WATCH = 'for n in $(seq 20); do echo tick $n; sleep 1; done; echo the watch is over';
const read = (until_) => ['read_process', { process: 'p1', until: until_, seconds: 60 }];
const model = home.script('sent.json', [
  calls('EXECUTE', ['run_command', { command: WATCH }], read('tick')),
  { text: 'It goes on beside me.' },
  calls('EXECUTE', read('the watch is over')),
  { text: 'The watch has ended.' },
  calls('EXECUTE', ['run_command', { command: 'echo begun; sleep 4731' }]),
  { text: 'I do not wait for it.' },
]);

await tell(home, { model }, async ({ page, open, look, still }) => {
  const chat = await open();
  const input = chat.locator('#input');
  const printed = chat.getByTestId('printed');
  const notes = chat.getByTestId('note-info');
  const toasts = page.locator('.notifications-toasts');

  // The command is typed while the turn runs; any other text waits.
  await ask(chat, 'watch it');
  await printed.filter({ hasText: 'tick' }).first().waitFor({ timeout: TURN_MS });
  await input.fill('and something else');
  await soon(async () => assert.match(await chat.locator('#hint').innerText(), /Still working/));
  await input.fill('/background');
  await still('1-typed');
  await input.press('Enter');
  await toasts.getByText('It goes on as p1').waitFor();
  await soon(async () => assert.equal(await input.inputValue(), ''));
  await notes.filter({ hasText: 'p1 runs in the background' }).first().waitFor();
  await chat.getByText('It goes on beside me.').first().waitFor({ timeout: TURN_MS });
  await look(chat, '2-goes-on');
  await ask(chat, '/processes');
  await until('it is listed', 30_000, async () => await endedTurns(chat) === 2);
  await soon(async () => assert.match(await chat.getByTestId('answer').last().innerText(), /p1 runs/));

  // It ends by itself, with what it printed last.
  await ask(chat, 'is it over?');
  await chat.getByText('The watch has ended.').first().waitFor({ timeout: TURN_MS });
  await notes.filter({ hasText: 'p1 has ended' }).first().waitFor();
  await chat.getByTestId('tool').last().click();
  await chat.getByText('the watch is over').last().waitFor();
  await look(chat, '3-over');

  // Another one is sent there by the palette, and the person stops it.
  await ask(chat, 'sleep');
  await printed.filter({ hasText: 'begun' }).first().waitFor({ timeout: TURN_MS });
  await palette(page, 'Remit: Send the Running Command to the Background');
  await toasts.getByText('It goes on as p2').waitFor();
  await chat.getByText('I do not wait for it.').first().waitFor({ timeout: TURN_MS });
  await ask(chat, '/processes stop p2');
  await notes.filter({ hasText: 'p2 has ended: it was stopped' }).first().waitFor({ timeout: TURN_MS });
  await until('nothing of it runs', 30_000, () => !running('sleep 4731'));
  await look(chat, '4-stopped');

  // Where no command runs, none is sent.
  await ask(chat, '/background');
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 6);
  await soon(async () => assert.match(await chat.getByTestId('note-error').last().innerText(), /no command/i));
});

/** Whether a process of this machine has these words as its command line. */
function running(words) {
  return fs.readdirSync('/proc').filter((each) => /^\d+$/.test(each)).some((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() === words;
    } catch {
      return false;
    }
  });
}
