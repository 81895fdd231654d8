import { isIP } from "node:net";
import type { Redis, RedisOptions } from "ioredis";
import type { Clock, ComponentContext } from "#contract";
import { reasonLog } from "#contract/operations";
import { connectionErrorMessage, loadClientTls, renewClientTls, type TlsClientOptions } from "#net";
import { loadClient } from "#system";
import { REDIS_CLIENT, type RedisConnectionConfig } from "./redis-config.js";

const RETRY_MS = 1000;

/** Why each has no connection, as far as is known. */
const problems = new WeakMap<Redis, string>();

/**
 * A connection to Redis that is kept: tried again for as long as it is not disconnected, whatever the reason, which is told.
 * A command that finds no connection fails at once, and none is sent twice by the client itself: what to do then is decided
 * by whoever gave it. Resolves after the first try, also when that has failed.
 */
export async function connectRedis(config: RedisConnectionConfig, context: ComponentContext): Promise<Redis> {
  const { Redis: Client } = await loadClient<typeof import("ioredis")>(REDIS_CLIENT);
  const redis = new Client(await optionsOf(config, `sluice_${context.id}`));
  const log = reasonLog(context.clock, (reason, suppressed) =>
    context.logger.warn({ endpoint: config.endpoint, reason, suppressed }, "no connection to Redis; trying again"),
  );
  const fail = (error: unknown) => {
    problems.set(redis, connectionErrorMessage(error));
    log(connectionErrorMessage(error));
  };
  redis.on("error", fail);
  redis.on("ready", () => problems.delete(redis));
  limitGreeting(redis, config.connect_timeout, context.clock, fail);
  const { tls } = config;
  if (tls) redis.on("close", () => void renewClientTls(redis.options.tls as TlsClientOptions, tls));
  const tried = new Promise<void>((resolve) => {
    for (const event of ["ready", "error", "close"]) redis.once(event, () => resolve());
  });
  redis.connect().catch(() => {}); // told by the event
  await tried;
  return redis;
}

/** The client waits only for the connection, and then for ever for the server to say that it is ready. */
function limitGreeting(redis: Redis, limitMs: number, clock: Clock, onSilence: (error: Error) => void): void {
  let cancel = () => {};
  redis.on("connect", () => {
    cancel = clock.after(limitMs, () => {
      onSilence(new Error(`no answer within ${limitMs} ms`));
      redis.disconnect(true);
    });
  });
  for (const event of ["ready", "close", "end"]) redis.on(event, () => cancel());
}

/** Whether commands reach the server, as far as is known. */
export function isRedisReady({ status }: Redis): boolean {
  return status === "ready";
}

/** Why commands do not reach the server. */
export function redisProblem(redis: Redis | undefined): string {
  const reason = redis && problems.get(redis);
  return reason === undefined ? "not connected" : `not connected: ${reason}`;
}

/** What the server or the client says, with what it means where that is not plain. */
export function redisErrorMessage(error: unknown, redis?: Redis): string {
  const message = connectionErrorMessage(error);
  return /enableOfflineQueue|^Connection is closed/.test(message) ? redisProblem(redis) : message;
}

/** Whether the server answered with an error that begins with this word. */
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
  // The client does not tell the server by itself which name it is looking for.
  const servername = isIP(host) === 0 && host !== "" ? { servername: host } : {};
  return {
    connectionName,
    // The replies of commands that have no method of their own differ between the protocols; version 5 of the client knows only this.
    protocol: 2,
    ...address,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: { ...servername, ...(await loadClientTls(tls, ["tls"])) } }),
    connectTimeout: connect_timeout,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Commands that wait for an answer when the connection is lost fail; with any other number they would wait on.
    maxRetriesPerRequest: 0,
    retryStrategy: () => RETRY_MS,
  };
}
