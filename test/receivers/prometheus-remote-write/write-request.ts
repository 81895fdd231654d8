import { WireWriter } from "../../../src/runtime/otlp/bytes/writer.js";

/** A series to send. Labels are by name; `__name__` is one of them. */
export interface SentSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly samples?: readonly (readonly [value: number, ms: number])[];
  readonly type?: number;
  readonly help?: string;
  readonly unit?: string;
  /** Encoded histograms. */
  readonly histograms?: readonly Uint8Array[];
  /** Encoded exemplars. */
  readonly exemplars?: readonly Uint8Array[];
}

/** A request of remote write 2.0. */
export function v2Request(series: readonly SentSeries[]): Buffer {
  const symbols = [""];
  const refOf = (text: string) => {
    const known = symbols.indexOf(text);
    return known < 0 ? symbols.push(text) - 1 : known;
  };
  const messages = series.map((each) =>
    encoded((writer) => {
      field(
        writer,
        1,
        encoded((refs) => {
          for (const [name, value] of Object.entries(each.labels)) {
            refs.varint(refOf(name));
            refs.varint(refOf(value));
          }
        }),
      );
      for (const sample of each.samples ?? []) field(writer, 2, sampleBytes(...sample));
      for (const histogram of each.histograms ?? []) field(writer, 3, histogram);
      for (const exemplar of each.exemplars ?? []) field(writer, 4, exemplar);
      field(
        writer,
        5,
        encoded((metadata) => {
          number(metadata, 1, each.type ?? 0);
          number(metadata, 3, refOf(each.help ?? ""));
          number(metadata, 4, refOf(each.unit ?? ""));
        }),
      );
    }),
  );
  return encoded((writer) => {
    for (const symbol of symbols) field(writer, 4, Buffer.from(symbol));
    for (const message of messages) field(writer, 5, message);
  });
}

/** A request of remote write 1.0. */
export function v1Request(series: readonly SentSeries[]): Buffer {
  return encoded((writer) => {
    for (const { labels, samples = [] } of series)
      field(
        writer,
        1,
        encoded((message) => {
          for (const [name, value] of Object.entries(labels))
            field(
              message,
              1,
              encoded((label) => {
                field(label, 1, Buffer.from(name));
                field(label, 2, Buffer.from(value));
              }),
            );
          for (const sample of samples) field(message, 2, sampleBytes(...sample));
        }),
      );
  });
}

export function encoded(write: (writer: WireWriter) => void): Buffer {
  const writer = new WireWriter();
  write(writer);
  return Buffer.from(writer.written());
}

export function field(writer: WireWriter, id: number, bytes: Uint8Array): void {
  writer.varint((id << 3) | 2);
  writer.lengthDelimited(bytes);
}

export function number(writer: WireWriter, id: number, value: number): void {
  writer.varint(id << 3);
  writer.varintOfNumber(value);
}

function sampleBytes(value: number, ms: number): Buffer {
  return encoded((writer) => {
    writer.varint(9);
    writer.double(value);
    number(writer, 2, ms);
  });
}
