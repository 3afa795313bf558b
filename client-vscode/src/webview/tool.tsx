// One tool call: a line that says what it was and who decided, its question while one is open, and all the rest inside.
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { FromWebview } from '../chat/messages';
import { count, isOpen, wentWell, type ApprovalItem, type ToolItem } from '../chat/view';
import type { JsonValue, ToolResultEvent } from '../contract';
import { sentence } from '../problem';
import { duration, visible, visibleLine } from '../text';
import { Approval, Asked, outcomeWords } from './approval';
import { Words } from './problem';

interface Props {
  readonly item: ToolItem;
  /** The question that this call led to. */
  readonly approval: ApprovalItem | null;
  /** The turn has ended: what has no result by now gets none. */
  readonly over: boolean;
  /** It is the person's own, typed as `!command` or `/undo`: what it came to is the answer, and shown. */
  readonly own: boolean;
  /** The turn that the call belongs to. */
  readonly turnId: string;
  readonly send: (message: FromWebview) => void;
}

const LINES_SHOWN = 8;

/** `ended_badly`: it was done, and the program that it ran says that something went wrong. */
type State = 'running' | 'waiting' | 'ok' | 'ended_badly' | 'declined' | 'failed' | 'unfinished';

const STATES: { readonly [state in State]: { readonly icon: string; readonly label: string } } = {
  running: { icon: 'loading codicon-modifier-spin', label: 'running' },
  waiting: { icon: 'bell', label: 'waits for you' },
  ok: { icon: 'check', label: 'done' },
  ended_badly: { icon: 'error', label: 'failed' },
  declined: { icon: 'circle-slash', label: 'denied' },
  failed: { icon: 'error', label: 'not done' },
  unfinished: { icon: 'circle-slash', label: 'not finished' },
};

export function Tool({ item, approval, over, own, turnId, send }: Props) {
  const { result } = item;
  const state = stateOf({ item, approval, over });
  const target = item.arguments['path'] ?? item.arguments['command'] ?? item.arguments['query'] ?? item.arguments['pattern'];
  return (
    <>
      <details class={`tool ${state}`} open={own} data-testid="tool">
        <summary>
          <span class={`codicon codicon-${STATES[state].icon}`} role="img" aria-label={STATES[state].label} />
          <span class="name">{item.tool}</span>
          {typeof target === 'string' && <span class="target" title={visibleLine(target)}>{visibleLine(target)}</span>}
          {state === 'ended_badly' && <span class="refusal" data-testid="failure">{sentence(visibleLine(result!.summary))}</span>}
          <Decided item={item} approval={approval} state={state} />
          {result && <span class="took">{state === 'ok' && result.exit_code !== null && 'exit code 0 · '}{duration(result.duration_ms)}</span>}
          <span class="codicon codicon-chevron-right more" aria-hidden="true" />
        </summary>
        <Details item={item} approval={approval} />
        {result?.changed_files.map((path) => (
          <button key={path} type="button" class="link" onClick={() => send({ type: 'open_file', turn_id: turnId, path })}>
            Open {visibleLine(path)}
          </button>
        ))}
      </details>
      {item.printed && <Printed text={visible(item.printed)} over={over || result !== null} />}
      {result && <Remarks result={result} />}
      {approval && isOpen(approval) && <Approval item={approval} send={send} />}
    </>
  );
}

/** What a command prints: its last lines while it runs, and afterwards all that is kept of it, behind a button where it is long. */
function Printed({ text, over }: { readonly text: string; readonly over: boolean }) {
  const [all, setAll] = useState(false);
  const lines = text.split('\n');
  const hidden = lines.length - LINES_SHOWN;
  const shown = over && all ? text : lines.slice(-LINES_SHOWN).join('\n');
  return (
    <div class="printed">
      {over && hidden > 0 && (
        <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Show the last ${LINES_SHOWN} lines only` : `Show all ${count(lines.length, 'line')}`}
        </button>
      )}
      <pre data-testid="printed" tabIndex={0} aria-label={over ? 'What it printed' : 'What it prints'}>{shown}</pre>
    </div>
  );
}

/** What is to be said of a command besides what it printed: its changes, its network, and that not all is kept. */
function Remarks({ result }: { readonly result: ToolResultEvent }) {
  const notes = Array.isArray(result.data['notes']) ? result.data['notes'] : [];
  const cut = result.ok && result.exit_code !== null && result.data['truncated'] === true
    ? ['More was printed than is kept: to have all of it, let the command write to a file.'] : [];
  return <>{[...notes, ...cut].map((note, index) => <p key={index} class="remark">{visible(String(note))}</p>)}</>;
}

function stateOf({ item, approval, over }: Omit<Props, 'own' | 'turnId' | 'send'>): State {
  if (item.result) return item.result.ok ? (wentWell(item.result) ? 'ok' : 'ended_badly') : approval?.outcome?.decision === 'deny' ? 'declined' : 'failed';
  if (over) return 'unfinished';
  return approval && isOpen(approval) ? 'waiting' : 'running';
}

/** Which rule decided and what the person said; where the call was not done, why not. */
function Decided({ item, approval, state }: { readonly item: ToolItem; readonly approval: ApprovalItem | null; readonly state: State }) {
  const { result } = item;
  const said = approval?.outcome ? outcomeWords(approval.outcome) : reviewedUnasked(item, approval) ? 'Allowed without asking again' : null;
  const answer = said && <b data-testid="outcome">{said}</b>;
  if (state === 'failed') {
    const error = result?.error;
    return <span class="refusal">{error ? <Words text={sentence(`${error.what}: ${error.why}`)} /> : result?.summary}</span>;
  }
  const rule = result && state !== 'declined' && (result.rules[0] ?? DECISIONS[result.decision] ?? result.decision);
  if (!rule && !answer) return null;
  return <span class="decided" title="Who decided">{rule}{rule && answer && ' · '}{answer}</span>;
}

/** The rule wants a review and nobody was asked: an earlier answer covered it. */
function reviewedUnasked({ result }: ToolItem, approval: ApprovalItem | null): boolean {
  // Of a kept session the answers stand beside the calls, and its results have no number.
  return result?.ok === true && result.seq > 0 && result.decision === 'review_required' && approval === null;
}

const DECISIONS: { readonly [decision: string]: string } = {
  allowed: 'allowed',
  review_required: 'to be reviewed',
  denied: 'denied by policy',
  refused_by_gate: 'outside the intent',
  refused: 'refused before policy was asked',
};

function Details({ item, approval }: { readonly item: ToolItem; readonly approval: ApprovalItem | null }) {
  const { result } = item;
  return (
    <>
      <dl>
        {Object.entries(item.arguments).map(([name, value]) => (
          <Fragment key={name}><dt>{name}</dt><dd><pre tabIndex={0}>{visible(asText(value))}</pre></dd></Fragment>
        ))}
        {result?.ok && result.summary && <><dt>result</dt><dd>{visible(result.summary)}</dd></>}
        {result?.output && <><dt>model saw</dt><dd><pre tabIndex={0}>{visible(result.output)}</pre></dd></>}
        {result && result.exit_code !== null && <><dt>exit code</dt><dd>{result.exit_code}</dd></>}
        {result && (
          <>
            <dt>decided</dt>
            <dd>{DECISIONS[result.decision] ?? result.decision}{result.rules.length > 0 && ` (${result.rules.join(', ')})`}</dd>
          </>
        )}
        {result?.reasons.map((reason, index) => (
          <Fragment key={index}><dt>{index === 0 ? 'because' : ''}</dt><dd>{visible(reason.reason)}</dd></Fragment>
        ))}
      </dl>
      {approval?.outcome && <Asked item={approval} />}
    </>
  );
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
