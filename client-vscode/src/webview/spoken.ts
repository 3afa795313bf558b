// What a screen reader announces: while a turn runs what has just begun, and at its end the answer, each once.
// The conversation itself is not a live region, because that would read every token.
import { pending, ranProgram, wentWell, type Item, type ToolItem, type Turn, type View } from '../chat/view';
import { reasonLeft } from '../chat/repeats';

const MOST_SPOKEN = 500;
/** A line that begins or ends a block of code, which is no word. */
const FENCE = /^`{3,}\w*\n|\n?^`{3,}$/gm;

export function spoken(view: View): string {
  const turn = view.turns.at(-1);
  if (!turn) return '';
  const question = pending(view)[0];
  if (question) return `Remit asks: ${question.question.title}`;
  return turn.status === 'running' ? progress(turn.items) : `${ending(turn)}. ${answer(turn)}`;
}

function ending(turn: Turn): string {
  const word = turn.status === 'declined' ? 'not done' : turn.status.replace('_', ' ');
  const reason = reasonLeft(turn);
  return reason ? `${word}: ${reason}` : word;
}

function progress(items: readonly Item[]): string {
  const last = items.findLast((item) => item.kind === 'intent' || item.kind === 'tool');
  if (last?.kind === 'intent') return `Intent: ${last.intent.replace('_', ' ')}. ${last.justification ?? ''}`;
  if (last?.kind === 'tool') return `${last.tool} ${ended(last)}`;
  return 'working';
}

function ended({ result }: ToolItem): string {
  if (!result) return 'running';
  if (wentWell(result)) return 'done';
  return result.ok || ranProgram(result) ? `failed: ${result.summary}` : 'not done';
}

/** The beginning of the text after the last call; the rest can be read in the conversation (EDI-07). Errors are alerts of their own. */
function answer(turn: Turn): string {
  const last = turn.items.at(-1);
  if (last?.kind !== 'text') return '';
  const text = last.text.replace(FENCE, '');
  return text.length <= MOST_SPOKEN ? text : `${text.slice(0, MOST_SPOKEN)}…`;
}
