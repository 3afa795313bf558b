// What every story needs: a temporary home, an editor, a browser, screenshots of its moments, and the logs if it fails.
// REMIT_CODE_SERVER, REMIT_VSIX, REMIT_SERVER and REMIT_CHROMIUM name the programs, REMIT_SHOTS a folder for screenshots and logs.
// Screenshots are taken with REMIT_PICTURES=1 (`make pictures`), and of a story that fails.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { cleanEnvironment, openBrowser, openChat, removeTree, startCodeServer } from './workbench.mjs';

export const TURN_MS = 120_000;
export const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const shots = need('REMIT_SHOTS');
const takesPictures = process.env.REMIT_PICTURES === '1';
/** The size of a window at 200 %: half as many pixels in each direction. */
const TWICE = { width: 640, height: 410 };
/** The size of a window beside another one. */
const NARROW = { width: 520, height: 820 };

/** Makes the home of a story with its workspace and `folders` in that. `env` sets the folders where Remit keeps its own files. */
export function openHome(name, ...folders) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), `remit-e2e-${name}-`));
  const [workspace, state, config] = ['shop', 'state', 'config'].map((each) => path.join(home, each));
  for (const folder of [workspace, config, shots, ...folders.map((each) => path.join(workspace, each))]) fs.mkdirSync(folder, { recursive: true });
  /** Writes a script for the model; returns the value of the setting `remit.model` for it. */
  const script = (file, steps) => {
    fs.writeFileSync(path.join(home, file), JSON.stringify(steps));
    return `script:${path.join(home, file)}`;
  };
  const env = { REMIT_STATE_DIR: state, REMIT_CONFIG_DIR: config };
  /** Runs `remit` in a terminal in the workspace; returns what it prints. */
  const remit = (...words) => execFileSync(need('REMIT_SERVER'), words, { cwd: workspace, env: { ...cleanEnvironment(), ...env }, encoding: 'utf8' });
  return { name, home, workspace, state, config, script, env, remit };
}

/**
 * Starts the editor with `options` (those of `startCodeServer`) and runs `story` in it. `model` is set before the window opens.
 * The exit code is 0 if all assertions held; otherwise a screenshot and the logs are kept.
 */
export async function tell({ name, home, workspace, env }, { model, prepare = () => undefined, ...options }, story) {
  const editor = await startCodeServer({
    folder: need('REMIT_CODE_SERVER'), vsix: need('REMIT_VSIX'), workspace, env, log: path.join(shots, `code-server-${name}.log`),
    machineSettings: { 'remit.serverPath': need('REMIT_SERVER'), ...(model && { 'remit.model': model }) },
    ...options,
  });
  let browser;
  try {
    prepare(editor);
    browser = await openBrowser(need('REMIT_CHROMIUM'));
    const { page } = browser;
    await story({
      editor, browser, page,
      open: () => openChat(page, editor.url, options.workspace ?? workspace),
      /** A screenshot without a change of size or colours, which would end the moment. */
      still: (moment) => takesPictures && page.screenshot({ path: path.join(shots, `${name}-${moment}.png`) }),
      /** Screenshots of a list that a change of the window closes, so that it is opened for each. */
      list: async (moment, show) => {
        const see = async (file) => {
          await show();
          if (takesPictures) await page.screenshot({ path: path.join(shots, `${file}.png`) });
          await page.keyboard.press('Escape');
        };
        if (!takesPictures) return see(moment);
        await inBoth(page, (scheme) => see(`${name}-${moment}-${scheme}`));
        await atTwice(page, () => see(`twice-${name}-${moment}`));
      },
      /** Screenshots without a chat, or of something beside it. */
      shot: (moment) => look(page, null, `${name}-${moment}`),
      look: (chat, moment) => look(page, chat, `${name}-${moment}`),
      /** Screenshots that the documentation shows as well (DOC-03). */
      picture: (chat, moment, seen) => show(page, chat, moment, seen),
    });
  } catch (error) {
    await browser?.page.screenshot({ path: path.join(shots, `${name}-failed.png`) });
    keepLog(editor, name);
    console.error(error);
    console.error('in the page:', browser?.problems);
    process.exitCode = 1;
  } finally {
    await browser?.close();
    await editor.stop();
    await removeTree(home);
  }
}

/** Takes screenshots of a moment (EDI-07): in dark, in light, and at 200 %. The editor follows the system's colours. */
async function look(page, chat, name) {
  if (!takesPictures) return;
  await inBoth(page, async (scheme) => {
    if (chat !== null && await chat.locator('body').count() > 0) await chat.locator(`body.vscode-${scheme}`).waitFor();
    await page.screenshot({ path: path.join(shots, `${name}-${scheme}.png`), animations: 'disabled' });
  });
  await atTwice(page, () => page.screenshot({ path: path.join(shots, `twice-${name}.png`), animations: 'disabled' }));
}

/** Takes screenshots for the documentation: in dark, in light, at 200 % and in a narrow window. `seen` is scrolled to in each. */
async function show(page, chat, moment, seen) {
  if (!takesPictures) return;
  const shot = async (kind) => {
    await seen?.scrollIntoViewIfNeeded();
    await page.screenshot({ path: path.join(shots, `picture-${moment}-${kind}.png`), animations: 'disabled' });
  };
  await inBoth(page, async (scheme) => {
    if (chat !== null && await chat.locator('body').count() > 0) await chat.locator(`body.vscode-${scheme}`).waitFor();
    await shot(scheme);
  });
  await atTwice(page, () => shot('200'));
  await atSize(page, NARROW, () => shot('narrow'));
}

/** Runs `see` in light and then in dark, and leaves the window dark. */
async function inBoth(page, see) {
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.locator(scheme === 'dark' ? '.monaco-workbench.vs-dark' : '.monaco-workbench:not(.vs-dark)').waitFor();
    await see(scheme);
  }
}

/** Runs `work` while the window is at 200 %. */
export const atTwice = (page, work) => atSize(page, TWICE, work);

/** Runs `work` while the window has another `size`. */
async function atSize(page, size, work) {
  const whole = page.viewportSize();
  const resize = async (to) => {
    await page.setViewportSize(to);
    await page.waitForFunction((width) => document.querySelector('.monaco-workbench').clientWidth === width, to.width);
  };
  await resize(size);
  try {
    return await work();
  } finally {
    await resize(whole);
  }
}

/** Keeps the extension's own log, which includes what the server wrote to stderr. */
function keepLog(editor, name) {
  for (const entry of fs.readdirSync(editor.data, { recursive: true })) {
    if (entry.endsWith('Remit.log')) fs.copyFileSync(path.join(editor.data, entry), path.join(shots, `${name}.log`));
  }
}
