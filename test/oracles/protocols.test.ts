import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as ws from "ws";
import { signRequest } from "../../src/runtime/net/aws/sign.js";
import { maskedFrame } from "../../src/runtime/net/websocket/connection.js";
import { FrameReader } from "../../src/runtime/net/websocket/frame-reader.js";
import { runs } from "../support/runs.js";

const segment = fc.string({ unit: fc.constantFrom(..."abc019-_.~ +&=%é*'"), minLength: 1, maxLength: 8 });

/** The parts of ws that read and write frames, which its types leave out. */
const { Receiver, Sender } = ws as unknown as {
  Receiver: new (options: { isServer: boolean }) => NodeJS.WritableStream;
  Sender: { frame(data: Buffer, options: object): readonly Uint8Array[] };
};

describe("protocols, beside the libraries that speak them", () => {
  it("signs requests to AWS as its own client does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("POST", "PUT", "GET"),
        fc.array(segment, { maxLength: 3 }),
        fc.dictionary(segment, segment, { maxKeys: 3, noNullPrototype: true }),
        fc.uint8Array({ maxLength: 20 }),
        fc.constantFrom("sqs", "logs", "monitoring"),
        fc.option(fc.constant("a session")),
        async (method, segments, query, body, service, session) => {
          const path = `/${segments.map(encodeURIComponent).join("/")}`;
          const url = new URL(`https://${service}.eu-west-1.amazonaws.com${path}`);
          for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
          const credentials = {
            accessKeyId: "AKID",
            secretAccessKey: "secret",
            ...(session !== null && { sessionToken: session }),
          };
          const headers = { "content-type": "application/x-amz-json-1.1", host: url.host };
          const at = 1_700_000_000_000;
          const ours = signRequest({ method, url, headers, body, region: "eu-west-1", service, at }, credentials);
          const signer = new SignatureV4({
            credentials,
            region: "eu-west-1",
            service,
            sha256: Sha256,
            applyChecksum: false,
          });
          const theirs = await signer.sign(
            { method, protocol: "https:", hostname: url.hostname, path: url.pathname, query, headers, body },
            { signingDate: new Date(at) },
          );
          expect(ours["authorization"]).toBe(theirs.headers["authorization"]);
        },
      ),
      runs(200),
    );
  });

  it("reads the frames that ws sends, and sends frames that ws reads", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 5 }),
        fc.nat(),
        async (messages, cut) => {
          const read: Buffer[] = [];
          const onMessage = (message: Buffer) => void read.push(Buffer.from(message));
          const reader = new FrameReader(10_000, { onMessage, onPing() {}, onClose() {} });
          const frames = messages.flatMap((data) =>
            Sender.frame(Buffer.from(data), { fin: true, rsv1: false, opcode: 2, mask: false, readOnly: true }),
          );
          const bytes = Buffer.concat(frames.map((frame) => Buffer.from(frame)));
          const at = cut % (bytes.length + 1);
          for (const chunk of [bytes.subarray(0, at), bytes.subarray(at)]) reader.read(chunk);
          expect(read).toEqual(messages.map((each) => Buffer.from(each)));

          const receiver = new Receiver({ isServer: true });
          const taken: Buffer[] = [];
          receiver.on("message", (data: Buffer) => void taken.push(Buffer.from(data)));
          for (const message of messages) receiver.write(maskedFrame(2, message));
          await new Promise<void>((resolve) => void receiver.end(() => resolve()));
          expect(taken).toEqual(messages.map((each) => Buffer.from(each)));
        },
      ),
      runs(100),
    );
  });
});
