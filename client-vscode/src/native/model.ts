// Offers Remit's model to other extensions through `remit/generate`: the model sees no workspace and has no tools (EDI-11).
import * as vscode from 'vscode';
import type { StatusResult } from '../contract';
import { inWords, problemOf } from '../problem';
import type { Server } from '../server/client';
import { modelApi, type ChatMessage, type ModelInfo } from './api';

/** The window to report, because the server does not say how large the model's is. Even a small local model has this much. */
const INPUT_TOKENS = 4_096;
const OUTPUT_TOKENS = 1_024;
const CHARACTERS_PER_TOKEN = 3;

/** Offers the model if VS Code accepts models. `status` returns the last status of the server. */
export function offerModel(server: Server, status: () => StatusResult | null, changed: vscode.Event<void>): vscode.Disposable {
  const api = modelApi();
  if (!api) return new vscode.Disposable(() => undefined);
  return api.register('remit', {
    onDidChangeLanguageModelChatInformation: changed,
    provideLanguageModelChatInformation: () => Promise.resolve(infoOf(status())),
    provideLanguageModelChatResponse: async (_model, messages, _options, progress, token) => {
      let streamed = false;
      const onText = (text: string): void => { streamed = true; progress.report(api.text(text)); };
      try {
        const { result } = await server.generate({ ...requestOf(messages), max_tokens: OUTPUT_TOKENS }, onText, token);
        if (!streamed && typeof result === 'string') progress.report(api.text(result));
      } catch (error) {
        if (!token.isCancellationRequested) throw new Error(inWords(problemOf(error)));
      }
    },
    provideTokenCount: (_model, text) =>
      Promise.resolve(Math.ceil((typeof text === 'string' ? text : textOf(text)).length / CHARACTERS_PER_TOKEN)),
  });
}

export function infoOf(status: StatusResult | null): readonly ModelInfo[] {
  if (!status) return [];
  return [{
    id: 'remit', name: `Remit: ${status.model}`, family: status.model, version: status.version,
    tooltip: status.sent_to ? `Requests are sent to ${status.sent_to}` : 'Runs on this machine, without tools',
    isUserSelectable: true, maxInputTokens: INPUT_TOKENS, maxOutputTokens: OUTPUT_TOKENS, capabilities: { toolCalling: false, imageInput: false },
  }];
}

/** Joins the messages into one prompt: the text alone if there is only one message, else each with its speaker. */
export function requestOf(messages: readonly ChatMessage[]): { readonly prompt: string; readonly instructions?: string } {
  const told = messages.filter(({ role }) => role !== USER && role !== ASSISTANT).map(textOf).join('\n');
  const said = messages.filter(({ role }) => role === USER || role === ASSISTANT);
  const prompt = said.length === 1
    ? textOf(said[0]!)
    : said.map((each) => `${each.role === USER ? 'User' : 'Assistant'}: ${textOf(each)}`).join('\n\n');
  return { prompt: prompt || ' ', ...(told ? { instructions: told } : {}) };
}

const USER = 1;
const ASSISTANT = 2;

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return content.map((part) => {
    const { value } = part as { readonly value?: unknown };
    return typeof value === 'string' ? value : '';
  }).join('');
}
