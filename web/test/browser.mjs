// The parts of a browser that the modules under test need.

const stored = new Map();
const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value), removeItem: (key) => stored.delete(key) };
const nothing = () => undefined;

globalThis.location = new URL("https://home.example/homes/4c0a/rooms/the%20kitchen?day=2");
globalThis.localStorage = globalThis.sessionStorage = storage;
globalThis.document = {
  addEventListener: nothing,
  removeEventListener: nothing,
  documentElement: {},
  getElementById: () => ({ textContent: '{"name":"Aurora","origin":"https://home.example","demo":[]}', focus: nothing }),
};
globalThis.addEventListener = globalThis.removeEventListener = globalThis.scrollTo = nothing;
globalThis.BroadcastChannel = class {
  postMessage() {}
};
globalThis.history = { pushState: nothing, replaceState: nothing };
Object.defineProperty(globalThis, "navigator", { value: { languages: ["de-CH", "en"], sendBeacon: () => true }, configurable: true });
