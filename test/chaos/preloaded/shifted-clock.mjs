// Loaded into an agent with --import: its wall clock is ahead by the milliseconds in the file CLOCK_FILE, which a test
// changes while the agent runs.

import { readFileSync } from "node:fs";

const now = Date.now;
const SystemDate = Date;
let offset = 0;

function readOffset() {
  try {
    offset = Number(readFileSync(process.env.CLOCK_FILE, "utf8"));
  } catch {
    offset = 0;
  }
}

readOffset();
setInterval(readOffset, 5).unref();
Date.now = () => now() + offset;
globalThis.Date = new Proxy(SystemDate, {
  construct: (target, args) => new target(...(args.length === 0 ? [now() + offset] : args)),
});
