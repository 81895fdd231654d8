import {
  type CheckDigits,
  isMonthDay,
  isRepeated,
  isYearMonthDay,
  mod11CheckDigit,
  numberOf,
  passesLuhn,
  passesVerhoeff,
  weighted,
} from "./check-digits.js";

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

/** Argentina: kind of taxpayer, document, check digit. */
export const isCuit: CheckDigits = (d) =>
  [20, 23, 24, 25, 26, 27, 30, 33, 34].includes(numberOf(d, 0, 2)) &&
  (11 - (weighted(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === d[10];

/** Canada: none begins with 0 or 8. */
export const isSin: CheckDigits = (d) => d[0] !== 0 && d[0] !== 8 && passesLuhn(d, 9);

/** Dominican Republic. */
export const isCedula: CheckDigits = (d) => passesLuhn(d, 11) && !isRepeated(d, 11);

/** Ecuador: province, a digit below 6, serial number. */
export const isEcuadorianCedula: CheckDigits = (d) =>
  (numberOf(d, 0, 2) <= 24 || numberOf(d, 0, 2) === 30) && numberOf(d, 0, 2) > 0 && d[2]! < 6 && passesLuhn(d, 10);

/** Peru: tax number. */
export const isRuc: CheckDigits = (d) =>
  [10, 15, 17, 20].includes(numberOf(d, 0, 2)) &&
  (11 - (weighted(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === d[10];

/** Uruguay. */
export const isUruguayanCedula: CheckDigits = (d) =>
  (10 - (weighted(d, [2, 9, 8, 7, 6, 3, 4]) % 10)) % 10 === d[7] && !isRepeated(d, 8);

/** Japan: twelve digits. */
export const isMyNumber: CheckDigits = (d) => {
  const rest = weighted(d, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
  return (rest <= 1 ? 0 : 11 - rest) === d[11];
};

/** China: region, date of birth, serial number, and a check digit, which can be X (10). */
export const isResidentId: CheckDigits = (d) => {
  const year = numberOf(d, 6, 4);
  if (d[0] === 0 || d[0] === 9 || year < 1900 || year > 2099 || !isMonthDay(numberOf(d, 10, 2), numberOf(d, 12, 2)))
    return false;
  const sum = weighted(d, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
  return (12 - (sum % 11)) % 11 === d[17];
};

/** India: twelve digits with Verhoeff's check digit. */
export const isAadhaar: CheckDigits = (d) => d[0]! > 1 && passesVerhoeff(d, 12);

/** South Korea, as issued until 2020: date of birth, sex and century, region, serial number. */
export const isResidentNumber: CheckDigits = (d) =>
  isYearMonthDay(d, 0) && (11 - (weighted(d, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10 === d[12];

/** Thailand. */
export const isThaiId: CheckDigits = (d) =>
  d[0] !== 0 &&
  (11 - (weighted(d, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === d[12] &&
  !isRepeated(d, 13);

/** Kazakhstan: date of birth, sex and century, serial number. */
export const isIin: CheckDigits = (d) => {
  if (!isYearMonthDay(d, 0) || d[6]! > 6) return false;
  const first = weighted(d, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
  const check = first < 10 ? first : weighted(d, [3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11;
  return check === d[11];
};

/** Australia: tax file number. */
export const isTfn: CheckDigits = (d) => weighted(d, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0 && !isRepeated(d, 9);

/** Australia: number of a Medicare card, with the number of the person on it. */
export const isMedicare: CheckDigits = (d) =>
  d[0]! >= 2 && d[0]! <= 6 && weighted(d, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === d[8];

/** New Zealand: tax number of nine digits, or of eight after a 0. */
export const isIrd: CheckDigits = (d) => {
  const value = numberOf(d, 0, 9);
  if (value < 10_000_000 || value > 150_000_000) return false;
  let check = (11 - (weighted(d, [3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11;
  if (check === 10) check = (11 - (weighted(d, [7, 4, 3, 2, 5, 2, 7, 6]) % 11)) % 11;
  return check === d[8];
};

/** New Zealand: tax number of eight digits. */
export const isShortIrd: CheckDigits = (d) => isIrd(Uint8Array.from([0, ...d.subarray(0, 8)]));

/** Israel. */
export const isTeudatZehut: CheckDigits = (d) => passesLuhn(d, 9) && !isRepeated(d, 9);

/** Saudi Arabia: 1 for citizens, 2 for residents. */
export const isSaudiId: CheckDigits = (d) => (d[0] === 1 || d[0] === 2) && passesLuhn(d, 10);

/** United Arab Emirates: 784, year of birth, serial number. */
export const isEmiratesId: CheckDigits = (d) => {
  const year = numberOf(d, 3, 4);
  return numberOf(d, 0, 3) === 784 && year >= 1900 && year < 2100 && passesLuhn(d, 15);
};

/** Iran. */
export const isMelliCode: CheckDigits = (d) => {
  const rest = weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
  return (rest < 2 ? rest : 11 - rest) === d[9] && !isRepeated(d, 10);
};

/** Kuwait: century, date of birth, serial number. */
export const isCivilId: CheckDigits = (d) =>
  (d[0] === 2 || d[0] === 3) &&
  isYearMonthDay(d, 1) &&
  11 - (weighted(d, [2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11) === d[11];

/** Egypt: century, date of birth, governorate, serial number. */
export const isEgyptianId: CheckDigits = (d) =>
  (d[0] === 2 || d[0] === 3) &&
  isYearMonthDay(d, 1) &&
  (11 - (weighted(d, [2, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === d[13];

/** South Africa: date of birth, sex, citizenship, 8 or 9, Luhn. */
export const isSouthAfricanId: CheckDigits = (d) =>
  isYearMonthDay(d, 0) && d[10]! < 2 && (d[11] === 8 || d[11] === 9) && passesLuhn(d, 13);
