import { refusalOfAbort } from "#net/otlp";

/** Settles like `work`, or rejects with a refusal when `abort` fires. After that the result of `work` is ignored. */
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

/** Sends all messages concurrently. Resolves when all are sent; rejects as soon as one fails or `abort` fires. */
export async function sendAll<Message>(
  peer: string,
  abort: AbortSignal,
  messages: readonly Message[],
  send: (message: Message) => Promise<unknown>,
): Promise<undefined> {
  // OTLP is a single message, which needs no list of promises.
  const sent = messages.length === 1 ? send(messages[0]!) : Promise.all(messages.map(send));
  await rejectOnAbort(peer, abort, sent);
  return undefined;
}
