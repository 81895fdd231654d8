interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** Values with their texts. */
  readonly choices: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

/** A field to choose one of several values. */
export function Choice({ label, value, choices, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
