// A text in which places in files are buttons that open them (EDI-08).
import type { FilePlace } from '../chat/messages';
import { visible } from '../text';
import { splitPlaces } from './places';

interface Props {
  readonly text: string;
  readonly open: (place: FilePlace) => void;
}

export function Placed({ text, open }: Props) {
  return (
    <>
      {splitPlaces(text).map(({ text: part, place }, index) => (place
        ? <button key={index} type="button" class="link place" onClick={() => open(place)}>{visible(part)}</button>
        : visible(part)))}
    </>
  );
}
