import type { Redis } from "ioredis";
import { z } from "zod";
import type { ComponentContext, MetricAttributes } from "#contract";
import { errorMessage } from "#contract/errors";
import { duration, lazySection } from "#contract/schema";
import { waitAtMost } from "#contract/time";
import { hasClient, missingClient } from "#system";
import { REDIS_CLIENT, redisConnectionKeys } from "../clients/redis-config.js";
import { connectRedis, isRedisReady, redisErrorMessage, redisProblem } from "../clients/redis-link.js";

const redisKeys = () =>
  z.strictObject({
    ...redisConnectionKeys(),
    prefix: z
      .string()
      .default("sluice")
      .meta({ description: "Prefix of all keys in Redis; agents that share state need the same." }),
    timeout: duration()
      .refine((ms) => ms > 0, "expected more than 0, such as 200ms")
      .default(200)
      .meta({ description: "Time limit for a reply; a slower server is not used until it is fast again." }),
  });

export type SharedRedisConfig = z.infer<ReturnType<typeof redisKeys>>;

/** Keys of components whose state several agents may share. */
export const sharedStateKeys = {
  shared: z.enum(["redis"]).optional().meta({
    description:
      "Where agents share their state; default: each agent has its own. While the server is down each agent works on its own.",
  }),
  redis: lazySection(redisKeys).optional().meta({ description: "The Redis server, with `shared: redis`." }),
};

/** A check for `superRefine` of a schema with these keys. */
export function checkSharedState(
  { shared, redis }: { readonly shared?: "redis" | undefined; readonly redis?: SharedRedisConfig | undefined },
  context: z.RefinementCtx,
): void {
  const problem = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  if (shared === undefined && redis !== undefined) problem("redis", "it has no effect without shared: redis");
  if (shared !== undefined && !hasClient(REDIS_CLIENT)) problem("shared", missingClient(REDIS_CLIENT));
}

/** The config of the Redis server, if the state is shared. */
export function sharedRedisOf(config: {
  readonly shared?: "redis" | undefined;
  readonly redis?: SharedRedisConfig | undefined;
}): SharedRedisConfig | undefined {
  return config.shared === undefined ? undefined : (config.redis ?? redisKeys().parse({}));
}

/** Maximum time, in milliseconds, until a server that has come back is used again. */
const PROBE_MS = 1000;

/**
 * A Redis server for state that several agents share. It is optional: while it is down or slow, `isUp` is false, `run`
 * returns undefined at once, and the callers continue on their own. The log reports the beginning and end of an outage;
 * the gauge `sluice_shared_state_up` shows it.
 */
export class SharedRedis {
  readonly config: SharedRedisConfig;
  private readonly context: ComponentContext;
  private redis: Redis | undefined;
  private isStopped = false;
  private up = false;
  private wasTold = false;
  private cancelProbe = () => {};
  private onKnown = () => {};
  private known: Promise<void> | undefined;
  private readonly removeGauge: () => void;

  constructor(config: SharedRedisConfig, context: ComponentContext, attributes: MetricAttributes) {
    this.config = config;
    this.context = context;
    const description = "1 while state is shared with other agents, 0 while this agent works on its own.";
    const read = () => (this.up ? 1 : 0);
    this.removeGauge = context.metrics.gauge("sluice_shared_state_up", { description }, read, attributes);
  }

  get isUp(): boolean {
    return this.up;
  }

  /**
   * Set from the start until it is known whether the server answers, or a second has passed. A caller that continues
   * without the server before that may use what other agents have used already.
   */
  get untilKnown(): Promise<void> | undefined {
    return this.known;
  }

  /** Returns at once; the server is used as soon as it answers. */
  start(): void {
    this.isStopped = false;
    this.known = new Promise((resolve) => {
      this.onKnown = () => {
        this.known = undefined;
        resolve();
      };
    });
    const cancel = this.context.clock.after(PROBE_MS, () => this.onKnown());
    void this.known.then(cancel);
    connectRedis(this.config, this.context).then(
      (redis) => {
        this.redis = redis;
        if (this.isStopped) return redis.disconnect();
        redis.on("ready", () => void this.probe());
        void this.probe();
      },
      (error: unknown) => this.lose(errorMessage(error)),
    );
  }

  stop(): void {
    this.isStopped = true;
    this.up = false;
    this.onKnown();
    this.cancelProbe();
    this.removeGauge();
    this.redis?.disconnect();
  }

  /**
   * Resolves with the server's reply, or with undefined if the server is down, refuses the command, or takes too long.
   * Never rejects.
   */
  async run<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined> {
    const { redis } = this;
    if (!this.up || redis === undefined) return undefined;
    return this.ask(redis, command);
  }

  private async ask<T>(redis: Redis, command: (redis: Redis) => Promise<T>): Promise<T | undefined> {
    try {
      if (!isRedisReady(redis)) throw new Error(redisProblem(redis));
      const work = command(redis);
      const answer = await waitAtMost(this.config.timeout, work, this.context.clock, () => LATE);
      if (answer !== LATE) return answer as T;
      // After a busy period Node.js runs timers before it reads replies that have already arrived.
      const second = await Promise.race([work, new Promise((resolve) => setImmediate(resolve, LATE))]);
      if (second === LATE) throw new Error(`no answer within ${this.config.timeout} ms`);
      return second as T;
    } catch (error) {
      this.lose(redisErrorMessage(error, redis));
      return undefined;
    }
  }

  private async probe(): Promise<void> {
    const { redis } = this;
    if (this.isStopped || this.up || redis === undefined) return;
    if ((await this.ask(redis, (server) => server.ping())) === undefined || this.isStopped || this.up) return;
    this.up = true;
    this.onKnown();
    this.cancelProbe();
    const { endpoint } = this.config;
    this.context.logger.info({ endpoint }, "state is shared with other agents through Redis");
    this.wasTold = false;
  }

  private lose(reason: string): void {
    if (this.isStopped) return;
    this.up = false;
    this.onKnown();
    this.cancelProbe();
    this.cancelProbe = this.context.clock.after(PROBE_MS, () => void this.probe());
    if (this.wasTold) return;
    this.wasTold = true;
    const { endpoint } = this.config;
    this.context.logger.warn({ endpoint, reason }, "Redis does not answer: this agent works alone until it does");
  }
}

const LATE = Symbol("late");
