import { withoutEnd } from "#text";
import { latin1 } from "../text/characters.js";
import { matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { BIRTH_LABEL, HEALTH_LABEL, LICENCE_LABEL, NO_LABEL, PHONE_LABEL, SSN_LABEL } from "./label-words.js";
import { labelOfKey } from "./labels.js";

/**
 * The names of columns that values stand under: of `INSERT INTO t (name, password) VALUES (...)`, of a first line such as
 * `login;password;role`, and of the segment PID of HL7. They are read once for a text. Positions only go forward, so
 * each byte is passed once.
 */
class ColumnLabels {
  private scan = -1;
  /** The labels of the columns; undefined if the text has none. */
  private labels: readonly number[] | undefined;
  private delimiter = 0;
  /** Position up to which the values have been counted, and the column there. */
  private at = 0;
  private column = 0;
  private isHl7 = false;

  /** Returns the label of the column that the value at `p` is in, or NO_LABEL. */
  labelAt(b: Uint8Array, p: number): number {
    work.spent += LOOKUP_COST;
    if (this.scan !== matches.scan) this.read(b);
    if (this.labels === undefined || p < this.at) return NO_LABEL;
    this.moveTo(b, p);
    return this.column < 0 ? NO_LABEL : (this.labels[this.column] ?? NO_LABEL);
  }

  private read(b: Uint8Array): void {
    this.scan = matches.scan;
    this.labels = undefined;
    work.spent += 4 * TEXT_COST;
    const head = latin1(b, matches.floor, Math.min(matches.end, matches.floor + MAX_HEAD));
    const insert = INSERT.exec(head);
    if (insert !== null) this.begin(namesIn(insert[1]!, ","), COMMA, insert.index + insert[0].length);
    else if (!this.readHl7(head)) this.readHeader(head);
  }

  /** Begins with these columns `offset` bytes behind the start of the text. */
  private begin(labels: readonly number[], delimiter: number, offset: number): void {
    if (labels.every((label) => label === NO_LABEL)) return;
    this.labels = labels;
    this.delimiter = delimiter;
    this.at = matches.floor + offset;
    this.column = 0;
    this.isHl7 = false;
  }

  private readHl7(head: string): boolean {
    const at = /(?:^|[\n\r ]|\\r)PID\|/.exec(head);
    if (at === null) return false;
    this.begin(PID, PIPE, at.index + at[0].length - 1);
    this.isHl7 = true;
    return true;
  }

  private readHeader(head: string): void {
    const end = head.indexOf("\n");
    if (end < 0) return;
    const line = head.slice(0, end);
    for (const delimiter of "|;,\t") {
      if (!line.includes(delimiter)) continue;
      const names = line.split(delimiter);
      if (names.length < 2 || names.some((name) => name.length > MAX_NAME)) return;
      this.begin(namesIn(line, delimiter), delimiter.charCodeAt(0), end + 1);
      return;
    }
  }

  /** Counts the columns up to `p`. A quote protects delimiters; a new line or tuple begins with the first column. */
  private moveTo(b: Uint8Array, p: number): void {
    work.spent += p - this.at;
    for (; this.at < p; this.at++) {
      const c = b[this.at]!;
      if (c === this.delimiter) this.column++;
      else if (c === NEWLINE || c === RETURN) this.column = this.isHl7 ? -MAX_HEAD : 0;
      else if (c === CLOSE && this.delimiter === COMMA) this.column = -1;
    }
  }
}

const LOOKUP_COST = 30;
const MAX_HEAD = 600;
const MAX_NAME = 40;
const COMMA = 44;
const PIPE = 124;
const NEWLINE = 10;
const RETURN = 13;
const CLOSE = 41;
// At most 600 characters.
const INSERT = /\(([^()]{1,300})\)\s*values?\s*\(/i;

/** The fields of a patient in HL7, by number. */
const PID: readonly number[] = Array.from({ length: 21 }, (_, field) => {
  if (field === 2 || field === 3 || field === 18) return HEALTH_LABEL;
  if (field === 7) return BIRTH_LABEL;
  if (field === 13) return PHONE_LABEL;
  return field === 19 ? SSN_LABEL : field === 20 ? LICENCE_LABEL : NO_LABEL;
});

function namesIn(list: string, delimiter: string): readonly number[] {
  const text = Buffer.from(list, "latin1").toString();
  return text
    .split(delimiter)
    .map((name) => labelOfKey(withoutEnd(name.replace(/^[\s"'`[\]|]+/, ""), " \t\r\n\v\f\"'`[]|")));
}

const columns = new ColumnLabels();

/** Returns the label of the column that the value at `p` is in. */
export function columnLabel(b: Uint8Array, p: number): number {
  return columns.labelAt(b, p);
}

/** Whether the value at `p` may be one of several that a delimiter separates. */
export function mayBeInColumn(b: Uint8Array, p: number): boolean {
  let q = p - 1;
  if (QUOTE_BYTES[b[q]!] === 1) q--;
  if (b[q] === 32) q--;
  return DELIMITERS[b[q]!] === 1;
}

const DELIMITERS = new Uint8Array(256);
for (const c of "(,;|\t\n") DELIMITERS[c.charCodeAt(0)] = 1;
const QUOTE_BYTES = new Uint8Array(256);
for (const c of "'\"") QUOTE_BYTES[c.charCodeAt(0)] = 1;
