// The status bar item and its menu (editor.md, Status bar).
import * as vscode from 'vscode';
import type { StatusResult } from './contract';
import { pending, running, type View } from './view';

export type ServerState = 'starting' | 'ready' | 'stopped';

export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly attention: boolean;
}

/** What the status bar says; a question outranks a running turn, a missing server outranks both. */
export function statusText(server: ServerState, view: View, status: StatusResult | null): StatusText {
  const model = view.model ?? status?.model ?? null;
  const about = [
    model && `model: ${model}`,
    status && `mode: ${status.mode}`,
    status && `policy: ${status.policy}`,
    status && `sandbox: ${status.sandbox}`,
  ].filter(Boolean).join('\n');
  const say = (icon: string, what: string, attention = false): StatusText => ({
    text: `$(${icon}) Remit${what ? `: ${what}` : ''}`,
    tooltip: [`Remit ${what || 'ready'}`, about].filter(Boolean).join('\n'),
    attention,
  });
  if (server === 'stopped') return say('circle-slash', 'not running', true);
  if (server === 'starting') return say('loading~spin', 'starting');
  if (pending(view).length > 0) return say('bell-dot', 'waiting for approval', true);
  if (running(view)) return say('loading~spin', 'running');
  return say('shield', model ?? '');
}

export function statusItem(): vscode.StatusBarItem {
  const item = vscode.window.createStatusBarItem('remit.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'Remit';
  item.command = 'remit.menu';
  item.show();
  return item;
}

export function draw(item: vscode.StatusBarItem, status: StatusText): void {
  item.text = status.text;
  item.tooltip = status.tooltip;
  item.accessibilityInformation = { label: status.tooltip, role: 'button' };
  item.backgroundColor = status.attention ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
}

export async function showMenu(view: View): Promise<void> {
  const entries: readonly (vscode.QuickPickItem & { readonly command: string })[] = [
    { label: '$(comment-discussion) Open chat', command: 'remit.open' },
    { label: '$(add) New chat', command: 'remit.newChat' },
    ...(running(view) ? [{ label: '$(debug-stop) Stop', command: 'remit.stop' }] : []),
    { label: '$(verified) Verify the audit log', command: 'remit.verifyAudit' },
    { label: '$(output) Show log', command: 'remit.openLog' },
    { label: '$(refresh) Restart the server', command: 'remit.restart' },
  ];
  const chosen = await vscode.window.showQuickPick(entries, { title: 'Remit', placeHolder: 'What would you like to do?' });
  if (chosen) await vscode.commands.executeCommand(chosen.command);
}
