/** A value of OTLP/JSON, such as `{"stringValue": "a"}`. */
export type AnyJsonValue = { readonly [key: string]: unknown } | null | undefined;

/** An OTLP/JSON value for display: strings without quotes, maps and lists as JSON. */
export function plainText(value: AnyJsonValue): string {
  const plain = plainValue(value);
  return typeof plain === "string" ? plain : plain === undefined ? "" : JSON.stringify(plain);
}

/** `{a=1 b=two}`; an empty string when there are no attributes. */
export function attributesText(attributes: unknown): string {
  if (!Array.isArray(attributes) || attributes.length === 0) return "";
  const pairs = attributes as readonly { readonly key?: string; readonly value?: AnyJsonValue }[];
  return `{${pairs.map(({ key = "", value }) => `${key}=${plainText(value)}`).join(" ")}}`;
}

export function plainValue(value: AnyJsonValue): unknown {
  if (value === null || value === undefined) return undefined;
  const [kind, inner] = Object.entries(value)[0] ?? [];
  if (kind === "arrayValue") return valuesIn(inner).map((each) => plainValue(each as AnyJsonValue));
  if (kind === "kvlistValue") {
    const pairs = valuesIn(inner) as readonly { readonly key?: string; readonly value?: AnyJsonValue }[];
    return Object.fromEntries(pairs.map(({ key = "", value: each }) => [key, plainValue(each)]));
  }
  return kind === "intValue" ? Number(inner) : inner;
}

function valuesIn(list: unknown): readonly unknown[] {
  return ((list as { readonly values?: readonly unknown[] } | undefined)?.values ?? []) as readonly unknown[];
}
