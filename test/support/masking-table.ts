/** The tables of docs/masking.md that say what is masked -> examples with secrets in them. */

export interface Example {
  kind: string;
  /** As the table has it. */
  example: string;
  text: string;
  /** What must not be left of it. */
  secrets: string[];
}

const SECRET = 'hunter2Staple42x';
/** Digits and capitals, as every token may have them. */
const REST = '0A1B2C3D4E5F6A7B8C9D0E1F2A3B4C5D6E7F8A9B0C1D2E3F4A5B6C7D8E9F0A1B';

function exampleOf(kind: string, example: string): Example {
  const text = example.replace(/(?<!AGE-)SECRET/g, SECRET).replaceAll('…', REST);
  const stands = [SECRET, REST].filter((secret) => text.includes(secret));
  const given = /hunter22/.exec(text)?.[0];
  return { kind, example, text, secrets: stands.length > 0 ? stands : [given ?? text] };
}

/** Rows of the table with the first column `column` below `heading`. */
export function examplesOf(markdown: string, heading: string, column: string): Example[] {
  const section = markdown.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const table = section.slice(section.indexOf(`| ${column} |`)).split('\n\n', 1)[0] ?? '';
  return table
    .split('\n')
    .slice(2)
    .flatMap((row) => {
      const [, kind = '', examples = ''] = /^\| (.*?) \| (.*) \|$/.exec(row) ?? [];
      return Array.from(examples.matchAll(/`([^`]+)`/g), ([, example = '']) => exampleOf(kind, example));
    });
}
