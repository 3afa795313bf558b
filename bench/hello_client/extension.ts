// The smallest useful language client: what the activation of Remit's extension is measured against. Its server is `hello_server.py`.
import { LanguageClient } from 'vscode-languageclient/node';

let client: LanguageClient | undefined;

export function activate(): void {
  const server = { command: process.env['HELLO_PYTHON']!, args: [process.env['HELLO_SERVER']!] };
  const started = new LanguageClient('hello', 'Hello Client', server, { documentSelector: [{ scheme: 'file' }] });
  client = started;
  // As Remit's does: what comes after `activate` is not part of it.
  queueMicrotask(() => void started.start());
}

export const deactivate = (): Promise<void> | undefined => client?.stop();
