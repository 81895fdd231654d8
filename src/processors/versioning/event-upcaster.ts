import type { Setback } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { Batch } from "#otlp";
import { NameCache } from "#otlp/signals";
import {
  type AnyRecordView,
  KEEP,
  RecordReader,
  RecordViews,
  type RecordVisitor,
  RecordWalk,
  type SpanView,
  type Verdict,
} from "#otlp/views";
import type { EventVersions, VersioningConfig } from "./config.js";
import { type EventName, parseEventName, parseVersion, VERSION_ATTRIBUTE } from "./event-name.js";
import type { VersionedEvent } from "./upcast.js";

/** Receives the outcomes, for the metrics. */
export interface VersionObserver {
  /** The event had an older version and was upcast. */
  deprecated(event: string, version: number): void;
  /** The event had a newer version, one without an upcast, or an invalid one. */
  unknown(event: string): void;
  /** An upcast failed. */
  failed(event: string): void;
}

export interface UpcastResult {
  readonly batch: Batch;
  /** One mark per record, 1 if it must not go on; undefined if there are none. */
  readonly marks: Uint8Array | undefined;
  /** The reason for the first of them. */
  readonly setback: Setback | undefined;
}

interface KnownName extends EventName {
  readonly versions: EventVersions | undefined;
}

/**
 * Brings the events of a batch to their current versions, under their plain names. An event is either upcast completely
 * or left as it came. Applying it twice changes nothing more.
 */
export class EventUpcaster {
  readonly unknown: VersioningConfig["unknown"];
  readonly observer: VersionObserver;
  private readonly events: VersioningConfig["events"];
  private readonly names = new NameCache<KnownName>((name) => {
    const parsed = parseEventName(name);
    return { ...parsed, versions: this.events.get(parsed.plain) };
  });

  constructor({ events, unknown }: Pick<VersioningConfig, "events" | "unknown">, observer: VersionObserver) {
    this.events = events;
    this.unknown = unknown;
    this.observer = observer;
  }

  upcast(batch: Batch): UpcastResult {
    if (batch.signal === "metrics") return { batch, marks: undefined, setback: undefined };
    const walk = new RecordWalk(batch);
    const visitor = new UpcastVisitor(walk, this);
    return { batch: walk.run(visitor), marks: visitor.marks, setback: visitor.setback };
  }

  lookUp(name: string): KnownName {
    return this.names.get(name);
  }
}

class UpcastVisitor implements RecordVisitor {
  marks: Uint8Array | undefined;
  setback: Setback | undefined;
  private readonly upcaster: EventUpcaster;
  private readonly count: number;
  private readonly isTraces: boolean;
  private readonly reader: RecordReader;
  private readonly views: RecordViews;
  private index = 0;
  private lastName = "";
  private lastKnown: KnownName;

  constructor(walk: RecordWalk, upcaster: EventUpcaster) {
    this.upcaster = upcaster;
    this.count = walk.batch.count;
    this.isTraces = walk.batch.signal === "traces";
    this.reader = new RecordReader(walk);
    this.views = new RecordViews(walk);
    this.lastKnown = upcaster.lookUp("");
  }

  visit(_walk: RecordWalk, start: number, end: number): Verdict {
    const index = this.index++;
    this.reader.moveTo(start, end);
    const known = this.nameOf();
    const hasEvents = this.isTraces && this.reader.hasSpanEvents();
    if (!hasEvents && this.isUpToDate(known)) return KEEP;
    const record = this.views.at(start, end);
    if (!this.update(record, known) || (hasEvents && !this.updateEvents(record as SpanView))) {
      record.revert();
      this.marks ??= new Uint8Array(this.count);
      this.marks[index] = 1;
    } else this.views.write(record);
    return KEEP;
  }

  private nameOf(): KnownName {
    const name = this.reader.name();
    if (name !== this.lastName) {
      this.lastName = name;
      this.lastKnown = this.upcaster.lookUp(name);
    }
    return this.lastKnown;
  }

  /** Recognises the common case in the bytes. */
  private isUpToDate({ versions, version }: KnownName): boolean {
    if (versions === undefined) return version === undefined || this.isTraces;
    if (version !== undefined) return false;
    const stated = this.reader.attribute(VERSION_ATTRIBUTE);
    return (stated === undefined ? 1 : parseVersion(stated)) === versions.current;
  }

  /** Returns false if the record must not be passed on. A span is an event only if the config names it. */
  private update(record: AnyRecordView, known: KnownName): boolean {
    if (record.signal === "metrics" || (record.signal === "traces" && known.versions === undefined)) return true;
    return this.bringToCurrent(record, known) || this.upcaster.unknown === "pass";
  }

  private updateEvents(span: SpanView): boolean {
    for (const event of span.events) {
      if (this.bringToCurrent(event, this.upcaster.lookUp(event.name))) continue;
      if (this.upcaster.unknown === "dead_letter") return false;
      if (this.upcaster.unknown === "drop") event.drop();
    }
    return true;
  }

  /** Returns false if the event has no known version or could not be upcast; it then stays as it came. */
  private bringToCurrent(event: VersionedEvent, { plain, version: written, versions }: KnownName): boolean {
    const attribute = event.attributes.get(VERSION_ATTRIBUTE);
    const stated = attribute === undefined ? undefined : parseVersion(attribute);
    if (attribute !== undefined && stated === undefined)
      return versions === undefined || this.reportUnknown(plain, `an ${VERSION_ATTRIBUTE} that is not a version`);
    const version = stated ?? written ?? 1;
    const reached = versions === undefined ? version : this.applySteps(event, plain, version, versions);
    if (reached === undefined) return false;
    if (written !== undefined) event.name = plain;
    if (reached > 1 && reached !== stated) event.attributes.set(VERSION_ATTRIBUTE, reached);
    if (versions !== undefined && reached !== versions.current)
      return this.reportUnknown(plain, `the unknown version ${version}`);
    if (versions !== undefined && version < reached) this.upcaster.observer.deprecated(plain, version);
    return true;
  }

  /**
   * Returns the final version: the current one, or the event's own if no upcast starts there; undefined if an upcast
   * fails.
   */
  private applySteps(
    event: VersionedEvent,
    plain: string,
    version: number,
    versions: EventVersions,
  ): number | undefined {
    if (version > versions.current || (version < versions.current && !versions.steps.has(version))) return version;
    let at = version;
    try {
      while (at < versions.current) {
        const step = versions.steps.get(at)!;
        step.upcast(event);
        at = step.to;
      }
      return at;
    } catch (error) {
      event.revert();
      this.upcaster.observer.failed(plain);
      const why = error instanceof Error ? error.message : String(error);
      this.setback ??= {
        ...SETBACK,
        code: ERROR_CODES.SLUICE_UPCAST_FAILED,
        message: `${plain} could not be updated from version ${at} to ${versions.steps.get(at)!.to}: ${why}`,
      };
      return undefined;
    }
  }

  private reportUnknown(plain: string, what: string): false {
    this.upcaster.observer.unknown(plain);
    this.setback ??= { ...SETBACK, code: ERROR_CODES.SLUICE_UNKNOWN_VERSION, message: `${plain} has ${what}` };
    return false;
  }
}

const SETBACK = { reason: "rejected", category: "schema" } as const;
