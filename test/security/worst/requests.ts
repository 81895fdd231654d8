import type { Signal } from "../../../src/plugin.js";

/**
 * Requests that stay within all limits of a receiver and cost as much as possible: very many of one thing, with as few
 * bytes for each as the format allows.
 */

function varint(value: number): number[] {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

type Part = Uint8Array | readonly number[];

function message(field: number, ...parts: readonly Part[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from(varint(field * 8 + 2)), Buffer.from(varint(body.length)), body]);
}

const text = (field: number, value: string) => message(field, Buffer.from(value));
const times = (count: number, part: Buffer) => Buffer.alloc(part.length * count, part);
const each = (count: number, make: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));
const attribute = (field: number, key: string, value: string) =>
  message(field, text(1, key), message(2, text(1, value)));
const attributes = (field: number, count: number) => each(count, (i) => attribute(field, `k${i}`, "v"));
const ids = Buffer.concat([message(1, Buffer.alloc(16, 7)), message(2, Buffer.alloc(8, 9))]);
const ownTrace = (index: number) => {
  const id = Buffer.alloc(16, 1);
  id.writeUInt32BE(index, 4);
  return Buffer.concat([message(1, id), message(2, Buffer.alloc(8, 9))]);
};
/** A time and the value 1. */
const point = Buffer.from([0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);

const logs = (...records: readonly Buffer[]) => message(1, message(2, ...records));
const log = (...fields: readonly Buffer[]) => logs(message(2, ...fields));
const span = (...fields: readonly Buffer[]) => message(1, message(2, message(2, ids, text(5, "GET /"), ...fields)));
const metric = (...fields: readonly Buffer[]) => message(1, message(2, message(2, text(1, "m"), ...fields)));

/** One below the limit of values, so that the record is processed. */
const MOST_VALUES = 9_900;

export const WORST_REQUESTS: Readonly<Record<Signal, Readonly<Record<string, () => Buffer>>>> = {
  logs: {
    "as many attributes as a record may have": () => log(attributes(6, MOST_VALUES)),
    "more attributes than a record may have": () => log(attributes(6, 200_000)),
    "empty records": () => logs(times(300_000, message(2))),
    "records with attributes": () => logs(times(100_000, message(2, attributes(6, 10)))),
    "a few records with as many attributes as they may have": () =>
      logs(times(12, message(2, attributes(6, MOST_VALUES)))),
    "many records with as many attributes as they may have": () =>
      logs(times(30, message(2, attributes(6, MOST_VALUES)))),
    "records with as many attributes as fit into a small record": () =>
      logs(times(100, message(2, attributes(6, 1200)))),
    "a long text that very many records share": () =>
      message(1, message(1, attribute(1, "k", "x".repeat(1_000_000))), message(2, times(300_000, message(2)))),
    "a long text that records with attributes of their own share": () =>
      message(
        1,
        message(1, attribute(1, "k", "x".repeat(300_000))),
        message(
          2,
          each(200, (i) => message(2, attribute(6, "k1", `v${i}`))),
        ),
      ),
    "a long text": () => log(message(5, text(1, "a text of words and numbers 42; ".repeat(500_000)))),
    "XML with very many elements": () => log(message(5, text(1, `<a>${"<b/>".repeat(98_000)}</a>`))),
    "XML nested as deep as allowed": () =>
      log(message(5, text(1, `${"<a>".repeat(99)}${"<b/>".repeat(5000)}${"</a>".repeat(99)}`.repeat(10)))),
    "a list as body": () => log(message(5, message(5, times(MOST_VALUES, message(1, text(1, "a")))))),
    "a large resource of many records": () =>
      message(
        1,
        message(1, attributes(1, MOST_VALUES)),
        message(2, times(20_000, message(2, message(5, text(1, "x"))))),
      ),
  },
  traces: {
    "as many events as a span may have": () =>
      span(times(MOST_VALUES / 2, message(11, text(2, "e"), attribute(3, "a", "b")))),
    "as many links as a span may have": () => span(times(MOST_VALUES, message(13, ids))),
    "tiny spans": () => message(1, message(2, times(300_000, message(2, ids)))),
    "traces of one span": () =>
      message(
        1,
        message(
          2,
          each(200_000, (i) => message(2, ownTrace(i), text(5, "op"))),
        ),
      ),
    "a long text that traces of one span share": () =>
      message(
        1,
        message(1, attribute(1, "k", "x".repeat(300_000))),
        message(
          2,
          each(200, (i) => message(2, ownTrace(i), text(5, "op"))),
        ),
      ),
    "resources of one span": () =>
      times(150_000, message(1, message(1, attribute(1, "a", "b")), message(2, message(2, ids)))),
  },
  metrics: {
    "points of one metric": () => metric(message(5, times(300_000, message(1, point)))),
    "points with attributes": () =>
      metric(
        message(
          5,
          each(100_000, (i) => message(1, attribute(7, "id", `v${i}`), point)),
        ),
      ),
    "a long text that points with attributes of their own share": () =>
      message(
        1,
        message(1, attribute(1, "k", "x".repeat(300_000))),
        message(
          2,
          message(
            2,
            text(1, "m"),
            message(
              5,
              each(200, (i) => message(1, attribute(7, "id", `v${i}`), point)),
            ),
          ),
        ),
      ),
    "metrics of one point": () =>
      message(
        1,
        message(
          2,
          each(150_000, (i) => message(2, text(1, `m${i}`), message(5, message(1, point)))),
        ),
      ),
    "as many buckets as a point may have": () =>
      metric(
        message(
          9,
          message(1, point.subarray(0, 9), message(6, Buffer.alloc(4900 * 8, 1)), message(7, each(4899, bound))),
          [0x10, 2],
        ),
      ),
    "as many exemplars as a point may have": () =>
      metric(
        message(
          5,
          message(
            1,
            point,
            times(MOST_VALUES / 2, message(5, [0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f], attribute(7, "a", "b"))),
          ),
        ),
      ),
  },
};

function bound(index: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(index);
  return bytes;
}
