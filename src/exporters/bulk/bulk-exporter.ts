import type { Batch, Exporter, ExporterContext, SendOptions, Signal } from "../../plugin.js";
import { type BulkDocument, BulkSender, type BulkSenderSettings, type UnfitRecords } from "./bulk-sender.js";

/** Makes the documents of a batch at the time `now`. */
type DocumentsOf = (batch: Batch, now: number) => Iterable<BulkDocument | UnfitRecords>;

/** Stores the documents of a batch in any server with the bulk API. */
export class BulkExporter implements Exporter {
  private readonly documentsOf: DocumentsOf;
  private readonly context: ExporterContext;
  private readonly sender: BulkSender;

  constructor(settings: BulkSenderSettings, context: ExporterContext, documentsOf: DocumentsOf) {
    this.documentsOf = documentsOf;
    this.context = context;
    this.sender = new BulkSender(settings, context);
  }

  get metadataKeys(): readonly string[] {
    return this.sender.metadataKeys;
  }

  start(): Promise<void> {
    return this.sender.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    await this.sender.send(this.documentsOf(batch, this.context.clock.now()), batch, abort, options);
  }

  async stop(): Promise<void> {
    this.sender.stop();
  }
}

/** Only a log record has a body that could become the document. */
export function refusesBodymap(mode: string, signal: Signal): string | undefined {
  return mode === "bodymap" && signal !== "logs" ? "the mapping mode bodymap is only for logs" : undefined;
}
