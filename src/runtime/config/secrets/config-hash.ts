import { createHash, scrypt, scryptSync } from "node:crypto";
import type { Registry } from "../resolve/registry.js";
import type { MapNode, Node, Span } from "../text/node.js";
import { secretSpansOfConfig } from "./masked-lines.js";

const LENGTH = 12;

/**
 * Only this much of a hash of the secrets goes into the hash of the config. It shows that a secret has changed, and
 * does not help an attacker to confirm a guess: one in 65,536 guesses fits by chance.
 */
const SECRET_BYTES = 2;

const SALT = "sluice config generation";
const SLOWNESS = { N: 8192 };

/**
 * A short hash of the config's values; the order of keys, comments and formatting do not change it. Values that are
 * secret, or come from variables or files, go in only as `SECRET_BYTES` of a slow hash of all of them.
 */
export class ConfigHash {
  private readonly values: string;
  /** Undefined if the config has no secrets. */
  private readonly secrets: string | undefined;
  private secretHash: Buffer | undefined;
  private computed: string | undefined;

  constructor(root: MapNode, registry: Registry) {
    const secretSpans = new Set(secretSpansOfConfig(root, registry));
    const secrets: string[] = [];
    const values = canonical(root, (node, text) => {
      if (!node.substituted && !secretSpans.has(node)) return false;
      secrets.push(text);
      return true;
    });
    this.values = JSON.stringify(values);
    this.secrets = secrets.length === 0 ? undefined : JSON.stringify(secrets);
  }

  /** Computes the slow hash in another thread. If `text` is read before that is done, it computes the hash itself. */
  async prepare(): Promise<void> {
    const { secrets } = this;
    if (secrets === undefined) return;
    this.secretHash = await new Promise((resolve) =>
      scrypt(secrets, SALT, SECRET_BYTES, SLOWNESS, (_error, hash) => resolve(hash)),
    );
  }

  get text(): string {
    this.computed ??= this.compute();
    return this.computed;
  }

  private compute(): string {
    const hash = createHash("sha256").update(this.values);
    if (this.secrets !== undefined) {
      this.secretHash ??= scryptSync(this.secrets, SALT, SECRET_BYTES, SLOWNESS);
      hash.update(this.secretHash);
    }
    return hash.digest("hex").slice(0, LENGTH);
  }
}

type IsSecret = (node: Span & { readonly substituted: boolean }, text: string) => boolean;

function canonical(node: Node, isSecret: IsSecret): unknown {
  if (node.kind === "scalar") return isSecret(node, node.text) ? { secret: true } : node.value;
  if (node.kind === "list") return node.items.map((item) => canonical(item, isSecret));
  const entries = [...node.entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return { map: entries.map(([key, { value }]) => [key, canonical(value, isSecret)]) };
}
