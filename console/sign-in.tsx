import { useState } from "preact/hooks";
import { saveToken } from "./api/session.js";
import { Text } from "./parts/text.js";

/** Asks for the token that the API wants; `message` says what was wrong with the one before. */
export function SignIn({ message }: { message: string }) {
  const [token, setToken] = useState("");
  return (
    <form
      class="card sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        saveToken(token);
      }}
    >
      <h1>Sign in</h1>
      <p>
        This agent wants a token. It is kept in this tab only. By default it is in the file{" "}
        <code>data/admin-token</code> where the agent was started, which only the user that runs it can read.
      </p>
      <label class="field">
        <span>Token</span>
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      {message !== "" && (
        <p class="problem" role="alert">
          <Text value={message} />
        </p>
      )}
      <footer>
        <button type="submit" class="primary" disabled={token.trim() === ""}>
          Sign in
        </button>
      </footer>
    </form>
  );
}
