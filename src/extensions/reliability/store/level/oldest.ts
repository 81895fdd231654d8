import type { Entry } from "../../../../plugin.js";
import type { EntryRef } from "../store.js";
import type { Info } from "./entry-value.js";

/** An entry found by walking over the store; `at` is missing when it was gone before it could be read. */
export interface Found {
  readonly ref: EntryRef;
  readonly at: number | undefined;
}

/**
 * The oldest entry of one state. Followed as entries come and go; when it has gone, the next one is looked for a moment
 * later, so that a busy queue does not look for it at every commit.
 */
export class Oldest {
  /** No entry of this state is before it. */
  from: EntryRef;
  at: number | undefined;
  private ref: EntryRef | undefined;
  private readonly state: Entry["state"];
  private readonly seek: (from: EntryRef) => Promise<Found | undefined>;
  private readonly last: () => EntryRef;
  private timer: NodeJS.Timeout | undefined;
  /** Entries that went away while the oldest is being looked for. */
  private gone: Set<EntryRef> | undefined;
  /** The first of those that came into this state meanwhile: whoever looks may not see it. */
  private came = Number.POSITIVE_INFINITY;

  constructor(
    state: Entry["state"],
    from: EntryRef,
    seek: (from: EntryRef) => Promise<Found | undefined>,
    last: () => EntryRef,
  ) {
    this.state = state;
    this.from = from;
    this.seek = seek;
    this.last = last;
  }

  follow(infos: ReadonlyMap<EntryRef, Info | null>, entries: number): void {
    for (const [ref, info] of infos) this.see(ref, info);
    if (this.ref === undefined && this.from <= this.last() && this.gone === undefined) this.findLater();
    if (entries === 0) this.at = undefined;
  }

  async find(): Promise<void> {
    this.stop();
    const from = this.from;
    this.gone = new Set();
    this.came = Number.POSITIVE_INFINITY;
    const end = this.last();
    const found = await this.seek(from).catch(() => "failed" as const);
    const gone = this.gone;
    this.gone = undefined;
    if (found === "failed") return;
    const isGone = found !== undefined && (found.at === undefined || gone.has(found.ref));
    const first = found?.ref ?? end + 1;
    if (from !== this.from || isGone || this.came < first) return this.findLater();
    this.from = first;
    if (found === undefined) return;
    this.ref = found.ref;
    this.at = found.at;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private findLater(): void {
    this.timer ??= setTimeout(() => this.find(), SEEK_MS).unref();
  }

  private see(ref: EntryRef, info: Info | null): void {
    if (info?.state !== this.state) {
      this.gone?.add(ref);
      if (ref === this.ref) this.ref = undefined;
      return;
    }
    if (ref < this.from) this.from = ref;
    this.came = Math.min(this.came, ref);
    if (this.at !== undefined && (this.ref === undefined || ref >= this.ref)) return;
    this.ref = ref;
    this.at = info.enqueuedAt;
  }
}

const SEEK_MS = 50;
