import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { ReceiverContext } from "../../../../src/plugin.js";
import { OTLP_FORMAT } from "../../../../src/receivers/otlp/format.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { RequestIntake } from "../../../../src/runtime/receiving/requests/request-intake.js";
import { Upload, UploadRoom } from "../../../../src/runtime/receiving/requests/upload.js";
import { FakeIntake, FakeMetrics } from "../../../receivers/otlp/harness.js";

it("an upload that is released while it is being unpacked reserves nothing more", async () => {
  const intake = new FakeIntake();
  const context = { id: "otlp", metrics: new FakeMetrics() } as unknown as ReceiverContext;
  const upload = new Upload(new RequestIntake("logs", intake, context, "http", OTLP_FORMAT), {
    room: new UploadRoom(1_000_000, systemClock),
    client: undefined,
    startedAt: 0,
    giveWay: () => {},
  });
  const packed = gzipSync(Buffer.alloc(4_000_000));
  upload.add(packed);
  const unpacking = upload.decompress("gzip", packed, 10_000_000);
  upload.release();
  await expect(unpacking).rejects.toMatchObject({ fault: "no_room" });
  expect(intake.reserved).toBe(0);
});
