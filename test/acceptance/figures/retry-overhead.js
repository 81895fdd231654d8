import { send, startAgent, startBackend, until } from "./agent.js";
import { percentile, spreadOf } from "./percentile.js";

const ENTRIES = 1000;
const WAIT_MS = 100;

/**
 * Retry overhead: what a retry takes beyond the wait that is configured. Seen from the backend: from its answer 503 until
 * the same entry is there again, without the wait of 100 ms. One entry after the other.
 */
export async function retryOverhead() {
  const failedAt = new Map();
  const overheads = [];
  const backend = await startBackend(([body]) => {
    const now = performance.now();
    const before = failedAt.get(body);
    if (before === undefined) {
      failedAt.set(body, now);
      return 503;
    }
    overheads.push(now - before - WAIT_MS);
    return 200;
  });
  const keys = {
    retry_on_failure: { initial_interval: `${WAIT_MS}ms`, jitter: "none" },
    circuit_breaker: { enabled: false },
    // Each call is one entry, so that its retry can be recognised.
    sending_queue: { merge_backlog: false },
  };
  const agent = await startAgent(backend.url, keys);
  let next = 0;
  const client = async () => {
    while (next < ENTRIES) {
      const body = `entry ${next++}`;
      const wanted = () => failedAt.has(body);
      await send(agent.port, [body]);
      await until(wanted);
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  };
  // Four clients make about 35 retries a second, far below the retry limit of 100.
  await Promise.all([client(), client(), client(), client()]);
  await until(() => overheads.length === ENTRIES);
  await agent.stop();
  await backend.close();
  return {
    name: "Retry overhead",
    asked: "< 10 ms p99",
    measured: spreadOf(overheads),
    method: "from the answer 503 until the retry is at the backend, beyond the configured wait; seen from the backend",
    isKept: percentile(overheads, 0.99) < 10,
  };
}
