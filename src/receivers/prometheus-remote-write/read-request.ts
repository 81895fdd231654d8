import type { Steps } from "#work";
import { MalformedError } from "../../plugin.js";
import { FieldReader } from "./field-reader.js";
import { EXEMPLAR, LABEL, SAMPLE, V1_REQUEST, V1_SERIES, V2_METADATA, V2_REQUEST, V2_SERIES } from "./tags.js";

/** Types of metrics, as in remote write 2.0. */
export const METRIC_TYPE = {
  unspecified: 0,
  counter: 1,
  gauge: 2,
  histogram: 3,
  gaugeHistogram: 4,
  summary: 5,
  info: 6,
  stateSet: 7,
};

/** Label names and values, one after the other. */
export type LabelList = readonly string[];

export interface WrittenExemplar {
  readonly labels: LabelList;
  readonly value: number;
  readonly timestamp: number;
}

interface WrittenSample {
  /** Where the eight bytes of its value are in the request. */
  valueAt: number;
  timestamp: number;
  startTimestamp: number;
}

/** A series as it was sent. Times are in milliseconds. */
export interface WrittenSeries {
  readonly labels: LabelList;
  readonly type: number;
  readonly help: string;
  readonly unit: string;
  readonly samples: readonly WrittenSample[];
  readonly histograms: readonly FieldReader[];
  readonly exemplars: WrittenExemplar[];
}

/** A request that is read series by series: objects for all of them would take many times its size. */
export interface SeriesRequest {
  readonly bytes: Buffer;
  /** Reads the symbols and exemplars, which series need. Stops from time to time. */
  prepare(): Steps<void>;
  /** Reads the next series; undefined at the end. Throws a `MalformedError` if it is invalid. */
  nextSeries(): WrittenSeries | undefined;
  /** By the labels of their series. Prometheus sends them as series of their own. */
  readonly exemplars: Map<string, WrittenExemplar[]>;
}

/** Its methods throw a `MalformedError` if the bytes are no request, or hold more than `maxElements` symbols. */
export function readRequest(bytes: Buffer, isV2: boolean, maxElements: number): SeriesRequest {
  const texts: string[] = [];
  const symbols = new Symbols(texts);
  const read = isV2 ? (reader: FieldReader) => readV2Series(reader, symbols) : readV1Series;
  const seriesField = isV2 ? V2_REQUEST.timeseries : V1_REQUEST.timeseries;
  const exemplarsField = isV2 ? V2_SERIES.exemplars : V1_SERIES.exemplars;
  const reader = new FieldReader(bytes);
  const found = new Map<string, WrittenExemplar[]>();
  return {
    bytes,
    exemplars: found,
    *prepare() {
      if (isV2) yield* readSymbols(bytes, texts, maxElements);
      let fields = 0;
      for (const each = new FieldReader(bytes); each.step(); ) {
        if (++fields % FIELDS_PER_STEP === 0) yield;
        if (each.field !== seriesField || !hasField(each.message(), exemplarsField)) continue;
        const { labels, exemplars } = read(each.message());
        const key = seriesKey(labels);
        const known = found.get(key);
        if (known === undefined) found.set(key, exemplars);
        else for (const exemplar of exemplars) known.push(exemplar);
        yield;
      }
    },
    nextSeries() {
      while (reader.step()) if (reader.field === seriesField) return read(reader.message());
      return undefined;
    },
  };
}

/** Series with the same labels have the same key. */
export function seriesKey(labels: LabelList): string {
  return JSON.stringify(labels);
}

function hasField(reader: FieldReader, field: number): boolean {
  while (reader.step()) if (reader.field === field) return true;
  return false;
}

/** Where the value of a sample is that has none: it is 0. */
export const NO_VALUE = -1;
/** A series is read and written in one go. Real ones have a few of each. */
const MAX_SAMPLES = 100_000;
const MAX_LABELS = 20_000;
const MAX_EXEMPLARS = 10_000;
const FIELDS_PER_STEP = 1000;

function* readSymbols(bytes: Buffer, into: string[], maxElements: number): Steps<void> {
  let fields = 0;
  for (const reader = new FieldReader(bytes); reader.step(); ) {
    if (++fields % FIELDS_PER_STEP === 0) yield;
    if (reader.field === V2_REQUEST.symbols && into.push(reader.text()) > maxElements)
      throw new MalformedError("the request has too many symbols", -1);
  }
}

function addSample(samples: WrittenSample[], reader: FieldReader): void {
  if (samples.push(readSample(reader)) > MAX_SAMPLES) throw new MalformedError("a series has too many samples", -1);
}

function readV1Series(reader: FieldReader): WrittenSeries {
  const labels: string[] = [];
  const samples: WrittenSample[] = [];
  const exemplars: WrittenExemplar[] = [];
  const histograms: FieldReader[] = [];
  while (reader.step()) {
    if (reader.field === V1_SERIES.labels) readLabel(reader.message(), labels);
    else if (reader.field === V1_SERIES.samples) addSample(samples, reader.message());
    else if (reader.field === V1_SERIES.exemplars) addExemplar(exemplars, readV1Exemplar(reader.message()));
    else if (reader.field === V1_SERIES.histograms) histograms.push(reader.message());
  }
  return { labels, type: METRIC_TYPE.unspecified, help: "", unit: "", samples, histograms, exemplars };
}

function readLabel(reader: FieldReader, into: string[]): void {
  let name = "";
  let value = "";
  while (reader.step()) {
    if (reader.field === LABEL.name) name = reader.name();
    else if (reader.field === LABEL.value) value = reader.text();
  }
  if (into.push(name, value) > MAX_LABELS) throw new MalformedError("a series has too many labels", -1);
}

function addExemplar(exemplars: WrittenExemplar[], exemplar: WrittenExemplar): void {
  if (exemplars.push(exemplar) > MAX_EXEMPLARS) throw new MalformedError("a series has too many exemplars", -1);
}

function readV1Exemplar(reader: FieldReader): WrittenExemplar {
  const labels: string[] = [];
  let [value, timestamp] = [0, 0];
  while (reader.step()) {
    if (reader.field === EXEMPLAR.labels) readLabel(reader.message(), labels);
    else if (reader.field === EXEMPLAR.value) value = reader.double();
    else if (reader.field === EXEMPLAR.timestamp) timestamp = reader.int();
  }
  return { labels, value, timestamp };
}

function readSample(reader: FieldReader): WrittenSample {
  const sample: WrittenSample = { valueAt: NO_VALUE, timestamp: 0, startTimestamp: 0 };
  while (reader.step()) {
    if (reader.field === SAMPLE.value) sample.valueAt = reader.fixed64At();
    else if (reader.field === SAMPLE.timestamp) sample.timestamp = reader.int();
    else if (reader.field === SAMPLE.startTimestamp) sample.startTimestamp = reader.int();
  }
  return sample;
}

function readV2Series(reader: FieldReader, symbols: Symbols): WrittenSeries {
  const refs: number[] = [];
  const samples: WrittenSample[] = [];
  const exemplars: WrittenExemplar[] = [];
  const histograms: FieldReader[] = [];
  let [type, help, unit] = [METRIC_TYPE.unspecified, 0, 0];
  while (reader.step()) {
    if (reader.field === V2_SERIES.labelsRefs) reader.uints(refs);
    else if (reader.field === V2_SERIES.samples) addSample(samples, reader.message());
    else if (reader.field === V2_SERIES.histograms) histograms.push(reader.message());
    else if (reader.field === V2_SERIES.exemplars) addExemplar(exemplars, readV2Exemplar(reader.message(), symbols));
    else if (reader.field === V2_SERIES.metadata)
      for (const metadata = reader.message(); metadata.step(); ) {
        if (metadata.field === V2_METADATA.type) type = metadata.uint();
        else if (metadata.field === V2_METADATA.helpRef) help = metadata.uint();
        else if (metadata.field === V2_METADATA.unitRef) unit = metadata.uint();
      }
  }
  const labels = labelsOf(refs, symbols);
  return { labels, type, help: symbols.at(help), unit: symbols.at(unit), samples, histograms, exemplars };
}

function readV2Exemplar(reader: FieldReader, symbols: Symbols): WrittenExemplar {
  const refs: number[] = [];
  let [value, timestamp] = [0, 0];
  while (reader.step()) {
    if (reader.field === EXEMPLAR.labels) reader.uints(refs);
    else if (reader.field === EXEMPLAR.value) value = reader.double();
    else if (reader.field === EXEMPLAR.timestamp) timestamp = reader.int();
  }
  return { labels: labelsOf(refs, symbols), value, timestamp };
}

function labelsOf(refs: readonly number[], symbols: Symbols): string[] {
  if (refs.length > MAX_LABELS) throw new MalformedError("a series has too many labels", -1);
  if (refs.length % 2 !== 0) throw new MalformedError("a label has a name and no value", -1);
  return refs.map((ref) => symbols.at(ref));
}

/** Series name symbols by number, so a few bytes could stand for any number of long texts. */
const MAX_TEXT_LENGTH = 64 * 1024 * 1024;

class Symbols {
  private readonly texts: readonly string[];
  private named = 0;

  constructor(texts: readonly string[]) {
    this.texts = texts;
  }

  at(ref: number): string {
    const text = this.texts[ref];
    if (text === undefined)
      throw new MalformedError(`there is no symbol ${ref}; the request has ${this.texts.length}`, -1);
    this.named += text.length;
    if (this.named > MAX_TEXT_LENGTH)
      throw new MalformedError("the request has too many points and labels; send it in parts", -1);
    return text;
  }
}
