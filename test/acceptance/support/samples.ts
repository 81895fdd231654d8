/** Metrics as a Prometheus server reads them. */
export interface Samples {
  /** The sum of the samples with this name and at least these labels; undefined if there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** All samples with this name. */
  all(name: string): readonly Sample[];
  /** The names of all samples. */
  readonly names: ReadonlySet<string>;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function parseSamples(text: string): Samples {
  const found = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined) continue;
    const samples = found.get(name) ?? [];
    samples.push({ labels: parseLabels(labels), value: Number(value) });
    found.set(name, samples);
  }
  const all = (name: string) => found.get(name) ?? [];
  return {
    all,
    names: new Set(found.keys()),
    value(name, wanted = {}) {
      const fitting = all(name).filter(({ labels }) => Object.keys(wanted).every((key) => labels[key] === wanted[key]));
      return fitting.length === 0 ? undefined : fitting.reduce((sum, each) => sum + each.value, 0);
    },
  };
}

function parseLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(([, key, value]) => [key!, value!.replaceAll(/\\(.)/g, "$1")]));
}
