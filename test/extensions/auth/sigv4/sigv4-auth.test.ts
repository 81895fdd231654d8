import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { sigV4Auth } from "../../../../src/extensions/auth/sigv4/component.js";
import { Refusal } from "../../../../src/plugin.js";
import { useEnvironment } from "../../../../src/runtime/system/environment.js";
import { startSink } from "../../../exporters/harness.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { contextOf } from "../requests.js";

const NOWHERE = {
  AWS_SHARED_CREDENTIALS_FILE: "/nowhere/credentials",
  AWS_CONFIG_FILE: "/nowhere/config",
  AWS_EC2_METADATA_DISABLED: "true",
};
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

async function sharedFiles(credentials: string, config: string) {
  const folder = temporaryFolder();
  const files = { AWS_SHARED_CREDENTIALS_FILE: join(folder, "credentials"), AWS_CONFIG_FILE: join(folder, "config") };
  await writeFile(files.AWS_SHARED_CREDENTIALS_FILE, credentials);
  await writeFile(files.AWS_CONFIG_FILE, config);
  return files;
}

describe("sigv4auth", () => {
  it("signs with the keys of the environment, for the service and region in the host name", async () => {
    const { authorize } = await started({ ...KEYS, AWS_SESSION_TOKEN: "token" });
    const headers = await authorize();
    expect(headers["authorization"]).toMatch(/Credential=AKIDENV\/\d{8}\/eu-west-1\/xray\/aws4_request/);
    expect(headers["x-amz-security-token"]).toBe("token");
    expect((await authorize("aps-workspaces.us-west-2.amazonaws.com"))["authorization"]).toContain("/us-west-2/aps/");
  });

  it("signs for the region and service of the config, for every host", async () => {
    const { authorize } = await started(KEYS, { region: "eu-central-1", service: "osis" });
    expect((await authorize("collector.example"))["authorization"]).toContain("/eu-central-1/osis/");
    expect((await authorize())["authorization"]).toContain("/eu-central-1/osis/");
  });

  it("holds the queue if the host names neither", async () => {
    const { authorize } = await started(KEYS);
    await expect(authorize("collector.example")).rejects.toMatchObject({ kind: "permanent", status: "HTTP 401" });
  });

  it("uses the keys of a profile of the shared file, and reads them again after a while", async () => {
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

  it.each([
    [
      "does not exist",
      "[other]\naws_access_key_id=a\naws_secret_access_key=s\n",
      "",
      /profile work.*does not exist in/,
    ],
    ["has no secret", "[work]\naws_access_key_id=a\n", "", /profile work.*has no keys in/],
    ["needs a process", "", "[profile work]\ncredential_process = /bin/keys\n", /profile work.*by credential_process/],
    ["needs single sign-on", "", "[profile work]\nsso_session = my\n", /profile work.*by sso_session/],
    ["is another kind of section", "", "[work]\naws_access_key_id=a\naws_secret_access_key=s\n", /does not exist/],
  ])("uses no other keys if the profile of AWS_PROFILE %s", async (_, credentials, config, message) => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    sink.respond = (response) => response.end(JSON.stringify({ AccessKeyId: "AKIDOTHER", SecretAccessKey: "s" }));
    const { authorize } = await started({
      ...(await sharedFiles(credentials, config)),
      AWS_PROFILE: "work",
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${sink.port}/creds`,
    });
    const error = await authorize().catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ kind: "permanent", status: "HTTP 401", message: expect.stringMatching(message) });
    expect(sink.requests).toEqual([]);
  });

  it("names the files in which it looked for a profile", async () => {
    const files = await sharedFiles("", "");
    const { authorize } = await started({ ...files, AWS_PROFILE: "work" });
    const names = `${files.AWS_SHARED_CREDENTIALS_FILE} and ${files.AWS_CONFIG_FILE}`;
    await expect(authorize()).rejects.toThrow(names);
  });

  it("uses the keys of a profile that is only in the config file", async () => {
    const config = "[default]\naws_access_key_id=AKIDDEFAULT\naws_secret_access_key=s\n[profile work]\n";
    const files = await sharedFiles("", `${config}aws_access_key_id = AKIDWORK\naws_secret_access_key = s=/+\n`);
    expect((await (await started({ ...files, AWS_PROFILE: "work" })).authorize())["authorization"]).toContain(
      "AKIDWORK",
    );
    expect((await (await started(files)).authorize())["authorization"]).toContain("AKIDDEFAULT");
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

  it("gives the container's token to no other host", async () => {
    const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://evil.example/creds" };
    const { authorize } = await started(environment);
    await expect(authorize()).rejects.toThrow(/neither https nor an address of this machine/);
  });

  it("keeps the queue while there are no keys, and reveals no key", async () => {
    const { authorize, lines } = await started({});
    const refused = await authorize().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({ kind: "permanent", status: "HTTP 401", category: "integration" });
    expect(lines.join()).toContain("new credentials cannot be fetched");
    expect((await started(KEYS)).lines.join()).not.toContain("s3cret");
  });

  describe("on an instance", () => {
    /** The metadata service of an instance, by its contract: no answer without a token requested by PUT. */
    async function startMetadata(clock: FakeClock) {
      const sink = await startSink();
      onTestFinished(() => sink.close());
      let keys = 0;
      sink.respond = (response, { method, url: path, headers }) => {
        const isSeconds = /^\d+$/.test(String(headers["x-aws-ec2-metadata-token-ttl-seconds"]));
        if (method === "PUT" && path === "/latest/api/token" && isSeconds) return response.end("tok=");
        if (headers["x-aws-ec2-metadata-token"] !== "tok=") return response.writeHead(401).end();
        const list = "/latest/meta-data/iam/security-credentials/";
        if (path === list) return response.end("the-role");
        if (path !== `${list}the-role`) return response.writeHead(404).end();
        keys += 1;
        const Expiration = new Date(clock.now() + 3_600_000).toISOString();
        const found = { Code: "Success", AccessKeyId: `AKID${keys}`, SecretAccessKey: "s", Token: "t", Expiration };
        return response.end(JSON.stringify(found));
      };
      const AWS_EC2_METADATA_SERVICE_ENDPOINT = `http://127.0.0.1:${sink.port}`;
      return { sink, environment: { AWS_EC2_METADATA_DISABLED: "false", AWS_EC2_METADATA_SERVICE_ENDPOINT } };
    }

    it("asks its metadata service for a token and the keys of its role, and again before they end", async () => {
      const clock = new FakeClock();
      const { environment } = await startMetadata(clock);
      const { authorize } = await started(environment, {}, clock);
      const headers = await authorize();
      expect(headers["authorization"]).toContain("AKID1");
      expect(headers["x-amz-security-token"]).toBe("t");
      clock.advance(3_400_000);
      expect((await authorize())["authorization"]).toContain("AKID1");
      await expect.poll(async () => (await authorize())["authorization"]).toContain("AKID2");
    });

    it("asks no service if configured so, and never one that is neither local nor AWS", async () => {
      const { sink, environment } = await startMetadata(new FakeClock());
      const off = await started({ ...environment, AWS_EC2_METADATA_DISABLED: "true" });
      await expect(off.authorize()).rejects.toThrow(/has AWS keys/);
      expect(sink.requests).toHaveLength(0);
      const far = { ...environment, AWS_EC2_METADATA_SERVICE_ENDPOINT: "http://evil.example" };
      await expect((await started(far)).authorize()).rejects.toThrow(/neither https nor an address of this machine/);
    });

    it("reports missing keys if nothing answers, and retries a service that fails", async () => {
      const { sink, environment } = await startMetadata(new FakeClock());
      sink.respond = (response) => response.writeHead(503).end();
      await expect((await started(environment)).authorize()).rejects.toMatchObject({ kind: "transient" });
      const nobody = { ...environment, AWS_EC2_METADATA_SERVICE_ENDPOINT: "http://127.0.0.1:1" };
      await expect((await started(nobody)).authorize()).rejects.toMatchObject({ kind: "permanent" });
    });
  });

  describe("with a role", () => {
    const ARN = "arn:aws:iam::1:role/x";
    const region = { region: "eu-west-1" };

    /** STS by its contract: a form in, XML out. */
    async function startSts(clock: FakeClock) {
      const sink = await startSink();
      onTestFinished(() => sink.close());
      const forms: URLSearchParams[] = [];
      sink.respond = (response) => {
        const form = new URLSearchParams(sink.requests.at(-1)!.body.toString());
        forms.push(form);
        const end = new Date(clock.now() + 3_600_000).toISOString();
        const keys = `<AccessKeyId>ASIA${forms.length}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>`;
        const credentials = `<Credentials>${keys}<SessionToken>role-token</SessionToken><Expiration>${end}</Expiration></Credentials>`;
        const action = form.get("Action");
        response.end(`<${action}Response><${action}Result>${credentials}</${action}Result></${action}Response>`);
      };
      return { sink, forms, environment: { AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${sink.port}` } };
    }

    it("signs with the keys of the role, fetched with its own keys, and again before they end", async () => {
      const clock = new FakeClock();
      const { sink, forms, environment } = await startSts(clock);
      const config = { ...region, assume_role: { arn: ARN, session_name: "edge", sts_region: "us-east-1" } };
      const { authorize } = await started({ ...KEYS, ...environment }, config, clock);
      const headers = await authorize();
      expect(headers["authorization"]).toContain("Credential=ASIA1/");
      expect(headers["x-amz-security-token"]).toBe("role-token");
      expect(Object.fromEntries(forms[0]!)).toEqual({
        ...{ Action: "AssumeRole", Version: "2011-06-15", RoleArn: ARN, RoleSessionName: "edge" },
      });
      expect(sink.requests[0]!.headers["authorization"]).toMatch(/Credential=AKIDENV\/\d{8}\/us-east-1\/sts\//);
      clock.advance(3_400_000);
      expect((await authorize())["authorization"]).toContain("ASIA1");
      await expect.poll(async () => (await authorize())["authorization"]).toContain("ASIA2");
    });

    it("sends the token of a web identity as its file has it at that time, without keys of its own", async () => {
      const clock = new FakeClock();
      const { sink, forms, environment } = await startSts(clock);
      const file = join(temporaryFolder(), "token");
      await writeFile(file, "jwt-1\n");
      const config = { ...region, assume_role_with_web_identity: { arn: ARN, token_file: file } };
      const { authorize } = await started(environment, config, clock);
      expect((await authorize())["authorization"]).toContain("ASIA1");
      await writeFile(file, "jwt-2\n");
      clock.advance(3_601_000);
      expect((await authorize())["authorization"]).toContain("ASIA2");
      expect(forms.map((form) => form.get("WebIdentityToken"))).toEqual(["jwt-1", "jwt-2"]);
      expect(sink.requests[0]!.headers["authorization"]).toBeUndefined();
    });

    it("uses the web identity in the environment of a pod", async () => {
      const { forms, environment } = await startSts(new FakeClock());
      const file = join(temporaryFolder(), "token");
      await writeFile(file, "jwt");
      const pod = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: ARN, AWS_REGION: "eu-west-1" };
      const { authorize } = await started({ ...environment, ...pod });
      expect((await authorize())["authorization"]).toContain("ASIA1");
      expect(forms[0]!.get("RoleArn")).toBe(ARN);
    });

    it("holds the queue for a role that is denied, and retries when it is asked to wait", async () => {
      const { sink, environment } = await startSts(new FakeClock());
      const config = { ...region, assume_role: { arn: ARN } };
      const answer = (code: string) => {
        sink.respond = (response) =>
          response.writeHead(400).end(`<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>`);
      };
      answer("AccessDenied");
      const denied = await started({ ...KEYS, ...environment }, config);
      await expect(denied.authorize()).rejects.toMatchObject({ kind: "permanent", status: "HTTP 401" });
      await expect(denied.authorize()).rejects.toThrow(/does not give the keys of arn.*AccessDenied/);
      answer("Throttling");
      const busy = await started({ ...KEYS, ...environment }, config);
      await expect(busy.authorize()).rejects.toMatchObject({ kind: "transient" });
    });

    it("sends no keys to a service that is neither local nor secure", async () => {
      const config = { ...region, assume_role: { arn: ARN } };
      const { authorize } = await started({ ...KEYS, AWS_ENDPOINT_URL_STS: "http://evil.example" }, config);
      await expect(authorize()).rejects.toThrow(/neither https nor an address of this machine/);
    });
  });
});
