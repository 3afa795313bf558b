// Describes the editor's state to the agent, and opens files of the workspace for the person.
import path from 'node:path';
import * as vscode from 'vscode';
import type { FilePlace } from '../chat/messages';
import type { Folder } from '../chat/view';
import type { ContextPayload } from '../contract';
import type { Place } from '../problem';
import { visibleLine } from '../text';

let asked: vscode.WorkspaceFolder | null = null;

/** The folder of the active editor, or else the folder of the latest request, or else the first one. */
export function currentFolder(): vscode.WorkspaceFolder | null {
  const active = vscode.window.activeTextEditor?.document.uri;
  const shown = active && vscode.workspace.getWorkspaceFolder(active);
  return shown ?? turnFolder();
}

/** The folder that the latest request was about. */
export function turnFolder(): vscode.WorkspaceFolder | null {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.find((folder) => folder.uri.toString() === asked?.uri.toString()) ?? folders[0] ?? null;
}

/** All folders of the window, by the names that the window shows. */
export function openFolders(): readonly Folder[] {
  return (vscode.workspace.workspaceFolders ?? []).map(({ name, uri }) => ({ name, path: uri.fsPath }));
}

/** The folder of the next request, with the open document, cursor and visible range; null if no folder is open. */
export function editorContext(): ContextPayload | null {
  const folder = currentFolder();
  if (!folder) return null;
  asked = folder;
  const editor = vscode.window.activeTextEditor;
  const open = editor && relativePath(folder.uri.fsPath, editor.document.uri);
  const visible = editor?.visibleRanges[0];
  return {
    workspace_folder: folder.uri.fsPath,
    ...(editor && open ? { open_document: open, cursor: position(editor.selection.active) } : {}),
    ...(open && visible ? { visible_range: { start: position(visible.start), end: position(visible.end) } } : {}),
  };
}

/** Opens a file of the folder that a turn ran in, at a place. If the file is outside the folder or missing, a message says so. */
export async function openWorkspaceFile(workspace: string | null, { path: named, line, column }: FilePlace): Promise<void> {
  if (workspace === null) return;
  const uri = vscode.Uri.file(path.resolve(workspace, named));
  const is = async (type: vscode.FileType): Promise<boolean> =>
    Promise.resolve(vscode.workspace.fs.stat(uri)).then((found) => (found.type & type) !== 0, () => false);
  if (!relativePath(workspace, uri) || !await is(vscode.FileType.File)) {
    return void vscode.window.showInformationMessage(`There is no file ${visibleLine(named)} in the folder of this chat.`);
  }
  const at = line === null ? null : new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
  await vscode.window.showTextDocument(uri, { preview: true, ...(at ? { selection: new vscode.Range(at, at) } : {}) });
}

/** Opens the file that a problem names, at the given place. */
export async function openPlace(place: Place | null): Promise<void> {
  if (!place) return;
  const at = new vscode.Position(place.line, place.character);
  await vscode.window.showTextDocument(vscode.Uri.file(place.file), { selection: new vscode.Range(at, at) });
}

/** The path of a file relative to the folder, or null for a file outside it. */
export function relativePath(root: string, uri: vscode.Uri): string | null {
  if (uri.scheme !== 'file') return null;
  const relative = path.relative(root, uri.fsPath);
  return relative && !relative.startsWith('..') && !path.isAbsolute(relative) ? relative.split(path.sep).join('/') : null;
}

function position(at: vscode.Position): { readonly line: number; readonly character: number } {
  return { line: at.line, character: at.character };
}
