// How long Remit's extension takes to activate beside the smallest language client, in the same window of a real VS Code, which measures
// it: loading the code and `activate`, as `Developer: Show Running Extensions` says. Each round reloads the window, so starts both anew.
// The environment is that of tests/e2e/vscode/run.mjs; `node bench/activation.mjs [ROUNDS]`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from '../client-vscode/node_modules/esbuild/lib/main.js';
import { openBrowser, openChat, palette, startCodeServer } from '../tests/e2e/vscode/workbench.mjs';

const GOAL = 1.2;
const here = import.meta.dirname;
const client = path.join(here, '../client-vscode');
const need = (name) => process.env[name] ?? assert.fail(`set ${name}`);
const rounds = Number(process.argv[2] ?? 7);
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'remit-bench-activation-'));
const workspace = path.join(home, 'workspace');
fs.mkdirSync(workspace);
const hello = path.join(home, 'hello');
fs.cpSync(path.join(here, 'hello_client'), hello, { recursive: true });
await build({
  entryPoints: [path.join(here, 'hello_client/extension.ts')], outfile: path.join(hello, 'out/extension.js'), bundle: true, minify: true,
  platform: 'node', target: 'node20', format: 'cjs', external: ['vscode'], mainFields: ['module', 'main'], nodePaths: [path.join(client, 'node_modules')],
});
const packed = path.join(home, 'hello.vsix');
const vsce = path.join(client, 'node_modules/.bin/vsce');
execFileSync(vsce, ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', packed], { cwd: hello, stdio: 'ignore' });

const editor = await startCodeServer({
  folder: need('REMIT_CODE_SERVER'), vsix: need('REMIT_VSIX'), others: [packed], workspace,
  machineSettings: { 'remit.serverPath': need('REMIT_SERVER') },
  env: {
    REMIT_STATE_DIR: path.join(home, 'state'), REMIT_CONFIG_DIR: path.join(home, 'config'),
    HELLO_PYTHON: path.join(path.dirname(need('REMIT_SERVER')), 'python'), HELLO_SERVER: path.join(here, 'hello_server.py'),
  },
  log: path.join(home, 'code-server.log'),
});
const taken = { 'Hello Client': [], Remit: [] };
let browser;
try {
  browser = await openBrowser(need('REMIT_CHROMIUM'), { width: 1280, height: 2400 });
  const { page } = browser;
  page.setDefaultTimeout(120_000);
  for (let round = 0; round <= rounds; round += 1) {
    await openChat(page, editor.url, workspace);
    await page.locator('.statusbar-item', { hasText: 'Remit: built-in' }).waitFor();
    await palette(page, 'Developer: Show Running Extensions');
    for (const [name, times] of Object.entries(taken)) {
      const row = page.locator('.runtime-extensions-editor .monaco-list-row').filter({ has: page.getByText(name, { exact: true }) });
      const said = await row.locator('.activation-time').first().innerText();
      if (round > 0) times.push(Number(/(\d+) ?ms/.exec(said)[1])); // the first one fills caches
    }
  }
} finally {
  await browser?.close();
  await editor.stop();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
const middle = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
for (const [name, times] of Object.entries(taken)) console.log(`${name}: ${times.join(', ')} ms; median ${middle(times)}, minimum ${Math.min(...times)}`);
const ratio = middle(taken.Remit) / middle(taken['Hello Client']);
console.log(`ratio of the medians ${ratio.toFixed(2)}, goal ${GOAL}`);
