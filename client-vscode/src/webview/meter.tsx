// How full the model's window is, and what the chat has cost so far (EDI-06).
import { count, type View } from '../chat/view';
import { say } from '../words';

export function Meter({ view }: { readonly view: View }) {
  const { context } = view;
  // The built-in model has no window, and its requests have no tokens.
  if (context === null || (context.used === 0 && context.window === null)) return null;
  const { used, window } = context;
  const of = window === null ? count(used, 'token') : say('{0} of {1}', used.toLocaleString('en'), count(window, 'token'));
  const words = [say('Context: {0} in the last request', of), ...spent(view)].join('. ');
  if (window === null) return <span class="meter" title={words}>{say('{0} tokens', short(used))}</span>;
  const share = Math.min(1, used / window);
  return (
    <span class="meter" title={words}>
      <span role="meter" aria-label={say('Context')} aria-valuemin={0} aria-valuemax={window} aria-valuenow={Math.min(used, window)} aria-valuetext={words}>
        <i class={share > 0.8 ? 'full' : ''} style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      {say('{0} of {1} tokens', short(used), short(window))}
    </span>
  );
}

/** The total usage of all turns in the chat. */
function spent(view: View): readonly string[] {
  const all = view.turns.flatMap((turn) => (turn.usage ? [turn.usage] : []));
  const tokens = all.reduce((sum, usage) => sum + usage.prompt_tokens + usage.completion_tokens, 0);
  const known = all.every((usage) => usage.price_usd !== null);
  const price = all.reduce((sum, usage) => sum + (usage.price_usd ?? 0), 0);
  return [say('This chat: {0}', count(tokens, 'token')), ...(known ? (price > 0 ? [`$${price.toFixed(4)}`] : []) : [say('part of the price is unknown')])];
}

function short(tokens: number): string {
  return tokens < 1_000 ? `${tokens}` : `${(tokens / 1_000).toFixed(tokens < 10_000 ? 1 : 0)}k`;
}
