import { type Delivery, deadLetter, type Logger, limitedLog } from "#contract";
import { ERROR_CODES, type Refusal } from "#contract/errors";
import type { Journal, JournalNotes, JournalSettings } from "#contract/operators";
import type { PipelineJournal } from "./pipeline-journal.js";

interface RefusedJournalSettings extends Pick<JournalSettings, "consumer" | "logger" | "clock"> {
  /** Creates the journal for refused deliveries. */
  readonly create: () => PipelineJournal;
  readonly onOpened: (journal: PipelineJournal) => void;
  /** Whether an earlier run left entries in the journal. */
  readonly isLeft: boolean;
}

/**
 * Keeps deliveries that the pipeline refuses and whose sender does not learn of it. They go into a journal, which is
 * created for the first of them, and are accepted when they are on disk. From there they are retried until they are
 * taken; those refused permanently become dead letters. All other deliveries pass by.
 *
 * Deliveries refused by an abort are kept too. Those that cannot be kept, for example because the disk is full, are
 * refused after all.
 */
export class RefusedJournal implements Journal {
  readonly isForUnattended = true;
  private readonly settings: RefusedJournalSettings;
  private opened: Promise<PipelineJournal> | undefined;
  private readonly keeping = new Set<Promise<void>>();
  private isStopping = false;
  private readonly logKeepFailure: (error: unknown) => void;

  constructor(settings: RefusedJournalSettings) {
    this.settings = settings;
    this.logKeepFailure = createLogKeepFailure(settings);
  }

  async start(): Promise<void> {
    if (this.settings.isLeft) await this.open();
  }

  /** For entries that come from another worker's journal. */
  async openForEntries(): Promise<void> {
    if (!this.isStopping) await this.open();
  }

  accept(delivery: Delivery): void {
    const { consumer } = this.settings;
    if (delivery.setback !== undefined) consumer(delivery);
    else consumer(delivery.catchRefusal((again, refusal) => this.keep(again, refusal)));
  }

  notesOf(): JournalNotes {
    return NO_NOTES;
  }

  async drain(): Promise<void> {
    await Promise.all(this.keeping);
    await this.stopFeeding();
  }

  /** Deliveries being kept are on their way to the disk; `stop` waits for them. */
  abort(): void {
    void this.stopFeeding();
  }

  async stop(): Promise<void> {
    while (this.keeping.size > 0) await Promise.all(this.keeping);
    const journal = await this.opened?.catch(() => undefined);
    await journal?.stop();
  }

  /** A delivery that an exporter has already dead-lettered is not kept again. */
  private keep(delivery: Delivery, refusal: Refusal): void {
    if (refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED) return delivery.refuse(refusal);
    const kept = this.keepOnDisk(delivery, refusal).finally(() => this.keeping.delete(kept));
    this.keeping.add(kept);
  }

  /** If the delivery cannot be kept, it is refused with the pipeline's reason, not with the journal's error. */
  private async keepOnDisk(delivery: Delivery, refusal: Refusal): Promise<void> {
    try {
      const journal = await this.open();
      await new Promise<void>((resolve) => {
        const watched = delivery.catchRefusal((again, { message }) => {
          this.logKeepFailure(message);
          again.refuse(refusal);
        });
        journal.keep(
          asDeadLetter(
            watched.observe(() => resolve()),
            refusal,
          ),
        );
      });
    } catch (error) {
      this.logKeepFailure(error);
      delivery.refuse(refusal);
    }
  }

  /** If opening fails, the next refused delivery tries again. */
  private open(): Promise<PipelineJournal> {
    this.opened ??= this.openNew().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  private async openNew(): Promise<PipelineJournal> {
    const journal = this.settings.create();
    await journal.start();
    this.settings.onOpened(journal);
    if (this.isStopping) journal.stopFeeding();
    return journal;
  }

  private async stopFeeding(): Promise<void> {
    this.isStopping = true;
    (await this.opened?.catch(() => undefined))?.stopFeeding();
  }
}

function asDeadLetter(delivery: Delivery, { kind, category = "integration", code, message }: Refusal): Delivery {
  if (kind !== "permanent") return delivery;
  return delivery.split([deadLetter(delivery.batch, { reason: "permanent", category, code, message })])[0]!;
}

function createLogKeepFailure({ clock, logger }: { clock: RefusedJournalSettings["clock"]; logger: Logger }) {
  return limitedLog<unknown>(clock, (error, suppressed) =>
    logger.error({ err: error, suppressed }, "data that the pipeline refused could not be stored on disk"),
  );
}

/** No component behind this journal holds deliveries, so there are no notes. */
const NO_NOTES: JournalNotes = {
  read: () => [],
  write: () => {},
  firstPosition: 0,
  setSettlement: () => {},
  limitUnneededBytes: () => {},
};
