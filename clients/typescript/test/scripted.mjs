// An HTTP server that answers each request as a test says, and records the requests.

import { createServer } from "node:http";

export const HOME = "ca5a0001-0000-4000-8000-000000000000";
export const MODULE = "ca5a0001-0001-4000-8000-000000000001";
export const TOKENS = { accessToken: "secret-access-token", idToken: "secret-id-token" };
export const QUICK = { firstPause: 1, longestPause: 1 };

const BEGINNINGS = { headers: "x-slow: ", body: "content-length: 1000000\r\n\r\n" };

/** Never ends an answer, and sends a byte now and then in this part of it, until the client leaves. */
function drip(socket, part) {
  socket.write(`HTTP/1.1 200 OK\r\n${BEGINNINGS[part]}`);
  const timer = setInterval(() => socket.write("x"), 20);
  socket.on("error", () => undefined).on("close", () => clearInterval(timer));
}

/** Gives the steps in their order; the last step is repeated. A step may be a function of the request. */
export async function scripted(test, ...steps) {
  const got = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    got.push({ method: request.method, path: request.url, headers: request.headers, body, at: performance.now() });
    const next = steps.length > 1 ? steps.shift() : steps[0];
    const step = typeof next === "function" ? next(request) : next;
    if (step.drop) return request.socket.destroy();
    if (step.drip) return drip(request.socket, step.drip);
    response.writeHead(step.status ?? 200, step.headers ?? {});
    if (step.silent) return response.write(step.body ?? "");
    if (step.cut) {
      response.write(step.body);
      setTimeout(() => request.socket.destroy(), 20);
      return undefined;
    }
    return response.end(step.body ?? '{"plants":[]}');
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, got };
}

export const problem = (status, headers = {}) => ({ status, headers, body: '{"statusCode":1,"message":"No."}' });

/** The error of a promise. */
export async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("no error was thrown");
}
