import { type LevelDb, type MakeLevelDb, makeLevelDb } from "../../../../../src/runtime/queue/store/level/level-db.js";

/**
 * What the disk does with a write: `done` writes; `failed` does not, and says so; `late` writes and then says that it
 * failed. All of them first wait until the outcome is known.
 */
export type DiskOutcome = "done" | "failed" | "late";

/** A disk whose writes wait until a test says how they end. Reads are those of a real database. */
export class ScriptedDisk {
  private readonly outcomes: DiskOutcome[] = [];
  private readonly waiting: ((outcome: DiskOutcome) => void)[] = [];
  private isFree = true;
  /** Writes, openings and closings that change files right now. */
  private active = 0;
  /** Number of writes that have begun. */
  begun = 0;

  /** Writes wait from now on. */
  hold(): void {
    this.isFree = false;
  }

  /** Ends the write that waits, or else the next one. */
  end(outcome: DiskOutcome): void {
    const next = this.waiting.shift();
    if (next === undefined) this.outcomes.push(outcome);
    else next(outcome);
  }

  /** All writes are done at once. */
  release(): void {
    this.isFree = true;
    this.outcomes.length = 0;
    for (const next of this.waiting.splice(0)) next("done");
  }

  readonly make: MakeLevelDb = (directory, sizes) => {
    const db = makeLevelDb(directory, sizes);
    const makeBatch = db.batch.bind(db) as () => ReturnType<LevelDb["batch"]>;
    const batch = () => {
      const made = makeBatch();
      const write = made.write.bind(made);
      made.write = async (options?: object) => {
        const outcome = await this.nextOutcome();
        if (outcome !== "failed") await this.changing(() => write(options ?? {}));
        if (outcome !== "done") throw Object.assign(new Error("IO error: scripted"), { code: "LEVEL_IO_ERROR" });
      };
      return made;
    };
    const [open, close] = [db.open.bind(db), db.close.bind(db)];
    const changes = { open: () => this.changing(() => open()), close: () => this.changing(() => close()) };
    return Object.assign(db, { batch, ...changes }) as LevelDb;
  };

  /** Whether the files may be copied, because nothing changes them. */
  get isQuiet(): boolean {
    return this.active === 0;
  }

  /** Whether a write waits for its outcome. */
  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  private async changing(work: () => Promise<void>): Promise<void> {
    this.active++;
    try {
      await work();
    } finally {
      this.active--;
    }
  }

  private nextOutcome(): DiskOutcome | Promise<DiskOutcome> {
    this.begun++;
    if (this.isFree) return "done";
    return (
      this.outcomes.shift() ??
      new Promise<DiskOutcome>((resolve) => {
        this.waiting.push(resolve);
      })
    );
  }
}
