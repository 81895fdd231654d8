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
    means: "Nothing is sent until somebody resumes it. What comes in is queued, and refused once the queue is full.",
    isDanger: true,
  },
  resume: { title: "Resume sending", action: "Resume", means: "What is queued is sent again." },
  retry: {
    title: "Retry now",
    action: "Retry now",
    means: "Nothing in the queue waits any longer for the time of its retry, also if the backend asked for that.",
  },
  open: {
    title: "Hold the breaker open",
    action: "Open breaker",
    means: "Nothing is sent to the backend, and it is not probed, until the breaker is let go again.",
    isDanger: true,
  },
  closed: {
    title: "Hold the breaker closed",
    action: "Close breaker",
    means: "Everything is sent, whatever the backend answers, until the breaker is let go again.",
    isDanger: true,
  },
  auto: { title: "Let the breaker decide", action: "Let go", means: "The breaker opens and closes by itself again." },
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
