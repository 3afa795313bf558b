// The chat in the webview: keeps the view that the extension host sends, draws it, and reports what the person does.
import { render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import { NO_DRAFT, type Draft } from '../chat/attached';
import type { FromWebview, ToWebview } from '../chat/messages';
import { pending, running, tells } from '../chat/view';
import { say, speak } from '../words';
import { Composer } from './composer';
import { drawByFrames } from './drawn';
import { BEGIN, receive } from './feed';
import { Guard } from './guard';
import { List } from './list';
import { Trouble } from './problem';
import { rowsOf } from './rows';
import { spoken } from './spoken';
import { RowView } from './turn';
import { UnderReview } from './under_review';
import { Welcome } from './welcome';

declare function acquireVsCodeApi(): {
  postMessage(message: FromWebview): void;
};

drawByFrames();
const host = acquireVsCodeApi();
const send = (message: FromWebview): void => host.postMessage(message);
/** How often the host is told which changes have arrived. */
const SEEN_MS = 1_000;

function Chat() {
  const [state, dispatch] = useReducer(receive, BEGIN);
  const { view, server, proposed, draft } = state;
  const input = useRef<HTMLTextAreaElement>(null);
  const busy = running(view) !== null;
  const type = useCallback((next: Draft) => dispatch({ type: 'draft', draft: next }), []);
  const fill = (text: string): void => { type({ ...draft, text }); input.current?.focus(); };
  useEffect(() => {
    const listen = ({ data }: MessageEvent<ToWebview>): void => {
      dispatch(data);
      if (data.type === 'focus') whenFocused(() => (pendingCard() ?? input.current)?.focus());
      if (data.type === 'fill' || data.type === 'attach') input.current?.focus();
    };
    window.addEventListener('message', listen);
    send({ type: 'ready' });
    return () => window.removeEventListener('message', listen);
  }, []);
  // The extension host keeps the draft, because the host outlives the webview and can store the draft beyond the window.
  useEffect(() => { if (draft !== NO_DRAFT) send({ type: 'draft', draft }); }, [draft]);
  useEffect(() => { if (state.lost) send({ type: 'missed' }); }, [state.lost]);
  useSeen(state.next);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => { if (event.key === 'Escape' && busy) send({ type: 'stop' }); };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [busy]);
  // If what had the focus is gone, a card or a button of the last turn, focus the next card, or else the input.
  useLayoutEffect(() => {
    if (document.hasFocus() && document.activeElement === document.body) (pendingCard() ?? input.current)?.focus();
  }, [pending(view).length, view.turns.length]);
  const last = view.turns.at(-1);
  return (
    <>
      <List
        rows={rowsOf(view)} draw={(row) => <RowView row={row} send={send} />} asked={view.turns.length}
        ended={view.turns.filter((turn) => turn.status !== 'running').length}
        before={view.turns.length === 0 && !server.problem && (
          <Welcome model={server.model} samples={state.samples} fill={fill} chooseModel={() => send({ type: 'mend', remedy: 'modelSetting' })} />
        )}
        after={server.problem && !(last && tells(last, server.problem)) && (
          <div class="row"><Trouble problem={server.problem} current send={send} /></div>
        )}
      />
      <div class="only-read" role="status">{spoken(view)}</div>
      {!busy && <UnderReview standing={view.standing ?? server.standing} send={send} fill={fill} />}
      <Composer
        busy={busy} input={input} draft={draft} type={type} proposed={proposed} view={view} server={server}
        history={view.turns.map((turn) => turn.prompt)} send={send}
      />
    </>
  );
}

/** Runs it now, or once the webview has the focus, because taking the focus would close a list that was opened elsewhere meanwhile. */
function whenFocused(run: () => void): void {
  if (document.hasFocus()) run();
  else window.addEventListener('focus', run, { once: true });
}

function pendingCard(): HTMLElement | null {
  return document.querySelector<HTMLElement>('[data-testid="approval"]');
}

/** Tells the host regularly which changes have arrived, and whether the chat is drawn. */
function useSeen(next: number): void {
  const now = useRef(next);
  now.current = next;
  useEffect(() => {
    let told = 0;
    const timer = setInterval(() => {
      const drawn = document.querySelector('#chat > main') !== null;
      if (drawn && told === now.current) return;
      told = now.current;
      send({ type: 'seen', next: told, drawn });
    }, SEEN_MS);
    return () => clearInterval(timer);
  }, []);
}

// The host puts the translations into the page.
speak(JSON.parse(document.getElementById('words')?.textContent ?? '{}') as { readonly [english: string]: string });
render(<Guard words={say('The chat cannot be shown. Run “Developer: Reload Webviews”.')}><Chat /></Guard>, document.getElementById('chat')!);
