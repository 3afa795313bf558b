// What an empty chat says: what Remit is, what its model can do, and requests to begin with.

/** The model that ships with Remit knows one family of tasks, and says so. */
const EMBEDDED = 'embedded';
const RENAME = 'rename old_name to new_name in path/to/file.py';
/** Put into the input for the person to complete, never sent as they are. */
const EXAMPLES = [RENAME, 'explain path/to/file.py', 'list the files here'];

interface Props {
  readonly model: string | null;
  readonly fill: (text: string) => void;
  readonly chooseModel: () => void;
}

export function Welcome({ model, fill, chooseModel }: Props) {
  return (
    <section class="welcome">
      <h2>What should be done?</h2>
      <p>
        Remit says what it is about to do before each step, does nothing outside that, and asks you before it writes or
        runs anything.
      </p>
      <ul aria-label="Examples">
        {(model === EMBEDDED ? [RENAME] : EXAMPLES).map((text) => (
          <li key={text}><button type="button" class="example" onClick={() => fill(text)}>{text}</button></li>
        ))}
      </ul>
      {model === EMBEDDED && (
        <p>
          The embedded model does one thing: it renames an identifier in a file.{' '}
          <button type="button" class="link" onClick={chooseModel}>Set a larger model</button> for anything else.
        </p>
      )}
    </section>
  );
}
