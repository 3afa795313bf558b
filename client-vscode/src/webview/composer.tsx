// The input: Enter sends, Escape stops; while a turn runs it keeps what is typed for afterwards.
import { useLayoutEffect, useState } from 'preact/hooks';
import type { FromWebview } from '../chat/messages';
import type { ChatProposal } from '../contract';
import { recall } from './history';

/** What may be typed at the end of `text`. */
export interface Proposed {
  readonly text: string;
  readonly proposals: readonly ChatProposal[];
}

interface Props {
  readonly busy: boolean;
  readonly input: { readonly current: HTMLTextAreaElement | null };
  readonly draft: string;
  readonly type: (text: string) => void;
  readonly proposed: Proposed;
  /** What the person said before, oldest first. */
  readonly history: readonly string[];
  /** Model and mode, as far as they are known. */
  readonly about: string;
  readonly send: (message: FromWebview) => void;
}

/** A command of the chat, or a word behind `@`. */
const COMPLETED = /^\/[^\n]*$|(?:^|\s)@\S*$/;

export function Composer({ busy, input, draft, type, proposed, history, about, send }: Props) {
  // The element's own value: what was typed since the last frame is not yet in `draft`.
  const submit = (): void => {
    const text = input.current!.value;
    if (busy || !text.trim()) return;
    send({ type: 'ask', text });
    type('');
    setAt(null);
  };
  const change = (text: string): void => {
    setHidden(false);
    setChosen(null);
    type(text);
    if (COMPLETED.test(text)) send({ type: 'complete', text });
  };
  const [hidden, setHidden] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const open = !hidden && proposed.text === draft && COMPLETED.test(draft) ? proposed.proposals : [];
  const take = ({ text, start }: ChatProposal): void => {
    // A folder is gone on with; behind everything else the next word begins.
    change(draft.slice(0, start) + text + (/[/:]$/.test(text) ? '' : ' '));
    input.current!.focus();
  };
  useLayoutEffect(() => {
    const area = input.current!;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [draft]);
  useLayoutEffect(() => {
    if (chosen !== null) document.getElementById(`proposal-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const onProposals = (event: KeyboardEvent): boolean => {
    const last = open.length - 1;
    switch (event.key) {
      case 'ArrowDown':
        setChosen(chosen === null || chosen === last ? 0 : chosen + 1);
        return true;
      case 'ArrowUp':
        setChosen(chosen === null || chosen === 0 ? last : chosen - 1);
        return true;
      case 'Tab':
        if (event.shiftKey) return false;
        take(open[chosen ?? 0]!);
        return true;
      case 'Enter':
        // What was typed is sent, unless the person has chosen something from the list.
        if (chosen === null) return false;
        take(open[chosen]!);
        return true;
      case 'Escape':
        setHidden(true);
        return true;
      default:
        return false;
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (open.length > 0 && !event.isComposing && onProposals(event)) {
      event.preventDefault();
      event.stopPropagation();
    } else if ((event.key === 'ArrowUp' || event.key === 'ArrowDown') && !event.isComposing) {
      const recalled = recall(history, event.key, input.current!.value, at);
      if (!recalled) return;
      event.preventDefault();
      setAt(recalled.at);
      type(recalled.text);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  const held = busy && draft.trim() !== '';
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      {open.length > 0 && (
        <ul class="proposals" id="proposals" role="listbox" aria-label="What may be typed here">
          {open.map((each, index) => (
            <li
              key={each.text} id={`proposal-${index}`} role="option" aria-selected={index === chosen}
              onMouseDown={(event) => { event.preventDefault(); take(each); }}
            >
              <b>{each.text}</b> <span>{each.meaning}</span>
            </li>
          ))}
        </ul>
      )}
      <div class="box">
        <textarea
          id="input" ref={input} rows={1} value={draft} aria-label="Message to Remit" aria-describedby="hint"
          aria-haspopup="listbox" aria-controls="proposals" aria-autocomplete="list"
          aria-activedescendant={open.length > 0 && chosen !== null ? `proposal-${chosen}` : undefined}
          placeholder="Ask, or / for commands" onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {busy ? (
          <button type="button" class="icon" title="Stop (Escape)" aria-label="Stop" onClick={() => send({ type: 'stop' })}>
            <span class="codicon codicon-debug-stop" aria-hidden="true" />
          </button>
        ) : (
          <button type="submit" class="icon" title="Send (Enter)" aria-label="Send" disabled={!draft.trim()}>
            <span class="codicon codicon-send" aria-hidden="true" />
          </button>
        )}
      </div>
      <div class="hint">
        <span title={about}>{about}</span>
        <span id="hint" role="status">
          {held ? 'Still working, Esc stops' : busy ? 'Esc stops' : open.length > 0 ? 'Tab completes' : 'Enter sends'}
        </span>
      </div>
    </form>
  );
}
