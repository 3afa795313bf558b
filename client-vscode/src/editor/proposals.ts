// Shows a proposed change in VS Code's own diff editors (EDI-02, EDI-09). The change comes from the question, never from a file on disk.
import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { ApprovalRequired, FileDiff } from '../contract';
import { patched, visibleLine } from '../text';
import { turnFolder } from './workspace';

export const SCHEME = 'remit-proposal';
const AFTER = 'after';
/** VS Code's command for many diffs in one editor. It is no stable interface, so it is used only if it exists. */
const ALL_AT_ONCE = 'vscode.changes';

interface Sides {
  readonly before: vscode.Uri;
  readonly after: vscode.Uri;
}

/** The keyboard focus stays on the card, because the answer is given there. */
const SHOWN: vscode.TextDocumentShowOptions = { preview: true, preserveFocus: true };

export interface Proposals extends vscode.TextDocumentContentProvider {
  open(question: ApprovalRequired, index: number): Promise<void>;
  /** Opens all files of a question: in one editor if VS Code can do that, else in one editor each. */
  openAll(question: ApprovalRequired): Promise<void>;
  /** Says of which question and file a document is the proposed side, or null if it is none. */
  proposed(uri: vscode.Uri): { readonly approvalId: string; readonly path: string } | null;
  /** Closes what was opened for a question that is now answered. */
  close(approvalId: string): Promise<void>;
}

export function openProposals(): Proposals {
  const texts = new Map<string, string>();
  const document = (id: string, side: string, path: string, text: string): vscode.Uri => {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${path}`, query: `${id}&${side}` });
    texts.set(uri.toString(), text);
    return uri;
  };
  /** Both sides of a file, or null if only the diff can be shown. */
  const sides = async (id: string, diff: FileDiff): Promise<Sides | null> => {
    const folder = turnFolder();
    const before = diff.created ? '' : folder && await textOf(vscode.Uri.joinPath(folder.uri, diff.moved_from ?? diff.path));
    const after = before === null ? null : patched(before, diff.diff);
    // The digest says whether this is byte for byte what would be written. If it is not, only the diff is shown.
    const exact = after !== null && (diff.deleted ? after === '' : digest(after) === diff.after_digest);
    if (before === null || after === null || !exact) return null;
    return { before: document(id, 'before', diff.path, before), after: document(id, AFTER, diff.path, after) };
  };
  const open = async ({ approval_id }: ApprovalRequired, diff: FileDiff, preview: boolean): Promise<void> => {
    const name = visibleLine(diff.path);
    const both = await sides(approval_id, diff);
    if (both) return void await vscode.commands.executeCommand('vscode.diff', both.before, both.after, title(name, diff), { ...SHOWN, preview });
    const text = document(approval_id, 'diff', `${diff.path}.diff`, diff.diff);
    await vscode.commands.executeCommand('vscode.open', text, { ...SHOWN, preview }, `${name} (proposed, as a diff)`);
  };
  return {
    provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? '',
    open: async (question, index) => {
      const diff = question.diffs[index];
      if (diff) await open(question, diff, true);
    },
    openAll: async (question) => {
      const [only, ...others] = question.diffs;
      if (!only) return;
      if (others.length === 0) return open(question, only, true);
      const all = await Promise.all(question.diffs.map((diff) => sides(question.approval_id, diff)));
      const whole = all.filter((each) => each !== null);
      if (whole.length === all.length && (await vscode.commands.getCommands(true)).includes(ALL_AT_ONCE)) {
        const files = whole.map(({ before, after }) => [after, before, after]);
        return void await vscode.commands.executeCommand(ALL_AT_ONCE, `Remit asks: ${visibleLine(question.title)}`, files);
      }
      for (const diff of question.diffs) await open(question, diff, false);
    },
    proposed: (uri) => {
      const [approvalId, side] = uri.query.split('&');
      return uri.scheme === SCHEME && side === AFTER && approvalId ? { approvalId, path: uri.path.slice(1) } : null;
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
  const { textDiffs } = (tab.input ?? {}) as { readonly textDiffs?: readonly { readonly original?: vscode.Uri; readonly modified?: vscode.Uri }[] };
  if (textDiffs) return textDiffs.flatMap(({ original, modified }) => [original, modified]).filter((uri) => uri !== undefined);
  if (tab.input instanceof vscode.TabInputTextDiff) return [tab.input.original, tab.input.modified];
  return tab.input instanceof vscode.TabInputText ? [tab.input.uri] : [];
}

function title(name: string, diff: FileDiff): string {
  if (diff.deleted) return `${name} (deleted, proposed)`;
  if (diff.moved_from !== null) return `${visibleLine(diff.moved_from)} → ${name} (moved, proposed)`;
  return diff.created ? `${name} (new file, proposed)` : `${name} (now ↔ proposed)`;
}

/** The text of the open buffer, which counts while the file is open, or else of the file; null if there is none. */
async function textOf(uri: vscode.Uri): Promise<string | null> {
  const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return null;
  }
}
