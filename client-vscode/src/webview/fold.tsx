// What is shown on demand: a part that opens, and the rest of what is long (EDI-05).
import type { ComponentChildren } from 'preact';
import { count } from '../chat/view';
import { say } from '../words';
import { useKept } from './kept';

interface FoldProps {
  /** Under which it is remembered whether it is open. */
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

/** Characters of one text that are in the document before a person asks for all of it. */
export const MOST_CHARS = 20_000;

interface CappedProps {
  readonly name: string;
  readonly text: string;
  readonly children: (text: string) => ComponentChildren;
}

/** The beginning of a text, and a button for the rest where there is more. */
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
