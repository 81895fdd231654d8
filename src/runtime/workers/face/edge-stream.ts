import type { Clock } from "#contract";
import { AdminError, type AgentInspection, type GraphEdge } from "#contract/operations";
import { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { PushedStream } from "./pushed-stream.js";

/** A batch that passed an edge, in a form that can be sent to another process. */
interface PassedBatch {
  readonly edge: string;
  readonly signal: Signal;
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** Batches that passed since the last time, and the number of records of those that were left out. */
export interface PassedBatches {
  readonly batches: readonly PassedBatch[];
  readonly missed: number;
}

/** More batches are left out while these wait to be sent to the parent. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Copying batches to another process takes time from the pipelines, so only this much is copied. */
const MAX_BYTES_PER_SECOND = 16 * 1024 * 1024;

/** The batches that pass these edges of a worker. A pipeline never waits for them. */
export function streamOfEdges(
  inspection: AgentInspection | undefined,
  ids: readonly string[],
  clock: Clock,
): PushedStream<PassedBatches> {
  if (inspection === undefined) throw new AdminError("unavailable", "a worker is starting");
  const wanted = new Set(ids);
  const edges = inspection.graph.edges.filter(({ id }) => wanted.has(id));
  let waiting: { readonly batch: Batch; readonly edge: GraphEdge }[] = [];
  let bytes = 0;
  let missed = 0;
  let isResting = false;
  let cancelRest = () => {};
  const rest = (ms: number) => {
    isResting = true;
    cancelRest = clock.after(ms, () => {
      isResting = false;
      stream.wake();
    });
  };
  const stream: PushedStream<PassedBatches> = new PushedStream({
    take() {
      if (isResting || (waiting.length === 0 && missed === 0)) return undefined;
      const taken = { batches: waiting.map(sentForm), missed };
      rest((bytes / MAX_BYTES_PER_SECOND) * 1000);
      [waiting, bytes, missed] = [[], 0, 0];
      return taken;
    },
    onEnd() {
      stop();
      cancelRest();
    },
  });
  const stop = inspection.watch(edges, (batch, edge) => {
    const isFull = waiting.length >= MAX_WAITING || bytes + batch.byteLength > MAX_WAITING_BYTES;
    if (isFull) missed += batch.count;
    else {
      waiting.push({ batch, edge });
      bytes += batch.byteLength;
    }
    stream.wake();
  });
  return stream;
}

function sentForm({ batch, edge }: { readonly batch: Batch; readonly edge: GraphEdge }): PassedBatch {
  return { edge: edge.id, signal: batch.signal, bytes: batch.bytes, count: batch.count };
}

/** The batch as it was in the worker. */
export function receivedBatch({ signal, bytes, count }: PassedBatch): Batch {
  return Batch.trusted(signal, bytes, count);
}
