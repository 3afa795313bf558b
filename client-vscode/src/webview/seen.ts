// Whether a person has had all of a question before their eyes: no yes before its end was reached, or asked for (EDI-04).
import { useEffect, useState } from 'preact/hooks';

const PANES = '.lines, .command pre';
/** Pixels that a scrolled pane may miss at its end. */
const SLACK = 2;

export interface Seen {
  readonly toEnd: boolean;
  /** Shows everything at its full height. */
  readonly showAll: () => void;
  readonly whole: boolean;
}

/** `read` are the files that were read elsewhere. */
export function useSeen(card: { readonly current: HTMLElement | null }, read: readonly string[]): Seen {
  const [unseen, setUnseen] = useState<ReadonlySet<Element>>(new Set());
  const [whole, setWhole] = useState(false);
  useEffect(() => {
    const element = card.current;
    if (!element) return undefined;
    setUnseen(new Set([...element.querySelectorAll(PANES)].filter((pane) => !atEnd(pane))));
    const onScroll = (event: Event): void => {
      const pane = event.target;
      if (pane instanceof Element && atEnd(pane)) setUnseen((before) => new Set([...before].filter((each) => each !== pane)));
    };
    element.addEventListener('scroll', onScroll, { capture: true, passive: true });
    return () => element.removeEventListener('scroll', onScroll, { capture: true });
  }, []);
  const left = [...unseen].filter((pane) => !read.includes(pane.closest('[data-path]')?.getAttribute('data-path') ?? ''));
  return { toEnd: whole || left.length === 0, whole, showAll: () => setWhole(true) };
}

function atEnd(pane: Element): boolean {
  return pane.scrollTop + pane.clientHeight >= pane.scrollHeight - SLACK;
}
