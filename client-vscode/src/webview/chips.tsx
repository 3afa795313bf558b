// The attachments of the next message as chips, and files that are dropped or pasted on the input (EDI-06).
import { useState } from 'preact/hooks';
import { attachmentName, type Attachment, type Attachments } from '../chat/attached';
import type { FromWebview } from '../chat/messages';
import { visibleLine } from '../text';
import { say } from '../words';

const ICONS: { readonly [type in Attachment['type']]: string } = {
  file: 'file', selection: 'selection', diagnostics: 'warning', symbol: 'symbol-class',
};

interface Props {
  readonly attachments: Attachments;
  readonly input: { readonly current: HTMLTextAreaElement | null };
  readonly change: (attachments: Attachments) => void;
}

/** Each chip is a button that removes its attachment: by a click, Enter, Delete or Backspace. */
export function Chips({ attachments, input, change }: Props) {
  if (attachments.length === 0) return null;
  const remove = (index: number): void => {
    change(attachments.filter((_, each) => each !== index));
    input.current?.focus();
  };
  return (
    <ul class="chips" aria-label={say('Attached to the message')}>
      {attachments.map((each, index) => {
        const name = visibleLine(attachmentName(each));
        return (
          <li key={name}>
            <button
              type="button" class="chip" title={say('Remove {0}', name)} aria-label={say('Remove {0}', name)} onClick={() => remove(index)}
              onKeyDown={(event) => { if (event.key === 'Delete' || event.key === 'Backspace') { event.preventDefault(); remove(index); } }}
            >
              <span class={`codicon codicon-${ICONS[each.type]}`} aria-hidden="true" />
              <span class="name">{name}</span>
              <span class="codicon codicon-close" aria-hidden="true" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** The data types in which VS Code and file managers give the addresses of dropped files. */
const ADDRESSES = ['application/vnd.code.uri-list', 'text/uri-list'];
const SAID_MS = 6_000;

/** Handles what is dropped or pasted: sends file addresses to the host, leaves text alone, refuses all other files with a message. */
export function useDrop(send: (message: FromWebview) => void) {
  const [over, setOver] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const refuse = (): void => {
    setSaid(say('You can attach only text files in the open folder'));
    setTimeout(() => setSaid(null), SAID_MS);
  };
  const take = (data: DataTransfer | null): boolean => {
    const uris = ADDRESSES.map((form) => data?.getData(form) ?? '').find(Boolean)?.split(/\r?\n/).filter((line) => line && !line.startsWith('#')) ?? [];
    if (uris.some((uri) => /^[\w-]+:\/\//.test(uri) && !/^https?:/.test(uri))) send({ type: 'dropped', uris });
    else if (data && data.files.length > 0) refuse();
    else return false;
    return true;
  };
  const onDragOver = (event: DragEvent): void => { event.preventDefault(); setOver(true); };
  const onDragLeave = (): void => setOver(false);
  const onDrop = (event: DragEvent): void => {
    setOver(false);
    if (take(event.dataTransfer)) event.preventDefault();
  };
  const onPaste = (event: ClipboardEvent): void => {
    if (!event.clipboardData?.getData('text/plain') && take(event.clipboardData)) event.preventDefault();
  };
  return { over, said, onPaste, handlers: { onDragOver, onDragLeave, onDrop } };
}
