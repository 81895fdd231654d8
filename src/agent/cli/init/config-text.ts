import type { Signal } from "#otlp/signals";
import { DEFAULT_CONFIG } from "../command.js";

/** The answers that a new config is made from. */
export interface InitChoices {
  /** Where data is sent: a URL for HTTP, host:port for gRPC; undefined prints the data instead. */
  readonly endpoint: string | undefined;
  readonly protocol: "http" | "grpc";
  readonly signals: readonly Signal[];
  /** True when other machines may send too. */
  readonly isPublic: boolean;
  readonly masks: boolean;
}

/** Writes a config in which a comment explains every part. `file` is the path that the user gave. */
export function configText(choices: InitChoices, file: string): string {
  const option = configOption(file);
  return [
    "# Written by sluice init.",
    `#   sluice validate${option}   checks it`,
    `#   sluice run${option}        runs it`,
    `# Values such as \${env:TOKEN} come from the environment. "sluice components" lists all components,`,
    `# and "sluice components otlp" the keys of one.`,
    "",
    ...receiverLines(choices),
    "",
    ...processorLines(choices),
    "",
    ...exporterLines(choices),
    "",
    ...extensionLines(),
    "",
    ...serviceLines(choices),
    "",
  ].join("\n");
}

/** The option that names this file to a command; empty if the command finds it without. */
export function configOption(file: string): string {
  return file === DEFAULT_CONFIG ? "" : ` --config ${file}`;
}

function receiverLines({ isPublic }: InitChoices): string[] {
  const host = isPublic ? "0.0.0.0" : "127.0.0.1";
  const protocol = (name: string, port: number) => [
    `      ${name}:`,
    `        endpoint: ${host}:${port}`,
    ...(isPublic ? ["        # tls: { cert_file: server.crt, key_file: server.key }"] : []),
  ];
  return [
    "receivers:",
    "  # What OpenTelemetry SDKs and Collectors send.",
    ...(isPublic
      ? ["  # Everyone who reaches these ports can send: turn on tls, and auth of docs/how-to/authentication.md."]
      : ["  # From this machine only; 0.0.0.0 in place of 127.0.0.1 takes it from others, too."]),
    "  otlp:",
    "    protocols:",
    ...protocol("grpc", 4317),
    ...protocol("http", 4318),
  ];
}

function processorLines({ masks }: InitChoices): string[] {
  return [
    "processors:",
    "  # Asks clients to come again while memory is short.",
    "  memory_limiter:",
    "    limit_percentage: 75",
    ...(masks ? ["  # Masks personal data and secrets in texts and attributes.", "  pii: {}"] : []),
    "  # Merges what is sent; clients do not wait for that.",
    "  batch: {}",
  ];
}

function exporterLines({ endpoint, protocol }: InitChoices): string[] {
  if (endpoint === undefined)
    return ["exporters:", "  # Prints what it gets. Another exporter in its place sends it somewhere.", "  debug: {}"];
  const headers = [
    "    # Credentials, if the backend asks for them:",
    "    # headers:",
    `    #   authorization: "Bearer \${env:TOKEN}"`,
  ];
  const queue = [
    "    # What cannot be sent waits on disk, so much at most, and is tried again;",
    "    sending_queue:",
    "      max_bytes: 4GiB",
    "    # what the backend will never take is kept as a dead letter: sluice dlq list.",
    "    dead_letter:",
    "      retention: 30d",
  ];
  const address =
    protocol === "http"
      ? ["  otlp_http:", `    endpoint: ${JSON.stringify(endpoint)}`]
      : [
          "  otlp_grpc:",
          `    endpoint: ${JSON.stringify(endpoint)}`,
          "    # tls: { insecure: true } for a backend without TLS",
          ...(/^(localhost|127\.|\[::1\])/.test(endpoint) ? ["    tls: { insecure: true }"] : []),
        ];
  return ["exporters:", ...address, ...headers, ...queue];
}

function extensionLines(): string[] {
  return [
    "extensions:",
    "  # The queues of all exporters.",
    "  reliability:",
    "    directory: ./data/queue",
    "  # Is it up? http://127.0.0.1:13133",
    "  health_check: {}",
    "  # For sluice status and sluice dlq, and the console at http://127.0.0.1:55679/; on this machine only.",
    "  admin: {}",
  ];
}

function serviceLines({ signals, masks, endpoint, protocol }: InitChoices): string[] {
  const processors = ["memory_limiter", ...(masks ? ["pii"] : []), "batch"].join(", ");
  const exporter = endpoint === undefined ? "debug" : `otlp_${protocol}`;
  return [
    "service:",
    "  extensions: [reliability, health_check, admin]",
    "  pipelines:",
    ...signals.flatMap((signal) => [
      `    ${signal}:`,
      "      receivers: [otlp]",
      `      processors: [${processors}]`,
      `      exporters: [${exporter}]`,
    ]),
  ];
}
