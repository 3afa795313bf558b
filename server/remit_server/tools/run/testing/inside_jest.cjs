// A reporter of Jest that says inside the sandbox what `--json` would, by way of the report's own channel.
const { tell, tellCoverage } = require('./report_channel.cjs');

module.exports = class {
  onRunComplete(_contexts, results) {
    // Jest's own reporter of coverage comes after this one, and leaves what it found here.
    process.once('exit', () => tellCoverage(results.coverageMap));
    tell({
      testResults: results.testResults.map((file) => ({
        name: file.testFilePath,
        status: file.testExecError || file.numFailingTests > 0 || file.failureMessage ? 'failed' : 'passed',
        message: file.failureMessage ?? '',
        assertionResults: file.testResults.map(({ ancestorTitles, title, status, duration, failureMessages }) => ({
          ancestorTitles,
          title,
          status,
          duration,
          failureMessages,
        })),
      })),
    });
  }
};
