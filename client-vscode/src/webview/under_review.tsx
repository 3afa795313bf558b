// Work of strict mode that waits for the person's review: what is typed as `/approve` and `/reject`, as two buttons (FLW-10).
import type { FromWebview } from '../chat/messages';
import type { Standing } from '../chat/view';
import { say } from '../words';

interface Props {
  readonly standing: Standing | null;
  readonly send: (message: FromWebview) => void;
  /** Puts words into the input, to be gone on with. */
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
