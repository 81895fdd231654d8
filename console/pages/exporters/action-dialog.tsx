import { post, segment } from "../../api/client.js";
import type { Exporter } from "../../api/shapes.js";
import { ConfirmDialog, type Why } from "../../parts/dialog.js";
import { Text } from "../../parts/text.js";

export type Action = "pause" | "resume" | "retry" | "open" | "closed" | "auto";

interface Wording {
  readonly title: string;
  readonly action: string;
  readonly means: string;
  readonly isDanger?: boolean;
}

const WORDINGS: Readonly<Record<Action, Wording>> = {
  pause: {
    title: "Pause sending",
    action: "Pause",
    means: "Nothing is sent until you resume it. New data is queued. If the queue is full, new data is refused.",
    isDanger: true,
  },
  resume: { title: "Resume sending", action: "Resume", means: "The exporter sends its queue." },
  retry: {
    title: "Retry now",
    action: "Retry now",
    means: "All waiting entries are retried now, even if the backend asked the agent to wait.",
  },
  open: {
    title: "Hold the breaker open",
    action: "Open breaker",
    means: "The agent sends nothing to the backend and does not probe it, until you make the breaker automatic again.",
    isDanger: true,
  },
  closed: {
    title: "Hold the breaker closed",
    action: "Close breaker",
    means: "The agent sends everything, whatever the backend answers, until you make the breaker automatic again.",
    isDanger: true,
  },
  auto: {
    title: "Make the breaker automatic",
    action: "Let go",
    means: "The breaker opens and closes automatically again.",
  },
};

/** Asks for confirmation before an exporter is changed. */
export function ActionDialog(props: { exporter: Exporter; action: Action; onDone: () => void; onClose: () => void }) {
  const { exporter, action, onDone, onClose } = props;
  const { title, action: label, means, isDanger = false } = WORDINGS[action];
  const confirm = async (why: Why) => {
    const path = `/exporters/${segment(exporter.id)}`;
    if (action === "open" || action === "closed" || action === "auto")
      await post(`${path}/breaker`, { state: action, ...why });
    else await post(`${path}/${action}`, why);
    onDone();
  };
  return (
    <ConfirmDialog title={title} action={label} isDanger={isDanger} onConfirm={confirm} onClose={onClose}>
      <p>
        <strong>
          <Text value={exporter.id} inline />
        </strong>
      </p>
      <p>{means}</p>
    </ConfirmDialog>
  );
}
