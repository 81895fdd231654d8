import { useEffect, useState } from "preact/hooks";
import { get } from "./api/client.js";
import { saveToken } from "./api/session.js";
import { ErrorText } from "./parts/bits.js";
import { Text } from "./parts/text.js";

/** Asks for the API's token; `message` says what was wrong with the previous one. */
export function SignIn({ message }: { message: string }) {
  const [token, setToken] = useState("");
  const [file, setFile] = useState<string>();
  useEffect(() => {
    void get<{ token_file?: string }>("/").then(
      ({ token_file }) => setFile(token_file),
      () => {},
    );
  }, []);
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
        This agent requires a token. Only this browser tab keeps it.{" "}
        {file === undefined ? (
          <>Ask the people who run the agent for one.</>
        ) : (
          <>
            On the agent's machine, it is in this file, which only the user of the agent can read:{" "}
            <code>
              <Text value={file} />
            </code>
          </>
        )}
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
      <ErrorText message={message} />
      <footer>
        <button type="submit" class="primary" disabled={token.trim() === ""}>
          Sign in
        </button>
      </footer>
    </form>
  );
}
