/** A call as code, ready to paste into a terminal or a file. Nothing has to be installed to run it. */

import type { Call } from "./call";

export const CODE_LANGUAGES = { curl: "curl", python: "Python", typescript: "TypeScript" } as const;
export type CodeLanguage = keyof typeof CODE_LANGUAGES;

export function writeCode(language: CodeLanguage, call: Call): string {
  if (language === "curl") return writeCurl(call);
  return language === "python" ? writePython(call) : writeTypeScript(call);
}

/** A word of a shell command. Inside single quotes only the single quote is special. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function writeCurl({ method, url, headers, body }: Call): string {
  const plain = method === (body === null ? "GET" : "POST");
  const parts = [
    `curl -i ${plain ? "" : `-X ${method} `}${quote(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`-d ${quote(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

/** A text in Python and in TypeScript. */
const literal = (text: string): string => JSON.stringify(text);

function writePython({ method, url, headers, body }: Call): string {
  return [
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${literal(url)},`,
    `    method=${literal(method)},`,
    ...(body === null ? [] : [`    data=${literal(body)}.encode(),`]),
    "    headers={",
    ...Object.entries(headers).map(([name, value]) => `        ${literal(name)}: ${literal(value)},`),
    "    },",
    ")",
    "with urllib.request.urlopen(request) as answer:",
    "    print(answer.status, answer.read().decode())",
  ].join("\n");
}

function writeTypeScript({ method, url, headers, body }: Call): string {
  return [
    `const answer = await fetch(${literal(url)}, {`,
    `  method: ${literal(method)},`,
    "  headers: {",
    ...Object.entries(headers).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    "  },",
    ...(body === null ? [] : [`  body: ${literal(body)},`]),
    "});",
    "console.log(answer.status, await answer.text());",
  ].join("\n");
}
