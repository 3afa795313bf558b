// The smallest useful language client: what the activation of Remit's extension is measured against. Its server is `hello_server.py`.
import { LanguageClient } from 'vscode-languageclient/node';

let client: LanguageClient | undefined;

export function activate(): void {
  const server = { command: process.env['HELLO_PYTHON']!, args: [process.env['HELLO_SERVER']!] };
  client = new LanguageClient('hello', 'Hello Client', server, { documentSelector: [{ scheme: 'file' }] });
  void client.start();
}

export const deactivate = (): Promise<void> | undefined => client?.stop();
