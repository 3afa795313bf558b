// One tool call: a line with the call and who decided, its question while one is open, and all details in a fold.
import { Fragment } from 'preact';
import type { FilePlace, FromWebview } from '../chat/messages';
import { outcomeWords, type Outcome } from '../chat/outcome';
import { failureOf } from '../chat/repeats';
import { count, isOpen, ranProgram, RUNS_PROGRAMS, wentWell, type ApprovalItem, type ToolItem } from '../chat/view';
import type { JsonValue, ToolResultEvent } from '../contract';
import { sentence } from '../problem';
import { duration, visibleLine } from '../text';
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
/** The arguments that a call's line shows: the first that the call has. */
const TARGETS = ['path', 'command', 'query', 'pattern', 'work', 'process', 'url', 'name'] as const;
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
  const { approval, over, own, current, told, repeated, gone } = row;
  const { result } = item;
  const state = stateOf(item, row);
  const target = TARGETS.map((name) => item.arguments[name]).find((value) => value !== undefined);
  const summary = (
    <>
      <span class={`codicon codicon-${STATES[state].icon}`} role="img" aria-label={say(STATES[state].label)} />
      <span class="name">{item.tool}</span>
      {typeof target === 'string' && <span class="target" title={visibleLine(target)}>{visibleLine(target)}</span>}
      {state === 'ended_badly' && <span class="refusal" data-testid="failure">{sentence(visibleLine(result!.summary))}</span>}
      <Decided item={item} approval={approval} state={state} told={told} />
      {result && <span class="took">{state === 'ok' && result.exit_code !== null && `${say('exit code 0')} · `}{duration(result.duration_ms)}</span>}
      <span class="codicon codicon-chevron-right more" aria-hidden="true" />
    </>
  );
  return (
    <>
      {/* Open by default for a call that the person typed (such as `/undo`), because its result is the answer; a command prints its answer. */}
      <Fold class={`tool ${state}`} name={row.key} begin={own && !RUNS_PROGRAMS.includes(item.tool)} testid="tool" summary={summary}>
        <Details row={row} item={item} open={open} />
        {result?.changed_files.filter((path) => !gone.has(path)).map((path) => (
          <button key={path} type="button" class="link" onClick={() => open({ path, line: null, column: 1 })}>
            {say('Open {0}', visibleLine(path))}
          </button>
        ))}
      </Fold>
      {item.tool === PLAN && result?.ok && <Plan text={asText(item.arguments['plan'] ?? '')} open={open} />}
      {item.printed && repeated !== 'all' && <Printed name={row.key} text={item.printed} over={over || result !== null} begun={repeated === 'beginning'} open={open} />}
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
  /** Whether the answer has the beginning of the output. */
  readonly begun: boolean;
  readonly open: (place: FilePlace) => void;
}

/** The output of a command: its last lines while it runs; afterwards a button shows all that was kept. */
function Printed({ name, text, over, begun, open }: PrintedProps) {
  const [all, setAll] = useKept(`printed ${name}`, false);
  const lines = text.split('\n');
  const hidden = lines.length - LINES_SHOWN;
  const shown = over && all ? text : lines.slice(-LINES_SHOWN).join('\n');
  return (
    <div class="printed">
      {over && hidden > 0 && (
        <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {!all ? say('Show all {0}', count(lines.length, 'line')) : begun ? say('Show less') : say('Show the last {0} lines only', LINES_SHOWN)}
        </button>
      )}
      {(all || !begun) && <pre data-testid="printed" tabIndex={0} role="group" aria-label={over ? say('What it printed') : say('What it prints')}><Placed text={shown} open={open} /></pre>}
    </div>
  );
}

/** Remarks about a command besides its output: its changes, its network, and that not all output was kept. */
function Remarks({ result }: { readonly result: ToolResultEvent }) {
  const notes = Array.isArray(result.data['notes']) ? result.data['notes'] : [];
  const cut = ranProgram(result) && result.data['truncated'] === true
    ? [say('The output was too long to keep. To get all of it, let the command write to a file.')] : [];
  return <>{[...notes, ...cut].map((note, index) => <p key={index} class="remark"><Words text={String(note)} /></p>)}</>;
}

function stateOf(item: ToolItem, { approval, over }: ItemRow): State {
  if (item.result) {
    if (wentWell(item.result)) return 'ok';
    if (item.result.ok || ranProgram(item.result)) return 'ended_badly';
    return settled(item, approval)?.decision === 'deny' ? 'declined' : 'failed';
  }
  if (over) return 'unfinished';
  return approval && isOpen(approval) ? 'waiting' : 'running';
}

/** How the question about a call ended: as it was shown, or as the result tells it where nobody was asked here. */
function settled({ result }: ToolItem, approval: ApprovalItem | null): Outcome | null {
  return approval?.outcome ?? result?.answer ?? null;
}

interface DecidedProps {
  readonly item: ToolItem;
  readonly approval: ApprovalItem | null;
  readonly state: State;
  readonly told: boolean;
}

/** Which rule decided and what the person answered, or why the call was not done. */
function Decided({ item, approval, state, told }: DecidedProps) {
  const { result } = item;
  const outcome = settled(item, approval);
  const answer = outcome && <b data-testid="outcome">{outcomeWords(outcome)}</b>;
  if (state === 'failed') {
    return <span class="refusal"><Words text={told || !result ? say('Not done') : sentence(failureOf(result) ?? '')} /></span>;
  }
  const rule = result && state !== 'declined' && (result.rules[0] ?? (answer ? null : decisionWords(result)));
  if (!rule && !answer) return null;
  return <span class="decided" title={say('Who decided')}>{rule}{rule && answer && ' · '}{answer}</span>;
}

const DECISIONS: { readonly [decision: string]: string } = {
  allowed: 'allowed',
  denied: 'denied by policy',
  refused_by_gate: 'outside the intent',
  refused: 'refused before policy was asked',
};

/** How it was decided whether a call runs. A call that needed approval, and was never asked about, ended before. */
function decisionWords({ decision, answer }: ToolResultEvent): string {
  if (decision === 'review_required') return answer ? outcomeWords(answer) : say('ended before you were asked');
  return say(DECISIONS[decision] ?? decision);
}

function Details({ row, item, open }: Omit<Props, 'send'>) {
  const { result } = item;
  const { approval, own } = row;
  const whole = (name: string, text: string) => (
    <pre tabIndex={0} role="group" aria-label={name}><Capped name={`${name} ${row.key}`} text={text}>{(part) => <Placed text={part} open={open} />}</Capped></pre>
  );
  return (
    <>
      <dl>
        {Object.entries(item.arguments).map(([name, value]) => (
          <Fragment key={name}><dt>{name}</dt><dd>{whole(name, asText(value))}</dd></Fragment>
        ))}
        {result?.ok && result.summary && <><dt>{say('result')}</dt><dd><Words text={result.summary} /></dd></>}
        {result?.error?.fix && <><dt>{say('what helps')}</dt><dd><Words text={sentence(result.error.fix)} /></dd></>}
        {result?.output && result.output !== result.summary && !(own && result.error) && <><dt>{say('model saw')}</dt><dd>{whole(say('model saw'), result.output)}</dd></>}
        {result && result.exit_code !== null && <><dt>{say('exit code')}</dt><dd>{result.exit_code}</dd></>}
        {result && (
          <>
            <dt>{say('decided')}</dt>
            <dd>{decisionWords(result)}{result.rules.length > 0 && ` (${result.rules.join(', ')})`}</dd>
          </>
        )}
        {result?.reasons.map((reason, index) => (
          <Fragment key={index}><dt>{index === 0 ? say('because') : ''}</dt><dd><Words text={reason.reason} /></dd></Fragment>
        ))}
      </dl>
      {approval?.outcome && <Asked item={approval} />}
    </>
  );
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
