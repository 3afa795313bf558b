// Shows the effect of an unsaved policy: a lens in the file opens the list of past calls that it would decide differently (EDI-12).
import * as vscode from 'vscode';
import { count } from '../chat/view';
import { problemOf } from '../problem';
import type { Server } from '../server/client';
import { visibleLine } from '../text';
import { showProblem } from './status';

/** Files that may be policies; the server says whether a file is a policy that is in force. */
export const POLICY_FILES: vscode.DocumentSelector = { scheme: 'file', pattern: '**/policy.yaml' };

interface Preview {
  readonly judged: number;
  readonly breaking: number;
  readonly changed: readonly {
    readonly tool: string | null; readonly about: readonly string[]; readonly was: string; readonly now: string;
    readonly now_rules: readonly string[]; readonly now_by: string; readonly breaking: boolean;
  }[];
}

export interface PolicyPreview extends vscode.CodeLensProvider, vscode.Disposable {
  show(uri?: string): Promise<void>;
}

export function openPolicyPreview(server: Server): PolicyPreview {
  const moved = new vscode.EventEmitter<void>();
  const watched = [
    vscode.workspace.onDidChangeTextDocument(({ document }) => { if (isPolicy(document)) moved.fire(); }),
    vscode.workspace.onDidSaveTextDocument((document) => { if (isPolicy(document)) moved.fire(); }),
  ];
  return {
    onDidChangeCodeLenses: moved.event,
    provideCodeLenses: (document) => {
      // Other programs have policy files too; a policy of Remit has the key `capabilities`.
      if (!document.isDirty || !/^capabilities:/m.test(document.getText())) return [];
      const command = 'remit.previewPolicy';
      const title = vscode.l10n.t('What would this policy change?');
      return [new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title, command, arguments: [document.uri.toString()] })];
    },
    show: async (given) => {
      const uri = given ?? vscode.window.activeTextEditor?.document.uri.toString();
      if (!uri) return void vscode.window.showInformationMessage(vscode.l10n.t('Open a policy file first.'));
      try {
        await showChanges(server, await server.command<Preview>('remit.policy.preview', { uri }));
      } catch (error) {
        await showProblem(problemOf(error));
      }
    },
    dispose: () => { moved.dispose(); for (const each of watched) each.dispose(); },
  };
}

async function showChanges(server: Server, { judged, breaking, changed }: Preview): Promise<void> {
  const calls = count(judged, 'call');
  if (changed.length === 0) {
    return void vscode.window.showInformationMessage(vscode.l10n.t('This policy would change none of the last {0} decisions.', calls));
  }
  const rows = changed.map((each) => ({
    label: `$(${each.breaking ? 'error' : 'arrow-swap'}) ${visibleLine(each.tool ?? 'a call')} ${each.about.map(visibleLine).join(', ')}`,
    description: `${words(each.was)} → ${words(each.now)}`,
    detail: visibleLine(each.now_by),
    rule: each.now_rules[0],
  }));
  const denied = breaking > 0 ? vscode.l10n.t(', {0} of them no longer allowed', breaking) : '';
  const title = vscode.l10n.t('This policy would change {0} of the last {1} decisions{2}', changed.length, calls, denied);
  const chosen = await vscode.window.showQuickPick(rows, { title, placeHolder: vscode.l10n.t('Choose one to see its rule') });
  if (chosen?.rule) await server.command('remit.policy.open', { rule: chosen.rule }, { alone: true });
}

function words(verdict: string): string {
  return verdict.replaceAll('_', ' ');
}

function isPolicy(document: vscode.TextDocument): boolean {
  return vscode.languages.match(POLICY_FILES, document) > 0;
}
