// The content of an empty chat: what Remit is, what its model can do, and sample requests.
import { say } from '../words';

/** The model that is included in Remit. It does small tasks that one sentence describes, and the page says so. */
const BUILT_IN = 'built-in';
/** Requests that are put into the input and not sent. Each works in any folder. */
const SMALL = ['what is this project?', 'which files are there?', 'run the tests', 'find all TODOs'];
const EXAMPLES = ['what is this project?', 'explain how its main parts work together', 'run the tests', 'find all TODOs'];
/** Requests that need a language model; they are not offered with the built-in model. */
const NEEDS_MODEL = /^explain /;

interface Props {
  readonly model: string | null;
  /** Requests about the open file; empty if no file is open. */
  readonly samples: readonly string[];
  readonly fill: (text: string) => void;
  readonly chooseModel: () => void;
}

export function Welcome({ model, samples, fill, chooseModel }: Props) {
  const builtIn = model === BUILT_IN;
  const about = samples.filter((text) => !builtIn || !NEEDS_MODEL.test(text));
  return (
    <section class="welcome">
      <h2>{say('What should Remit do?')}</h2>
      <p>
        {say('Before each step Remit says what it is about to do, and it can do nothing else. It asks you before it writes or runs anything.')}
      </p>
      <ul aria-label={say('Examples')}>
        {(about.length > 0 ? about : builtIn ? SMALL : EXAMPLES).map((text) => (
          <li key={text}><button type="button" class="example" onClick={() => fill(text)}>{text}</button></li>
        ))}
      </ul>
      {builtIn && (
        <p>
          {say('The built-in model is a set of fixed patterns, not a language model. It can do small tasks that one sentence describes: rename in a file, change a value, add a line, search, or run a command.')}{' '}
          <button type="button" class="link" onClick={chooseModel}>{say('Connect a model')}</button> {say('for anything else.')}
        </p>
      )}
    </section>
  );
}
