import { AdminError, type AdminErrorCode } from "#contract/operations";
import { type RemoteCalls, type RemoteMethods, WorkerGoneError } from "./remote-calls.js";

/** One end of the connection between the parent and a worker. */
export interface LinkEnd {
  send(message: LinkMessage): void;
  /** Calls the listener with each message from the other end. */
  onMessage(listener: (message: LinkMessage) => void): void;
  /** Calls the listener when the other end is gone. */
  onGone(listener: () => void): void;
}

/** A message of a call. Other messages between the two processes do not have the key `sluice`. */
export type LinkMessage = { readonly sluice: number } & (
  | { readonly ask: "call" | "stream"; readonly name: string; readonly args: readonly unknown[] }
  /** Asks for the next value of a stream, or ends it. */
  | { readonly ask: "next" | "end" }
  | { readonly answer: "value"; readonly value: unknown }
  | { readonly answer: "done" }
  | { readonly answer: "error"; readonly error: SentError }
);

interface SentError {
  readonly name: string;
  readonly message: string;
  readonly adminCode: AdminErrorCode | undefined;
}

type Answer = Extract<LinkMessage, { answer: string }>;

/** The parent's end: asks one worker. */
export class IpcCalls implements RemoteCalls {
  private readonly end: LinkEnd;
  private readonly worker: number;
  private readonly open = new Map<number, (answer: Answer | undefined) => void>();
  private last = 0;
  private isGone = false;

  constructor(end: LinkEnd, worker: number) {
    this.end = end;
    this.worker = worker;
    end.onMessage((message) => {
      if ("answer" in message) this.open.get(message.sluice)?.(message);
    });
    end.onGone(() => {
      this.isGone = true;
      for (const settle of this.open.values()) settle(undefined);
      this.open.clear();
    });
  }

  async call(name: string, ...args: readonly unknown[]): Promise<unknown> {
    const id = this.nextId();
    const answer = await this.ask({ sluice: id, ask: "call", name, args });
    this.open.delete(id);
    return resultOf(answer);
  }

  /** No generator, because that cannot be ended while it waits for a value. */
  stream(name: string, ...args: readonly unknown[]): AsyncIterableIterator<unknown> {
    const id = this.nextId();
    const done = { done: true, value: undefined } as const;
    let hasBegun = false;
    let isDone = false;
    const stream: AsyncIterableIterator<unknown> = {
      [Symbol.asyncIterator]: () => stream,
      next: async () => {
        if (isDone) return done;
        const isFirst = !hasBegun;
        hasBegun = true;
        try {
          const answer = await this.ask(
            isFirst ? { sluice: id, ask: "stream", name, args } : { sluice: id, ask: "next" },
          );
          if (answer.answer === "value") return { done: false, value: answer.value };
          isDone = true;
          this.open.delete(id);
          resultOf(answer);
          return done;
        } catch (error) {
          isDone = true;
          throw error;
        }
      },
      return: async () => {
        if (isDone) return done;
        isDone = true;
        this.open.get(id)?.({ sluice: id, answer: "done" });
        this.open.delete(id);
        if (!this.isGone && hasBegun) this.end.send({ sluice: id, ask: "end" });
        return done;
      },
    };
    return stream;
  }

  private nextId(): number {
    this.last += 1;
    return this.last;
  }

  private ask(message: LinkMessage): Promise<Answer> {
    const gone = () => new WorkerGoneError(this.worker);
    if (this.isGone) return Promise.reject(gone());
    return new Promise((resolve, reject) => {
      this.open.set(message.sluice, (answer) => (answer === undefined ? reject(gone()) : resolve(answer)));
      this.end.send(message);
    });
  }
}

function resultOf(answer: Answer): unknown {
  if (answer.answer === "error") throw receivedError(answer.error);
  return answer.answer === "value" ? answer.value : undefined;
}

function receivedError({ name, message, adminCode }: SentError): Error {
  if (adminCode !== undefined) return new AdminError(adminCode, message);
  return Object.assign(new Error(message), { name });
}

/** The worker's end: answers calls with these methods. */
export function answerCalls(end: LinkEnd, methods: RemoteMethods): void {
  const streams = new Map<number, AsyncIterator<unknown>>();
  const endAll = () => {
    for (const stream of streams.values()) void stream.return?.();
    streams.clear();
  };
  const sendNext = async (id: number, stream: AsyncIterator<unknown>) => {
    const { done, value } = await stream.next();
    if (done === true) streams.delete(id);
    end.send(done === true ? { sluice: id, answer: "done" } : { sluice: id, answer: "value", value });
  };
  const answer = async (message: LinkMessage) => {
    const id = message.sluice;
    if (!("ask" in message)) return;
    if (message.ask === "end") {
      const stream = streams.get(id);
      streams.delete(id);
      return void (await stream?.return?.());
    }
    if (message.ask === "next") {
      const stream = streams.get(id);
      return stream === undefined ? end.send({ sluice: id, answer: "done" }) : sendNext(id, stream);
    }
    if (!("name" in message)) return;
    const method = Object.hasOwn(methods, message.name) ? methods[message.name] : undefined;
    if (method === undefined) throw new Error(`a worker has no method ${message.name}`);
    const result = method(...(message.args as never[]));
    if (message.ask === "call") return end.send({ sluice: id, answer: "value", value: await result });
    const stream = ((await result) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    streams.set(id, stream);
    return sendNext(id, stream);
  };
  end.onMessage((message) => {
    answer(message).catch((error: unknown) => {
      streams.delete(message.sluice);
      end.send({ sluice: message.sluice, answer: "error", error: sentError(error) });
    });
  });
  end.onGone(endAll);
}

function sentError(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), adminCode: undefined };
  const { name, message } = error;
  return { name, message, adminCode: error instanceof AdminError ? error.code : undefined };
}
