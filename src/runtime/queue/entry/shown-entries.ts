import type { Entry, Failure } from "#contract/operations";
import { maskRecordText, maskStrings } from "#text";

/**
 * Keys of values that stay as they are: ids, names in the config, our advice, and who did something. They come from us
 * or from authenticated operators. `samples` are records, which are masked or revealed already.
 */
const KEPT: ReadonlySet<string> = new Set(
  `id ids exampleId parent replayId replayedAs traceIds signature generation cursor exporter pipeline to movedFrom
  target by replayedBy actor from samples advice`.split(/\s+/),
);

/** Returns a status, a count, a replay or a page of the audit with every message in it masked. */
export function shown<T>(value: T): T {
  return maskStrings(value, KEPT);
}

/**
 * Turns an entry into the form that people may see. Client headers are left out, because they may hold secrets. Messages
 * are masked, and so are names, versions and schemas taken from the failed records, because senders control them.
 */
export function shownEntry({ metadata: _, ...entry }: Entry): Entry {
  const { source, failure, cycles } = entry;
  return {
    ...maskStrings(entry, KEPT_OF_ENTRY),
    source: maskStrings(source),
    ...(failure && { failure: shownFailure(failure) }),
    cycles: cycles.map((cycle) => ({
      ...maskStrings(cycle, KEPT_OF_ENTRY),
      failure: shownFailure(cycle.failure),
    })),
  };
}

/** These parts of an entry are masked separately. */
const KEPT_OF_ENTRY: ReadonlySet<string> = new Set([...KEPT, "source", "failure", "cycles"]);

function shownFailure(failure: Failure): Failure {
  const { names, schemaUrls, eventVersions } = failure;
  return {
    ...shown(failure),
    names: names.map(maskRecordText),
    schemaUrls: schemaUrls.map(maskRecordText),
    ...(eventVersions && { eventVersions: eventVersions.map(maskRecordText) }),
  };
}
