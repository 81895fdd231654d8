import { get as httpGet } from "node:http";
import process from "node:process";
import { readAnswer } from "../../../runtime/kit.js";

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
      readAnswer(response, MAX_BYTES)
        .then((bytes) => {
          if (response.statusCode === 200) resolve(bytes.toString("utf8"));
          else reject(new Error(`${url.origin} answered with ${response.statusCode}`));
        })
        .catch((error: Error) => reject(new Error(`${url.origin}: ${error.message}`, { cause: error })));
    });
    request.on("error", reject);
  });
}
