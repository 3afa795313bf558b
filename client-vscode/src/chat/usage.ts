// What requests used: tokens, the model's window and the price (EDI-06). Pure.
import type { TokenUsage, UsageEvent } from '../contract';

/** The tokens of a step's longest request with its answer, and the size of the model's window if it is known. */
export interface ContextUse {
  readonly used: number;
  readonly window: number | null;
}

export function contextUse({ usage, context, window }: UsageEvent): ContextUse {
  return { used: (context || usage.prompt_tokens) + usage.completion_tokens, window };
}

/** Adds two usages. The price is null if one of them has no known price. */
export function sum(a: TokenUsage | null, b: TokenUsage): TokenUsage {
  return {
    prompt_tokens: (a?.prompt_tokens ?? 0) + b.prompt_tokens,
    cached_tokens: (a?.cached_tokens ?? 0) + b.cached_tokens,
    completion_tokens: (a?.completion_tokens ?? 0) + b.completion_tokens,
    price_usd: a?.price_usd === null || b.price_usd === null ? null : (a?.price_usd ?? 0) + b.price_usd,
  };
}
