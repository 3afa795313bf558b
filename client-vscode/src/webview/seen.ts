// Whether the person has seen all of a question: "allow" needs every pane scrolled to its end, or everything shown (EDI-04).
import { useEffect, useState } from 'preact/hooks';

const PANES = '.lines, .command pre';
/** The pixels at its end that a pane need not be scrolled. */
const SLACK = 2;

export interface Seen {
  readonly toEnd: boolean;
  /** Shows every pane at its full height. */
  readonly showAll: () => void;
  readonly whole: boolean;
}

/** `read` has the files whose change the person has read elsewhere. */
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
