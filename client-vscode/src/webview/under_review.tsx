// Two buttons for work in strict mode that waits for the person's review; they do the same as `/approve` and `/reject` (FLW-10).
import type { FromWebview } from '../chat/messages';
import type { Standing } from '../chat/view';
import { say } from '../words';

interface Props {
  readonly standing: Standing | null;
  readonly send: (message: FromWebview) => void;
  /** Puts text into the input, for the person to continue. */
  readonly fill: (text: string) => void;
}

export function UnderReview({ standing, send, fill }: Props) {
  if (standing?.mode !== 'strict' || standing.state !== 'reviewing') return null;
  return (
    <div class="under-review" role="group" aria-label={say('Review')} data-testid="under-review">
      <span>{say('The work waits for your review.')}</span>
      <button type="button" class="secondary" onClick={() => send({ type: 'ask', text: '/approve', attachments: [] })}>{say('Approve')}</button>
      <button type="button" class="secondary" onClick={() => fill('/reject ')}>{say('Send back…')}</button>
    </div>
  );
}
