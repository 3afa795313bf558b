// Finds the server (setting → workspace → installed by the extension → PATH; EDI-03, EDI-10). Pure: a function says what exists on disk.
import { homedir } from 'node:os';
import path from 'node:path';

export interface Places {
  /** The setting `remit.serverPath`, which only the person can set. */
  readonly setting: string;
  readonly workspace: string | null;
  /** The server that the extension has installed. */
  readonly own: string | null;
  /** The environment's PATH. */
  readonly searchPath: string;
}

export type Location =
  | { readonly kind: 'found'; readonly program: string; readonly from: 'setting' | 'workspace' | 'installed' | 'PATH' }
  | { readonly kind: 'missing'; readonly what: string; readonly why: string; readonly fix: string };

export function locate(places: Places, executable: (program: string) => boolean): Location {
  const setting = places.setting.trim().replace(/^~(?=\/)/, homedir());
  if (setting) return fromSetting(setting, executable);
  const brought = places.workspace && path.join(places.workspace, '.venv', 'bin', 'remit');
  if (brought && executable(brought)) return { kind: 'found', program: brought, from: 'workspace' };
  if (places.own && executable(places.own)) return { kind: 'found', program: places.own, from: 'installed' };
  // A relative entry would be looked up in the current folder, so that the workspace could provide the program.
  const folders = places.searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const program = folders.map((folder) => path.join(folder, 'remit')).find(executable);
  if (program) return { kind: 'found', program, from: 'PATH' };
  return {
    kind: 'missing',
    what: 'the Remit server is not installed',
    why: `there is no \`remit\` in ${places.workspace ? 'the workspace\'s `.venv/bin` or on' : ''} the PATH`.replace('  ', ' '),
    fix: 'install it with the button, or set `remit.serverPath` to where it is',
  };
}

function fromSetting(setting: string, executable: (program: string) => boolean): Location {
  if (path.isAbsolute(setting) && executable(setting)) return { kind: 'found', program: setting, from: 'setting' };
  const instead = path.isAbsolute(setting) ? 'not a program' : 'not an absolute path';
  return {
    kind: 'missing',
    what: 'the Remit server cannot be started',
    why: `\`remit.serverPath\` is \`${setting}\`, which is ${instead}`,
    fix: 'correct the setting, or clear it to look in the workspace and on the PATH',
  };
}
