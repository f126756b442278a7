/**
 * A recorded request as a test for mocha, supertest and chai that fails while its fault is there. Recorded text becomes string literals
 * only, also in comments, so that none of it can run. Credentials are left out; masked values are placeholders.
 */
import type { Profile } from '../../profiler/profile.ts';
import { MASK_PATTERN } from '../../profiler/masking/redact.ts';
import type { ReceivedBody, RequestPanelData } from './data.ts';
import { formParts } from '../shared/form-parts.ts';

function literal(text: string): string {
  return JSON.stringify(text.replaceAll(MASK_PATTERN, 'MASKED'))
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029')
    .replaceAll('</', '<\\/');
}

function methodCall(method: string): string {
  const name = method.toLowerCase();
  return /^[a-z]+$/.test(name) ? `.${name}` : `[${literal(name)}]`;
}

function formLines(body: ReceivedBody): string[] {
  return formParts(body).flatMap((part) => {
    if (part.file !== undefined) {
      const { name, contentType, bytes } = part.file;
      return [
        `.attach(${literal(part.name)}, Buffer.alloc(${Number(bytes)}), { filename: ${literal(name)}, contentType: ${literal(contentType)} })`,
      ];
    }
    return [part.value]
      .flat()
      .map(
        (item) =>
          `.field(${literal(part.name)}, ${literal(typeof item === 'string' ? item : JSON.stringify(item))})`,
      );
  });
}

function bodyLines({ body }: RequestPanelData): string[] {
  if (body === null) return [];
  const { contentType, text, truncated } = body;
  if (/^multipart\/form-data/i.test(contentType ?? '')) return formLines(body);
  const type = contentType === null ? [] : [`.set('content-type', ${literal(contentType)})`];
  if (text === null || truncated) return type;
  // supertest adds the type of a form to text that has none.
  return [...type, contentType === null ? `.send(Buffer.from(${literal(text)}))` : `.send(${literal(text)})`];
}

function notesOf({ headers, body }: RequestPanelData, lines: readonly string[]): string[] {
  const has = (name: RegExp): boolean => headers.some((header) => name.test(header.name));
  const lacksBody = body !== null && !lines.some((line) => /^\.(?:send|field|attach)\(/.test(line));
  return [
    ...(has(/^(?:cookie|(?:proxy-)?authorization)$/i)
      ? ['It was sent with cookies or an authorization header, which are not included.']
      : []),
    ...(lacksBody ? ['Its body was truncated: fill it in.'] : []),
    ...((body?.files.length ?? 0) > 0
      ? ['Contents of files were not recorded and are replaced by zeros.']
      : []),
    ...(lines.some((line) => line.includes('MASKED'))
      ? ['MASKED stands for a masked value: fill in your own.']
      : []),
  ];
}

/** What fails while the fault is there; empty if the request has none. */
function expectationsOf({ status, findings, panels }: Profile): string[] {
  const wanted: string[] = [];
  if (status !== null && status >= 500) wanted.push('expect(response.status).to.be.below(500);');
  if (findings.some(({ label }) => label === 'N+1')) wanted.push('expect(response).to.have.noNPlusOne();');
  const queries = panels.database?.summary?.count ?? 0;
  if (findings.some(({ rule }) => rule === 'many-queries') && queries > 0)
    wanted.push(`expect(response).to.have.queriesBelow(${Math.ceil(queries / 3)});`);
  const [worst] = findings;
  if (wanted.length > 0 || worst === undefined) return wanted;
  const others = new Set(findings.flatMap(({ rule }) => (rule === worst.rule ? [] : (rule ?? []))));
  const except = Array.from(others, literal).join(', ');
  return [
    `// The finding: ${literal([worst.label, worst.place ?? []].flat().join(', '))}`,
    `expect(response).to.have.noFindings(${except === '' ? '' : `{ except: [${except}] }`});`,
  ];
}

export function toTest(data: RequestPanelData, profile: Profile): string[] {
  const expectations = expectationsOf(profile);
  if (profile.kind !== 'request' || expectations.length === 0 || !data.url.startsWith('/')) return [];
  const sent = [`${methodCall(data.method)}(${literal(data.url)})`, ...bodyLines(data)];
  return [
    `import * as chai from 'chai';`,
    `import { hindsightChai } from 'express-hindsight/testing';`,
    `import request from 'supertest';`,
    `import { app } from './app.js'; // your application, with hindsight(app)`,
    '',
    'chai.use(hindsightChai);',
    'const { expect } = chai;',
    '',
    `it(${literal(`${data.method} ${data.url.slice(0, 100)}`)}, async () => {`,
    ...notesOf(data, sent).map((note) => `  // ${note}`),
    '  const response = await request(app)',
    ...sent.map((line, index) => `    ${line}${index === sent.length - 1 ? ';' : ''}`),
    ...expectations.map((line) => `  ${line}`),
    '});',
  ];
}
