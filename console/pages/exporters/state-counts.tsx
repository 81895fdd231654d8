const STATES = ["UP", "DEGRADED", "DOWN"] as const;

/** How many of these exporters or receivers are in each state, as items of a list of totals. */
export function StateCounts({ of }: { of: readonly { readonly state: (typeof STATES)[number] }[] }) {
  const counts = STATES.map((state) => [state, of.filter((each) => each.state === state).length] as const);
  return (
    <>
      {counts
        .filter(([, count]) => count > 0)
        .map(([state, count]) => (
          <li key={state}>
            <strong>
              {count} of {of.length}
            </strong>{" "}
            {state.toLowerCase()}
          </li>
        ))}
    </>
  );
}
