// Starts one VS Code with the packaged extension and lets the stories happen in it, one after the other.
// Exits 0 when all of it held, the page had no errors, and nothing was asked of the outside.
//
// REMIT_CODE_SERVER, REMIT_VSIX, REMIT_SERVER and REMIT_CHROMIUM name what is used, REMIT_SHOTS a folder for screenshots.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { code } from './code.mjs';
import { commands } from './commands.mjs';
import { rename } from './rename.mjs';
import { troubles } from './troubles.mjs';
import { endedTurns, openBrowser, openChat, readAll, startCodeServer, until } from './workbench.mjs';

const TURN_MS = 120_000;
const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-e2e-'));
const workspace = path.join(home, 'workspace');
const state = path.join(home, 'state');
const config = path.join(home, 'config');
for (const folder of [path.join(workspace, 'src'), config, shots]) fs.mkdirSync(folder, { recursive: true });

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'),
  vsix: need('REMIT_VSIX'),
  workspace,
  settings: { 'workbench.colorTheme': 'Default Dark Modern' },
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER') },
  env: { REMIT_STATE_DIR: state, REMIT_CONFIG_DIR: config },
  log: path.join(shots, 'code-server.log'),
});
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'));
  const { page } = browser;
  const chat = await openChat(page, editor.url, workspace);
  const endings = chat.getByTestId('ending');
  const stage = {
    page, chat, editor, home, workspace, state, config,
    server: need('REMIT_SERVER'),
    shot: (name) => page.screenshot({ path: path.join(shots, `${name}.png`) }),
    ask: async (text) => {
      await chat.locator('#input').fill(text);
      await chat.locator('#input').press('Enter');
    },
    /** How the turn ended, once the chat shows so many ended turns. */
    ended: async (turns) => {
      await until(`turn ${turns} ends`, TURN_MS, async () => await endedTurns(chat) === turns);
      return endings.last().innerText();
    },
    /** The question is there, and may be answered. A turn that ends without one fails at once. */
    asked: async () => {
      const before = await endedTurns(chat);
      await until('a question', TURN_MS, async () => {
        assert.equal(await endedTurns(chat), before, `the turn ended without a question:\n${await chat.locator('main').innerText()}`);
        await readAll(chat);
        return await chat.getByRole('button', { name: 'Allow once', disabled: false }).count() === 1;
      });
    },
  };
  await told('rename', rename(stage));
  await told('troubles', troubles(stage));
  await told('code', code(stage));
  await told('commands', commands(stage));
  assert.deepEqual(ours(browser.problems), [], 'errors in the page');
  assert.deepEqual(browser.outside.filter((url) => !isWebviewResource(url)), [], 'requests to the outside');
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

async function told(name, story) {
  const before = Date.now();
  await story;
  console.log(`${name}: ${((Date.now() - before) / 1000).toFixed(1)} s`);
}

/** Not VS Code's own (a licence module, sign-in, what a reload cuts short, its settings file told of twice, a busy machine's save) and not the broken policy. */
function ours(problems) {
  const foreign = /\/vsda\/|The files on disk are not in force|the policy cannot be used|authentication provider|\[lifecycle\]|'vscode-log:|onWillSaveTextDocument|User\/settings\.json already exists|unknown document/;
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
