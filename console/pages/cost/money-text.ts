const SMALL = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const LARGE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `0`, `<0.01`, `3.20`, `1,234`: an amount in the currency of the configured prices. */
export function moneyText(amount: number): string {
  if (amount === 0) return "0";
  if (amount < 0.01) return "<0.01";
  return (amount < 1_000 ? SMALL : LARGE).format(amount);
}
