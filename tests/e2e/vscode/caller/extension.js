// Another extension that calls Remit's tools and asks its model, as an agent in the editor would, and writes the answers to a file (EDI-11).
const fs = require('node:fs');
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('caller.call', async () => {
    const facts = {};
    const call = async (name, input) => {
      const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
      return result.content.map((part) => part.value).join('');
    };
    try {
      facts.allowed = await call('remit_read_file', { intent: 'READ_FILE', path: 'a.py' });
      facts.gated = await call('remit_write_file', { intent: 'READ_FILE', path: 'new.py', content: 'x' });
      facts.denied = await call('remit_read_file', { intent: 'READ_FILE', path: 'secret/key.txt' });
      facts.personal = await call('remit_undo_changes', { intent: 'CODE' }).catch(() => 'there is no such tool');
      const [model] = await vscode.lm.selectChatModels({ vendor: 'remit' });
      facts.model = model?.name;
      const answer = await model.sendRequest([vscode.LanguageModelChatMessage.User('say a word')], {}, new vscode.CancellationTokenSource().token);
      facts.answer = '';
      for await (const text of answer.text) facts.answer += text;
    } catch (error) {
      facts.error = String(error?.stack ?? error);
    }
    fs.writeFileSync(process.env.CALLER_FACTS, JSON.stringify(facts));
  }));
};
