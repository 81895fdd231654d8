import { send, startAgent, startBackend, until } from "./agent.js";
import { percentile, spreadOf } from "./percentile.js";

const ENTRIES = 1000;

/**
 * Dead-letter write: from the answer 400 of the backend until the agent has logged the dead letter, which it does when the
 * dead letter is on disk (fsync). One entry after the other; so it includes the answer's way and the line's way to us.
 */
export async function deadLetterWrite() {
  let refusedAt = 0;
  const times = [];
  const backend = await startBackend((bodies) => {
    if (bodies.length === 0) return 200;
    refusedAt = performance.now();
    return 400;
  });
  const agent = await startAgent(backend.url, { dead_letter: { max_log_lines: 0 } });
  agent.onLog(({ msg }) => {
    if (msg.includes("kept as a dead letter")) times.push(performance.now() - refusedAt);
  });
  for (let i = 1; i <= ENTRIES; i++) {
    await send(agent.port, [`entry ${i} ${"x".repeat(1000)}`]);
    await until(() => times.length === i);
  }
  await agent.stop();
  await backend.close();
  return {
    name: "Dead-letter write",
    asked: "< 5 ms p99",
    measured: spreadOf(times),
    method:
      "from the answer 400 until the dead letter is on disk (fsync) and its line of the log has reached the reader",
    isKept: percentile(times, 0.99) < 5,
  };
}
