import { z } from "zod";
import { httpUrl } from "#net";
import { ignored, secret, section, unsupported } from "../../plugin.js";
import { text } from "./schema.js";

const TLS_VERSIONS = ["TLS10", "TLS11", "TLS12", "TLS13"] as const;

const tlsSection = z.strictObject({
  ca: secret().optional().meta({ description: "Certificates to trust instead of the system's, as text." }),
  ca_file: z.string().optional().meta({ harmless: true, description: "The same as a file." }),
  cert: secret().optional().meta({ description: "The certificate to show, as text." }),
  cert_file: z.string().optional().meta({ harmless: true, description: "The same as a file." }),
  key: secret().optional().meta({ description: "The private key of the certificate, as text." }),
  key_file: z.string().optional().meta({ harmless: true, description: "The same as a file." }),
  server_name: z.string().optional().meta({ description: "The name that the certificate of the server must have." }),
  insecure_skip_verify: z.boolean().default(false).meta({ description: "Accept any certificate; for tests only." }),
  min_version: z.enum(TLS_VERSIONS).default("TLS12").meta({ description: "The oldest version that is spoken." }),
  max_version: z.enum(TLS_VERSIONS).default("TLS13").meta({ description: "The newest version that is spoken." }),
  ca_ref: unsupported("use ca or ca_file"),
  cert_ref: unsupported("use cert or cert_file"),
  key_ref: unsupported("use key or key_file"),
});

const basicSection = z.strictObject({
  username: text().optional().meta({ description: "The name of the user." }),
  username_file: z
    .string()
    .optional()
    .meta({ harmless: true, description: "The same in a file, read for every request." }),
  password: secret().optional().meta({ description: "The password." }),
  password_file: z
    .string()
    .optional()
    .meta({ harmless: true, description: "The same in a file, read for every request." }),
  username_ref: unsupported("use username or username_file"),
  password_ref: unsupported("use password or password_file"),
});

const authorizationSection = z.strictObject({
  type: z.string().default("Bearer").meta({ description: "The scheme of the Authorization header." }),
  credentials: secret().optional().meta({ description: "The credentials after the scheme." }),
  credentials_file: z
    .string()
    .optional()
    .meta({ harmless: true, description: "The same in a file, read for every request." }),
  credentials_ref: unsupported("use credentials or credentials_file"),
});

const headerValues = z.strictObject({
  values: z.array(z.string()).default([]).meta({ description: "Values of the header." }),
  secrets: z.array(secret()).default([]).meta({ description: "Values that are not printed." }),
  files: z.array(z.string()).default([]).meta({ harmless: true, description: "Files whose contents are values." }),
});

/** Keys of all HTTP clients of Prometheus, for scrapes and discoveries. */
export function httpClientConfigKeys() {
  return {
    basic_auth: section(basicSection).optional().meta({ description: "User and password." }),
    authorization: section(authorizationSection).optional().meta({ description: "An Authorization header." }),
    bearer_token: secret().optional().meta({ harmless: true, description: "A token: the old form of authorization." }),
    bearer_token_file: z.string().optional().meta({ harmless: true, description: "The same in a file." }),
    oauth2: unsupported(
      "tokens of an OAuth 2.0 server are not fetched for scrapes; write one to a file for credentials_file",
    ),
    tls_config: section(tlsSection).optional().meta({ description: "TLS: certificates and names." }),
    proxy_url: z
      .union([z.literal(""), httpUrl()])
      .optional()
      .meta({ description: "The proxy that requests go through." }),
    proxy_from_environment: z
      .boolean()
      .default(false)
      .meta({ description: "Take the proxy from HTTP_PROXY, HTTPS_PROXY and NO_PROXY." }),
    no_proxy: z.string().optional().meta({ description: "Hosts reached without proxy_url, separated by commas." }),
    proxy_connect_header: unsupported("write credentials into proxy_url"),
    follow_redirects: z.boolean().default(true).meta({ description: "Follow redirects." }),
    enable_http2: ignored("scrapes are made over HTTP/1.1"),
    http_headers: z.record(z.string(), headerValues).nullish().meta({ description: "More headers of the request." }),
  };
}

const httpClientConfig = z.strictObject(httpClientConfigKeys());

export type ScrapeClientConfig = z.infer<typeof httpClientConfig>;
