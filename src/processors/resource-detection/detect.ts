import type { ComponentContext, Value } from "../../plugin.js";
import { isImplemented, type ResourceDetectionConfig, type ResourceDetectorName } from "./config.js";
import { type DetectedAttributes, type DetectionContext, type DetectorEndpoints, withTimeout } from "./detector.js";
import { DETECTORS, detectEnv } from "./detectors.js";

/**
 * Runs all detectors at once and merges their attributes. If several find the same attribute, the first in the config's
 * list wins. Never rejects, and takes no longer than the config's `timeout`: a detector that fails or is late counts as
 * having found nothing, which is logged.
 */
export async function detectAttributes(
  config: ResourceDetectionConfig,
  { clock, logger }: Pick<ComponentContext, "clock" | "logger">,
  endpoints: DetectorEndpoints,
  stop: AbortSignal,
): Promise<ReadonlyMap<string, Value>> {
  const late = new AbortController();
  const abort = AbortSignal.any([stop, late.signal]);
  const context: DetectionContext = { config, endpoints, clock, logger, timeoutMs: config.timeout, abort };
  const ask = async (name: string): Promise<DetectedAttributes> => {
    if (!isImplemented(name)) {
      logger.warn({ detector: name }, "this detector is not built in and finds nothing");
      return {};
    }
    warnOfUnknown(name, context);
    try {
      const found = await withTimeout(config.timeout, detect(name, context), context);
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
async function detect(name: ResourceDetectorName, context: DetectionContext): Promise<DetectedAttributes> {
  if (name === "env") return detectEnv(context);
  const { detect: find, enabledByDefault, disabledByDefault } = DETECTORS[name];
  const choices = context.config[name].resource_attributes;
  const isWanted = (key: string) => choices[key]?.enabled ?? enabledByDefault.includes(key);
  const known = [...enabledByDefault, ...disabledByDefault].filter(isWanted);
  const found = await find(context);
  return Object.fromEntries(known.map((key) => [key, found[key]]));
}

function warnOfUnknown(name: ResourceDetectorName, { config, logger }: DetectionContext): void {
  if (name === "env") return;
  const { enabledByDefault, disabledByDefault } = DETECTORS[name];
  const unknown = Object.entries(config[name].resource_attributes).filter(
    ([key, { enabled }]) => enabled && !enabledByDefault.includes(key) && !disabledByDefault.includes(key),
  );
  if (unknown.length === 0) return;
  logger.warn(
    { detector: name, attributes: unknown.map(([key]) => key) },
    "the detector does not know these attributes",
  );
}
