import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { EventReaders, type EventStream } from "../../../src/extensions/admin-api/events.js";
import { FakeClock } from "../../support/fake-clock.js";
import { readEvents } from "./running-agent.js";

async function serve(counted?: string) {
  const clock = new FakeClock();
  const readers = new EventReaders(clock);
  const streams: EventStream[] = [];
  let left = 0;
  const failures: unknown[] = [];
  const server = createServer((_, response) => {
    try {
      readers.serve(
        response,
        (stream) => {
          streams.push(stream);
          return () => void (left += 1);
        },
        counted,
      );
    } catch (error) {
      failures.push(error);
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { clock, streams, failures, left: () => left, read: () => readEvents(url) };
}

describe("server-sent events", () => {
  it("reach the reader with their names, each on one line of data", async () => {
    const { streams, read } = await serve();
    const reader = await read();
    streams[0]!.send("sample", { text: "a\nb\r\n: c" });
    await expect.poll(() => reader.events).toEqual([{ event: "sample", data: { text: "a\nb\r\n: c" } }]);
    expect(reader.others).toEqual(["retry: 2000"]);
  });

  it("have a comment every 15 s, so that the connection stays alive", async () => {
    const { clock, read } = await serve();
    const reader = await read();
    clock.advance(15_000);
    await expect.poll(() => reader.others).toEqual(["retry: 2000", ":"]);
    clock.advance(15_000);
    await expect.poll(() => reader.others).toEqual(["retry: 2000", ":", ":"]);
  });

  it("are lost to a reader that does not read, which then learns how many", async () => {
    const { streams, read } = await serve("records");
    const reader = await read();
    reader.pause();
    const data = "x".repeat(100_000);
    let sent = 0;
    let lost = 0;
    await expect
      .poll(() => {
        for (let i = 0; i < 100; i++) streams[0]!.send("record", data) ? sent++ : lost++;
        return lost;
      })
      .toBeGreaterThan(500);
    reader.resume();
    const told = () => reader.of("dropped").reduce((sum, { records }) => sum + records, 0);
    await expect.poll(told).toBe(lost);
    expect(reader.of("record")).toHaveLength(sent);
  });

  it("end when the reader leaves", async () => {
    const { left, read } = await serve();
    (await read()).close();
    await expect.poll(left).toBe(1);
  });

  it("are refused when there are too many readers", async () => {
    const { read, failures } = await serve();
    for (let i = 0; i < 32; i++) await read();
    await expect(read()).rejects.toThrow();
    expect(failures).toMatchObject([{ code: "conflict" }]);
  });
});
