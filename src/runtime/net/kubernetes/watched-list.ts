import type { Clock } from "#contract";
import { anySignal } from "#contract/time";
import { type KubernetesApi, KubernetesApiError } from "./api-client.js";

/** The fields of every API object that are used here. */
export interface KubernetesObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
}

/** The list to watch, and callbacks. */
export interface WatchedListSettings<Item extends KubernetesObject> {
  readonly api: KubernetesApi;
  /** The path of the list, such as `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  /** Extracts the needed parts of an object; the rest is discarded. Default: keeps everything. */
  readonly read?: (object: KubernetesObject) => Item;
  /** Called with all items after the first list and after every change. */
  readonly onChange: (items: readonly Item[]) => void;
  /** If given, `onChange` is called only after lists, and this with each object of a watch event. */
  readonly onItem?: (item: Item, isGone: boolean) => void;
  /** Called when a request fails or its response is invalid; the request is retried. */
  readonly onError: (error: unknown) => void;
}

interface ListPage<Item> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly Item[];
}

interface WatchEvent {
  readonly type: string;
  readonly object: KubernetesObject & {
    readonly metadata: { readonly resourceVersion?: string };
    readonly code?: number;
    readonly message?: string;
  };
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
 * A list of the API that is kept up to date: listed once, then watched from there. When a watch ends, the next one
 * continues where it was. If the server no longer remembers that position (410 Gone), the list is read again. While the
 * server is unreachable the last list stays.
 */
export class WatchedList<Item extends KubernetesObject> {
  private readonly settings: WatchedListSettings<Item>;
  private readonly stopped = new AbortController();
  private items = new Map<string, Item>();
  /** Undefined: the list must be read again. */
  private version: string | undefined;
  private failures = 0;
  /** Cancels the timeout of the request under way. */
  private cancelTimeout = () => {};

  constructor(settings: WatchedListSettings<Item>) {
    this.settings = settings;
  }

  /** Resolves after the first attempt to list, even a failed one. */
  async start(): Promise<void> {
    await this.listOnce();
    void this.run();
  }

  stop(): void {
    this.stopped.abort();
    this.cancelTimeout();
  }

  private async run(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      if (this.failures > 0) await this.pause();
      if (this.version === undefined) await this.listOnce();
      else await this.watchOnce(this.version);
    }
  }

  private async listOnce(): Promise<void> {
    try {
      const items = new Map<string, Item>();
      let page: ListPage<unknown>;
      let next: string | undefined;
      do {
        const query = { limit: String(PAGE_SIZE), ...(next && { continue: next }) };
        page = (await this.getPage(this.pathWith(query))) as ListPage<unknown>;
        for (const item of this.itemsOf(page)) items.set(keyOf(item), item);
        if (items.size > MAX_ITEMS) throw new KubernetesApiError(0, `the list has more than ${MAX_ITEMS} objects`);
        next = page?.metadata?.continue || undefined;
      } while (next !== undefined);
      this.items = items;
      this.version = page?.metadata?.resourceVersion ?? "";
      this.failures = 0;
      this.tell();
    } catch (error) {
      this.failed(error);
    }
  }

  private async getPage(path: string): Promise<unknown> {
    const silence = new AbortController();
    if (this.stopped.signal.aborted) throw new KubernetesApiError(0, "stopped");
    this.cancelTimeout = this.settings.clock.after(LIST_TIMEOUT_MS, () => silence.abort());
    const { signal, release } = anySignal(this.stopped.signal, silence.signal);
    try {
      return await this.settings.api.get(path, signal);
    } catch (error) {
      if (!silence.signal.aborted) throw error;
      throw new KubernetesApiError(0, `no answer within ${LIST_TIMEOUT_MS} ms`, { cause: error });
    } finally {
      this.cancelTimeout();
      release();
    }
  }

  private async watchOnce(version: string): Promise<void> {
    const query = {
      ...{ watch: "1", allowWatchBookmarks: "true", resourceVersion: version },
      timeoutSeconds: String(WATCH_SECONDS),
    };
    const silence = new AbortController();
    this.cancelTimeout = this.settings.clock.after((WATCH_SECONDS + 30) * 1000, () => silence.abort());
    const { signal, release } = anySignal(this.stopped.signal, silence.signal);
    try {
      for await (const event of this.settings.api.lines(this.pathWith(query), signal)) {
        this.failures = 0;
        this.apply(event as WatchEvent);
      }
      // A server that ends every watch at once must not be asked in a tight loop.
      if (this.version === version) this.failures = Math.max(1, this.failures);
    } catch (error) {
      if (!silence.signal.aborted) this.failed(error);
    } finally {
      this.cancelTimeout();
      release();
    }
  }

  private apply({ type, object }: WatchEvent): void {
    if (type === "ERROR") throw new KubernetesApiError(object?.code ?? 0, object?.message ?? "the watch failed");
    if (type !== "BOOKMARK") this.change(type, this.read(object));
    this.version = object?.metadata?.resourceVersion ?? this.version;
  }

  private change(type: string, item: Item): void {
    const isGone = type === "DELETED";
    if (isGone) this.items.delete(keyOf(item));
    else this.items.set(keyOf(item), item);
    if (this.settings.onItem) this.settings.onItem(item, isGone);
    else this.tell();
  }

  private itemsOf(page: ListPage<unknown>): Item[] {
    const { metadata, items = [] } = page ?? {};
    // Accept only a response that is clearly a list: treating another one as an empty list would delete everything
    // known.
    if (typeof metadata !== "object" || metadata === null || !Array.isArray(items ?? []))
      throw new KubernetesApiError(0, NO_LIST);
    return (items ?? []).map((object) => this.read(object));
  }

  private read(object: unknown): Item {
    const name: unknown = (object as KubernetesObject | null)?.metadata?.name;
    if (typeof name !== "string") throw new KubernetesApiError(0, NO_LIST);
    return this.settings.read ? this.settings.read(object as KubernetesObject) : (object as Item);
  }

  private tell(): void {
    this.settings.onChange([...this.items.values()]);
  }

  private failed(error: unknown): void {
    if (this.stopped.signal.aborted) return;
    if (error instanceof KubernetesApiError && error.status === GONE) {
      this.version = undefined;
      this.failures = Math.max(1, this.failures);
      return;
    }
    this.failures += 1;
    this.settings.onError(error);
  }

  private pause(): Promise<void> {
    const { clock } = this.settings;
    const ms = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** Math.min(10, this.failures - 1));
    const { signal } = this.stopped;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const cancel = clock.after(ms, () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
      const onAbort = () => {
        cancel();
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  private pathWith(query: Readonly<Record<string, string>>): string {
    const { path, labelSelector, fieldSelector } = this.settings;
    const selectors = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
    const search = new URLSearchParams({ ...selectors, ...query });
    return `${path}?${search}`;
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
