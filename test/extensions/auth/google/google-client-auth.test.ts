import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { googleClientAuth } from "../../../../src/extensions/auth/google/component.js";
import { useEnvironment } from "../../../../src/runtime/system/environment.js";
import { startSink } from "../../../exporters/harness.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { contextOf } from "../requests.js";

afterEach(() => useEnvironment({}));

async function google() {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  let tokens = 0;
  sink.respond = (response, { url = "" }) =>
    response.end(
      url.includes("token") ? JSON.stringify({ access_token: `t${++tokens}`, expires_in: 3600 }) : "project-of-machine",
    );
  return sink;
}

async function started(environment: Record<string, string>, config: object = {}, clock = new FakeClock()) {
  useEnvironment(environment);
  const extension = googleClientAuth.create(
    googleClientAuth.schema.parse(config),
    contextOf("googleclientauth", clock),
  );
  await extension.start();
  const { authorize, refused } = extension.clientAuthenticator!;
  const url = new URL("https://telemetry.googleapis.com/v1/traces");
  const headers = async () => authorize({ method: "POST", url, headers: {}, body: Buffer.from("x") });
  return { headers, refused: refused! };
}

describe("googleclientauth", () => {
  it("sends the token of the machine, and names the projects of the config", async () => {
    const { port } = await google();
    const environment = { GCE_METADATA_HOST: `127.0.0.1:${port}`, GOOGLE_APPLICATION_CREDENTIALS: "" };
    const { headers } = await started(environment, { project: "shop", quota_project: "payer" });
    expect(await headers()).toEqual({
      authorization: "Bearer t1",
      "x-goog-user-project": "payer",
      "x-goog-project-id": "shop",
    });
  });

  it("signs with the key of a service's account, for the scopes of the config, and uses the other header if told to", async () => {
    const { port, requests } = await google();
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const file = join(temporaryFolder(), "key.json");
    const account = {
      type: "service_account",
      client_email: "a@b",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      token_uri: `http://127.0.0.1:${port}/token`,
    };
    await writeFile(file, JSON.stringify(account));
    const config = { scopes: ["scope/a", "scope/b"], token_header: "proxy-authorization" };
    const { headers } = await started({ GOOGLE_APPLICATION_CREDENTIALS: file }, config);
    expect(await headers()).toEqual({ "proxy-authorization": "Bearer t1" });
    const assertion = new URLSearchParams(requests[0]!.body.toString()).get("assertion")!;
    const claims = JSON.parse(Buffer.from(assertion.split(".")[1]!, "base64url").toString()) as { scope: string };
    expect(claims.scope).toBe("scope/a scope/b");
  });

  it("fetches another token after one that was refused", async () => {
    const { port } = await google();
    const clock = new FakeClock();
    const environment = { GCE_METADATA_HOST: `127.0.0.1:${port}`, GOOGLE_APPLICATION_CREDENTIALS: "" };
    const { headers, refused } = await started(environment, {}, clock);
    const first = await headers();
    clock.advance(60_000);
    refused(first);
    expect(await headers()).toEqual({ authorization: "Bearer t2" });
  });

  it("refuses tokens of identity, which it cannot get", () => {
    const problems = googleClientAuth.schema.safeParse({ token_type: "id_token", audience: "a" }).error?.issues;
    expect(problems?.map(({ path }) => path.join("."))).toEqual(["token_type", "audience"]);
  });
});
