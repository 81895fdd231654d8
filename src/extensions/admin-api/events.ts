import type { ServerResponse } from "node:http";
import { withIsoTimes } from "#contract/operations";
import type { Clock } from "../../plugin.js";
import { HttpError } from "./http-error.js";

/**
 * Sends server-sent events to one reader. Nothing here waits: a reader that does not keep up loses events, and an event
 * `dropped` tells how many as soon as it reads again.
 */
export interface EventStream {
  /** Returns false if the event was lost, because the reader has not read enough of the earlier ones. */
  send(event: string, data: unknown): boolean;
  /** Does the same with data that is already JSON without line breaks. */
  sendJson(event: string, json: string): boolean;
  /** Counts events as lost that were never sent. The next event, or `reportDropped`, reports them. */
  drop(count: number): void;
  reportDropped(): void;
  /** Ends the answer. A browser would reconnect, so send an event first that says it is over. */
  end(): void;
}

/**
 * Called when a reader connects. The returned function is called once, when the reader has left or the server stops.
 */
export type EventSource = (stream: EventStream) => () => void;

const RETRY_MS = 2000;
const KEEP_ALIVE_MS = 15_000;
const MAX_READERS = 32;
/** Bytes that may wait in memory for one reader. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

const EVENT_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-accel-buffering": "no",
};

export class EventReaders {
  private readonly clock: Clock;
  private count = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Sends the events of a source until the reader leaves. `counted` is the name of lost items in an event `dropped`.
   */
  serve(response: ServerResponse, source: EventSource, counted = "events"): void {
    if (this.count >= MAX_READERS)
      throw new HttpError("conflict", `${this.count} readers of events are connected: close one of them`);
    response.writeHead(200, EVENT_HEADERS);
    if (response.req.method === "HEAD") return void response.end();
    this.count += 1;
    const stream = new ResponseStream(response, counted);
    const stopKeepAlive = this.keepAlive(stream);
    const stop = source(stream);
    response.once("close", () => {
      this.count -= 1;
      stopKeepAlive();
      stop();
    });
  }

  private keepAlive(stream: ResponseStream): () => void {
    const next = () => {
      stream.keepAlive();
      cancel = this.clock.after(KEEP_ALIVE_MS, next);
    };
    let cancel = this.clock.after(KEEP_ALIVE_MS, next);
    return () => cancel();
  }
}

class ResponseStream implements EventStream {
  private readonly response: ServerResponse;
  private readonly counted: string;
  private lost = 0;

  constructor(response: ServerResponse, counted: string) {
    this.response = response;
    this.counted = counted;
    response.write(`retry: ${RETRY_MS}\n\n`);
    response.on("drain", () => this.reportDropped());
  }

  send(event: string, data: unknown): boolean {
    return this.sendJson(event, JSON.stringify(data, withIsoTimes));
  }

  sendJson(event: string, json: string): boolean {
    this.reportDropped();
    if (!this.hasRoom) {
      this.lost += 1;
      return false;
    }
    this.response.write(eventText(event, json));
    return true;
  }

  drop(count: number): void {
    this.lost += count;
  }

  end(): void {
    this.reportDropped();
    this.response.end();
  }

  keepAlive(): void {
    this.reportDropped();
    if (this.response.writableLength === 0) this.response.write(":\n\n");
  }

  private get hasRoom(): boolean {
    return !this.response.writableEnded && this.response.writableLength < MAX_BUFFERED_BYTES;
  }

  reportDropped(): void {
    if (this.lost === 0 || !this.hasRoom) return;
    this.response.write(eventText("dropped", JSON.stringify({ [this.counted]: this.lost })));
    this.lost = 0;
  }
}

/** JSON contains no raw line breaks, so the data is always one line. */
function eventText(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`;
}
