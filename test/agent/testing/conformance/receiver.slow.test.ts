import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import {
  Batch,
  batchFromJson,
  defineReceiver,
  type Intake,
  type Outcome,
  type Receiver,
} from "../../../../src/plugin.js";
import { type ClientAnswer, type ReceiverConformanceOptions, receiverConformance } from "../../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../../support/limits.js";
import { failuresOf } from "./outcomes.js";

const ONCE = "hands in everything once, with many clients at the same time (logs)";
const TOLD = "tells each client what became of its records (logs)";
const ROOM = "asks clients to try again while the intake has no room (logs)";
const WAITS = "waits for the answers to what it handed in when it is stopped (logs)";
const STOPPED = "takes nothing more once it is stopped (logs)";
const AGAIN = "can be stopped twice, without a start, and be started again at the same port (logs)";
const PART = "refuses what it has read only in part when it is stopped, and waits for no silent client (logs)";

/** A small receiver over HTTP, to be broken by those who extend it. */
class Small implements Receiver {
  protected readonly port: number;
  protected readonly intake: Intake;
  protected server: Server | undefined;
  protected readonly working = new Set<Promise<unknown>>();

  constructor(port: number, intake: Intake) {
    this.port = port;
    this.intake = intake;
  }

  async start(): Promise<void> {
    this.server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of request) chunks.push(chunk as Buffer);
      } catch {
        return;
      }
      const work = this.take(Batch.admit("logs", Buffer.concat(chunks)));
      this.working.add(work);
      response.writeHead(this.status(await work), { connection: "close" }).end();
      this.working.delete(work);
    });
    await new Promise<void>((resolve, reject) => {
      this.server!.once("error", reject).listen(this.port, "127.0.0.1", resolve);
    });
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server?.close(resolve) ?? resolve(undefined));
    await Promise.all(this.working);
    this.server?.closeIdleConnections();
    setImmediate(() => this.server?.closeAllConnections());
    if (this.server?.listening) await closed;
  }

  protected take(batch: Batch): Promise<Outcome> {
    return this.intake.accept(batch);
  }

  protected status(outcome: Outcome): number {
    if (outcome.ok) return 200;
    return outcome.refusal.kind === "permanent" ? 400 : 503;
  }
}

const answerOf = (status: number): ClientAnswer =>
  status === 200 ? "accepted" : status === 503 ? "retry" : "rejected";

const CLIENT: Omit<ReceiverConformanceOptions, "config"> = {
  async send(batch, port) {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.from(batch.bytes) });
    return answerOf(response.status);
  },
  async sendPart(batch, port) {
    const socket = connect(port, "127.0.0.1");
    const answer = new Promise<ClientAnswer>((resolve) => {
      socket.on("error", () => {}).on("close", () => resolve("unreachable"));
      socket.on("data", (chunk) => resolve(answerOf(Number(String(chunk).split(" ")[1]))));
    });
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${batch.byteLength}\r\n\r\n`;
    await new Promise<void>((resolve) => socket.write(`${head}x`, () => resolve()));
    return { answer };
  },
};

interface Tried {
  /** The cases that are looked at; the others may take long to fail. All unless told. */
  readonly only?: readonly string[];
  readonly patienceMs?: number;
}

function failures(make: typeof Small, { only, patienceMs = 4000 }: Tried = {}): Promise<Record<string, string>> {
  const factory = defineReceiver({
    type: "tried",
    signals: ["logs"],
    create: (config, { intakes }) => new make(Number(config["port"]), intakes.logs!),
  });
  const cases = receiverConformance(factory, { ...CLIENT, config: (port) => ({ port }), seed: 3, patienceMs });
  return failuresOf(cases.filter(({ name }) => only?.includes(name) ?? true));
}

describe("the conformance suite for receivers", () => {
  it("has nothing against a receiver that keeps to the contract", async () => {
    expect(await failures(Small, { patienceMs: CONDITION_LIMIT_MS })).toEqual({});
  });

  it("finds a receiver that loses batches, or hands them in twice", async () => {
    let count = 0;
    class Lossy extends Small {
      protected override async take(batch: Batch) {
        return count++ % 3 === 0 ? ({ ok: true, rejected: 0, message: "" } as const) : super.take(batch);
      }
    }
    expect((await failures(Lossy, { only: [ONCE] }))[ONCE]).toMatch(
      /records were taken from clients and never handed in/,
    );
    class Doubling extends Small {
      protected override async take(batch: Batch) {
        await super.take(batch);
        return super.take(batch);
      }
    }
    expect((await failures(Doubling, { only: [ONCE] }))[ONCE]).toMatch(/^record r\d+ was handed in 2 times/);
  });

  it("finds a receiver that answers before it knows", async () => {
    class Hasty extends Small {
      protected override async take(batch: Batch): Promise<Outcome> {
        void super.take(batch);
        return { ok: true, rejected: 0, message: "" };
      }
    }
    const found = await failures(Hasty);
    expect(found[TOLD]).toMatch(/^a client was told "accepted", and "\w+" was true/);
    expect(found[ROOM]).toBe('the intake had no room, and a client was told "accepted"');
    expect(found).toHaveProperty([WAITS]);
  });

  it("finds a receiver that does not wait for answers when it is stopped", async () => {
    class Impatient extends Small {
      override async stop() {
        this.server?.close();
      }
    }
    expect((await failures(Impatient, { only: [WAITS] }))[WAITS]).toBe(
      "stop ended before what was handed in had been answered",
    );
  });

  it("detects a receiver that tells clients to drop data that they should retry", async () => {
    class Harsh extends Small {
      protected override status({ ok }: Outcome) {
        return ok ? 200 : 400;
      }
    }
    const found = await failures(Harsh);
    expect(found[TOLD]).toBe('a client was told "rejected", and "retry" was true');
    expect(found[ROOM]).toBe('the intake had no room, and a client was told "rejected"');
  });

  it("finds a receiver that cuts off its clients when it is stopped", async () => {
    class Rude extends Small {
      override async stop() {
        this.server?.close();
        this.server?.closeAllConnections();
        await Promise.all(this.working);
      }
    }
    expect((await failures(Rude))[WAITS]).toMatch(/clients were told "unreachable" and "unreachable"/);
  });

  it("finds a receiver that goes on when it is stopped", async () => {
    const left: Server[] = [];
    class Zombie extends Small {
      override async stop() {
        left.push(this.server!);
        await Promise.all(this.working);
      }
    }
    const found = await failures(Zombie, { only: [STOPPED, AGAIN] });
    for (const server of left) server?.close();
    expect(found[STOPPED]).toBe('it was stopped, and a client was told "accepted"');
    expect(found[AGAIN]).toMatch(/EADDRINUSE/);
  });

  it("finds a receiver that waits for a silent client", async () => {
    const left: Server[] = [];
    class Patient extends Small {
      override async stop() {
        const { server } = this;
        if (server === undefined || !server.listening) return;
        left.push(server);
        await new Promise((resolve) => server.close(resolve));
      }
    }
    const found = await failures(Patient, { only: [PART], patienceMs: 2000 });
    for (const server of left) server.closeAllConnections();
    expect(found[PART]).toBe("stop did not end");
  });

  it("finds a receiver that keeps what it reserved", async () => {
    class Hoarding extends Small {
      protected override async take(batch: Batch) {
        this.intake.reserve(batch.byteLength);
        return super.take(batch);
      }
    }
    expect((await failures(Hoarding, { only: [ONCE], patienceMs: 5000 }))[ONCE]).toMatch(
      /^\d+ reserved bytes were never released/,
    );
  });

  it("starts and stops a receiver that makes its data itself", async () => {
    const ticking = (waits: boolean) =>
      defineReceiver({
        type: "ticking",
        signals: ["logs"],
        create(_config, { intakes }) {
          let timer: NodeJS.Timeout | undefined;
          let working: Promise<unknown> = Promise.resolve();
          const tick = async () => {
            const resourceLogs = [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "tick" } }] }] }];
            await intakes.logs!.accept(batchFromJson("logs", JSON.stringify({ resourceLogs })));
            timer = timer && setTimeout(begin, 1);
          };
          const begin = () => {
            working = tick();
          };
          return {
            async start() {
              timer = setTimeout(begin, 1);
            },
            async stop() {
              clearTimeout(timer);
              timer = undefined;
              if (waits) await working;
            },
          };
        },
      });
    const options = { config: () => ({}), patienceMs: CONDITION_LIMIT_MS };
    expect(await failuresOf(receiverConformance(ticking(true), options))).toEqual({});
    expect(await failuresOf(receiverConformance(ticking(false), options))).toEqual({
      [WAITS]: "stop ended before what was handed in had been answered",
    });
  });
});
