// Sample requests about the file that the person has open, with a name from that file instead of an invented one (EDI-14).
import * as vscode from 'vscode';

/** Finds a name without a language server: the word after a keyword that defines something in most languages. */
const DEFINED = /\b(?:def|class|function|func|fn|const|let|var)\s+([A-Za-z_]\w{2,})/;

export interface Samples extends vscode.Disposable {
  readonly now: () => Promise<readonly string[]>;
}

/** Reports the samples whenever the active editor changes. */
export function watchSamples(changed: (samples: readonly string[]) => void): Samples {
  const tell = (): void => { void now().then(changed); };
  const watched = vscode.window.onDidChangeActiveTextEditor(tell);
  return { now, dispose: () => watched.dispose() };
}

async function now(): Promise<readonly string[]> {
  const document = (vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0])?.document;
  if (!document || document.uri.scheme !== 'file' || !vscode.workspace.getWorkspaceFolder(document.uri)) return [];
  return samplesFor(vscode.workspace.asRelativePath(document.uri, false), await nameIn(document));
}

/** `name` is a name that the file defines, or null if none is known. */
export function samplesFor(path: string, name: string | null): readonly string[] {
  const about = name === null ? [] : [`rename ${name} to new_name in ${path}`, `which file defines ${name}?`];
  return [...about, `explain ${path}`, 'run the tests'];
}

async function nameIn(document: vscode.TextDocument): Promise<string | null> {
  type Found = readonly (vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined;
  const symbols = await Promise.resolve(vscode.commands.executeCommand<Found>('vscode.executeDocumentSymbolProvider', document.uri)).catch(() => undefined);
  const { Function: fn, Method, Class, Variable, Constant } = vscode.SymbolKind;
  const symbol = symbols?.find(({ kind, name }) => [fn, Method, Class, Variable, Constant].includes(kind) && /^[A-Za-z_]\w*$/.test(name));
  return symbol?.name ?? DEFINED.exec(document.getText())?.[1] ?? null;
}
