// The chat in the webview: keeps the view that the extension host sends, draws it, reports what the person does.
import { options, render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { FromWebview, ToWebview } from '../messages';
import { EMPTY, pending, reduce, running, type View } from '../view';
import { TurnView } from './turn';

declare function acquireVsCodeApi(): {
  postMessage(message: FromWebview): void;
  getState(): { readonly draft: string } | undefined;
  setState(state: { readonly draft: string }): void;
};

// A frame draws all tokens that arrived since the last one.
options.debounceRendering = requestAnimationFrame;
const host = acquireVsCodeApi();
const send = (message: FromWebview): void => host.postMessage(message);

/** Put into the input for the person to complete, never sent as they are. */
const EXAMPLES = ['rename old_name to new_name in path/to/file.py', 'explain path/to/file.py', 'list the files here'];

function onMessage(view: View, message: ToWebview): View {
  switch (message.type) {
    case 'view':
      return message.view;
    case 'change':
      return reduce(view, message.change);
    case 'focus':
      return view;
  }
}

function Chat() {
  const [view, dispatch] = useReducer(onMessage, EMPTY);
  const input = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(host.getState()?.draft ?? '');
  const type = useCallback((text: string) => { setDraft(text); host.setState({ draft: text }); }, []);
  const fill = (text: string): void => { type(text); input.current?.focus(); };
  useEffect(() => {
    const listen = (event: MessageEvent<ToWebview>): void => {
      dispatch(event.data);
      if (event.data.type === 'focus' && pendingCard() === null) input.current?.focus();
      if (event.data.type === 'focus') pendingCard()?.focus();
    };
    window.addEventListener('message', listen);
    send({ type: 'ready' });
    return () => window.removeEventListener('message', listen);
  }, []);
  // Where the focus was on a card that is gone, it goes back to the input.
  useLayoutEffect(() => {
    if (document.hasFocus() && document.activeElement === document.body) input.current?.focus();
  }, [pending(view).length]);
  const list = useFollow(view);
  return (
    <>
      <div class="list" ref={list} role="log" aria-label="Conversation" aria-live="polite">
        {view.turns.length === 0 && <Welcome fill={fill} />}
        {view.turns.map((turn) => <TurnView key={turn.turn_id} turn={turn} send={send} />)}
      </div>
      <Composer busy={running(view) !== null} input={input} draft={draft} type={type} model={view.model} mode={view.mode} />
    </>
  );
}

function pendingCard(): HTMLElement | null {
  return document.querySelector<HTMLElement>('[data-testid="approval"]');
}

/** Keeps the end in sight unless the person has scrolled away from it. */
function useFollow(view: View) {
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const element = list.current!;
    const note = (): void => { atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40; };
    element.addEventListener('scroll', note, { passive: true });
    return () => element.removeEventListener('scroll', note);
  }, []);
  // What was just asked is always brought into sight.
  useLayoutEffect(() => { atEnd.current = true; }, [view.turns.length]);
  useLayoutEffect(() => {
    if (atEnd.current) list.current!.scrollTop = list.current!.scrollHeight;
  }, [view]);
  return list;
}

function Welcome({ fill }: { readonly fill: (text: string) => void }) {
  return (
    <section class="welcome">
      <h2>What should be done?</h2>
      <p>
        Remit says what it is about to do before each step, does nothing outside that, and asks you before it writes or
        runs anything.
      </p>
      <ul aria-label="Examples">
        {EXAMPLES.map((text) => (
          <li key={text}><button type="button" class="example" onClick={() => fill(text)}>{text}</button></li>
        ))}
      </ul>
    </section>
  );
}

interface ComposerProps {
  readonly busy: boolean;
  readonly input: { readonly current: HTMLTextAreaElement | null };
  readonly draft: string;
  readonly type: (text: string) => void;
  readonly model: string | null;
  readonly mode: string | null;
}

function Composer({ busy, input, draft, type, model, mode }: ComposerProps) {
  // The element's own value: what was typed since the last frame is not yet in `draft`.
  const submit = (): void => {
    const text = input.current!.value;
    if (busy || !text.trim()) return;
    send({ type: 'ask', text });
    type('');
  };
  useLayoutEffect(() => {
    const area = input.current!;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [draft]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
    if (event.key === 'Escape' && busy) send({ type: 'stop' });
  };
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <div class="box">
        <textarea
          id="input" ref={input} rows={1} value={draft} aria-label="Message to Remit" placeholder="Ask, or say what to change"
          onInput={(event) => type(event.currentTarget.value)} onKeyDown={onKeyDown}
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
      <div class="hint" aria-hidden="true">
        <span>{[model, mode].filter(Boolean).join(' · ')}</span>
        <span>{busy ? 'Esc stops' : 'Enter sends'}</span>
      </div>
    </form>
  );
}

render(<Chat />, document.getElementById('chat')!);
