import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { installedProgram, ServerProcess, serverFolder } from "./server-process.js";

export const nginxProgram = installedProgram("nginx", ["/usr/sbin/nginx"]);

/** A server of nginx with a page of stub_status at /status, and a user and password for /secret. */
export async function startNginx(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = serverFolder("nginx");
  const port = await freePort();
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder.path}/${name};`,
  );
  writeFileSync(join(folder.path, "users"), "shop:{PLAIN}s3cret\n");
  writeFileSync(
    join(folder.path, "nginx.conf"),
    `daemon off; master_process off; pid ${folder.path}/pid; error_log stderr;
     events {}
     http {
       access_log off; ${temp.join(" ")}
       server {
         listen 127.0.0.1:${port};
         location = /status { stub_status; }
         location = /secret { auth_basic "x"; auth_basic_user_file ${folder.path}/users; stub_status; }
         location = /other { return 200 "hello"; }
       }
     }`,
  );
  const url = `http://127.0.0.1:${port}`;
  const server = new ServerProcess({
    program: nginxProgram!,
    args: ["-c", join(folder.path, "nginx.conf"), "-p", folder.path],
    folder: folder.path,
    isReady: () => new Promise((resolve, reject) => void get(`${url}/status`, resolve).on("error", reject)),
  });
  await server.start();
  return {
    url,
    async close() {
      await server.kill();
      folder.remove();
    },
  };
}
