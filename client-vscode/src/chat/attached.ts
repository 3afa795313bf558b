// What goes along with a message, as the contract has it (LSP-13). Pure.
import type { ChatReply, TextInput } from '../contract';

type Given = NonNullable<TextInput['attachments']>[number];
export type Attachment = Given & { readonly type: NonNullable<Given['type']> };
export type Attachments = readonly Attachment[];

/** Adds what goes along to the message among the parts that a line comes to. */
export function attach(input: ChatReply['input'], attachments: Attachments): ChatReply['input'] {
  if (attachments.length === 0) return input;
  const at = input.findIndex((part) => part.type === 'text');
  return input.map((part, index) => (
    index === at && part.type === 'text' ? { ...part, attachments: [...part.attachments ?? [], ...attachments] } : part
  ));
}
