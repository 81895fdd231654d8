import { findAsianAddresses, findAsianNames } from "./asian-texts.js";
import { findPersonNames } from "./person-names.js";
import { findPostalAddresses } from "./postal-addresses.js";
import type { TextPlace, Tokens } from "./tokens.js";

/** Looks for one kind in a text; gives places in order that do not overlap. `hints` are what the field's key says. */
export type FindPeople = (tokens: Tokens, hints: number) => readonly TextPlace[];

/** What is looked for only when the config says so, in the order of `OPTIONAL_DETECTORS`. */
export const PEOPLE_DETECTORS: readonly FindPeople[] = [
  (tokens, hints) => inOrder([...findPersonNames(tokens, hints), ...findAsianNames(tokens.text)]),
  (tokens, hints) => inOrder([...findPostalAddresses(tokens, hints), ...findAsianAddresses(tokens.text)]),
];

function inOrder(places: TextPlace[]): readonly TextPlace[] {
  let last = 0;
  return places
    .sort(([a], [b]) => a - b)
    .filter(([start, end]) => {
      if (start < last || end <= start) return false;
      last = end;
      return true;
    });
}
