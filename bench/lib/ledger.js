/**
 * What arrived, by record: counts of deliveries indexed by request * recordsPerRequest + index, of the current run.
 * Comparing it with how often each request was acknowledged tells lost records from duplicates.
 */
export class Ledger {
  /** @param {number} run @param {number} perRequest records in a request */
  constructor(run, perRequest) {
    this.run = run;
    this.perRequest = perRequest;
    /** Deliveries of records of this run, duplicates included. */
    this.delivered = 0;
    /** Records of another run, or with a number that was never given out. */
    this.stray = 0;
    this.counts = new Uint32Array(1 << 16);
    this.note = this.note.bind(this);
  }

  /** @param {number} run @param {number} request @param {number} index */
  note(run, request, index) {
    const at = request * this.perRequest + index;
    if (run !== this.run || index >= this.perRequest || !(at >= 0)) {
      this.stray++;
      return;
    }
    if (at >= this.counts.length) this.grow(at);
    this.counts[at]++;
    this.delivered++;
  }

  /**
   * `acknowledged[request]` is how often that request was acknowledged.
   * lost: acknowledged and not delivered (as often). extra: delivered and not acknowledged (as often).
   *
   * @param {Uint32Array} acknowledged
   */
  compare(acknowledged) {
    let lost = 0;
    let extra = this.delivered;
    for (let request = 0; request < acknowledged.length; request++) {
      for (let index = 0; index < this.perRequest; index++) {
        const arrived = this.counts[request * this.perRequest + index] ?? 0;
        const matched = Math.min(arrived, acknowledged[request]);
        lost += acknowledged[request] - matched;
        extra -= matched;
      }
    }
    return { delivered: this.delivered, lost, extra, stray: this.stray };
  }

  grow(/** @type {number} */ at) {
    const larger = new Uint32Array(Math.max(at + 1, this.counts.length * 2));
    larger.set(this.counts);
    this.counts = larger;
  }
}
