import type { BatchWatcher, GraphDescription } from "#contract/operations";
import type { Batch } from "#otlp";

/**
 * A point between two components of a pipeline: counts the records that pass, and shows batches to watchers. Watchers
 * cannot change, delay or fail a batch. Without watchers it costs an addition and a branch per batch.
 */
export class Flow {
  records = 0;
  private watchers: readonly BatchWatcher[] | undefined;

  pass(batch: Batch): void {
    this.records += batch.count;
    if (this.watchers !== undefined) this.show(batch);
  }

  /** The returned function stops watching. */
  watch(watcher: BatchWatcher): () => void {
    const own: BatchWatcher = (batch) => watcher(batch);
    this.watchers = [...(this.watchers ?? []), own];
    return () => {
      const left = this.watchers?.filter((each) => each !== own) ?? [];
      this.watchers = left.length === 0 ? undefined : left;
    };
  }

  get isWatched(): boolean {
    return this.watchers !== undefined;
  }

  private show(batch: Batch): void {
    for (const watcher of this.watchers ?? []) {
      try {
        watcher(batch);
      } catch {
        // A watcher must not disturb the pipeline; one that needs to know of its errors catches them itself.
      }
    }
  }
}

/** Counts what a component did with records. */
export class Tally {
  taken = 0;
  handedOn = 0;
  refused = 0;
  deadLettered = 0;
  /** False while the component holds records that may still come out. */
  isIdle: () => boolean = () => true;
}

/** The flows of a graph by their origin, and the tallies of its components by node. */
export class Flows {
  private readonly flows = new Map<string, Flow>();
  private readonly tallies = new Map<string, Tally>();

  /** The flow from a node to the next nodes of a pipeline: one flow, however many there are. */
  from(node: string, pipeline: string): Flow {
    return getOrCreate(this.flows, flowKey(node, pipeline), () => new Flow());
  }

  tally(node: string): Tally {
    return getOrCreate(this.tallies, node, () => new Tally());
  }

  /** Forgets what a graph does not have any more, except flows that are watched: they may come back. */
  keepOnly({ nodes, edges }: GraphDescription): void {
    const flows = new Set(edges.map(({ from, pipeline }) => flowKey(from, pipeline)));
    const tallies = new Set(nodes.map(({ id }) => id));
    for (const [key, flow] of this.flows) if (!flows.has(key) && !flow.isWatched) this.flows.delete(key);
    for (const node of this.tallies.keys()) if (!tallies.has(node)) this.tallies.delete(node);
  }
}

function flowKey(node: string, pipeline: string): string {
  return `${node}@${pipeline}`;
}

function getOrCreate<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
