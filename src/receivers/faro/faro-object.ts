import { MalformedError } from "../../plugin.js";

/** A value that was read from JSON. */
export type FaroJson = string | number | boolean | null | undefined | readonly FaroJson[] | JsonMembers;
type JsonMembers = { readonly [name: string]: FaroJson };

export function unreadablePayload(reason: string): MalformedError {
  return new MalformedError(`failed to parse Faro payload: ${reason}`, -1);
}

/**
 * An object of a payload. Members that are missing or null are empty. Members of another type than the method asks for
 * throw a `MalformedError` with their path.
 */
export class FaroObject {
  private readonly members: JsonMembers;
  private readonly path: string;

  constructor(value: FaroJson, path: string) {
    if (value !== undefined && (typeof value !== "object" || Array.isArray(value)))
      throw unreadablePayload(`${path}: expected an object`);
    this.members = (value ?? {}) as JsonMembers;
    this.path = path;
  }

  private member(name: string): Exclude<FaroJson, null> {
    return Object.hasOwn(this.members, name) ? (this.members[name] ?? undefined) : undefined;
  }

  private wrong(name: string, expected: string): MalformedError {
    return unreadablePayload(`${this.path}.${name.slice(0, 100)}: expected ${expected}`);
  }

  object(name: string): FaroObject {
    return new FaroObject(this.member(name), `${this.path}.${name}`);
  }

  /** The elements of a list of objects. */
  objects(name: string): FaroObject[] {
    const value = this.member(name) ?? [];
    if (!Array.isArray(value)) throw this.wrong(name, "a list");
    return value.map((element: FaroJson, i) => new FaroObject(element, `${this.path}.${name}[${i}]`));
  }

  text(name: string): string {
    const value = this.member(name) ?? "";
    if (typeof value !== "string") throw this.wrong(name, "a text");
    return value.toWellFormed();
  }

  boolean(name: string): boolean {
    const value = this.member(name) ?? false;
    if (typeof value !== "boolean") throw this.wrong(name, "true or false");
    return value;
  }

  number(name: string): number {
    const value = this.member(name) ?? 0;
    if (typeof value !== "number") throw this.wrong(name, "a number");
    if (!Number.isFinite(value)) throw this.wrong(name, "a smaller number");
    return value;
  }

  integer(name: string): number {
    const value = this.number(name);
    if (!Number.isInteger(value)) throw this.wrong(name, "an integer");
    return value;
  }

  /** The names of the members, in order. */
  names(): string[] {
    return Object.keys(this.members).sort();
  }

  /**
   * A time as the Collector writes it: with up to three digits of a second, and with a Z in any time zone. A missing
   * time is the first of the year 1.
   */
  time(name: string): string {
    const value = this.member(name);
    if (value === undefined) return "0001-01-01T00:00:00Z";
    const [, date, clock, fraction = ""] = (typeof value === "string" && TIME.exec(value)) || [];
    if (date === undefined || clock === undefined || !isDay(date))
      throw this.wrong(name, "a time such as 2026-01-31T12:00:00Z");
    // At most 3 characters.
    const digits = fraction.slice(0, 3).replace(/0+$/, "");
    return `${date}T${clock}${digits === "" ? "" : `.${digits}`}Z`;
  }

  /** The brands of a browser: their names and versions, or one text. Anything else is left out. */
  brands(name: string): string | readonly FaroObject[] {
    const value = this.member(name);
    if (typeof value === "string") return value.toWellFormed();
    try {
      const brands = this.objects(name);
      for (const brand of brands) for (const part of ["brand", "version"]) brand.text(part);
      return brands;
    } catch {
      return "";
    }
  }
}

const TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether the month has this day. The pattern has checked everything else. */
function isDay(date: string): boolean {
  const [year, month, day] = [Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8))];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day > 0 && day <= (month === 2 && isLeap ? 29 : DAYS[month - 1]!);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
