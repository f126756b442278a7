/** The published JSON Schema, and what an answer of the pages has against it. */
import Ajv from 'ajv';
import { readFileSync } from 'node:fs';

type Schema = Record<string, unknown>;

export const published = JSON.parse(readFileSync('public/profiler/schema.json', 'utf8')) as Schema & {
  definitions: Record<string, Schema>;
};

/** The same schema without room for members that it does not describe. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const isOpen = typeof inner.properties === 'object' && inner.type === 'object';
  return isOpen ? { ...inner, additionalProperties: false } : inner;
}

const ajv = new Ajv({ allErrors: true });
ajv.addSchema(closed(published) as Schema, 'schema');

/** Why an answer is not what its own `schema` member says; empty if it is. */
export function problemsOf(answer: object): string[] {
  const named = 'schema' in answer ? String(answer.schema) : '';
  const form = /^\/_profiler\/schema\.json#\/definitions\/(\w+)$/.exec(named)?.[1];
  if (form === undefined) return [`"${named}" names no form`];
  if (ajv.validate(`schema#/definitions/${form}`, answer) === true) return [];
  return (ajv.errors ?? []).map(
    ({ dataPath, message, params }) => `${dataPath} ${message ?? ''} ${JSON.stringify(params)}`,
  );
}
