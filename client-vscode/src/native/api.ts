// The parts of VS Code's own chat that the oldest VS Code that Remit supports does not have, as far as Remit uses them. Each is
// looked up when it is needed, and a feature that needs a missing one is off (EDI-11).
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
  /** 1 is the user, 2 the assistant; all other roles are instructions. */
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

/** Functions that offer a tool to other agents and make its results, or null if VS Code has no tools of this kind. */
export function toolApi(): {
  readonly register: (name: string, tool: ToolOf) => vscode.Disposable; readonly result: (text: string) => unknown;
} | null {
  const { lm, LanguageModelTextPart: Part, LanguageModelToolResult: Result } = newer;
  if (!lm?.registerTool || !Part || !Result) return null;
  return { register: (name, tool) => lm.registerTool!(name, tool), result: (text) => new Result([new Part(text)]) };
}

/** Functions that offer a model to other extensions and make its text, or null if VS Code accepts no models. */
export function modelApi(): {
  readonly register: (vendor: string, provider: ModelProvider) => vscode.Disposable; readonly text: (value: string) => TextPart;
} | null {
  const { lm, LanguageModelTextPart: Part } = newer;
  if (!lm?.registerLanguageModelChatProvider || !Part) return null;
  return { register: (vendor, provider) => lm.registerLanguageModelChatProvider!(vendor, provider), text: (value) => new Part(value) };
}
