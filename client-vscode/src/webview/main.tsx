// The chat in the webview: keeps the view that the extension host sends, draws it, reports what the person does.
import { options, render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { FromWebview, ServerView, ToWebview } from '../chat/messages';
import { EMPTY, pending, reduce, running, tells, type View } from '../chat/view';
import { Composer, type Proposed } from './composer';
import { Trouble } from './problem';
import { spoken } from './spoken';
import { TurnView } from './turn';
import { Welcome } from './welcome';

declare function acquireVsCodeApi(): {
  postMessage(message: FromWebview): void;
  getState(): { readonly draft: string } | undefined;
  setState(state: { readonly draft: string }): void;
};

// A frame draws all tokens that arrived since the last one.
options.debounceRendering = requestAnimationFrame;
const host = acquireVsCodeApi();
const send = (message: FromWebview): void => host.postMessage(message);

interface State {
  readonly view: View;
  readonly server: ServerView;
  readonly proposed: Proposed;
}

const BEGIN: State = {
  view: EMPTY, server: { state: 'starting', model: null, problem: null }, proposed: { text: '', proposals: [] },
};

function onMessage(state: State, message: ToWebview): State {
  switch (message.type) {
    case 'view':
      return { ...state, view: message.view };
    case 'change':
      return { ...state, view: reduce(state.view, message.change) };
    case 'server':
      return { ...state, server: message.server };
    case 'proposals':
      return { ...state, proposed: message };
    case 'focus':
      return state;
  }
}

function Chat() {
  const [{ view, server, proposed }, dispatch] = useReducer(onMessage, BEGIN);
  const input = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(host.getState()?.draft ?? '');
  const type = useCallback((text: string) => { setDraft(text); host.setState({ draft: text }); }, []);
  const fill = (text: string): void => { type(text); input.current?.focus(); };
  const busy = running(view) !== null;
  useEffect(() => {
    const listen = (event: MessageEvent<ToWebview>): void => {
      // Answers may overtake each other: one for what is no longer there would take the place of the one that fits.
      if (event.data.type === 'proposals' && event.data.text !== input.current?.value) return;
      dispatch(event.data);
      if (event.data.type === 'focus') (pendingCard() ?? input.current)?.focus();
    };
    window.addEventListener('message', listen);
    send({ type: 'ready' });
    return () => window.removeEventListener('message', listen);
  }, []);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => { if (event.key === 'Escape' && busy) send({ type: 'stop' }); };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [busy]);
  // Where the focus was on a card that is gone, it goes back to the input.
  useLayoutEffect(() => {
    if (document.hasFocus() && document.activeElement === document.body) input.current?.focus();
  }, [pending(view).length]);
  const list = useFollow(view);
  const last = view.turns.at(-1);
  const about = [server.model ?? view.model, view.mode].filter(Boolean).join(' · ');
  return (
    <>
      <main class="list" ref={list} aria-label="Conversation">
        {view.turns.length === 0 && !server.problem && (
          <Welcome model={server.model} fill={fill} chooseModel={() => send({ type: 'mend', remedy: 'modelSetting' })} />
        )}
        {view.turns.map((turn) => <TurnView key={turn.turn_id} turn={turn} last={turn === last} send={send} />)}
        {server.problem && !(last && tells(last, server.problem)) && (
          <div class="turn"><Trouble problem={server.problem} current send={send} /></div>
        )}
      </main>
      <div class="only-read" role="status">{spoken(view)}</div>
      <Composer busy={busy} input={input} draft={draft} type={type} proposed={proposed}
        history={view.turns.map((turn) => turn.prompt)} about={about} send={send} />
    </>
  );
}

function pendingCard(): HTMLElement | null {
  return document.querySelector<HTMLElement>('[data-testid="approval"]');
}

/** Keeps the end in sight unless the person has scrolled away from it. */
function useFollow(view: View) {
  const list = useRef<HTMLElement>(null);
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

render(<Chat />, document.getElementById('chat')!);
