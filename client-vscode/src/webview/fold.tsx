// Parts that are shown on demand: a fold, and the rest of a long text (EDI-05).
import type { ComponentChildren } from 'preact';
import { count } from '../chat/view';
import { say } from '../words';
import { useKept } from './kept';

interface FoldProps {
  /** The name under which the fold's state is remembered. */
  readonly name: string;
  readonly class: string;
  readonly summary: ComponentChildren;
  readonly children: ComponentChildren;
  readonly begin?: boolean;
  readonly testid?: string;
}

export function Fold({ name, class: kind, summary, children, begin = false, testid }: FoldProps) {
  const [open, setOpen] = useKept(`open ${name}`, begin);
  return (
    <details class={kind} open={open} data-testid={testid} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {children}
    </details>
  );
}

/** The most characters of one text that are in the document before the person asks for all of it. */
export const MOST_CHARS = 20_000;

interface CappedProps {
  readonly name: string;
  readonly text: string;
  readonly children: (text: string) => ComponentChildren;
}

/** The beginning of a text, and if it is longer a button that shows the rest. */
export function Capped({ name, text, children }: CappedProps) {
  const [all, setAll] = useKept(`all ${name}`, false);
  if (text.length <= MOST_CHARS || all) return <>{children(text)}</>;
  return (
    <>
      {children(text.slice(0, MOST_CHARS))}
      <button type="button" class="link rest" onClick={() => setAll(true)}>{say('Show all {0}', count(text.length, 'character'))}</button>
    </>
  );
}
