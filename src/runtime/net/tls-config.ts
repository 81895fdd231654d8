import { z } from "zod";
import { duration, ignored, secret, unsupported } from "#contract/schema";

const VERSIONS = ["1.0", "1.1", "1.2", "1.3"] as const;

/** TLS keys of servers and clients, with the Collector's names. Files are in PEM. */
const common = {
  ca_file: z
    .string()
    .optional()
    .meta({ harmless: true, description: "Certificates to trust instead of the system's." }),
  ca_pem: secret().optional().meta({ description: "The same as text, instead of a file." }),
  cert_file: z
    .string()
    .optional()
    .meta({ harmless: true, description: "The certificate, followed by its intermediate certificates." }),
  cert_pem: secret().optional().meta({ description: "The same as text, instead of a file." }),
  key_file: z.string().optional().meta({ harmless: true, description: "The private key of the certificate." }),
  key_pem: secret().optional().meta({ description: "The same as text, instead of a file." }),
  min_version: version("1.2"),
  max_version: version("1.3"),
  cipher_suites: z.array(z.string()).optional().meta({
    description:
      "Cipher suites to allow, by Go's or OpenSSL's names. Default: those of Node.js; a server takes only those with forward secrecy.",
  }),
  include_system_ca_certs_pool: z
    .boolean()
    .default(false)
    .meta({ description: "Trust the system's certificates in addition to those of ca_file." }),
  curve_preferences: z
    .array(z.string())
    .optional()
    .meta({ description: "Curves of the key exchange, the preferred one first. Default: those of Node.js." }),
  tpm: unsupported("keys in a TPM are not supported; use key_file"),
};

/** `tls:` of a receiver. */
export function tlsServer() {
  return z.strictObject({
    ...common,
    client_ca_file: z
      .string()
      .optional()
      .meta({ harmless: true, description: "If set, clients must present a certificate signed by one of these." }),
    client_ca_file_reload: ignored("client_ca_file is reloaded with the other files, every reload_interval"),
    reload_interval: duration().optional().meta({ description: "How often the files are reloaded." }),
  });
}

/** `tls:` of an exporter. */
export function tlsClient() {
  return z.strictObject({
    ...common,
    insecure: z.boolean().default(false).meta({ description: "gRPC without TLS. Over HTTP the URL's scheme decides." }),
    insecure_skip_verify: z
      .boolean()
      .default(false)
      .meta({ description: "Accept any server certificate; for tests only, because the server is not verified." }),
    server_name_override: z
      .string()
      .optional()
      .meta({ description: "The name expected in the server's certificate, instead of the endpoint's." }),
    reload_interval: ignored(
      "a client reads its files when it starts, and those of brokers and databases also when a connection fails",
    ),
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
