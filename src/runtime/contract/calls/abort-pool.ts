import { getEventListeners } from "node:events";

/** Free ones that are kept: as many as are sending at a time in a busy agent. */
const MAX_FREE = 256;

/**
 * AbortControllers for calls of which hardly any is aborted. Making one and listening to it takes longer than sending a small
 * request does, so one that has served its call serves the next. It must not carry anything over: a controller comes back only
 * when nobody listens to it any more.
 */
export class AbortPool {
  private readonly free: AbortController[] = [];

  /** One that is not aborted and that nobody listens to. */
  take(): AbortController {
    return this.free.pop() ?? new AbortController();
  }

  /** The call has ended: whoever got the signal has no use for it any more. */
  giveBack(controller: AbortController): void {
    const { signal } = controller;
    if (signal.aborted || this.free.length >= MAX_FREE) return;
    if (!hasFollowers(signal) && getEventListeners(signal, "abort").length === 0) this.free.push(controller);
  }
}

/**
 * Whether there are signals that `AbortSignal.any` made of this one. They do not count as listeners: they are in a set that the
 * signal keeps under a symbol, which only grows. Where no such symbol can be found, every signal may have some.
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
