// One tool call: a line that says what it was and who decided, its question while one is open, and all the rest inside.
import { Fragment } from 'preact';
import type { JsonValue } from '../contract';
import type { FromWebview } from '../messages';
import { sentence } from '../problem';
import { duration, visible, visibleLine } from '../text';
import { isOpen, type ApprovalItem, type ToolItem } from '../view';
import { Approval, Asked, outcomeWords } from './approval';
import { Words } from './problem';

interface Props {
  readonly item: ToolItem;
  /** The question that this call led to. */
  readonly approval: ApprovalItem | null;
  /** The turn has ended: what has no result by now gets none. */
  readonly over: boolean;
  readonly send: (message: FromWebview) => void;
}

const LINES_SHOWN = 8;

type State = 'running' | 'waiting' | 'ok' | 'declined' | 'failed' | 'unfinished';

const STATES: { readonly [state in State]: { readonly icon: string; readonly label: string } } = {
  running: { icon: 'loading codicon-modifier-spin', label: 'running' },
  waiting: { icon: 'bell', label: 'waits for you' },
  ok: { icon: 'check', label: 'done' },
  declined: { icon: 'circle-slash', label: 'denied' },
  failed: { icon: 'error', label: 'not done' },
  unfinished: { icon: 'circle-slash', label: 'not finished' },
};

export function Tool({ item, approval, over, send }: Props) {
  const { result } = item;
  const state = stateOf({ item, approval, over });
  const target = item.arguments['path'] ?? item.arguments['command'] ?? item.arguments['query'] ?? item.arguments['pattern'];
  return (
    <>
      <details class={`tool ${state}`} data-testid="tool">
        <summary>
          <span class={`codicon codicon-${STATES[state].icon}`} role="img" aria-label={STATES[state].label} />
          <span class="name">{item.tool}</span>
          {typeof target === 'string' && <span class="target" title={visibleLine(target)}>{visibleLine(target)}</span>}
          <Decided item={item} approval={approval} state={state} />
          {result && <span class="took">{duration(result.duration_ms)}</span>}
          <span class="codicon codicon-chevron-right more" aria-hidden="true" />
        </summary>
        <Details item={item} approval={approval} />
        {result?.changed_files.map((path) => (
          <button key={path} type="button" class="link" onClick={() => send({ type: 'open_file', path })}>
            Open {visibleLine(path)}
          </button>
        ))}
      </details>
      {state === 'running' && item.printed && (
        <pre class="printed" data-testid="printed" aria-label="What it prints">{lastLines(visible(item.printed))}</pre>
      )}
      {approval && isOpen(approval) && <Approval item={approval} send={send} />}
    </>
  );
}

/** As much as is read while it runs; the result has the rest. */
function lastLines(text: string): string {
  return text.split('\n').slice(-LINES_SHOWN).join('\n');
}

function stateOf({ item, approval, over }: Omit<Props, 'send'>): State {
  if (item.result) return item.result.ok ? 'ok' : approval?.outcome?.decision === 'deny' ? 'declined' : 'failed';
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
  return result?.ok === true && result.decision === 'review_required' && approval === null;
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
