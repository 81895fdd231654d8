import type { QueueItem } from "./item.js";

/** First in, first out, in an array: the first one is at `start`. */
export class ReadyQueue {
  private items: QueueItem[] = [];
  private start = 0;

  get size(): number {
    return this.items.length - this.start;
  }

  get first(): QueueItem | undefined {
    return this.items[this.start];
  }

  add(item: QueueItem): void {
    this.items.push(item);
  }

  take(): QueueItem | undefined {
    const item = this.items[this.start];
    if (item === undefined) return undefined;
    this.start += 1;
    if (this.start === this.items.length) {
      this.items = [];
      this.start = 0;
    } else if (this.start > 1024 && this.start * 2 > this.items.length) {
      this.items = this.items.slice(this.start);
      this.start = 0;
    }
    return item;
  }
}
