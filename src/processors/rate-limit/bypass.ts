import { createHash, timingSafeEqual } from "node:crypto";
import { RecordViews, type RecordWalk } from "#otlp/views";
import { ConditionSet, type OnOttlError } from "#ottl";
import type { Origin } from "../../plugin.js";
import type { BypassRule } from "./config.js";

/**
 * Returns a test that tells which records of one batch bypass the limits. Conditions on the client are decided once per
 * batch. Returns undefined if no rule can apply.
 */
export function bypassFor(
  rules: readonly BypassRule[],
  walk: RecordWalk,
  origin: Origin,
  onError: OnOttlError,
): ((start: number, end: number) => boolean) | undefined {
  if (rules.length === 0) return undefined;
  const views = new RecordViews(walk);
  const tests = rules
    .filter((rule) => rule.metadata.every(([name, value]) => hasMetadata(origin, name, value)))
    .flatMap((rule) => createBypassTest(rule, walk, views, onError) ?? []);
  if (tests.length === 0) return undefined;
  return (start, end) => tests.some((test) => test(start, end));
}

type BypassTest = (start: number, end: number) => boolean;

/** Returns undefined if the rule's condition cannot apply to this signal. */
function createBypassTest(
  { pattern, conditions }: BypassRule,
  walk: RecordWalk,
  views: RecordViews,
  onError: OnOttlError,
): BypassTest | undefined {
  const condition = conditions?.[walk.batch.signal];
  if (conditions !== undefined && condition === undefined) return undefined;
  const set = condition && new ConditionSet([condition], onError);
  return (start, end) =>
    (pattern === undefined || pattern(views.at(start, end))) && (set === undefined || set.any(walk, start, end));
}

/** Compares in constant time, because the value may be a secret that allows the bypass. */
function hasMetadata({ metadata }: Origin, name: string, expected: string): boolean {
  const values = metadata?.get(name) ?? [];
  if (expected === "*") return values.length > 0;
  return values.some((value) => timingSafeEqual(digest(value), digest(expected)));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
