import http from "node:http";

/**
 * A forwarder that does something else with every tenth request: acknowledges it and forgets it (`lose`) or delivers it
 * twice (`repeat`), or refuses it, with or without `Retry-After` by turns, and hangs up (`refuse`).
 */
const [listen, sink, how] = process.argv.slice(2);
let n = 0;

const forward = (url, headers, body) =>
  new Promise((resolve, reject) => {
    const request = http.request({ port: sink, host: "127.0.0.1", method: "POST", path: url, headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    request.on("error", reject).end(body);
  });

http
  .createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const odd = ++n % 10 === 0;
    if (odd && how === "refuse") {
      const later = n % 20 === 0 ? { "retry-after": "1" } : {};
      response.writeHead(503, { ...later, connection: "close", "content-length": 0 }).end();
      return;
    }
    const headers = { "content-type": request.headers["content-type"], "content-length": body.length };
    if (!(odd && how === "lose")) await forward(request.url, headers, body);
    if (odd && how === "repeat") await forward(request.url, headers, body);
    response.writeHead(200, { "content-length": 0 }).end();
  })
  .listen(Number(listen), "127.0.0.1");
