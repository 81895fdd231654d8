/** Preloaded into an agent: on SIGUSR2 it collects garbage and writes how much memory is in use into a file. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

process.on("SIGUSR2", async () => {
  for (let i = 0; i < 4; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const file = process.env.HEAP_FILE;
  const code = getHeapSpaceStatistics().filter(({ space_name }) => space_name.startsWith("code"));
  const codeUsed = code.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  const memory = { ...process.memoryUsage(), codeUsed, rssFile: residentFiles() };
  writeFileSync(`${file}.new`, JSON.stringify(memory));
  renameSync(`${file}.new`, file);
});

/** The part of the resident memory that is mapped files: the program itself and LevelDB's tables. */
function residentFiles() {
  const [, kib = "0"] = readFileSync("/proc/self/status", "utf8").match(/RssFile:\s+(\d+)/) ?? [];
  return Number(kib) * 1024;
}
