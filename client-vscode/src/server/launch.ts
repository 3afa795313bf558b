// Which server program is started, and with which environment: from the person's settings, after a question if the workspace has a server.
import { accessSync, constants, statSync } from 'node:fs';
import * as vscode from 'vscode';
import { locate, type Location } from './find';
import { findInstalled } from './install';

/** The storage that VS Code gives the extension. */
export type Keeping = Pick<vscode.ExtensionContext, 'globalState' | 'globalStorageUri'>;

/** Finds the program. A server in the workspace is used only after the person has agreed, once for each path. */
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

/** The environment variables that the settings add for the server. */
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
