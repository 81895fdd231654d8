import { send, startAgent, startBackend, until } from "./agent.js";

const BACKLOG = 2000;
const OUTAGES_MS = [5000, 20_000, 40_000];

/** Recovery: from the moment when the backend listens again until it has the last event of the backlog, by the defaults. */
export async function recovery() {
  const seconds = [];
  for (const [i, outage] of OUTAGES_MS.entries()) seconds.push(await recoverAfter(outage, i));
  return {
    name: "Recovery after the backend is back",
    asked: "< 60 s",
    measured: `${Math.max(...seconds).toFixed(1)} s at most (${seconds.map((each) => each.toFixed(1)).join(", ")})`,
    method: `outages of ${OUTAGES_MS.map((ms) => ms / 1000).join(", ")} s with ${BACKLOG} entries waiting; all keys as by default`,
    isKept: Math.max(...seconds) < 60,
  };
}

async function recoverAfter(outage, round) {
  const arrived = new Set();
  const take = (bodies) => {
    for (const body of bodies) arrived.add(body);
    return 200;
  };
  const first = await startBackend(take);
  const agent = await startAgent(first.url, {});
  await send(agent.port, ["before"]);
  await until(() => arrived.has("before"));
  await first.close();
  const end = Date.now() + outage;
  for (let sent = 0; sent < BACKLOG; sent += 20) {
    const texts = Array.from({ length: 20 }, (_, i) => `${round}-${sent + i}`);
    await Promise.all(texts.map((text) => send(agent.port, [text])));
  }
  await until(() => Date.now() >= end);
  const again = await startBackend(take, first.port);
  const since = performance.now();
  await until(() => arrived.size === BACKLOG + 1);
  const seconds = (performance.now() - since) / 1000;
  await agent.stop();
  await again.close();
  return seconds;
}
