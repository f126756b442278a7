/** Sequelize and TypeORM -> channel `express-hindsight:orm:call`: the model and method that statements are sent for. */
import { channel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { ownerOf, wrapMethod } from './wrap-method.ts';

export interface OrmCall {
  /** `User.findAll`. */
  label: string;
}

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

function nameOf(value: unknown): string | null {
  const { name } = (value ?? {}) as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : null;
}

/** `find(User, …)`, `save(user)`, `save([user, …])`, `save('User', …)`. */
function entityOf(first: unknown): string | null {
  if (typeof first === 'string') return first;
  if (typeof first === 'function') return nameOf(first);
  const one: unknown = Array.isArray(first) ? first[0] : first;
  const { options, constructor } = (one ?? {}) as { options?: unknown; constructor?: unknown };
  return nameOf(options) ?? (constructor === Object ? null : nameOf(constructor));
}

function labelled(target: unknown, names: readonly string[], labelOf: LabelOf): (() => void)[] {
  return names.flatMap((name) => {
    const undo = wrapMethod(
      ownerOf(target, name),
      name,
      (original) =>
        function (this: unknown, ...args) {
          const of = ormCalls.hasSubscribers ? labelOf(this, args) : null;
          if (of === null) return Reflect.apply(original, this, args);
          return ormCalls.runStores({ label: `${of}.${name}` }, () => Reflect.apply(original, this, args));
        },
    );
    return undo ?? [];
  });
}

function all(undo: readonly (() => void)[]): (() => void) | null {
  if (undo.length === 0) return null;
  return () => {
    for (const one of undo) one();
  };
}

export const labelPatches: readonly LibraryPatch[] = [
  {
    name: 'sequelize',
    file: 'lib/model.js',
    patch: (exports) =>
      all([
        ...labelled(exports, SEQUELIZE_STATIC, nameOf),
        ...labelled((exports as { prototype?: object }).prototype, SEQUELIZE_INSTANCE, (self) =>
          nameOf((self as object).constructor),
        ),
      ]),
  },
  {
    name: 'typeorm',
    file: 'entity-manager/EntityManager.js',
    patch: (exports) =>
      all(
        labelled(
          (exports as { EntityManager?: { prototype: object } }).EntityManager?.prototype,
          TYPEORM,
          (_self, [first]) => entityOf(first),
        ),
      ),
  },
];
