import { post } from "../../api/client.js";
import type { ReloadReport } from "../../api/shapes.js";
import { ConfirmDialog, type Why } from "../../parts/dialog.js";

interface ReloadDialogProps {
  /** The hash of the config that was rehearsed. The reload is refused if the files have changed since. */
  readonly expected?: string | undefined;
  readonly onDone: (report: ReloadReport) => void;
  readonly onClose: () => void;
}

/** Asks for confirmation before the config is reloaded. */
export function ReloadDialog({ expected, onDone, onClose }: ReloadDialogProps) {
  const reload = async (why: Why) =>
    onDone(await post<ReloadReport>("/config/reload", { ...why, ...(expected !== undefined && { expected }) }));
  return (
    <ConfirmDialog title="Reload the config" action="Reload" onConfirm={reload} onClose={onClose}>
      <p>
        The agent reads its files again and replaces what has changed; everything else runs on. If the files have
        errors, or a component cannot start, the old config runs on.
      </p>
      {expected === undefined && (
        <p class="dim">A rehearsal shows beforehand what the new config does to your traffic.</p>
      )}
    </ConfirmDialog>
  );
}
