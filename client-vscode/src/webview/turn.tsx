// One turn: what was asked, each step's intent, each tool call as one line, the answer, how it ended.
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { ErrorPayload, JsonValue } from '../contract';
import type { FromWebview } from '../messages';
import { duration, visible, visibleLine } from '../text';
import { count, type IntentItem, type Item, type NoteItem, type ToolItem, type Turn } from '../view';
import { Approval } from './approval';
import { markdown } from './markdown';

type Send = (message: FromWebview) => void;

export const TurnView = memo(({ turn, send }: { readonly turn: Turn; readonly send: Send }) => (
  <article class="turn" aria-label={`Turn: ${turn.prompt.slice(0, 80)}`}>
    <div class="asked"><span class="only-read">You asked: </span>{turn.prompt}</div>
    {turn.items.map((item) => <ItemView key={`${item.kind}-${item.id}`} item={item} send={send} />)}
    <Ending turn={turn} />
  </article>
));

const ItemView = memo(({ item, send }: { readonly item: Item; readonly send: Send }) => {
  switch (item.kind) {
    case 'text':
      return <Answer text={item.text} />;
    case 'thinking':
      return <details class="thinking"><summary>Thinking</summary><p>{item.text}</p></details>;
    case 'intent':
      return <Intent item={item} />;
    case 'tool':
      return <Tool item={item} send={send} />;
    case 'approval':
      return <Approval item={item} send={send} />;
    case 'note':
      return <Note item={item} />;
  }
});

function Answer({ text }: { readonly text: string }) {
  const html = useMemo(() => markdown(text), [text]);
  return <div class="answer" data-testid="answer" dangerouslySetInnerHTML={{ __html: html }} />;
}

const INTENT_KIND = {
  PLAN: 'think', ANALYZE: 'think', READ_FILE: 'read', CODE: 'write', WRITE_FILE: 'write', DEBUG: 'run', EXECUTE: 'run',
} as const;

function Intent({ item }: { readonly item: IntentItem }) {
  const tools = item.allowed_tools.length > 0 ? `may use ${item.allowed_tools.join(', ')}` : 'may use no tools';
  return (
    <div class="intent">
      <span class={`badge ${INTENT_KIND[item.intent]}`} title={tools} data-testid="intent">
        <span class="only-read">Intent: </span>{item.intent.replace('_', ' ')}
      </span>
      {item.previous && <span class="muted">instead of {item.previous.replace('_', ' ')}</span>}
      {item.justification && <span class="why">{item.justification}</span>}
    </div>
  );
}

function Tool({ item, send }: { readonly item: ToolItem; readonly send: Send }) {
  const { result } = item;
  const state = result === null ? 'pending' : result.ok ? 'ok' : 'failed';
  const icon = { pending: 'loading codicon-modifier-spin', ok: 'check', failed: 'error' }[state];
  const target = item.arguments['path'] ?? item.arguments['command'] ?? item.arguments['query'] ?? item.arguments['pattern'];
  return (
    <details class={`tool ${state}`} data-testid="tool">
      <summary>
        <span class={`codicon codicon-${icon}`} role="img" aria-label={STATES[state]} />
        <span class="name">{item.tool}</span>
        {typeof target === 'string' && <span class="target" title={visibleLine(target)}>{visibleLine(target)}</span>}
        {result && <span class="decided" title="Who decided">{decidedBy(item)}</span>}
        {result && <span class="took">{duration(result.duration_ms)}</span>}
      </summary>
      <dl>
        {Object.entries(item.arguments).map(([name, value]) => (
          <><dt>{name}</dt><dd><pre tabIndex={0}>{visible(asText(value))}</pre></dd></>
        ))}
        {result?.summary && <><dt>result</dt><dd><pre tabIndex={0}>{visible(result.summary)}</pre></dd></>}
        {result && result.exit_code !== null && <><dt>exit code</dt><dd>{result.exit_code}</dd></>}
        {result && <><dt>decided</dt><dd>{result.decision}{result.rules.length > 0 && ` by ${result.rules.join(', ')}`}</dd></>}
        {result?.reasons.map((reason, index) => <><dt>{index === 0 ? 'because' : ''}</dt><dd>{visible(reason.reason)}</dd></>)}
      </dl>
      {result?.error && <Problem error={result.error} />}
      {result?.changed_files.map((path) => (
        <button key={path} type="button" class="link" onClick={() => send({ type: 'open_file', path })}>
          Open {visibleLine(path)}
        </button>
      ))}
    </details>
  );
}

const STATES = { pending: 'running', ok: 'done', failed: 'not done' } as const;

function decidedBy({ result }: ToolItem): string {
  return result?.rules[0] ?? result?.decision ?? '';
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function Note({ item }: { readonly item: NoteItem }) {
  return (
    <div class={`note ${item.level}`} role={item.level === 'error' ? 'alert' : 'note'} data-testid={`note-${item.level}`}>
      <span class={`codicon codicon-${item.level}`} aria-hidden="true" />
      <div>{item.error ? <Problem error={item.error} /> : visible(item.text)}</div>
    </div>
  );
}

function Problem({ error }: { readonly error: Pick<ErrorPayload, 'what' | 'why' | 'fix'> }) {
  return (
    <div class="problem">
      <strong>{sentence(error.what)}.</strong> {sentence(error.why)}. <span class="fix">{sentence(error.fix)}.</span>
    </div>
  );
}

function sentence(text: string): string {
  return visible(text.charAt(0).toUpperCase() + text.slice(1));
}

const ENDINGS = {
  completed: ['check', 'Done'],
  failed: ['error', 'Failed'],
  cancelled: ['circle-slash', 'Stopped'],
  denied: ['circle-slash', 'Denied'],
  timed_out: ['watch', 'Out of time'],
} as const;

function Ending({ turn }: { readonly turn: Turn }) {
  if (turn.status === 'running') {
    const waiting = turn.items.some((item) => item.kind === 'approval' && item.outcome === null);
    return waiting ? null : <div class="working" role="status"><i /><span class="only-read">working</span></div>;
  }
  const [icon, word] = ENDINGS[turn.status];
  const calls = turn.items.filter((item) => item.kind === 'tool').length;
  const took = turn.started && turn.ended ? Date.parse(turn.ended) - Date.parse(turn.started) : null;
  const facts = [
    word,
    calls > 0 && count(calls, 'call'),
    turn.usage && count(turn.usage.prompt_tokens + turn.usage.completion_tokens, 'token'),
    took !== null && duration(took),
  ].filter(Boolean);
  return (
    <div class={`ending ${turn.status}`} data-testid="ending">
      <span class={`codicon codicon-${icon}`} aria-hidden="true" /> {facts.join(' · ')}
    </div>
  );
}
