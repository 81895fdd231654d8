import type { BuiltInReceiverContext } from "#contract/built-in";
import type { LogEntry } from "#logs/entries";
import { type KubernetesApi, type KubernetesObject, type ListedPage, ObjectWatch } from "#net/kubernetes";
import { type BatchIntake, type CursorStore, EntryStream } from "#receiving";
import { limitedLog } from "../../plugin.js";

interface ObjectStreamSettings {
  /** The path of the list. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The version behind which to begin. */
  readonly version?: string;
  /** Whether the objects that exist come first. */
  readonly hasInitialState: boolean;
  /** Returns undefined for an object or change that is left out. */
  readonly entryOf: (object: KubernetesObject, change: string, isResumed: boolean) => LogEntry | undefined;
}

/** The parts of the agent that all streams of one receiver use. */
interface ObjectStreamServices {
  readonly api: KubernetesApi;
  readonly intake: BatchIntake;
  /** Undefined: positions are not kept. */
  readonly store: CursorStore | undefined;
}

/**
 * Changes of the objects of one list as log records. If the server has forgotten the position, the objects that have
 * changed since are read from the list, so that only deletions and changes before the last one are missed.
 */
export class ObjectStream {
  private readonly settings: ObjectStreamSettings;
  private readonly services: ObjectStreamServices;
  private readonly watch: ObjectWatch;
  private readonly stream: EntryStream;
  /** Objects of lists up to this version are known; undefined before the first one. */
  private knownVersion: bigint | undefined;
  private readonly isResumed: boolean;

  constructor(settings: ObjectStreamSettings, services: ObjectStreamServices, context: BuiltInReceiverContext) {
    const { path, labelSelector, fieldSelector } = settings;
    const { api, intake, store } = services;
    const { clock, random, logger, health } = context;
    this.settings = settings;
    this.services = services;
    const stored = store?.get(path);
    this.isResumed = stored !== undefined;
    this.knownVersion = versionOf(stored);
    this.stream = new EntryStream(
      { intake, transport: "http", onCursor: (version) => this.services.store?.set(path, version) },
      context,
    );
    const logFailure = limitedLog<unknown>(clock, (error, suppressed) =>
      logger.warn({ path, reason: String((error as Error).message), suppressed }, "the Kubernetes API cannot be read"),
    );
    const source = health?.source(path);
    this.watch = new ObjectWatch({
      api,
      path,
      labelSelector,
      fieldSelector,
      clock,
      random,
      version: stored ?? settings.version,
      wantsPages: () => settings.hasInitialState || this.knownVersion !== undefined,
      onPage: (page) => this.takePage(page),
      onEvent: (type, object) => this.takeEvent(type, object),
      onVersion: (version) => this.reach(version),
      onAnswer: () => source?.up(),
      onGone: () => logger.warn({ path }, "the API server has forgotten the position; deletions may have been missed"),
      onError: (error) => {
        logFailure(error);
        source?.down((error as Error).message);
      },
    });
  }

  start(): Promise<void> {
    return this.watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.watch.stop(), this.stream.stop()]);
  }

  /** Adds the objects of a list: all of them at the beginning, afterwards those that have changed. */
  private takePage({ objects }: ListedPage): Promise<void> {
    const { knownVersion } = this;
    for (const object of objects) {
      const version = versionOf(object.metadata.resourceVersion);
      if (knownVersion !== undefined && version !== undefined && version <= knownVersion) continue;
      this.add("ADDED", object);
    }
    return this.stream.flush();
  }

  private takeEvent(type: string, object: KubernetesObject): void | Promise<void> {
    this.add(type, object);
    return this.stream.flush(object.metadata.resourceVersion);
  }

  private reach(version: string): void {
    this.knownVersion = versionOf(version);
    void this.stream.flush(version);
  }

  private add(type: string, object: KubernetesObject): void {
    const entry = this.settings.entryOf(object, type, this.isResumed);
    if (entry !== undefined) this.stream.add(entry);
  }
}

/** Versions are numbers that grow, also those of different objects. */
function versionOf(text: string | undefined): bigint | undefined {
  return text !== undefined && /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
}
