/** Sequelize, TypeORM, MikroORM, Mongoose, Prisma and Kysely -> channel `express-hindsight:orm:call`: the model and method that statements are sent for. */
import { channel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import { field, isObject } from '../../profiler/record/safe-read.ts';
import type { LibraryPatch } from '../libraries.ts';
import type { Called } from '../stacks/caller.ts';
import { allOf, ownerOf, wrapCalls } from './wrap-method.ts';

export interface OrmCall {
  /** `User.findAll`; null for SQL of the application's own. */
  label: string | null;
  stack?: () => string;
  called?: Called;
  /** If the stack has no line when the statement is sent; null: none. */
  otherwise?: () => Called | null;
  /** A query builder. */
  library?: string;
  /** Conditions that it was given `undefined` for. */
  dropped?: readonly string[];
  /** A hook of the model that reads or sets a field that is written, and that such a bulk write does not run. */
  skipped?: string;
}

type Noted = Pick<OrmCall, 'dropped' | 'skipped'>;
type LabelOf = (self: unknown, args: readonly unknown[]) => string | null;

export const ormCalls = channel('express-hindsight:orm:call');

const SEQUELIZE_STATIC = [
  'findAll', 'findByPk', 'findOne', 'findAndCountAll', 'findOrCreate', 'findOrBuild', 'findCreateFind', 'create', 'bulkCreate',
  'update', 'upsert', 'destroy', 'restore', 'truncate', 'count', 'sum', 'min', 'max', 'aggregate', 'increment', 'decrement',
]; // prettier-ignore
const SEQUELIZE_INSTANCE = ['save', 'reload', 'update', 'destroy', 'restore', 'increment', 'decrement'];
const TYPEORM = [
  'find', 'findBy', 'findOne', 'findOneBy', 'findOneOrFail', 'findOneByOrFail', 'findAndCount', 'findAndCountBy', 'count', 'countBy',
  'exists', 'existsBy', 'save', 'insert', 'update', 'upsert', 'delete', 'remove', 'softDelete', 'softRemove', 'recover', 'restore',
  'sum', 'average', 'minimum', 'maximum', 'increment', 'decrement', 'clear',
]; // prettier-ignore

const MIKRO_ORM = [
  'find', 'findAll', 'findAndCount', 'findByCursor', 'findOne', 'findOneOrFail', 'refresh', 'refreshOrFail', 'count', 'countBy', 'populate',
  'insert', 'insertMany', 'upsert', 'upsertMany', 'nativeUpdate', 'nativeDelete', 'persistAndFlush', 'removeAndFlush', 'flush', 'lock',
]; // prettier-ignore

function nameOf(value: unknown): string | null {
  const { name } = (value ?? {}) as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : null;
}

function entityOf(first: unknown): string | null {
  if (typeof first === 'string') return first;
  if (typeof first === 'function') return nameOf(first);
  const one: unknown = Array.isArray(first) ? first[0] : first;
  const { options, meta, constructor } = (one ?? {}) as Partial<Record<string, unknown>>;
  return nameOf(options) ?? nameOf(meta) ?? (constructor === Object ? null : nameOf(constructor));
}

/** `op`: the method that made the query, `findOne`. */
interface MongooseQuery {
  model?: { modelName?: unknown };
  op?: unknown;
  _update?: unknown;
}

function droppedIn(where: unknown): Pick<OrmCall, 'dropped'> {
  const found = [where].flat().flatMap((one): string[] => {
    if (typeof one !== 'object' || one === null || types.isProxy(one)) return [];
    const fields = Object.entries(Object.getOwnPropertyDescriptors(one));
    return fields.flatMap(([name, given]) => ('value' in given && given.value === undefined ? [name] : []));
  });
  return found.length === 0 ? {} : { dropped: found };
}

const LONGEST_HOOK = 5000;

/** Whether the source of one of these functions has one of these names. */
function mentions(hooks: unknown, fields: readonly string[]): boolean {
  const functions = [hooks]
    .flat()
    .map((one) => (typeof one === 'object' && one !== null ? field(one, 'fn') : one));
  const texts = functions.map((one) =>
    typeof one === 'function' ? Function.prototype.toString.call(one).slice(0, LONGEST_HOOK) : '',
  );
  return fields.some((name) => texts.some((text) => text.split(/[^\w$]+/).includes(name)));
}

function namesIn(value: unknown): string[] {
  return isObject(value) && !types.isProxy(value) ? Object.keys(value) : [];
}

/** Method -> the hooks of instances that it runs with `individualHooks` only. */
const SEQUELIZE_BULK: Readonly<Record<string, RegExp>> = {
  update: /^(?:before|after)(?:Update|Save)$/,
  bulkCreate: /^(?:before|after)(?:Create|Save)$/,
};

function sequelizeSkips(name: string, [written, options]: readonly unknown[], model: unknown): Noted {
  const pattern = SEQUELIZE_BULK[name];
  const settings = pattern !== undefined && isObject(model) ? field(model, 'options') : undefined;
  const hooks = isObject(settings) ? field(settings, 'hooks') : undefined;
  if (pattern === undefined || !isObject(hooks)) return {};
  const asked = isObject(options) ? [field(options, 'individualHooks'), field(options, 'hooks')] : [];
  const known = namesIn(hooks);
  if (asked[0] === true || asked[1] === false || known.some((one) => one.includes('Bulk'))) return {};
  const fields = namesIn(Array.isArray(written) ? written[0] : written);
  const skipped = known.find((one) => pattern.test(one) && mentions(field(hooks, one), fields));
  return skipped === undefined ? {} : { skipped: givenName(hooks, skipped) };
}

/** Sequelize stores a `beforeSave` as both of these. */
function givenName(hooks: object, name: string): string {
  const [update = [], create = []] = ['Update', 'Create'].map((verb) =>
    [field(hooks, name.replace(/Update|Create/, verb))].flat(),
  );
  return update.some((hook) => create.includes(hook)) ? name.replace(/Update|Create/, 'Save') : name;
}

/** `updateMany({ … })` of Mongoose runs no `pre("save")`. */
function mongooseSkips({ model, op, _update }: MongooseQuery): Noted {
  let at: unknown = model;
  for (const name of ['schema', 's', 'hooks', '_pres']) at = isObject(at) ? field(at, name) : undefined;
  if (!(at instanceof Map) || typeof op !== 'string' || !/update/i.test(op)) return {};
  const set = isObject(_update) ? field(_update, '$set') : undefined;
  const fields = [...namesIn(_update), ...namesIn(set)].filter((name) => !name.startsWith('$'));
  const isSkipped = mentions(at.get('save'), fields) && !mentions(at.get(op), fields);
  return isSkipped ? { skipped: 'pre("save")' } : {};
}

const TYPEORM_BY_CONDITION = /By$|ByOrFail$|^(?:update|delete|softDelete|restore|increment|decrement)$/;
const TYPEORM_BY_OPTIONS = /^(?:find|count|exists?)(?!.*By)/;

function typeormConditions(name: string, [, given]: readonly unknown[]): Pick<OrmCall, 'dropped'> {
  if (TYPEORM_BY_CONDITION.test(name)) return droppedIn(given);
  return TYPEORM_BY_OPTIONS.test(name) && isObject(given) ? droppedIn(field(given, 'where')) : {};
}

function mongooseCall(query: MongooseQuery): OrmCall {
  const { model, op } = query;
  const name = model?.modelName;
  const label = typeof name === 'string' && typeof op === 'string' ? `${name}.${op}` : null;
  return { label, ...mongooseSkips(query) };
}

interface PrismaRequest {
  model?: unknown;
  action?: unknown;
  args?: unknown;
  callsite?: { _error?: unknown };
}

/** A model's call is sent when it is awaited, and from a batch: only the stack that Prisma has taken knows its line. */
function prismaCall({ model, action, args, callsite }: PrismaRequest): OrmCall {
  return {
    label: typeof model === 'string' ? `${model}.${String(action)}` : null,
    ...(isObject(args) ? droppedIn(field(args, 'where')) : {}),
    stack() {
      const error = callsite?._error;
      const stack = isObject(error) ? field(error, 'stack') : '';
      return typeof stack === 'string' ? stack : '';
    },
  };
}

type CallOf = (self: unknown, args: readonly unknown[]) => OrmCall;

function published(target: unknown, name: string, callOf: CallOf): (() => void) | null {
  return wrapCalls(ownerOf(target, name), name, (call, self, args) =>
    ormCalls.hasSubscribers ? ormCalls.runStores(callOf(self, args), call) : call(),
  );
}

/** Of a class that a file exports by its name, or of what the file exports. */
function prototypeOf(exports: unknown, name?: string): unknown {
  const holder = name === undefined ? exports : (exports as Partial<Record<string, unknown>>)[name];
  return (holder as { prototype?: unknown } | undefined)?.prototype;
}

function labelPatch(
  at: Pick<LibraryPatch, 'name' | 'file' | 'module'>,
  targetOf: (exports: unknown) => unknown,
  names: readonly string[],
  labelOf: LabelOf,
  notesOf: (name: string, args: readonly unknown[], self: unknown) => Noted = () => ({}),
): LibraryPatch {
  return {
    ...at,
    patch(exports) {
      const undo = names.flatMap((name) => {
        const callOf: CallOf = (self, args) => {
          const of = labelOf(self, args);
          return { label: of === null ? null : `${of}.${name}`, ...notesOf(name, args, self) };
        };
        return published(targetOf(exports), name, callOf) ?? [];
      });
      return undo.length === 0 ? null : allOf(...undo);
    },
  };
}

/** SQL of the application's own: only its line is wanted. */
const ownSql: LabelOf = () => null;
const byClass: LabelOf = (self) => nameOf((self as object).constructor);
const byEntity: LabelOf = (_self, [first]) => entityOf(first);

const SEQUELIZE = { name: 'sequelize', file: 'lib/model.js' };
const TYPEORM_MANAGER = { name: 'typeorm', file: 'entity-manager/EntityManager.js' };
const MIKRO_ORM_MANAGER = {
  name: '@mikro-orm/core',
  file: 'EntityManager.js',
  module: { file: 'EntityManager.js', names: ['EntityManager'] },
};

/** A statement waits for its connection, where the line that called `execute()` is on no stack any more. */
const KYSELY_EXECUTORS = ['dist/esm', 'dist'].map((folder) => ({
  name: 'kysely',
  file: `${folder.replace('esm', 'cjs')}/query-executor/query-executor-base.js`,
  module: { file: `${folder}/query-executor/query-executor-base.js`, names: ['QueryExecutorBase'] },
}));

export const labelPatches: readonly LibraryPatch[] = [
  labelPatch(SEQUELIZE, (exports) => exports, SEQUELIZE_STATIC, nameOf, sequelizeSkips),
  labelPatch(SEQUELIZE, prototypeOf, SEQUELIZE_INSTANCE, byClass),
  labelPatch({ name: 'sequelize', file: 'lib/sequelize.js' }, prototypeOf, ['query'], ownSql),
  labelPatch(
    TYPEORM_MANAGER,
    (exports) => prototypeOf(exports, 'EntityManager'),
    TYPEORM,
    byEntity,
    typeormConditions,
  ),
  labelPatch(
    { name: 'typeorm', file: 'data-source/DataSource.js' },
    (exports) => prototypeOf(exports, 'DataSource'),
    ['query'],
    ownSql,
  ),
  ...KYSELY_EXECUTORS.map((at) =>
    labelPatch(at, (exports) => prototypeOf(exports, 'QueryExecutorBase'), ['executeQuery'], ownSql),
  ),
  labelPatch(MIKRO_ORM_MANAGER, (exports) => prototypeOf(exports, 'EntityManager'), MIKRO_ORM, byEntity),
  {
    name: 'mongoose',
    file: 'lib/query.js',
    patch: (exports) =>
      published(prototypeOf(exports), 'exec', (self) => mongooseCall(self as MongooseQuery)),
  },
  {
    name: '@prisma/client',
    patch: (exports) =>
      published(prototypeOf(exports, 'PrismaClient'), '_request', (_self, [request]) =>
        prismaCall(request as PrismaRequest),
      ),
  },
];
