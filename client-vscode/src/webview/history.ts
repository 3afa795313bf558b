// The person's earlier messages, by the arrow keys in an empty input, as a shell has them. Pure.

export interface Recalled {
  /** Which of the earlier messages is in the input, counted from the last one; null while none is. */
  readonly at: number | null;
  readonly text: string;
}

/** What stands in the input after an arrow key; null where the key is not for this. */
export function recall(history: readonly string[], key: string, text: string, shownAt: number | null): Recalled | null {
  const unlike = history.filter((each, index) => each && each !== history[index + 1]).toReversed();
  const at = text === '' ? null : shownAt;
  const shown = at === null ? '' : unlike[at];
  // What was typed, or changed since, is not thrown away.
  if (text !== shown || (key === 'ArrowDown' && at === null)) return null;
  const next = key === 'ArrowUp' ? Math.min((at ?? -1) + 1, unlike.length - 1) : (at ?? 0) - 1;
  if (next < 0) return at === null ? null : { at: null, text: '' };
  return { at: next, text: unlike[next]! };
}
