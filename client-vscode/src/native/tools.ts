// Offers Remit's tools to other agents: each call passes the dispatcher like a model's call, with intent, policy, approval and audit (EDI-11).
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { running } from '../chat/view';
import type { CallInput, Intent, JsonValue } from '../contract';
import { editorContext } from '../editor/workspace';
import { inWords, problemOf } from '../problem';
import { visibleLine } from '../text';
import { toolApi } from './api';
import type { Changes } from './participant';

const PREFIX = 'remit_';

/** Registers the tools that the manifest names, if VS Code has tools. */
export function offerTools(manifest: unknown, conversation: () => Conversation, changes: Changes): readonly vscode.Disposable[] {
  const api = toolApi();
  if (!api) return [];
  return namesIn(manifest).map((name) => api.register(name, {
    prepareInvocation: ({ input }) => ({ invocationMessage: visibleLine(`${name.slice(PREFIX.length)} ${about(input)}`.trim()) }),
    invoke: async ({ input }, token) => {
      const stop = new AbortController();
      const stopped = token.onCancellationRequested(() => stop.abort());
      try {
        await turnIsFree(conversation(), changes, stop.signal);
        const result = await conversation().call(callOf(name, input), editorContext(), stop.signal);
        return api.result(result?.output ?? vscode.l10n.t('The call was refused before it started.'));
      } catch (error) {
        return api.result(inWords(problemOf(error)));
      } finally {
        stopped.dispose();
      }
    },
  }));
}

/** Waits until no turn runs, because only one turn can run at a time, the person's or another call's. */
async function turnIsFree(conversation: Conversation, changes: Changes, signal: AbortSignal): Promise<void> {
  while (running(conversation.view()) && !signal.aborted) {
    await new Promise<void>((resolve) => {
      const go = (): void => { watched.dispose(); resolve(); };
      const watched = changes(([change]) => { if (change.type !== 'event' || change.event.kind === 'run_completed') go(); });
      signal.addEventListener('abort', go, { once: true });
    });
  }
}

/** Makes a call of the tool's arguments, one of which is the intent to declare. The server's gate refuses wrong values. */
export function callOf(name: string, input: unknown): CallInput {
  const { intent, ...given } = (typeof input === 'object' && input !== null ? input : {}) as { readonly [key: string]: JsonValue };
  return { type: 'call', tool: name.slice(PREFIX.length), arguments: given, intent: typeof intent === 'string' ? intent as Intent : null };
}

function namesIn(manifest: unknown): readonly string[] {
  const { contributes } = manifest as { readonly contributes?: { readonly languageModelTools?: readonly { readonly name: string }[] } };
  return (contributes?.languageModelTools ?? []).map(({ name }) => name);
}

function about(input: unknown): string {
  const { path, command } = (typeof input === 'object' && input !== null ? input : {}) as { readonly [key: string]: unknown };
  return [path, command].find((each): each is string => typeof each === 'string')?.slice(0, 120) ?? '';
}
