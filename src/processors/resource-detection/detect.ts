import type { ComponentContext, Value } from "../../plugin.js";
import { isBuilt, type ResourceDetectionConfig, type ResourceDetectorName } from "./config.js";
import { type Found, type Inquiry, type Sites, within } from "./detector.js";
import { DETECTORS, detectEnv } from "./detectors.js";

/**
 * Runs all detectors at once and merges their attributes. If several find the same attribute, the first in the config's
 * list wins. Never rejects, and takes no longer than the config's `timeout`: a detector that fails or is late counts as
 * having found nothing, which is logged.
 */
export async function detectAttributes(
  config: ResourceDetectionConfig,
  { clock, logger }: Pick<ComponentContext, "clock" | "logger">,
  sites: Sites,
  stop: AbortSignal,
): Promise<ReadonlyMap<string, Value>> {
  const late = new AbortController();
  const abort = AbortSignal.any([stop, late.signal]);
  const inquiry: Inquiry = { config, sites, clock, logger, timeoutMs: config.timeout, abort };
  const ask = async (name: string): Promise<Found> => {
    if (!isBuilt(name)) {
      logger.warn({ detector: name }, "this detector is not built in and finds nothing");
      return {};
    }
    warnOfUnknown(name, inquiry);
    try {
      const found = await within(config.timeout, detect(name, inquiry), inquiry);
      if (found === undefined) throw new Error(`no answer within ${config.timeout} ms`);
      return found;
    } catch (error) {
      if (!stop.aborted) logger.warn({ detector: name, reason: (error as Error).message }, "a detector found nothing");
      return {};
    }
  };
  const results = await Promise.all([...new Set<string>(config.detectors)].map(ask));
  late.abort();
  const wanted = config.attributes?.length ? new Set(config.attributes) : undefined;
  const merged = new Map<string, Value>();
  for (const [key, value] of results.flatMap(Object.entries) as [string, Value | undefined][]) {
    const isNew = value !== undefined && !merged.has(key);
    if (isNew && (wanted === undefined || wanted.has(key))) merged.set(key, value);
  }
  if (!stop.aborted) logger.info({ attributes: Object.fromEntries(merged) }, "resource attributes were detected");
  return merged;
}

/** Returns the attributes that a detector finds, without those that the config turns off. */
async function detect(name: ResourceDetectorName, inquiry: Inquiry): Promise<Found> {
  if (name === "env") return detectEnv(inquiry);
  const { detect: find, usual, onRequest } = DETECTORS[name];
  const choices = inquiry.config[name].resource_attributes;
  const isWanted = (key: string) => choices[key]?.enabled ?? usual.includes(key);
  const known = [...usual, ...onRequest].filter(isWanted);
  const found = await find(inquiry);
  return Object.fromEntries(known.map((key) => [key, found[key]]));
}

function warnOfUnknown(name: ResourceDetectorName, { config, logger }: Inquiry): void {
  if (name === "env") return;
  const { usual, onRequest } = DETECTORS[name];
  const unknown = Object.entries(config[name].resource_attributes).filter(
    ([key, { enabled }]) => enabled && !usual.includes(key) && !onRequest.includes(key),
  );
  if (unknown.length === 0) return;
  logger.warn(
    { detector: name, attributes: unknown.map(([key]) => key) },
    "the detector does not know these attributes",
  );
}
