/** SHA-256 (FIPS 180-4). Browsers offer their own only over HTTPS, and a gateway at home may be reached over plain HTTP. */

function primes(amount: number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < amount; candidate++) {
    if (found.every((prime) => candidate % prime)) found.push(candidate);
  }
  return found;
}

const fraction = (value: number): number => ((value - Math.floor(value)) * 2 ** 32) | 0;
const PRIMES = primes(64);
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = PRIMES.map((prime) => fraction(Math.cbrt(prime)));
const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

function pad(message: Uint8Array): DataView {
  const padded = new Uint8Array(((message.length + 72) >> 6) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, message.length * 8);
  return view;
}

function schedule(view: DataView, offset: number): number[] {
  const words: number[] = [];
  for (let i = 0; i < 64; i++) {
    if (i < 16) {
      words.push(view.getInt32(offset + i * 4));
      continue;
    }
    const [a, b] = [words[i - 15] ?? 0, words[i - 2] ?? 0];
    const first = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
    const second = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
    words.push(((words[i - 16] ?? 0) + first + (words[i - 7] ?? 0) + second) | 0);
  }
  return words;
}

export function sha256(message: Uint8Array): Uint8Array {
  const view = pad(message);
  const hash = Int32Array.from(START);
  for (let offset = 0; offset < view.byteLength; offset += 64) {
    const words = schedule(view, offset);
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + (ROUND[i] ?? 0) + (words[i] ?? 0);
      const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i] = (hash[i] ?? 0) + word;
  }
  const bytes = new DataView(new ArrayBuffer(32));
  hash.forEach((word, i) => bytes.setInt32(i * 4, word));
  return new Uint8Array(bytes.buffer);
}
