import type { BuiltInReceiverContext } from "#contract/built-in";
import { EntryTemplate, OperatorChain } from "#logs";
import type { LogMap } from "#logs/entries";
import { BatchIntake, CursorStore, EntryStream } from "#receiving";
import { backoff, ReadLoop } from "#resilience";
import { defineReceiver, limitedLog, type Receiver, StartError } from "../../plugin.js";
import { type JournaldConfig, journaldSchema } from "./config.js";
import { logEntryOf, parseJournalEntry } from "./journal-entry.js";
import { Journalctl } from "./journalctl.js";

/**
 * Reads the journal of systemd with journalctl. The cursor of the last entry is kept on disk and advances only once
 * every exporter in the pipeline has the records.
 */
export const journaldReceiver = defineReceiver<JournaldConfig>({
  type: "journald",
  summary: "Reads the journal of systemd, and remembers how far its records are safe.",
  signals: ["logs"],
  workers: "one",
  schema: journaldSchema,
  create: (config, context) => new JournaldReceiver(config, context),
});

const CURSOR = "journal";
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;
const FLUSH_OLD_MS = 200;

/** The entry that a record was made of. */
interface JournalOrigin {
  /** The cursor of the entry before it: reading behind that reads it again. */
  readonly before: string | undefined;
  readonly number: number;
}

class JournaldReceiver implements Receiver {
  private readonly config: JournaldConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly journalctl: Journalctl;
  private readonly store: CursorStore;
  private readonly chain: OperatorChain;
  private readonly attributes: LogMap;
  private readonly resource: LogMap;
  private readonly templates: readonly (readonly ["attributes" | "resource", string, EntryTemplate])[];
  private readonly logProblem: (reason: string) => void;
  private readonly logUnreadable: (reason: string) => void;
  private stream: EntryStream | undefined;
  private intake: BatchIntake | undefined;
  private running: Promise<void> = Promise.resolve();
  private readonly loop: ReadLoop;
  private cancelFlush = () => {};
  /** The cursor of the last entry that was read. */
  private cursor: string | undefined;
  private number = 0;

  constructor(config: JournaldConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.loop = new ReadLoop(context.clock);
    this.journalctl = new Journalctl(config);
    this.store = new CursorStore(config.offsets_directory, context);
    this.chain = new OperatorChain(config.operators, context, (entry) => this.stream?.add(entry));
    const isTemplate = ([, text]: [string, string]) => text.includes("EXPR(");
    const plain = (values: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(values).filter((each) => !isTemplate(each)));
    this.attributes = plain(config.attributes);
    this.resource = plain(config.resource);
    this.templates = (["attributes", "resource"] as const).flatMap((part) =>
      Object.entries(config[part])
        .filter(isTemplate)
        .map(([name, text]) => [part, name, new EntryTemplate(text)] as const),
    );
    const { clock, logger } = context;
    this.logProblem = limitedLog(clock, (reason, suppressed) =>
      logger.warn({ reason, suppressed }, "the journal cannot be read; retrying"),
    );
    this.logUnreadable = limitedLog(clock, (reason, suppressed) =>
      logger.warn({ reason, suppressed }, "a line of journalctl is not a journal entry; it is skipped"),
    );
  }

  async start(): Promise<void> {
    if (this.context.intakes.logs === undefined) return;
    await this.journalctl.check().catch((cause: NodeJS.ErrnoException) => {
      const { journalctl_path: program } = this.config;
      const reason = cause.code === "ENOENT" ? `there is no program ${program}; install systemd` : cause.message;
      throw new StartError(reason, ["journalctl_path"], { cause });
    });
    await this.store.load("offsets_directory");
    this.cursor = this.store.get(CURSOR);
    this.intake = new BatchIntake({ signal: "logs", transport: "journald" }, this.context);
    const onCursor = (cursor: string) => this.store.set(CURSOR, cursor);
    this.stream = new EntryStream({ intake: this.intake, transport: "journald", onCursor }, this.context);
    // The end is found before the agent reports that it has started: entries that are written from now on are read.
    const isReady = await this.findEnd().catch(() => false);
    this.running = this.run(isReady);
  }

  async stop(): Promise<void> {
    this.loop.stop();
    this.journalctl.stop();
    this.cancelFlush();
    const stopped = this.intake?.stop();
    await this.stream?.stop();
    await this.running;
    await stopped;
    await this.store.close();
  }

  /** Returns whether it is known where to begin. */
  private async findEnd(): Promise<boolean> {
    if (this.cursor !== undefined || this.config.start_at === "beginning") return true;
    this.cursor = await this.journalctl.lastCursor();
    if (this.cursor !== undefined) this.store.set(CURSOR, this.cursor);
    return true;
  }

  private run(isReady: boolean): Promise<void> {
    let isKnown = isReady;
    return this.loop.run({
      read: async (onReading) => {
        if (!isKnown) isKnown = await this.findEnd();
        this.context.health?.source("journal").up();
        throw new Error((await this.read(false, onReading)) ?? (await this.read(true, onReading)) ?? "");
      },
      onEnd: (error) => this.fail((error as Error).message),
      delays: backoff({ first: FIRST_WAIT_MS, max: MAX_WAIT_MS }, this.context),
    });
  }

  private async read(isFollowing: boolean, onReading: () => void): Promise<string | undefined> {
    if (this.loop.isStopping) return "";
    const before = this.number;
    return this.journalctl.read(
      this.cursor,
      isFollowing,
      async (lines) => {
        await this.take(lines);
        if (this.number > before) onReading();
      },
      (reason) => this.refuse(reason),
    );
  }

  private fail(reason: string): void {
    this.context.health?.source("journal").down(reason);
    this.logProblem(reason);
  }

  private async take(lines: readonly string[]): Promise<void> {
    if (this.loop.isStopping) return;
    for (const line of lines) if (line !== "") this.takeLine(line);
    await this.flush();
  }

  private takeLine(line: string): void {
    const before = this.cursor;
    try {
      const parsed = parseJournalEntry(line, this.config.convert_message_bytes);
      if (parsed.cursor === before) return;
      this.cursor = parsed.cursor;
      const attributes: LogMap = { ...this.attributes };
      if (this.config.include_log_record_original) attributes["log.record.original"] = line.trim();
      const origin: JournalOrigin = { before, number: this.number++ };
      const entry = logEntryOf(parsed, attributes, this.resource, origin);
      for (const [part, name, value] of this.templates) {
        if (part === "attributes") attributes[name] = value.text(entry);
        else entry.ownResource()[name] = value.text(entry);
      }
      this.chain.process(entry);
    } catch (error) {
      this.refuse((error as Error).message);
    }
  }

  private refuse(reason: string): void {
    this.intake?.refuse(1);
    this.logUnreadable(reason);
  }

  /** Sends what was read. Entries that an operator holds are read again after a restart. */
  private async flush(): Promise<void> {
    const held = this.firstHeld();
    if (held !== undefined) this.flushLater();
    await this.stream?.flush(held === undefined ? this.cursor : held.before);
  }

  private firstHeld(): JournalOrigin | undefined {
    if (!this.chain.canHold) return undefined;
    let first: JournalOrigin | undefined;
    for (const { origin } of this.chain.heldEntries()) {
      const held = origin as JournalOrigin;
      if (first === undefined || held.number < first.number) first = held;
    }
    return first;
  }

  private flushLater(): void {
    this.cancelFlush();
    this.cancelFlush = this.context.clock.after(FLUSH_OLD_MS, () => {
      this.chain.flushOld();
      void this.flush();
    });
  }
}
