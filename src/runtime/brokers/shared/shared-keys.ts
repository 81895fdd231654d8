import { randomBytes } from "node:crypto";
import type { Clock } from "#contract";
import { pause } from "#resilience";
import type { SharedRedis } from "./shared-redis.js";

/** State of a key among all agents: claimed by us, or already accepted. */
type KeyState = "claimed" | "taken";

/** A claim that is not renewed expires after this time, because its agent has died. */
const CLAIM_MS = 10_000;
const CLAIM_RETRY_MS = 50;

/** Claims all keys that are not taken yet; claims none if another agent has claimed one of them. */
const CLAIM = `
local states = {}
for i, key in ipairs(KEYS) do
  local value = redis.call("GET", key)
  if value == "taken" then states[i] = 1
  elseif value and value ~= ARGV[1] then return false
  else states[i] = 0 end
end
for i, key in ipairs(KEYS) do
  if states[i] == 0 then redis.call("SET", key, ARGV[1], "PX", ARGV[2]) end
end
return states`;

const SETTLE = `
for _, key in ipairs(KEYS) do
  if ARGV[1] == "taken" then redis.call("SET", key, "taken", "PX", ARGV[3])
  elseif redis.call("GET", key) == ARGV[2] then redis.call("DEL", key) end
end
return 1`;

/**
 * Accepted keys, shared by several agents. A key is claimed while its data is handed in, so that no two agents accept
 * it at once; an agent that finds a key claimed waits until the claim is settled. While Redis is unavailable all
 * methods give undefined.
 */
export class SharedKeys {
  private readonly redis: SharedRedis;
  private readonly name: string;
  private readonly ttlMs: number;
  private readonly clock: Clock;
  private readonly owner = randomBytes(9).toString("base64");

  constructor(redis: SharedRedis, name: string, ttlMs: number, clock: Clock) {
    this.redis = redis;
    this.name = `${redis.config.prefix}:{${name}}`;
    this.ttlMs = Math.max(1, Math.ceil(ttlMs));
    this.clock = clock;
  }

  start(): void {
    this.redis.start();
  }

  stop(): void {
    this.redis.stop();
  }

  async claim(keys: readonly string[]): Promise<readonly KeyState[] | undefined> {
    for (;;) {
      const states = await this.ask(CLAIM, keys, [this.owner, CLAIM_MS]);
      if (states === undefined) return undefined;
      if (states !== null) return (states as number[]).map((state) => (state === 1 ? "taken" : "claimed"));
      await pause(CLAIM_RETRY_MS, this.clock);
    }
  }

  async markTaken(keys: readonly string[]): Promise<void> {
    await this.ask(SETTLE, keys, ["taken", this.owner, this.ttlMs]);
  }

  async giveUp(keys: readonly string[]): Promise<void> {
    await this.ask(SETTLE, keys, ["free", this.owner, this.ttlMs]);
  }

  private ask(script: string, keys: readonly string[], more: readonly (string | number)[]): Promise<unknown> {
    const names = keys.map((key) => `${this.name}:${key}`);
    return this.redis.run((redis) => redis.eval(script, names.length, ...names, ...more) as Promise<unknown>);
  }
}
