// Work that waits for the person's review (FLW-10).
import { render } from 'preact-render-to-string';
import { describe, expect, test } from 'vitest';
import type { Standing } from '../../src/chat/view';
import { UnderReview } from '../../src/webview/under_review';

const drawn = (standing: Standing | null): string => render(<UnderReview standing={standing} send={() => undefined} fill={() => undefined} />);

describe('the review', () => {
  test('FLW-10 is two buttons while work of strict mode waits for it, and nothing else', () => {
    expect(drawn({ mode: 'strict', state: 'reviewing', means: '' })).toMatch(/>Approve<.*>Send back…</);
    expect(drawn({ mode: 'strict', state: 'code_writing', means: '' })).toBe('');
    expect(drawn({ mode: 'explore', state: 'reviewing', means: '' })).toBe('');
    expect(drawn(null)).toBe('');
  });
});
