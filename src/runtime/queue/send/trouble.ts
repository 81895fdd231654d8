/** The bit of each policy in `Trouble`. */
export const POLICY = { breaker: 1, ramp: 2, holds: 4, bisections: 8, memory: 16, expiry: 32 } as const;

/**
 * The policies that have something to say about the next call or success. Each sets its own bit, and clears it when it
 * has nothing more to say. While no bit is set, no policy is asked: every call may be made, and a success is only counted.
 */
export class Trouble {
  /** Read without a method call, because every call and every success looks here. */
  bits = 0;

  set(bit: number, isOn: boolean): void {
    this.bits = isOn ? this.bits | bit : this.bits & ~bit;
  }
}
