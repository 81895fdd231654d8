// Loaded into an agent with --import: kills it before or after its n-th write to LevelDB, as KILL_AT says ("before 3").
// Tells the number of writes so far in the file KILL_COUNT_FILE, so that a test knows when it has tried them all.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const { ClassicLevel } = createRequire(import.meta.url)("classic-level");
const [when, number] = (process.env.KILL_AT ?? "never 0").split(" ");
const makeBatch = ClassicLevel.prototype.batch;
let writes = 0;

ClassicLevel.prototype.batch = function batch(...args) {
  const made = makeBatch.apply(this, args);
  if (args.length > 0) return made;
  const write = made.write.bind(made);
  made.write = async (...options) => {
    const isLast = ++writes === Number(number);
    writeFileSync(process.env.KILL_COUNT_FILE, String(writes));
    if (isLast && when === "before") process.kill(process.pid, "SIGKILL");
    await write(...options);
    if (isLast && when === "after") process.kill(process.pid, "SIGKILL");
  };
  return made;
};
