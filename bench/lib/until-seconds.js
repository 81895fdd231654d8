/** Takes one turn after another until so many seconds are over, one at least; the sum of what they answer. */
export async function untilSeconds(/** @type {number} */ seconds, /** @type {() => Promise<number>} */ turn) {
  const end = performance.now() + seconds * 1000;
  let sum = 0;
  do sum += await turn();
  while (performance.now() < end);
  return sum;
}
