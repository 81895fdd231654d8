/** The ids of entries that ended lately; bounded, and lost when the process ends. */
export class RecentIds {
  private readonly ids = new Set<string>();

  add(id: string): void {
    this.ids.delete(id);
    this.ids.add(id);
    if (this.ids.size <= MAX_IDS) return;
    for (const oldest of this.ids) {
      this.ids.delete(oldest);
      return;
    }
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }
}

const MAX_IDS = 10_000;
