/** Takes turns until this many seconds have passed, at least one; returns the sum of their results. */
export async function untilSeconds(/** @type {number} */ seconds, /** @type {() => Promise<number>} */ turn) {
  const end = performance.now() + seconds * 1000;
  let sum = 0;
  do sum += await turn();
  while (performance.now() < end);
  return sum;
}
