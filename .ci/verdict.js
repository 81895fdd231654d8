// Reads reports of vitest and ends with "N passed, N failed", after the names of what failed. A test that failed in an earlier report and passed in a later
// one counts by the later. With --again: prints the files to try once more, and exits with 1 where a second try would prove nothing.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

/** The part of a failed test's message that is shown. */
const MESSAGE_LINES = 15;
const LINE_LENGTH = 200;

const again = process.argv[2] === "--again";
const results = new Map();
let unread = 0;
for (const path of process.argv.slice(again ? 3 : 2)) {
  const report = JSON.parse(readFileSync(path, "utf8"));
  // A report of another version of Node.js counts by itself.
  const [, version] = /node(\d+)\.json$/.exec(path) ?? [];
  const label = version === undefined ? "" : `Node.js ${version}: `;
  for (const file of report.testResults) {
    const name = relative(process.cwd(), file.name);
    if (file.status === "failed" && file.assertionResults.length === 0)
      results.set(`${label}${name}: does not load`, { name, status: "failed" });
    else results.delete(`${label}${name}: does not load`);
    for (const test of file.assertionResults)
      results.set(`${label}${name}: ${test.fullName}`, {
        name,
        status: test.status,
        message: test.failureMessages?.[0],
      });
  }
  if (!report.success && !report.testResults.some((file) => file.status === "failed")) unread++;
}
const failed = [...results].filter(([, { status }]) => status === "failed");
if (again) {
  const files = [...new Set(failed.map(([, { name }]) => name))];
  if (unread > 0 || files.length === 0 || files.length > 3 || files.some((name) => name.startsWith("test/chaos/")))
    process.exit(1);
  console.log(files.join("\n"));
} else {
  const passed = [...results.values()].filter(({ status }) => status === "passed").length;
  for (const [name, { message = "" }] of failed) {
    console.log(`FAILED ${name}`);
    for (const line of message.split("\n", MESSAGE_LINES)) console.log(`  ${line.slice(0, LINE_LENGTH)}`);
  }
  if (unread > 0) console.log("A run failed outside of its tests: see its output above.");
  console.log(`${passed} passed, ${failed.length + unread} failed`);
  process.exit(failed.length + unread > 0 ? 1 : 0);
}
