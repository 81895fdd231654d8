import type { Clock } from "#contract";
import { backoff, type Delays, pause, TimeoutError, withTimeout } from "#resilience";
import { type KubernetesApi, KubernetesApiError } from "./api-client.js";

/** The fields of every API object that are used here. */
export interface KubernetesObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

/** A page of a list. */
export interface ListedPage {
  readonly objects: readonly KubernetesObject[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** The objects to watch, and callbacks. The next page or event is read when the promise of a callback resolves. */
export interface ObjectWatchSettings {
  readonly api: KubernetesApi;
  /** The path of the list, such as `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`. */
  readonly path: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  /** Continues behind this version, as if the list had been read. */
  readonly version?: string | undefined;
  /** Called with the pages of a list. */
  readonly onPage: (page: ListedPage) => void | Promise<void>;
  /** Whether objects are listed; if not, a list is asked for its version only. Default: they are. */
  readonly wantsPages?: () => boolean;
  /** Called with each event: ADDED, MODIFIED or DELETED. */
  readonly onEvent: (type: string, object: KubernetesObject) => void | Promise<void>;
  /** Called with the version up to which everything has been handed to the callbacks. */
  readonly onVersion?: (version: string) => void;
  /** Called when the server has answered: with a complete list, or with a watch. */
  readonly onAnswer?: (() => void) | undefined;
  /** Called when the server has forgotten the version, before the list is read again. */
  readonly onGone?: () => void;
  /** Called when a request fails or its response is invalid; the request is retried. */
  readonly onError: (error: unknown) => void;
}

interface ListResponse {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly unknown[];
}

interface WatchEvent {
  readonly type: string;
  readonly object: KubernetesObject & { readonly code?: number; readonly message?: string };
}

const PAGE_SIZE = 500;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** Time limit for one page of a list. */
const LIST_TIMEOUT_MS = 30_000;
/** The server ends a watch after this time, which bounds the wait on a connection that died silently. */
const WATCH_SECONDS = 290;
const GONE = 410;
/** More than any cluster has; protects against a server with endless pages. */
const MAX_ITEMS = 500_000;
const NO_LIST = "the response is not a list of Kubernetes API objects";

/**
 * Objects of the API: listed once, then watched from there. When a watch ends, the next one continues where it was. If
 * the server no longer remembers that position (410 Gone), the list is read again.
 */
export class ObjectWatch {
  private readonly settings: ObjectWatchSettings;
  private readonly stopped = new AbortController();
  /** Undefined: the list must be read again. */
  private version: string | undefined;
  private failures = 0;
  private readonly delays: Delays;
  private running: Promise<void> = Promise.resolve();

  constructor(settings: ObjectWatchSettings) {
    this.settings = settings;
    this.delays = backoff({ first: MIN_RETRY_MS, max: MAX_RETRY_MS }, settings);
    this.version = settings.version || undefined;
  }

  /** Resolves after the first attempt to list, even a failed one. */
  async start(): Promise<void> {
    if (this.version === undefined) await this.listOnce();
    this.running = this.run();
  }

  /** Resolves when no callback runs any more. */
  stop(): Promise<void> {
    this.stopped.abort();
    return this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      if (this.failures > 0) await pause(this.delays(this.failures), this.settings.clock, signal);
      if (signal.aborted) return;
      if (this.version === undefined) await this.listOnce();
      else await this.watchOnce(this.version);
    }
  }

  private async listOnce(): Promise<void> {
    const { onPage, wantsPages } = this.settings;
    const isWanted = wantsPages?.() ?? true;
    try {
      let page: ListResponse;
      let next: string | undefined;
      let isFirst = true;
      let count = 0;
      do {
        const query = { limit: String(isWanted ? PAGE_SIZE : 1), ...(next && { continue: next }) };
        page = (await this.getPage(this.pathWith(query))) as ListResponse;
        const objects = objectsOf(page);
        count += objects.length;
        if (count > MAX_ITEMS) throw new KubernetesApiError(0, `the list has more than ${MAX_ITEMS} objects`);
        next = (isWanted && page.metadata?.continue) || undefined;
        if (isWanted) await onPage({ objects, isFirst, isLast: next === undefined });
        isFirst = false;
      } while (next !== undefined);
      this.failures = 0;
      this.settings.onAnswer?.();
      this.reach(page.metadata?.resourceVersion ?? "");
    } catch (error) {
      this.failed(error);
    }
  }

  private async getPage(path: string): Promise<unknown> {
    const { api, clock } = this.settings;
    if (this.stopped.signal.aborted) throw new KubernetesApiError(0, "stopped");
    return withTimeout(LIST_TIMEOUT_MS, clock, [this.stopped.signal], (signal) => api.get(path, signal));
  }

  private async watchOnce(version: string): Promise<void> {
    const query = {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: version,
      timeoutSeconds: String(WATCH_SECONDS),
    };
    const { clock } = this.settings;
    const path = this.pathWith(query);
    try {
      await withTimeout((WATCH_SECONDS + 30) * 1000, clock, [this.stopped.signal], (signal) => this.read(path, signal));
      // A server that ends every watch at once must not be asked in a tight loop.
      if (this.version === version) this.failures = Math.max(1, this.failures);
    } catch (error) {
      if (!(error instanceof TimeoutError)) this.failed(error);
    }
  }

  private async read(path: string, signal: AbortSignal): Promise<void> {
    const { api, onAnswer } = this.settings;
    for await (const event of api.lines(path, signal, onAnswer)) {
      this.failures = 0;
      const done = this.apply(event as WatchEvent);
      if (done !== undefined) await done;
    }
  }

  private apply({ type, object }: WatchEvent): void | Promise<void> {
    if (type === "ERROR") throw new KubernetesApiError(object?.code ?? 0, object?.message ?? "the watch failed");
    const version = object?.metadata?.resourceVersion ?? this.version;
    const done = type === "BOOKMARK" ? undefined : this.settings.onEvent(type, checkedObject(object));
    if (done === undefined) return this.reach(version);
    return done.then(() => this.reach(version));
  }

  private reach(version: string | undefined): void {
    this.version = version;
    if (version) this.settings.onVersion?.(version);
  }

  private failed(error: unknown): void {
    if (this.stopped.signal.aborted) return;
    if (error instanceof KubernetesApiError && error.status === GONE) {
      this.version = undefined;
      this.failures = Math.max(1, this.failures);
      this.settings.onGone?.();
      return;
    }
    this.failures += 1;
    this.settings.onError(error);
  }

  private pathWith(query: Readonly<Record<string, string>>): string {
    const { path, labelSelector, fieldSelector } = this.settings;
    const selectors = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
    const search = new URLSearchParams({ ...selectors, ...query });
    return `${path}?${search}`;
  }
}

function objectsOf(page: ListResponse): KubernetesObject[] {
  const { metadata, items = [] } = page ?? {};
  // Accept only a response that is clearly a list: treating another one as an empty list would delete everything
  // known.
  if (typeof metadata !== "object" || metadata === null || !Array.isArray(items ?? []))
    throw new KubernetesApiError(0, NO_LIST);
  return (items ?? []).map(checkedObject);
}

function checkedObject(object: unknown): KubernetesObject {
  const name: unknown = (object as KubernetesObject | null)?.metadata?.name;
  if (typeof name !== "string") throw new KubernetesApiError(0, NO_LIST);
  return object as KubernetesObject;
}
