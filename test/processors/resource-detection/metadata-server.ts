import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** The answer for a path, if the request meets the demands of the service; `null` is never answered. */
export type MetadataAnswers = Readonly<Record<string, string | object | null>>;

export interface MetadataServer {
  readonly url: string;
  readonly seen: readonly string[];
}

/**
 * Metadata services as their vendors document them: EC2 requires a token requested by PUT, Google and Azure require
 * their header. Stops with the test.
 */
export async function startMetadataServer(answers: MetadataAnswers): Promise<MetadataServer> {
  const seen: string[] = [];
  const listener: RequestListener = (request, response) => {
    const url = request.url ?? "";
    const path = url.split("?")[0]!;
    seen.push(`${request.method} ${url}`);
    if (path === "/latest/api/token") {
      const isRight = request.method === "PUT" && request.headers["x-aws-ec2-metadata-token-ttl-seconds"] !== undefined;
      response.writeHead(isRight ? 200 : 405).end("t0ken");
      return;
    }
    if (!isPermitted(request, path)) return void response.writeHead(401).end();
    const answer = answers[path];
    if (answer === null) return;
    if (path.startsWith("/computeMetadata/")) response.setHeader("Metadata-Flavor", "Google");
    response.writeHead(answer === undefined ? 404 : 200);
    response.end(typeof answer === "object" ? JSON.stringify(answer) : answer);
  };
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function isPermitted({ headers }: IncomingMessage, path: string): boolean {
  if (path.startsWith("/latest/")) return headers["x-aws-ec2-metadata-token"] === "t0ken";
  if (path.startsWith("/metadata/")) return headers["metadata"] === "true";
  if (path.startsWith("/computeMetadata/")) return headers["metadata-flavor"] === "Google";
  return true;
}
