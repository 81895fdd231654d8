import type { Logger } from "#contract";
import type { AttemptError, Entry } from "#contract/operations";
import { runExclusively } from "../store/dead-letter-access.js";
import type { Controls } from "./dead-letters.js";
import { hasQueue } from "./exporter-control.js";

type Forwarded = NonNullable<Entry["forwarded"]>;

/** Records on dead letters what happened to their forwarded copies. */
export class ForwardMarks {
  private readonly controls: Controls;
  private readonly logger: Logger;

  constructor(controls: Controls, logger: Logger) {
    this.controls = controls;
    this.logger = logger;
  }

  /**
   * To be called when a copy, or a part of it, was delivered. Nothing waits for this. If the mark is lost, the copy is
   * shown as queued.
   */
  delivered(copy: Entry): void {
    this.mark(copy, (forwarded) =>
      forwarded.state === "failed" ? forwarded : { ...forwarded, state: "delivered" },
    ).catch((error: unknown) =>
      this.logger.warn({ err: error, id: copy.id }, "could not record that a dead letter was forwarded"),
    );
  }

  /**
   * To be called when a copy, or a part of it, cannot be delivered. Records that on the dead letter, which is still
   * kept, so the copy need not be. Resolves to false if the dead letter no longer exists, because then the copy is the
   * only one. Rejects if it could not be written.
   */
  async failed(copy: Entry, error: AttemptError): Promise<boolean> {
    const message = error.message.slice(0, MAX_MESSAGE);
    return this.mark(copy, (forwarded) => ({ ...forwarded, state: "failed", error: message }));
  }

  private async mark({ forwardOf }: Entry, change: (forwarded: Forwarded) => Forwarded): Promise<boolean> {
    const control = forwardOf && this.controls.get(forwardOf.exporter);
    if (forwardOf === undefined || control === undefined || !hasQueue(control)) return false;
    const { store } = control;
    return runExclusively(store, async () => {
      const found = await store.find(forwardOf.id);
      if (found === undefined) return false;
      const { entry, ref } = found;
      // If the dead letter was replayed meanwhile, the mark no longer applies.
      if (entry.state === "failed" && entry.forwarded !== undefined)
        await store.fail(ref, { ...entry, forwarded: change(entry.forwarded) });
      return true;
    });
  }
}

const MAX_MESSAGE = 300;
