/**
 * A Fastify app with Sluice inside. Every request is logged; an order is confirmed only when its record is safe on disk. On
 * SIGTERM it takes no more requests, answers those it has, hands over what it emitted, and ends by itself.
 */
import { fileURLToPath } from "node:url";
import Fastify from "fastify";
import { createSluice } from "sluice";

const sluice = await createSluice({
  config: { file: fileURLToPath(new URL("sluice.yaml", import.meta.url)) },
  queueDirectory: process.env.QUEUE_DIRECTORY ?? "./queue",
  env: process.env,
  resource: { "service.name": "shop" },
});
await sluice.start();

const app = Fastify();

app.addHook("onRequest", async ({ method, url }) => {
  sluice.logs.emit({ name: "http.request", body: `${method} ${url}`, severity: "info", attributes: { method, url } });
});
app.addHook("onClose", () => sluice.stop());

app.get("/healthz", async () => {
  const { state, exporters } = sluice.status();
  return { state, exporters };
});

app.post("/orders", async (_request, reply) => {
  try {
    await sluice.logs.emit({ name: "order.placed", body: "order placed" }, { failOnError: true });
    return reply.code(201).send();
  } catch {
    return reply.code(503).send();
  }
});

for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => app.close());

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
console.log(`listening on ${app.server.address().port}`);
