import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import hindsight, { apolloPlugin } from 'express-hindsight';

const app = express();
hindsight(app);

const typeDefs = `
  type Book { title: String! stock: Int! }
  type Query { books: [Book!]! author(name: String!): String }
`;
const resolvers = {
  Query: {
    books: () => [{ title: 'Emma' }, { title: 'Persuasion' }],
    author: (_parent, { name }) => {
      throw new Error(`No author ${name}`);
    },
  },
  Book: { stock: async ({ title }) => title.length },
};

const apollo = new ApolloServer({ typeDefs, resolvers, plugins: [apolloPlugin()] });
await apollo.start();
app.use('/graphql', express.json(), expressMiddleware(apollo));

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/graphql`);
});
