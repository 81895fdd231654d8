import type { OtlpTarget } from "#config";
import type { Logger } from "#contract";
import { StartError } from "#contract/errors";
import { loadClientTls, tlsClient } from "#net";
import { type OwnAuthenticators, OwnCredentials } from "./own-authenticators.js";

/** Options of OpenTelemetry's exporters for OTLP over HTTP. */
export interface OtlpOptions {
  /** Selects the exporter's package. */
  readonly encoding: "json" | "protobuf";
  readonly url: string;
  readonly headers: Record<string, string> | (() => Promise<Record<string, string>>);
  /** Adds headers to those of the config. */
  readonly credentials?: OwnCredentials | undefined;
  readonly timeoutMillis?: number;
  readonly compression?: never;
  readonly httpAgentOptions?: object;
}

export interface TargetServices {
  readonly authenticators: OwnAuthenticators;
  readonly logger: Logger;
}

/** Throws a `StartError` for unsupported settings; `path` is the target's path in the config. */
export async function otlpOptions(
  target: OtlpTarget,
  urlPath: string,
  path: readonly string[],
  services: TargetServices,
): Promise<OtlpOptions> {
  if (!/^http\/(protobuf|json)$/.test(target.protocol)) {
    throw new StartError(`expected http/protobuf or http/json, not ${target.protocol}`, [...path, "protocol"]);
  }
  if (![undefined, "", "none", "gzip"].includes(target.compression)) {
    throw new StartError(`expected gzip or none, not ${target.compression}`, [...path, "compression"]);
  }
  const tls = await tlsOptions(target.tls, [...path, "tls"]);
  const url = targetUrl(target, urlPath, path);
  const credentials = target.auth && new OwnCredentials(target.auth, url, services);
  return {
    encoding: target.protocol === "http/json" ? "json" : "protobuf",
    url,
    headers: credentials ? () => credentials.addTo(target.headers) : { ...target.headers },
    credentials,
    ...(target.timeout !== undefined && { timeoutMillis: target.timeout }),
    // The value of the exporters' enum, which is not imported because that would load its package.
    ...(target.compression === "gzip" && { compression: "gzip" as never }),
    ...(tls && { httpAgentOptions: tls }),
  };
}

function targetUrl({ endpoint, insecure }: OtlpTarget, urlPath: string, path: readonly string[]): string {
  const withScheme = /^https?:\/\//i.test(endpoint) ? endpoint : `${insecure ? "http" : "https"}://${endpoint}`;
  if (!URL.canParse(withScheme))
    throw new StartError("expected a URL such as http://localhost:4318", [...path, "endpoint"]);
  const url = new URL(withScheme);
  if (url.pathname === "/") url.pathname = urlPath;
  return url.href;
}

async function tlsOptions(tls: unknown, path: readonly string[]): Promise<object | undefined> {
  if (tls === undefined || tls === null) return undefined;
  const parsed = tlsClient().safeParse(tls);
  if (parsed.success) return loadClientTls(parsed.data, path);
  const { message, path: key } = parsed.error.issues[0]!;
  throw new StartError(message, [...path, ...key.map(String)]);
}
