// The conversation as a long list with only the visible rows in the document (EDI-05).
import type { ComponentChildren, VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { say } from '../words';
import { asks, guessedHeight, isOfSubAgent, type Row } from './rows';
import { segments, type Sight } from './sight';

interface Props {
  readonly rows: readonly Row[];
  readonly draw: (row: Row) => VNode;
  /** The content above and below the rows. */
  readonly before: ComponentChildren;
  readonly after: ComponentChildren;
  /** How many turns there are, and how many have ended. A new turn scrolls the list to its end. */
  readonly asked: number;
  readonly ended: number;
}

/** Within this many pixels of the end, the list stays at its end when rows are added. */
const AT_END = 40;
/** The pixels to scroll before the visible rows are determined again. */
const STEP = 200;

export function List({ rows, draw, before, after, asked, ended }: Props) {
  const list = useRef<HTMLElement>(null);
  const heights = useRef(new Map<string, number>());
  const { sight, atEnd } = useSight(list);
  const focused = useFocused(list);
  const measured = useMeasure(heights.current);
  const known = rows.map((row) => heights.current.get(row.key) ?? guessedHeight(row));
  const total = known.reduce((sum, height) => sum + height, 0);
  const seen = atEnd.current ? { top: total - sight.height, height: sight.height } : sight;
  const last = rows.length - 1;
  // A new turn is always scrolled to.
  useLayoutEffect(() => { atEnd.current = true; }, [asked]);
  // An empty chat is shown from its start. A change of focus does not scroll, because a click would end on another row than it began on.
  useLayoutEffect(() => {
    if (atEnd.current) list.current!.scrollTop = rows.length > 0 ? list.current!.scrollHeight : 0;
  }, [rows, before, after, sight]);
  return (
    <main class="list" ref={list} aria-label={say('Conversation')} data-ended={ended}>
      {before}
      {segments(known, seen, (index) => index === last || asks(rows[index]!) || rows[index]!.key === focused).map((segment, number) => {
        if (segment.kind === 'gap') return <div key={`gap ${number}`} class="gap" style={{ height: `${segment.height}px` }} />;
        const row = rows[segment.index]!;
        return <div key={row.key} class={`row ${row.kind}-row${isOfSubAgent(row) ? ' of-sub-agent' : ''}`} data-row={row.key} ref={measured}>{draw(row)}</div>;
      })}
      {after}
    </main>
  );
}

/** The visible part of the list, and whether that is its end. */
function useSight(list: { readonly current: HTMLElement | null }) {
  const [sight, setSight] = useState<Sight>({ top: 0, height: 1_000 });
  const atEnd = useRef(true);
  useEffect(() => {
    const element = list.current!;
    let last = sight;
    const look = (): void => {
      const { scrollTop: top, clientHeight: height, scrollHeight } = element;
      const was = atEnd.current;
      atEnd.current = scrollHeight - top - height < AT_END;
      if (Math.abs(top - last.top) < STEP && height === last.height && was === atEnd.current) return;
      last = { top, height };
      setSight(last);
    };
    const resized = new ResizeObserver(() => {
      if (atEnd.current && element.querySelector('.row')) element.scrollTop = element.scrollHeight;
      look();
    });
    resized.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    // Opening a fold may move the end out of view. A `toggle` event does not bubble, so it is captured.
    element.addEventListener('toggle', look, { capture: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', look);
      element.removeEventListener('toggle', look, { capture: true });
    };
  }, []);
  return { sight, atEnd };
}

/** The key of the row that has the keyboard focus. It stays in the document, because removing it would lose the focus. */
function useFocused(list: { readonly current: HTMLElement | null }): string | null {
  const [focused, setFocused] = useState<string | null>(null);
  useEffect(() => {
    const element = list.current!;
    const note = (event: FocusEvent): void => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-row]') : null;
      setFocused(row?.dataset['row'] ?? null);
    };
    element.addEventListener('focusin', note);
    return () => element.removeEventListener('focusin', note);
  }, []);
  return focused;
}

/** Returns a ref for rows that keeps the height of each in `heights`, also after the row is no longer drawn. */
function useMeasure(heights: Map<string, number>): (element: HTMLElement | null) => void {
  const observer = useRef<ResizeObserver | null>(null);
  observer.current ??= new ResizeObserver((entries) => {
    for (const { target, borderBoxSize: [size] } of entries) {
      const key = (target as HTMLElement).dataset['row'];
      if (target.isConnected) { if (key && size) heights.set(key, size.blockSize); } else observer.current!.unobserve(target);
    }
  });
  return useCallback((element) => { if (element) observer.current!.observe(element); }, []);
}
