import { parseArgs } from "node:util";
import "./register.js";

/**
 * `npm run way`: the files and functions that a request enters, in their order, when everything is warm. The subject is an
 * embedded Sluice that gets OTLP/HTTP protobuf of three records and sends it on: `warm` without a queue, `queue` with a
 * filter and a queue on disk. `reload` is a reload of an agent that exchanges a processor.
 */
const { values } = parseArgs({ options: { json: { type: "boolean" } } });
const { queueWay, reloadWay, warmWay } = await import("./ways.js");
const ways = { warm: await warmWay(), queue: await queueWay(), reload: await reloadWay() };

if (values.json) console.log(JSON.stringify(ways, null, 2));
else for (const [name, way] of Object.entries(ways)) print(name, way);

/** @param {string} name @param {import("./entered.js").Way} way */
function print(name, { files, functions, steps }) {
  console.log(`${name}: ${files.length} files, ${functions} functions`);
  for (const { file, functions: names } of steps) console.log(`  ${file}: ${names.join(" ")}`);
}
