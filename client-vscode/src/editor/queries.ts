// Answers the server's questions about the code with what VS Code knows: `remit/editor/query` (docs/editors/protocol.md). Nothing is
// decided here, but a query about a file outside the workspace's folders is refused.
import * as vscode from 'vscode';

export interface Query {
  readonly kind: 'diagnostics' | 'symbols' | 'workspace_symbols' | 'definition' | 'references';
  readonly uri?: string;
  readonly position?: Position;
  readonly query?: string;
  readonly limit: number;
}

export interface Answer {
  readonly items: readonly Item[];
  readonly total: number;
}

interface Position {
  readonly line: number;
  readonly character: number;
}

interface Item {
  readonly uri: string;
  readonly range: { readonly start: Position; readonly end: Position };
  readonly name?: string;
  readonly kind?: number;
  readonly container?: string;
  readonly message?: string;
  readonly severity?: number;
  readonly source?: string;
  readonly code?: string;
}

/** The parts of VS Code that answer queries. Its numbers of kinds and severities are one less than those of LSP. */
export interface Knowing {
  readonly diagnostics: () => readonly [vscode.Uri, readonly vscode.Diagnostic[]][];
  readonly execute: (command: string, ...args: readonly unknown[]) => Thenable<unknown>;
  /** Opens a file that is not open, so that the language extensions read it. */
  readonly open: (uri: vscode.Uri) => Thenable<unknown>;
  readonly parse: (uri: string) => vscode.Uri;
}

export const FOUND_BY_VSCODE: Knowing = {
  diagnostics: () => vscode.languages.getDiagnostics(),
  execute: (command, ...args) => vscode.commands.executeCommand(command, ...args),
  open: (uri) => vscode.workspace.openTextDocument(uri),
  parse: (uri) => vscode.Uri.parse(uri, true),
};

/** Answers one query about files below the `roots`. Rejects if the query names a file elsewhere. */
export async function answerQuery(query: Query, roots: readonly string[], knowing: Knowing = FOUND_BY_VSCODE): Promise<Answer> {
  const uri = query.uri === undefined ? null : knowing.parse(query.uri);
  const below = uri && roots.some((root) => uri.fsPath === root || uri.fsPath.startsWith(`${root}/`));
  if (uri && (uri.scheme !== 'file' || !below)) {
    throw new Error('the file is not in the workspace');
  }
  const items = await found(query, uri, knowing);
  return { items: items.slice(0, query.limit), total: items.length };
}

async function found(query: Query, uri: vscode.Uri | null, knowing: Knowing): Promise<readonly Item[]> {
  if (query.kind === 'workspace_symbols') {
    return symbols(await knowing.execute('vscode.executeWorkspaceSymbolProvider', query.query ?? ''), null);
  }
  if (query.kind === 'diagnostics') return diagnostics(knowing, uri);
  if (!uri) throw new Error('the query names no file');
  await knowing.open(uri);
  if (query.kind === 'symbols') return symbols(await knowing.execute('vscode.executeDocumentSymbolProvider', uri), uri);
  const command = query.kind === 'definition' ? 'vscode.executeDefinitionProvider' : 'vscode.executeReferenceProvider';
  return list<vscode.Location | vscode.LocationLink>(await knowing.execute(command, uri, query.position)).map((each) =>
    'targetUri' in each
      ? { uri: each.targetUri.toString(), range: range(each.targetSelectionRange ?? each.targetRange) }
      : { uri: each.uri.toString(), range: range(each.range) });
}

/** The problems of one file or of a folder. VS Code has those of all files that its extensions have read. */
function diagnostics(knowing: Knowing, uri: vscode.Uri | null): readonly Item[] {
  return knowing.diagnostics()
    .filter(([file]) => !uri || file.fsPath === uri.fsPath || file.fsPath.startsWith(`${uri.fsPath}/`))
    .flatMap(([file, problems]) => problems.map((each) => ({
      uri: file.toString(),
      range: range(each.range),
      message: each.message,
      severity: each.severity + 1,
      ...(each.source ? { source: each.source } : {}),
      ...(each.code === undefined ? {} : { code: String(typeof each.code === 'object' ? each.code.value : each.code) }),
    })));
}

/** Lists symbols from either kind of provider: those of a file give a tree, those of the workspace give a list of places. */
function symbols(given: unknown, uri: vscode.Uri | null, container = ''): readonly Item[] {
  return list<vscode.SymbolInformation | vscode.DocumentSymbol>(given).flatMap((each) => {
    const named = { name: each.name, kind: each.kind + 1 };
    if ('location' in each && each.location) {
      return [{ uri: each.location.uri.toString(), range: range(each.location.range), ...named, container: each.containerName }];
    }
    if (!('selectionRange' in each) || !uri) return [];
    const own = { uri: uri.toString(), range: range(each.selectionRange), ...named, container };
    return [own, ...symbols(each.children, uri, each.name)];
  });
}

function list<T>(given: unknown): readonly T[] {
  return Array.isArray(given) ? given as readonly T[] : [];
}

function range({ start, end }: vscode.Range): Item['range'] {
  const plain = ({ line, character }: Position): Position => ({ line, character });
  return { start: plain(start), end: plain(end) };
}
