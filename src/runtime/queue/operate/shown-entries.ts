import type { Entry, Failure } from "#contract/operations";
import type { Batch } from "#otlp";
import type { Tree } from "#otlp/bytes";
import { decodeTree, encodeTree } from "#otlp/json";

/** In the place of a text that cannot be masked. */
const MASK = "****";
/** Texts whose masked form is kept: most dead letters have the same few names. */
const MAX_KNOWN = 2000;

/**
 * Entries as people may see them. What clients sent in their headers is for processors: there may be secrets in it. The names,
 * versions and schemas that were taken from the records when they failed are masked as the records themselves are, since
 * whoever sends decides what stands there; for filters they stay what they are.
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

  /** As names of events of as many log records; nothing when that cannot be done. */
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
