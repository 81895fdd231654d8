import { NoAnswerError } from "../no-answer-error.js";
import type { AnswerHead } from "./answer-head.js";
import type { Http1Connection } from "./connection.js";
import type { RequestHead } from "./request-head.js";

/** The response to a request. */
export interface Http1Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** The part of the body that arrived. */
  readonly body: Buffer;
  /** Why the body is incomplete: too large, broken off or too slow. Undefined when it is complete. */
  readonly bodyError: Error | undefined;
}

/** A request, and the promise of its response. It is settled once; after that it ignores aborts. */
export class Exchange {
  readonly head: RequestHead;
  readonly body: readonly Uint8Array[];
  readonly byteLength: number;
  /** True if it needs a new connection. */
  readonly isFresh: boolean;
  /** Its connection, once it has one. */
  connection: Http1Connection | undefined;
  private readonly abort: AbortSignal | undefined;
  private readonly onAbort: (exchange: Exchange) => void;
  private readonly resolve: (answer: Http1Answer) => void;
  private readonly reject: (error: NoAnswerError) => void;

  constructor(
    head: RequestHead,
    body: readonly Uint8Array[],
    abort: AbortSignal | undefined,
    isFresh: boolean,
    onAbort: (exchange: Exchange) => void,
    resolve: (answer: Http1Answer) => void,
    reject: (error: NoAnswerError) => void,
  ) {
    this.head = head;
    this.body = body;
    this.byteLength = body.length === 1 ? body[0]!.length : body.reduce((sum, piece) => sum + piece.length, 0);
    this.abort = abort;
    this.isFresh = isFresh;
    this.onAbort = onAbort;
    this.resolve = resolve;
    this.reject = reject;
    abort?.addEventListener("abort", this);
  }

  /** Called by the AbortSignal; an object as listener avoids a closure per request. */
  handleEvent(): void {
    this.onAbort(this);
  }

  succeed({ status, headers }: AnswerHead, body: Buffer, bodyError?: Error): void {
    this.abort?.removeEventListener("abort", this);
    this.resolve({ status, headers, body, bodyError });
  }

  fail(error: Error, isStale: boolean): void {
    this.abort?.removeEventListener("abort", this);
    this.reject(new NoAnswerError(error, isStale));
  }
}
