// The input: Enter sends and Escape stops. While a turn runs, the typed text is kept until the turn has ended.
import { useLayoutEffect, useState } from 'preact/hooks';
import { takesAttachments, type Draft } from '../chat/attached';
import type { FromWebview, ServerView } from '../chat/messages';
import { isAboutRunning, type Standing, type View } from '../chat/view';
import type { ChatProposal } from '../contract';
import { sentence } from '../problem';
import { visible } from '../text';
import { say } from '../words';
import { Chips, useDrop } from './chips';
import { recall } from './history';
import { Meter } from './meter';

/** The proposals for what can be typed at the end of `text`. */
export interface Proposed {
  readonly text: string;
  readonly proposals: readonly ChatProposal[];
}

interface Props {
  readonly busy: boolean;
  readonly input: { readonly current: HTMLTextAreaElement | null };
  readonly draft: Draft;
  readonly type: (draft: Draft) => void;
  readonly proposed: Proposed;
  /** The person's earlier messages, oldest first. */
  readonly history: readonly string[];
  readonly view: View;
  readonly server: ServerView;
  readonly send: (message: FromWebview) => void;
}

/** Text that can be completed: a command of the chat, or a word after `@`. */
const COMPLETED = /^\/[^\n]*$|(?:^|\s)@\S*$/;

export function Composer({ busy, input, draft, type, proposed, history, view, server, send }: Props) {
  const { text: typed, attachments } = draft;
  const [hidden, setHidden] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const drop = useDrop(send);
  const words = (text: string): void => type({ text, attachments });
  // Read the element's own value, because `draft` lacks what was typed since the last frame.
  const submit = (): void => {
    const text = input.current!.value;
    if (!text.trim() || (busy && !isAboutRunning(text))) return;
    const along = takesAttachments(text) ? attachments : [];
    send({ type: 'ask', text, attachments: along });
    type({ text: '', attachments: along === attachments ? [] : attachments });
    setAt(null);
  };
  const change = (text: string): void => {
    setHidden(false);
    setChosen(null);
    words(text);
    if (COMPLETED.test(text)) send({ type: 'complete', text });
  };
  const open = !hidden && proposed.text === typed && COMPLETED.test(typed) ? proposed.proposals : [];
  const take = ({ text, start }: ChatProposal): void => {
    // A space ends the proposal, except after a folder or a `:`, where the person continues the same word.
    change(typed.slice(0, start) + text + (/[/:]$/.test(text) ? '' : ' '));
    input.current!.focus();
  };
  useLayoutEffect(() => {
    const area = input.current!;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [typed]);
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
        // Enter sends the typed text, unless the person has selected a proposal.
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
      words(recalled.text);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  return (
    <form class={drop.over ? 'composer over' : 'composer'} onSubmit={(event) => { event.preventDefault(); submit(); }} {...drop.handlers}>
      {open.length > 0 && (
        <ul class="proposals" id="proposals" role="listbox" aria-label={say('What you can type here')}>
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
      {drop.said !== null && <p class="said" role="status">{drop.said}</p>}
      <Chips attachments={attachments} input={input} change={(left) => type({ text: typed, attachments: left })} />
      <div class="box">
        <button type="button" class="icon" title={say('Attach a file, the selection, problems or a symbol')} aria-label={say('Attach')} onClick={() => send({ type: 'pick_attachment' })}>
          <span class="codicon codicon-attach" aria-hidden="true" />
        </button>
        <textarea
          id="input" ref={input} rows={1} value={typed} aria-label={say('Message to Remit')} aria-describedby="hint"
          aria-autocomplete="list" aria-controls={open.length > 0 ? 'proposals' : undefined}
          aria-activedescendant={open.length > 0 && chosen !== null ? `proposal-${chosen}` : undefined}
          placeholder={say('Ask, or type /')} onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown} onPaste={drop.onPaste}
        />
        {busy ? (
          <button type="button" class="icon" title={say('Stop (Escape)')} aria-label={say('Stop')} onClick={() => send({ type: 'stop' })}>
            <span class="codicon codicon-debug-stop" aria-hidden="true" />
          </button>
        ) : (
          <button type="submit" class="icon" title={say('Send (Enter)')} aria-label={say('Send')} disabled={!typed.trim()}>
            <span class="codicon codicon-send" aria-hidden="true" />
          </button>
        )}
      </div>
      <Hint busy={busy} draft={draft} proposing={open.length > 0} view={view} server={server} send={send} />
    </form>
  );
}

interface HintProps extends Pick<Props, 'busy' | 'draft' | 'view' | 'server' | 'send'> {
  readonly proposing: boolean;
}

/** The line below the input: the model, the mode, how full the model's window is, and what the keys do. */
function Hint({ busy, draft, proposing, view, server, send }: HintProps) {
  const model = view.model ?? server.model;
  const held = busy && draft.text.trim() !== '' && !isAboutRunning(draft.text);
  const left = draft.attachments.length > 0 && draft.text.trim() !== '' && !takesAttachments(draft.text);
  const keys = held ? say('Still working, Esc stops') : busy && !draft.text.trim() ? say('Esc stops') : proposing ? say('Tab completes') : say('Enter sends');
  return (
    <div class="hint">
      {model !== null && (
        <button type="button" class="model" disabled={busy} title={say('Model: {0}. Choose another one', model)} aria-label={say('Model: {0}. Choose another one', model)} onClick={() => send({ type: 'pick_model' })}>
          {model}
        </button>
      )}
      <Mode busy={busy} standing={view.standing ?? server.standing} send={send} />
      {server.editsAllowed && (
        <button
          type="button" class="model" data-testid="edits-allowed" disabled={busy} title={say('Edits are made without a question. Ask before each one again')}
          onClick={() => send({ type: 'ask', text: '/edits each', attachments: [] })}
        >
          {say('edits allowed')} <span class="codicon codicon-close" aria-hidden="true" />
        </button>
      )}
      <Meter view={view} />
      <span id="hint">{left ? say('Commands take no attachments: the attachments stay here') : keys}</span>
    </div>
  );
}

interface ModeProps extends Pick<Props, 'busy' | 'send'> {
  readonly standing: Standing | null;
}

/** The workflow's mode, and its state unless the mode is `explore`. The tooltip says what the state allows (FLW-06). */
function Mode({ busy, standing, send }: ModeProps) {
  if (standing === null) return null;
  const { mode, state, means } = standing;
  const shown = mode === 'explore' ? mode : `${mode}: ${state}`;
  const words = say('{0}. Choose another mode', sentence(visible(means)));
  return (
    <button type="button" class="model" data-testid="mode" disabled={busy} title={words} aria-label={words} onClick={() => send({ type: 'pick_mode' })}>
      {shown}
    </button>
  );
}
