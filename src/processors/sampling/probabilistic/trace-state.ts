import { type Bits56, isLess, parseRandomness, parseThreshold, thresholdText, toHex } from "../bits56.js";

type KeyValuePair = readonly [key: string, value: string];

/**
 * A W3C tracestate with the two fields of its `ot` member that consistent sampling uses: `rv`, the randomness, and
 * `th`, the threshold that the trace was sampled with. Everything else is kept unchanged.
 */
export class TraceState {
  randomness: Bits56 | undefined;
  threshold: Bits56 | undefined;
  /** False if the text is not a valid tracestate. The parts that could be read are set nevertheless. */
  isValid = true;
  private randomnessText = "";
  private thresholdText = "";
  private otherOtFields: KeyValuePair[] = [];
  private otherMembers: KeyValuePair[] = [];

  static parse(text: string): TraceState {
    const state = new TraceState();
    if (text !== "") state.read(text);
    return state;
  }

  setRandomness(value: Bits56): void {
    this.randomness = value;
    this.randomnessText = toHex(value);
  }

  /** Thresholds only rise: a lower one than the present changes nothing. */
  raiseThreshold(value: Bits56): void {
    if (this.threshold !== undefined && isLess(value, this.threshold)) return;
    this.threshold = value;
    this.thresholdText = thresholdText(value);
  }

  clearThreshold(): void {
    this.threshold = undefined;
    this.thresholdText = "";
  }

  toString(): string {
    const ot = this.otherOtFields.map(([key, value]) => `${key}:${value}`);
    if (this.thresholdText !== "") ot.unshift(`th:${this.thresholdText}`);
    if (this.randomnessText !== "") ot.unshift(`rv:${this.randomnessText}`);
    const members = this.otherMembers.map(([key, value]) => `${key}=${value}`);
    if (ot.length > 0) members.unshift(`ot=${ot.join(";")}`);
    return members.join(",");
  }

  private read(text: string): void {
    this.isValid = text.length <= MAX_LENGTH; // checked first, because long texts take long
    // At most 1,024 characters.
    const members = this.isValid ? text.split(",").map((member) => member.replace(/^[ \t]+|[ \t]+$/g, "")) : [];
    if (!members.every((member) => member === "" || MEMBER.test(member))) this.isValid = false;
    if (!this.isValid) return;
    if (members.at(-1) === "") members.pop();
    for (const [i, member] of members.entries()) {
      if (i >= MAX_MEMBERS - 1) {
        this.isValid = false;
        return;
      }
      if (member !== "") this.readMember(...splitOnce(member, "="));
    }
  }

  private readMember(key: string, value: string): void {
    const [tenant, system] = splitOnce(key, "@");
    if (key.length > MAX_KEY || (key.includes("@") && (tenant.length > MAX_TENANT || system.length > MAX_SYSTEM)))
      this.isValid = false;
    else if (key === "ot") this.readOt(value);
    else this.otherMembers.push([key, value]);
  }

  /** If there are several `ot` members, the last one counts. */
  private readOt(text: string): void {
    this.randomness = undefined;
    this.randomnessText = "";
    this.clearThreshold();
    this.otherOtFields = [];
    if (text.length > MAX_OT || !OT.test(text)) {
      this.isValid = false;
      return;
    }
    for (const field of text.split(";")) this.readField(...splitOnce(field, ":"));
  }

  private readField(key: string, value: string): void {
    if (key === "rv") {
      this.randomness = parseRandomness(value);
      this.randomnessText = this.randomness === undefined ? "" : value;
      if (this.randomness === undefined) this.isValid = false;
    } else if (key === "th") {
      this.threshold = parseThreshold(value);
      this.thresholdText = this.threshold === undefined ? "" : value;
      if (this.threshold === undefined) this.isValid = false;
    } else this.otherOtFields.push([key, value]);
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

export const MAX_LENGTH = 1024;
export const MAX_MEMBERS = 32;
export const MAX_KEY = 256;
export const MAX_VALUE = 256;
const MAX_TENANT = 241;
const MAX_SYSTEM = 14;
const MAX_OT = 256;
// At most 1,024 characters.
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]*|[a-z0-9][a-z0-9_\-*/]*@[a-z][a-z0-9_\-*/]*)=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const OT = /^[a-z][a-z0-9]*:[A-Za-z0-9._-]*(?:;[a-z][a-z0-9]*:[A-Za-z0-9._-]*)*$/;
