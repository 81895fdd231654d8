// Loaded into an agent with --import: each fsync of LevelDB takes up to MAX_FSYNC_MS longer, at random, half of the time
// before the data is in the file and half of the time after.

import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";

const { ClassicLevel } = createRequire(import.meta.url)("classic-level");
const maxMs = Number(process.env.MAX_FSYNC_MS ?? 500);
const makeBatch = ClassicLevel.prototype.batch;

ClassicLevel.prototype.batch = function batch(...args) {
  const made = makeBatch.apply(this, args);
  if (args.length > 0) return made;
  const write = made.write.bind(made);
  made.write = async (options) => {
    if (options?.sync !== true) return write(options ?? {});
    const ms = Math.random() * maxMs;
    const isBefore = Math.random() < 0.5;
    if (isBefore) await delay(ms);
    await write(options);
    if (!isBefore) await delay(ms);
  };
  return made;
};
