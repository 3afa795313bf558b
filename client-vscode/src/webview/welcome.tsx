// What an empty chat says: what Remit is, what its model can do, and requests to begin with.
import { say } from '../words';

/** What comes with Remit does small tasks of one sentence, and says so. */
const BUILT_IN = 'built-in';
const RENAME = 'rename old_name to new_name in path/to/file.py';
/** Put into the input for the person to complete, never sent as they are. */
const SMALL = [RENAME, 'set NAME to 3 in path/to/file.py', 'which file defines name?', 'run `ls`'];
const EXAMPLES = [RENAME, 'explain path/to/file.py', 'list the files here'];

interface Props {
  readonly model: string | null;
  /** Requests about the file that is open; none where none is. */
  readonly samples: readonly string[];
  readonly fill: (text: string) => void;
  readonly chooseModel: () => void;
}

export function Welcome({ model, samples, fill, chooseModel }: Props) {
  return (
    <section class="welcome">
      <h2>{say('What should Remit do?')}</h2>
      <p>
        {say('Before each step Remit says what it is about to do, and it can do nothing else. It asks you before it writes or runs anything.')}
      </p>
      <ul aria-label={say('Examples')}>
        {(samples.length > 0 ? samples : model === BUILT_IN ? SMALL : EXAMPLES).map((text) => (
          <li key={text}><button type="button" class="example" onClick={() => fill(text)}>{text}</button></li>
        ))}
      </ul>
      {model === BUILT_IN && (
        <p>
          {say('The built-in model is a set of rules, not a language model. It can do small tasks that one sentence describes: rename in a file, change a value, add a line, search, or run a command.')}{' '}
          <button type="button" class="link" onClick={chooseModel}>{say('Connect a model')}</button> {say('for anything else.')}
        </p>
      )}
    </section>
  );
}
