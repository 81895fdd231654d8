import { errorMessage } from "#contract/errors";
import { backoff, pause } from "#resilience";
import { type Clock, isRefusal, type Logger, limitedLog, type Metrics } from "../../plugin.js";
import type { LinkConnection, ServerLink } from "./link.js";
import type { Session } from "./session.js";

interface ClientServices {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly link: ServerLink;
  readonly session: Session;
  /** How often a message is sent when nothing has changed; undefined for never. */
  readonly heartbeatMs: number | undefined;
  /** False while the agent starts: then there is nothing to report yet. */
  readonly isReady: () => boolean;
  /** Brings the status up to date before it is read; undefined if it always is. */
  readonly refresh?: (() => Promise<void>) | undefined;
}

/** How often the status is read. A change is sent at once. */
const TICK_MS = 1000;
/** A start that takes longer is reported to the server. */
const MAX_START_WAIT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 30_000;
/** A server answers every message. One that has not done so for this long is taken for dead. */
const ANSWER_TIMEOUT_MS = 60_000;
const BACKOFF = { first: 1000, max: 60_000 };
/** Waits that a server asks for are limited to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** A connection that ends earlier counts as a failed one, so that no server can cause a loop of connections. */
const STABLE_MS = 10_000;

interface End {
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
}

/**
 * Keeps a connection to the server and sends the status over it: all of it at first, then what changes, and heartbeats.
 * Connects again after a failure, with growing waits. Nothing in the agent ever waits for the server.
 */
export class OpampClient {
  private readonly services: ClientServices;
  private readonly abort = new AbortController();
  private connection: LinkConnection | undefined;
  private isAnswered = false;
  private lastSentAt = 0;
  private unansweredSince: number | undefined;
  private failures = 0;
  private cancelTick = () => {};
  private isStopping = false;
  private running: Promise<void> = Promise.resolve();
  private removeGauge = () => {};
  private readonly logFailure: (end: End) => void;
  private readonly countFailure: () => void;

  constructor(services: ClientServices) {
    this.services = services;
    const { clock, logger, metrics } = services;
    this.logFailure = limitedLog<End>(clock, ({ reason }, suppressed) =>
      logger.warn({ reason, suppressed }, "no connection to the OpAMP server; the agent keeps running and retries"),
    );
    const failures = metrics.counter("sluice_opamp_failures_total", {
      description: "Connections to the OpAMP server that failed or ended.",
    });
    this.countFailure = () => failures.add(1);
  }

  start(): void {
    const description = { description: "1 while the OpAMP server answers, 0 while it does not." };
    this.removeGauge = this.services.metrics.gauge("sluice_opamp_connected", description, () =>
      this.isAnswered ? 1 : 0,
    );
    this.running = this.run();
  }

  /** Tells the server that the agent stops. Takes about a second at most. */
  async stop(): Promise<void> {
    const { connection } = this;
    this.isStopping = true;
    this.connection = undefined;
    this.cancelTick();
    this.removeGauge();
    if (connection !== undefined) await connection.close(this.services.session.farewell()).catch(() => {});
    this.abort.abort();
    await this.running;
  }

  /** Sends what has changed, or a heartbeat if it is time. */
  update(): void {
    const { session, clock, heartbeatMs } = this.services;
    if (this.connection === undefined || this.connection.isBusy) return;
    const sinceLast = clock.monotonic() - this.lastSentAt;
    const isDue = heartbeatMs !== undefined && sinceLast >= (session.heartbeatMs ?? heartbeatMs);
    if (session.refresh() || isDue) this.send(this.connection);
  }

  private async run(): Promise<void> {
    await this.waitUntilReady();
    while (!this.isStopping) {
      const startedAt = this.services.clock.monotonic();
      const end = await this.converse();
      if (this.isStopping) return;
      const wasStable = this.isAnswered && this.services.clock.monotonic() - startedAt >= STABLE_MS;
      this.isAnswered = false;
      this.failures = wasStable ? 0 : this.failures + 1;
      this.countFailure();
      this.logFailure(end);
      await this.wait(this.delay(end.retryAfterMs));
    }
  }

  private async waitUntilReady(): Promise<void> {
    const { clock, isReady } = this.services;
    const startedAt = clock.monotonic();
    while (!isReady() && !this.isStopping && clock.monotonic() - startedAt < MAX_START_WAIT_MS) await this.wait(100);
  }

  /** One connection, from its beginning to its end. */
  private async converse(): Promise<End> {
    const { link, clock, session } = this.services;
    const timeout = new AbortController();
    const cancelTimeout = clock.after(CONNECT_TIMEOUT_MS, () => timeout.abort(new Error("no connection within 30 s")));
    let ended = (_end: End) => {};
    const end = new Promise<End>((resolve) => {
      ended = resolve;
    });
    const onEnd = (reason: string, retryAfterMs?: number) => ended({ reason, retryAfterMs });
    const onAbort = () => onEnd("the agent stops");
    this.abort.signal.addEventListener("abort", onAbort);
    try {
      const handlers = { onMessage: (message: Buffer) => this.receive(message), onEnd };
      const connection = await link.connect(handlers, AbortSignal.any([this.abort.signal, timeout.signal]));
      cancelTimeout();
      this.endConversation = (reason, retryAfterMs) => {
        onEnd(reason, retryAfterMs);
        connection.destroy(reason);
      };
      if (this.services.refresh !== undefined) await this.services.refresh();
      this.connection = connection;
      session.forget();
      session.refresh();
      this.send(connection);
      this.tick();
      return await end;
    } catch (error) {
      return { reason: errorMessage(error), retryAfterMs: isRefusal(error) ? error.retryAfterMs : undefined };
    } finally {
      cancelTimeout();
      this.cancelTick();
      this.abort.signal.removeEventListener("abort", onAbort);
      this.connection = undefined;
      this.unansweredSince = undefined;
    }
  }

  private endConversation: (reason: string, retryAfterMs?: number) => void = () => {};

  private tick(): void {
    const { clock } = this.services;
    this.cancelTick = clock.after(TICK_MS, () => {
      if (this.unansweredSince !== undefined && clock.monotonic() - this.unansweredSince >= ANSWER_TIMEOUT_MS)
        return this.endConversation("the server has not answered for 60 s");
      const { refresh } = this.services;
      const next = () => {
        this.update();
        if (this.connection !== undefined) this.tick();
      };
      if (refresh === undefined) next();
      else void refresh().then(next);
    });
  }

  private send(connection: LinkConnection): void {
    const now = this.services.clock.monotonic();
    this.lastSentAt = now;
    this.unansweredSince ??= now;
    connection.send(this.services.session.next());
  }

  private receive(bytes: Buffer): void {
    const { session, logger } = this.services;
    const message = session.receive(bytes);
    if (message === undefined) return this.endConversation("the server sent something that is not an OpAMP message");
    this.unansweredSince = undefined;
    if (message.error?.isUnavailable)
      return this.endConversation("the server is unavailable", message.error.retryAfterMs);
    if (!this.isAnswered) logger.info({ instance_uid: session.uid }, "connected to the OpAMP server");
    this.isAnswered = true;
    this.update();
  }

  /** Exponential backoff with jitter. A wait that the server asks for is kept, with jitter on top. */
  private delay(retryAfterMs: number | undefined): number {
    return Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) + backoff(BACKOFF, this.services)(this.failures + 1);
  }

  private wait(ms: number): Promise<void> {
    return pause(ms, this.services.clock, this.abort.signal);
  }
}
