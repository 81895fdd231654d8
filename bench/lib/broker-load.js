import process from "node:process";

/** How many are sent at a time. */
export const LANES = 4;

/** Sends so many times, some at a time. */
export async function inLanes(/** @type {number} */ times, /** @type {() => Promise<unknown>} */ send) {
  const lane = async () => {
    for (let i = 0; i < times / LANES; i++) await send();
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Microseconds of CPU that the work takes a record. */
export async function cpuPerRecord(/** @type {number} */ records, /** @type {() => Promise<unknown>} */ work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / records;
}
