import type { BatchWatcher } from "#contract/operations";
import type { Batch } from "#otlp";

/**
 * A place between two components of a pipeline: counts the records that pass, and shows batches to whoever looks. Nobody who
 * looks can change, keep back or fail what passes; while nobody does, it costs an addition and a branch for each batch.
 */
export class Flow {
  records = 0;
  private watchers: readonly BatchWatcher[] | undefined;

  pass(batch: Batch): void {
    this.records += batch.count;
    if (this.watchers !== undefined) this.show(batch);
  }

  /** The returned function ends it. */
  watch(watcher: BatchWatcher): () => void {
    const own: BatchWatcher = (batch) => watcher(batch);
    this.watchers = [...(this.watchers ?? []), own];
    return () => {
      const left = this.watchers?.filter((each) => each !== own) ?? [];
      this.watchers = left.length === 0 ? undefined : left;
    };
  }

  private show(batch: Batch): void {
    for (const watcher of this.watchers ?? []) {
      try {
        watcher(batch);
      } catch {
        // Who only looks on must not disturb; a watcher that wants to know of its failures catches them itself.
      }
    }
  }
}

/** What a component did with records, so far. */
export class Tally {
  taken = 0;
  handedOn = 0;
  refused = 0;
  deadLettered = 0;
  /** False while records are inside that may still come out. */
  isIdle: () => boolean = () => true;
}

/** The flows of a graph by where they begin, and the tallies of its components by their nodes. */
export class Flows {
  private readonly flows = new Map<string, Flow>();
  private readonly tallies = new Map<string, Tally>();

  /** What a node hands to the next ones of a pipeline: one flow, however many these are. */
  from(node: string, pipeline: string): Flow {
    return getOrMake(this.flows, `${node}@${pipeline}`, () => new Flow());
  }

  tally(node: string): Tally {
    return getOrMake(this.tallies, node, () => new Tally());
  }
}

function getOrMake<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
