import { turns } from "./turns.js";

/** A piece of work that goes on where it stopped. Returns whether it is done; if not, the turn was over. */
export type Step = () => boolean;

/**
 * Does work in the order in which it arrives: at once while the turn of the event loop has time for it, and otherwise a
 * turn at a time, between other work.
 */
export class WorkQueue {
  private readonly steps: Step[] = [];
  private readonly onIdle: () => void;
  private working: Promise<void> | undefined;

  /** `onIdle` is called when everything that had to wait for a turn is done. */
  constructor(onIdle: () => void = () => {}) {
    this.onIdle = onIdle;
  }

  /** Whether work waits for its turn. */
  get isBusy(): boolean {
    return this.working !== undefined;
  }

  add(step: Step): void {
    this.steps.push(step);
    if (this.working !== undefined || (turns.hasTime && this.work())) return;
    this.working = this.workLater();
  }

  /** Resolves when everything that was added is done. */
  async done(): Promise<void> {
    while (this.working !== undefined) await this.working;
  }

  /** What is not done stays undone. */
  clear(): void {
    this.steps.length = 0;
  }

  private async workLater(): Promise<void> {
    do {
      await turns.next();
      turns.slices++;
    } while (!this.work());
    this.working = undefined;
    this.onIdle();
  }

  /** Returns whether nothing is left. */
  private work(): boolean {
    for (let next = this.steps[0]; next !== undefined; next = this.steps[0]) {
      if (!next()) return false;
      this.steps.shift();
      if (this.steps.length > 0 && turns.isOver) return false;
    }
    return true;
  }
}
