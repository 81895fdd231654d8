/**
 * Reads the short XML answers of AWS: elements by name, without attributes, comments and CDATA, none of which AWS
 * writes. All work is linear in the size of the text, whatever the text is.
 */

/** Returns the text of the first element of this name, unescaped; undefined if there is none. */
export function xmlElement(xml: string, name: string): string | undefined {
  const [content] = xmlElements(xml, name);
  return content === undefined ? undefined : unescapeXml(content).trim();
}

/** The contents of all elements of this name, as they are written. */
export function* xmlElements(xml: string, name: string): Generator<string, undefined> {
  const [opening, closing] = [`<${name}>`, `</${name}>`];
  for (let at = xml.indexOf(opening); at >= 0; ) {
    const start = at + opening.length;
    const end = xml.indexOf(closing, start);
    if (end < 0) return;
    yield xml.slice(start, end);
    at = xml.indexOf(opening, end + closing.length);
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g, (whole, dec, hex, name) => {
    if (name !== undefined) return ENTITIES[name]!;
    const code = dec === undefined ? Number.parseInt(hex, 16) : Number(dec);
    return code > 0x10_ff_ff ? whole : String.fromCodePoint(code);
  });
}

/** Escapes a text for the content of an element. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (character) => (character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;"));
}
