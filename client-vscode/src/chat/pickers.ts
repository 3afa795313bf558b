// The chat's pick lists, drawn by VS Code: attachments, models and the mode of the workflow (EDI-06, FLW-07).
import path from 'node:path';
import * as vscode from 'vscode';
import { currentFolder, relativePath } from '../editor/workspace';
import { visibleLine } from '../text';
import type { Attachment, Attachments } from './attached';

const { t } = vscode.l10n;

/** The most files that the list shows. */
const MOST_FILES = 5_000;
/** The most characters of a selection that the server takes. */
const MOST_CHARS = 100_000;

interface Choice extends vscode.QuickPickItem {
  readonly choose: () => Attachment | null | Promise<Attachment | null>;
}

/** Lets the person choose an attachment. Returns none if they cancel, or if it cannot be attached, after a message that says why. */
export async function pickAttachment(): Promise<Attachments> {
  const folder = currentFolder();
  if (!folder) return none(t('Open a folder first: you can only attach files of an open folder.'));
  const editor = vscode.window.activeTextEditor;
  const open = editor && relativePath(folder.uri.fsPath, editor.document.uri);
  const choices: readonly Choice[] = [
    ...(editor && open && !editor.selection.isEmpty
      ? [{ label: `$(selection) ${t('Selection')}`, description: t('in {0}', visibleLine(open)), choose: () => selected(editor, open) }] : []),
    ...(open ? [{ label: `$(file) ${t('Open File')}`, description: visibleLine(open), choose: () => file(open) }] : []),
    { label: `$(files) ${t('File…')}`, choose: () => pickFile(folder) },
    ...(open ? [{
      label: `$(warning) ${t('Problems in the Open File')}`, description: visibleLine(open),
      choose: (): Attachment => ({ type: 'diagnostics', path: open }),
    }] : []),
    { label: `$(warning) ${t('All Problems')}`, choose: (): Attachment => ({ type: 'diagnostics', path: null }) },
    { label: `$(symbol-class) ${t('Symbol…')}`, description: t('where a name is defined'), choose: pickSymbol },
  ];
  const chosen = await vscode.window.showQuickPick(choices, { title: t('Attach to the Message'), placeHolder: t('What should be sent with the message?') });
  const attachment = await chosen?.choose();
  return attachment ? [attachment] : [];
}

/** Returns the files among the dropped items. Shows a message if an item is not a file of the folder, because such an item is not attached. */
export async function attachDropped(uris: readonly string[]): Promise<Attachments> {
  const folder = currentFolder();
  if (!folder) return none(t('Open a folder first: you can only attach files of an open folder.'));
  const found = await Promise.all(uris.map((uri) => droppedFile(folder, uri)));
  const files = found.filter((each) => each !== null);
  if (files.length < Math.max(1, uris.length)) {
    const words = t('You can attach only text files in the folder {0}, not images.', visibleLine(folder.name));
    void vscode.window.showWarningMessage(words);
  }
  return files.map(file);
}

async function droppedFile(folder: vscode.WorkspaceFolder, dropped: string): Promise<string | null> {
  try {
    const named = vscode.Uri.parse(dropped, true);
    // A window in a browser names the files of its server with the scheme `vscode-remote`.
    const uri = named.scheme === 'vscode-remote' ? vscode.Uri.file(named.path) : named;
    const relative = relativePath(folder.uri.fsPath, uri);
    const { type } = await vscode.workspace.fs.stat(uri);
    return relative && (type & vscode.FileType.File) !== 0 ? relative : null;
  } catch {
    return null;
  }
}

function file(relative: string): Attachment {
  return { type: 'file', path: relative };
}

function selected({ document, selection }: vscode.TextEditor, open: string): Attachment | null {
  const text = document.getText(selection);
  if (text.length > MOST_CHARS) {
    void vscode.window.showWarningMessage(t('The selection is longer than {0} characters: select less, or attach the file.', MOST_CHARS.toLocaleString('en')));
    return null;
  }
  const at = (place: vscode.Position) => ({ line: place.line, character: place.character });
  return { type: 'selection', path: open, range: { start: at(selection.start), end: at(selection.end) }, text };
}

async function pickFile(folder: vscode.WorkspaceFolder): Promise<Attachment | null> {
  const found = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, '**/*'), undefined, MOST_FILES);
  const items = found.map((uri) => relativePath(folder.uri.fsPath, uri)).filter((each) => each !== null).toSorted()
    .map((relative) => ({ label: visibleLine(path.posix.basename(relative)), description: visibleLine(relative), relative }));
  const chosen = await vscode.window.showQuickPick(items, { title: t('Attach a File'), matchOnDescription: true });
  return chosen ? file(chosen.relative) : null;
}

async function pickSymbol(): Promise<Attachment | null> {
  const name = await vscode.window.showInputBox({
    title: t('Attach a Symbol'), prompt: t('Name of a function, class or variable'),
    validateInput: (text) => (text.length > 200 ? t('a name can have at most 200 characters') : null),
  });
  return name?.trim() ? { type: 'symbol', name: name.trim() } : null;
}

function none(words: string): Attachments {
  void vscode.window.showInformationMessage(words);
  return [];
}

/** A model that can be chosen, as `remit.model.list` lists it. A reference that is not `whole` still lacks a name at its end. */
export interface ListedModel {
  readonly reference: string;
  readonly configured: boolean;
  readonly usable: boolean;
  readonly problem: string | null;
  readonly sent_to: string | null;
  readonly whole: boolean;
  readonly about: string;
}

/** Lets the person choose the model of this session. Returns null if they cancel. */
export async function pickModel(models: readonly ListedModel[], now: string | null): Promise<string | null> {
  const items = models.filter((model) => model.whole).map((model) => ({
    label: `${model.reference === now ? '$(check) ' : ''}${visibleLine(model.reference)}`,
    description: model.configured ? t('configured') : '',
    detail: visibleLine([model.problem ?? model.about, ...(model.sent_to ? [t('messages are sent to {0}', model.sent_to)] : [])].join(' · ')),
    model,
  }));
  const connect = { label: `$(plug) ${t('Connect a Model…')}`, description: '', detail: t('try one, and keep it for all sessions'), model: null };
  const chosen = await vscode.window.showQuickPick([...items, connect], {
    title: t('The Model of This Session'), placeHolder: t('Used from the next message on'), matchOnDetail: true,
  });
  if (!chosen) return null;
  if (!chosen.model) {
    await vscode.commands.executeCommand('remit.setModel');
    return null;
  }
  if (chosen.model.usable) return chosen.model.reference;
  void vscode.window.showWarningMessage(t('{0} cannot be used: {1}', visibleLine(chosen.model.reference), visibleLine(chosen.model.problem ?? '')));
  return null;
}

/** The modes of the workflow, strictest first. */
const MODES = [
  { mode: 'strict', means: () => t('Tests first: a test must fail before code is written, and you review each commit') },
  { mode: 'explore', means: () => t('Steps are tracked, nothing is blocked') },
  { mode: 'debug', means: () => t('Like explore, and the state of the workflow is shown') },
] as const;

/** Lets the person choose the mode of the workflow. Returns null if they cancel or choose the current mode. */
export async function pickMode(now: string | null): Promise<string | null> {
  const items = MODES.map(({ mode, means }) => ({ label: `${mode === now ? '$(check) ' : ''}${mode}`, detail: means(), mode }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: t('The Workflow of This Session'), placeHolder: t('A new mode starts the work over'), matchOnDetail: true,
  });
  return chosen && chosen.mode !== now ? chosen.mode : null;
}
