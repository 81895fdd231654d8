import type { Redis, RedisOptions } from "ioredis";
import type { ComponentContext } from "../../contract/component.js";
import { errorMessage } from "../../contract/error-message.js";
import { limitedLog } from "../../contract/limited-log.js";
import { loadClientTls } from "../net/tls-load.js";
import { loadClient } from "./load-client.js";
import { REDIS_CLIENT, type RedisConnectionConfig } from "./redis-config.js";

const RETRY_MS = 1000;

/**
 * A connection to Redis that is kept: tried again for as long as it is not disconnected, whatever the reason, which is told.
 * A command that finds no connection fails at once, and none is sent twice by the client itself: what to do then is decided
 * by whoever gave it. Resolves after the first try, also when that has failed.
 */
export async function connectRedis(config: RedisConnectionConfig, context: ComponentContext): Promise<Redis> {
  const { Redis: Client } = await loadClient<typeof import("ioredis")>(REDIS_CLIENT);
  const redis = new Client(await optionsOf(config, `sluice_${context.id}`));
  const logFailure = limitedLog<unknown>(context.clock, (error, suppressed) =>
    context.logger.warn(
      { endpoint: config.endpoint, reason: redisErrorMessage(error), suppressed },
      "no connection to Redis; trying again",
    ),
  );
  redis.on("error", logFailure);
  const tried = new Promise<void>((resolve) => {
    for (const event of ["ready", "error", "close"]) redis.once(event, () => resolve());
  });
  redis.connect().catch(() => {}); // told by the event
  await tried;
  return redis;
}

/** Whether commands reach the server, as far as is known. */
export function isRedisReady({ status }: Redis): boolean {
  return status === "ready";
}

/** What the server or the client says, with what it means where that is not plain. */
export function redisErrorMessage(error: unknown): string {
  const { errors, message } = (error ?? {}) as { readonly errors?: readonly unknown[]; readonly message?: string };
  if (errors?.length) return redisErrorMessage(errors[0]);
  return message?.includes("enableOfflineQueue") ? "not connected" : errorMessage(error);
}

/** Whether the server answered with an error that begins with this word. */
export function isRedisError(error: unknown, word: string): boolean {
  return error instanceof Error && error.message.startsWith(`${word} `);
}

async function optionsOf(
  { endpoint, username, password, db, tls, connect_timeout }: RedisConnectionConfig,
  connectionName: string,
): Promise<Omit<RedisOptions, "replyMapping">> {
  const [, host = "", port] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const address = endpoint.startsWith("/")
    ? { path: endpoint }
    : { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) };
  return {
    connectionName,
    // The replies of commands that have no method of their own differ between the protocols; version 5 of the client knows only this.
    protocol: 2,
    ...address,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: await loadClientTls(tls, ["tls"]) }),
    connectTimeout: connect_timeout,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Commands that wait for an answer when the connection is lost fail; with any other number they would wait on.
    maxRetriesPerRequest: 0,
    retryStrategy: () => RETRY_MS,
  };
}
