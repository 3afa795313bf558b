// A proposed change to one file, line by line. Long lines wrap, so that nothing is hidden on the right.
import type { FileDiff } from '../contract';
import { added, diffLines, removed, visibleLine, type DiffLine } from '../text';
import { say } from '../words';
import { highlightHunk } from './syntax';
import { isLeftOut, type LeftOutParts, type Part } from '../chat/parts';

const SIGNS = { add: '+', remove: '−', same: '', hunk: '', meta: '' } as const;

/** The actions for leaving out parts of a change. */
export interface Choosing {
  readonly toggle: (part: Part) => void;
  readonly comment: (part: Part, words: string) => void;
}

interface Props {
  readonly diff: FileDiff;
  readonly open: (() => void) | null;
  readonly parts: LeftOutParts;
  readonly choosing: Choosing | null;
}

export function Diff({ diff, open, parts, choosing }: Props) {
  const lines = diffLines(diff.diff);
  const [plus, minus] = [added(lines), removed(lines)];
  const path = visibleLine(diff.path);
  const whole = diff.hunks === 0 ? { path: diff.path, hunk: null } : null;
  return (
    <section class={isLeftOut(parts, { path: diff.path, hunk: null }) ? 'diff left-out' : 'diff'} data-path={diff.path} aria-label={say('Change to {0}', path)}>
      <header>
        <span class="path" title={path}>{path}</span>
        {diff.created && <span class="new">{say('new')}</span>}
        {diff.deleted && <span class="deleted">{say('deleted')}</span>}
        {diff.moved_from !== null && <span class="moved">{say('moved from {0}, unchanged', visibleLine(diff.moved_from))}</span>}
        {plus > 0 && <span class="plus"><span aria-hidden="true">+{plus}</span><span class="only-read">{say('{0} added', plus)}</span></span>}
        {minus > 0 && <span class="minus"><span aria-hidden="true">−{minus}</span><span class="only-read">{say('{0} removed', minus)}</span></span>}
        {open && <button type="button" class="link" onClick={open}>{say('Open diff')}</button>}
      </header>
      {choosing && whole && <Choice choosing={choosing} parts={parts} part={whole} name={path} />}
      {lines.length > 0 && <div class="lines" tabIndex={0} role="group" aria-label={say('Diff')}>
        <table>
          {hunksOf(lines).map((hunk, number) => {
            const part = { path: diff.path, hunk: number };
            const coloured = highlightHunk(hunk, diff.path);
            return (
              <tbody key={number} class={isLeftOut(parts, part) ? 'left-out' : undefined}>
                {hunk.map((line, index) => (
                  <tr key={index} class={line.kind}>
                    <td class="number" aria-hidden="true">{line.after ?? line.before ?? ''}</td>
                    <td class="sign">{SIGNS[line.kind]}</td>
                    <td class="text">
                      <Code text={line.text} html={coloured?.[index] ?? null} />
                      {choosing && diff.hunks > 0 && line.kind === 'hunk' && <Choice choosing={choosing} parts={parts} part={part} name={`${path}, ${line.text}`} />}
                    </td>
                  </tr>
                ))}
              </tbody>
            );
          })}
        </table>
      </div>}
    </section>
  );
}

/** A line of code; `html` is already escaped by the highlighter. */
function Code({ text, html }: { readonly text: string; readonly html: string | null }) {
  return html ? <span dangerouslySetInnerHTML={{ __html: html }} /> : <>{text || ' '}</>;
}

/** The controls of one part: a button that leaves it out or includes it again, and an input for the reason. */
function Choice({ choosing, parts, part, name }: {
  readonly choosing: Choosing; readonly parts: LeftOutParts; readonly part: Part; readonly name: string;
}) {
  const left = parts.find((each) => isLeftOut([each], part));
  return (
    <span class="part">
      <button
        type="button" class="link" aria-pressed={left !== undefined} aria-label={say('Leave out {0}', name)}
        onClick={() => choosing.toggle(part)}
      >
        {left ? say('Take it') : say('Leave out')}
      </button>
      {left && (
        <input
          type="text" class="why" defaultValue={left.comment ?? ''} maxLength={2_000} placeholder={say('Tell the model why')}
          aria-label={say('Why you leave out {0}', name)} onInput={(event) => choosing.comment(part, event.currentTarget.value)}
        />
      )}
    </span>
  );
}

/** Groups the lines by hunk, each hunk with its heading first. */
function hunksOf(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const starts = lines.flatMap((line, index) => (line.kind === 'hunk' || index === 0 ? [index] : []));
  return starts.map((start, number) => lines.slice(start, starts[number + 1]));
}
