import fc from "fast-check";
import { expect, it } from "vitest";
import { ownerSettings } from "../../../../src/exporters/prometheus/config.js";
import { remoteWriteSchema } from "../../../../src/exporters/prometheus/remote-write/config.js";
import { Translator } from "../../../../src/exporters/prometheus/remote-write/translate.js";
import { WriteRequestV1 } from "../../../../src/exporters/prometheus/remote-write/write-request.js";
import { decompress } from "../../../../src/runtime/codecs/compression/decompress.js";
import { writeKeyValue } from "../../../../src/runtime/otlp/bytes/value.js";
import { WireWriter } from "../../../../src/runtime/otlp/bytes/writer.js";
import { runs } from "../../../support/runs.js";
import { BASE_MS } from "../metrics.js";
import { readV1 } from "./write-server.js";

interface Point {
  names: string[];
  value: number;
  isWhole: boolean;
  isAttributesFirst: boolean;
  hasStart: boolean;
  flags: number;
  hasExemplar: boolean;
}

const points: fc.Arbitrary<Point> = fc.record({
  names: fc.uniqueArray(fc.constantFrom("a", "b", "a.rather.long.name"), { maxLength: 3 }),
  value: fc.nat(1000),
  isWhole: fc.boolean(),
  isAttributesFirst: fc.boolean(),
  hasStart: fc.boolean(),
  flags: fc.constantFrom(0, 0, 1),
  hasExemplar: fc.constantFrom(false, false, true),
});

function message(out: WireWriter, tag: number, write: () => void): void {
  out.byte(tag);
  out.begin();
  write();
  out.end();
}

const time = (ms: number) => BigInt(ms) * 1_000_000n;

function writePoint(out: WireWriter, point: Point, at: number): void {
  const attributes = () => {
    for (const name of point.names) message(out, 58, () => writeKeyValue(out, name, `value of ${name}`));
  };
  if (point.isAttributesFirst) attributes();
  if (point.hasStart) {
    out.byte(17);
    out.fixed64(time(BASE_MS));
  }
  out.byte(25);
  out.fixed64(time(BASE_MS + at));
  if (point.isWhole) {
    out.byte(49);
    out.fixed64(BigInt(point.value));
  } else writeNumber(out, 33, point.value);
  if (point.hasExemplar) message(out, 42, () => writeNumber(out, 25, 1));
  if (!point.isAttributesFirst) attributes();
  if (point.flags !== 0) {
    out.byte(64);
    out.varint(point.flags);
  }
}

function writeNumber(out: WireWriter, tag: number, value: number): void {
  out.byte(tag);
  out.double(value);
}

/** A request of one counter with these points. */
function request(all: readonly Point[], ms: number): Uint8Array {
  const out = new WireWriter();
  const data = () => {
    for (const point of all) message(out, 10, () => writePoint(out, point, ms));
    for (const byte of [16, 2, 24, 1]) out.byte(byte);
  };
  const metric = () => {
    out.byte(10);
    out.text("requests");
    message(out, 58, data);
  };
  message(out, 10, () => message(out, 18, () => message(out, 18, metric)));
  return out.written();
}

function createTranslator(): Translator {
  const config = remoteWriteSchema.parse({ endpoint: "http://localhost/" });
  const createWriter = () => new WriteRequestV1(false);
  return new Translator({
    ...ownerSettings(config, true, []),
    targetInfoName: "",
    maxRequestBytes: 1e6,
    createWriter,
  });
}

async function seriesOf(translator: Translator, bytes: Uint8Array) {
  const [body] = translator.translate(bytes, 0).bodies;
  if (body === undefined) return [];
  return readV1(await decompress("snappy", Buffer.from(body), { limit: 1e8, reserve: () => true })).series;
}

it("writes points of expected series like those of new ones, whatever else they contain", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(points, { maxLength: 8 }), { maxLength: 4 }), async (requests) => {
      const translator = createTranslator();
      for (const [turn, all] of [...requests, ...requests, ...requests].entries()) {
        const bytes = request(all, turn * 1000);
        expect(await seriesOf(translator, bytes)).toEqual(await seriesOf(createTranslator(), bytes));
      }
    }),
    runs(15),
  );
});
