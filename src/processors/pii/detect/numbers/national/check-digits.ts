/**
 * Check digits of national numbers that consist of digits. `d` holds the values of all digits of the number. The
 * countries are in `europe.ts` and `elsewhere.ts`; numbers with letters are in `lettered-ids.ts`.
 */
export type CheckDigits = (d: Uint8Array) => boolean;

export function weighted(d: Uint8Array, weights: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i]! * d[i]!;
  return sum;
}

/** Whether all digits are the same. Such numbers are never issued, although their check digits may be right. */
export function isRepeated(d: Uint8Array, size: number): boolean {
  for (let i = 1; i < size; i++) if (d[i] !== d[0]) return false;
  return true;
}

/** Returns the number that `size` digits from `from` on stand for; at most fifteen. */
export function numberOf(d: Uint8Array, from: number, size: number): number {
  let value = 0;
  for (let i = from; i < from + size; i++) value = value * 10 + d[i]!;
  return value;
}

/** Whether Luhn's check digit at the end of `size` digits is right. */
export function passesLuhn(d: Uint8Array, size: number): boolean {
  let sum = 0;
  for (let i = 0; i < size; i++) {
    const value = (size - i) % 2 === 0 ? d[i]! * 2 : d[i]!;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** Whether month and day are possible. */
export function isMonthDay(month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/** Whether the digits from `from` on are a year of two digits, a month and a day. */
export function isYearMonthDay(d: Uint8Array, from: number): boolean {
  return isMonthDay(numberOf(d, from + 2, 2), numberOf(d, from + 4, 2));
}

/** Whether the digits from `from` on are a day and a month. */
export function isDayMonth(d: Uint8Array, from: number): boolean {
  return isMonthDay(numberOf(d, from + 2, 2), numberOf(d, from, 2));
}

/** Returns the check digit of most numbers with modulus 11: 0 stands for 10. */
export function mod11CheckDigit(sum: number): number {
  return ((sum * 10) % 11) % 10;
}

/** Whether Verhoeff's check digit at the end of the first `size` digits is right. */
export function passesVerhoeff(d: Uint8Array, size: number): boolean {
  let check = 0;
  for (let i = 0; i < size; i++) check = product(check, permuted(d[size - 1 - i]!, i % 8));
  return check === 0;
}

/** Multiplies in the dihedral group of the pentagon (Verhoeff's algorithm). */
function product(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5);
  return b < 5 ? 5 + ((a + 10 - b) % 5) : (a + 5 - b) % 5;
}

const PERMUTATION = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

function permuted(n: number, times: number): number {
  let value = n;
  for (let i = 0; i < times; i++) value = PERMUTATION[value]!;
  return value;
}

/** Whether the check digit of ISO 7064 with the moduli 11 and 10 is right, as in Germany and Croatia. */
export function passesMod11And10(d: Uint8Array, size: number): boolean {
  let rest = 10;
  for (let i = 0; i < size - 1; i++) rest = (((d[i]! + rest) % 10 || 10) * 2) % 11;
  return (11 - rest) % 10 === d[size - 1];
}
