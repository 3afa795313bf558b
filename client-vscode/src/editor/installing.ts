// The install button: installs the server that the extension includes, shows the progress, and offers a newer one (EDI-10).
import * as vscode from 'vscode';
import { problemOf, sentence } from '../problem';
import type { Keeping } from '../server/launch';
import { findBundle, findInstalled, installServer, type Bundle } from '../server/install';
import { visibleLine } from '../text';
import { showProblem } from './status';

export interface Installing {
  /** Installs the server and starts it. */
  install(): Promise<void>;
  /** Offers the extension's own server if the running one is older; once for each build of it. */
  compare(running: string): Promise<void>;
}

export function openInstalling(
  keeping: Keeping & Pick<vscode.ExtensionContext, 'extensionUri'>, log: vscode.LogOutputChannel, start: () => Promise<void>,
): Installing {
  const root = keeping.globalStorageUri.fsPath;
  const bundle = (): Bundle | null => findBundle(vscode.Uri.joinPath(keeping.extensionUri, 'bundled').fsPath);
  let underway = false;

  const work = async (): Promise<void> => {
    const made = bundle();
    const options = { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Installing the Remit server'), cancellable: true };
    const installed = await vscode.window.withProgress(options, (progress, token) => {
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      const step = (words: string): void => progress.report({ message: words });
      return installServer(made, { root, environment: process.env, log: (line) => log.info(visibleLine(line)), step, signal: stop.signal });
    });
    log.info(`installed ${installed.program} (${installed.version})`);
    await start();
    void vscode.window.showInformationMessage(vscode.l10n.t('The Remit server {0} is installed.', installed.version));
  };
  const install = async (): Promise<void> => {
    if (underway) return;
    underway = true;
    try {
      await work();
    } catch (error) {
      const problem = problemOf(error);
      log.warn(`${problem.what}: ${problem.why}`);
      if (problem.code !== 'cancelled') await showProblem(problem);
    } finally {
      underway = false;
    }
  };
  return {
    install,
    compare: async (running) => {
      const made = bundle();
      const own = findInstalled(root);
      // Compare an installed server by its digest, because two builds can have the same version.
      const older = own ? own.digest !== made?.digest && !isNewer(own.version, made?.version) : isNewer(made?.version, running);
      if (!made || !older) return;
      const key = `offered-server:${made.digest}`;
      if (keeping.globalState.get(key)) return;
      await keeping.globalState.update(key, true);
      const words = vscode.l10n.t('the running server is version {0}; the extension includes {1}', visibleLine(running), made.version);
      const update = vscode.l10n.t('Update the Server');
      if (await vscode.window.showInformationMessage(`${sentence(words)}.`, update) === update) await install();
    },
  };
}

/** Whether one version is newer than the other, compared number by number; an unknown version is older than any other. */
export function isNewer(one: string | undefined, other: string | undefined): boolean {
  const numbers = (text: string | undefined): readonly number[] => (text?.match(/\d+/g) ?? []).map(Number);
  const [ours, theirs] = [numbers(one), numbers(other)];
  const at = ours.findIndex((number, index) => number !== (theirs[index] ?? 0));
  return at >= 0 ? ours[at]! > (theirs[at] ?? 0) : false;
}
