import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useMe } from "../api/me.js";
import { ErrorText } from "./bits.js";
import { Text } from "./text.js";

/**
 * A modal dialog that holds the focus until it is closed, also by Escape; then the focus returns to its previous
 * element.
 */
export function Dialog(props: { title: string; wide?: boolean; onClose: () => void; children: ComponentChildren }) {
  const { title, wide = false, onClose, children } = props;
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current!;
    const opener = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={wide ? "wide" : ""} aria-label={title} onCancel={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** Why a change is made, as the API takes it. */
export interface Why {
  readonly reason?: string;
}

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  /** Replaces the name of the action while it runs. */
  readonly busyText?: string;
  readonly isDanger?: boolean;
  /** If true, a reason is required to confirm. */
  readonly reasonRequired?: boolean;
  readonly onConfirm: (why: Why) => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks for confirmation and a reason. Closes when the action is done; shows the error if it fails. */
export function ConfirmDialog(props: ConfirmProps) {
  const {
    title,
    action,
    busyText = action,
    isDanger = false,
    reasonRequired = false,
    onConfirm,
    onClose,
    children,
  } = props;
  const [reason, setReason] = useState("");
  const me = useMe();
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    try {
      await onConfirm(reason.trim() === "" ? {} : { reason: reason.trim() });
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        {children}
        <label class="field">
          <span>Reason{reasonRequired ? "" : " (optional)"}</span>
          <input
            value={reason}
            maxLength={500}
            required={reasonRequired}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          {me !== undefined && (
            <small>
              The audit records it with your name, <Text value={me.name} inline max={60} />.
            </small>
          )}
        </label>
        <ErrorText message={error} />
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDanger ? "danger" : "primary"}
            disabled={isBusy || (reasonRequired && reason.trim() === "")}
          >
            {isBusy ? busyText : action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
