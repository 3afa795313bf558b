// The views beside the chat: the audit log and the policy's rules (LSP-11). They are read only when they are shown.
import * as vscode from 'vscode';
import {
  DECISION_WORDS, DECISIONS, decidedRow, ruleGroups, ruleRow, type CountedRule, type Decided, type Decision, type Row, type RuleGroup, type RulePlace,
} from '../governance';
import { problemOf } from '../problem';
import { visibleLine } from '../text';
import type { Server } from '../server/client';
import { showProblem } from './status';
import { currentFolder, openWorkspaceFile } from './workspace';

type Node = Row | RuleGroup;

export interface Views extends vscode.Disposable {
  /** Reads the shown views again. */
  refresh(): void;
  readonly commands: { readonly [id: string]: (...args: never[]) => unknown };
}

export function openViews(server: Server): Views {
  const moved = new vscode.EventEmitter<void>();
  let only: Decision | null = null;
  /** The folder whose log is shown. */
  let folder: string | null = null;
  const audit = tree(moved, async () => {
    folder = currentFolder()?.uri.fsPath ?? null;
    const calls = await server.command<readonly Decided[]>('remit.audit.query', only ? { decision: only } : {});
    return calls.map(decidedRow);
  });
  const policy = tree(moved, async () => {
    const { rules } = await server.command<{ readonly rules: readonly CountedRule[] }>('remit.policy.rules');
    return ruleGroups(rules);
  });
  const shown = vscode.window.createTreeView('remit.audit', { treeDataProvider: audit });
  const filter = async (): Promise<void> => {
    const all = { label: 'All Calls', decision: null };
    const items = [all, ...DECISIONS.map((decision) => ({ label: DECISION_WORDS[decision], decision }))];
    const chosen = await vscode.window.showQuickPick(items, { title: 'Show in the Audit Log' });
    if (!chosen) return;
    only = chosen.decision;
    shown.description = only ? DECISION_WORDS[only] : '';
    moved.fire();
  };
  const place = async (where: RulePlace): Promise<void> => {
    try {
      await server.command('remit.policy.open', where, { alone: true });
    } catch (error) {
      await showProblem(problemOf(error));
    }
  };
  /** Opens the file of a call; if the call has several, the person chooses one. */
  const file = async ({ files }: Row): Promise<void> => {
    const items = files.map((path) => ({ label: visibleLine(path), path }));
    const chosen = items.length < 2 ? items[0] : await vscode.window.showQuickPick(items, { title: 'Files of This Call' });
    if (chosen) await openWorkspaceFile(folder, { path: chosen.path, line: null, column: 1 });
  };
  const rules = vscode.window.createTreeView('remit.policy', { treeDataProvider: policy });
  return {
    refresh: () => moved.fire(),
    commands: { 'remit.refreshViews': () => moved.fire(), 'remit.filterAudit': filter, 'remit.openRule': place, 'remit.openCallFile': file },
    dispose: () => { shown.dispose(); rules.dispose(); moved.dispose(); },
  };
}

function tree(moved: vscode.EventEmitter<void>, roots: () => Promise<readonly Node[]>): vscode.TreeDataProvider<Node> {
  return {
    onDidChangeTreeData: moved.event,
    getChildren: async (node) => {
      if (node) return 'rules' in node ? node.rules.map(ruleRow) : [];
      // On an error the list is empty, because the chat and the status bar already say that the server does not run.
      return [...await roots().catch(() => [])];
    },
    getTreeItem: (node) => ('rules' in node ? group(node) : item(node)),
  };
}

function group({ title, own }: RuleGroup): vscode.TreeItem {
  return new vscode.TreeItem(title, own ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed);
}

function item(row: Row): vscode.TreeItem {
  const shown = new vscode.TreeItem(row.label);
  shown.description = row.description;
  shown.tooltip = row.tooltip;
  shown.iconPath = new vscode.ThemeIcon(row.icon, row.colour ? new vscode.ThemeColor(row.colour) : undefined);
  shown.accessibilityInformation = { label: `${row.label}, ${row.tooltip.replaceAll('\n', ', ')}` };
  if (row.place) shown.command = { command: 'remit.openRule', title: 'Open the Rule', arguments: [row.place] };
  if (row.files.length > 0) shown.contextValue = 'remit.callWithFiles';
  return shown;
}
