/**
 * Check digits of national numbers. `d` holds the values of all digits of the number. Numbers with letters are in
 * `lettered-ids.ts`.
 */
export type CheckDigits = (d: Uint8Array) => boolean;

function weighted(d: Uint8Array, weights: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i]! * d[i]!;
  return sum;
}

/** Whether all digits are the same. Such numbers are never issued, although their check digits may be right. */
function isRepeated(d: Uint8Array, size: number): boolean {
  for (let i = 1; i < size; i++) if (d[i] !== d[0]) return false;
  return true;
}

/** Netherlands: nine digits with the 11-test. */
export const isBsn: CheckDigits = (d) => weighted(d, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && !isRepeated(d, 9);

/** England: ten digits. */
export const isNhsNumber: CheckDigits = (d) => {
  const check = (11 - (weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11;
  return check === d[9] && !isRepeated(d, 10);
};

/** Germany: eleven digits; one digit occurs two or three times among the first ten. */
export const isSteuerId: CheckDigits = (d) => {
  if (d[0] === 0) return false;
  let product = 10;
  for (let i = 0; i < 10; i++) {
    const sum = (d[i]! + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  if ((11 - product) % 10 !== d[10]) return false;
  const counts = new Uint8Array(10);
  for (let i = 0; i < 10; i++) counts[d[i]!]!++;
  return counts.filter((count) => count > 1).length === 1;
};

/** Brazil, for a person: eleven digits. */
export const isCpf: CheckDigits = (d) =>
  !isRepeated(d, 11) &&
  mod11CheckDigit(weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2])) === d[9] &&
  mod11CheckDigit(weighted(d, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2])) === d[10];

/** Brazil, for a company: fourteen digits. */
export const isCnpj: CheckDigits = (d) =>
  !isRepeated(d, 14) &&
  mod11CheckDigit(weighted(d, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) === d[12] &&
  mod11CheckDigit(weighted(d, [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) === d[13];

function mod11CheckDigit(sum: number): number {
  return ((sum * 10) % 11) % 10;
}

/** Japan: twelve digits. */
export const isMyNumber: CheckDigits = (d) => {
  const rest = weighted(d, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
  return (rest <= 1 ? 0 : 11 - rest) === d[11];
};

/** France: sex, year, month, department, commune, serial number, and a key of two digits. */
export const isNir: CheckDigits = (d) => {
  const month = d[3]! * 10 + d[4]!;
  if ((d[0] !== 1 && d[0] !== 2) || month === 0 || (month > 12 && month < 20) || month > 42) return false;
  let rest = 0;
  for (let i = 0; i < 13; i++) rest = (rest * 10 + d[i]!) % 97;
  return 97 - rest === d[13]! * 10 + d[14]!;
};

/** China: region, date of birth, serial number, and a check digit, which can be X (10). */
export const isResidentId: CheckDigits = (d) => {
  const year = d[6]! * 1000 + d[7]! * 100 + d[8]! * 10 + d[9]!;
  const month = d[10]! * 10 + d[11]!;
  const day = d[12]! * 10 + d[13]!;
  if (d[0] === 0 || d[0] === 9 || year < 1900 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31)
    return false;
  const sum = weighted(d, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
  return (12 - (sum % 11)) % 11 === d[17];
};

/** India: twelve digits with Verhoeff's check digit. */
export const isAadhaar: CheckDigits = (d) => {
  if (d[0]! < 2) return false;
  let check = 0;
  for (let i = 0; i < 12; i++) check = product(check, permuted(d[11 - i]!, i % 8));
  return check === 0;
};

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
