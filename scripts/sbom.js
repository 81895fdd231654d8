/**
 * Writes dist/sbom.cdx.json: everything installed with the package or built into it, as a CycloneDX bill of materials.
 * It is made from package-lock.json alone, without a time or a serial number, so that the same commit gives the same
 * bytes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** @type {{ packages: Record<string, any> }} */
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));

/** Not installed with the package but included in its files: the console is built with Preact, and bundle.js adds the rest. */
const BUNDLED = withDependencies([
  "node_modules/preact",
  "node_modules/@opentelemetry/exporter-logs-otlp-http",
  "node_modules/@opentelemetry/exporter-logs-otlp-proto",
  "node_modules/@opentelemetry/exporter-metrics-otlp-http",
  "node_modules/@opentelemetry/exporter-metrics-otlp-proto",
  "node_modules/@opentelemetry/exporter-prometheus",
]);

const included = Object.keys(packages).filter(
  (path) => path !== "" && (BUNDLED.includes(path) || !isForBuilding(path)),
);

/** @param {string[]} paths */
function withDependencies(paths) {
  const found = new Set(paths);
  for (const path of found)
    for (const name of Object.keys(packages[path].dependencies ?? {})) found.add(lookUp(path, name));
  return [...found].filter((path) => isForBuilding(path));
}

/** @param {string} path */
function isForBuilding(path) {
  return packages[path].dev || packages[path].devOptional;
}

const bom = {
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: {
    lifecycles: [{ phase: "build" }],
    component: { ...described(manifest.name, manifest), type: "application", description: manifest.description },
  },
  components: included.map((path) => componentAt(path)),
  dependencies: ["", ...included].map((path) => ({ ref: refOf(path), dependsOn: dependenciesOf(path) })),
};
writeFileSync(join(root, "dist", "sbom.cdx.json"), `${JSON.stringify(bom, null, 1)}\n`);

/** @param {string} path */
function componentAt(path) {
  const { integrity } = packages[path];
  const [algorithm, digest] = integrity.split("-");
  if (algorithm !== "sha512") throw new Error(`${path} has no SHA-512 in package-lock.json`);
  const content = Buffer.from(digest, "base64").toString("hex");
  return { ...described(nameOf(path), packages[path]), type: "library", hashes: [{ alg: "SHA-512", content }] };
}

/** @param {string} name @param {{ version: string, license: string }} facts */
function described(name, { version, license }) {
  const [scope, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  return {
    "bom-ref": purl(name, version),
    ...(scope !== undefined && { group: scope }),
    name: short,
    version,
    licenses: [{ license: { id: license } }],
    purl: purl(name, version),
  };
}

/** @param {string} path */
function refOf(path) {
  return path === "" ? purl(manifest.name, manifest.version) : purl(nameOf(path), packages[path].version);
}

/**
 * The dependencies of a package, resolved as Node.js does: in its own folder first, then in the folders around it.
 * @param {string} path
 */
function dependenciesOf(path) {
  const { dependencies = {}, peerDependencies = {}, optionalDependencies = {} } = packages[path];
  const bundled = path === "" ? BUNDLED.map(nameOf) : [];
  const names = [...Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }), ...bundled];
  const found = names
    .map((name) => lookUp(path, name))
    .filter((place) => place !== undefined && included.includes(place));
  return [...new Set(found.map((place) => refOf(/** @type {string} */ (place))))].sort();
}

/** @param {string} from @param {string} name @returns {string | undefined} */
function lookUp(from, name) {
  const place = from === "" ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (packages[place] !== undefined) return place;
  if (from === "") return undefined;
  const outer = from.lastIndexOf("/node_modules/");
  return lookUp(outer === -1 ? "" : from.slice(0, outer), name);
}

/** @param {string} path */
function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** @param {string} name @param {string} version */
function purl(name, version) {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
