// Marks the lines that a waiting change would change, in the margin of the unchanged file (EDI-09).
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { isLeftOut } from '../chat/parts';
import { hunksOf, type Hunk } from '../text';
import { waitingIn } from './waiting';

export interface Gutter extends vscode.Disposable {
  /** Marks the changes that wait now, after the questions have changed. */
  changed(): void;
}

export function openGutter(extension: vscode.Uri, conversation: () => Conversation): Gutter {
  const mark = (icon: string, ruler: string): vscode.TextEditorDecorationType => vscode.window.createTextEditorDecorationType({
    gutterIconPath: vscode.Uri.joinPath(extension, 'media', icon),
    gutterIconSize: 'contain',
    overviewRulerColor: new vscode.ThemeColor(ruler),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  const asked = mark('asked.svg', 'editorOverviewRuler.modifiedForeground');
  const leftOut = mark('left-out.svg', 'editorOverviewRuler.commonContentForeground');
  const draw = (editor: vscode.TextEditor): void => {
    const hunks = waitingIn(editor.document, conversation()).flatMap(({ item, diff }) => hunksOf(diff.diff)
      .map((hunk, number) => ({ hunk, left: isLeftOut(item.left_out, { path: diff.path, hunk: number }) })));
    const ranges = (left: boolean): vscode.Range[] => hunks.filter((each) => each.left === left)
      .flatMap(({ hunk }) => linesOf(hunk).map((line) => new vscode.Range(line, 0, line, 0)));
    editor.setDecorations(asked, ranges(false));
    editor.setDecorations(leftOut, ranges(true));
  };
  const changed = (): void => vscode.window.visibleTextEditors.forEach(draw);
  const shown = vscode.window.onDidChangeVisibleTextEditors(changed);
  return { changed, dispose: () => { shown.dispose(); asked.dispose(); leftOut.dispose(); } };
}

/** The lines that the hunk removes, or if it only adds lines, the line where it adds them. */
function linesOf({ line, lines }: Hunk): readonly number[] {
  const gone = lines.flatMap(({ kind, before }) => (kind === 'remove' && before !== null ? [before - 1] : []));
  return gone.length > 0 ? gone : [line];
}
