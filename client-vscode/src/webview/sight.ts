// Which rows of a long list are drawn, and the heights of the gaps between them (EDI-05). Pure.

/** A row by its index, or a gap in place of rows that are not drawn. */
export type Segment =
  | { readonly kind: 'row'; readonly index: number }
  | { readonly kind: 'gap'; readonly height: number };

/** The visible part of the list, in pixels from its beginning. */
export interface Sight {
  readonly top: number;
  readonly height: number;
}

/** How many pixels above and below the visible part are drawn in advance. */
const AHEAD = 800;

/** The segments of a list with rows of these heights. Rows for which `stays` returns true are always drawn. */
export function segments(heights: readonly number[], sight: Sight, stays: (index: number) => boolean): readonly Segment[] {
  const found: Segment[] = [];
  let top = 0;
  let gap = 0;
  for (const [index, height] of heights.entries()) {
    const seen = top + height >= sight.top - AHEAD && top <= sight.top + sight.height + AHEAD;
    if (seen || stays(index)) {
      if (gap > 0) found.push({ kind: 'gap', height: gap });
      found.push({ kind: 'row', index });
      gap = 0;
    } else {
      gap += height;
    }
    top += height;
  }
  if (gap > 0) found.push({ kind: 'gap', height: gap });
  return found;
}
