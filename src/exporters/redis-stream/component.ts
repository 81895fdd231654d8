import type { Redis } from "ioredis";
import {
  connectRedis,
  isRedisReady,
  redisErrorMessage,
  redisProblem,
  rejectOnAbort,
  sendAll,
  type WrittenMessage,
  writeMessages,
} from "#brokers";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
  SIGNALS,
} from "../../plugin.js";
import { type RedisStreamExporterConfig, redisStreamExporterSchema } from "./config.js";

/**
 * Adds entries to Redis streams. A batch is delivered once the server has answered with the id of each of its entries.
 */
export const redisStreamExporter = defineExporter<RedisStreamExporterConfig>({
  type: "redis_stream",
  summary: "Adds entries to Redis streams, each once within dedup_window.",
  signals: SIGNALS,
  defaults: { sending_queue: { merge_backlog: false } },
  schema: redisStreamExporterSchema,
  create: (config, context) => new RedisStreamExporter(config, context),
});

/** Adds an entry unless its key was seen within the window, atomically: the key never exists without the entry. */
const ADD_ONCE = `
if not redis.call("SET", KEYS[2], "1", "NX", "PX", ARGV[1]) then return false end
return redis.call("XADD", KEYS[1], unpack(ARGV, 2))`;

interface ScriptedRedis {
  sluiceAddOnce(stream: string, key: string, ...args: (string | number | Buffer)[]): Promise<unknown>;
}

class RedisStreamExporter implements Exporter {
  private readonly config: RedisStreamExporterConfig;
  private readonly context: ExporterContext;
  private redis: Redis | undefined;

  constructor(config: RedisStreamExporterConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    this.redis = await connectRedis(this.config, this.context);
    // The client sends the hash of the script, and the script itself if the server does not know it.
    this.redis.defineCommand("sluiceAddOnce", { numberOfKeys: 2, lua: ADD_ONCE });
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const redis = this.usable();
    const { stream, encoding } = this.config[batch.signal];
    const messages = writeMessages(batch, encoding, options);
    return sendAll(this.config.endpoint, abort, messages, (message) => this.add(redis, stream, message));
  }

  async check(abort: AbortSignal): Promise<void> {
    const answered = this.usable()
      .ping()
      .catch((error: unknown) => {
        throw this.refusalOf(error);
      });
    await rejectOnAbort(this.config.endpoint, abort, answered);
  }

  async stop(): Promise<void> {
    this.redis?.disconnect();
  }

  private usable(): Redis {
    if (this.redis !== undefined && isRedisReady(this.redis)) return this.redis;
    throw new Refusal("transient", `${this.config.endpoint}: ${redisProblem(this.redis)}`, { status: "DISCONNECTED" });
  }

  private async add(redis: Redis, stream: string, message: WrittenMessage): Promise<void> {
    const { dedup_window } = this.config;
    try {
      if (dedup_window === 0) await redis.call("XADD", stream, ...this.entryOf(message));
      else {
        const { sluiceAddOnce } = redis as unknown as ScriptedRedis;
        const args = [Math.ceil(dedup_window), ...this.entryOf(message)];
        await sluiceAddOnce.call(redis, stream, `{${stream}}:sluice:${message.key}`, ...args);
      }
    } catch (error) {
      throw this.refusalOf(error, stream);
    }
  }

  /** Returns the arguments of XADD after the name of the stream. */
  private entryOf({ headers, body }: WrittenMessage): (string | number | Buffer)[] {
    const { max_length, body_field } = this.config;
    const entry: (string | number | Buffer)[] = max_length === undefined ? [] : ["MAXLEN", "~", max_length];
    entry.push("*", body_field, asBuffer(body));
    for (const name in headers) {
      const value = headers[name]!;
      entry.push(name, value instanceof Uint8Array ? asBuffer(value) : String(value));
    }
    return entry;
  }

  /** The server may later have more memory, another user or another key; the data is not at fault. */
  private refusalOf(error: unknown, stream?: string): Refusal {
    const message = redisErrorMessage(error, this.redis);
    const [, word] = /^([A-Z]{3,}) /.exec(message) ?? [];
    return new Refusal("transient", [this.config.endpoint, stream, message].filter(Boolean).join(": "), {
      ...(word !== undefined && { status: word }),
      // ERR stands for a command that the server could not carry out. All other error words are about the server.
      blame: word === "ERR" ? "entry" : "backend",
      cause: error,
    });
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
