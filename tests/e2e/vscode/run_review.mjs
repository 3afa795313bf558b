// From no server to a change reviewed in the editor: the install button, all files of a question as diffs, a comment for the model,
// a notice that closes, `@remit` and Remit's tools in VS Code's own chat, the effect of an unsaved policy (EDI-09 to EDI-12).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { need, openHome, tell, TURN_MS } from './story.mjs';
import { palette, quickOpen, readAll, soon, until } from './workbench.mjs';

const here = import.meta.dirname;
const home = openHome('review', 'secret', '.remit');
const { workspace, config } = home;
const programs = path.join(home.home, 'bin');
fs.mkdirSync(programs);
const lines = (word, ...changed) => Array.from({ length: 30 }, (_, n) => `${word}_${n} = ${changed.includes(n) ? `"${n}"` : n}\n`).join('');
const files = ['a.py', 'b.py'].map((name) => path.join(workspace, name));
files.forEach((file, n) => fs.writeFileSync(file, lines('ab'[n])));
fs.writeFileSync(path.join(workspace, 'secret', 'key.txt'), 'key\n');
fs.writeFileSync(path.join(workspace, '.remit', 'policy.yaml'), 'version: 1\ncapabilities:\n  - { name: nothing-yet, match: { syscall: fs.write, path_glob: ["gone/**"] }, action: deny, reason: "an example" }\n');
fs.writeFileSync(path.join(config, 'policy.yaml'), [
  'version: 1', 'capabilities:',
  '  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }',
  '  - { name: keep-out, match: { syscall: fs.read, path_glob: ["secret/**"] }, action: deny, reason: "keys stay here" }',
  '  - { name: writes-are-looked-at, match: { syscall: fs.write }, action: require_review, reason: "you look at each change" }', '',
].join('\n'));

const hunk = (word, at) => [`@@ -${at},3 +${at},3 @@`, ` ${word}_${at - 1} = ${at - 1}`, `-${word}_${at} = ${at}`, `+${word}_${at} = "${at}"`, ` ${word}_${at + 1} = ${at + 1}`];
const diff = ['a', 'b'].flatMap((word) => [`--- a/${word}.py`, `+++ b/${word}.py`, ...hunk(word, 4), ...hunk(word, 20)]).join('\n');
const change = { text: 'Both files change.', calls: [{ name: 'select_active_intent', arguments: { intent: 'CODE' } }, { name: 'apply_diff', arguments: { diff: `${diff}\n` } }] };
const traffic = path.join(home.home, 'traffic.jsonl');
const model = home.script('shop.json', [change, { text: 'Three of the four are texts now.' }]);

/** A script that makes the wheel that the extension would include; its program is the server under test. */
const WHEEL = `
import sys, zipfile
folder, server = sys.argv[1:]
with zipfile.ZipFile(f"{folder}/remit-9.9.9-py3-none-any.whl", "w") as wheel:
    info = "remit-9.9.9.dist-info"
    wheel.writestr("remit_stand_in.py", f"import os, sys\\ndef main(): os.execv({server!r}, [{server!r}, *sys.argv[1:]])\\n")
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: remit\\nVersion: 9.9.9\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\nremit = remit_stand_in:main\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;
fs.symlinkSync(path.join(path.dirname(need('REMIT_SERVER')), 'uv'), path.join(programs, 'uv'));
const caller = path.join(home.home, 'caller.vsix');
const vsce = path.join(here, '../../../client-vscode/node_modules/.bin/vsce');
execFileSync(vsce, ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', caller], { cwd: path.join(here, 'caller'), stdio: ['ignore', 'ignore', 'inherit'] });

const facts = path.join(home.home, 'facts.json');
const bundle = (editor) => {
  const bundled = path.join(editor.extension('remit.remit-vscode'), 'bundled');
  fs.rmSync(bundled, { recursive: true, force: true });
  fs.mkdirSync(bundled);
  execFileSync('/usr/bin/python3', ['-c', WHEEL, bundled, need('REMIT_SERVER')]);
  fs.writeFileSync(path.join(bundled, 'requirements.txt'), '');
};

await tell(home, {
  others: [caller],
  trust: true,
  prepare: bundle,
  settings: { 'workbench.startupEditor': 'welcomePage', 'security.workspace.trust.enabled': true, 'chat.disableAIFeatures': false, 'chat.agent.enabled': false },
  machineSettings: { 'remit.model': model },
  env: {
    ...home.env, PATH: `${programs}:/usr/bin:/bin`, UV_OFFLINE: '1', UV_CACHE_DIR: path.join(home.home, 'uv'), CALLER_FACTS: facts,
    REMIT_RECORD: traffic,
  },
}, async ({ editor, page, shot, look: lookAt, picture: take, open }) => {
  await restricted(editor, page, shot);
  await page.locator('.getting-started-step', { hasText: 'Install the server' }).waitFor({ timeout: 30_000 });
  const chat = await open();
  const look = (name) => lookAt(chat, name);
  const picture = (name) => take(chat, name);
  const toast = page.locator('.notifications-toasts .notification-list-item');
  const story = { page, chat, shot, look, picture, toast };
  await install(story);
  await review(story);
  await callTools(story);
  await preview(story);
});

/** In a folder that is not trusted nothing starts until the person trusts it. */
async function restricted(editor, page, shot) {
  await page.goto(`${editor.url}/?folder=${encodeURIComponent(workspace)}`, { waitUntil: 'domcontentloaded' });
  await page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor({ timeout: 60_000 });
  await shot('00-restricted');
  assert.equal(await page.locator('.statusbar-item', { hasText: 'Remit' }).count(), 0);
  await palette(page, 'Workspaces: Manage Workspace Trust');
  await page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
  await page.locator('.statusbar-item', { hasText: 'Remit' }).waitFor({ timeout: 60_000 });
}

/** EDI-10: the first steps open by themselves; no server is found; the button in the chat installs one and starts it. */
async function install({ page, chat, look, picture, toast }) {
  await page.locator('.statusbar-item', { hasText: 'Remit: server not found' }).waitFor({ timeout: 60_000 });
  await look('01-no-server');
  await chat.getByRole('button', { name: 'Install the Server' }).click();
  await toast.getByText('The Remit server 9.9.9 is installed.').waitFor({ timeout: TURN_MS });
  await page.locator('.statusbar-item', { hasText: 'Remit: script:shop.json' }).waitFor({ timeout: 60_000 });
  await look('02-installed');
  await palette(page, 'Notifications: Clear All Notifications');
  await palette(page, 'View: Close All Editors');
  await palette(page, 'Remit: Get Started');
  await ticked(page, 'Install the server');
  await picture('walkthrough');
  await palette(page, 'View: Close All Editors');
}

/** Waits until a step of the walkthrough is ticked. */
async function ticked(page, words) {
  await page.locator('.getting-started-step', { hasText: words }).locator('[role="checkbox"][aria-checked="true"]').waitFor({ timeout: 30_000 });
}

/** EDI-09, EDI-11: a request in VS Code's own chat, reviewed as diffs with a comment, and answered on the card. */
async function review({ page, chat, shot, look, toast }) {
  await quickOpen(page, 'a.py');
  await page.locator('.tab.active[data-resource-name="a.py"]').waitFor();
  await page.locator('.activitybar .action-label[aria-label^="Explorer"]').click();
  await page.keyboard.press('Control+Alt+I');
  const input = page.locator('.interactive-session .chat-input-container .monaco-editor, .interactive-input-part .monaco-editor').first();
  await input.click();
  await page.keyboard.type('@remit make the prices texts', { delay: 30 });
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await toast.getByText('Remit asks').waitFor({ timeout: TURN_MS });
  const answers = page.locator('.interactive-item-container');
  await until('the own chat says what is asked', 30_000, async () => (await answers.allInnerTexts()).join('').includes('Remit asks'));
  await page.locator('.codelens-decoration a', { hasText: 'Remit asks' }).waitFor();
  assert.equal(await page.locator('.tab').count(), 1, 'nothing opens unasked');
  await look('04-asked');

  await toast.locator('a', { hasText: 'Review' }).click();
  await page.locator('.multiDiffEntry, .multi-diff-root-floating-menu, .multiDiffEditor').first().waitFor({ timeout: 30_000 });
  await chat.getByRole('button', { name: 'Allow once' }).waitFor({ timeout: 30_000 });
  await look('05-all-files');

  // Comment on the second hunk of b.py, on the proposed side: it is left out, and the model gets the comment.
  const proposed = page.locator('.multiDiffEntry', { hasText: 'b.py' }).locator('.editor.modified');
  await proposed.getByText('"20"').first().hover();
  await proposed.locator('.comment-range-glyph, .comment-diff-added').last().click();
  await page.locator('.comment-form .monaco-editor').first().click();
  await page.keyboard.type('the twentieth is an id');
  await shot('06-comment');
  await page.locator('.review-widget').getByRole('button', { name: 'Leave Out' }).click();
  await chat.getByRole('button', { name: 'Allow 3 of 4 once' }).waitFor();
  await page.locator('.review-widget').getByText('the twentieth is an id').first().waitFor();
  await shot('07-left-out');

  assert.equal(await toast.count(), 1, 'the question is still said');
  await readAll(chat);
  await chat.getByRole('button', { name: 'Allow 3 of 4 once' }).click();
  await until('the notice goes', 30_000, async () => await toast.count() === 0);
  await until('the diffs close', 30_000, async () => await page.locator('.multiDiffEntry').count() === 0);
  const said = page.locator('.interactive-item-container').last();
  await until('the own chat says how it ended', TURN_MS, async () => (await said.innerText()).includes('Three of the four are texts now.'));
  assert.equal(fs.readFileSync(files[1], 'utf8'), lines('b', 4));
  assert.ok(fs.readFileSync(traffic, 'utf8').includes('the twentieth is an id'), 'the model was told why');
  await look('08-done');
  await palette(page, 'Remit: Get Started');
  await ticked(page, 'Ask for something small');
  await ticked(page, 'Look, then answer');
  await shot('08-walkthrough');
}

/** EDI-11: another extension's calls pass the gate, the policy and the audit log; its request reaches Remit's model. */
async function callTools({ page }) {
  await palette(page, 'Caller: Call Remit');
  await until('the other extension was answered', TURN_MS, () => fs.existsSync(facts));
  const told = JSON.parse(fs.readFileSync(facts, 'utf8'));
  assert.equal(told.error, undefined);
  assert.equal(told.personal, 'there is no such tool');
  assert.match(told.allowed, /a_0 = 0/);
  assert.match(told.gated, /does not belong to intent/);
  assert.match(told.denied, /keep-out|keys stay here/);
  assert.equal(fs.existsSync(path.join(workspace, 'new.py')), false);
  assert.equal(told.model, 'Remit: script:shop.json');
  assert.equal(told.answer, 'Both files change.', 'a conversation of its own begins the script anew');
}

/** EDI-12: the lens in an unsaved policy shows which of the last calls it would decide differently. */
async function preview({ page, shot }) {
  await quickOpen(page, 'policy.yaml');
  await page.locator('.tab.active[data-resource-name="policy.yaml"]').waitFor();
  const lens = page.locator('.codelens-decoration a', { hasText: 'What would this policy change?' });
  assert.equal(await lens.count(), 0, 'no lens in a saved file');
  await page.locator('.editor-instance .view-lines').first().click();
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText('  - { name: no-reads, match: { syscall: fs.read, path_glob: ["*.py"] }, action: deny, reason: "none today" }\n');
  await lens.click();
  const row = page.locator('.quick-input-list .monaco-list-row', { hasText: 'read_file a.py' });
  await row.first().waitFor({ timeout: 30_000 });
  await soon(async () => assert.match(await row.first().innerText(), /allow → deny/));
  await shot('09-preview');
  await page.keyboard.press('Enter');
  await until('the rule is shown', 30_000, async () => (await page.locator('.statusbar-item', { hasText: /^Ln 4/ }).count()) === 1);
}
