// The rows of a conversation: the person's message, each step's intent, each tool call as one line, the answer, and how the turn ended.
import { Fragment } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { YES, type FilePlace, type FromWebview } from '../chat/messages';
import { reasonLeft } from '../chat/repeats';
import { count, folderName, isOpen, type IntentItem, type NoteItem } from '../chat/view';
import type { FileOutcome } from '../contract';
import { clock, duration, visible, visibleLine } from '../text';
import { say } from '../words';
import { Answer } from './answer';
import { Outcome, Question } from './approval';
import { Capped, Fold } from './fold';
import { Guard } from './guard';
import { Trouble, Words } from './problem';
import type { AskedRow, EndingRow, ItemRow, Row } from './rows';
import { Tool } from './tool';

type Send = (message: FromWebview) => void;

interface RowProps {
  readonly row: Row;
  readonly send: Send;
}

/** One row of the conversation. It is drawn again only if something in it has changed. */
export const RowView = memo(({ row, send }: RowProps) => (
  <Guard words={say('This part of the chat cannot be shown. It is still in the session.')}>
    {row.kind === 'asked' ? <Asking row={row} send={send} /> : row.kind === 'ending' ? <Ending turn={row.turn} last={row.last} gone={row.gone} send={send} /> : <ItemView row={row} send={send} />}
  </Guard>
), (before, after) => isSameRow(before.row, after.row));

function isSameRow(before: Row, after: Row): boolean {
  const old = before as unknown as { readonly [key: string]: unknown };
  return Object.entries(after).every(([key, value]) => old[key] === value);
}

/** The person's message, with its attachments and the button to edit it and ask again. */
function Asking({ row: { turn, idle }, send }: { readonly row: AskedRow; readonly send: Send }) {
  const folder = folderName(turn);
  return (
    <>
      <h2 class="asked">
        <span class="only-read">{say('You asked:')} </span><Capped name={`asked ${turn.turn_id}`} text={turn.prompt}>{(text) => text}</Capped>
      </h2>
      {turn.attached.length > 0 && (
        <ul class="attached" aria-label={say('Attached')}>{turn.attached.map((each) => <li key={each}>{visibleLine(each)}</li>)}</ul>
      )}
      {folder !== null && (
        <div class="folder" title={visibleLine(turn.workspace ?? '')} data-testid="folder">{say('in the folder')} <b>{visibleLine(folder)}</b></div>
      )}
      {idle && turn.started !== null && (
        <button
          type="button" class="icon back" title={say('Edit and ask again: continues in a copy of the session; files do not change')}
          aria-label={say('Edit and ask again: {0}', turn.prompt.slice(0, 80))} onClick={() => send({ type: 'fork', turn_id: turn.turn_id, ask_again: true })}
        >
          <span class="codicon codicon-edit" aria-hidden="true" />
        </button>
      )}
    </>
  );
}

function ItemView({ row, send }: { readonly row: ItemRow; readonly send: Send }) {
  const { item, turnId, current } = row;
  const open = (place: FilePlace): void => send({ type: 'open_file', turn_id: turnId, place });
  switch (item.kind) {
    case 'text':
      return <Answer text={item.text} open={open} />;
    case 'thinking':
      return (
        <Fold class="thinking" name={row.key} summary={say('Thinking')}>
          <p><Capped name={`all ${row.key}`} text={item.text}>{(text) => text}</Capped></p>
        </Fold>
      );
    case 'intent':
      return <Intent item={item} />;
    case 'tool':
      return <Tool row={row} item={item} open={open} send={send} />;
    case 'approval':
      return isOpen(item) ? <Question item={item} row={row} send={send} /> : <Outcome item={item} />;
    case 'note':
      return item.error ? <Trouble problem={item.error} current={current} send={send} /> : <Note item={item} />;
  }
}

const INTENT_KIND = {
  PLAN: 'think', ANALYZE: 'think', READ_FILE: 'read', CODE: 'write', WRITE_FILE: 'write', DEBUG: 'run', EXECUTE: 'run',
} as const;

function Intent({ item }: { readonly item: IntentItem }) {
  const tools = item.allowed_tools.length > 0 ? say('may use {0}', item.allowed_tools.join(', ')) : say('may use no tools');
  return (
    <div class="intent">
      <span class={`badge ${INTENT_KIND[item.intent]}`} title={say('Intent: {0}', tools)} data-testid="intent">
        <span class="only-read">{say('Intent:')} </span>{item.intent.replace('_', ' ')}
      </span>
      {item.previous && <span class="muted">{say('instead of {0}', item.previous.replace('_', ' '))}</span>}
      {item.justification && <span class="why">{visible(item.justification)}</span>}
    </div>
  );
}

function Note({ item }: { readonly item: NoteItem }) {
  return (
    <div class={`note ${item.level}`} role="note" data-testid={`note-${item.level}`}>
      <span class={`codicon codicon-${item.level}`} aria-hidden="true" />
      <div><Words text={item.text} /></div>
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

interface EndingProps extends Omit<EndingRow, 'kind' | 'key'> {
  readonly send: Send;
}

function Ending({ turn, last, gone, send }: EndingProps) {
  if (turn.status === 'running') {
    const waiting = turn.items.some((item) => item.kind === 'approval' && isOpen(item));
    return waiting ? null : <Working read={turn.read} />;
  }
  // A turn that did only part of what was asked for gets no check mark.
  const [icon, word] = turn.status === 'completed' && turn.reason ? ['info', 'Not all done'] as const : ENDINGS[turn.status];
  const calls = turn.items.filter((item) => item.kind === 'tool').length;
  const tokens = turn.usage ? turn.usage.prompt_tokens + turn.usage.completion_tokens : 0;
  const took = turn.started && turn.ended ? Date.parse(turn.ended) - Date.parse(turn.started) : null;
  const why = reasonLeft(turn);
  const facts = [
    calls > 0 && count(calls, 'call'),
    tokens > 0 && count(tokens, 'token'),
    turn.usage && price(turn.usage.price_usd),
    took !== null && duration(took),
  ].filter(Boolean);
  return <>
    {last && turn.suggestion !== null && <Suggested sentence={turn.suggestion} send={send} />}
    {turn.changes.length > 0 && <Changes turn={turn} last={last} gone={gone} send={send} />}
    <div class={`ending ${turn.status}`} data-testid="ending">
      <span class={`codicon codicon-${icon}`} aria-hidden="true" /> <span>
        <Words text={[say(word), why].filter(Boolean).join(' · ')} />
        {facts.map((fact, index) => <Fragment key={index}> · <span class="fact">{fact}</span></Fragment>)}
      </span>
      {turn.started !== null && (
        <button
          type="button" class="icon fork" title={say('Fork: continues from here in a copy of the session; files do not change')}
          aria-label={say('Fork after: {0}', turn.prompt.slice(0, 80))} onClick={() => send({ type: 'fork', turn_id: turn.turn_id, ask_again: false })}
        >
          <span class="codicon codicon-repo-forked" aria-hidden="true" />
        </button>
      )}
    </div>
  </>;
}

/** The button that answers the model's question with a yes (MOD-29). */
function Suggested({ sentence, send }: { readonly sentence: string; readonly send: Send }) {
  const does = say('Yes: {0}', visibleLine(sentence));
  return (
    <div class="suggested">
      <button type="button" class="primary" data-testid="yes" title={does} aria-label={does} onClick={() => send({ type: 'ask', text: YES, attachments: [] })}>
        {say('Yes')}
      </button>
    </div>
  );
}

/** The files that a turn changed. Each that is still there can be opened, and the last turn's changes can be taken back. */
function Changes({ turn, last, gone, send }: EndingProps) {
  return (
    <div class="changes" data-testid="changes">
      <ul aria-label={say('Changed files')}>
        {turn.changes.map((change) => (
          <li key={change.path}>
            {gone.has(change.path)
              ? <span>{visibleLine(change.path)}</span>
              : <button type="button" class="link" onClick={() => send({ type: 'open_file', turn_id: turn.turn_id, place: { path: change.path, line: null, column: 1 } })}>
                {visibleLine(change.path)}
              </button>}
            {change.how !== 'changed' && <span class="muted"> {HOW[change.how](change)}</span>}
            {change.added !== null && <span class="plus"> +{change.added}</span>}
            {change.removed !== null && <span class="minus"> −{change.removed}</span>}
          </li>
        ))}
      </ul>
      {last && turn.taken_back_by === 'undo' && <button type="button" class="secondary" onClick={() => send({ type: 'undo' })}>{say('Undo')}</button>}
      {last && turn.taken_back_by === 'redo' && <button type="button" class="secondary" onClick={() => send({ type: 'redo' })}>{say('Redo')}</button>}
    </div>
  );
}

const HOW = {
  created: () => say('new'),
  deleted: () => say('deleted'),
  moved: ({ moved_from }: FileOutcome) => (moved_from === null ? say('moved') : say('moved from {0}', visibleLine(moved_from))),
} as const;

/** The price by the service's price list; null for a model on this machine, which costs nothing. */
function price(usd: number | null): string | null {
  if (usd === null) return say('price unknown');
  return usd > 0 ? `$${usd.toFixed(4)}` : null;
}

/** Shows that the turn runs, and after a few seconds for how long, to tell a slow model from a stuck one. */
function Working({ read }: { readonly read: number | null }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="working">
      <i /> <span>{read === null ? say('Working') : say('The model reads the prompt: {0} %', read)}{seconds >= 3 && ` · ${clock(seconds)}`}</span>
    </div>
  );
}
