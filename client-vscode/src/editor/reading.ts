// Tracks which lines of a waiting change were visible, in the file or as a diff: they count as read, as on the card (EDI-04).
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { findApproval, pending, type ApprovalItem } from '../chat/view';
import { hunksOf, type Hunk } from '../text';
import { lineAbove, MOST_LINES, type Drawn } from './drawn';
import type { Proposals } from './proposals';
import { waitingIn } from './waiting';

/** Lines count as read only after they could be seen for this long. */
const SHOWN_MS = 500;

export interface Reading extends vscode.Disposable {
  /** Looks again at what is visible, after the questions have changed. */
  changed(): void;
  /** The index of the first diff of a question that was not read completely, or null if all were. */
  readonly unread: (item: ApprovalItem) => number | null;
}

export function openReading(conversation: () => Conversation, proposals: Proposals, drawn: () => Drawn): Reading {
  /** The lines of each proposed side that were visible, by question and path. */
  const lines = new Map<string, Set<number>>();
  let timer: NodeJS.Timeout | null = null;
  const linesOf = (id: string, path: string): Set<number> => {
    const key = `${id} ${path}`;
    const seen = lines.get(key) ?? new Set<number>();
    lines.set(key, seen);
    return seen;
  };
  const look = (): void => {
    timer = null;
    for (const editor of vscode.window.visibleTextEditors) {
      const side = proposals.proposed(editor.document.uri);
      if (side) for (const line of inSight(editor)) linesOf(side.approvalId, side.path).add(line);
      else lookInFile(editor);
    }
    for (const item of pending(conversation().view())) tell(item);
  };
  const lookInFile = (editor: vscode.TextEditor): void => {
    const sight = new Set(inSight(editor));
    for (const { item, diff } of waitingIn(editor.document, conversation())) {
      hunksOf(diff.diff).forEach((hunk, number) => {
        const whole = hunk.lines.filter(({ kind }) => kind === 'add').length <= MOST_LINES && drawn().shows(editor.document.uri, item.id, number);
        // The box is between two lines of the file, so if both are visible, the whole box is. Below the last line this cannot be known.
        const line = lineAbove(hunk);
        const between = line + 1 < editor.document.lineCount && sight.has(line) && sight.has(line + 1);
        if (whole && between) for (const line of afterOf(hunk)) linesOf(item.id, diff.path).add(line);
      });
    }
  };
  const isRead = (id: string, path: string, diff: string): boolean => {
    const hunks = hunksOf(diff);
    const seen = lines.get(`${id} ${path}`);
    return hunks.length > 0 && seen !== undefined && hunks.every((hunk) => afterOf(hunk).every((line) => seen.has(line)));
  };
  const tell = ({ id, question, read }: ApprovalItem): void => {
    const paths = question.diffs.filter(({ path, diff }) => isRead(id, path, diff)).map(({ path }) => path);
    if (paths.some((path) => !read.includes(path))) conversation().read(id, paths);
  };
  const soon = (): void => { timer ??= setTimeout(look, SHOWN_MS); };
  const watched = [vscode.window.onDidChangeTextEditorVisibleRanges(soon), vscode.window.onDidChangeVisibleTextEditors(soon)];
  return {
    changed: () => {
      for (const key of lines.keys()) {
        const item = findApproval(conversation().view(), key.slice(0, key.indexOf(' ')));
        if (!item || item.outcome) lines.delete(key);
      }
      if (pending(conversation().view()).length > 0) soon();
    },
    unread: ({ id, question }) => {
      const first = question.diffs.findIndex(({ path, diff }) => !isRead(id, path, diff));
      return first < 0 ? null : first;
    },
    dispose: () => {
      if (timer) clearTimeout(timer);
      for (const each of watched) each.dispose();
    },
  };
}

/** The lines of the proposed text that a hunk adds or shows; if it leaves none, the line at which it removed some. */
function afterOf({ after: { start, end } }: Hunk): readonly number[] {
  return Array.from({ length: Math.max(1, end - start) }, (_, index) => start + index);
}

function inSight(editor: vscode.TextEditor): readonly number[] {
  return editor.visibleRanges.flatMap(({ start, end }) => Array.from({ length: end.line - start.line + 1 }, (_, index) => start.line + index));
}
