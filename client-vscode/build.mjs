// Bundles the extension for the extension host and the chat for the webview into `out/`, with the licences of the bundled packages.
import { build } from 'esbuild';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const minify = process.argv.includes('--minify');
const common = { bundle: true, minify, sourcemap: !minify, metafile: true, logLevel: 'warning', outdir: 'out', legalComments: 'none' };

rmSync('out', { recursive: true, force: true });
const bundles = await Promise.all([
  build({
    ...common,
    entryPoints: { extension: 'src/extension.ts' },
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode'],
    mainFields: ['module', 'main'],
  }),
  build({
    ...common,
    entryPoints: { chat: 'src/webview/main.tsx', 'chat-style': 'src/webview/chat.css' },
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
    loader: { '.ttf': 'file' },
    assetNames: '[name]',
  }),
]);
const inputs = bundles.flatMap((bundle) => Object.keys(bundle.metafile.inputs));
writeFileSync('out/THIRD-PARTY.txt', notices(inputs));

/** Returns name, version and licence text of every package that a bundle contains code of. */
function notices(files) {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    const texts = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file)).sort();
    if (texts.length === 0) throw new Error(`${name} comes without a licence text`);
    return [`${name} ${version} (${license})`, ...texts.map((file) => readFileSync(path.join(folder, file), 'utf8').trim())].join('\n\n');
  }).join(`\n\n${'-'.repeat(80)}\n\n`);
}
