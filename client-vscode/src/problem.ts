// Turns whatever a request rejects with into what a person reads: what, why, fix (architecture.md, Errors).
import type { Problem } from './view';

const REQUEST_CANCELLED = -32800;
/** vscode-jsonrpc's: the connection was disposed of, or no longer works. */
const CONNECTION_GONE = [-32097, -32096];

export function problemOf(error: unknown): Problem {
  const { code, data, message } = record(error);
  if (code === REQUEST_CANCELLED) return { what: 'cancelled', why: 'you stopped it', fix: 'ask again', cancelled: true };
  if (typeof code === 'number' && CONNECTION_GONE.includes(code)) {
    return {
      what: 'the server ended while it worked',
      why: 'its process is gone; nothing was allowed after that',
      fix: 'ask again: it is started anew',
    };
  }
  const { what, why, fix } = record(data);
  if (typeof what === 'string' && typeof why === 'string' && typeof fix === 'string') return { what, why, fix };
  return {
    what: 'the server did not answer',
    why: typeof message === 'string' && message ? message : String(error),
    fix: 'ask again; if it stays so, restart the server and look at its log',
  };
}

function record(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}
