import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type SpanInput, spanBatch, traceId } from "../support/sampled.js";
import { type Answer, type Clients, post, RETRYABLE } from "./client.js";
import { markOf } from "./numbered.js";
import type { RecordBook } from "./record-book.js";

/**
 * Traces come in two halves. The policies below keep a trace of six spans and drop one of four; seen by half, they do the
 * opposite: an agent that decides on half a trace is found out.
 */
export const POLICIES = [
  { name: "six", type: "span_count", span_count: { min_spans: 6 } },
  { name: "half of four", type: "span_count", span_count: { min_spans: 1, max_spans: 2 } },
];
const MAX_SPANS = 6;

/** A trace that was sent and acknowledged. */
export interface SentTrace {
  readonly numbers: readonly number[];
  readonly isKept: boolean;
  /** All of it was acknowledged before the agent can have decided on half of it. */
  readonly isPrompt: boolean;
}

interface HalfSent {
  readonly numbers: readonly number[];
  readonly isKept: boolean;
  readonly begunAt: number;
}

/**
 * Clients that send the second half of a trace with the first half of the next one, so that the traces of a request are
 * decided at different times. A request is sent again until it is acknowledged. Of what was acknowledged within `promptMs`
 * the traces that are to be kept must arrive, and are noted in the book.
 */
export function startTraceClients(
  book: RecordBook,
  sent: SentTrace[],
  promptMs: number,
  port: () => number | undefined,
): Clients {
  const agent = new Agent({ keepAlive: true });
  const state = { sending: true, refusals: 0 };
  const client = async () => {
    let last: HalfSent | undefined;
    while (state.sending) {
      const taken = book.take(MAX_SPANS);
      const isKept = (taken[0]! / MAX_SPANS) % 3 !== 0;
      const next: HalfSent = { numbers: taken.slice(0, isKept ? 6 : 4), isKept, begunAt: performance.now() };
      const spans = [...(last === undefined ? [] : halfOf(last, 1)), ...halfOf(next, 0)];
      if (!(await postUntilAcknowledged(spanBatch(spans).bytes, agent, port, state))) return;
      if (last !== undefined) note(book, sent, last, promptMs);
      last = next;
      await delay(5);
    }
  };
  const all = Array.from({ length: 8 }, client);
  return {
    async stop() {
      state.sending = false;
      await Promise.all(all);
      agent.destroy();
    },
    get refusals() {
      return state.refusals;
    },
  };
}

function halfOf({ numbers }: HalfSent, half: 0 | 1): SpanInput[] {
  const middle = numbers.length / 2;
  const trace = traceId(numbers[0]!);
  return numbers
    .slice(half * middle, (half + 1) * middle)
    .map((number) => ({ trace, span: number.toString(16).padStart(16, "0"), name: markOf(number) }));
}

function note(book: RecordBook, sent: SentTrace[], { numbers, isKept, begunAt }: HalfSent, promptMs: number): void {
  const isPrompt = performance.now() - begunAt < promptMs;
  sent.push({ numbers, isKept, isPrompt });
  if (isPrompt && isKept) book.acknowledge(numbers);
}

/** False when the sending has ended first, or the agent will not have it. */
async function postUntilAcknowledged(
  body: Uint8Array,
  agent: Agent,
  port: () => number | undefined,
  state: { sending: boolean; refusals: number },
): Promise<boolean> {
  while (state.sending) {
    const to = port();
    const answer: Answer = to === undefined ? "not sent" : await post(to, agent, body, "traces");
    if (typeof answer === "string") await delay(10);
    else if (answer.status === 200) return true;
    else if (RETRYABLE.has(answer.status)) {
      state.refusals++;
      await delay(10);
    } else throw new Error(`${answer.status}: ${answer.body.toString("latin1")}`);
  }
  return false;
}

/** Traces that were dropped with all of their spans, but have arrived in part. */
export function arrivedOfDropped(sent: readonly SentTrace[], book: RecordBook): SentTrace[] {
  return sent.filter((trace) => trace.isPrompt && !trace.isKept && arrivedOf(trace, book).length > 0);
}

/** Traces that have arrived only in part. */
export function halves(sent: readonly SentTrace[], book: RecordBook): SentTrace[] {
  return sent.filter((trace) => ![0, trace.numbers.length].includes(arrivedOf(trace, book).length));
}

function arrivedOf({ numbers }: SentTrace, book: RecordBook): number[] {
  return numbers.filter((number) => book.hasArrived(number));
}
