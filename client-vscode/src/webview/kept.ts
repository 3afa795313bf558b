// Keeps what a person has opened or typed in a row while the row is not visible and therefore not drawn (EDI-05).
import { useState } from 'preact/hooks';

const values = new Map<string, unknown>();

/** Like `useState`, but the value is kept under a name and outlives the component. */
export function useKept<T>(name: string, begin: T): readonly [T, (value: T) => void] {
  const [value, setValue] = useState<T>(values.has(name) ? (values.get(name) as T) : begin);
  const keep = (next: T): void => {
    values.set(name, next);
    setValue(next);
  };
  return [value, keep];
}
