import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExpositionReader } from "../../../../src/receivers/prometheus/exposition/exposition-reader.js";
import { ScrapeSeries } from "../../../../src/receivers/prometheus/series/scrape-series.js";
import { writeBatches } from "../../../../src/receivers/prometheus/series/write-batches.js";
import { runs } from "../../../support/runs.js";
import { type Point, pointsOf, SCRAPE_SETTINGS } from "../harness.js";

const MAX_SERIES = 1000;

function newSeries() {
  const room = { left: MAX_SERIES, max: MAX_SERIES };
  return { series: new ScrapeSeries({ ...SCRAPE_SETTINGS, room }), room };
}

/** Reads what has come of a page, as a scrape does. */
function read(series: ScrapeSeries, text: string): void {
  series.begin();
  new ExpositionReader("prometheus", series).push(Buffer.from(text));
}

/** The points that a scrape hands in that ended in one of these ways. */
function end(series: ScrapeSeries, how: "complete" | "late" | "broken") {
  if (how === "complete") series.complete();
  else {
    series.discard(how === "late");
    series.end(true);
  }
  const points = [...writeBatches(series, 1_700_000_000_000, () => {})].flatMap(pointsOf);
  series.sweep();
  return points;
}

const page = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `a{n="${from + i}"} ${from + i}\n`).join("");

/** In no order, which the ones before a scrape have a say in. */
const texts = (points: readonly Point[]) =>
  points.map(({ name, kind, isEnd, data }) => JSON.stringify({ name, kind, isEnd, data })).sort();

describe("a scrape that is late", () => {
  it("leaves what it has learnt of lines, and no points", () => {
    const { series, room } = newSeries();
    read(series, page(0, 20));
    expect(end(series, "late")).toEqual([]);
    expect([series.size, room.left]).toEqual([20, MAX_SERIES - 20]);
    read(series, page(0, 40));
    end(series, "late");
    expect(series.size).toBe(40);
    read(series, page(0, 50));
    expect(end(series, "complete")).toHaveLength(50);
    expect([series.added, series.size]).toEqual([50, 50]);
  });

  it("keeps what one before it has learnt, when it gets less far or nowhere", () => {
    const { series } = newSeries();
    for (const text of [page(0, 20), page(0, 5), ""]) {
      read(series, text);
      end(series, "late");
      expect(series.size).toBe(20);
    }
  });

  it("holds one scrape of series at most, for a target whose series are new each time", () => {
    const { series, room } = newSeries();
    for (let scrape = 0; scrape < 50; scrape++) {
      read(series, page(scrape * 100, scrape * 100 + 100));
      end(series, "late");
      expect([series.size, room.left]).toEqual([100, MAX_SERIES - 100]);
    }
  });

  it("is forgotten when the target is not heard of for long", () => {
    const { series, room } = newSeries();
    read(series, page(0, 20));
    for (let scrape = 0; scrape < 10; scrape++) {
      end(series, "late");
      read(series, "");
    }
    expect([series.size, room.left]).toEqual([0, MAX_SERIES]);
  });

  it("leaves nothing behind when the next one is invalid", () => {
    const { series, room } = newSeries();
    read(series, page(0, 20));
    end(series, "late");
    read(series, page(0, 30));
    end(series, "broken");
    expect([series.size, room.left]).toEqual([0, MAX_SERIES]);
  });

  it("does not give a line the type that it had before its family was declared otherwise", () => {
    const { series } = newSeries();
    read(series, "a 3\n# TYPE c gauge\nc_total 6\n");
    end(series, "late");
    read(series, "# TYPE c counter\nc_total 5\n");
    end(series, "complete");
    read(series, "a 3\n# TYPE c counter\nc_total 5\n");
    expect(texts(end(series, "complete")).filter((text) => text.includes("c_total"))).toEqual([
      expect.stringContaining('"kind":"sum"'),
    ]);
  });

  it("changes nothing of what complete ones hand in", () => {
    const LINES = [
      ...page(0, 6).split(/(?<=\n)/),
      "# TYPE c counter\nc_total 5\n",
      "# TYPE c gauge\nc_total 6\n",
      "x 1\n",
    ];
    const text = fc.array(fc.constantFrom(...LINES), { maxLength: 12 }).map((lines) => lines.join(""));
    const how = fc.constantFrom("complete" as const, "late" as const, "broken" as const);
    fc.assert(
      fc.property(fc.array(fc.tuple(text, how), { maxLength: 15 }), (scrapes) => {
        const [one, other] = [newSeries(), newSeries()];
        for (const [text, how] of scrapes) {
          read(one.series, text);
          read(other.series, text);
          // The other learns nothing of what is late, as if it were broken.
          const [points, others] = [end(one.series, how), end(other.series, how === "late" ? "broken" : how)];
          expect(texts(points)).toEqual(texts(others));
          expect(one.room.left).toBe(MAX_SERIES - one.series.size);
        }
      }),
      runs(200),
    );
  });
});
