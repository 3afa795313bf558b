// The results of VS Code's providers are converted to the server's format, and only files of the workspace are reported.
import { expect, test } from 'vitest';
import { answerQuery, type Knowing, type Query } from '../../src/editor/queries';

const range = (line: number, character: number) => ({ start: { line, character }, end: { line, character: character + 1 } });
const uri = (path: string) => ({ scheme: 'file', fsPath: path, toString: () => `file://${path}` });

function knowing(answers: { readonly [command: string]: unknown }, problems: readonly unknown[] = []): Knowing {
  return {
    diagnostics: () => problems,
    execute: (command: string) => Promise.resolve(answers[command]),
    open: () => Promise.resolve(),
    parse: (text: string) => uri(text.replace('file://', '')),
  } as unknown as Knowing;
}

const ask = (query: Partial<Query>, with_: Knowing) => answerQuery({ kind: 'symbols', limit: 10, ...query }, ['/w', '/v'], with_);

test('a tree of symbols is flat, each with what it is part of, in numbers of LSP', async () => {
  const tree = [{ name: 'Cart', kind: 4, selectionRange: range(0, 6), children: [{ name: 'total', kind: 5, selectionRange: range(1, 8), children: [] }] }];
  const answer = await ask({ uri: 'file:///w/a.py' }, knowing({ 'vscode.executeDocumentSymbolProvider': tree }));
  expect(answer).toEqual({
    total: 2,
    items: [
      { uri: 'file:///w/a.py', range: range(0, 6), name: 'Cart', kind: 5, container: '' },
      { uri: 'file:///w/a.py', range: range(1, 8), name: 'total', kind: 6, container: 'Cart' },
    ],
  });
});

test('places come as locations or as links', async () => {
  const places = [
    { uri: uri('/w/a.py'), range: range(3, 4) },
    { targetUri: uri('/w/b.py'), targetRange: range(5, 0), targetSelectionRange: range(5, 6) },
  ];
  const given = knowing({ 'vscode.executeDefinitionProvider': places });
  const { items } = await ask({ kind: 'definition', uri: 'file:///w/a.py', position: { line: 0, character: 0 } }, given);
  expect(items).toEqual([{ uri: 'file:///w/a.py', range: range(3, 4) }, { uri: 'file:///w/b.py', range: range(5, 6) }]);
});

test('diagnostics of a folder are those of its files, cut to the limit with their number', async () => {
  const problem = { range: range(0, 0), message: 'no', severity: 0, source: 'ts', code: { value: 2304 } };
  const all = [[uri('/w/src/a.ts'), [problem, problem]], [uri('/w/srcs/b.ts'), [problem]]];
  const answer = await ask({ kind: 'diagnostics', uri: 'file:///w/src', limit: 1 }, knowing({}, all));
  expect(answer).toEqual({
    total: 2,
    items: [{ uri: 'file:///w/src/a.ts', range: range(0, 0), message: 'no', severity: 1, source: 'ts', code: '2304' }],
  });
});

test('no provider is an empty answer; a file outside is refused', async () => {
  expect(await ask({ kind: 'workspace_symbols', query: 'x' }, knowing({}))).toEqual({ items: [], total: 0 });
  await expect(ask({ uri: 'file:///v/a.py' }, knowing({ 'vscode.executeDocumentSymbolProvider': [] }))).resolves.toMatchObject({ total: 0 });
  await expect(ask({ uri: 'file:///w2/a.py' }, knowing({}))).rejects.toThrow('not in the workspace');
});
