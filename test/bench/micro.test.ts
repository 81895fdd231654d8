import { describe, expect, it } from "vitest";
import { runBench } from "./run-bench.js";

describe("the micro benchmark", () => {
  it("finds that every part gives what it is measured for", async () => {
    const { code, stdout } = await runBench("--scenario=micro", "--quick");
    expect([code, stdout]).toEqual([0, expect.stringContaining("from OTLP/JSON")]);
  });
});
