import { attributeValue, decodeText } from "#otlp/bytes";
import type { Value } from "../../../plugin.js";
import { ALWAYS, type Bits56, NEVER } from "../bits56.js";
import { RecordScan, SPAN_SHAPE } from "../record-scan.js";
import { type PresentRecord, RecordStamp, replaceFields, textField } from "../record-stamp.js";
import type { Carrier, SignalCarriers } from "./carrier.js";
import { TraceState } from "./trace-state.js";

const PRIORITY_KEY = "sampling.priority";
const PRIORITY_INDEX = 0;

/** Spans use `ot=rv:...;th:...` in the tracestate. The attribute sampling.priority keeps (> 0) or drops (0) them. */
export function spanCarriers(): SignalCarriers {
  const scan = new RecordScan(SPAN_SHAPE, [PRIORITY_KEY]);
  const hasState = () => scan.stateField >= 0 && scan.stateEnd > scan.stateStart;
  return {
    scan,
    signs: [PRIORITY_KEY],
    isPlain: () => scan.stateField < 0 && scan.keyValueAt[PRIORITY_INDEX] === -1,
    read: (bytes) =>
      new SpanCarrier(scan, TraceState.parse(hasState() ? decodeText(bytes, scan.stateStart, scan.stateEnd) : "")),
    priority(bytes) {
      const at = scan.keyValueAt[PRIORITY_INDEX]!;
      return at === -1 ? undefined : priorityOf(attributeValue(bytes, at));
    },
    randomnessSourceAt: () => -1,
    randomnessSource: () => undefined,
    stamp(randomness, threshold) {
      const fields = [...(randomness === "" ? [] : [`rv:${randomness}`]), `th:${threshold}`];
      return new RecordStamp(textField(SPAN_SHAPE.traceState, `ot=${fields.join(";")}`));
    },
  };
}

class SpanCarrier implements Carrier {
  readonly writesMissingRandomness = true;
  private readonly scan: RecordScan;
  private readonly state: TraceState;

  constructor(scan: RecordScan, state: TraceState) {
    this.scan = scan;
    this.state = state;
  }

  get isValid(): boolean {
    return this.state.isValid;
  }

  get randomness(): Bits56 | undefined {
    return this.state.randomness;
  }

  get threshold(): Bits56 | undefined {
    return this.state.threshold;
  }

  setRandomness(randomness: Bits56): void {
    this.state.setRandomness(randomness);
  }

  clearThreshold(): void {
    this.state.clearThreshold();
  }

  raiseThreshold(threshold: Bits56): void {
    this.state.raiseThreshold(threshold);
  }

  write(present: PresentRecord, start: number, end: number): void {
    const { stateField, stateEnd } = this.scan;
    const removed = stateField < 0 ? [] : [[stateField, stateEnd] as const];
    replaceFields(present, start, end, removed, [textField(SPAN_SHAPE.traceState, this.state.toString())]);
  }
}

function priorityOf(value: Value): Bits56 | undefined {
  const number = typeof value === "string" ? parseNumber(value) : value;
  if (typeof number !== "number" && typeof number !== "bigint") return undefined;
  if (number > 0) return ALWAYS;
  return Number(number) === 0 ? NEVER : undefined;
}

function parseNumber(text: string): number | undefined {
  if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? -1 : 1;
  return /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}
