/** Reads LevelDB's variable-length numbers, seven bits per byte. Throws a RangeError at the end of the bytes. */
export class VarintReader {
  private readonly bytes: Uint8Array;
  private at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get position(): number {
    return this.at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  next(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || scale > 2 ** 49) throw new RangeError("not a number");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  skip(length: number): void {
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError("too short");
  }

  take(length: number): Uint8Array {
    this.skip(length);
    return this.bytes.subarray(this.at - length, this.at);
  }

  rest(): Uint8Array {
    return this.take(this.bytes.length - this.at);
  }
}

/** Returns the result of `read`, or undefined if the data is damaged (RangeError). */
export function ifIntact<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
