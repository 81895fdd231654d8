import { dirname } from "node:path";
import type { Clock } from "#contract";
import { fileSignature } from "#system";
import type { ReadFile } from "./messages.js";

/** How often files are looked at, in milliseconds. */
const INTERVAL_MS = 150;
/** A file that keeps changing is waited for no longer than this. */
const MAX_WAIT_MS = 3000;
/** After this many changes within `FLOOD_MS` they are reported only every `SLOW_MS`. */
const FLOOD_CHANGES = 10;
const FLOOD_MS = 10_000;
const SLOW_MS = 2000;

interface ChangeEvents {
  onChange(): void;
  /** Called when changes begin to come so often that they are reported more slowly. */
  onFlood(): void;
}

/**
 * Reports when files differ from the version that was read, once they have stayed the same for an interval: a file that
 * is being written is not read. While `watchesFolders` is set, files that come and go in their folders count too: one
 * of them may be missing.
 */
export class ChangeWatch {
  private readonly clock: Clock;
  private readonly events: ChangeEvents;
  private readonly known = new Map<string, string>();
  private last = new Map<string, string>();
  private readonly folders = new Map<string, string>();
  private changedAt: number | undefined;
  private reported: number[] = [];
  private isFlooded = false;
  private cancel: () => void;
  watchesFolders = false;

  constructor(clock: Clock, events: ChangeEvents) {
    this.clock = clock;
    this.events = events;
    this.cancel = clock.after(INTERVAL_MS, () => this.check());
  }

  /** The files that were read, with the signatures of them and of their folders from just before. */
  add(files: readonly ReadFile[]): void {
    for (const { file, signature, folder } of files) {
      this.known.set(file, signature);
      this.folders.set(dirname(file), folder);
    }
  }

  stop(): void {
    this.cancel();
  }

  private check(): void {
    this.cancel = this.clock.after(INTERVAL_MS, () => this.check());
    const now = this.clock.monotonic();
    const watched = [...this.known, ...(this.watchesFolders ? this.folders : [])];
    const changed = watched.flatMap(([path, known]) => {
      const signature = fileSignature(path);
      return signature === known ? [] : [[path, signature] as const];
    });
    const isSettled = changed.every(([path, signature]) => this.last.get(path) === signature);
    this.last = new Map(changed);
    if (changed.length === 0) {
      this.changedAt = undefined;
      return;
    }
    this.changedAt ??= now;
    if (!isSettled && now - this.changedAt < MAX_WAIT_MS) return;
    if (this.isTooOften(now)) return;
    this.changedAt = undefined;
    for (const [path, signature] of changed) (this.known.has(path) ? this.known : this.folders).set(path, signature);
    this.reported.push(now);
    this.events.onChange();
  }

  private isTooOften(now: number): boolean {
    this.reported = this.reported.filter((at) => now - at < FLOOD_MS);
    const isFlood = this.reported.length >= FLOOD_CHANGES;
    if (isFlood && !this.isFlooded) this.events.onFlood();
    // Slow reports alone are fewer than the limit, so the flood is over only when they end.
    this.isFlooded = isFlood || (this.isFlooded && this.reported.length > 0);
    return this.isFlooded && now - (this.reported.at(-1) ?? 0) < SLOW_MS;
  }
}
