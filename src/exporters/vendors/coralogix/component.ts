import { formatAddress, httpClientDefaults } from "#net";
import { checkByEmptyExport, OTLP_SERVICES } from "#net/otlp";
import { GrpcClient } from "#net/sending";
import { ResourceStamp, stampResources } from "#otlp";
import { type PlainAttributes, plainAttributes, plainValueText } from "#otlp/json";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type PartialRejection,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../../plugin.js";
import { otlpSender, partialRejection, type SignalSender } from "../otlp-sender.js";
import { type CoralogixConfig, type CoralogixName, type CoralogixTransport, coralogixSchema } from "./config.js";

/** Sends OTLP to Coralogix, with the names of application and subsystem that it asks for. */
export const coralogixExporter = defineExporter<CoralogixConfig>({
  type: "coralogix",
  summary: "Sends OTLP to Coralogix, over gRPC or HTTP.",
  signals: SIGNALS,
  schema: coralogixSchema,
  refusesSignal: ({ transports }, signal) =>
    transports[signal] === undefined ? `it has neither "domain" nor "${signal}.endpoint"` : undefined,
  create: (config, context) => new CoralogixExporter(config, context),
});

/** How many pairs of names are remembered with their encoded attributes. */
const MAX_STAMPS = 1000;
const APPLICATION = "cx.application.name";
const SUBSYSTEM = "cx.subsystem.name";

class CoralogixExporter implements Exporter {
  private readonly config: CoralogixConfig;
  private readonly senders: Partial<Record<Signal, SignalSender>> = {};
  private readonly stamps = new Map<string, ResourceStamp>();
  /** The signal of the last batch, which the backend presumably accepts. */
  private signal: Signal;

  constructor(config: CoralogixConfig, context: ExporterContext) {
    this.config = config;
    for (const signal of SIGNALS) {
      const transport = config.transports[signal];
      if (transport === undefined) continue;
      const headers = { ...transport.headers, Authorization: `Bearer ${config.privateKey}` };
      const create = config.isHttp ? httpSender : grpcSender;
      this.senders[signal] = create(signal, { ...transport, headers }, context);
    }
    this.signal = SIGNALS.find((signal) => this.senders[signal] !== undefined) ?? "logs";
  }

  get metadataKeys(): readonly string[] {
    return [...new Set(Object.values(this.senders).flatMap(({ metadataKeys }) => metadataKeys))];
  }

  async start(): Promise<void> {
    for (const sender of Object.values(this.senders)) await sender.start();
  }

  async stop(): Promise<void> {
    for (const sender of Object.values(this.senders)) sender.stop();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    this.signal = batch.signal;
    const named = stampResources(batch, (b, start, end) =>
      this.stampOf(plainAttributes(b, start, end, RESOURCE_ATTRIBUTES_TAG)),
    );
    return this.senders[batch.signal]!.send(named, abort, options);
  }

  check(abort: AbortSignal): Promise<void> {
    return checkByEmptyExport(this.signal, (batch) => this.send(batch, abort));
  }

  private stampOf(resource: PlainAttributes): ResourceStamp {
    const application = nameOf(this.config.application, resource, APPLICATION);
    const subsystem = nameOf(this.config.subsystem, resource, SUBSYSTEM);
    const key = JSON.stringify([application, subsystem]);
    let stamp = this.stamps.get(key);
    if (stamp !== undefined) return stamp;
    if (this.stamps.size >= MAX_STAMPS) this.stamps.clear();
    const attributes = [
      [APPLICATION, application],
      [SUBSYSTEM, subsystem],
    ] as const;
    stamp = new ResourceStamp(new Map(attributes), "always");
    this.stamps.set(key, stamp);
    return stamp;
  }
}

/** The first attribute of the list, the default, or the attribute that a resource may have already. */
function nameOf({ attributes, fallback }: CoralogixName, resource: PlainAttributes, own: string): string {
  for (const key of attributes) {
    const text = plainValueText(resource[key]);
    if (text !== "") return text;
  }
  return fallback || plainValueText(resource[own]);
}

function grpcSender(signal: Signal, config: CoralogixTransport, context: ExporterContext): SignalSender {
  const client = new GrpcClient(config, context);
  const read = (response: Buffer) => partialRejection(signal, response, client.peer);
  return {
    get metadataKeys() {
      return client.metadataKeys;
    },
    start: () => client.start(),
    stop: () => client.stop(),
    send: ({ chunks }, abort, options) => client.call(OTLP_SERVICES[signal].grpcPath, chunks, abort, options, read),
  };
}

function httpSender(signal: Signal, config: CoralogixTransport, context: ExporterContext): SignalSender {
  const { endpoint, compression, tls, auth, proxy_url, headers } = config;
  const isSecure = endpoint.secure ?? !tls?.insecure;
  const authority = "path" in endpoint.address ? "localhost" : formatAddress(endpoint.address);
  const url = new URL(`${isSecure ? "https" : "http"}://${authority}/v1/${signal}`);
  return otlpSender(
    signal,
    url,
    { ...httpClientDefaults(), compression, tls, auth, proxy_url },
    headers ?? {},
    context,
  );
}
