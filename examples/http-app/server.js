/**
 * An HTTP app with Sluice inside. Every request is logged; an order is confirmed only when its record is safe on disk. On
 * SIGTERM it takes no more requests, answers those it has, hands over what it emitted, and ends by itself.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { createSluice } from "sluice";

const sluice = await createSluice({
  config: { file: fileURLToPath(new URL("sluice.yaml", import.meta.url)) },
  queueDirectory: process.env.QUEUE_DIRECTORY ?? "./queue",
  env: process.env,
  resource: { "service.name": "shop" },
});
await sluice.start();

const server = createServer(async (request, response) => {
  const { method, url } = request;
  sluice.logs.emit({ name: "http.request", body: `${method} ${url}`, severity: "info", attributes: { method, url } });
  if (url === "/healthz") {
    const { state, exporters } = sluice.status();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ state, exporters }));
  } else if (method === "POST" && url === "/orders") {
    response.writeHead(await placeOrder()).end();
  } else {
    response.writeHead(404).end();
  }
});

/** The status of the answer. */
async function placeOrder() {
  try {
    await sluice.logs.emit({ name: "order.placed", body: "order placed" }, { failOnError: true });
    return 201;
  } catch {
    return 503;
  }
}

async function shutDown() {
  server.close();
  server.closeIdleConnections();
  await once(server, "close");
  await sluice.stop();
}
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, shutDown);

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`listening on ${server.address().port}`);
});
