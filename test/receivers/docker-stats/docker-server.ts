import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.js";

export interface TestContainer {
  readonly id: string;
  readonly image: string;
  readonly inspection?: object;
  readonly stats?: object;
  /** A status that replaces Docker's answer about the container's use of the machine. */
  readonly status?: number;
}

/** Answers at a Unix socket as Docker's documented Engine API does: running containers, one of them, and what it uses. */
export async function startDockerServer(containers: readonly TestContainer[], oldest = "") {
  const socketPath = join(temporaryFolder(), "docker.sock");
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url!);
    const [, version = "", path = ""] = /^(?:\/v([\d.]+))?(\/.*)$/.exec(request.url!) ?? [];
    const answer = (status: number, body: object) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    if (version !== "" && oldest !== "" && Number(version.split(".")[1]) < Number(oldest.split(".")[1]))
      return answer(400, {
        message: `client version ${version} is too old. Minimum supported API version is ${oldest}`,
      });
    if (path.startsWith("/containers/json"))
      return answer(
        200,
        containers.map(({ id, image }) => ({ Id: id, Image: image })),
      );
    const [, id, what] = /^\/containers\/([^/]+)\/(json|stats\?stream=false)$/.exec(path) ?? [];
    const found = containers.find((each) => each.id === id);
    if (found === undefined) return answer(404, { message: "No such container" });
    if (what !== "json" && found.status !== undefined) return answer(found.status, { message: "it is broken" });
    return answer(200, what === "json" ? (found.inspection ?? {}) : (found.stats ?? {}));
  }).listen(socketPath);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `unix://${socketPath}`, paths };
}
