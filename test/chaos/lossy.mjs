import http from "node:http";

/**
 * An agent that lies: it acknowledges at once and keeps what is to be delivered in memory only. The oracle must find
 * out. With `honest` behind the port it acknowledges when the backend has.
 *
 *     node test/chaos/lossy.mjs <sink port> [honest]
 */
const [sink, how] = process.argv.slice(2);
const waiting = [];

const forward = (body) =>
  new Promise((resolve) => {
    const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
    const options = { host: "127.0.0.1", port: sink, path: "/v1/logs", method: "POST", headers, timeout: 300 };
    const request = http.request(options, (response) => {
      response.resume().on("end", () => resolve(response.statusCode === 200));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false)).end(body);
  });

const server = http.createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray().catch(() => []));
  if (how === "honest") {
    response.writeHead((await forward(body)) ? 200 : 503).end();
    return;
  }
  waiting.push(body);
  response.writeHead(200).end();
});

server.listen(0, "127.0.0.1", () => {
  console.error(JSON.stringify({ msg: "listening for OTLP", http: `127.0.0.1:${server.address().port}` }));
  console.error(JSON.stringify({ msg: "ready" }));
});

for (;;) {
  const body = waiting[0];
  if (body !== undefined && (await forward(body))) waiting.shift();
  else await new Promise((resolve) => setTimeout(resolve, 10));
}
