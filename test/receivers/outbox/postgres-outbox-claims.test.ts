import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { outboxReceiver } from "../../../src/receivers/outbox/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import type { Outcome } from "../../../src/runtime/contract/debt.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { type Relay, startRelay } from "../../support/servers/relay.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";
import { heldIntake, newOutbox } from "./outbox-fixture.js";

const REFUSED = { ok: false, refusal: new Refusal("permanent", "never") } as const;
const NO_ROOM = { ok: false, refusal: new Refusal("transient", "no room") } as const;

/** Commands are one connection's, which is known by its port. */
const LOOKED_FOR_ROWS = `SELECT 1 FROM pg_stat_activity
  WHERE client_port = ANY($1::int[]) AND state = 'idle' AND query LIKE '%pg_advisory_xact_lock%'`;

describe.skipIf(postgresProgram === undefined)("claims of rows of an outbox", () => {
  let postgres: Postgres;
  let db: Client;
  const receivers: Receiver[] = [];
  const relays: Relay[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
  });

  afterAll(async () => {
    for (const receiver of receivers) await receiver.stop();
    for (const relay of relays) await relay.close();
    await postgres?.close();
  });

  async function start(config: object, intake: SetbackIntake): Promise<Receiver> {
    const receiver = await startReceiver(outboxReceiver, config, intake);
    receivers.push(receiver);
    return receiver;
  }

  /** An agent that was cut off until another has taken over all rows of the table; it gets its answers from `answer`. */
  async function takenOver(rows: readonly object[], answer: SetbackIntake["answer"]) {
    const outbox = await newOutbox(() => db, postgres.keys, { claim_after: "300ms" });
    const { table, config, add } = outbox;
    for (const row of rows) await add(row, { aggregate_key: "a" });
    const relay = await startRelay(postgres.port);
    relays.push(relay);
    const first = new SetbackIntake();
    first.answer = answer;
    const cutOff = await start({ ...config, endpoint: relay.endpoint }, first);
    await until(() => expect(first.batches).not.toHaveLength(0));
    const claims = async () => {
      const { rows } = await db.query(`SELECT claimed_by FROM ${table} ORDER BY id`);
      return rows.map(({ claimed_by }) => String(claimed_by).split("#")[0]);
    };
    const before = await claims();
    relay.cut();
    const second = heldIntake();
    await start(config, second.intake);
    await until(() => expect(second.accepts).toHaveLength(1));
    const after = await claims();
    expect(after.some((agent, i) => agent === before[i])).toBe(false);
    relay.mend();
    // It has said all that it says when it is connected again: its last command was to look for rows that wait.
    await expect
      .poll(async () => (await db.query(LOOKED_FOR_ROWS, [relay.ports()])).rows.length, { interval: 10 })
      .toBeGreaterThan(0);
    expect(await claims()).toEqual(after);
    return { ...outbox, cutOff, first, second, claims, after };
  }

  it("gives back no row that another agent has taken over while it was cut off", async () => {
    const { cutOff, second, claims, after, statuses } = await takenOver([{ n: 1 }], () => NO_ROOM);
    await cutOff.stop();
    expect(await claims()).toEqual(after);
    expect(await statuses()).toEqual(["in_flight"]);
    second.accepts[0]!();
    await expect.poll(statuses).toEqual(["delivered"]);
  });

  it("fails no row that another agent has taken over, and marks one whose data is safe all the same", async () => {
    const answers: ((outcome: Outcome) => void)[] = [];
    const held = () => new Promise<Outcome>((resolve) => answers.push(resolve));
    const failing = await takenOver([{ n: 1 }], held);
    failing.first.answer = () => REFUSED;
    answers[0]!(REFUSED);
    await until(() => expect(failing.first.setbacks).toHaveLength(1));
    await failing.cutOff.stop();
    expect(await failing.statuses()).toEqual(["in_flight"]);
    failing.second.accepts[0]!();
    await expect.poll(failing.statuses).toEqual(["delivered"]);
    const safe = await takenOver([{ n: 1 }], held);
    answers[1]!(ACCEPTED);
    await expect.poll(safe.statuses).toEqual(["delivered"]);
    safe.second.accepts[0]!();
  });

  it("does not begin with a row that waited behind another and was taken over meanwhile", async () => {
    const { intake, accepts } = heldIntake();
    const { cutOff, first, second, statuses } = await takenOver([{ n: 1 }, { n: 2 }], intake.answer);
    accepts[0]!();
    await expect.poll(statuses).toEqual(["delivered", "in_flight"]);
    await cutOff.stop();
    expect(first.batches).toHaveLength(1);
    expect(await statuses()).toEqual(["delivered", "in_flight"]);
    second.accepts[0]!();
    await until(() => expect(second.accepts).toHaveLength(2));
    second.accepts[1]!();
    await expect.poll(statuses).toEqual(["delivered", "delivered"]);
  });

  it("marks a row whose data is safe even if another agent has released it, and does not hand it in twice", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, { max_in_flight: 1 });
    await add({ n: 1 });
    const { intake, accepts } = heldIntake();
    await start(config, intake);
    await until(() => expect(accepts).toHaveLength(1));
    await db.query(`UPDATE ${table} SET status = 'pending', claimed_by = NULL, claimed_until = NULL`);
    accepts[0]!();
    await expect.poll(statuses).toEqual(["delivered"]);
    expect(intake.batches).toHaveLength(1);
  });

  it("lets rows wait again whose agent could not give them back", async () => {
    const { table, config, add, states, statuses } = await newOutbox(() => db, postgres.keys, { claim_after: "300ms" });
    await add({ n: 1 });
    const intake = new SetbackIntake();
    intake.answer = () => NO_ROOM;
    const stopping = await start(config, intake);
    await until(() => expect(intake.batches).not.toHaveLength(0));
    const operator = await postgres.connect();
    await operator.query("BEGIN");
    await operator.query(`SELECT 1 FROM ${table} FOR UPDATE`);
    await stopping.stop();
    await operator.query("COMMIT");
    expect(await states()).toMatchObject([{ status: "in_flight", claims: 1 }]);
    await start(config, new SetbackIntake());
    await expect.poll(statuses).toEqual(["delivered"]);
  });

  it("do not count for a row that waits for another one of its key, however often agents end over that", async () => {
    const { config, add, table } = await newOutbox(() => db, postgres.keys, { directory: temporaryFolder() });
    for (let n = 0; n < 3; n++) await add({ n }, { aggregate_key: "a" });
    const claims = async () =>
      (await db.query(`SELECT claims FROM ${table} ORDER BY id`)).rows.map((row: { claims: number }) => row.claims);
    const lives: ReturnType<typeof heldIntake>[] = [];
    for (let life = 1; life <= 3; life++) {
      // The new process takes the rows of the one before, which might as well have ended.
      const held = heldIntake();
      lives.push(held);
      await start(config, held.intake);
      await until(() => expect(held.accepts).toHaveLength(1));
      expect(await claims()).toEqual([life, 0, 0]);
    }
    for (const { intake, accepts } of lives) {
      intake.answer = async () => ACCEPTED;
      for (const accept of accepts) accept();
    }
  });
});
