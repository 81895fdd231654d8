import { ExpositionError, type LabelPair, type SeriesText } from "../exposition/series-text.js";
import { type Labels, type RelabelRule, relabel } from "../relabel.js";

/** How the labels of every series of a target are changed. */
export interface LabelSettings {
  /** Labels of the target that its series get: `job`, `instance` and all others that do not begin with `__`. */
  readonly targetLabels: readonly LabelPair[];
  readonly externalLabels: readonly LabelPair[];
  /** Whether a series' own labels take precedence over the target's. */
  readonly honorLabels: boolean;
  readonly metricRelabel: readonly RelabelRule[];
  /** 0 means no limit. */
  readonly labelLimit: number;
  readonly labelNameLengthLimit: number;
  readonly labelValueLengthLimit: number;
}

/** All labels of a series, with its name as `__name__`; undefined if `metric_relabel_configs` drop it. */
export function labelSet({ name, labels: written }: SeriesText, settings: LabelSettings): Labels | undefined {
  const labels: Labels = new Map();
  labels.set("__name__", name);
  for (const [label, value] of written) {
    if (labels.has(label)) throw new ExpositionError(`the label ${label} of ${name} is there twice`);
    if (value !== "") labels.set(label, value);
  }
  addTargetLabels(labels, settings);
  if (!relabel(labels, settings.metricRelabel)) return undefined;
  if (!labels.has("__name__")) throw new ExpositionError(`metric_relabel_configs remove the name of ${name}`);
  checkLimits(labels, settings);
  for (const [label, value] of settings.externalLabels) labels.set(label, value);
  return labels;
}

/**
 * If both have a label, the target's wins and the other gets `exported_` in front, repeatedly until the name is free.
 */
function addTargetLabels(labels: Labels, { targetLabels, honorLabels }: LabelSettings): void {
  for (const [name, value] of targetLabels) {
    const own = labels.get(name);
    if (own !== undefined && honorLabels) continue;
    if (own !== undefined) {
      let other = `exported_${name}`;
      while (labels.has(other) || targetLabels.some(([each]) => each === other)) other = `exported_${other}`;
      labels.set(other, own);
    }
    labels.set(name, value);
  }
}

function checkLimits(labels: Labels, settings: LabelSettings): void {
  const { labelLimit, labelNameLengthLimit: maxName, labelValueLengthLimit: maxValue } = settings;
  const name = labels.get("__name__")!;
  if (labelLimit > 0 && labels.size > labelLimit) {
    throw new ExpositionError(`${name} has ${labels.size} labels; label_limit is ${labelLimit}`);
  }
  if (maxName === 0 && maxValue === 0) return;
  for (const [label, value] of labels) {
    if (maxName > 0 && label.length > maxName) {
      throw new ExpositionError(
        `a label of ${name} has a name of ${label.length}; label_name_length_limit is ${maxName}`,
      );
    }
    if (maxValue > 0 && value.length > maxValue) {
      const text = `the label ${label} of ${name} has ${value.length} characters`;
      throw new ExpositionError(`${text}; label_value_length_limit is ${maxValue}`);
    }
  }
}
