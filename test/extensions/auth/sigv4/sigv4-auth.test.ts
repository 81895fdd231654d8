import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { sigV4Auth } from "../../../../src/extensions/auth/sigv4/sigv4-auth.js";
import { Refusal } from "../../../../src/plugin.js";
import { useEnvironment } from "../../../../src/runtime/kit/environment.js";
import { startSink } from "../../../exporters/harness.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { contextOf } from "../requests.js";

const NOWHERE = { AWS_SHARED_CREDENTIALS_FILE: "/nowhere/credentials" };
const KEYS = { AWS_ACCESS_KEY_ID: "AKIDENV", AWS_SECRET_ACCESS_KEY: "s3cret" };
afterEach(() => useEnvironment({}));

async function started(environment: Record<string, string>, config: object = {}, clock = new FakeClock()) {
  useEnvironment({ ...NOWHERE, ...environment });
  const context = contextOf("sigv4auth", clock);
  const extension = sigV4Auth.create(sigV4Auth.schema.parse(config), context);
  await extension.start();
  const authorize = async (host = "xray.eu-west-1.amazonaws.com") => {
    const url = new URL(`https://${host}/v1/traces`);
    return extension.clientAuthenticator!.authorize({ method: "POST", url, headers: {}, body: Buffer.from("x") });
  };
  return { ...context, authorize };
}

describe("sigv4auth", () => {
  it("signs with the keys of the environment, for what the host's name says", async () => {
    const { authorize } = await started({ ...KEYS, AWS_SESSION_TOKEN: "token" });
    const headers = await authorize();
    expect(headers["authorization"]).toMatch(/Credential=AKIDENV\/\d{8}\/eu-west-1\/xray\/aws4_request/);
    expect(headers["x-amz-security-token"]).toBe("token");
    expect((await authorize("aps-workspaces.us-west-2.amazonaws.com"))["authorization"]).toContain("/us-west-2/aps/");
  });

  it("signs for the region and service of the config, wherever it is sent", async () => {
    const { authorize } = await started(KEYS, { region: "eu-central-1", service: "osis" });
    expect((await authorize("collector.example"))["authorization"]).toContain("/eu-central-1/osis/");
    expect((await authorize())["authorization"]).toContain("/eu-central-1/osis/");
  });

  it("holds the queue where the host says neither", async () => {
    const { authorize } = await started(KEYS);
    await expect(authorize("collector.example")).rejects.toMatchObject({ kind: "permanent", status: "HTTP 401" });
  });

  it("takes the keys of a profile of the shared file, and reads them again after a while", async () => {
    const file = join(temporaryFolder(), "credentials");
    const profile = (id: string) =>
      `[other]\naws_access_key_id = AKIDOTHER\n[work]\n# a comment\naws_access_key_id = ${id}\naws_secret_access_key=s\n`;
    await writeFile(file, profile("AKIDONE"));
    const clock = new FakeClock();
    const { authorize } = await started({ AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: "work" }, {}, clock);
    expect((await authorize())["authorization"]).toContain("AKIDONE");
    await writeFile(file, profile("AKIDTWO"));
    clock.advance(301_000);
    expect((await authorize())["authorization"]).toContain("AKIDTWO");
  });

  it("asks the endpoint of its container, with its token, and again before the keys end", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const clock = new FakeClock();
    let count = 0;
    sink.respond = (response) => {
      count += 1;
      const Expiration = new Date(clock.now() + 3_600_000).toISOString();
      const keys = { AccessKeyId: `AKID${count}`, SecretAccessKey: "s", Token: "t", Expiration };
      response.end(JSON.stringify(keys));
    };
    const AWS_CONTAINER_CREDENTIALS_FULL_URI = `http://127.0.0.1:${sink.port}/creds?role=a`;
    const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN: "pod" };
    const { authorize } = await started(environment, {}, clock);
    expect((await authorize())["authorization"]).toContain("AKID1");
    expect(sink.requests[0]).toMatchObject({ path: "/creds?role=a", headers: { authorization: "pod" } });
    clock.advance(3_400_000);
    expect((await authorize())["authorization"]).toContain("AKID1");
    await expect.poll(async () => (await authorize())["authorization"]).toContain("AKID2");
  });

  it("gives the container's token to nobody else", async () => {
    const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://evil.example/creds" };
    const { authorize } = await started(environment);
    await expect(authorize()).rejects.toThrow(/neither https nor an address of this machine/);
  });

  it("holds the queue while there are no keys, and says nothing of those it has", async () => {
    const { authorize, lines } = await started({});
    const refused = await authorize().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({ kind: "permanent", status: "HTTP 401", category: "integration" });
    expect(lines.join()).toContain("new credentials cannot be had");
    expect((await started(KEYS)).lines.join()).not.toContain("s3cret");
  });

  it("refuses roles with their place", () => {
    const { error } = sigV4Auth.schema.safeParse({ assume_role: { arn: "arn:aws:iam::1:role/x" } });
    expect(error?.issues[0]).toMatchObject({ path: ["assume_role"] });
  });
});
