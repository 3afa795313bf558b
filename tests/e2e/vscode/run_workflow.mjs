// Strict mode in VS Code from the request to the commit: the mode is chosen, the state shown, code refused before a failing test, a test
// and code allowed, and the work approved by a button (FLW-06, FLW-10).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { openHome, tell, TURN_MS } from './story.mjs';
import { ask, endedTurns, readAll, soon, until } from './workbench.mjs';

const home = openHome('workflow', '.remit');
const { workspace } = home;
const git = (...words) => execFileSync('git', words, { cwd: workspace, encoding: 'utf8' });
fs.writeFileSync(path.join(workspace, '.remit', 'config.yaml'), '');
fs.writeFileSync(path.join(workspace, '.gitignore'), '__pycache__/\n');
fs.writeFileSync(path.join(workspace, 'config.py'), 'def parse(text):\n    return dict(line.split("=") for line in text.splitlines())\n');
git('init', '--quiet');
git('config', 'user.name', 'Ada');
git('config', 'user.email', 'ada@localhost');
git('add', '.');
git('commit', '--quiet', '-m', 'A parser');

const TEST = `import unittest

from config import parse


class Parse(unittest.TestCase):
    def test_what_is_no_line_is_named(self):
        try:
            parse("b")
            said = ""
        except ValueError as error:
            said = str(error)
        self.assertEqual(said, "no key=value: b")
`;
const CODE = `def parse(text):
    found = {}
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if not sign:
            raise ValueError(f"no key=value: {line}")
        found[key] = value
    return found
`;
const step = (intent, ...calls) => ({
  calls: [{ name: 'select_active_intent', arguments: { intent } }, ...calls.map(([name, given]) => ({ name, arguments: given }))],
});
const code = step('WRITE_FILE', ['write_file', { path: 'config.py', content: CODE }]);
const run = step('EXECUTE', ['run_tests', {}]);
const model = home.script('tests-first.json', [
  step('ANALYZE', ['read_file', { path: 'config.py' }]), code, step('PLAN', ['plan_complete', { plan: '1. a test that fails\n2. the code\n3. all tests' }]),
  step('WRITE_FILE', ['write_file', { path: 'test_config.py', content: TEST }]),
  run, code, run, { text: 'All tests pass: please review.' },
  step('EXECUTE', ['git_commit', { message: 'Name what is no line' }]), { text: 'It is committed.' },
]);

await tell(home, { model }, async ({ page, open, shot, look }) => {
  const chat = await open();
  const mode = chat.getByTestId('mode');
  const card = chat.getByTestId('approval');
  const allow = async (title, state, moment) => {
    await card.filter({ hasText: title }).waitFor({ timeout: TURN_MS });
    await soon(async () => assert.equal(await mode.innerText(), `strict: ${state}`));
    await readAll(chat);
    if (moment) await look(chat, moment);
    await card.getByRole('button', { name: 'Allow once' }).click();
    await until(`${title} is answered`, 30_000, async () => await card.filter({ hasText: title }).count() === 0);
  };

  await until('the mode is shown', 30_000, async () => await mode.innerText() === 'explore');
  await mode.click();
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await rows.filter({ hasText: 'strict' }).first().waitFor();
  await shot('1-modes');
  await rows.filter({ hasText: 'strict' }).first().click();
  await until('the mode holds', TURN_MS, async () => await mode.innerText() === 'strict: idle');

  await ask(chat, 'Name what is no line');
  await card.filter({ hasText: 'test_config.py' }).waitFor({ timeout: TURN_MS });
  await chat.getByText('in this state of the workflow nothing is written').first().waitFor();
  await allow('test_config.py', 'test_writing', '2-test');
  await allow('python3 -m unittest', 'test_writing');
  await card.filter({ hasText: 'config.py' }).waitFor({ timeout: TURN_MS });
  await chat.getByText('red, as it has to be').first().waitFor();
  await allow('config.py', 'code_writing', '3-code');
  await allow('python3 -m unittest', 'code_writing');
  await chat.getByText('All tests pass: please review.').first().waitFor({ timeout: TURN_MS });

  const review = chat.getByTestId('under-review');
  await review.waitFor({ timeout: 30_000 });
  await soon(async () => assert.equal(await mode.innerText(), 'strict: reviewing'));
  await soon(async () => assert.match(await mode.getAttribute('title'), /\/approve/));
  assert.equal(git('log', '--format=%s').trim(), 'A parser', 'nothing is committed before the review');
  await look(chat, '4-review');
  await review.getByRole('button', { name: 'Send back…' }).click();
  await soon(async () => assert.equal(await chat.locator('#input').inputValue(), '/reject ', 'what is wrong is still to be said'));
  await chat.locator('#input').fill('');
  await review.getByRole('button', { name: 'Approve' }).click();
  await chat.getByText('It is committed.').first().waitFor({ timeout: TURN_MS });
  await until('the turn ends', TURN_MS, async () => await endedTurns(chat) === 3);
  await soon(async () => assert.equal(await mode.innerText(), 'strict: idle'));
  await soon(async () => assert.equal(await review.count(), 0));
  assert.equal(git('log', '-1', '--format=%s').trim(), 'Name what is no line');
  await look(chat, '5-committed');
});
