const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Parses a Kubernetes quantity such as 250m, 1.5, 512Mi or 1e3. Returns 0 for invalid and negative values. */
export function quantityOf(value: unknown): number {
  if (typeof value === "number") return Math.max(0, value);
  const match = /^\+?(\d+(?:\.\d*)?|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)?|[eE]([+-]?\d{1,3}))$/.exec(String(value));
  if (match === null) return 0;
  const [, digits, suffix = "", exponent] = match;
  const amount = exponent === undefined ? Number(digits) * SUFFIXES[suffix]! : Number(`${digits}e${exponent}`);
  return Number.isFinite(amount) ? amount : 0;
}
