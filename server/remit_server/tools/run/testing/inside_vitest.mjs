// A reporter of Vitest that says inside the sandbox what its own JSON reporter would, by way of the report's own channel.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { tell } = createRequire(import.meta.url)('./report_channel.cjs');
const project = createRequire(join(process.cwd(), 'package.json'));
const { JsonReporter } = await import(pathToFileURL(project.resolve('vitest/reporters')).href);

export default class extends JsonReporter {
  async writeReport(report) {
    tell(JSON.parse(report));
  }
}
