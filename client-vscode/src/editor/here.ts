// An edit requested at the cursor: an input box asks what to do with the lines, then an ordinary turn runs (LSP-13).
// To allow its change, the person needs the card or the diff, as for any other change (EDI-04).
import * as vscode from 'vscode';
import type { Attachments } from '../chat/attached';
import type { Conversation } from '../chat/conversation';
import { pending, running, type View } from '../chat/view';
import { visibleLine } from '../text';
import { editorContext } from './workspace';

/** The most characters that a message can have attached. */
export const MOST_SELECTED = 100_000;

/** Lines of a document, counted from 1. */
export interface Lines {
  readonly uri: string;
  readonly first_line: number;
  readonly last_line: number;
}

export interface EditHere {
  /** Asks about the given lines, or else about the selected ones, or the line with the cursor. */
  start(lines?: Lines): Promise<void>;
  /** Updates the progress notification after the chat has changed. */
  changed(view: View): void;
}

interface Waiting {
  readonly turn: string;
  readonly say: (message: string) => void;
  readonly done: () => void;
}

export function openEditHere(conversation: () => Conversation, attentive: () => boolean): EditHere {
  let waiting: Waiting | null = null;

  const follow = (turn: string, title: string): Thenable<void> => vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Remit: ${title}`, cancellable: true },
    (progress, token) => new Promise<void>((done) => {
      token.onCancellationRequested(() => conversation().stop());
      waiting = { turn, done, say: (message) => progress.report({ message }) };
      waiting.say(wordsFor(conversation().view()));
    }),
  );

  const start = async (lines?: Lines): Promise<void> => {
    const editor = lines
      ? await vscode.window.showTextDocument(vscode.Uri.parse(lines.uri, true))
      : vscode.window.activeTextEditor;
    const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
    if (!editor || !folder) return void vscode.window.showWarningMessage(vscode.l10n.t('Remit can only edit files in the open folder.'));
    const range = lines ? linesOf(lines.first_line, lines.last_line, editor.document) : selectedLines(editor);
    const text = editor.document.getText(range);
    if (text.length > MOST_SELECTED) return void vscode.window.showWarningMessage(vscode.l10n.t('Select fewer lines: this is too much for one edit.'));
    const path = vscode.workspace.asRelativePath(editor.document.uri, false);
    editor.selection = new vscode.Selection(range.start, range.end);
    const prompt = await vscode.window.showInputBox({
      title: vscode.l10n.t('Edit with Remit'),
      prompt: vscode.l10n.t('What should Remit do with {0} of {1}?', linesInWords(range), visibleLine(path)),
      ignoreFocusOut: true,
    });
    if (!prompt?.trim()) return;
    const selection = { start: place(range.start), end: place(range.end) };
    const attachments: Attachments = [{ type: 'selection', path, range: selection, text }];
    if (!conversation().ask(prompt, editorContext(), attachments)) {
      return void vscode.window.showInformationMessage(vscode.l10n.t('Remit is still working on the last request.'));
    }
    const turn = conversation().view().turns.at(-1)!;
    await follow(turn.turn_id, visibleLine(prompt.trim()));
  };

  const changed = (view: View): void => {
    if (!waiting) return;
    const turn = view.turns.find((each) => each.turn_id === waiting?.turn);
    if (turn?.status === 'running') return waiting.say(wordsFor(view));
    waiting.done();
    waiting = null;
    if (turn && turn.status !== 'completed' && turn.status !== 'cancelled' && !attentive()) {
      void say(`Remit: ${turn.status}${turn.reason ? `: ${visibleLine(turn.reason)}` : ''}`);
    }
  };

  return { start, changed };
}

async function say(message: string): Promise<void> {
  if (await vscode.window.showWarningMessage(message, vscode.l10n.t('Open Chat'))) await vscode.commands.executeCommand('remit.open');
}

/** The selection as whole lines, without a last line that it touches only at its very start. */
function selectedLines(editor: vscode.TextEditor): vscode.Range {
  const { start, end } = editor.selection;
  const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
  return linesOf(start.line + 1, last + 1, editor.document);
}

function linesOf(first: number, last: number, document: vscode.TextDocument): vscode.Range {
  const to = Math.min(last, document.lineCount) - 1;
  const from = Math.min(first - 1, to);
  return new vscode.Range(from, 0, to, document.lineAt(to).text.length);
}

function linesInWords({ start, end }: vscode.Range): string {
  return start.line === end.line
    ? vscode.l10n.t('line {0}', start.line + 1)
    : vscode.l10n.t('lines {0}-{1}', start.line + 1, end.line + 1);
}

function place(at: vscode.Position): { readonly line: number; readonly character: number } {
  return { line: at.line, character: at.character };
}

function wordsFor(view: View): string {
  if (pending(view).length > 0) return vscode.l10n.t('waits for your answer');
  return running(view) ? vscode.l10n.t('is working') : '';
}
