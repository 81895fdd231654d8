/** Notes whose code is running, for one who looks from outside when nothing else runs any more. Costs a write to memory. */
export interface Watch {
  /** The number of a component; 0 stands for none. */
  register(component: string): number;
  /** The component's code begins. Gives what was running before, to be entered again afterwards. */
  enter(component: number): number;
}
