/** The few parts of Node that `node.ts` uses. The types of Node are another package, which browsers do not need. */

declare module "node:http" {
  interface IncomingMessage {
    readonly url?: string;
    readonly method?: string;
  }
  interface ServerResponse {
    writeHead(status: number, headers: Readonly<Record<string, string>>): ServerResponse;
    end(body: string): void;
  }
  interface Server {
    listen(port: number, host: string, done: () => void): void;
    once(event: "error", listener: (error: Error) => void): void;
    address(): { readonly port: number };
    close(): void;
    closeAllConnections(): void;
  }
  interface ServerOptions {
    readonly requestTimeout: number;
    readonly headersTimeout: number;
    readonly connectionsCheckingInterval: number;
    readonly maxHeaderSize: number;
  }
  export function createServer(options: ServerOptions, listener: (request: IncomingMessage, response: ServerResponse) => void): Server;
}

declare module "node:child_process" {
  interface ChildProcess {
    on(event: "error", listener: (error: Error) => void): ChildProcess;
    unref(): void;
  }
  export function spawn(command: string, words: readonly string[], options: { detached: boolean; stdio: "ignore" }): ChildProcess;
}

declare module "node:process" {
  export const platform: string;
}
