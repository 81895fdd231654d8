/** A signal that fires with the first of several. */
interface AnySignal {
  readonly signal: AbortSignal;
  /** Call this when the signal is not needed any more. */
  release(): void;
}

/**
 * Like `AbortSignal.any`, for signals that live long. In Node.js 20, each signal that `any` makes leaves about 50 bytes
 * in all signals that it follows for as long as they live: one for every scrape, in the signal that stops the scrapes.
 */
export function anySignal(...followed: readonly AbortSignal[]): AnySignal {
  const controller = new AbortController();
  const { signal } = controller;
  const onAbort = () => {
    release();
    controller.abort(followed.find(({ aborted }) => aborted)?.reason);
  };
  const release = () => {
    for (const each of followed) each.removeEventListener("abort", onAbort);
  };
  for (const each of followed) each.addEventListener("abort", onAbort);
  if (followed.some(({ aborted }) => aborted)) onAbort();
  return { signal, release };
}
