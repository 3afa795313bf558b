// A proposed change to one file, line by line. Long lines wrap: nothing lies out of sight to the right.
import type { FileDiff } from '../contract';
import { added, diffLines, removed, visibleLine, type DiffLine } from '../text';
import { partKey, type Parts } from './parts';

const SIGNS = { add: '+', remove: '−', same: '', hunk: '', meta: '' } as const;

/** The person's choice among the parts of a change. */
export interface Choosing {
  readonly parts: Parts;
  readonly toggle: (key: string) => void;
  readonly comment: (key: string, words: string) => void;
}

interface Props {
  readonly diff: FileDiff;
  readonly open: (() => void) | null;
  readonly choosing: Choosing | null;
}

export function Diff({ diff, open, choosing }: Props) {
  const lines = diffLines(diff.diff);
  const [plus, minus] = [added(lines), removed(lines)];
  const path = visibleLine(diff.path);
  const whole = diff.hunks === 0 ? partKey(diff.path, null) : null;
  return (
    <section class={choosing && whole && choosing.parts.has(whole) ? 'diff left-out' : 'diff'} aria-label={`Change to ${path}`}>
      <header>
        <span class="path" title={path}>{path}</span>
        {diff.created && <span class="new">new</span>}
        {diff.deleted && <span class="deleted">deleted</span>}
        {diff.moved_from !== null && <span class="moved">moved from {visibleLine(diff.moved_from)}, unchanged</span>}
        {plus > 0 && <span class="plus"><span aria-hidden="true">+{plus}</span><span class="only-read">{plus} added</span></span>}
        {minus > 0 && <span class="minus"><span aria-hidden="true">−{minus}</span><span class="only-read">{minus} removed</span></span>}
        {open && <button type="button" class="link" onClick={open}>Open diff</button>}
      </header>
      {choosing && whole && <Part choosing={choosing} part={whole} name={path} />}
      {lines.length > 0 && <div class="lines" tabIndex={0} role="group" aria-label="Diff">
        <table>
          {hunksOf(lines).map((hunk, number) => {
            const part = choosing && diff.hunks > 0 ? partKey(diff.path, number) : null;
            return (
              <tbody key={number} class={choosing && part && choosing.parts.has(part) ? 'left-out' : undefined}>
                {hunk.map((line, index) => (
                  <tr key={index} class={line.kind}>
                    <td class="number" aria-hidden="true">{line.after ?? line.before ?? ''}</td>
                    <td class="sign">{SIGNS[line.kind]}</td>
                    <td class="text">
                      {line.text || ' '}
                      {choosing && part && line.kind === 'hunk' && <Part choosing={choosing} part={part} name={`${path}, ${line.text}`} />}
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

/** What is done with one part: a button that leaves it out and takes it again, and why. */
function Part({ choosing, part, name }: { readonly choosing: Choosing; readonly part: string; readonly name: string }) {
  const words = choosing.parts.get(part);
  return (
    <span class="part">
      <button
        type="button" class="link" aria-pressed={words !== undefined} aria-label={`Leave out ${name}`}
        onClick={() => choosing.toggle(part)}
      >
        {words === undefined ? 'Leave out' : 'Take it'}
      </button>
      {words !== undefined && (
        <input
          type="text" class="why" value={words} maxLength={2_000} placeholder="Tell the model why (optional)"
          aria-label={`Why ${name} is left out`} onInput={(event) => choosing.comment(part, event.currentTarget.value)}
        />
      )}
    </span>
  );
}

/** The lines of each hunk, its heading first. */
function hunksOf(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const starts = lines.flatMap((line, index) => (line.kind === 'hunk' || index === 0 ? [index] : []));
  return starts.map((start, number) => lines.slice(start, starts[number + 1]));
}
