import { defineBuiltInExporter } from "#contract/built-in";
import { formatAddress, httpClientDefaults } from "#net";
import { OTLP_SERVICES } from "#net/otlp";
import { GrpcClient } from "#net/sending";
import { ResourceStamp, stampResources } from "#otlp";
import { type PlainAttributes, plainAttributes, plainValueText } from "#otlp/json";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import {
  type Batch,
  type ExporterContext,
  type PartialRejection,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../../plugin.js";
import { otlpSender, partialRejection, type SignalSender, SignalsExporter } from "../otlp-sender.js";
import { type CoralogixConfig, type CoralogixName, type CoralogixTransport, coralogixSchema } from "./config.js";

/** Sends OTLP to Coralogix, with the names of application and subsystem that it asks for. */
export const coralogixExporter = defineBuiltInExporter<CoralogixConfig>({
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
/** Longer names are not remembered: they come from the data, and a thousand of them could fill the memory. */
const MAX_STAMP_LENGTH = 4096;
const APPLICATION = "cx.application.name";
const SUBSYSTEM = "cx.subsystem.name";

class CoralogixExporter extends SignalsExporter {
  private readonly config: CoralogixConfig;
  private readonly stamps = new Map<string, ResourceStamp>();

  constructor(config: CoralogixConfig, context: ExporterContext) {
    super(sendersOf(config, context));
    this.config = config;
  }

  override async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const named = stampResources(batch, (b, start, end) =>
      this.stampOf(plainAttributes(b, start, end, RESOURCE_ATTRIBUTES_TAG)),
    );
    return super.send(named, abort, options);
  }

  private stampOf(resource: PlainAttributes): ResourceStamp {
    const application = nameOf(this.config.application, resource, APPLICATION);
    const subsystem = nameOf(this.config.subsystem, resource, SUBSYSTEM);
    const key = JSON.stringify([application, subsystem]);
    let stamp = this.stamps.get(key);
    if (stamp !== undefined) return stamp;
    const attributes = [
      [APPLICATION, application],
      [SUBSYSTEM, subsystem],
    ] as const;
    stamp = new ResourceStamp(new Map(attributes), "always");
    if (key.length > MAX_STAMP_LENGTH) return stamp;
    if (this.stamps.size >= MAX_STAMPS) this.stamps.clear();
    this.stamps.set(key, stamp);
    return stamp;
  }
}

function sendersOf(config: CoralogixConfig, context: ExporterContext): ReadonlyMap<Signal, SignalSender> {
  const senders = new Map<Signal, SignalSender>();
  for (const signal of SIGNALS) {
    const transport = config.transports[signal];
    if (transport === undefined) continue;
    const headers = { ...transport.headers, Authorization: `Bearer ${config.privateKey}` };
    const create = config.isHttp ? httpSender : grpcSender;
    senders.set(signal, create(signal, { ...transport, headers }, context));
  }
  return senders;
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
