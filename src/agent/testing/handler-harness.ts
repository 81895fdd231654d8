import { MESSAGE_HEADERS } from "#brokers";
import type { Exporter, ExporterFactory, SendOptions } from "#contract";
import type { Batch } from "#otlp";
import { anyValue, encodeTree, keyValues } from "#otlp/json";
import { lastingStores } from "./component-inputs.js";
import { plainRecords } from "./plain-records.js";
import { runPipeline, type TestDeadLetter, type TestPipeline } from "./run-pipeline.js";

/** Options for a handler under test. */
interface HandlerHarnessOptions {
  /** The handler's keys, as in YAML: `{ timeout: "1s", retry_on_failure: { max_retries: 2 } }`. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** A message as a test writes it. */
interface TestMessageOptions {
  /** The idempotency key; by default each message has its own. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further attributes, such as `messaging.kafka.message.key`. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** How a message ended. */
interface HandledMessage {
  readonly outcome: "handled" | "dead_letter";
  /** How often the handler was called for it. */
  readonly attempts: number;
  /** Why it is a dead letter. */
  readonly error?: string;
}

/** A handler behind a real queue in memory, with retries after a few milliseconds. */
export interface HandlerHarness {
  /**
   * Delivers a message; resolves when it was handled or is a dead letter. An object is sent as JSON. While the handler
   * reports an outage, such as ECONNREFUSED, the message waits: no attempt is spent.
   */
  deliver(body: string | object, options?: TestMessageOptions): Promise<HandledMessage>;
  /** Delivers the same message twice at the same time, and once more afterwards. Resolves as `deliver` does. */
  deliverTwice(body: string | object, options?: TestMessageOptions): Promise<HandledMessage>;
  /**
   * Delivers a message, and ends the agent without a trace when the handler has done its work and before that is
   * written down. A new agent gets the message again. Resolves when that has ended: the handler's effect must be there
   * once.
   */
  crashAfterEffect(body: string | object, options?: TestMessageOptions): Promise<HandledMessage>;
  /** Resolves when the handler was called at least so often. */
  called(times: number): Promise<void>;
  deadLetters(): Promise<TestDeadLetter[]>;
  stop(): Promise<void>;
}

/**
 * Runs a handler as an agent does, for tests: duplicates, crashes between its effect and the acknowledgement, poison
 * messages and outages of what it calls.
 */
export async function handlerHarness(
  handler: ExporterFactory,
  { config = {} }: HandlerHarnessOptions = {},
): Promise<HandlerHarness> {
  const calls = new Calls();
  const stores = lastingStores();
  const yaml = JSON.stringify({
    exporters: { [handler.type]: { ...QUICK, ...config } },
    service: { pipelines: { logs: { receivers: ["memory"], exporters: [handler.type] } } },
  });
  const start = () => runPipeline(yaml, { plugins: [calls.watch(handler)], queue: stores });
  let pipeline: TestPipeline = await start();
  let messages = 0;

  async function end(key: string): Promise<HandledMessage> {
    for (;;) {
      if (calls.isHandled(key)) return { outcome: "handled", attempts: calls.attemptsOf(key) };
      const dead = (await pipeline.deadLetters()).find((letter) => keyOf(letter) === key);
      if (dead) return { outcome: "dead_letter", attempts: calls.attemptsOf(key), error: dead.message };
      await pause();
    }
  }

  const keyed = (options: TestMessageOptions) => ({ ...options, key: options.key ?? `message-${++messages}` });
  async function send(body: string | object, options: TestMessageOptions & { key: string }): Promise<void> {
    const outcome = await pipeline.send(messageBatch(body, options));
    if (!outcome.ok) throw outcome.refusal;
  }

  return {
    async deliver(body, options = {}) {
      const message = keyed(options);
      await send(body, message);
      return end(message.key);
    },
    async deliverTwice(body, options = {}) {
      const message = keyed(options);
      await Promise.all([send(body, message), send(body, message)]);
      await end(message.key);
      await send(body, message);
      await calls.idle();
      return end(message.key);
    },
    async crashAfterEffect(body, options = {}) {
      const message = keyed(options);
      const crashed = calls.crashAfter(message.key);
      await send(body, message);
      await crashed;
      await pipeline.stop(0);
      pipeline = await start();
      return end(message.key);
    },
    called: (times) => calls.reached(times),
    deadLetters: () => pipeline.deadLetters(),
    stop: () => pipeline.stop(0),
  };
}

/** Retries come after milliseconds, and an outage is noticed to be over as soon. */
const QUICK = {
  retry_on_failure: { initial_interval: "1ms", max_interval: "10ms" },
  circuit_breaker: { reset_timeout: "10ms" },
};

/** Counts the calls of a handler, and lets one of them end without an answer. */
class Calls {
  private readonly attempts = new Map<string, number>();
  private readonly handled = new Set<string>();
  private readonly crashing = new Map<string, () => void>();
  private total = 0;
  private running = 0;

  watch(handler: ExporterFactory): ExporterFactory {
    return {
      ...handler,
      create: (config, context) => {
        const exporter = handler.create(config, context);
        return new Proxy(exporter, {
          get: (target, name) => {
            if (name === "send") return this.send.bind(this, target);
            const member: unknown = Reflect.get(target, name);
            return typeof member === "function" ? member.bind(target) : member;
          },
        });
      },
    };
  }

  attemptsOf(key: string): number {
    return this.attempts.get(key) ?? 0;
  }

  isHandled(key: string): boolean {
    return this.handled.has(key);
  }

  /** Resolves when the handler has done its work for this key. The answer never comes. */
  crashAfter(key: string): Promise<void> {
    return new Promise((resolve) => this.crashing.set(key, resolve));
  }

  async reached(times: number): Promise<void> {
    while (this.total < times) await pause();
  }

  async idle(): Promise<void> {
    do await pause();
    while (this.running > 0);
  }

  private async send(exporter: Exporter, batch: Batch, abort: AbortSignal, options?: SendOptions) {
    const key = keyOfBatch(batch);
    this.attempts.set(key, this.attemptsOf(key) + 1);
    this.total += 1;
    this.running += 1;
    try {
      const answer = await exporter.send(batch, abort, options);
      const crash = this.crashing.get(key);
      if (crash !== undefined) {
        this.crashing.delete(key);
        crash();
        await new Promise((_resolve, reject) => abort.addEventListener("abort", () => reject(abort.reason)));
      }
      this.handled.add(key);
      return answer;
    } finally {
      this.running -= 1;
    }
  }
}

const KEY_ATTRIBUTE = `messaging.header.${MESSAGE_HEADERS.idempotencyKey}`;

function messageBatch(body: string | object, { key, headers = {}, attributes = {} }: TestMessageOptions): Batch {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [`messaging.header.${name}`, value]));
  const record = {
    body: anyValue(typeof body === "string" ? body : JSON.stringify(body)),
    attributes: keyValues({ ...attributes, ...own, [KEY_ATTRIBUTE]: key }),
  };
  return encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
}

function keyOfBatch(batch: Batch): string {
  return String(plainRecords(batch)[0]?.attributes[KEY_ATTRIBUTE]);
}

function keyOf({ records }: TestDeadLetter): string {
  return String(records[0]?.attributes[KEY_ATTRIBUTE]);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
