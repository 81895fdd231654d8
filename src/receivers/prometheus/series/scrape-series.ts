import type { ExemplarText, MetadataKind } from "../exposition/exposition-reader.js";
import type { ProtobufSink } from "../exposition/protobuf-reader.js";
import { ExpositionError, isBlank, type LabelPair, parseSeries } from "../exposition/series-text.js";
import type { Labels } from "../relabel.js";
import { encodeExemplar, withExemplars } from "./exemplar.js";
import { Families, type Family, familySlot, type SeriesRole } from "./families.js";
import { type LabelSettings, labelSet } from "./label-sets.js";
import { linePlace } from "./line-place.js";
import { BUCKET, COUNT, CREATED, DROPPED, LineTable, NATIVE, QUANTILE, SUM, TARGET_INFO, VALUE } from "./line-table.js";
import { encodeAttributes, type ScrapedResource } from "./metrics.js";
import { Owners } from "./owners.js";
import { PointSeries } from "./point-series.js";
import { ScrapePoints } from "./scrape-points.js";

/** How the series of a target are read and named. */
export interface ScrapeSeriesSettings extends LabelSettings {
  readonly scheme: string;
  /** Attributes of the resource besides those derived from job and instance. */
  readonly resource: readonly LabelPair[];
  readonly honorTimestamps: boolean;
  /** Whether series whose samples have their own timestamps also end when they disappear. */
  readonly trackTimestamps: boolean;
  readonly trimSuffixes: boolean;
  /** 0 means no limit. */
  readonly sampleLimit: number;
  /** The number of series that all targets together may still keep. */
  readonly room: SeriesRoom;
}

/** How many more series may be kept, and the maximum. */
export interface SeriesRoom {
  left: number;
  readonly max: number;
}

const KINDS: Readonly<Record<SeriesRole, number>> = {
  value: VALUE,
  bucket: BUCKET,
  quantile: QUANTILE,
  sum: SUM,
  count: COUNT,
  created: CREATED,
  native: NATIVE,
};

/**
 * A series is forgotten after it was missing for this many scrapes, or sooner if most of the kept series are missing.
 */
const KEPT_SCRAPES = 10;

interface TargetInfo {
  readonly resource: ScrapedResource;
  readonly labels: readonly LabelPair[];
}

/**
 * The known series of a target, and the points of the scrape being read.
 *
 * A line's name and labels as written map to a slot with everything derived from them, so labels are parsed, relabelled
 * and encoded only once. Targets write their series in the same order every time, so the next line is usually the
 * expected one: it is then compared without a lookup. Results count only if the scrape completes: `discard` undoes
 * everything, except the lines learnt by a scrape that timed out. They let the next scrape get further, so even a page
 * that takes longer than one timeout is read in the end.
 */
export class ScrapeSeries implements ProtobufSink {
  readonly points = new ScrapePoints();
  readonly pointSeries = new PointSeries();
  readonly owners: Owners;
  /**
   * Samples of this scrape, samples that metric_relabel_configs kept, and series that the previous scrape did not have.
   */
  scraped = 0;
  kept = 0;
  added = 0;
  /** Samples that repeat another one of this scrape. */
  duplicates = 0;
  scrape = 0;
  private readonly settings: ScrapeSeriesSettings;
  private readonly families = new Families();
  private readonly lines = new LineTable();
  private first = -1;
  private current = -1;
  /** Lines that appeared first in this scrape. */
  private addedLines: number[] = [];
  /** Lines that only scrapes that timed out have had. */
  private learntLines: number[] = [];
  private isCrowded = false;
  private readonly infos: (TargetInfo | undefined)[] = [];

  constructor(settings: ScrapeSeriesSettings) {
    this.settings = settings;
    this.owners = new Owners(settings.scheme, settings.resource);
  }

  /** The number of kept lines. */
  get size(): number {
    return this.lines.keys.size;
  }

  begin(): void {
    this.scrape++;
    this.points.clear();
    this.scraped = this.kept = this.added = this.duplicates = 0;
    this.current = -1;
    this.addedLines = [];
    this.families.begin(this.scrape);
  }

  /** Discards a failed scrape. Series known from before can still be ended. */
  discard(isLate = false): void {
    this.points.clear();
    this.added = 0;
    if (isLate) this.learnLines();
    else {
      for (const slot of [...this.learntLines, ...this.addedLines]) this.removeLine(slot);
      this.learntLines = [];
    }
    this.addedLines = [];
    this.scrape++;
    this.families.begin(this.scrape);
  }

  /**
   * Lines of earlier scrapes stay only if this scrape had them too or added no lines, so a target with new series in
   * every scrape keeps at most one scrape of them.
   */
  private learnLines(): void {
    const { addedLines, lines, scrape } = this;
    if (addedLines.length === 0) return;
    const wasSeen = (slot: number) => lines.seen[slot] === scrape;
    for (const slot of this.learntLines) if (!wasSeen(slot)) this.removeLine(slot);
    this.learntLines = [...this.learntLines.filter((slot) => lines.keys.has(slot) && wasSeen(slot)), ...addedLines];
  }

  /** Called when the scrape is good: ends series that it no longer has. */
  complete(): void {
    const { points, pointSeries } = this;
    this.addedLines = this.learntLines = [];
    this.end(false);
    for (let i = 0; i < points.length; i++) {
      const series = points.series[i]!;
      const isTracked = series >= 0 && (Number.isNaN(points.times[i]!) || this.settings.trackTimestamps);
      if (isTracked) pointSeries.isLive[series] = 1;
    }
    this.isCrowded = this.size > 2 * this.scraped + 1000;
  }

  metadata(kind: MetadataKind, b: Uint8Array, nameStart: number, nameEnd: number, start: number, end: number): void {
    this.families.declare(kind, b, nameStart, nameEnd, start, end);
    if (this.families.size > this.settings.room.max) throw this.noRoom();
  }

  expected(b: Uint8Array, start: number): number {
    const { keys, following } = this.lines;
    const slot = this.current < 0 ? this.first : following[this.current]!;
    if (slot < 0 || !keys.has(slot)) return -1;
    const context = keys.ownerOf(slot);
    // A line without a family may have one now, by any prefix of its name, so it must be looked up.
    if (context === 0 ? !this.families.hasNoDeclarations : !this.isCurrent(context)) return -1;
    const end = keys.matchAt(slot, context, b, start);
    if (end < 0 || (b[end - 1] !== CLOSE && !endsSeries(b, end))) return -1;
    this.current = slot;
    return end;
  }

  series(b: Uint8Array, start: number, end: number): void {
    const family = this.familyOf(b, start, end);
    const context = family?.context ?? 0;
    const known = this.lines.keys.find(context, b, start, end);
    const slot = known < 0 ? this.addLine(context, family, b, start, end) : known;
    if (this.current < 0) this.first = slot;
    else this.lines.following[this.current] = slot;
    this.current = slot;
  }

  sample(value: number, timeMs: number, exemplar: ExemplarText | undefined): void {
    const slot = this.current;
    const { kinds, targets, seen } = this.lines;
    const kind = kinds[slot]!;
    const isRepeated = seen[slot] === this.scrape;
    if (kind !== DROPPED && !isRepeated && seen[slot] !== this.scrape - 1) this.added++;
    seen[slot] = this.scrape;
    this.countSample(kind);
    if (kind === DROPPED) return;
    const time = this.settings.honorTimestamps ? timeMs : Number.NaN;
    if (kind === VALUE) this.addValue(targets[slot]!, value, time, exemplar);
    else if (isRepeated) this.duplicates++;
    else this.addPart(kind, slot, value, time, exemplar);
  }

  created(timeMs: number): void {
    const kind = this.lines.kinds[this.current]!;
    if (kind === DROPPED || kind === TARGET_INFO) return;
    this.pointSeries.created[this.lines.targets[this.current]!] = timeMs;
  }

  native(body: Uint8Array | string, count: number, timeMs: number, exemplars: readonly ExemplarText[]): void {
    const slot = this.current;
    const { kinds, targets, seen } = this.lines;
    const kind = kinds[slot]!;
    if (kind !== DROPPED && seen[slot] !== this.scrape && seen[slot] !== this.scrape - 1) this.added++;
    seen[slot] = this.scrape;
    this.countSample(kind);
    if (kind === DROPPED || kind === TARGET_INFO) return;
    const time = this.settings.honorTimestamps ? timeMs : Number.NaN;
    // A series that rules renamed to something other than its histogram cannot hold one.
    const histogram = kind === NATIVE ? body : "it is a native histogram whose name rules have changed";
    const before = this.points.length;
    this.addValue(targets[slot]!, count, time, undefined);
    if (this.points.length > before)
      this.points.natives.set(before, typeof histogram === "string" ? histogram : withExemplars(histogram, exemplars));
  }

  private countSample(kind: number): void {
    this.scraped++;
    const { sampleLimit } = this.settings;
    if (kind !== DROPPED && ++this.kept > sampleLimit && sampleLimit > 0)
      throw new ExpositionError(`there are more samples than sample_limit, which is ${sampleLimit}`);
  }

  private addValue(series: number, value: number, time: number, exemplar: ExemplarText | undefined): void {
    if (this.pointSeries.seen[series] === this.scrape && Number.isNaN(time)) {
      this.duplicates++;
      return;
    }
    this.markSeen(series);
    const point = this.points.push(series, value, time);
    if (exemplar !== undefined) this.points.exemplars.set(point, encodeExemplar(exemplar));
  }

  private addPart(kind: number, slot: number, value: number, time: number, exemplar: ExemplarText | undefined): void {
    const target = this.lines.targets[slot]!;
    if (kind === TARGET_INFO) {
      const { resource, labels } = this.infos[target]!;
      resource.setTargetInfo(labels, this.scrape);
      return;
    }
    if (kind === CREATED) {
      this.pointSeries.created[target] = value > 0 && Number.isFinite(value) ? Math.floor(value * 1000) : 0;
      return;
    }
    const distribution = this.pointSeries.distributions[target]!;
    if (distribution.scrape !== this.scrape) {
      distribution.begin(this.scrape);
      this.markSeen(target);
      this.points.push(target, 0, time);
    }
    if (kind === SUM) distribution.sum = value;
    else if (kind === COUNT) distribution.count = value;
    else if (!distribution.set(this.lines.bounds[slot]!, value)) this.duplicates++;
    if (exemplar !== undefined) (distribution.exemplars ??= []).push(encodeExemplar(exemplar));
  }

  private markSeen(series: number): void {
    this.pointSeries.seen[series] = this.scrape;
  }

  private isCurrent(context: number): boolean {
    return this.families.declared(familySlot(context))?.context === context;
  }

  /** Ends live series that are not in this scrape, or all of them. */
  end(isAll: boolean): void {
    const { isLive, seen, slotLimit } = this.pointSeries;
    for (let slot = 0; slot < slotLimit; slot++) {
      if (isLive[slot] === 0 || !(isAll || seen[slot] !== this.scrape)) continue;
      isLive[slot] = 0;
      this.points.push(~slot, 0, Number.NaN);
    }
  }

  /** Forgets series that were missing for long. Call it when all points have been written. */
  sweep(): void {
    const { keys, seen } = this.lines;
    const before = this.isCrowded ? this.scrape : this.scrape - KEPT_SCRAPES;
    this.isCrowded = false;
    for (let slot = 0; slot < keys.slotLimit; slot++) {
      if (seen[slot]! < before && keys.has(slot)) this.removeLine(slot);
    }
    if (this.learntLines.length > 0) this.learntLines = this.learntLines.filter((slot) => keys.has(slot));
    this.families.sweep();
  }

  /** Returns the room that the lines took. */
  release(): void {
    this.settings.room.left += this.size;
  }

  /** Finds the family with this name, or the family whose name plus a known suffix is this name. */
  private familyOf(b: Uint8Array, start: number, end: number): Family | undefined {
    const isQuoted = b[start] === OPEN && b[start + 1] === QUOTE;
    if (isQuoted) start += 2;
    let nameEnd = start;
    let underscore = -1;
    for (let c = b[nameEnd]!; nameEnd < end && (isQuoted ? c !== QUOTE : c !== OPEN && c > SPACE); c = b[++nameEnd]!) {
      if (c === UNDERSCORE) underscore = nameEnd;
    }
    const whole = this.families.find(b, start, nameEnd);
    if (whole?.role("") !== undefined || underscore < 0) return whole;
    const family = this.families.find(b, start, underscore);
    const suffix = Buffer.from(b.buffer, b.byteOffset + underscore, nameEnd - underscore).toString("latin1");
    return family?.role(suffix) === undefined ? whole : family;
  }

  private addLine(context: number, family: Family | undefined, b: Uint8Array, start: number, end: number): number {
    const { room } = this.settings;
    const text = parseSeries(b, start, end);
    const labels = labelSet(text, this.settings);
    if (room.left <= 0) throw this.noRoom();
    room.left--;
    const slot = this.lines.add(context, b, start, end);
    this.addedLines.push(slot);
    if (family !== undefined) family.lines++;
    if (labels !== undefined) this.resolveLine(slot, text.name, labels, family);
    return slot;
  }

  private noRoom(): ExpositionError {
    return new ExpositionError(`there is no room for more series; max_series is ${this.settings.room.max}`);
  }

  /** Determines the line's role and the points that its samples belong to. */
  private resolveLine(slot: number, written: string, labels: Labels, family: Family | undefined): void {
    const name = labels.get("__name__")!;
    labels.delete("__name__");
    const resource = this.owners.resource(labels);
    if (name === "target_info") return this.resolveInfoLine(slot, resource, labels);
    const owner = this.owners.owner(resource, labels);
    const place = linePlace(written, name, labels, family, this.settings.trimSuffixes);
    const metric = this.owners.metric(owner, place.metricName, place.shape, place.family);
    const series = this.pointSeries.slotOf(metric, encodeAttributes(attributesOf(labels), metric.shape.attributesTag));
    this.pointSeries.lines[series]!++;
    this.lines.kinds[slot] = KINDS[place.role];
    this.lines.targets[slot] = series;
    this.lines.bounds[slot] = place.bound;
  }

  private resolveInfoLine(slot: number, resource: ScrapedResource, labels: Labels): void {
    const free = this.infos.indexOf(undefined);
    const at = free < 0 ? this.infos.length : free;
    this.infos[at] = { resource, labels: attributesOf(labels) };
    this.lines.kinds[slot] = TARGET_INFO;
    this.lines.targets[slot] = at;
  }

  private removeLine(slot: number): void {
    const { keys, kinds, targets } = this.lines;
    const context = keys.ownerOf(slot);
    if (context !== 0) this.families.release(familySlot(context));
    const kind = kinds[slot]!;
    const target = targets[slot]!;
    if (kind === TARGET_INFO) this.infos[target] = undefined;
    else if (kind !== DROPPED && --this.pointSeries.lines[target]! === 0) this.pointSeries.remove(target);
    keys.remove(slot);
    this.settings.room.left++;
  }
}

/** Labels sorted by name. Labels that begin with two underscores are left out, because only rules use them. */
export function attributesOf(labels: Iterable<LabelPair>): LabelPair[] {
  const attributes: LabelPair[] = [];
  let isSorted = true;
  for (const label of labels) {
    if (label[0].startsWith("__")) continue;
    isSorted &&= attributes.length === 0 || attributes.at(-1)![0] < label[0];
    attributes.push(label);
  }
  return isSorted ? attributes : attributes.sort(byName);
}

function byName([a]: LabelPair, [b]: LabelPair): number {
  return a < b ? -1 : 1;
}

/** Whether the name ends here without labels after it. */
function endsSeries(b: Uint8Array, p: number): boolean {
  if (!isBlank(b[p]!)) return false;
  while (isBlank(b[p]!)) p++;
  return b[p] !== OPEN;
}

const SPACE = 32;
const QUOTE = 34;
const UNDERSCORE = 95;
const OPEN = 123;
const CLOSE = 125;
