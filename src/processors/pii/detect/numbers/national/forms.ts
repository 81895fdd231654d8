import { COUNTRIES, type Country } from "../../text/detectors.js";
import type { CheckDigits } from "./check-digits.js";
import * as far from "./elsewhere.js";
import * as eu from "./europe.js";

/** The written form of a number: the sizes of its groups, and the separators between them. */
export interface NumberForm {
  /** The country's place in the list of countries. */
  readonly country: number;
  readonly sizes: readonly number[];
  readonly separators: readonly number[];
  readonly check: CheckDigits;
  /** True if the form is too common to be recognised without a label. */
  readonly needsLabel: boolean;
}

/**
 * Forms are written as the sizes of groups with the separators between them: `3.3.3-2` is 123.456.789-01. A comma
 * separates different forms of the same number.
 */
function forms(country: Country, written: string, check: CheckDigits, needsLabel: boolean): readonly NumberForm[] {
  return written.split(",").map((text) => ({
    country: COUNTRIES.indexOf(country),
    check,
    needsLabel,
    sizes: text.split(/\D/).map(Number),
    separators: [...text.replace(/\d/g, "")].map((c) => c.charCodeAt(0)),
  }));
}

/** Numbers that are recognised by their form and check digits alone. */
const unlabelled = (country: Country, written: string, check: CheckDigits) => forms(country, written, check, false);
/** Numbers in forms that are too common. */
const labelled = (country: Country, written: string, check: CheckDigits) => forms(country, written, check, true);

export const FORMS: readonly NumberForm[] = [
  ...labelled("nl", "9,4 2 3", eu.isBsn),
  ...labelled("gb", "10,3 3 4,3-3-4", eu.isNhsNumber),
  ...labelled("de", "11,2 3 3 3", eu.isSteuerId),
  ...unlabelled("fr", "15,13 2,1 2 2 2 3 3 2,1.2.2.2.3.3.2,1-2-2-2-3-3-2", eu.isNir),
  ...labelled("at", "10,4 6", eu.isSvnr),
  ...unlabelled("be", "2.2.2-3.2", eu.isRijksregisternummer),
  ...labelled("be", "11", eu.isRijksregisternummer),
  ...labelled("bg", "10", eu.isEgn),
  ...unlabelled("ch", "3.4.4.2", eu.isAhvNumber),
  ...labelled("ch", "13", eu.isAhvNumber),
  ...unlabelled("cz", "6/4", eu.isRodneCislo),
  ...labelled("cz", "10", eu.isRodneCislo),
  ...labelled("ee", "11", eu.isBalticCode),
  ...labelled("lt", "11", eu.isBalticCode),
  ...unlabelled("lv", "6-5", eu.isPersonasKods),
  ...labelled("lv", "11", eu.isPersonasKods),
  ...unlabelled("fi", "6-4", eu.isHetuWithDigit),
  ...labelled("gr", "11", eu.isAmka),
  ...labelled("hr", "11", eu.isOib),
  ...labelled("hu", "9,3 3 3,3-3-3", eu.isTaj),
  ...labelled("hu", "10", eu.isAdoazonosito),
  ...unlabelled("is", "6-4", eu.isKennitala),
  ...labelled("is", "10", eu.isKennitala),
  ...labelled("lu", "13,4 4 5", eu.isMatricule),
  ...labelled("md", "13", eu.isIdnp),
  ...labelled("rs", "13", eu.isJmbg),
  ...labelled("si", "13", eu.isJmbg),
  ...labelled("no", "11,6 5", eu.isFodselsnummer),
  ...labelled("pl", "11", eu.isPesel),
  ...labelled("pl", "10,3-3-2-2,3-2-2-3", eu.isNip),
  ...labelled("pt", "9,3 3 3", eu.isNif),
  ...labelled("ro", "13", eu.isCnp),
  ...labelled("ru", "12", eu.isInn),
  ...unlabelled("ru", "3-3-3 2", eu.isSnils),
  ...labelled("ru", "11", eu.isSnils),
  ...unlabelled("se", "6-4", eu.isPersonnummer),
  ...unlabelled("se", "8-4", eu.isLongPersonnummer),
  ...labelled("se", "10", eu.isPersonnummer),
  ...labelled("se", "12", eu.isLongPersonnummer),
  ...labelled("tr", "11", eu.isKimlik),
  ...labelled("ua", "10", eu.isRnokpp),
  ...labelled("br", "11", far.isCpf),
  ...unlabelled("br", "3.3.3-2", far.isCpf),
  ...unlabelled("br", "2.3.3/4-2", far.isCnpj),
  ...labelled("br", "14", far.isCnpj),
  ...unlabelled("ar", "2-8-1", far.isCuit),
  ...labelled("ar", "11", far.isCuit),
  ...labelled("ca", "9,3 3 3,3-3-3", far.isSin),
  ...unlabelled("do", "3-7-1", far.isCedula),
  ...labelled("do", "11", far.isCedula),
  ...labelled("ec", "10,9-1", far.isEcuadorianCedula),
  ...labelled("pe", "11", far.isRuc),
  ...unlabelled("uy", "1.3.3-1", far.isUruguayanCedula),
  ...labelled("uy", "7-1,8", far.isUruguayanCedula),
  ...labelled("in", "12", far.isAadhaar),
  ...unlabelled("in", "4 4 4,4-4-4", far.isAadhaar),
  ...labelled("jp", "12,4 4 4,4-4-4", far.isMyNumber),
  ...unlabelled("cn", "18", far.isResidentId),
  ...unlabelled("kr", "6-7", far.isResidentNumber),
  ...labelled("kr", "13", far.isResidentNumber),
  ...unlabelled("th", "1-4-5-2-1,1 4 5 2 1", far.isThaiId),
  ...labelled("th", "13", far.isThaiId),
  ...labelled("kz", "12", far.isIin),
  ...labelled("au", "9,3 3 3", far.isTfn),
  ...labelled("au", "10,4 5 1", far.isMedicare),
  ...labelled("nz", "9,3-3-3,3 3 3", far.isIrd),
  ...labelled("nz", "8,2-3-3", far.isShortIrd),
  ...labelled("il", "9,8-1", far.isTeudatZehut),
  ...labelled("sa", "10", far.isSaudiId),
  ...unlabelled("ae", "3-4-7-1", far.isEmiratesId),
  ...labelled("ae", "15", far.isEmiratesId),
  ...labelled("ir", "10,3-6-1", far.isMelliCode),
  ...labelled("kw", "12", far.isCivilId),
  ...labelled("eg", "14", far.isEgyptianId),
  ...labelled("za", "13,6 4 3,6 4 2 1", far.isSouthAfricanId),
];
