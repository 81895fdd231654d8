import { type COMPRESSIONS, compress } from "#codecs/compression";
import type { Exporter, ExporterContext, SendOptions } from "#contract";
import { Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import type { HttpClientConfig } from "../http-client-keys.js";
import { answerReader, HttpPoster } from "./http-poster.js";
import { type RecordRequest, sendEach } from "./send-each.js";

/** Spans that are sent in one request, by their indexes in the batch. */
export interface SpanBody {
  readonly records: readonly number[];
  /** Returns the body before compression. It is called when the request's turn comes. */
  encode(): Uint8Array;
}

/** The requests for a batch, and the indexes of spans without a trace id or a span id. */
export interface SpanBodies {
  readonly bodies: readonly SpanBody[];
  readonly withoutIds: readonly number[];
}

/** How spans are posted. */
interface SpanPosting {
  /** The name of the protocol in errors. */
  readonly protocol: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly compression: (typeof COMPRESSIONS)[number] | "none";
  /** Turns a batch into bodies. */
  read(batch: Batch): SpanBodies;
}

/**
 * An exporter of spans over HTTP, in a protocol whose spans must have ids: those without are refused for good. Requests
 * that succeeded are not repeated when a later one is refused.
 */
export class SpanPoster implements Exporter {
  private readonly posting: SpanPosting;
  private readonly poster: HttpPoster;
  private readonly readAnswer: ReturnType<typeof answerReader>;

  constructor(posting: SpanPosting, config: HttpClientConfig, context: ExporterContext) {
    this.posting = posting;
    const { url, headers, compression } = posting;
    const encoding = compression === "none" ? {} : { "Content-Encoding": compression };
    this.poster = new HttpPoster(url, config, { ...headers, ...encoding }, context);
    this.readAnswer = answerReader(context.clock);
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { bodies, withoutIds } = this.posting.read(batch);
    const requests: RecordRequest[] = bodies.map((body) => ({
      records: body.records,
      send: () => this.post(body, abort, options),
    }));
    if (withoutIds.length > 0) requests.push({ records: withoutIds, send: () => Promise.reject(this.missingIds()) });
    await sendEach(requests, batch.count);
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private async post(body: SpanBody, abort: AbortSignal, options: SendOptions | undefined): Promise<void> {
    const { compression } = this.posting;
    const plain = body.encode();
    const sent = compression === "none" ? plain : await compress(compression, plain);
    await this.poster.post([sent], abort, options, this.readAnswer);
  }

  private missingIds(): Refusal {
    const { protocol } = this.posting;
    return new Refusal("permanent", `the span has no trace id or no span id, which ${protocol} requires`, {
      category: "schema",
    });
  }
}
