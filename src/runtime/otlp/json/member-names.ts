/**
 * Looks up a value by the bytes of a name, without creating a string. The few names of a message are placed by a
 * perfect hash, so one comparison decides.
 */
export class MemberNames<T> {
  private readonly places: readonly (NamedPlace<T> | undefined)[];
  private readonly factor: number;

  constructor(members: ReadonlyMap<string, T>) {
    const names = [...members].map(([name, member]) => ({ name: Buffer.from(name), member }));
    for (let size = 8; ; size *= 2) {
      for (let factor = 1; factor < 64; factor++) {
        const places = arrange(names, size, factor);
        if (places === undefined) continue;
        this.places = places;
        this.factor = factor;
        return;
      }
    }
  }

  find(b: Uint8Array, start: number, end: number): T | undefined {
    const place = this.places[hash(b, start, end, this.factor) & (this.places.length - 1)];
    if (place === undefined) return undefined;
    const { name } = place;
    const { length } = name;
    if (length !== end - start) return undefined;
    for (let i = 0; i < length; i++) if (name[i] !== b[start + i]) return undefined;
    return place.member;
  }
}

interface NamedPlace<T> {
  readonly name: Uint8Array;
  readonly member: T;
}

function arrange<T>(
  names: readonly NamedPlace<T>[],
  size: number,
  factor: number,
): (NamedPlace<T> | undefined)[] | undefined {
  const places = new Array<NamedPlace<T> | undefined>(size).fill(undefined);
  for (const place of names) {
    const at = hash(place.name, 0, place.name.length, factor) & (size - 1);
    if (places[at] !== undefined) return undefined;
    places[at] = place;
  }
  return places;
}

function hash(b: Uint8Array, start: number, end: number, factor: number): number {
  const length = end - start;
  if (length === 0) return 0;
  return (length + b[start]! * factor + b[start + (length >> 1)]! * 3 + b[end - 1]! * 5) | 0;
}
