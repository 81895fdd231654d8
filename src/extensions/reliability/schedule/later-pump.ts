/**
 * Clients wait until the store has written what they sent; nobody waits until it is sent on. So that the next client does not
 * wait for it either, it is sent on while the store writes, when there is nothing else to do, or after a moment if nothing
 * more comes. The timer is made once: what is not wanted any more when it rings is passed over.
 */
export class LaterPump {
  private readonly onDue: () => void;
  private timer: NodeJS.Timeout | undefined;
  private isWanted = false;
  private isBehindWrite = false;

  constructor(pump: () => void) {
    this.onDue = () => {
      if (this.isWanted) pump();
    };
  }

  request(): void {
    if (this.isWanted) return;
    this.isWanted = true;
    if (this.timer === undefined) this.timer = setTimeout(this.onDue, LATER_PUMP_MS);
    else this.timer.refresh();
  }

  /** The store begins to write at the end of this turn of the event loop; what is asked for now comes right behind that. */
  onWriteBegun(): void {
    if (!this.isWanted || this.isBehindWrite) return;
    this.isBehindWrite = true;
    setImmediate(() => {
      this.isBehindWrite = false;
      this.onDue();
    });
  }

  cancel(): void {
    this.isWanted = false;
  }
}

const LATER_PUMP_MS = 1;
