import { Redis } from "ioredis";
import { redisStreamExporter } from "../../../dist/exporters/redis-stream/component.js";
import { redisStreamReceiver } from "../../../dist/receivers/redis-stream/component.js";
import { cpuPerRecord, inLanes, MANY_LANES } from "../broker-load.js";

const ADD_ONCE = `
if redis.call("SET", KEYS[2], "1", "NX", "PX", 120000) then return redis.call("XADD", KEYS[1], "*", unpack(ARGV)) end`;

/**
 * A stream to which a script adds each entry once, by its key. A consumer group reads it; entries that were read
 * together are acknowledged together.
 *
 * @param {string} endpoint
 * @param {string} stream
 * @param {import("../../../dist/plugin.js").Batch} batch
 */
export async function openBare(endpoint, stream, { bytes, count }) {
  const body = Buffer.from(bytes);
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const open = () => {
    const redis = new Redis(Number(port), host, { protocol: 2 });
    redis.defineCommand("addOnce", { numberOfKeys: 2, lua: ADD_ONCE });
    return redis;
  };
  const admin = open();
  let sequence = 0;

  async function publish(/** @type {number} */ messages) {
    const own = /** @type {Redis & { addOnce(...args: (string | Buffer)[]): Promise<unknown> }} */ (open());
    const add = () => {
      const key = `bare-${sequence++}`;
      return own.addOnce(stream, `{${stream}}:${key}`, "body", body, "x-idempotency-key", key);
    };
    const used = await cpuPerRecord(messages * count, () => inLanes(messages, add, MANY_LANES));
    own.disconnect();
    return used;
  }
  const empty = () => admin.del(stream);

  return {
    async write(/** @type {number} */ messages) {
      await empty();
      return publish(messages);
    },
    async fill(/** @type {number} */ messages) {
      await empty();
      await publish(messages);
    },
    async read(/** @type {number} */ messages) {
      await admin.call("XGROUP", "CREATE", stream, "bare", "0");
      const own = open();
      const used = await cpuPerRecord(messages * count, async () => {
        for (let seen = 0; seen < messages; ) {
          const args = ["GROUP", "bare", "one", "COUNT", 100, "BLOCK", 2000, "STREAMS", stream, ">"];
          const answer = /** @type {[Buffer, [Buffer, Buffer[]][]][]} */ (await own.callBuffer("XREADGROUP", ...args));
          const ids = (answer[0]?.[1] ?? []).map(([id]) => id);
          await own.call("XACK", stream, "bare", ...ids);
          seen += ids.length;
        }
      });
      own.disconnect();
      return used;
    },
    exporter: () => ({ factory: redisStreamExporter, keys: { endpoint, logs: { stream } } }),
    receiver: () => ({ factory: redisStreamReceiver, keys: { endpoint, logs: { stream } } }),
    async close() {
      await empty();
      admin.disconnect();
    },
  };
}
