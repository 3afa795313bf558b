// Only the visible rows of a long conversation are drawn, and the others keep their space (EDI-05).
import { expect, test } from 'vitest';
import { EMPTY, reduce } from '../../src/chat/reduce';
import type { View } from '../../src/chat/view';
import { asks, guessedHeight, isOfSubAgent, rowsOf } from '../../src/webview/rows';
import { segments } from '../../src/webview/sight';
import { asked, call, completed, event, events, question, started, toolResult, type Sent } from '../events';

const after = (...all: readonly Sent[]): View =>
  events(...all).reduce((view, each) => reduce(view, { type: 'event', event: each }), reduce(EMPTY, asked()));

test('EDI-05 rows out of sight become gaps as high as they were', () => {
  const heights = Array.from({ length: 5_000 }, (_, n) => 20 + (n % 7));
  const total = heights.reduce((sum, height) => sum + height, 0);
  for (const top of [0, 777, 50_000, total - 600, total * 2, -50]) {
    const found = segments(heights, { top, height: 600 }, (index) => index === 4_000);
    const drawn = found.flatMap((each) => (each.kind === 'row' ? [each.index] : []));
    const height = found.reduce((sum, each) => sum + (each.kind === 'gap' ? each.height : heights[each.index]!), 0);
    expect(height).toBe(total);
    expect(drawn).toContain(4_000);
    expect(drawn.length).toBeLessThan(150);
    expect(drawn).toEqual(drawn.toSorted((a, b) => a - b));
  }
});

test('EDI-05 a turn that has not changed has the very same rows', () => {
  const first = after(started, call, toolResult(), completed());
  const rows = rowsOf(first);
  expect(rows.map((row) => row.kind)).toEqual(['asked', 'item', 'ending']);
  const more = reduce(first, { ...asked(), turn_id: 't2' });
  const next = reduce(more, { type: 'event', event: { ...event(1, started), turn_id: 't2' } });
  expect(rowsOf(next).slice(0, 3).every((row, index) => row === rowsOf(more)[index])).toBe(true);
  expect(new Set(rowsOf(next).map((row) => row.key)).size).toBe(rowsOf(next).length);
});

test('EDI-05 a question stays drawn wherever the person is, and knows how many wait', () => {
  const second = { ...call, tool_call_id: 'c2' } as Sent;
  const rows = rowsOf(after(started, call, second, question(), question({ approval_id: 'a2', tool_call_id: 'c2' })));
  expect(rows.filter(asks).map((row) => row.kind === 'item' && [row.place, row.waiting])).toEqual([[1, 2], [2, 2]]);
  expect(rowsOf(after(started, call, toolResult())).filter(asks)).toEqual([]);
});

test('a guess of a row\'s height grows with what is in it', () => {
  const [, short] = rowsOf(after(started, { kind: 'token_delta', text: 'x' }));
  const [, long] = rowsOf(after(started, { kind: 'token_delta', text: 'x'.repeat(6_000) }));
  expect(guessedHeight(long!)).toBeGreaterThan(20 * guessedHeight(short!));
});

test('AGT-17 what a sub-agent does is told from what the turn does itself', () => {
  const of = { sub_agent: 'c1' };
  const intent = { kind: 'intent_selected', intent: 'CODE', justification: null, previous: null, allowed_tools: [], work_item: null, ...of };
  const delegate = { ...call, tool: 'delegate' } as Sent;
  const usage = { kind: 'usage', usage: { prompt_tokens: 9, cached_tokens: 0, completion_tokens: 1, price_usd: 0 }, context: 9, window: 10, ...of };
  const own = { ...call, tool_call_id: 'c1/c1', ...of } as Sent;
  const asks = question({ tool_call_id: 'c1/c1', asked_by: 'the work', ...of });
  const view = after(started, delegate, intent as Sent, own, asks, usage as Sent, toolResult({ tool_call_id: 'c1/c1', ...of }), toolResult());
  expect(rowsOf(view).filter(isOfSubAgent).map((row) => row.key)).toEqual(['t1 intent 3', 't1 tool c1/c1']);
  expect(view.context).toBeNull();
  expect(view.turns[0]!.usage?.prompt_tokens).toBe(9);
});
