/** Masks everything inside a container that follows a secret name: one of JSON, or one as Node.js prints it (`util.inspect`). */
import { execAt, readQuoted } from './redact-quoted.ts';
import type { TextMasking } from './redact-rules.ts';

/**
 * Before its bracket: `Set(1) {`, `[Object: null prototype] {`, `[String: 'a']`, `<Buffer 61>`. A bare name, the second group, is that of
 * a class, or the value in a sentence.
 */
const PRINTED =
  /((?:<ref \*\d+> )?(?:[A-Za-z_$][\w$]*\(\d+\) |([A-Za-z_$][\w$]*) )?(?:\[[^[\]\r\n"'`]{1,100}\] )?)(?:[{[](?=\s|\\{0,16}["'`])|\[[A-Za-z/]{1,20}: (?=\\{0,16}["'`\d-])|<Buffer (?=[\da-f]{2}[ >]))/y;
const INSIDE = /\\{0,16}["'`]|<(?:Buffer )?[\da-f]{2}[ >][^<>{}[\]]*>?|(?<![\w$.(])-?\d[\w.:+-]*|[{}[\]]/g;
/** The quoted text before it is the name of a member. */
const IS_NAME = /^\s*(?::|=>)/;

export interface Above {
  name: string;
  /** Of the name: a double one, perhaps escaped, is that of JSON. */
  quote: string;
  masking: TextMasking;
}

interface Shown {
  shown: string;
  end: number;
}

function maskInside(text: string, start: number, { name, quote, masking }: Above): Shown {
  const { hide, mark } = masking;
  let shown = '';
  let done = start;
  let open = 0;
  INSIDE.lastIndex = start;
  for (let match = INSIDE.exec(text); match !== null; match = INSIDE.exec(text)) {
    const [token] = match;
    const at = match.index;
    if (token === '{' || token === '[') {
      open++;
      continue;
    }
    if (token === '}' || token === ']') open--;
    else if (/["'`]$/.test(token)) {
      const quoted = readQuoted(text, at);
      if (quoted === null) continue;
      const { value, end } = quoted;
      INSIDE.lastIndex = end;
      if (value === '' || IS_NAME.test(text.slice(end, end + 20))) continue;
      shown += text.slice(done, at) + quoted.open + hide(name, value) + quoted.close;
      done = end;
    } else {
      shown += text.slice(done, at) + quote + mark(token, 'number') + quote;
      done = at + token.length;
    }
    if (open === 0) return { shown: shown + text.slice(done, INSIDE.lastIndex), end: INSIDE.lastIndex };
  }
  return { shown: shown + text.slice(done), end: text.length };
}

/** The container at `start` without its values, and where it ends; null if none begins there. */
export function maskPrinted(text: string, start: number, above: Above): Shown | null {
  const printed = execAt(PRINTED, text, start);
  const isJson = above.quote.endsWith('"') && /[{[]/.test(text.charAt(start));
  if (printed === null && !isJson) return null;
  const [, before = '', word = ''] = printed ?? [];
  const { shown, end } = maskInside(text, start + before.length, above);
  return {
    shown: (word === '' ? before : before.replace(word, () => above.masking.mark(word))) + shown,
    end,
  };
}
