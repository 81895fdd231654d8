import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { rabbitmqProgram, startRabbitMq } from "../../../support/servers/rabbitmq.js";
import { CLIENT_TLS, FIRST_PASSWORD, type SecureServer, testSecurity } from "../../../support/servers/secure-broker.js";
import { TLS_FILES } from "../../net/tls/files.js";

interface SecureRabbitMq extends SecureServer {
  readonly plain: string;
  readonly tls: string;
}

/** Over TLS everybody needs a certificate, and ann a password. */
async function startSecureRabbitMq(): Promise<SecureRabbitMq> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-rabbitmq-tls-"));
  const cert = join(folder, "cert");
  copyFileSync(TLS_FILES.serverCert, cert);
  const tlsPort = await freePort();
  const rabbit = await startRabbitMq({
    "listeners.ssl.default": `127.0.0.1:${tlsPort}`,
    "ssl_options.cacertfile": TLS_FILES.ca,
    "ssl_options.certfile": cert,
    "ssl_options.keyfile": TLS_FILES.serverKey,
    "ssl_options.verify": "verify_peer",
    "ssl_options.fail_if_no_peer_cert": "true",
  });
  await rabbit.control("add_user", "ann", FIRST_PASSWORD);
  await rabbit.control("set_permissions", "ann", ".*", ".*", ".*");
  let names = 0;
  return {
    server: rabbit.server,
    plain: `amqp://127.0.0.1:${rabbit.port}`,
    tls: `amqps://127.0.0.1:${tlsPort}`,
    async pair(connection) {
      const queue = `logs-${names++}`;
      return {
        exporters: { rabbitmq: { connection, routing: { routing_key: queue } } },
        receivers: { rabbitmq: { connection, queue, declare: { type: "classic" } } },
      };
    },
    setPassword: (password) => rabbit.control("change_password", "ann", password),
    async setCertificate(file) {
      copyFileSync(file, cert);
    },
    async close() {
      await rabbit.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(rabbitmqProgram === undefined)("rabbitmq with TLS and users", () => {
  const plain = (password: string) => ({ plain: { username: "ann", password } });
  const auth = plain(FIRST_PASSWORD);
  testSecurity<SecureRabbitMq>({
    start: startSecureRabbitMq,
    right: {
      "a user with a password": ({ plain: endpoint }) => ({ endpoint, auth }),
      "TLS with a client certificate": ({ tls }) => ({ endpoint: tls, auth, tls: CLIENT_TLS }),
      "TLS to another name": ({ tls }) => ({
        endpoint: tls.replace("127.0.0.1", "localhost"),
        auth,
        tls: { ...CLIENT_TLS, server_name_override: "localhost" },
      }),
    },
    wrong: {
      "a virtual host that is not there": ({ plain: endpoint }) => ({
        access: { endpoint, auth, vhost: "none" },
        says: /the virtual host none does not exist, or the user ann may not use it/,
      }),
      "no client certificate": ({ tls }) => ({
        access: { endpoint: tls, auth, tls: { ca_file: TLS_FILES.ca } },
        says: /certificate required/,
      }),
      "TLS where the server has none": ({ plain: endpoint }) => ({
        access: { endpoint: endpoint.replace("amqp:", "amqps:"), auth, tls: CLIENT_TLS },
        says: /does the server use TLS on this port/,
      }),
    },
    access: ({ tls: endpoint }, password, tls) => ({ endpoint, auth: plain(password), tls }),
    elsewhere: (_server, host, port) => ({
      endpoint: `amqps://${host}:${port}`,
      auth,
      tls: CLIENT_TLS,
      connection_timeout: "500ms",
    }),
    words: { password: /ACCESS.REFUSED/, silence: /ETIMEDOUT/ },
  });
});
