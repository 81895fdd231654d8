import { getEventListeners } from "node:events";

/** The maximum number of free controllers kept: about as many as a busy agent uses at a time. */
const MAX_FREE = 256;

/**
 * Reuses AbortControllers, because calls are rarely aborted. Creating one and listening to it takes longer than sending
 * a small request. Nothing may carry over from one call to the next: a controller is reused only if nobody listens to
 * it any more.
 */
export class AbortPool {
  private readonly free: AbortController[] = [];

  /** Returns a controller that is not aborted and has no listeners. */
  take(): AbortController {
    return this.free.pop() ?? new AbortController();
  }

  /** To be called when the call has ended and nobody needs the signal any more. */
  giveBack(controller: AbortController): void {
    const { signal } = controller;
    if (signal.aborted || this.free.length >= MAX_FREE) return;
    if (!hasFollowers(signal) && getEventListeners(signal, "abort").length === 0) this.free.push(controller);
  }
}

/**
 * Whether `AbortSignal.any` has derived signals from this one. They are not listeners but are in a set that the signal
 * keeps under a symbol and that only grows. If no such symbol can be found, every signal may have derived ones.
 */
function hasFollowers(signal: AbortSignal): boolean {
  return FOLLOWERS === undefined || FOLLOWERS in signal;
}

const FOLLOWERS = findFollowersSymbol();

function findFollowersSymbol(): symbol | undefined {
  const { signal } = new AbortController();
  const before = Object.getOwnPropertySymbols(signal);
  AbortSignal.any([signal]);
  return Object.getOwnPropertySymbols(signal).find((symbol) => !before.includes(symbol));
}
