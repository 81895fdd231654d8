import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { spanBatch, traceId } from "../support/sampled.js";
import { type Answer, type Clients, post, RETRYABLE } from "./client.js";
import type { Ledger } from "./ledger.js";
import { markOf } from "./numbered.js";

/** Spans of a whole trace. The policy of the agent keeps whole traces; every third one lacks its last span for ever. */
export const TRACE_SPANS = 4;

/** A trace that was sent: the numbers of its spans that were acknowledged. */
export interface SentTrace {
  readonly isWhole: boolean;
  readonly acknowledged: number[];
}

/**
 * Clients that send traces in two requests, each again and again until it is acknowledged. Whole traces whose spans were all
 * acknowledged within `promptMs` must arrive, and are noted in the ledger; for slower ones the decision may have come first.
 */
export function startTraceClients(
  ledger: Ledger,
  sent: SentTrace[],
  promptMs: number,
  port: () => number | undefined,
): Clients {
  const agent = new Agent({ keepAlive: true });
  const state = { sending: true, refusals: 0 };
  const post = (numbers: readonly number[], trace: string) => postUntilAcknowledged(numbers, trace, agent, port, state);
  const client = async () => {
    while (state.sending) {
      const numbers = ledger.take(TRACE_SPANS);
      const isWhole = (numbers[0]! / TRACE_SPANS) % 3 !== 0;
      const trace: SentTrace = { isWhole, acknowledged: [] };
      const begun = performance.now();
      for (const half of [numbers.slice(0, 2), numbers.slice(2, isWhole ? 4 : 3)])
        if (await post(half, traceId(numbers[0]!))) trace.acknowledged.push(...half);
      sent.push(trace);
      const isPrompt = performance.now() - begun < promptMs;
      if (isPrompt && trace.acknowledged.length === TRACE_SPANS) ledger.acknowledge(trace.acknowledged);
      await delay(10);
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

/** False when the sending has ended first, or the agent will not have it. */
async function postUntilAcknowledged(
  numbers: readonly number[],
  trace: string,
  agent: Agent,
  port: () => number | undefined,
  state: { sending: boolean; refusals: number },
): Promise<boolean> {
  const spans = numbers.map((number) => ({ trace, span: number.toString(16).padStart(16, "0"), name: markOf(number) }));
  const body = spanBatch(spans).bytes;
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
