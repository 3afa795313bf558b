// What a person has opened or typed in a row stays while the row is out of sight and not drawn (EDI-05).
import { useState } from 'preact/hooks';

const values = new Map<string, unknown>();

/** As `useState`, under a name that outlives the component. */
export function useKept<T>(name: string, begin: T): readonly [T, (value: T) => void] {
  const [value, setValue] = useState<T>(values.has(name) ? (values.get(name) as T) : begin);
  const keep = (next: T): void => {
    values.set(name, next);
    setValue(next);
  };
  return [value, keep];
}
