import { isIP } from "node:net";
import type { Redis, RedisOptions } from "ioredis";
import type { Clock, ComponentContext } from "#contract";
import { reasonLog } from "#contract/operations";
import { connectionErrorMessage, loadClientTls, renewClientTls, type TlsClientOptions } from "#net";
import { loadClient } from "#system";
import { REDIS_CLIENT, type RedisConnectionConfig } from "./redis-config.js";

const RETRY_MS = 1000;

/** The last known connection problem of each client. */
const problems = new WeakMap<Redis, string>();

/**
 * Opens a connection to Redis and keeps it. Reconnects until it is disconnected, whatever the error, and logs the
 * error. Without a connection a command fails at once, and the client never sends a command twice: the caller decides
 * about retries. Resolves after the first attempt, even a failed one.
 */
export async function connectRedis(config: RedisConnectionConfig, context: ComponentContext): Promise<Redis> {
  const { Redis: Client } = await loadClient<typeof import("ioredis")>(REDIS_CLIENT);
  const redis = new Client(await optionsOf(config, `sluice_${context.id}`));
  const log = reasonLog(context.clock, (reason, suppressed) =>
    context.logger.warn({ endpoint: config.endpoint, reason, suppressed }, "no connection to Redis; retrying"),
  );
  const fail = (error: unknown) => {
    problems.set(redis, connectionErrorMessage(error));
    log(connectionErrorMessage(error));
  };
  redis.on("error", fail);
  redis.on("ready", () => problems.delete(redis));
  limitReadyTime(redis, config.connect_timeout, context.clock, fail);
  const { tls } = config;
  if (tls && !tls.insecure) redis.on("close", () => void renewClientTls(redis.options.tls as TlsClientOptions, tls));
  const tried = new Promise<void>((resolve) => {
    for (const event of ["ready", "error", "close"]) redis.once(event, () => resolve());
  });
  redis.connect().catch(() => {}); // the event handler logs it
  await tried;
  return redis;
}

/** Limits the time until the server is ready: the client itself limits only the time to connect. */
function limitReadyTime(redis: Redis, limitMs: number, clock: Clock, onSilence: (error: Error) => void): void {
  let cancel = () => {};
  redis.on("connect", () => {
    cancel = clock.after(limitMs, () => {
      onSilence(new Error(`no answer within ${limitMs} ms`));
      redis.disconnect(true);
    });
  });
  for (const event of ["ready", "close", "end"]) redis.on(event, () => cancel());
}

/** Whether the client has a working connection, as far as it knows. */
export function isRedisReady({ status }: Redis): boolean {
  return status === "ready";
}

/** The reason why commands do not reach the server. */
export function redisProblem(redis: Redis | undefined): string {
  const reason = redis && problems.get(redis);
  return reason === undefined ? "not connected" : `not connected: ${reason}`;
}

/** The error message of the server or client, with an explanation if it is unclear. */
export function redisErrorMessage(error: unknown, redis?: Redis): string {
  const message = connectionErrorMessage(error);
  return /enableOfflineQueue|^Connection is closed/.test(message) ? redisProblem(redis) : message;
}

/** Whether the server's error begins with this word. */
export function isRedisError(error: unknown, word: string): boolean {
  return error instanceof Error && error.message.startsWith(`${word} `);
}

async function optionsOf(
  { endpoint, username, password, db, tls, connect_timeout }: RedisConnectionConfig,
  connectionName: string,
): Promise<Omit<RedisOptions, "replyMapping">> {
  const [, bracketed = "", port] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const host = bracketed.replace(/^\[(.*)\]$/, "$1");
  const address = endpoint.startsWith("/") ? { path: endpoint } : { host, port: Number(port) };
  // The client does not send the server name (SNI) by itself.
  const servername = isIP(host) === 0 && host !== "" ? { servername: host } : {};
  return {
    connectionName,
    // Replies of commands without their own client method differ between protocol versions; version 5 of the client
    // supports only this one.
    protocol: 2,
    ...address,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && !tls.insecure && { tls: { ...servername, ...(await loadClientTls(tls, ["tls"])) } }),
    connectTimeout: connect_timeout,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Fails commands that are unanswered when the connection is lost; with any other number they would wait.
    maxRetriesPerRequest: 0,
    retryStrategy: () => RETRY_MS,
  };
}
