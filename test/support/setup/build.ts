import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Runs once before the tests of every npm script: many of them start the built agent. */
export default function build(): void {
  const script = join(import.meta.dirname, "../../..", "scripts", "build-unless-built.js");
  execFileSync(process.execPath, [script], { stdio: "inherit" });
}
