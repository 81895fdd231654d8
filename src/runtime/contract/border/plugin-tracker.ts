/**
 * Records which plugin's code is running, so that the watchdog can name it if it hangs. This costs one write to memory.
 */
export interface PluginTracker {
  /** Returns a number for the component; 0 stands for none. */
  register(component: string): number;
  /**
   * To be called when the component's code begins. Returns what was running before, which must be entered again
   * afterwards.
   */
  enter(component: number): number;
}
