// What VS Code knows of the code reaches the model: VS Code's own TypeScript answers `remit/editor/query`, not a server of ours.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { palette, quickOpen } from './workbench.mjs';

const SHOP = 'export function total(prices: number[]): number {\n  return prices.reduce((sum, price) => sum + price, 0);\n}\n';
const TILL = "import { total } from './shop';\n\nexport const due: string = total([3]);\n";
const analyze = (name, given) => ({ calls: [{ name: 'select_active_intent', arguments: { intent: 'ANALYZE' } }, { name, arguments: given }] });
const SCRIPT = [
  analyze('get_symbols', { path: 'src/shop.ts' }),
  analyze('get_definition', { path: 'src/till.ts', line: 3, symbol: 'total' }),
  analyze('get_references', { path: 'src/shop.ts', line: 1, symbol: 'total' }),
  analyze('get_diagnostics', { path: 'src/till.ts' }),
  { text: 'That is all.' },
];

export async function code({ page, chat, editor, home, workspace, server, look, ask, ended }) {
  fs.writeFileSync(path.join(workspace, 'src/shop.ts'), SHOP);
  fs.writeFileSync(path.join(workspace, 'src/till.ts'), TILL);
  const script = path.join(home, 'code.json');
  fs.writeFileSync(script, JSON.stringify(SCRIPT));
  editor.setMachine({ 'remit.serverPath': server, 'remit.model': `script:${script}` });
  await page.locator('.statusbar-item', { hasText: 'Remit: script:code.json' }).waitFor();
  await quickOpen(page, 'src/till.ts');
  // VS Code has only diagnostics of files that were opened.
  await page.locator('.monaco-editor .squiggly-error').first().waitFor({ timeout: 60_000 });
  await palette(page, 'Remit: New Chat');
  await chat.getByText('What should Remit do?').waitFor();
  await ask('look at the till');
  await ended(1);

  const calls = chat.getByTestId('tool');
  const said = [];
  // Only the visible rows of a long chat are drawn, so each call is found by its name.
  for (const { calls: [, { name }] } of SCRIPT.slice(0, -1)) {
    const call = calls.filter({ hasText: name });
    // A slow click must end on the row on which it began, also after a row above it was opened.
    await call.locator('summary').click({ delay: 300 });
    await call.getByText('model saw').waitFor();
    said.push(await call.innerText());
  }
  assert.equal(said.length, SCRIPT.length - 1);
  for (const each of said) assert.match(each, /, says the editor\n/);
  assert.match(said[0], /src\/shop\.ts:1:1 +function total/);
  assert.match(said[1], /src\/shop\.ts:1:17 +export function total/);
  assert.deepEqual(said[2].match(/^src\/\S+:\d+:\d+/gm), ['src/shop.ts:1:17', 'src/till.ts:1:10', 'src/till.ts:3:28']);
  assert.match(said[3], /src\/till\.ts:3:14: error: Type 'number' is not assignable to type 'string'/);
  await look('13-code');
}
