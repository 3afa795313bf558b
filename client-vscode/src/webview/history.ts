// Recalls the person's earlier messages with the arrow keys in an empty input, as in a shell. Pure.

export interface Recalled {
  /** Which earlier message is in the input, counted from the last one; null if none is. */
  readonly at: number | null;
  readonly text: string;
}

/** The content of the input after an arrow key, or null if the key does not recall a message. */
export function recall(history: readonly string[], key: string, text: string, shownAt: number | null): Recalled | null {
  const unlike = history.filter((each, index) => each && each !== history[index + 1]).toReversed();
  const at = text === '' ? null : shownAt;
  const shown = at === null ? '' : unlike[at];
  // Text that the person typed or changed is not overwritten.
  if (text !== shown || (key === 'ArrowDown' && at === null)) return null;
  const next = key === 'ArrowUp' ? Math.min((at ?? -1) + 1, unlike.length - 1) : (at ?? 0) - 1;
  if (next < 0) return at === null ? null : { at: null, text: '' };
  return { at: next, text: unlike[next]! };
}
