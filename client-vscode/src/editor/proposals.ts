// Shows a proposed change in VS Code's own diff editor; the text comes from the question, never from a file on disk.
import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { ApprovalRequired, FileDiff } from '../contract';
import { patched, visibleLine } from '../text';
import { turnFolder } from './workspace';

export const SCHEME = 'remit-proposal';

/** The keyboard stays on the card, which takes the answer. */
const SHOWN: vscode.TextDocumentShowOptions = { preview: true, preserveFocus: true };

export interface Proposals extends vscode.TextDocumentContentProvider {
  open(question: ApprovalRequired, index: number): Promise<void>;
  /** Closes what was opened for a question: once it is answered, it proposes nothing. */
  close(approvalId: string): Promise<void>;
}

export function openProposals(): Proposals {
  const texts = new Map<string, string>();
  const document = (id: string, side: string, path: string, text: string): vscode.Uri => {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${path}`, query: `${id}&${side}` });
    texts.set(uri.toString(), text);
    return uri;
  };
  return {
    provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? '',
    open: async (question, index) => {
      const diff = question.diffs[index];
      const folder = turnFolder();
      if (!diff || !folder) return;
      const before = diff.created ? '' : await textOf(vscode.Uri.joinPath(folder.uri, diff.moved_from ?? diff.path));
      const after = before === null ? null : patched(before, diff.diff);
      // The digest says whether this is byte for byte what would be written; where it is not, the diff alone is shown.
      const exact = after !== null && (diff.deleted ? after === '' : digest(after) === diff.after_digest);
      const name = visibleLine(diff.path);
      if (before === null || after === null || !exact) {
        const text = document(question.approval_id, 'diff', `${diff.path}.diff`, diff.diff);
        await vscode.commands.executeCommand('vscode.open', text, SHOWN, `${name} (proposed, as a diff)`);
        return;
      }
      await vscode.commands.executeCommand(
        'vscode.diff',
        document(question.approval_id, 'before', diff.path, before),
        document(question.approval_id, 'after', diff.path, after),
        title(name, diff),
        SHOWN,
      );
    },
    close: async (approvalId) => {
      const belongs = (uri: vscode.Uri): boolean => uri.scheme === SCHEME && uri.query.startsWith(`${approvalId}&`);
      const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
      await vscode.window.tabGroups.close(tabs.filter((tab) => shownIn(tab).some(belongs)));
      for (const key of texts.keys()) {
        if (belongs(vscode.Uri.parse(key))) texts.delete(key);
      }
    },
  };
}

function digest(text: string): string {
  return `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

function shownIn(tab: vscode.Tab): readonly vscode.Uri[] {
  if (tab.input instanceof vscode.TabInputTextDiff) return [tab.input.original, tab.input.modified];
  return tab.input instanceof vscode.TabInputText ? [tab.input.uri] : [];
}

function title(name: string, diff: FileDiff): string {
  if (diff.deleted) return `${name} (deleted, proposed)`;
  if (diff.moved_from !== null) return `${visibleLine(diff.moved_from)} → ${name} (moved, proposed)`;
  return diff.created ? `${name} (new file, proposed)` : `${name} (now ↔ proposed)`;
}

/** The open buffer's text, which is the truth while it is open, or the file's; null where there is none. */
async function textOf(uri: vscode.Uri): Promise<string | null> {
  const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return null;
  }
}
