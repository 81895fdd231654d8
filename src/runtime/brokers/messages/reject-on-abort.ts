import { refusalOfAbort } from "#net/otlp";

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

/** Sends all at once. Resolves when all are sent, and rejects as soon as one is not, or whoever waits has given up. */
export async function sendAll<Message>(
  peer: string,
  abort: AbortSignal,
  messages: readonly Message[],
  send: (message: Message) => Promise<unknown>,
): Promise<undefined> {
  // OTLP is one message, for which a list of promises would be a detour.
  const sent = messages.length === 1 ? send(messages[0]!) : Promise.all(messages.map(send));
  await rejectOnAbort(peer, abort, sent);
  return undefined;
}
