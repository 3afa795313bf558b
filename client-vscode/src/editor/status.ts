// The status bar item and its menu (EDI-03).
import * as vscode from 'vscode';
import { pending, running, type View } from '../chat/view';
import { inWords, REMEDIES, remediesFor, sentence, type Problem, type ProblemCode } from '../problem';
import type { Condition } from '../server/health';

export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly attention: boolean;
}

const IN_SHORT: { readonly [code in ProblemCode]?: string } = {
  server_missing: 'server not found',
  server_failed: 'cannot start',
  policy_invalid: 'policy is broken',
  audit_broken: 'audit log is broken',
};

/** The text of the status bar item. A problem has priority over a question, and a question over a running turn. */
export function statusText({ state, status, problem }: Condition, view: View): StatusText {
  const model = status?.model ?? view.model;
  const about = [
    problem && inWords(problem),
    model && `Model: ${model}${status?.sent_to ? `, sent to ${status.sent_to}` : ''}`,
    status?.completion && `Completion at the cursor: ${status.completion.why_not ?? status.completion.model}`,
    status?.mode && `Mode: ${status.mode}`,
    status?.edits === 'allow' && 'Edits: allowed without a question, in this session',
    status && `Policy: ${status.policy_layers.join(', ').replaceAll('`', '')}`,
    status?.policy_problem && `Policy on disk is not in force: ${status.policy_problem.why}`,
    status?.audit_problem && `Audit log: ${status.audit_problem}`,
    status && `Sandbox: ${status.sandbox}`,
    ...(status?.processes ?? []).filter((each) => each.running).map((each) => each.means),
  ].filter(Boolean).join('\n');
  const say = (icon: string, what: string, attention = false): StatusText => ({
    text: `$(${icon}) Remit${what ? `: ${what}` : ''}`,
    tooltip: [`Remit: ${what || 'ready'}`, about].filter(Boolean).join('\n'),
    attention,
  });
  if (state === 'starting') return say('loading~spin', 'starting');
  if (problem?.code === 'no_folder') return say('circle-slash', 'no folder');
  if (problem) return say('warning', IN_SHORT[problem.code] ?? (state === 'stopped' ? 'not running' : 'needs you'), true);
  if (state === 'stopped') return say('circle-slash', 'not running', true);
  if (pending(view).length > 0) return say('bell-dot', 'waiting for approval', true);
  if (running(view)) return say('loading~spin', 'running');
  return say('shield', [model, status?.edits === 'allow' && 'edits allowed'].filter(Boolean).join(' · '));
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

/** Shows the menu: first the remedies for the current problem, then all other commands. */
export async function showMenu(view: View, { problem, status }: Condition): Promise<void> {
  const help = problem ? remediesFor(problem).map((each) => REMEDIES[each]) : [];
  const entries: readonly (vscode.QuickPickItem & { readonly command?: string })[] = [
    ...(problem ? [{ label: sentence(problem.what.replaceAll('`', '')), kind: vscode.QuickPickItemKind.Separator }] : []),
    ...help.map(({ label, command }) => ({ label: `$(lightbulb) ${label}`, command })),
    ...(problem ? [{ label: '', kind: vscode.QuickPickItemKind.Separator }] : []),
    ...(pending(view).length > 0 ? [{ label: '$(bell-dot) Review Pending Changes', command: 'remit.review' }] : []),
    { label: '$(comment-discussion) Open Chat', command: 'remit.open' },
    { label: '$(add) New Chat', command: 'remit.newChat' },
    ...(running(view) ? [
      { label: '$(debug-stop) Stop', command: 'remit.stop' },
      { label: '$(run-below) Send the Running Command to the Background', command: 'remit.sendToBackground' },
    ] : []),
    ...(status?.edits === 'allow' ? [{ label: '$(lock) Ask Before Each Edit Again', command: 'remit.client.askBeforeEdits' }] : []),
    { label: '$(plug) Connect a Model', command: 'remit.setModel' },
    { label: '$(edit) Edit at the Cursor', command: 'remit.editHere' },
    { label: '$(sparkle) Turn Completion at the Cursor On or Off', command: 'remit.toggleInlineCompletion' },
    { label: '$(history) Sessions', command: 'remit.sessions' },
    { label: '$(discard) Undo the Last Turn', command: 'remit.undoTurn' },
    { label: '$(redo) Redo', command: 'remit.redoTurn' },
    { label: '$(law) Policy', command: 'remit.policy.focus' },
    { label: '$(verified) Verify the Audit Log', command: 'remit.verifyAudit' },
    { label: '$(settings-gear) Settings', command: 'remit.openSettings' },
    { label: '$(output) Show Log', command: 'remit.openLog' },
    { label: '$(refresh) Restart the Server', command: 'remit.restart' },
  ];
  const unlike = entries.filter((entry, index) =>
    !entry.command || entries.findIndex((each) => each.command === entry.command) === index);
  const chosen = await vscode.window.showQuickPick(unlike, { title: 'Remit', placeHolder: 'What would you like to do?' });
  if (chosen?.command) await vscode.commands.executeCommand(chosen.command);
}

/** Shows a problem with the buttons that help. */
export async function showProblem(problem: Problem): Promise<void> {
  const help = remediesFor(problem).map((each) => REMEDIES[each]);
  const chosen = await vscode.window.showErrorMessage(inWords(problem), ...help.map(({ label }) => label));
  const remedy = help.find(({ label }) => label === chosen);
  if (remedy) await vscode.commands.executeCommand(remedy.command);
}
