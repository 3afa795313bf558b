// Connects a model that the server found, an address, or a model of a service; the server tries one step and keeps it (MOD-26, MOD-27).
import * as vscode from 'vscode';
import { REMEDIES, inWords, remediesFor, type Problem } from '../problem';
import { visibleLine } from '../text';
import type { ListedModel } from '../chat/pickers';
import type { Server } from '../server/client';

const { t } = vscode.l10n;

interface Connected {
  readonly said: string;
  readonly kept: boolean;
  readonly problem: Problem | null;
}

type Pick = vscode.QuickPickItem & { readonly ask: () => Promise<string | undefined> };

/** Lets the person choose a model, has the server try it, and shows the result. */
export async function connectModel(remit: Server, connected: () => void): Promise<void> {
  const models = remit.command<readonly ListedModel[]>('remit.model.list');
  const chosen = await vscode.window.showQuickPick<Pick>(models.then((found) => rows(found)), {
    title: t('Connect a Model'),
    placeHolder: t('Choose a model that was found, or name one'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  const reference = await chosen?.ask();
  if (!reference) return;
  const found = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: t('Remit: trying one step with {0}', visibleLine(reference)) },
    () => remit.command<Connected>('remit.model.use', { reference }),
  );
  if (found.problem) return offer(found.problem, () => connectModel(remit, connected));
  const settings = vscode.workspace.getConfiguration('remit');
  // Remove the model from VS Code's settings, because it would take precedence over the one that was just kept.
  if (settings.get('model')) await settings.update('model', undefined, vscode.ConfigurationTarget.Global);
  connected();
  void vscode.window.showInformationMessage(visibleLine(found.said.replaceAll('`', '')));
}

/** The list to choose from: models that were found, usable ones first, then the entries to type an address or a name. */
export function rows(models: readonly ListedModel[]): readonly Pick[] {
  const listed = [...models].sort((one, other) => Number(other.usable) - Number(one.usable));
  return [
    ...listed.map((model) => ({
      label: `$(${iconOf(model)}) ${visibleLine(model.reference)}${model.whole ? '' : '…'}`,
      description: model.configured ? t('in use') : '',
      detail: visibleLine([model.problem ?? model.about, destination(model.sent_to)].join(' · ')),
      ask: async () => (model.whole ? model.reference : nameOf(model)),
    })),
    { label: `$(globe) ${t('Enter an address…')}`, detail: t('any server with OpenAI\'s protocol: llama.cpp, LM Studio, vLLM, mlx_lm.server and others'), ask: address },
    { label: `$(pencil) ${t('Enter a name…')}`, detail: t('such as ollama:NAME, org/name of a pulled model, or a folder'), ask: reference },
  ];
}

/** Says where messages are sent. */
export function destination(sentTo: string | null): string {
  return sentTo === null ? t('stays on this machine') : t('messages are sent to {0}', sentTo);
}

function iconOf(model: ListedModel): string {
  if (!model.usable) return 'warning';
  return model.sent_to === null ? 'vm' : 'cloud';
}

async function nameOf(model: ListedModel): Promise<string | undefined> {
  const name = await vscode.window.showInputBox({ title: t('Which model of {0}?', model.sent_to ?? ''), prompt: t('Its name, as the service lists it') });
  return name?.trim() ? `${model.reference}${name.trim()}` : undefined;
}

async function address(): Promise<string | undefined> {
  const url = await vscode.window.showInputBox({
    title: t('The server\'s address'), value: 'http://127.0.0.1:8080/v1', validateInput: (value) => (URL.canParse(value) ? null : t('an address such as http://127.0.0.1:8080/v1')),
  });
  if (!url) return undefined;
  const name = await vscode.window.showInputBox({ title: t('Which model?'), prompt: t('Leave empty for the only model of the server') });
  return name === undefined ? undefined : `openai:${name.trim()}@${url.trim()}`;
}

async function reference(): Promise<string | undefined> {
  return (await vscode.window.showInputBox({ title: t('Which model?'), prompt: t('such as ollama:NAME, org/name of a pulled model, or a folder') }))?.trim();
}

async function offer(problem: Problem, again: () => Promise<void>): Promise<void> {
  const another = t('Choose Another');
  const help = remediesFor(problem).filter((each) => each === 'log').map((each) => REMEDIES[each]);
  const chosen = await vscode.window.showErrorMessage(inWords(problem), another, ...help.map(({ label }) => label));
  if (chosen === another) return again();
  const remedy = help.find(({ label }) => label === chosen);
  if (remedy) await vscode.commands.executeCommand(remedy.command);
}
