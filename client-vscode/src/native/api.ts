// The parts of VS Code's own chat that are newer than the oldest VS Code that Remit runs in, as far as they are used. Each is looked
// for when it is needed, and what needs it is off where it is missing (EDI-11).
import * as vscode from 'vscode';

export interface TextPart {
  readonly value: string;
}

export interface ToolRequest {
  readonly input: unknown;
}

export interface ToolOf {
  prepareInvocation(options: ToolRequest, token: vscode.CancellationToken): { readonly invocationMessage: string };
  invoke(options: ToolRequest, token: vscode.CancellationToken): Promise<unknown>;
}

export interface ChatMessage {
  /** 1: a user's, 2: the assistant's; others are instructions. */
  readonly role: number;
  readonly content: string | readonly unknown[];
}

export interface ModelInfo {
  readonly id: string;
  readonly name: string;
  readonly family: string;
  readonly version: string;
  readonly tooltip: string;
  readonly isUserSelectable: boolean;
  readonly maxInputTokens: number;
  readonly maxOutputTokens: number;
  readonly capabilities: { readonly toolCalling: boolean; readonly imageInput: boolean };
}

export interface ModelProvider {
  readonly onDidChangeLanguageModelChatInformation: vscode.Event<void>;
  provideLanguageModelChatInformation(options: unknown, token: vscode.CancellationToken): Promise<readonly ModelInfo[]>;
  provideLanguageModelChatResponse(
    model: ModelInfo, messages: readonly ChatMessage[], options: unknown, progress: vscode.Progress<unknown>, token: vscode.CancellationToken,
  ): Promise<void>;
  provideTokenCount(model: ModelInfo, text: string | ChatMessage, token: vscode.CancellationToken): Promise<number>;
}

interface Newer {
  readonly lm?: {
    readonly registerTool?: (name: string, tool: ToolOf) => vscode.Disposable;
    readonly registerLanguageModelChatProvider?: (vendor: string, provider: ModelProvider) => vscode.Disposable;
  };
  readonly LanguageModelTextPart?: new (value: string) => TextPart;
  readonly LanguageModelToolResult?: new (content: readonly TextPart[]) => unknown;
}

const newer = vscode as unknown as Newer;

/** How a tool is offered to other agents, and its results made; null where VS Code has no such tools. */
export function toolApi(): {
  readonly register: (name: string, tool: ToolOf) => vscode.Disposable; readonly result: (text: string) => unknown;
} | null {
  const { lm, LanguageModelTextPart: Part, LanguageModelToolResult: Result } = newer;
  if (!lm?.registerTool || !Part || !Result) return null;
  return { register: (name, tool) => lm.registerTool!(name, tool), result: (text) => new Result([new Part(text)]) };
}

/** How a model is offered to other extensions; null where VS Code takes none. */
export function modelApi(): {
  readonly register: (vendor: string, provider: ModelProvider) => vscode.Disposable; readonly text: (value: string) => TextPart;
} | null {
  const { lm, LanguageModelTextPart: Part } = newer;
  if (!lm?.registerLanguageModelChatProvider || !Part) return null;
  return { register: (vendor, provider) => lm.registerLanguageModelChatProvider!(vendor, provider), text: (value) => new Part(value) };
}
