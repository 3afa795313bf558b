// What goes along with a message: files, selections, problems, symbols, as the contract has them (EDI-06, LSP-13). Pure.
import type { ChatReply, TextInput } from '../contract';

type Given = NonNullable<TextInput['attachments']>[number];
export type Attachment = Given & { readonly type: NonNullable<Given['type']> };
export type Attachments = readonly Attachment[];

/** What the person has not sent yet. */
export interface Draft {
  readonly text: string;
  readonly attachments: Attachments;
}

export const NO_DRAFT: Draft = { text: '', attachments: [] };

/** As many as the server takes with one message. */
export const MOST_ATTACHMENTS = 32;

/** What an attachment is called, on its chip and below the message it went with. */
export function attachmentName(attachment: Attachment): string {
  switch (attachment.type) {
    case 'selection':
      return `${attachment.path}:${attachment.range.start.line + 1}-${attachment.range.end.line + 1}`;
    case 'diagnostics':
      return attachment.path ? `problems in ${attachment.path}` : 'all problems';
    case 'symbol':
      return `symbol ${attachment.name}`;
    case 'file':
      return attachment.path;
  }
}

/** Those that are there with others behind them, each once, and no more than the server takes. */
export function withAttachments(there: Attachments, more: Attachments): Attachments {
  const names = new Set(there.map(attachmentName));
  return [...there, ...more.filter((each) => !names.has(attachmentName(each)))].slice(0, MOST_ATTACHMENTS);
}

/** Whether a line takes attachments: a command of the chat, or of the shell, does not. */
export function takesAttachments(text: string): boolean {
  return !/^\s*[!/]/.test(text);
}

/** Whether a value is a list of attachments; the server reads each of them strictly. */
export function isAttachments(value: unknown): value is Attachments {
  return Array.isArray(value) && value.length <= MOST_ATTACHMENTS && value.every(isAttachment);
}

function isAttachment(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { type, path, name, text, range } = value as { readonly [key: string]: unknown };
  switch (type) {
    case 'file':
      return typeof path === 'string';
    case 'selection':
      return typeof path === 'string' && typeof text === 'string' && typeof range === 'object' && range !== null;
    case 'diagnostics':
      return path === null || path === undefined || typeof path === 'string';
    case 'symbol':
      return typeof name === 'string';
    default:
      return false;
  }
}

/** Adds what goes along to the message among the parts that a line comes to. */
export function attach(input: ChatReply['input'], attachments: Attachments): ChatReply['input'] {
  if (attachments.length === 0) return input;
  const at = input.findIndex((part) => part.type === 'text');
  return input.map((part, index) => (
    index === at && part.type === 'text' ? { ...part, attachments: [...part.attachments ?? [], ...attachments] } : part
  ));
}
