import { refusalOfAbort } from "../otlp/refusals.js";

/** What the work comes to, or a refusal once whoever waits has given up. What the work does after that is nobody's business. */
export function rejectOnAbort<T>(peer: string, abort: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(refusalOfAbort(peer, abort));
    if (abort.aborted) onAbort();
    abort.addEventListener("abort", onAbort, { once: true });
    const forget = () => abort.removeEventListener("abort", onAbort);
    work.then(
      (value) => {
        forget();
        resolve(value);
      },
      (error: unknown) => {
        forget();
        reject(error);
      },
    );
  });
}
