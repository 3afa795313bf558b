// The attachments of a message: files, selections, problems and symbols, in the form of the contract (EDI-06, LSP-13). Pure.
import type { ChatReply, TextInput } from '../contract';

type Given = NonNullable<TextInput['attachments']>[number];
export type Attachment = Given & { readonly type: NonNullable<Given['type']> };
export type Attachments = readonly Attachment[];

/** A message that the person has not sent yet. */
export interface Draft {
  readonly text: string;
  readonly attachments: Attachments;
}

export const NO_DRAFT: Draft = { text: '', attachments: [] };

/** The most attachments that the server takes with one message. */
export const MOST_ATTACHMENTS = 32;

/** The name of an attachment, as shown on its chip and below the message that it was sent with. */
export function attachmentName(attachment: Attachment): string {
  switch (attachment.type) {
    case 'selection': {
      const [first, last] = [attachment.range.start.line + 1, attachment.range.end.line + 1];
      return first === last ? `${attachment.path}:${first}` : `${attachment.path}:${first}-${last}`;
    }
    case 'diagnostics':
      return attachment.path ? `problems in ${attachment.path}` : 'all problems';
    case 'symbol':
      return `symbol ${attachment.name}`;
    case 'file':
      return attachment.path;
  }
}

/** The attachments that are there followed by the new ones, each once, and no more than the server takes. */
export function withAttachments(there: Attachments, more: Attachments): Attachments {
  const names = new Set(there.map(attachmentName));
  return [...there, ...more.filter((each) => !names.has(attachmentName(each)))].slice(0, MOST_ATTACHMENTS);
}

/** Whether a line can have attachments: a command of the chat or of the shell cannot. */
export function takesAttachments(text: string): boolean {
  return !/^\s*[!/]/.test(text);
}

/** Whether a value is a list of attachments. Checks only roughly, because the server reads each attachment strictly. */
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

/** Adds attachments to the first text part of an input. */
export function attach(input: ChatReply['input'], attachments: Attachments): ChatReply['input'] {
  if (attachments.length === 0) return input;
  const at = input.findIndex((part) => part.type === 'text');
  return input.map((part, index) => (
    index === at && part.type === 'text' ? { ...part, attachments: [...part.attachments ?? [], ...attachments] } : part
  ));
}
