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
    `# \${env:TOKEN} stands for the environment variable TOKEN. "sluice components" lists all components,`,
    `# "sluice components otlp" lists the keys of one.`,
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
    "  # Receives data from OpenTelemetry SDKs and Collectors.",
    ...(isPublic
      ? ["  # Anyone who can reach these ports can send data. Turn on tls and auth: docs/how-to/authentication.md."]
      : ["  # Only programs on this machine can send. To accept data from other machines, use 0.0.0.0."]),
    "  otlp:",
    "    protocols:",
    ...protocol("grpc", 4317),
    ...protocol("http", 4318),
  ];
}

function processorLines({ masks }: InitChoices): string[] {
  return [
    "processors:",
    "  # Refuses data while memory is short. Clients retry.",
    "  memory_limiter:",
    "    limit_percentage: 75",
    ...(masks ? ["  # Masks personal data and secrets in texts and attributes.", "  pii: {}"] : []),
    "  # Merges small batches into larger requests. Clients do not wait for this.",
    "  batch: {}",
  ];
}

function exporterLines({ endpoint, protocol }: InitChoices): string[] {
  if (endpoint === undefined)
    return [
      "exporters:",
      "  # Prints all data. To send it to a backend, replace this with an exporter such as otlp_http.",
      "  debug: {}",
    ];
  const headers = [
    "    # Credentials, if the backend needs them:",
    "    # headers:",
    `    #   authorization: "Bearer \${env:TOKEN}"`,
  ];
  const queue = [
    "    # If the backend fails, data waits on disk up to this size and is retried.",
    "    sending_queue:",
    "      max_bytes: 4GiB",
    "    # Data that the backend refuses permanently becomes a dead letter: see sluice dlq list.",
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
    "  # Stores the queues of all exporters.",
    "  reliability:",
    "    directory: ./data/queue",
    "  # Tells whether the agent is ready: http://127.0.0.1:13133",
    "  health_check: {}",
    "  # Serves the console at http://127.0.0.1:55679/, and sluice status and sluice dlq. Only from this machine.",
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
