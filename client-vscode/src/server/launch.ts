// Which server program is started here, and with what: the person's settings, asked for where a workspace brings its own.
import { accessSync, constants, statSync } from 'node:fs';
import * as vscode from 'vscode';
import { locate, type Location } from './find';
import { findInstalled } from './install';

/** What VS Code keeps for the extension. */
export type Keeping = Pick<vscode.ExtensionContext, 'globalState' | 'globalStorageUri'>;

/** Finds the program. One that the workspace brought along runs only after the person has said so, once for each path. */
export async function findServer({ globalState: memory, globalStorageUri }: Keeping): Promise<Location> {
  const places = {
    setting: vscode.workspace.getConfiguration('remit').get('serverPath', ''),
    workspace: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? null,
    own: findInstalled(globalStorageUri.fsPath)?.program ?? null,
    searchPath: process.env['PATH'] ?? '',
  };
  const location = locate(places, isProgram);
  if (location.kind === 'missing' || location.from !== 'workspace') return location;
  const key = `workspace-server:${location.program}`;
  const answer = memory.get<boolean>(key) ?? await confirm(location.program);
  if (answer !== undefined) await memory.update(key, answer);
  return answer ? location : locate({ ...places, workspace: null }, isProgram);
}

/** What the settings add to the server's environment. */
export function serverEnvironment(): { readonly [name: string]: string } {
  const model = vscode.workspace.getConfiguration('remit').get('model', '').trim();
  const completes = vscode.workspace.getConfiguration('remit').get('inlineCompletion', false);
  const completing = vscode.workspace.getConfiguration('remit').get('inlineCompletionModel', '').trim();
  return {
    ...(model ? { REMIT_MODEL: model } : {}),
    ...(completes ? { REMIT_INLINE_COMPLETION: 'on' } : {}),
    ...(completing ? { REMIT_INLINE_COMPLETION_MODEL: completing } : {}),
  };
}

async function confirm(program: string): Promise<boolean | undefined> {
  const use = 'Use This Server';
  const other = 'Use Another One';
  const chosen = await vscode.window.showWarningMessage(
    `This workspace has its own Remit server, ${program}. It will decide what the agent may do here.`, use, other,
  );
  return chosen === undefined ? undefined : chosen === use;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
