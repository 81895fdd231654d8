import { describe, expect, it } from "vitest";
import { importPlugin } from "../../../../src/runtime/host/plugins/import-plugin.js";
import { FakeClock } from "../../../support/fake-clock.js";

const failure = async (error: unknown) => {
  const result = await importPlugin("file:///x/p.js", () => Promise.reject(error));
  return "failure" in result ? result.failure : undefined;
};

describe("importing a plugin", () => {
  it("stops a module that does not end", async () => {
    const clock = new FakeClock();
    const loading = importPlugin("file:///x/p.js", () => new Promise(() => {}), clock);
    clock.advance(10_000);
    expect(await loading).toMatchObject({
      failure: { code: "plugin_failed", problem: expect.stringContaining("not loaded after 10 s") },
    });
  });

  it.each([
    [undefined, "threw while it was loaded: undefined"],
    ["a text", "threw while it was loaded: a text"],
    [Object.assign(new Error("x"), { stack: undefined }), "threw while it was loaded: Error: x"],
  ])("describes every thrown value: %j", async (error, problem) => {
    expect(await failure(error)).toMatchObject({ code: "plugin_failed", problem });
  });

  it.each([
    ["ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING", /inside node_modules/, /ship JavaScript/],
    ["ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", /cannot simply be stripped/, /erasableSyntaxOnly/],
  ])("knows what newer versions of Node.js say of TypeScript: %s", async (code, problem, suggestion) => {
    const found = await failure(Object.assign(new Error("TypeScript enum is not supported"), { code }));
    expect(found).toMatchObject({ code: "plugin_typescript", problem: expect.stringMatching(problem) });
    expect(found!.suggestion).toMatch(suggestion);
  });
});
