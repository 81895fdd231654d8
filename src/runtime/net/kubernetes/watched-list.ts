import { type KubernetesObject, type ListedPage, ObjectWatch, type ObjectWatchSettings } from "./object-watch.js";

/** The list to watch, and callbacks. */
interface WatchedListSettings<Item extends KubernetesObject>
  extends Pick<
    ObjectWatchSettings,
    "api" | "path" | "labelSelector" | "fieldSelector" | "clock" | "random" | "onError" | "onAnswer"
  > {
  /** Extracts the needed parts of an object; the rest is discarded. Default: keeps everything. */
  readonly read?: (object: KubernetesObject) => Item;
  /** Called with all items after the first list and after every change. */
  readonly onChange?: (items: readonly Item[]) => void;
  /** If given, `onChange` is called only after lists, and this with each object of a watch event. */
  readonly onItem?: (item: Item, isGone: boolean) => void;
}

/** A list of the API that is kept up to date. While the server is unreachable the last list stays. */
export class WatchedList<Item extends KubernetesObject> {
  private readonly settings: WatchedListSettings<Item>;
  private readonly watch: ObjectWatch;
  private items = new Map<string, Item>();
  /** The items of a list that is not complete yet. */
  private listed = new Map<string, Item>();

  constructor(settings: WatchedListSettings<Item>) {
    this.settings = settings;
    this.watch = new ObjectWatch({
      ...settings,
      onPage: (page) => this.takePage(page),
      onEvent: (type, object) => this.change(type, this.read(object)),
    });
  }

  /** The current items. */
  get values(): Iterable<Item> {
    return this.items.values();
  }

  /** Resolves after the first attempt to list, even a failed one. */
  start(): Promise<void> {
    return this.watch.start();
  }

  stop(): void {
    void this.watch.stop();
  }

  private takePage({ objects, isFirst, isLast }: ListedPage): void {
    if (isFirst) this.listed = new Map();
    for (const object of objects) {
      const item = this.read(object);
      this.listed.set(keyOf(item), item);
    }
    if (!isLast) return;
    this.items = this.listed;
    this.listed = new Map();
    this.tell();
  }

  private change(type: string, item: Item): void {
    const isGone = type === "DELETED";
    if (isGone) this.items.delete(keyOf(item));
    else this.items.set(keyOf(item), item);
    if (this.settings.onItem) this.settings.onItem(item, isGone);
    else this.tell();
  }

  private read(object: KubernetesObject): Item {
    return this.settings.read ? this.settings.read(object) : (object as Item);
  }

  private tell(): void {
    this.settings.onChange?.([...this.items.values()]);
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
