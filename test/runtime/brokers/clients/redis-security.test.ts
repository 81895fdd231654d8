import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { describe } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { redisProgram, startRedis } from "../../../support/servers/redis.js";
import { CLIENT_TLS, FIRST_PASSWORD, type SecureServer, testSecurity } from "../../../support/servers/secure-broker.js";
import { TLS_FILES } from "../../net/tls/files.js";

interface SecureRedis extends SecureServer {
  readonly plain: string;
  readonly tls: string;
}

/** Every client needs a certificate over TLS, and at first no password. ann may do everything with a password. */
async function startSecureRedis(): Promise<SecureRedis> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-redis-tls-"));
  const at = (name: string) => join(folder, name);
  const tlsPort = await freePort();
  copyFileSync(TLS_FILES.serverCert, at("cert"));
  const writeUsers = (password: string) =>
    writeFileSync(
      at("users"),
      `user default on >${password} ~* &* +@all\nuser ann on >${password} ~* &* +@all\nuser test on nopass +@admin\n`,
    );
  writeUsers(FIRST_PASSWORD);
  const redis = await startRedis([
    ...["--tls-port", String(tlsPort), "--tls-cert-file", at("cert"), "--tls-key-file", TLS_FILES.serverKey],
    ...["--tls-ca-cert-file", TLS_FILES.ca, "--aclfile", at("users")],
  ]);
  let names = 0;
  return {
    server: redis.server,
    plain: redis.endpoint,
    tls: `127.0.0.1:${tlsPort}`,
    async pair(access) {
      const keys = { ...access, logs: { stream: `logs-${names++}` } };
      return { exporters: { redis_stream: keys }, receivers: { redis_stream: { ...keys, claim_after: "1s" } } };
    },
    async setPassword(password) {
      writeUsers(password);
      const admin = new Redis(redis.port, { username: "test", password: "any", enableReadyCheck: false });
      await admin.call("ACL", "LOAD").finally(() => admin.disconnect());
    },
    async setCertificate(file) {
      copyFileSync(file, at("cert"));
    },
    async close() {
      await redis.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(redisProgram === undefined)("redis with TLS and users", () => {
  const ann = { username: "ann", password: FIRST_PASSWORD };
  testSecurity<SecureRedis>({
    start: startSecureRedis,
    right: {
      "the server's password": ({ plain }) => ({ endpoint: plain, password: FIRST_PASSWORD }),
      "a user of its ACL": ({ plain }) => ({ endpoint: plain, ...ann }),
      "TLS with a client certificate": ({ tls }) => ({ endpoint: tls, ...ann, tls: CLIENT_TLS }),
      "TLS to another name": ({ tls }) => ({
        endpoint: tls.replace("127.0.0.1", "127.1"),
        ...ann,
        tls: { ...CLIENT_TLS, server_name_override: "localhost" },
      }),
    },
    wrong: {
      "no password": ({ plain }) => ({ access: { endpoint: plain }, says: /NOAUTH/ }),
      "another user": ({ plain }) => ({ access: { endpoint: plain, ...ann, username: "bob" }, says: /WRONGPASS/ }),
      "no client certificate": ({ tls }) => ({
        access: { endpoint: tls, ...ann, tls: { ca_file: TLS_FILES.ca } },
        says: /certificate required/,
      }),
      "no TLS where the server wants it": ({ tls }) => ({
        access: { endpoint: tls, ...ann },
        says: /closed|ECONNRESET|wrong version/,
      }),
      "TLS where the server has none": ({ plain }) => ({
        access: { endpoint: plain, ...ann, tls: CLIENT_TLS, connect_timeout: "1s" },
        says: /wrong version number|packet length|timed out|ETIMEDOUT/i,
      }),
    },
    access: ({ tls }, password, files) => ({ endpoint: tls, ...ann, password, tls: files }),
    elsewhere: (_server, host, port) => ({
      endpoint: `${host}:${port}`,
      ...ann,
      tls: CLIENT_TLS,
      connect_timeout: "500ms",
    }),
    words: { password: /WRONGPASS/, silence: /ETIMEDOUT|no answer/ },
  });
});
