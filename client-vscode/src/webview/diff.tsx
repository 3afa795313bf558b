// A proposed change to one file, line by line. Long lines wrap: nothing lies out of sight to the right.
import type { FileDiff } from '../contract';
import { added, diffLines, removed, visibleLine } from '../text';

const SIGNS = { add: '+', remove: '−', same: '', hunk: '', meta: '' } as const;

export function Diff({ diff, open }: { readonly diff: FileDiff; readonly open: (() => void) | null }) {
  const lines = diffLines(diff.diff);
  const [plus, minus] = [added(lines), removed(lines)];
  const path = visibleLine(diff.path);
  return (
    <section class="diff" aria-label={`Change to ${path}`}>
      <header>
        <span class="path" title={path}>{path}</span>
        {diff.created && <span class="new">new</span>}
        {diff.deleted && <span class="deleted">deleted</span>}
        {diff.moved_from !== null && <span class="moved">moved from {visibleLine(diff.moved_from)}, unchanged</span>}
        {plus > 0 && <span class="plus"><span aria-hidden="true">+{plus}</span><span class="only-read">{plus} added</span></span>}
        {minus > 0 && <span class="minus"><span aria-hidden="true">−{minus}</span><span class="only-read">{minus} removed</span></span>}
        {open && <button type="button" class="link" onClick={open}>Open diff</button>}
      </header>
      {lines.length > 0 && <div class="lines" tabIndex={0} role="group" aria-label="Diff">
        <table>
          <tbody>
            {lines.map((line, index) => (
              <tr key={index} class={line.kind}>
                <td class="number" aria-hidden="true">{line.after ?? line.before ?? ''}</td>
                <td class="sign">{SIGNS[line.kind]}</td>
                <td class="text">{line.text || ' '}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>}
    </section>
  );
}
