/** graphql 16, and 17 if `npm run libraries` has installed it, executed as graphql-http does it, in the real profiler. */
import { expect } from 'chai';
import { tracingChannel } from 'node:diagnostics_channel';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type * as graphql from 'graphql';
import type { createHandler as CreateHandler } from 'graphql-http/lib/use/express';
import { apolloPlugin } from '../../app/index.ts';
import { graphqlPatches } from '../../app/observe/channels/graphql.ts';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import type { GraphqlData } from '../../app/panels/graphql/index.ts';
import { withFindingsApp } from '../support/findings-app.ts';

const require = createRequire(import.meta.url);

class NoSuchOrder extends Error {}
/** As an ES module that imported them before the profiler holds them. */
const { execute: executeOf16 } = require('graphql') as typeof graphql;

function schemaOf({ GraphQLSchema, GraphQLObjectType, GraphQLString, GraphQLList }: typeof graphql) {
  const Item = new GraphQLObjectType({
    name: 'Item',
    fields: {
      sku: { type: GraphQLString },
      stock: { type: GraphQLString, resolve: async () => await Promise.resolve('12') },
    },
  });
  const query = new GraphQLObjectType({
    name: 'Query',
    fields: {
      items: { type: new GraphQLList(Item), resolve: () => [{ sku: 'K-1' }, { sku: 'K-2' }, { sku: 'K-3' }] },
      echo: {
        type: GraphQLString,
        args: { text: { type: GraphQLString } },
        resolve: (_source, { text }: { text: string }) => text,
      },
      thenable: {
        type: GraphQLString,
        resolve: () => ({
          // Returns nothing.
          then(fulfilled: (value: string) => void) {
            setTimeout(fulfilled, 5, 'later');
          },
        }),
      },
      rejecting: {
        type: GraphQLString,
        resolve: () => ({
          then(_fulfilled: unknown, rejected?: (error: Error) => void) {
            setTimeout(() => {
              rejected?.(new NoSuchOrder('rejected later'));
            }, 5);
          },
        }),
      },
      fault: { type: GraphQLString, resolve: () => (null as unknown as Error).message },
      order: {
        type: GraphQLString,
        resolve: async () => {
          await Promise.resolve();
          throw new NoSuchOrder('No order 7');
        },
      },
    },
  });
  return new GraphQLSchema({ query });
}

const folder17 = resolve('test/libraries/current/node_modules/graphql');
const copies = [['16', 'graphql'], ...(existsSync(folder17) ? [['17', folder17]] : [])] as [string, string][];

for (const [version, folder] of copies)
  describe(`operations of graphql ${version}`, () => {
    const library = require(folder) as typeof graphql;
    const execution: unknown = require(`${folder}/execution/execute.js`);
    let undo: (() => void) | null;
    let schema: graphql.GraphQLSchema;
    const ask = withFindingsApp((app) => {
      app.get('/graphql', async (req, res) => {
        const { query = '', variables = '{}', operationName } = req.query as Record<string, string>;
        const document = library.parse(query);
        const variableValues = JSON.parse(variables) as Record<string, unknown>;
        res.json(
          await library.execute({ schema, document, variableValues, operationName: operationName ?? null }),
        );
      });
    });
    const runPublished = withFindingsApp((app) => {
      app.get('/published', async (_req, res) => {
        const document = library.parse('{ echo(text: "once") }');
        const published = tracingChannel('graphql:execute');
        res.json(
          await published.tracePromise(async () => await library.execute({ schema, document }), {
            schema,
            document,
          }),
        );
      });
    });
    const run = (query: string, variables: object = {}) =>
      ask(`/graphql?${new URLSearchParams({ query, variables: JSON.stringify(variables) }).toString()}`);

    before(() => {
      undo = graphqlPatches[0]!.patch(execution);
      schema = schemaOf(library);
    });
    after(() => undo?.());

    it('records name, type, document, masked variables and time, and names the route', async () => {
      const { body, profile } = await run('query Say($text: String) { echo(text: $text) }', {
        text: 'hello',
        password: 'hunter22',
      });
      expect(JSON.parse(body)).to.deep.equal({ data: { echo: 'hello' } });
      const [operation] = (profile.panels.graphql?.data as GraphqlData).items;
      expect(operation).to.deep.include({
        operation: 'Say',
        type: 'query',
        document: 'query Say($text: String) { echo(text: $text) }',
        variables: { text: 'hello', password: '[masked 1, string]' },
        errors: [],
      });
      expect(operation?.durationMs).to.be.above(0);
      expect(operation?.caller).to.match(/^test\/observe\/graphql\.test\.ts:\d+$/);
      expect(profile.route).to.equal('/graphql · Say');
    });

    it('tells operations without a name apart by the fields that they ask for', async () => {
      const routeOf = async (query: string) => (await run(query)).profile.route;
      expect(await routeOf('{ echo(text: "a") }')).to.equal('/graphql · echo');
      expect(await routeOf('{ one: echo(text: "a") two: echo(text: "b") __typename }')).to.equal('/graphql · echo, __typename'); // prettier-ignore
      expect(await routeOf('{ ...Spread } fragment Spread on Query { echo(text: "a") }')).to.equal(
        '/graphql',
      );
    });

    it('records an operation once that graphql publishes itself, too', async () => {
      const { body, profile } = await runPublished('/published');
      expect(JSON.parse(body)).to.deep.equal({ data: { echo: 'once' } });
      expect((profile.panels.graphql?.data as GraphqlData).items).to.have.length(1);
    });

    it('adds up the resolvers of each field', async () => {
      const { profile } = await run('{ items { sku stock } }');
      const [operation] = (profile.panels.graphql?.data as GraphqlData).items;
      expect(operation?.resolvers.map(({ field, calls, failed }) => [field, calls, failed])).to.deep.equal([
        ['Query.items', 1, 0],
        ['Item.stock', 3, 0],
      ]);
      expect(operation?.resolvers[1]?.totalMs).to.be.above(0);
    });

    it('leaves a thenable that is no promise to graphql, also one that rejects later', async () => {
      // 16 takes the result of `then`, and gives it no second function.
      const isWaited = version === '17';
      const { body, profile } = await run('{ thenable }');
      expect(JSON.parse(body)).to.deep.equal({ data: isWaited ? { thenable: 'later' } : {} });
      const [operation] = (profile.panels.graphql?.data as GraphqlData).items;
      expect(operation?.resolvers.map(({ field, calls }) => [field, calls])).to.deep.equal([
        ['Query.thenable', 1],
      ]);
      expect((await run('{ rejecting }')).body).to.contain(isWaited ? 'rejected later' : '{"data":{}}');
    });

    it('records what a resolver threw as an exception, although the response is 200', async () => {
      const { status, body, profile } = await run('{ order }');
      expect(status).to.equal(200);
      expect(body).to.contain('No order 7');
      const [operation] = (profile.panels.graphql?.data as GraphqlData).items;
      expect(operation?.errors).to.deep.equal([{ message: 'No order 7', path: 'order' }]);
      const { errors } = profile.panels.exception?.data as ExceptionData;
      expect(errors.map(({ thrown }) => thrown.chain[0]?.class)).to.deep.equal(['NoSuchOrder']);
      expect(profile.error).to.include({ message: 'No order 7' });
    });

    it('finds a resolver that failed by a mistake, not one that refuses', async () => {
      const [finding] = (await run('{ fault }')).of('error-answered-2xx');
      expect(finding).to.deep.include({ severity: 'warn', label: 'error hidden', panel: 'exception' });
      expect(finding?.sentence).to.equal(
        "A resolver failed (TypeError: Cannot read properties of null (reading 'message')), but the request still answered 200",
      );
      expect(finding?.place).to.match(/^test\/observe\/graphql\.test\.ts:\d+$/);
      expect((await run('{ order }')).of('error-answered-2xx')).to.deep.equal([]);
    });

    it('keeps requests that run at once apart', async () => {
      const asked = await Promise.all(
        Array.from({ length: 30 }, (_, id) => run(`query Q${id} { echo(text: "${id}") items { stock } }`)),
      );
      asked.forEach(({ profile }, id) => {
        const { items: operations } = profile.panels.graphql?.data as GraphqlData;
        expect(operations.map(({ operation }) => operation)).to.deep.equal([`Q${id}`]);
        expect(operations[0]?.resolvers.map(({ calls }) => calls)).to.deep.equal([1, 1, 3]);
      });
    });
  });

describe('graphql-http', () => {
  const { createHandler } = require('graphql-http/lib/use/express') as {
    createHandler: typeof CreateHandler;
  };
  const ask = withFindingsApp((app) => {
    app.use('/graphql', createHandler({ schema: schemaOf(require('graphql') as typeof graphql) }));
  });

  it('is observed where the profiler finds graphql loaded', async () => {
    const { body, profile } = await ask(
      `/graphql?query=${encodeURIComponent('query Stock { items { stock } }')}`,
    );
    expect(body).to.contain('12');
    const { items: operations } = profile.panels.graphql?.data as GraphqlData;
    expect(operations.map(({ operation }) => operation)).to.deep.equal(['Stock']);
    // Of the middleware: no line of ours executes it.
    expect(operations[0]?.caller).to.match(/^test\/observe\/graphql\.test\.ts:\d+$/);
    expect(profile.route).to.equal('/graphql · Stock');
  });
});

describe('a request that Apollo Server refuses', () => {
  const { parse } = require('graphql') as typeof graphql;
  const ask = withFindingsApp((app) => {
    app.get('/graphql', async (req, res) => {
      const plugin = apolloPlugin();
      const { query } = req.query as { query?: string };
      if (query === undefined) await plugin.invalidRequestWasReceived({ error: new Error('Possible CSRF') });
      const { didEncounterErrors } = await plugin.requestDidStart();
      const request = { query, operationName: 'Cart', variables: { id: 7 } };
      try {
        parse(query ?? '{ sku }');
        await didEncounterErrors({ request, operation: {}, errors: [new Error('Thrown by a resolver')] });
      } catch (error) {
        await didEncounterErrors({ request, errors: [error] });
      }
      res.status(400).end();
    });
  });
  const operationsOf = async (path: string) =>
    ((await ask(path)).profile.panels.graphql?.data as GraphqlData | null)?.items;

  it('is recorded with its document, variables and error', async () => {
    const { profile } = await ask('/graphql?query=query Cart {');
    const { items: operations } = profile.panels.graphql?.data as GraphqlData;
    expect(operations).to.have.length(1);
    const errors = [{ message: 'Syntax Error: Expected Name, found <EOF>.', path: '' }];
    expect(operations[0]).to.deep.include({
      operation: 'Cart',
      type: null,
      document: 'query Cart {',
      errors,
    });
    expect(operations[0]).to.deep.include({ variables: { id: 7 }, durationMs: 0, resolvers: [] });
    expect(profile.error).to.include({ message: 'Syntax Error: Expected Name, found <EOF>.' });
  });

  it('is recorded if it never came to a document', async () => {
    const operations = await operationsOf('/graphql');
    expect(operations?.map(({ document, errors }) => [document, errors[0]?.message])).to.deep.equal([
      ['', 'Possible CSRF'],
    ]);
  });

  it('is not recorded twice if its operation ran', async () => {
    expect(await operationsOf('/graphql?query={ sku }')).to.equal(undefined);
  });
});

describe('graphql 16 whose functions were imported before the profiler', () => {
  const library = require('graphql') as typeof graphql;
  const schema = schemaOf(library);
  const ask = withFindingsApp((app) => {
    app.get('/graphql', async (req, res) => {
      const { query, variables } = req.query as Record<string, string>;
      const variableValues = JSON.parse(variables ?? '{}') as Record<string, unknown>;
      const documents = JSON.parse(query ?? '[]') as string[];
      res.json(
        await Promise.all(
          documents.map(async (text) =>
            executeOf16({ schema, document: library.parse(text), variableValues }),
          ),
        ),
      );
    });
  });
  const run = async (queries: string[], variables: object = {}) => {
    const { body, profile } = await ask(
      `/graphql?${new URLSearchParams({ query: JSON.stringify(queries), variables: JSON.stringify(variables) }).toString()}`,
    );
    return { body, profile, operations: (profile.panels.graphql?.data as GraphqlData | null)?.items };
  };

  it('records an operation by its resolvers', async () => {
    const text = 'query Say($text: String) { echo(text: $text) items { stock } }';
    const { profile, operations } = await run([text], { text: 'hello' });
    expect(profile.route).to.equal('/graphql · Say');
    expect(operations).to.have.length(1);
    expect(operations?.[0]).to.deep.include({ type: 'query', document: text, variables: { text: 'hello' }, errors: [] }); // prettier-ignore
    expect(operations?.[0]?.resolvers.map(({ field, calls }) => [field, calls])).to.deep.equal([
      ['Query.echo', 1],
      ['Query.items', 1],
      ['Item.stock', 3],
    ]);
    expect(operations?.[0]?.durationMs).to.be.above(0);
  });

  it('records what a resolver threw, with its path', async () => {
    const { body, profile, operations } = await run(['query Late { items { stock } order }']);
    expect(body).to.contain('No order 7');
    expect(operations?.[0]?.errors).to.deep.equal([{ message: 'No order 7', path: 'order' }]);
    expect(profile.error).to.include({ message: 'No order 7' });
  });

  it('keeps operations of one request apart', async () => {
    const { operations } = await run(['query A { items { stock } }', 'query B { items { sku } }']);
    expect(
      operations?.map(({ operation, resolvers }) => [operation, resolvers.map(({ field }) => field)]),
    ).to.deep.equal([
      ['A', ['Query.items', 'Item.stock']],
      ['B', ['Query.items']],
    ]);
  });
});
