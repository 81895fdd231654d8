/** A command, or a group of commands, as shells complete it. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** Only a group has any. */
  readonly commands: readonly CompletedCommand[];
  /** Words that may be given as positional arguments. */
  readonly names: readonly string[];
  /** Whether the positional arguments are files. */
  readonly takesFiles: boolean;
}

export interface CompletedOption {
  readonly name: string;
  readonly short: string | undefined;
  readonly description: string;
  /** The kind of its value; undefined for a switch. */
  readonly value: "file" | "directory" | "text" | undefined;
}
