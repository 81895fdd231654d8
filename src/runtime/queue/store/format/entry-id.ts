/** Returns a permanent entry id. A sequence number is never used twice under the same tag. */
export function entryId(tag: string, sequence: number): string {
  return `${tag}-${sequence}`;
}

/** Returns the sequence number of an id; undefined if the id has another form. */
export function sequenceOfId(id: string): number | undefined {
  const digits = /-(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns a random prefix for a store's entry ids, so that no two stores create the same id. */
export function newIdTag(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
