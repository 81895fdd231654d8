import { SIGNALS, type Signal } from "../../plugin.js";
import { contentTypeOf, type HttpTarget, httpTarget, OTLP_SERVICES } from "../../runtime/kit.js";
import type { OtlpHttpConfig } from "./config.js";

/** The targets of the signals that have one. */
export function httpTargets(config: OtlpHttpConfig): ReadonlyMap<Signal, HttpTarget> {
  const targets = new Map<Signal, HttpTarget>();
  for (const signal of SIGNALS) {
    const url = urlOf(config, signal);
    if (url !== undefined) targets.set(signal, createTarget(url, config));
  }
  return targets;
}

export function hasTarget(config: OtlpHttpConfig, signal: Signal): boolean {
  return urlOf(config, signal) !== undefined;
}

/** The signal's own endpoint, or the common one with the signal's path behind it; undefined when there is neither. */
function urlOf(config: OtlpHttpConfig, signal: Signal): URL | undefined {
  const signalEndpoint = config[`${signal}_endpoint`];
  if (signalEndpoint ?? !config.endpoint) return signalEndpoint;
  const url = new URL(config.endpoint);
  url.pathname = url.pathname.replace(/\/$/, "") + OTLP_SERVICES[signal].httpPath;
  return url;
}

function createTarget(url: URL, config: OtlpHttpConfig): HttpTarget {
  return httpTarget(url, config, {
    "Content-Type": contentTypeOf(config.encoding),
    ...(config.compression !== "none" && { "Content-Encoding": config.compression }),
  });
}
