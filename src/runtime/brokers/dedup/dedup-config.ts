import { z } from "zod";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { duration, lazySection } from "#contract/schema";
import { duplicatesCounter } from "#receiving";
import { SharedKeys } from "../shared/shared-keys.js";
import { checkSharedState, SharedRedis, sharedRedisOf, sharedStateKeys } from "../shared/shared-redis.js";
import { AcceptedKeys, sharedAcceptedKeys } from "./accepted-keys.js";
import { Dedup } from "./dedup.js";
import { KeyLog } from "./key-log.js";

const dedup = () =>
  z.strictObject({
    enabled: z.boolean().default(true).meta({
      description: "Acknowledge duplicates, recognised by their idempotency key, without processing them again.",
    }),
    max_entries: z
      .number()
      .int()
      .positive()
      .default(100_000)
      .meta({ description: "Limit for the number of remembered keys." }),
    ttl: duration().default(3_600_000).meta({ description: "How long a key is remembered." }),
    directory: z.string().default("./data/dedup").meta({
      privileged: true,
      description: 'Where keys are kept over a restart, a file for each receiver; "": in memory only.',
    }),
    ...sharedStateKeys,
  });

/** The key `dedup` of a receiver; off unless the section is present. */
export function dedupSection(what: string) {
  return lazySection(() => dedup().superRefine(checkSharedState))
    .optional()
    .meta({ description: `Recognises ${what} that arrive a second time. Off by default.` });
}

/** Creates the `Dedup` that the section configures. The caller must start and stop it. */
export function createDedup(
  settings: z.infer<ReturnType<typeof dedup>> | undefined,
  context: BuiltInReceiverContext,
): Dedup | undefined {
  if (!settings?.enabled) return undefined;
  const { directory, max_entries, ttl } = settings;
  const { id, clock, metrics } = context;
  const keys = sharedAcceptedKeys(context.sockets, `${directory} ${id}`, () => {
    const log = directory === "" ? undefined : new KeyLog(directory, id, max_entries, context);
    return new AcceptedKeys(clock, log);
  });
  const redis = sharedRedisOf(settings);
  const shared = redis && new SharedKeys(new SharedRedis(redis, context, { receiver: id }), `dedup:${id}`, ttl, clock);
  return new Dedup(settings, clock, duplicatesCounter(metrics, id), keys, shared);
}
