// One tool call: a line with the call and who decided, its question while one is open, and all details in a fold.
import { Fragment } from 'preact';
import type { FilePlace, FromWebview } from '../chat/messages';
import { outcomeWords } from '../chat/outcome';
import { count, isOpen, ranProgram, wentWell, type ApprovalItem, type ToolItem } from '../chat/view';
import type { JsonValue, ToolResultEvent } from '../contract';
import { sentence } from '../problem';
import { duration, visible, visibleLine } from '../text';
import { say } from '../words';
import { Asked, Question } from './approval';
import { Capped, Fold } from './fold';
import { useKept } from './kept';
import { Placed } from './placed';
import { Words } from './problem';
import type { ItemRow } from './rows';

interface Props {
  readonly row: ItemRow;
  readonly item: ToolItem;
  readonly open: (place: FilePlace) => void;
  readonly send: (message: FromWebview) => void;
}

const LINES_SHOWN = 8;
/** The tool that the model calls with its finished plan. */
const PLAN = 'plan_complete';

/** `ended_badly`: the program of the call reported a failure or was stopped at a limit. */
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

export function Tool({ row, item, open, send }: Props) {
  const { approval, over, own, current } = row;
  const { result } = item;
  const state = stateOf(item, row);
  const target = item.arguments['path'] ?? item.arguments['command'] ?? item.arguments['query'] ?? item.arguments['pattern'] ?? item.arguments['work'];
  const summary = (
    <>
      <span class={`codicon codicon-${STATES[state].icon}`} role="img" aria-label={say(STATES[state].label)} />
      <span class="name">{item.tool}</span>
      {typeof target === 'string' && <span class="target" title={visibleLine(target)}>{visibleLine(target)}</span>}
      {state === 'ended_badly' && <span class="refusal" data-testid="failure">{sentence(visibleLine(result!.summary))}</span>}
      <Decided item={item} approval={approval} state={state} />
      {result && <span class="took">{state === 'ok' && result.exit_code !== null && `${say('exit code 0')} · `}{duration(result.duration_ms)}</span>}
      <span class="codicon codicon-chevron-right more" aria-hidden="true" />
    </>
  );
  return (
    <>
      {/* Open by default for a call that the person typed (`!command` or `/undo`), because its result is the answer. */}
      <Fold class={`tool ${state}`} name={row.key} begin={own} testid="tool" summary={summary}>
        <Details row={row} item={item} open={open} />
        {result?.changed_files.map((path) => (
          <button key={path} type="button" class="link" onClick={() => open({ path, line: null, column: 1 })}>
            {say('Open {0}', visibleLine(path))}
          </button>
        ))}
      </Fold>
      {item.tool === PLAN && result?.ok && <Plan text={asText(item.arguments['plan'] ?? '')} open={open} />}
      {item.printed && <Printed name={row.key} text={item.printed} over={over || result !== null} open={open} />}
      {result && <Remarks result={result} />}
      {current && result?.error?.code === 'stale' && (
        <button type="button" class="secondary retry" onClick={() => send({ type: 'mend', remedy: 'again' })}>{say('Ask Again')}</button>
      )}
      {approval && isOpen(approval) && <Question item={approval} row={row} send={send} />}
    </>
  );
}

/** The plan as the model gave it. It shows no progress, because no event reports any. */
function Plan({ text, open }: { readonly text: string; readonly open: (place: FilePlace) => void }) {
  return <div class="printed plan"><pre data-testid="plan" tabIndex={0} role="group" aria-label={say('The plan')}><Placed text={text} open={open} /></pre></div>;
}

interface PrintedProps {
  readonly name: string;
  readonly text: string;
  readonly over: boolean;
  readonly open: (place: FilePlace) => void;
}

/** The output of a command: its last lines while it runs; afterwards a button shows all that was kept. */
function Printed({ name, text, over, open }: PrintedProps) {
  const [all, setAll] = useKept(`printed ${name}`, false);
  const lines = text.split('\n');
  const hidden = lines.length - LINES_SHOWN;
  const shown = over && all ? text : lines.slice(-LINES_SHOWN).join('\n');
  return (
    <div class="printed">
      {over && hidden > 0 && (
        <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? say('Show the last {0} lines only', LINES_SHOWN) : say('Show all {0}', count(lines.length, 'line'))}
        </button>
      )}
      <pre data-testid="printed" tabIndex={0} role="group" aria-label={over ? say('What it printed') : say('What it prints')}><Placed text={shown} open={open} /></pre>
    </div>
  );
}

/** Remarks about a command besides its output: its changes, its network, and that not all output was kept. */
function Remarks({ result }: { readonly result: ToolResultEvent }) {
  const notes = Array.isArray(result.data['notes']) ? result.data['notes'] : [];
  const cut = ranProgram(result) && result.data['truncated'] === true
    ? [say('The output was too long to keep. To get all of it, let the command write to a file.')] : [];
  return <>{[...notes, ...cut].map((note, index) => <p key={index} class="remark">{visible(String(note))}</p>)}</>;
}

function stateOf(item: ToolItem, { approval, over }: ItemRow): State {
  if (item.result) {
    if (wentWell(item.result)) return 'ok';
    if (item.result.ok || ranProgram(item.result)) return 'ended_badly';
    return approval?.outcome?.decision === 'deny' ? 'declined' : 'failed';
  }
  if (over) return 'unfinished';
  return approval && isOpen(approval) ? 'waiting' : 'running';
}

/** Which rule decided and what the person answered, or why the call was not done. */
function Decided({ item, approval, state }: { readonly item: ToolItem; readonly approval: ApprovalItem | null; readonly state: State }) {
  const { result } = item;
  const said = approval?.outcome ? outcomeWords(approval.outcome) : null;
  const answer = said && <b data-testid="outcome">{said}</b>;
  if (state === 'failed') {
    const error = result?.error;
    return <span class="refusal"><Words text={sentence(error ? `${error.what}: ${error.why}` : result?.summary ?? '')} /></span>;
  }
  const rule = result && state !== 'declined' && (result.rules[0] ?? decisionWords(result.decision));
  if (!rule && !answer) return null;
  return <span class="decided" title={say('Who decided')}>{rule}{rule && answer && ' · '}{answer}</span>;
}

const DECISIONS: { readonly [decision: string]: string } = {
  allowed: 'allowed',
  review_required: 'to be reviewed',
  denied: 'denied by policy',
  refused_by_gate: 'outside the intent',
  refused: 'refused before policy was asked',
};

function decisionWords(decision: string): string {
  const words = DECISIONS[decision];
  return words === undefined ? decision : say(words);
}

function Details({ row, item, open }: Omit<Props, 'send'>) {
  const { result } = item;
  const { approval } = row;
  const whole = (name: string, text: string) => (
    <pre tabIndex={0} role="group" aria-label={name}><Capped name={`${name} ${row.key}`} text={text}>{(part) => <Placed text={part} open={open} />}</Capped></pre>
  );
  return (
    <>
      <dl>
        {Object.entries(item.arguments).map(([name, value]) => (
          <Fragment key={name}><dt>{name}</dt><dd>{whole(name, asText(value))}</dd></Fragment>
        ))}
        {result?.ok && result.summary && <><dt>{say('result')}</dt><dd>{visible(result.summary)}</dd></>}
        {result?.output && <><dt>{say('model saw')}</dt><dd>{whole(say('model saw'), result.output)}</dd></>}
        {result && result.exit_code !== null && <><dt>{say('exit code')}</dt><dd>{result.exit_code}</dd></>}
        {result && (
          <>
            <dt>{say('decided')}</dt>
            <dd>{decisionWords(result.decision)}{result.rules.length > 0 && ` (${result.rules.join(', ')})`}</dd>
          </>
        )}
        {result?.reasons.map((reason, index) => (
          <Fragment key={index}><dt>{index === 0 ? say('because') : ''}</dt><dd>{visible(reason.reason)}</dd></Fragment>
        ))}
      </dl>
      {approval?.outcome && <Asked item={approval} />}
    </>
  );
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
