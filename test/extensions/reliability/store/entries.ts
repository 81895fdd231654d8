import type { NewEntry } from "../../../../src/extensions/reliability/store/store.js";
import type { AttemptError, Entry, Failure } from "../../../../src/plugin.js";
import { logs } from "../../../support/batches.js";

/** An entry to put, whose records carry these texts. */
export function fresh(...bodies: string[]): NewEntry {
  return {
    batch: logs(...bodies),
    pipeline: "logs",
    source: { receiver: "otlp", transport: "http" },
    enqueuedAt: 1_700_000_000_000,
    generation: "1",
  };
}

const error: AttemptError = { kind: "permanent", class: "HTTP 400", message: "bad", code: "HTTP_400" };

export const failure: Failure = {
  at: 1_700_000_000_500,
  reason: "permanent",
  category: "schema",
  error,
  signature: "abc",
  names: ["order"],
  traceIds: [],
  schemaUrls: [],
};

/** `entry` as a dead letter. */
export function failedOf(entry: Entry): Entry {
  return { ...entry, state: "failed", attempts: 3, calls: 4, lastError: error, failure };
}
