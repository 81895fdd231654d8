import { type Delivery, deadLetter, type Logger, limitedLog } from "#contract";
import type { Refusal } from "#contract/errors";
import { ERROR_CODES } from "#contract/errors";
import type { Journal, JournalNotes, JournalSettings } from "#contract/operators";
import type { PipelineJournal } from "./pipeline-journal.js";

export interface RefusedJournalSettings extends Pick<JournalSettings, "consumer" | "logger" | "clock"> {
  /** Makes the journal that what is refused goes into. */
  readonly create: () => PipelineJournal;
  readonly onOpened: (journal: PipelineJournal) => void;
  /** An earlier run has left something in it. */
  readonly isLeft: boolean;
}

/**
 * Keeps what its pipeline refuses and nobody hears of: it goes into a journal, which is made when the first of it comes, and
 * is accepted when it is on disk. From there it is handed in again until it is taken; what is refused for good becomes a
 * dead letter. All else passes by.
 *
 * A stop that cannot wait still keeps what it refuses. What cannot be kept, as on a full disk, is refused after all.
 */
export class RefusedJournal implements Journal {
  private readonly settings: RefusedJournalSettings;
  private opened: Promise<PipelineJournal> | undefined;
  private readonly keeping = new Set<Promise<void>>();
  private isStopping = false;
  private readonly logUnkept: (error: unknown) => void;

  constructor(settings: RefusedJournalSettings) {
    this.settings = settings;
    this.logUnkept = createLogUnkept(settings);
  }

  async start(): Promise<void> {
    if (this.settings.isLeft) await this.open();
  }

  accept(delivery: Delivery): void {
    const { consumer } = this.settings;
    if (delivery.origin.isUnattended !== true || delivery.setback !== undefined) return consumer(delivery);
    consumer(delivery.catchRefusal((again, refusal) => this.keep(again, refusal)));
  }

  notesOf(): JournalNotes {
    return NO_NOTES;
  }

  async drain(): Promise<void> {
    await Promise.all(this.keeping);
    await this.stopFeeding();
  }

  /** What is being kept is on its way to the disk; `stop` waits for it. */
  abort(): void {
    void this.stopFeeding();
  }

  async stop(): Promise<void> {
    while (this.keeping.size > 0) await Promise.all(this.keeping);
    const journal = await this.opened?.catch(() => undefined);
    await journal?.stop();
  }

  /** What an exporter already has as a dead letter is kept. */
  private keep(delivery: Delivery, refusal: Refusal): void {
    if (refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED) return delivery.refuse(refusal);
    const kept = this.keepOnDisk(delivery, refusal).finally(() => this.keeping.delete(kept));
    this.keeping.add(kept);
  }

  /** The reason that counts is why the pipeline refused it, not why it could not be kept. */
  private async keepOnDisk(delivery: Delivery, refusal: Refusal): Promise<void> {
    try {
      const journal = await this.open();
      await new Promise<void>((resolve) => {
        const watched = delivery.catchRefusal((again, { message }) => {
          this.logUnkept(message);
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
      this.logUnkept(error);
      delivery.refuse(refusal);
    }
  }

  /** One that could not be opened is tried again with the next that is refused. */
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

function createLogUnkept({ clock, logger }: { clock: RefusedJournalSettings["clock"]; logger: Logger }) {
  return limitedLog<unknown>(clock, (error, suppressed) =>
    logger.error({ err: error, suppressed }, "what the pipeline refused could not be kept on disk"),
  );
}

/** Nothing in front of which this journal stands holds deliveries, so nothing has notes. */
const NO_NOTES: JournalNotes = {
  read: () => [],
  write: () => {},
  firstPosition: 0,
  answerFor: () => {},
  keepAtMost: () => {},
};
