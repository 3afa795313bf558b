// One turn: what was asked, each step's intent, each tool call as one line, the answer, how it ended.
import { memo } from 'preact/compat';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { FromWebview } from '../chat/messages';
import { count, folderName, isOpen, type ApprovalItem, type IntentItem, type Item, type NoteItem, type Turn } from '../chat/view';
import { clock, duration, visible, visibleLine } from '../text';
import { Approval, Outcome } from './approval';
import { markdown } from './markdown';
import { Trouble } from './problem';
import { Tool } from './tool';

type Send = (message: FromWebview) => void;

interface TurnProps {
  readonly turn: Turn;
  /** Nothing has been asked since. */
  readonly last: boolean;
  readonly send: Send;
}

export const TurnView = memo(({ turn, last, send }: TurnProps) => {
  const over = turn.status !== 'running';
  const questions = turn.items.filter((item) => item.kind === 'approval');
  const folder = folderName(turn);
  // No model was asked: a call that the person typed.
  const own = turn.usage === null && /^[!/]/.test(turn.prompt);
  const calls = new Set(turn.items.map((item) => (item.kind === 'tool' ? item.id : null)));
  return (
    <article class="turn" aria-label={`Turn: ${turn.prompt.slice(0, 80)}`}>
      <div class="asked"><span class="only-read">You asked: </span>{turn.prompt}</div>
      {folder !== null && (
        <div class="folder" title={visibleLine(turn.workspace ?? '')} data-testid="folder">in the folder <b>{visibleLine(folder)}</b></div>
      )}
      {turn.items.map((item) => {
        // A question is drawn with the call that led to it.
        if (item.kind === 'approval' && calls.has(item.question.tool_call_id)) return null;
        const approval = item.kind === 'tool' ? questions.find((each) => each.question.tool_call_id === item.id) : undefined;
        return (
          <ItemView
            key={`${item.kind}-${item.id}`} item={item} approval={approval ?? null} over={over} current={last && over}
            own={own} turnId={turn.turn_id} send={send}
          />
        );
      })}
      <Ending turn={turn} />
    </article>
  );
});

interface ItemProps {
  readonly item: Item;
  readonly approval: ApprovalItem | null;
  readonly over: boolean;
  readonly current: boolean;
  readonly own: boolean;
  readonly turnId: string;
  readonly send: Send;
}

const ItemView = memo(({ item, approval, over, current, own, turnId, send }: ItemProps) => {
  switch (item.kind) {
    case 'text':
      return <Answer text={item.text} />;
    case 'thinking':
      return <details class="thinking"><summary>Thinking</summary><p>{item.text}</p></details>;
    case 'intent':
      return <Intent item={item} />;
    case 'tool':
      return <Tool item={item} approval={approval} over={over} own={own} turnId={turnId} send={send} />;
    case 'approval':
      return isOpen(item) ? <Approval item={item} send={send} /> : <Outcome item={item} />;
    case 'note':
      return item.error ? <Trouble problem={item.error} current={current} send={send} /> : <Note item={item} />;
  }
});

function Answer({ text }: { readonly text: string }) {
  const html = useMemo(() => markdown(text), [text]);
  const onClick = (event: MouseEvent): void => {
    const button = event.target instanceof Element ? event.target.closest<HTMLButtonElement>('.copy') : null;
    if (button) void copyBeside(button);
  };
  return <div class="answer" data-testid="answer" onClick={onClick} dangerouslySetInnerHTML={{ __html: html }} />;
}

/** Copies the block of code that a button belongs to, and says on the button what came of it. */
async function copyBeside(button: HTMLButtonElement): Promise<void> {
  const code = button.parentElement?.querySelector('code')?.textContent ?? '';
  const said = await navigator.clipboard.writeText(code).then(() => 'Copied', () => 'Cannot copy');
  button.textContent = said;
  setTimeout(() => { button.textContent = 'Copy'; }, 1_500);
}

const INTENT_KIND = {
  PLAN: 'think', ANALYZE: 'think', READ_FILE: 'read', CODE: 'write', WRITE_FILE: 'write', DEBUG: 'run', EXECUTE: 'run',
} as const;

function Intent({ item }: { readonly item: IntentItem }) {
  const tools = item.allowed_tools.length > 0 ? `may use ${item.allowed_tools.join(', ')}` : 'may use no tools';
  return (
    <div class="intent">
      <span class={`badge ${INTENT_KIND[item.intent]}`} title={`Intent: ${tools}`} data-testid="intent">
        <span class="only-read">Intent: </span>{item.intent.replace('_', ' ')}
      </span>
      {item.previous && <span class="muted">instead of {item.previous.replace('_', ' ')}</span>}
      {item.justification && <span class="why">{visible(item.justification)}</span>}
    </div>
  );
}

function Note({ item }: { readonly item: NoteItem }) {
  return (
    <div class={`note ${item.level}`} role="note" data-testid={`note-${item.level}`}>
      <span class={`codicon codicon-${item.level}`} aria-hidden="true" />
      <div>{visible(item.text)}</div>
    </div>
  );
}

const ENDINGS = {
  completed: ['check', 'Done'],
  declined: ['circle-slash', 'Not done'],
  failed: ['error', 'Failed'],
  cancelled: ['circle-slash', 'Stopped'],
  denied: ['circle-slash', 'Denied'],
  timed_out: ['watch', 'Out of time'],
} as const;

function Ending({ turn }: { readonly turn: Turn }) {
  if (turn.status === 'running') {
    const waiting = turn.items.some((item) => item.kind === 'approval' && isOpen(item));
    return waiting ? null : <Working />;
  }
  // Not all that was asked for was done: then it has no check mark either.
  const [icon, word] = turn.status === 'completed' && turn.reason ? ['info', 'Partly done'] : ENDINGS[turn.status];
  const calls = turn.items.filter((item) => item.kind === 'tool').length;
  const tokens = turn.usage ? turn.usage.prompt_tokens + turn.usage.completion_tokens : 0;
  const took = turn.started && turn.ended ? Date.parse(turn.ended) - Date.parse(turn.started) : null;
  const facts = [
    word,
    turn.reason && visible(turn.reason),
    calls > 0 && count(calls, 'call'),
    tokens > 0 && count(tokens, 'token'),
    turn.usage && price(turn.usage.price_usd),
    took !== null && duration(took),
  ].filter(Boolean);
  return (
    <div class={`ending ${turn.status}`} data-testid="ending">
      <span class={`codicon codicon-${icon}`} aria-hidden="true" /> {facts.join(' · ')}
    </div>
  );
}

/** What a service charges by its list; nothing for a model on this machine. */
function price(usd: number | null): string | null {
  if (usd === null) return 'price unknown';
  return usd > 0 ? `$${usd.toFixed(4)}` : null;
}

/** After a few seconds it also counts them, so that a slow model is told from a stuck one. */
function Working() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="working">
      <i /> <span>Working{seconds >= 3 && ` · ${clock(seconds)}`}</span>
    </div>
  );
}
