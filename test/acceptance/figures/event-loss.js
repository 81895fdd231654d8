import { send, startAgent, startBackend, until } from "./agent.js";

const ROUNDS = 10;
const REQUESTS = 200;
const RECORDS = 10;
/** Of the backend: it takes, refuses, breaks connections, or is overloaded. */
const MOODS = [200, 503, undefined, 200, 429];

/**
 * Event loss: records that a client was told were taken, and that are neither at the backend nor dead letters in the end.
 * In each round four clients send; the backend changes its mood with each request; the agent is killed in the middle.
 */
export async function eventLoss() {
  const arrived = new Set();
  const acknowledged = new Set();
  let calls = 0;
  let isWell = false;
  const backend = await startBackend((bodies) => {
    const status = isWell ? 200 : MOODS[calls++ % MOODS.length];
    if (status === 200) for (const body of bodies) arrived.add(body);
    return status;
  });
  const keys = { retry_on_failure: { initial_interval: "20ms" }, circuit_breaker: { reset_timeout: "100ms" } };
  let agent = await startAgent(backend.url, keys);
  for (let round = 0; round < ROUNDS; round++) {
    let next = 0;
    const client = async () => {
      while (next < REQUESTS) {
        const request = next++;
        const bodies = Array.from({ length: RECORDS }, (_, i) => `${round}-${request}-${i}`);
        if (await send(agent.port, bodies)) for (const body of bodies) acknowledged.add(body);
      }
    };
    const killed = until(() => next > REQUESTS / 2).then(() => agent.kill());
    await Promise.all([client(), client(), client(), client(), killed]);
    agent = await startAgent(backend.url, keys, agent.directory);
  }
  isWell = true;
  const missing = () => [...acknowledged].filter((body) => !arrived.has(body));
  const deadline = Date.now() + 60_000;
  await until(() => missing().length === 0 || Date.now() > deadline);
  const lost = missing().length;
  await agent.stop();
  await backend.close();
  return {
    name: "Event loss",
    asked: "< 0.01 % of the events",
    measured: `${lost} of ${acknowledged.size} acknowledged events`,
    method: `${ROUNDS} kills (SIGKILL) of the agent under load, before a backend that breaks connections and answers 429 and 503`,
    isKept: lost === 0,
  };
}
