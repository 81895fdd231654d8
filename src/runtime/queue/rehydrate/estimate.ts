import { type ArchivedObjects, ArchiveError, parseObjectName, readObject, type WalkedObject } from "#archive";
import type { RecordCondition } from "#contract/operations";
import type { RehydrationEstimate } from "#contract/rehydration";
import type { Signal } from "#otlp/signals";

/** So many objects are read completely; of larger archives, one more each time their number has doubled. */
const ALWAYS_READ = 8;
/** Larger objects are not read for an estimate. */
const MAX_SAMPLE_BYTES = 16 * 1024 * 1024;

interface EstimateServices {
  readonly objects: ArchivedObjects;
  readonly condition: RecordCondition | undefined;
  readonly takes: (signal: Signal) => boolean;
  readonly onProgress: (estimate: RehydrationEstimate) => void;
}

/**
 * Counts the objects of an archive and their bytes, and reads a few of them to estimate the number of records. Objects
 * that cannot be read, or whose records no exporter takes, have none.
 */
export async function estimateArchive(services: EstimateServices): Promise<RehydrationEstimate> {
  let [objects, bytes, sampled, sampledBytes, records, matching] = [0, 0, 0, 0, 0, 0];
  const estimate = (): RehydrationEstimate => {
    const factor = sampledBytes === 0 ? 0 : bytes / sampledBytes;
    return { objects, bytes, sampled, records: Math.round(records * factor), matching: Math.round(matching * factor) };
  };
  for await (const walked of services.objects.walk({ list: 0 })) {
    objects++;
    bytes += walked.object.size;
    if (isSampled(objects) && walked.object.size <= MAX_SAMPLE_BYTES) {
      const counted = await countRecords(walked, services);
      sampled++;
      sampledBytes += walked.object.size;
      records += counted.records;
      matching += counted.matching;
    }
    services.onProgress(estimate());
  }
  return estimate();
}

function isSampled(number: number): boolean {
  return number <= ALWAYS_READ || (number & (number - 1)) === 0;
}

async function countRecords(
  { object }: WalkedObject,
  { objects, condition, takes }: EstimateServices,
): Promise<Pick<RehydrationEstimate, "records" | "matching">> {
  let [records, matching] = [0, 0];
  const name = parseObjectName(object.key);
  if (name === undefined || !takes(name.signal)) return { records, matching };
  try {
    const content = await objects.source.open(object, objects.abort);
    for await (const batch of readObject(name, content, object.modifiedAt)) {
      records += batch.count;
      matching +=
        condition === undefined ? batch.count : matches(condition, name.signal, () => condition.matching(batch).count);
    }
  } catch (error) {
    objects.abort.throwIfAborted();
    if (!(error instanceof ArchiveError)) throw error;
  }
  return { records, matching };
}

/** A condition that cannot be decided chooses nothing. */
function matches({ signals }: RecordCondition, signal: Signal, count: () => number): number {
  if (signals !== undefined && !signals.includes(signal)) return 0;
  try {
    return count();
  } catch {
    return 0;
  }
}
