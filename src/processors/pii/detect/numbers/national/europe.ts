import {
  type CheckDigits,
  isDayMonth,
  isMonthDay,
  isRepeated,
  isYearMonthDay,
  mod11CheckDigit,
  numberOf,
  passesLuhn,
  passesMod11And10,
  passesVerhoeff,
  weighted,
} from "./check-digits.js";

/** Netherlands: nine digits with the 11-test. */
export const isBsn: CheckDigits = (d) => weighted(d, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && !isRepeated(d, 9);

/** England: ten digits. */
export const isNhsNumber: CheckDigits = (d) => {
  const check = (11 - (weighted(d, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11;
  return check === d[9] && !isRepeated(d, 10);
};

/** Germany: eleven digits; one digit occurs two or three times among the first ten. */
export const isSteuerId: CheckDigits = (d) => {
  if (d[0] === 0 || !passesMod11And10(d, 11)) return false;
  const counts = new Uint8Array(10);
  for (let i = 0; i < 10; i++) counts[d[i]!]!++;
  return counts.filter((count) => count > 1).length === 1;
};

/** France: sex, year, month, department, commune, serial number, and a key of two digits. */
export const isNir: CheckDigits = (d) => {
  const month = numberOf(d, 3, 2);
  if ((d[0] !== 1 && d[0] !== 2) || month === 0 || (month > 12 && month < 20) || month > 42) return false;
  return 97 - (numberOf(d, 0, 13) % 97) === numberOf(d, 13, 2);
};

/** Austria: serial number, check digit, and date of birth. */
export const isSvnr: CheckDigits = (d) =>
  d[0] !== 0 &&
  isMonthDay(((numberOf(d, 6, 2) - 1) % 12) + 1, numberOf(d, 4, 2)) &&
  weighted(d, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === d[3];

/** Belgium: date of birth, serial number, and a remainder of 97, with a 2 in front from the year 2000 on. */
export const isRijksregisternummer: CheckDigits = (d) => {
  if (numberOf(d, 2, 2) > 52 || numberOf(d, 4, 2) > 31) return false;
  const check = numberOf(d, 9, 2);
  return 97 - (numberOf(d, 0, 9) % 97) === check || 97 - ((2_000_000_000 + numberOf(d, 0, 9)) % 97) === check;
};

/** Bulgaria: the month counts from 20 in the 1800s, from 40 in the 2000s. */
export const isEgn: CheckDigits = (d) =>
  isMonthDay(numberOf(d, 2, 2) % 20, numberOf(d, 4, 2)) &&
  (weighted(d, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === d[9] &&
  numberOf(d, 2, 2) <= 52;

/** Switzerland: 756 and the check digit of an EAN. */
export const isAhvNumber: CheckDigits = (d) =>
  numberOf(d, 0, 3) === 756 && weighted(d, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0;

/** Czechia and Slovakia: women have 50 added to the month; 20 more in some years. */
export const isRodneCislo: CheckDigits = (d) => {
  const month = numberOf(d, 2, 2) % 50;
  if (!isMonthDay(month > 20 ? month - 20 : month, numberOf(d, 4, 2))) return false;
  return (numberOf(d, 0, 9) % 11) % 10 === d[9];
};

/** Estonia and Lithuania: century and sex, date of birth, serial number. */
export const isBalticCode: CheckDigits = (d) => {
  if (d[0]! < 1 || d[0]! > 8 || !isYearMonthDay(d, 1)) return false;
  const first = weighted(d, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
  const check = first < 10 ? first : (weighted(d, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11) % 10;
  return check === d[10];
};

/** Latvia, as issued until 2017: date of birth, century, serial number. */
export const isPersonasKods: CheckDigits = (d) =>
  isDayMonth(d, 0) && ((1101 - weighted(d, [1, 6, 3, 7, 9, 10, 5, 8, 4, 2])) % 11) % 10 === d[10];

/** Finland, if the remainder of 31 is a digit. With a letter it is a word (see `lettered-ids.ts`). */
export const isHetuWithDigit: CheckDigits = (d) => isDayMonth(d, 0) && numberOf(d, 0, 9) % 31 === d[9];

/** Greece: date of birth, serial number, Luhn. */
export const isAmka: CheckDigits = (d) => isDayMonth(d, 0) && passesLuhn(d, 11);

/** Croatia. */
export const isOib: CheckDigits = (d) => passesMod11And10(d, 11) && !isRepeated(d, 11);

/** Hungary: number of the social insurance. */
export const isTaj: CheckDigits = (d) => weighted(d, [3, 7, 3, 7, 3, 7, 3, 7]) % 10 === d[8] && !isRepeated(d, 9);

/** Hungary: tax number of a person. */
export const isAdoazonosito: CheckDigits = (d) => d[0] === 8 && weighted(d, [1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 === d[9];

/** Iceland: date of birth, serial number, check digit, century. */
export const isKennitala: CheckDigits = (d) =>
  isMonthDay(numberOf(d, 2, 2), numberOf(d, 0, 2) % 40) &&
  (11 - (weighted(d, [3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === d[8] &&
  (d[9] === 0 || d[9]! >= 8);

/** Luxembourg: date of birth, serial number, and the check digits of Luhn and Verhoeff. */
export const isMatricule: CheckDigits = (d) => {
  const year = numberOf(d, 0, 4);
  if (year < 1890 || year > 2099 || !isMonthDay(numberOf(d, 4, 2), numberOf(d, 6, 2))) return false;
  const withVerhoeff = Uint8Array.from([...d.subarray(0, 11), d[12]!]);
  return passesLuhn(d, 12) && passesVerhoeff(withVerhoeff, 12);
};

/** Moldova. */
export const isIdnp: CheckDigits = (d) =>
  d[0] === 2 && weighted(d, [7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 === d[12];

/** Serbia, Bosnia, Montenegro, North Macedonia, Slovenia: date of birth, region, serial number. */
export const isJmbg: CheckDigits = (d) =>
  isDayMonth(d, 0) &&
  mod11CheckDigit(weighted(d, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) === d[12] &&
  (d[4] === 9 || d[4] === 0);

/** Norway: day of birth (from 41 on for people without one), serial number, two check digits. */
export const isFodselsnummer: CheckDigits = (d) =>
  isMonthDay(numberOf(d, 2, 2) % 40, numberOf(d, 0, 2) % 40) &&
  (11 - (weighted(d, [3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11)) % 11 === d[9] &&
  (11 - (weighted(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === d[10];

/** Poland, for a person: the month tells the century. */
export const isPesel: CheckDigits = (d) =>
  isMonthDay(numberOf(d, 2, 2) % 20, numberOf(d, 4, 2)) &&
  (10 - (weighted(d, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10 === d[10];

/** Poland, for taxes. */
export const isNip: CheckDigits = (d) => weighted(d, [6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 === d[9] && !isRepeated(d, 10);

/** Portugal: the first digits say what the number is for. */
export const isNif: CheckDigits = (d) => {
  if (![1, 2, 3, 5, 6, 8, 9].includes(d[0]!) && numberOf(d, 0, 2) !== 45) return false;
  return ((11 - (weighted(d, [9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11) % 10 === d[8];
};

/** Romania: sex and century, date of birth, county, serial number. */
export const isCnp: CheckDigits = (d) => {
  if (d[0] === 0 || !isYearMonthDay(d, 1) || numberOf(d, 7, 2) > 52) return false;
  const check = weighted(d, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
  return (check === 10 ? 1 : check) === d[12];
};

/** Russia: tax number of a person. */
export const isInn: CheckDigits = (d) =>
  (weighted(d, [7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10 === d[10] &&
  (weighted(d, [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10 === d[11] &&
  !isRepeated(d, 12);

/** Russia: number of the pension insurance. */
export const isSnils: CheckDigits = (d) =>
  (weighted(d, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101) % 100 === numberOf(d, 9, 2) && !isRepeated(d, 9);

/** Sweden: date of birth (the day from 61 on for people who are not registered), serial number, Luhn. */
export const isPersonnummer: CheckDigits = (d) =>
  isMonthDay(numberOf(d, 2, 2), numberOf(d, 4, 2) % 60) && passesLuhn(d, 10);

/** Sweden, with the century. */
export const isLongPersonnummer: CheckDigits = (d) => isPersonnummer(d.subarray(2));

/** Türkiye. */
export const isKimlik: CheckDigits = (d) => {
  if (d[0] === 0) return false;
  const odd = d[0]! + d[2]! + d[4]! + d[6]! + d[8]!;
  const even = d[1]! + d[3]! + d[5]! + d[7]!;
  const tenth = (((odd * 7 - even) % 10) + 10) % 10;
  return tenth === d[9] && (odd + even + tenth) % 10 === d[10];
};

/** Ukraine: days since 1899, serial number. */
export const isRnokpp: CheckDigits = (d) =>
  (((weighted(d, [-1, 5, 7, 9, 4, 6, 10, 5, 7]) % 11) + 11) % 11) % 10 === d[9] && !isRepeated(d, 10);
