import { describe, expect, it } from "vitest";
import { pii } from "../../../../src/processors/pii/component.js";
import { piiSchema } from "../../../../src/processors/pii/config.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { logOf, processed, readLog } from "../pii-harness.js";
import { judgePeople } from "./corpus.js";

/** A hold-out set: do not look at it while improving the detectors. */
const HELD_BACK_SEED = 35;
const BOTH = { person_name: true, postal_address: true };
const treatmentOf = (detectors: object) => new PiiTreatment(piiSchema.parse({ detectors }));
const treated = (line: string, detectors: object = BOTH) => bodies(treatmentOf(detectors).treat(logs(line)))[0];

describe("names and addresses of people", () => {
  it("are ignored unless the config enables them", () => {
    const line = "Anna Schmidt lives at 12 Maple Street, Springfield";
    expect(treated(line, {})).toBe(line);
    expect(treated(line, { person_name: true })).toBe("**** lives at 12 Maple Street, Springfield");
    expect(treated(line, { postal_address: true })).toBe("Anna Schmidt lives at ****");
  });

  it.each([
    ["order placed by Anna Schmidt today", "order placed by **** today"],
    ["assigned to Schmidt, Anna", "assigned to ****"],
    ["ANNA SCHMIDT paid", "**** paid"],
    ["ask Dr. Xylander about it", "ask Dr. **** about it"],
    ["Dear Wilhelmina Quux, welcome", "Dear ****, welcome"],
    ["first_name=quux plan=pro", "first_name=**** plan=pro"],
    ['{"fullName":"Qu Uxley","n":1}', '{"fullName":"****","n":1}'],
    ["GET /s?customer_name=J%C3%BCrgen%20M%C3%BCller&p=1", "GET /s?customer_name=****&p=1"],
    ["Ludwig van der Berg called", "**** called"],
    ["клиент Иван Петров найден", "клиент **** найден"],
    ["姓名:王建国 已登记", "姓名:**** 已登记"],
    ["delivered to 221B Baker Street, London NW1 6XE today", "delivered to **** today"],
    ["delivered to Hauptstraße 5, 10117 Berlin", "delivered to ****"],
    ["livré au 12 bis rue de la Paix, 75002 Paris", "livré au ****"],
    ["write to P.O. Box 1234", "write to ****"],
    ["上海市浦东新区世纪大道100号", "****"],
  ])("are masked in %s", (line, expected) => {
    expect(treated(line)).toBe(expected);
  });

  it.each([
    "Mark the Order Service as ready in Austin",
    "Spring Boot 3 Started in Main Thread",
    'name="Red Widget Large" count=3',
    "address=tcp://node-1.internal:5432 state=ready",
    "Flight from San Francisco to Rio de Janeiro",
    "Hello World from Pod 12",
    "Der Speicherplatz 12 wurde geleert",
    "Error code 488 Via Proxy 9",
  ])("are not seen in %s", (line) => {
    expect(treated(line)).toBe(line);
  });

  it("are recognised by the names of fields", () => {
    const after = readLog(
      processed(
        pii,
        { detectors: BOTH },
        logOf(
          { customer: { lastName: "quux", shippingAddress: "7 Quux 99, Foo" } },
          { "user.first_name": "Zzyzx", "thread.name": "main" },
        ),
      ),
    );
    expect(after.body).toEqual({ customer: { lastName: "****", shippingAddress: "****" } });
    expect(after.attributes).toEqual({ "user.first_name": "****", "thread.name": "main" });
  });

  it("do not change when treated twice, with every strategy", () => {
    for (const strategy of ["mask", "hash", "partial", "redact"] as const) {
      const treatment = new PiiTreatment(
        piiSchema.parse({ strategy, hash_key: "k".repeat(32), detectors: { ...BOTH, email: strategy } }),
      );
      const once = treatment.treat(logs("Anna Schmidt, 12 Maple Street, full_name=Jo Doe a@b.io"));
      expect(bodies(once)[0]).not.toContain("Schmidt");
      expect(bodies(treatment.treat(once))).toEqual(bodies(once));
    }
  });

  it("give the same hash however a name is written", () => {
    const treatment = treatmentOf({ person_name: "mask" });
    expect(treatment.names).toContain("person_name");
    const hashing = new PiiTreatment(piiSchema.parse({ hash_key: "k".repeat(32), detectors: { person_name: "hash" } }));
    const [a, b] = bodies(hashing.treat(logs("Anna Schmidt", "ANNA SCHMIDT")));
    expect(a).toBe(b);
    expect(a).toMatch(/^hash\([\da-f]{32}\)$/);
  });

  it.each([
    "Anna ",
    "12 Maple ",
    "Street ",
    "address=",
    "rue de ",
    "都府区市",
    "王先",
    "%C3%BC",
    "Dr. ",
    "Schmidt, ",
    "'A'",
  ])("are searched in linear time, here in 256 KB of %j", (part) => {
    const text = part.repeat((256 * 1024) / Buffer.byteLength(part));
    expect(treated(text)).toBeTypeOf("string");
  });
});

describe("on names and addresses that share no list with the detectors", () => {
  const treatment = treatmentOf(BOTH);
  const { judged, ordinary, changed } = judgePeople((lines) => bodies(treatment.treat(logs(...lines))), {
    each: 400,
    ordinary: 2000,
    seeds: [HELD_BACK_SEED],
  });

  it.each([
    ["person_name", 0.8],
    ["postal_address", 0.9],
  ])("%s finds most", (kind, least) => {
    const planted = judged.filter((one) => one.kind === kind);
    const missed = planted.filter(({ isGone }) => !isGone).map(({ line }) => line);
    expect({ missed: missed.slice(0, 5), isEnough: 1 - missed.length / planted.length >= least }).toEqual({
      missed: expect.anything(),
      isEnough: true,
    });
  });

  it("changes few other lines", () => {
    expect({ wrong: changed.slice(0, 5), isFew: changed.length / ordinary < 0.02 }).toEqual({
      wrong: expect.anything(),
      isFew: true,
    });
  });
});
