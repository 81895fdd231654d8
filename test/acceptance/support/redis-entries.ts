import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { startRedis } from "../../support/servers/redis.js";

/** A Redis server of the test, and the entries of its streams as maps of fields. */
export async function redisOfTest() {
  const server = await startRedis();
  const client = new Redis(server.port, "127.0.0.1");
  onTestFinished(async () => {
    client.disconnect();
    await server.close();
  });
  const entries = async (stream: string) => {
    const found = await client.xrange(stream, "-", "+");
    return found.map(([, fields]) => Object.fromEntries(pairs(fields)));
  };
  return { endpoint: server.endpoint, entries, client };
}

function pairs(fields: readonly string[]): [string, string][] {
  return fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]!] as [string, string]] : []));
}
