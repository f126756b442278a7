/** What was given against what is stored: a byte for each of the 2^24 tokens. */
const TOKENS = 1 << 24;

export interface Account {
  give(token: string): void;
  store(token: string): void;
  /** `count` given tokens, from random places on. */
  sample(count: number): string[];
  totals(): Totals;
}

export interface Totals {
  given: number;
  /** Tokens that more than one answer carried. */
  givenTwice: number;
  /** Rows. */
  stored: number;
  storedTwice: number;
  missing: number;
  /** At most ten of those that are missing. */
  examples: string[];
  storedButNotGiven: number;
}

function textOf(number: number): string {
  return number.toString(16).padStart(6, '0');
}

export function createAccount(): Account {
  const given = new Uint8Array(TOKENS);
  const stored = new Uint8Array(TOKENS);

  function note(bytes: Uint8Array, token: string): void {
    const number = parseInt(token, 16);
    bytes[number] = Math.min(255, (bytes[number] ?? 0) + 1);
  }

  return {
    give: (token) => note(given, token),
    store: (token) => note(stored, token),
    sample(count) {
      const found = new Set<string>();
      for (let tries = 0; tries < 20 * count && found.size < count; tries++) {
        let number = Math.floor(Math.random() * TOKENS);
        while (number < TOKENS && given[number] === 0) number++;
        if (number < TOKENS) found.add(textOf(number));
      }
      return [...found];
    },
    totals() {
      const totals: Totals = {
        given: 0,
        givenTwice: 0,
        stored: 0,
        storedTwice: 0,
        missing: 0,
        examples: [],
        storedButNotGiven: 0,
      };
      for (let number = 0; number < TOKENS; number++) {
        const [asked, kept] = [given[number] ?? 0, stored[number] ?? 0];
        totals.given += asked;
        totals.stored += kept;
        if (asked > 1) totals.givenTwice++;
        if (kept > 1) totals.storedTwice++;
        if (asked === 0) totals.storedButNotGiven += kept;
        else if (kept === 0) {
          totals.missing++;
          if (totals.examples.length < 10) totals.examples.push(textOf(number));
        }
      }
      return totals;
    },
  };
}
