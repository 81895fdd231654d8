import { get as httpGet } from "node:http";
import process from "node:process";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** What an issuer publishes. Follows no redirects, and takes no more than a megabyte or ten seconds. */
export async function getJson(url: URL, ca: string | undefined): Promise<Record<string, unknown>> {
  const text = await getText(url, ca);
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error(`${url.origin} answered with something else`);
  return value as Record<string, unknown>;
}

function getText(url: URL, ca: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === "https:" ? process.getBuiltinModule("node:https").get : httpGet;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options = { agent: false, signal, headers: { accept: "application/json" }, ...(ca !== undefined && { ca }) };
    const request = get(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > MAX_BYTES) request.destroy(new Error(`${url.origin} sent more than ${MAX_BYTES} bytes`));
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString("utf8"));
        else reject(new Error(`${url.origin} answered with ${response.statusCode}`));
      });
    });
    request.on("error", reject);
  });
}
