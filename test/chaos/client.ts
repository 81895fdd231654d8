import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Signal } from "../../src/plugin.js";
import type { Dice } from "../support/telemetry/wire-forms.js";
import { encodeNumbers } from "./numbered.js";
import type { RecordBook } from "./record-book.js";

/**
 * Clients that follow OTLP: what was refused (429, 502, 503, 504) or not answered is sent again with the same numbers
 * until it is acknowledged; anything else but 200 is a rejection and not repeated. Retry-After is obeyed as far as the
 * patience of a test goes.
 */
export interface Clients {
  /** Ends sending; resolves when every client has its last answer. Records not acknowledged by then never will be. */
  stop(): Promise<void>;
  readonly refusals: number;
}

interface Settings {
  readonly book: RecordBook;
  readonly dice: Dice;
  /** Where the agent listens now; undefined while it does not run. */
  readonly port: () => number | undefined;
  readonly clients: number;
  readonly maxRecords: number;
  /** The content of a record beside its number. */
  readonly padding?: string;
  /** The signal of the records, and a request with these numbers; without, log records. */
  readonly signal?: Signal;
  readonly encode?: (numbers: readonly number[]) => Uint8Array;
  /** Send records whose sending was not answered again. Without, they count as unknown and are left at that. */
  readonly resendUnanswered: boolean;
}

export const RETRYABLE = new Set([429, 502, 503, 504]);
const PAUSE_MS = 10;
const MAX_PAUSE_MS = 50;
const PATIENCE_MS = 10_000;

export function startClients(settings: Settings): Clients {
  const agent = new Agent({ keepAlive: true, maxSockets: settings.clients });
  const state = { sending: true, refusals: 0 };
  const all = Array.from({ length: settings.clients }, () => send(settings, agent, state));
  return {
    stop: async () => {
      state.sending = false;
      await Promise.all(all);
      agent.destroy();
    },
    get refusals() {
      return state.refusals;
    },
  };
}

async function send(settings: Settings, agent: Agent, state: { sending: boolean; refusals: number }): Promise<void> {
  const { book, dice } = settings;
  let numbers: number[] = [];
  while (state.sending) {
    if (numbers.length === 0) numbers = book.take(1 + dice.upTo(settings.maxRecords - 1));
    const port = settings.port();
    const encode = settings.encode ?? ((some: readonly number[]) => encodeNumbers(some, settings.padding));
    const answer = port === undefined ? "not sent" : await post(port, agent, encode(numbers), settings.signal);
    if (answer === "not sent") await delay(PAUSE_MS);
    else if (answer === "unknown") {
      book.loseSight(numbers);
      if (!settings.resendUnanswered) numbers = [];
      await delay(PAUSE_MS);
    } else if (answer.status === 200 && answer.body.length === 0) {
      book.acknowledge(numbers);
      numbers = [];
    } else if (RETRYABLE.has(answer.status)) {
      state.refusals++;
      await delay(Math.min(MAX_PAUSE_MS, answer.retryAfterMs));
    } else {
      book.reject(numbers, `${answer.status} ${answer.body.toString("latin1")}`);
      numbers = [];
    }
  }
}

export type Answer = "not sent" | "unknown" | { status: number; body: Buffer; retryAfterMs: number };

/** "not sent": no connection, so the records have not arrived. "unknown": the connection broke before the answer. */
export function post(
  port: number,
  agent: Agent | undefined,
  body: Uint8Array,
  signal: Signal = "logs",
): Promise<Answer> {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
    const outgoing = request(
      { host: "127.0.0.1", port, path: `/v1/${signal}`, method: "POST", headers, ...(agent && { agent }) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", () => resolve("unknown"));
        response.on("end", () => {
          const retryAfterMs = Number(response.headers["retry-after"] ?? 0) * 1000 || PAUSE_MS;
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks), retryAfterMs });
        });
      },
    );
    outgoing.setTimeout(PATIENCE_MS, () => outgoing.destroy());
    outgoing.on("error", (error) => {
      const { code } = error as { code?: string };
      resolve(code === "ECONNREFUSED" ? "not sent" : "unknown");
    });
    outgoing.end(body);
  });
}
