/**
 * Reads times such as 2024-05-06T07:08:09.123456789Z, as most logs have them, directly from the bytes. For any other
 * form or an impossible date `read` returns false, and the general parser reports what is wrong.
 */
export class IsoTime {
  /** Nanoseconds since 1970 as two 32-bit halves. */
  low = 0;
  high = 0;
  private readonly date = new Uint8Array(10);
  private dateSeconds = Number.NaN;

  /** Returns false if the bytes [from, to) are not such a time from 1970 on. */
  read(b: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    if (length < 20 || length > 30 || b[to - 1] !== UPPER_Z || b[from + 10] !== UPPER_T) return false;
    if (b[from + 13] !== COLON || b[from + 16] !== COLON || !this.readDate(b, from)) return false;
    const hour = digits(b, from + 11, from + 13);
    const minute = digits(b, from + 14, from + 16);
    const second = digits(b, from + 17, from + 19);
    if (!(hour < 24 && minute < 60 && second < 60)) return false;
    let fraction = 0;
    if (length > 20) {
      if (length === 21 || b[from + 19] !== DOT) return false;
      fraction = digits(b, from + 20, to - 1) * POWERS_OF_TEN[30 - length]!;
      if (Number.isNaN(fraction)) return false;
    }
    this.set(this.dateSeconds + hour * 3600 + minute * 60 + second, fraction);
    return true;
  }

  /** Most lines of a log have the same date, so its result is cached. */
  private readDate(b: Uint8Array, from: number): boolean {
    const { date } = this;
    let isSame = true;
    for (let i = 0; i < 10; i++) if (date[i] !== b[from + i]) isSame = false;
    if (!isSame) {
      for (let i = 0; i < 10; i++) date[i] = b[from + i]!;
      this.dateSeconds = secondsOf(date);
    }
    return this.dateSeconds >= 0;
  }

  private set(seconds: number, nanos: number): void {
    const lowSeconds = seconds % 0x10000;
    const high = ((seconds - lowSeconds) / 0x10000) * 1e9;
    const sum = (high % 0x10000) * 0x10000 + lowSeconds * 1e9 + nanos;
    this.low = sum % 0x1_0000_0000;
    this.high = Math.floor(high / 0x10000) + Math.floor(sum / 0x1_0000_0000);
  }
}

const POWERS_OF_TEN = Array.from({ length: 10 }, (_, exponent) => 10 ** exponent);

/** The seconds up to the start of the day in these ten bytes; NaN if it is not a valid day. */
function secondsOf(date: Uint8Array): number {
  if (date[4] !== MINUS || date[7] !== MINUS) return Number.NaN;
  const [year, month, day] = [digits(date, 0, 4), digits(date, 5, 7), digits(date, 8, 10)];
  const ms = Date.UTC(year, month - 1, day);
  const isDay = month >= 1 && month <= 12 && day >= 1 && new Date(ms).getUTCDate() === day && year >= 1970;
  return isDay ? ms / 1000 : Number.NaN;
}

function digits(b: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = b[i]! - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

const MINUS = 45;
const DOT = 46;
const COLON = 58;
const UPPER_T = 84;
const UPPER_Z = 90;
