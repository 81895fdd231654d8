import { OTLP_SERVICES, type Signal } from "../../plugin.js";
import type { OtlpHttpConfig } from "./config.js";

/** Where a signal's requests go, taken apart once. */
export interface HttpTarget {
  readonly url: string;
  readonly secure: boolean;
  readonly hostname: string;
  readonly port: string;
  /** Path and query. */
  readonly path: string;
  /** `user:password` of the URL. */
  readonly auth: string | undefined;
}

/** The signal's own endpoint, or the common one with the signal's path behind it; undefined when there is neither. */
export function targetOf(config: OtlpHttpConfig, signal: Signal): HttpTarget | undefined {
  const signalEndpoint = config[`${signal}_endpoint`];
  if (signalEndpoint) return parseTarget(signalEndpoint);
  if (!config.endpoint) return undefined;
  const url = new URL(config.endpoint);
  url.pathname = url.pathname.replace(/\/$/, "") + OTLP_SERVICES[signal].httpPath;
  return parseTarget(url);
}

function parseTarget(url: URL): HttpTarget {
  const { username, password } = url;
  const auth = username ? `${decodeURIComponent(username)}:${decodeURIComponent(password)}` : undefined;
  return {
    // Without credentials: this one is shown in errors.
    url: `${url.protocol}//${url.host}${url.pathname}`,
    secure: url.protocol === "https:",
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port,
    path: url.pathname + url.search,
    auth,
  };
}
