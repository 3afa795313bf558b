// Bundles the extension for the extension host and the chat for the webview into `out/`.
import { build } from 'esbuild';
import { rmSync } from 'node:fs';

const minify = process.argv.includes('--minify');
const common = { bundle: true, minify, sourcemap: !minify, logLevel: 'warning', outdir: 'out', legalComments: 'linked' };

rmSync('out', { recursive: true, force: true });
await Promise.all([
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
