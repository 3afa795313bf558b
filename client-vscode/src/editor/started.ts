// The first steps: a sample file, and the context keys that tick off the walkthrough's steps (EDI-10).
import * as vscode from 'vscode';
import { running, type View } from '../chat/view';
import { showProblem } from './status';
import type { ServerState } from '../server/health';

const SAMPLE_NAME = 'remit-sample.py';
const SAMPLE = `"""A file to try Remit on: delete it when you like."""


def price(items):
    total = 0
    for item in items:
        total += item.price
    return total
`;

/** Creates a sample file, shows it, and asks for a rename in it. An existing file of that name is not overwritten. */
export async function trySample(ask: (text: string) => Promise<void>): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (!folder) {
    const fix = 'open a folder to try it in';
    return showProblem({ code: 'no_folder', what: 'no folder is open', why: 'the sample needs one', fix });
  }
  const file = vscode.Uri.joinPath(folder.uri, SAMPLE_NAME);
  const there = await vscode.workspace.fs.stat(file).then(() => true, () => false);
  if (!there) await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(SAMPLE));
  await vscode.window.showTextDocument(file, { preview: false });
  await ask(`rename total to subtotal in ${SAMPLE_NAME}`);
}

/** Sets the context keys that `when` clauses and the walkthrough use. */
export function setContexts(state: ServerState, view: View): void {
  const items = view.turns.flatMap((turn) => turn.items);
  const contexts = {
    'remit.running': running(view) !== null,
    'remit.ready': state === 'ready',
    'remit.hasAsked': view.turns.length > 0,
    'remit.hasChanged': items.some((item) => item.kind === 'tool' && (item.result?.changed_files.length ?? 0) > 0),
  };
  for (const [name, value] of Object.entries(contexts)) {
    if (known.get(name) === value) continue;
    known.set(name, value);
    void vscode.commands.executeCommand('setContext', name, value);
  }
}

const known = new Map<string, boolean>();
