import type { BuiltInReceiverContext } from "#contract/built-in";
import { type KubernetesApi, type KubernetesObject, kubernetesApi } from "#net/kubernetes";
import { BatchIntake, CursorStore, EntryStream, whileLeader } from "#receiving";
import { atIntervals, jittered, pause } from "#resilience";
import { listOf, textOf } from "#text/json";
import { compilePattern } from "#text/patterns";
import { defineReceiver, limitedLog, type Receiver } from "../../plugin.js";
import { type ApiResource, ApiResources } from "./api-resources.js";
import {
  type K8sEventsConfig,
  type K8sObjectsConfig,
  k8sEventsSchema,
  k8sObjectsSchema,
  type ObjectsOfKind,
} from "./config.js";
import { EventFilter } from "./event-filter.js";
import { eventEntry, objectEntry } from "./object-entry.js";
import { ObjectStream } from "./object-stream.js";

/** Objects of a Kubernetes cluster as log records. */
export const k8sObjectsReceiver = defineReceiver<K8sObjectsConfig>({
  type: "k8s_objects",
  aliases: ["k8sobjects"],
  summary: "Reads objects of a Kubernetes cluster as log records: all of them at intervals, or each change.",
  signals: ["logs"],
  workers: "one",
  schema: k8sObjectsSchema,
  create: (config, context) =>
    whileLeader(config.k8s_leader_elector, context, () => new K8sObjectsReceiver(config, context)),
});

/** Events of a Kubernetes cluster as log records. */
export const k8sEventsReceiver = defineReceiver<K8sEventsConfig>({
  type: "k8s_events",
  summary: "Reads the events of a Kubernetes cluster as log records.",
  signals: ["logs"],
  workers: "one",
  schema: k8sEventsSchema,
  create: (config, context) =>
    whileLeader(config.k8s_leader_elector, context, () => new K8sEventsReceiver(config, context)),
});

const RETRY_MS = 10_000;
const PAGE_SIZE = 500;
const MAX_PAGES = 1000;

/** A part of a receiver that runs until it is stopped. */
interface RunningPart {
  stop(): Promise<void>;
}

abstract class ObjectReceiver implements Receiver {
  protected readonly context: BuiltInReceiverContext;
  protected readonly api: KubernetesApi;
  protected readonly parts: RunningPart[] = [];
  protected readonly stopping = new AbortController();
  private readonly store: CursorStore | undefined;
  private intake: BatchIntake | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(config: K8sObjectsConfig | K8sEventsConfig, context: BuiltInReceiverContext) {
    this.context = context;
    this.api = kubernetesApi(config);
    this.store = config.storage ? new CursorStore(config.offsets_directory, context) : undefined;
  }

  async start(): Promise<void> {
    if (this.context.intakes.logs === undefined) return;
    await this.store?.load("offsets_directory");
    this.intake = new BatchIntake({ signal: "logs", transport: "http" }, this.context);
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    const stopped = this.intake?.stop();
    await Promise.all(this.parts.map((part) => part.stop()));
    await stopped;
    await this.store?.close();
  }

  /** Starts everything; resolves also when it is stopped. */
  protected abstract run(): Promise<void>;

  protected get services() {
    return { api: this.api, intake: this.intake!, store: this.store };
  }

  protected pathsOf({ group, name }: ApiResource, namespaces: readonly string[]): string[] {
    if (namespaces.length === 0) return [`${group}/${name}`];
    return namespaces.map((namespace) => `${group}/namespaces/${encodeURIComponent(namespace)}/${name}`);
  }

  protected add(stream: ObjectStream): void {
    this.parts.push(stream);
    void stream.start();
  }
}

class K8sEventsReceiver extends ObjectReceiver {
  private readonly config: K8sEventsConfig;

  constructor(config: K8sEventsConfig, context: BuiltInReceiverContext) {
    super(config, context);
    this.config = config;
  }

  protected async run(): Promise<void> {
    const filter = new EventFilter(this.config.dedup_interval, this.context.clock);
    for (const path of this.pathsOf({ group: "/api/v1", name: "events" }, this.config.namespaces)) {
      const entryOf = (event: KubernetesObject, change: string, isResumed: boolean) =>
        filter.passes(event, change, isResumed) ? eventEntry(event) : undefined;
      this.add(new ObjectStream({ path, hasInitialState: false, entryOf }, this.services, this.context));
    }
  }
}

class K8sObjectsReceiver extends ObjectReceiver {
  private readonly config: K8sObjectsConfig;
  private readonly logProblem: (event: { readonly object: string; readonly reason: string }) => void;

  constructor(config: K8sObjectsConfig, context: BuiltInReceiverContext) {
    super(config, context);
    this.config = config;
    this.logProblem = limitedLog(context.clock, ({ object, reason }, suppressed) =>
      context.logger.warn({ object, reason, suppressed }, "objects of the Kubernetes API cannot be read"),
    );
  }

  /** Finds the objects' lists. Those that the server does not have now may come later, with a custom resource. */
  protected async run(): Promise<void> {
    let missing: readonly ObjectsOfKind[] = this.config.objects;
    while (missing.length > 0 && !this.stopping.signal.aborted) {
      const resources = new ApiResources(this.api);
      const before = missing;
      missing = [];
      for (const object of before) if (!(await this.begin(object, resources))) missing = [...missing, object];
      if (missing.length > 0) await pause(jittered(RETRY_MS, this.context), this.context.clock, this.stopping.signal);
    }
  }

  private async begin(object: ObjectsOfKind, resources: ApiResources): Promise<boolean> {
    const { signal } = this.stopping;
    const found = await resources.find(object.name, object.group, signal).catch((error: Error) => error);
    if (signal.aborted) return true;
    const source = this.context.health?.source(object.name);
    if (found === undefined || found instanceof Error) {
      const reason = found === undefined ? "the API server does not have such objects" : found.message;
      const isQuiet = found === undefined && this.config.error_mode !== "propagate";
      if (!isQuiet) source?.down(reason);
      if (found !== undefined || this.config.error_mode !== "silent") this.logProblem({ object: object.name, reason });
      return false;
    }
    source?.up();
    for (const path of this.pathsOf(found, object.namespaces)) {
      if (object.mode === "watch") this.watch(object, path);
      else {
        const pulling = this.pull(object, path);
        this.parts.push({ stop: () => pulling });
      }
    }
    return true;
  }

  private watch(object: ObjectsOfKind, path: string): void {
    const isExcluded = namespaceFilter(object);
    const leftOut: ReadonlySet<string> = new Set(object.exclude_watch_type);
    const { label_selector: labelSelector, field_selector: fieldSelector, resource_version: version } = object;
    const entryOf = (found: KubernetesObject, change: string) =>
      leftOut.has(change) || isExcluded(found) ? undefined : objectEntry(found, object.name, change);
    const settings = { path, labelSelector, fieldSelector, version, entryOf };
    const hasInitialState = this.config.include_initial_state;
    this.add(new ObjectStream({ ...settings, hasInitialState }, this.services, this.context));
  }

  private async pull(object: ObjectsOfKind, path: string): Promise<void> {
    const { signal } = this.stopping;
    const stream = new EntryStream(
      { intake: this.services.intake, transport: "http", onCursor: () => {} },
      this.context,
    );
    this.parts.push(stream);
    const source = this.context.health?.source(path);
    const intervals = { first: object.initial_delay, interval: object.interval || this.config.interval };
    await atIntervals(intervals, this.context.clock, signal, async () => {
      try {
        await this.pullOnce(object, path, stream);
        source?.up();
      } catch (error) {
        if (signal.aborted) return;
        source?.down((error as Error).message);
        this.logProblem({ object: object.name, reason: (error as Error).message });
      }
    });
  }

  private async pullOnce(object: ObjectsOfKind, path: string, stream: EntryStream): Promise<void> {
    const isExcluded = namespaceFilter(object);
    const { label_selector: labelSelector, field_selector: fieldSelector, resource_version: version } = object;
    let next = "";
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = new URLSearchParams({
        limit: String(PAGE_SIZE),
        ...(labelSelector && { labelSelector }),
        ...(fieldSelector && { fieldSelector }),
        ...(version && next === "" && { resourceVersion: version, resourceVersionMatch: "Exact" }),
        ...(next !== "" && { continue: next }),
      });
      const answer = await this.api.get(`${path}?${query}`, this.stopping.signal);
      for (const item of listOf(answer, "items")) {
        if (typeof (item as KubernetesObject | null)?.metadata?.name !== "string") continue;
        if (!isExcluded(item as KubernetesObject)) stream.add(objectEntry(item as KubernetesObject, object.name));
      }
      await stream.flush();
      next = textOf(answer, "metadata", "continue");
      if (next === "") return;
    }
  }
}

function namespaceFilter({ exclude_namespaces }: ObjectsOfKind): (object: KubernetesObject) => boolean {
  const patterns = exclude_namespaces.filter(({ regex }) => regex !== "").map(({ regex }) => compilePattern(regex));
  const names = new Set(exclude_namespaces.map(({ strict }) => strict).filter((name) => name !== ""));
  if (patterns.length + names.size === 0) return () => false;
  return ({ metadata: { namespace = "" } }) => names.has(namespace) || patterns.some((each) => each.test(namespace));
}
