import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The share of busy time that a profiled process spent below certain frames, in certain periods. On a shared machine
 * this shows small shares that differences of CPU times cannot show. It does not include the work of the garbage
 * collector for these frames.
 *
 * @typedef {{ fromUs: number, toUs: number }} Stretch of the monotonic clock, which V8 uses too
 * @typedef {{ nodes: { id: number, callFrame: { functionName: string, url: string }, children?: number[] }[],
 *   startTime: number, samples: number[], timeDeltas: number[] }} CpuProfile
 */

export function monotonicUs() {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Reads the only profile in a folder. @returns {Promise<CpuProfile>} */
export async function readProfile(/** @type {string} */ folder) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".cpuprofile"));
  if (names.length !== 1) throw new Error(`${folder} has ${names.length} profiles`);
  return JSON.parse(await readFile(join(folder, names[0]), "utf8"));
}

/** @param {CpuProfile} profile @param {(url: string) => boolean} isOurs @param {readonly Stretch[]} stretches */
export function shareOf({ nodes, startTime, samples, timeDeltas }, isOurs, stretches) {
  const ours = below(nodes, isOurs);
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === "(idle)").map(({ id }) => id));
  let [at, busyUs, oursUs] = [startTime, 0, 0];
  for (const [i, id] of samples.entries()) {
    const passed = timeDeltas[i];
    at += passed;
    if (idle.has(id) || !stretches.some(({ fromUs, toUs }) => at >= fromUs && at < toUs)) continue;
    busyUs += passed;
    if (ours.has(id)) oursUs += passed;
  }
  return oursUs / busyUs;
}

/** The nodes that are such frames, or were called by them. A node comes before its children. */
function below(/** @type {CpuProfile["nodes"]} */ nodes, /** @type {(url: string) => boolean} */ isOurs) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const { id, callFrame, children = [] } of nodes) {
    if (isOurs(callFrame.url)) found.add(id);
    if (found.has(id)) for (const child of children) found.add(child);
  }
  return found;
}
