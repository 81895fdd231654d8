import { z } from "zod";
import { grpcClientKeys } from "#net/sending";
import { deprecated } from "../../plugin.js";

const { compression, ...keys } = grpcClientKeys();

const UNDER_TLS = "write it under tls";

/** TLS keys at the top level, where older configs have them. */
const oldTlsKeys = {
  insecure: deprecated(z.boolean().optional(), UNDER_TLS),
  insecure_skip_verify: deprecated(z.boolean().optional(), UNDER_TLS),
  ca_file: deprecated(z.string().optional(), UNDER_TLS),
  cert_file: deprecated(z.string().optional(), UNDER_TLS),
  key_file: deprecated(z.string().optional(), UNDER_TLS),
  server_name_override: deprecated(z.string().optional(), UNDER_TLS),
};

export const jaegerExporterSchema = z.strictObject({
  ...keys,
  compression: compression
    .unwrap()
    .default("none")
    .meta({ description: "The compression of messages; Jaeger accepts gzip." }),
  ...oldTlsKeys,
});

export type JaegerExporterConfig = z.infer<typeof jaegerExporterSchema>;

/** Returns the keys of a gRPC client, with old keys moved to their present places. Keys under `tls` win. */
export function clientConfig(config: JaegerExporterConfig) {
  const names = Object.keys(oldTlsKeys) as (keyof typeof oldTlsKeys)[];
  const old = Object.fromEntries(
    names.filter((name) => config[name] !== undefined).map((name) => [name, config[name]]),
  );
  if (Object.keys(old).length === 0) return config;
  return { ...config, tls: keys.tls.parse({ ...old, ...config.tls }) };
}
