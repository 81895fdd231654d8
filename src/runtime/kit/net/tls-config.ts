import { z } from "zod";
import { duration, ignored, secret, unsupported } from "../../contract/schema/schema.js";

const VERSIONS = ["1.0", "1.1", "1.2", "1.3"] as const;

/** Keys that both ends of a TLS connection have, with the Collector's names. Files are PEM. */
const common = {
  ca_file: z.string().optional().meta({ description: "Certificates to trust instead of the system's." }),
  ca_pem: secret().optional(),
  cert_file: z.string().optional(),
  cert_pem: secret().optional(),
  key_file: z.string().optional(),
  key_pem: secret().optional(),
  min_version: version("1.2"),
  max_version: version("1.3"),
  cipher_suites: z.array(z.string()).optional(),
  include_system_ca_certs_pool: z.boolean().default(false),
  curve_preferences: z.array(z.string()).optional(),
  tpm: unsupported("keys in a TPM are not supported; use key_file"),
};

/** `tls:` of a receiver. */
export function tlsServer() {
  return z.strictObject({
    ...common,
    client_ca_file: z
      .string()
      .optional()
      .meta({ description: "When set, clients must show a certificate signed by one of these." }),
    client_ca_file_reload: z.boolean().default(false),
    reload_interval: duration().optional().meta({ description: "How often the files are read again." }),
  });
}

/** `tls:` of an exporter. */
export function tlsClient() {
  return z.strictObject({
    ...common,
    insecure: z.boolean().default(false).meta({ description: "gRPC without TLS. Over HTTP the URL's scheme decides." }),
    insecure_skip_verify: z.boolean().default(false),
    server_name_override: z.string().optional(),
    reload_interval: ignored("certificates of an exporter are read once, when it starts"),
  });
}

/** The `tls` section of a server, parsed. */
export type TlsServerConfig = z.infer<ReturnType<typeof tlsServer>>;
/** The `tls` section of a client, parsed. */
export type TlsClientConfig = z.infer<ReturnType<typeof tlsClient>>;
/** A version of TLS as configs write it. */
export type TlsVersion = (typeof VERSIONS)[number];

/** YAML reads an unquoted 1.2 as a number. */
function version(fallback: TlsVersion) {
  const words = z.preprocess(
    (value) => (typeof value === "number" ? value.toFixed(1) : value || fallback),
    z.enum(VERSIONS),
  );
  return words.default(fallback).meta({ description: `Default ${fallback}.` });
}
