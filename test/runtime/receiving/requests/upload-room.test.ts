import { beforeEach, describe, expect, it } from "vitest";
import { type UnfinishedUpload, UploadRoom } from "../../../../src/runtime/receiving/requests/upload.js";
import { FakeIntake } from "../../../receivers/otlp/harness.js";
import { FakeClock } from "../../../support/fake-clock.js";

describe("the room for unfinished uploads", () => {
  let clock: FakeClock;
  let intake: FakeIntake;
  let room: UploadRoom;
  const ended: string[] = [];

  beforeEach(() => {
    clock = new FakeClock();
    intake = new FakeIntake();
    intake.room = 1000;
    room = new UploadRoom(600, clock);
    ended.length = 0;
  });

  class TestUpload implements UnfinishedUpload {
    readonly startedAt = clock.monotonic();
    held = 0;
    readonly name: string;
    readonly client: string | undefined;

    constructor(name: string, client: string | undefined) {
      this.name = name;
      this.client = client;
      expect(room.begin(this)).toBe(true);
    }

    get size(): number {
      return this.held;
    }

    take(bytes: number): boolean {
      const isTaken = room.reserve(this, bytes, intake);
      if (isTaken) this.held += bytes;
      return isTaken;
    }

    giveWay(): void {
      ended.push(this.name);
      room.end(this);
      intake.release(this.held);
    }
  }

  it("lets the slowest give way when one needs room and there is none", async () => {
    const slow = new TestUpload("slow", "a");
    const slower = new TestUpload("slower", "b");
    expect([slow.take(500), slower.take(400)]).toEqual([true, true]);
    await clock.advance(2000);
    const fresh = new TestUpload("fresh", "c");
    expect(fresh.take(300)).toBe(true);
    expect(ended).toEqual(["slower"]);
    expect(intake.reserved).toBe(800);
  });

  it("refuses when nobody has had time to be slow, and whoever is the slowest himself", async () => {
    const first = new TestUpload("first", "a");
    expect(first.take(600)).toBe(true);
    const second = new TestUpload("second", "b");
    expect(second.take(500)).toBe(false);
    expect(second.take(300)).toBe(true);
    await clock.advance(2000);
    expect(second.take(200)).toBe(false);
    expect(ended).toEqual([]);
    expect(intake.reserved).toBe(900);
  });

  it("gives one client only its share, of which its own slowest uploads give way", async () => {
    const other = new TestUpload("other", "b");
    const first = new TestUpload("first", "a");
    expect([other.take(100), first.take(500)]).toEqual([true, true]);
    await clock.advance(2000);
    const second = new TestUpload("second", "a");
    expect(second.take(200)).toBe(true);
    expect(ended).toEqual(["first"]);
    expect(second.take(300)).toBe(true);
  });

  it("takes one upload that is larger than a client's share, and any of clients it cannot tell apart", () => {
    const large = new TestUpload("large", "a");
    expect([large.take(500), large.take(300)]).toEqual([true, true]);
    const [one, other] = [new TestUpload("one", undefined), new TestUpload("other", undefined)];
    expect([one.take(100), other.take(100), other.take(1)]).toEqual([true, true, false]);
  });

  it("counts what is whole for no client, and does not end it", async () => {
    const whole = new TestUpload("whole", "a");
    expect(whole.take(550)).toBe(true);
    await clock.advance(2000);
    room.end(whole);
    const next = new TestUpload("next", "a");
    expect(next.take(440)).toBe(true);
    expect(next.take(100)).toBe(false);
    expect(ended).toEqual([]);
  });

  it("takes only so many at once, though nothing has come of them", async () => {
    for (let i = 0; i < 8192; i++) new TestUpload("silent", "a");
    const next: UnfinishedUpload = { client: "b", startedAt: 0, size: 0, held: 0, giveWay: () => {} };
    expect(room.begin(next)).toBe(false);
    await clock.advance(2000);
    expect(room.begin(next)).toBe(true);
    expect(ended).toEqual(["silent"]);
  });
});
