import type { OtlpTarget } from "../../config/schema/service-schema.js";
import { StartError } from "../../contract/start-error.js";
import { tlsClient } from "../../kit/net/tls-config.js";
import { loadClientTls } from "../../kit/net/tls-load.js";

/** What OpenTelemetry's exporters for OTLP over HTTP are made with. */
export interface OtlpOptions {
  /** What chooses the exporter: the package for JSON or the one for protobuf. */
  readonly encoding: "json" | "protobuf";
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly timeoutMillis?: number;
  readonly compression?: never;
  readonly httpAgentOptions?: object;
}

/** Throws a `StartError` for what cannot be done; `path` is where the target stands in the config. */
export async function otlpOptions(target: OtlpTarget, urlPath: string, path: readonly string[]): Promise<OtlpOptions> {
  if (!/^http\/(protobuf|json)$/.test(target.protocol)) {
    throw new StartError(`expected http/protobuf or http/json, not ${target.protocol}`, [...path, "protocol"]);
  }
  if (![undefined, "", "none", "gzip"].includes(target.compression)) {
    throw new StartError(`expected gzip or none, not ${target.compression}`, [...path, "compression"]);
  }
  const tls = await tlsOptions(target.tls, [...path, "tls"]);
  return {
    encoding: target.protocol === "http/json" ? "json" : "protobuf",
    url: targetUrl(target, urlPath, path),
    headers: { ...target.headers },
    ...(target.timeout !== undefined && { timeoutMillis: target.timeout }),
    // The exporters' enum has this value; naming the enum would load its package.
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
