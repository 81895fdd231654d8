/** Changes case letter by letter as Go does: no letter becomes two, and none depends on its neighbours. */

export function lowerCase(text: string): string {
  return eachLetter(text, text.toLowerCase(), (letter) => letter.toLowerCase());
}

export function upperCase(text: string): string {
  return eachLetter(text, text.toUpperCase(), (letter) => letter.toUpperCase());
}

function eachLetter(text: string, convertedAscii: string, convert: (letter: string) => string): string {
  if (/^[\0-\x7f]*$/.test(text)) return convertedAscii;
  return [...text]
    .map((letter) => {
      const converted = convert(letter);
      return [...converted].length === 1 ? converted : letter;
    })
    .join("");
}

/** Words are separated by a change of case, by digits and by other characters; a run of capitals is one word. */
export function snakeCase(text: string): string {
  return text
    .trim()
    .replace(/([A-Z])(?=[A-Z][a-z])/g, "$1_")
    .replace(/([a-z])(?=[A-Z\d])|([A-Z])(?=\d)|(\d)(?=[A-Za-z])/g, "$&_")
    .replace(/[ \-.]/g, "_")
    .replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}

/**
 * Every word starts with a capital; in a run of capitals only the first stays one. Only letters and digits are kept.
 */
export function camelCase(text: string): string {
  let result = "";
  let startsWord = true;
  let afterCapital = false;
  for (const character of text.trim()) {
    const isCapital = /[A-Z]/.test(character);
    if (isCapital || /[a-z]/.test(character)) {
      const lower = afterCapital && isCapital && !startsWord;
      result += startsWord ? character.toUpperCase() : lower ? character.toLowerCase() : character;
      startsWord = false;
    } else if (/\d/.test(character)) {
      result += character;
      startsWord = true;
    } else startsWord = "_ -.".includes(character);
    afterCapital = isCapital;
  }
  return result;
}
