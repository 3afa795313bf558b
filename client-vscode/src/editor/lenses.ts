// Code lenses for a waiting change, in the file that it would change: one for each hunk, and some for the whole change (APP-09).
// Allowing takes effect only once every change of the question was visible; until then the lens opens the first unread one.
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { commented, isLeftOut, partCount, toggled, type Part } from '../chat/parts';
import { findApproval, type ApprovalItem } from '../chat/view';
import type { FileDiff } from '../contract';
import type { Proposals } from './proposals';
import { waitingIn } from './waiting';
import { added, hunksOf, removed, visibleLine } from '../text';

/** The commands of the lenses. Their arguments are the question's id, and the part if there is one. */
export const LENS_COMMANDS = {
  allow: 'remit.client.allow', toggle: 'remit.client.leaveOut', comment: 'remit.client.comment', diff: 'remit.client.diff', deny: 'remit.client.deny',
} as const;

export interface Lenses extends vscode.CodeLensProvider {
  /** Updates the lenses after the questions have changed. */
  changed(): void;
  readonly commands: { readonly [id: string]: (...args: never[]) => unknown };
}

export function openLenses(conversation: () => Conversation, proposals: Proposals, allow: (id: string) => unknown): Lenses {
  const moved = new vscode.EventEmitter<void>();
  const waiting = (id: string): ApprovalItem | null => {
    const item = findApproval(conversation().view(), id);
    return item && item.outcome === null && item.answer === null ? item : null;
  };
  return {
    onDidChangeCodeLenses: moved.event,
    changed: () => moved.fire(),
    provideCodeLenses: (document) => waitingIn(document, conversation()).flatMap(({ item, diff }) => lensesOf(item, diff)),
    commands: {
      [LENS_COMMANDS.allow]: allow,
      [LENS_COMMANDS.toggle]: (id: string, part: Part) => {
        const item = waiting(id);
        if (item) conversation().leaveOut(id, toggled(item.left_out, part));
      },
      [LENS_COMMANDS.comment]: async (id: string, part: Part) => {
        const words = await vscode.window.showInputBox({
          title: `Leave this out of ${visibleLine(part.path)}`, prompt: 'Tell the model why', ignoreFocusOut: true,
        });
        const item = waiting(id);
        if (words !== undefined && item) conversation().leaveOut(id, commented(item.left_out, part, words));
      },
      [LENS_COMMANDS.diff]: (id: string, index: number) => {
        const item = waiting(id);
        return item ? proposals.open(item.question, index) : undefined;
      },
      [LENS_COMMANDS.deny]: (id: string) => conversation().answer(id, { decision: 'deny', scope: 'once' }),
    },
  };
}

function lensesOf(item: ApprovalItem, diff: FileDiff): readonly vscode.CodeLens[] {
  const shown = partCount(item.question.diffs);
  const taken = shown - item.left_out.length;
  const allow = item.left_out.length === 0 ? 'Allow once' : `Allow ${taken} of ${shown} once`;
  const index = item.question.diffs.indexOf(diff);
  const top = [
    lens(0, 'Remit asks', 'remit.open', []),
    ...(taken > 0 ? [lens(0, allow, LENS_COMMANDS.allow, [item.id])] : []),
    lens(0, 'Open diff', LENS_COMMANDS.diff, [item.id, index]),
    lens(0, 'Deny', LENS_COMMANDS.deny, [item.id]),
  ];
  if (!item.question.by_hunk || diff.hunks === 0) return top;
  const hunks = hunksOf(diff.diff);
  return [...top, ...hunks.flatMap((hunk, number) => {
    const part = { path: diff.path, hunk: number };
    const left = isLeftOut(item.left_out, part);
    const size = `+${added(hunk.lines)} −${removed(hunk.lines)} (${number + 1} of ${hunks.length})`;
    const comment = left ? [] : [lens(hunk.line, 'Leave out, with a comment…', LENS_COMMANDS.comment, [item.id, part])];
    return [lens(hunk.line, `${size}: ${left ? 'take it' : 'leave out'}`, LENS_COMMANDS.toggle, [item.id, part]), ...comment];
  })];
}

function lens(line: number, title: string, command: string, args: readonly unknown[]): vscode.CodeLens {
  const at = new vscode.Position(line, 0);
  return new vscode.CodeLens(new vscode.Range(at, at), { title, command, arguments: [...args] });
}
