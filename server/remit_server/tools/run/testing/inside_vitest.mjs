// A reporter of Vitest that says inside the sandbox what its own JSON reporter would, by way of the report's own channel.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { tell, tellCoverage } = createRequire(import.meta.url)('./report_channel.cjs');
const project = createRequire(join(process.cwd(), 'package.json'));
const { JsonReporter } = await import(pathToFileURL(project.resolve('vitest/reporters')).href);

export default class extends JsonReporter {
  onCoverage(coverage) {
    tellCoverage(coverage);
  }

  /** Older versions say here what lines ran. */
  onFinished(files, errors, coverage) {
    if (coverage) tellCoverage(coverage);
    return super.onFinished?.(files, errors);
  }

  async writeReport(report) {
    tell(JSON.parse(report));
  }
}
