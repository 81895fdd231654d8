import type { Entry, Failure } from "#contract/operations";
import type { Batch } from "#otlp";
import type { Tree } from "#otlp/bytes";
import { decodeTree, encodeTree } from "#otlp/json";

/** Replaces a text that cannot be masked. */
const MASK = "****";
/** The number of texts whose masked form is cached. Most dead letters share a few names. */
const MAX_KNOWN = 2000;

/**
 * Turns entries into the form that people may see. Client headers are left out, because they may hold secrets. Names,
 * versions and schemas taken from the failed records are masked like the records themselves, because senders control
 * their content. Filters still use the unmasked values.
 */
export class ShownEntries {
  private readonly mask: ((batch: Batch) => Promise<Batch>) | undefined;
  private known = new Map<string, string>();

  constructor(mask: ((batch: Batch) => Promise<Batch>) | undefined) {
    this.mask = mask;
  }

  async all(entries: readonly Entry[]): Promise<Entry[]> {
    const texts = new Set(entries.flatMap((entry) => failuresOf(entry).flatMap(textsOf)));
    const masked = await this.maskTexts([...texts]);
    const shown = (text: string) => masked.get(text) ?? MASK;
    return entries.map(({ metadata: _, ...entry }) => ({
      ...entry,
      ...(entry.failure && { failure: shownFailure(entry.failure, shown) }),
      cycles: entry.cycles.map((cycle) => ({ ...cycle, failure: shownFailure(cycle.failure, shown) })),
    }));
  }

  async one(entry: Entry): Promise<Entry> {
    return (await this.all([entry]))[0]!;
  }

  private async maskTexts(texts: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { known } = this;
    const fresh = texts.filter((text) => !known.has(text));
    if (fresh.length === 0) return known;
    const masked = await this.maskFresh(fresh);
    if (known.size + fresh.length > MAX_KNOWN) this.known = new Map();
    const all = new Map(known);
    for (const [i, text] of fresh.entries()) {
      all.set(text, masked[i] ?? MASK);
      if (masked[i] !== undefined && this.known.size < MAX_KNOWN) this.known.set(text, masked[i]);
    }
    return all;
  }

  /** Masks the texts as event names of log records. Returns an empty list if masking fails. */
  private async maskFresh(texts: readonly string[]): Promise<readonly (string | undefined)[]> {
    try {
      const logRecords = texts.map((eventName) => ({ eventName }));
      const tree = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] } as Tree;
      const { resourceLogs } = decodeTree(await this.mask!(encodeTree("logs", tree))) as { resourceLogs?: ShownLogs[] };
      return resourceLogs![0]!.scopeLogs[0]!.logRecords.map(({ eventName }) => eventName);
    } catch {
      return [];
    }
  }
}

interface ShownLogs {
  readonly scopeLogs: readonly { readonly logRecords: readonly { readonly eventName?: string }[] }[];
}

function failuresOf({ failure, cycles }: Entry): Failure[] {
  return [...(failure === undefined ? [] : [failure]), ...cycles.map((cycle) => cycle.failure)];
}

function textsOf({ names, schemaUrls, eventVersions = [] }: Failure): string[] {
  return [...names, ...schemaUrls, ...eventVersions];
}

function shownFailure(failure: Failure, shown: (text: string) => string): Failure {
  const { names, schemaUrls, eventVersions } = failure;
  return {
    ...failure,
    names: names.map(shown),
    schemaUrls: schemaUrls.map(shown),
    ...(eventVersions && { eventVersions: eventVersions.map(shown) }),
  };
}
