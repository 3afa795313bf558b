// Starts one VS Code with the packaged extension and runs the stories in it, one after the other.
// Exits with 0 if all assertions held, the page had no errors, and no request went to the outside.
import assert from 'node:assert/strict';
import { code } from './code.mjs';
import { commands } from './commands.mjs';
import { rename } from './rename.mjs';
import { troubles } from './troubles.mjs';
import { openHome, need, tell, TURN_MS } from './story.mjs';
import { endedTurns, readAll, until } from './workbench.mjs';

const home = openHome('job', 'src');
await tell(home, {}, async ({ editor, browser, page, look, open }) => {
  const chat = await open();
  const endings = chat.getByTestId('ending');
  const stage = {
    ...home, page, chat, editor,
    server: need('REMIT_SERVER'),
    look: (name) => look(chat, name),
    ask: async (text) => {
      await chat.locator('#input').fill(text);
      await chat.locator('#input').press('Enter');
    },
    /** Waits until the chat shows this many ended turns; returns how the last one ended. */
    ended: async (turns) => {
      await until(`turn ${turns} ends`, TURN_MS, async () => await endedTurns(chat) === turns);
      return endings.last().innerText();
    },
    /** Waits until a question can be answered. Fails at once if the turn ends without a question. */
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
});

async function told(name, story) {
  const before = Date.now();
  await story;
  console.log(`${name}: ${((Date.now() - before) / 1000).toFixed(1)} s`);
}

/**
 * Leaves out problems of VS Code itself (a licence module, sign-in, what a reload interrupts, its settings file reported twice, a slow save),
 * of its language client (a message to the server that a story kills), and of the policy that a story breaks.
 */
function ours(problems) {
  const foreign = /\/vsda\/|The policy files on disk have a mistake|the policy cannot be used|authentication provider|\[lifecycle\]|'vscode-log:|onWillSaveTextDocument|User\/settings\.json already exists|unknown document|Starting server failed/;
  return problems.filter((problem) => !foreign.test(problem));
}

/** Whether an address is that of a webview's file. Its service worker answers such requests, so none leaves the machine. */
function isWebviewResource(url) {
  return new URL(url).hostname.endsWith('.vscode-resource.vscode-cdn.net');
}
