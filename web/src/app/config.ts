/** What the gateway writes into the page: see `console/shell.py`. */

export interface DemoUser {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly operator: boolean;
}

export interface Config {
  /** The operator's name, or "Domogate". */
  readonly name: string;
  /** The address of the operator's logo, if there is one. */
  readonly logo: string | null;
  readonly version: string;
  /** The public origin of the gateway, such as `https://home.example.com`. */
  readonly origin: string;
  /** The users of the demo with their public passwords. Empty for every other gateway. */
  readonly demo: readonly DemoUser[];
  /** The public subscription key of the demo. Null for every other gateway. */
  readonly demoKey: string | null;
  /** Nobody can operate the gateway yet: the door asks for the link of `domogate init`. */
  readonly isNew: boolean;
}

function read(): Config {
  const element = document.getElementById("config");
  if (!element?.textContent) throw new Error("the page has no configuration");
  return JSON.parse(element.textContent) as Config;
}

export const config: Config = read();
