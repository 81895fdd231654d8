import { type COMPRESSIONS, compress } from "#codecs/compression";
import type { HttpClientConfig } from "#net";
import { checkByEmptyExport, decodeResponse, refusalOfUnreadable } from "#net/otlp";
import { answerReader, HttpPoster } from "#net/sending";
import type { Batch, Exporter, ExporterContext, PartialRejection, SendOptions, Signal } from "../../plugin.js";

/** Sends the batches of one signal. */
export interface SignalSender {
  readonly metadataKeys: readonly string[];
  start(): Promise<void>;
  stop(): void;
  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined>;
}

/** An exporter with a sender for each signal that the vendor accepts. */
export class SignalsExporter implements Exporter {
  private readonly senders: ReadonlyMap<Signal, SignalSender>;
  /** The signal of the last batch, which the backend presumably accepts. */
  private signal: Signal;

  constructor(senders: ReadonlyMap<Signal, SignalSender>) {
    this.senders = senders;
    this.signal = [...senders.keys()][0] ?? "logs";
  }

  get metadataKeys(): readonly string[] {
    return [...new Set([...this.senders.values()].flatMap(({ metadataKeys }) => metadataKeys))];
  }

  async start(): Promise<void> {
    for (const sender of this.senders.values()) await sender.start();
  }

  async stop(): Promise<void> {
    for (const sender of this.senders.values()) sender.stop();
  }

  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    this.signal = batch.signal;
    return this.senders.get(batch.signal)!.send(batch, abort, options);
  }

  check(abort: AbortSignal): Promise<void> {
    return checkByEmptyExport(this.signal, (batch) => this.send(batch, abort));
  }
}

interface OtlpSenderSettings extends HttpClientConfig {
  readonly compression: "none" | (typeof COMPRESSIONS)[number];
}

/**
 * Sends a signal as protobuf to the whole URL of a vendor's OTLP endpoint. Configured headers override `own`. If the
 * vendor may accept a request with a text instead of an answer of OTLP, `onText` gets it.
 */
export function otlpSender(
  signal: Signal,
  url: URL,
  config: OtlpSenderSettings,
  own: Readonly<Record<string, string>>,
  context: ExporterContext,
  onText?: (text: string) => void,
): SignalSender {
  const { compression } = config;
  const headers = {
    ...own,
    "Content-Type": "application/x-protobuf",
    ...(compression !== "none" && { "Content-Encoding": compression }),
  };
  const poster = new HttpPoster(url, config, headers, context);
  const readStatus = answerReader(context.clock);
  return {
    get metadataKeys() {
      return poster.metadataKeys;
    },
    start: () => poster.start(),
    stop: () => poster.stop(),
    async send({ chunks, bytes }, abort, options) {
      const body = compression === "none" ? chunks : [await compress(compression, bytes)];
      return poster.post(body, abort, options, (answer) => {
        readStatus(answer);
        if (onText !== undefined && TEXT.test(answer.body.toString("latin1", 0, 1))) {
          onText(answer.body.toString("utf8", 0, MAX_TEXT));
          return undefined;
        }
        return partialRejection(signal, answer.body, url.host);
      });
    },
  };
}

/** No answer of OTLP begins with these: they would be fields that it does not have. */
const TEXT = /[{[a-zA-Z<]/;
const MAX_TEXT = 1000;

/** Reads which records of an accepted request were rejected. */
export function partialRejection(signal: Signal, response: Buffer, peer: string): PartialRejection | undefined {
  const partial = decodeResponse(signal, "proto", response);
  if (partial === "unreadable") throw refusalOfUnreadable(peer, "the message is not an answer to an export");
  return partial;
}
