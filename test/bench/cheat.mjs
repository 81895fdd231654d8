import http from "node:http";

/** A forwarder that does something wrong with every tenth request it acknowledges: `lose` or `repeat`. */
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
    const headers = { "content-type": request.headers["content-type"], "content-length": body.length };
    const odd = ++n % 10 === 0;
    if (!(odd && how === "lose")) await forward(request.url, headers, body);
    if (odd && how === "repeat") await forward(request.url, headers, body);
    response.writeHead(200, { "content-length": 0 }).end();
  })
  .listen(Number(listen), "127.0.0.1");
