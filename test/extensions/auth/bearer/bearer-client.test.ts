import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bearerTokenAuth } from "../../../../src/extensions/auth/bearer/component.js";
import type { ClientAuthRequest } from "../../../../src/runtime/contract/auth.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { contextOf } from "../requests.js";

async function started(config: object, clock?: FakeClock) {
  const extension = bearerTokenAuth.create(bearerTokenAuth.schema.parse(config), contextOf("bearertokenauth", clock));
  await extension.start();
  const shown = () => extension.clientAuthenticator!.authorize({} as ClientAuthRequest);
  return { shown, stop: () => extension.stop() };
}

describe("bearertokenauth of an exporter", () => {
  it.each([
    [{ token: "one" }, { authorization: "Bearer one" }],
    [{ tokens: ["one", "two"] }, { authorization: "Bearer one" }],
    [{ token: "one", scheme: "", header: "X-Api-Key" }, { "x-api-key": "one" }],
    [{ token: "one", scheme: "Api-Token" }, { authorization: "Api-Token one" }],
  ])("sends %o as %o", async (config, headers) => {
    const { shown } = await started(config);
    expect(shown()).toEqual(headers);
    expect(shown()).toBe(shown());
  });

  it("sends the first token of a file, and the next one when the file has changed", async () => {
    const clock = new FakeClock();
    const filename = join(temporaryFolder(), "token");
    await writeFile(filename, "one\n");
    const { shown, stop } = await started({ filename }, clock);
    expect(shown()).toEqual({ authorization: "Bearer one" });
    await writeFile(filename, "second\n");
    const later = () => {
      clock.advance(5000);
      return shown();
    };
    await expect.poll(later).toEqual({ authorization: "Bearer second" });
    await stop();
  });
});
