// Starts one VS Code with the packaged extension and lets the stories happen in it, one after the other.
// Exits 0 when all of it held, the page had no errors, and nothing was asked of the outside.
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
});

async function told(name, story) {
  const before = Date.now();
  await story;
  console.log(`${name}: ${((Date.now() - before) / 1000).toFixed(1)} s`);
}

/** Not VS Code's own (a licence module, sign-in, what a reload cuts short, its settings file told of twice, a busy machine's save), nor its language client's (a message on its way to the server that is killed here), and not the broken policy. */
function ours(problems) {
  const foreign = /\/vsda\/|The policy files on disk have a mistake|the policy cannot be used|authentication provider|\[lifecycle\]|'vscode-log:|onWillSaveTextDocument|User\/settings\.json already exists|unknown document|Starting server failed/;
  return problems.filter((problem) => !foreign.test(problem));
}

/** A webview's files have such an address; its service worker answers them, nothing leaves the machine. */
function isWebviewResource(url) {
  return new URL(url).hostname.endsWith('.vscode-resource.vscode-cdn.net');
}
