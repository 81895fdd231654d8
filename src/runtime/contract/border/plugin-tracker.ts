/** Records which plugin's code is running, so that the watchdog can name it when it hangs. Costs a write to memory. */
export interface PluginTracker {
  /** The number of a component; 0 stands for none. */
  register(component: string): number;
  /** The component's code begins. Gives what was running before, to be entered again afterwards. */
  enter(component: number): number;
}
